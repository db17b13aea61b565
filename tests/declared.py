"""A provenance for domains that a test makes up."""

from sfumato.schema import Provenance

PUBLIC = Provenance.declared("a test", "made up for it")
