"""Where a run keeps what is finished: beside its release, hidden, for the owner alone, until all is done.

    .release.sfumato/
      run.key          the secret everything of this run is drawn from
      held-back.key    who is held back, where that was decided by an earlier release
      steps/DIGEST     a finished step: a release by itself
      steps/DIGEST.log one sign for each time privacy noise was about to be drawn for it
      steps/DIGEST.pay the number of the attempt that is about to be paid for
      draft/           the release while it is put together; renamed into place when it is whole
      replaced/        the release it takes the place of, for the moment between two renames

A killed run leaves this folder and nothing else. The next one takes the finished steps from it, and draws
what was not finished from the same key, so that it draws the same. Noise that comes from the operating system
cannot be drawn the same again: its spending is written down, on disk, before it is drawn, and a run that
finds the line without the result says so instead of drawing twice for one budget.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato._system import locks
from sfumato._system.disk import to_disk
from sfumato.errors import BudgetError, OutputError
from sfumato.io.atomic import explained, owner_only
from sfumato.release import read_key, write_key
from sfumato.seeds import Key

SPLIT_KEY = "held-back.key"
_SIGNS = (".log", ".pay", ".new", ".placed")  # what is noted of a step, and is no result of it


class Workplace:
    """The hidden folder of one run. Made by `workplace`, which also keeps others out."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.folder = target.with_name(f".{target.name}.sfumato")
        self.steps = self.folder / "steps"
        self.draft = self.folder / "draft"
        self._replaced = self.folder / "replaced"

    @property
    def key(self) -> Key:
        """The secret of this run, the same until its release is in place."""
        path = self.folder / "run.key"
        if not path.exists():
            fresh = self.folder / "fresh.key"
            fresh.unlink(missing_ok=True)
            write_key(fresh, Key.fresh())
            to_disk(fresh)
            os.replace(fresh, path)
            to_disk(self.folder)
        return read_key(path)

    @property
    def split_key(self) -> Key:
        """What decides who is held back: of this run, or of the release that it takes over."""
        path = self.folder / SPLIT_KEY
        return read_key(path) if path.exists() else self.key.derive("held back")

    @property
    def split_mark(self) -> str:
        """Names it among others without telling it."""
        return self.split_key.derive("mark").to_bytes().hex()[-16:]

    def keep_split(self, key: Key) -> None:
        """Hold back whom an earlier run held back."""
        fresh = self.folder / "fresh.key"
        fresh.unlink(missing_ok=True)
        write_key(fresh, key)
        to_disk(fresh)
        os.replace(fresh, self.folder / SPLIT_KEY)
        to_disk(self.folder)

    # -- finished steps --------------------------------------------------------------------------------

    def finished(self, name: str) -> bool:
        """Whether a step is there, whole."""
        return (self.steps / name / "public").is_dir()

    def attempts(self, name: str) -> int:
        """How often noise was about to be drawn for a step."""
        try:
            return len((self.steps / f"{name}.log").read_bytes())
        except FileNotFoundError:
            return 0

    def require_undrawn(self, name: str, cost: str, again: bool) -> None:
        """Refuse to draw noise that a stopped run had begun to draw, unless it is to be paid for `again`."""
        if self.attempts(name) and not again:
            raise BudgetError(
                f"a run that was stopped had begun to draw noise for {cost}, and what it drew is gone. "
                f"Drawing again spends it again.",
                hint="--spend-again: the release will then promise what was spent in all",
            )

    def require_no_other(self, *names: str) -> None:
        """Refuse where a result was paid for that is not in its place, and is none of those asked for now."""
        results = {p.name.partition(".")[0] for p in self.steps.iterdir() if p.suffix not in _SIGNS}
        if any(self.attempts(name) for name in results.difference(names)):
            raise OutputError(
                f"a command that was stopped has paid for another '{self.target.name}', which is not in its "
                f"place yet: it is kept in {self.folder.name}.",
                hint=f"run that command again, or remove {self.folder.name} to give it up",
            )

    def intend(self, name: str, number: int) -> bool:
        """Write down, on disk, that an attempt will be paid for now; whether that was written down before."""
        path = self.steps / f"{name}.pay"
        if path.exists() and path.read_text("ascii", "replace") == str(number):
            return True
        fresh = self.steps / f"{name}.new"
        fresh.write_text(str(number), "ascii")
        to_disk(fresh)
        os.replace(fresh, path)
        to_disk(self.steps)
        return False

    def give_up(self, name: str) -> None:
        """An attempt that was refused, and not paid for, is not begun."""
        (self.steps / f"{name}.pay").unlink(missing_ok=True)

    def attempt(self, name: str) -> None:
        """Write down, on disk, that noise will be drawn now."""
        path = self.steps / f"{name}.log"
        with path.open("ab") as file:
            file.write(b"+")
            file.flush()
            os.fsync(file.fileno())
        to_disk(self.steps)

    # -- the end ---------------------------------------------------------------------------------------

    def placed(self, name: str) -> bool:
        """Whether a finished step is in its place already, put there by a run that was killed right after."""
        return (self.steps / f"{name}.placed").exists() and not self.finished(name) and self.target.exists()

    def place(self, name: str) -> None:
        """A finished step becomes the release, as it is: until then it stays where it is found again."""
        mark = self.steps / f"{name}.placed"
        mark.touch()
        to_disk(mark)
        to_disk(self.steps)
        self._swap(self.steps / name)

    def place_file(self, path: Path) -> None:
        """A file of the workplace becomes the result: whole or not at all."""
        os.replace(path, self.target)
        to_disk(self.target.parent)

    def put_in_place(self) -> None:
        """The draft becomes the release: whole or not at all."""
        for folder, _, files in os.walk(self.draft):
            for name in files:
                to_disk(Path(folder, name))
            to_disk(Path(folder))
        self._swap(self.draft)

    def _swap(self, folder: Path) -> None:
        if self.target.exists():
            os.rename(self.target, self._replaced)
        os.rename(folder, self.target)
        to_disk(self.target.parent)

    def recover(self) -> None:
        """What a killed run left: the old release goes back, half-written things are removed."""
        if self._replaced.exists() and not self.target.exists():
            os.rename(self._replaced, self.target)
        for path in (self._replaced, self.draft, *self.steps.glob(".*.tmp")):
            shutil.rmtree(path, ignore_errors=True)

    def remove(self) -> None:
        """Nothing of the run is needed any more."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def forget_if_empty(self) -> None:
        """A run that came to nothing leaves nothing, unless something was finished or spent."""
        shutil.rmtree(self.draft, ignore_errors=True)
        if not any(self.steps.iterdir()):
            self.remove()


def left_behind(target: Path) -> bool:
    """Whether a run that was stopped has left what it needs to go on."""
    return bool(target.name) and Workplace(target.absolute()).folder.exists()


@contextmanager
def workplace(target: Path) -> Iterator[Workplace]:
    """The workplace of a release, for one run at a time."""
    target = Path(os.path.realpath(target))
    place = Workplace(target)
    if not target.parent.is_dir():
        raise OutputError(f"the folder for '{target.name}' does not exist.", hint="make the folder first")
    try:
        with _alone(place):
            place.steps.mkdir(mode=stat.S_IRWXU, exist_ok=True)
            owner_only(place.folder)
            place.recover()
            try:
                yield place
            finally:
                if place.steps.is_dir():
                    place.forget_if_empty()
    except OSError as error:
        raise explained(error, target) from None


@contextmanager
def _alone(place: Workplace) -> Iterator[None]:
    """Hold the lock of a workplace; the system lets go of it when a process ends, however it ends."""
    while True:
        place.folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)
        try:
            held = (place.folder / "lock").open("a")
        except FileNotFoundError:  # another run has just ended, and removed the folder
            continue
        with held:
            try:
                locks.hold(held.fileno(), wait=False)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
                raise OutputError(
                    f"another run is making '{place.target.name}'.",
                    hint="wait for it, or choose another folder",
                ) from None
            try:
                current = (place.folder / "lock").stat().st_ino
            except FileNotFoundError:
                continue
            if current == os.fstat(held.fileno()).st_ino:  # not one that was removed in between
                try:
                    yield
                finally:
                    locks.close_last(held, place.folder / "lock")
                return
