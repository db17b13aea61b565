"""Partially synthetic releases: the rows of people, with chosen columns, or the risky cells of them, drawn
anew.

    sf.PartialSynthesis(["age", "zip"]).fit(table).sample()            # two columns of every row
    sf.PartialSynthesis(["age", "zip"], risky=5).fit(table).sample()   # only in rows that fewer than 5 share

Reiter (2003): each chosen column is drawn from a model given the columns that stay and the chosen ones
before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import ParameterError, listed
from sfumato.methods.declaration import Declaration, Does, Need, declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.shapes import Flag, ListOf, Text
from sfumato.privacy import Guarantee
from sfumato.progress import report
from sfumato.release import InternalRecord, Release
from sfumato.schema import Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.synthesis.checks import whole
from sfumato.synthesis.constraints import Constraint
from sfumato.synthesis.imputation import promises, rules
from sfumato.synthesis.imputation.chain import ColumnModel, EngineChoice, learn
from sfumato.synthesis.imputation.draws import Floats
from sfumato.synthesis.imputation.engines import Engine
from sfumato.synthesis.imputation.rules import Rules, draw_rows, weights_of, without
from sfumato.synthesis.imputation.variables import Frame, Variables, look, rows_of, usable
from sfumato.synthesis.parameters import (
    CONSTRAINTS,
    ENGINE,
    ENGINES,
    PROPER,
    WEIGHT,
    count,
)
from sfumato.table import Table

NAMING = (Role.IDENTIFIER, Role.PERSON)


@declares(
    Declaration(
        "partial",
        Does.SYNTHESIZE,
        "The rows of people, with chosen columns or risky cells drawn anew.",
        page="imputation.md",
        own_rows=True,
        claims=("NoGuarantee",),
        needs=(Need.KEY,),
    )
)
@dataclass(frozen=True, eq=False)
class PartialSynthesis:
    """Chosen columns of every row, or of risky rows, drawn anew; all other cells stay as they are.

    Rows of the data that break a constraint are left out.

    >>> people = sf.samples.members(200).select(["sex", "region", "age"])
    >>> release = sf.PartialSynthesis(["age"]).fit(people).sample()
    >>> release.counts("sex", "region") == people.counts("sex", "region")
    True
    """

    columns: Annotated[
        Sequence[str],
        Parameter(
            ListOf(Text(), "The columns that are drawn, in this order.", least=1), beginner=True, columns=True
        ),
    ]
    risky: Annotated[
        int | None,
        count("Draw only in rows whose combination of `by` fewer than so many rows have.", 2, beginner=True),
    ] = None
    by: Annotated[
        Sequence[str] | None,
        Parameter(ListOf(Text(), "What an intruder knows: the quasi-identifiers.", least=1), columns=True),
    ] = None
    given: Annotated[
        Sequence[str] | None,
        Parameter(
            ListOf(Text(), "What the models look at besides; by default every column they can.", least=1),
            columns=True,
        ),
    ] = None
    engine: Annotated[str | Engine, ENGINE] = "trees"
    engines: Annotated[Mapping[str, str | Engine], ENGINES] = field(default_factory=dict)
    proper: Annotated[bool, PROPER] = True
    shuffle: Annotated[
        bool, Parameter(Flag("Put the rows in a new order, so that their place tells nothing."))
    ] = True
    weight: Annotated[str | None, WEIGHT] = None
    constraints: Annotated[Sequence[Constraint], CONSTRAINTS] = ()

    def __post_init__(self) -> None:
        faults = self.choice.faults() + rules.faults(self.constraints, self.weight)
        if isinstance(self.columns, str) or not self.columns or len(set(self.columns)) < len(self.columns):
            faults.append("columns must name one column or more, each once")
        if self.risky is not None and (
            isinstance(self.risky, bool) or not isinstance(self.risky, int) or self.risky < 2
        ):
            faults.append("risky must be a whole number, at least 2")
        if self.by is not None and self.risky is None:
            faults.append("by says which rows are risky: give risky too")
        if faults:
            raise ParameterError(f"PartialSynthesis: {'; '.join(faults)}.", hint="see docs/imputation.md")

    @property
    def choice(self) -> EngineChoice:
        """Which engine each column has."""
        return EngineChoice(self.engine, self.engines)

    def fit(self, table: Table) -> FittedPartial:
        """Learn the chosen columns. What is wrong with names and engines is said before data are read."""
        schema, chosen = table.schema, list(self.columns)
        schema.require([*chosen, *(self.given or ()), *(self.by or ())])
        refuse_columns(schema, chosen, self.given or (), self.by or ())
        self.choice.check(schema, chosen)
        by = list(self.by) if self.by is not None else list(schema.of_role(Role.QUASI_IDENTIFIER))
        if self.risky is not None and not by:
            raise ParameterError(
                "the schema names no quasi-identifier.", hint="by=[...] says what an intruder knows"
            )
        rules.refuse(self.constraints, self.weight, schema)
        table = held(table)
        seen = usable(table, chosen) if self.given is None else [*self.given, *chosen]
        seen = [*seen, *(n for c in self.constraints for n in c.columns)]
        variables, frame = look(table, list(dict.fromkeys(seen)))
        law = Rules(tuple(self.constraints), variables)
        broken, weights = law.broken(frame), weights_of(table, self.weight)
        if broken.any():
            frame, table = without(frame, broken), filtered(table, ~broken)
            weights = None if weights is None else weights[~broken]
        fixed = [n for n in variables.names if n not in chosen]
        steps = []
        for i, name in enumerate(chosen):
            report("learning", i, len(chosen))
            steps.append(learn(self.choice, variables, frame, name, [*fixed, *chosen[:i]], weights=weights))
        changed = np.ones(rows_of(frame), bool)
        if self.risky is not None:
            changed = _class_sizes(table, by) < self.risky
        arrow = table.to_arrow()
        return FittedPartial(self, variables, frame, tuple(steps), changed, arrow, table.schema, law)


@dataclass(frozen=True, eq=False)
class FittedPartial:
    """Models of the chosen columns, and the rows: confidential."""

    method: PartialSynthesis
    variables: Variables
    frame: Frame = field(repr=False)
    steps: tuple[ColumnModel, ...] = field(repr=False)
    changed: NDArray[np.bool_] = field(repr=False)
    kept: pa.Table = field(repr=False)
    schema: Schema = field(repr=False)
    rules: Rules = field(repr=False)

    def sample(self, rows: int | None = None, *, key: Key | None = None, seed: int | None = None) -> Release:
        """The rows with new cells. rows: as many as the data have, and may be left out."""
        same_rows(rows, self.kept.num_rows)
        key = promises.key_of(key, seed)
        draw = key.generator("partial", "cells")
        parameters = key.generator("partial", "parameters") if self.method.proper else None
        current = {n: v[self.changed] for n, v in self.frame.items()}
        table = self.kept
        if self.changed.any():
            laws = [step.law(parameters) for step in self.steps]
            current = draw_rows(laws, self.rules, current, int(self.changed.sum()), draw)
        for step in self.steps:
            name = step.target.name
            whole_column = self.frame[name].copy()
            whole_column[self.changed] = current[name]
            table = put(table, self.variables, name, whole_column, self.changed)
        if self.method.shuffle:
            table = table.take(pa.array(key.generator("partial", "order").permutation(table.num_rows)))
        return Release(
            Table.from_arrow(table, released_schema(self.schema)),
            self._guarantee(),
            InternalRecord(
                key=key, seed=seed, plan=self._plan(), extra={"rows changed": int(self.changed.sum())}
            ),
            f"Rows of people in which {listed(list(self.method.columns))} were drawn anew from models"
            + (", in risky rows only." if self.method.risky else "."),
        )

    def samples(
        self, k: int, rows: int | None = None, *, key: Key | None = None, seed: int | None = None
    ) -> tuple[Release, ...]:
        """k data sets. Set number i is `sample` with `key.derive("set", i)`."""
        k, key = whole("k", k), promises.key_of(key, seed)
        return tuple(self.sample(rows, key=key.derive("set", i)) for i in range(k))

    def _guarantee(self) -> Guarantee:
        risky = self.method.risky
        which = (
            "in every row"
            if risky is None
            else f"in rows that fewer than {risky} rows shared, and are true in others"
        )
        kept = [n for n in self.schema.names if n not in self.method.columns]
        real = promises.of_real_rows(kept, self.method.columns, which)
        return Guarantee.of(real, promises.LEARNT, *promises.of_domain(self.variables))

    def _plan(self) -> dict[str, Any]:
        method = self.method
        return {"method": "partial", "columns": list(method.columns), "risky": method.risky,
                "by": None if method.by is None else list(method.by), "engine": method.choice.words(),
                "proper": method.proper, "shuffle": method.shuffle, "weight": method.weight,
                "constraints": [repr(c) for c in method.constraints]}  # fmt: skip


def held(table: Table) -> Table:
    """The rows in memory, without names of people: an engine need not give them in the same order twice."""
    plain = table.drop([c.name for c in table.schema if c.role in NAMING])
    return Table.from_arrow(plain.to_arrow(), plain.schema)


def filtered(table: Table, kept: NDArray[np.bool_]) -> Table:
    """Some of the rows."""
    return Table.from_arrow(table.to_arrow().filter(pa.array(kept)), table.schema)


def refuse_columns(
    schema: Schema, chosen: Sequence[str], given: Sequence[str] = (), by: Sequence[str] = ()
) -> None:
    """Columns that cannot be drawn or looked at, before any data are read."""
    faults = []
    naming = [repr(n) for n in dict.fromkeys([*chosen, *given, *by]) if schema[n].role in NAMING]
    if naming:
        faults.append(f"columns that name people are neither drawn nor looked at: {listed(naming)}")
    mixed = [repr(n) for n in chosen if schema[n].kind in (Kind.CODES, Kind.TEXT)]
    if mixed:
        faults.append(f"cells with several codes or free text cannot be synthesized: {listed(mixed)}")
    both = [repr(n) for n in given if n in chosen]
    if both:
        faults.append(f"drawn and given at once: {listed(both)}")
    if faults:
        raise ParameterError(f"{'; '.join(faults)}.", hint="choose other columns")


def put(
    table: pa.Table, variables: Variables, name: str, values: Floats, changed: NDArray[np.bool_]
) -> pa.Table:
    """The table with new cells where `changed` says so; all others stay exactly as they are."""
    import pyarrow.compute as pc

    place = table.column_names.index(name)
    new = variables[name].arrow(values)
    cells = pc.if_else(pa.array(changed), new, table.column(place).combine_chunks())
    return table.set_column(place, table.schema.field(place), cells)


def released_schema(schema: Schema) -> Schema:
    """Missing codes are empty cells in a release."""
    return Schema(tuple(replace(c, missing_codes=(), reason="") for c in schema))


def same_rows(rows: int | None, there: int) -> None:
    """A release of people's rows has as many as the data."""
    if rows is not None and whole("rows", rows) != there:
        raise ParameterError(
            f"rows are those of the data, {there:,} in number.", hint="leave rows out, or give this number"
        )


def _class_sizes(table: Table, by: Sequence[str]) -> NDArray[np.int64]:
    """How many rows have each row's combination."""
    codes = table.encode(by).codes
    _, inverse, n = np.unique(codes, axis=1, return_inverse=True, return_counts=True)
    return np.asarray(n[inverse.ravel()])
