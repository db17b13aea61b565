"""Counts: contingency tables of any columns of any source, asked for all at once."""

from sfumato.counts.accumulator import Coded
from sfumato.counts.codebook import Codebook
from sfumato.counts.domains import DomainWatch, watched
from sfumato.counts.planner import cover
from sfumato.counts.survey import Survey
from sfumato.counts.tables import Countable, Counts
from sfumato.counts.values import canonical, canonical_type, decimal_text, shown_type, type_name

__all__ = [
    "Codebook",
    "Coded",
    "Countable",
    "Counts",
    "DomainWatch",
    "Survey",
    "canonical",
    "canonical_type",
    "cover",
    "decimal_text",
    "shown_type",
    "type_name",
    "watched",
]
