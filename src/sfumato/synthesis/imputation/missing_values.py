"""Missing cells filled with draws from models: chained equations (van Buuren and Groothuis-Oudshoorn 2011).

    sets = sf.MissingValues(engine="models").fit(table).samples(5)     # five completed data sets

Each column with gaps is drawn from a model given all others, learnt where it is there; the columns take
turns, so many sweeps long. Right where cells are missing at random given what is seen; nothing here can
test that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError, listed
from sfumato.methods.declaration import Declaration, Does, Need, declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.shapes import ListOf, Text
from sfumato.privacy import Guarantee
from sfumato.progress import report
from sfumato.release import InternalRecord, Release
from sfumato.schema import Kind, Schema
from sfumato.seeds import Key
from sfumato.synthesis.checks import whole
from sfumato.synthesis.constraints import Constraint
from sfumato.synthesis.domain import chosen
from sfumato.synthesis.imputation import promises, rules
from sfumato.synthesis.imputation.chain import ColumnLaw, EngineChoice, learn
from sfumato.synthesis.imputation.draws import Draw, Floats
from sfumato.synthesis.imputation.engines import Engine
from sfumato.synthesis.imputation.partial import (
    filtered,
    held,
    put,
    refuse_columns,
    released_schema,
    same_rows,
)
from sfumato.synthesis.imputation.rules import Rules, weights_of, without
from sfumato.synthesis.imputation.variables import Frame, Variables, look, usable
from sfumato.synthesis.parameters import (
    CONSTRAINTS,
    ENGINE,
    ENGINES,
    PROPER,
    WEIGHT,
    count,
)
from sfumato.table import Table

_TURNS = 200  # for rows that break a constraint


@declares(
    Declaration(
        "missing",
        Does.SYNTHESIZE,
        "Fills missing cells with draws from models; it promises nothing.",
        page="imputation.md",
        own_rows=True,
        claims=("NoGuarantee",),
        needs=(Need.KEY,),
    )
)
@dataclass(frozen=True, eq=False)
class MissingValues:
    """Fill the gaps of columns by drawing from models given the others.

    Cells are drawn again until no constraint is broken; rows that break one with the cells they have are
    left out.

    >>> import pyarrow as pa
    >>> people = sf.scan(pa.table({"sex": ["f", "m"] * 40, "age": [31, 64, None, 58] * 20}))
    >>> filled = sf.MissingValues(sweeps=2).fit(people).sample()
    >>> filled.data.to_arrow()["age"].null_count
    0
    """

    columns: Annotated[
        Sequence[str] | None,
        Parameter(
            ListOf(Text(), "Which are filled; by default all with gaps that a model can draw.", least=1),
            beginner=True,
            columns=True,
        ),
    ] = None
    engine: Annotated[str | Engine, ENGINE] = "models"
    engines: Annotated[Mapping[str, str | Engine], ENGINES] = field(default_factory=dict)
    sweeps: Annotated[int, count("How often the columns take turns.", 1)] = 5
    proper: Annotated[bool, PROPER] = True
    weight: Annotated[str | None, WEIGHT] = None
    constraints: Annotated[Sequence[Constraint], CONSTRAINTS] = ()

    def __post_init__(self) -> None:
        faults = self.choice.faults() + rules.faults(self.constraints, self.weight)
        if isinstance(self.sweeps, bool) or not isinstance(self.sweeps, int) or self.sweeps < 1:
            faults.append("sweeps must be a whole number, at least 1")
        if isinstance(self.columns, str) or (self.columns is not None and not self.columns):
            faults.append("columns must name one column or more")
        if faults:
            raise ParameterError(f"MissingValues: {'; '.join(faults)}.", hint="see docs/imputation.md")

    @property
    def choice(self) -> EngineChoice:
        """Which engine each column has."""
        return EngineChoice(self.engine, self.engines)

    def fit(self, table: Table) -> FittedMissing:
        """Find the gaps. The models are learnt with each data set, for they look at cells that were drawn."""
        table.schema.require(list(self.columns or ()))
        refuse_columns(table.schema, list(self.columns or ()))
        plain = [c.name for c in chosen(table.schema, None) if c.kind not in (Kind.CODES, Kind.TEXT)]
        self.choice.check(table.schema, plain if self.columns is None else self.columns)
        rules.refuse(self.constraints, self.weight, table.schema)
        table = held(table)
        tied = [n for c in self.constraints for n in c.columns]
        seen = list(dict.fromkeys([*usable(table, list(self.columns or ())), *tied]))
        variables, frame = look(table, seen)
        law, weights = Rules(tuple(self.constraints), variables), weights_of(table, self.weight)
        gaps = {n: variables[n].empty(frame[n]) for n in self.columns or seen}
        broken = law.broken(frame, gaps)
        if broken.any():
            frame, table = without(frame, broken), filtered(table, ~broken)
            weights = None if weights is None else weights[~broken]
        holes = {n: variables[n].empty(frame[n]) for n in self.columns or seen}
        full = [repr(n) for n, h in holes.items() if not h.any()]
        if len(full) == len(holes):
            raise DataError(f"no cell is missing in {listed(full)}.", hint="there is nothing to fill")
        holes = {n: h for n, h in holes.items() if h.any()}
        return FittedMissing(self, variables, frame, holes, table.to_arrow(), table.schema, law, weights)


@dataclass(frozen=True, eq=False)
class FittedMissing:
    """The rows and where they have gaps: confidential."""

    method: MissingValues
    variables: Variables
    frame: Frame = field(repr=False)
    holes: Mapping[str, NDArray[np.bool_]] = field(repr=False)
    kept: pa.Table = field(repr=False)
    schema: Schema = field(repr=False)
    rules: Rules = field(repr=False)
    weights: Floats | None = field(default=None, repr=False)

    def sample(self, rows: int | None = None, *, key: Key | None = None, seed: int | None = None) -> Release:
        """The rows with their gaps filled. rows: as many as the data have, and may be left out."""
        same_rows(rows, self.kept.num_rows)
        key = promises.key_of(key, seed)
        frame, table = self._chain(key.generator("missing")), self.kept
        for name, hole in self.holes.items():
            table = put(table, self.variables, name, frame[name], hole)
        method, filled = self.method, list(self.holes)
        plan: dict[str, Any] = {"method": "missing", "filled": filled, "engine": method.choice.words(),
                                "sweeps": method.sweeps, "proper": method.proper, "weight": method.weight,
                                "constraints": [repr(c) for c in method.constraints]}  # fmt: skip
        kept = [n for n in self.schema.names if n not in filled]
        return Release(
            Table.from_arrow(table, released_schema(self.schema)),
            Guarantee.of(
                promises.of_real_rows(kept, filled, "where they were missing, and are true elsewhere")
            ),
            InternalRecord(key=key, seed=seed, plan=plan),
            f"Rows of people; missing cells of {listed(filled)} were filled with draws from models.",
        )

    def samples(
        self, k: int, rows: int | None = None, *, key: Key | None = None, seed: int | None = None
    ) -> tuple[Release, ...]:
        """k completed data sets. Set number i is `sample` with `key.derive("set", i)`."""
        k, key = whole("k", k), promises.key_of(key, seed)
        return tuple(self.sample(rows, key=key.derive("set", i)) for i in range(k))

    def _chain(self, draw: Draw) -> Frame:
        """Begin with cells of others, then let the columns take turns."""
        variables, choice, method = self.variables, self.method.choice, self.method
        frame = {n: v.copy() for n, v in self.frame.items()}
        for name, hole in self.holes.items():
            seen = self.frame[name][~hole]
            frame[name][hole] = seen[draw.integers(0, len(seen), int(hole.sum()))]
        for sweep in range(method.sweeps):
            report("imputing", sweep, method.sweeps)
            laws = {}
            for name, hole in self.holes.items():
                others = [n for n in variables.names if n != name]
                step = learn(
                    choice, variables, frame, name, others, ~hole, with_gaps=False, weights=self.weights
                )
                laws[name] = step.law(draw if method.proper else None)
                self._fill(frame, laws[name], hole, draw)
        self._mend(frame, laws, draw)
        return frame

    def _fill(self, frame: Frame, law: ColumnLaw, hole: NDArray[np.bool_], draw: Draw) -> None:
        here = {n: v[hole] for n, v in frame.items()}
        frame[law.target.name][hole] = law.draw(self.variables, here, int(hole.sum()), draw)

    def _mend(self, frame: Frame, laws: Mapping[str, ColumnLaw], draw: Draw) -> None:
        """Further turns for the rows that break a constraint, until none does."""
        for _ in range(_TURNS):
            broken = self.rules.broken(frame)
            if not broken.any():
                return
            for name, hole in self.holes.items():
                if (hole & broken).any():
                    self._fill(frame, laws[name], hole & broken, draw)
        raise ParameterError(
            f"{int(self.rules.broken(frame).sum())} rows break a constraint however they are filled.",
            hint="correct the constraints, or fill other columns",
        )
