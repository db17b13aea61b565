"""Synthetic rows under one promise for the whole data set: noise once, then rows without end.

Start at `synthesizer`. In order: `exact_counts`, `purse` (the only way to noise, with the proof),
`measurement` (with `allocation`), `tables`, `potentials` (over `graph` and `layout`), `calibration`;
`model` is what is kept.
"""

from sfumato.synthesis.private.model import PrivateModel
from sfumato.synthesis.private.synthesizer import PrivateSynthesizer

__all__ = ["PrivateModel", "PrivateSynthesizer"]
