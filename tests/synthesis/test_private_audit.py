"""The sensitivities behind the promise: by enumeration, and by an audit that passes and one that does not.

A bound of the audit is above the true epsilon with a chance of at most 1e-6.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from private_tables import grant

from sfumato.assessment.audit import Audit, audit
from sfumato.privacy import ZCDP, PureDP
from sfumato.synthesis.private import measurement, purse
from sfumato.synthesis.private.measurement import distance
from sfumato.synthesis.private.purse import Purse
from sfumato.synthesis.private.variables import Variable

COUNTS = np.array([[3, 0], [2, 1]])


def with_rows(cells: list[tuple[int, int]]) -> Any:
    more = COUNTS.copy()
    for cell in cells:
        more[cell] += 1
    return more


@pytest.mark.parametrize("shape", [(2,), (5,), (2, 2), (3, 4), (2, 3, 4)])
def test_a_row_adds_the_same_length_wherever_it_falls(shape: tuple[int, ...]) -> None:
    table = np.random.default_rng(1).integers(0, 9, shape)
    before = purse.scaled_and_centred(table)
    squared = math.prod(k * (k - 1) for k in shape)
    for cell in itertools.product(*map(range, shape)):
        more = table.copy()
        more[cell] += 1
        assert ((purse.scaled_and_centred(more) - before) ** 2).sum() == squared
    exact = purse.centred(table.astype(float)) * math.prod(shape)
    assert np.allclose(exact, before)
    assert squared / math.prod(shape) ** 2 == pytest.approx(purse.kept_share(shape))


def test_a_row_changes_a_score_by_one() -> None:
    random = np.random.default_rng(2)
    for _ in range(50):
        table, m = random.integers(0, 5, (3, 4)), random.random((3, 4)) * 5
        for cell in itertools.product(range(3), range(4)):
            more = table.copy()
            more[cell] += 1
            assert abs(distance(more, m) - distance(table, m)) == 1


def audited(
    monkeypatch: pytest.MonkeyPatch, believed: int, claim: PureDP | ZCDP, cells: list[tuple[int, int]]
) -> Audit:
    """A pair's measurement in many copies: the grant pays for one, the audit looks at each alone."""
    copies = [1]
    as_it_is = purse.scaled_and_centred
    tiled = lambda t: np.broadcast_to(as_it_is(t), (copies[0], *t.shape)).copy()  # noqa: E731
    monkeypatch.setattr(purse, "scaled_and_centred", tiled)

    def mechanism(counts: Any, n: int) -> Any:
        copies[0] = n
        if isinstance(claim, PureDP):
            purse = Purse(grant(epsilon=claim.epsilon), believed)
            many = np.broadcast_to(counts, (n, *counts.shape)).copy()
            values = purse.table(many, (0, 1), purse.amount(purse.total), "audit").values
        else:
            purse = Purse(grant(rho=claim.rho), believed)
            values = purse.table(counts, (0, 1), purse.amount(purse.total), "audit").values
        return values.reshape(n, -1)

    return audit(mechanism, COUNTS, with_rows(cells), claim=claim, draws=10_000, batch=5_000, error=1e-6)


TWICE = [(0, 0), (0, 0)]


@pytest.mark.parametrize("claim", [ZCDP(0.5), PureDP(1.0)], ids=["zCDP", "pure"])
def test_tables_pass_the_audit(monkeypatch: pytest.MonkeyPatch, claim: PureDP | ZCDP) -> None:
    found = audited(monkeypatch, 2, claim, TWICE)
    assert not found.refutes() and not found.replayed
    assert found.lower > 0


@pytest.mark.parametrize("claim", [ZCDP(0.5), PureDP(1.0)], ids=["zCDP", "pure"])
def test_half_the_noise_is_caught(monkeypatch: pytest.MonkeyPatch, claim: PureDP | ZCDP) -> None:
    """A person with two rows, and a purse that believes in one."""
    assert audited(monkeypatch, 1, claim, TWICE).refutes()


def cut(table: Any, n: int, believed: int, rho: float) -> Any:
    """Cells of a number, cut where noise says so: how they were cut, and what was measured of the first."""
    states = np.zeros((1, len(table)), np.int64)
    ends = np.arange(len(table)), np.arange(len(table))
    number, out = Variable((0,), states, adjacent=True, ends=ends), np.zeros((n, 6))
    for draw in out:
        purse = Purse(grant(rho=rho), believed)
        amounts = [purse.amount(rho / 3)] * 3
        levels, chain = measurement._cut(number, table, purse, amounts, 0, float(WIDE.sum()))
        draw[0] = len(levels)
        for depth, (level, cells) in enumerate(zip(levels, chain, strict=True)):
            place = cells[0]
            draw[1 + depth] = level.residual[place]
        draw[4], draw[5] = (chain[-1] == chain[-1][0]).sum(), chain[-1].max()
    return out


# All people at one value, so few that one more or less decides whether it is cut.
WIDE = np.zeros(64, np.int64)
WIDE[0] = 6


@pytest.mark.soak  # each draw is a fit of a column; test_private_tape.py is the quick version
def test_cuts_pass_the_audit() -> None:
    draws = 8_000
    more = WIDE + (np.arange(64) == 0)
    found = audit(lambda t, n: cut(t, n, 1, 0.5), WIDE, more, claim=ZCDP(0.5), draws=draws, error=1e-6)
    assert not found.refutes()


@pytest.mark.soak
def test_cuts_with_too_little_noise_are_caught() -> None:
    """Eight rows of a person, and a purse that believes in one."""
    more = WIDE + 8 * (np.arange(64) == 0)
    assert audit(
        lambda t, n: cut(t, n, 1, 0.5), WIDE, more, claim=ZCDP(0.5), draws=1_500, error=1e-6
    ).refutes()


def test_amounts_never_exceed_the_total() -> None:
    purse = Purse(grant(rho=0.01), 1)
    parts = np.random.default_rng(3).dirichlet(np.ones(200)) * purse.left(200)
    for part in parts:
        purse.scores(np.array([5]), purse.amount(float(part)), "a part")
    assert purse.left(0) >= 0
