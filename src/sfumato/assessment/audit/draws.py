"""Outputs of a mechanism as rows of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import DataError

Floats = NDArray[np.float64]
Mechanism = Callable[..., Any]

_PREFIX = 4096  # draws at the beginning of a batch that are compared with other batches
_ALIKE = 40  # so many equal outputs, twice, with different values: below 2^-78 for independent draws
_CHANCE = 1e-12  # two honest batches that agree by chance are rarer than this


class Source:
    """Outputs as rows of numbers, and a watch for noise that comes again."""

    def __init__(
        self,
        mechanism: Mechanism,
        data: tuple[Any, Any],
        features: Callable[[Any], ArrayLike] | None,
        batched: bool,
        batch: int,
    ) -> None:
        self.mechanism, self.data, self.features = mechanism, data, features
        self.batched, self.batch = batched, batch
        self.codes: dict[str, float] = {}
        self.width: int | None = None
        self.first: list[Floats | None] = [None, None]
        self.again = False

    @property
    def replayed(self) -> bool:
        """The noise comes again, and the two data sets do not give the same with it."""
        first, second = self.first
        if not self.again or first is None or second is None:
            return False
        n = min(len(first), len(second))
        return not np.array_equal(first[:n], second[:n])

    def notes(self) -> tuple[str, ...]:
        """What a reader should know of the draws."""
        if self.replayed:
            return ("a second batch brought the same outputs as the first: the noise is not fresh",)
        return ()

    def draw(self, side: int, n: int) -> Floats:
        """n outputs on one of the data sets, as an array (n, features)."""
        if self.batched:
            outputs = self.mechanism(self.data[side], n)
            raw = outputs if self.features is None else self.features(outputs)
        else:
            single = [self.mechanism(self.data[side]) for _ in range(n)]
            raw = single if self.features is None else [self.features(o) for o in single]
        rows = self._numbers(raw, n)
        self._watch(rows, side)
        return rows

    def _numbers(self, raw: object, n: int) -> Floats:
        try:
            array = np.asarray(raw)
        except ValueError:
            array = np.empty(0)
        if array.ndim == 0 or len(array) != n:
            raise DataError(
                f"the mechanism was asked for {n} outputs, and did not give {n} of one shape.",
                hint="mechanism(data, n) gives n outputs along the first axis; see batched and features",
            )
        array = array.reshape(n, -1)
        if array.dtype.kind in "USO":
            array = self._coded(array)
        if array.dtype.kind not in "biuf" or array.shape[1] == 0:
            raise DataError("outputs must be numbers or text.", hint="give features= to make numbers of them")
        if self.width is not None and array.shape[1] != self.width:
            raise DataError(
                "the number of features differs from batch to batch.", hint="features= can fix their number"
            )
        self.width = int(array.shape[1])
        rows = array.astype(np.float64)
        rows[np.isnan(rows)] = -np.inf  # not a number is an output like others
        return rows + 0.0  # -0.0 becomes 0.0

    def _coded(self, array: NDArray[Any]) -> Floats:
        """Text and other values by the order in which they are first seen."""
        flat = [f"{type(v).__name__}:{v!r}" for v in array.ravel().tolist()]
        return np.array([self.codes.setdefault(v, float(len(self.codes))) for v in flat]).reshape(array.shape)

    def _watch(self, rows: Floats, side: int) -> None:
        """Compare a batch with the first of its data set; agreement must be beyond chance to count."""
        first = self.first[side]
        if first is None:
            self.first[side] = rows[:_PREFIX].copy()
            return
        n = min(len(first), len(rows))
        if (
            n >= _ALIKE
            and (first == first[0]).all()
            and (rows == rows[0]).all()
            and (rows[0] != first[0]).any()
        ):
            raise DataError(
                "the outputs of a batch are all alike, and differ from batch to batch: one noise was drawn "
                "for all of them, so they are not independent.",
                hint="mechanism(data, n) draws noise n times; or use batched=False",
            )
        if self.again or not np.array_equal(first[:n], rows[:n]):
            return
        _, counts = np.unique(first[:n], axis=0, return_counts=True)
        alike = float(((counts / n) ** 2).sum())
        # Constant outputs agree by nature, and are told apart by the tally.
        self.again = n * math.log(alike) < math.log(_CHANCE) if len(counts) > 1 else False
