"""Plans of linked tables in the window: what is done with them, signed, run, verified, cancelled."""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from cli_support import PATIENCE, process
from windows import Window, done, folder_of, opened

import sfumato as sf
from sfumato.errors import PlanError, SfumatoWarning
from sfumato.plan.database import DatabasePlan
from sfumato.plan.database_settings import entries
from sfumato.plan.database_signature import LinkedSignature, sign_linked
from sfumato.studio.plan_folder import PLAN
from sfumato.studio.studio import LINKED
from sfumato.studio.work import CANCELLED, DONE


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hospital")
    for name, table in sf.samples.hospital(60, seed=1).tables.items():
        sf.write(table, folder / f"{name}.csv")
    return folder


@pytest.fixture
def window(hospital: Path) -> Iterator[Window]:
    """A window on the linked tables of a folder; its plan is that of the first start at every start."""
    with opened(hospital) as found:
        found.studio.open_linked(folder=True)
        worker, folder = found.studio.worker, folder_of(found)
        assert worker is not None
        if not folder.there:
            (task,) = worker.tasks(LINKED)
            worker.cancel(task.id)
            found.studio._ended(done(found, LINKED, **task.given))
        yield found
        while folder.undoable:
            folder.undo()
        assert found.faults == []


def signed_in_file(path: Path, on: date | None = None) -> LinkedSignature:
    plan = DatabasePlan.read(path)
    return sign_linked(path, plan.document, plan.folder, "A. Miller", on=on)


def test_one_of_three_and_its_settings(window: Window) -> None:
    folder = folder_of(window)
    assert folder.document["codes"]["k"] == 5
    page = window.get("/tables").text
    assert 'id="set-k"' in page and 'aria-pressed="true"' in page.partition('id="linked-codes"')[2][:200]
    reply = window.post("/tables/settings", entry="codes", **{"set-k": "3", "set-m": "1"})
    assert reply.status == 200
    assert folder.document["codes"] == {"k": 3, "m": 1, "hierarchies": {"diagnoses.code": "icd9"}}
    assert window.post("/tables/settings", entry="codes", **{"set-k": "1"}).status == 422
    assert window.post("/tables/settings", entry="pseudonyms").status == 422  # the plan does something else
    assert window.post("/tables/entry", entry="steps").status == 422
    for name in ("synthesis", "pseudonyms", "codes"):
        assert window.post("/tables/entry", entry=name).status == 200
        assert {"codes", "pseudonyms", "synthesis"} & set(folder.document) == {name}
        assert isinstance(folder.checked, DatabasePlan)
        assert all(f'id="set-{n}"' in window.get("/tables").text for n in entries()[name])
    window.post("/plan/undo"), window.post("/plan/undo"), window.post("/plan/undo")
    assert folder.document["codes"]["hierarchies"] == {"diagnoses.code": "icd9"}


def test_every_setting_of_an_entry_is_one_of_the_plan() -> None:
    from sfumato.plan.database import _KEYS

    for name, fields in entries().items():
        assert set(fields) <= set(_KEYS[name]), name


def test_a_signature_falls_with_a_change(window: Window, tmp_path: Path) -> None:
    folder = folder_of(window)
    assert window.post("/release/sign", name=" ").status == 422
    reply = window.post("/release/sign", name="A. Miller")
    assert reply.status == 200 and "Signed by A. Miller" in reply.text
    plan = folder.checked
    assert isinstance(plan, DatabasePlan) and plan.draft == ""
    for name in (PLAN, "database.toml"):
        (tmp_path / name).write_text(folder.texts[name].replace("A. Miller", ""), encoding="utf-8")
    after = signed_in_file(tmp_path / PLAN, date.today())
    assert after.text == folder.texts[PLAN] and after.digest == plan.document["review"]["digest"]
    assert "Signed by" not in window.post("/release/limits", name="risk", limit="0,5", accepted="").text
    assert "changed after it was signed" in window.get("/release").text
    declared = tmp_path / "database.toml"
    declared.write_text(declared.read_text("utf-8") + "\n# a person looked\n", encoding="utf-8")
    assert "changed after" in DatabasePlan.read(tmp_path / PLAN).draft


def test_a_signature_by_hand_counts_and_a_plan_that_cannot_be_signed_is_refused(tmp_path: Path) -> None:
    plan = tmp_path / PLAN
    plan.write_text('[database]\ndata = "x"\n[review]\nby = "A"\non = 2026-01-01\n', encoding="utf-8")
    assert DatabasePlan.read(plan).draft == ""
    plan.write_text('review = { by = "", on = "" }\n[database]\ndata = "x"\n', encoding="utf-8")
    with pytest.raises(PlanError, match="cannot be signed by the program"):
        signed_in_file(plan)
    plan.write_text('[database]\ndata = "x"\ndeclared = "gone.toml"\n', encoding="utf-8")
    with pytest.raises(PlanError, match=r"gone.toml cannot be read"):
        signed_in_file(plan)


def test_the_screens_of_a_plan_whose_declaration_is_gone(window: Window, hospital: Path) -> None:
    folder = folder_of(window)
    window.post("/release/sign", name="A. Miller")
    declared = folder.folder / "database.toml"
    text = declared.read_text("utf-8")
    declared.unlink()
    try:
        for screen in ("release", "tables", "papers", "plan"):
            assert window.get(f"/{screen}").status in (200, 422), screen
        assert window.post("/release/sign", name="A. Miller").status == 422
    finally:
        declared.write_text(text, encoding="utf-8")


@pytest.mark.soak
def test_a_linked_plan_is_run_verified_and_the_same_by_command(window: Window) -> None:
    folder, worker = folder_of(window), window.studio.worker
    assert worker is not None
    window.post("/release/limits", name="risk", limit="0.9", accepted="a trial; the board")
    window.post("/release/sign", name="A. Miller")
    with pytest.warns(SfumatoWarning, match="left out, since they identify"):  # by the plan as it is proposed
        task = done(window, "run")
    found = task.found
    assert found["passed"] and found["draft"] == "" and found["releases"]["release"]["verified"]["ok"]
    page = window.get("/release").text
    assert 'id="outcome"' in page and 'id="verified-release"' in page and "must not leave" not in page
    assert 'id="overwrite"' in page and "without this, a run stops" in page
    papers = window.get("/papers").text
    for paper in ("report", "card", "guarantee"):
        assert f"/papers/release/{paper}" in papers and window.get(f"/papers/release/{paper}").status == 200
    again = process(
        "run", folder.folder / PLAN, "--out", folder.folder / "again", "--json", cwd=folder.folder
    )
    assert again.code == 0, again.err
    told = [
        json.loads((folder.folder / out / "public" / "guarantee.json").read_text("utf-8"))["claims"]
        for out in ("release", "again")
    ]
    assert told[0] == told[1]
    mine, theirs = (sf.DatabaseRelease.load(folder.folder / out).data for out in ("release", "again"))
    for name, table in mine.tables.items():
        plain = [c for c in table.columns if c not in mine.key_columns[name]]  # keys are drawn anew
        first, second = (sorted(map(str, d.tables[name].select(plain).to_arrow().to_pylist()))
                         for d in (mine, theirs))  # fmt: skip
        assert first == second, name
    assert tomllib.loads((folder.folder / PLAN).read_text("utf-8"))["review"]["by"] == "A. Miller"


@pytest.mark.soak
def test_a_linked_run_is_cancelled_and_leaves_nothing(window: Window) -> None:
    folder, worker = folder_of(window), window.studio.worker
    assert worker is not None
    before = {p.name for p in folder.folder.iterdir()}
    assert window.post("/release/run").status == 200
    (task,) = [t for t in worker.tasks("run") if t.open]
    end = time.monotonic() + PATIENCE
    while not (worker.tasks("run")[0].label or not worker.tasks("run")[0].open):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert window.post("/release/run").status == 422  # one at a time
    worker.cancel(task.id)
    while worker._process is not None:
        assert time.monotonic() < end
        time.sleep(0.01)
    after = worker.tasks("run")[0]
    assert after.state in (CANCELLED, DONE)
    if after.state == CANCELLED:
        assert {p.name for p in folder.folder.iterdir()} == before
        assert "Cancelled" in window.get("/release").text
