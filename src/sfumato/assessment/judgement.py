"""What came out of an assessment: scores, what was asked, what nobody looked at; and its report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.assessment.page import lines_of, page_of, tables_of
from sfumato.assessment.thresholds import Threshold
from sfumato.errors import ParameterError
from sfumato.privacy import Guarantee
from sfumato.report import Figure, Page, Verdict
from sfumato.score import Score

if TYPE_CHECKING:
    from sfumato.schema import Schema


@dataclass(frozen=True)
class Skipped:
    """A part of the assessment that was not done, and why."""

    part: str
    reason: str

    def __str__(self) -> str:
        return f"{self.part}: {self.reason}"


@dataclass(frozen=True, eq=False)
class Assessment:
    """The judgement of one release. Internal: it is computed from the original.

    scores: everything that was measured, each with its meaning.
    thresholds: what was asked, and whether it was met. skipped: what was not examined, and why.
    guarantee: what the release promised by itself; None for a plain file.
    notes: what was assumed on the way. rows: of the original and the release. unit: what was counted:
        rows, or persons in linked tables.
    figures: pictures for the report, made when it is written.
    because: the one sentence that decides. advice: what to do next, the first thing first.
    people: original rows that single released rows give away, as plain records, the worst first.
    """

    scores: tuple[Score, ...]
    thresholds: tuple[Threshold, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    guarantee: Guarantee | None = None
    notes: tuple[str, ...] = ()
    rows: tuple[int, int] = (0, 0)
    columns: tuple[str, ...] = ()
    quasi_identifiers: tuple[str, ...] = ()
    effort: str = "normal"
    schema: Schema | None = field(default=None, repr=False)
    figures: tuple[tuple[str, Figure], ...] = field(default=(), repr=False)  # section, figure
    because: str = ""
    advice: tuple[str, ...] = ()
    people: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    unit: str = "rows"

    # -- looking ---------------------------------------------------------------------------------

    @property
    def met(self) -> bool:
        """Whether every threshold that was set was examined and met; True if none was set."""
        return all(t.outcome == "met" for t in self.thresholds)

    def __getitem__(self, name: str) -> Score:
        found = [s for s in self.scores if s.name == name]
        if not found:
            raise ParameterError(f"no score is called {name!r}.", hint="see .names")
        return found[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the scores."""
        return tuple(s.name for s in self.scores)

    def of(self, section: str) -> tuple[Score, ...]:
        """The scores of "utility", "risk" or "attack"."""
        return tuple(s for s in self.scores if s.section == section)

    def verdict(self) -> Verdict:
        """What was asked and what came out, in words. A limit that nobody could examine is not met."""

        def those(outcome: str) -> list[str]:
            return [t.sentence for t in self.thresholds if t.outcome == outcome]

        unseen = [
            f"{t.name} was not examined{t.sentence.removeprefix(t.name)}"
            for t in self.thresholds
            if t.outcome == "not examined"
        ]
        return Verdict(
            those("met"),
            [*those("not met"), *unseen],
            [str(s) for s in self.skipped],
            undecided=those("undecided"),
            because=self.because,
            advice=self.advice,
        )

    # -- out -------------------------------------------------------------------------------------

    def page(self) -> Page:
        """The report, before it is HTML, Markdown or JSON."""
        return page_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: everything that was measured."""
        from sfumato.report.json import plain

        verdict = self.verdict()
        document = {
            "sfumato_assessment": 1,
            "internal": True,
            "met": self.met,
            "because": self.because,
            "advice": list(self.advice),
            "thresholds": [
                {"name": t.name, "limit": t.limit, "outcome": t.outcome, "value": t.value, "score": t.worst}
                for t in self.thresholds
            ],
            "not_examined": list(verdict.not_examined),
            "rows": {"original": self.rows[0], "released": self.rows[1]},
            "unit": self.unit,
            "columns": list(self.columns),
            "quasi_identifiers": list(self.quasi_identifiers),
            "effort": self.effort,
            "guarantee": None if self.guarantee is None else json.loads(self.guarantee.to_json()),
            "scores": [s.to_dict() for s in self.scores],
            "notes": list(self.notes),
            "tables": tables_of(self),
        }
        out: dict[str, Any] = plain(document)
        return out

    def to_json(self) -> str:
        """Everything that was measured, as JSON text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def to_markdown(self, *, language: str | None = None) -> str:
        """The report as Markdown. language: "en", "de"."""
        return self.page().to_markdown(language=language)

    def to_html(self, *, language: str | None = None) -> str:
        """The report as one self-contained page. language: "en", "de"."""
        return self.page().to_html(language=language)

    def save(self, path: str | Path, *, overwrite: bool = False, language: str | None = None) -> Path:
        """Write the report by suffix: .html, .md or .json. It is internal, for the owner alone.

        language: "en", "de"; JSON is for programs, and English.
        """
        from sfumato.io.atomic import write_text

        if Path(path).suffix.lower() == ".json":
            return write_text(path, self.to_json(), overwrite=overwrite, private=True)
        return self.page().save(path, overwrite=overwrite, language=language)

    def card(self, path: str | Path, *, overwrite: bool = False, language: str | None = None) -> Path:
        """Write what may go with the public part: promises and columns, nothing of the original."""
        from sfumato.report import card

        if self.schema is None:
            raise ParameterError("there is no released schema to describe.", hint="use assess")
        promised = self.guarantee or Guarantee()
        return card(self.schema, promised).save(path, overwrite=overwrite, language=language)

    def __str__(self) -> str:
        return "\n".join(lines_of(self))

    def __repr__(self) -> str:
        limits = ", ".join(f"{t.name} {t.outcome}" for t in self.thresholds) or "no threshold"
        return f"Assessment({len(self.scores)} scores; {limits}; {len(self.skipped)} parts not examined)"

    def _repr_html_(self) -> str:
        from sfumato.assessment.page import html_of

        return html_of(self)


def ordered(scores: Sequence[Score]) -> tuple[Score, ...]:
    """Each name once: a later score of the same name is numbered, so that none is lost."""
    seen: dict[str, int] = {}
    out = []
    for score in scores:
        seen[score.name] = seen.get(score.name, 0) + 1
        n = seen[score.name]
        out.append(score if n == 1 else replace(score, name=f"{score.name} ({n})"))
    return tuple(out)
