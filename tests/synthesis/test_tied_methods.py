"""Columns that constraints tie keep every one-way table, in every method but LUGS (its page says so)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from declared import PUBLIC
from hypothesis import given, settings
from hypothesis import strategies as st
from tied_tables import GROUPS, SCHEMA, TIED, people, shares

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.synthesis.constraints import Constraint, Implies, Never, Ordered, Within
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.imputation.engines import ElasticNet
from sfumato.synthesis.joint_columns import JoinedDomain, joined

ROWS = 3_000
Rules = Sequence[Constraint]
ALL: dict[str, Callable[[Rules], Any]] = {
    "private": lambda rules: sf.PrivateSynthesizer(epsilon=60.0, constraints=rules),
    "pegs": lambda rules: sf.PeGS(alpha=0.0, choose="data", sweeps=3, constraints=rules),
    "trees": lambda rules: sf.MultipleImputation("trees", constraints=rules),
    "marginals": lambda rules: sf.MarginalBootstrap(constraints=rules),
    "marginals with epsilon": lambda rules: sf.MarginalBootstrap(epsilon=60.0, constraints=rules),
}
PLACES = ("ward", "floor", "sex")
ONE_TO_ONE = tuple(r for r in TIED if set(r.columns) <= {*PLACES})
FEW: dict[str, Callable[[Rules], Any]] = {
    "pmi": lambda rules: sf.PMI(alpha=0.0, engine=ElasticNet(), constraints=rules),
    "table": lambda rules: sf.ContingencyTable(constraints=rules),
}


def check(table: sf.Table, method: Any, rules: Rules) -> None:
    rows = sf.synthesize(table, method, rows=ROWS).data
    assert not Domain.of(table.schema, constraints=rules).violations(rows.encode().codes).any()
    for name in table.schema.names:
        levels = table.schema[name].size or 2
        # Sampling (of rows, and in a bootstrap of shares) moves a column by sqrt(levels / (pi rows)) at most
        # on average, with little spread; where ties were drawn one by one it was .15 to .36.
        limit = 2.5 * (levels / (np.pi * ROWS)) ** 0.5 + 0.02
        assert np.abs(shares(rows, name) - shares(table, name)).sum() / 2 < limit, name


@pytest.mark.parametrize("name", ALL)
def test_every_method_keeps_single_columns(name: str) -> None:
    check(people(ROWS, 2), ALL[name](TIED), TIED)


@pytest.mark.parametrize("name", FEW)
def test_and_those_for_few_columns(name: str) -> None:
    table = sf.Table.from_arrow(people(ROWS, 2).to_arrow().select(PLACES), SCHEMA.select(PLACES))
    check(table, FEW[name](ONE_TO_ONE), ONE_TO_ONE)


def test_tied_columns_are_one() -> None:
    domain = Domain.of(SCHEMA, constraints=TIED)
    one = joined(domain)
    assert one.names == ("group", "code", "first + last", "ward + floor", "sex")
    assert one.sizes == (5, 61, 55, 4, 2) and one.declared is domain
    assert list(one.details) == ["code"] and one.released == domain.books
    every = joined(domain, share=0.99, details=False)
    assert every.names == ("group + code + sex", "first + last", "ward + floor") and not every.zeros
    assert joined(domain, apart=["ward", "last"]).names == domain.names
    assert joined(Domain.of(SCHEMA)).names == SCHEMA.names


def test_codes_whose_group_is_tied_are_part_of_it() -> None:
    """A code is drawn given its group, which must be there by itself, or they are all one."""
    clinic = sf.Column("clinic", "nominal", levels=tuple(GROUPS), missing=False, provenance=PUBLIC)
    schema = sf.Schema((*SCHEMA.select(["group", "code"]), clinic))
    rules = [Within("code", "group", GROUPS), *(Implies({"group": g}, {"clinic": g}) for g in GROUPS)]
    domain = Domain.of(schema, constraints=rules)
    assert joined(domain).names == ("group + code + clinic",) and not joined(domain).details
    few = joined(domain, most=20)
    assert few.names == domain.names and list(few.details) == ["code"]


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_rows_come_back_as_they_were(data: st.DataObject) -> None:
    """join and split undo each other on rows that keep the constraints, and agree on which do."""
    rules = [
        Never({"a": x, "b": y})
        for x, y in data.draw(st.sets(st.tuples(st.integers(0, 2), st.integers(0, 3))))
    ]
    rules += [Ordered("b", "c")] if data.draw(st.booleans()) else []  # type: ignore[list-item]
    columns = [
        sf.Column(n, "ordinal", type="integer", levels=tuple(range(k)), missing=False, provenance=PUBLIC)
        for n, k in zip("abcd", (3, 4, 4, 2), strict=True)
    ]
    domain = Domain.of(sf.Schema(tuple(columns)), constraints=rules)
    one = joined(domain)
    every = np.stack(np.unravel_index(np.arange(96), domain.sizes))
    kept = every[:, ~domain.violations(every)]
    if isinstance(one, JoinedDomain):
        assert np.array_equal(one.split(one.join(kept)), kept)
        assert not one.violations(one.join(kept)).any()
        states = np.stack(np.unravel_index(np.arange(int(np.prod(one.sizes))), one.sizes))
        again = one.split(states[:, ~one.violations(states)])
        assert {*map(tuple, again.T.tolist())} == {*map(tuple, kept.T.tolist())}


def test_blocks_of_tied_columns_are_saved_and_read(tmp_path: Path) -> None:
    table = people(500, 3)
    method = sf.PeGS(epsilon=500.0, parents={"floor": ["sex"], "sex": ["first", "ward"]}, constraints=TIED)
    fitted = method.fit(table)
    assert fitted.blocks.parents["ward + floor"] == ("sex",)
    assert fitted.blocks.parents["sex"] == ("first + last", "ward + floor")
    fitted.blocks.save(tmp_path / "blocks")
    again = sf.Blocks.load(tmp_path / "blocks", Domain.of(SCHEMA, constraints=TIED))
    key = sf.Key.from_seed(3)
    rows = [f.sample(50, key=key).data.to_arrow() for f in (fitted, method.fit_blocks(again))]
    assert rows[0].equals(rows[1]) and rows[0].column_names == list(SCHEMA.names)


def test_a_pool_of_seeds_and_models_go_with_ties() -> None:
    table = people(400, 4)
    pooled = sf.PeGS(epsilon_per_row=5.0, parents=1, seeds=people(50, 5), constraints=TIED)
    assert sf.synthesize(table, pooled, rows=20).data.rows() == 20
    models = {"last": "poisson"}
    fitted = sf.PeGS(epsilon_per_row=5.0, parents={"last": ["sex"]}, models=models, constraints=TIED).fit(
        table
    )
    assert "last" in fitted.blocks.domain.names and "ward + floor" in fitted.blocks.domain.names
    rows = fitted.sample(100).data
    assert not Domain.of(SCHEMA, constraints=TIED).violations(rows.encode().codes).any()
    with pytest.raises(ParameterError, match="no such column"):
        sf.PeGS(epsilon_per_row=5.0, parents={"floors": ["sex"]}, constraints=TIED).fit(table)
