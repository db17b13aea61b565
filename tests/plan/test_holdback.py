"""People who are held back: who, by what, and that no step ever sees them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from declared import PUBLIC
from planned import PLAN, SCHEMA, public_bytes, ran, rows, with_steps, written

import sfumato as sf
from sfumato.errors import DataError, PlanError, SfumatoWarning
from sfumato.plan import Plan, judgement, run
from sfumato.plan.holdback import split, suggested
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.table import Table

# No row is suppressed: who is held back is drawn anew in every run, and with them who would be.
HELD = PLAN.replace("skip = true", 'effort = "quick"\nhold_back = 0.2').replace(
    "max_suppressed = 0.2", "max_suppressed = 0.0"
)


def holding(wanted: str) -> str:
    """The plan with another number of people."""
    return HELD.replace("hold_back = 0.2", f"hold_back = {wanted}")


def visits(people: int, each: int = 3) -> Table:
    """Some visits of each person, in an order that mixes them; a few of nobody known."""
    number = people * each
    persons = [None if i % 50 == 7 else f"P{i * 7 % people:04d}" for i in range(number)]
    data = pa.table({"who": pa.array(persons, pa.string()), "visit": list(range(number))})
    return Table.from_arrow(
        data,
        Schema(
            (
                Column("who", Kind.NOMINAL, role=Role.PERSON, type="text"),
                Column("visit", Kind.NUMERIC, type="integer"),
            )
        ),
    )


def of(table: Table | None, column: str) -> list[Any]:
    assert table is not None
    return table.to_arrow()[column].to_pylist()


# -- who -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", [0.3, 60])
def test_all_rows_of_a_person_are_on_one_side(wanted: float) -> None:
    table = visits(200)
    found = split(table, wanted, Key.fresh())
    kept, held = of(found.kept, "visit"), of(found.held, "visit")
    assert sorted([*kept, *held]) == list(range(600)) and held and kept
    assert not set(of(found.kept, "who")) & set(of(found.held, "who")) - {None}
    assert found.held is not None and found.held.rows() == len(held) and found.kept.rows() == len(kept)
    held_people, people = (
        len(set(names) - {None}) + names.count(None) for names in (of(found.held, "who"), of(table, "who"))
    )
    assert found.people == (held_people, people) and found.unit == "person"
    assert found.held.select(["visit"]).to_arrow()["visit"].to_pylist() == held  # without the person column


def test_the_key_draws_and_nothing_else() -> None:
    key = Key.fresh()
    table = visits(300)
    first, again, other = (split(table, 0.5, k) for k in (key, key, Key.fresh()))
    assert of(first.held, "visit") == of(again.held, "visit") != of(other.held, "visit")
    turned = Table.from_arrow(table.to_arrow().take(list(range(table.rows()))[::-1]), table.schema)
    named = {w for w in of(split(turned, 0.5, key).held, "who") if w}
    assert named == {w for w in of(first.held, "who") if w}  # whatever the order of the rows


def test_one_person_more_moves_nobody_else() -> None:
    """What an epsilon needs: of two tables that differ in a person, the kept rows differ in that person."""
    table, key = visits(300), Key.fresh()
    rows_ = table.to_arrow()
    fewer = rows_.filter(pa.compute.not_equal(rows_["who"], "P0005").fill_null(True))
    known = rows_.filter(rows_["who"].is_valid())
    known_fewer = fewer.filter(fewer["who"].is_valid())
    more = set(of(split(Table.from_arrow(known, table.schema), 0.4, key).kept, "visit"))
    less = set(of(split(Table.from_arrow(known_fewer, table.schema), 0.4, key).kept, "visit"))
    assert less <= more and more - less <= {v["visit"] for v in known.to_pylist() if v["who"] == "P0005"}


def test_rows_without_a_person_are_drawn_one_by_one() -> None:
    """A share of 0.3 of 20,000 rows; the interval is that of a false alarm in a million."""
    table = visits(10_000, 2).drop(["who"])
    found = split(table, 0.3, Key.fresh())
    assert found.unit == "row" and abs(found.people[0] - 6_000) < 4.9 * (20_000 * 0.3 * 0.7) ** 0.5
    assert sorted([*of(found.kept, "visit"), *of(found.held, "visit")]) == list(range(20_000))


def test_levels_of_those_held_back_are_not_told_to_the_steps() -> None:
    table = visits(100).drop(["who"])
    data = table.to_arrow().append_column("place", pa.array([f"v{i}" for i in range(300)]))
    column = Column("place", Kind.NOMINAL, type="text", levels=tuple(f"v{i}" for i in range(300)))
    guessed = Table.from_arrow(data, Schema((*table.schema, column)))
    found = split(guessed, 0.5, Key.fresh())
    levels = found.steps.schema["place"].levels
    assert set(levels or ()) == set(of(found.kept, "place")) and len(levels or ()) < 300
    assert found.kept.schema["place"].levels == column.levels  # the assessment reads as the file is
    sure = guessed.with_schema(guessed.schema.with_("place", provenance=PUBLIC))
    assert split(sure, 0.5, Key.fresh()).steps.schema["place"].levels == column.levels  # public, not read off


def test_engines_with_and_without_a_person(tmp_path: Path) -> None:
    import duckdb

    table = visits(100)
    sf.write(table, tmp_path / "visits.parquet")
    with duckdb.connect() as connection:
        frame = connection.sql(f"FROM '{tmp_path / 'visits.parquet'}'")
        there = sf.scan(frame, table.schema)
        for one in (there, there.drop(["who"])):
            found = split(one, 0.4, Key.fresh())
            assert sorted([*of(found.kept, "visit"), *of(found.held, "visit")]) == list(range(300))


def test_too_many_and_nobody() -> None:
    table = visits(50)
    with pytest.raises(DataError, match="nothing would be left"):
        split(table, 1_000, Key.fresh())
    with pytest.raises(DataError, match="nobody was drawn"):
        split(table, 1e-12, Key.fresh())
    with pytest.raises(DataError, match="everybody was drawn"):
        split(table, 1 - 1e-12, Key.fresh())


def test_what_init_writes() -> None:
    assert [suggested(n) for n in (10, 1_999, 2_000, 100_000, 5_000_000)] == [None, None, 0.1, 0.1, 10_000]


# -- in a run --------------------------------------------------------------------------------------


class Seen:
    """What steps and assessments were given."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.made_of: list[set[str]] = []
        self.judged: list[tuple[set[str], set[str]]] = []
        genuine_work, genuine_judged = run.work, judgement.judged

        def work(bench: Any, step: Any, table: Table) -> None:
            self.made_of.append(set(of(table, "id")))
            genuine_work(bench, step, table)

        def judged(bench: Any, found: Any, prepared: Any, earlier: Any, known: Any) -> Any:
            self.judged.append((set(of(found.kept, "id")), set(of(found.held, "id"))))
            return genuine_judged(bench, found, prepared, earlier, known)

        patch.setattr(run, "work", work)
        patch.setattr(run, "judged", judged)


def test_nobody_held_back_is_input_and_all_are_the_control(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = Seen(monkeypatch)
    found = ran(tmp_path, HELD)
    ((kept, held),) = seen.judged
    assert seen.made_of == [kept] and not kept & held and len(kept | held) == 120
    assert found.split.people == (len(held), 120) and found.load().data.rows() == len(kept)
    assert found.assessments["step-1"].rows[0] == len(kept)
    assert any(s.control is not None for s in found.assessments["step-1"].of("attack"))
    report = (found.out / "internal" / "report.html").read_text(encoding="utf-8")
    assert f"{len(held)} of 120 rows were held back" in report and "made of the others" in report
    record = json.loads((found.out / "internal" / "run.json").read_text(encoding="utf-8"))
    assert "held back" in record["held_back"]
    public = " ".join(p.read_text(encoding="utf-8") for p in (found.out / "public").glob("*.*[dnl]"))
    assert "held back" not in public and not (found.out / "public" / "held-back.key").exists()


def test_the_same_people_are_held_back_when_rows_are_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A control with people who are in the release would make every attack look harmless."""
    seen = Seen(monkeypatch)
    first = ran(tmp_path, HELD)
    restamped = ran(tmp_path, HELD.replace("Visits of", "All visits of"))
    again = Plan.read(tmp_path / "plan.toml").run(tmp_path / "again", record=first.out)
    assert restamped.resumed and again.resumed and public_bytes(again.out) == public_bytes(first.out)
    assert len(seen.made_of) == 1 and len({(frozenset(k), frozenset(h)) for k, h in seen.judged}) == 1
    assert len(seen.judged) == 3 and sf.verify(again.out).ok
    (first.out / "internal" / "held-back.key").unlink()
    with pytest.raises(DataError, match=r"held-back\.key"):
        ran(tmp_path, HELD.replace("Visits of", "Some visits of"))


def test_a_stopped_run_holds_the_same_people_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Seen(monkeypatch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "written", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ran(tmp_path, HELD)
    found = ran(tmp_path, HELD)
    assert found.resumed == ("step-1",) and seen.judged[0] == seen.judged[1] and len(seen.made_of) == 1


def test_another_share_is_another_release(tmp_path: Path) -> None:
    ran(tmp_path, HELD)
    with pytest.raises(sf.OutputError, match="another plan"):
        ran(tmp_path, holding("0.3"))


def test_preparation_sees_the_kept_rows_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    genuine = run.prepare

    def prepare(plan: Any, table: Table) -> Any:
        given.append(table.rows())
        return genuine(plan, table)

    monkeypatch.setattr(run, "prepare", prepare)
    found = ran(tmp_path, HELD + '\n[prepare]\ntarget = "dx"\n')
    assert given == [120 - found.split.people[0]]


def test_an_epsilon_with_people_held_back(tmp_path: Path) -> None:
    plan = with_steps('method = "marginals"\nrows = 60\nepsilon = 1.0').replace(
        "skip = true", 'effort = "quick"\nhold_back = 0.25'
    )
    plan += '\n[budget]\nledger = "study.ledger"\nepsilon = 1.0\n'
    found = ran(tmp_path, plan)
    assert [c.epsilon for c in found.load().guarantee if c.differential] == [1.0]
    assert ran(tmp_path, plan).unchanged
    with pytest.raises(PlanError, match="must be a share: the epsilon of 'step-1'"):
        ran(tmp_path, plan.replace("0.25", "30"), out="other")


@pytest.mark.parametrize("wanted", ["0", "1", "1.0", "-0.1", "2.5", "true", '"many"', "nan", "inf"])
def test_shares_that_are_none(tmp_path: Path, wanted: str) -> None:
    with pytest.raises(PlanError, match="hold_back"):
        ran(tmp_path, holding(wanted))


def test_more_people_than_there_are(tmp_path: Path) -> None:
    for wanted in ("120", "9_999_999"):
        with pytest.raises(DataError, match="nothing would be left"):
            ran(tmp_path, holding(wanted))
    assert not [p for p in tmp_path.iterdir() if "release" in p.name]
    assert ran(tmp_path, holding("40")).split.people[0] > 10


def test_what_does_not_go_with_it(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="skips it"):
        ran(tmp_path, PLAN.replace("skip = true", "skip = true\nhold_back = 0.2"))
    (tmp_path / "others.csv").write_text(rows(50, seed=9))
    with pytest.raises(PlanError, match="two controls"):
        ran(tmp_path, HELD.replace("hold_back", 'control = "others.csv"\nhold_back'))
    private = with_steps('method = "private"\nepsilon = 1.0\ndeclared_rows = 120\ncolumns = ["sex"]')
    with pytest.raises(PlanError, match="declared_rows is the number of all rows"):
        ran(tmp_path, private.replace("skip = true", 'effort = "quick"\nhold_back = 0.2'))


@pytest.mark.soak
def test_on_spark_nobody_is_held_back(spark: Any, tmp_path: Path) -> None:
    path = written(tmp_path, HELD, **{"schema.toml": SCHEMA})
    frame = spark.createDataFrame(sf.scan(tmp_path / "data.csv", tmp_path / "schema.toml").to_arrow())
    with pytest.warns(SfumatoWarning, match="nobody is held back on Spark"):
        run = Plan.read(path).run(tmp_path / "release", input=frame)
    assert run.split is not None and run.split.held is None and run.releases
