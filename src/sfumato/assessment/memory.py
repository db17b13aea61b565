"""An assessment written down as a whole, and read again: nothing is measured a second time.

`to_dict` of an assessment is for readers and leaves out how its pages are drawn. Here nothing is left out, so
that the report of what was read is, sign for sign, the report of what was written. Internal, like every
assessment: it holds what was measured on the original.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from datetime import date, datetime
from typing import Any

from sfumato.assessment.judgement import Assessment, Skipped
from sfumato.assessment.thresholds import Threshold
from sfumato.privacy import Guarantee
from sfumato.report import Figure
from sfumato.report.contents import DataTable
from sfumato.schema import Schema
from sfumato.score import Score

_DAY, _TIME = "$day", "$time"  # JSON has no word for them


def written_down(found: Assessment) -> dict[str, Any]:
    """Everything an assessment holds, as values of JSON; NaN and infinity stay what they are."""
    return {
        "scores": [_fields(s) for s in found.scores],
        "thresholds": [_fields(t) for t in found.thresholds],
        "skipped": [_fields(s) for s in found.skipped],
        "guarantee": None if found.guarantee is None else json.loads(found.guarantee.to_json()),
        "schema": None if found.schema is None else found.schema.to_toml(),
        "figures": [[section, _figure(figure)] for section, figure in found.figures],
        **{name: _plain(getattr(found, name)) for name in _OTHERS},
    }


def read_back(kept: Mapping[str, Any]) -> Assessment:
    """The assessment that was written down."""
    guarantee, schema = kept["guarantee"], kept["schema"]
    return Assessment(
        scores=tuple(_score(s) for s in kept["scores"]),
        thresholds=tuple(Threshold(**t) for t in kept["thresholds"]),
        skipped=tuple(Skipped(**s) for s in kept["skipped"]),
        guarantee=None if guarantee is None else Guarantee.from_json(json.dumps(guarantee)),
        notes=tuple(kept["notes"]),
        rows=(int(kept["rows"][0]), int(kept["rows"][1])),
        columns=tuple(kept["columns"]),
        quasi_identifiers=tuple(kept["quasi_identifiers"]),
        effort=kept["effort"],
        schema=None if schema is None else Schema.from_toml(schema),
        figures=tuple((section, _drawn(figure)) for section, figure in kept["figures"]),
        because=kept["because"],
        advice=tuple(kept["advice"]),
        people=tuple(_typed(kept["people"])),
    )


_OTHERS = ("notes", "rows", "columns", "quasi_identifiers", "effort", "because", "advice", "people")


def _fields(value: Score | Threshold | Skipped | Figure | DataTable) -> dict[str, Any]:
    return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}


def _figure(figure: Figure) -> dict[str, Any]:
    table = None if figure.table is None else _fields(figure.table)
    return {**_fields(figure), "table": table}


def _score(kept: Mapping[str, Any]) -> Score:
    tuples = {name: tuple(kept[name]) for name in ("range", "columns")}
    return Score(**{**kept, **tuples, "details": _typed(kept["details"])})


def _drawn(kept: Mapping[str, Any]) -> Figure:
    table = None if kept["table"] is None else DataTable(**_typed(kept["table"]))
    return Figure(**{**kept, "table": table})


def _plain(value: object) -> object:
    """Values of JSON: numpy's numbers become Python's, days and times say what they are."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, datetime):
        return {_TIME: value.isoformat()}
    if isinstance(value, date):
        return {_DAY: value.isoformat()}
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _typed(value: Any) -> Any:
    if isinstance(value, Mapping):
        if value.keys() == {_TIME}:
            return datetime.fromisoformat(value[_TIME])
        return (
            date.fromisoformat(value[_DAY])
            if value.keys() == {_DAY}
            else {k: _typed(v) for k, v in value.items()}
        )
    return [_typed(v) for v in value] if isinstance(value, list) else value
