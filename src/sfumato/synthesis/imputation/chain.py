"""One column given others: which engine, what it learnt, and how its cells are drawn, gaps included."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError, SfumatoError, listed
from sfumato.schema import Kind, Schema
from sfumato.synthesis.imputation.draws import Draw, Floats
from sfumato.synthesis.imputation.engines import (
    ConditionalLaw,
    ElasticNet,
    Engine,
    Learned,
    Linear,
    Multinomial,
)
from sfumato.synthesis.imputation.trees import LEAST, Forest, LearnedLeaves, Marginal, Tree
from sfumato.synthesis.imputation.variables import Frame, ModelVariable, Variables

# The engine of numbers and that of levels, by the name one asks for them.
ENGINES: dict[str, tuple[Engine, Engine]] = {
    "models": (Linear(), Multinomial()),
    "elastic-net": (Linear(), ElasticNet()),
    "trees": (Tree(), Tree()),
    "forests": (Forest(), Forest()),
    "marginals": (Marginal(), Marginal()),
}
_NUMBERS = (Kind.NUMERIC, Kind.DATE)


@dataclass(frozen=True)
class EngineChoice:
    """Which engine a column has: its own, or the one for all. least: persons of a leaf, where it is named."""

    engine: str | Engine = "models"
    engines: Mapping[str, str | Engine] | None = None
    least: int = LEAST

    def faults(self) -> list[str]:
        """Names that are no engine's."""
        asked = {"engine": self.engine, **(self.engines or {})}
        wrong = [
            repr(n)
            for n, e in asked.items()
            if (e not in ENGINES if isinstance(e, str) else not hasattr(e, "learn"))
        ]
        return [f"no engine for {listed(wrong)}: one of {', '.join(ENGINES)}, or an engine"] if wrong else []

    def check(self, schema: Schema, columns: Iterable[str]) -> None:
        """Whether every column can have its engine, before any data are read."""
        columns = list(columns)
        faults = [f"no column '{n}' is drawn" for n in self.engines or {} if n not in columns]
        for name in columns:
            kind = "numbers" if schema[name].kind in _NUMBERS else "levels"
            engine = (self.engines or {}).get(name, self.engine)
            if not isinstance(engine, str) and kind not in engine.kinds:
                faults.append(f"{type(engine).__name__} does not draw the {kind} of '{name}'")
        if faults:
            raise ParameterError(f"{'; '.join(faults)}.", hint="engines={column: engine}")

    def of(self, variable: ModelVariable) -> Engine:
        """The engine of one column."""
        asked = (self.engines or {}).get(variable.name, self.engine)
        if not isinstance(asked, str):
            return asked
        return self._named(asked)[0 if variable.book is None else 1]

    def of_gaps(self) -> Engine:
        """The engine of whether a number is there."""
        return self._named(self.engine)[1] if isinstance(self.engine, str) else Multinomial()

    def _named(self, name: str) -> tuple[Engine, Engine]:
        return {**ENGINES, "trees": (Tree(self.least),) * 2, "forests": (Forest(least=self.least),) * 2}[name]

    def words(self) -> str | dict[str, str]:
        """What was asked for, as JSON."""
        said = {n: e if isinstance(e, str) else repr(e) for n, e in (self.engines or {}).items()}
        own = self.engine if isinstance(self.engine, str) else repr(self.engine)
        return {"all": own, **said} if said else own


@dataclass(frozen=True, eq=False)
class ColumnModel:
    """One column given others, learnt. gaps: whether a number is missing, where some are."""

    target: ModelVariable
    given: tuple[str, ...]
    values: Learned
    gaps: Learned | None = None

    def law(self, draw: Draw | None) -> ColumnLaw:
        """With parameters drawn, or at their estimates."""
        return ColumnLaw(
            self.target, self.given, self.values.law(draw), None if self.gaps is None else self.gaps.law(draw)
        )


@dataclass(frozen=True, eq=False)
class ColumnLaw:
    """A step with its parameters."""

    target: ModelVariable
    given: tuple[str, ...]
    values: ConditionalLaw
    gaps: ConditionalLaw | None

    def draw(self, variables: Variables, frame: Mapping[str, Floats], rows: int, draw: Draw) -> Floats:
        """A cell for each row, from what the frame holds of the columns it is given."""
        x = variables.features(frame, self.given) if self.given else np.empty((rows, 0))
        drawn = self.target.settled(self.values.draw(x, draw))
        if self.gaps is None:
            return drawn
        return np.where(self.gaps.draw(x, draw) == 1, np.nan, drawn)


def learn(
    choice: EngineChoice, variables: Variables, frame: Frame, name: str, given: Sequence[str],
    rows: NDArray[np.bool_] | None = None, *, with_gaps: bool = True, weights: Floats | None = None,
    whose: NDArray[np.int64] | None = None,
) -> ColumnModel:  # fmt: skip
    """One column given others, from all rows or some.

    with_gaps: a number's gaps are learnt as well, so that drawn rows have them too. weights: of rows.
    whose: the person of each row; leaves of trees then hold persons, not rows.
    """
    target = variables[name]
    here = slice(None) if rows is None else rows
    x, y = variables.features(frame, given)[here], frame[name][here]
    own = None if weights is None else weights[here]
    whose = None if whose is None else whose[here]
    engine: Engine = choice.of(target) if x.shape[1] else Marginal()
    gaps = None
    if target.book is None:
        there = ~np.isnan(y)
        if with_gaps and target.gaps:
            about: Engine = choice.of_gaps() if x.shape[1] else Marginal()
            gaps = _learnt(about, x, (~there).astype(np.float64), 2, name, own, whose)
        x, y, own = x[there], y[there], None if own is None else own[there]
        whose = None if whose is None else whose[there]
    return ColumnModel(target, tuple(given), _learnt(engine, x, y, target.size, name, own, whose), gaps)


def _learnt(
    engine: Engine, x: Floats, y: Floats, size: int | None, name: str, weights: Floats | None,
    whose: NDArray[np.int64] | None,
) -> Learned:  # fmt: skip
    try:
        found = engine.learn(x, y, size) if weights is None else engine.learn(x, y, size, weights)
        if whose is not None and isinstance(engine, Tree | Forest) and isinstance(found, LearnedLeaves):
            return found.holding(engine.least, whose, x, y, weights)
        return found
    except SfumatoError:
        raise
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):  # its words might show cells
        raise ParameterError(
            f"{type(engine).__name__} could not be fitted to '{name}'.", hint="another engine for this column"
        ) from None
