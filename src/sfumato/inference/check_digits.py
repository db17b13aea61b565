"""Numbers whose last signs are computed from the others: of people, accounts and code systems.

A column of such numbers is known without its name. That random digits pass a rule has a chance (one in ten
for most), so a rule counts only where nearly all of enough different values pass it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_LEAST = 20  # different values: 0.95 of 20 random ones pass one in ten with a chance below 1e-16
_SHARE = 0.95
_FIRST = 100

BIRTH_NUMBERS = "a day of birth and a number"  # without a check digit, as in Denmark
_DNI = "TRWAGMYFPDXBNJZSQVHLCKE"
_CF_ODD = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_HETU = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_VERHOEFF = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)  # the permutation of Verhoeff's scheme


def luhn(digits: str) -> bool:
    """ISO/IEC 7812: every second digit from the right doubled, the sum a multiple of ten."""
    total = sum(sum(divmod(int(c) * (1 + i % 2), 10)) for i, c in enumerate(reversed(digits)))
    return total % 10 == 0


def verhoeff(digits: str) -> bool:
    """Verhoeff 1969, in the dihedral group of the pentagon; SNOMED CT uses it."""
    check = 0
    for i, c in enumerate(reversed(digits)):
        value = int(c)
        for _ in range(i % 8):
            value = _VERHOEFF[value]
        check = _dihedral(check, value)
    return check == 0


def _dihedral(a: int, b: int) -> int:
    if a < 5:
        return (a + b) % 5 if b < 5 else 5 + (a + b) % 5
    return 5 + (a - b) % 5 if b < 5 else (a - b) % 5


def _weighted(digits: str, weights: Sequence[int], modulus: int) -> int:
    return sum(int(c) * w for c, w in zip(digits, weights, strict=False)) % modulus


def _nhs(v: str) -> bool:
    rest = 11 - _weighted(v, range(10, 1, -1), 11)
    return rest != 10 and int(v[-1]) == rest % 11


def _bsn(v: str) -> bool:
    v = v.zfill(9)
    return _weighted(v, (9, 8, 7, 6, 5, 4, 3, 2, -1), 11) == 0


def _iban(v: str) -> bool:
    return int("".join(str(int(c, 36)) for c in v[4:] + v[:4])) % 97 == 1


def _nir(v: str) -> bool:
    body = v[:13].replace("2A", "19").replace("2B", "18")
    return body.isdigit() and 97 - int(body) % 97 == int(v[13:])


def _dni(v: str) -> bool:
    number = {"X": "0", "Y": "1", "Z": "2"}.get(v[0], v[0]) + v[1:-1]
    return v[-1] == _DNI[int(number) % 23]


def _codice_fiscale(v: str) -> bool:
    at = [int(c) if c.isdigit() else ord(c) - 65 for c in v[:15]]
    return chr(65 + sum(_CF_ODD[a] if i % 2 == 0 else a for i, a in enumerate(at)) % 26) == v[15]


def _kvnr(v: str) -> bool:
    digits = f"{ord(v[0]) - 64:02d}{v[1:9]}"
    return sum(sum(divmod(int(c) * (1 + i % 2), 10)) for i, c in enumerate(digits)) % 10 == int(v[9])


def _hetu(v: str) -> bool:
    return _HETU[int(v[:6] + v[7:10]) % 31] == v[10]


def _ean(v: str) -> bool:
    return sum(int(c) * (1 + 2 * (i % 2)) for i, c in enumerate(v)) % 10 == 0


def _pesel(v: str) -> bool:
    return _weighted(v, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1), 10) == 0


def _cpf(v: str) -> bool:
    first = _weighted(v[:9], range(10, 1, -1), 11)
    second = _weighted(v[:10], range(11, 1, -1), 11)
    return [int(c) for c in v[9:]] == [0 if r < 2 else 11 - r for r in (first, second)]


def _belgian(v: str) -> bool:
    return int(v[9:]) in (97 - int(v[:9]) % 97, 97 - int("2" + v[:9]) % 97)


def _norwegian(v: str) -> bool:
    first = _weighted(v, (3, 7, 6, 1, 8, 9, 4, 5, 2, 1), 11)
    return first == 0 and _weighted(v, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1), 11) == 0


def _medicare_au(v: str) -> bool:
    return v[0] in "23456" and _weighted(v, (1, 3, 7, 9, 1, 3, 7, 9), 10) == int(v[8])


def _steuer_id(v: str) -> bool:
    """ISO 7064, modulus 11 and 10."""
    product = 10
    for c in v[:10]:
        product = 2 * ((int(c) + product) % 10 or 10) % 11
    return (11 - product) % 10 == int(v[10])


def _nif(v: str) -> bool:
    rest = _weighted(v[:8], range(9, 1, -1), 11)
    return int(v[8]) == (0 if rest < 2 else 11 - rest)


def _austrian(v: str) -> bool:
    return _weighted(v[:3] + v[4:], (3, 7, 9, 5, 8, 4, 2, 1, 6), 11) == int(v[3])


def _turkish(v: str) -> bool:
    d = [int(c) for c in v]
    return (7 * sum(d[0:9:2]) - sum(d[1:8:2])) % 10 == d[9] and sum(d[:10]) % 10 == d[10]


def _chinese(v: str) -> bool:
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    return "10X98765432"[_weighted(v, weights, 11)] == v[17]


def _begins_with_a_day(v: str) -> bool:
    """DDMMYY, YYMMDD or YYYYMMDD before three or four digits: one random number in 14 does."""
    day = v[2:8] if len(v) == 12 else v[:6]
    a, b, c = int(day[:2]), int(day[2:4]), int(day[4:])
    return 1 <= b <= 12 and (1 <= c <= 31 or (1 <= a <= 31 and len(v) < 12))


@dataclass(frozen=True)
class Rule:
    """What such numbers are called, their form without spaces and dashes, and the computation."""

    what: str
    form: re.Pattern[str]
    check: Callable[[str], bool]


# The stricter the form, the earlier: what passes two rules is called after the first.
_RULES = tuple(
    Rule(what, re.compile(form), check)
    for what, form, check in (
        ("bank account numbers (IBAN)", r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", _iban),
        ("Italian fiscal codes", r"[A-Z]{6}\d\d[A-EHLMPR-T]\d\d[A-Z]\d{3}[A-Z]", _codice_fiscale),
        ("French social security numbers", r"[12]\d{4}(\d\d|2A|2B)\d{8}", _nir),
        ("Spanish identity numbers", r"[XYZ\d]\d{7}[A-Z]", _dni),
        ("German health insurance numbers", r"[A-Z]\d{9}", _kvnr),
        ("Chinese identity numbers", r"\d{17}[\dX]", _chinese),
        ("Finnish identity codes", r"\d{6}[-+A-FU-Y]\d{3}[0-9A-Y]", _hetu),
        ("Swiss insurance numbers", r"756\d{10}", _ean),
        ("US provider numbers (NPI)", r"[12]\d{9}", lambda v: luhn("80840" + v)),
        ("Belgian register numbers", r"\d{2}[0-5]\d[0-3]\d{6}", _belgian),
        ("Norwegian birth numbers", r"[0-7]\d[0-5]\d{8}", _norwegian),
        ("Turkish identity numbers", r"[1-9]\d{10}", _turkish),
        ("German tax numbers", r"[1-9]\d{10}", _steuer_id),
        ("Polish register numbers", r"\d{11}", _pesel),
        ("Brazilian tax numbers", r"\d{11}", _cpf),
        ("Indian identity numbers", r"[2-9]\d{11}", verhoeff),
        ("NHS numbers", r"\d{10}", _nhs),
        ("Australian Medicare numbers", r"[2-6]\d{9,10}", _medicare_au),
        ("Austrian insurance numbers", r"\d{10}", _austrian),
        ("Portuguese tax numbers", r"\d{9}", _nif),
        ("Dutch citizen numbers", r"\d{9}", _bsn),
        ("numbers with a Luhn check digit, as of cards and insured people", r"\d{9,19}", luhn),
        (BIRTH_NUMBERS, r"\d{9,10}|(19|20)\d{10}", _begins_with_a_day),
    )
)
_PUNCTUATION = re.compile(r"[ ./-]")


def checked_numbers(values: Sequence[str]) -> tuple[str, float]:
    """What the values are by their check digits, and the share that passes; nothing if too few do."""
    # The Finnish form has a dash that means something; everywhere else they only divide.
    plain = [_PUNCTUATION.sub("", v).upper() for v in values]
    if len(set(plain)) < _LEAST:
        return "", 0.0
    for rule in _RULES:
        given = [v.upper() for v in values] if rule.check is _hetu else plain
        if rule.form.fullmatch(given[0]) is None and rule.form.fullmatch(given[-1]) is None:
            continue
        share = _passing(rule, given[:_FIRST])  # most columns fail here
        share = _passing(rule, given) if share >= _SHARE - 0.05 and len(given) > _FIRST else share
        if share < _SHARE or (rule.what == BIRTH_NUMBERS and not _are_birth_numbers(given, share)):
            continue
        return rule.what, share
    return "", 0.0


def _are_birth_numbers(values: Sequence[str], share: float) -> bool:
    """All begin with a day, with many different ones; and they are no times (YYYYMMDDHHMM)."""
    times = all(len(v) == 12 and v[8:10] < "24" and v[10:] < "60" for v in values)
    return share == 1.0 and len({v[:6] for v in values}) >= _LEAST / 2 and not times


def _passing(rule: Rule, values: Sequence[str]) -> float:
    return sum(rule.form.fullmatch(v) is not None and rule.check(v) for v in values) / len(values)
