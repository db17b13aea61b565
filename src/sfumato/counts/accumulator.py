"""Rows in, joints out: the same accumulator for codes in memory, batches of a file, and Spark's executors."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts.codebook import Codebook, Codes
from sfumato.counts.planner import cover
from sfumato.counts.tables import Counts, checked_sets, flat_keys, split_keys
from sfumato.errors import DataError, ParameterError

DENSE_CELLS = 2**22  # a joint up to this size is an array: 32 MiB with its two banks
_PASS_CELLS = 2**24  # the joints of one pass: 128 MiB with their banks, as much again when these are summed
_ROWS = 2**19  # codes in memory are counted in parts that the processor's last cache holds
_FLUSH_ROWS = 2**31  # before a 32-bit counter could overflow

Joint = tuple[str, ...]
Matrix = tuple[NDArray[Any], NDArray[np.float64] | None]
Matrices = Callable[[Sequence[str]], Iterator[Matrix]]


def threads() -> int:
    """How many threads count: one per core this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cells_of(joint: Joint, books: Mapping[str, Codebook]) -> int:
    """How many cells the full table of a joint has."""
    return math.prod(books[c].size for c in joint)


def encode_batch(batch: pa.RecordBatch, books: Sequence[Codebook]) -> NDArray[Any]:
    """A batch as a matrix of codes (columns, rows), as narrow as its widest column allows."""
    width = np.result_type(np.uint8, *[b.dtype for b in books])
    matrix = np.empty((len(books), batch.num_rows), width)
    for i, book in enumerate(books):
        matrix[i] = book.encode(batch.column(i))
    return matrix


@dataclass
class Accumulator:
    """Dense joints that grow batch by batch. Memory follows the cells, never the rows.

    books: the columns of the code matrices, in their order.
    """

    books: Sequence[Codebook]
    joints: Sequence[Joint]
    weighted: bool = False
    _tables: list[NDArray[Any]] = field(init=False)
    _totals: list[NDArray[np.int64]] | None = field(init=False, default=None)
    _pending: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        index = {b.name: i for i, b in enumerate(self.books)}
        self._columns = [np.array([index[c] for c in joint]) for joint in self.joints]
        sizes = [[self.books[i].size for i in columns] for columns in self._columns]
        cells = [math.prod(s) for s in sizes]
        # Keys are formed in the type of the sizes: the narrower, the faster.
        widths = [np.uint16 if c < 2**16 else np.uint32 for c in cells]
        self._sizes: list[NDArray[Any]] = [np.array(s, w) for s, w in zip(sizes, widths, strict=True)]
        self._tables = [np.zeros(c) if self.weighted else np.zeros((2, c), np.uint32) for c in cells]

    def add(self, codes: NDArray[Any], weights: NDArray[np.float64] | None, pool: ThreadPoolExecutor) -> None:
        """Count one batch: codes (columns, rows); the joints are shared out among the threads."""
        from sfumato.counts import _kernels

        if self._pending + codes.shape[1] > _FLUSH_ROWS:
            self._flush()
        self._pending += codes.shape[1]

        def one(i: int) -> None:
            if weights is not None:
                _kernels.tally_weighted(codes, self._columns[i], self._sizes[i], weights, self._tables[i])
            else:
                keys = np.empty(_kernels.BLOCK, self._sizes[i].dtype)
                _kernels.tally(codes, self._columns[i], self._sizes[i], self._tables[i], keys)

        list(pool.map(one, range(len(self.joints))))

    def _flush(self) -> None:
        """Move the 32-bit banks into 64-bit totals."""
        if self.weighted:
            return
        sums = [t.sum(axis=0, dtype=np.int64) for t in self._tables]
        self._totals = (
            sums if self._totals is None else [a + b for a, b in zip(self._totals, sums, strict=True)]
        )
        for table in self._tables:
            table[:] = 0
        self._pending = 0

    def flat(self) -> list[NDArray[Any]]:
        """The joints as flat arrays of cells."""
        self._flush()
        return self._tables if self.weighted else (self._totals or [])

    def dense(self) -> dict[Joint, NDArray[Any]]:
        """The joints as arrays with one axis per column."""
        return {j: t.reshape(s) for j, t, s in zip(self.joints, self.flat(), self._sizes, strict=True)}


def passes(joints: Sequence[Joint], books: Mapping[str, Codebook]) -> list[list[Joint]]:
    """The joints in parts that are counted one after the other: many large ones would not fit together."""
    parts: list[list[Joint]] = []
    room = 0
    for joint in joints:
        cells = cells_of(joint, books)
        if cells > room or not parts:  # of no levels there are no cells
            parts.append([])
            room = _PASS_CELLS
        parts[-1].append(joint)
        room -= cells
    return parts


def marginals(
    sets: Iterable[Joint], dense: Mapping[Joint, NDArray[Any]]
) -> Iterator[tuple[Joint, NDArray[Any]]]:
    """Each wanted set that lies in a joint, as a marginal of the smallest one that holds it."""
    by_size = sorted(dense, key=lambda j: dense[j].size)
    for wanted in sets:
        joint = next((j for j in by_size if set(wanted) <= set(j)), None)
        if joint is None:
            continue
        kept = [c for c in joint if c in wanted]
        table = dense[joint].sum(axis=tuple(i for i, c in enumerate(joint) if c not in wanted))
        yield wanted, table.transpose([kept.index(c) for c in wanted])


@dataclass(frozen=True)
class Coded:
    """A table as codes in memory: (columns, rows). Countable, and what kernels of every room read."""

    books: tuple[Codebook, ...]
    codes: Codes

    def __post_init__(self) -> None:
        if self.codes.ndim != 2 or len(self.codes) != len(self.books):
            raise DataError("codes must have one row per column.", hint="shape (columns, rows)")
        if self.codes.dtype.kind != "u":
            raise DataError("codes must be unsigned whole numbers.", hint="codes.astype('uint8')")
        for book, row in zip(self.books, self.codes, strict=True):
            if row.size and row.max() >= book.size:
                raise DataError(f"column '{book.name}' has codes past its levels.", hint="encode it anew")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, in the order of the rows of `codes`."""
        return tuple(b.name for b in self.books)

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return int(self.codes.shape[1])

    def counts(self, *columns: str, weights: NDArray[np.float64] | None = None) -> Counts:
        """The joint counts of some columns."""
        return self.tabulate([columns], weights=weights)[columns]

    def tabulate(
        self, sets: Iterable[Sequence[str]], *, weights: NDArray[np.float64] | None = None
    ) -> dict[Joint, Counts]:
        """The joint counts of many sets of columns, in as few passes as the planner finds."""
        if weights is not None and (
            weights.shape != (self.rows,) or not (np.isfinite(weights) & (weights >= 0)).all()
        ):
            raise ParameterError(
                "weights must be one finite number per row, not negative.", hint="correct the weights"
            )
        books = {b.name: b for b in self.books}
        return tabulate(sets, books, self._matrices(weights), weighted=weights is not None)

    def dense(self, sets: Iterable[Sequence[str]]) -> dict[Joint, NDArray[Any]]:
        """As `tabulate`, as full arrays with one axis per column, for tables that are small and full."""
        books = {b.name: b for b in self.books}
        wanted = checked_sets(sets, self.columns)
        out = dict(_count_dense(wanted, books, self._matrices(None), False))
        large = self.tabulate([s for s in wanted if s not in out])
        return {s: out[s] if s in out else large[s].dense() for s in wanted}

    def _matrices(self, weights: NDArray[np.float64] | None) -> Matrices:
        def matrices(columns: Sequence[str]) -> Iterator[Matrix]:
            index = {b.name: i for i, b in enumerate(self.books)}
            rows = [index[c] for c in columns]
            whole = rows == list(range(len(self.books)))
            codes = self.codes if whole else self.codes[rows]
            for start in range(0, max(1, self.rows), _ROWS):  # all joints read a part while it is cached
                part = slice(start, start + _ROWS)
                yield codes[:, part], None if weights is None else weights[part]

        return matrices


def tabulate(
    sets: Iterable[Sequence[str]],
    books: Mapping[str, Codebook],
    matrices: Matrices,
    *,
    weighted: bool = False,
    memory_limit: str | None = None,
) -> dict[Joint, Counts]:
    """Count many sets: one pass for all joints that fit arrays, DuckDB for each that does not.

    matrices(columns): opens the rows anew, as pairs of code matrix and weights.
    """
    wanted = checked_sets(sets, tuple(books))
    dense = _count_dense(wanted, books, matrices, weighted)
    out = {s: Counts.of_dense([books[c] for c in s], table) for s, table in dense}
    for columns in wanted:
        if columns not in out:
            out[columns] = _count_keys([books[c] for c in columns], matrices(columns), weighted, memory_limit)
    return {s: out[s] for s in wanted}


def _count_dense(
    sets: Sequence[Joint], books: Mapping[str, Codebook], matrices: Matrices, weighted: bool
) -> Iterator[tuple[Joint, NDArray[Any]]]:
    """The full tables of all sets that fit an array, one by one: who makes them sparse holds few at once."""
    left = dict.fromkeys(s for s in sets if cells_of(s, books) <= DENSE_CELLS)
    for joints in passes(cover(list(left), {name: book.size for name, book in books.items()}), books):
        for wanted, table in marginals(list(left), _one_pass(joints, books, matrices, weighted)):
            del left[wanted]
            yield wanted, table


def _one_pass(
    joints: Sequence[Joint], books: Mapping[str, Codebook], matrices: Matrices, weighted: bool
) -> dict[Joint, NDArray[Any]]:
    """The full tables of these joints; the banks they were counted in are gone before the next pass."""
    used = [name for name in books if any(name in j for j in joints)]
    accumulator = Accumulator([books[c] for c in used], joints, weighted)
    with ThreadPoolExecutor(threads()) as pool:
        for codes, weights in matrices(used):
            accumulator.add(codes, weights, pool)
    return accumulator.dense()


def _count_keys(
    books: Sequence[Codebook], matrices: Iterable[Matrix], weighted: bool, memory_limit: str | None
) -> Counts:
    """Counts of many cells: DuckDB groups the codes, and spills to disk past its memory limit."""
    sizes = [b.size for b in books]
    flat = math.prod(sizes) < 2**63

    def batch(codes: NDArray[Any], weights: NDArray[np.float64] | None) -> pa.RecordBatch:
        keys = flat_keys(codes.T, sizes)
        arrays = [keys] if keys is not None else list(codes.astype(np.uint32))
        arrays += [weights] if weights is not None else []
        return pa.RecordBatch.from_arrays([pa.array(a) for a in arrays], names=names)

    keys = ["k0"] if flat else [f"k{i}" for i in range(len(books))]
    names = [*keys, "w"] if weighted else keys
    types = [pa.uint64() if flat else pa.uint32()] * len(keys) + [pa.float64()] * weighted
    schema = pa.schema(list(zip(names, types, strict=True)))
    fault: list[BaseException] = []

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            for codes, weights in matrices:
                yield batch(codes, weights)
        except BaseException as error:  # DuckDB would only say that reading failed
            fault.append(error)
            raise

    reader = pa.RecordBatchReader.from_batches(schema, batches())
    try:
        table = _group(reader, keys, "sum(w)" if weighted else "count(*)", memory_limit)
    except Exception:
        if fault:
            raise fault[0] from None
        raise
    columns = [table.column(k).to_numpy() for k in keys]
    codes = split_keys(columns[0], sizes) if flat else np.stack(columns, axis=1)
    return Counts.of_cells(books, codes, table.column("n").to_numpy())


def _group(
    reader: pa.RecordBatchReader, keys: Sequence[str], value: str, memory_limit: str | None
) -> pa.Table:
    from sfumato.counts.duck import connect

    with connect(memory_limit) as connection:
        rows = connection.from_arrow(reader)
        listed = ", ".join(keys)
        grouped = rows.aggregate(f"{listed}, ({value}) as n", listed)
        return grouped.to_arrow_table()
