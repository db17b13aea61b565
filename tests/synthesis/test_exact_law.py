"""PeGS and PeGS.rs against their law by enumeration, for every sampler; and broken ones, which must fail.

Each test has a false-alarm rate of 1e-6: keys are fresh, any draw must pass.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pegs_oracle import FALSE_ALARM, law_of, misfit, tiny

from sfumato.privacy import PureDP
from sfumato.seeds import Key
from sfumato.synthesis.constraints import Never
from sfumato.synthesis.pegs import FittedPeGS, PeGS
from sfumato.synthesis.restricted import _kernels as restricted
from sfumato.synthesis.sampling import Sampler, trace

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


def test_resets_are_what_keeps_a_block_at_its_price() -> None:
    """The same block without resets leaks more than the claim: the paper's step is needed."""
    sizes, parents, alpha = (2, 2), {0: (1,), 1: (0,)}, 1.0
    rows, other = [], [(1, 1)]
    five = [law_of(r, sizes, parents, alpha, sweeps=5) for r in (rows, other)]
    two = [law_of(r, sizes, parents, alpha, block=2) for r in (rows, other)]
    leak = [max(abs(np.log(a[o] / b[o])) for o in a) for a, b in (five, two)]
    assert leak[1] <= 2 * np.log(2) + 1e-12
    assert leak[0] > 0
