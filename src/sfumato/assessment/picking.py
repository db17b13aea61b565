"""A score by its name, as a measure for the map: only the part of the assessment that gives it is run."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import Any

from sfumato.assessment.grid import Measure
from sfumato.assessment.thresholds import measure
from sfumato.errors import DataError, ParameterError, listed
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table

DEFAULT_RISK = "linking, at most"
DEFAULT_UTILITY = "total variation, pairs"


def measure_of(chosen: str | Measure | Any, what: str) -> Measure:
    """A function as it is; for a name, the score of that name."""
    if isinstance(chosen, str):
        return Named(chosen)
    if not callable(chosen):
        raise ParameterError(
            f"{what} is neither the name of a score nor a function.",
            hint=f"{what}='...', or a function (original, released, control, key) -> Score",
        )
    function: Measure = chosen
    return function


@dataclass(frozen=True)
class Named:
    """The score of a name. `name` is also what a cache knows it by."""

    name: str

    def __post_init__(self) -> None:
        from sfumato.assessment.parts import PARTS, giving

        if not giving(self.name):
            offered = sorted({m for part in PARTS for m in part.gives})
            near = difflib.get_close_matches(measure(self.name), offered, 3, 0.5)
            raise ParameterError(
                f"no score is called {self.name!r}.", hint=f"there are {listed(near or offered, 40)}"
            )

    def __call__(self, original: Table, released: Table, control: Table | None, key: Key, /) -> Score:
        """Open the pair, and run what gives the score."""
        from sfumato.assessment.case import case_of
        from sfumato.assessment.parts import giving
        from sfumato.assessment.subject import Subject

        case = case_of(Subject(original=original, released=released, control=control, key=key))
        found: list[Score] = []
        reasons = []
        for part in giving(self.name):
            reason = part.lacks(case)
            if reason:
                reasons.append(reason)
            else:
                found += part.run(case)
        scores = [s for s in found if s.name == self.name]
        scores = scores or [s for s in found if measure(s.name) == measure(self.name)]
        if not scores:
            why = reasons[0] if reasons else f"it is called {listed([repr(s.name) for s in found])}"
            raise DataError(f"'{self.name}' cannot be taken: {why}.", hint="choose another score")
        return above(scores[0])


def above(score: Score) -> Score:
    """An attack as what it reaches above its control, or else above a plain guess, as a share of the rest.

    On a map of many methods only this compares them: of a small file most people fit some record by chance.
    """
    reference = score.control if score.control is not None else score.baseline
    if score.section != "attack" or score.range != (0, 1) or score.better != "lower" or reference is None:
        return score
    value = max(0.0, (score.value - reference) / (1 - reference)) if reference < 1 else 0.0
    what = "people who are not in the data" if score.control is not None else "a plain guess"
    return replace(
        score,
        name=f"{score.name}, above {'control' if score.control is not None else 'a guess'}",
        value=value,
        low=None,
        high=None,
        confidence=None,
        meaning=f"{score.meaning} Here: what it reaches above {what}, as a share of what it could.",
    )
