"""PLUGS: LUGS by parts. Each part of the rows is learnt and sampled by itself, then mixed (Algorithm 2).

Guarantee: as LUGS, for the law each value was drawn from: every part's laws have the entropy asked for.
           Not for the table that comes out: parts that agree may make its groups less varied.
Tested by: tests/synthesis/test_plugs.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import Codebook
from sfumato.errors import DataError, ParameterError
from sfumato.progress import report
from sfumato.release import InternalRecord, Release
from sfumato.seeds import Key
from sfumato.sources import EngineSource, engine_fault
from sfumato.synthesis.checks import whole
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.imputation import rules
from sfumato.synthesis.lugs.method import LUGS, _plan, about, guarantee, table_of
from sfumato.table import Table

Codes = NDArray[np.uint16]
_CHUNK = 131_072


@dataclass(frozen=True)
class PLUGS:
    """Parameters.

    lugs: what each part does. partitions: how many parts.
    on: "processes" of this machine, rows dealt out by chance; or "spark", on the executors that hold them.
    workers: processes at a time; by default as many as there are processors.
    """

    lugs: LUGS = field(default_factory=LUGS)
    partitions: int = 4
    on: Literal["processes", "spark"] = "processes"
    workers: int | None = None

    def __post_init__(self) -> None:
        faults = []
        if isinstance(self.partitions, bool) or not isinstance(self.partitions, int) or self.partitions < 1:
            faults.append("partitions must be a whole number from 1 up")
        if self.on not in ("processes", "spark"):
            faults.append("on must be processes or spark")
        if self.workers is not None and self.workers < 1:
            faults.append("workers must be at least 1")
        if faults:
            raise ParameterError(f"PLUGS: {'; '.join(faults)}.", hint="PLUGS(LUGS(log_l=0.5), partitions=4)")

    def fit(self, table: Table) -> FittedPLUGS:
        """Settle the domain of all parts; they are learnt when rows are asked for."""
        domain = self.lugs.domain_of(table)
        if self.on == "spark" and not (
            isinstance(table.source, EngineSource) and table.source.flavour == "spark"
        ):
            raise ParameterError("this table is not a Spark table.", hint='PLUGS(on="processes")')
        if self.on == "processes" and table.rows() < self.partitions:
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
        """So many rows, about equally many from each part, in random order. All are drawn now."""
        rows = whole("rows", rows)
        if key is not None and seed is not None:
            raise ParameterError("a key and a seed were given.", hint="give one of them")
        secret = key or (Key.fresh() if seed is None else Key.from_seed(seed))
        parts = self._spark(rows, secret) if self.method.on == "spark" else self._processes(rows, secret)
        codes = np.concatenate(parts)
        words = secret.derive("plugs", "order").words(0, 0, len(codes))
        mixed = codes[np.argsort(words, kind="stable")][:rows]
        promised = guarantee(self.method.lugs, self.domain)
        record = InternalRecord(
            key=secret, seed=seed,
            plan={
                "method": "plugs", "rows": rows, "partitions": self.method.partitions, "on": self.method.on,
                **_plan(self.method.lugs),
            },
            extra={"rows by part": [len(p) for p in parts]},
        )  # fmt: skip

        def draw() -> Iterator[Codes]:
            for start in range(0, len(mixed), _CHUNK):
                yield mixed[start : start + _CHUNK]

        return Release(
            table_of(self.domain, draw, secret, rows),
            promised.seeded() if secret.seeded else promised,
            record,
            about(self.method.lugs),
            self.table.source,
        )

    def _processes(self, rows: int, key: Key) -> list[Codes]:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        codes = np.ascontiguousarray(self.table.encode(self.domain.names).codes.T.astype(np.uint16))
        weights = rules.weights_of(self.table, self.method.lugs.weight)
        words = key.derive("plugs", "deal").words(0, 0, len(codes))
        dealt = np.array_split(np.argsort(words, kind="stable"), self.method.partitions)
        jobs = [
            _Job(
                self.method.lugs, self.domain.books, key.derive("plugs", p).to_bytes(), -(-rows // len(dealt))
            )
            for p in range(len(dealt))
        ]
        out = []
        # Not forked: compiled code with threads of its own may not survive that.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(self.method.workers, mp_context=context) as pool:
            shares = [None if weights is None else weights[d] for d in dealt]
            for done, part in enumerate(pool.map(_run, jobs, [codes[d] for d in dealt], shares), 1):
                out.append(part)
                report("synthesizing parts", done, len(jobs))
        return out

    def _spark(self, rows: int, key: Key) -> list[Codes]:
        source = self.table.source
        assert isinstance(source, EngineSource)
        names = [*self.domain.names, *([self.method.lugs.weight] if self.method.lugs.weight else [])]
        frame = source.frame.select([source.inner(c) for c in names]).to_native()
        frame = frame.repartition(self.method.partitions)
        job = _Job(
            self.method.lugs,
            self.domain.books,
            key.derive("plugs").to_bytes(),
            -(-rows // self.method.partitions),
        )
        try:
            found = frame.mapInArrow(job.on_executor, "part int, codes binary").toArrow()
        except Exception as error:
            raise engine_fault(error) from None
        columns = len(self.domain.names)
        order = np.argsort(found.column(0).to_numpy(), kind="stable")
        flat = found.column(1).to_pylist()
        parts = [np.frombuffer(flat[i], np.uint16).reshape(-1, columns) for i in order]
        if sum(map(len, parts)) < rows:
            raise DataError(
                "some parts of the Spark table are empty, and gave no rows.", hint="fewer partitions"
            )
        return parts


@dataclass(frozen=True)
class _Job:
    """What a part needs; a key travels as bytes, to processes that are ours."""

    method: LUGS
    books: tuple[Codebook, ...]
    key: bytes
    rows: int

    def run(self, codes: Codes, key: Key, weights: NDArray[np.float64] | None) -> Codes:
        domain = Domain(self.books, self.method.constraints, public=False)
        fitted = self.method.fit_codes(domain, codes, key.derive("hashes"), weights)
        return np.concatenate(list(fitted.codes(self.rows, key)))

    def on_executor(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        parts, weights = [], []
        for batch in batches:
            if batch.num_rows:
                codes = np.stack([b.encode(batch.column(j)) for j, b in enumerate(self.books)], axis=1)
                parts.append(codes.astype(np.uint16))
            if batch.num_rows and self.method.weight:
                raw = batch.column(len(self.books)).cast(pa.float64(), safe=False)
                weights.append(raw.to_numpy(zero_copy_only=False))
        if not parts:
            return
        context: Any = TaskContext.get()
        part = context.partitionId()
        key = Key.from_bytes(self.key).derive(part)
        own = np.concatenate(weights) if weights else None
        rows = self.run(np.ascontiguousarray(np.concatenate(parts)), key, own)
        arrays = [pa.array([part], pa.int32()), pa.array([rows.tobytes()], pa.binary())]
        yield pa.RecordBatch.from_arrays(arrays, names=["part", "codes"])


def _run(job: _Job, codes: Codes, weights: NDArray[np.float64] | None) -> Codes:
    return job.run(codes, Key.from_bytes(job.key), weights)
