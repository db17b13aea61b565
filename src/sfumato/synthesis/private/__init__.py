"""Synthetic rows under one promise for the whole data set: noise once, then rows without end."""

from sfumato.synthesis.private.model import PrivateModel
from sfumato.synthesis.private.synthesizer import PrivateSynthesizer

__all__ = ["PrivateModel", "PrivateSynthesizer"]
