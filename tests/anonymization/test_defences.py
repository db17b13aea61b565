"""Rare values, outliers, earlier releases, preparation, explanation."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymization.explanation import alternatives, explain
from sfumato.anonymization.problem import compress
from sfumato.anonymization.settling import settle
from sfumato.errors import DataError, ParameterError

AGES = sf.Hierarchy.of_rows([[str(v), f"{v // 2 * 2}+", f"{v // 4 * 4}+", "*"] for v in range(8)])
PLACES = sf.Hierarchy.of_rows([["n1", "n", "*"], ["n2", "n", "*"], ["s1", "s", "*"], ["s2", "s", "*"]])
BOTH = {"age": AGES, "place": PLACES}


def table(n: int = 400, seed: int = 1, persons: bool = False, first: int = 0) -> sf.Table:
    g = np.random.default_rng(seed)
    data = {
        "age": [str(v) for v in g.integers(0, 8, n)],
        "place": g.choice(["n1", "n2", "s1", "s2"], n),
        "dx": g.choice(["a", "b", "c"], n),
        "charge": g.gamma(2, 100, n),
    }
    roles = {"age": sf.Role.QUASI_IDENTIFIER, "place": sf.Role.QUASI_IDENTIFIER}
    columns = [
        sf.Column(c, sf.Kind.NUMERIC if c == "charge" else sf.Kind.NOMINAL, roles.get(c, sf.Role.OTHER))
        for c in data
    ]
    if persons:
        data = {"id": [f"P{first + i}" for i in range(n)], **data}
        columns = [sf.Column("id", sf.Kind.NOMINAL, sf.Role.PERSON), *columns]
    return sf.Table.from_arrow(pa.table(data), sf.Schema(tuple(columns)))


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


def release(given: sf.Table, folder: object, **levels: int) -> sf.Release:
    """A release on exactly these levels: columns may go no higher, and k makes them go there."""
    return sf.anonymize(
        given,
        sf.KAnonymity(3),
        method=Fixed(levels),
        hierarchies=BOTH,
        register=folder,  # type: ignore[arg-type]
    )


class Fixed:
    """A method that takes the levels it is told."""

    def __init__(self, levels: dict[str, int]) -> None:
        self.levels = levels

    def search(self, problem, criterion):
        from sfumato.anonymization.lattice import Lattice
        from sfumato.anonymization.optimal import Judge

        lattice = Lattice(problem, sf.Loss().cost(problem), 1.0, criterion.k)
        return Judge(lattice, criterion, sf.Loss(), problem.rows).recoding(
            tuple(self.levels[c] for c in problem.columns)
        )


@pytest.mark.parametrize("persons", [False, True])
def test_a_coarsening_passes_and_a_crossing_is_refused(tmp_path, persons) -> None:
    given = table(60, persons=persons)
    release(given, tmp_path / "register", age=1, place=2)
    release(given, tmp_path / "register", age=2, place=2)  # a coarsening
    with pytest.raises(ParameterError, match=r"together with 2 earlier releases .* fewer than 3 persons"):
        release(given, tmp_path / "register", age=3, place=0)
    assert len(list((tmp_path / "register").glob("*.parquet"))) == 2


def test_people_who_come_and_go_must_not_be_few(tmp_path) -> None:
    release(table(60, persons=True), tmp_path / "r", age=3, place=2)
    with pytest.raises(ParameterError, match="fewer than 3"):  # one person is new, and alone in that
        release(table(61, persons=True), tmp_path / "r", age=3, place=2)
    release(table(70, persons=True), tmp_path / "r", age=3, place=2)


def test_without_persons_the_rows_must_be_the_same(tmp_path) -> None:
    release(table(60), tmp_path / "r", age=3, place=2)
    with pytest.raises(DataError, match="other rows"):
        release(table(61), tmp_path / "r", age=3, place=2)
    with pytest.raises(DataError, match="by persons"):
        release(table(60, persons=True), tmp_path / "r", age=3, place=2)


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
