"""Methods that exchange rows, through the one door: what leaves, what is looked at, what is promised."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import DataError, ParameterError, SfumatoWarning
from sfumato.hierarchy import Hierarchy
from sfumato.schema import Column, Kind, Role, Schema

QUASI = Role.QUASI_IDENTIFIER
K = sf.KAnonymity(5)
EXCHANGES = [sf.ClusterResample(), sf.ClusterResample(replacement=False), sf.ClusterDither(), sf.Centroid()]


def people(rows: int = 100, each: int = 1) -> sf.Table:
    draw = np.random.default_rng(4)
    data = {
        "id": np.arange(rows) // each,
        "name": [f"zebra-{i}" for i in range(rows)],
        "sex": draw.choice(["f", "m"], rows),
        "age": draw.integers(20, 80, rows),
        "town": [f"zebra town {i}" for i in range(rows)],
        "note": [f"zebra note {i}" for i in range(rows)],
        "cost": draw.lognormal(size=rows).round(2),
        "weight": draw.uniform(1, 9, rows).round(3),
    }
    schema = Schema(
        (
            Column("id", Kind.NOMINAL, Role.PERSON, type="integer"),
            Column("name", Kind.NOMINAL, Role.IDENTIFIER),
            Column("sex", Kind.NOMINAL, QUASI, levels=("f", "m", "zebra")),
            Column("age", Kind.NUMERIC, QUASI, type="integer"),
            Column("town", Kind.NOMINAL, QUASI),
            Column("note", Kind.TEXT),
            Column("cost", Kind.NUMERIC, Role.SENSITIVE),
            Column("weight", Kind.NUMERIC, Role.WEIGHT),
        )
    )
    return sf.Table.from_arrow(pa.table(data), schema)


@pytest.mark.parametrize("method", EXCHANGES)
@pytest.mark.parametrize("format", ["parquet", "csv"])
@pytest.mark.filterwarnings("ignore::sfumato.errors.SfumatoWarning")
def test_nothing_that_names_people_leaves(tmp_path, method, format) -> None:
    release = sf.anonymize(people(), K, method=method, quasi_identifiers=["sex", "age"])
    assert release.columns == ("sex", "age", "cost", "weight")
    release.save(tmp_path / "r", format=format)
    for file in (tmp_path / "r" / "public").rglob("*"):
        assert b"zebra" not in file.read_bytes(), file.name
    found = sf.verify(tmp_path / "r")
    assert found.ok, str(found)
    (claim,) = sf.verify(tmp_path / "r" / "public").claims  # what a recipient sees
    assert claim.outcome == ("passed" if isinstance(method, sf.Centroid) else "not visible")


@pytest.mark.parametrize(
    "method", [sf.ClusterResample(columns=("sex", "age")), sf.Centroid(columns=("sex", "age"))]
)
def test_the_same_without_the_door(method) -> None:
    """`columns=` against roles: a quasi-identifier that was not named does not leave as it is."""
    with pytest.warns(SfumatoWarning, match="nothing was asked of is left out: 'town'"):
        release = method.release(people(), K)
    assert release.columns == ("sex", "age", "cost", "weight")


def test_text_leaves_only_on_request() -> None:
    data = people().drop(["town"])
    assert "note" in sf.anonymize(data, K, method=sf.ClusterResample(), keep_text=True).columns
    assert "note" in sf.ClusterResample(keep_text=True).release(data, K).columns


def test_dropping_the_column_of_persons_does_not_hide_that_they_have_several_rows() -> None:
    for drop in ([], ["id"]):
        with pytest.raises(DataError, match="several rows"):
            sf.anonymize(people(each=2).drop(["town"]), K, method=sf.ClusterResample(), drop=drop)


def test_what_is_dropped_is_still_looked_at() -> None:
    """Response and weights shape the clusters and the draws; `drop` says what is not released."""
    data = people().drop(["town"])
    method = sf.ClusterResample(response="cost")
    whole = sf.anonymize(data, K, method=method, seed=1)
    less = sf.anonymize(data, K, method=method, seed=1, drop=["cost", "weight"])
    assert less.columns == ("sex", "age")
    assert less.data.to_arrow().equals(whole.data.to_arrow().select(["sex", "age"]))
    assert less.internal.extra == whole.internal.extra


@pytest.mark.parametrize("method", EXCHANGES)
def test_a_seed_is_recorded_and_weakens_the_promise(method) -> None:
    data = people().drop(["town"])
    release = sf.anonymize(data, K, method=method, seed=7)
    assert release.internal.seed == 7 and "seed" in release.guarantee.text()
    assert release == sf.anonymize(data, K, method=method, seed=7)
    secret = sf.anonymize(data, K, method=method)
    assert secret.internal.seed is None and "guesses the seed" not in secret.guarantee.text()


def test_a_mean_on_a_missing_code_is_a_mean(tmp_path) -> None:
    data = sf.Table.from_arrow(
        pa.table({"x": [98, 100] * 10}),
        Schema((Column("x", Kind.NUMERIC, QUASI, type="integer", missing_codes=(99,)),)),
    )
    sf.anonymize(data, sf.KAnonymity(20), method=sf.Centroid()).save(tmp_path / "r")
    assert sf.Release.load(tmp_path / "r").data.to_arrow().column("x").to_pylist() == [99.0] * 20


@pytest.mark.parametrize("method", EXCHANGES)
def test_numeric_codes_and_types_stay(method) -> None:
    data = sf.Table.from_arrow(
        pa.table({"code": [1, 2, 7] * 20, "y": list(range(60))}),
        Schema(
            (
                Column("code", Kind.NOMINAL, QUASI, type="integer", levels=(1, 2, 7), labels={1: "one"}),
                Column("y", Kind.NUMERIC, type="integer"),
            )
        ),
    )
    out = sf.anonymize(data, K, method=method).data
    assert out.schema["code"] == data.schema["code"] and out.to_arrow().schema == data.to_arrow().schema
    assert set(out.to_arrow().column("code").to_pylist()) <= {1, 2, 7}


@pytest.mark.parametrize(
    ("method", "criterion", "more", "words"),
    [
        (sf.ClusterResample(), sf.KAnonymity(5, persons=True), {"drop_person": 1}, "has the role person"),
        (sf.ClusterResample(), K & sf.LDiversity(2, "sex"), {}, "quasi-identifier and sensitive at once"),
        (sf.ClusterResample(), K & sf.LDiversity(2, "cost"), {"drop": ["cost"]}, "is asked of them"),
        (sf.ClusterResample(), K, {"drop": ["age"]}, "something is asked of them"),
        (sf.ClusterResample(columns=("age",)), K & sf.TCloseness(0.5, "sex", "ordered"), {}, "have no order"),
        (sf.ClusterResample(response="sex"), K, {}, "response is one of the quasi-identifiers"),
        (sf.ClusterResample(weight="sex"), K, {}, "'sex' is not numeric"),
        (sf.ClusterResample(), K, {"weights": {"age": 2.0}}, "no use for weights"),
        (sf.ClusterResample(), K, {"max_level": {"age": 1}}, "no use for max_level"),
        (sf.ClusterResample(), K, {"drop_rarer_than": 3}, "no use for drop_rarer_than"),
        (sf.ClusterResample(), K, {"register": "reg"}, "no use for register"),
        (sf.ClusterResample(), sf.KAnonymity(10**9), {}, "cannot form a cluster"),
    ],
)  # fmt: skip
def test_refusals_name_what_is_wrong_and_no_cell(method, criterion, more, words) -> None:
    gone = ["town", "id"] if more.pop("drop_person", False) else ["town"]
    with pytest.raises(sf.errors.SfumatoError, match=words) as refused:
        sf.anonymize(people().drop(gone), criterion, method=method, **more)
    assert "zebra" not in str(refused.value) and not Path("reg").exists()


def test_closeness_along_a_tree_is_refused_for_clusters() -> None:
    tree = Hierarchy.of_rows([("f", "*"), ("m", "*")])
    asked = K & sf.TCloseness(0.5, "sex", "hierarchical", hierarchy=tree)
    with pytest.raises(ParameterError, match="clusters can be asked"):
        sf.anonymize(people().drop(["town"]), asked, method=sf.ClusterResample(columns=("age",)))
