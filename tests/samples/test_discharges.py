"""The simulated discharges keep their word: levels, bins, zeros, dependence, people, determinism."""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.samples import DISCHARGE_VARIABLES, HOSPITALS
from sfumato.samples._common import BLOCK
from sfumato.samples._diagnoses import COMORBIDITIES, all_codes, codes_of
from sfumato.samples._discharges import completed_years, discharge_rows
from sfumato.schema import Kind, Role, Schema

N = 60_000
LEVEL_COUNTS = {
    "typ": 6, "age": 18, "sex": 3, "ethnicity": 4, "race": 7, "zip": 16, "los": 16, "disp": 13, "pay": 9,
    "charge": 25, "mdc": 25, "sev": 3, "cat": 2,
}  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return discharge_rows(N, 20)[0]


@pytest.fixture(scope="module")
def schema() -> Schema:
    return discharge_rows(1, 0)[1]


@pytest.fixture(scope="module")
def frame(rows: pa.Table) -> pd.DataFrame:
    return rows.to_pandas()


def information(frame: pd.DataFrame, a: str, b: str) -> float:
    """Mutual information in nats, corrected for the bias of counting."""
    codes = [pd.factorize(frame[name], use_na_sentinel=False)[0] for name in (a, b)]
    table = pd.crosstab(*codes).to_numpy() / len(frame)
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True)
    cells = table > 0
    plug_in = float((table[cells] * np.log(table[cells] / expected[cells])).sum())
    return plug_in - (table.shape[0] - 1) * (table.shape[1] - 1) / (2 * len(frame))


def test_the_thirteen_have_the_level_counts_of_the_paper(schema: Schema) -> None:
    assert {name: schema[name].size for name in DISCHARGE_VARIABLES} == LEVEL_COUNTS
    assert tuple(LEVEL_COUNTS) == DISCHARGE_VARIABLES


def test_every_level_occurs(frame: pd.DataFrame, schema: Schema) -> None:
    seen = {name: frame[name].nunique(dropna=False) for name in DISCHARGE_VARIABLES}
    assert seen == LEVEL_COUNTS


def test_every_cell_lies_in_its_public_domain(rows: pa.Table, schema: Schema) -> None:
    for column in schema:
        assert column.confirmed and column.description.startswith("Simulated. ")
        values = rows[column.name]
        assert column.missing or values.null_count == 0
        if column.levels is not None and column.kind is not Kind.CODES:
            assert pc.all(pc.is_in(values.drop_null(), pa.array(column.levels))).as_py(), column.name
        if column.edges is not None:
            assert column.edges[0] <= pc.min(values).as_py(), column.name  # type: ignore[operator]
            assert pc.max(values).as_py() <= column.edges[-1], column.name
    schema.require_public([n for n in schema.names if n not in ("id", "person")])


def test_types_are_canonical(rows: pa.Table, schema: Schema) -> None:
    arrow = {"text": pa.string(), "integer": pa.int64(), "date": pa.date32()}
    assert rows.schema == pa.schema([(c.name, arrow[c.type]) for c in schema])


def test_the_schema_survives_a_file(schema: Schema) -> None:
    assert Schema.from_toml(schema.to_toml()) == schema


def test_roles(schema: Schema, rows: pa.Table) -> None:
    assert schema.of_role(Role.IDENTIFIER) == ("id",) and schema.of_role(Role.PERSON) == ("person",)
    assert pc.count_distinct(rows["id"]).as_py() == N
    assert {"age", "sex", "zip", "born"} <= set(schema.of_role(Role.QUASI_IDENTIFIER))
    assert {"mdc", "dx", "charge"} <= set(schema.of_role(Role.SENSITIVE))


@pytest.mark.parametrize(
    ("binned", "number"), [("age", "age_years"), ("los", "los_days"), ("charge", "charge_usd")]
)
def test_bins_agree_with_the_numbers_behind(
    frame: pd.DataFrame, schema: Schema, binned: str, number: str
) -> None:
    levels, edges = schema[binned].levels, schema[number].edges
    assert levels is not None and edges is not None and edges[:-1] == levels
    assert frame[binned].isna().equals(frame[number].isna())
    known = frame.dropna(subset=[number])
    by_hand = pd.cut(known[number], [*levels, np.inf], right=False, labels=levels).astype(np.int64)
    assert (by_hand == known[binned].astype(np.int64)).all()
    assert all(str(level) in schema[binned].labels for level in levels)


def test_age_is_counted_from_the_birth_date(frame: pd.DataFrame) -> None:
    known = frame.dropna(subset=["born"])
    assert frame["born"].isna().equals(frame["age_years"].isna())
    for born, day, age in known[["born", "admitted", "age_years"]].head(3000).itertuples(index=False):
        assert age == day.year - born.year - ((day.month, day.day) < (born.month, born.day))


def test_completed_years_on_leap_days() -> None:
    def years(born: date, day: date) -> int:
        days = [np.array([(d - date(1970, 1, 1)).days]) for d in (born, day)]
        return int(completed_years(*days)[0])

    assert years(date(1952, 2, 29), date(2011, 2, 28)) == 58
    assert years(date(1952, 2, 29), date(2011, 3, 1)) == 59
    assert years(date(1952, 3, 1), date(2012, 2, 29)) == 59
    assert years(date(2011, 5, 5), date(2011, 5, 5)) == 0
    assert years(date(2011, 12, 31), date(2012, 1, 1)) == 0


@given(st.integers(0, 10**9))
@settings(max_examples=5, deadline=None)
def test_what_cannot_be_is_not(seed: int) -> None:
    """Structural zeros, for any seed."""
    frame = discharge_rows(BLOCK, seed)[0].to_pandas()
    female, male, age, mdc = frame.sex == "female", frame.sex == "male", frame.age_years, frame.mdc
    impossible = {
        "pregnant men": male & (mdc == 14),
        "pregnant outside 15 to 49": (mdc == 14) & ((age < 15) | (age >= 50)),
        "female organs of men": male & (mdc == 13),
        "male organs of women": female & (mdc == 12),
        "newborns of a later age": (mdc == 15) & (age > 0),
        "newborns not born that day": (mdc == 15) & frame.born.notna() & (frame.born != frame.admitted),
        "born that day but no newborn": (frame.born == frame.admitted) & (mdc != 15),
        "medicare of the young": (frame.pay == "medicare") & (age < 20),
        "work accidents outside working age": (frame.pay == "workers' compensation")
        & ((age < 18) | (age >= 65)),
        "nights in day surgery": (frame.typ == "day surgery") & (frame.los_days > 0),
        "medical day surgery": (frame.typ == "day surgery") & (frame["cat"] == "medical"),
        "psychiatric surgery": (frame.typ == "psychiatric") & (frame["cat"] == "surgical"),
        "newborns in a nursing home": (mdc == 15) & (frame.typ == "skilled nursing"),
        "children in prison": (frame.disp == "prison") & (age < 15),
    }
    assert {what: int(cases.sum()) for what, cases in impossible.items() if cases.any()} == {}
    assert ((mdc == 14).sum() > 100) and ((mdc == 15).sum() > 100)


@pytest.mark.parametrize(
    ("a", "b", "least"),
    [
        ("age", "pay", 0.3), ("age", "mdc", 0.25), ("mdc", "sev", 0.05), ("sev", "los", 0.08),
        ("los", "charge", 0.15),
        ("cat", "charge", 0.05), ("zip", "race", 0.08), ("race", "ethnicity", 0.15), ("typ", "disp", 0.02),
        ("age", "disp", 0.05), ("sev", "disp", 0.02), ("typ", "mdc", 0.15), ("typ", "los", 0.10),
        ("sex", "mdc", 0.05),
        ("hospital", "zip", 0.8), ("hospital", "charge", 0.01), ("dx", "mdc", 2.4), ("zip", "pay", 0.015),
    ],
)  # fmt: skip
def test_variables_depend_on_each_other(frame: pd.DataFrame, a: str, b: str, least: float) -> None:
    assert information(frame, a, b) > least


def test_what_should_be_unrelated_is(frame: pd.DataFrame) -> None:
    assert abs(information(frame, "sex", "zip")) < 0.002


def test_medicare_starts_at_65(frame: pd.DataFrame) -> None:
    medicare = frame.pay.eq("medicare").groupby(frame.age_years.ge(65)).mean()
    assert medicare[True] > 0.75 and medicare[False] < 0.12


def test_codes_belong_to_one_category() -> None:
    codes = all_codes()
    assert len(set(codes)) == len(codes) > 600
    assert [c for c in codes if c.startswith("0")] and [c for c in codes if c.startswith("V")]
    assert set(COMORBIDITIES) <= set(codes)


def test_the_diagnosis_lies_in_its_category(frame: pd.DataFrame) -> None:
    for mdc, codes in frame.groupby("mdc")["dx"].unique().items():
        assert set(codes) <= set(codes_of(int(mdc)))


def test_other_diagnoses_are_several_distinct_codes(frame: pd.DataFrame) -> None:
    given_codes = frame.dropna(subset=["dx_other"])
    cells = given_codes["dx_other"].str.split(";")
    assert (cells.str.len() > 1).mean() > 0.4
    assert all(len(set(cell)) == len(cell) and set(cell) <= set(COMORBIDITIES) for cell in cells)
    assert not any(dx in cell for dx, cell in zip(given_codes["dx"], cells, strict=True))
    assert not frame["dx_other"].eq("").any() and frame["dx_other"].isna().mean() < 0.5


def test_hospitals_lie_in_counties_and_counties_in_regions(frame: pd.DataFrame) -> None:
    places = set(frame[["hospital", "county", "region"]].itertuples(index=False, name=None))
    assert places == set(HOSPITALS) and len(HOSPITALS) == 40


def test_people_stay_themselves_and_time_goes_on(frame: pd.DataFrame) -> None:
    people = frame.groupby("person")
    several = people.size()
    assert (several > 1).mean() > 0.15 and several.max() >= 4
    for column in ("sex", "born", "race", "ethnicity", "zip"):
        assert people[column].nunique(dropna=True).max() == 1, column
    same = frame["person"].eq(frame["person"].shift(-1))
    nights = frame["los_days"].fillna(0).astype(np.int64)
    gap = (pd.to_datetime(frame["admitted"].shift(-1)) - pd.to_datetime(frame["admitted"])).dt.days
    assert (gap[same] > nights[same]).all()
    assert not (same & frame["disp"].eq("died")).any()
    assert not frame["person"][~same].duplicated().any()  # a person's rows stand together


def test_missing_values_are_there_and_rare(rows: pa.Table) -> None:
    for name in ("age", "sex", "los"):
        assert 0.002 < rows[name].null_count / N < 0.03


def test_the_same_seed_gives_the_same_rows() -> None:
    assert discharge_rows(3000, 5)[0].equals(discharge_rows(3000, 5)[0])
    assert not discharge_rows(3000, 5)[0].equals(discharge_rows(3000, 6)[0])


@given(st.lists(st.integers(1, 2 * BLOCK + 100), min_size=2, max_size=2), st.integers(0, 10**6))
@settings(max_examples=8, deadline=None)
def test_a_short_table_begins_a_long_one(sizes: list[int], seed: int) -> None:
    for short, long in pairwise(sorted(sizes)):
        assert discharge_rows(long, seed)[0].slice(0, short).equals(discharge_rows(short, seed)[0])


@pytest.mark.parametrize("n", [0, -1, 1.5, "10", None, True])
def test_the_number_of_rows_is_checked(n: Any) -> None:
    with pytest.raises(ParameterError, match="n must be"):
        discharge_rows(n, 0)


@pytest.mark.parametrize("seed", [-1, 0.5, None])
def test_the_seed_is_checked(seed: Any) -> None:
    with pytest.raises(ParameterError, match="seed must be"):
        discharge_rows(1, seed)
