"""Columns made up from a line of a table: 'repeat 2 digits 8' is eight-digit numbers, each in two rows.

Nothing comes from a real person; check digits are right, so that a rule which reads them can be tried.
"""

from __future__ import annotations

import datetime as dt
import string
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa


def _words(text: str) -> list[str]:
    return text.split()


_FIRST = _words(
    "Anna Ben Clara David Elena Felix Greta Hugo Ines Jan Karin Luis Marta Nils Olga Paul Rosa Tom"
)
_LAST = _words(
    "Schmidt Müller Rossi Bianchi García López Dubois Martin Jansen Visser Smith Jones Brown Weber Kowalski "
    "Nowak Silva Moreau Keller Bakker Romano Fischer Wagner Hoffmann Ferrari Taylor Wilson Moore Clark"
)
_CITIES = _words(
    "Springfield Salem Dover Bristol Auburn Clinton Milton Newport Oxford Ashland Burlington Camden"
)
_STREETS = _words("Main Oak Church Mill High Station Garden Park River Hill")
_WORDS = _words(
    "patient complains of pain in the left knee since three days and was seen by doctor who advised rest "
    "follow up after two weeks no fever reported mother had similar history medication changed yesterday"
)
_LETTERS = np.array(list(string.ascii_uppercase))


class Maker:
    """One made-up column after the other, from one stream of random numbers."""

    def __init__(self, rows: int, seed: int) -> None:
        self.rows = rows
        self.rng = np.random.default_rng(seed)
        self.columns: dict[str, list[Any]] = {}

    def table(self, recipes: Mapping[str, str]) -> pa.Table:
        """Several columns, each from its recipe."""
        return pa.table({name: self.column(recipe, name) for name, recipe in recipes.items()})

    def column(self, recipe: str, name: str = "") -> pa.Array:
        """The column a recipe describes; '~0.3' at its end leaves three cells of ten empty."""
        recipe, _, empty = recipe.partition("~")
        values = (
            self._by(recipe.split()) if recipe.startswith("by ") else self._made(recipe.split(), self.rows)
        )
        self.columns[name.replace(" ", "_")] = values
        if empty:
            gone = self.rng.random(self.rows) < float(empty)
            values = [None if g else v for v, g in zip(values, gone, strict=True)]
        return pa.array(values)

    def _by(self, recipe: list[str]) -> list[Any]:
        """'by patient pick 1|2': rows that have one value in a column made before have one here."""
        keys = self.columns[recipe[1]]
        levels = list(dict.fromkeys(keys))
        values = dict(zip(levels, self._made(recipe[2:], len(levels)), strict=True))
        return [values[key] for key in keys]

    def _made(self, recipe: list[str], n: int) -> list[Any]:
        name, *args = recipe
        if name == "repeat":
            pool = list(dict.fromkeys(self._made(args[1:], max(2, int(n / float(args[0]))))))
            return [pool[i] for i in self.rng.integers(0, len(pool), n)]
        if name == "codes":
            pool = self._made(args, 60)
            return [
                ";".join(pool[i] for i in self.rng.integers(0, 60, k)) for k in self.rng.integers(1, 5, n)
            ]
        made = getattr(self, f"_{name}")(n, *args)
        return list(made.tolist() if isinstance(made, np.ndarray) else made)

    # -- numbers ---------------------------------------------------------------------------------

    def _seq(self, n: int, start: str) -> Any:
        return np.arange(int(start), int(start) + n)

    def _int(self, n: int, low: str, high: str) -> Any:
        return self.rng.integers(int(low), int(high) + 1, n)

    def _pois(self, n: int, mean: str) -> Any:
        return self.rng.poisson(float(mean), n)

    def _norm(self, n: int, mean: str, sd: str, places: str, least: str = "-1e18") -> Any:
        drawn = np.maximum(self.rng.normal(float(mean), float(sd), n), float(least)).round(int(places))
        return drawn.astype(np.int64) if places == "0" else drawn

    def _money(self, n: int, mean: str, sd: str) -> Any:
        return np.exp(self.rng.normal(float(mean), float(sd), n)).round(2)

    def _flag(self, n: int, share: str) -> Any:
        return (self.rng.random(n) < float(share)).astype(np.int64)

    def _digits(self, n: int, k: str, text: str = "") -> Any:
        low, high = 10 ** (int(k) - 1), 10 ** int(k)
        drawn = self.rng.choice(high - low, n, replace=high - low < 2 * n) + low if high < 10**8 else None
        if drawn is None:
            drawn = self.rng.integers(low, high, n)
        return [str(v) for v in drawn] if text else drawn

    # -- words -----------------------------------------------------------------------------------

    def _pick(self, n: int, *words: str) -> Any:
        levels = " ".join(words).split("|")
        share = self.rng.dirichlet(np.full(len(levels), 3.0))
        drawn = [levels[i] for i in self.rng.choice(len(levels), n, p=share)]
        whole = all(v.lstrip("-").isdigit() and (v == "0" or v.lstrip("-")[0] != "0") for v in levels)
        return [int(v) for v in drawn] if whole else drawn

    def _code(self, n: int, *pattern: str) -> list[str]:
        return ["".join(self._sign(c) for c in " ".join(pattern)) for _ in range(n)]

    def _sign(self, c: str) -> str:
        if c == "9":
            return str(self.rng.integers(10))
        if c in "AB":
            return str(self.rng.choice(_LETTERS))
        return "0123456789abcdef"[self.rng.integers(16)] if c == "H" else c

    def _choice(self, n: int, words: list[str]) -> list[str]:
        return [words[i] for i in self.rng.integers(0, len(words), n)]

    def _first(self, n: int) -> list[str]:
        return self._choice(n, _FIRST)

    def _last(self, n: int) -> list[str]:
        return self._choice(n, _LAST)

    def _full(self, n: int) -> list[str]:
        middle = self._choice(n, list(string.ascii_uppercase))
        return [f"{a} {m}. {b}" for a, m, b in zip(self._first(n), middle, self._last(n), strict=True)]

    def _pairs(self, n: int, *words: str) -> list[str]:
        """'pairs Ana|Ivo / Novak|Babić': one of each side, as names of people are in any script."""
        sides = [side.strip().split("|") for side in " ".join(words).split("/")]
        return [" ".join(side[self.rng.integers(len(side))] for side in sides) for _ in range(n)]

    def _city(self, n: int) -> list[str]:
        return self._choice(n, _CITIES)

    def _street(self, n: int) -> list[str]:
        return [f"{self.rng.integers(1, 999)} {s} Street" for s in self._choice(n, _STREETS)]

    def _email(self, n: int) -> list[str]:
        return [
            f"{a}.{b}{i}@example.org".lower()
            for i, (a, b) in enumerate(zip(self._first(n), self._last(n), strict=True))
        ]

    def _phone(self, n: int) -> list[str]:
        return self._code(n, "+49 999 9999999")

    def _ip(self, n: int) -> list[str]:
        return [".".join(map(str, self.rng.integers(1, 255, 4))) for _ in range(n)]

    def _note(self, n: int) -> list[str]:
        return [" ".join(self._choice(int(k), _WORDS)) for k in self.rng.integers(8, 25, n)]

    def _uuid(self, n: int) -> list[str]:
        return [str(uuid.UUID(bytes=self.rng.bytes(16))) for _ in range(n)]

    def _hash(self, n: int, k: str) -> list[str]:
        return [self.rng.bytes(64).hex()[: int(k)] for _ in range(n)]

    # -- days ------------------------------------------------------------------------------------

    def _date(self, n: int, low: str, high: str, form: str = "") -> list[Any]:
        first = dt.date.fromisoformat(low)
        span = (dt.date.fromisoformat(high) - first).days
        days = [first + dt.timedelta(int(k)) for k in self.rng.integers(0, span + 1, n)]
        return [f"{day:{form}}" for day in days] if "%" in form else days

    def _datetime(self, n: int, low: str, high: str) -> list[Any]:
        seconds = self.rng.integers(0, 86_400, n)
        days = self._date(n, low, high)
        return [
            dt.datetime.combine(d, dt.time()) + dt.timedelta(seconds=int(s))
            for d, s in zip(days, seconds, strict=True)
        ]

    def _clock(self, n: int) -> list[str]:
        return [f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}" for s in self.rng.integers(0, 86_400, n)]

    # -- places ----------------------------------------------------------------------------------

    def _zip(self, n: int) -> list[str]:
        return self._choice(n, [f"0{k}" for k in range(1001, 1400, 7)])

    def _plz(self, n: int) -> list[str]:
        return self._choice(n, [f"{k:05d}" for k in range(1067, 60000, 797)])

    def _cpfr(self, n: int) -> list[str]:
        return self._choice(n, [f"{k:05d}" for k in range(1000, 95000, 1310)])

    def _nlpc(self, n: int) -> list[str]:
        return self._code(n, "1999 AB")

    def _ukpc(self, n: int) -> list[str]:
        return self._choice(
            n, [p + " " + c for p in ("LS1", "BD12", "SW1A", "M14") for c in self._code(25, "9AA")]
        )

    # -- code systems ----------------------------------------------------------------------------

    def _icd10(self, n: int, form: str = "dot") -> list[str]:
        dot = "." if form == "dot" else ""
        heads = [f"{c}{k:02d}" for c in "ABCDEFGHIJKLMNOPQRST" for k in range(0, 90, 7)]
        tails = ["", f"{dot}0", f"{dot}1", f"{dot}9", f"{dot}12"]
        return self._choice(n, [h + self._choice(1, tails)[0] for h in heads])

    def _icd9(self, n: int) -> list[str]:
        plain = [f"{k:03d}{t}" for k in range(1, 999, 9) for t in ("", "0", "9", "01")]
        return self._choice(n, plain + [f"V{k:02d}{t}" for k in range(1, 90, 9) for t in ("", "1", "81")])

    def _pcs(self, n: int) -> list[str]:
        signs = list("0123456789BCDFGHJKLMNPQRSTVWXYZ")
        return self._choice(n, ["0" + "".join(self._choice(6, signs)) for _ in range(120)])

    def _cpt(self, n: int) -> list[str]:
        return self._choice(n, [str(k) for k in range(10021, 99499, 711)])

    def _hcpcs(self, n: int) -> list[str]:
        return self._choice(n, self._code(60, "J9999") + self._code(60, "G9999") + self._cpt(40))

    def _ops(self, n: int) -> list[str]:
        return self._choice(n, self._code(150, "5-999.99") + self._code(40, "8-999"))

    def _atc(self, n: int) -> list[str]:
        heads = ("A10BA02", "C09AA05", "N02BE01", "J01CA04", "C07AB07", "M01AE01", "R03AC02", "B01AC06")
        return self._choice(n, [*heads, *(f"{h[:5]}{k:02d}" for h in heads for k in range(1, 9))])

    def _loinc(self, n: int) -> list[str]:
        return self._choice(n, [f"{k}-{_luhn(str(k))}" for k in range(1234, 60000, 577)])

    def _ndc(self, n: int) -> list[str]:
        return self._choice(
            n, [f"{a:05d}-{b:04d}-{c:02d}" for a in range(2, 60000, 6111) for b in (3, 512) for c in (1, 90)]
        )

    def _snomed(self, n: int, size: str) -> list[int]:
        return self._choice(
            n, [int(_with_verhoeff(f"{k}00")) for k in range(38341, 38341 + 977 * int(size), 977)]
        )

    # -- numbers of people, with their check digits ----------------------------------------------

    def _luhn(self, n: int, k: str) -> list[int]:
        return [int(v + _luhn(v)) for v in map(str, self._digits(n, str(int(k) - 1)))]

    def _npi(self, n: int) -> list[int]:
        return [int(v + _luhn("80840" + v)) for v in ("1" + str(d) for d in self._digits(n, "8"))]

    def _nhs(self, n: int) -> list[str]:
        return self._weighted(n, 9, lambda d: 11 - sum(x * (10 - i) for i, x in enumerate(d)) % 11, {11: 0})

    def _bsn(self, n: int) -> list[str]:
        return self._weighted(n, 8, lambda d: sum(x * (9 - i) for i, x in enumerate(d)) % 11, {})

    def _weighted(
        self, n: int, k: int, check: Callable[[list[int]], int], as_zero: dict[int, int]
    ) -> list[str]:
        out: list[str] = []
        while len(out) < n:
            digits = [int(c) for c in str(self._digits(1, str(k))[0])]
            last = as_zero.get(check(digits), check(digits))
            if last < 10:
                out.append("".join(map(str, [*digits, last])))
        return out

    def _dni(self, n: int) -> list[str]:
        return [f"{d}{'TRWAGMYFPDXBNJZSQVHLCKE'[int(d) % 23]}" for d in self._digits(n, "8")]

    def _iban(self, n: int) -> list[str]:
        banks = [f"{a}{b}" for a, b in zip(self._digits(n, "8"), self._digits(n, "10"), strict=True)]
        return [f"DE{98 - int(b + '131400') % 97:02d}{b}" for b in banks]

    def _nir(self, n: int) -> list[str]:
        bodies = [f"{s}{d}" for s, d in zip(self.rng.integers(1, 3, n), self._digits(n, "12"), strict=True)]
        return [f"{b}{97 - int(b) % 97:02d}" for b in bodies]

    def _kvnr(self, n: int) -> list[str]:
        out = []
        for body in self._code(n, "A99999999"):
            digits = f"{ord(body[0]) - 64:02d}{body[1:]}"
            total = sum(sum(divmod(int(c) * (1 + i % 2), 10)) for i, c in enumerate(digits))
            out.append(f"{body}{total % 10}")
        return out

    def _cf(self, n: int) -> list[str]:
        months = "ABCDEHLMPRST"
        draw = self.rng.integers
        bodies = [
            f"{''.join(self._choice(6, list('BCDFGLMNPRST')))}{draw(25, 99)}{months[draw(12)]}"
            f"{draw(1, 29):02d}H{draw(100, 999)}"
            for _ in range(n)
        ]
        return [b + _italian(b) for b in bodies]

    def _birthday(self) -> dt.date:
        return dt.date(1930, 1, 1) + dt.timedelta(int(self.rng.integers(0, 30_000)))

    def _norwegian(self, n: int) -> list[str]:
        out: list[str] = []
        while len(out) < n:
            digits = [int(c) for c in f"{self._birthday():%d%m%y}{self.rng.integers(100, 1000)}"]
            for weights in ((3, 7, 6, 1, 8, 9, 4, 5, 2), (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)):
                digits.append(-sum(a * b for a, b in zip(digits, weights, strict=True)) % 11)
            if max(digits) < 10:
                out.append("".join(map(str, digits)))
        return out

    def _swedish(self, n: int) -> list[str]:
        days = [f"{self._birthday():%y%m%d}{self.rng.integers(0, 1000):03d}" for _ in range(n)]
        return [f"{d[:6]}-{d[6:]}{_luhn(d)}" for d in days]

    def _ahv(self, n: int) -> list[str]:
        out = []
        for body in self._code(n, "756999999999"):
            check = -sum(int(c) * (1 + 2 * (i % 2)) for i, c in enumerate(body)) % 10
            out.append(f"756.{body[3:7]}.{body[7:11]}.{body[11]}{check}")
        return out

    def _checked(self, n: int, k: int, weights: tuple[int, ...], check: Callable[[int], str]) -> list[str]:
        """A day of birth and further digits, and what is made of their weighted sum."""
        out = []
        for _ in range(n):
            body = f"{self._birthday():%y%m%d}" + "".join(str(d) for d in self.rng.integers(0, 10, k))
            out.append(body + check(sum(w * int(c) for w, c in zip(weights, body, strict=True))))
        return out

    def _pesel(self, n: int) -> list[str]:
        return self._checked(n, 4, (1, 3, 7, 9) * 2 + (1, 3), lambda total: str(-total % 10))

    def _hetu(self, n: int) -> list[str]:
        signs = "0123456789ABCDEFHJKLMNPRSTUVWXY"
        days = [f"{self._birthday():%d%m%y}" for _ in range(n)]
        tails = [f"{k:03d}" for k in self.rng.integers(2, 900, n)]
        return [f"{d}-{t}{signs[int(d + t) % 31]}" for d, t in zip(days, tails, strict=True)]

    def _chinese(self, n: int) -> list[str]:
        weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
        out = []
        for place in self._choice(n, ["110101", "310104", "440106", "510107"]):
            body = f"{place}{self._birthday():%Y%m%d}{self.rng.integers(100, 1000)}"
            total = sum(w * int(c) for w, c in zip(weights, body, strict=True))
            out.append(body + "10X98765432"[total % 11])
        return out

    def _tckn(self, n: int) -> list[str]:
        out = []
        for body in self._digits(n, "9", "text"):
            d = [int(c) for c in body]
            tenth = (7 * sum(d[0::2]) - sum(d[1::2])) % 10
            out.append(f"{body}{tenth}{(sum(d) + tenth) % 10}")
        return out

    def _cpf(self, n: int) -> list[str]:
        out = []
        for body in self._digits(n, "9", "text"):
            for _ in range(2):
                total = sum(int(c) * (len(body) + 1 - i) for i, c in enumerate(body))
                body += str(-total % 11 % 10)
            out.append(body)
        return out

    def _aadhaar(self, n: int) -> list[str]:
        return [_with_verhoeff(body) for body in self._digits(n, "11", "text")]

    def _steuerid(self, n: int) -> list[str]:
        out = []
        for _ in range(n):
            digits = self.rng.permutation(10)
            digits[9] = digits[self.rng.integers(1, 9)]
            digits[0] = max(1, digits[0])
            product = 10
            for d in digits:
                product = 2 * ((int(d) + product) % 10 or 10) % 11
            out.append("".join(map(str, digits)) + str((11 - product) % 10))
        return out


def _luhn(body: str) -> str:
    total = sum(sum(divmod(int(c) * (2 - i % 2), 10)) for i, c in enumerate(reversed(body)))
    return str(-total % 10)


def _italian(body: str) -> str:
    odd = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23]
    at = [int(c) if c.isdigit() else ord(c) - 65 for c in body]
    return chr(65 + sum(odd[v] if i % 2 == 0 else v for i, v in enumerate(at)) % 26)


def _with_verhoeff(body: str) -> str:
    """The digits with the check digit of the dihedral group of the pentagon."""

    def times(a: int, b: int) -> int:
        if a < 5:
            return (a + b) % 5 + (0 if b < 5 else 5) if b < 5 else 5 + (a + b) % 5
        return 5 + (a - b) % 5 if b < 5 else (a - b) % 5

    shuffle = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4]
    check = 0
    for i, c in enumerate(reversed(body)):
        value = int(c)
        for _ in range((i + 1) % 8):
            value = shuffle[value]
        check = times(check, value)
    return body + str(next(d for d in range(10) if times(check, d) == 0))
