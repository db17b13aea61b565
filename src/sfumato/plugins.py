"""Guests: what other installed packages bring, found by their entry points, and loaded when first asked for.

    [project.entry-points."sfumato.methods"]
    rounding = "sfumato_rounding:Rounding"

This floor knows none of what it loads. Each room asks for its own group, says which names are taken, and
checks what it gets. A guest that fails is named, left out, and takes nothing else with it.

A file never names code: a plan or a release holds a name, the name is looked up among the entry points of
packages that somebody installed, and a name that is not there loads nothing.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from sfumato.errors import ParameterError, SfumatoError, SfumatoWarning, listed, printable

VARIABLE = "SFUMATO_GUESTS"


class Group(StrEnum):
    """What a guest can bring: the groups of entry points."""

    METHODS = "sfumato.methods"
    CRITERIA = "sfumato.criteria"
    CLAIMS = "sfumato.claims"
    MEASURES = "sfumato.measures"  # of loss
    CHECKS = "sfumato.checks"  # of an assessment: attacks, and whatever else gives scores
    SOURCES = "sfumato.sources"


Check = Callable[[str, Any], None]


@dataclass(frozen=True)
class Guest:
    """One part of another package, not loaded yet."""

    group: Group
    name: str
    package: str
    _entry: EntryPoint = field(repr=False)

    @property
    def words(self) -> str:
        """Who it is, for a sentence."""
        return printable(f"{self.name} of {self.package} ({self.group})")


_off: ContextVar[bool] = ContextVar("guests are off", default=False)
_registered: dict[tuple[Group, str], Any] = {}  # given in Python by who uses the library
_loaded: dict[Guest, Any] = {}
_told: set[str] = set()


# -- on and off --------------------------------------------------------------------------------------


def enabled() -> bool:
    """Whether entry points are looked at: not within `disabled()`, nor with SFUMATO_GUESTS=off."""
    said = os.environ.get(VARIABLE, "").strip().lower()
    if said not in ("", "on", "off"):
        raise ParameterError(f"{VARIABLE} must be on or off.", hint=f"{VARIABLE}=off loads no guest")
    return said != "off" and not _off.get()


@contextmanager
def disabled() -> Iterator[None]:
    """Within this, no entry point is loaded. What was registered in Python stays: it is loaded already."""
    before = _off.set(True)
    try:
        yield
    finally:
        _off.reset(before)


# -- finding -----------------------------------------------------------------------------------------


def names(group: Group, taken: Collection[str] = ()) -> list[str]:
    """The names that guests bring, without loading any. taken: ours, which no guest can have."""
    registered = [name for kind, name in _registered if kind is group]
    return [*registered, *(n for n in _guests(group, taken) if n not in registered)]


def find(group: Group, name: str, check: Check, taken: Collection[str] = ()) -> Any:
    """What a guest brings under a name; None if there is none, or if it fails, which is said.

    check: of the room that asks; it raises for what it cannot use.
    """
    if name in taken:
        return None
    if (group, name) in _registered:
        return _registered[group, name]
    guest = _guests(group, taken).get(name)
    return None if guest is None else _load(guest, check)


def found(group: Group, check: Check, taken: Collection[str] = ()) -> dict[str, Any]:
    """All that guests bring to a group and that can be loaded, by name."""
    each = {name: find(group, name, check, taken) for name in names(group, taken)}
    return {name: thing for name, thing in each.items() if thing is not None}


def register(group: Group | str, name: str, thing: object, taken: Collection[str] = ()) -> None:
    """Make something known by a name in this process; a name that somebody else has is refused."""
    group = Group(group)
    there = _registered.get((group, name))
    if there is thing:
        return
    if there is not None or name in taken or name in _guests(group, taken):
        raise ParameterError(f"'{printable(name)}' of {group} is taken already.", hint="choose another name")
    _registered[group, name] = thing


def package(group: Group, name: str) -> str:
    """Whose a guest is."""
    entries = [e for e in _entries(group, tuple(sys.path)) if e.name == name]
    return _package(entries[0]) if entries and (group, name) not in _registered else "registered in Python"


def package_of(kind: type) -> str:
    """The package that a class comes from: as it is installed, or the first part of its module's name."""
    root = kind.__module__.partition(".")[0]
    for group in Group:
        for entry in _entries(group, tuple(sys.path)):
            if entry.module.partition(".")[0] == root:
                return _package(entry)
    return root


def forget() -> None:
    """Look at the entry points anew: after something was installed, and between tests."""
    _entries.cache_clear()
    _loaded.clear()
    _told.clear()
    _registered.clear()


def _guests(group: Group, taken: Collection[str]) -> dict[str, Guest]:
    """By name. Who takes a name of ours, or one that another package has too, is left out with a word."""
    if not enabled():
        return {}
    several: dict[str, list[Guest]] = {}
    for entry in _entries(group, tuple(sys.path)):
        several.setdefault(entry.name, []).append(Guest(group, entry.name, _package(entry), entry))
    for name, guests in several.items():
        if name in taken:
            _tell(f"{listed([g.words for g in guests])}: left out, the name is one of ours.")
        elif len(guests) > 1:
            _tell(f"{listed([g.words for g in guests])}: left out, they share one name.")
    return {n: guests[0] for n, guests in several.items() if n not in taken and len(guests) == 1}


@lru_cache(maxsize=64)
def _entries(group: Group, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """The entry points of installed packages. path: where Python looks for them, so that a change is seen."""
    each = {(e.name, e.value, _package(e)): e for e in entry_points(group=group)}
    return tuple(each[key] for key in sorted(each))


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.module.partition(".")[0]


def _load(guest: Guest, check: Check) -> Any:
    """The thing itself; None if it fails, however: another package's fault must not stop our work."""
    if guest not in _loaded:
        _loaded[guest] = None  # once is enough to fail
        try:
            thing = guest._entry.load()
            check(guest.name, thing)
            _loaded[guest] = thing
        except SfumatoError as error:
            _tell(f"{guest.words}: left out, {error.message.rstrip('.')}.")
        except (Exception, SystemExit) as error:  # its words may quote anything: only its kind is told
            _tell(f"{guest.words}: left out, it cannot be loaded ({type(error).__name__}).")
    return _loaded[guest]


def _tell(words: str) -> None:
    if words not in _told:
        _told.add(words)
        warnings.warn(f"guest {words}", SfumatoWarning, stacklevel=5)
