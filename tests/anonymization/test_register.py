"""Releases of the same people together: few persons, or telling values, in an intersection are refused."""

from __future__ import annotations

import warnings

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from anonymization.people import BOTH, table

import sfumato as sf
from sfumato.criteria import Criterion
from sfumato.errors import DataError, ParameterError, SfumatoWarning


def release(
    given: sf.Table, folder: object, asked: Criterion | None = None, drop: tuple[str, ...] = (), **levels: int
) -> sf.Release:
    """A release on exactly these levels."""
    return sf.anonymize(
        given,
        asked or sf.KAnonymity(3),
        drop=drop,
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


# -- sensitive values ------------------------------------------------------------------------------


def crossing(persons: bool = False, second: str = "") -> sf.Table:
    """By age two classes of four, by place two of four, both with two diagnoses; crossed, pairs with one."""
    dx = second or "xxyyyyxx"
    data = {"age": list("00004444"), "place": ["n1", "n1", "s1", "s1"] * 2, "dx": list(dx)}
    roles = {"age": sf.Role.QUASI_IDENTIFIER, "place": sf.Role.QUASI_IDENTIFIER}
    columns = [sf.Column(c, sf.Kind.NOMINAL, roles.get(c, sf.Role.OTHER)) for c in data]
    if persons:
        data["id"] = [f"P{i}" for i in range(8)]
        columns.append(sf.Column("id", sf.Kind.NOMINAL, sf.Role.PERSON))
    return sf.Table.from_arrow(pa.table(data), sf.Schema(tuple(columns)))


@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (sf.LDiversity(2, "dx"), "4 groups of persons without distinct l-diversity"),
        (sf.LDiversity(1.9, "dx", "entropy"), "4 groups of persons without entropy l-diversity"),
        (sf.LDiversity(2, "dx", "recursive", c=2.0), "4 groups of persons without recursive"),
        (sf.AlphaK(0.5, 2, "dx"), r"4 groups of persons without \(alpha, k\)"),
        (sf.TCloseness(0.2, "dx"), "4 groups of persons without t-closeness"),
    ],
)
def test_an_intersection_that_tells_the_diagnosis_is_refused(tmp_path, persons, asked, words) -> None:
    """Each file has k = 2 and both diagnoses in every class, and so has no intersection."""
    given, both = crossing(persons), sf.KAnonymity(2) & asked
    release(given, tmp_path / "r", both, age=0, place=2)
    with pytest.raises(ParameterError, match=words):
        release(given, tmp_path / "r", both, age=3, place=1)
    release(given, tmp_path / "r", both, age=3, place=2)  # a coarsening tells nothing new
    assert len(list((tmp_path / "r").glob("*.parquet"))) == 2


def test_without_the_check_the_two_files_would_give_the_diagnosis_away() -> None:
    """The attack itself: the values of a person's class in each file have one in common."""
    given, both = crossing(), sf.KAnonymity(2) & sf.LDiversity(2, "dx")
    files = [
        sf.anonymize(given, both, method=Fixed(levels), hierarchies=BOTH).data.to_arrow().to_pylist()
        for levels in ({"age": 0, "place": 2}, {"age": 3, "place": 1})
    ]
    first = [r["dx"] for r in files[0] if r["age"] == "0"]
    second = [r["dx"] for r in files[1] if r["place"] == "n"]
    assert set(first) == set(second) == {"x", "y"}  # neither file tells
    # Linked by any further column of the rows, the four persons of age 0 in the north are the two with x.
    assert given.to_arrow()["dx"].to_pylist()[:2] == ["x", "x"]


def test_the_weakest_demand_counts_and_a_release_that_asked_nothing_ends_the_promise(tmp_path) -> None:
    given = crossing()
    weak, strong = (sf.KAnonymity(2) & sf.AlphaK(a, 2, "dx") for a in (1.0, 0.5))
    release(given, tmp_path / "r", weak, age=0, place=2)
    release(given, tmp_path / "r", strong, age=3, place=1)  # together as much as the first had promised
    release(given, tmp_path / "s", age=0, place=2, asked=sf.KAnonymity(2))
    with pytest.warns(SfumatoWarning, match="all together make none"):
        release(given, tmp_path / "s", strong, age=3, place=1)
    # A release without the column promises nothing about it, and takes nothing away.
    release(given, tmp_path / "t", sf.KAnonymity(2), ("dx",), age=0, place=2)
    with pytest.raises(ParameterError, match="without"):
        release(given, tmp_path / "t", strong, age=3, place=1)


def test_newcomers_who_have_one_diagnosis_are_refused(tmp_path) -> None:
    """m-invariance: who is new is a class, and its values are told by the difference of the two files."""
    whole = crossing(persons=True).to_arrow()
    schema = crossing(persons=True).schema
    asked = sf.KAnonymity(2) & sf.LDiversity(2, "dx")
    release(sf.Table.from_arrow(whole.slice(0, 6), schema), tmp_path / "r", asked, age=3, place=2)
    with pytest.raises(ParameterError, match="1 groups of persons without distinct"):
        release(sf.Table.from_arrow(whole, schema), tmp_path / "r", asked, age=3, place=2)


def test_a_value_that_changes_is_compared_in_each_release(tmp_path) -> None:
    asked = sf.KAnonymity(2) & sf.LDiversity(2, "dx")
    release(crossing(True, "xyxyxyxy"), tmp_path / "r", asked, age=0, place=2)
    release(crossing(True, "yxyxyxyx"), tmp_path / "r", asked, age=3, place=1)
    with pytest.raises(ParameterError, match="without distinct"):
        release(crossing(True), tmp_path / "r", asked, age=3, place=2)


def test_registers_of_before_are_read_and_hold_no_values(tmp_path) -> None:
    given, asked = crossing(), sf.KAnonymity(2) & sf.LDiversity(2, "dx")
    release(given, tmp_path / "r", asked, age=0, place=2)
    (file,) = (tmp_path / "r").glob("*.parquet")
    held = pq.read_table(file)
    assert set(held.column_names) == {"who", "class", "code:dx", "n:dx"}
    assert held["code:dx"].combine_chunks().flatten().to_pylist() == [0, 0, 1, 1, 1, 1, 0, 0]
    old = held.select(["who", "class"]).replace_schema_metadata({"k": "2", "by": "rows"})
    pq.write_table(old, file)
    with pytest.warns(SfumatoWarning, match="make none"):
        release(given, tmp_path / "r", asked, age=3, place=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SfumatoWarning)
        release(given, tmp_path / "new", asked, age=0, place=2)
