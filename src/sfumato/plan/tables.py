"""Tables to publish as a part of a plan: what is asked of them, how they are made, and what they give away.

Tables of one plan leave together, and a reader has them all. So every table that withholds cells takes those
before it as known, and what the attacker cannot judge together is refused in one plan: cells that are
withheld here and moved there, or beside rows that anybody can count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.assessment.tables import assess_tables
from sfumato.cells.layout import read_layouts
from sfumato.errors import SfumatoError, listed
from sfumato.methods.declaration import Does
from sfumato.methods.requests import earlier_folder, price_of
from sfumato.methods.shapes import Fault
from sfumato.plan.document import PlanDocument, said
from sfumato.plan.step import Step
from sfumato.privacy.ledger import Payer
from sfumato.release import Release
from sfumato.report import DataTable, Page, Promises, Section
from sfumato.schema import Kind, Schema
from sfumato.seeds import Key
from sfumato.table import Table

ALL = "all"  # the grand total, among what is to be kept
_TOGETHER = ("suppress", "noise")  # several of one kind are protected, or add up, together
_EXAMINED = 3000  # cells of a rounded table that the attacker looks into


@dataclass(frozen=True)
class PublishedTables:
    """The tables of one step, and what is known of them. looked: whether that was measured on the data."""

    title: str
    sentence: str
    met: bool = True
    looked: bool = False


def is_tables(step: Step) -> bool:
    """Whether a step counts tables to publish."""
    return step.declaration.does is Does.TABULATE


def columns_of(step: Step) -> list[str]:
    """The columns that tables are laid out by."""
    return list(dict.fromkeys(n for x in read_layouts(step.settings["by"]) for n in x.columns))


# -- making them -------------------------------------------------------------------------------------------


def tabulated(
    step: Step,
    table: Table,
    folder: Path,
    *,
    key: Key | None,
    ledger: Payer | None,
    beside: Sequence[Release],
) -> Release:
    """Count the tables of a step. beside: tables of the same people that leave together with them."""
    from sfumato.tabulation import Homogeneity, MinimumCount, tabulate

    asked = step.request(folder)
    before = [earlier_folder(text) for text in asked.earlier]
    kept = [() if one == ALL else tuple(n.strip() for n in one.split(",")) for one in asked.keep]
    return tabulate(
        table,
        asked.by,
        MinimumCount(asked.minimum),
        method=step.build(folder),
        of=asked.sum,
        means=asked.mean,
        weight=asked.weight,
        homogeneity=None if asked.homogeneity is None else Homogeneity(asked.homogeneity),
        keep=kept,
        prices=dict(price_of(text) for text in asked.price),
        earlier=[*((Release.load(folder / name), people) for name, people in before), *beside],
        key=key,
        ledger=ledger,
    )


# -- what cannot be ----------------------------------------------------------------------------------------


def faults_of_tables(plan: PlanDocument, schema: Schema) -> Iterator[Fault]:
    """What tables say that cannot be, without looking at the data."""
    tables = [s for s in plan.steps if is_tables(s)]
    kinds = {s.method for s in tables}
    if len(tables) > 1 and (len(kinds) > 1 or not kinds <= set(_TOGETHER)):
        yield (
            tables[-1].at,
            "cannot be judged together with the tables before it: give all in one 'by', or a plan each",
        )
    counted = [s for s in tables if s.method != "noise"]
    rows = [s for s in plan.released if not is_tables(s)]
    if counted and rows:
        names = listed([repr(s.name) for s in rows])
        yield (
            counted[0].at,
            f"withholds or changes counts that anybody can count in the rows of {names}: a plan for each, "
            "or method = 'noise'",
        )
    for step in tables:
        yield from _columns(plan, schema, step)


def _columns(plan: PlanDocument, schema: Schema, step: Step) -> Iterator[Fault]:
    """Columns that tables are laid out by, and what is summed in them."""
    try:
        named = columns_of(step)
    except SfumatoError as error:
        yield (*step.at, "by"), f": {said(error)}"
        return
    kept = [n.strip() for one in step.settings.get("keep", ()) if one != ALL for n in one.split(",")]
    for key, names in (("by", named), ("keep", kept)):
        unknown = [repr(n) for n in names if n not in schema]
        if unknown:
            yield (*step.at, key), f"names columns that are not in the schema: {listed(unknown)}"
    used = [*named, *(step.settings[k] for k in ("sum", "weight") if k in step.settings)]
    dropped = [repr(n) for n in used if plan.table("columns").get(n, {}).get("drop")]
    if dropped:
        yield step.at, f"needs columns that the plan leaves out: {listed(dropped)}"
    for name in ("sum", "weight"):
        column = step.settings.get(name, "")
        if column in schema and schema[column].kind is not Kind.NUMERIC:
            yield (*step.at, name), "must be a column of numbers"


# -- what they give away -----------------------------------------------------------------------------------


def judged_tables(step: Step, release: Release) -> PublishedTables:
    """What a reader can tell from the tables of a step."""
    extra = release.internal.extra if release.internal is not None else {}
    cells = release.data.rows()
    title = f"{step.name}: {'; '.join(step.settings['by'])}"
    if step.method == "suppress":
        found = extra["suppression"]["count"]
        return PublishedTables(
            title,
            f"{title}: {found['withheld']:,} of {cells:,} cells are withheld; from all tables together "
            "the attacker finds none of the small counts.",
        )
    if step.method == "noise":
        return PublishedTables(title, f"{title}: {cells:,} cells, each with noise, as the promise says.")
    known = extra["cell keys"]["known"] if step.method == "keys" else _known(step, release)
    if known is None:
        words = "what totals and their parts tell together was not examined: there are too many cells."
        return PublishedTables(title, f"{title}: {words}", met=False, looked=True)
    words = f"{known:,} small counts follow exactly from totals and their parts."
    return PublishedTables(title, f"{title}: {words}", met=not known, looked=True)


def _known(step: Step, release: Release) -> int | None:
    """How many small counts a reader of a rounded table knows exactly."""
    if release.data.rows() > _EXAMINED:
        return None
    base, minimum = step.build().base, step.request().minimum
    risk = assess_tables(release.data, step.settings["by"], minimum=minimum, base=base)
    return int(sum(risk.faults["known"].to_pylist()))


def tables_section(found: Sequence[PublishedTables]) -> Section:
    """For the report of a run."""
    return Section("Tables to be published", [one.sentence for one in found])


def tables_page(step: Step, release: Release, found: PublishedTables) -> Page:
    """The first part of the report of tables: what was found of them, and what they promise."""
    rows: list[tuple[Any, ...]] = []
    if release.internal is not None and step.method == "suppress":
        why = release.internal.tables["cells"]["why"].to_pylist()
        rows = [(reason or "shown", why.count(reason)) for reason in sorted(set(why))]
    safe = "Every count has noise." if step.method == "noise" else "Nothing small can be told."
    verdict = safe if found.met else "NOT MET: small counts can be told, or nobody looked."
    blocks = [DataTable(("cells", "how many"), rows, "Why cells are withheld", words=(0,))] if rows else []
    promised = Section("What was promised", "The release says this of itself.", [Promises(release.guarantee)])
    return Page("Tables to publish", "", [Section("In short", [verdict, found.sentence], blocks), promised])
