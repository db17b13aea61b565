"""Imputation with constraints and survey weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from declared import PUBLIC

from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.synthesis.constraints import Implies, Never, Ordered, Within
from sfumato.synthesis.imputation.missing_values import MissingValues
from sfumato.synthesis.imputation.multiple import MultipleImputation
from sfumato.synthesis.imputation.partial import PartialSynthesis
from sfumato.table import Table

RULES: list[Any] = [
    Never({"sex": "m", "mdc": 14}),
    Implies({"typ": "newborn"}, {"age": 0}),
    Ordered("start", "end"),
    Within("dx", "mdc", {1: ["1a", "1b"], 14: ["14a"]}),
]
SCHEMA = Schema(
    (
        Column("sex", Kind.NOMINAL, levels=("m", "f"), provenance=PUBLIC),
        Column("mdc", Kind.NOMINAL, type="integer", levels=(1, 14), missing=False, provenance=PUBLIC),
        Column("dx", Kind.NOMINAL, levels=("1a", "1b", "14a"), missing=False, provenance=PUBLIC),
        Column("typ", Kind.NOMINAL, levels=("newborn", "adult"), missing=False, provenance=PUBLIC),
        Column("age", Kind.NUMERIC, type="integer", edges=(0, 1, 50, 100), missing=False, provenance=PUBLIC),
        Column("start", Kind.NUMERIC, type="real", edges=(0, 10, 20), missing=False, provenance=PUBLIC),
        Column("end", Kind.NUMERIC, type="real", edges=(0, 10, 20), missing=False, provenance=PUBLIC),
        Column("w", Kind.NUMERIC, Role.WEIGHT, type="real", edges=(0, 9), missing=False),
    )
)


def stays(rows: int = 400, *, keep: bool = True, gaps: float = 0.0) -> Table:
    """Rows of which some break each rule (keep: none does), columns otherwise independent."""
    draw = np.random.default_rng(5)
    mdc = draw.choice([1, 14], rows)
    dx = np.where(mdc == 14, "14a", draw.choice(["1a", "1b"], rows))
    sex = np.where((mdc == 14) & keep, "f", draw.choice(["m", "f"], rows))
    typ = draw.choice(["newborn", "adult"], rows)
    age = np.where((typ == "newborn") & keep, 0, draw.integers(0, 100, rows))
    first, second = draw.uniform(0, 20, (2, rows))
    start, end = (np.minimum(first, second), np.maximum(first, second)) if keep else (first, second)
    gone = draw.random(rows) < gaps
    cells: dict[str, Any] = {
        "sex": pa.array(sex, mask=gone), "mdc": mdc, "dx": dx, "typ": typ, "age": age, "start": start,
        "end": end, "w": draw.uniform(1, 9, rows),
    }  # fmt: skip
    return Table.from_arrow(pa.table(cells), SCHEMA)


def broken(table: Table) -> int:
    """Counted row by row, without any of the code under test."""
    bad = 0
    for r in table.to_arrow().to_pylist():
        bad += (
            (r["sex"] == "m" and r["mdc"] == 14)
            or (r["typ"] == "newborn" and not 0 <= r["age"] < 1)
            or r["start"] > r["end"]
            or (r["mdc"] == 14) != (r["dx"] == "14a")
        )
    return bad


@pytest.mark.parametrize("engine", ["models", "trees", "marginals"])
def test_no_new_row_breaks_a_constraint(engine: str) -> None:
    table = stays()
    free = MultipleImputation(engine).fit(table).sample(500, seed=1).data
    kept = MultipleImputation(engine, constraints=RULES).fit(table).sample(500, seed=1).data
    assert broken(free) > 0 and broken(kept) == 0 and kept.rows() == 500


def test_rows_that_break_one_are_not_learnt_from() -> None:
    fitted = MultipleImputation("trees", constraints=RULES).fit(stays(keep=False))
    assert fitted.dropped == broken(stays(keep=False)) > 0
    release = fitted.sample(300, seed=2)
    assert broken(release.data) == 0 and release.internal is not None
    assert release.internal.extra["rows dropped"] == fitted.dropped


def test_the_law_is_that_of_the_models_given_the_constraints() -> None:
    """Two independent coins, one pair of faces ruled out: the other three as likely as each other."""
    draw = np.random.default_rng(1)
    schema = Schema(tuple(Column(n, Kind.NOMINAL, levels=("0", "1"), missing=False) for n in "ab"))
    cells = {n: draw.integers(0, 2, 200_000).astype(str) for n in "ab"}
    rule = Never({"a": "1", "b": "1"})
    method = MultipleImputation("marginals", constraints=[rule], proper=False)
    data = method.fit(Table.from_arrow(pa.table(cells), schema)).sample(60_000, seed=3).data
    pairs = ["".join(r.values()) for r in data.to_arrow().to_pylist()]
    # Learnt without the pair, a is 1 in a third of the rows and b too; a chain of marginals given not (1, 1).
    shares = {"00": 4 / 8, "01": 2 / 8, "10": 2 / 8}
    for pair, share in shares.items():
        assert pairs.count(pair) / 60_000 == pytest.approx(share, abs=0.02)


def test_partial_rows_keep_them_and_rows_that_do_not_are_left_out() -> None:
    table = stays(keep=False)
    release = (
        PartialSynthesis(["sex", "age", "end"], constraints=RULES, engine="marginals")
        .fit(table)
        .sample(seed=4)
    )
    assert release.data.rows() == table.rows() - broken(table) and broken(release.data) == 0


def test_gaps_are_filled_so_that_they_hold() -> None:
    table = stays(gaps=0.4)
    plain = MissingValues(["sex"], "marginals", sweeps=1).fit(table).sample(seed=5).data
    kept = MissingValues(["sex"], "marginals", sweeps=1, constraints=RULES).fit(table).sample(seed=5).data
    assert broken(plain) > 0 and broken(kept) == 0 and kept.rows() == table.rows()
    assert not kept.to_arrow()["sex"].null_count


def test_constraints_that_cannot_be_met_are_said() -> None:
    impossible = [Never({"sex": ["m", "f", None], "mdc": 1}), Never({"sex": ["m", "f", None], "mdc": 14})]
    with pytest.raises(DataError, match="every row breaks"):
        MultipleImputation("trees", constraints=impossible).fit(stays())
    with pytest.raises(SchemaError, match="no model looks at"):
        MultipleImputation("trees", constraints=[Never({"sex": "m", "nowhere": 1})]).fit(stays())
    with pytest.raises(ParameterError, match="constraints must be"):
        MultipleImputation("trees", constraints=["never"])  # type: ignore[list-item]


@pytest.mark.parametrize("engine", ["models", "elastic-net", "trees", "forests", "marginals"])
def test_weights_count(engine: str) -> None:
    """One group weighs nine times the other: its share, and the mean of the number, are nine to one."""
    draw = np.random.default_rng(6)
    light = np.repeat([False, True], 300)
    cells = {
        "g": np.where(light, "l", "h"),
        "y": np.where(light, 10.0, 0.0) + draw.standard_normal(600),
        "w": np.where(light, 1.0, 9.0),
    }
    schema = Schema(
        (
            Column("g", Kind.NOMINAL, levels=("h", "l"), missing=False),
            Column("y", Kind.NUMERIC, type="real", missing=False),
            Column("w", Kind.NUMERIC, Role.WEIGHT, type="real", missing=False),
        )
    )
    table = Table.from_arrow(pa.table(cells), schema)
    for order in (["g", "y"], ["y", "g"]):
        data = (
            MultipleImputation(engine, weight="w", order=order)
            .fit(table)
            .sample(4_000, seed=7)
            .data.to_arrow()
        )
        assert data["g"].to_pylist().count("h") / 4_000 == pytest.approx(0.9, abs=0.06)
        assert data["y"].to_numpy().mean() == pytest.approx(1.0, abs=0.6)


def test_bad_weights_are_refused() -> None:
    with pytest.raises(SchemaError, match="not a number"):
        MultipleImputation(weight="sex").fit(stays())
    table = stays(20)
    bad = table.to_arrow().set_column(7, "w", pa.array([-1.0] * 20))
    with pytest.raises(DataError, match="20 rows"):
        MultipleImputation("trees", weight="w").fit(Table.from_arrow(bad, SCHEMA))
