"""The document: edits, undo and redo, other people's changes, a second studio, and what a kill leaves."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sfumato.errors import DataError, ParameterError
from sfumato.studio.plan_folder import OWN, PLAN, PlanFolder, StaleEdit, named

A, B, C = (
    'sfumato_plan = 2\ntitle = "a"\n',
    'sfumato_plan = 2\ntitle = "b"\n',
    'sfumato_plan = 2\ntitle = "c"\n',
)


def begun(folder: Path) -> PlanFolder:
    (folder / PLAN).write_text(A, encoding="utf-8")
    return PlanFolder(folder)


def to(document: PlanFolder, text: str, **more: str) -> int:
    return document.edit(
        named("edit.role", column="x", role=text[-3:]), lambda before: {**before, PLAN: text, **more}
    )


def test_undo_and_redo_survive_a_new_start(tmp_path: Path) -> None:
    with begun(tmp_path) as document:
        assert not document.undoable
        to(document, B)
        to(document, C)
        document.undo()
        assert (tmp_path / PLAN).read_text("utf-8") == B and document.redoable
        number = document.revision
    with PlanFolder(tmp_path) as document:
        assert document.revision == number and document.texts[PLAN] == B
        document.redo()
        assert (tmp_path / PLAN).read_text("utf-8") == C and not document.redoable
        document.undo()
        document.undo()
        assert (tmp_path / PLAN).read_text("utf-8") == A and not document.undoable
        document.undo()  # nothing left: nothing happens
        to(document, C)
        assert not document.redoable  # a new edit ends what could be redone


def test_an_edit_on_an_old_state_is_refused(tmp_path: Path) -> None:
    with begun(tmp_path) as document:
        seen = document.revision
        to(document, B)
        with pytest.raises(StaleEdit):
            document.edit("x", lambda before: {**before, PLAN: C}, seen)
        with pytest.raises(StaleEdit):
            document.undo(seen)
        assert (tmp_path / PLAN).read_text("utf-8") == B


def test_what_an_editor_changes_is_seen_kept_and_undone(tmp_path: Path) -> None:
    with begun(tmp_path) as document:
        seen = document.revision
        (tmp_path / PLAN).write_text(C, encoding="utf-8")
        os.utime(tmp_path / PLAN, ns=(1, 1))
        assert document.refresh() == seen + 1 and document.texts[PLAN] == C
        document.undo()
        assert (tmp_path / PLAN).read_text("utf-8") == A
        (tmp_path / PLAN).write_text("not = [toml", encoding="utf-8")
        os.utime(tmp_path / PLAN, ns=(2, 2))
        document.refresh()
        assert document.document == {} and "not valid TOML" in str(document.plan)
    (tmp_path / PLAN).write_text(B, encoding="utf-8")  # between two starts
    with PlanFolder(tmp_path) as document:
        assert document.texts[PLAN] == B


def test_a_second_studio_is_refused(tmp_path: Path) -> None:
    with begun(tmp_path), pytest.raises(ParameterError, match="another studio"):
        PlanFolder(tmp_path)
    PlanFolder(tmp_path).close()


@pytest.mark.parametrize(
    "name", ["../x.toml", "/etc/x.toml", ".hidden.toml", "a/b/c.csv", "x.sh", "a\\b.csv"]
)
def test_an_edit_writes_files_of_the_plan_only(tmp_path: Path, name: str) -> None:
    with begun(tmp_path) as document:
        with pytest.raises(ParameterError):
            document.edit("x", lambda before: {**before, name: "x"})
        assert document.texts == {PLAN: A}


def test_a_file_that_an_edit_adds_goes_with_undo(tmp_path: Path) -> None:
    with begun(tmp_path) as document:
        to(document, B, **{"hierarchies/age.csv": "1;*\n"})
        assert (tmp_path / "hierarchies" / "age.csv").read_text("utf-8") == "1;*\n"
        document.undo()
        assert not (tmp_path / "hierarchies" / "age.csv").exists()


def test_a_kill_between_journal_and_files_is_finished(tmp_path: Path) -> None:
    """The journal says C, the plan and its new file are not written yet."""
    with begun(tmp_path) as document:
        to(document, B)
        to(document, C, **{"levels.csv": "1;*\n"})
    (tmp_path / PLAN).write_text(B, encoding="utf-8")
    (tmp_path / "levels.csv").unlink()
    with PlanFolder(tmp_path) as document:
        assert document.texts == {PLAN: C, "levels.csv": "1;*\n"}
        document.undo()
    (tmp_path / PLAN).write_text(C, encoding="utf-8")  # killed while undoing
    with PlanFolder(tmp_path) as document:
        assert document.texts[PLAN] == B and (tmp_path / PLAN).read_text("utf-8") == B


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_line_that_is_cut_off_was_never_an_edit(tmp_path: Path, cut: int) -> None:
    with begun(tmp_path) as document:
        to(document, B)
    journal = tmp_path / OWN / "journal.jsonl"
    whole = journal.read_bytes()
    with PlanFolder(tmp_path) as document:
        to(document, C)
    journal.write_bytes(journal.read_bytes()[: len(whole) + cut])
    (tmp_path / PLAN).write_text(B, encoding="utf-8")
    with PlanFolder(tmp_path) as document:
        assert document.texts[PLAN] == B and journal.read_bytes().startswith(whole)
        to(document, C)
    with PlanFolder(tmp_path) as document:
        assert document.texts[PLAN] == C


def test_what_the_studio_keeps_is_for_its_owner_alone(tmp_path: Path) -> None:
    with begun(tmp_path) as document:
        to(document, B)
    for path in (tmp_path / OWN).rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    assert (tmp_path / PLAN).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("name", "digest"),
    [("../../outside.toml", None), (".bashrc", None), ("/outside.toml", None), (PLAN, "../../../secret")],
)
def test_a_journal_of_somebody_else_writes_and_reads_nothing_elsewhere(
    tmp_path: Path, name: str, digest: str | None
) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    folder = tmp_path / "a" / "plan"
    folder.mkdir(parents=True)
    with begun(folder) as document:
        to(document, B)
    journal = folder / OWN / "journal.jsonl"
    last = json.loads(journal.read_text("utf-8").splitlines()[-1])
    state = {**last["state"], name: digest or last["state"][PLAN]}
    with journal.open("a", encoding="utf-8") as file:
        file.write(json.dumps({**last, "number": last["number"] + 1, "state": state}) + "\n")
    with PlanFolder(folder) as document:
        assert document.texts == {PLAN: B}
    assert {p.name for p in tmp_path.iterdir()} == {"secret", "a"}
    assert not (folder / ".bashrc").exists()


@pytest.mark.parametrize("link", [OWN, f"{OWN}/texts", f"{OWN}/journal.jsonl", f"{OWN}/lock"])
def test_a_part_of_the_studio_that_leads_elsewhere_is_refused(tmp_path: Path, link: str) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "plan"
    elsewhere.mkdir()
    letter = elsewhere / "letter"
    letter.write_text("kept", encoding="utf-8")
    (folder / link).parent.mkdir(parents=True)
    (folder / link).symlink_to(letter if link.endswith(("jsonl", "lock")) else elsewhere)
    with pytest.raises(DataError, match="leads elsewhere"):
        begun(folder)
    assert letter.read_text("utf-8") == "kept" and list(elsewhere.iterdir()) == [letter]
    (folder / link).unlink()
    begun(folder).close()  # it was let go of


def test_a_table_of_levels_is_written_within_the_folder_alone(tmp_path: Path) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "plan"
    elsewhere.mkdir()
    folder.mkdir()
    (folder / "levels").symlink_to(elsewhere)
    with begun(folder) as document, pytest.raises(DataError, match="leads out of the plan's folder"):
        to(document, B, **{"levels/age.csv": "a,b"})
    assert not list(elsewhere.iterdir())


def test_a_plan_from_somebody_else_changes_no_file_elsewhere(tmp_path: Path) -> None:
    """Its journal calls a link's text the one before, and its own the one that was meant."""
    folder, letter = tmp_path / "plan", tmp_path / "letter"
    with begun(folder_made(folder)) as document:
        to(document, B)
    letter.write_text(A, encoding="utf-8")
    (folder / PLAN).unlink()
    (folder / PLAN).symlink_to(letter)
    with pytest.raises(DataError, match="leads out of the plan's folder"):
        PlanFolder(folder)
    assert letter.read_text("utf-8") == A


def test_undo_deletes_no_file_elsewhere(tmp_path: Path) -> None:
    folder, elsewhere = folder_made(tmp_path / "plan"), tmp_path / "elsewhere"
    with begun(folder) as document:
        to(document, B, **{"levels/age.csv": "a,b"})
        (folder / "levels").rename(elsewhere)
        (folder / "levels").symlink_to(elsewhere)
        with pytest.raises(DataError, match="leads out of the plan's folder"):
            document.undo()
    assert (elsewhere / "age.csv").exists()


def folder_made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_a_plan_that_is_only_looked_at_stays_as_it_is(tmp_path: Path) -> None:
    """Not even an edit that a kill cut off is finished."""
    with begun(tmp_path) as document:
        to(document, B)
    (tmp_path / PLAN).write_text(A, encoding="utf-8")
    with PlanFolder(tmp_path, fixed=True) as document:
        assert document.texts == {PLAN: A} == {PLAN: (tmp_path / PLAN).read_text("utf-8")}
        for change in (document.undo, document.redo, lambda: to(document, C)):
            with pytest.raises(ParameterError, match="nothing can be changed"):
                change()
    assert (tmp_path / PLAN).read_text("utf-8") == A
