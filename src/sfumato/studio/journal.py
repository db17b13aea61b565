"""What was done to a plan, one line each, so that it can be undone after a kill too.

A state is the texts of all files of the plan at one moment. Texts lie beside the journal under their digests,
each once; a line names the state that an edit led to. A line is on disk before a file of the plan is touched:
whoever starts again finds which state was meant, and finishes it. A line that is cut off was never an edit.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sfumato._system.disk import to_disk
from sfumato.errors import DataError
from sfumato.io.atomic import owner_only, write_text

Texts = Mapping[str, str]
State = Mapping[str, str]  # the digest of each file's text
_KEPT, _MOST = 500, 1_000  # states that can be gone back to; lines from which on older ones are forgotten
_SUFFIXES = (".toml", ".csv")
_DIGEST = re.compile("[0-9a-f]{32}")


def is_plan_file(name: str) -> bool:
    """Whether it may be a file of a plan: a plain name, at most one folder down, not hidden."""
    path = Path(name)
    plain = not path.is_absolute() and len(path.parts) <= 2 and path.suffix in _SUFFIXES
    return plain and not any(part.startswith(".") for part in path.parts) and not set(name) & set("\\\0")


def refuse_link(*places: Path) -> None:
    """What the studio keeps of a plan lies beside it: a folder of somebody else's must not lead elsewhere."""
    for place in places:
        if place.is_symlink():
            raise DataError(
                f"'{place.name}' of the plan leads elsewhere.", hint="delete the link; the plan is whole"
            )


@dataclass(frozen=True)
class Revision:
    """One line: its number, what was done, and which of all states it led to."""

    number: int
    edit: str
    state: State


@dataclass
class Journal:
    """The lines of one plan, and where among them it stands.

    past: states that undo leads back to, the last one current. future: those that redo leads to.
    """

    place: Path
    past: list[Revision] = field(default_factory=list)
    future: list[Revision] = field(default_factory=list)
    number: int = 0

    @classmethod
    def at(cls, place: Path) -> Journal:
        """The journal of a folder; a new one where there is none."""
        journal = cls(place)
        refuse_link(place, place / "texts", journal._file)  # texts that nobody names any more are deleted
        for folder in (place, place / "texts"):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = journal._file
        whole = file.read_bytes() if file.exists() else b""
        good = b""
        for line in whole.splitlines(keepends=True):
            if not line.endswith(b"\n") or not journal._take(line):
                break
            good += line
        if good != whole:  # cut off by a kill
            write_text(file, good.decode("utf-8"), overwrite=True, private=True)
        if len(journal.past) > _MOST:
            journal._forget()
        return journal

    @property
    def _file(self) -> Path:
        return self.place / "journal.jsonl"

    def _take(self, line: bytes) -> bool:
        """Follow one line; False where it is none of ours."""
        try:
            said = json.loads(line)
            number, edit, how, state = said["number"], said["edit"], said["how"], said["state"]
        except (ValueError, KeyError, TypeError):
            return False
        known = isinstance(number, int) and isinstance(edit, str) and isinstance(state, dict)
        if not known or not all(self._names_text(file, digest) for file, digest in state.items()):
            return False
        return self._follow(how, Revision(number, edit, {str(k): str(v) for k, v in state.items()}))

    def _names_text(self, file: str, digest: object) -> bool:
        """Whether a state may hold this: a journal may have come with a plan of somebody else's."""
        plain = isinstance(digest, str) and _DIGEST.fullmatch(digest) is not None and is_plan_file(file)
        kept = self.place / "texts" / str(digest)
        return plain and kept.is_file() and not kept.is_symlink()

    def _follow(self, how: str, revision: Revision) -> bool:
        if how == "undo" and len(self.past) > 1:
            self.future.append(self.past.pop())
        elif how == "redo" and self.future:
            self.past.append(self.future.pop())
        elif how == "edit":
            self.past.append(revision)
            self.future.clear()
        else:
            return False
        self.number = revision.number
        return True

    # -- writing -------------------------------------------------------------------------------------

    def add(self, edit: str, texts: Texts) -> Revision:
        """Note where an edit leads; what could be redone is gone."""
        return self._write(
            "edit", Revision(self.number + 1, edit, {n: self._keep(t) for n, t in texts.items()})
        )

    def undo(self) -> Revision | None:
        """Note that the last edit is undone; None where there is none."""
        if len(self.past) < 2:
            return None
        return self._write("undo", Revision(self.number + 1, self.past[-1].edit, self.past[-2].state))

    def redo(self) -> Revision | None:
        """Note that the last edit that was undone is done again; None where there is none."""
        if not self.future:
            return None
        return self._write("redo", Revision(self.number + 1, self.future[-1].edit, self.future[-1].state))

    def _write(self, how: str, revision: Revision) -> Revision:
        line = {"number": revision.number, "edit": revision.edit, "how": how, "state": dict(revision.state)}
        new = not self._file.exists()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        descriptor = os.open(self._file, flags, 0o600)
        try:
            os.write(descriptor, (json.dumps(line, ensure_ascii=True) + "\n").encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if new:
            owner_only(self._file)
            to_disk(self.place)
        self._follow(how, revision)
        return revision

    def _keep(self, text: str) -> str:
        digest = hashlib.blake2b(text.encode("utf-8"), digest_size=16).hexdigest()
        target = self.place / "texts" / digest
        if not target.exists():
            write_text(target, text, overwrite=True, private=True)
        return digest

    def _forget(self) -> None:
        """Begin a new journal with the latest states; texts that nobody names any more go."""
        kept = self.past[-_KEPT:]
        lines = [
            json.dumps({"number": r.number, "edit": r.edit, "how": "edit", "state": dict(r.state)})
            for r in kept
        ]
        write_text(self._file, "\n".join(lines) + "\n", overwrite=True, private=True)
        self.past, self.future = kept, []
        named = {digest for r in kept for digest in r.state.values()}
        for text in (self.place / "texts").iterdir():
            if text.name not in named:
                text.unlink(missing_ok=True)

    # -- reading -------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """Where the plan stands."""
        return self.past[-1].state if self.past else {}

    @property
    def edits(self) -> Sequence[str]:
        """What was done, the last first."""
        return [r.edit for r in reversed(self.past[1:])]

    def earlier(self, name: str, text: str) -> bool:
        """Whether a file stood like this before the last line: the line was written, the file not yet."""
        digest = hashlib.blake2b(text.encode("utf-8"), digest_size=16).hexdigest()
        around = [*self.past[-2:-1], *self.future[-1:]]
        return any(r.state.get(name) == digest for r in around)

    def texts(self, state: State) -> dict[str, str]:
        """The texts of a state."""
        try:
            return {n: (self.place / "texts" / d).read_bytes().decode("utf-8") for n, d in state.items()}
        except (OSError, ValueError):
            raise DataError(
                "the studio's journal is damaged.", hint=f"move {self.place.name} away; the plan is whole"
            ) from None
