"""Greedy guided by a model (the thesis' Greedy-DxCG, p. 50), without looking at the outcome.

The thesis adds the row whose bound is predicted closest to the *true* outcome of the row: what is chosen then
tells the outcome. Here a set grows by the row whose bound changes the members' *predictions* least. The model
is asked about all candidates of a step at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization import parameters as declared
from sfumato.anonymization.degradation import LearningTarget, Model, halves, learn
from sfumato.anonymization.greedy.check import ClassCheck, blocks, bound, check_levels, checked
from sfumato.anonymization.greedy.closure import GrowingClasses, in_order, repair
from sfumato.anonymization.greedy.flat import Flat
from sfumato.anonymization.greedy.search import pieces
from sfumato.anonymization.information import Height
from sfumato.anonymization.limits import SearchLimits, limit_faults
from sfumato.anonymization.measure import Floats
from sfumato.anonymization.problem import Problem
from sfumato.anonymization.recoding import Recoding
from sfumato.criteria import Criterion
from sfumato.errors import ParameterError
from sfumato.methods.declaration import Declaration, Does, Need, declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.settings import require_numbers
from sfumato.methods.shapes import Flag, Number, Text
from sfumato.progress import report

Longs = NDArray[np.int64]


@declares(
    Declaration(
        "guided",
        Does.GENERALIZE,
        "Greedy, guided by what a model predicts.",
        page="greedy.md",
        claims=declared.COUNTED,
        needs=(Need.HIERARCHIES, Need.TARGET),
    )
)
@dataclass(frozen=True, eq=False)
class ModelGuided:
    """Disjoint classes that change what a model predicts as little as possible.

    The model learns from a random `share` of the rows. With `leaking` the classes tell something about each
    row's outcome that no criterion counts; the guarantee says so.

    >>> people = sf.samples.members(60).select(["sex", "insurance", "diabetes"])
    >>> ladders = dict.fromkeys(["sex", "insurance"], sf.hierarchy.Suppression())
    >>> method = sf.ModelGuided("diabetes")
    >>> release = sf.anonymize(people, sf.KAnonymity(5), method=method, hierarchies=ladders)
    >>> bool(release.counts("sex", "insurance").n.min() >= 5)
    True
    """

    target: Annotated[str, declared.TARGET]
    estimator: Annotated[
        Any,
        Parameter(
            Text("The model, as `Degradation` takes it."),
            python_only="a model is an object of scikit-learn; elsewhere it is the usual one",
        ),
    ] = None
    shortlist: Annotated[
        int,
        declared.count("Candidates that the model is asked about, the least general first; 0 for all."),
    ] = 64
    leaking: Annotated[
        bool, Parameter(Flag("Guide by the true outcome, as the thesis does, which gives it away."))
    ] = False
    share: Annotated[
        float, Parameter(Number("Of the rows, the share that the model learns from.", 0, 1, above=True))
    ] = 0.5
    search_seed: Annotated[int, declared.SEARCH_SEED] = 0
    time_limit: Annotated[
        float | None, declared.time_limit("rows that are in no class yet are released as one")
    ] = None
    work_limit: Annotated[int | None, declared.work_limit("rows that are added to a set")] = None

    def __post_init__(self) -> None:
        require_numbers(self)
        faults = [] if self.target else ["a target column must be named"]
        if self.search_seed < 0:
            faults.append("search_seed must not be negative")
        if self.shortlist < 0:
            faults.append("shortlist must not be negative")
        if not 0 < self.share < 1:
            faults.append("share must be between 0 and 1")
        faults += limit_faults(self.time_limit, self.work_limit)
        if faults:
            raise ParameterError(f"{'; '.join(faults)}.", hint="ModelGuided(target='charge')")

    @property
    def needs(self) -> tuple[str, ...]:
        """The target."""
        return (self.target,)

    @property
    def leaks(self) -> tuple[str, ...]:
        """What the release gives away, whatever was asked: nothing, or the outcome that guided the search."""
        if not self.leaking:
            return ()
        return (
            f"The classes were chosen by looking at '{self.target}' of each row: who knows the method learns "
            "something about it that no criterion counts.",
        )

    def search(self, problem: Problem, criterion: Criterion) -> Recoding:
        """The recoding; `about` has the mean change of a prediction, and whether the outcome leaked."""
        limits = SearchLimits(self.time_limit, self.work_limit)
        check_levels(problem)
        flat = Flat.of(problem, Height().cost(problem))
        check = ClassCheck(problem, criterion, flat)
        target = LearningTarget.of(problem, self.target, self.estimator)
        learnt, _ = halves(target.found, self.share, self.search_seed)
        if not learnt.any():
            raise ParameterError("too few rows to learn from.", hint="a larger share, or more rows")
        model = learn(problem, target, learnt, self.estimator)
        before = model.predict(problem.leaves)
        guide = _Guide(problem, flat, model, target, _aims(target, before) if self.leaking else before)
        found = _classes(problem, guide, check, self.shortlist, limits)
        after = model.predict(found.nodes)
        change = target.change(after, before[found.of])
        found.about.update(
            method="model-guided greedy",
            measure="change of predictions" if not self.leaking else "distance of predictions to outcomes",
            score=float((change * found.n).sum() / max(found.n.sum(), 1)),
            reads_outcome=True,
            leaks=self.target if self.leaking else "",
            stopped=limits.stopped,
            seconds=limits.seconds,
        )
        limits.say("what was in no class yet is released together, more general than it need be")
        return found


def _aims(target: LearningTarget, before: Floats) -> Floats:
    """The mean outcome of each combination, in the shape of a prediction."""
    found = target.found
    out = np.zeros(before.shape)
    n = np.bincount(found.of, found.n, len(before))
    if target.value is None:
        np.add.at(out, (found.of, found.code), found.n)
    else:
        np.add.at(out, (found.of, np.zeros(len(found.of), int)), found.n * target.value[found.code])
    return out / np.maximum(n, 1)[:, None]


class _Guide:
    """Which candidate changes the predictions of a set least."""

    def __init__(
        self, problem: Problem, flat: Flat, model: Model, target: LearningTarget, aim: Floats
    ) -> None:
        self.problem, self.flat, self.model, self.target, self.aim = problem, flat, model, target, aim

    def nearest(self, members: Longs, candidates: Longs, shortlist: int) -> int:
        """argmin over t of the mean over members and t of |prediction(LUB) - aim|; ties: the lower bound."""
        flat = self.flat
        now = bound(flat, members)
        joined = np.empty((len(candidates), flat.columns), np.int32)
        for j, h in enumerate(self.problem.hierarchies):
            mine = self.problem.leaves[candidates, j]
            joined[:, j] = _joins(h.nodes, int(now[j]), int(flat.rep[flat.node_at[j] + now[j]]), mine)
        height = flat.costs(joined).sum(1)
        if shortlist and len(candidates) > shortlist:
            few = np.argpartition(height, shortlist)[:shortlist]
            candidates, joined, height = candidates[few], joined[few], height[few]
        predicted = self.model.predict(joined)
        own = self.target.change(predicted, self.aim[candidates]) * flat.n[candidates]
        theirs = self.target.change(predicted[:, None, :], self.aim[members][None, :, :]) @ flat.n[members]
        rows = flat.n[candidates] + flat.n[members].sum()
        return int(candidates[np.lexsort((candidates, height, (own + theirs) / rows))[0]])


def _joins(nodes: NDArray[np.int32], node: int, rep: int, leaves: NDArray[np.int32]) -> NDArray[np.int32]:
    """The least upper bound of one node with each leaf; coarse levels first, then finer."""
    out = np.empty(len(leaves), np.int32)
    for row in nodes[::-1]:
        above = row[rep]
        np.copyto(out, above, where=row[leaves] == above)
        if above == node:
            break
    return out


def _classes(
    problem: Problem, guide: _Guide, check: ClassCheck, shortlist: int, limits: SearchLimits
) -> Recoding:
    flat = guide.flat
    roots = np.array([h.root for h in problem.hierarchies], np.int32)
    parts = []
    done = 0
    for block in blocks(problem):
        if not check.all_hold(block):
            parts.append((block, problem.n[block], roots, True))
            continue
        found = GrowingClasses(flat)
        alone = check.holds(block, flat.n[block], np.arange(len(block)), len(block))
        for t in block[alone]:
            found.add(np.array([t]), flat.n[[t]])
        free = np.zeros(problem.combinations, np.bool_)
        free[block[~alone]] = True
        for seed in in_order(flat, block[~alone]):
            done += 1
            report("model-guided greedy", done, problem.combinations)
            if not free[seed]:
                continue
            if limits.stopped:
                break
            members = np.array([seed])
            free[seed] = False
            while not check.all_hold(members) and free.any() and limits.take():
                best = guide.nearest(members, np.flatnonzero(free), shortlist)
                free[best] = False
                members = np.append(members, best)
            found.add(members, flat.n[members])
        over = np.flatnonzero(free)
        if len(over):
            found.add(over, flat.n[over])
        repair(found, check, limits)
        parts.extend((m, r, b, False) for m, r, b in zip(found.members, found.rows, found.nodes, strict=True))
    return checked(pieces(problem, parts, claim="classes"), check)
