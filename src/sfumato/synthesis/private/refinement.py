"""From classes to states: within a class, a state is drawn by its variable's own counts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.seeds import Key, uniform
from sfumato.synthesis.private.layout import Codes, Floats, Ints

_NONE = 1e-9  # the weight of a state that nobody is estimated to have: a class of such states is drawn evenly


@dataclass(frozen=True, eq=False)
class Refinement:
    """The states of every class, with what they weigh.

    classes: of each variable, the class of each state, or None where each is its own; fine: (S,) counts.
    """

    classes: tuple[Ints | None, ...]
    fine: tuple[Floats, ...]

    def fresh(self, rows: Codes, key: Key, first_row: int = 0) -> Codes:
        """States for independent rows, (variables, rows): row r's depend on the key and r alone."""
        return self._drawn(rows, [
            None if c is None else uniform(_stream(key, j).words(0, first_row, rows.shape[1]))
            for j, c in enumerate(self.classes)
        ])  # fmt: skip

    def calibrated(self, rows: Codes, key: Key) -> Codes:
        """States that have the variable's counts up to one row each: the rows of a class share them out."""
        places: list[Floats | None] = []
        for j, classes in enumerate(self.classes):
            if classes is None:
                places.append(None)
                continue
            words = _stream(key, j).words(0, 0, rows.shape[1])
            order = np.lexsort((words, rows[j]))
            many = np.bincount(rows[j], minlength=int(classes.max()) + 1)
            first = np.concatenate([[0], np.cumsum(many)])[rows[j][order]]
            start = uniform(_stream(key, j).words(1, 0, len(many)))[rows[j][order]]
            place = np.empty(len(order))
            place[order] = (np.arange(len(order)) - first + start) / many[rows[j][order]]
            places.append(place)
        return self._drawn(rows, places)

    def _drawn(self, rows: Codes, places: Sequence[Floats | None]) -> Codes:
        out = rows.copy()
        for j, (classes, place) in enumerate(zip(self.classes, places, strict=True)):
            if classes is None or place is None:
                continue
            order = np.argsort(classes, kind="stable")
            upto = np.concatenate([[0.0], np.cumsum(self.fine[j][order] + _NONE)])
            ends = np.searchsorted(classes[order], np.arange(int(classes.max()) + 2))
            first, last = ends[rows[j]], ends[rows[j].astype(np.int64) + 1]
            wanted = upto[first] + np.clip(place, 0, 1) * (upto[last] - upto[first])
            found = np.clip(np.searchsorted(upto, wanted, side="right") - 1, first, last - 1)
            out[j] = order[found]
        return out

    def shares(self, variable: int, codes: Ints, levels: int) -> Floats:
        """(classes, levels): how the people of a class spread over the codes of a column. codes: (S,)."""
        fine, classes = self.fine[variable] + _NONE, self.classes[variable]
        own = np.arange(len(fine)) if classes is None else classes
        table = np.zeros((int(own.max()) + 1, levels))
        np.add.at(table, (own, codes), fine)
        return np.asarray(table / table.sum(axis=1, keepdims=True))


def _stream(key: Key, variable: int) -> Key:
    return key.derive("states", variable)
