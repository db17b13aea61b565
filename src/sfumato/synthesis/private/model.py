"""A fitted private model: noisy tables, the model that has them, and rows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from sfumato.counts import Counts
from sfumato.errors import ParameterError, SfumatoError
from sfumato.io import scan
from sfumato.privacy import Guarantee
from sfumato.release import InternalRecord, Release
from sfumato.seeds import Key
from sfumato.sources import BatchSource, Pieces, Source
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.private import estimates, labels, linear_models, notes, workload
from sfumato.synthesis.private.allocation import C
from sfumato.synthesis.private.calibration import calibrated
from sfumato.synthesis.private.files import Content, load, save
from sfumato.synthesis.private.intervals import About, NoisyTable, noisy_table
from sfumato.synthesis.private.layout import Codes
from sfumato.synthesis.private.linear_models import NoisyCoefficients
from sfumato.synthesis.private.measurement import Measured
from sfumato.synthesis.private.potentials import Potentials
from sfumato.synthesis.private.refinement import Refinement
from sfumato.synthesis.private.variables import DomainVariables
from sfumato.table import Table

CHUNK = 65_536
FRESH_SWEEPS = 8
# Rows up to which they are calibrated: asked for, or as many as the data have.
_CALIBRATED, _AS_THE_DATA = 200_000, 5_000_000


@dataclass(frozen=True, eq=False)
class PrivateModel:
    """What `PrivateSynthesizer.fit` gives back. All of it is covered by the guarantee, and may be published.

    measured: the noisy answers; potentials: the model learnt from them; plan: what was asked for.
    _kind: what the data came as, without any of it, so that rows come back as the same.

    >>> people = sf.samples.members(300).select(["sex", "region"])
    >>> model = sf.PrivateSynthesizer(epsilon=2.0, declared_rows=300).fit(people)
    >>> path = model.save("model")
    >>> sf.PrivateModel.load(path).counts("region").columns
    ('region',)
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
        return tuple(b.name for b in self.domain.released)

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

        what: rows, scores, column, level (columns that are one, or their groups) or pair; first, second: the
        columns; level and other_level: the cell;
        value: the noisy number (of tables: with the mean taken out along every axis, or with pure epsilon the
        count itself); sigma: the standard deviation of its noise; law; cost: of the whole table.
        """
        return labels.measurements(self.domain, self.measured)

    @property
    def classes(self) -> pa.Table:
        """Levels that pairs do not tell apart: columns, state, class. Only large columns have some.

        Within a class a level is drawn by its own frequency, whatever the other columns hold.
        """
        return labels.classes(self.domain, self.measured)

    @property
    def noise_of_pairs(self) -> float:
        """The share of rows that noise alone would move in an average pair's table, were all pairs measured.

        From public numbers: the sizes of the columns, the number of rows, and what was spent.
        """
        sizes, rows = self.measured.sizes, self.measured.rows / int(self.plan.get("max_rows_per_person", 1))
        cells = [a * b for a, b in combinations(sizes, 2)]
        if not cells:
            return 0.0
        spent = sum(m.amount for _, m in self.measured.everything())
        if self.measured.scores is None:  # pure: E|noise| of a cell is pairs / epsilon
            return 0.5 * float(np.mean(cells)) * len(cells) / spent / rows
        return 0.5 * C * float(np.mean(cells)) * float(np.sqrt(len(cells) / (2 * spent))) / rows

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a user of the rows should know, from public numbers and what was measured alone."""
        return notes.of(
            self.domain, self.measured, len(self.columns), self.noise_of_pairs, self.plan.get("workload")
        )

    @cached_property
    def unmeasured(self) -> tuple[tuple[str, str], ...]:
        """Pairs of columns, or of columns that are one, of which no table was measured."""
        return notes.unmeasured(self.domain, self.measured)

    @property
    def expected_errors(self) -> pa.Table:
        """By what share of the rows the tables of the workload (or all pairs) are expected to be off.

        One row a pair of columns: entry, first, second, measured, expected_error. What three columns do
        together beyond their pairs is not in it. It follows from what was measured, and may be published.
        """
        return workload.expected_after(self.plan.get("workload"), self.domain, self.measured)

    # -- counts ----------------------------------------------------------------------------------

    def counts(self, *columns: str) -> Counts:
        """The model's counts: the estimated tables of one column or a measured pair, else the particles'.

        "discharged - admitted" is a column, too, where it was drawn instead of "discharged".
        """
        return estimates.counts(self.domain, self.potentials, self.refinement, self.measured, columns)

    def table(self, *columns: str, about: About = "data") -> NoisyTable:
        """The counts of one or two columns with standard errors, where they were measured.

        about: "data", the counts of the data themselves; or "population", of which the data are a random
            sample: sampling error is added to that of the noise.
        """
        estimates.require_measured(self.domain, columns)
        return noisy_table(self.domain, self.measured, [self.domain.place(c) for c in columns], about)

    def mean(self, column: str, *, by: str | None = None, about: About = "data") -> NoisyCoefficients:
        """The mean of a number, or of yes and no, in all or by the levels of another column, with errors.

        by: its pair with the column must have been measured. about: as of `table`. `difference` of what comes
        back compares two levels.
        """
        estimates.require_measured(self.domain, [column, *([] if by is None else [by])])
        return self._least_squares(*linear_models.means(self.domain, column, by), about)

    def regression(
        self, outcome: str, columns: Sequence[str], *, categories: Sequence[str] = (), about: About = "data"
    ) -> NoisyCoefficients:
        """Least squares of a number, or of yes and no, with standard errors; every pair must be measured.

        columns: numbers as the middle of their bins, others by level against the first, with a constant.
        categories: numbers to be taken by level. about: as of `table`.
        """
        estimates.require_measured(self.domain, [*columns, outcome])
        found = linear_models.regression(self.domain, outcome, columns, categories)
        return self._least_squares(*found, about)

    def _least_squares(
        self,
        features: list[linear_models.RegressionTerm],
        outcome: linear_models.RegressionTerm,
        about: About,
    ) -> NoisyCoefficients:
        linear_models.require_known(about, self.plan)
        cells = self.measured.variables.decode(
            self.refinement.fresh(self.potentials.particles, Key.from_seed(0))
        )
        rows = self.measured.variables.declared(cells)
        return linear_models.least_squares(self.domain, self.measured, features, outcome, about, rows)

    def tabulate(self, sets: Iterable[Sequence[str]]) -> dict[tuple[str, ...], Counts]:
        """Several counts."""
        return {tuple(s): self.counts(*s) for s in sets}

    @cached_property
    def refinement(self) -> Refinement:
        """From the classes that pairs tell apart to the levels of columns."""
        return Refinement.of(self.measured)

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
        cells = self._calibrated(number, key) if whole else None
        pieces = None if whole else Pieces(_Remote(self._sampler, self.domain, key.to_bytes()))
        reader = self._reader(number, key, cells, threads)
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
        return self._codes(self._calibrated(rows, key), key)

    def _calibrated(self, rows: int, key: Key) -> Codes:
        states = self.refinement.calibrated(calibrated(self.potentials, rows, key), key)
        return self.measured.variables.decode(states)

    def fresh(self, first_row: int, rows: int, key: Key, threads: int = 1) -> Codes:
        """Independent rows as codes, (columns, rows): a particle each, moved by several sweeps of its own.

        Row r depends on the key and r alone, so chunks may be of any size and drawn anywhere.
        """
        return self._codes(self._fresh(first_row, rows, key, threads), key, first_row)

    def _codes(self, cells: Codes, key: Key, first_row: int = 0) -> Codes:
        return estimates.codes(self.domain, self.measured.variables, cells, key, first_row)

    def _fresh(self, first_row: int, rows: int, key: Key, threads: int) -> Codes:
        cuts = [rows * i // threads for i in range(threads + 1)]

        def part(i: int) -> Codes:
            return self._sampler.codes(first_row + cuts[i], cuts[i + 1] - cuts[i], key)

        if threads == 1:
            return part(0)
        with ThreadPoolExecutor(threads) as pool:
            return np.concatenate(list(pool.map(part, range(threads))), axis=1)

    @cached_property
    def _sampler(self) -> _Sampler:
        return _Sampler(self.potentials, self.refinement, self.measured.variables)

    def _arrow(self) -> pa.Schema:
        return self.domain.decode(np.empty((len(self.columns), 0), np.uint16), Key.from_seed(0)).schema

    def _reader(
        self, rows: int, key: Key, cells: Codes | None, threads: int
    ) -> Callable[[Sequence[str]], Iterator[pa.RecordBatch]]:
        cuts = self.measured.variables.cuts

        def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
            for start in range(0, rows, CHUNK):
                size = min(CHUNK, rows - start)
                if cells is not None:
                    part = cells[:, start : start + size]
                else:
                    part = self._fresh(start, size, key, threads)
                yield self.domain.decode(part, key, start, cuts).select(list(names))

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

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        # A model fitted to an engine's table holds on to the engine, to give rows back to it.
        raise SfumatoError("a model is not pickled: the data might travel with it.", hint="model.save(path)")


@dataclass(frozen=True, eq=False, repr=False)
class _Sampler:
    """What it takes to draw independent rows, without what was measured."""

    potentials: Potentials
    refinement: Refinement
    variables: DomainVariables

    def codes(self, first_row: int, rows: int, key: Key) -> Codes:
        out = self.potentials.start(key, first_row, rows)
        stream = key.derive("fresh rows")
        for number in range(FRESH_SWEEPS):
            self.potentials.sweep(out, stream, number, first_row)
        return self.variables.decode(self.refinement.fresh(out, key, first_row))


@dataclass(frozen=True, eq=False, repr=False)
class _Remote:
    """What another process of ours needs to draw fresh rows: a key travels as bytes."""

    sampler: _Sampler
    domain: Domain
    key: bytes

    def __call__(self, first: int, rows: int) -> Iterator[pa.RecordBatch]:
        key = Key.from_bytes(self.key)
        for start in range(first, first + rows, CHUNK):
            size = min(CHUNK, first + rows - start)
            rows_ = self.sampler.codes(start, size, key)
            yield self.domain.decode(rows_, key, start, self.sampler.variables.cuts)


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
