"""Counts: contingency tables of any columns of any source, asked for all at once."""

from sfumato.counts.accumulator import Coded
from sfumato.counts.codebook import Codebook, canonical, canonical_type, decimal_text, type_name
from sfumato.counts.planner import cover
from sfumato.counts.tables import Countable, Counts

__all__ = [
    "Codebook",
    "Coded",
    "Countable",
    "Counts",
    "canonical",
    "canonical_type",
    "cover",
    "decimal_text",
    "type_name",
]
