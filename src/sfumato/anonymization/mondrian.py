"""Mondrian: the table is one region, and regions are split for as long as every part satisfies the criterion.

LeFevre, DeWitt, Ramakrishnan: Mondrian multidimensional k-anonymity (2006). A region is released as the
lowest nodes above its rows, so splits follow the hierarchies; ordered columns are cut at the median.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization import parameters as declared
from sfumato.anonymization.limits import WORK, SearchLimits, refuse_limits
from sfumato.anonymization.local.blocks import blocks_of, refuse
from sfumato.anonymization.local.forest import planted
from sfumato.anonymization.local.query import ClassQuery, rows_decide
from sfumato.anonymization.problem import Problem
from sfumato.anonymization.recoding import Recoding
from sfumato.criteria import Criterion
from sfumato.errors import ParameterError, listed
from sfumato.methods.declaration import Declaration, Does, Need, declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.shapes import Text
from sfumato.progress import report

Labels = NDArray[np.int64]


@declares(
    Declaration(
        "mondrian",
        Does.GENERALIZE,
        "The table cut in two again and again.",
        page="mondrian.md",
        claims=declared.COUNTED,
        needs=(Need.HIERARCHIES,),
    )
)
@dataclass(frozen=True)
class Mondrian:
    """Splits top down, the widest column first.

    >>> people = sf.samples.members(60).select(["sex", "region", "insurance"])
    >>> ladders = dict.fromkeys(people.columns, sf.hierarchy.Suppression())
    >>> release = sf.anonymize(people, sf.KAnonymity(5), method=sf.Mondrian(), hierarchies=ladders)
    >>> bool(release.counts(*people.columns).n.min() >= 5)
    True
    """

    kind: Annotated[
        Literal["strict", "relaxed"],
        Parameter(
            Text(
                "'strict': parts never overlap. 'relaxed': rows with the value of the median go to both "
                "halves, and children of a node that are too small stay together.",
                ("strict", "relaxed"),
            ),
            beginner=True,
        ),
    ] = "strict"
    ordered: Annotated[
        tuple[str, ...],
        declared.names(
            "Columns whose leaves stand in order, to be cut at the median; others are split into the "
            "children of a node."
        ),
    ] = ()
    max_suppressed: Annotated[float, declared.MAX_SUPPRESSED] = 0.0
    time_limit: Annotated[float | None, declared.time_limit("regions stay as wide as they are")] = None
    work_limit: Annotated[
        int | None, declared.work_limit("splits that are tried, those of the widest regions first")
    ] = None

    def __post_init__(self) -> None:
        if self.kind not in ("strict", "relaxed"):
            raise ParameterError("kind must be strict or relaxed.", hint="Mondrian('relaxed')")
        if isinstance(self.ordered, str):
            raise ParameterError("ordered is a tuple of columns.", hint="Mondrian(ordered=('age',))")
        object.__setattr__(self, "ordered", tuple(self.ordered))
        share = self.max_suppressed
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise ParameterError("max_suppressed must be a share from 0 to 1.", hint="Mondrian()")
        refuse_limits(self.time_limit, self.work_limit)

    def search(self, problem: Problem, criterion: Criterion) -> Recoding:
        """The regions that cannot be split any further, or not within the limits."""
        unknown = [f"'{c}'" for c in self.ordered if c not in problem.columns]
        if unknown:
            raise ParameterError(
                f"{len(unknown)} ordered columns are not quasi-identifiers: {listed(unknown)}.",
                hint="name columns of the problem",
            )
        limits = SearchLimits(self.time_limit, self.work_limit)
        regions = _Regions(self, problem, criterion, limits)
        regions.split_all()
        recoding = regions.recoding()
        recoding.about.update(
            method=f"Mondrian, {self.kind}",
            score=recoding.loss(),
            classes=len(recoding.classes()[1]),
            splits=regions.splits,
            rounds=regions.rounds,
            stopped=limits.stopped,
            seconds=round(limits.seconds, 3),
        )
        limits.say(f"the regions after {regions.splits} splits are given, wider than they need be")
        return recoding


class _Regions:
    """Pieces (of, n) and their regions. Each round every open region tries its next column, all at once."""

    def __init__(
        self, method: Mondrian, problem: Problem, criterion: Criterion, limits: SearchLimits
    ) -> None:
        self.method, self.problem, self.limits = method, problem, limits
        self.forest = planted(problem)
        self.k, self.by_rows = max(1, criterion.k), rows_decide(problem, criterion)
        self._ask = ClassQuery(problem, criterion)
        self.of, self.n = np.arange(problem.combinations), problem.n.copy()
        self.splits = self.rounds = 0
        self.lost = self._start(criterion)

    def _start(self, criterion: Criterion) -> NDArray[np.bool_]:
        """One region per block of the maximum levels; blocks that cannot satisfy are suppressed."""
        block = blocks_of(self.problem)
        lost = np.zeros(len(block), bool)
        while not lost.all():
            self.region = _numbered(np.where(lost, -1, block))
            ok = self.satisfied(self.region)
            if ok.all():
                break
            lost |= (self.region >= 0) & ~ok[self.region]
        refuse(self.problem, lost, self.method.max_suppressed, criterion.describe())
        self.region = _numbered(np.where(lost, -1, block))
        return lost

    def boxes(self, region: Labels) -> NDArray[np.int32]:
        """(regions, columns): the lowest nodes above the rows of each."""
        from sfumato.anonymization.local._kernels import boxes as kernels

        leaves = self.problem.leaves[self.of]
        return kernels.boxes(self.forest, leaves, region, int(region.max(initial=-1)) + 1)

    def satisfied(self, region: Labels) -> NDArray[np.bool_]:
        """(regions,): which satisfy the criterion."""
        count = int(region.max(initial=-1)) + 1
        if self.by_rows:
            kept = region >= 0
            return np.bincount(region[kept], self.n[kept], count) >= self.k
        label = np.empty(self.problem.combinations, np.int64)
        label[self.of] = region  # pieces are whole combinations here
        return self._ask(label, self.boxes(region))

    def split_all(self) -> None:
        """Until no region can be split in any column, or no split is left. tried: (regions, columns)."""
        count = int(self.region.max(initial=-1)) + 1
        tried = np.zeros((count, len(self.problem.columns)), bool)
        while count:
            box = self.boxes(self.region)
            q = box.shape[1]
            width = self.forest.loss[self.forest.base[:q][None, :] + box]
            untried = ~tried & (box != self._lowest(box))
            column = np.where(untried.any(axis=1), np.where(untried, width, -1.0).argmax(axis=1), -1)
            if (column < 0).all():
                return
            column = self._affordable(column, width)
            if (column < 0).all():
                return
            self.rounds += 1
            report("splitting regions", int((column < 0).sum()), count)
            before = self.region
            made = self._round(box, column)
            tried[np.flatnonzero(column >= 0), column[column >= 0]] = True
            origin = np.empty(int(self.region.max()) + 1, np.int64)
            origin[self.region[self.region >= 0]] = before[self.source][self.region >= 0]
            tried = tried[origin] & ~made[origin][:, None]
            count = len(origin)

    def _affordable(self, column: Labels, width: NDArray[np.float64]) -> Labels:
        """(regions,): the column each is to be split by, -1: none, also where no work is left for it."""
        open_ = np.flatnonzero(column >= 0)
        most = int(min(self.limits.left, len(open_)))
        if most < len(open_):
            widest = np.argsort(-width[open_, column[open_]], kind="stable")
            column = column.copy()
            column[open_[widest[most:]]] = -1
        if not self.limits.take(most):
            return np.full(len(column), -1, np.int64)
        if most < len(open_):
            self.limits.stopped = WORK  # after these
        return column

    def _lowest(self, box: NDArray[np.int32]) -> NDArray[np.int32]:
        """A node that is a leaf cannot be split: (regions, columns), the node itself where it is one."""
        leaves = np.array([len(h.leaves) for h in self.problem.hierarchies], np.int32)
        return np.where(box < leaves[None, :], box, -1).astype(np.int32)

    def _round(self, box: NDArray[np.int32], column: Labels) -> NDArray[np.bool_]:
        """Split each region by its column, where the parts satisfy; (regions,), which were split."""
        self.source = np.arange(len(self.of))
        if self.method.kind == "relaxed":
            self._divide_medians(column)
        part = np.zeros(len(self.of), np.int64)
        for j, hierarchy in enumerate(self.problem.hierarchies):
            mine = np.flatnonzero((self.region >= 0) & (column[self.region] == j))
            if not mine.size:
                continue
            leaf = self.problem.leaves[self.of[mine], j]
            if self.problem.columns[j] in self.method.ordered:
                part[mine] = self._half(mine, leaf)
            else:
                level = hierarchy.level_of[box[self.region[mine], j]] - 1
                part[mine] = hierarchy.ancestors[level, leaf]
        return self._accepted(part, len(box))

    def _accepted(self, part: Labels, count: int) -> NDArray[np.bool_]:
        width = int(part.max(initial=0)) + 2
        key = np.where(self.region >= 0, self.region * width + part, -1)
        label = _numbered(key)
        ok = self.satisfied(label)
        inside = self.region >= 0
        if self.method.kind == "relaxed":  # parts that are too small stay together
            nominal = inside & ~ok[label]
            key = np.where(nominal, self.region * width + width - 1, key)
            label = _numbered(key)
            ok = self.satisfied(label)
        failed = np.zeros(count, bool)
        failed[self.region[inside & ~ok[label]]] = True
        parts = np.unique(np.stack([self.region[inside], label[inside]]), axis=1)[0]
        made = (np.bincount(parts, minlength=count) > 1) & ~failed
        self.splits += int(made.sum())
        split = inside & made[self.region]
        self.region = _numbered(np.where(inside, np.where(split, key, self.region * width), -1))
        self._gather()
        return made

    def _half(self, mine: Labels, leaf: NDArray[np.int32]) -> Labels:
        """0 up to the median of a region, 1 above it; the cut nearest to half of the rows."""
        region, n = self.region[mine], self.n[mine]
        shift = self._above[mine] if self.method.kind == "relaxed" else np.zeros(len(mine), np.int64)
        value = 2 * leaf.astype(np.int64) + shift
        order = np.lexsort((value, region))
        r, v, rows = region[order], value[order], n[order]
        last = np.append((r[1:] != r[:-1]) | (v[1:] != v[:-1]), True)
        ends = np.append(r[1:] != r[:-1], True)
        through = np.cumsum(rows)
        begin = np.append(0, through[ends])[np.cumsum(np.append(0, ends[:-1]))]
        total = through[ends][np.cumsum(np.append(0, ends[:-1]))] - begin
        off = np.abs(2 * (through - begin) - total).astype(float)
        off[~last | ends] = np.inf  # not within a value, not after the last
        cut = np.full(int(region.max()) + 1, -1, np.int64)
        by_off = np.lexsort((v, off, r))
        first = by_off[np.append(True, r[by_off][1:] != r[by_off][:-1])]
        usable = first[np.isfinite(off[first])]
        cut[r[usable]] = v[usable]
        return ((value > cut[region]) & (cut[region] >= 0)).astype(np.int64)

    def _divide_medians(self, column: Labels) -> None:
        """Relaxed: rows with the value of the median are told apart, some below and some above.

        Whole combinations, and one of them in two pieces where rows alone decide.
        """
        self._above = np.zeros(len(self.of), np.int64)
        for j, name in enumerate(self.problem.columns):
            if name not in self.method.ordered:
                continue
            mine = np.flatnonzero((self.region >= 0) & (column[self.region] == j))
            if not mine.size:
                continue
            leaf = self.problem.leaves[self.of[mine], j]
            order = np.lexsort((self.of[mine], leaf, self.region[mine]))
            mine, leaf = mine[order], leaf[order]
            region, rows = self.region[mine], self.n[mine]
            total = np.bincount(region, rows, len(column)).astype(np.int64)
            through = np.cumsum(rows)
            first = np.append(True, region[1:] != region[:-1])
            begin = (through - rows)[first][np.cumsum(first) - 1]
            below = total[region] // 2 - (through - rows - begin)  # rows of the piece that are in the half
            self._above[mine[below <= 0]] = 1
            cut = np.flatnonzero((below > 0) & (below < rows))
            if self.by_rows and cut.size:
                self._cut_pieces(mine[cut], below[cut])
            else:
                self._above[mine[cut]] = (2 * below[cut] < rows[cut]).astype(np.int64)

    def _cut_pieces(self, at: Labels, below: Labels) -> None:
        """The piece at each place becomes two: `below` rows, and the others above."""
        rest = self.n[at] - below
        self.n[at] = below
        self._above = np.append(self._above, np.ones(len(at), np.int64))
        self.of = np.append(self.of, self.of[at])
        self.n = np.append(self.n, rest)
        self.region = np.append(self.region, self.region[at])
        self.source = np.append(self.source, self.source[at])

    def _gather(self) -> None:
        """Pieces of one combination in one region are one piece again."""
        if len(self.of) == self.problem.combinations:
            return
        both = np.stack([self.of, self.region], axis=1)
        _, first, back = np.unique(both, axis=0, return_index=True, return_inverse=True)
        self.n = np.bincount(back.reshape(-1), self.n).astype(np.int64)
        self.of, self.region, self.source = self.of[first], self.region[first], self.source[first]

    def recoding(self) -> Recoding:
        """What the regions are released as."""
        roots = np.array([h.root for h in self.problem.hierarchies], np.int32)
        box = self.boxes(self.region)
        gone = self.region < 0
        nodes = np.where(gone[:, None], roots[None, :], box[self.region] if len(box) else roots[None, :])
        order = np.argsort(self.of, kind="stable")
        return Recoding(
            self.problem, self.of[order], self.n[order], nodes.astype(np.int32)[order], gone[order]
        )


def _numbered(key: Labels) -> Labels:
    """The same groups, numbered from 0; -1 stays."""
    found = np.full(len(key), -1, np.int64)
    kept = key >= 0
    found[kept] = np.unique(key[kept], return_inverse=True)[1].reshape(-1)
    return found
