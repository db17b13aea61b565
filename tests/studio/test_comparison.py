"""Before and after: the rows of a preview are the rows they came from, and a cell can be asked why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from windows import Window, opened, prepared

from sfumato.studio.tasks.order import Order
from sfumato.studio.tasks.preview import AFTER, ALIKE, BEFORE, ROWS, SIZE, preview
from sfumato.studio.tasks.without import without
from sfumato.studio.work import DONE, Task


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("comparison"))


@pytest.fixture
def window(made: Path) -> Iterator[Window]:
    with opened(made) as found:
        yield found
        assert found.faults == []


def previewed(window: Window, method: str, **settings: object) -> Task:
    folder, worker = window.studio.plan_folder, window.studio.worker
    assert folder is not None and worker is not None
    given = {"method": method, "settings": settings}
    task = Task(f"3-{method}", "preview", given, folder.revision, state=DONE)
    own = worker.own(task)
    own.mkdir(parents=True, exist_ok=True)
    task = replace(task, found=json.loads(json.dumps(preview(Order("preview", given, folder.folder, own)))))
    worker._tasks[task.id] = task
    return task


def test_rows_are_those_they_came_from_and_classes_are_counted(window: Window) -> None:
    task = previewed(window, "optimal", k=5)
    assert window.studio.worker is not None
    place = window.studio.worker.own(task) / ROWS
    rows = pq.read_table(place)
    assert place.stat().st_mode & 0o077 == 0
    assert rows.num_rows == 120 and task.found["follows"]
    for name in ("dx", "cost"):  # columns that pass as they are say whether rows were matched
        assert rows.column(BEFORE + name).equals(rows.column(AFTER + name))
    kept = rows.filter(pc.greater(rows.column(SIZE), 0))
    known = list(task.found["known"])
    counted = kept.group_by([AFTER + n for n in known]).aggregate([(SIZE, "count"), (SIZE, "min")])
    assert counted.column(f"{SIZE}_count").equals(counted.column(f"{SIZE}_min")), "all rows are shown here"
    assert pc.min(kept.column(SIZE)).as_py() >= 5
    for name in known:
        both = kept.group_by([*(AFTER + n for n in known), BEFORE + name]).aggregate(
            [(ALIKE + name, "count"), (ALIKE + name, "max")]
        )
        assert both.column(f"{ALIKE}{name}_count").equals(both.column(f"{ALIKE}{name}_max"))


def test_a_cell_is_asked_why_without_a_value_in_the_address(window: Window) -> None:
    previewed(window, "optimal", k=5)
    page = window.get("/comparison").text
    assert page.count("<tbody><tr><th") >= 20 and "cell-0-" in page
    cell = page.split('href="/comparison?page=0&amp;row=')[1].split("#")[0].replace("&amp;", "&")
    answer = window.get(f"/comparison?page=0&row={cell}").text
    assert 'id="why"' in answer and "this row&#x27;s class" in answer
    for odd in ("page=99999999", "page=-1", "row=x&column=9", "row=5000&column=5000"):
        assert window.get(f"/comparison?{odd}").status == 200


def test_invented_rows_are_not_matched(window: Window) -> None:
    task = previewed(window, "imputation", rows=100)
    assert not task.found["follows"]
    page = window.get("/comparison").text
    assert "nothing to do with one another" in page and "Why?" not in page


def test_without_a_column_the_others_keep_more(window: Window, tmp_path: Path) -> None:
    folder = window.studio.plan_folder
    assert folder is not None
    found = without(Order("without", {}, folder.folder, tmp_path))
    assert isinstance(found["without"], list) and found["losses"]
    for one in found["without"]:
        assert one["instead"] > one["now"]


def test_a_preview_goes_before_a_map_that_is_being_drawn(window: Window) -> None:
    worker = window.studio.worker
    assert worker is not None
    worker.submit("look", {"data": "nothing"})
    window.post("/map/begin")
    window.post("/comparison/make")
    waiting = [t.kind for t in reversed(worker.tasks()) if t.open and t.kind != "look"]
    assert waiting == ["preview", "map"]
    for task in worker.tasks():
        worker.cancel(task.id)
