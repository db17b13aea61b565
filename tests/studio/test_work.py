"""What the studio remembers of its work, where somebody else's folder says it."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import pytest

from sfumato.errors import DataError
from sfumato.studio.work import DONE, Task, Worker


def told(folder: Path, **fields: object) -> None:
    folder.mkdir(parents=True)
    given = {"id": folder.name, "kind": "look", "state": DONE, "found": {}, **fields}
    (folder / "task.json").write_text(json.dumps(given), encoding="utf-8")


def test_a_task_from_somebody_else_leads_nowhere(tmp_path: Path) -> None:
    place, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    told(place / "1")
    told(place / "2", id="../../elsewhere")
    told(place / "3", found=["no", "table"])
    told(place / "4", said=None)
    told(elsewhere)
    (place / "5").symlink_to(elsewhere)
    worker = Worker(tmp_path, place, warm=False)
    try:
        assert [t.id for t in worker.tasks()] == ["1"]
    finally:
        worker.close()


def test_work_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "work").symlink_to(tmp_path)
    with pytest.raises(DataError, match="leads elsewhere"):
        Worker(tmp_path, tmp_path / "work", warm=False)


@pytest.mark.parametrize("kind", ["run", "sign"])
def test_what_is_said_of_a_release_counts_only_with_our_seal(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remembered() -> list[str]:
        worker = Worker(tmp_path, tmp_path / "work", warm=False)
        worker.close()
        return [t.id for t in worker.tasks()]

    worker = Worker(tmp_path, tmp_path / "work", warm=False)
    worker.close()
    worker._keep(Task("1", kind, state=DONE))
    told(tmp_path / "work" / "2", kind=kind)  # without a seal
    told(tmp_path / "work" / "3", kind=kind)
    shutil.copy(tmp_path / "work" / "1" / "seal", tmp_path / "work" / "3" / "seal")  # that of another one
    assert remembered() == ["1"]
    key = tmp_path / "state" / "studio.key"
    monkeypatch.setenv("SFUMATO_STATE", str(key.parent))  # somebody else
    assert remembered() == [] and stat.S_IMODE(key.stat().st_mode) == 0o600
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("SFUMATO_STATE", str(tmp_path / "file" / "state"))  # there is no place for a key
    assert remembered() == []
    worker._keep(Task("4", kind, state=DONE))
    assert remembered() == ["4"]  # within this process
