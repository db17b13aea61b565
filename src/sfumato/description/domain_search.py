"""Find domains in the data with a part of the budget: levels that many have, bounds and quantiles.

    found = DomainSearch(epsilon=0.5, delta=1e-9).find(table, ["diag_1", "charge"], ledger=ledger)
    model = PrivateSynthesizer(epsilon=1.0).fit(found.table, ledger=ledger)   # states the sum of all three

Guarantee: (epsilon, delta) for each column with levels, pure epsilon for each column with edges, adding or
           removing one row, or one person with at most L rows; their sum for all columns.
Because:   levels: `noise.laplace_threshold` on the counts of the values that occur, with the proof; values
           not kept are read as `other`, each row by itself. Edges: a row is in one cell of a public grid
           (`grids`), so the counts of all cells have L1 sensitivity L; discrete Laplace, and the rest
           is arithmetic. Of a person at most L rows count, taken by coins of that person's rows alone
           (`counts.persons`), so neighbours stay neighbours. Columns compose: epsilons and deltas add up, and
           all of it is debited before the first draw.
Assumes:   kinds, types, missing codes, the grid and the columns asked for were chosen without looking at the
           data; without a column of persons and with L > 1, that nobody has more than L rows.
Tested by: tests/test_domain_search.py, tests/privacy/test_threshold.py
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts import person_ids
from sfumato.counts.persons import at_most
from sfumato.counts.tally import Tally
from sfumato.description.grids import check_grid, edges_from, grid_of, places
from sfumato.description.one_way import opened
from sfumato.errors import BudgetError, DataError, ParameterError, SchemaError, listed
from sfumato.privacy import Accounted, Guarantee
from sfumato.privacy.base import ONE_ID, ROW, Neighbours, Unit
from sfumato.privacy.grants import DELTA_UNIT, UNIT, Budget, Grant
from sfumato.privacy.grants import debit as units_of
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.ledger.payer import Payer
from sfumato.privacy.noise import laplace, laplace_threshold
from sfumato.privacy.rounding import ceil_units, exact, up
from sfumato.privacy.signatures import SigningKey
from sfumato.schema import Column, Kind, Provenance, Role, Schema
from sfumato.schema.domains import search_cost, with_search
from sfumato.schema.provenance import Checked
from sfumato.schema.search_record import sealed, signed
from sfumato.seeds import Key
from sfumato.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEVELS = (Kind.NOMINAL, Kind.ORDINAL, Kind.FLAG)
_EDGES = (Kind.NUMERIC, Kind.DATE)
_SMALLEST, _LARGEST = 0.001, 100.0
_MOST_VALUES = 1_000_000  # distinct values of a column that are counted in memory


@dataclass(frozen=True, eq=False)
class FoundDomains:
    """What was found. schema: the table's, with the found domains; guarantee: what finding them cost.

    table: the rows under that schema. thresholds: of columns with levels, the least noisy count to be kept.
    """

    schema: Schema
    guarantee: Guarantee
    table: Table
    columns: tuple[str, ...]
    thresholds: dict[str, int]

    def under(self, schema: Schema) -> FoundDomains:
        """The same, of which the schema was sealed, signed or checked."""
        return replace(self, schema=schema, table=self.table.with_schema(schema))

    def signed(self, by: str, key: SigningKey) -> FoundDomains:
        """The same, signed by the person who has had it searched, for who has not got the ledger."""
        return self.under(Schema(signed(self.schema, self.columns, by, key)))

    def to_json(self) -> str:
        """As it is kept until it is in its place; all but the rows."""
        return json.dumps(
            {"schema": self.schema.to_toml(), "guarantee": self.guarantee.to_json(),
             "columns": self.columns, "thresholds": self.thresholds}
        )  # fmt: skip

    @classmethod
    def from_json(cls, text: str, table: Table) -> FoundDomains:
        """Read back what `to_json` wrote. table: the rows that were searched."""
        document = json.loads(text)
        schema = Schema.from_toml(document["schema"], name="what was found")
        return cls(
            schema, Guarantee.from_json(document["guarantee"]), table.with_schema(schema),
            tuple(document["columns"]), dict(document["thresholds"]),
        )  # fmt: skip


@dataclass(frozen=True)
class DomainSearch:
    """How domains are found.

    epsilon: for each column. delta: for each column with levels; columns with edges take none.
    other: the level that all values are read as which are not found. bins: of numbers and days, at most.
    grid: public marks for numbers; without them 1 to 9 times the powers of ten. max_rows_per_person: L.
    persons: whether the promise is to persons; by default if there is a column of persons, or L is above 1.

    >>> import pyarrow as pa
    >>> visits = pa.table({"dx": ["E11"] * 900 + ["I10"] * 900 + ["rare"]})
    >>> table = sf.scan(visits, sf.Schema((sf.Column("dx", "nominal"),)))
    >>> ledger = sf.Ledger.in_memory(sf.Budget(rho=2.0, delta=1e-8))
    >>> found = sf.DomainSearch(epsilon=1.0).find(table, ["dx"], ledger=ledger)
    >>> found.schema["dx"].levels
    ('E11', 'I10', 'other')
    """

    epsilon: float = 0.5
    delta: float = 1e-9
    other: str = "other"
    bins: int = 10
    grid: Sequence[float] | None = None
    max_rows_per_person: int = 1
    persons: bool | None = None

    def __post_init__(self) -> None:
        faults = []
        if not _number(self.epsilon) or not _SMALLEST <= self.epsilon <= _LARGEST:
            faults.append(f"epsilon is a number from {_SMALLEST} to {_LARGEST:g}")
        if not _number(self.delta) or not 1e-15 <= self.delta <= 0.001:
            faults.append("delta is from 1e-15 to 0.001: well below one over the number of rows")
        if not isinstance(self.other, str) or not self.other.strip():
            faults.append("other is the name of a level")
        if not _whole(self.bins) or not 1 <= self.bins <= 1000:
            faults.append("bins is a whole number from 1 to 1000")
        if not _whole(self.max_rows_per_person) or not 1 <= self.max_rows_per_person <= 1000:
            faults.append("max_rows_per_person is a whole number from 1 to 1000")
        if self.persons is False and self.max_rows_per_person > 1:
            faults.append("rows have no number of rows: give persons or max_rows_per_person")
        if faults:
            raise ParameterError(f"{'; '.join(faults)}.", hint="epsilon 0.5 and delta 1e-9 are usual")
        check_grid(self.grid)

    def unit(self, schema: Schema) -> Unit:
        """Whom the promise is to."""
        persons = bool(schema.of_role(Role.PERSON)) or self.max_rows_per_person > 1
        wanted = persons if self.persons is None else self.persons
        return Unit.person(self.max_rows_per_person) if wanted else ROW

    def budget(self, schema: Schema, columns: Sequence[str]) -> Budget:
        """What a ledger must have left: the sum over the columns, in its whole units."""
        each = _in_units(self.epsilon, UNIT)
        deltas = sum(self._delta(schema[n]) > 0 for n in columns) * _in_units(self.delta, DELTA_UNIT)
        total = up(len(columns) * each)
        return Budget(total, None, up(deltas), self.unit(schema), Neighbours.ADD_REMOVE)

    def find(self, table: Table, columns: Sequence[str], *, ledger: Payer | None = None) -> FoundDomains:
        """Find the domains of the named columns. What is wrong is said before anything is debited.

        ledger: debited with the sum for all columns before the first draw.
        """
        columns = list(dict.fromkeys(columns))
        self.require(table, columns)
        wanted = self.budget(table.schema, columns)
        if ledger is not None and (ledger.budget.unit, ledger.budget.neighbours) != (
            wanted.unit,
            wanted.neighbours,
        ):
            raise BudgetError(
                f"the ledger is for {ledger.budget.unit}, {ledger.budget.neighbours} neighbours; this search "
                f"for {wanted.unit}, {wanted.neighbours}.",
                hint="open a ledger with the same unit and neighbours, or search for its unit",
            )
        counted = self._counted(table, columns, wanted.unit)
        payer = Ledger.in_memory(wanted) if ledger is None else ledger
        purse = self.debited(payer, table.schema, columns)
        schema = table.schema
        thresholds: dict[str, int] = {}
        for name in columns:
            column = table.schema[name]
            grant = purse.grant(epsilon=self.epsilon, delta=self._delta(column), purpose=f"domain of {name}")
            found, least = self._found(column, counted[name], grant, wanted.unit)
            thresholds |= {name: least} if least else {}
            schema = Schema(tuple(found if c.name == name else c for c in schema))
        if isinstance(ledger, Ledger):  # what stands before one seals when all that it cost is known
            schema = Schema(sealed(schema, ledger))
        cost = search_cost((schema[n] for n in columns), wanted.unit, wanted.neighbours)
        told = ["Kind, type, missing codes and grid of each column were chosen without looking at the data"]
        if wanted.unit.of == "person":
            told.append(ONE_ID)
        if wanted.unit.of == "person" and not table.schema.of_role(Role.PERSON):
            told.append(f"No person has more than {self.max_rows_per_person} rows in the data")
        claim = with_search(cost[0], cost[1:]).assuming(*told)
        told_by = Guarantee.of(claim, grant.account)
        return FoundDomains(schema, told_by, table.with_schema(schema), tuple(columns), thresholds)

    def debited(self, ledger: Payer, schema: Schema, columns: Sequence[str]) -> Ledger:
        """One debit for all columns, on disk before the first draw; a purse of the same amount."""
        parts = [units_of(ledger.budget, self.epsilon, None, self._delta(schema[n])) for n in columns]
        amount = up(Fraction(sum(a for a, _ in parts), UNIT))
        delta = up(Fraction(sum(d for _, d in parts), DELTA_UNIT))
        purpose = f"domains of {len(columns)} column{'s' * (len(columns) > 1)}"
        if ledger.budget.kind == "epsilon":
            return Ledger.within(ledger.grant(epsilon=amount, delta=delta, purpose=purpose))
        return Ledger.within(ledger.grant(rho=amount, delta=delta, purpose=purpose))

    # -- before anything is drawn ----------------------------------------------------------------

    def can_find(self, column: Column) -> bool:
        """Whether a column has a domain that could be found."""
        named = column.role in (Role.IDENTIFIER, Role.PERSON)
        return column.kind in (*_LEVELS, *_EDGES) and not named

    def _delta(self, column: Column) -> float:
        return self.delta if column.kind in _LEVELS else 0.0

    def require(self, table: Table, columns: Sequence[str]) -> None:
        """Refuse columns that have no domain to find."""
        table.schema.require(columns)
        if not columns:
            raise ParameterError("no column was named.", hint="find(table, ['diagnosis'])")
        odd = [repr(n) for n in columns if table.schema[n].kind not in (*_LEVELS, *_EDGES)]
        naming = [repr(n) for n in columns if table.schema[n].role in (Role.IDENTIFIER, Role.PERSON)]
        faults = []
        if odd:
            faults.append(f"cells with several codes or free text have no domain to find: {listed(odd)}")
        if naming:
            faults.append(f"columns that name people have none: {listed(naming)}")
        if len(table.schema.of_role(Role.PERSON)) > 1:
            faults.append("more than one column says whose row it is")
        if faults:
            raise SchemaError(f"{'; '.join(faults)}.", hint="name other columns")

    def seen(self, table: Table, columns: Sequence[str]) -> Table:
        """What a search looks at: the named columns with open domains, and who is who."""
        persons = table.schema.of_role(Role.PERSON) if self.unit(table.schema).of == "person" else ()
        open_ = Schema(tuple(_opened(c) if c.name in columns else c for c in table.schema))
        return table.with_schema(open_).select([*columns, *persons])

    def _counted(self, table: Table, columns: Sequence[str], unit: Unit) -> dict[str, Any]:
        """Exact counts of each column: values that occur, or cells of its grid. Confidential."""
        persons = table.schema.of_role(Role.PERSON) if unit.of == "person" else ()
        opened_table = self.seen(table, columns)
        counters = {n: _Counter(opened_table.schema[n], self.grid) for n in columns}
        held: list[pa.RecordBatch] = []
        for batch in opened_table.batches():
            if persons:
                held.append(batch)
            else:
                for name, counter in counters.items():
                    counter.add(batch.column(name))
        for batch in _bounded(held, table.schema[persons[0]], self.max_rows_per_person) if held else ():
            for name, counter in counters.items():
                counter.add(batch.column(name))
        return {n: c.counts() for n, c in counters.items()}

    # -- drawing -----------------------------------------------------------------------------------

    def _found(
        self, column: Column, counted: tuple[Any, NDArray[np.int64]], grant: Grant, unit: Unit
    ) -> tuple[Column, int]:
        epsilon = up(_in_units(self.epsilon, UNIT))
        paid = grant.account if isinstance(grant.account, Accounted) else None
        said = replace(
            Provenance.found(epsilon, self._delta(column), unit.max_rows or 0, paid.ledger if paid else ""),
            line=paid.head if paid else "", checked=Checked.DRAWN,
        )  # fmt: skip
        rows = unit.max_rows or 1
        values, n = counted
        shared: dict[str, Any] = {"missing": True, "provenance": said, "reason": str(said)}
        if column.kind in _EDGES:
            noisy = laplace(n, rows, grant)
            edges = edges_from(values, noisy.values, noisy.scale, self.bins)
            if column.role is Role.WEIGHT:  # the last edge is the largest weight that counts
                edges = (type(edges[-1])(0), edges[-1] if edges[-1] > 0 else type(edges[-1])(1))
            return replace(column, edges=edges, clamp=True, **shared), 0
        kept = laplace_threshold(n, rows, grant)
        levels = sorted(v for v, stays in zip(values, kept.kept.tolist(), strict=True) if stays)
        levels = [*(v for v in levels if v != self.other), self.other]
        labels = {v: label for v, label in column.labels.items() if v in levels}
        kind = Kind.NOMINAL if column.kind is Kind.FLAG and len(levels) > 2 else column.kind
        found = replace(
            column, kind=kind, type="text", levels=tuple(levels), labels=labels, other=self.other, **shared
        )
        return found, kept.threshold


class _Counter:
    """The counts of one column, batch by batch: of the values that occur, or of the cells of its grid."""

    def __init__(self, column: Column, grid: Sequence[float] | None) -> None:
        self._column = column
        self._marks = grid_of(column, grid) if column.kind in _EDGES else None
        self._cells = np.zeros(len(self._marks or ()) + 1, np.int64)
        self._tally = Tally(column)

    def add(self, array: pa.Array) -> None:
        if self._marks is None:
            self._tally.add(array)
            return
        cells = places(self._column, self._marks, array)
        self._cells += np.bincount(cells[cells >= 0], minlength=len(self._cells))

    def counts(self) -> tuple[Any, Any]:
        """(values, counts), or (marks, counts of the cells)."""
        if self._marks is not None:
            return self._marks, self._cells
        found = self._tally.counts()
        values = found.codebooks[0].levels.to_pylist()
        if len(values) > _MOST_VALUES:
            raise DataError(
                f"column '{self._column.name}' has more values than can be counted here.",
                hint="shorten its codes, or declare its domain",
            )
        n = np.zeros(len(values) + 1, np.int64)
        n[found.codes[:, 0]] = found.n
        return values, n[: len(values)]


def _opened(column: Column) -> Column:
    """The column with an open domain; levels are compared as text, so that `other` can be one of them."""
    free = replace(opened(column), other=None)
    return replace(free, type="text") if column.kind in _LEVELS else free


def _bounded(held: list[pa.RecordBatch], column: Column, max_rows: int) -> Iterator[pa.RecordBatch]:
    whole = pa.Table.from_batches(held)
    whose = person_ids(column, whole.column(column.name).combine_chunks())
    if whose.null_count:
        raise DataError(
            f"{whose.null_count} rows do not say whose they are ('{column.name}').",
            hint="leave those rows out first: how many belong to one person cannot be known",
        )
    ids: Any = pc.dictionary_encode(whose).indices.to_numpy()
    stay = at_most(ids.astype(np.int64), max_rows, Key.fresh())
    yield from whole.filter(pa.array(stay)).to_batches()


def _in_units(amount: float, unit: int) -> Fraction:
    return Fraction(ceil_units(exact(amount), unit), unit)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
