"""Write beside, then rename: a reader sees the old file or the new one, never half of one.

Everything is written into a hidden directory next to the target, so that helper files of any writer
lie there too, on the same disk, readable by the owner only. Success renames it into place and waits
until the disk has it; any failure, full disk and Ctrl-C included, removes it and leaves what was
there before. Only a killed process or a power cut can leave the hidden directory behind.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato._system import permissions
from sfumato._system.disk import put_new, to_disk
from sfumato.errors import OutputError

_HINTS = {
    errno.ENOSPC: ("the disk is full", "free some space or write to another disk"),
    errno.EDQUOT: ("the disk quota is used up", "free some space or write to another disk"),
    errno.EFBIG: ("the file grows beyond what is allowed", "raise the limit (ulimit -f) or write elsewhere"),
    errno.EROFS: ("the disk is read-only", "write to another directory"),
    errno.EACCES: ("permission is denied", "choose a directory you may write to"),
    errno.EPERM: ("permission is denied", "choose a directory you may write to"),
    errno.ENOENT: ("the directory does not exist", "make the directory first"),
    errno.ENOTDIR: ("part of the path is a file, not a directory", "choose another path"),
    errno.EISDIR: ("it is a directory", "give the name of a file"),
    errno.EEXIST: ("it exists already", "overwrite=True replaces it"),
    errno.ENOTEMPTY: ("it exists already", "overwrite=True replaces it"),
    errno.ENAMETOOLONG: ("the name is too long", "choose a shorter name"),
    errno.EBUSY: ("it is in use", "choose another path"),
}


def explained(error: OSError, target: Path) -> OutputError:
    """An operating-system error as one that says what to do next."""
    reason, hint = _HINTS.get(error.errno or 0, ("the system refused it", "try another directory"))
    return OutputError(f"{target.name} could not be written: {reason}.", hint=hint)


@contextmanager
def atomic_file(target: str | Path, overwrite: bool = False, private: bool = False) -> Iterator[Path]:
    """A path to write to; what it holds becomes `target` when the block ends well.

    private: for the owner alone. Otherwise a file that is replaced hands down who may read it.
    """
    given = Path(target)
    try:
        path = _place(given)
        _refuse(path, overwrite, directory=False)
        with _beside(path) as workplace:
            draft = workplace / path.name
            yield draft
            if private:
                owner_only(draft)
            elif overwrite and path.exists():  # what others may not read stays so
                draft.chmod(stat.S_IMODE(path.stat().st_mode))
            to_disk(draft)
            _rename_file(draft, path, overwrite)
            to_disk(path.parent)
    except OSError as error:
        raise explained(error, given) from None


@contextmanager
def atomic_directory(target: str | Path, overwrite: bool = False) -> Iterator[Path]:
    """A directory to fill; it becomes `target`, complete, when the block ends well."""
    given = Path(target)
    try:
        path = _place(given)
        _refuse(path, overwrite, directory=True)
        with _beside(path) as workplace:
            draft = workplace / path.name
            draft.mkdir()
            yield draft
            for folder, _, files in os.walk(draft):
                for name in files:
                    to_disk(Path(folder, name))
                to_disk(Path(folder))
            _rename_directory(draft, path, workplace / "replaced", overwrite)
            to_disk(path.parent)
    except OSError as error:
        raise explained(error, given) from None


def require_place(target: str | Path, overwrite: bool = False) -> None:
    """That a directory can be written there, before there is something to lose."""
    given = Path(target)
    try:
        path = _place(given)
        _refuse(path, overwrite, directory=True)
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise OSError(errno.EACCES, "")
    except OSError as error:
        raise explained(error, given) from None


def write_text(path: str | Path, text: str, *, overwrite: bool = False, private: bool = False) -> Path:
    """Write a small text file (UTF-8, as it is) atomically; `private` lets the owner alone read it."""
    with atomic_file(path, overwrite, private) as draft:
        draft.write_bytes(text.encode("utf-8"))
    return Path(path)


def owner_only(path: str | Path) -> None:
    """Let the owner alone read and write a file (0600), or a directory and all in it (0700)."""
    path = Path(path)
    try:
        if not path.is_dir():
            permissions.set_mode(path, stat.S_IRUSR | stat.S_IWUSR)
            return
        permissions.set_mode(path, stat.S_IRWXU)
        for inner in path.rglob("*"):
            if not inner.is_symlink():
                mode = stat.S_IRWXU if inner.is_dir() else stat.S_IRUSR | stat.S_IWUSR
                permissions.set_mode(inner, mode)
    except OSError as error:
        raise explained(error, path) from None


def _place(given: Path) -> Path:
    """Where a target lies. A link stays a link: what it points to is replaced.

    A link to nothing is refused: whoever put it there would decide where a new file appears.
    """
    if given.is_symlink() and not given.exists():
        raise OutputError(
            f"{given.name} is a link to a place where nothing is.", hint="remove the link, or name the place"
        )
    return Path(os.path.realpath(given))


def _refuse(path: Path, overwrite: bool, *, directory: bool) -> None:
    """Say no before any work is done."""
    parent = path.parent
    if not parent.is_dir():
        made_of_files = any(p.exists() and not p.is_dir() for p in path.parents)
        raise OSError(errno.ENOTDIR if made_of_files else errno.ENOENT, "")
    if not path.exists():
        return
    if path.is_dir() and not directory:
        raise OSError(errno.EISDIR, "")
    if not overwrite:
        raise OSError(errno.EEXIST, "")
    if directory and not path.is_dir():
        raise OutputError(f"{path.name} is a file, not a directory.", hint="choose another path")
    precious = {Path.cwd(), *Path.cwd().parents, Path.home(), *Path.home().parents}
    if directory and (path in precious or path.is_mount()):
        raise OutputError(
            f"{path.name or path} is not replaced: it is a home, a working or a system directory.",
            hint="give a directory of its own to the result",
        )


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A hidden directory on the disk of the target, gone afterwards whatever happens."""
    # Named before it is made: Ctrl-C right after the making must find a name to remove.
    workplace = path.with_name(f".{path.name[:64]}.{secrets.token_hex(8)}.tmp")
    try:
        workplace.mkdir(mode=stat.S_IRWXU)
        yield workplace
    finally:
        _remove(workplace)


def _remove(workplace: Path) -> None:
    """A second Ctrl-C during the tidying does not stop it."""
    try:
        shutil.rmtree(workplace, ignore_errors=True)
    except KeyboardInterrupt:
        shutil.rmtree(workplace, ignore_errors=True)
        raise


def _rename_file(draft: Path, path: Path, overwrite: bool) -> None:
    if overwrite:
        os.replace(draft, path)
        return
    try:
        put_new(draft, path)  # unlike a rename, never replaces a file that came up in the meantime
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS):
            raise
        if path.exists():
            raise OSError(errno.EEXIST, "") from None
        os.replace(draft, path)


def _rename_directory(draft: Path, path: Path, replaced: Path, overwrite: bool) -> None:
    if not (overwrite and path.exists()):
        os.rename(draft, path)
        return
    try:  # from before the first step: Ctrl-C may come right after it
        os.rename(path, replaced)
        os.rename(draft, path)
    except BaseException:
        with suppress(OSError):  # nothing was moved yet, or the new one is in place
            os.rename(replaced, path)
        raise
