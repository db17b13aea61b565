"""A fitted private model: noisy tables, the model that has them, and rows from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from sfumato.counts import Counts
from sfumato.counts.tables import check_set
from sfumato.errors import ParameterError, SfumatoError, listed
from sfumato.io import scan
from sfumato.privacy import Guarantee
from sfumato.release import InternalRecord, Release
from sfumato.seeds import Key
from sfumato.sources import BatchSource, Pieces, Source
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.private.allocation import C
from sfumato.synthesis.private.calibration import calibrated
from sfumato.synthesis.private.exact_counts import MAX_CELLS, candidates
from sfumato.synthesis.private.files import Content, load, save
from sfumato.synthesis.private.layout import Codes, Floats
from sfumato.synthesis.private.measurement import Measured
from sfumato.synthesis.private.potentials import Potentials
from sfumato.table import Table

CHUNK = 65_536
FRESH_SWEEPS = 8
# Rows up to which they are calibrated: asked for, or as many as the data have.
_CALIBRATED, _AS_THE_DATA = 200_000, 5_000_000
_MUCH = 0.3


@dataclass(frozen=True, eq=False)
class PrivateModel:
    """What `PrivateSynthesizer.fit` gives back. All of it is covered by the guarantee, and may be published.

    measured: the noisy answers; potentials: the model learnt from them; plan: what was asked for.
    _kind: what the data came as, without any of it, so that rows come back as the same.
    """

    domain: Domain
    guarantee: Guarantee
    measured: Measured
    potentials: Potentials
    plan: Mapping[str, Any] = field(default_factory=dict)
    _kind: Source | None = field(default=None, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the rows."""
        return self.domain.names

    @property
    def rows(self) -> int:
        """The number of rows, as far as it may be known: noised, or declared."""
        return max(round(self.measured.rows), 1)

    def __repr__(self) -> str:
        claims = ", ".join(claim.title for claim in self.guarantee.claims)
        return (
            f"PrivateModel({len(self.columns)} columns, {len(self.measured.pairs)} of their pairs measured, "
            f"about {self.rows:,} rows; {claims})"
        )

    # -- what was measured -----------------------------------------------------------------------

    @property
    def measurements(self) -> pa.Table:
        """Every noisy number that was drawn, one a row, with its noise: all that is known of the data.

        what: rows, scores, column or pair; first, second: the columns; level and other_level: the cell;
        value: the noisy number (of tables: with the mean taken out along every axis, or with pure epsilon the
        count itself); sigma: the standard deviation of its noise; law; cost: of the whole table.
        """
        parts = []
        for what, m in self.measured.everything():
            places = np.indices(m.values.shape).reshape(m.values.ndim, -1)
            number = m.values.size
            names = [self.columns[j] for j in m.columns]
            levels = [
                self.domain.books[j].decode(places[i]).cast(pa.string()) for i, j in enumerate(m.columns)
            ]
            if what == "scores":
                names, levels = [], []
            empty = pa.nulls(number, pa.string())
            parts.append(
                pa.table(
                    {
                        "what": pa.array([what] * number),
                        "first": pa.array([names[0]] * number) if names else empty,
                        "second": pa.array([names[1]] * number) if len(names) > 1 else empty,
                        "level": levels[0] if levels else empty,
                        "other_level": levels[1] if len(levels) > 1 else empty,
                        "value": pa.array(m.values.ravel() / m.factor),
                        "sigma": pa.array(np.full(number, m.sigma)),
                        "law": pa.array([m.law] * number),
                        "cost": pa.array(np.full(number, m.amount)),
                    }
                )
            )
        return pa.concat_tables(parts)

    @property
    def noise_of_pairs(self) -> float:
        """The share of rows that noise alone would move in an average pair's table, were all pairs measured.

        From public numbers: the sizes of the columns, the number of rows, and what was spent.
        """
        sizes, rows = self.domain.sizes, self.measured.rows / int(self.plan.get("max_rows_per_person", 1))
        cells = [a * b for a, b in combinations(sizes, 2)]
        spent = sum(m.amount for _, m in self.measured.everything())
        if self.measured.scores is None:  # pure: E|noise| of a cell is pairs / epsilon
            return 0.5 * float(np.mean(cells)) * len(cells) / spent / rows
        return 0.5 * C * float(np.mean(cells)) * float(np.sqrt(len(cells) / (2 * spent))) / rows

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a user of the rows should know, from public numbers alone."""
        return (*self._too_wide(), *self._too_noisy())

    def _too_wide(self) -> tuple[str, ...]:
        may = set(candidates(self.domain.sizes))
        wide = [p for p in combinations(range(len(self.columns)), 2) if p not in may]
        if not wide:
            return ()
        named = listed([f"'{self.columns[a]}' with '{self.columns[b]}'" for a, b in wide], 12)
        return (
            f"Pairs of columns with more than {MAX_CELLS:,} combinations were not measured and come out as "
            f"if independent, but for what other columns say of both: {named}.",
        )

    def _too_noisy(self) -> tuple[str, ...]:
        if self.noise_of_pairs < _MUCH:
            return ()
        pairs = len(self.columns) * (len(self.columns) - 1) // 2
        return (
            f"With this budget and about {self.rows:,} rows, {len(self.measured.pairs)} of {pairs} pairs of "
            "columns were measured, and noise hides most of how columns depend on each other. Expect tables "
            "of two columns hardly better than if all columns were independent. No private method does much "
            "better here: it takes more rows, fewer levels or a larger epsilon.",
        )

    # -- counts ----------------------------------------------------------------------------------

    def counts(self, *columns: str) -> Counts:
        """The model's counts: the estimated tables of one column or a measured pair, else the particles'."""
        check_set(columns, self.columns)
        places = tuple(self.domain.place(c) for c in columns)
        books = [self.domain.books[j] for j in places]
        return Counts.of_dense(books, self._dense(places))

    def tabulate(self, sets: Iterable[Sequence[str]]) -> dict[tuple[str, ...], Counts]:
        """Several counts."""
        return {tuple(s): self.counts(*s) for s in sets}

    def _dense(self, places: tuple[int, ...]) -> Floats:
        wanted = self.potentials.wanted
        if len(places) == 1:
            return wanted.own[places[0]]
        for pair, table in zip(wanted.pairs, wanted.tables, strict=True):
            if pair == places:
                return table
            if pair == places[::-1]:
                return table.T
        sizes = [self.domain.sizes[j] for j in places]
        if np.prod([float(k) for k in sizes]) > 2**28:
            raise ParameterError("a table of so many cells is too large.", hint="ask for fewer columns")
        particles = self.potentials.particles
        key = np.ravel_multi_index([particles[j].astype(np.int64) for j in places], sizes)
        shown = np.bincount(key, minlength=int(np.prod(sizes))).reshape(sizes)
        return np.asarray(shown * (self.measured.rows / particles.shape[1]))

    # -- rows ------------------------------------------------------------------------------------

    def sample(
        self,
        rows: int | None = None,
        *,
        key: Key | None = None,
        seed: int | None = None,
        calibrate: bool | None = None,
        threads: int = 1,
    ) -> Release:
        """Rows from the model, as a release. They cost nothing, however many.

        rows: how many; by default as many as the data have, as far as that may be known.
        key, seed: of the draw; a secret key by default. The promise does not rest on it: the noise lies in
            the tables already, and came from the operating system.
        calibrate: move the rows until their tables are the measured ones, without sampling error of their
            own; they are kept in memory. By default up to 200,000 rows, or up to 5 million where `rows`
            is not given. Otherwise rows are independent
            draws, made chunk by chunk as they are read, the same for any number of threads.
        """
        key = _key(key, seed)
        number = self.rows if rows is None else rows
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= 10**12:
            raise ParameterError("rows is a whole number, at least 1.", hint="sample(10_000)")
        if not isinstance(threads, int) or threads < 1:
            raise ParameterError("threads is a whole number, at least 1.", hint="threads=2")
        few = number <= (_CALIBRATED if rows is not None else _AS_THE_DATA)
        whole = few if calibrate is None else calibrate
        codes = self.codes(number, key) if whole else None
        pieces = None if whole else Pieces(_Remote(self.potentials, self.domain, key.to_bytes()))
        reader = self._reader(number, key, codes, threads)
        source = BatchSource(self._arrow(), reader, rows=number, pieces=pieces)
        record = InternalRecord(
            key=key,
            seed=seed,
            plan={**self.plan, "n": number, "calibrated": whole},
            tables={"measurements": self.measurements},
        )
        about = "Synthetic rows, drawn from noisy tables of the data: no row is that of a person."
        if "largest_weight" in self.plan:
            stood = self.measured.rows * float(self.plan["largest_weight"])
            about += f" By the survey weights they stand for about {stood:,.0f} in all."
        data = Table(source, self.domain.schema)
        return Release(data, self.guarantee, record, " ".join([about, *self.notes]), self._kind)

    def codes(self, rows: int, key: Key) -> Codes:
        """Calibrated rows as codes, (columns, rows)."""
        return calibrated(self.potentials, rows, key)

    def fresh(self, first_row: int, rows: int, key: Key, threads: int = 1) -> Codes:
        """Independent rows as codes, (columns, rows): a particle each, moved by several sweeps of its own.

        Row r depends on the key and r alone, so chunks may be of any size and drawn anywhere.
        """
        cuts = [rows * i // threads for i in range(threads + 1)]

        def part(i: int) -> Codes:
            return _fresh(self.potentials, first_row + cuts[i], cuts[i + 1] - cuts[i], key)

        if threads == 1:
            return part(0)
        with ThreadPoolExecutor(threads) as pool:
            return np.concatenate(list(pool.map(part, range(threads))), axis=1)

    def _arrow(self) -> pa.Schema:
        return self.domain.decode(np.empty((len(self.columns), 0), np.uint16), Key.from_seed(0)).schema

    def _reader(self, rows: int, key: Key, codes: Codes | None, threads: int) -> Any:
        def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
            for start in range(0, rows, CHUNK):
                size = min(CHUNK, rows - start)
                if codes is not None:
                    part = codes[:, start : start + size]
                else:
                    part = self.fresh(start, size, key, threads)
                yield self.domain.decode(part, key, start).select(list(names))

        return read

    # -- files -----------------------------------------------------------------------------------

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the model as one file of arrays and JSON; `load` reads it. It may be published."""
        content = Content(self.domain, self.guarantee, self.measured, self.potentials, self.plan)
        return save(content, Path(path), overwrite)

    @classmethod
    def load(cls, path: str | Path) -> PrivateModel:
        """Read a saved model."""
        return cls(*load(Path(path)))

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        # A model fitted to an engine's table holds on to the engine, to give rows back to it.
        raise SfumatoError("a model is not pickled: the data might travel with it.", hint="model.save(path)")


def _fresh(potentials: Potentials, first_row: int, rows: int, key: Key) -> Codes:
    out = potentials.start(key, first_row, rows)
    stream = key.derive("fresh rows")
    for number in range(FRESH_SWEEPS):
        potentials.sweep(out, stream, number, first_row)
    return out


@dataclass(frozen=True, eq=False, repr=False)
class _Remote:
    """What another process of ours needs to draw fresh rows: a key travels as bytes."""

    potentials: Potentials
    domain: Domain
    key: bytes

    def __call__(self, first: int, rows: int) -> Iterator[pa.RecordBatch]:
        key = Key.from_bytes(self.key)
        for start in range(first, first + rows, CHUNK):
            size = min(CHUNK, first + rows - start)
            yield self.domain.decode(_fresh(self.potentials, start, size, key), key, start)


def kind_of(source: Source, domain: Domain) -> Source:
    """A source of the same library as the data's, without rows, its types those of the domain.

    A frame's own types tell of its rows: a categorical of pandas lists the values that occur, and whole
    numbers become floats where one is missing. None of that may come back with synthetic rows.
    """
    empty = domain.decode(np.empty((len(domain.names), 0), np.uint16), Key.from_seed(0))
    if source.flavour == "pandas":
        return scan(pa.Table.from_batches([empty]).to_pandas(), domain.schema).source
    if source.flavour == "polars":
        import polars as pl

        return scan(pl.DataFrame(pa.Table.from_batches([empty])), domain.schema).source
    return source


def _key(key: Key | None, seed: int | None) -> Key:
    if key is not None and seed is not None:
        raise ParameterError("a draw has a key or a seed, not both.", hint="leave one of them out")
    if seed is not None:
        return Key.from_seed(seed)
    return key if key is not None else Key.fresh()
