"""Codes of one table under (k, k^m): the classes are settled first, then the codes of each are recoded.

Guarantee: `KMAnonymity` of the released columns: any m codes of a row, with all quasi-identifiers, fit k rows
           (and k persons, where a column says whose rows they are), or none.
Because:   every subset of up to m codes of every row is counted within its class (`code_sets`), and rows are
           written from the very sets that were counted; a row that was not counted stops the writing. Rows
           of one class with the same codes are written alike, so that they are held once, with their number.
Assumes:   what the claim says: the intruder knows no more of a row than its quasi-identifiers and m codes.
Tested by: tests/anonymization/test_code_columns.py
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.anonymization.code_items import exploded
from sfumato.anonymization.code_ladders import ladder_of, levels_of
from sfumato.anonymization.code_sets import DROPPED, Holders, dropping_alone, recode_sets
from sfumato.anonymization.lookup import Lookup
from sfumato.counts import Codebook, same_forms
from sfumato.criteria import All, Criterion, KAnonymity, KMAnonymity, KnownSearch
from sfumato.errors import ParameterError, SfumatoWarning, listed
from sfumato.hierarchy import Hierarchy, Recipe, read_folder
from sfumato.io.spark import is_spark
from sfumato.privacy import Claim, Unit
from sfumato.privacy import KMAnonymity as Promise
from sfumato.privacy.base import ONE_ID
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.anonymization.writer import Writer

Ints = NDArray[np.int64]
_ONE_ROW = (
    "What is known of a person's codes is of one row: which rows are the same person's is not released."
)
_DATES = ("date", "datetime", "instant")


@dataclass(frozen=True)
class CodeRequest:
    """What is asked of the codes. columns: theirs, in the table's order. hierarchies: of some of them."""

    asked: KMAnonymity
    columns: tuple[str, ...]
    hierarchies: Mapping[str, Hierarchy | Recipe | str]
    person: str | None


def code_request(
    table: Table,
    criterion: Criterion,
    hierarchies: Mapping[str, Any] | str | Path | None,
    quasi_identifiers: Sequence[str] | None,
    drop: Sequence[str],
) -> tuple[CodeRequest | None, Criterion]:
    """What is asked of codes, and what is left to ask of the classes: k of them, for k^m."""
    found = [part for part in criterion.parts if isinstance(part, KMAnonymity)]
    if not found:
        return None, criterion
    if len(found) > 1:
        raise ParameterError(
            "k^m-anonymity is asked twice.", hint="one for all columns: KMAnonymity(5, 2, ('dx', 'drugs'))"
        )
    asked, schema = found[0], table.schema
    schema.require(asked.codes)
    names = tuple(c.name for c in schema if (c.name in asked.codes if asked.codes else _of_codes(c, drop)))
    rest = tuple(part for part in criterion.parts if part is not asked)
    faults = _faults(schema, names, rest, quasi_identifiers or (), drop)
    if faults:
        raise ParameterError(f"{'; '.join(faults)}.", hint="KMAnonymity(5, 2, 'diagnoses')")
    given = read_folder(hierarchies, names) if isinstance(hierarchies, str | Path) else hierarchies or {}
    own = {n: given[n] for n in names if n in given}
    if len(own) < len(names):
        bare = [repr(n) for n in names if n not in own]
        warnings.warn(
            f"codes without a hierarchy stay or are dropped: {listed(bare)}. Give one "
            f"(hierarchies={{{bare[0]}: 'icd10'}}, a recipe in the plan, a level table) and fewer are lost.",
            SfumatoWarning,
            stacklevel=3,
        )
    counts = [part.persons for part in rest if isinstance(part, KAnonymity)]
    rows = False in counts and True not in counts and None not in counts
    person = None if rows else next(iter(schema.of_role(Role.PERSON)), None)
    said = any(isinstance(p, KAnonymity) and p.k >= asked.k and p.monotone for p in rest)
    classes = rest if said else (*rest, KAnonymity(asked.k, persons=False if rows else None))
    return CodeRequest(asked, names, own, person), All(classes)


def _of_codes(column: Column, drop: Sequence[str]) -> bool:
    return column.kind is Kind.CODES and column.name not in drop


def _faults(
    schema: Schema, names: Sequence[str], rest: Sequence[Criterion], known: Sequence[str], drop: Sequence[str]
) -> list[str]:
    if not names:
        return ["no column is of kind codes: name those that hold them"]
    faults = []
    naming = [repr(n) for n in names if schema[n].role in (Role.IDENTIFIER, Role.PERSON, Role.WEIGHT)]
    faults += [f"{listed(naming)} name people or are weights, and hold no codes"] if naming else []
    odd = [repr(n) for n in names if schema[n].kind in (Kind.NUMERIC, Kind.TEXT) or schema[n].type in _DATES]
    faults += [f"{listed(odd)} are numbers, days or free text, and no codes"] if odd else []
    twice = [repr(n) for n in names if n in known]
    faults += [f"{listed(twice)} cannot be quasi-identifier and codes at once"] if twice else []
    inner = [repr(n) for n in names if any(n in (*part.sensitive, *part.weights) for part in rest)]
    faults += [f"{listed(inner)} would change after another criterion was held to them"] if inner else []
    if any(isinstance(part, KnownSearch) for part in rest):
        faults.append(
            "codes are generalized by what all rows hold, which a search that may be known must not"
        )
    gone = [repr(n) for n in names if n in drop]
    return faults + ([f"{listed(gone)} are to be left out"] if gone else [])


@dataclass(frozen=True, eq=False)
class CodeColumns:
    """How codes are written: for each class and each cell (of all columns of codes together), the new cells.

    books: the cells that occur. records: where (class, cell, ...) stands. texts: by column, per record.
    separators: by column, between the codes of a cell. meanings: (column, released code, code).
    """

    columns: tuple[str, ...]
    books: tuple[Codebook, ...]
    records: Lookup
    texts: Mapping[str, pa.Array]
    separators: Mapping[str, str]
    meanings: tuple[tuple[str, str, str], ...]
    claims: tuple[Claim, ...]
    numbers: Mapping[str, Any]

    def column(self, column: Column) -> Column:
        """What a column of codes is in the release."""
        kind = Kind.CODES if column.kind is Kind.CODES else Kind.NOMINAL
        role = Role.OTHER if column.role is Role.QUASI_IDENTIFIER else column.role
        said = f"{column.description} (generalized, some dropped)".strip()
        sign = self.separators[column.name]
        return Column(column.name, kind, role, "text", missing=True, separator=sign, description=said)

    def cells(self, label: NDArray[np.integer[Any]], batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """The new cells of rows of these classes."""
        codes = [book.encode(batch.column(name)) for name, book in zip(self.columns, self.books, strict=True)]
        record = pa.array(self.records.find([label.astype(np.uint32), *codes]))
        return {name: texts.take(record) for name, texts in self.texts.items()}

    @property
    def about(self) -> str:
        """What became of the codes, for who reads the file."""
        share = self.numbers["dropped"] / max(1, self.numbers["codes"])
        return (
            f" The codes in {listed([repr(c) for c in self.columns])} were generalized so that a few of them "
            f"fit many rows; {share:.1%} of the codes were dropped."
        )


def recode_columns(request: CodeRequest, table: Table, writer: Writer, known: Sequence[str]) -> CodeColumns:
    """Count the codes of every class, and find what each becomes. known: the quasi-identifiers."""
    if is_spark(table.source) and writer.settled.split:  # who of alike rows goes where is settled over there
        raise ParameterError(
            "on Spark, codes are generalized only where rows that are alike stay together.",
            hint="method=sf.OptimalRecoding()",
        )
    schema, asked = table.schema, request.asked
    books = tuple(_as_text(table, name) for name in request.columns)
    cells, n, whose = _gathered(request, table, writer, books)
    owner, code, values, first = _items(schema, request.columns, books, cells)
    levels = {name: levels_of(name, values[name], request.hierarchies.get(name)) for name in request.columns}
    ladder, labels = ladder_of(levels if any(values.values()) else {"": [("*",)]})
    classes = cells[:, 0].astype(np.int64)
    holders = Holders(n, whose)
    found = recode_sets(owner, code, classes, ladder, asked.k, asked.m, holders)
    alone = dropping_alone(owner, code, classes, ladder, asked.k, asked.m, holders)
    signs = {name: _separator(schema[name], levels[name]) for name in request.columns}
    texts = _texts(signs, first, owner, code, found.node, labels, len(cells))
    sizes = [int(cells[:, 0].max(initial=0)) + 1, *(book.size for book in books)]
    codes = int(n[owner].sum())
    numbers = {
        "columns": list(request.columns), "k": asked.k, "m": asked.m, "codes": codes,
        "dropped": found.dropped, "loss": found.loss, "levels_raised": found.raised,
        "dropped_by_dropping_alone": alone,
    }  # fmt: skip
    promise = Promise(asked.k, asked.m, request.columns, tuple(known))
    persons = replace(promise, unit=Unit.person()).assuming(ONE_ID, _ONE_ROW)
    claims = (promise,) if request.person is None else (persons, promise)
    above = {(name, up, row[0]) for name, rows in levels.items() for row in rows for up in row[1:]}
    meanings = tuple(sorted(m for m in above if m[1] != m[2]))
    return CodeColumns(request.columns, books, Lookup(cells, sizes), texts, signs, meanings, claims, numbers)


def _separator(column: Column, levels: Sequence[tuple[str, ...]]) -> str:
    """What stands between codes: as before, unless it stands in the name of a node as well."""
    named = {name for row in levels for name in row}
    free = (s for s in (column.separator, ";", "|", "\t") if not any(s in name for name in named))
    return next(free, column.separator)


def _as_text(table: Table, name: str) -> Codebook:
    """The cells of a column as they stand, whatever the schema says of single codes."""
    column = replace(
        table.schema[name], levels=None, labels={}, missing=True, confirmed=False,
        provenance=None,
    )  # fmt: skip
    plain = Table(table.source, Schema((column,)), table.memory_limit)
    return plain.codebooks([name])[name]


def _gathered(
    request: CodeRequest, table: Table, writer: Writer, books: Sequence[Codebook]
) -> tuple[NDArray[np.uint32], Ints, tuple[Ints, Ints] | None]:
    """(records, 1 + columns): class and cells, sorted; how many rows have each; whose they are, by person."""
    person = [request.person] if request.person else []
    width = 1 + len(books)
    parts, counts = [np.empty((0, width + len(person)), np.int64)], [np.empty(0, np.int64)]
    ids = _Persons(table.schema[person[0]]) if person else None
    for label, batch in writer.labels(table, [*request.columns, *person]):
        kept = label >= 0
        codes = [book.encode(batch.column(i)).astype(np.int64) for i, book in enumerate(books)]
        whose = [] if ids is None else [ids.numbers(batch.column(len(books)))]
        rows, often = np.unique(np.stack([label, *codes, *whose], axis=1)[kept], axis=0, return_counts=True)
        parts.append(rows)
        counts.append(often)
        if sum(map(len, parts[1:])) > 4 * max(len(parts[0]), 1_000_000):
            parts, counts = _merged(parts, counts)
    (rows,), (often,) = _merged(parts, counts)
    if ids is None:
        return rows.astype(np.uint32), often, None
    records, of = np.unique(rows[:, :width], axis=0, return_inverse=True)
    of = of.reshape(-1)
    n = np.bincount(of, often, len(records)).astype(np.int64)
    named = rows[:, width] >= 0  # rows that name nobody may be those of one who is counted: they are not
    order = np.argsort(rows[named, width], kind="stable")
    return records.astype(np.uint32), n, (of[named][order], rows[named, width][order])


def _merged(parts: list[Ints], counts: list[Ints]) -> tuple[list[Ints], list[Ints]]:
    rows, back = np.unique(np.concatenate(parts), axis=0, return_inverse=True)
    return [rows], [np.bincount(back.reshape(-1), np.concatenate(counts), len(rows)).astype(np.int64)]


class _Persons:
    """Numbers of persons: ids that are one person's in another spelling have one."""

    def __init__(self, column: Column) -> None:
        self._column = column
        self._known: dict[str, int] = {}

    def numbers(self, ids: pa.Array) -> Ints:
        """The number of each row's person; -1: it names nobody."""
        coded = ids.cast(pa.string()).dictionary_encode()
        forms = same_forms(coded.dictionary, ignore_case=self._column.ignore_case).to_pylist()
        local = [self._known.setdefault(f, len(self._known)) if f else -1 for f in forms]
        index = coded.indices.fill_null(len(local)).to_numpy(zero_copy_only=False)
        found: Ints = np.array([*local, -1], np.int64)[index]
        return found


def _items(
    schema: Schema, columns: Sequence[str], books: Sequence[Codebook], cells: NDArray[np.uint32]
) -> tuple[Ints, Ints, dict[str, list[str]], list[int]]:
    """(record, code) pairs, each once; the codes of each column; the number of its first."""
    owners, codes, values, first, at = [], [], {}, [], 0
    for j, (name, book) in enumerate(zip(columns, books, strict=True)):
        of, texts = exploded(
            schema[name], book.levels.cast(pa.string()), np.arange(len(book.levels), dtype=np.int32)
        )
        there = np.asarray(texts.is_valid().to_numpy(zero_copy_only=False), bool)
        coded = texts.drop_null().dictionary_encode()
        number = np.asarray(coded.indices.to_numpy(zero_copy_only=False), np.int64)
        start = np.searchsorted(of[there], np.arange(book.size + 1))
        mine = cells[:, 1 + j].astype(np.int64)
        lengths = np.diff(start)[mine]
        place = np.repeat(start[mine] - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
        owners.append(np.repeat(np.arange(len(cells)), lengths))
        codes.append(number[place] + at)
        values[name] = coded.dictionary.to_pylist()
        first.append(at)
        at += len(values[name])
    pairs = np.unique(np.stack([np.concatenate(owners), np.concatenate(codes)], axis=1), axis=0)
    return pairs[:, 0], pairs[:, 1], values, first


def _texts(
    signs: Mapping[str, str], first: Sequence[int], owner: Ints, code: Ints, node: Ints,
    labels: Sequence[str], records: int,
) -> dict[str, pa.Array]:  # fmt: skip
    """The new cell of each record in each column: the names of its nodes, in order; empty where all went."""
    named = np.array(labels, object)
    out = {}
    for j, (name, sign) in enumerate(signs.items()):
        end = first[j + 1] if j + 1 < len(first) else np.iinfo(np.int64).max
        mine = (code >= first[j]) & (code < end) & (node != DROPPED)
        cells: list[set[str]] = [set() for _ in range(records)]
        for record, text in zip(owner[mine].tolist(), named[node[mine]].tolist(), strict=True):
            cells[record].add(text)
        out[name] = pa.array([sign.join(sorted(cell)) or None for cell in cells], pa.string())
    return out
