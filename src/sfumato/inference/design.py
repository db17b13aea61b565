"""How a survey was made: weights, replicate weights, strata, primary sampling units."""

from __future__ import annotations

import re

import numpy as np

from sfumato.inference.clues import LIKELY, SURE, Clue
from sfumato.inference.facts import Facts
from sfumato.inference.names import Reading
from sfumato.schema import Kind, Role

_HEAVY = 1_000  # no body weighs that much, in kilograms or pounds
_LIGHT = 20
_SEVERAL = 20  # different weights
_UNITS = frozenset(("kg", "g", "gr", "gram", "grams", "gramm", "grammes", "gramos", "lb", "lbs"))
_WEIGHTED = re.compile(r"(?i)[a-z]w(gh?)?t(?![a-z]{3})")
_BODY = ("birth", "event", "body", "days", "months", "money", "procedure")  # a cost weight is a price


def survey_weight(facts: Facts, reading: Reading) -> Clue | None:
    """A survey weight by name; 'weight' alone only if no body weighs that much."""
    numeric = facts.is_number and facts.distinct >= 2 and facts.kind is not Kind.FLAG
    word = reading.first("weightname", "replicate")
    if word and numeric and float(facts.numbers.max()) > 0 and not _as_a_scale(facts, word):
        what = "a replicate weight" if "weightname" not in reading else "a survey weight"
        return Clue(Role.WEIGHT, SURE, f"'{word}' in the name says {what}")
    if numeric and _WEIGHTED.search(facts.name) and _is_fine(facts) and not reading.first(*_BODY):
        return Clue(
            Role.WEIGHT,
            LIKELY,
            "'wt' in the name, and numbers with decimals that no scale shows: a survey weight",
        )
    heavy = (
        numeric and _WEIGHTED.search(facts.name) and facts.distinct >= _SEVERAL and facts.median() > _HEAVY
    )
    if heavy and not reading.first(*_BODY) and not _in_grams(facts):
        return Clue(Role.WEIGHT, LIKELY, "'wt' in the name, and numbers that no body weighs: a survey weight")
    if numeric and "factor" in reading.words and not facts.is_whole_number and float(facts.numbers.min()) > 0:
        return Clue(Role.WEIGHT, LIKELY, "'factor' in the name, and numbers with decimals: a survey weight")
    word = reading.first("weight")
    if not word or not numeric:
        return None
    survey = reading.first("survey", "household", "person")
    if survey and not reading.first(*_BODY) and not _UNITS.intersection(reading.words):
        return Clue(Role.WEIGHT, SURE, f"'{survey}' and '{word}' in the name say a survey weight")
    if word in ("w", "kg"):
        return None
    light = facts.median() < _LIGHT and _is_fine(facts, 3)  # no body weighs so little, so exactly
    if light and not reading.first(*_BODY) and not _UNITS.intersection(reading.words):
        return Clue(
            Role.WEIGHT, LIKELY, f"'{word}' in the name, and numbers finer than a scale: a survey weight"
        )
    if _in_grams(facts):
        return Clue(Role.SENSITIVE, LIKELY, f"'{word}' in the name, and numbers as newborns weigh in grams")
    if facts.median() > _HEAVY and not reading.first(*_BODY) and not _UNITS.intersection(reading.words):
        return Clue(Role.WEIGHT, LIKELY, f"'{word}' in the name, and the numbers are those of a survey")
    if reading.first("birth"):
        return Clue(
            Role.SENSITIVE, LIKELY, f"'{word}' and '{reading.first('birth')}': the weight of a newborn"
        )
    why = f"'{word}' is read as the weight of a body: set role = \"weight\" if it is a survey weight"
    return Clue(Role.SENSITIVE, LIKELY, why)


def _as_a_scale(facts: Facts, word: str) -> bool:
    """Numbers as bodies weigh, with one decimal: 'prwt' may be the weight before something."""
    if len(word) > 5 or facts.is_whole_number or facts.share_distinct > 0.5:
        return False
    rounded = np.abs(facts.numbers * 10 - np.round(facts.numbers * 10)).max() < 1e-6
    return bool(rounded) and 30 <= facts.median() <= 130


def _is_fine(facts: Facts, places: int = 2) -> bool:
    """Numbers from 0 on with more decimals than that, most of them in one row: no scale shows them."""
    if facts.is_whole_number or facts.share_alone < 0.5 or float(facts.numbers.min()) < 0:
        return False
    scaled = facts.numbers * 10**places
    return bool(np.mean(np.abs(scaled - np.round(scaled)) > 1e-6) > 0.8)


def _in_grams(facts: Facts) -> bool:
    """Whole numbers as newborns weigh: half of them between 2,500 and 4,000, none of six digits."""
    if not facts.is_whole_number or facts.distinct < 100:
        return False
    return 2_500 <= facts.median() <= 4_000 and float(facts.numbers.max()) < 10_000


def sampling(facts: Facts, reading: Reading) -> Clue | None:
    """Strata and primary sampling units: numbers of the design, not of people."""
    word = reading.first("stratum", "psu")
    if not word or facts.share_distinct >= 0.5:
        return None
    what = "a stratum" if "stratum" in reading else "a sampling unit"
    return Clue(Role.OTHER, LIKELY, f"'{word}' in the name says {what} of a survey")
