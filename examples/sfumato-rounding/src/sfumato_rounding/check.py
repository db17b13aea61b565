"""A check of the assessment: how many of the released numbers are round."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.assessment.case import Case
from sfumato.assessment.checks import AssessmentCheck
from sfumato.schema import Kind
from sfumato.score import Score


def _numbers(case: Case) -> list[str]:
    schema = case.files.released.schema
    return [c.name for c in schema if c.kind is Kind.NUMERIC and c.type == "integer"]


def has_numbers(case: Case) -> str:
    """Why there is nothing to look at; nothing if there is."""
    return "" if _numbers(case) else "no released column holds whole numbers"


def run(case: Case) -> list[Score]:
    """The share of whole numbers that end in 0 or 5."""
    table = case.files.released
    found = total = 0
    for batch in table.select(_numbers(case)).batches():
        for cells in batch.columns:
            whole = cells.drop_null().cast(pa.int64())
            rest = pc.subtract(whole, pc.multiply(pc.divide(whole, 5), 5))
            found += pc.sum(pc.equal(rest, 0)).as_py() or 0
            total += len(whole)
    return [
        Score(
            name="round numbers",
            value=found / total if total else 0.0,
            range=(0.0, 1.0),
            better="neither",
            section="risk",
            meaning="Of the released whole numbers, the share that ends in 0 or 5.",
        )
    ]


ROUND_NUMBERS = AssessmentCheck("round numbers", ("round numbers",), run, (has_numbers,))
