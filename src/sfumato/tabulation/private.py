"""Private tables: every count with noise, one promise for all of them together, and totals that add up.

    sf.tabulate(table, ["county,age", "county,sex"], method=sf.PrivateTables(epsilon=1.0))

Guarantee: epsilon-DP, or (epsilon, delta)-DP if there is a delta, for all tables together; one row, or one
           person with at most L rows, added or removed.
Because:   1. A margin is a table of counts in which a row lies in one cell. A person with at most L rows
              changes it by at most L in L1, and by at most L in L2 (all rows in one cell). Discrete Laplace
              noise of scale L / epsilon_s makes it epsilon_s-DP, discrete Gaussian noise of scale s makes it
              zCDP with rho_s = L^2 / (2 s^2), by OpenDP's own maps (`sfumato.privacy.noise`).
           2. Which margins are measured, and with which share, follows from the sizes of the columns alone.
              The shares are cut from one grant by a ledger that refuses more: losses add up to the total.
           3. Rows beyond L of a person are left out by coins of that person's own rows, so that neighbours
              stay neighbours.
           4. Everything after that (margins that agree, no count below 0, whole numbers) looks at the noisy
              margins alone. Every combination of the public domains has a cell, whether anybody is in it or
              not.
Assumes:   the domains and L are public; every row lies in the domains and says whose it is. A table
           with other rows is refused before anything is spent, and that refusal is not covered.
Tested by: tests/tabulation/test_private.py
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.cells.layout import Layout
from sfumato.cells.programs import solver, whole_near
from sfumato.counts import Codebook, person_ids
from sfumato.counts.persons import some_of_each
from sfumato.errors import NoisyWarning, ParameterError, SchemaError, listed
from sfumato.methods.declaration import Declaration, Does, Need, Spending, declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.settings import require_numbers
from sfumato.methods.shapes import Number
from sfumato.privacy import Budget, ConsistentTotals, Grant, Guarantee, Ledger, Neighbours, Unit
from sfumato.privacy.base import ROW
from sfumato.privacy.debits import require_same
from sfumato.privacy.differential import zcdp_budget
from sfumato.privacy.grants import UNIT
from sfumato.privacy.ledger import Payer
from sfumato.privacy.noise import Noisy, gaussian, laplace
from sfumato.privacy.rounding import down
from sfumato.release import InternalRecord, Release
from sfumato.schema import Kind, Role, Schema
from sfumato.schema.domains import ADVICE, grounds, search_cost, with_search, without_public_domain
from sfumato.table import Table
from sfumato.tabulation.contents import CellContents
from sfumato.tabulation.history import COUNT
from sfumato.tabulation.margins import Margins, Set
from sfumato.tabulation.private_sums import BoundedSum

Real = NDArray[np.float64]
Index = NDArray[np.int64]

NOISE = "noise"  # the column of standard deviations
_SMALLEST, _LARGEST = 0.001, 100.0
_MOST_CELLS = 1_000_000
_PURPOSE = "private tables"


@declares(
    Declaration(
        "noise",
        Does.TABULATE,
        "Every count with noise, under one epsilon for all tables; totals add up.",
        page="tables.md",
        claims=("PureDP", "ApproxDP", "ConsistentTotals"),
        needs=(Need.PUBLIC_DOMAIN,),
        closed={"map": "a map compares releases of rows"},
    )
)
@dataclass(frozen=True)
class PrivateTables:
    """Count tables with noise, under one promise of differential privacy for all of them together.

    Every combination of the public domains is shown, empty ones too. Counts are not below 0, whole unless a
    warning says otherwise, and every total is the sum of its parts; the column `noise` says how far a count
    is usually off (its standard deviation, before counts are made whole and not negative). Where a column has
    the role person, at most max_rows_per_person rows of each are counted, taken at random, and the promise is
    to persons.

    >>> people = sf.samples.members(300).select(["sex", "region"])
    >>> release = sf.tabulate(people, "region,sex", method=sf.PrivateTables(epsilon=1.0))
    >>> release.guarantee.claims[0].title
    'differential privacy with epsilon = 1'
    >>> release.data.columns
    ('region', 'sex', 'count', 'noise')
    """

    epsilon: Annotated[
        float,
        Parameter(
            Number("What all tables together cost.", _SMALLEST, _LARGEST), unit="epsilon", beginner=True
        ),
    ] = 1.0
    delta: Annotated[
        float,
        Parameter(
            Number(
                "Of the promise. 0 is pure epsilon; with many tables a little more makes less noise.",
                0,
                0.001,
            )
        ),
    ] = 0.0
    max_rows_per_person: Annotated[
        int,
        Parameter(
            Number(
                "A public number: rows of a person that count; the promise is to persons.",
                1,
                1000,
                whole=True,
            )
        ),
    ] = 1

    def __post_init__(self) -> None:
        require_numbers(self)
        faults = []
        if not _SMALLEST <= self.epsilon <= _LARGEST:
            faults.append(f"epsilon is a number from {_SMALLEST} to {_LARGEST:g}")
        if not (self.delta == 0 or 1e-30 <= self.delta <= 0.001):
            faults.append("delta is 0, or from 1e-30 to 0.001: well below one over the number of rows")
        if not 1 <= self.max_rows_per_person <= 1000:
            faults.append("max_rows_per_person is a whole number from 1 to 1000")
        if faults:
            raise ParameterError(f"{'; '.join(faults)}.", hint="PrivateTables(epsilon=1.0)")

    @property
    def rho(self) -> float | None:
        """The zCDP budget that gives (epsilon, delta); None with pure epsilon."""
        return zcdp_budget(self.epsilon, self.delta) if self.delta else None

    def spends(self, rows: int | None) -> Spending:
        """What the tables cost, known before the data are looked at."""
        if self.rho is None:
            return Spending(epsilon=float(self.epsilon), claimed=True)
        return Spending(rho=self.rho, claimed=True)

    def unit(self, schema: Schema) -> Unit:
        """Whom the promise is to."""
        persons = bool(schema.of_role(Role.PERSON))
        return Unit.person(self.max_rows_per_person) if persons or self.max_rows_per_person > 1 else ROW

    def release(
        self, table: Table, layouts: Sequence[Layout], columns: tuple[str, ...], ledger: Payer | None,
        of: str | None = None,
    ) -> Release:  # fmt: skip
        """Count, pay, draw, and make what was drawn fit to be read. of: a column to be summed, too."""
        books = _public(table, layouts, columns)
        summed = None if of is None else BoundedSum.of(table.schema[of])
        margins = _margins(layouts, columns, books)
        wanted = Budget(
            **self.spends(None).amounts(), unit=self.unit(table.schema), neighbours=Neighbours.ADD_REMOVE
        )
        payer: Payer = Ledger.in_memory(wanted) if ledger is None else ledger
        require_same(payer, wanted)
        used = [table.schema[n] for n in (*columns, *([] if of is None else [of]))]
        cost = search_cost(used, wanted.unit, wanted.neighbours)
        counted, sums = _counted(table, margins, books, self.max_rows_per_person, summed)
        cells = _cells(tuple(layouts), columns, books, margins)
        grant = payer.grant(**{wanted.kind: wanted.amount}, purpose=_PURPOSE)
        said = [*grounds(used), "Every row lies within the levels and bins of all columns"]
        if wanted.unit.of == "person" and not table.schema.of_role(Role.PERSON):
            said.append(f"No person has more than {self.max_rows_per_person} rows in the data")
        own = grant.claim(*said, delta=self.delta or None)
        layout = ";".join(x.text for x in layouts)
        guarantee = Guarantee.of(with_search(own, cost), grant.account, ConsistentTotals(columns, layout))
        most, purse = self.max_rows_per_person, Ledger.within(grant)
        part = Fraction(1) if summed is None else Fraction(1, 2)
        drawn = _measured(margins, counted, grant, most, part, purse)
        if summed is None:
            return _fit_to_be_read(cells, margins, drawn, guarantee)
        amounts = _measured(margins, sums, grant, most * summed.largest, part, purse)
        return _fit_to_be_read(cells, margins, drawn, guarantee, (summed, amounts))


# -- the data ----------------------------------------------------------------------------------------


def _public(table: Table, layouts: Sequence[Layout], columns: Sequence[str]) -> tuple[Codebook, ...]:
    """The public domains of the columns; everything that is wrong with them at once."""
    chains = [axis for layout in layouts for axis in layout.axes if len(axis) > 1]
    if chains:
        raise ParameterError(
            f"which {chains[0][-1]!r} lies in which {chains[0][-2]!r} would be read off the data: private "
            "tables have no levels.",
            hint="give each of the columns an axis of its own, or the finer one alone",
        )
    used = [table.schema[n] for n in columns]
    naming = [
        repr(c.name)
        for c in used
        if c.role in (Role.IDENTIFIER, Role.PERSON) or c.kind in (Kind.TEXT, Kind.CODES)
    ]
    if naming:
        raise ParameterError(
            f"columns that name people, free text and lists of codes are not counted: {listed(naming)}.",
            hint="count by columns with levels or bins",
        )
    private = without_public_domain(used)
    if private:
        raise SchemaError(f"{private}.", hint=ADVICE)
    return tuple(Codebook.declared(c) for c in used)


def _margins(layouts: Sequence[Layout], columns: Sequence[str], books: Sequence[Codebook]) -> Margins:
    sets = {tuple(sorted(columns.index(n) for n in layout.columns)) for layout in layouts}
    tops = tuple(sorted(s for s in sets if not any(set(s) < set(other) for other in sets)))
    margins = Margins(tuple(b.size for b in books), tops)
    size = sum(margins.cells(s) for s in margins.sets)
    if size > _MOST_CELLS:
        raise ParameterError(
            f"these tables have {size:,} cells, empty ones too; at most {_MOST_CELLS:,} get noise.",
            hint="take fewer columns or coarser ones",
        )
    return margins


def _counted(
    table: Table, margins: Margins, books: Sequence[Codebook], most: int, summed: BoundedSum | None = None
) -> tuple[dict[Set, Index], dict[Set, Index]]:
    """The tables themselves, and those of sums in units. Confidential."""
    persons = table.schema.of_role(Role.PERSON)
    if len(persons) > 1:
        raise ParameterError("more than one column says whose row it is.", hint="give one the role person")
    names = [b.name for b in books]
    if not persons and summed is None:
        found = table.tabulate([tuple(names[c] for c in top) for top in margins.tops])
        dense = {top: found[tuple(names[c] for c in top)].dense().astype(np.int64) for top in margins.tops}
        return dense, {}
    codes: list[Index] = []
    whose: list[pa.Array] = []
    amounts: list[Index] = []
    more = [] if summed is None else [summed.column.name]
    for batch in table.batches(list(dict.fromkeys([*names, *persons, *more]))):
        codes.append(np.stack([b.encode(batch.column(b.name)).astype(np.int64) for b in books]))
        if persons:
            whose.append(person_ids(table.schema[persons[0]], batch.column(persons[0])))
        if summed is not None:
            amounts.append(summed.units(batch.column(summed.column.name)))
    rows = np.concatenate(codes, axis=1) if codes else np.zeros((len(books), 0), np.int64)
    units = np.concatenate([np.zeros(0, np.int64), *amounts])
    if persons:
        ids = pa.chunked_array(whose, pa.string()) if not whose else pa.chunked_array(whose)
        kept = some_of_each(ids, persons[0], most)
        rows, units = rows[:, kept], units[kept] if summed is not None else units
    counted = {top: _table(rows[list(top)], margins.shape(top)) for top in margins.tops}
    if summed is None:
        return counted, {}
    return counted, {top: _table(rows[list(top)], margins.shape(top), units) for top in margins.tops}


def _table(codes: Index, shape: tuple[int, ...], units: Index | None = None) -> Index:
    flat = np.ravel_multi_index(tuple(codes), shape) if shape else np.zeros(codes.shape[1], np.int64)
    found = np.zeros(math.prod(shape), np.int64)
    np.add.at(found, flat, 1 if units is None else units)
    return found.reshape(shape)


# -- the noise ---------------------------------------------------------------------------------------


def _measured(
    margins: Margins, counted: dict[Set, Index], grant: Grant, most: int, part: Fraction = Fraction(1),
    purse: Ledger | None = None,
) -> list[tuple[Set, Noisy]]:  # fmt: skip
    """Draw for each margin that is worth it; points 1 and 2 above. part: of the grant, which `purse` holds.

    most: how much a person changes a margin by, at most.
    """
    pure, total = grant.epsilon is not None, grant.loss * part
    shares = margins.shares((lambda p: 1 / p**2) if pure else (lambda p: 1 / p))
    purse = purse or Ledger.within(grant)
    found = []
    for s, share in shares.items():
        top = next(t for t in margins.tops if set(s) <= set(t))
        table = counted[top].sum(axis=tuple(i for i, c in enumerate(top) if c not in s))
        amount = down(Fraction(max(int(total * Fraction(share) * UNIT * (1 - Fraction(1, 10**9))), 1), UNIT))
        purpose = f"counts by {len(s)} columns"
        if pure:
            found.append((s, laplace(table, most, purse.grant(epsilon=amount, purpose=purpose))))
        else:
            found.append((s, gaussian(table, float(most), purse.grant(rho=amount, purpose=purpose))))
    return found


# -- what becomes of it ------------------------------------------------------------------------------


def _cells(
    layouts: tuple[Layout, ...], columns: tuple[str, ...], books: tuple[Codebook, ...], margins: Margins
) -> CellContents:
    """The cells that are shown, still empty. What can be wrong with them is said before anything is spent."""
    codes = []
    for s in margins.sets:
        full = np.full((margins.cells(s), len(columns)), -1, np.int64)
        if s:
            full[:, list(s)] = np.stack(np.unravel_index(np.arange(len(full)), margins.shape(s)), axis=1)
        codes.append(full)
    numbers = np.concatenate(codes)
    blank = np.zeros(len(numbers), np.int64)
    cells = CellContents(layouts, columns, books, numbers, blank, blank, blank.astype(np.float64), None)
    solver()
    cells.labels()
    return cells


def _fit_to_be_read(
    cells: CellContents, margins: Margins, drawn: list[tuple[Set, Noisy]], guarantee: Guarantee,
    amounts: tuple[BoundedSum, list[tuple[Set, Noisy]]] | None = None,
) -> Release:  # fmt: skip
    """Point 4: margins that agree, without a negative count, in whole numbers; a release of them.

    It is paid for, so nothing here may fail, however the noise fell: where no whole numbers are found that
    add up, counts that do keep their decimals.
    """
    columns, layouts = cells.columns, cells.layouts
    measured = [(s, noisy.values.astype(np.float64), noisy.sigma**2) for s, noisy in drawn]
    found = margins.not_negative(measured)
    spread = {s: math.sqrt(v) for s, v in margins.variances({s: v for s, _, v in measured}).items()}
    noise = np.concatenate([np.full(margins.cells(s), spread[s]) for s in margins.sets])
    near = np.maximum(np.concatenate([found[s].ravel() for s in margins.sets]), 0.0)
    counts: Index | Real | None = whole_near(cells.relations, near)
    if counts is None:
        lifted = margins.lifted(found)
        counts = np.concatenate([lifted[s].ravel() for s in margins.sets])
        warnings.warn(
            "no whole counts that add up were found in time: counts have decimals. They cost no more, and "
            "adding up holds.",
            NoisyWarning,
            stacklevel=2,
        )
    shown = {**cells.labels(), COUNT: counts, NOISE: np.round(noise, 3)}
    if amounts is not None:
        name = amounts[0].column.name
        shown[name], shown[f"{NOISE} {name}"] = amounts[0].read(margins, amounts[1])
        drawn = [*drawn, *amounts[1]]
    tables = {f"noisy-{i}": pa.table({"value": noisy.values.ravel()}) for i, (_, noisy) in enumerate(drawn)}
    extra = {
        "margins": [
            {"columns": [columns[c] for c in s], "law": noisy.law, "scale": noisy.scale} for s, noisy in drawn
        ]
    }
    record = InternalRecord(tables=tables, extra={"private tables": extra})
    about = f"{len(layouts)} table{'s' * (len(layouts) > 1)} of {len(near)} cells, each counted with noise."
    return Release(Table.from_arrow(pa.table(shown)), guarantee, record, about)
