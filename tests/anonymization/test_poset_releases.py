"""Posets without levels through the one door: written, recounted, and refused where a method needs levels."""

from __future__ import annotations

import json
import tempfile
import warnings
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from cli_support import process
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import DataError, ParameterError, SfumatoWarning
from sfumato.hierarchy import (
    DateOfBirth,
    Hierarchy,
    Intervals,
    Matrix,
    PassThrough,
    PowerSet,
    Range,
    SparseCodes,
    Suppression,
    write_posets,
)

CENSUS = Matrix.of(
    {"a": ["zip", "town"], "b": ["zip", "town"], "c": ["zip", "town"], "d": ["zip"], "e": ["*"],
     "zip": ["*"], "town": ["*"], "*": []}
)  # fmt: skip
CODES = SparseCodes(Hierarchy.of_rows([("0010", "001", "*"), ("0011", "001", "*"), ("0020", "002", "*")]))
POSETS: dict[str, Any] = {
    "block": CENSUS,
    "age": Range(0, 120, whole=True),
    "weight": Range(0, 200, max_width=30),
    "sick": PowerSet(3),
    "born": DateOfBirth(date(2006, 6, 1), (5, 30, 50, 70, 90), "by day"),
    "codes": CODES,
    "sex": Suppression(),
    "level": Hierarchy.of_rows([("x1", "x", "*"), ("x2", "x", "*"), ("y1", "y", "*")]),
}
CELLS: dict[str, list[Any]] = {
    "block": ["a", "b", "c", "d", "e", "zip"],  # a cell may hold a mere category
    "age": [3, 4, 30, 31, 77],
    "weight": [50.5, 51.25, 70.0, 99.75],
    "sick": ["000", "010", "111"],
    "born": ["1975-05-01", "1975-07-01", "1975-12-01", "1990-01-01"],
    "codes": ["0010", "0011;0010", "0010;0011", "0020:2", "0011:1"],  # two are the same cell
    "sex": ["f", "m"],
    "level": ["x1", "x2", "y1"],
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[sf.Table, list[str]]:
    columns = draw(st.lists(st.sampled_from(sorted(POSETS)), min_size=1, max_size=3, unique=True))
    rows = draw(st.integers(1, 20))
    data = {
        c: draw(st.lists(st.sampled_from([*CELLS[c], None]), min_size=rows, max_size=rows)) for c in columns
    }
    kinds = {"age": pa.int64(), "weight": pa.float64()}
    arrays = {c: pa.array(cells, kinds.get(c, pa.string())) for c, cells in data.items()}
    s = pa.array(draw(st.lists(st.sampled_from("xyz"), min_size=rows, max_size=rows)))
    return sf.Table.from_arrow(pa.table({**arrays, "s": s})), columns


METHODS = [
    sf.Greedy(),
    sf.Greedy(loss=sf.Loss()),
    sf.Partition(),
    sf.Partition(rule="printed", loss=sf.Loss()),
]
ASKED = [
    sf.KAnonymity(1),
    sf.KAnonymity(3),
    sf.KAnonymity(2) & sf.LDiversity(2, "s"),
    sf.TCloseness(0.3, "s"),
    sf.KAnonymity(2, missing="matches anything"),
]


@settings(max_examples=60)
@given(tables(), st.sampled_from(METHODS), st.sampled_from(ASKED), st.sampled_from([None, 0, 1, 10]))
def test_every_release_recounted_satisfies_and_lies_above_its_rows(given_table, method, asked, most) -> None:
    table, columns = given_table
    limits = {} if most is None else {columns[0]: min(most, {"level": 2, "sex": 1}.get(columns[0], 99))}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SfumatoWarning)
            release = sf.anonymize(
                table, asked, method=method, hierarchies=POSETS, quasi_identifiers=columns, max_level=limits
            )
    except ParameterError as refused:
        assert any(w in refused.message for w in ("cannot hold", "fewer than", "nothing could be released"))
        return
    with tempfile.TemporaryDirectory() as folder:
        release.save(Path(folder) / "r")
        assert sf.verify(Path(folder) / "r").ok
        written = sf.Table.from_arrow(sf.Release.load(Path(folder) / "r").data.to_arrow())
    found = written.counts(*columns).n
    if isinstance(asked, sf.KAnonymity) and asked.missing == "own value":
        assert found.min() >= asked.k
    assert written.rows() == table.rows() - release.internal.extra["rows"]["left_out"]
    assert 0 <= release.internal.extra["loss"] <= 1


def patients(rows: int = 150) -> sf.Table:
    rng = np.random.default_rng(3)
    data = {c: [CELLS[c][i] for i in rng.integers(0, len(CELLS[c]), rows)] for c in ("age", "block", "codes")}
    return sf.Table.from_arrow(pa.table({**data, "cost": rng.gamma(2, 100, rows).round(2)}))


def test_cells_are_intervals_nodes_and_cells_of_codes(tmp_path: Path) -> None:
    table = patients()
    release = sf.anonymize(
        table, sf.KAnonymity(9), method=sf.Greedy(), hierarchies=POSETS,
        quasi_identifiers=["age", "block", "codes"],
    )  # fmt: skip
    told = release.data.to_arrow()
    assert set(told["age"].to_pylist()) <= {"3", "4", "3-4", "30", "31", "30-31", "77", "*", "3-31", "4-31",
                                            "3-30", "4-30", "30-77", "31-77", "3-77", "4-77"}  # fmt: skip
    assert set(told["block"].to_pylist()) <= {*"abcde", "zip", "town", "*"}
    assert sorted(told["cost"].to_pylist()) == sorted(table.to_arrow()["cost"].to_pylist())
    told_classes = release.internal.extra["explanation"]["columns"]
    assert {c["name"] for c in told_classes} == {"age", "block", "codes"}


def test_one_cell_written_in_two_ways_is_one_cell_in_the_file() -> None:
    """0011;0010 and 0010;0011 are the same: left as they stand they would part a class."""
    cells = ["0010;0011", "0011;0010"] * 2
    table = sf.Table.from_arrow(pa.table({"codes": cells}))
    release = sf.anonymize(
        table, sf.KAnonymity(4), method=sf.Greedy(), hierarchies=POSETS, quasi_identifiers=["codes"]
    )
    assert release.data.counts("codes").n.tolist() == [4]


def test_literal_greedy_covers_k_of_the_rows() -> None:
    table = patients(60)
    release = sf.anonymize(
        table, sf.KAnonymity(4), method=sf.Greedy(closed=False), hierarchies=POSETS,
        quasi_identifiers=["age", "block"],
    )  # fmt: skip
    (claim,) = release.guarantee
    ages, blocks = POSETS["age"], CENSUS
    labels = {blocks.label(i): i for i in range(blocks.size)}

    def interval(text: str) -> Any:
        low, _, high = text.partition("-")
        return ages.top if text == "*" else ages.node((int(low), int(high or low)))

    original = table.to_arrow().to_pylist()
    least = min(
        sum(
            ages.leq(ages.node(r["age"]), interval(a)) and blocks.leq(blocks.node(r["block"]), labels[b])
            for r in original
        )
        for a, b in {(row["age"], row["block"]) for row in release.data.to_arrow().to_pylist()}
    )
    assert claim.title.startswith("k-ambiguity") and least == claim.k >= 4


@pytest.mark.parametrize(
    "method", [sf.OptimalRecoding(), sf.LocalRecoding(), sf.Mondrian(), sf.Datafly(), sf.Beam(),
               sf.ModelGuided("cost")],
    ids=lambda m: type(m).__name__,
)  # fmt: skip
def test_methods_that_need_levels_say_so(method: object) -> None:
    with pytest.raises(ParameterError, match=r"needs hierarchies with levels, which 'age' has not"):
        sf.anonymize(
            patients(), sf.KAnonymity(3), method=method, hierarchies={"age": Range(0, 120)},
            quasi_identifiers=["age"],
        )  # fmt: skip


def test_posets_that_have_levels_are_for_all_methods() -> None:
    tree = Matrix.of({"f": ["any"], "m": ["any"], "any": []})
    born = DateOfBirth(date(2006, 6, 1), (5, 30, 50, 70, 90))  # by year: a chain
    table = sf.Table.from_arrow(pa.table({"sex": ["f", "m"] * 20, "born": CELLS["born"] * 10}))
    release = sf.anonymize(
        table, sf.KAnonymity(6), hierarchies={"sex": tree, "born": born}, quasi_identifiers=["sex", "born"]
    )
    assert release.internal.extra["search"]["optimal"]


def test_what_cannot_be_is_refused_with_all_faults() -> None:
    table = patients(20)
    given = {"age": Range(20, 40), "block": PassThrough("other"), "codes": PowerSet(2)}
    with pytest.raises(DataError) as refused:
        sf.anonymize(
            table, sf.KAnonymity(2), method=sf.Greedy(), hierarchies=given, quasi_identifiers=list(given)
        )
    message = refused.value.message
    assert "'age': 3 of 5 values are not in the poset" in message and "cannot pass through" in message
    assert "'codes': 5 of 5 values" in message and "0010" not in message
    with pytest.raises(ParameterError, match="guided by height or loss"):
        sf.anonymize(
            table, sf.KAnonymity(2), method=sf.Greedy(loss=sf.Entropy()), hierarchies=POSETS,
            quasi_identifiers=["age"],
        )  # fmt: skip
    with pytest.raises(ParameterError, match="a population is counted along levels"):
        sf.anonymize(
            table, sf.KMap(2, population=table), method=sf.Greedy(), hierarchies=POSETS,
            quasi_identifiers=["age"],
        )  # fmt: skip


def test_a_range_loses_less_than_bands_and_stays_below_its_highest_rank() -> None:
    rng = np.random.default_rng(1)
    table = sf.Table.from_arrow(pa.table({"age": rng.integers(0, 90, 300)}))

    def made(how: Any, **more: Any) -> sf.Release:
        return sf.anonymize(
            table, sf.KAnonymity(5), method=sf.Greedy(loss=sf.Loss()), hierarchies={"age": how},
            quasi_identifiers=["age"], **more,
        )  # fmt: skip

    free, bands = made(Range(0, 89, whole=True)), made(Intervals((5, 10, 30)))
    assert free.internal.extra["loss"] < bands.internal.extra["loss"]
    narrow = made(Range(0, 89, whole=True), max_level={"age": 3}).data.to_arrow()["age"].to_pylist()
    widths = [int(high or low) - int(low) for low, _, high in (t.partition("-") for t in narrow if t != "*")]
    assert max(widths) <= 3


def test_the_command_reads_a_poset_beside_level_tables(tmp_path: Path) -> None:
    sf.write(patients(), tmp_path / "patients.csv")
    folder = tmp_path / "hierarchies"
    folder.mkdir()
    (folder / "age.xml").write_text(write_posets({"Age": Range(0, 120, whole=True)}))
    (folder / "block.csv").write_text("".join(f"{b};*\n" for b in CELLS["block"]))
    asked = ["anonymize", "patients.csv", "--hierarchies", folder, "--quasi-identifiers", "age,block"]
    answer = process(*asked, "--k", 5, "--method", "greedy", "--out", "r", "--json", cwd=tmp_path)
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["search"]["method"] == "greedy"
    assert sf.Release.load(tmp_path / "r").data.counts("age", "block").n.min() >= 5
    refused = process(*asked, "--k", 5, "--out", "r2", cwd=tmp_path)
    assert refused.code != 0 and "needs hierarchies with levels" in " ".join(refused.err.split())
