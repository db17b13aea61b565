"""Sums under an epsilon: what a person can do to them, what is shown, and what is refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from declared import PUBLIC
from private_tables import chain, table_of
from tabulation.test_private import drawn

import sfumato as sf
from sfumato.cells.layout import Layout, coded, relations_of
from sfumato.errors import ParameterError, SchemaError
from sfumato.privacy import Budget, Ledger
from sfumato.schema import Column, Kind, Provenance, Role, Schema
from sfumato.table import Table
from sfumato.tabulation.private_sums import BoundedSum

COST = Column("cost", Kind.NUMERIC, type="real", edges=(0.0, 100.0, 5000.0), clamp=True, provenance=PUBLIC)


def stays(costs: list[float], persons: list[int] | None = None, column: Column = COST) -> Table:
    """One row for each cost, by two columns with public levels."""
    table = table_of(chain(len(costs)), (2, 2, 2, 3), persons)
    rows = table.to_arrow().append_column("cost", pa.array(costs, pa.float64()))
    return Table.from_arrow(rows, Schema((*table.schema, column)))


def test_sums_are_shown_beside_counts_and_add_up() -> None:
    costs = np.random.default_rng(0).uniform(0, 5000, 400).tolist()
    table = stays(costs)
    release = sf.tabulate(table, "v0,v3", method=sf.PrivateTables(epsilon=100.0), of="cost")
    rows = release.data.to_arrow()
    assert rows.column_names == ["v0", "v3", "count", "noise", "cost", "noise cost"]
    codes, _ = coded([rows[n].to_pylist() for n in ("v0", "v3")])
    relations = relations_of([Layout.of("v0,v3")], ["v0", "v3"], codes)
    sums = rows["cost"].to_numpy()
    assert not len(relations.broken(sums)) and sums.min() >= 0
    whole = sums[(codes < 0).all(axis=1)][0]
    sd = rows["noise cost"].to_numpy()[(codes < 0).all(axis=1)][0]
    # a Laplace variable is beyond 14 of its scales with a chance of 1e-6; cells lifted to 0 add some
    assert abs(whole - sum(costs)) < 14 * sd + 0.02 * sum(costs) and sd < 5000


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_a_person_changes_sums_by_at_most_the_sensitivity(
    monkeypatch: pytest.MonkeyPatch, delta: float
) -> None:
    """Three rows of more than the largest amount: two of them count, each cut to the bound."""
    costs = [100.0] * 30
    v = chain(30)
    alike = np.repeat(v[:, :1], 3, axis=1)
    more = table_of(np.concatenate([v, alike], axis=1), (2, 2, 2, 3), [*range(30), 99, 99, 99])
    rows = more.to_arrow().append_column("cost", pa.array([*costs, 1e9, 1e9, 1e9]))
    with_one = Table.from_arrow(rows, Schema((*more.schema, COST)))
    without = stays(costs, list(range(30)))
    method = sf.PrivateTables(1.0, delta, max_rows_per_person=2)
    seen = drawn(monkeypatch)
    sf.tabulate(with_one, "v0,v1", method=method, of="cost")
    half = len(seen)
    sf.tabulate(without, "v0,v1", method=method, of="cost")
    assert half * 2 == len(seen)
    largest = BoundedSum.of(COST).largest
    bounds = {bound for _, bound in seen}
    assert bounds == {2.0, 2.0 * largest}
    for (a, bound), (b, _) in zip(seen[:half], seen[half:], strict=True):
        change = np.abs(a - b)
        assert (np.sqrt((change**2).sum()) if delta else change.sum()) == bound


def test_counts_and_sums_share_the_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[float] = []
    genuine = Ledger.grant

    def counted(self: Ledger, **given: object) -> object:
        spent.append(float(given.get("epsilon") or 0.0))  # type: ignore[arg-type]
        return genuine(self, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(Ledger, "grant", counted)
    sf.tabulate(stays([10.0] * 40), "v0,v1", method=sf.PrivateTables(epsilon=0.7), of="cost")
    assert spent[0] == pytest.approx(0.7) and 0.69 < sum(spent[1:]) <= spent[0]


def test_missing_amounts_add_nothing_and_others_are_cut() -> None:
    own = BoundedSum.of(COST)
    units = own.units(pa.array([None, -5.0, 2500.0, 1e12]))
    assert units.tolist() == [0, 0, own.largest // 2, own.largest]
    signed = BoundedSum.of(Column("x", Kind.NUMERIC, type="integer", edges=(-30, 20), provenance=PUBLIC))
    assert signed.unit == 1 and signed.largest == 30
    assert signed.units(pa.array([-99, 7])).tolist() == [-30, 7]


def test_what_has_no_bounds_is_refused_and_costs_nothing() -> None:
    ledger = Ledger.in_memory(Budget(epsilon=5.0))
    endless = Column("cost", Kind.NUMERIC, type="real", edges=(0.0, float("inf")), provenance=PUBLIC)
    read_off = Column("cost", Kind.NUMERIC, edges=(0.0, 9.0), clamp=True, provenance=Provenance.read_off())
    named = Column("cost", Kind.NUMERIC, Role.IDENTIFIER, edges=(0.0, 9.0), provenance=PUBLIC)
    for column, error, words in (
        (endless, SchemaError, "no bounds"),
        (read_off, SchemaError, "without a public domain"),
        (named, ParameterError, "no amounts"),
    ):
        with pytest.raises(error, match=words):
            sf.tabulate(
                stays([1.0] * 20, column=column), "v0", method=sf.PrivateTables(), of="cost", ledger=ledger
            )
    with pytest.raises(ParameterError, match="no means"):
        sf.tabulate(stays([1.0] * 20), "v0", method=sf.PrivateTables(), of="cost", means=True, ledger=ledger)
    assert ledger.spent == 0
