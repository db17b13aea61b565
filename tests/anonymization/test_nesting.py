"""Columns that nest in each other: one hierarchy, and no cell that contradicts another."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy import Nested, ages


def people(rows: int = 600, seed: int = 3, gaps: bool = False) -> pa.Table:
    draw = np.random.default_rng(seed)
    hospital = draw.integers(0, 24, rows)
    names = [f"h{i:02}" for i in hospital]
    county = [f"c{i // 3}" for i in hospital]
    region = [i // 12 for i in hospital]
    if gaps:
        names = [None if i == 5 else n for i, n in zip(hospital, names, strict=True)]
        county = [None if i in (5, 7) else c for i, c in zip(hospital, county, strict=True)]
        region = [None if i == 5 else r for i, r in zip(hospital, region, strict=True)]
    return pa.table(
        {
            "hospital": names,
            "county": county,
            "region": pa.array(region, pa.int64()),
            "age": draw.integers(20, 80, rows),
            "diagnosis": draw.choice(["a", "b", "c", "d"], rows),
        }
    )


def table(data: pa.Table) -> sf.Table:
    schema = sf.scan(data).schema
    for name, role in {
        "hospital": "quasi-identifier",
        "county": "quasi-identifier",
        "region": "quasi-identifier",
        "age": "quasi-identifier",
        "diagnosis": "sensitive",
    }.items():
        schema = schema.with_(name, role=sf.Role(role))
    schema = schema.with_("region", kind=sf.Kind.NOMINAL)
    return sf.scan(data, schema)


HIERARCHIES = {"hospital": Nested(("county", "region")), "age": ages((5, 10, 20))}


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(
    "method", [sf.OptimalRecoding(max_suppressed=0.02), sf.LocalRecoding(), sf.Mondrian()]
)
def test_every_class_has_k_rows_with_the_columns_above(method, gaps, tmp_path):
    source = table(people(gaps=gaps))
    release = sf.anonymize(source, sf.KAnonymity(5), method=method, hierarchies=HIERARCHIES, seed=1)
    release.save(tmp_path / "out")
    back = sf.scan(tmp_path / "out" / "public" / "data.parquet")
    counts = back.counts("hospital", "county", "region", "age")
    assert counts.n.min() >= 5
    assert len(counts.n) == len(back.counts("hospital", "age").n)
    assert set(release.guarantee.claims[0].columns) == {"hospital", "county", "region", "age"}
    assert sf.verify(tmp_path / "out").ok


@pytest.mark.parametrize("gaps", [False, True])
def test_columns_above_say_what_the_finest_one_is_released_as(gaps):
    data = people(rows=400, gaps=gaps)
    own = {
        (h, c, r)
        for h, c, r in zip(*(data[n].to_pylist() for n in ("hospital", "county", "region")), strict=True)
    }
    county_of = {h: c for h, c, _ in own}
    release = sf.anonymize(
        table(data), sf.KAnonymity(9), method=sf.LocalRecoding(), hierarchies=HIERARCHIES, seed=1
    )
    seen = set()
    for row in release.data.to_arrow().select(["hospital", "county", "region"]).to_pylist():
        hospital, county, region = row["hospital"], row["county"], row["region"]
        if hospital in county_of:
            assert county == county_of[hospital] or (hospital is None and county in (None, "*"))
            seen.add("hospital")
        elif county is not None and county.startswith("c") and not county.startswith("county"):
            assert hospital == county or hospital == f"county: {county}, {region}"
            seen.add("county")
        else:
            assert hospital == county or county is None
    assert {"hospital", "county"} & seen


def test_a_column_above_keeps_its_type_where_nothing_in_it_changed():
    release = sf.anonymize(
        table(people()), sf.KAnonymity(2), method=sf.OptimalRecoding(), hierarchies=HIERARCHIES, seed=1
    )
    changes = {c["name"]: c for c in release.internal.extra["explanation"]["columns"]}
    assert changes["region"]["goes_with"] == changes["county"]["goes_with"] == "hospital"
    assert changes["region"]["loss"] <= changes["county"]["loss"] <= changes["hospital"]["loss"] + 1e-12
    if changes["region"]["loss"] == 0:
        assert release.schema["region"].type == "integer"


def test_what_does_not_nest_is_refused_with_counts_and_no_value():
    data = people().set_column(1, "county", pa.array([f"c{i % 7}" for i in range(600)]))
    with pytest.raises(DataError, match="do not nest: 24 with several of 'county'") as caught:
        sf.anonymize(table(data), sf.KAnonymity(5), hierarchies=HIERARCHIES)
    assert "h03" not in str(caught.value) and "h03" in caught.value.values


@pytest.mark.parametrize("above", [(), ("county", "county")])
def test_a_hierarchy_over_columns_names_each_once(above):
    with pytest.raises(ParameterError, match="each once"):
        Nested(above)


def test_values_alone_are_not_enough():
    with pytest.raises(ParameterError, match="several columns"):
        Nested(("county",)).over(["a"])


def test_a_circle_is_refused():
    wrong = {"hospital": Nested(("county",)), "county": Nested(("hospital",)), "age": ages()}
    with pytest.raises(ParameterError):
        sf.anonymize(
            table(people()),
            sf.KAnonymity(5),
            hierarchies=wrong,
            quasi_identifiers=["hospital", "county", "age"],
        )


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 3), st.integers(0, 1)), min_size=1, max_size=40))
def test_labels_of_a_chain_never_mean_two_things(rows):
    """Numbers on every level: what would be written the same is told apart by the column's name."""
    first = {}
    for fine, middle, coarse in rows:
        first.setdefault(fine, (fine, middle, coarse))
    chain = Nested(("m", "c")).chain("f", list(first.values()))
    for height, names in enumerate(chain.hierarchy.labels[1:-1], 1):
        assert not set(names) & set(chain.hierarchy.leaves), height
    for column in ("m", "c"):
        cells = chain.cells(column, chain.hierarchy, "(missing)")
        for leaf, (_, middle, coarse) in first.items():
            place = chain.hierarchy.places[str(leaf)]
            assert cells[place] == str({"m": middle, "c": coarse}[column])


def test_what_names_a_person_is_seen_before_anything_is_released():
    data = people(60).append_column("mrn", pa.array([f"M{i:05}" for i in range(60)]))
    found = {f.columns[0]: f.text for f in sf.prepare(sf.scan(data)).findings if f.kind == "safe harbor"}
    assert found["mrn"] == "HIPAA Safe Harbor lists what names a person"
