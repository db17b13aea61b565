"""A figure's specification with its words in the reader's language; the numbers on its axes are `svg`'s."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from sfumato.languages import current, say, tried
from sfumato.report.contents import Figure
from sfumato.report.figures.common import short
from sfumato.report.words import clean

_LABELS = re.compile(r"(\[.*\])\[datum\.value\]", re.DOTALL)
_LEVEL = re.compile(r"missing|[\d,]+ others|(below|from) \S+")  # what we call a level; others have own names
_CUT = (52, 54)  # letters of a label, as the figures cut them


def said_spec(spec: Mapping[str, Any], figure: Figure) -> Mapping[str, Any]:
    """The specification, said; in English it is the one given."""
    if current() == "en":
        return spec
    return _mapping(spec, _names(figure))


def _names(figure: Figure) -> dict[str, str]:
    """Labels that stand for words of ours, cut as they are drawn, with the same in the language."""
    if figure.table is None or 0 not in figure.table.words:
        return {}
    rows = [clean(row[0]) for row in figure.table.rows]
    return {short(name, letters): short(tried(name), letters) for name in rows for letters in _CUT}


def _said(part: object, names: Mapping[str, str]) -> object:
    if isinstance(part, list | tuple):
        return [_said(item, names) for item in part]
    return _mapping(part, names) if isinstance(part, Mapping) else part


def _mapping(part: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    out: dict[str, Any] = {key: _entry(key, value, names) for key, value in part.items()}
    domain = out["scale"].get("domain") if isinstance(out.get("scale"), Mapping) else None
    if isinstance(out.get("legend"), Mapping) and isinstance(domain, list):
        own = {name: tried(name) for name in domain if isinstance(name, str)}
        shown = f"{json.dumps(own)}[datum.label]"
        out["legend"] = {**out["legend"], "labelExpr": shown}
    return out


def _entry(key: str, value: object, names: Mapping[str, str]) -> object:
    if key == "labelExpr" and isinstance(value, str):
        return _LABELS.sub(lambda m: f"{_labels(m[1], names)}[datum.value]", value)
    if isinstance(value, str) and key == "says":
        return "\n".join(tried(line) for line in value.split("\n"))
    if isinstance(value, str) and key in ("title", "subtitle"):
        return say(value)
    return tried(value) if isinstance(value, str) and key == "text" else _said(value, names)


def _labels(listed: str, names: Mapping[str, str]) -> str:
    shown = [names.get(t) or (tried(t) if _LEVEL.fullmatch(t) else t) for t in json.loads(listed)]
    return json.dumps(shown)
