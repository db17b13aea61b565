"""What a class gives away about a sensitive column: l, t, alpha, beta and delta, measured.

Each sensitive column is judged by itself. Missing is a value of its own, in classes and as a sensitive
value. With a person column each person counts once per class and value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.assessment.risk.classes import as_they_stand, known_columns, persons, row_keys
from sfumato.counts import Codebook, Coded, merged, representatives
from sfumato.errors import DataError, ParameterError
from sfumato.schema import Kind, Role
from sfumato.score import Score
from sfumato.sources import EngineSource
from sfumato.table import Table

Floats = NDArray[np.float64]
_MOST_CELLS = 2**26  # of a file whose rows are held as codes


@dataclass(frozen=True, eq=False)
class SensitiveValues:
    """The sensitive values of each class, class by class.

    n: (cells,) members of a class with a value; code: (cells,) the value's place in order.
    starts: (classes,) where each class begins. levels: how many values the column has in the file.
    """

    n: Floats
    code: NDArray[np.int64]
    starts: NDArray[np.int64]
    levels: int

    @property
    def totals(self) -> Floats:
        """Members of each class."""
        return np.add.reduceat(self.n, self.starts)

    @property
    def of(self) -> NDArray[np.int64]:
        """The class of each cell."""
        return np.repeat(np.arange(len(self.starts)), np.diff(np.append(self.starts, len(self.n))))


def sensitive_values(
    table: Table,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    *,
    person: str | None = None,
    classes: RowClasses | None = None,
) -> SensitiveValues:
    """Count the sensitive values of each class. classes: of the rows, found once for several columns."""
    names = [*quasi_identifiers, sensitive]
    if sensitive in quasi_identifiers:
        raise ParameterError("a sensitive column is also a quasi-identifier.", hint="decide which it is")
    if classes is not None:
        return classes.values(table, sensitive)
    if person is None:
        counts = merged(as_they_stand(table, names).counts(*names), sensitive)
    else:
        counts = persons(table, names, person, values=[sensitive])[0]
    if not counts.cells:
        raise DataError("the file has no rows.", hint="give a file with rows")
    keys = counts.codes[:, :-1]
    of = np.cumsum(np.append(0, (keys[1:] != keys[:-1]).any(axis=1)))
    return _ordered(of, counts.codes[:, -1], counts.n, _order(table, sensitive, counts.codebooks[-1]))


@dataclass(frozen=True, eq=False)
class RowClasses:
    """The class of each row, in the order of the classes' values; and all columns as codes."""

    of: NDArray[np.int64]
    coded: Coded

    @classmethod
    def found(cls, table: Table, known: Sequence[str], wanted: Sequence[str]) -> RowClasses | None:
        """None where the rows are too many to be held, or in an engine: they are counted there."""
        names = list(dict.fromkeys([*known, *wanted]))
        if isinstance(table.source, EngineSource) or table.rows() * len(names) > _MOST_CELLS:
            return None
        coded = as_they_stand(table, names).encode(names)
        keys = row_keys(coded.codes[: len(known)].T, [b.size for b in coded.books[: len(known)]])
        return cls(np.unique(keys, return_inverse=True)[1], coded)

    def values(self, table: Table, sensitive: str) -> SensitiveValues:
        """The sensitive values of each class."""
        place = self.coded.columns.index(sensitive)
        book, codes = self.coded.books[place], self.coded.codes[place]
        if not len(codes):
            raise DataError("the file has no rows.", hint="give a file with rows")
        spelt = representatives(book)
        cells, n = np.unique(self.of * book.size + spelt[codes], return_counts=True)
        return _ordered(cells // book.size, cells % book.size, n, _order(table, sensitive, book))


def _order(table: Table, sensitive: str, book: Codebook) -> NDArray[np.int64]:
    """The place of each code: the schema's order if it is ordinal, else the values' own; missing last."""
    column = table.schema[sensitive]
    places = np.arange(book.size)
    if column.kind is Kind.ORDINAL and column.levels is not None:
        declared = pa.array([str(v) for v in column.levels])
        found = pc.index_in(book.levels.cast(pa.string()), value_set=declared)
        keys = np.append(found.fill_null(len(declared)).to_numpy(zero_copy_only=False), len(declared) + 1)
        places[np.argsort(keys, kind="stable")] = np.arange(book.size)
    return places


def _ordered(
    of: NDArray[np.int64], codes: NDArray[Any], n: NDArray[Any], places: NDArray[np.int64]
) -> SensitiveValues:
    """of: the class of each cell, from 0 on and in order."""
    starts = np.flatnonzero(np.diff(of, prepend=-1))
    code = places[codes]
    order = np.lexsort((code, of))  # the schema's order may differ from the codes'
    code = code[order]
    present = np.unique(code)  # levels that do not occur would stretch the ordered distance
    return SensitiveValues(n[order].astype(np.float64), np.searchsorted(present, code), starts, len(present))


# -- measures per class --------------------------------------------------------------------------


def distinct(values: SensitiveValues) -> NDArray[np.int64]:
    """Different values in each class."""
    return np.diff(np.append(values.starts, len(values.n)))


def entropy(values: SensitiveValues) -> Floats:
    """exp of the entropy of each class: as many equally likely values would be as uncertain."""
    totals = values.totals
    bits = np.log(totals) - np.add.reduceat(values.n * np.log(values.n), values.starts) / totals
    return np.minimum(np.exp(np.maximum(bits, 0.0)), distinct(values))


def recursive(values: SensitiveValues, c: float) -> NDArray[np.int64]:
    """The largest l of each class with r_1 < c (r_l + r_(l+1) + ...), r its counts from the top; else 0."""
    of = values.of
    order = np.lexsort((-values.n, of))
    n = values.n[order]
    total = values.totals
    before = np.cumsum(n) - n
    rest = total[of] - (before - before[values.starts][of])  # r_l + ... within the class
    holds = n[values.starts][of] < c * rest - 1e-9
    return np.asarray(np.add.reduceat(holds.astype(np.int64), values.starts))


def far_equal(values: SensitiveValues) -> Floats:
    """Total variation between each class and the file: half the sum of |p - q|."""
    share = np.bincount(values.code, values.n, values.levels) / values.n.sum()
    over = np.maximum(values.n / values.totals[values.of] - share[values.code], 0.0)
    return np.add.reduceat(over, values.starts)


def far_ordered(values: SensitiveValues) -> Floats:
    """Earth mover's distance over the order of the values, 0 to 1: sum of |P - Q| over m - 1 steps.

    P, a class's cumulated share, is constant from one of its values to the next, and Q, the file's, grows:
    so each stretch is a sum of (P - Q) up to where they cross and of (Q - P) after, by running sums of Q.
    """
    m = values.levels
    if m < 2:
        return np.zeros(len(values.starts))
    whole = np.cumsum(np.bincount(values.code, values.n, m) / values.n.sum())[:-1]
    sums = np.append(0.0, np.cumsum(whole))
    share = values.n / values.totals[values.of]
    running = np.cumsum(share)
    reached = running - (running - share)[values.starts][values.of]
    after = np.append(values.code[1:], 0)
    after[np.append(values.starts[1:], len(values.n)) - 1] = m - 1
    begin = np.minimum(values.code, m - 1)
    cross = np.clip(np.searchsorted(whole, reached), begin, after)
    below = reached * (cross - begin) - (sums[cross] - sums[begin])
    above = (sums[after] - sums[cross]) - reached * (after - cross)
    lead = sums[begin[values.starts]]  # before its first value a class has reached nothing
    out: Floats = (np.add.reduceat(below + above, values.starts) + lead) / (m - 1)
    return out


def commonest(values: SensitiveValues) -> Floats:
    """The share of the commonest value in each class: alpha of (alpha, k)-anonymity."""
    return np.maximum.reduceat(values.n / values.totals[values.of], values.starts)


def ratios(values: SensitiveValues) -> tuple[Floats, Floats]:
    """For each cell q / p, the value's share in its class by that in the file; and p."""
    share = np.bincount(values.code, values.n, values.levels) / values.n.sum()
    p = share[values.code]
    return values.n / values.totals[values.of] / p, p


# -- scores --------------------------------------------------------------------------------------


def diversity(
    table: Table,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    *,
    person: str | None = None,
    c: float = 3.0,
) -> list[Score]:
    """l (distinct, entropy, recursive with c), t (equal; ordered where values have an order), the alpha of
    (alpha, k)-anonymity, the beta of beta-likeness and the delta of delta-disclosure, per column.

    sensitive: by default those the schema names.
    """
    names = known_columns(table, quasi_identifiers)
    wanted = list(table.schema.of_role(Role.SENSITIVE) if sensitive is None else sensitive)
    if not c > 0:
        raise ParameterError("c lies above 0.", hint="c=3")
    table.schema.require(wanted)
    scores: list[Score] = []
    held = RowClasses.found(table, names, wanted) if person is None and wanted else None
    for column in wanted:
        values = sensitive_values(table, names, column, person=person, classes=held)
        scores += _l(values, column, names, c) + _t(values, column, names, table)
        scores += _ratio_scores(values, column, names)
    return scores


def _l(values: SensitiveValues, column: str, names: Sequence[str], c: float) -> list[Score]:
    about = "the class that tells most has"
    said: list[tuple[str, NDArray[Any], str]] = [
        ("distinct l", distinct(values), f"{about} this many different values of '{column}'"),
        (
            "entropy l",
            entropy(values),
            f"{about} a '{column}' as uncertain as this many equally likely values",
        ),
        (
            f"recursive l, c = {c:g}",
            recursive(values, c),
            f"in every class the commonest '{column}' occurs less than {c:g} times as often as the l-th "
            "commonest and all rarer ones together; 0 where no l holds",
        ),
    ]
    return [
        Score(
            f"{name}, {column}",
            "risk",
            float(per_class.min()),
            (0.0, float(values.levels)),
            "higher",
            meaning,
            columns=(*names, column),
            details={"mean of a class": float(per_class.mean())},
        )
        for name, per_class, meaning in said
    ]


def _t(values: SensitiveValues, column: str, names: Sequence[str], table: Table) -> list[Score]:
    ordered = table.schema[column].kind in (Kind.ORDINAL, Kind.NUMERIC, Kind.DATE)
    said = [("t, equal distance", far_equal(values), "the largest share of a class whose")]
    if ordered:
        said.append(("t, ordered distance", far_ordered(values), "how far, of the whole way, a member's"))
    tail = "would have to change to look like the whole file, in the class that differs most"
    return [
        Score(
            f"{name}, {column}",
            "risk",
            float(min(1.0, per_class.max())),
            (0.0, 1.0),
            "lower",
            f"{start} '{column}' {tail}",
            columns=(*names, column),
            details={"mean of a class": float(per_class.mean())},
        )
        for name, per_class, start in said
    ]


def _ratio_scores(values: SensitiveValues, column: str, names: Sequence[str]) -> list[Score]:
    """alpha, beta and delta: how much likelier a value gets by knowing the class, at its worst.

    Enhanced beta-likeness (Cao and Karras 2012) asks (q - p) / p <= min(beta, -log p) of each value. The
    number is beta capped at -log p of the rarest value, as pycanon has it; whether the bound of each value
    holds is in the details. delta-disclosure (Brickell and Shmatikov 2008) is taken over the values that
    occur in a class: one that does not occur is ruled out, which no finite delta covers.
    """
    ratio, p = ratios(values)
    gain = ratio - 1
    beta = float(max(0.0, gain.max()))
    rows = float(values.n.sum())
    change = np.abs(np.log(ratio))
    beyond = gain > -np.log(p) * (1 + 1e-12)
    lacking = int((distinct(values) < values.levels).sum())
    odds = f"likelier a '{column}' is for somebody in a class than for anybody in the file"
    said: list[tuple[str, float, float, str, dict[str, object]]] = [
        (
            "alpha",
            float(commonest(values).max()),
            1.0,
            f"the largest share of a class that has the same '{column}'",
            {"k": int(values.totals.min())},
        ),
        (
            "beta, basic",
            beta,
            rows,
            f"how many times (less one) {odds}, in the class and for the value where it is most",
            {},
        ),
        (
            "beta, enhanced",
            float(min(beta, -np.log(p.min()))),
            rows,
            f"the same, counted up to what enhanced beta-likeness allows the rarest '{column}': minus the "
            "log of its share",
            {"holds": not bool(beyond.any()), "values of classes beyond their bound": int(beyond.sum())},
        ),
        (
            "delta disclosure",
            float(change.max()),
            max(1.0, float(np.log(rows))),
            f"the largest change of the log of the share of a '{column}' from the file to a class in which "
            "it occurs; a value that a class lacks is ruled out there, which this does not count",
            {"classes that lack a value": lacking},
        ),
    ]
    return [
        Score(
            f"{name}, {column}",
            "risk",
            value,
            (0.0, most),
            "lower",
            meaning,
            columns=(*names, column),
            details=details,
        )
        for name, value, most, meaning, details in said
    ]
