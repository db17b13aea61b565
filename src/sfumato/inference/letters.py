"""How much a word looks like the name of a person, by its letters: for names that no list has.

Two models of the letters of words, one learnt from first names and surnames, one from places, trades,
nations, diseases and words of columns; how much likelier a word is under the first. A letter after three
others counts as often as it was seen there, mixed with what follows two, one and none (Witten-Bell).

Letters alone do not decide: Lancaster is both. What a column holds is asked of many words together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import log

from sfumato.inference.given_names import GIVEN
from sfumato.inference.known_facts import FAITHS, HOMES, LANGUAGES, NATIONS, SCHOOLING, WORK
from sfumato.inference.names import words
from sfumato.inference.surnames import OTHERS, SURNAMES
from sfumato.inference.vocabulary import PLAIN, word_set

_BEFORE = 3  # letters
_MOST = 6.0  # what one word can say
_ALPHABET = 27
_TITLES = word_set(
    "dr dra prof mr mrs ms miss frau herr schw sr sra sig dott dottssa mag mudr doc lek med ing phd md rn "
    "do np"
)


class _Letters:
    """What letter follows what, in the words of one list."""

    def __init__(self, several: Iterable[str]) -> None:
        self.after: dict[str, Counter[str]] = {}
        for word in several:
            for context, letter in _steps(word):
                for size in range(len(context) + 1):
                    self.after.setdefault(context[len(context) - size :], Counter())[letter] += 1
        self.totals = {context: seen.total() for context, seen in self.after.items()}

    def likelihood(self, word: str) -> float:
        """Log of the chance of a word."""
        return sum(log(self._chance(context, letter)) for context, letter in _steps(word))

    def _chance(self, context: str, letter: str) -> float:
        chance = 1 / _ALPHABET
        for size in range(len(context) + 1):
            known = context[len(context) - size :]
            seen = self.after.get(known)
            if seen is None:
                break
            kinds, total = len(seen), self.totals[known]
            chance = (seen[letter] + kinds * chance) / (total + kinds)
        return chance


def _steps(word: str) -> list[tuple[str, str]]:
    padded = "^" * _BEFORE + word + "$"
    return [(padded[i - _BEFORE : i], padded[i]) for i in range(_BEFORE, len(padded))]


@lru_cache(maxsize=1)
def _models() -> tuple[_Letters, _Letters]:
    names = GIVEN | frozenset(SURNAMES.split())
    listed = " ".join((OTHERS, WORK, NATIONS, LANGUAGES, FAITHS, HOMES, SCHOOLING)).split()
    others = frozenset(w for w in (*listed, *PLAIN) if len(w) > 3) - names
    return _Letters(names), _Letters(others)


@lru_cache(maxsize=65536)
def _word(word: str) -> float:
    name, other = _models()
    return max(-_MOST, min(_MOST, name.likelihood(word) - other.likelihood(word)))


def name_like(values: Sequence[str]) -> float | None:
    """How much the words of different values look like names, on average: log odds, none without words."""
    said = [
        _word(w) for v in values[:300] for w in words(v) if len(w) > 2 and w.isalpha() and w not in _TITLES
    ]
    return sum(said) / len(said) if said else None
