"""Tables to publish: counts and sums of any columns, with what would give people away withheld."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.cells.layout import Layout, read_layouts, require_columns
from sfumato.errors import DataError, ParameterError, listed
from sfumato.io import scan
from sfumato.privacy.ledger import Payer
from sfumato.release import Release
from sfumato.schema import Role
from sfumato.seeds import Key
from sfumato.table import Table
from sfumato.tabulation.cell_keys import CellKeys
from sfumato.tabulation.contents import CellContents, count
from sfumato.tabulation.history import COUNT, Earlier, Shown, earlier_tables, with_earlier
from sfumato.tabulation.outcome import CellShape, perturbed, rounded, suppressed
from sfumato.tabulation.private import NOISE, PrivateTables
from sfumato.tabulation.problem import HidingProblem
from sfumato.tabulation.rounding import ControlledRounding
from sfumato.tabulation.rules import Dominance, Homogeneity, MinimumCount, PPercent
from sfumato.tabulation.suppression import CellSuppression, Pattern

if TYPE_CHECKING:
    from sfumato.sources import DataLike

Flags = NDArray[np.bool_]
Real = NDArray[np.float64]

_WIDTH = 0.2  # of a sum with too few contributors: how far a reader is left in doubt, as a share of it


def tabulate(
    table: Table | DataLike,
    tables: str | Iterable[str | Sequence[str | Sequence[str]] | Layout],
    rule: MinimumCount | int = 5,
    *,
    method: CellSuppression | ControlledRounding | CellKeys | PrivateTables | None = None,
    of: str | None = None,
    sums: PPercent | Dominance | None = None,
    means: bool = False,
    weight: str | None = None,
    homogeneity: Homogeneity | None = None,
    keep: Iterable[Sequence[str]] = (),
    prices: Mapping[tuple[str, ...], float] | None = None,
    earlier: Sequence[Earlier] = (),
    key: Key | None = None,
    ledger: Payer | None = None,
) -> Release:
    """Count tables and withhold what would give people away, from all of them together.

    table: rows of people.  tables: what to publish: 'area>county,age' is a table by county within area and
    age, with all totals; several may be given, and are protected together. rule: which counts are sensitive.
    of: a column to be summed in every cell, too; `sums` is what is sensitive about sums.  means: show its
    mean in place of the sum.  weight: a column of weights: weighted counts and sums are shown, and people are
    counted without weights.  homogeneity: groups that are all in one category of a column are sensitive,
    too.  keep: totals that must be published, by their columns: () is the grand total,
    ('area',) the totals of the areas.  prices: how many times as dear it is to withhold some: {('area',): 3}.
    earlier: releases of tables of the same people, or of some of them, as
    (release, {"quarter": "q1"}). What they show is known.  key: of what is drawn without a promise; a secret
    one if none is given.  ledger: debited with what private tables cost before anything is drawn.

    >>> people = sf.samples.members(300)
    >>> release = sf.tabulate(people, "region,race", method=sf.CellSuppression(effort="fast"))
    >>> release.data.columns
    ('region', 'race', 'count')
    >>> release.guarantee.claims[0].title
    'hidden cells: counts of 1 to 4 cannot be reckoned back'
    """
    data = table if isinstance(table, Table) else scan(table, keep_text=True)
    asked = MinimumCount(rule) if isinstance(rule, int) and not isinstance(rule, bool) else rule
    if not isinstance(asked, MinimumCount):
        raise ParameterError("the rule is a smallest count.", hint="sf.MinimumCount(5), or 5")
    method, sums = method or CellSuppression(), sums or PPercent()
    if not isinstance(method, CellSuppression | ControlledRounding | CellKeys | PrivateTables):
        raise ParameterError(
            "tables are withheld, rounded, moved or noised.",
            hint="sf.CellSuppression(), sf.ControlledRounding(), sf.CellKeys() or sf.PrivateTables()",
        )
    if means and of is None:
        raise ParameterError("means of what?", hint="name the column: of='charge', means=True")
    layouts = read_layouts(tables)
    known, shown = earlier_tables(earlier)
    columns = require_columns([*layouts, *known], data.columns)
    shape = CellShape(of, means, weight)
    noisy = f"{NOISE} {of}" if of else None
    _refuse_names([COUNT, NOISE, noisy, of, shape.summed, weight], columns)
    if homogeneity is not None:
        _refuse_homogeneity(homogeneity, columns, method, weight, known)
    if not isinstance(method, CellSuppression):
        _refuse_beyond(method, shape, bool(known or tuple(keep) or prices))
    if isinstance(method, PrivateTables):
        return method.release(data, layouts, columns, ledger, of)
    if ledger is not None:
        raise ParameterError(
            "this method promises no epsilon: there is nothing to debit.", hint="leave the ledger out"
        )
    person = _person(data, asked)
    drawn = (method.key if isinstance(method, CellKeys) else None) or key or Key.fresh()
    contents = count(
        data, [*layouts, *known], columns, of=of, person=person, weight=weight,
        key=drawn if isinstance(method, CellKeys) else None,
        zeros_of=homogeneity.column if homogeneity else None,
    )  # fmt: skip
    if not len(contents.codes):
        raise DataError("there are no rows to count.", hint="give rows")
    if isinstance(method, ControlledRounding):
        return rounded(contents, method, drawn)
    if isinstance(method, CellKeys):
        return perturbed(contents, method, asked, drawn)
    kept = _kept(contents, keep), _priced(contents, prices or {})
    return _hidden(contents, asked, method, sums, shape, *kept, shown, homogeneity)


def _refuse_names(shown: Sequence[str | None], columns: Sequence[str]) -> None:
    clash = [repr(n) for n in shown if n in columns]
    if clash:
        raise ParameterError(f"{listed(clash)} cannot be a column of a table.", hint="rename the column")


def _refuse_beyond(
    method: ControlledRounding | CellKeys | PrivateTables, shape: CellShape, more: bool
) -> None:
    """Refuse what can be withheld alone. more: there are earlier tables, or some that must be kept."""
    if isinstance(method, PrivateTables):
        if shape.means or shape.weight or more:
            what = "noise is for counts and sums: no means, no weights, no earlier, kept or priced cells."
            raise ParameterError(what, hint="divide a noisy sum by its noisy count, if no number is missing")
    elif shape.of or shape.weight or more:
        what = "only counts are rounded or moved: no sums, weights, earlier, kept or priced cells."
        raise ParameterError(what, hint="leave out of, weight, earlier and keep, or use CellSuppression")


def _refuse_homogeneity(
    rule: Homogeneity, columns: Sequence[str], method: object, weight: str | None, known: Sequence[Layout]
) -> None:
    if rule.column not in columns:
        raise ParameterError(
            f"homogeneity: no table has a column {rule.column!r}.", hint="name a column of the tables"
        )
    if not isinstance(method, CellSuppression) or weight is not None or known or method.ranges:
        raise ParameterError(
            "homogeneity is hidden by withholding counts: no weights, no ranges, no earlier tables.",
            hint="leave those out",
        )


def _hidden(
    contents: CellContents, rule: MinimumCount, method: CellSuppression, sums: PPercent | Dominance,
    shape: CellShape, kept: Flags, price: Real, shown: Sequence[Shown], homogeneity: Homogeneity | None,
) -> Release:  # fmt: skip
    """Withhold cells of the counts, then of the sums, where what hides the counts hides too little."""
    problem = _of_weights(contents, rule, method, kept) if shape.weight else None
    if problem is None:
        problem = _of_counts(contents, rule, method, kept)
    problem = replace(problem, cost=problem.cost * price)
    if homogeneity is not None:
        problem = _of_groups(contents, homogeneity, problem)
    problem, before = with_earlier(problem, contents, shown)
    pattern = _protected(contents, method, problem)
    patterns = {COUNT: pattern}
    if shape.of is not None:
        pattern = _protected(contents, method, _of_sums(contents, rule, sums, problem, pattern))
        patterns[shape.of] = pattern
    return suppressed(contents, rule, method, pattern, patterns, shape, before, problem.asked)


def _protected(contents: CellContents, method: CellSuppression, problem: HidingProblem) -> Pattern:
    """A pattern; where there is none, the error names kinds of cells, and holds their labels for who asks."""
    try:
        return method.protect(problem)
    except DataError as error:
        cells = [n for n in error.values if isinstance(n, int)]
        if not cells:
            raise
        filled = contents.codes[cells] >= 0
        kinds = sorted({tuple(n for n, f in zip(contents.columns, row, strict=True) if f) for row in filled})
        named = listed([f"cells by {' x '.join(kind)}" if kind else "the grand total" for kind in kinds])
        labels = contents.labels()
        written = [", ".join(f"{n} {labels[n][i]}" for n in contents.columns) for i in cells]
        raise DataError(f"{error.message} It is about {named}.", hint=error.hint, values=written) from None


def _person(data: Table, rule: MinimumCount) -> str | None:
    found = data.schema.of_role(Role.PERSON)
    if rule.persons and len(found) != 1:
        raise ParameterError(
            "persons are to be counted, but no column says whose rows they are.",
            hint="give a column the role person in the schema",
        )
    return found[0] if found and rule.persons is not False else None


def _kept(contents: CellContents, keep: Iterable[Sequence[str]]) -> Flags:
    kept = np.zeros(len(contents.codes), bool)
    for total in keep:
        kept |= _of_kind(contents, total, "to be kept")
    return kept


def _priced(contents: CellContents, prices: Mapping[tuple[str, ...], float]) -> Real:
    """How many times as dear as others each cell is."""
    price = np.ones(len(contents.codes))
    for total, times in prices.items():
        if isinstance(times, bool) or not 0 < times < np.inf:
            raise ParameterError("a price is a number above 0.", hint="prices={('area',): 3}")
        price[_of_kind(contents, total, "to be priced")] = times
    return price


def _of_kind(contents: CellContents, total: Sequence[str], what: str) -> Flags:
    """The cells that are named by these columns, and are totals over all others."""
    named = (total,) if isinstance(total, str) else tuple(total)
    unknown = [repr(n) for n in named if n not in contents.columns]
    if unknown:
        raise ParameterError(f"{what}: unknown columns {listed(unknown)}.", hint="name columns of the tables")
    filled = np.array([c in named for c in contents.columns])
    found = np.asarray(((contents.codes >= 0) == filled).all(axis=1))
    if not found.any():
        raise ParameterError(
            f"{what}: no table has totals by {listed([repr(n) for n in named])}.",
            hint="name all columns of the totals, with those that they lie within: 'area,county'",
        )
    return found


def _of_counts(
    contents: CellContents, rule: MinimumCount, method: CellSuppression, kept: Flags
) -> HidingProblem:
    values = contents.rows.astype(np.float64)
    inner = contents.inner.astype(np.float64)
    sensitive = rule.counts(contents.people)
    high = np.maximum(np.maximum(rule.m - 1, inner + 1), values)
    least, most = inner, np.full(len(values), np.inf)
    if method.ranges:
        if not np.array_equal(contents.rows, contents.people):
            raise ParameterError(
                "ranges are of people, and these tables count rows of people who have several.",
                hint="leave out ranges, or count one row of each person",
            )
        told = sensitive & (inner < rule.m - 1)
        most[told] = rule.m - 1
        # Whoever sees a cell without its range knows that it is not small, but for those of many parts.
        least = np.where(told | (inner >= rule.m - 1), inner, float(rule.m))
        least = np.minimum(least, values)
    return HidingProblem(
        contents.relations, values, least, sensitive, inner, high, method.costs(values), kept,
        contents.people == 1, True, most, contents.people,
    )  # fmt: skip


def _of_groups(contents: CellContents, rule: Homogeneity, problem: HidingProblem) -> HidingProblem:
    """The same, with cells that hold (nearly) everybody of a group, which must not be known to."""
    at = contents.columns.index(rule.column)
    axis = next(a for layout in contents.layouts for a in layout.axes if rule.column in a)
    own = [contents.columns.index(n) for n in axis]
    number = {tuple(row): i for i, row in enumerate(contents.codes.tolist())}
    inner = np.flatnonzero(contents.codes[:, at] >= 0)
    above = contents.codes[inner].copy()
    above[:, own] = -1
    group = np.array([number[tuple(row)] for row in above.tolist()], np.int64)
    edge = rule.least(contents.rows[inner], contents.rows[group])
    told = edge <= contents.rows[inner]
    cells, low, high = inner[told], problem.low.copy(), problem.high.copy()
    plain = ~problem.sensitive
    low[plain] = high[plain] = problem.values[plain]
    low[problem.sensitive] = np.maximum(low[problem.sensitive], 1.0)
    low[cells] = np.minimum(low[cells], edge[told])
    sensitive = problem.sensitive.copy()
    sensitive[cells] = True
    return replace(problem, sensitive=sensitive, low=low, high=high)


def _of_weights(
    contents: CellContents, rule: MinimumCount, method: CellSuppression, kept: Flags
) -> HidingProblem:
    """Weighted counts: sensitive by people, and hidden as sums of few people are."""
    if method.ranges:
        raise ParameterError("weighted counts have no ranges.", hint="leave out ranges, or weight")
    values, inner = contents.weights, contents.inner.astype(np.float64)
    sensitive = rule.counts(contents.people)
    least = np.minimum(inner * contents.lightest, values)
    room = np.where(sensitive, _WIDTH * values, 0.0)
    sensitive &= room > 0
    return HidingProblem(
        contents.relations, values, least, sensitive, np.maximum(values - room, least), values + room,
        method.costs(values), kept, contents.people == 1, False,
        np.full(len(values), np.inf), contents.people,
    )  # fmt: skip


def _of_sums(
    contents: CellContents, rule: MinimumCount, sums: PPercent | Dominance, counted: HidingProblem,
    pattern: Pattern,
) -> HidingProblem:  # fmt: skip
    """The same cells, with sums in them. What is withheld of the counts is withheld here, too."""
    cells = contents.sums
    assert cells is not None
    few = rule.counts(contents.people)
    room = np.maximum(sums.room(cells), np.where(few, _WIDTH * np.abs(cells.total), 0.0))
    sensitive = room > 1e-9 * (1 + np.abs(cells.total))
    least = np.zeros(len(room)) if contents.smallest >= 0 else np.full(len(room), -np.inf)
    room = np.where(sensitive, room, 0.0)
    unit = max(1.0, float(np.abs(cells.total).max()) / 1e7)  # programs like numbers of one size
    low = np.maximum(cells.total - room, least)
    return replace(
        counted,
        values=cells.total / unit,
        least=least,
        sensitive=sensitive | pattern.withheld,
        low=low / unit,
        high=(cells.total + room) / unit,
        kept=counted.kept & ~pattern.withheld,
        whole=False,
        most=np.full(len(room), np.inf),
        aside=pattern.withheld & ~sensitive,
    )
