"""PeGS and PeGS.rs against their law by enumeration, for every sampler; and broken ones, which must fail.

Each test has a false-alarm rate of 1e-6: keys are fresh, any draw must pass.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pegs_oracle import FALSE_ALARM, law_of, misfit, tiny

from sfumato.privacy import PureDP
from sfumato.seeds import Key
from sfumato.synthesis import _kernels
from sfumato.synthesis.constraints import Never
from sfumato.synthesis.fitted_pegs import FittedPeGS
from sfumato.synthesis.pegs import PeGS
from sfumato.synthesis.sampler import Sampler, trace
from sfumato.synthesis.structural_zeros import _kernels as restricted

ROWS = [(0, 0, 0)] * 6 + [(0, 1, 1)] * 3 + [(1, 2, 1)] * 5 + [(1, 0, 0)] * 2 + [(0, 2, 0)]
SIZES = (2, 3, 2)
PARENTS = {0: (1,), 1: (0, 2), 2: (1,)}
NAMED = {f"v{i}": [f"v{p}" for p in ps] for i, ps in PARENTS.items()}
ALPHA = 0.75
DRAWS = 50_000

CASES: dict[str, dict[str, Any]] = {
    "pegs": {},
    "three sweeps": {"sweeps": 3},
    "blocks of two": {"block": 2},
    "blocks of three": {"block": 3},
    "one row after two sweeps with resets": {"block": 1, "sweeps": 2},
    "blocks of two after two sweeps": {"block": 2, "sweeps": 2},
}


def fitted(**more: Any) -> FittedPeGS:
    return PeGS(**{"alpha": ALPHA, "parents": NAMED, **more}).fit(tiny(ROWS, SIZES))


def drawn(model: FittedPeGS, key: Key) -> NDArray[Any]:
    rows = DRAWS * (model.method.block or 1)
    return Sampler(model.laws(rows), key, model.method.sweeps, model.method.block, model.pool).codes(0, rows)


def slowly(model: FittedPeGS, key: Key, *, block: int, reset: bool, rows: int = 0) -> NDArray[Any]:
    """By the row-by-row loop, which can also leave the resets out."""
    sampler = Sampler(model.laws(DRAWS), key, model.method.sweeps, model.method.block)
    book = sampler.book
    out = np.empty((3, rows or DRAWS * block), book.dtype)
    restricted.pegs_general(
        sampler._stream, block, model.method.sweeps, reset, 0, sampler._seeds, book.shape, book.slots,
        book.zeros, book.exact.cumulative, out,
    )  # fmt: skip
    return out


@pytest.mark.parametrize("sampler", ["secret", "seeded"])
@pytest.mark.parametrize("case", CASES)
def test_rows_have_the_enumerated_law(case: str, sampler: str) -> None:
    key = Key.fresh() if sampler == "secret" else Key.from_seed(int.from_bytes(Key.fresh().to_bytes()[1:9]))
    law = law_of(ROWS, SIZES, PARENTS, ALPHA, **CASES[case])
    assert abs(sum(law.values()) - 1) < 1e-9
    assert misfit(drawn(fitted(**CASES[case]), key), law) > FALSE_ALARM


@pytest.mark.parametrize("case", CASES)
def test_the_three_loops_agree_word_for_word(case: str) -> None:
    model, key = fitted(**CASES[case]), Key.fresh()
    block = model.method.block
    sampler = Sampler(model.laws(300), key, model.method.sweeps, block)
    quick = sampler.codes(0, 300)
    assert np.array_equal(quick, slowly(model, key, block=block or 1, reset=block is not None, rows=300))
    for row in (0, 1, 2, 7, 299):
        assert np.array_equal(trace(sampler, row)[-1], quick[:, row])


def test_refused_words_are_replaced() -> None:
    """A total of 3/8 of 2**64 refuses a quarter of the words; the draw is then that of spare words."""
    total = 3 * 2**61
    weights = np.array([[total // 3, total // 2, total // 6]], np.uint64)
    cumulative, totals = np.empty_like(weights), np.empty(1, np.uint64)
    _kernels.cumulate(weights, cumulative, totals)
    key, n = Key.fresh(), 4_000
    words, out = key.words(0, 0, n), np.empty(n, np.uint8)
    stream = key.derive("spare").array()
    _kernels.draw_exact(
        stream, 0, 5, 2, 1, 3, words, np.uint64(0), np.uint64(3), totals, cumulative.ravel(),
        np.zeros(n, np.uint64), out,
    )  # fmt: skip
    refused = 0
    for r, word in enumerate(map(int, words)):
        u = word * total >> 64
        if word * total % 2**64 < 2**64 % total:
            refused += 1
            u = int(_kernels.redrawn(stream, 0, 5 + 2 * r, 1, 3, np.uint64(total)))
            assert u < total
        assert out[r] == np.searchsorted(cumulative[0], u, side="right")
    assert abs(refused / n - 0.25) < 6 * 0.44 / np.sqrt(n)


def test_half_the_prior_fails() -> None:
    law = law_of(ROWS, SIZES, PARENTS, ALPHA)
    assert misfit(drawn(fitted(alpha=ALPHA / 2), Key.fresh()), law) < FALSE_ALARM


@pytest.mark.parametrize("block", [2, 3])
def test_a_missing_reset_fails(block: int) -> None:
    law = law_of(ROWS, SIZES, PARENTS, ALPHA, block=block)
    model = fitted(block=block)
    assert misfit(slowly(model, Key.fresh(), block=block, reset=True), law) > FALSE_ALARM
    assert misfit(slowly(model, Key.fresh(), block=block, reset=False), law) < FALSE_ALARM


def test_a_reversed_scan_fails() -> None:
    law = law_of(ROWS, SIZES, PARENTS, ALPHA)
    model = fitted()
    backwards = replace(model, blocks=replace(model.blocks, blocks=model.blocks.blocks[::-1]))
    assert misfit(drawn(backwards, Key.fresh()), law) < FALSE_ALARM


def test_rows_keep_a_structural_zero_by_construction() -> None:
    zero = Never({"v0": 0, "v1": [1, 2]})
    allowed = lambda x: not (x[0] == 0 and x[1] in (1, 2))  # noqa: E731
    for case in ({}, {"block": 2}):
        model = fitted(constraints=[zero], **case)
        assert model.blocks.dropped == 4 and model.blocks.rows == len(ROWS) - 4
        codes = drawn(model, Key.fresh())
        assert not model.blocks.domain.violations(codes).any()
        law = law_of(ROWS, SIZES, PARENTS, ALPHA, allowed=allowed, **case)
        assert misfit(codes, law) > FALSE_ALARM


def test_hashed_tables_have_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.synthesis.laws._DENSE_CELLS", 0)
    for case in ({}, {"block": 3}):
        model = fitted(**case)
        assert all(law.keys is not None for law in model.laws(1).laws)
        law = law_of(ROWS, SIZES, PARENTS, ALPHA, **case)
        assert misfit(drawn(model, Key.fresh()), law) > FALSE_ALARM


def test_ordinal_smoothing_has_its_law() -> None:
    model = fitted(smoothing=6)
    law = law_of(ROWS, SIZES, PARENTS, ALPHA, spread=6 / 16)
    assert misfit(drawn(model, Key.fresh()), law) > FALSE_ALARM
    assert misfit(drawn(fitted(), Key.fresh()), law) < FALSE_ALARM


def _exact_epsilon(rows: list[Any], other: list[Any], alpha: float, **more: Any) -> float:
    a, b = law_of(rows, SIZES, PARENTS, alpha, **more), law_of(other, SIZES, PARENTS, alpha, **more)
    return max(abs(np.log(a[o] / b[o])) for o in a)


@pytest.mark.parametrize("case", ["pegs", "three sweeps", "blocks of two"])
@pytest.mark.parametrize("neighbours", ["add/remove", "replace"])
def test_no_neighbour_is_farther_than_the_claim(case: str, neighbours: str) -> None:
    """Exactly; seeds are not released, so a row stays below the bound for its worst seed."""
    more = {"block": CASES[case].get("block"), "sweeps": CASES[case].get("sweeps", 1)}
    model = PeGS(alpha=ALPHA, parents=NAMED, neighbours=neighbours, **CASES[case]).fit(tiny(ROWS, SIZES))
    claim = model.sample(model.method.block or 1).guarantee.claims[0]
    assert isinstance(claim, PureDP) and claim.neighbours == neighbours
    worst = 0.0
    for rows in ([(1, 2, 0)], [(0, 1, 0)] * 30 + [(1, 0, 1)] * 30):
        for extra in [(0, 0, 0), (1, 1, 1)]:
            one = rows[1:] if neighbours == "replace" else rows
            worst = max(worst, _exact_epsilon([*one, extra], rows, ALPHA, **more))
    assert worst <= claim.epsilon + 1e-9
    if more["sweeps"] == 1:
        assert worst > 0.3 * claim.epsilon


@pytest.mark.parametrize("neighbours", ["add/remove", "replace"])
@pytest.mark.parametrize("how", ["smoothing", "zero", "zero in blocks", "smoothing in blocks"])
def test_no_neighbour_is_farther_with_smoothing_or_zeros(how: str, neighbours: str) -> None:
    """Here replacing a row may move it between what is possible and what is not."""
    zero = Never({"v0": 0, "v1": 2})
    block = 2 if "blocks" in how else None
    more: dict[str, Any] = {"smoothing": 6} if "smoothing" in how else {"constraints": [zero]}
    law: dict[str, Any] = (
        {"spread": 6 / 16} if "smoothing" in how else {"allowed": lambda x: not (x[0] == 0 and x[1] == 2)}
    )
    method = PeGS(alpha=ALPHA, parents=NAMED, neighbours=neighbours, block=block, **more)
    claim = method.fit(tiny(ROWS, SIZES)).sample(block or 1).guarantee.claims[0]
    assert isinstance(claim, PureDP)
    worst = 0.0
    for rows in ([(1, 2, 0)], [(0, 2, 0)], [(0, 1, 0)] * 9 + [(1, 0, 1)] * 9):
        for extra in [(0, 0, 0), (1, 1, 1), (1, 2, 0)]:
            one = rows[1:] if neighbours == "replace" else rows
            worst = max(worst, _exact_epsilon([*one, extra], rows, ALPHA, block=block, **law))
    assert 0.1 * claim.epsilon < worst <= claim.epsilon + 1e-9


@settings(max_examples=25)
@given(st.data())
def test_loops_agree_on_any_table(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(2, 6), min_size=2, max_size=5))
    rows = data.draw(st.lists(st.tuples(*(st.integers(0, s - 1) for s in sizes)), max_size=20))
    parents = {
        f"v{i}": [f"v{p}" for p in data.draw(st.sets(st.integers(0, len(sizes) - 1), max_size=3)) if p != i]
        for i in range(len(sizes))
    }
    block, sweeps = data.draw(st.none() | st.integers(1, 6)), data.draw(st.integers(1, 3))
    method = PeGS(epsilon_per_row=data.draw(st.floats(1e-3, 20)), parents=parents, block=block, sweeps=sweeps)
    sampler = Sampler(method.fit(tiny(rows, sizes)).laws(60), Key.fresh(), sweeps, block)
    quick, book = sampler.codes(0, 60), sampler.book
    slow = np.empty((len(sizes), 60), book.dtype)
    restricted.pegs_general(
        sampler._stream, block or 1, sweeps, block is not None, 0, sampler._seeds, book.shape, book.slots,
        book.zeros, book.exact.cumulative, slow,
    )  # fmt: skip
    assert np.array_equal(quick, slow)
    row = data.draw(st.integers(0, 59))
    assert np.array_equal(trace(sampler, row)[-1], quick[:, row])


def test_resets_are_what_keeps_a_second_sweep_at_the_price_of_one() -> None:
    """Without them two sweeps leak more than one may, on a table near the worst; and cost twice that."""
    sizes, parents, alpha, once = (2, 2), {0: (1,), 1: (0,)}, 1.0, 2 * np.log(2)
    rows = [(0, 0)] * 1_000 + [(0, 1)] + [(1, 0)] * 3

    def leak(**more: Any) -> float:
        a, b = (law_of(r, sizes, parents, alpha, sweeps=2, **more) for r in (rows, [*rows, (1, 1)]))
        return max(abs(float(np.log(a[o] / b[o]))) for o in a)

    assert once < leak() <= 2 * once
    assert leak(block=1) <= once
