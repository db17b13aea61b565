"""Signs of what a column is that neither its name nor its values explain, each with its weight.

Most such columns are sensitive: what others know of people has names that are known. How far each sign moves
that was fitted to labelled columns that the rules leave open (`benchmarks/evidence.py`, logistic regression):
weights are log odds of 'sensitive' against 'quasi-identifier', and are added up.
"""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.inference.facts import Facts
from sfumato.inference.known_values import age_bands, answers
from sfumato.inference.vocabulary import word_set
from sfumato.schema import Kind, Role

YES_NO = word_set("y n u j o s t f k e h i yes no true false")
"""Yes and no in one language or another."""
_NO_ANSWER = word_set(
    "7 8 9 77 85 88 89 91 93 94 97 98 99 -1 -2 -3 -7 -8 -9 -77 -88 -99"
)  # don't know, refused, not asked
CODES = 12
"""Different whole numbers up to which they are codes rather than numbers."""
_MEASURED = 30  # different whole numbers from which on they measure or count
_GAPS = 0.3
_NEAR = 3  # columns
# Log odds of 'sensitive'. Signs that moved less than .15 are left out.
# A quasi-identifier that is missed costs more than one too many: sensitive from .65 on, not from .5.
_START = 0.2
WEIGHTS = {
    # what the values look like
    "numbers with decimals": 1.8, "answers in words": 1.2, "yes or no": 0.9, "codes from 0 on": 0.3,
    "more than 30 whole numbers": 0.3, "two words": 0.3, "codes with one for 'no answer'": 0.2,
    "a scale of 7 or 10": -0.3, "ranges of numbers": -0.3, "many words": -0.7, "a few words": -1.0,
    "codes of three digits and more": -1.0, "codes from 1 to 6 and more": -1.9,
    "many gaps": 1.2, "two values": 0.3,
    # what stands beside it
    "health right after it": 1.2, "health right before it": 1.0, "health after it": 0.9,
    "health before it": 0.6,
    "what others know before it": -0.4, "what others know after it": -0.5,
    "what others know right after it": -0.6, "what others know right before it": -1.2,
    # columns that are like it
    "the same values right after it, as little explained": 0.6,
    "the same values right after it, about health": 0.4,
    "the same values right before it, as little explained": 0.3,
    "the same values right before it, about health": 0.3, "health under names like its name": 0.3,
    "what others know under names like its name": -0.2, "the same values right before it, known": -0.3,
    "the same values right after it, known": -0.8, "it is asked with the age": -1.3,
    # whether it stays with the person (set by hand: few labelled files have persons of several rows)
    "the same in all rows of a person": -0.7, "other values in each row of a person": 1.2,
    # where it stands
    "in the last third": 0.5, "a table about health": 0.5, "a table of both": 0.3, "in the middle third": 0.2,
    "in the first third": -0.6,
}  # fmt: skip


def form(facts: Facts) -> str:
    """What the values look like, in a word or two."""
    if facts.distinct <= 1:
        return "a mark in some rows"
    if facts.is_number and not facts.is_whole_number:
        return "numbers with decimals"
    if facts.is_whole_number:
        return _form_of_numbers(facts)
    if age_bands(facts.texts):
        return "ranges of numbers"
    texts = {t.lower() for t in facts.texts[: CODES + 1]}
    if (
        facts.type == "boolean"
        or texts <= YES_NO
        or (facts.distinct == 2 and answers(facts.texts, facts.text_counts))
    ):
        return "yes or no"
    if answers(facts.texts, facts.text_counts):
        return "answers in words"
    if facts.distinct == 2:
        return "two words"
    return "a few words" if facts.distinct <= CODES else "many words"


def _form_of_numbers(facts: Facts) -> str:
    low, high = int(facts.numbers.min()), int(facts.numbers.max())
    texts = {t.lower().removesuffix(".0") for t in facts.texts[: CODES + 1]}
    if facts.kind is Kind.NOMINAL and min(facts.widths) >= 3:
        return "codes of three digits and more"
    if facts.distinct > CODES:
        return "more than 30 whole numbers" if facts.distinct > _MEASURED else "13 to 30 whole numbers"
    if has_no_answer(texts):
        return "codes with one for 'no answer'"
    if (low, high, facts.distinct) == (0, 1, 2):
        return "0 and 1"
    if (low, high, facts.distinct) == (1, 2, 2):
        return "1 and 2"
    if (low, high) in ((1, 10), (0, 10), (1, 7), (0, 6)) and facts.distinct == high - low + 1:
        return "a scale of 7 or 10"
    if low <= 0:
        return "codes from 0 on"
    return "codes from 1 to 6 and more" if high >= 6 else "codes up to 5"


def has_no_answer(texts: set[str]) -> bool:
    """Whether some codes stand for 'no answer': apart from the others, as the 9 of 1, 2, 3, 9."""
    codes, none = {int(t) for t in texts - _NO_ANSWER}, {int(t) for t in texts & _NO_ANSWER}
    if not codes or not none or len(codes) > 6:
        return False
    return min(none) < 0 <= min(codes) or min(none) > max(codes) + 1


def signs(name: str, facts: Mapping[str, Facts], roles: Mapping[str, Role | None]) -> list[str]:
    """The signs of one column. roles: of the explained columns, None of others, in the order of the table."""
    own, order = facts[name], list(roles)
    at = order.index(name)
    found = [form(own)]
    for side, columns in (("before", order[:at][::-1]), ("after", order[at + 1 :])):
        near = ((k, role) for k, other in enumerate(columns[:_NEAR]) if (role := roles[other]) is not None)
        far, nearest = next(near, (0, None))
        if nearest is not None:
            found.append(f"{_BESIDE[nearest]} {'right ' * (far == 0)}{side} it")
        if columns and own.distinct <= CODES and _same(own, facts[columns[0]]):
            found.append(f"the same values right {side} it, {_LIKE[roles[columns[0]]]}")
    found += ["many gaps"] * (own.filled < (1 - _GAPS) * own.rows) + ["two values"] * (own.distinct == 2)
    known = [role for role in roles.values() if role is not None]
    health = sum(role is Role.SENSITIVE for role in known) / max(1, len(known))
    found += ["a table about health" if health > 0.6 else "a table of both"] * (health >= 0.3)
    third = ("first", "middle", "last")[3 * at // len(order)]
    return [*found, f"in the {third} third"]


def weigh(found: list[str]) -> tuple[Role, str]:
    """The role that the signs speak for, and the one that speaks loudest for it."""
    role = Role.SENSITIVE if _START + sum(WEIGHTS.get(s, 0.0) for s in found) > 0 else Role.QUASI_IDENTIFIER
    toward = 1 if role is Role.SENSITIVE else -1
    best = max(found, key=lambda s: toward * WEIGHTS.get(s, 0.0))
    return role, best if toward * WEIGHTS.get(best, 0.0) > 0 else "nothing speaks for another role"


_BESIDE = {Role.SENSITIVE: "health", Role.QUASI_IDENTIFIER: "what others know"}
_LIKE = {Role.SENSITIVE: "about health", Role.QUASI_IDENTIFIER: "known", None: "as little explained"}


def _same(one: Facts, other: Facts) -> bool:
    """Whether two columns have the same few values."""
    if one.distinct != other.distinct or one.type != other.type or one.distinct < 2:
        return False
    return set(one.texts) == set(other.texts)
