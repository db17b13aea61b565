"""Columns that neither their names nor their values explain: the safer role, always said to be unsure.

Ages and sexes are looked for first, where no column has them yet. The rest is decided by signs, none of which
is sure: what the values look like, what stands beside, which columns are like it (`evidence`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from sfumato.inference.clues import UNSURE, Clue
from sfumato.inference.evidence import CODES, YES_NO, signs, weigh
from sfumato.inference.facts import Facts
from sfumato.inference.known_values import age_bands, answers
from sfumato.inference.names import Reading, words
from sfumato.inference.ranges import like_ages, like_weeks, like_years
from sfumato.inference.suspects import in_words, suspected, weakly_named
from sfumato.schema import Role
from sfumato.sources import is_text

NOT_EXPLAINED = "neither name nor values say what it is"
_ITEMS = 3  # columns of one stem and with the same values: a questionnaire
_NEAR = 2  # columns: what stands further away says little
_BATTERY = 6  # columns of one start and the same three values or more: a battery of questions
_TELLING = (Role.QUASI_IDENTIFIER, Role.SENSITIVE)
_MOST = 20  # more columns that nobody explained cannot all be made more general
_NUMBERED = re.compile(r"([A-Za-z]{1,3})_?\d")  # the letters of a section, and a number
_HOUSEHOLDS = 30  # kinds of households
_STEM = re.compile(r"[\d_.\- ]*[a-zA-Z]?[\d_.\- ]*$")  # what numbers an item: q4_1, h02a, v.7
_AGES = "numbers as ages are, and no other column says them"
_SEXES = "two values, and no other column says the sex"


def safer(
    facts: Mapping[str, Facts],
    readings: Mapping[str, Reading],
    clues: Mapping[str, Clue],
    steady: Mapping[str, bool] | None = None,
) -> dict[str, Clue]:
    """The safer role of each column that nothing explains; nothing where no column is about people.

    steady: whether columns stay the same in all rows of a person, where that is known.
    """
    open_ = [n for n, c in clues.items() if c.why.startswith(NOT_EXPLAINED) and _tells(facts[n])]
    if all(clue.role is Role.OTHER for clue in clues.values()) and not _asks_people(facts, open_):
        return {}
    about_who, items, kin = _about_who(facts, readings, clues, open_), _items(facts, open_), _kin(clues)
    aged = _has("age", readings, clues) or _has("birth", readings, clues)
    sexed = _has("sex", readings, clues)
    battery = _battery(facts, clues)
    roles = {name: clue.role if clue.role in _TELLING else None for name, clue in clues.items()}
    roles |= dict.fromkeys(battery, Role.SENSITIVE)
    found = {name: _unsure(Role.SENSITIVE, "one of a battery of questions") for name in battery}
    open_ = [name for name in open_ if name not in battery]
    suspects = suspected(facts, readings, clues, open_)
    for name in open_:
        bare = not readings[name].about  # a name that says something else is not searched for these
        if bare and not aged and (like_ages(facts[name]) or age_bands(facts[name].texts)):
            aged, found[name] = True, _unsure(Role.QUASI_IDENTIFIER, _AGES)
            continue
        if bare and not sexed and name not in items and _like_sexes(facts[name]):
            sexed, found[name] = True, _unsure(Role.QUASI_IDENTIFIER, _SEXES)
            continue
        if name in items:
            found[name] = _unsure(Role.SENSITIVE, "answers to a question")
            continue
        if (
            readings[name].first("household")
            and 2 < facts[name].distinct <= _HOUSEHOLDS
            and in_words(facts[name])
        ):
            found[name] = _unsure(Role.QUASI_IDENTIFIER, "something of the household")
            continue
        if like_years(facts[name]) or like_weeks(facts[name]):
            found[name] = _unsure(Role.QUASI_IDENTIFIER, "numbers as years of something are")
            continue
        if name in suspects:
            found[name] = _unsure(Role.IDENTIFIER, suspects[name])
            continue
        seen = signs(name, facts, roles)
        seen += ["it is asked with the age"] * (name in about_who)
        if steady and name in steady:
            seen.append(
                "the same in all rows of a person" if steady[name] else "other values in each row of a person"
            )
        related = next((kin[key] for key in _ends(name) if key in kin), None)
        if related is not None:
            what = "health" if related is Role.SENSITIVE else "what others know"
            seen.append(f"{what} under names like its name")
        found[name] = _unsure(*weigh(seen))
    found |= weakly_named(facts, readings, clues, suspects)
    known = [name for name, clue in found.items() if clue.role is Role.QUASI_IDENTIFIER]
    many = known if len(known) > _MOST else []
    return found | {name: _unsure(Role.SENSITIVE, "one of many such columns") for name in many}


def _tells(facts: Facts) -> bool:
    """Whether rows differ: in their values, or in that some have one and others none."""
    return facts.distinct >= 2 or 0 < facts.filled < facts.rows


def _like_sexes(facts: Facts) -> bool:
    """1 and 2, or two words, neither of them rare, that are no yes and no."""
    if facts.distinct != 2 or facts.filled < 0.5 * facts.rows:
        return False  # of most people it is known
    texts = {t.lower().removesuffix(".0") for t in facts.texts}
    if facts.is_whole_number:
        return texts == {"1", "2"}
    said = facts.type == "boolean" or texts <= YES_NO or answers(facts.texts, facts.text_counts)
    return not facts.is_number and not said and min(facts.counts) > 0.3 * facts.filled


def _has(concept: str, readings: Mapping[str, Reading], clues: Mapping[str, Clue]) -> bool:
    """Whether a column is known to be about this, by its name or its values."""
    return any(
        clue.role is Role.QUASI_IDENTIFIER
        and (concept in readings[name] or f"are {concept}es" in clue.why or f"as of {concept}s" in clue.why)
        for name, clue in clues.items()
    )


def _ends(name: str) -> list[tuple[str, int]]:
    """The first and the last word of a name of several: `co_` of co_asthma, `_dx` of asthma_dx."""
    parts = [w for w in words(name) if not w.isdigit()]
    return [(parts[0], 0), (parts[-1], -1)] if len(parts) > 1 else []


def _kin(clues: Mapping[str, Clue]) -> dict[tuple[str, int], Role]:
    """Of first and last words that several explained columns share the role of nine of ten of them."""
    seen: dict[tuple[str, int], Counter[Role]] = {}
    for name, clue in clues.items():
        if clue.role in _TELLING:
            for key in _ends(name):
                seen.setdefault(key, Counter())[clue.role] += 1
    best = {key: count.most_common(1)[0] for key, count in seen.items()}
    shared = {key for key, n in Counter(k for n in clues for k in _ends(n)).items() if n > 0.8 * len(clues)}
    return {
        key: role
        for key, (role, n) in best.items()
        if n >= _ITEMS and n >= 0.9 * seen[key].total() and key not in shared
    }


def _items(facts: Mapping[str, Facts], names: list[str]) -> set[str]:
    """Columns of one stem with the same few values."""
    keys = {
        n: (_STEM.sub("", n), frozenset(facts[n].texts))
        for n in names
        if facts[n].distinct <= CODES and (facts[n].is_number or is_text(facts[n].levels.type))
    }
    count = Counter(keys.values())
    return {name for name, key in keys.items() if count[key] >= _ITEMS}


def _battery(facts: Mapping[str, Facts], clues: Mapping[str, Clue]) -> list[str]:
    """Columns that begin alike and have the same answers, where their names do not agree on what is known.

    What a single name of them seems to say (`nat` + `aid`) is then no more than its letters.
    """
    groups: dict[tuple[str, frozenset[str]], list[str]] = {}
    for name, own in facts.items():
        if 3 <= own.distinct <= CODES and clues[name].role in (*_TELLING, Role.OTHER):
            groups.setdefault((name[:3].lower(), frozenset(own.texts)), []).append(name)
    several = [names for names in groups.values() if len(names) >= _BATTERY]
    known = Role.QUASI_IDENTIFIER
    return [
        n for names in several if sum(clues[m].role is known for m in names) < 0.5 * len(names) for n in names
    ]


def _asks_people(facts: Mapping[str, Facts], names: list[str]) -> bool:
    """Whether a table of codes that nothing explains is a survey of people: ages, and several questions."""
    codes = sum(facts[n].is_whole_number and facts[n].distinct <= CODES for n in names)
    return codes >= 2 * _ITEMS and any(like_ages(facts[n]) for n in names)


def _about_who(
    facts: Mapping[str, Facts], readings: Mapping[str, Reading], clues: Mapping[str, Clue], names: list[str]
) -> set[str]:
    """Codes of the section of a questionnaire that asks for age or birth: it asks who somebody is.

    Where names are numbers of several sections (C006 and C008 beside Q092), or of one and next to the age.
    """
    stems = {n: hit.group(1).lower() for n in clues if (hit := _NUMBERED.match(n))}
    several = [stem for stem, n in Counter(stems.values()).items() if n >= _ITEMS]
    found: set[str] = set()
    order = list(clues)
    for i, name in enumerate(order):
        known = clues[name].role is Role.QUASI_IDENTIFIER and bool(readings[name].first("age", "birth"))
        born = "as of births" in clues[name].why or "years of births" in clues[name].why
        if name not in stems or not (known or born or (name in names and like_ages(facts[name]))):
            continue
        reach = len(order) if len(several) > 1 else _NEAR
        beside = order[max(0, i - reach) : i + reach + 1]
        found.update(n for n in beside if stems.get(n) == stems[name] and n in names and _is_code(facts[n]))
    return found


def _is_code(facts: Facts) -> bool:
    """A few whole numbers from 1 on: which one, not how much."""
    return facts.is_whole_number and facts.distinct <= 2 * CODES and float(facts.numbers.min()) >= 1


def _unsure(role: Role, why: str) -> Clue:
    return Clue(role, UNSURE, f"{NOT_EXPLAINED}: {why}: look twice")
