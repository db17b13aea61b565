"""The schema as a value: checked at the door, the same after a round trip, every fault at once."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from declared import PUBLIC
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato.errors import SchemaError
from sfumato.schema import Column, Draw, Kind, Provenance, Role, Schema, draw_back

TYPES = {
    Kind.NUMERIC: ["real"],
    Kind.DATE: ["date", "datetime"],
    Kind.CODES: ["text"],
    Kind.TEXT: ["text"],
}
words = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
dates = st.dates(date(1900, 1, 1), date(2100, 1, 1))


def _levels(type_: str) -> st.SearchStrategy[list[Any]]:
    one: dict[str, st.SearchStrategy[Any]] = {
        "text": words,
        "integer": st.integers(-(2**63), 2**63 - 1),
        "real": st.floats(allow_nan=False, allow_infinity=False),
        "decimal": st.decimals(-(10**9), 10**9, places=4),
        "boolean": st.booleans(),
        "date": dates,
        "datetime": st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)),
    }
    return st.lists(one[type_], min_size=1, max_size=4, unique=True)


@st.composite
def columns(draw: st.DrawFn, name: str) -> Column:
    kind = draw(st.sampled_from(list(Kind)))
    type_ = draw(st.sampled_from(TYPES.get(kind, ["text", "integer", "real", "decimal", "boolean", "date"])))
    more: dict[str, Any] = {}
    if kind in (Kind.NOMINAL, Kind.ORDINAL, Kind.CODES) and draw(st.booleans()):
        more["levels"] = tuple(draw(_levels(type_)))
    if kind is Kind.NUMERIC and draw(st.booleans()):
        edges = draw(st.lists(st.floats(allow_nan=False), min_size=2, max_size=5, unique=True))
        more["edges"] = tuple(sorted(edges))
    if kind is Kind.DATE and draw(st.booleans()):
        type_ = "date"
        more["edges"] = tuple(sorted(draw(st.lists(dates, min_size=2, max_size=4, unique=True))))
    return Column(
        name, kind, type=type_,
        role=draw(st.sampled_from([r for r in Role if r is not Role.WEIGHT])),
        labels=draw(st.dictionaries(words, words, max_size=2)),
        unit=draw(words), draw=draw(st.sampled_from(list(Draw))), separator=draw(words.filter(bool)),
        missing=draw(st.booleans()), clamp=draw(st.booleans()), confirmed=draw(st.booleans()),
        reason=draw(words), description=draw(words), **more,
    )  # fmt: skip


@given(st.lists(words.filter(bool), unique=True, max_size=4).flatmap(lambda ns: st.tuples(*map(columns, ns))))
def test_toml_round_trip(drawn: tuple[Column, ...]) -> None:
    schema = Schema(drawn)
    again = Schema.from_toml(schema.to_toml())
    assert again == schema
    assert again.to_toml() == schema.to_toml()


def test_decimals_and_reals_survive_toml() -> None:
    schema = Schema((
        Column("d", Kind.NOMINAL, type="decimal", levels=(Decimal("1.50"), Decimal("2"))),
        Column("r", Kind.NUMERIC, type="real", edges=(0.0, 1.0, float("inf"))),
    ))  # fmt: skip
    assert Schema.from_toml(schema.to_toml()) == schema


@pytest.mark.parametrize(("arguments", "fault"), [
    ({"kind": "colour"}, "kind must be one of"),
    ({"kind": "nominal", "role": "boss"}, "role must be one of"),
    ({"kind": "numeric", "draw": "lots"}, "draw must be one of"),
    ({"kind": "nominal", "type": "int"}, "type must be one of"),
    ({"kind": "numeric", "type": "text"}, "is of type real or integer or decimal"),
    ({"kind": "date", "type": "integer"}, "is of type date"),
    ({"kind": "numeric", "levels": (1,)}, "has no levels"),
    ({"kind": "nominal", "levels": ()}, "levels are empty"),
    ({"kind": "nominal", "levels": ("a", "a")}, "levels repeat"),
    ({"kind": "nominal", "levels": (1.0, float("nan"))}, "not a number"),
    ({"kind": "flag", "levels": ("a", "b", "c")}, "at most two"),
    ({"kind": "nominal", "edges": (0, 1)}, "has no edges"),
    ({"kind": "numeric", "edges": (1,)}, "at least two"),
    ({"kind": "numeric", "edges": (1, 1)}, "must increase"),
    ({"kind": "numeric", "edges": (0.0, float("nan"))}, "must increase"),
    ({"kind": "numeric", "edges": ("a", "b")}, "must be numbers"),
    ({"kind": "date", "edges": (1, 2)}, "must be dates"),
    ({"kind": "date", "edges": (date(2020, 1, 1), datetime(2021, 1, 1))}, "all days"),
    ({"kind": "codes", "separator": ""}, "separator"),
    ({"kind": "nominal", "role": "weight"}, "must be numeric"),
])  # fmt: skip
def test_a_bad_column_is_refused(arguments: dict[str, Any], fault: str) -> None:
    with pytest.raises(SchemaError, match=fault) as caught:
        Column("c", **arguments)
    assert "'c'" in str(caught.value) and caught.value.hint


def test_an_empty_name_and_repeated_names_are_refused() -> None:
    with pytest.raises(SchemaError, match="name is empty"):
        Column("", Kind.NOMINAL)
    with pytest.raises(SchemaError, match="names repeat: a"):
        Schema((Column("a", Kind.NOMINAL), Column("a", Kind.FLAG)))


def test_all_faults_of_a_file_are_listed_at_once() -> None:
    text = """
    [columns.a]
    kind = "colour"
    [columns.b]
    kind = "nominal"
    levls = ["x"]
    [columns.c]
    role = "sensitive"
    levels = "x"
    labels = {x = 1}
    """
    with pytest.raises(SchemaError) as caught:
        Schema.from_toml(text, name="claims.toml")
    message = str(caught.value)
    for part in ("claims.toml", "'a': kind must be", "unknown key 'levls'", "'c'", "kind is not given",
                 "levels must be a list", "labels must be text"):  # fmt: skip
        assert part in message


@pytest.mark.parametrize(
    "text", ["= nonsense", "", "columns = 3", "[columns]\na = 1", "sfumato_schema = 2\n[columns]"]
)
def test_what_is_not_a_schema_is_refused(text: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.from_toml(text)
    assert caught.value.hint


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00\x01")
    for path in (tmp_path / "none.toml", tmp_path, tmp_path / "binary.toml"):
        with pytest.raises(SchemaError) as caught:
            Schema.read(path)
        assert caught.value.hint and str(tmp_path.parent) not in str(caught.value)


# -- what may be assumed -------------------------------------------------------------------------


def test_only_domains_that_somebody_answers_for_are_public() -> None:
    schema = Schema((
        Column("declared", Kind.NOMINAL, levels=("a",), provenance=PUBLIC),
        Column("inferred", Kind.NOMINAL, levels=("a",), confirmed=True, provenance=Provenance.read_off()),
        Column("open", Kind.NOMINAL, provenance=PUBLIC),
    ))  # fmt: skip
    schema.require_public(["declared"])
    with pytest.raises(SchemaError, match=r"2 without .*'inferred' \(read off the data\); 'open'"):
        schema.require_public()


def test_size_counts_missing_as_a_category() -> None:
    assert Column("a", Kind.NOMINAL, levels=("x", "y")).size == 3
    assert Column("a", Kind.NOMINAL, levels=("x", "y"), missing=False).size == 2
    assert Column("a", Kind.NUMERIC, edges=(0, 1, 2)).size == 3
    assert Column("a", Kind.NUMERIC).size is None


def test_choosing_columns() -> None:
    schema = Schema(
        (Column("a", Kind.NOMINAL, role="sensitive"), Column("b", Kind.FLAG, labels={"1": "yes"}))
    )
    assert schema.select(["b", "a"]).names == ("b", "a")
    assert schema.drop(["a"]).names == ("b",) and "a" in schema and len(schema) == 2
    assert schema.of_role("sensitive") == ("a",)
    assert schema.with_("a", role="other")["a"].role is Role.OTHER
    assert (schema["b"].label(1), schema["b"].label(0)) == ("yes", "0")
    with pytest.raises(SchemaError, match="unknown columns: 'x', 'y'"):
        schema.select(["a", "x", "y"])


@example(Draw.UNIFORM, 1, 0.9999999999999999)
@given(st.sampled_from(list(Draw)), st.integers(0, 2), st.floats(0, 1, exclude_max=True))
def test_a_drawn_number_lies_in_its_bin(how: Draw, code: int, u: float) -> None:
    column = Column("x", Kind.NUMERIC, edges=(0, 1, 5, 10), draw=how)
    drawn = draw_back(column, code, u)
    low, high = (0, 1, 5, 10)[code : code + 2]
    assert low <= drawn < high or (code == 2 and drawn == 10)
    assert how is not Draw.INTEGER or drawn == int(drawn)


def test_drawing_from_an_unbounded_bin_gives_its_edge() -> None:
    column = Column("x", Kind.NUMERIC, type="real", edges=(float("-inf"), 0.0, float("inf")))
    assert (draw_back(column, 0, 0.5), draw_back(column, 1, 0.5)) == (0.0, 0.0)
    with pytest.raises(SchemaError, match="no bins"):
        draw_back(Column("x", Kind.NUMERIC), 0, 0.5)


@pytest.mark.parametrize(
    "entries",
    [
        'kind = "numeric"\ntype = "decimal"\nedges = ["nan", "1"]',
        'kind = "nominal"\ntype = "decimal"\nlevels = ["sNaN", "1"]',
        f'kind = "numeric"\nedges = [0, 1{"0" * 400}]',
        f'kind = "numeric"\nedges = [0, 1{"0" * 5000}]',
        f'kind = "nominal"\nlevels = {"[" * 5000}{"]" * 5000}',
        'kind = "nominal"\nlabels = { "SECRET" = "a", "SECRET" = "b" }',
        'kind = "date"\nedges = [2020-01-01T00:00:00, 2021-01-01T00:00:00]',
        'kind = "date"\ntype = "datetime"\nedges = [2020-01-01, 2021-01-01]',
        'kind = "date"\ntype = "instant"\nedges = [2020-01-01T00:00:00, 2021-01-01T00:00:00]',
    ],
)
def test_odd_toml_is_refused_in_our_words(entries):
    with pytest.raises(SchemaError) as caught:
        Schema.from_toml(f"[columns.dx]\n{entries}\n")
    assert caught.value.hint
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("attribute", ["levels", "missing_codes", "edges"])
@pytest.mark.parametrize("value", [5, "abc", [["SECRET"]], [{}]])
def test_lists_of_values_are_lists_of_plain_values(attribute, value):
    with pytest.raises(SchemaError, match="list of plain values") as caught:
        Column("dx", Kind.NOMINAL, **{attribute: value})
    assert "SECRET" not in str(caught.value)


def test_what_is_no_column_is_refused() -> None:
    with pytest.raises(SchemaError, match="made of columns"):
        Schema(("a",))  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="labels must be a table"):
        Column("a", Kind.NOMINAL, labels=5)  # type: ignore[arg-type]
