"""What was paid for is kept: where its place cannot be written, whole, in another one that is named.

A full disk or a folder that is gone must not cost a budget. The other places, in this order: the folder
`kept` of the ledgers' witness (SFUMATO_STATE), which could be written a moment ago, and the system's folder
for temporary files. Both hold it for the owner alone.
"""

from __future__ import annotations

import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from sfumato._system import permissions
from sfumato.errors import OutputError
from sfumato.io.atomic import atomic_directory, atomic_file
from sfumato.privacy.ledger.witness import state_folder


def kept(write: Callable[[Path], object], target: Path, name: str = "") -> Path:
    """Write something that was paid for; elsewhere if its place cannot be, and then say where it is.

    write: called with the path to write to. name: of it in the other places; by default that of the target.
    """
    try:
        write(target)
        return target
    except OutputError as error:
        why = error
    for folder in _elsewhere(made=True):
        place = folder / (name or target.name)
        try:
            _cleared(place)
            write(place)
        except (OutputError, OSError):
            continue
        raise OutputError(
            f"{why.message} What was paid for is not lost: it is kept, whole, in {place}.",
            hint="make room and run the same again, or move it from there; nothing has to be paid again",
        )
    raise why


def take_back(target: Path, name: str = "") -> bool:
    """Put what is kept elsewhere into its own place, whole or not at all; whether there was anything."""
    for folder in _elsewhere():
        place = folder / (name or target.name)
        if not place.exists() or place.is_symlink() or not permissions.is_own(place.stat()):
            continue
        if place.is_dir():
            with atomic_directory(target) as draft:
                shutil.copytree(place, draft, dirs_exist_ok=True)
            shutil.rmtree(place, ignore_errors=True)
        else:
            with atomic_file(target, private=True) as draft:
                shutil.copyfile(place, draft)
            place.unlink(missing_ok=True)
        return True
    return False


def _elsewhere(made: bool = False) -> Iterator[Path]:
    """The other places, as far as they are the owner's alone. made: those that are not there are made."""
    named: list[Path] = []
    with suppress(OutputError):
        named.append(state_folder() / "kept")
    with suppress(OSError):
        named.append(Path(tempfile.gettempdir(), f"sfumato-{permissions.user()}"))
    for folder in named:
        with suppress(OSError):
            if made:
                folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
            about = folder.lstat()
            own = stat.S_ISDIR(about.st_mode) and permissions.is_own(about)
            if own and not permissions.open_to(about.st_mode):
                yield folder


def _cleared(place: Path) -> None:
    """What an earlier refusal left under the same name is the same: of one step, of the same data."""
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)
