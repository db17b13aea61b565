"""Whole patients who never lived: linked tables drawn from counts.

Start at `synthesizer`. In order: `structure` (which tables, which columns), `axes` and `records` (rows as
numbers), `layout` (variables, and what is given when they are drawn), `estimation` (what is counted), `field`
and `sets` (what has the counts), `generation` (persons and all below them); `model` is what is kept.
"""

from sfumato.synthesis.people.model import LinkedModel
from sfumato.synthesis.people.synthesizer import LinkedSynthesizer

__all__ = ["LinkedModel", "LinkedSynthesizer"]
