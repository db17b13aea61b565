"""Columns independent given a third stay so in the rows: chi-square at a false-alarm rate of 1e-6."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from private_tables import table_of
from scipy import stats

import sfumato as sf
from sfumato.synthesis.private import PrivateModel, PrivateSynthesizer, potentials

LEVELS, ROWS = 3, 20_000


@pytest.fixture(scope="module")
def data() -> NDArray[np.int64]:
    """v1 in the middle, v0 and v2 each its noisy copy."""
    random = np.random.default_rng(5)
    middle = random.integers(0, LEVELS, ROWS)
    copies = [np.where(random.random(ROWS) < 0.6, middle, random.integers(0, LEVELS, ROWS)) for _ in range(2)]
    return np.stack([copies[0], middle, copies[1]])


def fitted(data: NDArray[np.int64]) -> PrivateModel:
    """Little noise: what is tested is the model and its sampler. All three pairs are measured."""
    model = PrivateSynthesizer(epsilon=100.0, declared_rows=ROWS).fit(table_of(data, (LEVELS,) * 3))
    assert [m.columns for m in model.measured.pairs] == [(0, 1), (0, 2), (1, 2)]
    return model


def independent(rows: NDArray[np.integer]) -> bool:
    """v0 and v2, given v1."""
    statistic, freedom = 0.0, 0
    for level in range(LEVELS):
        given = rows[:, rows[1] == level]
        found = stats.chi2_contingency(np.histogram2d(given[0], given[2], bins=LEVELS)[0], correction=False)
        statistic, freedom = statistic + found.statistic, freedom + found.dof
    return bool(stats.chi2.sf(statistic, freedom) > 1e-6)


def test_they_stay_so(data: NDArray[np.int64]) -> None:
    assert independent(data)
    alone = np.histogram2d(data[0], data[2], bins=LEVELS)[0]
    assert stats.chi2_contingency(alone).pvalue < 1e-100  # while each tells of the other
    model = fitted(data)
    assert independent(model.fresh(0, ROWS, sf.Key.fresh()))
    assert independent(model.codes(ROWS, sf.Key.fresh()))


def test_a_model_that_starts_from_nothing_fails(
    monkeypatch: pytest.MonkeyPatch, data: NDArray[np.int64]
) -> None:
    """As the recipe has it: the tie of v0 and v2 is learnt, and not unlearnt in time."""
    monkeypatch.setattr(potentials, "tree_start", lambda wanted: np.zeros(len(wanted.flat)))
    assert not independent(fitted(data).fresh(0, ROWS, sf.Key.fresh()))


def test_a_tree_is_known_from_the_start(data: NDArray[np.int64]) -> None:
    wanted = fitted(data).measured.wanted()
    start = potentials.tree_start(wanted)
    parts = np.split(start, wanted.starts[1:-1])
    tied = [pair for pair, part in zip(wanted.pairs, parts, strict=True) if part.any()]
    assert tied == [(0, 1), (1, 2)]
