"""Differential privacy: claims that hold against every intruder, and the arithmetic between them.

Every formula here rounds outward (see `rounding.py`): a converted or composed claim is never stronger
than what the theory gives. Sources of the theory, in one line each:

- pure epsilon implies zCDP with rho = epsilon^2 / 2 (Bun and Steinke 2016);
- zCDP implies (epsilon, delta) by the optimized bound of Canonne, Kamath and Steinke (2020);
- a group of L rows: L epsilon; L^2 rho; (L epsilon, delta (e^(L epsilon) - 1) / (e^epsilon - 1)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

from sfumato.errors import ParameterError
from sfumato.privacy.base import ONE_ID, Claim, Neighbours, Unit
from sfumato.privacy.rounding import exact, shown, shown_factor, sum_up, up

# Transcendental functions of the C library are right to a few units in the last place; results that went
# through them are raised by this much more than any such error can be.
_SLACK = 1e-12
_LOG_LARGEST = 700.0


@dataclass(frozen=True)
class DifferentialPrivacy(Claim):
    """What the three kinds share: neighbours, and words for them."""

    neighbours: Neighbours = field(default=Neighbours.ADD_REMOVE, kw_only=True)

    rests_on_secret: ClassVar[bool] = True
    differential: ClassVar[bool] = True

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "neighbours", Neighbours(self.neighbours))
        except ValueError:
            raise ParameterError(
                f"{type(self).__name__}: neighbours must be {' or '.join(Neighbours)}.",
                hint="see docs/guarantees.md",
            ) from None
        super().__post_init__()
        if self.unit.of == "person" and self.unit.max_rows is None:
            raise ParameterError(
                f"{type(self).__name__}: the largest number of rows of a person must be declared.",
                hint="Unit.person(max_rows), a public number; rows beyond it are dropped",
            )

    def _change(self) -> str:
        if self.neighbours is Neighbours.ADD_REMOVE:
            return f"had {self.unit} been left out of the data, or added to them"
        if self.unit.of == "row":
            return "had one row held any other values"
        return f"had the rows of {self.unit} held any other values"

    def _odds(self) -> str:
        """What the factor bounds, for any intruder: the odds between two neighbouring data sets."""
        if self.neighbours is Neighbours.ADD_REMOVE:
            what = self.unit.of
            return f"the odds between '{what} in the data' and '{what} not in the data' move by at most"
        return f"the odds between any two sets of values that the {self.unit.of} may have move by at most"

    def limits(self) -> str:
        """What is not promised."""
        parts = [
            "It does not promise that nothing can be learnt about a person: what is true of people like "
            "them is learnt whether they take part or not."
        ]
        if self.unit.of == "row":
            parts.append("Someone with several rows is protected less, the more they have.")
        if self.neighbours is Neighbours.REPLACE:
            parts.append("The number of rows is not protected, nor whether someone is among them.")
        parts.append("Each further use of the same data adds to the loss.")
        return " ".join(parts)


_NOTHING = (
    "Nothing of use: an epsilon above 600 lets any result be so much more likely with a person's data than "
    "without that it may as well name them. Treat the result as if there were no promise."
)


@dataclass(frozen=True)
class PureDP(DifferentialPrivacy):
    """Pure differential privacy."""

    epsilon: float

    def _faults(self) -> list[str]:
        return [] if self.epsilon >= 0 else ["epsilon must not be negative"]

    @property
    def title(self) -> str:
        """The claim in a few words."""
        return f"differential privacy with epsilon = {shown(self.epsilon)}"

    def promise(self) -> str:
        """What is promised, and against whom."""
        factor = shown_factor(self.epsilon)
        if factor is None:
            return _NOTHING
        return (
            f"Any possible result would have been at most {factor} times as likely, and at least 1/{factor} "
            f"times, {self._change()}. So, whatever an intruder knows or will learn, {self._odds()} "
            "that factor." + (" A factor this large promises little." if self.epsilon > 8 else "")
        )


@dataclass(frozen=True)
class ApproxDP(DifferentialPrivacy):
    """Approximate differential privacy; with delta = 0 it is pure."""

    epsilon: float
    delta: float

    def _faults(self) -> list[str]:
        faults = [] if self.epsilon >= 0 else ["epsilon must not be negative"]
        return faults + ([] if 0 <= self.delta < 1 else ["delta must be in [0, 1)"])

    @property
    def title(self) -> str:
        """The claim in a few words."""
        return f"differential privacy with epsilon = {shown(self.epsilon)}, delta = {shown(self.delta)}"

    def promise(self) -> str:
        """What is promised, and against whom."""
        factor, delta = shown_factor(self.epsilon), shown(self.delta)
        if factor is None:
            return _NOTHING
        return (
            f"The probability of any set of results is at most {factor} times what it would have been, plus "
            f"{delta}, {self._change()}; and the other way round. Roughly: except with probability "
            f"{delta}, of "
            f"which nothing is said, and whatever an intruder knows or will learn, {self._odds()} "
            "that factor." + (" A factor this large promises little." if self.epsilon > 8 else "")
        )


@dataclass(frozen=True)
class ZCDP(DifferentialPrivacy):
    """Zero-concentrated differential privacy."""

    rho: float

    def _faults(self) -> list[str]:
        return [] if self.rho >= 0 else ["rho must not be negative"]

    @property
    def title(self) -> str:
        """The claim in a few words."""
        return f"zero-concentrated differential privacy with rho = {shown(self.rho)}"

    def promise(self) -> str:
        """What is promised, and against whom."""
        return (
            f"The distribution of the results would have been almost the same {self._change()}: the Renyi "
            f"divergence of every order a > 1 between the two is at most {shown(self.rho)} a. In the more "
            "usual terms this is (epsilon, delta)-differential privacy for every delta at once; at delta = "
            f"0.000001, epsilon = {shown(zcdp_epsilon(self.rho, 1e-6))}. This holds against any intruder, "
            "whatever they know or will learn."
        )


# -- conversions -------------------------------------------------------------------------------------


def zcdp_epsilon(rho: float, delta: float) -> float:
    """The epsilon that rho-zCDP gives at delta.

    For every order a > 1 the value a rho + log(1 - 1/a) + (log(1/delta) - log a) / (a - 1) is a valid
    epsilon, so a search that stops early loses tightness and never soundness.
    """
    exact(rho, "rho"), exact(delta, "delta")
    if rho < 0 or not 0 < delta < 1:
        raise ParameterError("rho must not be negative, and delta must be in (0, 1).", hint="e.g. delta=1e-9")
    if rho == 0:
        return 0.0

    def epsilon(x: float) -> float:  # x = log(a - 1)
        over = math.exp(x)
        return (1 + over) * rho - math.log1p(1 / over) + (-math.log(delta) - math.log1p(over)) / over

    low, high = -30.0, 60.0
    for _ in range(4):  # grids that close in on the best order: no assumption of convexity
        points = [low + (high - low) * i / 400 for i in range(401)]
        best = min(points, key=epsilon)
        width = (high - low) / 400
        low, high = best - width, best + width
    over = math.exp(best)
    # The terms may cancel, so the error is bounded by the sum of their sizes, not by the result.
    size = (1 + over) * rho + math.log1p(1 / over) + (-math.log(delta) + math.log1p(over)) / over
    return max(0.0, math.nextafter(epsilon(best) + size * _SLACK, math.inf))


@cache
def zcdp_budget(epsilon: float, delta: float) -> float:
    """The largest rho (but for the last digits) that gives (epsilon, delta)."""
    log = -math.log(delta)
    # The plain bound epsilon = rho + 2 sqrt(rho log(1/delta)) is a little too careful: start there.
    low = (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2 * (1 - 1e-9)
    high = epsilon
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp_epsilon(middle, delta) <= epsilon else (low, middle)
    return low


def to_zcdp(claim: DifferentialPrivacy) -> ZCDP:
    """The claim as zCDP: epsilon becomes epsilon^2 / 2. Approximate claims have no such form."""
    if isinstance(claim, ZCDP):
        return claim
    if isinstance(claim, PureDP) or (isinstance(claim, ApproxDP) and claim.delta == 0):
        return ZCDP(up(exact(claim.epsilon) ** 2 / 2), **_shared(claim))
    raise ParameterError(
        "an (epsilon, delta) claim does not imply zCDP.", hint="compose it as (epsilon, delta)"
    )


def to_approx(claim: DifferentialPrivacy, delta: float | None = None) -> ApproxDP:
    """The claim as (epsilon, delta); zCDP needs the delta, a pure claim takes it or has delta = 0."""
    if isinstance(claim, ApproxDP):
        if delta is not None and delta < claim.delta:
            raise ParameterError("the claim has a larger delta than asked for.", hint="ask for a larger one")
        return claim
    if isinstance(claim, PureDP):
        return ApproxDP(claim.epsilon, 0.0 if delta is None else delta, **_shared(claim))
    assert isinstance(claim, ZCDP)
    if delta is None:
        raise ParameterError("zCDP becomes (epsilon, delta) at a delta.", hint="give delta=, e.g. 1e-9")
    return ApproxDP(zcdp_epsilon(claim.rho, delta), delta, **_shared(claim))


def for_person(claim: DifferentialPrivacy, max_rows: int) -> DifferentialPrivacy:
    """A claim about one row as a claim about one person with at most `max_rows` rows.

    Under replace neighbours the person's rows take other values and their number stays.
    """
    unit = Unit("person", max_rows)
    if unit.max_rows is None:
        raise ParameterError(
            "the largest number of rows of a person must be declared.", hint="for_person(max_rows), from 1 up"
        )
    if claim.unit.of != "row":
        raise ParameterError("the claim is about a person already.", hint="convert the claim about rows")
    rows = unit.max_rows or 1
    shared = {**_shared(claim), "unit": unit}
    shared["assumptions"] = (
        *claim.assumptions,
        f"No person has more than {rows} rows in the data",
        ONE_ID,
    )
    if isinstance(claim, PureDP):
        return PureDP(up(rows * exact(claim.epsilon)), **shared)
    if isinstance(claim, ZCDP):
        return ZCDP(up(rows**2 * exact(claim.rho)), **shared)
    assert isinstance(claim, ApproxDP)
    return ApproxDP(up(rows * exact(claim.epsilon)), _group_delta(claim, rows), **shared)


def _group_delta(claim: ApproxDP, rows: int) -> float:
    """delta (1 + e^epsilon + ... + e^((L-1) epsilon)), rounded up; refused where it reaches 1."""
    if claim.delta == 0 or rows == 1:
        return claim.delta
    epsilon, top = claim.epsilon, claim.epsilon * (rows - 1)
    # The geometric sum, by its closed form; the plain number of rows where epsilon vanishes.
    factor = math.inf if top > _LOG_LARGEST else rows * math.exp(top)
    if epsilon > 1e-9 and math.isfinite(factor):
        factor = min(factor, math.exp(top) * -math.expm1(-rows * epsilon) / -math.expm1(-epsilon))
    delta = claim.delta * factor * (1 + rows * _SLACK)
    if not delta < 1:
        raise ParameterError(
            f"with {rows} rows to a person, delta reaches 1: nothing would be promised.",
            hint="use zCDP or pure epsilon, or a smaller delta for the rows",
        )
    return math.nextafter(delta, math.inf)


def _shared(claim: DifferentialPrivacy) -> dict[str, Any]:
    return {
        "unit": claim.unit,
        "neighbours": claim.neighbours,
        "assumptions": claim.assumptions,
        "scope": claim.scope,
    }


# -- composition -------------------------------------------------------------------------------------


def total(
    claims: Sequence[DifferentialPrivacy],
    kind: type[DifferentialPrivacy],
    *,
    delta: float | None,
    parallel: bool,
) -> DifferentialPrivacy | None:
    """One claim of the kind for all of them together, or None where they have no such form.

    The unit, the neighbours and the scope agree (the caller has seen to it). In sequence the losses add;
    in parallel, on disjoint parts, the largest counts.
    """
    shared = _shared(claims[0])
    shared["assumptions"] = tuple(dict.fromkeys(a for c in claims for a in c.assumptions))

    def combined(amounts: list[float]) -> float:
        return max(amounts) if parallel else sum_up(amounts)

    if kind is PureDP:
        pure = [c for c in claims if isinstance(c, PureDP)]
        return PureDP(combined([c.epsilon for c in pure]), **shared) if len(pure) == len(claims) else None
    if kind is ZCDP:
        if any(isinstance(c, ApproxDP) and c.delta > 0 for c in claims):
            return None
        return ZCDP(combined([to_zcdp(c).rho for c in claims]), **shared)
    zcdp = [c for c in claims if isinstance(c, ZCDP)]
    if zcdp and delta is None:
        return None
    # The zCDP claims are added first and converted once: much tighter than converting each.
    approx = [to_approx(c) for c in claims if not isinstance(c, ZCDP)]
    if zcdp:
        approx.append(to_approx(ZCDP(combined([c.rho for c in zcdp])), delta))
    delta_total = combined([c.delta for c in approx])
    if delta_total >= 1:
        return None
    return ApproxDP(combined([c.epsilon for c in approx]), delta_total, **shared)
