"""What the simulators share: blocks of rows, draws from tables, and Arrow columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import ParameterError
from sfumato.privacy.signatures import SigningKey
from sfumato.schema import Column, Kind, Provenance, Role, Schema
from sfumato.seeds import Key

# Rows are simulated in blocks of this many, each from its own stream: the first rows of a longer table
# are the rows of a shorter one. Changing it changes every simulated table.
BLOCK = 8192

SIMULATED = Provenance.declared("Sfumato", "the simulator defines it")

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]


def simulated_column(name: str, kind: Kind, role: Role, description: str, **more: Any) -> Column:
    """A column whose domain is public, never empty unless said; its description says that it is simulated."""
    more = {"missing": False, "confirmed": True, "provenance": SIMULATED, **more}
    return Column(name, kind, role, description=f"Simulated. {description}", **more)


def signed_schema(schema: Schema) -> Schema:
    """The schema of a sample, to be written to a file: an unsigned declaration counts in no file.

    The key is made for it and thrown away. It shows that nobody changed the domains since, and is nobody's:
    who trusts only named keys does not trust this one.
    """
    own = [c.name for c in schema if c.public and c.provenance == SIMULATED.about(c.domain)]
    return schema.declare(SIMULATED.by, SIMULATED.reason, own, key=SigningKey.fresh())


def check_rows(n: int) -> int:
    """The number of rows to simulate: a positive whole number."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise ParameterError("n must be a whole number, 1 or more.", hint="say how many rows, as in n=1000")
    return int(n)


def in_blocks(
    n: int,
    seed: int,
    label: str,
    schema: Schema,
    simulate: Callable[[np.random.Generator, int], Mapping[str, Any]],
) -> pa.Table:
    """The first n rows of an endless table; block b is drawn from the stream (seed, label, b) alone."""
    n = check_rows(n)
    key = Key.from_seed(seed)

    def table(block: int) -> pa.Table:
        columns = simulate(key.generator("samples", label, block), block)
        return pa.table({c.name: columns[c.name] for c in schema})

    return pa.concat_tables([table(block) for block in range(-(-n // BLOCK))]).slice(0, n).combine_chunks()


def choose(u: Floats, weights: Floats) -> Codes:
    """One level per row by inversion.  u: (rows,) uniform; weights: (rows, levels), need not sum to 1."""
    cumulative = np.cumsum(weights, axis=1)
    reached = u * cumulative[:, -1]
    return np.asarray((reached[:, None] >= cumulative[:, :-1]).sum(axis=1), dtype=np.int64)


class LevelLaw:
    """One law over the levels per group, laid end to end: a draw is one look-up in a sorted list.

    weights: (..., levels), not negative; a level of weight 0 never comes.
    """

    def __init__(self, weights: ArrayLike) -> None:
        table = np.asarray(weights, dtype=np.float64)
        self.groups, self.levels = table.shape[:-1], table.shape[-1]
        cumulative = np.cumsum(table.reshape(-1, self.levels), axis=1)
        steps = cumulative / cumulative[:, -1:]
        self._ends = (np.arange(len(steps))[:, None] + steps).ravel()

    def draw(self, u: Floats, *group: Codes) -> Codes:
        """One level per row.  u: (rows,) uniform on [0, 1); group: one index per leading axis."""
        flat = np.ravel_multi_index(group, self.groups) if group else np.zeros(1, np.int64)
        # The sum is rounded: keep it from reaching the next group.
        place = np.searchsorted(self._ends, flat + np.minimum(u, 1.0 - 2.0**-40), side="right")
        return np.asarray(place - flat * self.levels, dtype=np.int64)


def bin_of(values: NDArray[Any], lower: Sequence[float]) -> Codes:
    """The bin [lower[i], lower[i + 1]) of each value; the last one has no end."""
    return np.searchsorted(np.asarray(lower), values, side="right").astype(np.int64) - 1


def levels_column(levels: Sequence[Any], codes: Codes, missing: Flags | None = None) -> pa.Array:
    """The levels that codes stand for, null where missing."""
    return pa.array(levels).take(pa.array(codes, mask=missing))


def numbers_column(values: NDArray[Any], missing: Flags | None = None) -> pa.Array:
    """Whole or real numbers, null where missing."""
    return pa.array(values, mask=missing)


def dates_column(days: Codes, missing: Flags | None = None) -> pa.Array:
    """Days since 1970 as dates, null where missing."""
    return pa.array(days.astype(np.int32), mask=missing).cast(pa.date32())


def names_column(letter: str, numbers: Codes) -> pa.Array:
    """Identifiers such as R000000042."""
    digits = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 9, "0")
    return pc.binary_join_element_wise(pa.scalar(letter), digits, "")
