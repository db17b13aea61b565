"""Pages and figures from scores and counts: self-contained HTML, Markdown, JSON. Knows no method.

A report is INTERNAL: it is computed from the original. What may go with the public part is the card.
"""

from sfumato.report.card import card
from sfumato.report.page import (
    Block,
    Cell,
    DataTable,
    Figure,
    Page,
    Promises,
    ScoreTable,
    Section,
    Verdict,
)
from sfumato.report.words import overclaims

__all__ = [
    "Block",
    "Cell",
    "DataTable",
    "Figure",
    "Page",
    "Promises",
    "ScoreTable",
    "Section",
    "Verdict",
    "card",
    "overclaims",
]
