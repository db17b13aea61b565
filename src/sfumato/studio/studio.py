"""What is open: the folder, the plan in it, what was seen of the data, the work in the background.

One per process; every window shows the same. It knows no screen.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import DataError, ParameterError
from sfumato.io.addresses import PASSWORD, from_folder, has_secret, is_url, last_name, require_consent
from sfumato.io.declarations import DECLARATION
from sfumato.io.engines import is_query, table_names
from sfumato.plan.document import INPUT
from sfumato.plan.limits import PUBLIC
from sfumato.plan.limits import recipient as known_recipient
from sfumato.studio.chosen_folder import (
    ChosenFolder,
    address_of,
    is_database,
    plan_folder_of,
    plan_folder_of_table,
)
from sfumato.studio.look import Look
from sfumato.studio.plan_folder import PLAN, SCHEMA, PlanFolder, named
from sfumato.studio.tasks.look import CODES, LEVELS, READING, mark_of
from sfumato.studio.work import DONE, Task, Worker

LOOKING, LINKED = "look", "linked"
_LINKED_PLAN = "linked-plan"  # of the files of the chosen folder, as linked tables


@dataclass(frozen=True)
class OfferedTables:
    """A database that a person has named, and its tables to choose from. name: of it, without passwords."""

    name: str
    address: str
    tables: tuple[str, ...]


class Studio:
    """Everything that is open. changes: rises with anything that a window should show anew.

    key: the file of a signing key that the person named in the terminal.
    """

    def __init__(
        self, chosen: ChosenFolder, *, read_only: bool = False, warm: bool = True, key: Path | None = None
    ) -> None:
        self.chosen, self.read_only, self._warm, self.key = chosen, read_only, warm, key
        self._lock = threading.RLock()
        self.plan_folder: PlanFolder | None = None
        self.worker: Worker | None = None
        self.look: Look | None = None
        self.offered: OfferedTables | None = None
        self._opened = 0

    @classmethod
    def start(cls, target: Path | None, *, read_only: bool = False, warm: bool = True) -> Studio:
        """A studio for a file of data, a plan, a folder, or where the terminal stands."""
        place = Path.cwd() if target is None else target
        if not place.exists():
            raise DataError(f"no file {place.name}.", hint="check the path")
        if place.name.endswith(".toml"):  # the data lies in its folder or the one above
            folder = place.resolve().parent
            studio = cls(ChosenFolder.at(folder.parent), read_only=read_only, warm=warm)
            if place.name != PLAN:
                raise ParameterError(
                    f"the studio edits a file called {PLAN}.", hint=f"rename {place.name}, or copy its folder"
                )
            studio.open_plan(folder)
            return studio
        studio = cls(ChosenFolder.at(place), read_only=read_only, warm=warm)
        if place.is_file():
            studio.open_data(place.name)
        return studio

    @property
    def changes(self) -> str:
        """What a window compares to see whether it shows what is."""
        folder, worker = self.plan_folder, self.worker
        if folder is None or worker is None:
            return f"{self._opened}"
        return f"{self._opened}.{folder.refresh()}.{worker.serial}"

    # -- opening -------------------------------------------------------------------------------------

    def open_data(self, name: str, recipient: str = PUBLIC.name) -> None:
        """Open a file of the folder: go on with its plan, or propose one."""
        data = self.chosen.data_file(name)
        if is_database(name):
            self.offer_file(name)
            if len(self._offered.tables) == 1:
                self.open_table(self._offered.tables[0], recipient)
            return
        self._open_or_propose(plan_folder_of(data), str(data), {}, recipient)

    def offer(self, address: str) -> None:
        """Look which tables a database has; on another machine only where its host was named beforehand."""
        if has_secret(address):
            raise ParameterError(
                f"an address with a password in it is not taken: write ${{{PASSWORD}}} in its place.",
                hint="set it in the terminal, for this shell alone, before the studio is started",
            )
        require_consent(address, "the database")
        found = tuple(n for n in table_names(address) if not is_query(n))
        if not found:
            raise DataError("the database has no tables.", hint="choose another one")
        self.offered = OfferedTables(last_name(address), address, found)
        self._opened += 1

    def offer_file(self, name: str) -> None:
        """Look which tables a database of the folder has."""
        self.offer(address_of(self.chosen.data_file(name)))

    def open_table(self, table: str, recipient: str = PUBLIC.name) -> None:
        """Open a table of the database that was offered: go on with its plan, or propose one."""
        offered = self._offered
        if table not in offered.tables:
            raise ParameterError("there is no such table in this database.", hint="choose one of the list")
        folder = plan_folder_of_table(self.chosen.root, Path(offered.name).stem, table)
        self._open_or_propose(folder, offered.address, {"table": table}, recipient)

    def open_linked(self, *, folder: bool = False) -> None:
        """Open all tables of the database that was offered, or the files of the folder, as linked tables."""
        if folder:
            place, data = self.chosen.root / _LINKED_PLAN, str(self.chosen.root)
        else:
            offered = self._offered
            place, data = (
                plan_folder_of_table(self.chosen.root, Path(offered.name).stem, "linked"),
                offered.address,
            )
        if (place / PLAN).is_file():
            self.open_plan(place)
            return
        self._require_writable(place.name)
        with self._lock:
            place.mkdir(mode=0o700, exist_ok=True)
            self._enter(place)
            self._worker.submit(LINKED, {"data": data, "propose": True}, self._folder.revision)

    @property
    def _offered(self) -> OfferedTables:
        if self.offered is None:
            raise ParameterError("no database was named.", hint="choose one first")
        return self.offered

    def _require_writable(self, name: str) -> None:
        if self.read_only:
            raise ParameterError(f"'{name}' has no plan yet, and nothing is written here.", hint="another")

    def _open_or_propose(self, folder: Path, data: str, options: Mapping[str, Any], recipient: str) -> None:
        if (folder / PLAN).is_file():
            self.open_plan(folder)
            return
        self._require_writable(folder.name)
        who = known_recipient(recipient)
        with self._lock:
            folder.mkdir(mode=0o700, exist_ok=True)
            self._enter(folder)
            self._submit_look(data, options, who.name)

    def open_plan(self, folder: Path) -> None:
        """Go on with a plan."""
        with self._lock:
            if self.plan_folder is not None and self.plan_folder.folder == folder.resolve():
                return
            self._enter(folder)
            self.look_again()

    def read_again(self, options: Mapping[str, Any]) -> None:
        """Read the data in another way, and propose anew; the plan as it is can be had back by undo."""
        folder = self._folder
        who = str(folder.document.get("thresholds", {}).get("recipient", PUBLIC.name))
        self._submit_look(self.data, options, known_recipient(who).name)

    def look_again(self) -> None:
        """Count the data of the plan as it says to read it, unless that was done."""
        worker, latest = self._worker, self._worker.latest(LOOKING)
        if not self._folder.there:
            return
        if self._folder.linked:
            if latest is None and worker.latest(LINKED) is None:
                worker.submit(LINKED, {}, self._folder.revision)
            return
        found = next((t for t in worker.tasks(LOOKING) if t.state == DONE), None)
        if found is not None and found is latest:
            try:
                look = Look.read(worker.own(found))
                there = all((look.place / name).is_file() for name in (CODES, LEVELS))
                fits = look.mark == mark_of(self.data, self.reading) and there
            except DataError:
                fits = False
            if fits:
                self.look = look
                return
        worker.submit(LOOKING, {"data": self.data, "options": self.reading}, self._folder.revision)

    def _submit_look(self, data: str, options: Mapping[str, Any], recipient: str) -> None:
        given = {"data": data, "options": dict(options), "propose": True, "recipient": recipient}
        self._worker.submit(LOOKING, given, self._folder.revision)

    def _enter(self, folder: Path) -> None:
        plan_folder = PlanFolder(folder, fixed=self.read_only)
        self.leave()
        self.plan_folder, self.look, self.offered = plan_folder, None, None
        self.worker = Worker(plan_folder.folder, plan_folder.own / "work", self._ended, warm=self._warm)
        self._opened += 1

    def _ended(self, task: Task) -> None:
        """A task has ended: what was proposed becomes an edit, what was counted is shown."""
        if task.kind not in (LOOKING, LINKED) or task.state != DONE:
            return
        place = self._worker.own(task)
        if task.given.get("propose"):
            files = (PLAN, SCHEMA) if task.kind == LOOKING else (PLAN, DECLARATION)
            texts = {n: (place / n).read_bytes().decode("utf-8") for n in files}
            self._folder.edit(named("edit.proposed"), lambda before: {**before, **texts})
        if task.kind == LINKED:
            return
        self.look = Look.read(place)
        for other in self._worker.tasks(LOOKING):  # codes are the data once more: only the last are kept
            if other.id != task.id:
                for name in (CODES, LEVELS):
                    (self._worker.own(other) / name).unlink(missing_ok=True)

    def leave(self) -> None:
        """Close what is open."""
        worker, folder = self.worker, self.plan_folder
        self.worker = self.plan_folder = None
        if worker is not None:
            worker.close()
        if folder is not None:
            folder.close()

    def close(self) -> None:
        """Close everything, and take away the copy of the data that counting was done in."""
        place = None if self.worker is None else self.worker.place
        self.leave()
        if place is not None:
            for name in (CODES, LEVELS):
                for copy in place.glob(f"*/{name}"):
                    if not copy.parent.is_symlink():
                        copy.unlink(missing_ok=True)
            for empty in place.glob("*/"):
                if not empty.is_symlink() and not any(empty.iterdir()):
                    shutil.rmtree(empty, ignore_errors=True)

    # -- looking -------------------------------------------------------------------------------------

    @property
    def _folder(self) -> PlanFolder:
        if self.plan_folder is None:
            raise ParameterError("no file is open.", hint="open one first")
        return self.plan_folder

    @property
    def _worker(self) -> Worker:
        if self.worker is None:
            raise ParameterError("no file is open.", hint="open one first")
        return self.worker

    @property
    def data(self) -> str:
        """Where the data of the plan lies; before there is a plan, what is being looked at."""
        linked = self._folder.linked
        given = self._folder.document.get("database" if linked else INPUT, {}).get("data")
        if given is None:
            latest = self._worker.latest(LOOKING) or self._worker.latest(LINKED)
            return "" if latest is None else str(latest.given.get("data", ""))
        if is_url(str(given)):
            return from_folder(str(given), self._folder.folder)
        return str((self._folder.folder / str(given)).resolve())

    @property
    def reading(self) -> dict[str, Any]:
        """How the plan says to read it."""
        given = self._folder.document.get(INPUT, {})
        return {name: given[name] for name in READING if name in given}
