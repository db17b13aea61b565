"""Short words of several senses: HB is a result or a health board, BAC schooling or alcohol in the blood.

Which sense a column has is asked of its values: results are numbers or say high and low, schooling is no
number with decimals, a complaint has a few answers. A sense that the values contradict is not taken.
"""

from __future__ import annotations

from sfumato.inference import known_values
from sfumato.inference.facts import Facts
from sfumato.schema import Kind
from sfumato.sources import is_text

_SHORT = 3  # letters
_LEAST = 5  # words that are no answer
_SOME = 200
_IN_NUMBERS = ("lab", "vital", "body", "pregnancy", "disease", "behaviour", "symptom")
_IN_CODES = ("race", "marital", "education", "work", "nation", "language", "religion", "family")


def contradicted(facts: Facts, concept: str, word: str) -> bool:
    """Whether the values cannot be what a short word of a name says."""
    if len(word) > _SHORT or facts.distinct < _LEAST or facts.kind is Kind.CODES or facts.is_day:
        return False
    if facts.is_number:
        return concept in _IN_CODES and not facts.is_whole_number
    if not is_text(facts.levels.type) or concept not in _IN_NUMBERS:
        return False
    texts, counts = facts.texts[:_SOME], facts.text_counts[:_SOME]
    if sum(t[:1].isdigit() or t[:1] in "<>+-~" for t in texts) >= 0.2 * len(texts):
        return False
    return not (known_values.answers(texts, counts) or known_values.health_words(texts, counts))
