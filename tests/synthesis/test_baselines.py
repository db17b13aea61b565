"""Marginal bootstrap and contingency table: exact laws, what noise costs, what is promised and refused."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from declared import PUBLIC
from pegs_oracle import FALSE_ALARM, misfit, tiny
from scipy import stats

from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.privacy import NoGuarantee, PureDP
from sfumato.privacy.noise import laplace
from sfumato.samples import discharges
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.synthesis import baselines
from sfumato.synthesis.baselines import ContingencyTable, MarginalBootstrap
from sfumato.synthesis.constraints import Never
from sfumato.table import Table

ROWS = [(0, 0, 0)] * 6 + [(0, 1, 1)] * 3 + [(1, 2, 1)] * 5 + [(1, 0, 0)] * 2 + [(0, 2, 0)]
SIZES = (2, 3, 2)
DRAWS = 50_000
COLUMNS = ["sex", "sev", "cat"]


def table_law(alpha: float, forbidden: Any = lambda x: False) -> dict[tuple[tuple[int, ...], ...], float]:
    """Cells by enumeration: (n + alpha) / (N + K alpha) over those that can be."""
    cells = [x for x in product(*map(range, SIZES)) if not forbidden(x)]
    mass = {x: sum(r == x for r in ROWS) + alpha for x in cells}
    return {(x,): m / sum(mass.values()) for x, m in mass.items()}


@pytest.mark.parametrize("alpha", [None, 0.5, 3.0])
@pytest.mark.parametrize("secret", [True, False])
def test_the_table_has_the_enumerated_law(alpha: float | None, secret: bool) -> None:
    key = Key.fresh() if secret else Key.from_seed(int.from_bytes(Key.fresh().to_bytes()[1:9]))
    codes = ContingencyTable(alpha=alpha).fit(tiny(ROWS, SIZES)).codes(DRAWS, key)
    law = {x: p for x, p in table_law(alpha or 0.0).items() if p > 0}
    seen = {tuple(c) for c in codes.T.tolist()}
    assert seen <= {x for (x,) in law}
    assert misfit(codes, law) > FALSE_ALARM


def test_a_wrong_prior_is_seen() -> None:
    codes = ContingencyTable(alpha=0.5).fit(tiny(ROWS, SIZES)).codes(DRAWS, Key.fresh())
    assert misfit(codes, table_law(1.0)) < FALSE_ALARM


def weighted() -> Table:
    """Each combination once, with its number of rows as weight; 8 is the most that counts."""
    cells = sorted(set(ROWS))
    table = tiny(cells, SIZES)
    edges = {"edges": (0.0, 8.0), "provenance": PUBLIC, "type": "real"}
    schema = Schema((*table.schema, Column("w", Kind.NUMERIC, Role.WEIGHT, **edges)))
    data = table.to_arrow().append_column("w", pa.array([float(ROWS.count(c)) for c in cells]))
    return Table.from_arrow(data, schema)


def test_weights_count_as_repeated_rows_do(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = ContingencyTable(alpha=4.0, weight="w").fit(weighted())  # half a row of the largest, eight
    assert misfit(fitted.codes(DRAWS, Key.fresh()), table_law(32.0)) > FALSE_ALARM
    claim = fitted.sample(10).guarantee.claims[0]
    assert isinstance(claim, PureDP) and claim.epsilon == pytest.approx(10 * math.log(1 + 1 / 4))
    replaced = ContingencyTable(alpha=4.0, weight="w", neighbours="replace").fit(weighted()).sample(10)
    assert replaced.guarantee.claims[0].epsilon == pytest.approx(10 * (math.log(1.25) + math.log(1.125)))
    one = MarginalBootstrap(weight="w").fit(weighted())
    assert one.tables[0].tolist() == [10 * 128, 7 * 128]  # 1024 parts are eight
    asked = []

    def noise(values: Any, sensitivity: int, grant: Any) -> Any:
        asked.append(sensitivity)
        return laplace(values, sensitivity, grant)

    monkeypatch.setattr(baselines, "laplace", noise)
    ContingencyTable(epsilon=1.0, weight="w").fit(weighted())
    MarginalBootstrap(epsilon=1.0, weight="w").fit(weighted())
    assert asked == [1024, 3 * 1024]


def test_independent_columns_keep_constraints() -> None:
    rule = Never({"v0": 0, "v1": 2})
    fitted = MarginalBootstrap(epsilon=50.0, constraints=[rule]).fit(tiny(ROWS, SIZES))
    key = Key.fresh()
    codes = fitted.domain.split(fitted.codes(DRAWS, key))
    shares = [t / t.sum() for t in fitted.tables]  # of what the first two can be together, and of the third
    states = np.stack(np.unravel_index(np.arange(len(shares[0]) * SIZES[2]), fitted.domain.sizes))
    mass = {
        tuple(x): float(shares[0][a] * shares[1][b])
        for x, (a, b) in zip(fitted.domain.split(states).T.tolist(), states.T.tolist(), strict=True)
    }
    assert len(mass) == int(np.prod(SIZES)) - SIZES[2] and not any(x[:2] == (0, 2) for x in mass)
    law = {(x,): m / sum(mass.values()) for x, m in mass.items() if m}
    assert misfit(codes, law) > FALSE_ALARM
    parts = [fitted.codes(n, key, start) for start, n in ((0, 7), (7, DRAWS - 7))]
    assert np.array_equal(codes, fitted.domain.split(np.concatenate(parts, axis=1)))


def test_cells_that_cannot_be_are_not_drawn() -> None:
    rule = Never({"v0": [0], "v1": [2]})
    fitted = ContingencyTable(alpha=0.5, constraints=[rule]).fit(tiny(ROWS, SIZES))
    law = table_law(0.5, lambda x: x[0] == 0 and x[1] == 2)
    assert misfit(fitted.codes(DRAWS, Key.fresh()), law) > FALSE_ALARM
    noised = (
        ContingencyTable(epsilon=0.5, constraints=[rule]).fit(tiny(ROWS, SIZES)).codes(5_000, Key.fresh())
    )
    assert not ((noised[0] == 0) & (noised[1] == 2)).any()


@pytest.mark.parametrize("change", ["add", "replace"])
def test_the_prior_costs_what_is_stated(change: str) -> None:
    """The worst odds of one row between neighbours, by enumeration, are within the claim, and near it."""
    alpha, rows = 0.5, [(1, 1, 0)]
    other = [(1, 1, 0), (0, 0, 0)] if change == "add" else [(0, 0, 0)]
    laws = []
    for data in (rows, other):
        fitted = ContingencyTable(alpha=alpha).fit(tiny(data, SIZES))
        [w] = fitted.method.weigh(fitted, Key.fresh())
        laws.append(w / w.sum())
    worst = float(np.abs(np.log(laws[0] / laws[1])).max())
    claim = ContingencyTable(alpha=alpha).fit(tiny(rows, SIZES)).sample(1).guarantee.claims[0]
    assert isinstance(claim, PureDP)
    assert claim.epsilon == pytest.approx(math.log(1 + 1 / alpha))
    assert worst <= claim.epsilon
    assert worst > 0.8 * claim.epsilon
    ten = ContingencyTable(alpha=alpha).fit(tiny(rows, SIZES)).sample(10).guarantee.claims[0]
    assert isinstance(ten, PureDP) and ten.epsilon == pytest.approx(10 * claim.epsilon)


@pytest.mark.parametrize(
    ("method", "sensitivity"),
    [
        (ContingencyTable(epsilon=0.5), 1),
        (ContingencyTable(epsilon=0.5, neighbours="replace"), 2),  # type: ignore[arg-type]
        (MarginalBootstrap(epsilon=0.5), 3),
        (MarginalBootstrap(epsilon=0.5, neighbours="replace"), 6),  # type: ignore[arg-type]
    ],
)
def test_noised_counts_have_the_stated_scale(method: Any, sensitivity: int) -> None:
    """The noise of large counts, gathered over fits, against the discrete Laplace law of that scale."""
    data = tiny([x for x in product(*map(range, SIZES)) for _ in range(300)], SIZES)
    truth = (
        [np.full(12, 300)] if isinstance(method, ContingencyTable) else [np.full(s, 3600 // s) for s in SIZES]
    )
    noise = np.concatenate(
        [t - c for _ in range(150) for t, c in zip(method.fit(data).tables, truth, strict=True)]
    )
    decay = math.exp(-0.5 / sensitivity)
    spread = math.sqrt(2 * decay) / (1 - decay)
    assert abs(noise.mean()) < 6 * spread / math.sqrt(len(noise))
    tail = round(3 * spread)
    share = 2 * decay ** (tail + 1) / (1 + decay)  # Pr(|noise| > tail)
    for side in (stats.binom.cdf, lambda k, n, p: stats.binom.sf(k - 1, n, p)):
        assert side(int((np.abs(noise) > tail).sum()), len(noise), share) > FALSE_ALARM
    small = round(0.3 * spread)
    share = 1 - 2 * decay ** (small + 1) / (1 + decay)
    for side in (stats.binom.cdf, lambda k, n, p: stats.binom.sf(k - 1, n, p)):
        assert side(int((np.abs(noise) <= small).sum()), len(noise), share) > FALSE_ALARM


def test_the_bootstrap_has_the_posterior_of_each_marginal_and_nothing_between() -> None:
    """Over many keys the share of a level has its posterior law: Beta(n_j, N - n_j)."""
    fitted = MarginalBootstrap().fit(tiny(ROWS, SIZES))
    shares = np.array(
        [[w[0] / w.sum() for w in fitted.method.weigh(fitted, Key.fresh())] for _ in range(600)]
    )
    for j in range(3):
        n = sum(row[j] == 0 for row in ROWS)
        assert stats.kstest(shares[:, j], stats.beta(n, 17 - n).cdf).pvalue > FALSE_ALARM
    codes = fitted.codes(DRAWS, Key.fresh())
    for a, b in ((0, 1), (0, 2), (1, 2)):
        cross = np.zeros((SIZES[a], SIZES[b]))
        np.add.at(cross, (codes[a], codes[b]), 1)
        assert stats.chi2_contingency(cross).pvalue > FALSE_ALARM


def test_noised_marginals_are_near_where_there_are_many_rows() -> None:
    table = discharges(3_000, 4).select(COLUMNS)
    release = MarginalBootstrap(epsilon=1.0).fit(table).sample(20_000)
    for name in COLUMNS:
        p, q = (t.counts(name).dense() for t in (table, release))
        assert 0.5 * np.abs(p / p.sum() - q / q.sum()).sum() < 0.05


def test_promises() -> None:
    table = discharges(300, 4).select(COLUMNS)
    for method in (MarginalBootstrap(), ContingencyTable()):
        assert all(isinstance(c, NoGuarantee) for c in method.fit(table).sample(5).guarantee)
    for method in (MarginalBootstrap(epsilon=2.0), ContingencyTable(epsilon=2.0)):
        fitted = method.fit(table)
        for rows in (5, 500):  # noised once: rows are free, and a seed takes nothing away
            claim, unaccounted = fitted.sample(rows, seed=1).guarantee
            assert unaccounted.title == "unaccounted"
            assert isinstance(claim, PureDP) and claim.epsilon == 2
    [lost] = ContingencyTable(alpha=1.0).fit(table).sample(5, seed=1).guarantee
    assert isinstance(lost, NoGuarantee) and lost.reason == "seeded"


def test_the_same_for_a_key_and_for_any_parts() -> None:
    for method in (MarginalBootstrap(), ContingencyTable(alpha=1.0)):
        fitted, key = method.fit(tiny(ROWS, SIZES)), Key.fresh()
        parts = [fitted.codes(n, key, start) for start, n in ((0, 300), (300, 1), (301, 699))]
        assert np.array_equal(fitted.codes(1_000, key), np.concatenate(parts, axis=1))
        assert fitted.sample(20, key=key) == fitted.sample(20, key=key)
        one, two = fitted.samples(2, 50, key=key)
        assert one.data.to_arrow() != two.data.to_arrow()


@pytest.mark.parametrize(
    ("kind", "parameters", "words"),
    [
        (MarginalBootstrap, {"epsilon": 0}, "epsilon must be"),
        (MarginalBootstrap, {"domain": "mine"}, "domain must be"),
        (MarginalBootstrap, {"epsilon": 1.0, "domain": "data"}, "public domains"),
        (MarginalBootstrap, {"neighbours": "far"}, "neighbours must be"),
        (ContingencyTable, {"epsilon": 1.0, "alpha": 1.0}, "one of epsilon"),
        (ContingencyTable, {"alpha": -1.0}, "alpha must be"),
        (ContingencyTable, {"most_cells": 1}, "most_cells must be"),
    ],
)
def test_bad_parameters_are_refused(kind: Any, parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        kind(**parameters)


def test_bad_input_is_refused() -> None:
    table = tiny(ROWS, SIZES)
    with pytest.raises(ParameterError, match="12 cells"):
        ContingencyTable(most_cells=11).fit(table)
    with pytest.raises(ParameterError, match="so large an alpha"):
        ContingencyTable(alpha=1e6, most_cells=2**22).fit(tiny([(0,) * 21], (2,) * 21))
    with pytest.raises(DataError, match="no row"):
        ContingencyTable().fit(tiny([], SIZES))
    with pytest.raises(SchemaError, match="one level"):
        ContingencyTable().fit(tiny([(0, 0)], (1, 2)))
    for rows in (0, 1.5):
        with pytest.raises(ParameterError, match="rows must be"):
            MarginalBootstrap().fit(table).sample(rows)  # type: ignore[arg-type]
    # A promise is not broken by a refusal: an empty table gives even cells.
    even = ContingencyTable(alpha=1.0).fit(tiny([], SIZES)).codes(DRAWS, Key.fresh())
    assert misfit(even, {(x,): 1 / 12 for x in product(*map(range, SIZES))}) > FALSE_ALARM
