"""The third step of PeGS: rows from laws, in chunks of any size, the same for any chunks and threads."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import canonical_type
from sfumato.errors import ParameterError
from sfumato.progress import track
from sfumato.seeds import Key
from sfumato.sources import BatchSource, Pieces
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.laws import LawBook
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.synthesis import _kernels

T = TypeVar("T")

CHUNK = 131_072  # rows that are drawn and decoded together
_DIGITS = 2**40  # sizes whose product stays below share a word of the seed


@dataclass(frozen=True, eq=False)
class Sampler:
    """Laws, seeds and a key: row r depends on these and on r alone, or in blocks on its block alone.

    The stream is derived from the key and from everything that is drawn from: a key that is used again, for
    other data or another prior, gives unrelated words. The same words under two laws would tell more than the
    two releases' promises add up to: where a row differs, a threshold was moved.

    block: rows that come from one seed with resets, or None for PeGS without. pool: (columns, members) of
    codes to take seeds from; None for uniform ones.
    """

    book: LawBook
    key: Key
    sweeps: int = 1
    block: int | None = None
    pool: NDArray[Any] | None = None
    _stream: NDArray[np.uint32] = field(init=False)

    def __post_init__(self) -> None:
        digest = hashlib.blake2b(repr((self.sweeps, self.block)).encode())
        for law in self.book.laws:
            digest.update(repr((law.block.column, law.block.parents, law.weights.shape)).encode())
            digest.update(np.ascontiguousarray(law.weights).data)
            digest.update(b"" if law.keys is None else np.ascontiguousarray(law.keys).data)
        digest.update(b"" if self.pool is None else np.ascontiguousarray(self.pool).data)
        object.__setattr__(self, "_stream", self.key.derive("pegs", "rows", digest.hexdigest()).array())

    @cached_property
    def _seeds(self) -> _kernels.Seeds:
        from sfumato.synthesis import _kernels

        variables = len(self.book.laws)
        if self.pool is not None:
            inverse = self.book.order.argsort()
            pool = np.ascontiguousarray(self.pool[inverse]).astype(self.book.dtype)
            for i, law in enumerate(self.book.laws):
                if law.own is not None:
                    pool[i] = 0  # a detailed column is drawn without looking at its seed
            return _kernels.Seeds(1, np.zeros(variables, np.int64), pool)
        starts, word, product = np.zeros(variables, np.int64), 0, 1
        for i, law in enumerate(self.book.laws):
            product *= law.size
            if product > _DIGITS:
                word, product = word + 1, law.size
            starts[i] = word
        return _kernels.Seeds(word + 1, starts, np.empty((variables, 0), self.book.dtype))

    def codes(self, first: int, rows: int) -> NDArray[Any]:
        """Rows first, first + 1, ... as codes (columns, rows); `first` begins a block."""
        from sfumato.synthesis import _kernels
        from sfumato.synthesis.structural_zeros import _kernels as restricted

        book, exact = self.book, not self.key.seeded
        out = np.empty((len(book.laws), rows), book.dtype)
        if book.restricted:
            failed = restricted.pegs_general(
                self._stream, self.block or 1, self.sweeps, self.block is not None, first,
                self._seeds, book.shape, book.slots, book.zeros, book.exact.cumulative, out,
            )  # fmt: skip
            if failed:
                raise ParameterError(
                    "the constraints leave so few combinations that no seed was found.",
                    hint="give a public pool of rows that keep them as seeds",
                )
            return book.codes(out)
        laws = book.exact if exact else book.quick
        if self.block is None:
            _kernels.pegs(self._stream, exact, self.sweeps, first, self._seeds, book.shape, laws, out)
        else:
            _kernels.pegs_blocks(
                self._stream, exact, self.block, self.sweeps, first, self._seeds, book.shape, laws, out
            )
        return book.codes(out)

    def table(self, rows: int, chunk: int = CHUNK, threads: int = 1) -> Table:
        """So many rows as a table that draws them anew, alike, whenever it is read."""
        domain, block = self.book.blocks.domain, self.block or 1
        step = max(1, chunk // block) * block
        arrow = pa.schema([pa.field(b.name, canonical_type(b.column)) for b in domain.released])

        def one(start: int) -> pa.RecordBatch:
            codes = self.codes(start, min(step, rows - start))
            return domain.decode(codes, self.key, start)

        def batches() -> Iterator[pa.RecordBatch]:
            with ThreadPoolExecutor(threads) as pool:
                yield from _ahead(pool, one, range(0, rows, step), threads)

        def open_(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
            for batch in track(batches(), "synthesizing", rows):
                yield batch.select(list(names))

        pieces = Pieces(
            _Remote(self.book, self.key.to_bytes(), self.sweeps, self.block, self.pool, step), step
        )
        return Table(BatchSource(arrow, open_, rows=rows, pieces=pieces), domain.schema)


@dataclass(frozen=True, eq=False)
class _Remote:
    """A sampler for another process of ours: its key travels as bytes."""

    book: LawBook
    key: bytes
    sweeps: int
    block: int | None
    pool: NDArray[Any] | None
    step: int

    def __call__(self, first: int, rows: int) -> Iterator[pa.RecordBatch]:
        sampler = Sampler(self.book, Key.from_bytes(self.key), self.sweeps, self.block, self.pool)
        for start in range(first, first + rows, self.step):
            codes = sampler.codes(start, min(self.step, first + rows - start))
            yield self.book.blocks.domain.decode(codes, sampler.key, start)

    def __repr__(self) -> str:
        return "_Remote(...)"  # not its key


def _ahead(
    pool: ThreadPoolExecutor, work: Callable[[int], T], items: Sequence[int], ahead: int
) -> Iterator[T]:
    """Results in order, with a few computed ahead; not all at once, which would fill the memory."""
    waiting: list[Future[T]] = []
    for item_ in items:
        waiting.append(pool.submit(work, item_))
        if len(waiting) > ahead:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()


def trace(sampler: Sampler, row: int = 0) -> list[NDArray[Any]]:
    """The states that lead to one row: the seed, then one for each draw, as codes of the domain.

    In plain Python, word by word, with Python's whole numbers: it is also what the loops are tested against.
    """
    from sfumato import _chacha
    from sfumato.synthesis import _kernels

    book, shape = sampler.book, sampler.book.shape
    if sampler.key.seeded or book.restricted:
        raise ParameterError("a trace follows the exact sampler.", hint="give a secret key, no constraints")
    seeds = sampler._seeds
    block = sampler.block or 1
    first = row - row % block
    x = np.empty((len(book.laws), 1), book.dtype)
    words = np.empty((1, seeds.words + len(book.laws)), np.uint64)
    _chacha.chacha_rows(sampler._stream, 0, first, words)
    _kernels.seed_rows(words, seeds, shape.sizes, x)
    states, visited = [book.codes(x.copy())[:, 0]], set()
    for at in range(first, row + 1):
        for sweep in range(sampler.sweeps):
            _chacha.chacha_rows(sampler._stream, sweep, at, words)
            for i, law in enumerate(book.laws):
                k = sum(
                    int(x[p, 0]) * int(s) for p, s in zip(shape.parents[i], shape.strides[i], strict=True)
                )
                if sampler.block is not None and (i, k) in visited and not law.model:
                    k = int(shape.prior_law[i] + x[shape.prior_group[i], 0] * shape.prior_stride[i])
                else:
                    visited.add((i, k))
                weights = [int(w) for w in law.weights[k]]
                total, word = sum(weights), int(words[0, seeds.words + i])
                u = word * total >> 64
                if word * total % 2**64 < 2**64 % total:
                    u = int(_kernels.redrawn(sampler._stream, sweep, at, i, len(book.laws), np.uint64(total)))
                j = 0
                while u >= weights[j]:
                    u -= weights[j]
                    j += 1
                x[i, 0] = j
                states.append(book.codes(x.copy())[:, 0])
    return states


def pool_codes(domain: Domain, pool: Table) -> NDArray[Any]:
    """A pool of seeds as codes; refused where it does not fit, without those that break a constraint."""
    names = domain.declared.names
    absent = [n for n in names if n not in pool.schema]
    if absent:
        raise ParameterError(
            f"the pool of seeds lacks {len(absent)} of the {len(names)} columns.", hint="a row a seed"
        )
    coded = pool.with_schema(domain.schema).encode(names).codes
    kept = domain.join(coded[:, ~domain.declared.violations(coded)])
    if not kept.shape[1]:
        raise ParameterError("the pool of seeds has no row that keeps the constraints.", hint="add rows")
    return kept
