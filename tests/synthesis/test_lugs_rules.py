"""LUGS with constraints and weights: the law by enumeration, what is promised of it, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from declared import PUBLIC
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import brentq

from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.synthesis.constraints import Constraint, Implies, Never
from sfumato.synthesis.lugs.executors import cells_of
from sfumato.synthesis.lugs.method import LUGS
from sfumato.synthesis.lugs.parallel import PLUGS, Job
from sfumato.table import Table

State = tuple[int, ...]
SIZES = (2, 3, 2)
SEEN = {(0, 0, 0): 5.0, (1, 1, 0): 3.0, (1, 2, 1): 4.0}
STATES = list(product(*map(range, SIZES)))
EXACT = {"hashes": 0, "length": 1, "reach": 2, "floor": 0.05, "burn_in": 1}
# x0 = 1 goes with x1 = 1 or 2 and never with x1 = 0; x1 = 2 leaves nothing for x2: a dead end when x0 = 0.
RULES = (Never({"x0": 1, "x1": 0}), Never({"x0": 0, "x1": 2, "x2": [0, 1]}), Implies({"x1": 1}, {"x2": 0}))


def allowed(x: State) -> bool:
    return not (x[0] == 1 and x[1] == 0) and not (x[0] == 0 and x[1] == 2) and not (x[1] == 1 and x[2] == 1)


def toy(rows: Sequence[State], weights: Sequence[float | None] | None = None) -> Table:
    columns = [
        Column(
            f"x{j}", Kind.NOMINAL, type="integer", levels=tuple(range(s)), missing=False, provenance=PUBLIC
        )
        for j, s in enumerate(SIZES)
    ]
    data = {f"x{j}": pa.array([r[j] for r in rows], pa.int64()) for j in range(len(SIZES))}
    if weights is not None:
        columns.append(Column("w", Kind.NUMERIC, Role.WEIGHT, type="real"))
        data["w"] = pa.array(weights, pa.float64())
    return Table.from_arrow(pa.table(data), Schema(tuple(columns)))


REPEATED = toy([r for r, n in SEEN.items() for _ in range(int(n))])


# -- the oracle ------------------------------------------------------------------------------------


def lifted(
    n: NDArray[np.float64], there: NDArray[np.bool_], log_l: float, floor: float
) -> NDArray[np.float64]:
    """(1 - alpha) P + alpha U among the values that are there, the smallest alpha from the floor up."""
    even, n = there / there.sum(), n * there
    share = n / n.sum() if n.sum() else even

    def short(alpha: float) -> float:
        q = ((1 - alpha) * share + alpha * even)[there]
        return float((q * np.log(q)).sum()) + log_l

    if math.log(there.sum()) <= log_l + 1e-12:
        return even
    alpha = floor if short(floor) <= 0 else brentq(short, floor, 1, xtol=1e-14)
    return np.asarray((1 - alpha) * share + alpha * even)


def conditional(
    i: int, x: State, there: NDArray[np.bool_], log_l: float, floor: float
) -> NDArray[np.float64]:
    """The weights at x without i; where nobody has that, the average over the nearest rows, by weight."""
    far = {r: sum(r[j] != x[j] for j in range(len(SIZES)) if j != i) for r in SEEN}
    out = np.zeros(SIZES[i])
    near = {r: SEEN[r] for r in SEEN if far[r] == min(far.values())}
    for r, weight in near.items():
        n = np.zeros(SIZES[i])
        for other, w in SEEN.items():
            if all(other[j] == r[j] for j in range(len(SIZES)) if j != i):
                n[other[i]] += w
        out += weight / sum(near.values()) * lifted(n, there, log_l, floor)
    return out


def law(log_l: float, floor: float, sweeps: int, ruled: bool) -> NDArray[np.float64]:
    p = np.full(len(STATES), 1 / len(STATES))
    place = {s: n for n, s in enumerate(STATES)}
    for _ in range(sweeps):
        for i in range(len(SIZES)):
            after = np.zeros(len(STATES))
            for s, n in place.items():
                q = conditional(i, s, np.ones(SIZES[i], bool), log_l, floor)
                for v in range(SIZES[i]):
                    after[place[(*s[:i], v, *s[i + 1 :])]] += p[n] * q[v]
            p = after
    if not ruled:
        return p
    out = np.zeros(len(STATES))
    for s, n in place.items():
        rows = {s: 1.0}
        for i in range(len(SIZES)):
            after_: dict[State, float] = {}
            for y, mass in rows.items():
                there = np.array([possible(i, (*y[:i], v)) for v in range(SIZES[i])])
                if there.any():
                    q = conditional(i, y, there, log_l, floor)
                    for v in np.flatnonzero(there):
                        after_[(*y[:i], int(v), *y[i + 1 :])] = mass * q[v]
            rows = after_
        for y, mass in rows.items():  # dead ends are drawn anew
            out[place[y]] += p[n] * mass / sum(rows.values())
    return out


def possible(i: int, begun: State) -> bool:
    """Whether no constraint is broken by the columns so far."""
    if i >= 1 and begun[:2] == (1, 0):
        return False
    return i < 2 or allowed(begun)


def fits(codes: NDArray[np.int64], truth: NDArray[np.float64]) -> bool:
    """Chi-square at a false-alarm rate of 1e-6; what cannot be must not come."""
    seen = np.bincount(np.ravel_multi_index(tuple(codes.T), SIZES), minlength=len(STATES))
    there = truth > 0
    if seen[~there].any():
        return False
    return bool(stats.chisquare(seen[there], len(codes) * truth[there]).pvalue > 1e-6)


def drawn(method: LUGS, table: Table, rows: int = 50_000) -> NDArray[np.int64]:
    out = method.fit(table).sample(rows, key=Key.fresh()).data.to_arrow()
    return np.stack([out.column(f"x{j}").to_numpy() for j in range(len(SIZES))], axis=1)


# -- constraints -----------------------------------------------------------------------------------


@pytest.mark.parametrize("log_l", [0.0, 0.5])
def test_rows_within_constraints_follow_the_law_that_enumeration_gives(log_l: float) -> None:
    truth = law(log_l, 0.05, 2, ruled=True)
    assert truth.sum() == pytest.approx(1) and all(
        truth[n] == 0 for n, s in enumerate(STATES) if not allowed(s)
    )
    broken = [(0, 2, 0)] * 4 + [(1, 0, 1)] * 7  # not learnt from
    table = toy([r for r, n in SEEN.items() for _ in range(int(n))] + broken)
    codes = drawn(LUGS(log_l=log_l, cap=True, constraints=RULES, **EXACT), table)
    assert fits(codes, truth)
    assert not fits(drawn(LUGS(log_l=log_l, cap=True, **EXACT), REPEATED), truth)  # without them
    assert not fits(codes, law(0.3, 0.05, 2, ruled=True))


def test_one_chain_reaches_both_sides_of_what_is_tied_both_ways() -> None:
    """Held within the constraints it would stay on the side it began on."""
    both = (Implies({"x0": 1}, {"x2": 1}), Implies({"x2": 1}, {"x0": 1}))
    table = toy([(0, n % 3, 0) for n in range(90)] + [(1, n % 3, 1) for n in range(10)])
    method = LUGS(log_l=0.0, hashes=0, floor=0.1, constraints=both, cap=True, length=2_000)
    codes = drawn(method, table, 2_000)  # crosses about 50 times
    assert (codes[:, 0] == codes[:, 2]).all() and 0 < codes[:, 0].sum() < 2_000


def test_laws_within_constraints_have_the_entropy_or_are_even() -> None:
    from sfumato.synthesis.lugs import _kernels

    fitted = LUGS(log_l=0.6, cap=True, constraints=RULES, **EXACT).fit(REPEATED)
    for q in range(len(fitted.learnt.tables.keys)):
        i = int(np.searchsorted(fitted.learnt.tables.key_start, q, "right")) - 1
        for there in product([False, True], repeat=SIZES[i]):
            left = sum(there)
            if left:
                p = np.empty(SIZES[i])
                _kernels.law_within(q, fitted.learnt.tables, np.array(there), left, 0.6, 0.05, p)
                found = -float((p[p > 0] * np.log(p[p > 0])).sum())
                assert p.sum() == pytest.approx(1) and not p[~np.array(there)].any()
                assert found >= min(0.6, math.log(left)) - 1e-9


def test_the_promise_names_what_constraints_take_from_it() -> None:
    with pytest.raises(ParameterError, match="'x1', 'x2' have too few"):
        LUGS(log_l=0.5, constraints=(Never({"x0": 1, "x1": [0, 2]}), *RULES)).fit(REPEATED)
    fitted = LUGS(log_l=0.5, cap=True, constraints=(Never({"x0": 1, "x1": [0, 2]}), *RULES)).fit(REPEATED)
    claim = fitted.sample(5).guarantee.claims[0]
    assert claim.capped == ("x1", "x2") and "drawn anew" in claim.text()
    free = LUGS(log_l=0.5, constraints=(Never({"x0": 1, "x1": 0}),)).fit(REPEATED)  # leaves two: enough
    assert free.sample(5).guarantee.claims[0].capped == ()


@pytest.mark.soak
def test_parts_keep_constraints_and_weights_too() -> None:
    rules: tuple[Constraint, ...] = (Never({"x0": 1, "x1": 0}),)
    method = LUGS(log_l=0.1, constraints=rules, weight="w")
    table = toy([*SEEN, (1, 0, 0)], [*SEEN.values(), 50.0])
    fitted = PLUGS(method, partitions=1).fit(table)
    codes = np.ascontiguousarray(table.encode(fitted.domain.names).codes.T.astype(np.uint16))
    cells, n = np.unique(cells_of(codes, np.array([*SEEN.values(), 50.0])), return_counts=True)
    job = Job(method, fitted.domain.books, Key.from_seed(1).to_bytes(), (2_000,))
    rows = job.draw(0, cells.tobytes(), n)
    assert len(rows) == 2_000 and not ((rows[:, 0] == 1) & (rows[:, 1] == 0)).any()


# -- weights ---------------------------------------------------------------------------------------


def test_weights_count_as_repeated_rows_do() -> None:
    truth = law(0.4, 0.05, 2, ruled=False)
    by_weight = toy([*SEEN, (0, 1, 1)], [*SEEN.values(), 0.0])  # the last stands for nobody
    assert fits(drawn(LUGS(log_l=0.4, weight="w", **EXACT), by_weight), truth)
    assert not fits(drawn(LUGS(log_l=0.4, **EXACT), by_weight), truth)


def test_bad_weights_and_constraints_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"constraints must be .*weight must be"):
        LUGS(constraints=("sex",), weight=3)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="2 rows of weight column 'w'"):
        LUGS(log_l=0.1, weight="w").fit(toy(list(SEEN), [1.0, None, -1.0]))
    with pytest.raises(SchemaError, match="not a number"):
        LUGS(log_l=0.1, weight="x0").fit(REPEATED)
    with pytest.raises(DataError, match="no rows that count"):
        LUGS(log_l=0.1, constraints=[Never({"x0": [0, 1], "x1": [0, 1, 2]})], cap=True).fit(REPEATED)
