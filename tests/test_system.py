"""The floor below all others: the same promises on every system, and what cannot be kept is said."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
import without_posix
from architecture import ROOT, SOURCE, nodes, parsed
from cli_support import PATIENCE

from sfumato._system import disk, locks, permissions, processes

SCRIPT = ROOT / "tests" / "without_posix.py"


def as_on_windows(argument: str, state: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent), "SFUMATO_STATE": str(state)}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), argument],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-3_000:]


# --- without POSIX --------------------------------------------------------------------------------


def only_posix(tree: ast.Module) -> list[str]:
    """What a module uses that Windows has not, without asking first."""
    found, asked = [], set()
    for node in nodes(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("hasattr", "getattr"):
            asked.add(ast.unparse(node.args[1]).strip("'"))
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            found += [f"{node.lineno} {a.name}" for a in node.names if a.name in without_posix.MODULES]
        elif isinstance(node, ast.ImportFrom) and node.module in without_posix.MODULES:
            found.append(f"{node.lineno} {node.module}")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr not in asked:
            hidden = {"os": without_posix.FUNCTIONS, "signal": without_posix.SIGNALS}.get(node.value.id, ())
            if node.attr in hidden:
                found.append(f"{node.lineno} {node.value.id}.{node.attr}")
    return found


@pytest.mark.xdist_group("house")
def test_only_the_bottom_floor_knows_the_system() -> None:
    above = {name: tree for name, tree in parsed().items() if not name.startswith("_system/")}
    assert len(above) < len(parsed())
    assert {name: found for name, tree in above.items() if (found := only_posix(tree))} == {}


@pytest.mark.parametrize(
    "planted",
    [
        "import fcntl",
        "from resource import getrlimit",
        "import os\nos.getuid()",
        "import signal\nsignal.SIGKILL",
    ],
)
def test_a_planted_use_is_found(planted: str) -> None:
    assert only_posix(ast.parse(planted))
    assert not only_posix(ast.parse("import os\nhasattr(os, 'getuid') and os.getuid()"))


def test_a_release_a_ledger_and_a_signature_without_posix(tmp_path: Path) -> None:
    as_on_windows(str(tmp_path), tmp_path / "state")


@pytest.mark.soak
def test_every_module_can_be_imported_without_posix(tmp_path: Path) -> None:
    as_on_windows("import", tmp_path / "state")


# --- locks ----------------------------------------------------------------------------------------

TRIED = """
import sys
sys.path.insert(0, {tests!r})
if {hidden}:
    import without_posix
    without_posix.hide()
from sfumato._system import disk, locks
import os
file = disk.opened({path!r}, os.O_RDWR)
try:
    locks.{call}
except BlockingIOError:
    print("waits")
else:
    print("holds")
"""


def other(path: Path, call: str, hidden: bool) -> str:
    """What another process is told that asks for the same."""
    code = TRIED.format(tests=str(ROOT / "tests"), path=str(path), call=call, hidden=hidden)
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=PATIENCE
    )
    return done.stdout.strip() or done.stderr


@pytest.fixture(params=["posix", "windows"])
def windows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Both ways to lock, the other one with its stand-in."""
    if request.param == "windows":
        monkeypatch.setattr(locks, "POSIX", False)
        monkeypatch.setitem(sys.modules, "msvcrt", without_posix._msvcrt())
    return request.param == "windows"


def test_a_file_is_held_by_one_process_at_a_time(tmp_path: Path, windows: bool) -> None:
    path = tmp_path / "lock"
    held = disk.opened(path, os.O_RDWR | os.O_CREAT)
    os.write(held, b"content")
    locks.hold(held, wait=False)
    assert os.lseek(held, 0, os.SEEK_CUR) == len(b"content")  # where it stood
    assert other(path, "hold(file, wait=False)", windows) == "waits"
    assert path.read_bytes() == b"content"  # the lock lies behind it
    locks.let_go(held)
    assert other(path, "hold(file, wait=False)", windows) == "holds"
    locks.close(held)


def test_bytes_are_held_one_by_one(tmp_path: Path, windows: bool) -> None:
    path = tmp_path / "lock"
    held = disk.opened(path, os.O_RDWR | os.O_CREAT)
    far = 1 << 61
    locks.hold_bytes(held, 1, far)
    assert other(path, f"hold_bytes(file, 1, {far}, wait=False)", windows) == "waits"
    assert other(path, f"hold_bytes(file, 1, {far + 1}, wait=False)", windows) == "holds"
    locks.let_go_of_bytes(held, 1, far)
    locks.let_go_of_bytes(held, 1, far)  # twice is no fault
    assert other(path, f"hold_bytes(file, 1, {far}, wait=False)", windows) == "holds"
    os.close(held)


def test_who_asked_to_wait_waits(tmp_path: Path, windows: bool) -> None:
    import threading

    path, order = tmp_path / "lock", []
    first, second = (disk.opened(path, os.O_RDWR | os.O_CREAT) for _ in range(2))
    locks.hold(first)

    def later() -> None:
        locks.hold(second)
        order.append("second")
        locks.close(second)

    thread = threading.Thread(target=later)
    thread.start()
    order.append("first")
    locks.close(first)
    thread.join()
    assert order == ["first", "second"]


def test_a_fault_of_the_disk_is_no_waiting(tmp_path: Path, windows: bool) -> None:
    held = disk.opened(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    os.close(held)
    with pytest.raises(OSError) as caught:
        locks.hold(held, wait=False)
    assert not isinstance(caught.value, BlockingIOError)


def test_the_lock_of_a_removed_folder_goes_last(tmp_path: Path, windows: bool) -> None:
    folder = tmp_path / "workplace"
    folder.mkdir()
    with (folder / "lock").open("a") as file:
        locks.hold(file.fileno(), wait=False)
        locks.close_last(file, folder / "lock")
        assert folder.exists() is not windows and file.closed is windows
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "steps").mkdir()
    with (tmp_path / "kept" / "lock").open("a") as file:
        locks.hold(file.fileno(), wait=False)
        locks.close_last(file, tmp_path / "kept" / "lock")
    assert (tmp_path / "kept" / "lock").exists()


# --- disk, permissions, processes -----------------------------------------------------------------


def test_a_place_of_a_file_is_read_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (None, "p"):
        if name:
            monkeypatch.delattr(os, "pread")
            monkeypatch.delattr(os, "pwrite")
        file = disk.opened(tmp_path / f"file{name}", os.O_RDWR | os.O_CREAT)
        assert disk.write_at(file, b"0123\n6789", 0) == 9
        assert disk.write_at(file, b"ab", 2) == 2
        assert disk.read_at(file, 4, 1) == b"1ab\n"
        os.close(file)


def test_a_name_that_is_taken_stays_with_who_was_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh, taken = tmp_path / "fresh", tmp_path / "taken"
    fresh.write_text("fresh")
    taken.write_text("first")
    with pytest.raises(FileExistsError):
        disk.put_new(fresh, taken)
    assert taken.read_text() == "first"
    disk.put_new(fresh, tmp_path / "new")
    assert (tmp_path / "new").read_text() == "fresh"


def test_a_mode_that_says_nothing_neither_refuses_nor_promises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "key"
    path.write_text("secret")
    path.chmod(0o644)
    assert permissions.open_to(path.stat().st_mode) and permissions.is_own(path.stat())
    permissions.set_mode(path, 0o600)
    assert not permissions.open_to(path.stat().st_mode)
    path.chmod(0o644)
    monkeypatch.setattr(permissions, "POSIX", False)
    monkeypatch.setattr(permissions, "_said", set())
    with pytest.warns(Warning, match=r"no files for their owner alone.*docs/windows\.md") as said:
        assert not permissions.open_to(path.stat().st_mode)
        permissions.set_mode(path, 0o600)
    assert len(said) == 1
    assert path.stat().st_mode & 0o077 == 0o044 and permissions.is_own(path.stat()) and permissions.user()


def test_what_a_process_may_and_has(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (processes.peak_memory() or 0) > 1 << 20
    assert processes.largest_file() is None or processes.largest_file()
    monkeypatch.setattr(processes, "_MEASURED", False)
    assert processes.peak_memory() is None and processes.largest_file() is None
