"""Whole patients who never lived: linked tables drawn from counts.

Start at `synthesizer`. In order: `structure` (which tables, which columns), `axes` and `records` (rows as
numbers), `person_chunks` and `executor_persons` (who has the rows of which persons), `layout` (variables, and
what is given when they are drawn), `tallies` (what is counted of persons), `estimation` (from counts to
fields), `field` and `sets` (what has the counts), `generation` (persons and all below them); `model` is what
is kept.
"""

from sfumato.synthesis.people.model import LinkedModel
from sfumato.synthesis.people.synthesizer import LinkedSynthesizer

__all__ = ["LinkedModel", "LinkedSynthesizer"]
