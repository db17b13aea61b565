"""A page as JSON: everything a program needs to compare two reports, nothing left out."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from sfumato.report.contents import Block, Contents, DataTable, Figure, Promises, ScoreTable, Verdict
from sfumato.report.verdict import outcome, sentence
from sfumato.report.words import clean

VERSION = 1


def to_json(page: Contents, beside: Mapping[str, Any] | None = None) -> str:
    """The page as JSON text; what is not a number is null. beside: further entries, for programs alone."""
    document = {
        "sfumato_report": VERSION,
        "audience": page.audience,
        "title": page.title,
        "stamp": page.stamp,
        "sections": [
            {"title": s.title, "prose": list(s.prose), "blocks": [_block(b) for b in s.blocks]}
            for s in page.sections
        ],
        **(beside or {}),
    }
    return json.dumps(plain(document), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _block(block: Block) -> dict[str, Any]:
    match block:
        case Verdict():
            return {
                "block": "verdict",
                "outcome": outcome(block),
                "sentence": sentence(block),
                "because": block.because,
                "advice": block.advice,
                "met": block.met,
                "not_met": block.not_met,
                "undecided": block.undecided,
                "not_examined": block.not_examined,
            }
        case Promises():
            return {
                "block": "promises",
                "text": block.guarantee.text(),
                "guarantee": json.loads(block.guarantee.to_json()),
            }
        case ScoreTable():
            scores = [s.to_dict() for s in block.scores]
            return {"block": "scores", "caption": block.caption, "scores": scores}
        case DataTable():
            return _table(block)
        case Figure():
            return {
                "block": "figure",
                "title": block.title,
                "description": block.description,
                "specs": block.panels,
                "table": None if block.table is None else _table(block.table),
            }


def _table(table: DataTable) -> dict[str, Any]:
    return {"block": "table", "caption": table.caption, "columns": table.columns, "rows": table.rows}


def plain(value: object) -> Any:
    """Values JSON has a word for: numpy's numbers become Python's, other objects their text."""
    if isinstance(value, Mapping):
        return {clean(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return [plain(v) for v in items]
    if hasattr(value, "tolist"):  # numpy's arrays and scalars, Arrow's too
        return plain(value.tolist())
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return clean(value)
