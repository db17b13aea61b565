"""A ledger pays for synthetic rows before they are drawn, and for nothing that is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from private_tables import chain, table_of

import sfumato as sf
from sfumato.errors import BudgetError, DataError, ParameterError, SfumatoError
from sfumato.privacy import Budget, Ledger, Neighbours
from sfumato.synthesis.imputation.engines import ElasticNet
from sfumato.table import Table

SIZES = (2, 2, 2, 3)
TABLE = table_of(chain(200), SIZES)
PMI = sf.PMI(epsilon_per_row=0.1, engine=ElasticNet(folds=2))


@pytest.mark.parametrize(
    ("method", "cost"),
    [
        (sf.PeGS(epsilon=2.0), 2.0),  # parents and rows
        (sf.PeGS(epsilon_per_row=0.25, parents=0), 5.0),  # of each of twenty rows
        (
            sf.PeGS(epsilon_per_row=0.25, block=8),
            6.25,
        ),  # of whole blocks, and as much as one row for the parents
        (PMI, 2.0),
        (sf.PrivateSynthesizer(epsilon=3.0, delta=0), 3.0),
        (sf.MarginalBootstrap(epsilon=1.5), 1.5),
        (sf.ContingencyTable(epsilon=0.5), 0.5),
    ],
    ids=lambda m: type(m).__name__,
)
def test_the_total_is_debited_and_claimed(method: Any, cost: float) -> None:
    ledger = Ledger.in_memory(Budget(epsilon=10.0))
    release = sf.synthesize(TABLE, method, 20, ledger=ledger)
    assert ledger.spent == cost == release.guarantee.claims[0].epsilon
    assert release.data.to_arrow().num_rows == 20 and ledger.spent == cost
    poor = Ledger.in_memory(Budget(epsilon=cost / 2))
    with pytest.raises(BudgetError):
        sf.synthesize(TABLE, method, 20, ledger=poor)
    assert poor.spent == 0


def test_the_debit_comes_before_the_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that dies while it draws has paid: what it drew may have been seen."""
    from sfumato.synthesis import baselines, parents

    def dies(*_: Any) -> Any:
        raise KeyboardInterrupt

    ledger = Ledger.in_memory(Budget(epsilon=10.0))
    monkeypatch.setattr(baselines, "laplace", dies)
    monkeypatch.setattr(parents, "noisy_max", dies)
    for method, spent in ((sf.MarginalBootstrap(epsilon=1.0), 1.0), (sf.PeGS(epsilon=2.0), 3.0)):
        with pytest.raises(KeyboardInterrupt):
            sf.synthesize(TABLE, method, 20, ledger=ledger)
        assert ledger.spent == spent


def bad(table: Table) -> Table:
    """A value outside the domains, in the last row."""
    codes = chain(200)
    codes[3, -1] = 7
    return table_of(codes, SIZES).with_schema(table.schema)


@pytest.mark.parametrize(
    ("method", "table", "kind", "words"),
    [
        (sf.PeGS(epsilon=2.0), bad(TABLE), DataError, "v3"),
        (sf.PeGS(epsilon=2.0, parents=0), bad(TABLE), DataError, "v3"),
        (PMI, bad(TABLE), DataError, "v3"),
        (sf.PrivateSynthesizer(delta=0), bad(TABLE), DataError, "v3"),
        (sf.ContingencyTable(epsilon=1.0), bad(TABLE), DataError, "v3"),
        (sf.PeGS(epsilon=2.0, columns=["v0", "no"]), TABLE, SfumatoError, "no"),
        (sf.PeGS(epsilon=2.0, neighbours=Neighbours.REPLACE), TABLE, BudgetError, "neighbours"),
        (sf.MarginalBootstrap(epsilon=1.0, neighbours=Neighbours.REPLACE), TABLE, BudgetError, "neighbours"),
        (sf.PrivateSynthesizer(delta=0, max_rows_per_person=2), TABLE, BudgetError, "person"),
        (sf.PeGS(log_l=0.1), TABLE, ParameterError, "promises no epsilon"),
        (sf.PeGS(epsilon=1.0, choose="data"), TABLE, ParameterError, "promises no epsilon"),
        (sf.PeGS(alpha=1.0), TABLE, ParameterError, "not known before"),
        (sf.LUGS(log_l=0.1), TABLE, ParameterError, "promises no epsilon"),
        (sf.MarginalBootstrap(), TABLE, ParameterError, "promises no epsilon"),
    ],
)
def test_what_is_refused_costs_nothing(
    method: Any, table: Table, kind: type[SfumatoError], words: str
) -> None:
    ledger = Ledger.in_memory(Budget(epsilon=10.0))
    with pytest.raises(kind, match=words):
        sf.synthesize(table, method, 20, ledger=ledger)
    assert ledger.spent == 0


def test_a_seed_that_ends_the_promise_is_refused_and_another_is_not() -> None:
    ledger = Ledger.in_memory(Budget(epsilon=10.0))
    with pytest.raises(ParameterError, match="seeded"):
        sf.synthesize(TABLE, sf.PeGS(epsilon=2.0), 20, seed=1, ledger=ledger)
    sf.synthesize(TABLE, sf.MarginalBootstrap(epsilon=1.0), 20, seed=1, ledger=ledger)  # noise has no seed
    assert ledger.spent == 1.0 and np.isfinite(ledger.left)
