"""Tables and linked data: entries of the plan by a form, cells with their reasons, databases, links."""

from __future__ import annotations

import sqlite3
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from planned import CANARY
from windows import Window, done, folder_of, opened, prepared, unchanged

import sfumato as sf
from sfumato.plan import Plan
from sfumato.studio.plan_folder import LinkedPlan
from sfumato.studio.studio import Studio
from sfumato.studio.tasks.look import look
from sfumato.studio.tasks.order import Order


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("tables"))


@pytest.fixture
def window(made: Path) -> Iterator[Window]:
    with unchanged(made) as found:
        yield found


def test_a_table_is_added_worked_out_and_taken_away(window: Window) -> None:
    folder = folder_of(window)
    before = folder.texts
    assert window.post("/tables/add", method="suppress").status == 422  # a table needs a column
    assert window.post("/tables/add", method="suppress", axes="nobody").status == 422
    assert window.post("/tables/add", method="local", axes="sex").status == 422
    assert window.post("/tables/add", method="suppress", axes="sex", **{"set-minimum": "1"}).status == 422
    assert folder.texts == before
    fields = {"set-minimum": "5", "set-effort": "fast", "set-by": "dx,sex; sex"}
    reply = window.post("/tables/add", method="suppress", **fields)
    assert reply.status == 200 and "could count in these" in reply.text
    entry = {"method": "suppress", "minimum": 5, "effort": "fast", "by": ["dx,sex", "sex"]}
    assert folder.document["tables"] == [entry]
    assert not isinstance(folder.plan, Plan)  # rows beside what withholds: said on top, with its line
    assert window.post("/tables/work").status == 422
    window.post("/tables/instead")
    assert isinstance(folder.plan, Plan) and "steps" not in folder.document
    found = done(window, "tables").found["tables"][0]
    assert found["met"] and found["reasons"].get("few people", 0) > 0
    page = window.get("/tables").text
    assert 'class="n few"' in page and "Too few people" in page and "<sup>a</sup>" in page
    assert window.post("/tables/remove", number=7).status == 422
    window.post("/tables/remove", number=0)
    assert "tables" not in folder.document
    for _ in range(3):
        folder.undo()
    assert folder.texts == before


def test_cells_and_reasons_are_those_of_the_run(window: Window, tmp_path: Path) -> None:
    """Every cell that the page marks is empty in the release, and no other; each says why in words."""
    from sfumato.studio.cell_picture import REASONS, PublishedCells

    folder = folder_of(window)
    window.post("/tables/add", method="suppress", axes="sex", **{"set-effort": "fast"})
    window.post("/tables/remove", number=0)
    window.post("/tables/add", method="suppress", **{"set-effort": "fast", "set-by": "cost,sex"})
    window.post("/tables/instead")
    task = done(window, "tables")
    worker = window.studio.worker
    assert worker is not None
    cells = PublishedCells.read(worker.own(task), 0)
    assert isinstance(folder.plan, Plan)
    release = folder.plan.run(tmp_path / "out").load()
    assert release.internal is not None
    rows = release.internal.tables["cells"].to_pylist()
    run = {(r["cost"], r["sex"]): (r["people"], r["why"]) for r in rows}
    assert run == {cells.key(i): (cells.people[i], cells.why[i]) for i in range(len(cells.why))}
    seen = dict.fromkeys(("few people", "hides another cell", ""), False)
    for cell, why in enumerate(cells.why):
        page = window.get(f"/tables?table=0&cell={cell}").text
        answer = page.partition('id="why"')[2].partition("</section>")[0]
        expected = {"few": "(primary)", "hides": "(secondary)", "": "This cell is shown."}
        assert expected[REASONS.get(why, "")] in answer, (cell, why)
        seen[why] = True
    assert all(seen.values())
    for query in ("table=0&cell=99999", "table=9&cell=0", "table=x&cell=-1", "cell=1"):
        assert window.get(f"/tables?{query}").status == 200


@pytest.mark.parametrize("method", ["round", "keys"])
def test_other_methods_show_what_a_reader_sees(window: Window, method: str) -> None:
    window.post("/tables/add", method=method, axes="sex")
    window.post("/tables/instead")
    found = done(window, "tables").found["tables"][0]
    assert found["cells"] == 3 and not found["reasons"]
    page = window.get("/tables").text
    assert 'class="cells"' in page and "<sup>" not in page.partition('class="cells"')[2]


def tables_in(path: Path) -> None:
    """A database in a file: patients, their stays, and a table whose name is a query."""
    hospital = sf.samples.hospital(30, seed=1)
    connection: Any = sqlite3.connect(path) if path.suffix == ".db" else duckdb.connect(path)
    for name, table in hospital.tables.items():
        rows = table.to_arrow()
        connection.execute(f"CREATE TABLE {name} ({', '.join(f'{n} TEXT' for n in rows.column_names)})")
        places = ", ".join("?" * rows.num_columns)
        columns = [[str(v) if v is not None else None for v in c.to_pylist()] for c in rows.columns]
        connection.executemany(f"INSERT INTO {name} VALUES ({places})", list(zip(*columns, strict=True)))
    connection.execute('CREATE TABLE "select 1" (a TEXT)')
    connection.commit()
    connection.close()


@pytest.mark.parametrize("suffix", ["duckdb", pytest.param("db", marks=pytest.mark.soak)])
def test_a_table_of_a_database_is_opened(tmp_path: Path, suffix: str) -> None:
    file = f"clinic #1.{suffix}"
    tables_in(tmp_path / file)
    with opened(tmp_path) as window:
        assert file in window.get("/open").text
        assert window.post("/open/file", file=file).headers["location"] == "/open"
        page = window.get("/open").text
        assert "patients" in page and "stays" in page and "select 1" not in page
        assert window.post("/open/table", table="select 1").status == 422
        assert window.post("/open/table", table="SELECT * FROM patients").status == 422
        assert window.post("/open/table", table="patients").status == 303
        studio, worker = window.studio, window.studio.worker
        assert worker is not None and studio.plan_folder is not None
        task = worker.latest("look")
        assert task is not None and task.given["options"] == {"table": "patients"}
        place = tmp_path / "place"
        place.mkdir()
        found = look(Order("look", task.given, studio.plan_folder.folder, place))
        assert found["rows"] == 30
        said = tomllib.loads((place / "plan.toml").read_text("utf-8"))["input"]
        assert said["data"].endswith(f"/clinic%20%231.{suffix}") and said["table"] == "patients"
        assert window.faults == []


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("postgresql://evil.example/clinic", "on another machine"),
        ("postgresql://localhost/clinic?host=evil.example", "on another machine"),
        ("postgresql://me:secret77@localhost/clinic", "password"),
        ("postgresql://localhost/clinic?password=secret77", "password"),
        ("sqlite:////etc/passwd", "among the files"),
        ("duckdb:///../outside.duckdb", "among the files"),
        ("https://evil.example/a.csv", "not the address"),
        ("s3://bucket/a.csv", "not the address"),
        ("file:///etc/passwd", "not the address"),
        ("/etc/passwd", "not the address"),
    ],
)
def test_addresses_that_are_not_taken(
    tmp_path: Path, address: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SFUMATO_CONNECT", raising=False)
    with opened(tmp_path) as window:
        reply = window.post("/open/database", address=address)
        assert reply.status == 422 and words in reply.text and "secret77" not in reply.text
        assert window.faults == [] and not list(tmp_path.iterdir())


def test_a_plan_from_elsewhere_connects_to_no_machine(tmp_path: Path, made: Path) -> None:
    """A plan may come from anybody: opening it must not send what its address names."""
    order = Order("look", {"data": "postgresql://evil.example/x?password=${HOME}"}, tmp_path, tmp_path)
    with pytest.raises(sf.DataError, match="on another machine"):
        look(order)


def test_a_file_that_changes_while_it_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "a.csv"
    data.write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    from sfumato.studio.tasks import look as module

    counted = module.one_way

    def slowly(table: sf.Table) -> object:
        data.write_text("a,b\n1,2\n3,4\n5,6\n", encoding="utf-8")
        return counted(table)

    monkeypatch.setattr(module, "one_way", slowly)
    with pytest.raises(sf.DataError, match="was changed while"):
        look(Order("look", {"data": str(data)}, tmp_path, tmp_path))


def test_linked_tables_are_opened_drawn_and_described(tmp_path: Path) -> None:
    for name, table in sf.samples.hospital(30, seed=1).tables.items():
        (tmp_path / f"{name}.csv").write_text(
            table.to_arrow().to_pandas().to_csv(index=False), encoding="utf-8"
        )
    with opened(tmp_path) as window:
        assert "Open all as linked tables" in window.get("/open").text
        assert window.post("/open/folder").status == 200
        studio, worker = window.studio, window.studio.worker
        assert worker is not None and studio.plan_folder is not None
        task = worker.latest("linked")
        assert task is not None and task.given["propose"]
        worker.cancel(task.id)
        finished = done(window, "linked", **task.given)
        studio._ended(finished)
        assert set(studio.plan_folder.texts) == {"plan.toml", "database.toml"}
        assert studio.plan_folder.linked and isinstance(studio.plan_folder.plan, LinkedPlan)
        page = window.get("/tables").text
        assert "<svg" in page and "30 persons" in page and 'class="linked"' in page
        assert "of the person of its row in stays (stay_id)" in page
        assert "nothing dangles" in page and "faults" not in page.partition("<main")[2][:400]
        for screen in ("columns", "knowledge", "map", "comparison", "attacks"):
            reply = window.get(f"/{screen}")
            assert reply.status == 200 and "this screen is for one table" in reply.text, screen
        assert window.get("/plan").status == 200 and window.get("/open").status == 200
        assert window.faults == []
        window.studio.leave()
    again = Studio.start(tmp_path / "linked-plan" / "plan.toml", warm=False)
    try:
        assert again.plan_folder is not None and again.plan_folder.linked
        assert again.data == str(tmp_path.resolve())
        assert again.plan_folder.document["database"]["data"] == ".."  # whoever gets the folder runs it there
    finally:
        again.leave()


def test_no_cell_is_in_what_is_said_of_links(tmp_path: Path) -> None:
    from sfumato.studio.tasks.links import described

    texts = {"people": f"id,name\n1,{CANARY}\n2,b\n", "stays": "stay,id,note\n1,1,x\n2,9,y\n"}
    for name, text in texts.items():
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    found = described(sf.scan_database(str(tmp_path), links=[("stays.id", "people.id")], check=False))
    assert CANARY not in str(found) and found["differences"] and found["persons"] is None
