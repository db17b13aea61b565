"""`Counts`: how many rows fall into each combination of levels. The one currency of the house."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts.codebook import Codebook
from sfumato.errors import ParameterError, listed, offered

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_DENSE_LIMIT = 2**28  # cells a dense array may have


@dataclass(frozen=True, eq=False)
class Counts:
    """A contingency table that stores only the cells that occur.

    codebooks: one per column, in order.
    codes: (cells, columns), sorted, each row once.
    n: (cells,) how many rows: int64, or float64 where rows are weighted.

    >>> counts = sf.samples.members(100).counts("sex", "region")
    >>> counts.shape
    (2, 4)
    >>> int(counts.total)
    100
    >>> counts.project("sex").to_arrow().to_pylist()
    [{'sex': 'female', 'n': 58}, {'sex': 'male', 'n': 42}]
    """

    codebooks: tuple[Codebook, ...]
    codes: NDArray[np.uint32]
    n: NDArray[Any]

    @classmethod
    def of_cells(cls, codebooks: Sequence[Codebook], codes: NDArray[Any], n: NDArray[Any]) -> Counts:
        """From cells in any order, the same cell perhaps several times."""
        codes = np.ascontiguousarray(codes, np.uint32).reshape(len(n), len(codebooks))
        n = np.asarray(n, np.float64 if np.asarray(n).dtype.kind == "f" else np.int64)
        outside = [b.name for b, column in zip(codebooks, codes.T, strict=True) if (column >= b.size).any()]
        if outside:
            raise ParameterError(f"codes past the levels of {listed(outside)}.", hint="encode the cells anew")
        keys = flat_keys(codes, [b.size for b in codebooks])
        if keys is not None:
            order = np.argsort(keys, kind="stable")
            first = np.flatnonzero(np.diff(keys[order], prepend=np.uint64(2**64 - 1)))
        else:  # more combinations than 64 bits can number
            order = np.lexsort(codes.T[::-1])
            ordered = codes[order]
            changed = (ordered[1:] != ordered[:-1]).any(axis=1)
            first = np.flatnonzero(np.append(True, changed)) if len(n) else np.empty(0, np.int64)
        summed = np.add.reduceat(n[order], first) if len(n) else n
        kept = summed != 0
        return cls(tuple(codebooks), codes[order[first]][kept], summed[kept])

    @classmethod
    def of_dense(cls, codebooks: Sequence[Codebook], table: NDArray[Any]) -> Counts:
        """From a full array with one axis per column."""
        if table.shape != tuple(b.size for b in codebooks):
            raise ParameterError("the array's shape is not that of the columns.", hint="one axis per column")
        where = np.nonzero(table)
        codes = np.stack(where, axis=1).astype(np.uint32)
        values = table[where]
        return cls(tuple(codebooks), codes, values if values.dtype.kind == "f" else values.astype(np.int64))

    # -- looking ---------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are crossed."""
        return tuple(b.name for b in self.codebooks)

    @property
    def shape(self) -> tuple[int, ...]:
        """Codes per column, the one for missing included."""
        return tuple(b.size for b in self.codebooks)

    @property
    def cells(self) -> int:
        """How many combinations occur."""
        return len(self.n)

    @property
    def total(self) -> float:
        """All rows, or their weight."""
        return self.n.sum().item()  # type: ignore[no-any-return]

    def dense(self) -> NDArray[Any]:
        """The full table, zeros included: one axis per column."""
        if math.prod(self.shape) > _DENSE_LIMIT:
            raise ParameterError(
                f"a full table of {' x '.join(map(str, self.shape))} cells is too large.",
                hint="use .codes and .n, or fewer columns",
            )
        table = np.zeros(self.shape, self.n.dtype)
        table[tuple(self.codes.T)] = self.n
        return table

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Counts)
            and self.codebooks == other.codebooks
            and np.array_equal(self.codes, other.codes)
            and np.array_equal(self.n, other.n)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Counts({' x '.join(self.columns)}: {self.cells:,} cells, total {self.total:,})"

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(f"<th>{escape(name)}</th>" for name in (*self.columns, "n"))
        rows = self.to_arrow().slice(0, 20).to_pylist()
        body = "".join(
            "<tr>"
            + "".join(f"<td>{escape('' if v is None else str(v))}</td>" for v in row.values())
            + "</tr>"
            for row in rows
        )
        more = f"<p>{self.cells - 20:,} more cells</p>" if self.cells > 20 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    # -- doing -----------------------------------------------------------------------------------

    def counts(self, *columns: str) -> Counts:
        """The same as `project`: counts of counts, so that `Counts` is itself countable."""
        return self.project(*columns)

    def tabulate(self, sets: Iterable[Sequence[str]]) -> dict[tuple[str, ...], Counts]:
        """Several projections at once."""
        return {s: self.project(*s) for s in checked_sets(sets, self.columns)}

    def project(self, *columns: str) -> Counts:
        """Sum over all other columns."""
        if columns == self.columns:
            return self
        axes = self._axes(columns)
        return Counts.of_cells([self.codebooks[a] for a in axes], self.codes[:, axes], self.n)

    def condition(self, given: Mapping[str, object] | None = None, /, **more: object) -> Counts:
        """The rows where the named columns have the given values (None: missing), by the other columns."""
        values = {**(given or {}), **more}
        axes = self._axes(tuple(values))
        keep = np.ones(self.cells, bool)
        for axis, value in zip(axes, values.values(), strict=True):
            keep &= self.codes[:, axis] == self.codebooks[axis].code_of(value)
        rest = [a for a in range(len(self.codebooks)) if a not in axes]
        if not rest:
            raise ParameterError("no column is left.", hint="leave at least one column free")
        return Counts(tuple(self.codebooks[a] for a in rest), self.codes[keep][:, rest], self.n[keep])

    def __add__(self, other: Counts) -> Counts:
        """Rows of both: counts add over the parts of a table."""
        if self.codebooks != other.codebooks:
            raise ParameterError(
                "only counts of the same columns with the same levels can be added.",
                hint="declare the levels in the schema, so that both parts share them",
            )
        codes = np.concatenate([self.codes, other.codes])
        return Counts.of_cells(self.codebooks, codes, np.concatenate([self.n, other.n]))

    def weight(self, column: str, weights: Mapping[Any, float]) -> Counts:
        """Each row counted `weights[level]` times; levels not named keep weight 1."""
        axis = self._axes((column,))[0]
        factors = np.ones(self.codebooks[axis].size)
        for value, factor in weights.items():
            if not isinstance(factor, Real) or not math.isfinite(factor) or factor < 0:
                raise ParameterError("weights must be finite and not negative.", hint="correct the weights")
            factors[self.codebooks[axis].code_of(value)] = factor
        n = self.n * factors[self.codes[:, axis]]
        return Counts(self.codebooks, self.codes[n != 0], n[n != 0])

    # -- frames ----------------------------------------------------------------------------------

    def to_arrow(self, name: str = "n") -> pa.Table:
        """One row per cell: the levels, then the count (renamed if a column has that name)."""
        while name in self.columns:
            name += "_"
        arrays = [b.decode(self.codes[:, i]) for i, b in enumerate(self.codebooks)]
        return pa.Table.from_arrays([*arrays, pa.array(self.n)], names=[*self.columns, name])

    @overload
    def to_frame(self, library: Literal["arrow"] = "arrow") -> pa.Table: ...

    @overload
    def to_frame(self, library: Literal["pandas"]) -> pd.DataFrame: ...

    @overload
    def to_frame(self, library: Literal["polars"]) -> pl.DataFrame: ...

    def to_frame(
        self, library: Literal["arrow", "pandas", "polars"] = "arrow"
    ) -> pa.Table | pd.DataFrame | pl.DataFrame:
        """As `to_arrow`, in the library of your choice."""
        table = self.to_arrow()
        if library == "arrow":
            return table
        if library == "pandas":
            return table.to_pandas()
        if library == "polars":
            import polars

            frame = polars.from_arrow(table)
            assert isinstance(frame, polars.DataFrame), "a table is no single column"
            return frame
        raise ParameterError("a library that is not known.", hint="to_frame('pandas'), 'polars' or 'arrow'")

    def _axes(self, columns: Sequence[str]) -> list[int]:
        check_set(columns, self.columns)
        return [self.columns.index(c) for c in columns]


class Countable(Protocol):
    """Whatever answers counts: a table, a fitted model, a release, a published aggregate."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that can be counted."""
        ...

    def counts(self, *columns: str) -> Counts:
        """The joint counts of some columns."""
        ...

    def tabulate(self, sets: Iterable[Sequence[str]]) -> dict[tuple[str, ...], Counts]:
        """The joint counts of many sets of columns at once."""
        ...


def checked_sets(sets: Iterable[Sequence[str]], known: Sequence[str]) -> list[tuple[str, ...]]:
    """Sets of columns to count, each of them checked. A text alone would be taken for its letters."""
    wanted = [(s,) if isinstance(s, str) else tuple(s) for s in ([sets] if isinstance(sets, str) else sets)]
    for columns in wanted:
        check_set(columns, known)
    return wanted


def check_set(columns: Sequence[str], known: Sequence[str]) -> None:
    """A set of columns to count: some, known, each once."""
    if not columns:
        raise ParameterError("no column was named.", hint=f"name some of {listed([repr(k) for k in known])}")
    unknown = sorted({repr(c) for c in columns if c not in known})
    if unknown:
        raise ParameterError(
            f"unknown column{'s' * (len(unknown) > 1)}: {listed(unknown)}.",
            hint=offered([c for c in columns if c not in known], known, "there are"),
        )
    if len(set(columns)) < len(columns):
        raise ParameterError("a column was named twice.", hint="name each column once")


def split_keys(keys: NDArray[np.uint64], sizes: Sequence[int]) -> NDArray[np.uint32]:
    """The rows of codes behind `flat_keys`."""
    codes = np.empty((len(keys), len(sizes)), np.uint32)
    for axis in range(len(sizes) - 1, -1, -1):
        keys, codes[:, axis] = np.divmod(keys, np.uint64(sizes[axis]))
    return codes


def flat_keys(codes: NDArray[Any], sizes: Sequence[int]) -> NDArray[np.uint64] | None:
    """Each row of codes as one number, or None where 63 bits do not hold the product of the sizes."""
    if math.prod(sizes) >= 2**63:
        return None
    keys = np.zeros(len(codes), np.uint64)
    for axis, size in enumerate(sizes):
        keys *= np.uint64(size)
        keys += codes[:, axis].astype(np.uint64)
    return keys
