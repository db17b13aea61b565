"""Who knows what, sign and release, papers: counts against the obvious way, limits, signatures, policies."""

from __future__ import annotations

import csv
import json
import shutil
import tomllib
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from urllib.parse import urlencode

import pytest
from planned import CANARY, unjudged
from windows import Window, folder_of, prepared, unchanged

from sfumato.errors import VerificationError
from sfumato.plan import Plan
from sfumato.plan.signature import sign
from sfumato.privacy import Budget, Ledger
from sfumato.privacy.signatures import SigningKey
from sfumato.studio.plan_folder import PlanFolder
from sfumato.studio.tasks import task_of
from sfumato.studio.tasks.order import Order
from sfumato.studio.tasks.release import OUT
from sfumato.studio.work import DONE, Task


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("release"))


@pytest.fixture
def window(made: Path) -> Iterator[Window]:
    with unchanged(made) as found:
        yield found


def test_counts_are_those_of_the_obvious_way(window: Window, made: Path) -> None:
    look = window.studio.look
    assert look is not None
    with made.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for columns in (
        ["sex"],
        ["sex", "age"],
        ["age", "region", "dx"],
        ["sex", "age", "region", "dx", "cost", "id"],
        [],
    ):
        sizes = Counter(tuple(row[c] for c in columns) for row in rows)
        found = look.grouping(columns)
        assert found.classes == len(sizes) and found.smallest == min(sizes.values())
        assert found.unique == sum(n for n in sizes.values() if n == 1)
        assert found.below(11) == sum(n for n in sizes.values() if n < 11)
    steps = look.telling(["sex", "age", "region", "dx"])
    assert [len(columns) for columns, _ in steps] == [1, 2, 3, 4]
    assert [n for _, n in steps] == sorted(n for _, n in steps)
    assert steps[-1][1] == look.grouping(["sex", "age", "region", "dx"]).unique


def test_a_tick_moves_uniqueness_and_the_role(window: Window) -> None:
    before = window.get("/knowledge").text
    assert window.post("/knowledge/tick", column="dx").status == 200
    after = window.get("/knowledge").text
    assert before.partition("uniqueness")[2][:900] != after.partition("uniqueness")[2][:900]
    assert folder_of(window).document["columns"]["dx"]["role"] == "quasi-identifier"
    assert "dx" not in folder_of(window).document["steps"][0].get("l", {})
    window.post("/knowledge/untick", column="dx")
    assert folder_of(window).document["columns"]["dx"]["role"] == "sensitive"
    window.post("/knowledge/untick", column="age")
    assert folder_of(window).document["columns"]["age"]["role"] == "other"
    assert window.post("/knowledge/untick", column="nobody").status == 422


def test_the_recipient_sets_the_limits_and_k(window: Window) -> None:
    assert window.post("/release/recipient", recipient="agreement").status == 200
    document = folder_of(window).document
    assert document["thresholds"]["k, the smallest class"] == 5 == document["steps"][0]["k"]
    assert document["thresholds"]["recipient"] == "agreement"
    assert window.post("/release/recipient", recipient="everybody").status == 422
    names = [n for n in document["thresholds"] if n != "recipient"]
    reply = window.raw(
        "POST",
        "/release/limits",
        f"revision={folder_of(window).revision}".encode()
        + "".join(f"&{urlencode({'name': n, 'limit': '0,5'})}" for n in names).encode()
        + b"&accepted=the+board%2C+today",
        [*window.usual, ("content-type", "application/x-www-form-urlencoded")],
    )
    assert reply.status == 303
    document = folder_of(window).document
    assert {document["thresholds"][n] for n in names} == {0.5}
    assert document["thresholds"]["accepted"] == "the board, today"
    assert window.post("/release/limits", name="risk", limit="much", accepted="").status == 422
    assert window.post("/release/limits", name="accepted", limit="1", accepted="").status == 422


def test_signing_is_what_the_command_does(window: Window, tmp_path: Path) -> None:
    folder = folder_of(window)
    refused = window.post("/release/sign", name="A. Miller")
    assert refused.status == 422 and "not reviewed" in refused.text
    assert window.post("/release/sign", name=" ", every="yes").status == 422
    for name in ("plan.toml", "schema.toml"):
        (tmp_path / name).write_text(folder.texts[name], encoding="utf-8")
    reply = window.post("/release/sign", name="A. Miller", every="yes")
    assert reply.status == 200 and "Signed by A. Miller" in reply.text
    sign(tmp_path / "plan.toml", "A. Miller", on=date.today(), all_reviewed=True)
    assert folder.texts["plan.toml"] == (tmp_path / "plan.toml").read_text("utf-8")
    assert isinstance(folder.plan, Plan) and not folder.plan.draft
    window.post("/columns/role", column="age", role="other")
    reply = window.get("/release")
    assert "Not signed" in reply.text and "changed after it was signed" in reply.text


def test_a_run_of_the_studio_is_a_run_of_the_plan(window: Window) -> None:
    """The task as its process does it; then what the screens show, and papers that can do nothing."""
    folder = folder_of(window)
    folder.edit("x", lambda texts: {**texts, "plan.toml": unjudged(texts["plan.toml"])})
    window.post("/release/sign", name="A. Miller", every="yes")
    place = folder.own / "work" / "2-b"
    place.mkdir()
    found = task_of("run")(Order("run", {}, folder.folder, place))
    release = found["releases"]["step-1"]  # type: ignore[index]
    assert found["passed"] and not found["draft"] and release["verified"]["standing"] == "whole"
    plan = folder.plan
    assert isinstance(plan, Plan)
    again = plan.run(folder.folder / OUT)
    assert again.unchanged  # sfumato run says: it is there already, made by this plan from this data
    copy = plan.run(folder.folder / "again", record=folder.folder / OUT)
    for path in (folder.folder / OUT / "public").iterdir():
        assert path.read_bytes() == (copy.out / "public" / path.name).read_bytes(), path.name
    signed_with_a_key(window, folder)
    held_against_an_earlier_one(window, folder)
    papers = window.get("/papers").text
    assert "/papers/release/card" in papers
    card = window.get("/papers/release/card")
    assert card.status == 200 and "k = " in card.text and "sandbox" in card.headers["content-security-policy"]
    assert "script-src" not in card.headers["content-security-policy"]
    for path in (
        "release/key",
        "release/..",
        "nothing/card",
        "public/card",
        "..%2f/card",
        "release/release.key",
    ):
        assert window.get(f"/papers/{path}").status == 404
    outside = folder.folder / OUT / "public" / "card.md"
    kept = outside.read_bytes()
    outside.unlink()
    outside.symlink_to(folder.folder / "schema.toml")
    assert window.get("/papers/release/card").status == 404
    outside.unlink()
    outside.write_bytes(kept)


def signed_with_a_key(window: Window, folder: PlanFolder) -> None:
    """A key of the chosen folder, or the one that was named in the terminal, and nothing else."""
    root = window.studio.chosen.root
    assert "sfumato trust key" in window.get("/release").text
    key = SigningKey.fresh()
    key.save(root / "officer.key")
    asked = {"release": "release", "key": "officer.key", "name": "A. Miller"}
    for wrong in (
        {"key": "../officer.key"},
        {"key": "visits.csv"},
        {"key": ""},
        {"release": "x"},
        {"name": " "},
    ):
        assert window.post("/release/key", **{**asked, **wrong}).status == 422
    place = folder.own / "work" / "3-c"
    place.mkdir()
    given = {"release": str(folder.folder / OUT), "key": str(root / "officer.key"), "name": "A. Miller"}
    found = task_of("sign")(Order("sign", given, folder.folder, place))
    assert found["standing"] == "authentic" and found["public_key"] == key.public
    page = window.get("/release").text
    assert f"release is signed by A. Miller, {date.today().isoformat()}" in page and key.public in page
    assert json.loads((root / "officer.key").read_text("utf-8"))["secret"] not in page
    with (folder.folder / OUT / "public" / "card.md").open("a") as file:
        file.write("more")
    with pytest.raises(VerificationError, match="was not signed"):
        task_of("sign")(Order("sign", given, folder.folder, place))
    path = folder.folder / OUT / "public" / "card.md"
    path.write_text(path.read_text("utf-8").removesuffix("more"), encoding="utf-8")
    (root / "officer.key").unlink()


def held_against_an_earlier_one(window: Window, folder: PlanFolder) -> None:
    """The release of another plan of the folder: what moved since; the plan's own is none of the earlier."""
    root = window.studio.chosen.root
    assert "No earlier release" in window.get("/release").text
    shutil.copytree(folder.folder / OUT, root / "q1-plan" / OUT)
    try:
        assert 'value="q1-plan/release"' in window.get("/release").text
        for wrong in ("visits-plan/release", "../q1-plan/release", "q1-plan"):
            assert window.post("/release/drift", earlier=wrong).status == 422
            assert window.post("/release/run", previous=wrong).status == 422
        given = {"name": "q1-plan/release", "previous": str(root / "q1-plan" / OUT)}
        place = folder.own / "work" / "4-d"
        found = task_of("drift")(Order("drift", given, folder.folder, place))
        assert found["sentences"] == ["120 rows, 120 before."] and found["unknown"] == 0
        worker = window.studio.worker
        assert worker is not None
        worker._tasks["4-d"] = Task("4-d", "drift", given, folder.revision, DONE, found=found)
        page = window.get("/release").text
        assert "120 rows, 120 before." in page and "--previous ../q1-plan/release" in page
    finally:
        shutil.rmtree(root / "q1-plan")


def test_a_register_and_a_budget_are_shown(window: Window) -> None:
    folder = folder_of(window)
    assert "keeps no register" in window.get("/release").text
    window.post("/release/register", register="keep")
    assert folder.document["register"] == {"folder": "../register"}
    assert "0 releases of these people are in the register" in window.get("/release").text
    window.post("/release/register", register="leave")
    assert "register" not in folder.document
    assert "budget-part" not in window.get("/release").text
    Ledger.open(folder.folder / "a.ledger", Budget(epsilon=2.0)).grant(epsilon=0.5, purpose="x")
    budget = '\n[budget]\nledger = "a.ledger"\nepsilon = 2.0\n'
    folder.edit("x", lambda texts: {**texts, "plan.toml": texts["plan.toml"] + budget})
    page = window.get("/release").text.partition('id="budget"')[2]
    assert ">2</td>" in page and ">0.5</td>" in page and ">1.5</td>" in page


def test_the_determination_is_filled_in_place(window: Window) -> None:
    said = 'All visits.\r\nTwo "lines" \\ and """ quotes.'
    reply = window.post("/papers/fill", data=said, purpose="research", **{"sign-name": "A. Miller"})
    assert reply.status == 200 and "All visits." in reply.text
    folder = folder_of(window)
    form = tomllib.loads(folder.texts["determination.toml"])
    assert form["data"] == said.replace("\r\n", "\n") and form["signature"]["name"] == "A. Miller"
    assert "# The purpose." in folder.texts["determination.toml"]
    assert folder.document["outputs"]["determination"] == "determination.toml"
    assert isinstance(folder.plan, Plan) and CANARY not in reply.text
    window.post("/plan/undo", screen="papers")
    assert "determination.toml" not in folder.texts and not (folder.folder / "determination.toml").exists()
