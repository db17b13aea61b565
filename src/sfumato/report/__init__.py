"""Pages and figures from scores and counts: self-contained HTML, Markdown, JSON.

Start with `contents` (the blocks a report is made of) and `page` (a report, and how it is written: `html`,
`markdown`, `json`). `figures` draws, `words` says numbers and verdicts in plain text, `determination` is the
page an expert signs. A report is INTERNAL: it is computed from the original. What may go with the public part
is the `card`.

It judges nothing and knows no method: whoever measured something hands it over.
"""

from sfumato.report.card import card
from sfumato.report.contents import Block, Cell, DataTable, Figure, Promises, ScoreTable, Section, Verdict
from sfumato.report.page import Page
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
