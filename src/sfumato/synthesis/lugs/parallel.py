"""PLUGS: LUGS by parts. Each part of the rows is learnt and sampled by itself, then mixed (Algorithm 2).

Guarantee: as LUGS, for the law each value was drawn from: every part's laws have the entropy asked for.
           Not for the table that comes out: parts that agree may make its groups less varied.
Tested by: tests/synthesis/test_plugs.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import Codebook
from sfumato.errors import DataError, ParameterError
from sfumato.io.spark import is_spark
from sfumato.methods.declaration import Declaration, Does, Need, declares
from sfumato.methods.parameters import Parameter, nested
from sfumato.methods.settings import require_numbers
from sfumato.methods.shapes import Text
from sfumato.progress import report
from sfumato.release import InternalRecord, Release
from sfumato.seeds import Key
from sfumato.synthesis.checks import whole
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.imputation import rules
from sfumato.synthesis.lugs.executors import Cells, Codes, among, cells_of, on_executors
from sfumato.synthesis.lugs.method import LUGS, _plan, about, guarantee, table_of
from sfumato.synthesis.lugs.workers import in_processes
from sfumato.synthesis.parameters import (
    count,
)
from sfumato.table import Table

Ints = NDArray[np.int64]
_CHUNK = 131_072
_STEP = np.uint64(0x9E3779B97F4A7C15)


@declares(
    Declaration(
        "plugs",
        Does.SYNTHESIZE,
        "LUGS by parts, side by side; on Spark by its executors.",
        page="lugs.md",
        claims=("DiverseLaw", "NoGuarantee"),
        needs=(Need.KEY,),
    )
)
@dataclass(frozen=True)
class PLUGS:
    """LUGS by parts. Rows are dealt out by chance, and processes and executors give the same.

    >>> people = sf.samples.members(200).select(["sex", "region", "education"])
    >>> fitted = sf.PLUGS(sf.LUGS(log_l=0.2), partitions=4, workers=2).fit(people)
    >>> fitted.method.partitions  # fitted.sample(1_000) starts the processes
    4
    """

    lugs: Annotated[LUGS, nested(LUGS, "What each part does.", beginner=True)] = field(default_factory=LUGS)
    partitions: Annotated[int, count("How many parts.", 1, beginner=True)] = 4
    on: Annotated[
        Literal["processes", "spark"] | None,
        Parameter(
            Text(
                "'processes' of this machine, or 'spark'; by default where the table lives.",
                ("processes", "spark"),
            )
        ),
    ] = None
    workers: Annotated[
        int | None, count("Processes at a time; by default as many as there are processors.", 1)
    ] = None

    def __post_init__(self) -> None:
        require_numbers(self)
        faults = []
        if isinstance(self.partitions, bool) or not isinstance(self.partitions, int) or self.partitions < 1:
            faults.append("partitions must be a whole number from 1 up")
        if self.on not in (None, "processes", "spark"):
            faults.append("on must be processes or spark")
        if self.workers is not None and self.workers < 1:
            faults.append("workers must be at least 1")
        if faults:
            raise ParameterError(f"PLUGS: {'; '.join(faults)}.", hint="PLUGS(LUGS(log_l=0.5), partitions=4)")

    def on_spark(self, table: Table) -> bool:
        """Whether executors do the work: said so, or the table lives there."""
        return self.on == "spark" or (self.on is None and is_spark(table.source))

    def fit(self, table: Table) -> FittedPLUGS:
        """Settle the domain of all parts; they are learnt when rows are asked for."""
        domain = self.lugs.domain_of(table)
        if self.on == "spark" and not is_spark(table.source):
            raise ParameterError("this table is not a Spark table.", hint='PLUGS(on="processes")')
        if not self.on_spark(table) and table.rows() < self.partitions:
            raise DataError("there are fewer rows than parts.", hint="fewer partitions")
        rules.weights_of(table, self.lugs.weight)  # refused now, not on an executor
        return FittedPLUGS(self, domain, table)


@dataclass(frozen=True, eq=False)
class FittedPLUGS:
    """Parts to be learnt and sampled."""

    method: PLUGS
    domain: Domain
    table: Table = field(repr=False)

    def sample(self, rows: int, *, key: Key | None = None, seed: int | None = None) -> Release:
        """So many rows, equally many from each part but for one, in random order.

        The same rows for the same key, by processes and on Spark, however the table lies there. Processes
        draw them now, executors when they are read or saved.
        """
        rows = whole("rows", rows)
        if key is not None and seed is not None:
            raise ParameterError("a key and a seed were given.", hint="give one of them")
        secret = key or (Key.fresh() if seed is None else Key.from_seed(seed))
        parts = self.method.partitions
        shares = [rows // parts + (p < rows % parts) for p in range(parts)]
        on_spark = self.method.on_spark(self.table)
        job = Job(self.method.lugs, self.domain.books, secret.to_bytes(), tuple(shares))
        promised = guarantee(self.method.lugs, self.domain)
        record = InternalRecord(
            key=secret,
            seed=seed,
            plan={
                "method": "plugs",
                "rows": rows,
                "partitions": parts,
                "on": "spark" if on_spark else "processes",
                **_plan(self.method.lugs),
            },
            extra={"rows by part": shares},
        )
        return Release(
            self._spark(job) if on_spark else self._processes(job, secret, rows),
            promised.seeded() if secret.seeded else promised,
            record,
            about(self.method.lugs),
            self.table.source,
        )

    def _processes(self, job: Job, key: Key, rows: int) -> Table:
        codes = np.ascontiguousarray(self.table.encode(self.domain.names).codes.T.astype(np.uint16))
        weights = rules.checked_weights(self.table, self.method.lugs.weight)
        distinct, n = np.unique(cells_of(codes, weights), return_counts=True)
        part, line, times = job.deal(distinct, n)
        jobs = range(len(job.shares))
        dealt = [(p, distinct[line[part == p]].tobytes(), times[part == p]) for p in jobs]
        found = []
        # Not forked: compiled code with threads of its own may not survive that. Not spawned either: that
        # would run the caller's script again.
        for done, drawn in enumerate(in_processes(job, dealt, self.method.workers), 1):
            found.append(drawn)
            report("synthesizing parts", done, len(jobs))
        mixed = np.concatenate(found)[np.argsort(job.order(0, rows), kind="stable")]

        def draw() -> Iterator[Codes]:
            for start in range(0, len(mixed), _CHUNK):
                yield mixed[start : start + _CHUNK]

        return table_of(self.domain, draw, key, rows)

    def _spark(self, job: Job) -> Table:
        source = self.table.source
        assert is_spark(source)
        weight = self.method.lugs.weight
        names = [*self.domain.names, *([weight] if weight else [])]
        frame = source.frame.select([source.inner(c) for c in names]).to_native()
        return on_executors(frame, self.domain, job)


@dataclass(frozen=True, eq=False, repr=False)
class Job:
    """What processes of ours need: what is learnt, and a key, which travels as bytes.

    shares: how many rows each part draws. Nothing depends on the order of the table's rows: they are dealt
    out by what they hold and how many of their like there are, and learnt in the order of their codes.
    """

    method: LUGS
    books: tuple[Codebook, ...]
    key: bytes
    shares: tuple[int, ...]

    @property
    def line(self) -> np.dtype[np.void]:
        """A row as bytes: its codes, and its weight where rows have one."""
        return np.dtype((np.void, 2 * len(self.books) + 8 * (self.method.weight is not None)))

    def deal(self, cells: Cells, n: NDArray[np.int64]) -> tuple[Ints, Ints, Ints]:
        """To which parts rows go: (part, which of `cells`, how many times).

        cells: (lines,), different rows as bytes; n: (lines,), how many there are of each. Each of them goes
        its own way, by a keyed hash of the row and its number among its like.
        """
        secret = Key.from_bytes(self.key).derive("plugs", "deal").to_bytes()[:32]
        hashed = [blake2b(cell, digest_size=8, key=secret).digest() for cell in cells.tolist()]
        own = np.frombuffer(b"".join(hashed), "<u8").astype(np.uint64)
        line = np.repeat(np.arange(len(cells)), n)
        copy = np.arange(len(line)) - np.repeat(np.cumsum(n) - n, n)
        part = among(_mixed(own[line] + copy.astype(np.uint64) * _STEP), len(self.shares))
        found, times = np.unique(np.stack([part, line], axis=1), axis=0, return_counts=True)
        return found[:, 0], found[:, 1], times

    def draw(self, part: int, cells: bytes, times: NDArray[np.int64]) -> Codes:
        """The rows of a part, from its share of the data."""
        if not len(times):
            raise DataError("a part got no rows of the table.", hint="fewer partitions")
        columns = len(self.books)
        lines = np.frombuffer(cells, self.line)
        order = np.argsort(lines, kind="stable")
        rows = np.repeat(lines[order], times[order]).view(np.uint8).reshape(int(times.sum()), -1)
        codes = np.ascontiguousarray(rows[:, : 2 * columns]).view(np.uint16)
        weights = None
        if self.method.weight is not None:
            weights = np.ascontiguousarray(rows[:, 2 * columns :]).view(np.float64).ravel()
        key = Key.from_bytes(self.key).derive("plugs", part)
        domain = Domain(self.books, self.method.constraints, public=False)
        fitted = self.method.fit_codes(domain, codes, key.derive("hashes"), weights)
        if not self.shares[part]:
            return np.empty((0, columns), np.uint16)
        return np.concatenate(list(fitted.codes(self.shares[part], key)))

    def order(self, first: int, rows: int) -> NDArray[np.uint64]:
        """Words that the rows of all parts, one part after the other, are put in order by."""
        return Key.from_bytes(self.key).derive("plugs", "order").words(0, first, rows)


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit of a word on every other (the finalizer of MurmurHash3): copies of a row go unlike ways."""
    words = (words ^ (words >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    words = (words ^ (words >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return words ^ (words >> np.uint64(33))
