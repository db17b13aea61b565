"""What cannot be: combinations that no row may have, declared by a person and never read off the data.

    Implies(when={"typ": "newborn"}, then={"age": 0})
    Never({"sex": "male", "mdc": 14})
    Ordered("admitted", "discharged")

A synthesizer respects them by construction, and rows of the data that break them are dropped before
anything is counted: one row at a time, so that neighbouring data sets stay neighbours.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import Codebook
from sfumato.errors import DataError, ParameterError, SchemaError, listed
from sfumato.schema import Kind

Bools = NDArray[np.bool_]
Conditions = Mapping[str, Any]  # column -> a value or a list of values; None is missing


@dataclass(frozen=True)
class Zero:
    """A structural zero in codes: no row lies in all of the masks.

    columns: places of the columns; masks: for each, which of its codes.
    """

    columns: tuple[int, ...]
    masks: tuple[Bools, ...]

    def broken(self, codes: NDArray[Any]) -> Bools:
        """Which rows have the combination.  codes: (columns, rows)."""
        hit: Bools = np.ones(codes.shape[1], bool)
        for column, mask in zip(self.columns, self.masks, strict=True):
            hit &= mask[codes[column]]
        return hit


@dataclass(frozen=True)
class Never:
    """Nobody has all of these at once: {column: value or list of values}.

    >>> people = sf.samples.members(200).select(["region", "insurance"])
    >>> rule = sf.Never({"region": "west", "insurance": "uninsured"})
    >>> release = sf.synthesize(people, sf.MarginalBootstrap(constraints=[rule]), rows=100)
    >>> {"region": "west", "insurance": "uninsured"} in release.data.to_arrow().to_pylist()
    False
    """

    combination: Conditions = field(hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.combination, Mapping) or len(self.combination) < 2:
            raise ParameterError(
                "a combination names at least two columns.", hint="a level that never occurs: leave it out"
            )
        object.__setattr__(self, "combination", dict(self.combination))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it is about."""
        return tuple(self.combination)

    def zeros(self, places: Mapping[str, int], books: Sequence[Codebook]) -> list[Zero]:
        """The structural zeros it means."""
        masks = [_mask(books[places[n]], wanted) for n, wanted in self.combination.items()]
        return [Zero(tuple(places[n] for n in self.combination), tuple(masks))]


@dataclass(frozen=True)
class Implies:
    """Whoever has all of `when` has all of `then`: {column: value or list of values}.

    >>> people = sf.samples.members(200).select(["region", "insurance"])
    >>> rule = sf.Implies(when={"region": "west"}, then={"insurance": ["private", "public"]})
    >>> release = sf.synthesize(people, sf.MarginalBootstrap(constraints=[rule]), rows=100)
    >>> {"region": "west", "insurance": "uninsured"} in release.data.to_arrow().to_pylist()
    False
    """

    when: Conditions = field(hash=False)
    then: Conditions = field(hash=False)

    def __post_init__(self) -> None:
        for name in ("when", "then"):
            if not isinstance(getattr(self, name), Mapping) or not getattr(self, name):
                raise ParameterError(
                    f"{name} names columns and what they hold.",
                    hint="Implies({'typ': 'newborn'}, {'age': 0})",
                )
            object.__setattr__(self, name, dict(getattr(self, name)))
        if set(self.when) & set(self.then):
            raise ParameterError("a column is both in when and in then.", hint="name it once")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it is about."""
        return (*self.when, *self.then)

    def zeros(self, places: Mapping[str, int], books: Sequence[Codebook]) -> list[Zero]:
        """One structural zero for each column of `then`: all of `when`, and not this one."""
        given = {places[n]: _mask(books[places[n]], wanted) for n, wanted in self.when.items()}
        return [
            Zero((*given, places[n]), (*given.values(), ~_mask(books[places[n]], wanted)))
            for n, wanted in self.then.items()
        ]


@dataclass(frozen=True)
class Ordered:
    """The first column is never above the second, where both are there: admission and discharge.

    >>> rule = sf.Ordered("admitted", "discharged")
    >>> rule.columns
    ('admitted', 'discharged')
    """

    first: str
    second: str

    def __post_init__(self) -> None:
        if self.first == self.second:
            raise ParameterError("an order needs two columns.", hint="Ordered('admitted', 'discharged')")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it is about."""
        return (self.first, self.second)

    def zeros(self, places: Mapping[str, int], books: Sequence[Codebook]) -> list[Zero]:
        """For each code of the first: the codes of the second that lie wholly below it."""
        a, b = places[self.first], places[self.second]
        low, high = _ends(books[a])[0], _ends(books[b])[1]
        out = []
        for code, start in enumerate(low):
            below = np.zeros(books[b].size, bool)  # missing, the code after the last, is below nothing
            below[: len(high)] = [end < start or (open_ and end == start) for end, open_ in high]
            if below.any():
                only = np.zeros(books[a].size, bool)
                only[code] = True
                out.append(Zero((a, b), (only, below)))
        return out


@dataclass(frozen=True)
class Within:
    """Detailed codes in two steps: first the group, then the code within it (MDC, then diagnosis).

    column: the detailed one; group: the coarse one. members: the codes of each group, {group: [codes]}.
    A missing code may occur in every group; a missing group has no code of its own unless one is given.
    The detailed column is drawn last, given its group, and no other column is drawn given it.

    >>> codes = {"heart": ["I20", "I21"], "lung": ["J44", "J45"]}
    >>> rule = sf.Within("code", "organ", codes)
    >>> rule.columns
    ('organ', 'code')
    """

    column: str
    group: str
    members: Conditions = field(hash=False)

    def __post_init__(self) -> None:
        if self.column == self.group or not isinstance(self.members, Mapping) or not self.members:
            raise ParameterError(
                "details need a column, another one that groups them, and the members of each group.",
                hint="Within('dx', 'mdc', {1: ['3310', ...], ...})",
            )
        object.__setattr__(self, "members", dict(self.members))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it is about."""
        return (self.group, self.column)

    def possible(self, group: Codebook, detail: Codebook) -> Bools:
        """Which code goes with which group: (codes of the group, codes of the detail)."""
        table = np.zeros((group.size, detail.size), bool)
        for one, codes in self.members.items():
            table[group.code_of(one)] |= _mask(detail, codes)
        if detail.missing:
            table[:, -1] = True
        empty = int((~table.any(axis=1)).sum())
        if empty:
            raise SchemaError(
                f"{empty} of the {group.size} groups of '{self.group}' have no code in '{self.column}'.",
                hint="give members for every group, the missing one (None) included",
            )
        return table

    def zeros(self, places: Mapping[str, int], books: Sequence[Codebook]) -> list[Zero]:
        """For each group: the codes of the others."""
        group, detail = places[self.group], places[self.column]
        table = self.possible(books[group], books[detail])
        return [Zero((group, detail), (np.arange(len(table)) == g, ~row)) for g, row in enumerate(table)]


Constraint = Never | Implies | Ordered | Within


def compile_zeros(constraints: Sequence[Constraint], books: Sequence[Codebook]) -> tuple[Zero, ...]:
    """All constraints as structural zeros; what does not fit the columns is refused, all at once."""
    places = {b.name: i for i, b in enumerate(books)}
    unknown = sorted({repr(n) for c in constraints for n in c.columns if n not in places})
    if unknown:
        raise SchemaError(
            f"constraints name columns that are not synthesized: {listed(unknown)}.",
            hint=f"there are {listed([repr(n) for n in places])}",
        )
    details = [c.column for c in constraints if isinstance(c, Within)]
    twice = [n for c in constraints for n in (c.columns[:1] if isinstance(c, Within) else c.columns)]
    entangled = sorted({repr(n) for n in details if n in twice or details.count(n) > 1})
    if entangled:
        raise SchemaError(
            f"detailed columns have one group and no further constraints: {listed(entangled)}.",
            hint="put the constraint on the group",
        )
    return tuple(zero for c in constraints for zero in c.zeros(places, books))


def _mask(book: Codebook, wanted: object) -> Bools:
    """The codes of some values; a number or a day stands for the bin it lies in."""
    several = wanted if isinstance(wanted, (list, tuple, set, frozenset)) else [wanted]
    mask = np.zeros(book.size, bool)
    for one in several:
        mask[book.code_of(one)] = True
    return mask


def _ends(book: Codebook) -> tuple[list[Any], list[tuple[Any, bool]]]:
    """The lowest value of each code; the highest, and whether it lies outside. Missing is left out."""
    column = book.column
    if column.edges is not None:
        last = len(column.edges) - 2
        return list(column.edges[:-1]), [(e, i < last) for i, e in enumerate(column.edges[1:])]
    if column.kind is Kind.ORDINAL and column.type not in ("text", "boolean"):
        found = book.levels.to_pylist()
        return found, [(e, False) for e in found]
    raise SchemaError(
        f"column '{column.name}' has neither bins nor numbers to be ordered by.", hint="declare edges"
    )


# -- as people write them down -----------------------------------------------------------------------

_KINDS: dict[str, tuple[type, tuple[str, ...]]] = {
    "implies": (Implies, ("when", "then")),
    "ordered": (Ordered, ("first", "second")),
    "within": (Within, ("column", "group", "members")),
}


def from_toml(text: str, folder: Path = Path()) -> tuple[Constraint, ...]:
    """Constraints as a person writes them down: tables `never`, `implies`, `ordered`, `within`, each a list.

    [[never]]
    sex = "male"
    mdc = 14

    [[implies]]
    when = {age = 0}
    then = {pay = ["private", "medi-cal"]}

    folder: where files that `within` names lie.
    """
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(
            f"the constraints are not TOML: {error}.", hint="[[never]], [[implies]]"
        ) from None
    return from_document(found, folder)


def read_file(path: Path) -> tuple[Constraint, ...]:
    """The constraints of a TOML file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise DataError(f"{path.name} cannot be read.", hint="a TOML file of constraints") from None
    return from_toml(text, path.parent)


def from_document(found: Mapping[str, Any], folder: Path = Path()) -> tuple[Constraint, ...]:
    """The same from tables that were read already."""
    out: list[Constraint] = []
    for kind, entries in found.items():
        if kind not in ("never", *_KINDS) or not isinstance(entries, list | tuple):
            raise ParameterError(
                f"no constraint is called '{kind}'.", hint=f"[[never]], [[{']], [['.join(_KINDS)}]]"
            )
        for entry in entries:
            if kind == "never":
                out.append(Never(entry))
                continue
            make, names = _KINDS[kind]
            if kind == "within" and isinstance(entry, Mapping) and set(entry) == {"column", "group", "file"}:
                codes = _groups(folder / entry["file"])
                entry = {"column": entry["column"], "group": entry["group"], "members": codes}
            if not isinstance(entry, Mapping) or set(entry) != set(names):
                file = ", or a file instead of the members" if kind == "within" else ""
                raise ParameterError(
                    f"[[{kind}]] has {' and '.join(names)}{file}.", hint="nothing more or less"
                )
            out.append(make(**entry))
    return tuple(out)


def to_document(constraints: Sequence[Constraint]) -> dict[str, Any]:
    """Constraints as `from_document` reads them."""
    out: dict[str, Any] = {}
    for one in constraints:
        if isinstance(one, Never):
            out.setdefault("never", []).append(dict(one.combination))
            continue
        kind, names = next((k, names) for k, (make, names) in _KINDS.items() if isinstance(one, make))
        out.setdefault(kind, []).append({n: getattr(one, n) for n in names})
    return out


def _groups(path: Path) -> dict[str, list[str]]:
    """{group: its codes} from a CSV file of code and group with a header."""
    members: dict[str, list[str]] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file))[1:]
    except (OSError, ValueError, csv.Error):
        raise DataError(f"{path.name} cannot be read.", hint="a CSV file of code and group") from None
    if not rows or any(len(row) != 2 for row in rows):
        raise DataError(f"{path.name} is not a table of code and group.", hint="two columns and a header")
    for code, group in rows:
        members.setdefault(group, []).append(code)
    return members
