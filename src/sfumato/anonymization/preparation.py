"""Before a table is anonymized: which columns repeat others, which say nothing, and which must not leave.

What the thesis' authors did by hand (pp. 54 to 56), and what the HIPAA Safe Harbor asks (45 CFR 164.514(b)).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import Counts
from sfumato.errors import ParameterError
from sfumato.schema import Column, Kind, Role
from sfumato.seeds import Key
from sfumato.table import Table

_MANY = 5_000  # levels from which a column is not crossed with others
_SHUFFLES = 10  # as in the thesis

# Safe Harbor's identifiers, by what columns are called. Names only: what is in a cell is not looked at.
_HARBOUR = (
    ("names", r"(^|_)(name|surname|first_?name|last_?name|nachname|vorname)($|_)"),
    ("geography below a state",
     r"(^|_)(street|address|city|county|zip|zip_?code|plz|postcode|postal|precinct)($|_)"),
    ("dates other than years",
     r"(^|_)(dob|birth_?date|date_?of_?birth|admission_?date|discharge_?date|death_?date)($|_)"),
    ("telephone and fax numbers", r"(^|_)(phone|telephone|tel|fax|mobile)($|_)"),
    ("e-mail and web addresses", r"(^|_)(e?mail|url|website|ip_?addr(ess)?|ip_?v[46])($|_)|^ip$"),
    ("numbers of persons, records, accounts, plans, licences, vehicles, devices",
     r"(^|_)(ssn|mrn|social_?security|medical_?record|record_?number|account|beneficiary|member_?id|"
     r"licen[cs]e|certificate|vehicle|vin|plate|device|serial)($|_)"),
    ("biometrics and pictures", r"(^|_)(fingerprint|voice|photo|image|face)($|_)"),
)  # fmt: skip
# Claims call inpatient care IP too: CLM_IP_DAYS, and MEDREIMB_IP, an amount. An address is no number.
_IP_ADDRESS = re.compile(r"_ip_?[0-9]*$", re.IGNORECASE)
_NAMING = (Role.IDENTIFIER, Role.PERSON)
_AGE = re.compile(r"(^|_)age($|_)", re.IGNORECASE)


@dataclass(frozen=True)
class Finding:
    """One thing to look at: which columns, what about them, what to do."""

    kind: str
    columns: tuple[str, ...]
    text: str
    advice: str

    def __str__(self) -> str:
        return f"{', '.join(self.columns)}: {self.text}. {self.advice[0].upper()}{self.advice[1:]}."


@dataclass(frozen=True)
class Preparation:
    """What was found. ratios: mutual information of each column with the target, against shuffled columns."""

    findings: tuple[Finding, ...]
    ratios: dict[str, float]

    def __str__(self) -> str:
        lines = [str(f) for f in self.findings] or ["Nothing to do before."]
        ratios = [f"{name}: {ratio:.1f} times a random column" for name, ratio in self.ratios.items()]
        return "\n".join([*lines, *ratios])


def prepare(
    table: Table, columns: Sequence[str] | None = None, *, target: str | None = None, seed: int = 0
) -> Preparation:
    """Look at a table before it is anonymized; nothing is changed.

    columns: those to be released; by default all but identifiers and free text. target: what the data are
    for; each column's mutual information with it is divided by that of the column shuffled (mean of ten).

    >>> people = sf.samples.members(100).select(["age", "sex", "diabetes"])
    >>> found = sf.prepare(people, target="diabetes")
    >>> print(found)
    Nothing to do before.
    age: 3.2 times a random column
    sex: 0.5 times a random column
    """
    schema = table.schema
    named = [] if columns is not None else [c for c in schema if c.role in _NAMING or c.kind is Kind.TEXT]
    if columns is None:  # what names people is seen too: it is not crossed, as nobody releases it
        columns = [c.name for c in schema if c not in named]
    schema.require([*columns, *([target] if target else ())])
    if not columns:
        raise ParameterError("no column is left to look at.", hint="columns=['age', ...]")
    books = table.codebooks(columns)
    crossed = [c for c in columns if books[c].size <= _MANY]
    listed = [*named, *(schema[c] for c in columns)]
    found = [*_harbour(listed), *_old(table, columns), *_redundant(table, crossed)]
    return Preparation(tuple(found), _ratios(table, crossed, target, seed) if target else {})


# -- what must not leave -----------------------------------------------------------------------------


def _harbour(columns: Sequence[Column]) -> list[Finding]:
    found = []
    for column in columns:
        what = next((w for w, pattern in _HARBOUR if re.search(pattern, column.name, re.IGNORECASE)), None)
        if what is None and column.kind is not Kind.NUMERIC and _IP_ADDRESS.search(column.name):
            what = "e-mail and web addresses"
        if column.role in _NAMING:
            what = "what names a person"
        elif what is None and column.kind is Kind.DATE:
            what = "dates other than years"
        elif what is None and column.kind is Kind.TEXT:
            what = "free text, which may hold any of them"
        if what is not None:
            found.append(
                Finding(
                    "safe harbor",
                    (column.name,),
                    f"HIPAA Safe Harbor lists {what}",
                    "drop it, or generalize it (years for dates, three digits for ZIP codes)",
                )
            )
    return found


def _old(table: Table, columns: Sequence[str]) -> list[Finding]:
    """Ages of 90 and over are one category under Safe Harbor."""
    found = []
    for name in columns:
        column = table.schema[name]
        if column.kind is not Kind.NUMERIC or not _AGE.search(name) or column.edges is not None:
            continue
        counts = table.counts(name)
        values = np.array(
            [float(v) for v in counts.codebooks[0].decode(counts.codes[:, 0]).drop_null().to_pylist()]
        )
        rows = int(counts.n[: len(values)][values >= 90].sum())
        different = int((values >= 90).sum())
        if different > 1:
            found.append(
                Finding(
                    "old age",
                    (name,),
                    f"{rows} rows have one of {different} ages of 90 and over",
                    "pool them: bins whose last begins at 90, or a hierarchy with 90 and over as one value",
                )
            )
    return found


# -- what repeats, and what says nothing ---------------------------------------------------------------


def _redundant(table: Table, columns: Sequence[str]) -> list[Finding]:
    """Columns that another one determines: H(a | b) = 0."""
    if len(columns) < 2:
        return []
    pairs = list(combinations(columns, 2))
    counted = table.tabulate(pairs)
    found = []
    for a, b in pairs:
        joint = counted[(a, b)]
        one, other = _determines(joint, 0), _determines(joint, 1)
        if min(len(np.unique(joint.codes[:, 0])), len(np.unique(joint.codes[:, 1]))) < 2:
            continue
        if one and other:
            found.append(Finding("redundant", (a, b), "each says what the other says", "drop one of them"))
        elif one or other:
            whose, which = (a, b) if one else (b, a)
            found.append(
                Finding("redundant", (whose, which), f"'{whose}' says what '{which}' is", f"drop '{which}'")
            )
    return found


def _determines(joint: Counts, axis: int) -> bool:
    """Whether each value on this axis goes with one value on the other."""
    return len(np.unique(joint.codes[:, axis])) == joint.cells


def _ratios(table: Table, columns: Sequence[str], target: str, seed: int) -> dict[str, float]:
    others = [c for c in columns if c != target]
    counted = table.tabulate([(c, target) for c in others])
    generator = Key.from_seed(seed).generator("preparation")
    return {c: _ratio(counted[(c, target)], generator) for c in others}


def _ratio(joint: Counts, generator: np.random.Generator) -> float:
    """I(x; y) over the mean of I of x shuffled: about 1 for a column that says nothing about the target."""
    table = joint.dense()
    found = _information(table)
    rows, cols = table.sum(axis=1), table.sum(axis=0)
    random = [
        _information(generator.multivariate_hypergeometric(cols.astype(np.int64), 0)[None])
        if len(rows) < 2
        else _information(_shuffled(rows.astype(np.int64), cols.astype(np.int64), generator))
        for _ in range(_SHUFFLES)
    ]
    mean = float(np.mean(random))
    return found / mean if mean > 0 else float(found > 0)


def _shuffled(
    rows: NDArray[np.int64], cols: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[np.int64]:
    """A table with the same margins as if the column had been shuffled."""
    left = cols.copy()
    drawn = []
    for n in rows:
        row = generator.multivariate_hypergeometric(left, int(n), method="marginals")
        left -= row
        drawn.append(row)
    return np.array(drawn)


def _information(table: NDArray[np.int64]) -> float:
    """Plug-in mutual information in natural logarithms: the same bias above and below cancels."""
    total = table.sum()
    p = table[table > 0] / total
    rows, cols = table.sum(axis=1), table.sum(axis=0)
    marginals = [m[m > 0] / total for m in (rows, cols)]
    return float((p * np.log(p)).sum() - sum((m * np.log(m)).sum() for m in marginals))
