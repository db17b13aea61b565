"""Audit a claim of differential privacy: run the mechanism on two neighbours and try to tell them apart.

Half of the draws look for an event that one data set makes much likelier than the other; the other half
measures that one event. The bound on epsilon that follows is exact: it is above the mechanism's epsilon with
a chance of at most the stated error, for any mechanism, any event and any number of draws.

    result = audit(mechanism, data, neighbour, claim=PureDP(1.0))
    result.lower, result.refutes()

An audit refutes; it never proves. See docs/audit.md for what a passed audit leaves open.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.assessment.audit import events
from sfumato.assessment.audit.draws import Mechanism, Source
from sfumato.assessment.audit.events import Event, Floats, OutputTally
from sfumato.assessment.audit.intervals import portions, require
from sfumato.errors import ParameterError
from sfumato.privacy.differential import ZCDP, ApproxDP, DifferentialPrivacy, PureDP, to_approx
from sfumato.score import Score

__all__ = ["Audit", "audit", "exact_epsilon"]

_KEPT = 2**22  # numbers of each law that are kept to look for events
_DELTAS = tuple(10.0**-i for i in range(1, 13))


@dataclass(frozen=True)
class Audit:
    """What an audit found. All numbers of draws are for each of the two data sets.

    claim: what was claimed, if anything; delta: the delta that `lower` is for.
    lower: a lower bound on epsilon, right with the stated confidence; infinite if the noise is replayed.
    hits: how often the event occurred, on the data set that makes it likelier and on the other, of `trials`.
    towards: the data set that makes the event likelier, "data" or "neighbour".
    control: the same bound for two halves of the draws of one data set: 0 but for bad luck.
    replayed: a second batch brought the same outputs again, which fresh noise does not do.
    """

    claim: DifferentialPrivacy | None
    delta: float
    lower: float
    confidence: float
    event: str
    towards: str
    hits: tuple[int, int]
    trials: int
    draws: int
    control: float
    replayed: bool = False
    notes: tuple[str, ...] = field(default=())

    @property
    def claimed(self) -> float | None:
        """The epsilon that was claimed, at the audit's delta; None without a claim."""
        return None if self.claim is None else _epsilon_of(self.claim, self.delta)

    def lower_at(self, delta: float) -> float:
        """The bound at another delta, from the same event: these all hold together, at one error."""
        if self.replayed:
            return math.inf
        bound = events.epsilon_low(
            np.array(self.hits[0]), np.array(self.hits[1]), self.trials, 1 - self.confidence, delta
        )
        return float(bound)

    def refutes(self, claim: DifferentialPrivacy | float | None = None) -> bool:
        """Whether the draws contradict the claim (the audited one, another one, or a pure epsilon)."""
        wanted = self.claim if claim is None else _claim(claim)
        if wanted is None:
            raise ParameterError("there is no claim to refute.", hint="refutes(PureDP(1.0))")
        if isinstance(wanted, ZCDP):
            # The two probabilities are bounded once, so every delta may be tried without a further error.
            return any(self.lower_at(d) > _epsilon_of(wanted, d) for d in _DELTAS)
        delta = wanted.delta if isinstance(wanted, ApproxDP) else 0.0
        return self.lower_at(delta) > _epsilon_of(wanted, delta)

    def scores(self) -> list[Score]:
        """The audit as a score, for reports."""
        claimed = "nothing was claimed" if self.claim is None else f"claimed was {self.claimed:.4g}"
        at = f" at delta = {self.delta:.2g}" if self.delta else ""
        verdict = ""
        if self.claim is not None:
            verdict = " The claim is refuted." if self.refutes() else " The claim is not refuted; not proven."
        return [
            Score(
                name="audit, lower bound on epsilon",
                section="attack",
                value=self.lower,
                range=(0.0, math.inf),
                better="lower",
                meaning=f"The mechanism's epsilon{at} is at least this; {claimed}.{verdict}",
                low=self.lower,
                high=math.inf,
                confidence=self.confidence,
                knowledge="runs the mechanism at will on two data sets that differ in one person",
                baseline=0.0,
                control=self.control,
                details={
                    "claimed": self.claimed,
                    "delta": self.delta,
                    "refuted": None if self.claim is None else self.refutes(),
                    "event": self.event,
                    "likelier under": self.towards,
                    "hits": list(self.hits),
                    "trials": self.trials,
                    "draws": self.draws,
                    "replayed": self.replayed,
                    "notes": list(self.notes),
                },
            )
        ]


def audit(
    mechanism: Mechanism,
    data: object,
    neighbour: object,
    *,
    claim: DifferentialPrivacy | float | None = None,
    delta: float | None = None,
    draws: int = 200_000,
    error: float = 0.01,
    features: Callable[[Any], ArrayLike] | None = None,
    batched: bool = True,
    batch: int = 65_536,
    learn: bool = True,
) -> Audit:
    """A lower bound on the epsilon of a mechanism, from its outputs on two neighbouring data sets.

    mechanism: `mechanism(data, n)` gives n independent outputs, along the first axis; with `batched=False`
        `mechanism(data)` gives one. Each call must draw fresh noise.
    claim: what is audited; a number is a pure epsilon. zCDP is audited as (epsilon, delta) at `delta`, or
        at the delta that serves best (`Audit.delta`).
    draws: for each data set; half of them look for the event, half confirm it. Looking stops early where
        the outputs are too many to be tallied and enough of them are kept.
    error: the chance that the bound is above the true epsilon.
    features: outputs (a batch, or with `batched=False` one) to numbers, where outputs are not numbers or
        text. It is applied to both data sets alike, so it can hide a leak and never invent one.
    learn: with several features, also try likelihood ratios learnt by scikit-learn.

    >>> draw = sf.Key.from_seed(1).generator("noise")
    >>> found = sf.audit(lambda count, n: count + draw.laplace(size=n), 11, 10, claim=1.0, draws=4_000)
    >>> found.refutes()
    False
    """
    wanted = None if claim is None else _claim(claim)
    require(
        "" if draws >= 100 else "an audit needs at least 100 draws",
        "" if 0 < error < 0.5 else "error must be in (0, 0.5)",
        "" if batch >= 1 else "a batch has at least one draw",
        "" if delta is None or 0 <= delta < 1 else "delta must be in [0, 1)",
        hint="see docs/audit.md",
    )
    delta = _delta_of(wanted, delta)
    looking, trials = draws // 2, draws - draws // 2
    source = Source(mechanism, (data, neighbour), features, batched, batch)
    tally, sample = _look(source, looking)
    event, delta = _choose(tally, sample, wanted, delta, error, learn)
    hits, control = _confirm(source, event, trials, error, delta if delta is not None else 0.0)
    chosen = delta if delta is not None else 0.0
    result = Audit(
        claim=wanted,
        delta=chosen,
        lower=0.0,
        confidence=1 - error,
        event=event.words,
        towards="data" if event.towards_data else "neighbour",
        hits=hits,
        trials=trials,
        draws=draws,
        control=control,
        replayed=source.replayed,
        notes=source.notes(),
    )
    object.__setattr__(result, "lower", result.lower_at(chosen))
    return result


def exact_epsilon(p: ArrayLike, q: ArrayLike, delta: float = 0.0) -> float:
    """The smallest epsilon for which two laws on the same finite outputs are (epsilon, delta)-close.

    p, q: the probabilities of each output under the two data sets. Infinite where there is no such epsilon.
    """
    first, second = np.asarray(p, np.float64).ravel(), np.asarray(q, np.float64).ravel()
    wrong = len(first) != len(second) or not len(first)
    for law in (first, second):
        wrong = wrong or not (np.isfinite(law).all() and (law >= 0).all() and abs(law.sum() - 1) < 1e-6)
    require(
        "two laws give a probability to each of the same outputs, which sum to 1" if wrong else "",
        "" if 0 <= delta < 1 else "delta must be in [0, 1)",
        hint="exact_epsilon([0.75, 0.25], [0.25, 0.75])",
    )
    return max(_one_sided(first, second, delta), _one_sided(second, first, delta))


def _one_sided(p: Floats, q: Floats, delta: float) -> float:
    """The sets that matter are those of highest likelihood ratio: max over them of log((P - delta)/Q)."""
    used = (p > 0) | (q > 0)
    p, q = p[used], q[used]
    with np.errstate(divide="ignore"):
        ratio = np.where(q > 0, p / np.where(q > 0, q, 1.0), np.inf)
        if delta == 0:
            return max(0.0, float(np.log(ratio.max())))
        order = np.argsort(-ratio, kind="stable")
        above, below = np.cumsum(p[order]) - delta, np.cumsum(q[order])
        # A surplus of a rounding error over delta is none.
        with np.errstate(invalid="ignore"):
            values = np.where(above > 1e-15, np.log(np.maximum(above, 1e-300) / below), 0.0)
    return max(0.0, float(values.max()))


# -- claims ------------------------------------------------------------------------------------------


def _claim(claim: DifferentialPrivacy | float) -> DifferentialPrivacy:
    if isinstance(claim, DifferentialPrivacy):
        return claim
    return PureDP(float(claim))


def _epsilon_of(claim: DifferentialPrivacy, delta: float) -> float:
    """The epsilon of a claim at a delta; infinite where the claim says nothing there."""
    if isinstance(claim, ZCDP):
        return to_approx(claim, delta).epsilon if delta > 0 else math.inf
    if isinstance(claim, ApproxDP) and claim.delta > delta:
        return math.inf
    return float(claim.epsilon)  # type: ignore[attr-defined]


def _delta_of(claim: DifferentialPrivacy | None, delta: float | None) -> float | None:
    """The delta to audit at; None for zCDP, where the draws that look for events choose it."""
    if isinstance(claim, ZCDP):
        require("" if delta != 0 else "zCDP has no epsilon at delta = 0", hint="leave delta out")
        return delta
    own = claim.delta if isinstance(claim, ApproxDP) else 0.0
    require(
        "" if delta is None or delta >= own else "the claim has a larger delta than asked for",
        hint="leave delta out",
    )
    return own if delta is None else delta


# -- the two halves ----------------------------------------------------------------------------------


def _look(source: Source, draws: int) -> tuple[OutputTally, tuple[Floats, Floats]]:
    """Draw the first half: tallied in full while the outputs are few, and the beginning kept."""
    tally = OutputTally()
    kept: tuple[list[Floats], list[Floats]] = ([], [])
    room = [0, 0]
    for side in (0, 1):
        for n in portions(draws, source.batch, "audit: looking for events"):
            features = source.draw(side, n)
            tally.add(features, side)
            take = min(n, max(_KEPT // features.shape[1], 1000) - room[side])
            if take > 0:
                kept[side].append(features[:take])
                room[side] += take
            elif tally.full:
                break  # more draws would be looked at by nobody
    return tally, (np.concatenate(kept[0]), np.concatenate(kept[1]))


def _choose(
    tally: OutputTally,
    sample: tuple[Floats, Floats],
    claim: DifferentialPrivacy | None,
    delta: float | None,
    error: float,
    learn: bool,
) -> tuple[Event, float | None]:
    """The event (and for zCDP the delta) whose bound promises to exceed the claim by most."""
    # With few distinct outputs their own tally is the likelihood ratio: nothing is left to learn.
    few = tally.rows is not None and 20 * len(tally.rows) <= min(map(len, sample))
    ready = events.scorings(sample, learn and not few)
    best: tuple[float, Event, float | None] | None = None
    for at in _DELTAS if delta is None else (delta,):
        bound = events.projected(error, at)
        found = [events.best_threshold(s, words, rows, bound) for s, words, rows in ready]
        whole = events.best_set(tally, bound)
        event = max([*found, *([whole] if whole else [])], key=lambda e: e.promise)
        allowed = _epsilon_of(claim, at) if claim is not None else 0.0
        margin = event.promise - (allowed if math.isfinite(allowed) else 0.0)
        if best is None or margin > best[0]:
            best = margin, event, at
    assert best is not None
    return best[1], best[2]


def _confirm(
    source: Source, event: Event, trials: int, error: float, delta: float
) -> tuple[tuple[int, int], float]:
    """Count the event in fresh draws of both data sets; and in two halves of one, which is the control."""
    hits = [0, 0]
    halves = [0, 0]
    paired = 0
    for side in (0, 1):
        for n in portions(trials, source.batch, "audit: confirming the event"):
            inside = event.contains(source.draw(side, n))
            hits[side] += int(inside.sum())
            if side == 1:
                pairs = inside[: n // 2 * 2].reshape(-1, 2).sum(axis=0)
                halves[0] += int(pairs[0])
                halves[1] += int(pairs[1])
                paired += n // 2
    control = 0.0
    if paired:
        bound = events.epsilon_low(np.array(halves[0]), np.array(halves[1]), paired, error, delta)
        control = float(bound)
    first = 0 if event.towards_data else 1
    return (hits[first], hits[1 - first]), control
