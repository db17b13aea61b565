"""Linking by the columns that tell most: an intruder who matches on what still matches, and forgives errors.

`deterministic` asks that a record fits everything that is known; two columns that were shifted or blanked
then hide everybody, although the others still name them. The intruders here look for the columns that tell
(`most_telling`), or for the record that agrees in most of them (`tolerant`).

What is chosen is chosen on some of the people and tried on the others: choosing does not flatter. Not the
other way round as well: two choices that are each tried on the people of the other err to the same side, and
the spread of their mean is up to a quarter more than that of so many independent people.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.assessment.attacks.agreement import Agreement, BestRecords, agreement
from sfumato.assessment.attacks.intruder import Ints, View, correspondence, in_threads, knows, look
from sfumato.assessment.attacks.success import CONFIDENCE, rate
from sfumato.assessment.reading.alignment import Pair
from sfumato.errors import ParameterError
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table

Truth = str | Sequence[int] | Ints | None
Subset = tuple[int, ...]

_CHOOSING = 4  # one in so many people is chosen on, the others are attacked
_SEARCHED = 1_000  # people at most on whom is chosen, and as many of the control
_FEWEST = 200  # the same where the release is long
_SEEN = 2**26  # people times records on whom columns are chosen
_RECORDS = 2**20  # released records on which columns are chosen
_WORK = 1e10  # words that may be looked at while columns are chosen
_BEAM = 4  # sets of columns that are extended side by side
_TRIED = 50_000  # people on whom the choice is tried, and as many of the control
_PAIRS = 2e8  # people times records that are compared by the tolerant intruder
_COLUMNS = 20  # known columns from which on fewer pairs are compared
_AT_ONCE = 20_000_000  # words that are compared sooner than threads are started
_LEAST = 500  # people who are attacked however long the release is
_MARGINS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)  # bits
_SHARES = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.999)


@dataclass(frozen=True, eq=False)
class Part:
    """Some people, their own records where they are known, and some people outside the data."""

    people: Ints
    own: Ints | None
    control: Ints | None


def most_telling(
    pair: Pair,
    known: Sequence[str],
    *,
    key: Key,
    truth: Truth = None,
    control: Table | None = None,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """Link by those known columns by which a single released record fits most people, beyond strangers.

    What is sought: claims about people less claims about the control; right claims where only the truth is
    there. All sets of up to three columns are tried, the best are extended and thinned out.
    """
    own, everyone, strangers = _given(pair, known, key, truth, control, _TRIED)
    view = look(pair, known)
    outside = None if strangers is None else look(pair, known, strangers)
    first, rest = _parted(everyone, own, None if outside is None else len(outside.people), key)
    columns = [view.columns[c] for c in _search(view, outside, first, key)]
    seen = look(pair, columns)
    some = replace(seen, people=seen.people[rest.people])
    lone, right, others = some.matches == 1, None, None
    if rest.own is not None:
        right = lone & some.may_be(rest.own)
    if rest.control is not None and strangers is not None:
        theirs = look(pair, columns, strangers)
        others = replace(theirs, people=theirs.people[rest.control]).matches == 1
    return _scores(
        "linking by the most telling columns", pair, known, lone, right, others, confidence,
        f"exactly one released record fits in the columns that tell most ({', '.join(columns)})",
        {"chosen": columns},
    )  # fmt: skip


def tolerant(
    pair: Pair,
    known: Sequence[str],
    *,
    key: Key,
    truth: Truth = None,
    control: Table | None = None,
    pairs: float = _PAIRS,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """Link with the record that agrees best, if it agrees well and the runner-up is clearly worse.

    How well, and how much worse, is chosen on other people than those attacked. pairs: people times records
    that are compared; people are drawn by the key where there are more.
    """
    fewer = max(1.0, len(known) / _COLUMNS)  # each column more takes its time
    most = max(_LEAST, int(pairs / fewer / pair.released.rows()) // 2)
    own, everyone, strangers = _given(pair, known, key, truth, control, most)
    seen = agreement(pair, known, strangers)
    first, rest = _parted(everyone, own, None if seen.control is None else len(seen.control), key)
    margin, share = _rule(first, *_found(seen, first))
    people, outside = _found(seen, rest)
    lone = _claims(people, margin, share)
    right = None if rest.own is None else lone & (people.which == rest.own)
    return _scores(
        "linking that forgives errors", pair, known, lone, right,
        None if outside is None else _claims(outside, margin, share), confidence,
        "one released record agrees well in what is known, rare values counting most, and all others agree "
        "clearly less",
        {"rule": {"bits_ahead": margin, "share_agreeing": share}},
    )  # fmt: skip


def _given(
    pair: Pair, known: Sequence[str], key: Key, truth: Truth, control: Table | None, most: int
) -> tuple[Ints | None, Ints, Table | None]:
    """Whose record is whose, the people who are attacked, and those outside the data."""
    own = correspondence(pair, truth)
    if own is None and control is None:
        raise ParameterError(
            "neither the truth nor people outside the data are given: a right claim looks like a wrong one.",
            hint="control=..., or truth='rows'",
        )
    everyone = _drawn(pair.original.rows(), most, key.derive("people"))
    strangers = control
    if control is not None and control.rows() > most:
        rows = _drawn(control.rows(), most, key.derive("control"))
        strangers = Table.from_arrow(control.to_arrow().take(pa.array(rows)), control.schema)
    return own, everyone, strangers


def _drawn(rows: int, most: int, key: Key) -> Ints:
    if rows <= most:
        return np.arange(rows)
    return np.sort(key.generator("drawn").choice(rows, most, replace=False)).astype(np.int64)


def _parted(everyone: Ints, own: Ints | None, outside: int | None, key: Key) -> tuple[Part, Part]:
    """Those on whom is chosen, and the others, at random; where there is a single person, they are both."""
    people = key.generator("halves").permutation(everyone)
    others = None if outside is None else key.generator("control halves").permutation(outside)

    def cut(rows: Ints, second: bool) -> Ints:
        mark = min(_SEARCHED, max(1, len(rows) // _CHOOSING))
        part = rows[mark:] if second else rows[:mark]
        return np.sort(part if len(rows) > 1 else rows).astype(np.int64)

    first, second = (
        Part(
            cut(people, later),
            None if own is None else own[cut(people, later)],
            None if others is None else cut(others, later),
        )
        for later in (False, True)
    )
    return first, second


def _scores(
    name: str,
    pair: Pair,
    known: Sequence[str],
    lone: NDArray[np.bool_],
    right: NDArray[np.bool_] | None,
    others: NDArray[np.bool_] | None,
    confidence: float,
    how: str,
    details: dict[str, object],
) -> list[Score]:
    knowledge = knows(known, pair=pair)
    scores = []
    if others is not None:
        scores.append(
            rate(
                f"{name}, claimed",
                lone,
                meaning=f"Share of people whom the intruder claims to have found, because {how}. The control "
                "shows how often that happens to people who are not in the data. What to go by was chosen on "
                "other people than those attacked.",
                knowledge=knowledge,
                columns=known,
                control=others,
                confidence=confidence,
                details=details,
            )
        )
    if right is not None:
        scores.append(
            rate(
                f"{name}, re-identified",
                right,
                meaning=f"Share of people whose own record is the one the intruder claims, because {how}. "
                "What to go by was chosen on other people than those attacked.",
                knowledge=knowledge,
                columns=known,
                baseline=1 / pair.released.rows(),
                confidence=confidence,
                details={**details, "claimed": float(lone.mean())},
            )
        )
    return scores


# -- which columns ------------------------------------------------------------------------------


@dataclass(eq=False)
class _Search:
    """What sets of columns give on some people. spent: words looked at.

    rank: columns by how few records fit a value: those first, most words are then empty at once. empty: sets
    in which no record fits anybody.
    """

    bits: NDArray[np.uint64]
    starts: Ints
    words: int
    people: Ints
    own: Ints | None
    control: Ints | None
    rank: Ints
    spent: float = 0.0
    empty: set[Subset] = field(default_factory=set)

    def worth(self, columns: Subset) -> float:
        """Claims about people less claims about strangers, or right claims."""
        if any(fewer in self.empty for fewer in itertools.combinations(columns, len(columns) - 1)):
            self.empty.add(columns)  # what no record fits, none fits in one column more
            return 0.0
        attacked = len(self.people) + (0 if self.control is None else len(self.control))
        self.spent += float(self.words * len(columns) * attacked)
        found = self._alone(self.people, columns)
        others = None if self.control is None else self._alone(self.control, columns)
        if (found == -1).all() and (others is None or (others == -1).all()):
            self.empty.add(columns)
        if others is not None:
            return float((found >= 0).mean() - (others >= 0).mean())
        assert self.own is not None
        return float(((found >= 0) & (found == self.own)).mean())

    def _alone(self, lines: Ints, columns: Subset) -> Ints:
        from sfumato.assessment.attacks import _agreement_kernels as kernels

        out = np.empty(len(lines), np.int64)
        ordered = sorted(columns, key=self.rank.__getitem__)
        some = np.ascontiguousarray(lines[:, ordered])
        starts = self.starts[ordered]

        def look_at(part: slice) -> None:
            kernels.alone(some[part], self.bits, starts, self.words, out[part])

        if self.words * some.size < _AT_ONCE:
            look_at(slice(None))
        else:
            in_threads(look_at, len(lines))
        return out


def _search(view: View, outside: View | None, part: Part, key: Key) -> Subset:
    """The best set of columns on some people: all small ones, the best extended, the last thinned out."""
    search = _prepared(view, outside, part, key)
    width = len(view.columns)
    worth: dict[Subset, float] = {}

    def tried(sets: Iterator[Subset] | Sequence[Subset], share: float) -> None:
        for columns in sets:
            if search.spent > share * _WORK:
                return
            if columns not in worth:
                worth[columns] = search.worth(columns)

    for size in (1, 2, 3):
        tried(itertools.combinations(range(width), size), size / 6)
    tried([tuple(range(width))], 1.0)
    size = max(len(s) for s in worth if len(s) < width or width == 1)
    while size < width:
        front = sorted((s for s in worth if len(s) == size), key=lambda s: (-worth[s], s))[:_BEAM]
        tried([tuple(sorted({*s, c})) for s in front for c in range(width) if c not in s], 0.9)
        size += 1
    best = min(worth, key=lambda s: (-worth[s], len(s), s))
    while len(best) > 1:  # a column that adds nothing is left out
        fewer = [tuple(c for c in best if c != out) for out in best]
        tried(fewer, 1.0)
        shorter = min((s for s in fewer if s in worth), key=lambda s: (-worth[s], s), default=best)
        if worth[shorter] < worth[best]:
            break
        best = shorter
    return best


def _prepared(view: View, outside: View | None, part: Part, key: Key) -> _Search:
    """Which records fit each value of those on whom columns are chosen, as bits."""
    records = _drawn(len(view.released), _RECORDS, key.derive("records"))
    most = min(_SEARCHED, max(_FEWEST, _SEEN // len(records)))
    some = _drawn(len(part.people), most, key.derive("searched"))
    people = view.people[part.people[some]]
    strangers = None
    if outside is not None and part.control is not None:
        chosen = part.control[_drawn(len(part.control), most, key.derive("strangers"))]
        strangers = outside.people[chosen]
    place = np.full(len(view.released) + 1, -3, np.int64)
    place[records] = np.arange(len(records))
    words = -(-len(records) // 64)
    tables, lines, others, fitting = [], [], [], []
    for c, covers in enumerate(view.covers):
        both = people[:, c] if strangers is None else np.concatenate([people[:, c], strangers[:, c]])
        values, at = np.unique(both, return_inverse=True)
        codes = view.released[records, c]
        table = np.zeros((len(values), words * 8), np.uint8)
        for line, value in zip(table, values, strict=True):
            fits = np.packbits(covers[codes, value], bitorder="little")
            line[: len(fits)] = fits
        fitting.append(float(np.bitwise_count(table).sum(axis=1, dtype=np.int64)[at].mean()))
        tables.append(table.view("<u8").astype(np.uint64, copy=False))
        lines.append(at[: len(people)])
        others.append(at[len(people) :])
    return _Search(
        bits=np.concatenate([t.ravel() for t in tables]),
        starts=np.cumsum([0, *[len(t) for t in tables[:-1]]]),
        words=words,
        people=np.stack(lines, axis=1),
        own=None if part.own is None else place[part.own[some]],
        control=None if strangers is None else np.stack(others, axis=1),
        rank=np.argsort(np.argsort(fitting, kind="stable")),
    )


# -- how well a record agrees -------------------------------------------------------------------


def _found(seen: Agreement, part: Part) -> tuple[BestRecords, BestRecords | None]:
    others = None
    if part.control is not None and seen.control is not None:
        others = seen.best(seen.control[part.control])
    return seen.best(seen.people[part.people]), others


def _claims(found: BestRecords, margin: float, share: float) -> NDArray[np.bool_]:
    claimed: NDArray[np.bool_] = (found.margin >= margin) & (found.share >= share)
    return claimed


def _rule(part: Part, people: BestRecords, others: BestRecords | None) -> tuple[float, float]:
    """How far ahead, and how well agreeing, a record must be for claims to be worth most on these people."""

    def worth(rule: tuple[float, float]) -> float:
        claims = _claims(people, *rule)
        if others is not None:
            return float(claims.mean() - _claims(others, *rule).mean())
        right = claims & (people.which == part.own)
        return float(right.mean() - (claims & ~right).mean())

    return max(itertools.product(_MARGINS, _SHARES), key=worth)  # of equals the first: the most claims
