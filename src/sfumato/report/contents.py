"""What a report holds, before it is HTML, Markdown or JSON: plain frozen values.

A page is made by whoever judged something; the renderers turn it into bytes, in the language that is spoken
then, and add nothing of their own but INTERNAL. The same page always gives the same bytes: the time of
making, if wanted, is in its stamp.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from sfumato.errors import ParameterError
from sfumato.privacy import Guarantee
from sfumato.score import Score

Cell: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True)
class Verdict:
    """What was asked and what came out, in words; it opens the page.

    met, not_met: a threshold each, with what was measured, such as "linking at most 0.05: 0.021".
    not_examined: what nobody looked at, so that silence is not read as good news.
    undecided: a threshold each, where what was seen fits both sides of the limit; it counts as not met.
    because: the one sentence that matters, such as "half of the released rows are rows of the original".
    advice: what to do next, the first thing first.
    """

    met: Sequence[str] = ()
    not_met: Sequence[str] = ()
    not_examined: Sequence[str] = ()
    undecided: Sequence[str] = ()
    because: str = ""
    advice: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("met", "not_met", "not_examined", "undecided", "advice"):
            object.__setattr__(self, name, _texts(getattr(self, name), f"a verdict's {name}"))


@dataclass(frozen=True)
class Promises:
    """The guarantee a release came with: every claim, what it rests on and what it leaves open."""

    guarantee: Guarantee


@dataclass(frozen=True)
class ScoreTable:
    """Judgements with their intervals and meanings; many are grouped, and folded away."""

    scores: Sequence[Score]
    caption: str = "Scores"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", tuple(self.scores))
        if not all(isinstance(s, Score) for s in self.scores):
            raise ParameterError("a table of scores is made of scores.", hint="see sfumato.score")


@dataclass(frozen=True)
class DataTable:
    """Any small table. `folded` puts it behind its caption, to be opened by who wants it.

    most: rows that stand open; those after them are folded. All of them, if it is None.
    words: places of the columns whose cells are words of ours, not names or values from the data: they are
        said in the reader's language. mixed: of those that may hold both.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str
    folded: bool = False
    most: int | None = None
    words: Sequence[int] = ()
    mixed: Sequence[int] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.words))
        object.__setattr__(self, "mixed", tuple(self.mixed))
        object.__setattr__(self, "columns", _texts(self.columns, "a table's columns"))
        object.__setattr__(self, "rows", tuple(tuple(row) for row in self.rows))
        if not self.caption.strip():
            raise ParameterError("a table has a caption.", hint="say what its rows are")
        wrong = sum(len(row) != len(self.columns) for row in self.rows)
        if wrong:
            raise ParameterError(
                f"{wrong} rows of a table have another length than its {len(self.columns)} columns.",
                hint="give one cell for each column",
            )


@dataclass(frozen=True)
class Figure:
    """A picture of one or more panels, side by side where there is room.

    spec: a Vega-Lite specification, or several; see sfumato.report.figures for those that are made here.
    description: what the picture shows, for who does not see it. Not what it looks like.
    table: the numbers behind it.
    key: what colours stand for, as (text, colour), where the panels share one key.
    narrow: the same for a narrow screen; the panels are then as wide as the page elsewhere.
    """

    spec: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    title: str
    description: str
    table: DataTable | None = None
    key: Sequence[tuple[str, str]] = ()
    narrow: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", tuple((str(text), str(colour)) for text, colour in self.key))
        panels = (self.spec,) if isinstance(self.spec, Mapping) else tuple(self.spec)
        object.__setattr__(self, "spec", panels)
        if not panels or not self.title.strip() or not self.description.strip():
            raise ParameterError(
                "a figure has a panel, a title and a description.",
                hint="say in a sentence or two what the picture shows, for who cannot see it",
            )

    @property
    def panels(self) -> tuple[Mapping[str, Any], ...]:
        """The specifications, one for each panel."""
        return tuple(self.spec)  # type: ignore[arg-type]


Block: TypeAlias = Verdict | Promises | ScoreTable | DataTable | Figure
_BLOCKS = (Verdict, Promises, ScoreTable, DataTable, Figure)


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs, and what stands below them; a verdict stands above them."""

    title: str
    prose: str | Sequence[str] = ()
    blocks: Sequence[Block] = ()

    def __post_init__(self) -> None:
        prose = (self.prose,) if isinstance(self.prose, str) and self.prose else self.prose or ()
        object.__setattr__(self, "prose", _texts(prose, "prose"))
        object.__setattr__(self, "blocks", tuple(self.blocks))
        if not self.title.strip():
            raise ParameterError("a section has a title.", hint='Section("What it keeps", ...)')
        if not all(isinstance(b, _BLOCKS) for b in self.blocks):
            names = ", ".join(b.__name__ for b in _BLOCKS)
            raise ParameterError("a section holds blocks only.", hint=f"one of {names}")

    @property
    def first(self) -> tuple[Block, ...]:
        """What is read before the paragraphs: the verdict."""
        return tuple(b for b in self.blocks if isinstance(b, Verdict))

    @property
    def rest(self) -> tuple[Block, ...]:
        """What stands below the paragraphs."""
        return tuple(b for b in self.blocks if not isinstance(b, Verdict))


@dataclass(frozen=True)
class Contents:
    """What a whole report says; `Page` adds how it is written.

    stamp: one line on what was compared, by which version, when. It is text: no clock is read here.
    audience: "internal" is written on every page, on paper too. "public" may leave the house, so it may
        hold promises and tables only: scores, verdicts and figures are computed from the original.
    """

    title: str
    stamp: str
    sections: Sequence[Section]
    audience: Literal["internal", "public"] = "internal"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sections", tuple(self.sections))
        faults = []
        if not self.title.strip() or not self.sections:
            faults.append("it has a title and at least one section")
        if self.audience not in ("internal", "public"):
            faults.append("its audience is internal or public")
        if any(isinstance(b, Verdict) for s in self.sections[1:] for b in s.blocks):
            faults.append("its verdict stands in the first section")
        computed = sum(isinstance(b, Verdict | ScoreTable | Figure) for b in self.blocks())
        if self.audience == "public" and computed:
            faults.append(f"a public page holds nothing computed from the original ({computed} blocks are)")
        if faults:
            raise ParameterError(f"the page: {'; '.join(faults)}.", hint="see sfumato.report.Page")

    def blocks(self) -> Iterator[Block]:
        """All blocks in their order."""
        for section in self.sections:
            yield from section.blocks

    def scores(self) -> tuple[Score, ...]:
        """All scores on the page."""
        return tuple(s for b in self.blocks() if isinstance(b, ScoreTable) for s in b.scores)


def _texts(given: Sequence[str], what: str) -> tuple[str, ...]:
    """A list of texts; a single text given by mistake would become its letters."""
    if isinstance(given, str) or not all(isinstance(t, str) for t in given):
        raise ParameterError(f"{what} are a list of texts.", hint='("one", "two")')
    return tuple(given)
