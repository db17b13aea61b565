"""The only place where privacy noise is drawn. Each draw takes a one-use grant, and burns it first.

The samplers are OpenDP's: exact discrete distributions on whole numbers, from the operating system's
entropy. There is no seed, and no floating-point noise whose last bits give the data away. Before a draw,
OpenDP's own privacy map is asked what the draw costs, and the draw is refused if that exceeds the grant.

What the functions cannot see, and the caller must know: that the sensitivity is right, and that the shape
of the array (how many cells there are) is public. The time a draw takes depends on the noise; do not
publish it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import BudgetError, ParameterError, SfumatoError
from sfumato.privacy.base import Neighbours
from sfumato.privacy.grants import UNIT, Grant
from sfumato.privacy.rounding import ceil_units, exact, sqrt_up, up

if TYPE_CHECKING:
    from types import ModuleType


__all__ = [
    "AboveThreshold",
    "Noisy",
    "gaussian",
    "gaussian_cost",
    "laplace",
    "laplace_cost",
    "laplace_threshold",
    "noisy_max",
    "permute_and_flip",
    "sqrt_up",
    "threshold",
]

_HIGH = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Noisy:
    """Noisy whole numbers, in the shape that came in, and the noise they carry.

    scale: the b of a discrete Laplace (P(x) proportional to exp(-|x|/b)), or the s of a discrete Gaussian
        (P(x) proportional to exp(-x^2 / (2 s^2))). It may be published.
    """

    values: NDArray[np.int64]
    scale: float
    law: str

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise in each cell; for the Gaussian a bound, tight above 1."""
        if self.law == "discrete Gaussian":
            return self.scale
        q = math.exp(-1 / self.scale)
        return math.sqrt(2 * q) / -math.expm1(-1 / self.scale)


def laplace(values: ArrayLike, sensitivity: int, grant: Grant, *, scale: float | None = None) -> Noisy:
    """Add discrete Laplace noise to whole numbers.

    Guarantee: grant.epsilon-DP (or grant.rho-zCDP, as epsilon = sqrt(2 rho)), in the grant's unit and
               neighbours.
    Because:   two neighbours' arrays differ by at most `sensitivity` in L1; scale = sensitivity / epsilon.
    Assumes:   the sensitivity is right; the shape is public.
    Tested by: tests/privacy/test_noise.py::test_laplace_has_its_exact_distribution

    Results beyond 64 bits stop at the largest (smallest) number: OpenDP adds exactly and then clamps,
    which is post-processing. scale: larger than needed, if several draws are to have the same noise.
    """
    _require(grant)
    sensitivity = _whole_sensitivity(sensitivity)
    array = _whole_numbers(values)
    needed = _epsilon_of(grant)

    def make(b: float) -> Any:
        dp = _opendp()
        measurement = dp.m.make_laplace(_integers(dp), dp.l1_distance(T="i64"), scale=b)
        return measurement if grant.epsilon is not None else dp.c.make_pureDP_to_zCDP(measurement)

    measurement, scale = _affordable(make, sensitivity, grant, up(Fraction(sensitivity) / needed), scale)
    return Noisy(_released(measurement, array, grant), scale, "discrete Laplace")


def gaussian(values: ArrayLike, sensitivity: float, grant: Grant, *, scale: float | None = None) -> Noisy:
    """Add discrete Gaussian noise to whole numbers.

    Guarantee: grant.rho-zCDP, in the grant's unit and neighbours.
    Because:   two neighbours' arrays differ by at most `sensitivity` in L2; rho = (sensitivity / scale)^2
               / 2.
    Assumes:   the sensitivity is right (`sqrt_up` gives one from its square); the shape is public.
    Tested by: tests/privacy/test_noise.py::test_gaussian_has_its_exact_distribution

    scale: given instead of computed; it must cost no more than the grant (see `gaussian_cost`).
    """
    _require(grant)
    sensitivity = _real_sensitivity(sensitivity)
    array = _whole_numbers(values)
    if grant.rho is None:
        raise BudgetError("Gaussian noise needs a grant of rho.", hint="a budget of zCDP: Budget(rho=...)")
    start = sqrt_up(Fraction(sensitivity) ** 2 / (2 * grant.loss))
    measurement, scale = _affordable(_make_gaussian, sensitivity, grant, start, scale)
    return Noisy(_released(measurement, array, grant), scale, "discrete Gaussian")


def noisy_max(scores: ArrayLike, sensitivity: float, grant: Grant, *, monotone: bool = False) -> int:
    """The index of a score that is probably among the highest.

    Guarantee: grant.epsilon-DP by permute-and-flip, or grant.rho-zCDP by the exponential mechanism.
    Because:   no score changes by more than `sensitivity` between neighbours; the scale is 2 sensitivity /
               epsilon,
               or sensitivity / epsilon if `monotone`: adding a row never lowers one score while raising
               another.
               The exponential mechanism has epsilon-bounded range, hence rho = epsilon^2 / 8.
    Assumes:   sensitivity and monotony are right, *as computed*: scores with rounding error need it in the
               sensitivity, so whole numbers are better. The number of candidates is public.
    Tested by: tests/privacy/test_noise.py::test_noisy_max_has_its_exact_distribution
    """
    _require(grant)
    array = _scores(scores)
    if monotone and grant.budget.neighbours is Neighbours.REPLACE:
        raise ParameterError(
            "scores are not monotone under replace neighbours: one row goes and another comes.",
            hint="leave monotone out, or use a budget for add/remove neighbours",
        )
    whole = array.dtype.kind == "i"
    sensitivity = _whole_sensitivity(sensitivity) if whole else _real_sensitivity(sensitivity)
    number = "i64" if whole else "f64"

    def make(scale: float) -> Any:
        dp = _opendp()
        domain = _integers(dp) if whole else dp.vector_domain(dp.atom_domain(T="f64", nan=False))
        measure = dp.max_divergence() if grant.epsilon is not None else dp.zero_concentrated_divergence()
        return dp.m.make_noisy_max(
            domain, dp.linf_distance(T=number, monotonic=monotone), measure, scale=scale
        )

    range_ = Fraction(sensitivity) * (1 if monotone else 2)
    start = up(range_ / grant.loss) if grant.epsilon is not None else sqrt_up(range_**2 / (8 * grant.loss))
    measurement, _ = _affordable(make, sensitivity, grant, start, None)
    if not whole and not np.isfinite(array).all():
        grant.burn()  # this failure depends on the data
        raise ParameterError(
            "scores must be finite numbers.", hint="the grant is spent: clamp scores before asking"
        )
    return int(_drawn(measurement, array.tolist(), grant))


def permute_and_flip(scores: ArrayLike, sensitivity: float, grant: Grant, *, monotone: bool = False) -> int:
    """`noisy_max` for a grant of epsilon; it never errs more than the exponential mechanism does."""
    _require(grant)
    if grant.epsilon is None:
        raise BudgetError("permute-and-flip needs a grant of epsilon.", hint="noisy_max takes grants of rho")
    return noisy_max(scores, sensitivity, grant, monotone=monotone)


@dataclass(frozen=True, eq=False)
class AboveThreshold:
    """Which counts stayed at or above the threshold. threshold, scale: may be published, exact counts not."""

    kept: NDArray[np.bool_]
    threshold: int
    scale: float


def laplace_threshold(counts: ArrayLike, max_rows: int, grant: Grant) -> AboveThreshold:
    """Which values occur often: discrete Laplace noise on the counts of *those that occur*, then a threshold.

    Guarantee: (epsilon, delta)-DP of the grant (or delta-approximate rho-zCDP, epsilon = sqrt(2 rho)), for
               adding or removing one of the unit, who has at most L = max_rows rows, of the values kept.
    Because:   let D' be D with one person more. That person adds c_v rows to the values v, sum c_v <= L. Call
               v new if D does not have it, old otherwise; s is the sum of c_v over new ones. Noise Z_v has
               P(Z = z) proportional to q^|z|, q = exp(-1/b), b = L / epsilon, independent over values.
               1. Old values: their counts differ by at most L - s in L1, so the laws of what is kept among
                  them differ by a factor of at most exp((L - s) / b) <= exp(epsilon), both ways.
               2. New values are never kept for D. For D' let E be the event that none is. Given E, the output
                  is that of the old values, independent of E: for every set S of outputs
                  P(M(D') in S) <= P(old' in S) + P(not E) <= e^epsilon P(M(D) in S) + P(not E), and
                  P(M(D) in S) = P(M(D) in S) (P(E) + P(not E)) <= e^epsilon P(M(D') in S) + P(not E).
               3. P(not E) <= sum over new v of P(Z >= T - c_v), where for t >= 1 P(Z >= t) = q^t / (1 + q):
                  ties are kept, so it is >=. q^(T - c) is convex in c, and a sum of convex functions over
                  whole c_v >= 1 with sum <= L is largest at an end: all rows in one value, or one row in each
                  of L. So P(not E) <= q^T max(q^-L, L q^-1) / (1 + q), and T is the smallest whole number
                  above L for which this is at most delta. (T = L + b ln(L / (2 delta)) is the familiar bound
                  for continuous noise; discrete noise with ties needs the sum above.)
               The same E shows delta-approximate zCDP with rho = epsilon^2 / 2.
    Assumes:   max_rows is right; counts are of distinct values that occur; what is done with the values that
               are not kept does not depend on which they are.
    Tested by: tests/privacy/test_threshold.py
    """
    _require(grant)
    if grant.budget.neighbours is not Neighbours.ADD_REMOVE:
        raise ParameterError(
            "values are found under add/remove neighbours.", hint="use a budget for add/remove neighbours"
        )
    if not grant.delta:
        raise BudgetError(
            "which values occur cannot be found without a delta.", hint="ledger.grant(epsilon=..., delta=...)"
        )
    rows = _whole_sensitivity(max_rows)
    array = _whole_numbers(counts)

    def make(b: float) -> Any:
        dp = _opendp()
        measurement = dp.m.make_laplace(_integers(dp), dp.l1_distance(T="i64"), scale=b)
        return measurement if grant.epsilon is not None else dp.c.make_pureDP_to_zCDP(measurement)

    start = up(Fraction(rows) / _epsilon_of(grant))
    measurement, scale = _affordable(make, rows, grant, start, None)
    least = threshold(scale, rows, grant.delta)
    return AboveThreshold(_released(measurement, array, grant) >= least, least, scale)


def threshold(scale: float, max_rows: int, delta: float) -> int:
    """T of `laplace_threshold`: the smallest above L with q^T max(q^-L, L q^-1) / (1 + q) <= delta.

    Rounded up: the logarithms are right to far fewer parts than the slack that is added.
    """
    rows, q = _whole_sensitivity(max_rows), math.exp(-1 / _scale(scale))
    worst = max(rows / scale, math.log(rows) + 1 / scale)
    wanted = scale * (worst - math.log(delta) - math.log1p(q))
    return max(math.ceil(wanted * (1 + 1e-12) + 1e-9), rows + 1)


def laplace_cost(sensitivity: int, scale: float) -> float:
    """The epsilon that discrete Laplace noise of this scale costs: what to ask a ledger for."""
    dp = _opendp()
    sensitivity = _whole_sensitivity(sensitivity)
    return _asked(
        dp.m.make_laplace(_integers(dp), dp.l1_distance(T="i64"), scale=_scale(scale)).map(sensitivity)
    )


def gaussian_cost(sensitivity: float, scale: float) -> float:
    """The rho that discrete Gaussian noise of this scale costs: what to ask a ledger for."""
    return _asked(_make_gaussian(_scale(scale)).map(_real_sensitivity(sensitivity)))


# -- what they share ---------------------------------------------------------------------------------


def _opendp() -> ModuleType:
    """OpenDP, loaded when first needed. Its flag for contributed mechanisms guards all of those used here."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


def _require(grant: object) -> None:
    """Refuse what is no grant before anything else; the grant itself is burnt just before the draw."""
    if not isinstance(grant, Grant) or grant.burnt:
        raise BudgetError(
            "noise is drawn for a grant that was not used before.",
            hint="ledger.grant(epsilon=..., purpose=...)",
        )


def _integers(dp: ModuleType) -> Any:
    return dp.vector_domain(dp.atom_domain(T="i64"))


def _make_gaussian(scale: float) -> Any:
    dp = _opendp()
    return dp.m.make_gaussian(_integers(dp), dp.l2_distance(T="f64"), scale=scale)


def _epsilon_of(grant: Grant) -> Fraction:
    """The epsilon a grant allows for a pure mechanism; rho allows the root of 2 rho, rounded down."""
    if grant.epsilon is not None:
        return grant.loss
    # 1 / sqrt_up(1 / x) is not above sqrt(x)
    return 1 / Fraction(sqrt_up(1 / (2 * grant.loss)))


def _affordable(
    make: Callable[[float], Any], sensitivity: float, grant: Grant, start: float, scale: float | None
) -> tuple[Any, float]:
    """A measurement whose privacy map says that it costs no more than the grant, and its scale.

    The computed scale is raised by single steps of the last digit until OpenDP's map, which rounds up,
    agrees.
    """
    if scale is not None:
        scale = _scale(scale)
        measurement = make(scale)
        if not _covers(grant, measurement, sensitivity):
            raise BudgetError(
                "noise of this scale costs more than the grant.", hint="ask for its cost, or more noise"
            )
        return measurement, scale
    for _ in range(64):
        measurement = make(start)
        if _covers(grant, measurement, sensitivity):
            return measurement, start
        start = math.nextafter(start, math.inf)
    raise BudgetError(
        "no noise was found that the grant covers.", hint="the sensitivity is out of proportion"
    )


def _covers(grant: Grant, measurement: Any, sensitivity: float) -> bool:
    """Whether the grant pays for what OpenDP's map, which rounds up, says the measurement costs."""
    cost = measurement.map(sensitivity)
    return math.isfinite(cost) and Fraction(cost) <= grant.loss


def _drawn(measurement: Any, values: object, grant: Grant) -> Any:
    """Burn the grant, then draw. What OpenDP says of a failure may tell of the data: not passed on."""
    from opendp.mod import OpenDPException

    grant.burn()
    try:
        return measurement(values)
    except OpenDPException:
        raise SfumatoError("the draw failed, and the grant is spent.", hint="ask for another grant") from None


def _released(measurement: Any, array: NDArray[np.int64], grant: Grant) -> NDArray[np.int64]:
    noisy = _drawn(measurement, np.ascontiguousarray(array).ravel(), grant)
    return np.asarray(noisy, dtype=np.int64).reshape(array.shape)


def _asked(cost: float) -> float:
    """A cost in the ledger's units, rounded up, so that a grant of it always suffices."""
    if not math.isfinite(cost):
        raise ParameterError("noise of this scale has no finite cost.", hint="take a larger scale")
    return up(Fraction(ceil_units(Fraction(cost), UNIT), UNIT))


def _whole_numbers(values: ArrayLike) -> NDArray[np.int64]:
    """The values as 64-bit whole numbers. Clamping unsigned ones moves neighbours closer, never apart."""
    array = np.asarray(values)
    if array.size == 0 and not isinstance(values, np.ndarray):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise ParameterError(
            "noise is added to arrays of whole numbers.", hint="count, or round to a public grid"
        )
    if array.dtype == np.uint64:
        array = np.minimum(array, np.uint64(_HIGH))
    return array.astype(np.int64)


def _scores(scores: ArrayLike) -> NDArray[Any]:
    array = np.asarray(scores)
    if array.ndim != 1 or array.size == 0:
        raise ParameterError("scores are a list of at least one number.", hint="one score per candidate")
    if array.dtype.kind == "f":
        return array.astype(np.float64)
    return _whole_numbers(array)


def _whole_sensitivity(sensitivity: object) -> int:
    try:
        number = operator.index(sensitivity)  # type: ignore[arg-type]
    except TypeError:
        number = 0
    if isinstance(sensitivity, bool) or not 1 <= number <= _HIGH:
        raise ParameterError("the sensitivity of whole numbers is a whole number, at least 1.", hint="e.g. 1")
    return number


def _real_sensitivity(sensitivity: float) -> float:
    number = exact(sensitivity, "the sensitivity")
    if not number > 0:
        raise ParameterError("the sensitivity must be positive.", hint="sqrt_up gives one from its square")
    # Both readings of the float, as printed and as stored, must reach the number.
    result = up(number)
    return result if Fraction(result) >= number else math.nextafter(result, math.inf)


def _scale(scale: float) -> float:
    if not exact(scale, "the scale") > 0:
        raise ParameterError("the scale must be positive.", hint="without noise there is no privacy")
    return float(scale)
