"""Copies: which released rows are rows of the original, beyond what people outside the data explain.

Start with `findings` (the tests, the scores, the people named). Equal rows are looked for by `equality` in
all rows; rows that agree in all but a few columns, or nearly, by `nearness` in as many as the effort allows.
Both rank people by how hard it is to meet their row by chance (`rarity`) and compare the top with people who
were not in the data (`tails`). `identifiers` looks for numbers of records that survive.

`overlap` and `drift` ask whether the control is one: people who are in no other file, and of the same kind.

It knows no threshold and no method.
"""

from sfumato.assessment.copies.drift import ControlDrift, drift
from sfumato.assessment.copies.equality import CountedRows, counted_rows
from sfumato.assessment.copies.findings import Copies, find
from sfumato.assessment.copies.overlap import Overlap, overlap, shared_with_release

__all__ = [
    "ControlDrift", "Copies", "CountedRows", "Overlap", "counted_rows", "drift", "find", "overlap",
    "shared_with_release",
]  # fmt: skip
