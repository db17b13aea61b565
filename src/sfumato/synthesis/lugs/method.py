"""LUGS (l-diversified, uniformly smoothed Gibbs sampling): Algorithm 1 of the paper.

Guarantee: every released value was drawn from a law with an entropy of at least log l, given the values the
           row had elsewhere at that moment.
Because:   `tables.lifted` mixes each law with the uniform one until its entropy is reached. A key that was
           never seen takes the lifted law of a random nearest row, and a mixture of laws has at least the
           least of their entropies; without a neighbour it gets the uniform law. With constraints a row
           is one more sweep from the chain's state, each column lifted in the same way among the values
           that the columns before it leave (`_kernels.law_within`). Where they leave fewer than l, the law
           is even among them, and its entropy the logarithm of their number: the claim names the columns
           that this can happen to, and they are refused without cap=True.
Assumes:   the key of the draw stays secret. Values drawn later in the sweep depend on the earlier ones, so
           that given the row as released, and the rows of its chain around it, the doubt about a value can
           be less (test_doubt_given_the_released_row_can_be_less). It says nothing about what the laws tell
           of one person: they were learnt without noise, and nothing here is differentially private.
           A row that came to a column for which nothing was left is drawn anew; this is said as well.
Tested by: tests/synthesis/test_lugs.py::test_laws_have_the_entropy_asked_for,
           tests/synthesis/test_lugs_rules.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import canonical_type
from sfumato.errors import DataError, ParameterError, listed
from sfumato.measures import autocorrelation
from sfumato.methods.declaration import Declaration, Does, Need, declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.settings import require_numbers
from sfumato.methods.shapes import Flag, Number
from sfumato.privacy import DiverseLaw, Guarantee, NoGuarantee
from sfumato.progress import track
from sfumato.release import InternalRecord, Release
from sfumato.seeds import Key
from sfumato.sources import BatchSource
from sfumato.synthesis.checks import whole
from sfumato.synthesis.constraints import Constraint
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.imputation import rules
from sfumato.synthesis.lugs.tables import Learnt, learn
from sfumato.synthesis.parameters import (
    COLUMNS,
    CONSTRAINTS,
    WEIGHT,
    count,
)
from sfumato.synthesis.structural_zeros import packed
from sfumato.table import Table

Codes = NDArray[np.uint16]
_MOST_COLUMNS, _MOST_LEVELS = 62, 65_535
_CHAINS = 8_192  # chains that run side by side
_TRIES = 1_000  # of a row that comes to a column without a value
_UNITS = 2**20  # weights are whole numbers out of this many of the largest


@declares(
    Declaration(
        "lugs",
        Does.SYNTHESIZE,
        "A Gibbs sampler whose laws are lifted to an entropy.",
        page="lugs.md",
        claims=("DiverseLaw", "NoGuarantee"),
        needs=(Need.KEY,),
    )
)
@dataclass(frozen=True)
class LUGS:
    """A Gibbs sampler whose laws are lifted to an entropy; no differential privacy.

    >>> people = sf.samples.members(200).select(["sex", "region", "education"])
    >>> release = sf.synthesize(people, sf.LUGS(log_l=0.2), rows=20)
    >>> release.guarantee.claims[0].title
    'drawn from laws of diversity l = 1.2214'
    """

    log_l: Annotated[
        float,
        Parameter(Number("The entropy every law is lifted to, in natural logarithms.", 0), beginner=True),
    ] = 0.5
    hashes: Annotated[
        int, count("Min-hashes in a key; fewer make coarser keys and more artificial rows. 0: exact keys.")
    ] = 2
    floor: Annotated[
        float,
        Parameter(
            Number(
                "The least share of the uniform law: every row can be reached from every other.",
                0,
                1,
                above=True,
            )
        ),
    ] = 1e-3
    burn_in: Annotated[int, count("Sweeps before a chain's first row.")] = 10
    thin: Annotated[int, count("Sweeps between the rows of a chain.", 1)] = 1
    length: Annotated[int, count("Rows of a chain.", 1)] = 100
    reach: Annotated[
        int,
        count("The largest Hamming distance of a neighbour; beyond it a new key has the uniform law."),
    ] = 2
    bands: Annotated[int, count("Bands of the neighbour search for each distance.", 1)] = 64
    cap: Annotated[
        bool,
        Parameter(
            Flag(
                "Columns with too few values for log_l, of their own or because constraints leave fewer, are "
                "drawn evenly instead of refused."
            )
        ),
    ] = False
    columns: Annotated[tuple[str, ...] | None, COLUMNS] = None
    constraints: Annotated[tuple[Constraint, ...], CONSTRAINTS] = ()
    weight: Annotated[str | None, WEIGHT] = None

    def __post_init__(self) -> None:
        require_numbers(self)
        faults = []
        if not (math.isfinite(self.log_l) and self.log_l >= 0):
            faults.append("log_l must be a number from 0 up")
        if not 0 < self.floor <= 1:
            faults.append("floor must be above 0, or rows may never be left, and at most 1")
        for name, least in (
            ("hashes", 0),
            ("burn_in", 0),
            ("thin", 1),
            ("length", 1),
            ("reach", 0),
            ("bands", 1),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                faults.append(f"{name} must be a whole number from {least} up")
        faults += rules.faults(self.constraints, self.weight)
        for name in ("columns", "constraints"):
            if isinstance(getattr(self, name), list):
                object.__setattr__(self, name, tuple(getattr(self, name)))
        if faults:
            raise ParameterError(f"LUGS: {'; '.join(faults)}.", hint="LUGS(log_l=0.5)")

    def fit(self, table: Table, *, key: Key | None = None) -> FittedLUGS:
        """Estimate the laws and lift them. key: of the hashes; a fresh one by default."""
        domain = self.domain_of(table)
        weights = rules.weights_of(table, self.weight)
        codes = np.ascontiguousarray(table.encode(domain.names).codes.T.astype(np.uint16))
        return self.fit_codes(domain, codes, key or Key.fresh(), weights)

    def fit_codes(
        self, domain: Domain, codes: Codes, key: Key, weights: NDArray[np.float64] | None = None
    ) -> FittedLUGS:
        """The same from codes (rows, columns) and weights (rows,)."""
        count = ~domain.violations(codes.T)
        units = None
        if weights is not None and len(weights):
            units = np.rint(weights / max(weights.max(), 1e-300) * _UNITS).astype(np.int64)
            count &= units > 0
        if not count.any():
            raise DataError("the table has no rows that count.", hint="there is nothing to learn from")
        if not count.all():
            codes, units = codes[count], units if units is None else units[count]
        learnt = learn(
            codes, domain.sizes, self.hashes, self.reach, self.bands, self.log_l, self.floor, key, units
        )
        return FittedLUGS(self, domain, learnt, len(codes))

    def domain_of(self, table: Table) -> Domain:
        """The columns and their codes; what cannot be synthesized is refused here."""
        domain = Domain.of_data(table, self.columns, self.constraints)
        rules.refuse(self.constraints, self.weight, table.schema)
        faults = []
        few = [repr(n) for n in capped(self, domain)]
        if few and not self.cap:
            faults.append(
                f"{listed(few)} have too few values for an entropy of {self.log_l:g} "
                "(a smaller log_l, or cap=True)"
            )
        if len(domain.names) > _MOST_COLUMNS or max(domain.sizes) > _MOST_LEVELS:
            faults.append(f"at most {_MOST_COLUMNS} columns of {_MOST_LEVELS:,} values each")
        if faults:
            raise ParameterError(f"LUGS: {'; '.join(faults)}.", hint="see the page on LUGS")
        return domain


@dataclass(frozen=True, eq=False)
class FittedLUGS:
    """Laws to sample from."""

    method: LUGS
    domain: Domain
    learnt: Learnt
    rows: int = field(repr=False)

    def sample(self, rows: int, *, key: Key | None = None, seed: int | None = None) -> Release:
        """So many rows, drawn when they are read. The same key gives the same rows."""
        rows = whole("rows", rows)
        if key is not None and seed is not None:
            raise ParameterError("a key and a seed were given.", hint="give one of them")
        secret = key or (Key.fresh() if seed is None else Key.from_seed(seed))
        promised = guarantee(self.method, self.domain)
        record = InternalRecord(
            key=secret,
            seed=seed,
            plan={"method": "lugs", "rows": rows, **_plan(self.method)},
            extra={"rows learnt from": self.rows, "keys": len(self.learnt.tables.keys)},
        )
        return Release(
            table_of(self.domain, lambda: self.codes(rows, secret), secret, rows),
            promised.seeded() if secret.seeded else promised,
            record,
            about(self.method),
        )

    def codes(self, rows: int, key: Key) -> Iterator[Codes]:
        """The rows as codes (rows, columns), some chains at a time, chain after chain."""
        length = self.method.length
        chains = -(-rows // length)
        done = 0
        release = self._released if self.domain.zeros else lambda x, *_: x
        for first in range(0, chains, _CHAINS):
            count = min(_CHAINS, chains - first)
            out = np.empty((count, length, len(self.domain.names)), np.uint16)
            for t, x in enumerate(self._states(first, count, key)):
                out[:, t] = release(x, t, first, key)
            flat = out.reshape(count * length, -1)[: rows - done]
            done += len(flat)
            yield flat

    def _states(self, first: int, chains: int, key: Key) -> Iterator[Codes]:
        """The states to be released, in the order they come: burn-in, then every so many sweeps."""
        from sfumato.synthesis.lugs import _kernels

        stream, sizes = key.derive("lugs"), np.array(self.domain.sizes, np.uint64)
        m = len(sizes)
        start = stream.words(0, first, chains, m).reshape(chains, m)
        x = np.ascontiguousarray(((start >> np.uint64(32)) * sizes >> np.uint64(32)).astype(np.uint16))
        learnt = self.learnt
        sweeps = 0
        for t in range(self.method.length):
            for _ in range(self.method.burn_in + 1 if t == 0 else self.method.thin):
                sweeps += 1
                words = stream.words(sweeps, first, chains, 2 * m)
                _kernels.sweep(x, words, learnt.keys, learnt.tables, learnt.index)
            yield x

    def _released(self, x: Codes, t: int, first: int, key: Key) -> Codes:
        """Rows that keep the constraints: a sweep from the states x, which go on as they are.

        Chains are those of the paper: held within the constraints, one might never leave where it began.
        """
        from sfumato.synthesis.lugs import _kernels

        zeros = packed(self.domain.zeros, range(len(self.domain.names)))
        y, todo = np.empty_like(x), np.ones(len(x), bool)
        for number in range(_TRIES):
            words = key.derive("lugs", "release", number).words(t, first, len(x), 2 * x.shape[1])
            if not _kernels.release(
                x,
                y,
                todo,
                words,
                *(self.learnt.keys, self.learnt.tables, self.learnt.index),
                zeros,
                self.method.log_l,
                self.method.floor,
            ):
                return y
        raise ParameterError(
            "the constraints leave so few combinations that some row was not found.", hint="fewer constraints"
        )

    def path(self, sweeps: int, *, key: Key | None = None) -> pa.Table:
        """One chain from the start, a row for each sweep (the paper's table 1, figure 2): for diagnosis.

        A chain passes through every combination; constraints are for the rows that are released.
        """
        from sfumato.synthesis.lugs import _kernels

        secret = (key or Key.fresh()).derive("lugs")
        m, sizes = len(self.domain.sizes), np.array(self.domain.sizes, np.uint64)
        x = ((secret.words(0, 0, 1, m).reshape(1, m) >> np.uint64(32)) * sizes >> np.uint64(32)).astype(
            np.uint16
        )
        states = np.empty((sweeps, m), np.uint16)
        for s in range(sweeps):
            words = secret.words(s + 1, 0, 1, 2 * m)
            _kernels.sweep(x, words, self.learnt.keys, self.learnt.tables, self.learnt.index)
            states[s] = x[0]
        arrays = [b.decode(states[:, j].astype(b.dtype)) for j, b in enumerate(self.domain.books)]
        return pa.table(arrays, names=list(self.domain.names))

    def autocorrelations(
        self, sweeps: int = 2_000, lags: int = 20, *, key: Key | None = None
    ) -> dict[str, list[float]]:
        """Of each column's codes along one chain, at lags 1, 2, ...: how soon a chain forgets (figure 3)."""
        path = self.path(sweeps, key=key)
        out = {}
        for book in self.domain.books:
            values = book.encode(path.column(book.name).combine_chunks()).astype(np.float64)
            out[book.name] = autocorrelation(values, lags)[1:].tolist()
        return out


def guarantee(method: LUGS, domain: Domain) -> Guarantee:
    """A law with enough entropy for every value; and plainly, no differential privacy."""
    law = DiverseLaw(max(1.0, math.exp(method.log_l) * (1 - 1e-9)), domain.names, capped(method, domain))
    return Guarantee.of(
        law.assuming(
            "It is about the laws that values were drawn from, given the row at that moment. Values drawn "
            "later depend on it: given the whole row, or the rows beside it, there may be less doubt.",
            *[_RULED] * bool(domain.constraints),
        ),
        NoGuarantee("not differentially private", "The laws were learnt from the data without noise."),
    )


_RULED = (
    "Each column was drawn among the values that the declared constraints leave, given the columns before. "
    "Where they leave too few for that entropy it was drawn evenly among those, and where they leave one it "
    "is certain: this is about the columns named as exceptions. A row that came to a column for which no "
    "value was left was drawn anew."
)


def capped(method: LUGS, domain: Domain) -> tuple[str, ...]:
    """The columns that have, or to which the constraints may leave, too few values for the entropy."""
    found = zip(domain.names, _fewest(domain), strict=True)
    return tuple(n for n, left in found if math.log(left) < method.log_l - 1e-12)


def _fewest(domain: Domain) -> list[int]:
    """How many values a column has at least, given any values of the columns before it: at least one.

    Constraints with the same one other column are counted for each of its values; what others take away is
    added up, as if all of it could meet.
    """
    left = list(domain.sizes)
    for i, size in enumerate(domain.sizes):
        taken: dict[tuple[int, ...], NDArray[np.bool_]] = {}
        for zero in domain.zeros:
            if i != max(zero.columns):  # it binds where the last of its columns is drawn
                continue
            masks = dict(zip(zero.columns, zero.masks, strict=True))
            own = masks.pop(i)
            given = next(iter(masks.values())) if len(masks) == 1 else np.ones(1, bool)
            table = taken.setdefault(tuple(masks), np.zeros((len(given), size), bool))
            table |= np.logical_and.outer(given, own)
        left[i] -= sum(int(t.sum(axis=1).max()) for t in taken.values())
    return [max(1, n) for n in left]


def about(method: LUGS) -> str:
    """A sentence for the card."""
    return (
        "Synthetic rows, drawn by LUGS (a Gibbs sampler with smoothed laws) from person-level data. A row "
        "may still equal that of a person, by chance or because it was learnt."
    )


def table_of(domain: Domain, draw: Callable[[], Iterable[Codes]], key: Key, rows: int) -> Table:
    """A table that draws its rows anew, alike, whenever it is read."""
    arrow = pa.schema([pa.field(b.name, canonical_type(b.column)) for b in domain.books])

    def batches() -> Iterator[pa.RecordBatch]:
        first = 0
        for codes in draw():
            yield domain.decode(np.ascontiguousarray(codes.T), key, first)
            first += len(codes)

    def open_(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in track(batches(), "synthesizing", rows):
            yield batch.select(list(names))

    return Table(BatchSource(arrow, open_, rows=rows), domain.schema)


def _plan(method: LUGS) -> dict[str, Any]:
    names = ("log_l", "hashes", "floor", "burn_in", "thin", "length", "reach", "bands", "weight")
    return {n: getattr(method, n) for n in names} | {"constraints": [repr(c) for c in method.constraints]}
