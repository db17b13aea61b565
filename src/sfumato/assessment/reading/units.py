"""Numbers with the same text around them in every cell: '34 years', 'EUR 1200', '34,5 kg'."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d+(?:[.,]\d+)?"
_CELL = re.compile(rf"^(?:([+-]?(?:{_NUMBER}))|(\D+?)({_NUMBER}))(\D.*|)$", re.DOTALL)
_THOUSANDS = re.compile(r"^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?$")
_SURE = 0.98  # of the cells with the same around their number


def numbers_in(levels: Mapping[str, float]) -> dict[str, float]:
    """The number of each text that has the same around it as nearly all others; nothing for plain numbers.

    levels: texts, and the share of the cells with each. A comma is that of a decimal, unless three digits
    follow it everywhere: then it parts thousands.
    """
    found: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for text in levels:
        cell = _CELL.match(text.strip())
        if cell:
            found[cell[2] or "", cell[4]][text] = cell[1] or cell[3]
    most = max(found, key=lambda around: sum(levels[t] for t in found[around]), default=None)
    if most is None or sum(levels[t] for t in found[most]) < _SURE * sum(levels.values()):
        return {}
    digits = found[most]
    commas = [d for d in digits.values() if "," in d]
    if most == ("", "") and not commas:
        return {}
    if all(_THOUSANDS.match(d) for d in commas):
        return {text: float(d.replace(",", "")) for text, d in digits.items()}
    plain = {text: d.replace(".", "") if "," in d else d for text, d in digits.items()}
    return {text: float(d.replace(",", ".")) for text, d in plain.items()}
