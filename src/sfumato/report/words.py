"""The words and numbers all renderings share, so that HTML, Markdown and JSON say the same."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.languages import Verbatim, form, say, tried
from sfumato.report.contents import Cell, DataTable
from sfumato.score import Score

# Words that promise more than anybody measured. "k-anonymity" is a property with a definition and stays.
_OVERCLAIM = re.compile(r"\b(un)?(safe(ly|ty)?|anonymous(ly)?|(non-?)?complian(t|ce))\b", re.IGNORECASE)
INTERNAL = "INTERNAL"
MOST_ROWS = 500  # of one group on a page; the JSON has all
ON_PAPER = 3  # rows of a folded table that are printed; the style sheet knows it too
_MANY = 8  # scores that need no folding
_WIDE = 30  # columns of a square table; the JSON has all


def overclaims(text: str) -> list[str]:
    """The words in a text that promise what no measurement can; rendered pages have none of our making."""
    return [m.group(0) for m in _OVERCLAIM.finditer(text)]


def clean(text: object) -> str:
    """Text that HTML, XML and JSON can all hold: control characters and lone surrogates become a sign.

    So do signs that turn the direction of text: a value must not rewrite the line it stands in.
    """
    shown = str(text)
    if shown.isprintable():  # most is, and Python knows at once
        return shown
    return "".join("\ufffd" if _unprintable(c) else c for c in shown)


def _unprintable(c: str) -> bool:
    code = ord(c)
    return (
        (code < 32 and c not in "\t\n\r") or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000
        or code & 0xFFFE == 0xFFFE  # no characters, on any plane
        or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069  # they turn round what stands after them
    )  # fmt: skip


def number(value: float | None) -> str:
    """Three significant digits, whole numbers whole, thousands parted; what is not a number is said."""
    if value is None or math.isnan(value):
        return "not defined"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", "−")
    size = abs(value)
    if 1e-3 <= size < 1e6:
        text = f"{value:,.{max(0, 2 - math.floor(math.log10(size)))}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        text = f"{value:.3g}"
    return text.replace("-", "−")


def figure(value: float | None) -> str:
    """A number as the reader's language writes it."""
    return say("not defined") if value is None or math.isnan(value) else form(number(value))


def whole(count: int) -> str:
    """A whole number as the reader's language writes it."""
    return form(f"{count:,}")


def said_cell(table: DataTable, place: int, value: Cell | object) -> str:
    """A cell as the reader's language says it: numbers, and words of ours."""
    if isinstance(value, str):
        if place in table.words:
            return clean(say(value))
        return clean(tried(value) if place in table.mixed else value)
    if isinstance(value, bool):
        return say(cell(value))
    return figure(value) if isinstance(value, int | float) else cell(value)


def cell(value: Cell | object) -> str:
    """A cell of any table."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, Mapping):
        return "; ".join(f"{clean(k)}: {cell(v)}" for k, v in value.items())
    if isinstance(value, list | tuple):
        parted = any(isinstance(v, list | tuple | Mapping) for v in value)
        return ("; " if parted else ", ").join("–" if v is None else cell(v) for v in value)
    return clean(value)


def interval(score: Score) -> str:
    """The interval of a score, or nothing where the value is exact."""
    if score.low is None or score.high is None:
        return ""
    return say(f"{number(score.low)} to {number(score.high)}")


def confidence(score: Score) -> str:
    """At which confidence the interval holds."""
    return "" if score.confidence is None else say(f"{100 * score.confidence:.8g}% confidence")


def direction(score: Score) -> str:
    """Which way is better, for who publishes."""
    return say({"higher": "higher is better", "lower": "lower is better", "neither": ""}[score.better])


@dataclass(frozen=True)
class ScoreGroup:
    """Scores that are read together: one heading, one meaning if they share it."""

    title: str
    scores: tuple[Score, ...]
    folded: bool

    @property
    def meaning(self) -> str:
        """What all of them mean, if it is the same for all."""
        meanings = {s.meaning for s in self.scores}
        return meanings.pop() if len(meanings) == 1 and len(self.scores) > 1 else ""


def grouped(scores: Sequence[Score]) -> list[ScoreGroup]:
    """What stands alone first and open; of many of a kind, one for each column, the worst come first."""
    if len(scores) <= _MANY:
        return [ScoreGroup("", tuple(scores), folded=False)] if scores else []
    families: dict[str, list[Score]] = {}
    for score in scores:
        if score.columns:
            families.setdefault(_kind(score), []).append(score)
    alone = tuple(s for s in scores if not s.columns or len(families[_kind(s)]) == 1)
    groups = [ScoreGroup("", alone, folded=False)] if alone else []
    for title, members in families.items():
        if len(members) > 1:
            groups.append(ScoreGroup(title, tuple(sorted(members, key=_badness)), folded=True))
    return groups


def _kind(score: Score) -> str:
    """What it is, and of how many columns; an attack is named by itself, whatever the intruder knows."""
    family = _family(score)
    return family if score.section == "attack" else f"{family}: {_about(len(score.columns))}"


def _family(score: Score) -> str:
    """The name of a score without the columns it is about."""
    name = score.name
    for column in sorted(score.columns, key=len, reverse=True):
        name = re.sub(rf"(?<!\w){re.escape(column)}(?!\w)", "", name)
    name = re.sub(r"^\W+|(?:\W|\bx\b)+$", "", name)  # the signs that stood between the columns
    return " ".join(name.split()) or "scores"


def _about(size: int) -> str:
    return {1: "single columns", 2: "pairs", 3: "triples", 4: "sets of four"}.get(size, "larger sets")


def _badness(score: Score) -> float:
    """Orders the worst first; what has no direction or no value keeps its place at the end."""
    if math.isnan(score.value) or score.better == "neither":
        return math.inf
    return score.value if score.better == "higher" else -score.value


def details_of(score: Score, most: int = 50) -> Iterable[DataTable]:
    """The tables behind a score: lists of records as they are, and single values together."""
    single: list[tuple[str, str]] = []
    for name, content in score.details.items():
        if isinstance(content, Mapping) and "names" in content:
            yield from _matrices(content, score.name.partition(",")[0])
            continue
        if isinstance(content, Sequence) and content and all(isinstance(r, dict) for r in content):
            columns = tuple(dict.fromkeys(str(k) for record in content for k in record))
            rows = [tuple(cell(record.get(k)) for k in columns) for record in content[:most]]
            more = f" (first {most} of {len(content)})" if len(content) > most else ""
            yield DataTable(columns, rows, f"{name}{more}", folded=True, mixed=range(len(columns)))
        elif isinstance(content, list | tuple):
            single.append((str(name), cell(content[:most]) + (" …" if len(content) > most else "")))
        else:
            single.append((str(name), cell(content)))
    if single:
        yield DataTable(("detail", "value"), single, "Details", folded=True, words=(0,), mixed=(1,))


def _matrices(content: Mapping[str, Any], of: str) -> Iterable[DataTable]:
    """Square tables over the same names: side, or name and side -> its rows. of: what a side alone is of."""
    names = [clean(n) for n in content["names"]]
    shown = names[:_WIDE]
    more = f" (first {_WIDE} of {len(names)} columns)" if len(names) > _WIDE else ""
    for title, rows in content.items():
        if title != "names":
            cells = [(name, *row[:_WIDE]) for name, row in zip(shown, rows, strict=False)]
            caption = title.replace("_", " ") if "_" in title else f"{of} {title}"
            yield DataTable(("column", *map(Verbatim, shown)), cells, f"{caption}{more}", folded=True)
