"""A number of days for each person: in memory, or of very many in a file that is read part by part.

Bound:   four bytes a person up to `_MOST_HELD`; beyond that those of `_LOOK` persons.
Limits:  four bytes a person in a temporary folder that only its owner can enter, removed with the object.
         Each lookup reads the file from the first to the last person that is asked for.
Tested by: tests/database/test_keys.py
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sfumato.database.key_files import own_folder

_MOST_HELD = 1_048_576  # persons whose days are held in memory
_LOOK = 1_048_576  # persons read at once


class PersonDays:
    """Days by the number of a person. parts: those of all persons, in their order; none are zeros."""

    def __init__(self, parts: Iterable[NDArray[np.int64]], persons: int) -> None:
        self._persons = persons
        self._held = np.zeros(persons, np.int32) if persons <= _MOST_HELD else None
        self._file = None if self._held is not None else own_folder(self) / "days"
        start = 0
        for part in parts:
            if self._file is not None:
                with self._file.open("ab") as file:
                    file.write(part.astype(np.int32).tobytes())
            elif self._held is not None:
                self._held[start : start + len(part)] = part
            start += len(part)

    def of(self, numbers: NDArray[np.int32]) -> NDArray[np.int64]:
        """The days of each person; for nobody, as a row may be, those of the last person."""
        numbers = np.where(numbers < 0, self._persons - 1, numbers)
        if self._held is not None:
            return self._held[numbers].astype(np.int64)
        found = np.zeros(len(numbers), np.int64)
        if self._file is None or not len(numbers) or not self._file.exists():
            return found
        for start in range(int(numbers.min()) // _LOOK * _LOOK, int(numbers.max()) + 1, _LOOK):
            days = np.fromfile(self._file, np.int32, min(_LOOK, self._persons - start), offset=4 * start)
            here = (numbers >= start) & (numbers < start + len(days))
            found[here] = days[numbers[here] - start]
        return found
