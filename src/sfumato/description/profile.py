"""What a table gives away: each column alone, and the quasi-identifiers together.

All numbers come from counts: the one-way tables, the pairs of quasi-identifiers and their full joint.
Only names and numbers are kept, so a description can be shown where a rare value must not be. Numbers
and dates are counted as they stand in the data, not in the bins of a schema: that is what an intruder
who holds the file would see. Missing is a category like any other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from io import StringIO
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import Counts, merged, near_duplicates, representatives
from sfumato.description.one_way import gaps, one_way, open_table, refuse_all
from sfumato.description.roles import settled
from sfumato.errors import ParameterError
from sfumato.io.csv import TextFiles
from sfumato.io.excel import Sheet
from sfumato.schema import Column, Kind, Role
from sfumato.table import Table

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

_MOST_COLUMNS = 24  # crossed when no column is called a quasi-identifier
_DENSE_PAIR = 2**22  # a pair of more cells is taken from the joint: counting it would be a pass of its own
_WORK = 20_000_000  # cells looked at for one more column: bounds the search on tables where all rows differ


@dataclass(frozen=True)
class ColumnProfile:
    """One column: what it is taken for, and how much it tells by itself.

    levels: distinct values. missing: share of cells without a value. unique: share of rows whose value
    no other row has. entropy: bits an average value tells; `identifying` is their share of the bits
    that single out one row. reason, confidence: why a guessed role is what it is, and how sure that is.
    """

    name: str
    kind: str
    role: str
    type: str
    levels: int
    missing: float
    unique: float
    entropy: float
    identifying: float
    declared: bool
    confirmed: bool
    reason: str
    confidence: str = ""


@dataclass(frozen=True)
class UniquenessStep:
    """What is singled out by someone who knows these columns of a person."""

    columns: tuple[str, ...]
    unique: float


@dataclass(frozen=True)
class Together:
    """Several columns at once.

    basis: which columns these are. combinations: how many occur. smallest: rows of the rarest one.
    unique: share of rows that are alone in theirs. pair: the two columns that single out most.
    steps: from that pair on, always adding the column that singles out most.
    """

    basis: str
    columns: tuple[str, ...]
    combinations: int
    smallest: int
    unique: float
    pair: UniquenessStep | None
    steps: tuple[UniquenessStep, ...]


@dataclass(frozen=True)
class PersonRows:
    """How the rows spread over persons.

    respelled: ids that only spell another one differently, and count as the same person. near: ids that
    differ from another one in case, blanks, punctuation or leading zeros alone, and count as others.
    """

    column: str
    persons: int
    most: int
    mean: float
    respelled: int = 0
    near: int = 0


@dataclass(frozen=True)
class Description:
    """What `describe` found. Holds no cell value. dialect: how a text file was read."""

    rows: int
    columns: tuple[ColumnProfile, ...]
    together: Together | None
    person: PersonRows | None
    left_out: tuple[str, ...] = ()
    dialect: str = ""

    def __getitem__(self, name: str) -> ColumnProfile:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        return asdict(self)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from sfumato.description.display import describe_lines

        return describe_lines(self, options.max_width)

    def __repr__(self) -> str:
        return f"Description({self.rows:,} rows, {len(self.columns)} columns)"

    def __str__(self) -> str:
        from rich.console import Console

        paper = StringIO()
        Console(width=100, file=paper, color_system=None, markup=False, emoji=False).print(self)
        return "\n".join(line.rstrip() for line in paper.getvalue().splitlines())

    def _repr_html_(self) -> str:
        from sfumato.description.display import html_description

        return html_description(self)


def describe(table: Table) -> Description:
    """Look at every column alone, and at the quasi-identifiers together.

    >>> found = sf.describe(sf.samples.members(100).select(["age", "sex"]))
    >>> print(found)
    100 rows, 2 columns
    ...
    65 combinations occur, the rarest in 1 row; 38.0% of the rows are alone in theirs.
    ...
    """
    if not isinstance(table, Table):
        raise ParameterError("describe takes a table.", hint="sf.scan(...) makes one")
    open_ = open_table(table)
    counted, refused = one_way(open_)
    refuse_all(table, refused)
    rows = int(next(iter(counted.values())).total) if counted else table.rows()
    table = table.with_schema(settled(table.schema, counted, rows))
    profiles = tuple(_profile(table.schema[name], counts, rows) for name, counts in counted.items())
    stored, origin = table.source.arrow_schema.names, table.source.origin
    return Description(
        rows=rows,
        columns=profiles,
        together=_together(open_, profiles, rows),
        person=_person(table, counted),
        left_out=tuple(n for n in stored if n not in table.schema),
        dialect=origin.reading if isinstance(origin, TextFiles | Sheet) else "",
    )


def _profile(column: Column, counts: Counts, rows: int) -> ColumnProfile:
    bits = entropy(counts.n)
    return ColumnProfile(
        name=column.name,
        kind=str(column.kind),
        role=str(column.role),
        type=column.type,
        levels=len(counts.codebooks[0].levels),
        missing=_share(gaps(counts), rows),
        unique=_share(alone(counts.n), rows),
        entropy=bits,
        identifying=min(1.0, bits / math.log2(rows)) if rows > 1 else 0.0,
        declared=column.declared,
        confirmed=column.confirmed,
        reason=column.reason,
        confidence=column.confidence,
    )


def entropy(n: NDArray[Any]) -> float:
    """Bits: log2 N - sum n log2 n / N."""
    total = float(n.sum())
    if total == 0:
        return 0.0
    return max(0.0, math.log2(total) - float((n * np.log2(n)).sum()) / total)


def alone(n: NDArray[Any]) -> int:
    """Rows that are the only one of their cell."""
    return int((n == 1).sum())


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _person(table: Table, counted: dict[str, Counts]) -> PersonRows | None:
    names = table.schema.of_role(Role.PERSON)
    if not names:
        return None
    counts = counted[names[0]]
    book = replace(counts.codebooks[0], column=table.schema[names[0]])
    together = merged(replace(counts, codebooks=(book,)), names[0])
    n = together.n[together.codes[:, 0] < len(book.levels)]
    if not len(n):
        return None
    respelled = int((representatives(book) != np.arange(book.size)).sum())
    return PersonRows(names[0], len(n), int(n.max()), float(n.mean()), respelled, near_duplicates(book))


# -- together ------------------------------------------------------------------------------------


def _crossed(profiles: Sequence[ColumnProfile]) -> tuple[str, list[str]]:
    """The quasi-identifiers; where none is named, what an intruder could know instead."""
    known = [p.name for p in profiles if p.role == Role.QUASI_IDENTIFIER]
    if known:
        return f"{len(known)} quasi-identifier{'s' * (len(known) > 1)}", known
    apart = (Role.IDENTIFIER, Role.PERSON, Role.WEIGHT)
    rest = [p for p in profiles if p.role not in apart and p.kind != Kind.TEXT and p.levels > 1]
    if len(rest) <= _MOST_COLUMNS:
        return "all columns but those that name people", [p.name for p in rest]
    kept = {p.name for p in sorted(rest, key=lambda p: -p.entropy)[:_MOST_COLUMNS]}
    return f"the {_MOST_COLUMNS} most varied columns", [p.name for p in rest if p.name in kept]


def _together(table: Table, profiles: Sequence[ColumnProfile], rows: int) -> Together | None:
    basis, names = _crossed(profiles)
    if not names or not rows:
        return None
    sizes = {name: book.size for name, book in table.codebooks(names).items()}
    pairs = list(combinations(names, 2))
    dense = [p for p in pairs if sizes[p[0]] * sizes[p[1]] <= _DENSE_PAIR]
    counted = table.tabulate([*dense, tuple(names)])
    joint = counted[tuple(names)]
    by_pair = {p: alone(counted[p].n) for p in dense}
    by_pair |= {p: alone(joint.project(*p).n) for p in pairs if p not in by_pair}
    ranked = [p.name for p in sorted(profiles, key=lambda p: -p.entropy) if p.name in names]
    steps: tuple[UniquenessStep, ...] = ()
    if by_pair:
        # The pair of the most entropy where none singles out anybody: the search has to start somewhere.
        best = max(by_pair, key=lambda p: (by_pair[p], -ranked.index(p[0]) - ranked.index(p[1])))
        steps = tuple(
            UniquenessStep(columns, _share(unique, rows))
            for columns, unique in _growth(joint, best, by_pair[best], ranked)
        )
    return Together(
        basis=basis,
        columns=tuple(names),
        combinations=joint.cells,
        smallest=int(joint.n.min()),
        unique=_share(alone(joint.n), rows),
        pair=steps[0] if steps else None,
        steps=steps,
    )


def _growth(
    joint: Counts, pair: tuple[str, ...], unique: int, ranked: Sequence[str]
) -> list[tuple[tuple[str, ...], int]]:
    """Add, one by one, the column that singles out most further rows, until all are as alone as they get."""
    steps = [(pair, unique)]
    final = alone(joint.n)
    codes = {name: joint.codes[:, i].astype(np.uint64) for i, name in enumerate(joint.columns)}
    groups, n = _grouped(codes[pair[0]] << np.uint64(32) | codes[pair[1]]), joint.n
    settled = 0
    while len(steps[-1][0]) < len(codes) and (steps[-1][1] < final or len(steps) == 1):
        # Rows that are alone stay alone: only the others are looked at again.
        single = np.bincount(groups, weights=n) == 1
        settled += int(single.sum())
        kept = ~single[groups]
        groups, n = _grouped(groups[kept]), n[kept]
        codes = {name: c[kept] for name, c in codes.items()}
        left = [c for c in ranked if c not in steps[-1][0]]
        tried = left[: max(1, _WORK // max(1, len(n)))]
        refined = {c: _grouped(groups.astype(np.uint64) << np.uint64(32) | codes[c]) for c in tried}
        gained = {c: int((np.bincount(g, weights=n) == 1).sum()) if len(g) else 0 for c, g in refined.items()}
        best = max(tried, key=lambda c: gained[c])
        groups = refined[best]
        steps.append(((*steps[-1][0], best), settled + gained[best]))
    return steps


def _grouped(keys: NDArray[Any]) -> NDArray[np.int64]:
    """Keys as group numbers 0, 1, 2, ..."""
    return np.unique(keys, return_inverse=True)[1].astype(np.int64)
