"""The folder that the person chose: no other file of the machine is listed, read or written.

A name is followed to where it really lies, links included, before anything is done with it.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sfumato.errors import ParameterError
from sfumato.io.files import FORMATS
from sfumato.studio.plan_folder import PLAN

_MOST = 500  # files that are listed


@dataclass(frozen=True)
class DataFile:
    """A file that can be opened.

    plan: the folder of its plan, whether it is there or not. database: whether it holds tables by name, each
    of which has a plan of its own.
    """

    name: str
    size: int
    plan: Path
    begun: bool
    database: bool = False


@dataclass(frozen=True)
class ChosenFolder:
    """A folder, by its real path."""

    root: Path

    @classmethod
    def at(cls, path: Path) -> ChosenFolder:
        """The folder itself, or the one a file lies in."""
        real = Path(os.path.realpath(path))
        return cls(real if real.is_dir() else real.parent)

    def inside(self, name: str) -> Path:
        """Where a name of the person's really lies; refused if that is outside, or hidden."""
        try:
            given = Path(name)
            real = Path(os.path.realpath(self.root / given))
            parts = real.relative_to(self.root).parts
        except (ValueError, OSError):
            parts = ()
        if not parts or any(part.startswith(".") for part in parts) or "\0" in name:
            raise ParameterError(
                "that is not a file of the folder the studio was started for.", hint="start it there"
            )
        return self.root.joinpath(*parts)

    def data_file(self, name: str) -> Path:
        """A file of data in the folder."""
        path = self.inside(name)
        if not path.is_file() or not is_readable(path.name):
            raise ParameterError("there is no such file of data in this folder.", hint="choose another")
        return path

    def files(self) -> list[DataFile]:
        """The files that can be opened, by name."""
        found = []
        for item in sorted(os.scandir(self.root), key=lambda e: e.name.lower())[: 20 * _MOST]:
            if item.name.startswith(".") or not is_readable(item.name) or not item.is_file():
                continue
            try:
                path = self.inside(item.name)
            except ParameterError:
                continue  # a link that leads outside
            plan = plan_folder_of(path)
            begun = (plan / PLAN).is_file()
            found.append(DataFile(item.name, path.stat().st_size, plan, begun, is_database(item.name)))
        return found[:_MOST]

    def keys(self) -> list[str]:
        """Files in the folder that may be signing keys, by name; nothing of them is read."""
        names = [e.name for e in os.scandir(self.root) if e.name.endswith(_KEY_SUFFIXES) and e.is_file()]
        return sorted(n for n in names if not n.startswith("."))[:_MOST]

    def key_file(self, name: str) -> Path:
        """A file of the folder that may be a signing key."""
        path = self.inside(name)
        if not path.is_file() or not path.name.endswith(_KEY_SUFFIXES):
            raise ParameterError("there is no such key in this folder.", hint="choose another")
        return path


_KEY_SUFFIXES = (".key", ".pem")
_DATABASES = {"duckdb": (".duckdb", ".ddb"), "sqlite": (".sqlite", ".sqlite3", ".db")}
_SUFFIXES = tuple(suffix for form in FORMATS.values() for suffix in form.suffixes)
_TABLE = re.compile(r"[^0-9A-Za-z_-]")
_LONGEST = 60


def is_database(name: str) -> bool:
    """Whether a file holds tables by name."""
    return _scheme(name) != ""


def address_of(data: Path) -> str:
    """The address of a database in a file."""
    return f"{_scheme(data.name)}:///{quote(str(data))}"


def _scheme(name: str) -> str:
    return next((s for s, suffixes in _DATABASES.items() if name.lower().endswith(suffixes)), "")


def plan_folder_of_table(root: Path, database: str, table: str) -> Path:
    """Where the plan of a table of a database lies: beside its file, or in the folder that was chosen."""
    plain = _TABLE.sub("_", f"{database}-{table}")[:_LONGEST]
    if plain != f"{database}-{table}":  # two that are written alike are two
        plain += "-" + hashlib.sha256(f"{database}\0{table}".encode()).hexdigest()[:8]
    return root / f"{plain}-plan"


def plan_folder_of(data: Path) -> Path:
    """Where the plan of a file lies: in a folder beside it."""
    fitting = [s for s in _SUFFIXES if data.name.lower().endswith(s)]
    stem = data.name[: len(data.name) - max(map(len, fitting), default=0)]
    return data.with_name(f"{stem or data.name}-plan")


def is_readable(name: str) -> bool:
    """Whether a file is one of data, by its name."""
    return name.lower().endswith((*_SUFFIXES, *(s for found in _DATABASES.values() for s in found)))
