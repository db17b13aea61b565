"""Microaggregation against all groupings of a few numbers, and its promise on a release."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from anonymization.local_oracles import partitions
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymization.microaggregation import groups_of, microaggregate
from sfumato.errors import DataError, ParameterError


def squares(x: np.ndarray, parts: list[list[int]]) -> float:
    return float(sum(((x[p] - x[p].mean(axis=0)) ** 2).sum() for p in parts))


@given(st.lists(st.integers(0, 50), min_size=3, max_size=8), st.integers(2, 3))
@settings(max_examples=40, deadline=None)
def test_one_column_is_grouped_at_the_optimum(numbers: list[int], k: int) -> None:
    x = np.array(numbers, float)[:, None]
    found = groups_of(x, k)
    parts = [np.flatnonzero(found.label == g).tolist() for g in range(len(found.means))]
    best = min(squares(x, p) for p in partitions(list(range(len(x))), k))
    assert squares(x, parts) == pytest.approx(best, abs=1e-9)
    assert np.bincount(found.label).min() >= k


@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(7, 60))
@settings(max_examples=30, deadline=None)
def test_groups_of_several_columns_have_k_rows_and_their_mean(seed: int, k: int, rows: int) -> None:
    x = np.random.default_rng(seed).integers(0, 5, (rows, 3)).astype(float)
    found = groups_of(x, k)
    sizes = np.bincount(found.label)
    assert sizes.min() >= k and sizes.max() < max(2 * k, 2)
    for g in range(len(sizes)):
        assert found.means[g] == pytest.approx(x[found.label == g].mean(axis=0))
    assert 0 <= found.lost <= 1 + 1e-9


def test_mdav_finds_groups_that_lie_apart() -> None:
    centres = np.repeat(np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]]), 3, axis=0)
    found = groups_of(centres + np.linspace(0, 0.1, 24).reshape(12, 2), 3)
    assert len({tuple(found.label[i : i + 3]) for i in range(0, 12, 3)}) == 4
    assert all(len(set(found.label[i : i + 3])) == 1 for i in range(0, 12, 3))


def test_every_released_combination_is_shared_by_k_rows() -> None:
    rng = np.random.default_rng(4)
    age = pa.array(rng.integers(18, 90, 200), mask=rng.random(200) < 0.2)
    table = sf.Table.from_arrow(pa.table({"age": age, "charge": rng.normal(size=200), "dx": ["a"] * 200}))
    release = microaggregate(table, ["age", "charge"], 4, seed=1)
    frame = release.data.to_arrow().to_pandas()
    assert frame.groupby(["age", "charge"], dropna=False).size().min() >= 4
    assert frame["age"].isna().sum() == age.null_count
    assert frame["charge"].mean() == pytest.approx(table.to_arrow().to_pandas()["charge"].mean())


def test_what_cannot_be_grouped_is_refused() -> None:
    table = sf.Table.from_arrow(pa.table({"a": [1.0, 2.0, None], "b": ["x", "y", "z"]}))
    with pytest.raises(ParameterError, match="not numeric"):
        microaggregate(table, ["b"], 2)
    with pytest.raises(DataError, match="fewer than k"):
        microaggregate(table, ["a"], 2)
    with pytest.raises(DataError):
        groups_of(np.array([[1.0]]), 2)
