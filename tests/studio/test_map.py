"""The map: points arrive, survive a pause, become the plan's step; forms come from declarations."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from windows import Window, opened, prepared

from sfumato.errors import ParameterError
from sfumato.methods.names import find
from sfumato.plan.map import default_steps
from sfumato.plan.step import fields_of
from sfumato.studio.map_points import TriedSetting, arrived, order_of, points_of, rest_of, state_of
from sfumato.studio.method_forms import placeable, read_settings, settings_of
from sfumato.studio.screens.risk_map import with_step
from sfumato.studio.tasks.order import Order
from sfumato.studio.tasks.risk_map import POINTS, risk_map
from sfumato.studio.texts import Words
from sfumato.studio.view import Form, PageView
from sfumato.studio.work import CANCELLED, Task


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("map"))


@pytest.fixture
def window(made: Path) -> Iterator[Window]:
    with opened(made) as found:
        yield found
        while found.studio.plan_folder is not None and found.studio.plan_folder.undoable:
            found.studio.plan_folder.undo()
        assert found.faults == []


def view_of(window: Window) -> PageView:
    return PageView(window.studio, Words("en"), "map")


def drawn(window: Window, points: Sequence[Mapping[str, object]]) -> Task:
    """A task that was paused after these points, as a pause leaves it."""
    view = view_of(window)
    given = order_of(view)
    task = Task("2-a", "map", given, state=CANCELLED)
    own = view.worker.own(task)
    own.mkdir(parents=True, exist_ok=True)
    (own / POINTS).unlink(missing_ok=True)
    risk_map(Order("map", {**given, "points": points}, view.folder.folder, own))
    view.worker._tasks[task.id] = task
    return task


def test_points_arrive_and_a_pause_keeps_them(window: Window) -> None:
    view = view_of(window)
    wanted = order_of(view)["points"]
    assert {s.method for s in default_steps()} <= {p["method"] for p in wanted}
    assert "No point is there yet" in window.get("/map").text
    before = arrived(view)
    first = {"method": "optimal", "settings": {"k": 3}}
    task = drawn(window, [first, {"method": "optimal", "settings": {"k": 10_000}}])
    assert arrived(view) != before
    good, bad = points_of(view)
    assert good.front and good.settings == {"k": 3} and 0 <= good.risk <= 1 and not good.trouble
    assert bad.trouble and not bad.front
    left = rest_of(view.worker, task)["points"]
    assert first not in left and len(left) == len(wanted) - 1
    assert order_of(view)["key"] == task.given["key"], "people set aside stay the same"
    with (view.worker.own(task) / POINTS).open("a") as file:
        file.write('{"method": "half')  # a kill in the middle of a line
    assert len(points_of(view)) == 2
    page = window.get("/map").text
    assert f"/map?point={good.id}" in page and "Go on" in page


def test_a_point_becomes_the_plans_step_and_undo_takes_it_back(window: Window) -> None:
    task = drawn(window, [{"method": "optimal", "settings": {"k": 3}}])
    folder = window.studio.plan_folder
    assert folder is not None
    before, point = folder.texts, points_of(view_of(window))[0]
    reply = window.post("/map/take", point=point.id)
    assert reply.status == 200
    step = tomllib.loads(folder.texts["plan.toml"])["steps"][0]
    assert (step["method"], step["k"]) == ("optimal", 3) and set(step) <= {"method", "k", "name", "of"}
    assert [p.id for p in points_of(view_of(window))] == [point.id], "another step is no other map"
    folder.undo()
    assert folder.texts == before
    window.post("/columns/role", column="age", role="other")
    assert points_of(view_of(window)) == [], "points of other columns do not compare"
    assert task.given["state"] != state_of(view_of(window))
    assert window.post("/map/take", point=point.id).status == 422
    assert window.post("/map/take", point="nothing").status == 422


def test_the_plan_keeps_name_and_comments_of_its_step() -> None:
    text = '[[steps]]\nname = "a" # mine\nmethod = "local"\nk = 5\neffort = "fast"\n\n[output]\nfile = "x"\n'
    after = with_step(text, "optimal", {"k": 7, "max_suppressed": 0.1})
    document = tomllib.loads(after)
    assert document["steps"] == [{"name": "a", "method": "optimal", "k": 7, "max_suppressed": 0.1}]
    assert "# mine" in after and document["output"] == {"file": "x"}


def form(**fields: object) -> Form:
    return Form({f"set-{k}": tuple(v) if isinstance(v, list) else (str(v),) for k, v in fields.items()})


def test_forms_come_from_declarations(window: Window) -> None:
    known = placeable()
    assert len(known) >= 15 and "suppress" not in known and "linked" not in known
    for method in known:
        few, everything = settings_of(method, everything=False), settings_of(method, everything=True)
        assert len(few) <= 3
        open_ = {f.name for f in fields_of(find(method)).values() if not f.parameter.python_only}
        assert {f.name for f in everything} == open_
        assert {f.name for f in everything if f.required} <= {f.name for f in few} or len(few) == 3
    page = window.get("/map?add=optimal&all=1")
    for one in settings_of("optimal", everything=True):
        assert f'name="set-{one.name}"' in page.text


def test_what_a_form_sends_is_read_as_the_plan_writes_it() -> None:
    found = read_settings(
        form(k="7", max_suppressed="0.05", l="{dx = 2}", quasi_identifiers=["age", "sex"], effort="fast"),
        "local",
    )
    assert found == {
        "k": 7, "max_suppressed": 0.05, "l": {"dx": 2}, "quasi_identifiers": ["age", "sex"], "effort": "fast"
    }  # fmt: skip
    for wrong in ({"k": "1"}, {"k": "x"}, {"effort": "much"}, {"l": "dx"}, {"max_suppressed": "inf"}):
        with pytest.raises(ParameterError):
            read_settings(form(**wrong), "local")


def test_a_setting_of_ones_own_waits_in_the_background(window: Window) -> None:
    assert window.post("/map/add", method="optimal", **{"set-k": "1"}).status == 422
    assert window.post("/map/add", method="linked").status == 422
    worker = window.studio.worker
    assert worker is not None
    worker.submit("look", {"data": "nothing"})  # something else is being done
    reply = window.post("/map/add", method="optimal", **{"set-k": "4"})
    assert reply.status == 200
    task = worker.latest("map")
    assert task is not None
    assert {"method": "optimal", "settings": {"k": 4}} in task.given["points"]
    window.post("/map/pause")
    assert not any(t.open for t in worker.tasks("map"))
    for other in worker.tasks():
        worker.cancel(other.id)


def test_a_point_says_its_label() -> None:
    assert TriedSetting("a", "local", {"k": 5}).label == "local (k = 5)"
