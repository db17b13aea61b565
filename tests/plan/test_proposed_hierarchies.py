"""What is proposed for the values of a column, and which columns are taken for one hierarchy."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.hierarchy import BritishPostcodes, Icd9, Icd10, Intervals
from sfumato.hierarchy.classifications import UNKNOWN, icd10_groups
from sfumato.plan.nested_columns import chains
from sfumato.plan.proposal import suggested_hierarchies
from sfumato.plan.proposed_hierarchies import Values, proposed, quantile_edges
from sfumato.plan.recipes import recipe
from sfumato.schema import Column, Kind, Role

KNOWN = Role.QUASI_IDENTIFIER


def guess(name: str, values: list, kind: Kind = Kind.NOMINAL, **more):
    column = Column(name, kind, role=KNOWN, **more)
    return proposed(column, Values(values, [1] * len(values)))[0]


def test_ages_keep_to_their_unit() -> None:
    years = guess("age", list(range(18, 95)), Kind.NUMERIC, type="integer", unit="years")
    assert years == {"recipe": "ages", "widths": [5, 10, 20]}
    months = guess("age_months", list(range(200, 1100)), Kind.NUMERIC, type="integer", unit="months")
    assert months == {"recipe": "ages", "widths": [12, 60, 120, 240], "top": 1080}
    babies = guess("age_months", list(range(30)), Kind.NUMERIC, type="integer", unit="months")
    assert babies["widths"] == [3, 6, 12]
    days = guess("age_days", list(range(0, 300, 2)), Kind.NUMERIC, type="integer", unit="days")
    assert days["widths"] == [7, 28, 84]


def test_years_of_birth_have_decades() -> None:
    born = guess("born", list(range(1921, 2004)), Kind.NUMERIC, type="integer")
    assert born == {"recipe": "intervals", "widths": [5, 10, 20]}
    assert "1980-1989" in recipe(born, Path()).over([1983, 1989]).labels[2]
    assert guess("children", [0, 1, 2, 3, 4, 5, 6, 7], Kind.NUMERIC, type="integer")["recipe"] == "quantiles"


def test_days_up_to_decades_and_no_step_without_effect() -> None:
    days = [date(1998, 1, 1) + timedelta(20 * i) for i in range(400)]
    found = guess("admitted", days, Kind.DATE, type="date")
    assert found == {"recipe": "calendar", "steps": ["month", "quarter", "year", 5, 10]}
    short = guess("admitted", [date(2019, m, d) for m in (1, 2, 3) for d in (3, 9)], Kind.DATE, type="date")
    assert short == {"recipe": "calendar", "steps": ["month"]}


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (["009", "010", "021", "022", "310"], {"recipe": "prefixes", "keep": [2, 1]}),
        (["0139", "1010", "1020", "9999"], {"recipe": "prefixes", "keep": [2]}),
        (["01067", "01069", "80331", "80333"], {"recipe": "prefixes", "keep": [4]}),
        (
            ["K1A 0B1", "K1A 0B2", "K2B 1A1", "V5K 1A1"],
            {"recipe": "prefixes", "keep": [3, 1], "ignored": " "},
        ),
        (["SW1A 1AA", "SW1A 2AA", "M1 1AE"], "british_postcodes"),
        (
            ["02139-1001", "02139-1002", "02140-1001", "10001-1001"],
            {"recipe": "prefixes", "keep": [5, 3], "ignored": " -"},
        ),
    ],
)
def test_postcodes_as_they_are(values: list[str], wanted: object) -> None:
    assert guess("zip", values) == wanted
    labels = recipe(wanted, Path()).over(values).labels  # type: ignore[arg-type]
    assert all(len(label) <= len(values[0]) for label in labels[1])


def test_zeros_that_a_spreadsheet_took_are_put_back() -> None:
    found = guess("zip", [601, 2139, 2140, 10001], Kind.NOMINAL, type="integer")
    assert found == {"recipe": "prefixes", "keep": [4, 3], "width": 5} or found["width"] == 5


def test_icd_by_chapter() -> None:
    rows = {
        r[0]: r for r in Icd9(chapters=True).over(["8", "427.31", "25001", "V45.81", "E812", "042"]).rows()
    }
    assert rows["427.31"][1:5] == ("4273*", "427*", "420-429", "390-459 circulatory")
    assert rows["8"][3] == "001-009" and rows["042"][3] == "042-042" and rows["V45.81"][3] == "V40-V49"
    ten = {r[0]: r for r in Icd10(chapters=True).over(["i48.1", "C7A.0", "B21", "U07.1", "???"]).rows()}
    assert ten["i48.1"][3:5] == ("I30-I52", "I00-I99 circulatory") and ten["C7A.0"][3] == "C7A-C7A"
    assert ten["B21"][3] == "A00-B99 other" and ten["???"][3] == UNKNOWN
    with pytest.raises(sf.ParameterError, match="twice"):
        Icd9(chapters=True, above={"427": ("heart",)})
    with pytest.raises(sf.ParameterError, match="three"):
        Icd10(keep=(4,), chapters=True)


def test_blocks_of_icd9_are_those_of_the_classification(data_dir: Path) -> None:
    """Every code of the official list: same block, same chapter, for codes that have the same there."""
    import pyarrow.parquet as pq

    codes = pq.read_table(data_dir / "icd9_hierarchy" / "icd9cm_hierarchy.parquet").to_pylist()
    over = {r[0]: r for r in Icd9(chapters=True).over([c["code"] for c in codes]).rows()}
    for level, official in ((3, "sub_chapter"), (4, "chapter")):
        pairs = {(over[c["code"]][level], c["chapter"], c[official]) for c in codes}
        assert len({p[0] for p in pairs}) == len(pairs) == len({p[1:] for p in pairs})


@pytest.mark.parametrize(
    ("category", "block"),
    [
        ("D45", "D37-D48"), ("C80", "C76-C80"), ("C7A", "C7A-C7A"), ("C4A", "C43-C44"), ("M1A", "M05-M14"),
        ("Z3A", "Z30-Z39"), ("I1A", "I10-I16"), ("I5A", "I30-I52"), ("J4A", "J40-J47"), ("D3A", "D3A-D3A"),
        ("X50", "X50-X50"), ("X58", "X52-X58"), ("QA0", "QA0-QA0"), ("B20", "B20-B20"), ("O9A", "O94-O9A"),
    ],
)  # fmt: skip
def test_categories_with_letters_lie_in_their_blocks(category: str, block: str) -> None:
    assert icd10_groups()[category][0] == block


def test_no_postcodes_are_refused() -> None:
    with pytest.raises(sf.DataError, match="1 of 2 values are no British postcodes"):
        BritishPostcodes().over(["SW1A 1AA", "Berlin"])


def test_open_bands_hold_every_number() -> None:
    assert Intervals(edges=((2, 5), (5,)), open=True).over([-3, 2, 4, 99]).rows() == [
        ("-3", "<2", "<5", "*"),
        ("2", "[2, 5)", "<5", "*"),
        ("4", "[2, 5)", "<5", "*"),
        ("99", "5+", "5+", "*"),
    ]
    with pytest.raises(sf.ParameterError, match="open goes with edges"):
        Intervals(widths=(5,), open=True)


@given(
    st.dictionaries(
        st.one_of(
            st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 2))
        ),
        st.integers(1, 50),
        max_size=60,
    )
)
def test_quantile_edges_nest_and_hold_every_value(counted: dict[float, int]) -> None:
    edges = quantile_edges([float(v) for v in counted], list(counted.values()))
    for fine, coarse in pairwise(edges):
        assert set(coarse) < set(fine)
    if edges:
        over = Intervals(edges=tuple(map(tuple, edges)), open=True).over(list(counted))
        assert len(over.labels) == len(edges) + 2


# -- columns that nest ------------------------------------------------------------------------------------


def places(rows: int, wards: int = 60) -> sf.Table:
    draw = np.random.default_rng(5)
    ward = draw.integers(0, wards, rows)
    data = pa.table(
        {
            "hospital": [f"h{w // 2}" for w in ward],
            "county": [f"c{w // 10}" for w in ward],
            "region": [f"r{w // 30}" for w in ward],
            "sex": draw.choice(["f", "m"], rows),
        }
    )
    schema = sf.scan(data).schema
    for name in data.column_names:
        schema = schema.with_(name, role=KNOWN, kind=Kind.NOMINAL)
    return sf.scan(data, schema)


def sizes(table: sf.Table) -> dict[str, int]:
    return {n: book.size for n, book in table.codebooks(list(table.columns)).items()}


def test_a_chain_is_found_and_what_is_beside_it_is_not_in_it() -> None:
    table = places(2_000)
    assert chains(table, tuple(table.schema), sizes(table)) == {"hospital": ("county", "region")}
    found = suggested_hierarchies(table)
    assert set(found) == {"hospital", "sex"} and found["hospital"].above == ("county", "region")


def test_chance_is_no_hierarchy() -> None:
    draw = np.random.default_rng(5)
    data = pa.table({"number": [f"n{i}" for i in draw.permutation(120)], "sex": draw.choice(["f", "m"], 120)})
    schema = sf.scan(data).schema
    for name in data.column_names:
        schema = schema.with_(name, role=KNOWN, kind=Kind.NOMINAL)
    table = sf.scan(data, schema)
    assert chains(table, tuple(schema), sizes(table)) == {}
