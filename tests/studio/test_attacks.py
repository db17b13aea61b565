"""The attack bench: what is said of a person is what is counted in the release, the control beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from planned import rows
from windows import Window, opened, prepared

from sfumato.studio.screens.attacks import worst
from sfumato.studio.tasks.attack import MATCHES, NUMBER, PEOPLE, SURE, attack
from sfumato.studio.tasks.order import Order
from sfumato.studio.toml_text import with_entry, without_entry
from sfumato.studio.work import DONE, Task

ROWS = 300  # fewer than 20 people set aside, of whom nothing is said, has a chance below 1e-9


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose plan was attacked in an earlier start."""
    data = prepared(tmp_path_factory.mktemp("attacks"), rows(ROWS))
    folder = data.parent / "visits-plan"
    plan = folder / "plan.toml"
    text = with_entry(plan.read_text("utf-8"), ("steps", 0, "k"), 3)
    text = without_entry(with_entry(text, ("steps", 0, "method"), "optimal"), ("steps", 0, "work_limit"))
    plan.write_text(text, "utf-8")
    place = folder / ".studio" / "work" / "9-a"
    place.mkdir(parents=True)
    found = json.loads(json.dumps(attack(Order("attack", {}, folder, place))))
    task = Task("9-a", "attack", {}, state=DONE, found=found)
    fields = {k: getattr(task, k) for k in Task.__dataclass_fields__}
    (place / "task.json").write_text(json.dumps(fields), encoding="utf-8")
    return data


@pytest.fixture
def window(made: Path) -> Iterator[Window]:
    with opened(made) as found:
        yield found
        assert found.faults == []


def people_of(window: Window) -> tuple[Task, pa.Table]:
    worker = window.studio.worker
    assert worker is not None
    task = worker.latest("attack")
    assert task is not None
    place = worker.own(task) / PEOPLE
    assert place.stat().st_mode & 0o077 == 0
    return task, pq.read_table(place)


def test_everybody_fits_k_records_and_the_control_is_not_among_them(window: Window) -> None:
    task, people = people_of(window)
    found = task.found
    assert found["people"] + found["control"] == ROWS and found["control"] >= 20
    assert people.num_rows == found["people"] and min(people.column(MATCHES).to_pylist()) >= 3
    assert found["alone"] == 0, "k = 3: nobody is found alone"
    assert found["scores"] and all(0 <= s["value"] <= 1 for s in found["scores"])
    gains = [s["gain"] for s in found["scores"]]
    assert gains == sorted(gains, reverse=True)
    assert found["limits"], "the limits of the plan are judged"


def test_the_page_shows_the_worst_and_whom_one_picks(window: Window) -> None:
    _, people = people_of(window)
    page = window.get("/attacks").text
    number = people.column(NUMBER)[worst(people)].as_py() + 1
    assert f"Row {number:,} of the file" in page and "who are not in the data" in page
    there = people.column(NUMBER)[7].as_py() + 1
    assert f"Row {there:,} of the file" in window.post("/attacks/pick", how="number", person=there).text
    absent = next(i for i in range(1, ROWS + 1) if i - 1 not in people.column(NUMBER).to_pylist())
    assert window.post("/attacks/pick", how="number", person=absent).status == 422
    assert window.post("/attacks/pick", how="random", person=1).status == 200
    assert window.get("/attacks?person=99999").status == 200


def test_the_worst_has_fewest_fitting_records_then_the_surest_guess() -> None:
    people = pa.table({NUMBER: [4, 5, 6, 7], MATCHES: [5, 2, 2, 0], SURE + "dx": [1.0, 0.1, 0.9, 1.0]})
    assert worst(people) == 2


def test_attacks_wait_in_front_of_a_map(window: Window) -> None:
    worker = window.studio.worker
    assert worker is not None
    worker.submit("look", {"data": "nothing"})
    assert window.post("/attacks/begin").status == 200
    task = worker.latest("attack")
    assert task is not None and replace(task, found={}).open
    for other in worker.tasks():
        worker.cancel(other.id)
