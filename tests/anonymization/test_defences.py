"""Rare values, outliers, earlier releases, preparation, explanation."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from anonymization.people import BOTH, table

import sfumato as sf
from sfumato.anonymization.explanation import alternatives, explain
from sfumato.anonymization.problem import compress
from sfumato.anonymization.suppression import settle
from sfumato.errors import ParameterError


def test_rows_with_rare_values_are_left_out() -> None:
    rare = pa.concat_tables([
        table().to_arrow().select(["age", "place"]),
        pa.table({"age": ["7"] * 2, "place": pa.array(["zz"] * 2)}),
    ])  # fmt: skip
    hierarchies = {**BOTH, "place": sf.Hierarchy.of_rows([*PLACES_ROWS, ["zz", "z", "*"]])}
    made = sf.anonymize(
        sf.Table.from_arrow(rare),
        sf.KAnonymity(3),
        method=sf.OptimalRecoding(max_suppressed=1),
        hierarchies=hierarchies,
        quasi_identifiers=["age", "place"],
        drop_rarer_than=3,
    )
    assert made.internal.extra["rows"]["with_rare_values"] == 2
    assert made.data.rows() == 400 and "z" not in set(made.data.to_arrow()["place"].to_pylist())


PLACES_ROWS = [["n1", "n", "*"], ["n2", "n", "*"], ["s1", "s", "*"], ["s2", "s", "*"]]


def test_outliers_are_left_out() -> None:
    whole = table()
    inside = sum(v <= 300 for v in whole.to_arrow()["charge"].to_pylist())
    made = sf.anonymize(whole, sf.KAnonymity(2), hierarchies=BOTH, bounds={"charge": (0, 300)})
    assert made.data.rows() == inside < 400
    assert max(made.data.to_arrow()["charge"].to_pylist()) <= 300


def test_preparation_finds_what_repeats_what_is_old_and_what_must_not_leave() -> None:
    g = np.random.default_rng(2)
    race = g.integers(0, 4, 500)
    target = (race + (g.random(500) < 0.2)) % 4
    given = sf.Table.from_arrow(
        pa.table({
            "race": race, "race_full": [f"r{v}" for v in race], "noise": g.integers(0, 4, 500),
            "zip": g.integers(0, 5, 500), "age": g.integers(60, 99, 500), "outcome": target,
        })
    )  # fmt: skip
    found = sf.prepare(given, target="outcome")
    kinds = {(f.kind, f.columns) for f in found.findings}
    assert ("redundant", ("race", "race_full")) in kinds
    assert ("safe harbor", ("zip",)) in kinds and ("old age", ("age",)) in kinds
    assert found.ratios["race"] > 20 > 5 > found.ratios["noise"]
    assert "race_full" in str(found)


def test_inpatients_are_no_addresses() -> None:
    """Claims write IP for inpatient; an address of a computer is called otherwise, and is no number."""
    addresses = ["ip", "IP", "ip_address", "client_ip", "IPAddress", "src_ip_2", "ip_addr_hash", "ipv4"]
    others = ["CLM_IP_ADMSN_CD", "IP_days", "DESYNPUF_IP_stays", "chip", "ship_to"]
    cells = {name: ["a", "b"] for name in (*addresses, *others)} | {"MEDREIMB_IP": [4000.5, 0.0]}
    table = sf.Table.from_arrow(pa.table(cells))
    kinds = {name: "numeric" if name == "MEDREIMB_IP" else "nominal" for name in cells}
    schema = table.schema
    for name, kind in kinds.items():
        schema = schema.with_(name, kind=kind, type="", role="other")
    found = sf.prepare(table.with_schema(schema), columns=list(cells)).findings
    assert {c for f in found if f.kind == "safe harbor" for c in f.columns} == set(addresses)


def test_the_explanation_adds_up_and_names_the_dearest() -> None:
    problem = compress(table(60), ["age", "place"], BOTH)
    recoding = sf.OptimalRecoding(max_suppressed=0.1).search(problem, sf.KAnonymity(4))
    told = explain(settle(recoding, sf.KAnonymity(4)))
    assert sum(c.share for c in told.columns) == pytest.approx(1)
    assert np.mean([c.loss for c in told.columns]) == pytest.approx(told.loss)
    assert told.dearest.share == max(c.share for c in told.columns) and told.dearest.name in str(told)
    gains = alternatives(problem, sf.KAnonymity(4), sf.OptimalRecoding(max_suppressed=0.1))
    assert set(gains) == {"age", "place"}
    # One column less can only help the others: their levels of now are still allowed.
    assert all(g["dropped"] <= g["now"] + 1e-9 for g in gains.values())


@pytest.mark.parametrize("values", [["x", " x"], ["", None], ["x", "x ", "y"]])
def test_values_that_only_blanks_tell_apart_are_no_variety(values: list[str | None]) -> None:
    """A CSV file would be read with one value in the class, and the promise of two would be broken."""
    cells, variety = values * 4, len({(v or "").strip() for v in values})
    given = sf.Table.from_arrow(pa.table({"place": ["n1"] * len(cells), "dx": pa.array(cells, pa.string())}))
    common = {"hierarchies": BOTH, "quasi_identifiers": ["place"]}
    with pytest.raises(ParameterError, match="cannot hold"):
        sf.anonymize(given, sf.LDiversity(variety + 1, "dx"), **common)
    assert sf.anonymize(given, sf.KAnonymity(2), **common).data.rows() == len(cells)
