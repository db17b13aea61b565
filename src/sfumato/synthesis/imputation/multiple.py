"""Multiple imputation: new rows from a chain of models, each column given those before it (Rubin 1993).

    fitted = sf.MultipleImputation(engine="models").fit(table)
    fitted.sample(5_000)             # one data set
    fitted.samples(5, 5_000)         # five, each from its own draw of the models' parameters

The first column is drawn from its marginal, the second given the first, and so on: a joint law, unlike
drawing each given all others, which has one only where the models agree. Analyses of several sets are put
together by `combine`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import canonical_type, person_ids
from sfumato.errors import ParameterError, listed
from sfumato.methods.declaration import Declaration, Does, Need, declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.shapes import Flag, ListOf, Number, Text
from sfumato.progress import report
from sfumato.release import InternalRecord, Release
from sfumato.schema import Role
from sfumato.seeds import Key
from sfumato.sources import BatchSource
from sfumato.synthesis.checks import whole
from sfumato.synthesis.constraints import Constraint
from sfumato.synthesis.domain import chosen
from sfumato.synthesis.imputation import promises, rules
from sfumato.synthesis.imputation.chain import ColumnLaw, ColumnModel, EngineChoice, learn
from sfumato.synthesis.imputation.copies import PILOT, CopyGuard, Guard
from sfumato.synthesis.imputation.engines import Engine
from sfumato.synthesis.imputation.partial import held
from sfumato.synthesis.imputation.rules import Rules, draw_rows, weights_of, without
from sfumato.synthesis.imputation.trees import LEAST
from sfumato.synthesis.imputation.variables import Frame, Variables, look
from sfumato.synthesis.parameters import (
    COLUMNS,
    CONSTRAINTS,
    ENGINE,
    ENGINES,
    PROPER,
    WEIGHT,
)
from sfumato.table import Table

CHUNK = 65_536  # rows drawn together; part of the law of the stream, so it is fixed


@declares(
    Declaration(
        "imputation",
        Does.SYNTHESIZE,
        "A chain of models; it promises nothing.",
        page="imputation.md",
        claims=("NoGuarantee",),
        needs=(Need.KEY,),
    )
)
@dataclass(frozen=True, eq=False)
class MultipleImputation:
    """Columns one after the other, each drawn from a model given those before it.

    With a weight, the models are those of the population that rows stand for. Rows that break a constraint
    are not learnt from, and none is drawn.

    >>> people = sf.samples.members(200).select(["sex", "diabetes", "age"])
    >>> sets = sf.MultipleImputation("trees").fit(people).samples(2, 100)
    >>> [one.data.rows() for one in sets]
    [100, 100]
    """

    engine: Annotated[str | Engine, ENGINE] = "models"
    engines: Annotated[Mapping[str, str | Engine], ENGINES] = field(default_factory=dict)
    columns: Annotated[Sequence[str] | None, COLUMNS] = None
    order: Annotated[
        Sequence[str] | None,
        Parameter(
            ListOf(Text(), "The order columns are drawn in; by default that of the schema.", least=1),
            columns=True,
        ),
    ] = None
    proper: Annotated[bool, PROPER] = True
    weight: Annotated[str | None, WEIGHT] = None
    constraints: Annotated[Sequence[Constraint], CONSTRAINTS] = ()
    least: Annotated[
        int,
        Parameter(
            Number("Of named trees and forests: persons that a leaf holds at least.", 1, 10_000, whole=True)
        ),
    ] = LEAST
    reject_copies: Annotated[
        bool,
        Parameter(
            Flag(
                "Rows that equal one of the data are drawn again until they are no more than other people's "
                "rows would be; columns keep their shares."
            )
        ),
    ] = False

    def __post_init__(self) -> None:
        faults = self.choice.faults() + rules.faults(self.constraints, self.weight)
        for name in ("proper", "reject_copies"):
            if not isinstance(getattr(self, name), bool):
                faults.append(f"{name} must be True or False")
        if isinstance(self.least, bool) or not isinstance(self.least, int) or not 1 <= self.least <= 10_000:
            faults.append("least is a whole number from 1 to 10,000")
        if faults:
            raise ParameterError(f"MultipleImputation: {'; '.join(faults)}.", hint="see docs/imputation.md")

    @property
    def choice(self) -> EngineChoice:
        """Which engine each column has."""
        return EngineChoice(self.engine, self.engines, self.least)

    def fit(self, table: Table) -> FittedImputation:
        """Learn the chain. What is wrong with schema and engines is said before data are read."""
        wanted = [c.name for c in chosen(table.schema, self.columns)]
        order = list(self.order) if self.order is not None else wanted
        if sorted(order) != sorted(wanted):
            raise ParameterError(
                f"order must name each of the {len(wanted)} columns once.", hint=f"{listed(wanted)}"
            )
        self.choice.check(table.schema, wanted)
        rules.refuse(self.constraints, self.weight, table.schema)
        table, whose = _whose(table)
        table = table if self.weight is None else held(table)
        variables, frame = look(table, wanted)
        law = Rules(tuple(self.constraints), variables)
        broken, weights = law.broken(frame), weights_of(table, self.weight)
        frame, weights = without(frame, broken), None if weights is None else weights[~broken]
        whose = None if whose is None else whose[~broken]
        steps = []
        for i, name in enumerate(order):
            report("learning", i, len(order))
            steps.append(learn(self.choice, variables, frame, name, order[:i], weights=weights, whose=whose))
        copies = CopyGuard.of(frame, variables, weights, whose)
        return FittedImputation(self, variables, tuple(steps), law, copies, int(broken.sum()))


@dataclass(frozen=True, eq=False)
class FittedImputation:
    """A chain of models, and the rows they were learnt from: confidential."""

    method: MultipleImputation
    variables: Variables
    steps: tuple[ColumnModel, ...] = field(repr=False)
    rules: Rules = field(repr=False)
    copies: CopyGuard = field(repr=False)
    dropped: int = field(default=0, repr=False)

    def sample(self, rows: int, *, key: Key | None = None, seed: int | None = None) -> Release:
        """So many rows, drawn when they are read or saved; the same each time for a key."""
        rows, key = whole("rows", rows), promises.key_of(key, seed)
        draw = key.generator("imputation", "parameters") if self.method.proper else None
        laws = [step.law(draw) for step in self.steps]
        order = [s.target.name for s in self.steps]
        plan: dict[str, Any] = {"method": "imputation", "rows": rows, "engine": self.method.choice.words(),
                                "order": order, "proper": self.method.proper, "weight": self.method.weight,
                                "constraints": [repr(c) for c in self.method.constraints],
                                "least": self.method.least,
                                "reject_copies": self.method.reject_copies}  # fmt: skip

        def pilot(guard: Guard | None) -> Frame:
            draw = key.generator("imputation", "pilot" if guard is None else "guarded")
            return draw_rows(laws, self.rules, {}, min(max(rows, 1_000), PILOT), draw, guard)

        guard, repeated = self.copies.looked_at(pilot, self.method.reject_copies)
        return Release(
            _table(self.rules, laws, rows, key, guard),
            promises.of_rows(self.variables, repeated),
            InternalRecord(key=key, seed=seed, plan=plan, extra={"rows dropped": self.dropped}),
            "Synthetic rows, drawn from models of person-level data, each column given those before it. "
            "Rows may equal those of people; nothing bounds what was learnt from persons.",
        )

    def samples(
        self, k: int, rows: int, *, key: Key | None = None, seed: int | None = None
    ) -> tuple[Release, ...]:
        """k data sets at once. Set number i is `sample` with `key.derive("set", i)`."""
        k, rows, key = whole("k", k), whole("rows", rows), promises.key_of(key, seed)
        return tuple(self.sample(rows, key=key.derive("set", i)) for i in range(k))


def _whose(table: Table) -> tuple[Table, NDArray[np.int64] | None]:
    """The person of each row, where the schema says so, and the rows in that order.

    Rows that say nobody's name count as one person's: they can only make leaves larger.
    """
    persons = table.schema.of_role(Role.PERSON)
    if not persons:
        return table, None
    whole = table.to_arrow()
    ids: pa.Array = person_ids(table.schema[persons[0]], whole.column(persons[0]).combine_chunks())
    codes = ids.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return Table.from_arrow(whole, table.schema), codes.astype(np.int64)


def _table(rules: Rules, laws: Sequence[ColumnLaw], rows: int, key: Key, guard: Guard | None) -> Table:
    variables = rules.variables
    fields = pa.schema([pa.field(v.name, canonical_type(v.column)) for v in variables.columns])

    def open_(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for part, start in enumerate(range(0, rows, CHUNK)):
            draw, here = key.generator("imputation", "rows", part), min(CHUNK, rows - start)
            frame = draw_rows(laws, rules, {}, here, draw, guard)
            yield variables.batch(frame).select(list(names))
            report("synthesizing", start + here, rows)

    return Table(BatchSource(fields, open_, rows=rows), variables.schema)
