"""What the name of a column says: its words, and what they are about.

Names are cut into words (`BENE_BIRTH_DT` -> bene, birth, dt; `patientId` -> patient, id) and whole words are
looked up: 'sex' is not in 'essex', nor 'age' in 'percentage'. A word that is not known is cut once more, if
known words make up all of it: 'Fallnr' is fall and nr, 'geboortedatum' geboorte and datum. What is still
unknown may be short for a known word: cut off, or without its vowels.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from sfumato.inference.morphology import family_of
from sfumato.inference.script_words import in_english
from sfumato.inference.vocabulary import NEUTRAL, PLAIN, WHOLE_ONLY, WORDS, word_set, words_of

_TAIL = re.compile(r"(?<=[A-Z]{2})([A-Z])([a-z])(?![a-z])")  # SEXOa is SEXO and a
_CUT = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SHARP = str.maketrans(
    {
        "ß": "ss",
        "ä": "ae",
        "ö": "oe",
        "ü": "ue",
        "Ä": "Ae",
        "Ö": "Oe",
        "Ü": "Ue",
        "ø": "o",
        "Ø": "O",
        "æ": "ae",
        "Æ": "Ae",
        "ł": "l",
        "Ł": "L",
        "đ": "d",
        "Đ": "D",
        "ı": "i",
        "ð": "d",
        "Ð": "D",
        "þ": "th",
        "Þ": "Th",
        "œ": "oe",
        "ħ": "h",
        "ə": "a",
    }
)
_LINKS = ("", "s", "n", "en", "es", "er", "e", "r", "o", "di", "de", "of", "in")  # between parts of a word
_ENDS = word_set("id nr no nb dt cd dx hx hh yr wt")  # short words that end longer ones
_STARTS = word_set("id hh dx rx nr yr dt")
_SHORTEST = 4  # letters of a word before an ending that is not known: 'racex'
_LONGEST_END = 2
_HEADS = (  # the last part of a compound says what it is: Zuweisungsdiagnose
    "diagnose", "datum", "nummer", "adresse", "telefon", "gewicht", "therapie", "medikation", "krankheit",
)  # fmt: skip
_CUT_OFF = 6  # letters of a word that lost its end
_ENDINGS = word_set("nation ration station mission tension")  # of other words: urination, duration
_KNOWN_BY_END = word_set("dx hx rx tx")  # after two letters of what: pcdx
_LOGARITHMS = ("log", "ln")
_AMOUNTS = frozenset({"money", "income", "lab", "vital", "age", "education"})
_AFTER_PREFIX = 6  # letters of a word after a prefix that is not known: 'pgfamstd'

DIRECT = words_of("direct")
NUMBERING = words_of("number")
PERSON = words_of("person")
# A number under such a name is a code for something, not a quantity.
CODED = (
    words_of("place", "number", "sex", "race", "marital", "diagnosis", "work")
    | word_set("code cd codes type typ tipo cat category status class drg npi apc hcpcs cpt ident")
) - word_set(
    "no num number nombre numero seq index res area geo lat lon lng latitude longitude altitude elevation "
    "elev "
    "imdscore imdrank carstair carstairs townsendscore simd depriv xcoord ycoord coordx coordy utmx utmy "
    "workhours workhrs "
    "wkhours hoursworked hrswork commute firmsize distance"
)


def _bare(word: str) -> str:
    """The first letter and the consonants."""
    return word[0] + "".join(c for c in word[1:] if c not in "aeiouy")


_LONG = sorted(w for w in PLAIN if len(w) >= 7)
_LONGEST = max(map(len, WORDS))  # no head of a word is longer
_BARE: dict[str, list[str]] = {}  # words by their consonants
for _word in PLAIN:
    if len(_word) >= 5 and len(_bare(_word)) >= 4:
        _BARE.setdefault(_bare(_word), []).append(_word)


@dataclass(frozen=True)
class Reading:
    """A name: its words, and of each thing it is about the first word that says so."""

    words: tuple[str, ...]
    about: dict[str, str]

    def __contains__(self, concept: str) -> bool:
        return concept in self.about

    def first(self, *concepts: str) -> str:
        """The word for the first of these that the name is about, or nothing."""
        return next((self.about[c] for c in concepts if c in self.about), "")

    def only(self, *concepts: str) -> bool:
        """Whether every word (numbers and single letters aside) is about one of these."""
        long = [w for w in self.words if len(w) > 1 and not w.isdigit()]
        return bool(long) and all(WORDS.get(w, frozenset()) & set(concepts) for w in long)


@lru_cache(maxsize=8192)
def words(name: str) -> tuple[str, ...]:
    """The words of a name, in small letters and without accents."""
    plain = (
        unicodedata.normalize("NFKD", in_english(name).translate(_SHARP)).encode("ascii", "ignore").decode()
    )
    return tuple(part.lower() for part in _CUT.findall(_TAIL.sub(r"\1 \2", plain)))


@lru_cache(maxsize=8192)
def parts(word: str) -> tuple[str, ...]:
    """A word, or the known words it is made of; an ending or a beginning that is not known is left out."""
    if len(word) < 4 or word in WORDS or word in NEUTRAL or family_of(word):
        return (word,)
    rounded = word.replace("ue", "u")  # ä is ae in German, and a in the lists of other languages
    for plain in (rounded, rounded.replace("ae", "a").replace("oe", "o")):
        if plain in WORDS:
            return (plain,)
    if len(word) == 4:
        return (word[2:],) if word[2:] in _KNOWN_BY_END else (_shortened(word) or word,)
    for sign in _LOGARITHMS:
        rest = word.removeprefix(sign)
        inner = _cover(rest, True) if rest != word and len(rest) >= 3 else ()
        if inner and WORDS[inner[-1]] & _AMOUNTS:
            return inner  # the logarithm of an amount is that amount
    found = _cover(word, True)
    if found:
        return found
    for cut in range(len(word) - 1, len(word) - 1 - _LONGEST_END, -1):
        short = _SHORTEST + (len(word) - cut > 1)  # 'racex', but no 'pain' in 'painac'
        found = _cover(word[:cut], True) if cut >= short else ()
        if found and (len(found) > 1 or len(found[0]) >= _SHORTEST):
            return found
    for cut in range(1, 5):
        if len(word) - cut >= _AFTER_PREFIX and word[cut:] in WORDS and word[cut:] not in _ENDINGS:
            return (word[cut:],)
    longer = _shortened(word)
    if longer:
        return (longer,)
    head = next((h for h in _HEADS if word.endswith(h) and len(word) >= len(h) + 3), "")
    if not head and word.endswith("nr") and len(word) >= 6:
        return (word[:-2], "nr")  # the number of something that is not known
    return (head or word,)


def _shortened(word: str) -> str:
    """The known word that this one is short for: cut off ('cittadin') or without vowels ('radiatn').

    Where several would do, they must be about one thing.
    """
    ends = (
        _LONG[bisect_left(_LONG, word) : bisect_right(_LONG, word + "\x7f")] if len(word) >= _CUT_OFF else []
    )
    bare = [w for w in _BARE.get(_bare(word), ()) if len(w) > len(word) and _within(word, w)]
    for several in (ends, bare):
        about = frozenset[str]().union(*(WORDS[w] for w in several))
        shared = about.intersection(*(WORDS[w] for w in several)) if several else about
        if shared:
            return min(several, key=lambda w: (len(WORDS[w]), len(w), w))
    return ""


def _within(short: str, word: str) -> bool:
    signs = iter(word)
    return all(c in signs for c in short)


@lru_cache(maxsize=65536)
def _cover(word: str, start: bool) -> tuple[str, ...]:
    """The fewest known words that make up all of it, the longest first; nothing if there are none."""
    if word in WORDS and word not in WHOLE_ONLY and (len(word) > 2 or word in _ENDS):
        return (word,)
    best: tuple[str, ...] = ()
    for cut in range(min(len(word) - 2, _LONGEST), 1, -1):
        head = word[:cut]
        if head not in WORDS or head in WHOLE_ONLY or (len(head) < 3 and not (start and head in _STARTS)):
            continue
        for link in _LINKS:
            if word.startswith(link, cut) and len(word) > cut + len(link) + 1:
                rest = _cover(word[cut + len(link) :], False)
                if rest and (not best or len(rest) + 1 < len(best)):
                    best = (head, *rest)
    return best if len(best) <= 4 else ()


def _joined(several: tuple[str, ...]) -> str:
    """Words written together; a single letter makes a word only where plain words have it (e-mail)."""
    word = "".join(several)
    plain = word in PLAIN and len(word) > 4
    return word if plain or all(len(w) > 1 or w.isdigit() for w in several) else ""


@lru_cache(maxsize=8192)
def read(name: str) -> Reading:
    """What a name is about."""
    whole = words(name)
    about: dict[str, str] = {}
    joined = [_joined(whole[i : i + n]) for n in (4, 3, 2) for i in range(len(whole) - n + 1)]
    small = [part for word in whole for part in parts(word)]
    for word in (*joined, *small):
        for concept in WORDS.get(word, ()) if word not in NEUTRAL else ():
            about.setdefault(concept, word)
    for word in small:
        family = family_of(word) if word not in WORDS and word not in NEUTRAL else ""
        if family:
            about.setdefault(family, word)
    return Reading(tuple(small), about)


def is_about(name: str, vocabulary: frozenset[str]) -> str:
    """The first word of the name that is in the vocabulary; two words count as one if written together."""
    whole = words(name)
    joined = ("".join(pair) for pair in pairwise(whole))
    small = (part for word in whole for part in parts(word))
    return next((word for word in (*whole, *joined, *small) if word in vocabulary), "")


def codes_for(name: str) -> str:
    """The last word of the name, numbers aside, if it says that a number is a code."""
    last = next((word for word in reversed(read(name).words) if not word.isdigit() and len(word) > 1), "")
    return last if last in CODED else ""
