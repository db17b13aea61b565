"""The document: a folder with a plan and its files, exactly as `sfumato init` writes it.

Every click is a named edit: from the texts of the plan's files to new ones. It is noted in a journal beside
the plan first, then written, each file whole or not at all.

Guarantee: whenever the process is killed, every file of the plan is one that an edit has made, and the next
           start finishes the last edit or has never heard of it. What others change in the files meanwhile is
           noticed, kept, and can be undone like an edit. Nothing is written, replaced or
           deleted outside of the folder, whoever it came from.
Because:   a line of the journal is on disk before the first file is touched (journal.py), and files are
           written beside and renamed (io/atomic.py). A link that leads out of the folder is refused wherever
           something is written or deleted by way of it.
Assumes:   one studio at a time works in a folder: it holds a lock.
Tested by: tests/studio/test_plan_folder.py, tests/studio/test_kill.py
"""

from __future__ import annotations

import json
import os
import threading
import tomllib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any

from sfumato._system import locks
from sfumato.errors import DataError, ParameterError, PlanError, SfumatoError
from sfumato.io.atomic import write_text
from sfumato.plan import Plan
from sfumato.plan.database import DatabasePlan
from sfumato.plan.spec import NAME as EDITOR_SCHEMA
from sfumato.plan.spec import json_schema_text
from sfumato.schema import Schema
from sfumato.studio.journal import Journal, Texts, is_plan_file, refuse_link

PLAN, SCHEMA = "plan.toml", "schema.toml"
OWN = ".studio"  # the studio's own folder beside the plan: journal, results, what was counted
Change = Callable[[Mapping[str, str]], Texts]
_Mark = tuple[int, int, int]


class StaleEdit(SfumatoError):
    """An edit was made on a state that is no longer the current one: another window was faster."""

    def __init__(self) -> None:
        super().__init__(
            "the plan has changed meanwhile, in another window or an editor.",
            hint="this is how it is now; click again if you still want to",
        )


class LinkedPlan(PlanError):
    """What stands in place of the plan of a table where the plan is one for linked tables, and sound."""

    def __init__(self) -> None:
        super().__init__("this plan is for linked tables.", hint="sfumato run plan.toml --out release")


def named(edit: str, **numbers: object) -> str:
    """The name of an edit, in no language yet: its sentence in `texts`, and what belongs in it."""
    return json.dumps([edit, numbers])


class PlanFolder:
    """A plan that is being edited. fixed: it is only looked at, and no file of it is written."""

    def __init__(self, folder: Path, *, fixed: bool = False) -> None:
        self.folder, self.fixed = folder.resolve(), fixed
        own = self.folder / OWN
        refuse_link(own, own / "lock")
        own.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock_file = os.open(own / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            locks.hold(self._lock_file, wait=False)
        except BlockingIOError:
            os.close(self._lock_file)
            raise ParameterError(
                f"another studio works on '{self.folder.name}'.", hint="use its window, or close it first"
            ) from None
        self._guard = threading.RLock()
        self._texts: dict[str, str] = {}
        self._marks: dict[str, _Mark | None] = {}
        self._checked: tuple[int, Plan | DatabasePlan | PlanError] | None = None
        try:
            self._journal = Journal.at(own)
            self._finish()
        except BaseException:
            self.close()  # else whoever mends the folder would find it in use
            raise

    def __enter__(self) -> PlanFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder."""
        locks.close(self._lock_file)

    @property
    def own(self) -> Path:
        """Where the studio keeps what is not the plan."""
        return self.folder / OWN

    # -- looking -------------------------------------------------------------------------------------

    @property
    def there(self) -> bool:
        """Whether there is a plan yet."""
        return PLAN in self.texts

    @property
    def revision(self) -> int:
        """Rises with every edit."""
        return self._journal.number

    @property
    def texts(self) -> dict[str, str]:
        """The files of the plan as they are."""
        return dict(self._texts)

    @property
    def document(self) -> dict[str, Any]:
        """The plan, parsed; empty where it is not TOML (an editor may leave it so)."""
        try:
            return tomllib.loads(self._texts.get(PLAN, ""))
        except (tomllib.TOMLDecodeError, RecursionError):
            return {}

    @property
    def linked(self) -> bool:
        """Whether it is a plan for linked tables."""
        return "database" in self.document

    @property
    def plan(self) -> Plan | PlanError:
        """The plan of a table, checked, or all that is wrong with it."""
        found = self.checked
        return LinkedPlan() if isinstance(found, DatabasePlan) else found

    @property
    def checked(self) -> Plan | DatabasePlan | PlanError:
        """The plan, or all that is wrong with it. Asked again only after a change."""
        with self._guard:
            if self._checked is None or self._checked[0] != self.revision:
                kind = DatabasePlan if self.linked else Plan
                try:
                    found: Plan | DatabasePlan | PlanError = kind.read(self.folder / PLAN)
                except PlanError as error:
                    found = error
                except SfumatoError as error:
                    found = PlanError(error.message, hint=error.hint)
                self._checked = self.revision, found
            return self._checked[1]

    @property
    def schema(self) -> Schema | None:
        """What the schema says, without the plan's roles; None where it cannot be read."""
        try:
            return _parsed_schema(self._texts.get(SCHEMA, ""))
        except SfumatoError:
            return None

    @property
    def undoable(self) -> str:
        """What undo would take back; empty if nothing."""
        return self._journal.past[-1].edit if len(self._journal.past) > 1 else ""

    @property
    def redoable(self) -> str:
        """What redo would do again; empty if nothing."""
        return self._journal.future[-1].edit if self._journal.future else ""

    @property
    def history(self) -> list[str]:
        """What was done, the last first."""
        return list(self._journal.edits)

    # -- changing ------------------------------------------------------------------------------------

    def edit(self, name: str, change: Change, revision: int | None = None) -> int:
        """Do one edit, and give back the new revision.

        name: made by `named`. change: from the texts by file to those after it. revision: the one that the
        person saw.
        """
        with self._guard:
            self._require(revision)
            self._target(PLAN)
            after = dict(change(self.texts))
            for file in after:
                _require_name(file)
            if after != self._texts:
                self._journal.add(name, after)
                self._write(after)
            return self.revision

    def undo(self, revision: int | None = None) -> int:
        """Take the last edit back."""
        with self._guard:
            self._require(revision)
            self._target(PLAN)
            found = self._journal.undo()
            if found is not None:
                self._write(self._journal.texts(found.state))
            return self.revision

    def redo(self, revision: int | None = None) -> int:
        """Do again what was taken back."""
        with self._guard:
            self._require(revision)
            self._target(PLAN)
            found = self._journal.redo()
            if found is not None:
                self._write(self._journal.texts(found.state))
            return self.revision

    def refresh(self) -> int:
        """Look whether somebody else changed the files; their change becomes an edit that can be undone."""
        with self._guard:
            if all(self._mark(n) == mark for n, mark in self._marks.items()):
                return self.revision
            found = self._on_disk(self._texts)
            if found != self._texts:
                self._journal.add(named("edit.outside"), found)
                self._texts = found
            self._marks = {n: self._mark(n) for n in (PLAN, *self._texts)}
            return self.revision

    def _require(self, revision: int | None) -> None:
        self.refresh()
        if revision is not None and revision != self.revision:
            raise StaleEdit

    def _write(self, after: Texts) -> None:
        for name, text in after.items():
            if self._texts.get(name) != text or self._mark(name) is None:
                target = self._target(name)
                target.parent.mkdir(exist_ok=True)
                write_text(target, text, overwrite=True, private=True)
        for name in self._texts.keys() - after.keys():
            self._target(name).unlink(missing_ok=True)
        self._texts = dict(after)
        self._marks = {n: self._mark(n) for n in (PLAN, *self._texts)}
        if PLAN in after and not (self.folder / EDITOR_SCHEMA).exists():
            write_text(self.folder / EDITOR_SCHEMA, json_schema_text())

    # -- files ---------------------------------------------------------------------------------------

    def _target(self, name: str) -> Path:
        """Where a file of the plan is written or deleted; refused if a link leads out of the folder."""
        if self.fixed:
            raise ParameterError("nothing can be changed here.", hint="start the studio without --read-only")
        target = self.folder / name
        for place in (target.parent, target):
            if not place.resolve().is_relative_to(self.folder):
                said = place.relative_to(self.folder).as_posix()
                raise DataError(f"'{said}' leads out of the plan's folder.", hint="delete the link")
        return target

    def _finish(self) -> None:
        """Where a kill came between the journal and the files: finish; and take what others have changed."""
        meant = self._journal.texts(self._journal.state)
        names = {PLAN, SCHEMA, *meant}
        self._texts = self._on_disk(dict.fromkeys(names, ""))
        halfway = {
            n: text
            for n, text in meant.items()
            if n in self._texts and self._texts[n] != text and self._journal.earlier(n, self._texts[n])
        }
        before = self._journal.past[-2].state if len(self._journal.past) > 1 else {}
        missing = {n: t for n, t in meant.items() if n not in self._texts and n not in before}
        if (halfway or missing) and not self.fixed:
            self._write({**self._texts, **missing, **halfway})
        if self._texts and self._texts != meant:
            self._journal.add(named("edit.outside" if meant else "edit.found"), self._texts)
        self._marks = {n: self._mark(n) for n in (PLAN, *self._texts)}

    def _on_disk(self, names: Mapping[str, str]) -> dict[str, str]:
        found = {}
        for name in names:
            path = self.folder / name
            try:
                found[name] = path.read_bytes().decode("utf-8")
            except FileNotFoundError:
                continue
            except (OSError, ValueError):
                raise DataError(f"{path.name} cannot be read.", hint="it must be UTF-8 text") from None
        for name in _named(found.get(PLAN, "")):
            if name not in found and (self.folder / name).is_file():
                try:
                    found[name] = (self.folder / name).read_bytes().decode("utf-8")
                except (OSError, ValueError):
                    continue  # said when the plan is checked
        return found

    def _mark(self, name: str) -> _Mark | None:
        try:
            found = (self.folder / name).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


@lru_cache(4)
def _parsed_schema(text: str) -> Schema:
    return Schema.from_toml(text)


def _require_name(name: str) -> None:
    """Only files of the plan: plain names, at most one folder down."""
    if not is_plan_file(name):
        raise ParameterError("an edit may change files of the plan only.", hint="plan.toml, schema.toml")


def _named(plan: str) -> list[str]:
    """Files in its own folder that a plan names: schema, determination, tables of levels."""
    try:
        document = tomllib.loads(plan)
    except (tomllib.TOMLDecodeError, RecursionError):
        return []
    given = document.get("input", {})
    names = [given.get("schema")] if isinstance(given, dict) else []
    linked = document.get("database", {})
    names.append(linked.get("declared") if isinstance(linked, dict) else None)
    outputs = document.get("outputs", {})
    names.append(outputs.get("determination") if isinstance(outputs, dict) else None)
    columns = document.get("columns", {})
    for entry in columns.values() if isinstance(columns, dict) else ():
        hierarchy = entry.get("hierarchy") if isinstance(entry, dict) else None
        names.append(hierarchy.get("file") if isinstance(hierarchy, dict) else None)
    found = []
    for name in names:
        if isinstance(name, str):
            try:
                _require_name(name)
            except ParameterError:
                continue
            found.append(name)
    return found
