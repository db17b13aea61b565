"""A table to publish, laid out with rows and columns; each withheld cell marked by a letter, and asked why.

The true number is shown, on this machine: what a reader would see is an empty cell. A letter and a colour
say why, so that neither is needed by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pyarrow.parquet as pq

from sfumato.cells.layout import TOTAL, read_layouts
from sfumato.errors import DataError
from sfumato.studio.markup import Html, el, join
from sfumato.studio.tasks.tables import LABEL, PEOPLE, SHOWN, WHY, cells_file
from sfumato.studio.texts import Words

if TYPE_CHECKING:
    from sfumato.tabulation.sheets import CrossTable

REASONS = {"few people": "few", "hides another cell": "hides", "a group in one category": "group"}
_ROWS, _COLUMNS = 200, 40  # that are shown


@dataclass(frozen=True)
class PublishedCells:
    """The cells of one entry of the plan, in long form. labels: by column."""

    labels: Mapping[str, Sequence[str]]
    people: Sequence[int | None]
    shown: Sequence[str | None]
    why: Sequence[str]

    @classmethod
    def read(cls, place: Path, number: int) -> PublishedCells:
        """What a task has left."""
        try:
            table = pq.read_table(place / cells_file(number))
        except (OSError, ValueError):
            raise DataError("these cells are not there any more.", hint="work the tables out again") from None
        labels = {
            n.removeprefix(LABEL): table[n].to_pylist() for n in table.column_names if n.startswith(LABEL)
        }
        return cls(labels, table[PEOPLE].to_pylist(), table[SHOWN].to_pylist(), table[WHY].to_pylist())

    def key(self, cell: int) -> tuple[str, ...]:
        """The labels of a cell."""
        return tuple(values[cell] for values in self.labels.values())

    def beside(self, cell: int) -> dict[str, tuple[int, int]]:
        """By column: how many withheld cells stand in one sum with it, and how many of these are few."""
        names, own = list(self.labels), self.key(cell)
        found = {}
        for at, name in enumerate(names):
            if own[at] is None:
                continue
            line = [
                i for i in range(len(self.why))
                if i != cell and self.shown[i] is None
                and all(v[i] == own[j] for j, v in enumerate(self.labels.values()) if j != at)
            ]  # fmt: skip
            few = sum(self.why[i] not in ("", "hides another cell") for i in line)
            if line:
                found[name] = (len(line), few)
        return found


def cell_tables(
    cells: PublishedCells, found: Mapping[str, Any], number: int, asked: int | None, t: Words
) -> Html:
    """Every table of one entry."""
    from sfumato.tabulation.sheets import cross_tables

    layouts = read_layouts(found["by"])
    parts = [_laid_out(table, cells, number, asked, t) for table in cross_tables(cells.labels, layouts)]
    return join(parts)


def _laid_out(table: CrossTable, cells: PublishedCells, number: int, asked: int | None, t: Words) -> Html:
    """One table; the last axis runs to the right."""
    rows, heads = table.rows[:_ROWS], table.columns[:_COLUMNS]
    head = el(
        "tr", [el("th", name, scope="col") for name in table.names],
        [el("th", _said(h, t) if h else t("tables.count"), scope="col", class_="n") for h in heads],
    )  # fmt: skip
    body = [
        el("tr", [el("th", t("tables.all") if label == TOTAL else label, scope="row") for label in row],
           [_cell(table.cell.get((row, h)), cells, number, asked, t) for h in heads])
        for row in rows
    ]  # fmt: skip
    more = len(table.rows) - len(rows), len(table.columns) - len(heads)
    note = el("p", t("tables.more", rows=more[0], columns=more[1]), class_="small") if any(more) else None
    grid = el("table", el("thead", head), el("tbody", body), class_="cells")
    label = t("tables.table", by=table.title)
    return join(
        el("h3", table.title),
        el("div", grid, class_="scroll whole", role="region", tabindex="0", aria_label=label), note,
    )  # fmt: skip


def _said(labels: Sequence[str], t: Words) -> str:
    shown = [label for label in labels if label != TOTAL]
    return " / ".join(shown) if shown else t("tables.all")


def _cell(at: int | None, cells: PublishedCells, number: int, asked: int | None, t: Words) -> Html:
    if at is None:
        return el("td", t.number(0), class_="n none")
    reason = REASONS.get(cells.why[at], "")
    people, shown = cells.people[at], cells.shown[at]
    own = t.number(people) if people is not None else (shown or "")
    if not reason and shown is not None:
        moved = people is not None and shown != str(people)
        return (
            el("td", el("s", own, class_="small"), " ", shown, class_="n")
            if moved
            else el("td", shown if people is None else own, class_="n")
        )
    kind = reason or "hides"
    address = f"/tables?{urlencode({'table': number, 'cell': at})}#why"
    link = el("a", own, el("sup", t(f"tables.mark.{kind}")), href=address, id=f"cell-{number}-{at}",
              title=t(f"tables.reason.{kind}"), aria_current="true" if at == asked else None)  # fmt: skip
    return el("td", link, class_=f"n {kind}")


def why_withheld(cells: PublishedCells, found: Mapping[str, Any], cell: int, t: Words) -> Html:
    """One cell, in words: what it holds, and why a reader does not see it."""
    if not 0 <= cell < len(cells.why) or (cells.shown[cell] is not None and not cells.why[cell]):
        return el("section", el("h2", t("tables.why")), el("p", t("tables.why.shown")), id="why")
    kind, people = REASONS.get(cells.why[cell], "hides"), cells.people[cell] or 0
    labels = [
        f"{name}: {t('tables.all') if label == TOTAL else label}"
        for name, label in zip(cells.labels, cells.key(cell), strict=True)
    ]
    parts: list[object] = [
        el("h2", t("tables.why")),
        el("p", "; ".join(labels), class_="figure"),
        el("p", el("strong", t(f"tables.reason.{kind}"), ". "),
           t(f"tables.why.{kind}", n=people, minimum=int(found["minimum"]))),
    ]  # fmt: skip
    lines = [
        el("li", t("tables.why.sum", column=column, n=n, few=few))
        for column, (n, few) in cells.beside(cell).items()
    ]
    if lines:
        parts += [el("p", t("tables.why.beside"), class_="label"), el("ul", lines)]
    elif kind == "hides":
        parts.append(el("p", t("tables.why.chain")))
    return el("section", *parts, id="why")
