"""Descriptions against obvious versions; differences one by one; proposals that change nothing unasked."""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from described import CANARY, QI, cells, shown, table_of
from hypothesis import given

from sfumato.description import check, describe, one_way, update
from sfumato.errors import ParameterError
from sfumato.io import scan
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.table import Table


@given(cells)
def test_shares_and_classes_are_those_of_the_oracle(rows: list[tuple[Any, ...]]) -> None:
    names = "wxyz"
    schema = Schema(tuple(Column(n, Kind.NOMINAL, QI) for n in names))
    columns = {n: pa.array([r[i] for r in rows], pa.string()) for i, n in enumerate(names)}
    found = describe(Table.from_arrow(pa.table(columns), schema))

    def alone(*places: int) -> float:
        seen = Counter(tuple(r[p] for p in places) for r in rows)
        return sum(n == 1 for n in seen.values()) / len(rows)

    assert found.rows == len(rows)
    for i, name in enumerate(names):
        seen = Counter(r[i] for r in rows)
        assert found[name].levels == len(set(seen) - {None})
        assert found[name].missing == seen[None] / len(rows)
        assert found[name].unique == alone(i)
        bits = -sum(n / len(rows) * math.log2(n / len(rows)) for n in seen.values())
        assert found[name].entropy == pytest.approx(bits, abs=1e-9)
    together = found.together
    assert together is not None and together.pair is not None
    classes = Counter(rows)
    assert (together.combinations, together.smallest) == (len(classes), min(classes.values()))
    assert together.unique == alone(0, 1, 2, 3)
    assert together.pair.unique == max(alone(*pair) for pair in combinations(range(4), 2))
    for step in together.steps:
        assert step.unique == alone(*(names.index(c) for c in step.columns))
    for before, after in pairwise(together.steps):
        known = [names.index(c) for c in before.columns]
        assert after.unique == max(alone(*known, c) for c in range(4) if c not in known)
    assert [len(s.columns) for s in together.steps] == list(range(2, 2 + len(together.steps)))
    assert together.steps[-1].unique == together.unique


def test_numbers_are_described_as_they_stand_not_in_bins() -> None:
    column = Column("age", Kind.NUMERIC, QI, type="integer", edges=(0, 10), missing=False)
    assert describe(table_of({"age": [1, 2, 300, None]}, column))["age"].levels == 3


def test_without_quasi_identifiers_the_other_columns_are_crossed() -> None:
    found = describe(
        table_of(
            {"id": ["1", "2", "3"], "p": ["x", "x", "y"], "a": ["k", "k", "l"], "b": ["m", "n", "m"]},
            Column("id", Kind.NOMINAL, Role.IDENTIFIER),
            Column("p", Kind.NOMINAL, Role.PERSON),
            Column("a", Kind.NOMINAL),
            Column("b", Kind.NOMINAL),
        )
    )
    assert found.together is not None and found.together.columns == ("a", "b")
    assert found.person is not None
    assert (found.person.persons, found.person.most, found.person.mean) == (2, 2, 1.5)


def test_a_table_of_many_columns_is_crossed_by_the_most_varied() -> None:
    wide = {f"c{i:03}": [str(j % (1 + i)) for j in range(60)] for i in range(60)}
    found = describe(table_of(wide)).together
    assert found is not None and len(found.columns) == 24 and "c059" in found.columns


def test_columns_of_very_many_values_are_tallied_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [f"id{i % 700}" if i % 11 else None for i in range(2_000)]
    table = table_of({"id": values, "k": [i % 3 for i in range(2_000)]})
    before = describe(table)
    monkeypatch.setattr(one_way, "_WIDE", 100)
    assert describe(table) == before


@pytest.mark.parametrize("engine", ["polars", "pandas", "duckdb"])
def test_every_engine_describes_alike(engine: str) -> None:
    arrow = pa.table(
        {
            "p": [f"P{i // 3}" for i in range(60)],
            "a": [None if i % 7 == 0 else i % 5 for i in range(60)],
            "b": [str(i % 11) for i in range(60)],
        }
    )
    schema = Schema(
        (
            Column("p", Kind.NOMINAL, Role.PERSON),
            Column("a", Kind.NUMERIC, QI, type="integer", edges=(0, 2)),
            Column("b", Kind.NOMINAL, QI, levels=("0", "1")),
        )
    )
    if engine == "polars":
        import polars

        frame: Any = polars.from_arrow(arrow)
    elif engine == "pandas":
        frame = arrow.to_pandas()
    else:
        import duckdb

        frame = duckdb.connect().from_arrow(arrow)
    other, plain = scan(frame, schema), Table.from_arrow(arrow, schema)
    assert describe(other) == describe(plain)
    assert check(other, schema).items == check(plain, schema).items
    assert update(schema, other, extend=True) == update(schema, plain, extend=True)


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(ParameterError, match="describe takes a table"):
        describe("people.csv")  # type: ignore[arg-type]


def test_left_out_columns_are_named(tmp_path: Path) -> None:
    table = table_of({"a": ["1", "2"], "b": ["x", "y"]}).drop(["b"])
    assert describe(table).left_out == ("b",)


def test_a_description_shows_no_value_and_is_plain_data() -> None:
    table = table_of(
        {"dx": [CANARY, "a", "a"], "age": [1, 2, 2]},
        Column("dx", Kind.NOMINAL, QI, levels=("a", CANARY)),
        Column("age", Kind.NUMERIC, QI, type="integer"),
    )
    found = describe(table)
    text = shown(found) + shown(found, 120) + repr(found) + found._repr_html_() + json.dumps(found.to_dict())
    assert CANARY not in text + str(found) + repr(table.schema)
    assert "Together: 2 quasi-identifiers" in str(found) and "dx: nominal" in repr(table.schema)
    assert json.loads(json.dumps(found.to_dict()))["columns"][0]["name"] == "dx"


@pytest.mark.parametrize("width", [60, 80, 120, 160])
def test_long_names_are_folded_not_cut(width: int) -> None:
    name = "a_name_" + "x" * 150 + "_its_end"
    text = shown(describe(table_of({name: ["a", "b"], "b": ["c", "c"]})), width)
    assert "…" not in text and "_its_end" in text.replace("\n", "").replace(" ", "")
    assert text.count("x") == 150 * text.count("a_name_")
    assert max(map(len, text.splitlines())) <= width


def test_markup_in_a_name_is_shown_as_it_is() -> None:
    found = describe(table_of({"[red]": ["a", "b"], "<b>": ["c", "c"]}))
    assert "[red]" in shown(found)
    assert "&lt;b&gt;" in found._repr_html_() and "<b>" not in found._repr_html_()
