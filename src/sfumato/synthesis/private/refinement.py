"""From classes to states: within a class, a state is drawn by its variable's own counts alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.seeds import Key, uniform
from sfumato.synthesis.private.layout import Codes, Floats, Ints
from sfumato.synthesis.private.measurement import Measured

_NONE = 1e-9  # the weight of a state that nobody is estimated to have: a class of such states is drawn evenly


@dataclass(frozen=True, eq=False)
class Refinement:
    """The states of every class, with what they weigh.

    classes: of each variable, the class of each state, or None where each is its own; fine: (S,) counts.
    details: for each, its host variable, the group of each of the host's states, and of each of its own;
    their counts are the last of `fine`.
    """

    classes: tuple[Ints | None, ...]
    fine: tuple[Floats, ...]
    details: tuple[tuple[int, Ints, Ints], ...] = ()

    @classmethod
    def of(cls, measured: Measured) -> Refinement:
        """Of what was measured."""
        variables, details = measured.variables, []
        for detail in variables.details:
            group = detail.columns[0]
            host = variables.place(group)
            own = variables.every[host].column_of(group)
            details.append((host, own, detail.column_of(group)))
        return cls(measured.classes, measured.fine, tuple(details))

    def fresh(self, rows: Codes, key: Key, first_row: int = 0) -> Codes:
        """States for independent rows, (variables, rows): row r's depend on the key and r alone."""

        def place(j: int, _: Codes, __: int) -> Floats:
            return np.asarray(uniform(_stream(key, j).words(0, first_row, rows.shape[1])))

        return self._drawn(rows, place)

    def calibrated(self, rows: Codes, key: Key) -> Codes:
        """States that have the variable's counts up to one row each: the rows of a class share them out."""

        def place(j: int, own: Codes, number: int) -> Floats:
            order = np.lexsort((_stream(key, j).words(0, 0, len(own)), own))
            many = np.bincount(own, minlength=number)
            first = np.concatenate([[0], np.cumsum(many)])[own[order]]
            start = uniform(_stream(key, j).words(1, 0, number))[own[order]]
            out = np.empty(len(order))
            out[order] = (np.arange(len(order)) - first + start) / many[own[order]]
            return out

        return self._drawn(rows, place)

    def _drawn(self, rows: Codes, place: Callable[[int, Codes, int], Floats]) -> Codes:
        """place: where in its class, from 0 to 1, each row is put; of a variable, given its rows' classes."""
        out = np.empty((len(self.fine), rows.shape[1]), np.uint16)
        for j, classes in enumerate(self.classes):
            out[j] = rows[j] if classes is None else self._state(j, rows[j], classes, place)
        for j, (host, groups, own) in enumerate(self.details, len(self.classes)):
            out[j] = self._state(j, groups[out[host]].astype(np.uint16), own, place)
        return out

    def _state(
        self, j: int, rows: Codes, classes: Ints, place: Callable[[int, Codes, int], Floats]
    ) -> NDArray[np.int64]:
        number = int(classes.max()) + 1
        order = np.argsort(classes, kind="stable")
        upto = np.concatenate([[0.0], np.cumsum(self.fine[j][order] + _NONE)])
        ends = np.searchsorted(classes[order], np.arange(number + 1))
        first, last = ends[rows], ends[rows.astype(np.int64) + 1]
        wanted = upto[first] + np.clip(place(j, rows, number), 0, 1) * (upto[last] - upto[first])
        found = np.clip(np.searchsorted(upto, wanted, side="right") - 1, first, last - 1)
        return np.asarray(order[found], np.int64)

    def shares(self, variable: int, codes: Ints, levels: int) -> Floats:
        """(classes, levels): how the people of a class spread over the codes of a column. codes: (S,)."""
        fine, classes = self.fine[variable] + _NONE, self.classes[variable]
        own = np.arange(len(fine)) if classes is None else classes
        table = np.zeros((int(own.max()) + 1, levels))
        np.add.at(table, (own, codes), fine)
        return np.asarray(table / table.sum(axis=1, keepdims=True))


def _stream(key: Key, variable: int) -> Key:
    return key.derive("states", variable)
