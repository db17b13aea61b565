"""What the lock pins, and who asks for whom: read from the lock and from what is installed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCK = "requirements.lock"
_PIN = re.compile(r"([a-z0-9][a-z0-9.-]*)(?:\[[^\]]*\])?==([^\s;\\]+)")


@dataclass(frozen=True)
class Pinned:
    """A version that the lock admits, with the hashes of its files."""

    name: str
    version: str
    hashes: tuple[str, ...]

    @property
    def url(self) -> str:
        """Its package URL."""
        return f"pkg:pypi/{self.name}@{self.version}"


def pinned(lock: Path | None = None) -> list[Pinned]:
    """Every name and version of a lock, in its order."""
    text = (lock or ROOT / LOCK).read_text(encoding="utf-8")
    found = []
    for entry in re.split(r"\n(?=\S)", text.strip()):
        pin = _PIN.match(entry)
        if pin is None:
            raise ValueError(f"no entry of a lock: {entry.splitlines()[0]}")
        found.append(Pinned(pin[1], pin[2], tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", entry))))
    return found


def project() -> dict[str, object]:
    """The table [project] of pyproject.toml."""
    table: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return table


def needs(name: str, extras: Sequence[str] = ()) -> Iterator[Requirement]:
    """What an installed package asks for on this system; nothing where it is not installed."""
    try:
        asked = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return
    for text in asked:
        needed = Requirement(text)
        if needed.marker is None or any(needed.marker.evaluate({"extra": e}) for e in ("", *extras)):
            yield needed


def closure(requirements: Sequence[str]) -> set[str]:
    """Everything that requirements pull in, by what is installed here."""
    todo, seen = [Requirement(r) for r in requirements], set()
    while todo:
        wanted = todo.pop()
        key = (canonicalize_name(wanted.name), frozenset(wanted.extras))
        if key not in seen:
            seen.add(key)
            todo += needs(key[0], tuple(wanted.extras))
    return {str(name) for name, _ in seen}
