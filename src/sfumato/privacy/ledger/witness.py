"""The witness of a ledger: what was last seen of it here, kept apart from the ledger itself.

A ledger that was put back, a copy that is spent a second time, another ledger in its place: each is sound in
itself, and only who remembers a later line can tell. The witness remembers, for each ledger, the number and
the hash of the last line and the totals, in a folder of this user on this machine (SFUMATO_STATE, or
XDG_STATE_HOME/sfumato, or ~/.local/state/sfumato).

The order is: the debit is committed, then the witness is written and synchronized, then the grant exists. So
    a crash between the two leaves a ledger that is ahead of its witness, which is no sign of a put-back;
    a put-back that the witness cannot see loses only debits for which no grant was ever given.

A line of kind unlock or restore holds the head it accounts for, so that these too may crash in between.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sfumato._system import disk, locks, processes
from sfumato.errors import BudgetError, OutputError, SfumatoError, VerificationError
from sfumato.privacy.ledger.tables import LedgerState

_SLOT = 512  # bytes; two of them, so that a torn write leaves the other
_WAIT = 60.0  # seconds to wait for others who are debiting
PLACES, NAMES, SOURCES = "places", "names", "sources"  # of what it is remembered which ledger is its own
_HINT = "set SFUMATO_STATE to a folder of this machine that can be written and lasts"


_locks: set[int] = set()  # descriptors of the locks that this process holds or waits for


def _let_go() -> None:
    """A forked child must not keep its parent's locks when the parent is gone."""
    for lock in _locks:
        with contextlib.suppress(OSError):
            os.close(lock)
    _locks.clear()


processes.after_fork(_let_go)


class LastSeen(NamedTuple):
    """What was last seen of a ledger. A later era counts before a larger number."""

    era: int
    number: int
    head: str
    total: int
    total_delta: int


def state_folder() -> Path:
    """Where witnesses are kept."""
    if given := os.environ.get("SFUMATO_STATE"):
        return Path(given).absolute()
    if given := os.environ.get("XDG_STATE_HOME"):
        return Path(given).absolute() / "sfumato"
    try:
        return Path.home() / ".local" / "state" / "sfumato"
    except RuntimeError:
        raise OutputError("there is no place for the witness of a ledger.", hint=_HINT) from None


class Witness:
    """The witnesses of one folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = state_folder() if folder is None else folder

    def _prepare(self, file: Path) -> None:
        if not file.parent.is_dir():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            file.parent.mkdir(mode=0o700, exist_ok=True)

    # -- one ledger ------------------------------------------------------------------------------

    def _file(self, identity: str) -> Path:
        # An id is read from the ledger: it must not lead elsewhere.
        return self.folder / "ledgers" / hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:32]

    def read(self, identity: str, name: str) -> LastSeen | None:
        """What was last seen of a ledger; None if it was never seen here, or may not be read."""
        with contextlib.suppress(OSError):
            return _read_file(self._file(identity), name)
        return None

    @contextlib.contextmanager
    def held(self, identity: str, name: str) -> Iterator[Held]:
        """Keep everyone else on this machine from debiting meanwhile, and see what was seen."""
        file = self._file(identity)
        with self._alone(file, name):
            with _reported(name):
                held = Held(file, name)
            yield held

    @contextlib.contextmanager
    def _alone(self, file: Path, name: str) -> Iterator[None]:
        """Keep every other thread and process on this machine from what a file stands for."""
        with _reported(name):
            self._prepare(file)
            lock = disk.opened(f"{file}.lock", os.O_RDWR | os.O_CREAT)
        process = os.getpid()
        _locks.add(lock)
        try:
            with _reported(name):
                _lock(lock, name)
            yield
        finally:
            if process == os.getpid():  # a forked child has let go of it at once
                _locks.discard(lock)
                locks.let_go(lock)
                os.close(lock)

    @functools.cached_property
    def writer(self) -> str:
        """The name of this folder in the lines it has witnessed: random, the same for all ledgers."""
        file = self.folder / "writer"
        with _reported("here"):
            if not file.exists():
                self._prepare(file)
                _place(file, secrets.token_hex(8).encode())
            return file.read_text("utf-8", "replace")

    @functools.cached_property
    def people_key(self) -> bytes:
        """The secret under which people are compared here (overlap.py); it never leaves this folder."""
        file = self.folder / "people.key"
        with _reported("here"):
            if not file.exists():
                self._prepare(file)
                _place(file, secrets.token_bytes(32))
            return file.read_bytes()[:64]

    # -- where ledgers lie, and what they pay for -------------------------------------------------

    def _address(self, place: str, kind: str) -> Path:
        return self.folder / kind / hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:32]

    def known_at(self, place: str, kind: str = PLACES) -> str | None:
        """The id of the ledger that was last used at a place; of names and sources, with its name."""
        with contextlib.suppress(OSError):
            return self._address(place, kind).read_text("utf-8", "replace")
        return None

    def every(self, kind: str) -> Iterator[str]:
        """All that is remembered of one kind."""
        folder = self.folder / kind
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if not path.name.startswith(".") and path.suffix != ".lock":
                with contextlib.suppress(OSError):
                    yield path.read_text("utf-8", "replace")

    def alone_with(
        self, place: str, name: str, kind: str = SOURCES
    ) -> contextlib.AbstractContextManager[None]:
        """Keep everyone else on this machine from noting which ledger is that of a source meanwhile."""
        return self._alone(self._address(place, kind), name)

    def remember(self, place: str, identity: str, name: str, kind: str = PLACES) -> None:
        """Note which ledger is used at a place."""
        if self.known_at(place, kind) == identity:
            return
        address = self._address(place, kind)
        with _reported(name):
            self._prepare(address)
            _place(address, identity.encode("utf-8", "replace"), replace=True)


class Held:
    """A witness that nobody else can write now; `damaged` if there is one that cannot be read."""

    def __init__(self, file: Path, name: str) -> None:
        self._file = file
        self.name = name
        self.seen: LastSeen | None = None
        self.damaged = False
        try:
            self.seen = _read_file(file, name)
        except VerificationError:
            self.damaged = True

    def note(self, state: LedgerState) -> None:
        """Remember the end of the chain, durably; the grant exists after this only."""
        seen = LastSeen(state.era, state.number, state.head, state.total, state.total_delta)
        if seen == self.seen:
            return
        try:
            if self.seen is None:
                _place(self._file, _written(seen) * 2, replace=True)
            else:
                _overwrite(self._file, _written(seen))
        except OSError as error:
            raise OutputError(
                f"the witness of ledger {self.name} cannot be written: {error.strerror}. Nothing was "
                "granted; what was debited stays so.",
                hint=_HINT,
            ) from None
        self.seen, self.damaged = seen, False


# -- the file: two slots, the one not in use is written --------------------------------------------------


def _written(seen: LastSeen) -> bytes:
    text = json.dumps(seen._asdict())
    check = hashlib.sha256(text.encode()).hexdigest()
    return f"{text} {check}".ljust(_SLOT - 1).encode() + b"\n"


def _read(slot: bytes) -> LastSeen | None:
    try:
        text, check = slot.decode().strip().rsplit(" ", 1)
        if hashlib.sha256(text.encode()).hexdigest() != check:
            return None
        return LastSeen(**json.loads(text))
    except (ValueError, TypeError):
        return None


def _read_file(file: Path, name: str) -> LastSeen | None:
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return None
    found = [seen for seen in (_read(content[:_SLOT]), _read(content[_SLOT:])) if seen is not None]
    if not found:
        raise damaged(name)
    return max(found)


def damaged(name: str) -> VerificationError:
    """The refusal where what was seen of a ledger is not known any more."""
    return VerificationError(
        f"the witness of ledger {name} is damaged: what was seen of it is not known. Nothing was granted.",
        hint="a person must say what was lost: sfumato ledger unlock LEDGER --lost AMOUNT",
    )


def _overwrite(file: Path, content: bytes) -> None:
    """Write the slot that does not hold the latest; it is there already and takes no room."""
    descriptor = disk.opened(file, os.O_RDWR)
    try:
        there = disk.read_at(descriptor, 2 * _SLOT, 0)
        first, second = _read(there[:_SLOT]), _read(there[_SLOT:])
        older = second is not None and (first is None or first < second)
        if disk.write_at(descriptor, content, 0 if older else _SLOT) != _SLOT:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _place(file: Path, content: bytes, replace: bool = False) -> None:
    """Write a small file whole, or not at all; without `replace` the first to come stays."""
    beside = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        descriptor = disk.opened(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            if os.write(descriptor, content) != len(content):  # no error where there was room for some of it
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if replace:
            os.replace(beside, file)
        else:
            with contextlib.suppress(FileExistsError):
                disk.put_new(beside, file)
    finally:
        beside.unlink(missing_ok=True)
        disk.sync_directory(file.parent)


def _lock(descriptor: int, name: str) -> None:
    """Wait for the others, but not for ever: one of them may have been stopped."""
    end, pause = time.monotonic() + _WAIT, 0.0005
    while True:
        try:
            return locks.hold(descriptor, wait=False)
        except BlockingIOError:
            if time.monotonic() > end:
                raise BudgetError(
                    f"ledger {name} is in use by others. Nothing was granted.", hint="try again"
                ) from None
        time.sleep(pause)
        pause = min(2 * pause, 0.01)


@contextlib.contextmanager
def _reported(name: str) -> Iterator[None]:
    try:
        yield
    except SfumatoError:
        raise
    except OSError as error:
        raise OutputError(
            f"the witness of ledger {name} cannot be written: {error.strerror}. Nothing was granted.",
            hint=_HINT,
        ) from None
