"""Several yes-or-no fields as one value, each of them yes, no or withheld. Thesis: PowerPoset.

The thesis joins by AND, which makes a withheld 1 look like a 0: the reader of "absent" would be deceived.
Here a field on which members differ becomes *, and 0 keeps meaning absent.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy.levels import ROOT
from sfumato.hierarchy.matrix import Matrix
from sfumato.hierarchy.poset import at_least_one

_MOST_NUMBERED = 8  # 6,561 nodes
_MOST_BITS = 1_000
WITHHELD = -1


@dataclass(frozen=True)
class PowerSet:
    """Texts of 0, 1 and *, ordered field by field: 0 < * and 1 < *. A node is its text, such as 01*0."""

    bits: int

    def __post_init__(self) -> None:
        if not isinstance(self.bits, int) or not 1 <= self.bits <= _MOST_BITS:
            raise ParameterError(f"bits must be a whole number from 1 to {_MOST_BITS}.")

    @property
    def top(self) -> str:
        """All fields withheld."""
        return ROOT * self.bits

    @property
    def height(self) -> int:
        """How many fields can be withheld."""
        return self.bits

    @property
    def domain(self) -> float:
        """How many combinations there are."""
        return 2.0**self.bits

    def node(self, value: object) -> str:
        """From a text of 0, 1 (and *), or a list of truth values; a single field also from one."""
        if isinstance(value, (bool, np.bool_, int)) and self.bits == 1:
            value = str(int(value))
        if isinstance(value, Iterable) and not isinstance(value, str):
            signs = {"0": "0", "1": "1", "False": "0", "True": "1", "None": ROOT}
            value = "".join(signs.get(str(v), "?") for v in value)
        if not isinstance(value, str) or len(value) != self.bits or set(value) - set("01*"):
            raise DataError(
                f"a value is not {self.bits} times 0 or 1.", hint="one sign for each field", values=[value]
            )
        return value

    def leq(self, a: str, b: str) -> bool:
        """Whether b tells nothing that a does not."""
        return all(y in (x, ROOT) for x, y in zip(a, b, strict=True))

    def lub(self, *members: str) -> frozenset[str]:
        """What all members agree on."""
        at_least_one(members)
        agreed = (set(field) for field in zip(*members, strict=True))
        return frozenset(["".join(f.pop() if len(f) == 1 else ROOT for f in agreed)])

    def join(self, fields: NDArray[np.integer]) -> NDArray[np.int8]:
        """(..., members, bits) -> (..., bits) of 0, 1 and -1 for withheld."""
        first = fields[..., 0, :]
        agreed = (fields == first[..., None, :]).all(axis=-2)
        return np.where(agreed, first, WITHHELD).astype(np.int8)

    def rank(self, node: str) -> float:
        """How many fields are withheld."""
        return float(node.count(ROOT))

    def share(self, node: str) -> float:
        """The part of all combinations that a node leaves open."""
        return 2.0 ** (node.count(ROOT) - self.bits)

    def label(self, node: str) -> str:
        """The node itself; a single star if all is withheld."""
        return ROOT if node == self.top else node

    def over(self, levels: Sequence[object]) -> Matrix:
        """All nodes, numbered, for searches on arrays; up to 8 fields."""
        if self.bits > _MOST_NUMBERED:
            raise ParameterError(
                f"3 ** {self.bits} nodes are too many to be numbered; at most {_MOST_NUMBERED} fields are.",
                hint="divide the fields into several columns",
            )
        nodes = ["".join(signs) for signs in product("01*", repeat=self.bits)]
        parents: dict[Hashable, list[Hashable]] = {
            node: [node[:i] + ROOT + node[i + 1 :] for i, sign in enumerate(node) if sign != ROOT]
            for node in nodes
        }
        matrix = Matrix.of(parents, names={node: self.label(node) for node in nodes})
        return matrix.over([self.node(level) for level in levels if level is not None])
