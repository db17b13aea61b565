"""What was asked of a release, held against what was measured.

A limit is met when the bad end of the interval meets it, not the middle: "at most 0.05" with an interval up
to 0.08 is not met. What could not be examined is never met.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sfumato.errors import ParameterError, listed
from sfumato.score import Score

RISK, UTILITY = "risk", "utility"
# Measures of which more is better, and those of which no way is; of all others less is better. A score says
# it itself; here it is known before anything is measured.
RISING = frozenset(
    {"average class", "coefficients", "distance to the closest original", "distinct l", "entropy l",
     "histogram intersection", "interval overlap", "k", "kendall's tau-b", "propensity",
     "purely artificial records", "recursive l", "spearman's rho", "train on released"}
)  # fmt: skip
VAGUE = frozenset({"chi-square ratio", "g2 ratio"})
Outcome = Literal["met", "not met", "undecided", "not examined"]


@dataclass(frozen=True)
class Threshold:
    """One limit and what came of it. sentence: for the report, with names and numbers only."""

    name: str
    limit: float
    outcome: Outcome
    sentence: str
    worst: str = ""  # the score that decides
    value: float | None = None


def measure(name: str) -> str:
    """The name of a score without what it is about: 'linking, claimed' and 'linking: age' are linking."""
    return re.split(r"\s*[,:(]", name, maxsplit=1)[0].strip().lower()


def excess(score: Score) -> float:
    """Success beyond what people outside the data suffer, or beyond a plain guess, as a share of the rest.

    At the unfavourable end of the interval: 0 is no more than the reference, 1 is certain success. A score
    without a reference counts as it is.
    """
    above = score.details.get("above_control") or score.details.get("above_baseline")
    if isinstance(above, Mapping) and isinstance(above.get("high"), int | float):
        return min(1.0, max(0.0, float(above["high"])))
    reference = score.control if score.control is not None else score.baseline
    worst = _bad_end(score)
    if reference is None or math.isnan(reference):
        return worst
    return max(0.0, (worst - reference) / (1 - reference)) if reference < 1 else 0.0


def counts_as_risk(score: Score) -> bool:
    """Whether `risk` means this score too: the success of an attack.

    Attacks stand on one scale whoever made the file. Counts of the file alone do not: a record that is
    alone in a synthetic file need not be anybody. They have their own names as thresholds.
    """
    return score.section == "attack" and score.range == (0, 1) and score.better == "lower"


def counts_as_utility(score: Score) -> bool:
    """Whether `utility` means this score too: from 0 to 1 about the whole table, more is better."""
    return (
        score.section == "utility"
        and score.range == (0, 1)
        and score.better != "neither"
        and not score.columns
        and not score.name.endswith("p-value")  # says whether there is a difference, not how large it is
    )


def require_known(limits: Mapping[str, float], known: Iterable[str]) -> None:
    """Refuse what no score is called, and limits that are no numbers, before any work. known: measures."""
    offered = sorted({RISK, UTILITY, *known})
    unknown = [n for n in limits if measure(n) not in offered]
    if unknown:
        near = [m for n in unknown for m in difflib.get_close_matches(measure(n), offered, 2, 0.5)]
        raise ParameterError(
            f"no score is called {listed([repr(n) for n in unknown])}.",
            hint=f"did you mean {listed(list(dict.fromkeys(near)))}?"
            if near
            else f"there are {listed(offered, 60)}",
        )
    vague = [repr(n) for n in limits if measure(n) in VAGUE]
    if vague:
        raise ParameterError(
            f"no way is better for {listed(vague)}, so it has no limit.", hint="choose another score"
        )
    wrong = [repr(n) for n, v in limits.items() if not _is_number(v)]
    if wrong:
        raise ParameterError(f"the limit of {listed(wrong)} is not a number.", hint="{'risk': 0.05}")


def judged(
    limits: Mapping[str, float],
    scores: Sequence[Score],
    skipped: Mapping[str, str],
    broken: Mapping[str, str] | None = None,
) -> tuple[Threshold, ...]:
    """Every limit, in the order given.

    skipped: why a measure was not taken, by its name. broken: for RISK, UTILITY and whole measures, which
    part was refused or failed: what the others found cannot meet a limit that speaks of all.
    """
    found = (_judge(name, float(limit), scores, skipped) for name, limit in limits.items())
    return tuple(
        Threshold(t.name, t.limit, "not examined", f"{t.name}: {broken[t.name.strip().lower()]}")
        if broken and t.outcome == "met" and t.name.strip().lower() in broken
        else t
        for t in found
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _judge(name: str, limit: float, scores: Sequence[Score], skipped: Mapping[str, str]) -> Threshold:
    meant = _meant(name, scores)
    meant = [s for s in meant if not math.isnan(s.value)]
    if not meant:
        asked = {RISK: "linking", UTILITY: "total variation"}.get(name, measure(name))
        reasons = [why for n, why in skipped.items() if measure(n) == asked]
        like = [repr(s.name) for s in scores if measure(s.name) == asked and s.name != name]
        other = f"no score has that name here; there is {listed(like)}" if like else "it has no value here"
        said = f": {reasons[0] if reasons else other}"
        return Threshold(name, limit, "not examined", f"{name}{said}")
    directionless = [s for s in meant if s.better == "neither"]
    if directionless:
        raise ParameterError(
            f"no way is better for '{directionless[0].name}', so it has no limit.",
            hint="choose another score",
        )
    if name == RISK:
        worst = max(meant, key=excess)
        value, fine, word = excess(worst), excess(worst) <= limit, "at most"
    elif name == UTILITY:
        worst = min(meant, key=_goodness)
        value, fine, word = _goodness(worst), _goodness(worst) >= limit, "at least"
    elif meant[0].better == "lower":
        worst = max(meant, key=_bad_end)
        value, fine, word = _bad_end(worst), _bad_end(worst) <= limit, "at most"
    else:
        worst = min(meant, key=_bad_end)
        value, fine, word = _bad_end(worst), _bad_end(worst) >= limit, "at least"
    by = "" if worst.name == name else f" ({worst.name})"
    sentence = f"{name} {word} {limit:.4g}: {value:.4g}{by}"
    return Threshold(name, limit, "met" if fine else "not met", sentence, worst.name, value)


def _meant(name: str, scores: Sequence[Score]) -> list[Score]:
    if name == RISK:
        return [s for s in scores if counts_as_risk(s)]
    if name == UTILITY:
        return [s for s in scores if counts_as_utility(s)]
    return of_name(name, scores)


def of_name(name: str, scores: Sequence[Score]) -> list[Score]:
    """The score of that name; all of a measure, where the name is that of the measure alone."""
    exact = [s for s in scores if s.name == name]
    if exact or name.strip().lower() != measure(name):  # one that is not there is not another one
        return exact
    return [s for s in scores if measure(s.name) == measure(name)]


def _bad_end(score: Score) -> float:
    if score.better == "lower":
        return score.value if score.high is None else score.high
    return score.value if score.low is None else score.low


def _goodness(score: Score) -> float:
    """Between 0 and 1, more is better: a distance of 0.1 is a utility of 0.9."""
    return _bad_end(score) if score.better == "higher" else 1 - _bad_end(score)
