"""Aggregates matched with people: every fault at once, kinds of statistics, stacked levels."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from reconstruction import worlds

import sfumato as sf
from sfumato.errors import DataError, ParameterError, SchemaError, SfumatoWarning
from sfumato.reconstruction.aggregate import Aggregates
from sfumato.reconstruction.baselines import EcologicalRegression, MoorePenrose
from sfumato.reconstruction.groups import match
from sfumato.reconstruction.ludia import LUDIA


def test_all_faults_at_once() -> None:
    people = pa.table({"g": ["a", "a", "b", "c"], "x": [1.0, 2.0, 3.0, 4.0]})
    published = pa.table({"g": ["a", "b", "z"], "y": [1.0, 2.0, 3.0], "n": [2, 5, 1]})
    made = Aggregates.of(published, "g", "y", sizes="n")
    with pytest.raises(DataError) as raised:
        match(made, sf.Table.from_arrow(people))
    for part in (
        "1 groups of 1 people have no published value",
        "1 published groups have no people",
        "another number",
    ):
        assert part in raised.value.message
    assert "'z'" not in str(raised.value)


def test_partial_aggregates_and_suppressed_groups() -> None:
    people = sf.Table.from_arrow(pa.table({"g": ["a", "a", "b", "b", "c", "d"], "x": [1.0, 2, 3, 4, 5, 6]}))
    published = pa.table({"g": ["a", "b", "c", "z"], "y": [1.0, 2.0, None, 3.0]})
    made = Aggregates.of(published, "g", "y")
    with pytest.warns(SfumatoWarning, match="1 groups were suppressed"):
        y = MoorePenrose(partial=True).fit(people, made).reconstruct().numbers()[:, 0]
    assert y.tolist() == pytest.approx([1, 1, 2, 2, 1.5, 1.5])


def test_nested_levels_add_nothing_and_say_so() -> None:
    rng = np.random.default_rng(0)
    g = rng.integers(0, 12, 300)
    table = sf.Table.from_arrow(
        pa.table(
            {
                "g": g.astype(str),
                "area": (g % 3).astype(str),
                "x": rng.normal(size=300),
                "y": rng.normal(size=300),
            }
        )
    )
    with pytest.warns(SfumatoWarning, match="'area' adds nothing: it is made of the groups of 'g'"):
        both = (
            MoorePenrose()
            .fit(table.drop(["y"]), worlds.aggregates(table, "area", "g"))
            .reconstruct()
            .numbers()
        )
    one = MoorePenrose().fit(table.drop(["y"]), worlds.aggregates(table, "g")).reconstruct().numbers()
    assert np.abs(both - one).max() < 1e-9


def test_contradicting_levels_are_met_by_least_squares() -> None:
    table, truth = worlds.people(np.random.default_rng(1), 200, 5)
    one = Aggregates.compute(table, "g", "y")
    other = Aggregates.of(pa.table({"h": ["h0", "h1", "h2"], "y": [0.0, 0.0, 0.0]}), "h", "y")
    a = worlds.matrix(truth["g"], truth["h"])
    s = np.concatenate([worlds.means(truth["g"], truth["y"]), np.zeros(3)])
    with pytest.warns(SfumatoWarning, match="contradict"):
        fitted = MoorePenrose().fit(table.drop(["y"]), one + other)
    best = np.linalg.lstsq(a, s, rcond=None)[0]
    assert np.abs(fitted.reconstruct().numbers()[:, 0] - best).max() < 1e-8
    assert fitted.residual == pytest.approx(np.abs(s - a @ best).max())


def test_sums_counts_and_means_of_logs() -> None:
    arrow = pa.table(
        {"g": ["a", "a", "b", "b"], "x": [1.0, 2, 3, 4], "dead": [0, 1, 1, 1], "cost": [1.0, 4, 2, 8]}
    )
    table = sf.Table.from_arrow(arrow)
    made = Aggregates.compute(table, "g", {"dead": "count", "cost": "mean_log"})
    assert made.levels[0].published == pytest.approx(np.array([[1.0, np.log(4) / 2], [2.0, np.log(16) / 2]]))
    fitted = MoorePenrose().fit(table.drop(["dead", "cost"]), made)
    rows = fitted.reconstruct().to_arrow()
    assert rows["dead"].to_pylist() == pytest.approx([0.5, 0.5, 1, 1])
    assert rows["log_cost"].to_pylist() == pytest.approx(np.log([2, 2, 4, 4]).tolist())
    assert fitted.reconstruct(natural=True).to_arrow()["cost"].to_pylist() == pytest.approx([2, 2, 4, 4])
    beyond = Aggregates.of(pa.table({"g": ["a", "b"], "dead": [3, 1]}), "g", {"dead": "count"})
    with pytest.raises(DataError, match="not whole numbers"):
        match(beyond, table.drop(["dead", "cost"]))


def test_aggregates_from_a_file_with_other_names_and_types(tmp_path) -> None:
    (tmp_path / "means.csv").write_text("county,year,avg\n1,2020,5.5\n2,2020,7.5\n")
    people = sf.Table.from_arrow(
        pa.table({"county": ["1", "1", "2"], "year": [2020, 2020, 2020], "x": [1.0, 2, 3]})
    )
    made = Aggregates.of(tmp_path / "means.csv", ["county", "year"], "avg", names={"avg": "charge"})
    with pytest.warns(SfumatoWarning, match="groups of one"):
        rows = MoorePenrose().fit(people, made).reconstruct().to_arrow()
    assert rows["charge"].to_pylist() == pytest.approx([5.5, 5.5, 7.5])


def published(groups, values, statistic="mean") -> Aggregates:
    return Aggregates.of(pa.table({"g": groups, "y": values}), "g", {"y": statistic})


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: LUDIA(rank=0), ParameterError, "rank is a whole number from 1"),
        (lambda: LUDIA(iterations=-1), ParameterError, "iterations is a whole number from 0"),
        (lambda: LUDIA(sharing="left"), ParameterError, "sharing is"),
        (lambda: LUDIA(start="pca"), ParameterError, "start is"),
        (lambda: LUDIA(effects_by="c"), ParameterError, "effects_by"),
        (lambda: LUDIA(missing="drop"), ParameterError, "missing is"),
        (lambda: LUDIA(columns="a"), ParameterError, "list of names"),
        (lambda: EcologicalRegression(missing="x"), ParameterError, "missing is"),
        (lambda: Aggregates((), (), ()), ParameterError, "at least one masked column"),
        (lambda: published(["a", "a"], [1.0, 2.0]), DataError, "come twice"),
        (lambda: published(["a"], ["much"]), SchemaError, "not numeric"),
        (lambda: published(["a"], [1.0], "median"), ParameterError, "one of mean"),
        (lambda: published(["a"], [np.inf]), DataError, "infinite"),
    ],
)  # fmt: skip
def test_bad_parameters_are_refused(make, kind, words) -> None:
    with pytest.raises(kind, match=words):
        make()


def test_individuals_that_hold_the_masked_column_are_refused() -> None:
    table, _ = worlds.people(np.random.default_rng(1), 50, 3)
    with pytest.raises(SchemaError, match="'y' is in the individuals' table already"):
        MoorePenrose().fit(table, worlds.aggregates(table, "g"))


def test_a_person_in_two_groups_is_refused() -> None:
    schema = sf.Schema(
        (
            sf.Column("id", sf.Kind.NOMINAL, sf.Role.PERSON),
            sf.Column("g", sf.Kind.NOMINAL),
            sf.Column("x", sf.Kind.NUMERIC),
        )
    )
    people = pa.table({"id": ["P1", "P1 ", "P2", None], "g": ["a", "b", "b", "a"], "x": [1.0, 2.0, 3.0, 4.0]})
    made = Aggregates.of(pa.table({"g": ["a", "b"], "y": [1.0, 2.0]}), "g", "y")
    with pytest.raises(DataError, match="level 'g': 1 persons are in several groups") as raised:
        match(made, sf.Table.from_arrow(people, schema))
    assert "P1" not in str(raised.value)
    plain = sf.Table.from_arrow(people, schema.with_("id", role=sf.Role.OTHER))
    assert match(made, plain).rows == 4
