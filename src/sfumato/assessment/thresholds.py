"""What was asked of a release, held against what was measured.

A limit is met when the bad end of the interval meets it, not met when the good end does not, and undecided
in between: what was seen then fits both sides of the limit. Undecided never counts as met, nor does what
could not be examined.

`risk` speaks of all attacks together, by their gains (`gains`). It is met only if every attack's upper bound
is at most the limit, each wrong with a chance of at most alpha (no correction: if one gain is above the
limit, its own bound must have erred), that of the people nearly copied likewise, and copies beyond what
the control explains are not significant. It is not met if the lower bound of an attack exceeds the limit, at
alpha over the number of attacks (Holm's first step, which decides whether any does), or if copies are
significant.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sfumato.assessment.gains import gain
from sfumato.errors import ParameterError, listed
from sfumato.score import Score

RISK, UTILITY = "risk", "utility"
ALPHA = 0.01  # the error of each bound and of the tests
# Attacks whose success is known to be right or wrong: a gain is due to the release without a control too.
REIDENTIFYING = frozenset(
    {"linking", "nearest record", "perfect matching", "unsorted matching", "probabilistic linking",
     "order of rows"}
)  # fmt: skip
# Measures of which more is better, and those of which no way is; of all others less is better. A score says
# it itself; here it is known before anything is measured.
RISING = frozenset(
    {"average class", "coefficients", "distance to the closest original", "distinct l", "entropy l",
     "histogram intersection", "interval overlap", "k", "kendall's tau-b", "propensity",
     "purely artificial records", "recursive l", "spearman's rho", "train on released"}
)  # fmt: skip
_SIGNED = frozenset({"kendall's tau-b", "spearman's rho", "tau-b between ordered columns"})
_SHARES = frozenset(
    {RISK, UTILITY, "copied rows", "people nearly copied", "identifiers that survive",
     "largest risk of a single record", "unique on all released columns", "unique on all quasi-identifiers",
     "linking", "linking by 1 code", "linking by 2 codes", "linking by 3 codes",
     "linking by the most telling columns", "linking that forgives errors", "order of rows",
     "linking by a single value", "homogeneity", "attribute inference", "inference", "singling out",
     "linkability", "prosecutor risk", "journalist risk", "marketer risk", "population uniqueness",
     "predicting intruder", "total variation", "histogram intersection", "alpha", "t"}
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
    """What an attack gains, at the unfavourable end of its interval: 0 is no more than the reference."""
    error = ALPHA if score.confidence is None else (1 - score.confidence) / 2
    return min(1.0, max(0.0, gain(score, error).high))


def counts_as_risk(score: Score) -> bool:
    """Whether `risk` means this score too: the share of people for whom an attack succeeds.

    Attacks stand on one scale whoever made the file. Counts of the file alone do not: a record that is
    alone in a synthetic file need not be anybody. They have their own names as thresholds, and so have what
    befalls the worst-off and gains that are already divided by something.
    """
    return (
        score.section == "attack"
        and score.range == (0, 1)
        and score.better == "lower"
        and not score.name.endswith((", risk", "worst class"))
    )


def counts_as_utility(score: Score) -> bool:
    """Whether `utility` means this score too: from 0 to 1 about the whole table, more is better."""
    return (
        score.section == "utility"
        and score.range == (0, 1)
        and score.better != "neither"
        and not score.columns
        and not score.name.endswith("p-value")  # says whether there is a difference, not how large it is
    )


def plain_names(limits: Mapping[str, float]) -> dict[str, float]:
    """Limits by their names; 'Risk' is `risk`: a limit must not go unexamined for its spelling."""
    groups = {RISK, UTILITY}
    return {
        low if isinstance(n, str) and (low := n.strip().lower()) in groups else n: v
        for n, v in limits.items()
    }


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
    outside = [repr(n) for n, v in limits.items() if not _could_be(measure(n), v)]
    if outside:
        raise ParameterError(
            f"the limit of {listed(outside)} can never be reached: shares lie between 0 and 1, other "
            "measures from 0 up.",
            hint="{'risk': 0.05} asks for a gain of at most 5 in 100",
        )


def _could_be(name: str, limit: float) -> bool:
    """Whether a measure could be at this limit: one that never is, or always, decides nothing."""
    if name in _SIGNED:
        return -1 <= limit <= 1
    return limit >= 0 and (limit <= 1 or name not in _SHARES)


@dataclass(frozen=True)
class Evidence:
    """What `risk` is decided by, beside the scores.

    alpha: the error of each bound and of the tests. looks: into how many looks an attack's error is parted,
    by the name of its score. copied: the chance of as many copies by chance; nan if nobody looked.
    because: what was copied, in a sentence. nearly: what the share of people nearly copied is at most; nan if
    nobody knows. fair: whether the control is of the same people; if not, what an
    attack reaches beyond it proves nothing.
    """

    alpha: float = ALPHA
    looks: Mapping[str, int] = field(default_factory=dict)
    copied: float = math.nan
    because: str = ""
    fair: bool = True
    nearly: float = math.nan

    def error(self, score: Score) -> float:
        """Of each bound of one attack."""
        return self.alpha / self.looks.get(score.name, 1)


def judged(
    limits: Mapping[str, float],
    scores: Sequence[Score],
    skipped: Mapping[str, str],
    broken: Mapping[str, str] | None = None,
    evidence: Evidence | None = None,
) -> tuple[Threshold, ...]:
    """Every limit, in the order given.

    skipped: why a measure was not taken, by its name. broken: for RISK, UTILITY and whole measures, which
    part was refused or failed: what the others found cannot meet a limit that speaks of all.
    """
    given = evidence or Evidence(copied=1.0)
    found = (_judge(name, float(limit), scores, skipped, given) for name, limit in limits.items())
    return tuple(
        Threshold(t.name, t.limit, "not examined", f"{t.name}: {broken[t.name.strip().lower()]}")
        if broken and t.outcome in ("met", "undecided") and t.name.strip().lower() in broken
        else t
        for t in found
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _judge(
    name: str, limit: float, scores: Sequence[Score], skipped: Mapping[str, str], evidence: Evidence
) -> Threshold:
    meant = [s for s in _meant(name, scores) if not math.isnan(s.value)]
    if not meant and name == RISK and evidence.copied <= evidence.alpha:
        return _judge_risk(limit, meant, evidence)  # copies count where nothing is left to attack
    if not meant:
        return _unexamined(name, limit, scores, skipped)
    directionless = [s for s in meant if s.better == "neither"]
    if directionless:
        raise ParameterError(
            f"no way is better for '{directionless[0].name}', so it has no limit.",
            hint="choose another score",
        )
    if name == RISK:
        return _judge_risk(limit, meant, evidence)
    if name == UTILITY:
        worst = min(meant, key=_goodness)
        ends, word = (_goodness(worst), _best_goodness(worst)), "at least"
    elif meant[0].better == "lower":
        worst = max(meant, key=_bad_end)
        ends, word = (-_bad_end(worst), -_good_end(worst)), "at most"
    else:
        worst = min(meant, key=_bad_end)
        ends, word = (_bad_end(worst), _good_end(worst)), "at least"
    bound = -limit if word == "at most" else limit
    outcome: Outcome = "met" if ends[0] >= bound else "not met" if ends[1] < bound else "undecided"
    value = abs(ends[0]) if word == "at most" else ends[0]
    by = "" if worst.name == name else f" ({worst.name})"
    fits = f", but it may be {abs(ends[1]):.4g}" if outcome == "undecided" else ""
    return Threshold(
        name, limit, outcome, f"{name} {word} {limit:.4g}: {value:.4g}{by}{fits}", worst.name, value
    )


def _unexamined(name: str, limit: float, scores: Sequence[Score], skipped: Mapping[str, str]) -> Threshold:
    asked = {RISK: "linking", UTILITY: "total variation"}.get(name, measure(name))
    reasons = [why for n, why in skipped.items() if measure(n) == asked]
    like = [repr(s.name) for s in scores if measure(s.name) == asked and s.name != name]
    other = f"no score has that name here; there is {listed(like)}" if like else "it has no value here"
    return Threshold(name, limit, "not examined", f"{name}: {reasons[0] if reasons else other}")


def decided(scores: Sequence[Score], limit: float, error: float) -> bool:
    """Whether more draws would change nothing for `risk`: every gain lies on one side, or one is above."""
    attacks = [s for s in scores if counts_as_risk(s) and not math.isnan(s.value)]
    found = [gain(s, error) for s in attacks]
    above = any(g.low > limit and _decides(s) for s, g in zip(attacks, found, strict=True))
    return above or all(g.high <= limit or not g.room for g in found)


def _judge_risk(limit: float, attacks: Sequence[Score], evidence: Evidence) -> Threshold:
    gains = {s.name: gain(s, evidence.error(s)) for s in attacks}
    room = [s for s in attacks if gains[s.name].room]
    asked = f"{RISK} at most {limit:.4g}"
    if not room and evidence.copied <= evidence.alpha:
        return Threshold(RISK, limit, "not met", f"{asked}: {evidence.because}", "copies")
    if not room:
        words = "no attack had anything to gain: the control is found as surely as it can be"
        return Threshold(RISK, limit, "not examined", f"{RISK}: {words}")
    strict = {s.name: gain(s, evidence.error(s) / len(room)) for s in room if _decides(s, fair=evidence.fair)}
    worst = max(room, key=lambda s: gains[s.name].high)
    above = max(strict, key=lambda n: strict[n].low, default="")
    if above and strict[above].low > limit:
        found = gains[above]
        words = f"{asked}: {found.value:.3g}, at least {strict[above].low:.3g} ({above})"
        return Threshold(RISK, limit, "not met", words, above, found.value)
    found = gains[worst.name]
    if evidence.copied <= evidence.alpha:
        words = f"{asked}: {evidence.because}"
        return Threshold(RISK, limit, "not met", words, "copies", found.value)
    if found.high <= limit < evidence.nearly:  # an intruder who knows all columns is one as well
        words = f"{asked}: as many as {evidence.nearly:.3g} of the people may be nearly copied"
        return Threshold(RISK, limit, "undecided", words, value=found.value)
    if found.high <= limit and not math.isnan(evidence.copied):
        words = f"{asked}: {found.value:.3g}, at most {found.high:.3g} ({worst.name})"
        return Threshold(RISK, limit, "met", words, worst.name, found.value)
    words = f"{asked}: {found.value:.3g}, between {found.low:.3g} and {found.high:.3g} ({worst.name})"
    if found.low > limit:
        words += (
            ", compared with a plain guess only" if found.against != "control" else ", with no fair control"
        )
    return Threshold(RISK, limit, "undecided", words, worst.name, found.value)


def _decides(score: Score, *, fair: bool = True) -> bool:
    """Whether a gain above the limit is due to the release: against a fair control, or where right is known.

    Beyond a plain guess anybody may be found who is like the people in the data.
    """
    known = measure(score.name) in REIDENTIFYING and not score.name.endswith(("claimed", "at most"))
    return (score.control is not None and fair) or known


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


def _good_end(score: Score) -> float:
    if score.better == "lower":
        return score.value if score.low is None else score.low
    return score.value if score.high is None else score.high


def _best_goodness(score: Score) -> float:
    return _good_end(score) if score.better == "higher" else 1 - _good_end(score)


def _goodness(score: Score) -> float:
    """Between 0 and 1, more is better: a distance of 0.1 is a utility of 0.9."""
    return _bad_end(score) if score.better == "higher" else 1 - _bad_end(score)
