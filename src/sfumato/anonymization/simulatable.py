"""A search whose every decision can be simulated by whoever holds the release: knowing it tells nothing.

Simulatable, as auditors of queries say it (Kenthapadi, Mishra and Nissim 2005). Boxes are parted from the
top. Write h(v) for what is in box v: its rows, and how often each sensitive value occurs among them; and
need(v) for the least size such that *any* so many rows of v satisfy all that is asked of a class.

Hiding values. Whether and how v is parted hangs on quasi-identifiers and on need(v). Each part has need(v)
    rows, so it satisfies, whatever values its rows have.
    Guarantee: R(D') = R(D) for every D' in which the sensitive values of each class are dealt out among its
               rows in another way.
    Because:   h(v) is the sum over the classes within v and so the same for D and D'; by induction from the
               top v is parted in the same way, and the classes with it.
Hiding places. Whether and how v is parted hangs on v, on its number of rows, on need(v), and on how many rows
    may still be left out; children with fewer than need(v) rows are left out of the file. A row is released
    as the box of its class, not as the smallest one around its rows.
    Guarantee: R(D') = R(D) for every D' in which rows of the file lie elsewhere in their boxes (and sensitive
               values are dealt out otherwise), and rows that are left out are the same.
    Because:   each row of v is a row of v in D' too, so that h(v) and what may be left out are the same; by
               induction each child has the same rows.
Assumes:   hierarchies, criteria and limits were chosen without looking at what comes out.
Tested by: tests/anonymization/test_simulatable.py (every world of tiny tables)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization import parameters as declared
from sfumato.anonymization.classes import classes_of
from sfumato.anonymization.limits import SearchLimits, refuse_limits
from sfumato.anonymization.local.blocks import blocks_of, refuse
from sfumato.anonymization.local.forest import HierarchyForest, parents_of, planted
from sfumato.anonymization.problem import Problem, Sparse
from sfumato.anonymization.recoding import Recoding
from sfumato.criteria import OWN_VALUE, AlphaK, Criterion, KAnonymity, KnownSearch, LDiversity
from sfumato.criteria.variety import enough
from sfumato.errors import DataError, ParameterError, listed
from sfumato.methods.declaration import Declaration, Does, Need, declares
from sfumato.progress import report

Labels = NDArray[np.int64]
Nodes = NDArray[np.int32]
_FAIR = 3  # a cut leaves each side at least one in so many of the rows, where there is such a cut


@declares(
    Declaration(
        "simulatable",
        Does.GENERALIZE,
        "Groups by rules that may be known: who knows them learns no more.",
        page="simulatable.md",
        claims=("KAnonymity", "LDiversity", "AlphaK", "KnownSearch"),
        needs=(Need.HIERARCHIES,),
    )
)
@dataclass(frozen=True)
class SimulatableRecoding:
    """Parts boxes from the top, by rules that say nothing beyond the release. Holds `KnownSearch`.

    >>> people = sf.samples.members(300).select(["sex", "region", "insurance", "health"])
    >>> ladders = dict.fromkeys(["sex", "region", "insurance"], sf.hierarchy.Suppression())
    >>> asked = sf.KAnonymity(5) & sf.LDiversity(2, "health") & sf.KnownSearch("values")
    >>> release = sf.anonymize(people, asked, hierarchies=ladders)
    >>> release.guarantee.claims[-1].title
    'a search that may be known: sensitive values'
    """

    max_suppressed: Annotated[
        float,
        declared.share(
            "Of the rows, the share that may be left out where places are hidden, or where a column has a "
            "maximum level.",
            beginner=True,
        ),
    ] = 0.05
    time_limit: Annotated[float | None, declared.time_limit("boxes stay as wide as they are")] = None
    work_limit: Annotated[int | None, declared.work_limit("boxes that are looked at, level by level")] = None

    simulatable = True  # decides by what the release shows

    def __post_init__(self) -> None:
        share = self.max_suppressed
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise ParameterError("max_suppressed must be a share from 0 to 1.", hint="SimulatableRecoding()")
        refuse_limits(self.time_limit, self.work_limit)

    def search(self, problem: Problem, criterion: Criterion) -> Recoding:
        """The classes that cannot be parted any further by rules that may be known."""
        _refuse(problem, criterion)
        known = [part for part in criterion.parts if isinstance(part, KnownSearch)]
        places = any(part.places for part in known)
        if known and self.time_limit is not None:
            raise ParameterError(
                "how far a search comes by the clock hangs on more than the release shows.",
                hint="no time_limit; a work_limit says nothing",
            )
        limits = SearchLimits(self.time_limit, self.work_limit)
        tree = _Tree(problem, criterion, self.max_suppressed, places)
        label, nodes, lost = tree.grown(limits)
        roots = np.array([[h.root for h in problem.hierarchies]], np.int32)
        recoding = Recoding.whole(
            problem, np.where(lost[:, None], roots, nodes[label]).astype(np.int32), lost,
            method=f"simulatable recoding, {'places' if places else 'values'} hidden",
            splits=tree.splits, classes=len(nodes), stopped=limits.stopped,
            seconds=round(limits.seconds, 3),
        )  # fmt: skip
        recoding.about["score"] = recoding.loss()
        limits.say(f"the boxes after {tree.splits} splits are given, wider than they need be")
        return recoding


def _refuse(problem: Problem, criterion: Criterion) -> None:
    """What could not be held, whoever asks."""
    odd = [
        part.describe()
        for part in criterion.parts
        if not isinstance(part, KAnonymity | LDiversity | AlphaK | KnownSearch)
        or (isinstance(part, KAnonymity) and part.missing != OWN_VALUE)
    ]
    if odd:
        raise ParameterError(
            f"SimulatableRecoding knows no way to hold {listed(odd)}.",
            hint="it takes k-anonymity, l-diversity of all kinds and (alpha, k)",
        )
    persons = any(
        isinstance(part, KAnonymity) and (part.persons or (part.persons is None and problem.persons))
        for part in criterion.parts
    )
    if persons:
        raise ParameterError(
            "SimulatableRecoding counts rows, and persons were asked for.",
            hint="KAnonymity(5, persons=False), or --no-persons, where each person has one row",
        )
    if any(isinstance(p, KnownSearch) and p.values for p in criterion.parts) and not criterion.sensitive:
        raise ParameterError(
            "values are to be hidden, and nothing is asked of a sensitive column.",
            hint="LDiversity(3, 'diagnosis') & KnownSearch('values'), or KnownSearch('places')",
        )


class _Box(NamedTuple):
    """members: its combinations. nodes: (columns,), what it is released as. spare: rows it may leave out."""

    members: Labels
    nodes: Nodes
    spare: int


class _Tree:
    """Boxes that are parted until no rule allows more."""

    def __init__(self, problem: Problem, criterion: Criterion, share: float, places: bool) -> None:
        self.problem, self.criterion, self.places = problem, criterion, places
        self.forest: HierarchyForest = planted(problem)
        self.share = share
        self.splits = 0
        self.lost = np.zeros(problem.combinations, bool)
        assert problem.weights is not None
        weights = problem.weights / problem.weights.sum()
        self.children, self.gain = [], []
        for h, w in zip(problem.hierarchies, weights, strict=True):
            parent = parents_of(h)[:-1]  # the root is its own
            self.children.append(np.bincount(parent, minlength=h.size))
            below = np.bincount(parent, (h.leaf_counts * h.loss)[:-1], h.size)
            self.gain.append(w * (h.loss - below / h.leaf_counts))

    def grown(self, limits: SearchLimits) -> tuple[Labels, Nodes, NDArray[np.bool_]]:
        """(combinations,) the class of each; (classes, columns) their nodes; (combinations,) left out."""
        label = np.full(self.problem.combinations, -1, np.int64)
        nodes: list[Nodes] = []
        open_, done = deque(self._roots()), 0
        while open_:
            box = open_.popleft()
            if limits.take() and (parts := self._parted(box)):
                self.splits += 1
                open_ += parts
                continue
            label[box.members] = len(nodes)
            nodes.append(box.nodes)
            done += len(box.members)
            report("parting boxes", done, self.problem.combinations)
        return label, np.array(nodes, np.int32).reshape(-1, len(self.problem.columns)), self.lost

    def _roots(self) -> Iterator[_Box]:
        """One box per block of the maximum levels. Blocks of too few rows are left out: sizes decide."""
        problem, block = self.problem, blocks_of(self.problem)
        rows = np.bincount(block, problem.n)
        self.lost = (rows < self.criterion.k)[block]
        refuse(problem, self.lost, self.share, self.criterion.describe())
        kept = np.where(self.lost, -1, block)
        kept[~self.lost] = np.unique(kept[~self.lost], return_inverse=True)[1].reshape(-1)
        if not self.criterion.satisfied(classes_of(problem, kept)).all():
            raise DataError(
                "some rows that no class may part from lack variety, and to leave them out would say so.",
                hint="allow higher levels, or ask for less",
            )
        spare = int(self.share * problem.rows) - int(problem.n[self.lost].sum())
        left = max(1, int(problem.n[~self.lost].sum()))
        order = np.argsort(kept, kind="stable")
        order = order[kept[order] >= 0]
        for members in np.split(order, np.flatnonzero(np.diff(kept[order])) + 1) if order.size else ():
            yield _Box(members, self._top(members), spare * int(problem.n[members].sum()) // left)

    def _top(self, members: Labels) -> Nodes:
        """What a block is released as: its maximum levels, or the smallest box where places may be told."""
        assert self.problem.max_level is not None
        if not self.places:
            hull: Nodes = self._hulls(members, np.zeros(len(members), np.int64), 1)[0]
            return hull
        first = self.problem.leaves[members[0]]
        tops = zip(self.problem.hierarchies, self.problem.max_level, first, strict=True)
        return np.array([h.nodes[min(int(top), h.height)][leaf] for h, top, leaf in tops], np.int32)

    def _hulls(self, members: Labels, part: Labels, count: int) -> Nodes:
        from sfumato.anonymization.local._kernels import boxes as kernels

        return kernels.boxes(self.forest, self.problem.leaves[members], part, count)

    def need(self, members: Labels) -> int:
        """The least size such that any so many rows of these satisfy all that is asked."""
        tables = {name: _counted(sparse, members) for name, sparse in self.problem.sensitive.items()}
        return max(
            max(part.k, enough(part, tables[part.column]))
            if isinstance(part, LDiversity | AlphaK)
            else part.k
            for part in self.criterion.parts
        )

    def _parted(self, box: _Box) -> list[_Box]:
        """What becomes of a box; nothing: it is a class."""
        need = self.need(box.members)
        return self._by_number(box, need) if self.places else self._by_sizes(box, need)

    def _below(self, box: _Box, j: int) -> Labels:
        """(members,): the child of column j's node that each lies under, numbered from 0."""
        h = self.problem.hierarchies[j]
        level = int(h.level_of[box.nodes[j]]) - 1
        child = h.nodes[level][self.problem.leaves[box.members, j]]
        return np.unique(child, return_inverse=True)[1].reshape(-1).astype(np.int64)

    # -- places hidden: nothing is looked at but how many rows the box has ------------------------

    def _by_number(self, box: _Box, need: int) -> list[_Box]:
        """Parted by the column that gains most for the rows it may cost, if these may be left out."""
        rows = int(self.problem.n[box.members].sum())
        best, most = -1, 0.0
        for j, node in enumerate(box.nodes):
            children = int(self.children[j][node])
            if children == 0:
                continue
            # Of more than c (need - 1) rows some child has need: at most c - 1 children are left out.
            cost = (children - 1) * (need - 1) if rows > children * (need - 1) else rows
            worth = (self.gain[j][node] * rows + 1e-9) / max(cost, 0.5)
            if cost <= box.spare and worth > most:
                best, most = j, worth
        if best < 0:
            return []
        h, part = self.problem.hierarchies[best], self._below(box, best)
        sizes = np.bincount(part, self.problem.n[box.members]).astype(np.int64)
        small = sizes < need
        self.lost[box.members[small[part]]] = True
        kept = int(sizes[~small].sum())
        spare, found = box.spare - int(sizes[small].sum()), []
        for c in np.flatnonzero(~small):
            members, nodes = box.members[part == c], box.nodes.copy()
            level = int(h.level_of[nodes[best]]) - 1
            nodes[best] = h.nodes[level][self.problem.leaves[members[0], best]]
            found.append(_Box(members, nodes, spare * int(sizes[c]) // kept))
        return found

    # -- values hidden: quasi-identifiers are known anyway ----------------------------------------

    def _by_sizes(self, box: _Box, need: int) -> list[_Box]:
        """Parted in two by the cut that loses least, of those that leave both sides room to be cut again."""
        n = self.problem.n[box.members]
        rows = int(n.sum())
        best, least = None, (False, np.inf)
        for inside, size in self._cuts(box, n, need):
            hulls = self._hulls(box.members, inside, 2)
            loss = float((np.array([rows - size, size]) * self._lost_by(hulls)).sum())
            fair = _FAIR * min(size, rows - size) >= rows or need <= self.criterion.k
            if (not fair, loss) < least or best is None:
                best, least = (inside, hulls), (not fair, loss)
        if best is None:
            return []
        inside, hulls = best
        return [_Box(box.members[inside == c], hulls[c], 0) for c in range(2)]

    def _cuts(self, box: _Box, n: NDArray[np.int64], need: int) -> Iterator[tuple[Labels, int]]:
        """(members,) 1: under one node of a column, 0: not; and its rows. The most even cut of each level."""
        rows = int(n.sum())
        for j, h in enumerate(self.problem.hierarchies):
            leaf = self.problem.leaves[box.members, j]
            for level in range(int(h.level_of[box.nodes[j]]) - 1, -1, -1):
                of = h.ancestors[level][leaf]
                sizes = np.bincount(of, n)
                sizes[(sizes < need) | (sizes > rows - need)] = 0
                u = int(np.argmin(np.abs(2 * sizes - rows)))
                if sizes[u]:
                    yield (of == u).astype(np.int64), int(sizes[u])

    def _lost_by(self, nodes: Nodes) -> NDArray[np.float64]:
        base = self.forest.base[: nodes.shape[1]]
        found: NDArray[np.float64] = self.forest.loss[base[None, :] + nodes].sum(axis=1)
        return found


def _counted(sparse: Sparse, members: Labels) -> NDArray[np.int64]:
    """How often each value occurs among these combinations, most frequent first."""
    cells = np.diff(sparse.start)[members]
    before = np.cumsum(cells) - cells
    place = np.arange(int(cells.sum())) + np.repeat(sparse.start[members] - before, cells)
    found = np.bincount(sparse.code[place], sparse.n[place], sparse.levels).astype(np.int64)
    return np.sort(found[found > 0])[::-1]
