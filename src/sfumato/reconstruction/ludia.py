"""LUDIA: masked columns from a low-rank model of people and the aggregates they must meet (chapter 4).

    y = sf.LUDIA().fit(individuals, aggregates).reconstruct()

The objective is scale-degenerate: (c U, V / c, c Pi) only shrinks its penalty. So it is not to be minimized
to the end: rank, the sharing of the singular values and the number of iterations are the regularizers. What
is not given is chosen by cross-validation over held-out groups; the trace and the choice are returned.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import SfumatoWarning
from sfumato.progress import report
from sfumato.reconstruction import factor
from sfumato.reconstruction.aggregate import Aggregates
from sfumato.reconstruction.baselines import common_faults, gathered, linear, opened
from sfumato.reconstruction.factor import Iterate, Sharing, Start
from sfumato.reconstruction.fitted_model import FittedReconstruction, LinearRule, require_known
from sfumato.reconstruction.moments import Missing
from sfumato.reconstruction.multilevel import effects_of
from sfumato.reconstruction.problem import LinearProblem, held_out
from sfumato.reconstruction.shrinkage import calibrate, said, shrinkage
from sfumato.seeds import Key

if TYPE_CHECKING:
    from sfumato.sources import DataLike
    from sfumato.table import Table

Real = NDArray[np.float64]

_SHARINGS: tuple[Sharing, ...] = ("even", "scores")
_RANKS = (1, 2, 3, 5, 8, 13, 21, 34)  # the ranks that are tried, and that of X itself
_MOST_FOLDS = 5


@dataclass(frozen=True)
class LUDIA:
    """Low-rank factorization using different levels of aggregation (Algorithm 2).

    rank: of the model for [X y]; chosen among up to the rank of X if None.
    iterations: when to stop; chosen from 0 to `most_iterations` if None. Ten or so are the print's.
    sharing: where the singular values of the start go: "even" (half to U, half to V; the least daring),
        "scores" (all to U), "loadings" (all to V); chosen between the first two if None.
    start: "mp", "er" or "random" (figure 4.5); a random one needs a seed to be repeatable.
    correction: meet the aggregates exactly; without it, for aggregates that are noisy or of a sample.
    effects: "intercepts" or "slopes" that differ by group (section 4.4.1), by the groups of the aggregates
        or of `effects_by`, a column they are nested in.
    columns: of the individuals, for X; by default all that say something about a person.
    missing: what to do with missing numbers in X: "indicator", "em" (on the moments) or "refuse".
    cautious: of all choices that foretell held-out groups as well as the best, up to its standard error, take
        the one that moves people least from their groups' means.
    partial: groups may be missing among the aggregates or among the people.
    shrinkage: what slopes are multiplied by: 1 leaves them, 0 is the mean of the group. If None, what groups
        say of people is trusted as far as it can be (see docs/ludia.md), or as known values say; where rank,
        iterations and sharing are all given, slopes are left as they come out.

    >>> people = sf.samples.members(200).select(["region", "age", "stays", "cost"])
    >>> published = sf.Aggregates.compute(people, by="region", values="cost")
    >>> fitted = sf.LUDIA(rank=1, iterations=5).fit(people.drop(["cost"]), published)
    >>> estimate = fitted.reconstruct().numbers()[:, 0]
    >>> true = people.to_arrow()["cost"].to_numpy()
    >>> bool(abs(estimate.mean() / true.mean() - 1) < 1e-6)
    True
    """

    rank: int | None = None
    iterations: int | None = None
    sharing: Sharing | None = "even"
    start: Start = "mp"
    correction: bool = True
    effects: Literal["intercepts", "slopes"] | None = None
    effects_by: str | None = None
    columns: Sequence[str] | None = None
    missing: Missing = "indicator"
    most_iterations: int = 30
    cautious: bool = False
    partial: bool = False
    shrinkage: float | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        faults = common_faults(self.columns, self.missing)
        for name, low in (("rank", 1), ("iterations", 0), ("most_iterations", 1)):
            value = getattr(self, name)
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if value is None and name != "most_iterations":
                continue
            if not whole or value < low:
                faults.append(f"{name} is a whole number from {low}")
        if self.sharing not in (None, "even", "scores", "loadings"):
            faults.append("sharing is 'even', 'scores' or 'loadings'")
        if self.start not in ("mp", "er", "random"):
            faults.append("start is 'mp', 'er' or 'random'")
        if self.effects not in (None, "intercepts", "slopes"):
            faults.append("effects is 'intercepts' or 'slopes'")
        if self.effects_by is not None and self.effects is None:
            faults.append("effects_by says by which groups effects differ, and there are none")
        given = self.shrinkage
        if given is not None and (isinstance(given, bool) or not 0 <= given <= 20):
            faults.append("shrinkage is a number from 0 to 20")
        require_known(faults, "LUDIA")
        object.__setattr__(self, "columns", None if self.columns is None else tuple(self.columns))

    def fit(
        self,
        individuals: Table | DataLike,
        aggregates: Aggregates,
        *,
        known: Table | DataLike | None = None,
    ) -> FittedReconstruction:
        """One reading for X'X and A X; from there on the number of people does not matter.

        known: people whose values are known: the same columns, and the masked ones, as they are (not as
            logs); rows without a value do not count. They say how far slopes hold within groups, and how
            wide intervals have to be.
        """
        table, grouping, moments = gathered(individuals, aggregates, self.columns, self.missing, self.partial)
        problem = LinearProblem.of(moments, grouping)
        settled, errors = self._settled(problem)
        state, trace = settled._run(problem)
        slopes = problem.slopes(state.slopes)
        # U v_y = X beta + A' K v_y: the second part is what the correction replaces.
        own = problem.statistics.back(state.offsets) * problem.spread / grouping.sizes[:, None]

        def rule(factor: Real) -> LinearRule:
            taken = problem.shrunk(slopes, factor)
            effects, shifted = None, None
            if self.effects is not None:
                level = moments.ax @ taken + _gram(grouping.gram, own * grouping.sizes[:, None])
                effects, shifted = effects_of(
                    table, grouping, problem, moments.ax, grouping.s - level, self.effects, self.effects_by
                )
            return linear(moments, grouping, taken, self.correction, own, effects, shifted)

        factor = self._factor(problem, slopes, settled)
        calibration = None
        if known is not None:
            calibration = calibrate(opened(known), grouping, factor, rule, self.correction)
            factor = factor if self.shrinkage is not None else calibration.shrinkage
        elif self.shrinkage is None and (text := said(factor, problem)):
            warnings.warn(f"LUDIA: {text}.", SfumatoWarning, stacklevel=2)
        chosen = {
            "rank": settled.rank,
            "sharing": settled.sharing,
            "iterations": settled.iterations,
            "shrinkage": tuple(factor.tolist()),
            "start": self.start,
            "by_cross_validation": tuple(
                n for n in ("rank", "sharing", "iterations") if getattr(self, n) is None
            ),
            "held_out_error": errors,
        }
        return FittedReconstruction(
            "LUDIA", table, grouping, rule(factor), trace, chosen, moments,
            foretold=lambda: held_out(problem, lambda p: p.shrunk(settled._slopes(p), factor)),
            corrected=self.correction, calibration=calibration,
        )  # fmt: skip

    def _factor(self, problem: LinearProblem, slopes: Real, settled: LUDIA) -> Real:
        """What slopes are multiplied by, (k,), as far as groups can say."""
        k = slopes.shape[1]
        if self.shrinkage is not None:
            return np.full(k, float(self.shrinkage))
        as_printed = None not in (self.rank, self.iterations, self.sharing)
        meets = self.correction or self.effects is not None
        if as_printed or not meets:
            return np.ones(k)
        assert settled.rank is not None
        return shrinkage(problem, slopes, settled._slopes, settled.rank)

    # -- the loop --------------------------------------------------------------------------------

    def _begin(self, problem: LinearProblem) -> Iterate:
        assert self.rank is not None and self.sharing is not None
        rank = min(self.rank, max(factor.rank_of(problem.xx), 1))
        return factor.begin(problem.statistics, rank, self.start, self.sharing, _normals(self.seed))

    def _run(self, problem: LinearProblem) -> tuple[Iterate, tuple[float, ...]]:
        assert self.iterations is not None
        t, state = problem.statistics, self._begin(problem)
        trace = [factor.objective(t, state)]
        for state in islice(factor.iterate(t, state), self.iterations):  # noqa: B020 (goes on from it)
            trace.append(factor.objective(t, state))
            report("iterating", len(trace) - 1, self.iterations)
        return state, tuple(trace)

    def _slopes(self, problem: LinearProblem) -> Real:
        assert self.iterations is not None
        state = self._begin(problem)
        found = [state, *islice(factor.iterate(problem.statistics, state), self.iterations)]
        return problem.slopes(found[-1].slopes)

    # -- cross-validation ------------------------------------------------------------------------

    def _settled(self, problem: LinearProblem) -> tuple[LUDIA, dict[tuple[int, str, int], float]]:
        """What was left open, chosen by how well held-out groups are foretold; and all errors."""
        largest = max(factor.rank_of(problem.xx), 1)
        ranks = (
            [self.rank] if self.rank is not None else sorted({r for r in _RANKS if r < largest} | {largest})
        )
        sharings = [self.sharing] if self.sharing is not None else list(_SHARINGS)
        steps = [self.iterations] if self.iterations is not None else _steps(self.most_iterations)
        if len(ranks) == len(sharings) == len(steps) == 1:
            return replace(self, rank=ranks[0], sharing=sharings[0], iterations=steps[0]), {}
        if int(problem.first.sum()) < 3:  # too few groups to leave one out: what did well elsewhere
            short = self.iterations if self.iterations is not None else min(10, self.most_iterations)
            return replace(self, rank=ranks[-1], sharing=self.sharing or "scores", iterations=short), {}
        errors: dict[tuple[int, str, int], float] = {}
        spread, size = dict(errors), dict(errors)
        grid = list(product(ranks, sharings))
        for done, (rank, sharing) in enumerate(grid):
            candidate = replace(self, rank=rank, sharing=sharing)
            means, spreads, sizes = candidate._errors(problem, steps)
            for i, step in enumerate(steps):
                errors[rank, sharing, step] = float(means[i])
                spread[rank, sharing, step] = float(spreads[i])
                size[rank, sharing, step] = float(sizes[i])
            report("cross-validating", done + 1, len(grid))
        best = min(errors, key=lambda c: errors[c])
        # Groups may differ by more than X says, and a model can foretell their means for the wrong reason: of
        # all that do as well as the best, up to its standard error, the one that moves people least is taken.
        near = [c for c in errors if errors[c] <= errors[best] + spread[best]] if self.cautious else [best]
        rank, sharing_, step = min(near, key=lambda c: size[c])
        return replace(self, rank=rank, sharing=cast(Sharing, sharing_), iterations=step), errors

    def _errors(self, problem: LinearProblem, steps: Sequence[int]) -> tuple[Real, Real, Real]:
        """After each of some numbers of iterations: the squared error of held-out groups per person, its
        standard
        error, and the variance of the people's values that the model makes."""
        total, squares, weight = np.zeros(len(steps)), [], []
        for held in problem.folds(_MOST_FOLDS):
            fewer = problem.without(held)
            rests = [
                (problem.published[held] - problem.raw_means[held] @ fewer.slopes(state.slopes))
                / problem.spread
                for state in self._states(fewer, steps)
            ]
            weight.append(float(problem.sizes[held].sum()))
            squares.append([float(problem.sizes[held] @ (r**2).sum(axis=1)) for r in rests])
        shares = np.array(squares) / np.array(weight)[:, None]
        total = np.average(shares, axis=0, weights=weight)
        spread = np.sqrt(np.average((shares - total) ** 2, axis=0, weights=weight) / max(len(weight) - 1, 1))
        if not self.cautious:  # nobody asks how far people are moved
            return total, spread, np.zeros(len(steps))
        betas = [state.slopes for state in self._states(problem, steps)]
        made = np.array([np.sum(b * (problem.xx @ b)) / problem.rows for b in betas])
        return total, spread, made

    def _states(self, problem: LinearProblem, steps: Sequence[int]) -> Iterator[Iterate]:
        """The state after each of some numbers of iterations, growing."""
        state, at = self._begin(problem), 0
        states = factor.iterate(problem.statistics, state)
        for step in steps:
            while at < step:
                state, at = next(states), at + 1
            yield state


def _steps(most: int) -> list[int]:
    """Numbers of iterations that are tried: every one at first, then in growing steps."""
    steps = [0, 1, 2, 3, 4, 5, 7, 10]
    while steps[-1] < most:
        steps.append(round(steps[-1] * 1.4))
    return sorted({min(step, most) for step in steps})


def _gram(gram: Real, kappa: Real) -> Real:
    out: Real = gram[:, None] * kappa if gram.ndim == 1 else gram @ kappa
    return out


def _normals(seed: int | None) -> factor.Draw:
    """Standard normal numbers for a random start; no promise rests on them."""
    key = Key.fresh() if seed is None else Key.from_seed(seed)
    generator = key.generator("ludia", "start")

    def draw(shape: tuple[int, int]) -> Real:
        from scipy.special import ndtri

        out: Real = ndtri((generator.random(shape) * (2**53 - 1) + 0.5) / 2**53)
        return out

    return draw
