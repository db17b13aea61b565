"""Linking by a few known things: who of the released persons fits them, and how sure a guess is.

The intruder knows the columns of a person (sex, age band) and h things drawn from the person's own. Of the n
released persons who fit, one is named at random: it is the right one with a chance of at most 1 / n, so the
attack counts 1 / n, and 0 where nobody fits. The same is done with people who are not in the data; what they
reach is due to the population, and only the rest to the release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.assessment.attacks.success import rate
from sfumato.assessment.sequences.traces import Ints, Sides, Things, Trace
from sfumato.assessment.sequences.vocabulary import meaning
from sfumato.database import Database
from sfumato.errors import ParameterError, listed
from sfumato.progress import report
from sfumato.schema import Role
from sfumato.score import Score
from sfumato.seeds import Key

Floats = NDArray[np.float64]
SIZES = {"codes": (1, 2, 3, 5), "numbers of records": (1, 2)}
_OTHERS = (1, 2, 3)
_MOST_CLASSES = 3_000  # more would be people by themselves: such columns are things of their own


@dataclass(frozen=True)
class PersonClasses:
    """What is known of a person beside the things: per side, the number of the class; who fits each.

    fits: (classes of original and control, released classes). columns: by their names.
    """

    columns: tuple[str, ...]
    original: Ints
    control: Ints | None
    released: Ints
    fits: NDArray[np.bool_]
    unread: tuple[str, ...] = ()


def classes(
    sides: Sides,
    columns: Sequence[str] | None = None,
    above: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
) -> PersonClasses:
    """The classes of persons by columns of their own table: by default its quasi-identifiers but dates.

    above: by column and value, the released values that stand for it, as far as somebody said.
    """
    original, control, released = sides
    known = _columns(original, released) if columns is None else _there(original, released, columns)
    whole = len(known) and all(d.keys.get(d.root) == d.person_column(d.root) for d in sides if d is not None)
    known = _coarse(original, known) if whole else ()  # else several rows per person: not the person's
    rows: dict[tuple[str | None, ...], int] = {}
    labels: dict[tuple[str | None, ...], int] = {}
    before = _classed(original, known, rows)
    other = None if control is None else _classed(control, known, rows)
    after = _classed(released, known, labels)
    fits = np.ones((max(1, len(rows)), max(1, len(labels))), np.bool_)
    unread = []
    for at, column in enumerate(known):
        leaves = sorted({row[at] for row in rows if row[at] is not None}, key=str)
        texts = sorted({row[at] for row in labels if row[at] is not None}, key=str)
        found = meaning([str(v) for v in leaves], [str(v) for v in texts], (above or {}).get(column))
        unread += [column] if found.unread else []
        table = np.zeros((len(leaves) + 1, len(texts) + 1), np.bool_)
        table[:, -1] = table[-1, :] = True  # what was withheld fits everybody, and so does what is not known
        for leaf, nodes in enumerate(found.nodes):
            table[leaf, nodes] = True
        place, label = ({v: i for i, v in enumerate(values)} for values in (leaves, texts))
        a = [place.get(row[at], -1) if row[at] is not None else -1 for row in rows]
        b = [label.get(row[at], -1) if row[at] is not None else -1 for row in labels]
        fits &= table[np.ix_(a, b)]
    return PersonClasses(known, before, other, after, fits, tuple(unread))


def _columns(original: Database, released: Database) -> tuple[str, ...]:
    root = original[original.root].schema
    after = released[released.root].schema if released.root in released.tables else root
    dates = ("date", "datetime", "instant")
    return tuple(c for c in root.of_role(Role.QUASI_IDENTIFIER) if c in after and root[c].type not in dates)


def _there(original: Database, released: Database, columns: Sequence[str]) -> tuple[str, ...]:
    """The named columns; those that the release does not have tell an intruder nothing there."""
    names = [c.removeprefix(f"{original.root}.") for c in columns]
    wrong = [repr(c) for c in names if c not in original[original.root].schema]
    if wrong:
        raise ParameterError(
            f"not in the table of persons '{original.root}': {listed(wrong)}.", hint='columns=["sex"]'
        )
    return tuple(c for c in names if c in released[released.root].schema)


def _coarse(original: Database, columns: Sequence[str]) -> tuple[str, ...]:
    """As many columns, those with the fewest values first, as make classes and not single people."""
    ways: list[tuple[int, str]] = []
    for column in columns:
        seen: dict[tuple[str | None, ...], int] = {}
        _classed(original, [column], seen)
        ways.append((len(seen), column))
    kept: list[str] = []
    for _, column in sorted(ways):
        joint: dict[tuple[str | None, ...], int] = {}
        _classed(original, [*kept, column], joint)
        if len(joint) > _MOST_CLASSES:
            break
        kept.append(column)
    return tuple(c for c in columns if c in kept)


def _classed(database: Database, columns: Sequence[str], known: dict[tuple[str | None, ...], int]) -> Ints:
    found = np.zeros(database.people.count, np.int64)
    if not columns:
        known.setdefault((), 0)
        return found
    for batch, numbers in database.people.batches(database.root, list(columns)):
        texts = [c.cast(pa.string()).to_pylist() for c in batch.columns]
        coded = np.array([known.setdefault(row, len(known)) for row in zip(*texts, strict=True)], np.int64)
        found[numbers[numbers >= 0]] = coded[numbers >= 0]
    return found


class ReleasedPersons:
    """The released persons of one trace, to be looked up by what an intruder knows."""

    def __init__(self, trace: Trace, known: PersonClasses, *, together: bool = False) -> None:
        self._trace, self._known = trace, known
        things = trace.released if together else trace.released.once
        if together:
            things = _in_records(things)
        order = np.lexsort((things.record if together else things.person, things.item))
        self._unit = (things.record if together else things.person)[order]
        self._owner = things.person[order]
        items = things.item[order]
        top = int(items.max()) + 1 if len(items) else 0
        self._start = np.searchsorted(items, np.arange(top + 1))
        self._together = together
        self._of = dict(zip(self._unit.tolist(), self._owner.tolist(), strict=True)) if together else {}

    def fitting(self, leaves: Ints, group: int) -> Ints:
        """The released persons who may have all of these things (in one record, if asked), and the class."""
        lists = sorted((self._having(int(leaf)) for leaf in leaves), key=len)
        found = lists[0]
        for other in lists[1:]:
            if not len(found):
                return found
            at = np.minimum(np.searchsorted(other, found), len(other) - 1)
            found = found[other[at] == found]
        if self._together and len(found):
            found = np.unique(np.array([self._of[int(unit)] for unit in found], np.int64))
        kept: Ints = found[self._known.fits[group, self._known.released[found]]]
        return kept

    def _having(self, leaf: int) -> Ints:
        """Persons (or records) with a released thing that stands for this one."""
        trace = self._trace
        nodes = trace.nodes[trace.start[leaf] : trace.start[leaf + 1]]
        nodes = nodes[nodes < len(self._start) - 1]
        lists = [self._unit[self._start[n] : self._start[n + 1]] for n in nodes]
        return lists[0] if len(lists) == 1 else np.unique(np.concatenate([np.empty(0, np.int64), *lists]))


def _in_records(things: Things) -> Things:
    keep = things.record >= 0
    return Things(things.person[keep], things.item[keep], things.record[keep])


def linked(
    found: Sequence[Trace], known: PersonClasses, persons: int, key: Key
) -> Iterator[tuple[int, str, Score]]:
    """Every attack: how many things are known, of which kind, and its score."""
    for at, trace in enumerate(found):
        report("linking people by what is known of them", at, len(found))
        ways = [(False, h) for h in SIZES.get(trace.kind, _OTHERS)]
        ways += [(True, h) for h in (2, 3)] if (trace.original.record >= 0).any() else []
        for together in dict.fromkeys(way[0] for way in ways):
            released = ReleasedPersons(trace, known, together=together)
            for h in (size for same, size in ways if same is together):
                score = _attack(trace, released, known, h, persons, key, together)
                if score is not None:
                    yield h, trace.kind, score


def _attack(
    trace: Trace,
    released: ReleasedPersons,
    known: PersonClasses,
    h: int,
    persons: int,
    key: Key,
    together: bool,
) -> Score | None:
    own = key.derive("linkage", trace.kind, h, int(together))
    outcomes = _played(trace.original, released, known.original, h, persons, own.derive("in"), together)
    if len(outcomes) < 2:
        return None
    others = None
    if trace.control is not None and known.control is not None:
        others = _played(trace.control, released, known.control, h, persons, own.derive("out"), together)
        if len(others) < 2:
            return None
    name, known_of = _said(trace.kind, h, together)
    beside = f"{listed(known.columns, 6)} of a person, and " if known.columns else ""
    total = len(known.released)
    return rate(
        name,
        outcomes,
        meaning="The chance to name the right released person, on average over people: one in as many as fit "
        "what is known, nothing where nobody does.",
        knowledge=f"{beside}{known_of}",
        columns=known.columns,
        baseline=1 / max(1, total) if others is None else None,
        control=others,
        details={"named with certainty": float((outcomes == 1).mean())},
    )


def _said(kind: str, h: int, together: bool) -> tuple[str, str]:
    """The name of an attack, and what the intruder knows."""
    if kind == "numbers of records":
        where = f"{h} table{'s' * (h > 1)}"
        return f"linking by the number of records in {where}", f"how many records the person has in {where}"
    one = {"gaps in": "gap in"}.get(kind[:7], "")
    what = kind if h > 1 else one + kind[7:] if one else kind.removesuffix("s")
    where = " of one record" if together else ""
    return f"linking by {h} {what}{where}", f"{h} of the person's {kind}{where}, drawn at random"


def _played(
    things: Things, released: ReleasedPersons, group: Ints, h: int, persons: int, key: Key, together: bool
) -> Floats:
    """1 / n for each person drawn: n released persons fit h of their things; 0 where nobody does."""
    things = _in_records(things) if together else things.once
    if not len(things.person):
        return np.empty(0)
    unit = things.record if together else things.person
    order = np.lexsort((things.item, unit))
    unit, item, person = unit[order], things.item[order], things.person[order]
    start = np.append(np.flatnonzero(np.diff(unit, prepend=-1)), len(unit))
    able = np.flatnonzero(np.diff(start) >= h)
    rng = key.generator("draw")
    able = rng.permutation(able)
    if together:  # one record of each person
        able = able[np.unique(person[start[able]], return_index=True)[1]]
    able = rng.permutation(able)[:persons]
    out = np.zeros(len(able))
    for i, u in enumerate(able):
        chosen = rng.choice(item[start[u] : start[u + 1]], h, replace=False)
        n = len(released.fitting(chosen, int(group[person[start[u]]])))
        out[i] = 1 / n if n else 0.0
    return out
