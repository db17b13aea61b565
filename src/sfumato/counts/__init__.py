"""Counts: contingency tables of any columns of any source, asked for all at once.

Start at `tables`: `Counts` is the one currency of the house. `codebook` turns values (`values`) into
codes, `planner` covers what is asked by few larger tables, `accumulator` counts batches and `pushdown`
lets the engine count; `moments` gives sums and cross-products the same way. `survey` and `tally` look at
columns whose levels nobody knows yet, `domains` watches declared ones; `spelling` says which levels mean
the same. It knows columns and sources;
roles, methods and promises are for others.
"""

from sfumato.counts.accumulator import Coded
from sfumato.counts.codebook import Codebook
from sfumato.counts.domains import DomainWatch, watched
from sfumato.counts.planner import cover
from sfumato.counts.spelling import (
    case_variants,
    merged,
    near_duplicates,
    person_ids,
    representatives,
    same_form,
    same_forms,
)
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
    "case_variants",
    "cover",
    "decimal_text",
    "merged",
    "near_duplicates",
    "person_ids",
    "representatives",
    "same_form",
    "same_forms",
    "shown_type",
    "type_name",
    "watched",
]
