"""Why a release is judged as it is, in one sentence, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.assessment.case import Case
from sfumato.assessment.gains import gain
from sfumato.assessment.thresholds import RISK, Evidence, Threshold, measure
from sfumato.errors import listed
from sfumato.score import Score


def reasons(
    case: Case, outcomes: Sequence[Threshold], scores: Sequence[Score], evidence: Evidence
) -> tuple[str, tuple[str, ...]]:
    """The sentence that decides, and the next steps, the first thing first."""
    named = {s.name: s for s in scores}
    missed = [t for t in outcomes if t.outcome != "met"]
    worst = min(missed, key=lambda t: _ORDER.index(t.outcome), default=None)
    copied = evidence.copied <= evidence.alpha
    if copied and not _attack_says_more(worst, named):
        because = evidence.because
    elif worst is not None and worst.worst in named:
        because = _sentence(named[worst.worst], worst, evidence)
    elif worst is not None:
        because = f"{worst.sentence[0].upper()}{worst.sentence[1:]}."
    elif outcomes:
        because = "Every limit was examined and met."
    else:
        because = "No limit was set: what follows was measured, and judged against nothing."
    return because, tuple(_advice(case, worst, named, evidence, copied))


def _attack_says_more(worst: Threshold | None, named: dict[str, Score]) -> bool:
    """Whether the attack that decides reaches more people than were recognized as copies."""
    if worst is None or worst.name != RISK or worst.worst not in named or worst.value is None:
        return False
    return worst.value > 2 * max((named[n].value for n in _COPIED if n in named), default=0.0)


_COPIED = ("copied rows", "people nearly copied", "identifiers that survive")
_ORDER = ("not met", "not examined", "undecided", "met")


def _sentence(score: Score, threshold: Threshold, evidence: Evidence) -> str:
    if threshold.name != RISK:
        return f"{threshold.sentence[0].upper()}{threshold.sentence[1:]}."
    found = gain(score, evidence.error(score))
    who = f"who knows {listed(score.columns, 6)}" if score.columns else "with the release alone"
    other = {
        "control": f"against {_share(score.control, 'people who are not in the data')}",
        "guess": f"against {_share(score.baseline, 'them')} by a plain guess",
        "nothing": "",
    }[found.against]
    sentence = f"An intruder {who} succeeds for {_share(score.value, 'the people')} {other} ({score.name})"
    if _is_above(threshold, score, evidence):
        return (
            f"{sentence.rstrip()}: more than {threshold.limit:.4g}, but only people who are not in the data "
            "could show how much of it is due to the release."
        )
    if threshold.outcome == "undecided":
        return (
            f"{sentence.rstrip()}: with so few people and draws the gain may be anything from "
            f"{max(0.0, found.low):.3g} to {found.high:.3g}, which fits both sides of {threshold.limit:.4g}."
        )
    return f"{sentence.rstrip()}."


def _share(value: float | None, people: str) -> str:
    part = "none" if not value else "all" if value >= 0.9995 else f"{value:.1%}"
    return f"{part} of {people}"


def _is_above(threshold: Threshold, score: Score, evidence: Evidence) -> bool:
    """Whether all that the gain may be lies above the limit, so that more draws would decide nothing."""
    beyond = gain(score, evidence.error(score)).low > threshold.limit
    return threshold.name == RISK and threshold.outcome == "undecided" and beyond


def _advice(
    case: Case, worst: Threshold | None, named: dict[str, Score], evidence: Evidence, copied: bool
) -> list[str]:
    out = []
    survives = named.get("identifiers that survive")
    if copied and survives is not None and survives.value > 0:
        column = survives.details["columns"][0]["released"]
        out.append(f"Drop '{column}', or replace its values by new pseudonyms.")
    if copied:
        out.append(
            "Release no rows of the original: generalize the quasi-identifiers, exchange them within groups, "
            "or release synthetic rows."
        )
    above = worst is not None and worst.worst in named and _is_above(worst, named[worst.worst], evidence)
    if worst is not None and (worst.outcome == "not met" or above) and worst.worst in named and not copied:
        columns = named[worst.worst].columns
        what = listed([repr(c) for c in columns], 6) if columns else "the columns that single people out"
        if worst.name == RISK or measure(worst.name) in _OF_CLASSES:
            some = "Round, generalize or drop" if len(columns) == 1 else "Generalize or drop some of"
            out.append(f"{some} {what}.")
    if worst is not None and worst.outcome == "undecided" and not above:
        out.append("Take more effort (thorough), or give a larger control: what was seen fits both sides.")
    if case.files.control is None and worst is not None and worst.name == RISK:
        out.append(
            "Hold people back before the release is made and give them as the control: afterwards every row "
            "was input."
        )
    if worst is not None and worst.outcome == "not examined":
        why = worst.sentence.partition(": ")[2] or worst.sentence
        out.append(f"Remove what kept {worst.name} from being examined: {why}.")
    if worst is None:
        out.append("Read what was not examined, then sign.")
    return out


_OF_CLASSES = {
    "k", "average class", "prosecutor risk", "journalist risk", "marketer risk", "linking",
    "unique on all quasi-identifiers",
}  # fmt: skip
