"""LUGS: its law by enumeration, its entropies, its neighbours, and broken variants that are noticed."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from declared import PUBLIC
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

from sfumato import samples
from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.synthesis.lugs.method import LUGS
from sfumato.synthesis.lugs.tables import lifted
from sfumato.table import Table

SIZES = (2, 3, 2)
ROWS = [(0, 0, 0)] * 5 + [(1, 1, 0)] * 3 + [(1, 2, 1)] * 4  # several combinations were never seen
STATES = list(product(*map(range, SIZES)))


def toy(rows: list[tuple[int, ...]] = ROWS) -> Table:
    columns = [
        Column(
            f"x{j}",
            Kind.NOMINAL,
            type="integer",
            levels=tuple(range(size)),
            missing=False,
            provenance=PUBLIC,
        )
        for j, size in enumerate(SIZES)
    ]
    data = {f"x{j}": pa.array([r[j] for r in rows], pa.int64()) for j in range(3)}
    return Table.from_arrow(pa.table(data), Schema(tuple(columns)))


def drawn(method: LUGS, rows: int, table: Table | None = None, key: Key | None = None) -> np.ndarray:
    out = method.fit(table or toy()).sample(rows, key=key or Key.fresh()).data.to_arrow()
    return np.stack([out.column(f"x{j}").to_numpy() for j in range(3)], axis=1)


# -- the exact law ---------------------------------------------------------------------------------


@cache
def mixed(counts: tuple[int, ...], log_l: float, floor: float) -> np.ndarray:
    """(1 - alpha) P + alpha U with the smallest alpha that has the entropy."""
    share, size = np.array(counts) / sum(counts), len(counts)

    def law(alpha: float) -> np.ndarray:
        return (1 - alpha) * share + alpha / size

    def short(alpha: float) -> float:
        return float((law(alpha) * np.log(law(alpha))).sum()) + log_l

    return law(floor if short(floor) <= 0 else brentq(short, floor, 1, xtol=1e-14))


def conditional(i: int, x: tuple[int, ...], log_l: float, floor: float) -> np.ndarray:
    """Exact keys: the counts at x without i; if unseen, the average over the nearest rows' laws."""
    others = [j for j in range(3) if j != i]

    def law(context: tuple[int, ...]) -> np.ndarray:
        here = [r[i] for r in ROWS if all(r[j] == context[j] for j in others)]
        return mixed(tuple(np.bincount(here, minlength=SIZES[i]).tolist()), log_l, floor)

    far = [sum(r[j] != x[j] for j in others) for r in ROWS]
    near = [r for r, d in zip(ROWS, far, strict=True) if d == min(far)]
    return np.mean([law(r) for r in near], axis=0)


def exact_law(log_l: float, floor: float, sweeps: int, order: tuple[int, ...] = (0, 1, 2)) -> np.ndarray:
    p = np.full(len(STATES), 1 / len(STATES))
    place = {s: n for n, s in enumerate(STATES)}
    for _ in range(sweeps):
        for i in order:
            after = np.zeros(len(STATES))
            for s, n in place.items():
                law = conditional(i, s, log_l, floor)
                for v in range(SIZES[i]):
                    after[place[(*s[:i], v, *s[i + 1 :])]] += p[n] * law[v]
            p = after
    return p


def fits(rows: np.ndarray, law: np.ndarray) -> bool:
    """Chi-square at a false-alarm rate of 1e-6."""
    seen = np.bincount(np.ravel_multi_index(tuple(rows.T), SIZES), minlength=len(STATES))
    return bool(stats.chisquare(seen, len(rows) * law).pvalue > 1e-6)


EXACT = {"hashes": 0, "length": 1, "reach": 2, "floor": 0.05}


@pytest.mark.parametrize(("log_l", "burn_in"), [(0.0, 0), (0.4, 2), (0.65, 1)])
def test_rows_follow_the_law_that_enumeration_gives(log_l: float, burn_in: int) -> None:
    rows = drawn(LUGS(log_l=log_l, burn_in=burn_in, **EXACT), 50_000)
    assert fits(rows, exact_law(log_l, 0.05, burn_in + 1))


def test_broken_variants_are_noticed() -> None:
    rows = drawn(LUGS(log_l=0.4, burn_in=0, **EXACT), 50_000)
    assert not fits(rows, exact_law(0.2, 0.05, 1))  # half the entropy
    assert not fits(rows, exact_law(0.4, 0.05, 2))  # another number of sweeps
    assert not fits(rows, exact_law(0.4, 0.05, 1, (2, 1, 0)))  # reversed scan
    far = drawn(LUGS(log_l=0.4, burn_in=0, **{**EXACT, "reach": 0}), 50_000)
    assert not fits(far, exact_law(0.4, 0.05, 1))  # unseen keys without neighbours are uniform


# -- laws ------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    counts=st.lists(st.integers(0, 50), min_size=2, max_size=6).filter(lambda c: sum(c) > 0),
    share=st.floats(0, 1),
    floor=st.sampled_from([1e-6, 1e-3, 0.1]),
)
def test_laws_have_the_entropy_asked_for(counts: list[int], share: float, floor: float) -> None:
    size, n = len(counts), np.array(counts)
    log_l = share * math.log(size)
    here = n[n > 0]
    alpha = lifted(here, np.zeros(len(here), np.int64), 1, size, log_l, floor)[0]

    def entropy(a: float) -> float:
        q = (1 - a) * n / n.sum() + a / size
        return float(-(q[q > 0] * np.log(q[q > 0])).sum())

    assert entropy(alpha) >= log_l - 1e-9 and alpha >= floor
    if alpha > floor + 1e-9:  # smoothed: just enough
        assert entropy(alpha) == pytest.approx(log_l, abs=1e-6) or alpha == pytest.approx(1)


def test_a_law_that_cannot_be_is_refused_or_capped() -> None:
    with pytest.raises(ParameterError, match="too few values"):
        LUGS(log_l=0.8).fit(toy())
    fitted = LUGS(log_l=0.8, cap=True).fit(toy())
    claim = fitted.sample(10).guarantee.claims[0]
    assert claim.capped == ("x0", "x2") and "not differentially private" in fitted.sample(10).guarantee.text()


def test_capped_columns_are_drawn_evenly() -> None:
    alpha = lifted(np.array([5, 1]), np.zeros(2, np.int64), 1, 2, math.log(2), 0.1)
    assert alpha.tolist() == [1.0]  # not just short of it
    assert lifted(np.array([5, 1]), np.zeros(2, np.int64), 1, 2, 3.0, 0.1).tolist() == [1.0]


def test_laws_of_neighbours_have_the_entropy_too() -> None:
    for i in range(3):
        for x in STATES:
            law = conditional(i, x, 0.6, 0.05)
            assert -(law * np.log(law)).sum() >= 0.6 - 1e-9


def test_doubt_given_the_released_row_can_be_less() -> None:
    """What is not promised: x0 was drawn first, x1 and x2 were drawn given it, and tell of it."""
    p = exact_law(0.4, 0.05, 30).reshape(SIZES)
    given_rest = p / p.sum(axis=0)
    assert (-given_rest * np.log(given_rest)).sum(axis=0).min() < 0.3
    last = p / p.sum(axis=2, keepdims=True)  # x2 was drawn last: for it the promise holds in the row
    assert (-last * np.log(last)).sum(axis=2).min() > 0.4 - 1e-6
    text = LUGS(log_l=0.4).fit(toy()).sample(5).guarantee.text()
    assert "less doubt" in text


# -- keys and neighbours ---------------------------------------------------------------------------


def test_min_hash_keys_make_more_artificial_rows() -> None:
    columns = samples.DISCHARGE_VARIABLES[:7]
    table = samples.discharges(4_000, seed=1).select(columns)
    seen = set(zip(*(table.to_arrow().column(c).to_pylist() for c in columns), strict=True))

    def artificial(hashes: int) -> float:
        out = LUGS(log_l=0.02, hashes=hashes, columns=columns).fit(table).sample(2_000).data.to_arrow()
        rows = zip(*(out.column(c).to_pylist() for c in columns), strict=True)
        return float(np.mean([row not in seen for row in rows]))

    assert artificial(0) < 0.3 < 0.5 < artificial(2)


def test_neighbours_are_the_nearest_rows() -> None:
    from sfumato.synthesis.lugs import _kernels
    from sfumato.synthesis.lugs.tables import learn

    draw = np.random.default_rng(1)
    codes = draw.integers(0, 4, (300, 6)).astype(np.uint16)
    index = learn(codes, (4,) * 6, 0, 3, 1_000, 0.0, 0.1, Key.from_seed(0)).index
    for _ in range(200):
        x, i = draw.integers(0, 4, 6).astype(np.uint16), int(draw.integers(6))
        gaps = (np.delete(codes, i, 1) != np.delete(x, i)).sum(axis=1)
        if gaps.min() == 0:
            continue
        found = _kernels.neighbour(x, i, index, np.uint64(draw.integers(2**63)))
        assert gaps[found] == gaps.min() if gaps.min() <= 3 else found == -1


def test_ties_among_neighbours_are_random() -> None:
    from sfumato.synthesis.lugs import _kernels
    from sfumato.synthesis.lugs.tables import learn

    codes = np.array([[0, 1, 1], [0, 1, 2], [0, 2, 1], [0, 3, 3]], np.uint16)
    index = learn(codes, (4,) * 3, 0, 2, 64, 0.0, 0.1, Key.from_seed(0)).index
    words = Key.fresh().words(0, 0, 3_000)
    x = np.array([0, 1, 3], np.uint16)  # rows 0, 1 and 3 are at distance 1 without column 0, row 2 at 2
    picked = np.bincount([_kernels.neighbour(x, 0, index, w) for w in words], minlength=4)
    assert picked[2] == 0 and stats.chisquare(picked[[0, 1, 3]]).pvalue > 1e-6


# -- rows ------------------------------------------------------------------------------------------


def test_the_same_key_gives_the_same_rows() -> None:
    fitted = LUGS(length=7, log_l=0.1).fit(toy(), key=Key.from_seed(1))
    one, two = (fitted.sample(1_000, seed=5) for _ in range(2))
    assert one.data.to_arrow().equals(two.data.to_arrow())
    assert fitted.sample(500, seed=5).data.to_arrow().equals(one.data.to_arrow().slice(0, 500))
    assert not fitted.sample(1_000, seed=6).data.to_arrow().equals(one.data.to_arrow())
    assert "no guarantee (seeded)" in [c.title for c in one.guarantee.claims]


def test_chains_can_be_looked_at() -> None:
    fitted = LUGS(log_l=0.3).fit(toy())
    assert fitted.path(50).num_rows == 50
    found = fitted.autocorrelations(4_000, 10)
    assert set(found) == {"x0", "x1", "x2"} and abs(found["x1"][9]) < 0.2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"log_l": -1}, "log_l"),
        ({"floor": 0.0}, "floor"),
        ({"hashes": -1}, "hashes"),
        ({"thin": 0}, "thin"),
        ({"length": True}, "length"),
    ],
)
def test_parameters_are_checked(wrong: dict, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        LUGS(**wrong)


def test_bad_tables_are_refused() -> None:
    with pytest.raises(DataError, match="no rows"):
        LUGS(log_l=0.1).fit(toy([]))
    with pytest.raises(ParameterError, match="rows"):
        LUGS(log_l=0.1).fit(toy()).sample(0)
    schema = Schema((Column("id", Kind.NOMINAL, Role.IDENTIFIER), Column("a", Kind.NOMINAL)))
    with pytest.raises(SchemaError, match="two are needed"):
        LUGS().fit(Table.from_arrow(pa.table({"id": ["1"], "a": ["x"]}), schema))
