"""What a synthesizer needs of a schema: refusals, constraints, the way back to values, weights."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest
from declared import PUBLIC
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError, SchemaError
from sfumato.samples import discharges
from sfumato.schema import Column, Draw, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.synthesis.constraints import Implies, Never, Ordered, Within
from sfumato.synthesis.domain import WEIGHT_UNITS, Domain
from sfumato.table import Table


def column(name: str, kind: Kind = Kind.NOMINAL, **more: object) -> Column:
    return Column(name, kind, **{"missing": False, "provenance": PUBLIC, **more})  # type: ignore[arg-type]


AB = column("a", levels=("x", "y")), column("b", levels=("u", "v", "w"))


def test_all_faults_are_said_at_once() -> None:
    schema = Schema(
        (
            column("one", levels=("x",)),
            column("codes", Kind.CODES, levels=("x", "y"), separator=";"),
            column("words", Kind.TEXT),
            column("open", levels=("x", "y"), provenance=None),
            column("bare", Kind.NUMERIC),
        )
    )
    with pytest.raises(SchemaError) as raised:
        Domain.of(schema)
    for name in ("one", "codes", "words", "open", "bare"):
        assert f"'{name}'" in raised.value.message
    assert "one level" in raised.value.message and "several codes" in raised.value.message


def test_who_names_people_is_left_out_or_refused() -> None:
    schema = Schema((*AB, column("id", role=Role.IDENTIFIER, levels=("1", "2"))))
    assert Domain.of(schema).names == ("a", "b")
    with pytest.raises(SchemaError, match="name people"):
        Domain.of(schema, ["a", "b", "id"])
    with pytest.raises(SchemaError, match="two are needed"):
        Domain.of(schema, ["a"])
    with pytest.raises(ParameterError, match="twice"):
        Domain.of(schema, ["a", "a"])


@pytest.mark.parametrize("public", [True, False])
def test_a_role_that_the_rows_have_told_does_not_leave_with_a_promise(public: bool) -> None:
    guessed = {
        "role": Role.QUASI_IDENTIFIER,
        "confidence": "likely",
        "reason": "9 of 10 rows",
        "levels": ("x", "y"),
    }
    columns = (column("a", **guessed), column("b", **guessed, confirmed=True))
    released = replace(Domain.of(Schema(columns)), public=public).schema
    assert [c.role for c in released] == [
        Role.OTHER if public else Role.QUASI_IDENTIFIER,
        Role.QUASI_IDENTIFIER,
    ]
    assert [c.confidence for c in released] == ["" if public else "likely"] * 2
    assert not any(c.reason for c in released)


def test_a_column_that_is_all_missing_has_no_domain_of_its_own() -> None:
    table = Table.from_arrow(
        pa.table({"a": ["x", "y"], "b": pa.array([None, None], pa.string())}),
        Schema((AB[0], column("b", missing=True, provenance=None))),
    )
    with pytest.raises(SchemaError, match="one level has nothing to draw: 'b'"):
        Domain.of_data(table)


CASES = [
    column("n", Kind.NUMERIC, edges=(0, 1.5, 4, 10)),
    column("n", Kind.NUMERIC, edges=(0, 1.5, 4, 10), draw=Draw.LOWER),
    column("n", Kind.NUMERIC, edges=(0, 1.5, 4, 10), draw=Draw.MIDDLE, missing=True),
    column("n", Kind.NUMERIC, edges=(0, 2, 4, 10), draw=Draw.INTEGER),
    column("n", Kind.NUMERIC, edges=(0, 2, 3, 10), type="integer"),
    column("n", Kind.NUMERIC, edges=(float("-inf"), 0, 5, float("inf"))),
    column("n", Kind.NUMERIC, edges=(float("-inf"), 0, 5, float("inf")), type="integer"),
    column("n", Kind.NUMERIC, edges=(0, 0.1, 0.30000000000000004, 2)),
    column("n", Kind.DATE, edges=(date(2020, 1, 1), date(2020, 2, 1), date(2021, 1, 1)), missing=True),
    column(
        "n", Kind.DATE, type="datetime", edges=(datetime(2020, 1, 1), datetime(2020, 1, 2, 3)), missing=True
    ),
]


@pytest.mark.parametrize("binned", CASES, ids=range(len(CASES)))
@given(seed=st.integers(0, 2**32))
def test_a_value_is_drawn_within_its_bin(binned: Column, seed: int) -> None:
    domain = Domain.of(Schema((AB[0], AB[1], binned)))
    size = domain.sizes[2]
    codes = np.stack([np.zeros(60), np.ones(60), np.arange(60) % size]).astype(np.uint32)
    batch = domain.decode(codes, Key.from_seed(seed), 5)
    back = Table.from_arrow(pa.Table.from_batches([batch]), domain.schema).encode()
    assert np.array_equal(back.codes, codes)
    part = domain.decode(codes[:, 7:20], Key.from_seed(seed), 12)
    assert part.equals(batch.slice(7, 13))


def test_draws_fill_the_bin_evenly() -> None:
    whole = column("n", Kind.NUMERIC, edges=(0, 4, 9), type="integer")
    domain = Domain.of(Schema((*AB, whole)))
    codes = np.zeros((3, 40_000), np.uint32)
    codes[2] = 1
    drawn = domain.decode(codes, Key.fresh()).column("n").to_numpy()
    n = np.bincount(drawn - 4, minlength=6)
    assert len(n) == 6  # 4 to 9: the last bin is closed
    assert ((n - 40_000 / 6) ** 2 / (40_000 / 6)).sum() < 37.0  # chi-square, 5 degrees: 1e-6 is at 35.9


@pytest.mark.parametrize("gaps", [(True, True), (False, True), (True, False), (False, False)])
def test_days_keep_their_order(gaps: tuple[bool, bool]) -> None:
    edges = tuple(date(2020, m, 1) for m in range(1, 13))
    days = [column(n, Kind.DATE, edges=edges, missing=m) for n, m in zip(("in", "out"), gaps, strict=True)]
    domain = Domain.of(Schema(tuple(days)), constraints=[Ordered("in", "out")])
    grid = np.stack(np.meshgrid(*map(np.arange, domain.sizes))).reshape(2, -1).astype(np.uint32)
    both = (grid < 11).all(axis=0)
    assert np.array_equal(domain.violations(grid), both & (grid[0] > grid[1]))
    kept = np.repeat(grid[:, ~domain.violations(grid)], 50, axis=1)
    batch = domain.decode(kept, Key.fresh())
    first, last = (batch.column(n).to_pylist() for n in ("in", "out"))
    assert all(a is None or b is None or a <= b for a, b in zip(first, last, strict=True))
    back = Table.from_arrow(pa.Table.from_batches([batch]), domain.schema).encode()
    assert np.array_equal(back.codes, kept)


def test_constraints_mean_what_they_say() -> None:
    schema = Schema((*AB, column("n", Kind.NUMERIC, edges=(0, 1, 5, 9))))
    rule = Implies({"a": "x"}, {"b": ["u", "v"], "n": 0})
    domain = Domain.of(schema, constraints=[rule, Never({"a": "y", "n": [6, "[1, 5)"]})])
    codes = np.stack(np.meshgrid(*map(np.arange, domain.sizes), indexing="ij")).reshape(3, -1)
    a, b, n = codes
    expected = ((a == 0) & ((b == 2) | (n != 0))) | ((a == 1) & (n > 0))
    assert np.array_equal(domain.violations(codes), expected)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ([Never({"a": "x", "c": "u"})], "not synthesized: 'c'"),
        ([Never({"a": "x", "b": "z"})], "no such level"),
        ([Ordered("a", "b")], "neither bins nor numbers"),
        ([Within("b", "a", {"x": ["u"]})], "1 of the 2 groups"),
        ([Within("b", "a", {"x": ["u"], "y": ["v", "w"]}), Never({"a": "x", "b": "v"})], "no further"),
    ],
)
def test_a_constraint_that_does_not_fit_is_refused(rules: list[Never], words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        Domain.of(Schema(AB), constraints=rules)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Never({"a": 1}),
        lambda: Implies({}, {"a": 1}),
        lambda: Implies({"a": 1}, {"a": 2}),
        lambda: Ordered("a", "a"),
        lambda: Within("a", "a", {}),
    ],
)
def test_a_constraint_checks_itself(make: object) -> None:
    with pytest.raises(ParameterError):
        make()  # type: ignore[operator]


def test_rows_that_break_a_constraint_are_dropped_before_counting() -> None:
    table = discharges(2_000, 3).select(["sex", "mdc", "age"])
    domain = Domain.of(table.schema, constraints=[Never({"sex": "male", "mdc": [1, 2, 3, 4, 5]})])
    kept, dropped = domain.prepared(table)
    counted = kept.counts("sex", "mdc")
    broken = sum(n for (sex, mdc), n in _cells(table) if sex == "male" and mdc <= 5)
    assert broken > 0 and dropped.rows == broken
    assert counted.total == 2_000 - broken


def _cells(table: Table) -> list[tuple[tuple[str, int], int]]:
    return [((r["sex"], r["mdc"]), r["n"]) for r in table.counts("sex", "mdc").to_arrow().to_pylist()]


def test_weights_are_whole_units_of_the_largest() -> None:
    weight = column("w", Kind.NUMERIC, role=Role.WEIGHT, edges=(0, 4))
    table = Table.from_arrow(
        pa.table({"a": ["x", "y", "y"], "b": ["u", "u", "w"], "w": [1.0, 4.0, 900.0]}),
        Schema((*AB, weight)),
    )
    domain = Domain.of(table.schema, weight="w")
    assert domain.names == ("a", "b")
    counts = domain.prepared(table)[0].counts("a", weight="w")
    assert counts.dense().tolist() == [WEIGHT_UNITS / 4, 2 * WEIGHT_UNITS]
    with pytest.raises(SchemaError, match="largest weight"):
        Domain.of(table.schema.with_("w", provenance=None), weight="w")
