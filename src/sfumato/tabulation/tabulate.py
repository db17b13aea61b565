"""Tables to publish: counts and sums of any columns, with what would give people away withheld."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.cells.layout import Layout, read_layouts, require_columns
from sfumato.errors import DataError, ParameterError, listed
from sfumato.io import scan
from sfumato.privacy import Guarantee, HiddenCells, NoGuarantee, Unit
from sfumato.release import InternalRecord, Release
from sfumato.schema import Role
from sfumato.seeds import Key
from sfumato.table import Table
from sfumato.tabulation.contents import CellContents, count
from sfumato.tabulation.problem import HidingProblem
from sfumato.tabulation.rounding import ControlledRounding
from sfumato.tabulation.rules import Dominance, MinimumCount, PPercent
from sfumato.tabulation.suppression import CellSuppression, Pattern

if TYPE_CHECKING:
    from sfumato.sources import DataLike

Flags = NDArray[np.bool_]
Real = NDArray[np.float64]

COUNT = "count"
_WIDTH = 0.2  # of a sum with too few contributors: how far a reader is left in doubt, as a share of it


def tabulate(
    table: Table | DataLike,
    tables: str | Iterable[str | Sequence[str | Sequence[str]] | Layout],
    rule: MinimumCount | int = 5,
    *,
    method: CellSuppression | ControlledRounding | None = None,
    of: str | None = None,
    sums: PPercent | Dominance | None = None,
    keep: Iterable[Sequence[str]] = (),
    earlier: Sequence[Release] = (),
) -> Release:
    """Count tables and withhold what would give people away, from all of them together.

    table: rows of people.  tables: what to publish: 'area>county,age' is a table by county within area and
    age, with all totals; several may be given, and are protected together. rule: which counts are sensitive.
    of: a column to be summed in every cell, too; `sums` is what is sensitive about sums.  keep: totals that
    must be published, by their columns: () is the grand total, ('area',) the totals of the areas.  earlier:
    releases of tables of the same people. What they show is known.
    """
    data = table if isinstance(table, Table) else scan(table, keep_text=True)
    asked = MinimumCount(rule) if isinstance(rule, int) and not isinstance(rule, bool) else rule
    if not isinstance(asked, MinimumCount):
        raise ParameterError("the rule is a smallest count.", hint="sf.MinimumCount(5), or 5")
    method, sums = method or CellSuppression(), sums or PPercent()
    layouts = read_layouts(tables)
    known, shown = _earlier(earlier)
    columns = require_columns([*layouts, *known], data.columns)
    clash = [repr(n) for n in (COUNT, of) if n in columns]
    if clash:
        raise ParameterError(f"{listed(clash)} cannot be a column of a table.", hint="rename the column")
    person = _person(data, asked)
    contents = count(data, [*layouts, *known], columns, of=of, person=person)
    if not len(contents.codes):
        raise DataError("there are no rows to count.", hint="give rows")
    if isinstance(method, ControlledRounding):
        if of is not None or known or tuple(keep):
            what = "rounding takes counts of one table: no sums, no earlier tables, nothing to be kept."
            raise ParameterError(what, hint="leave out of, earlier and keep, or use CellSuppression")
        return _rounded(contents, method)
    kept = _kept(contents, keep)
    problem = _of_counts(contents, asked, method, kept)
    problem, before = _given(problem, contents, shown)
    pattern = method.protect(problem)
    findings = {COUNT: pattern}
    if of is not None:
        findings[of] = method.protect(_of_sums(contents, asked, sums, method, problem, pattern))
        pattern = findings[of]
    return _release(contents, asked, method, problem, pattern, findings, of, before)


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
        named = (total,) if isinstance(total, str) else tuple(total)
        unknown = [repr(n) for n in named if n not in contents.columns]
        if unknown:
            raise ParameterError(
                f"to be kept: unknown columns {listed(unknown)}.", hint="name columns of the tables"
            )
        filled = np.array([c in named for c in contents.columns])
        kept |= ((contents.codes >= 0) == filled).all(axis=1)
    return kept


def _of_counts(
    contents: CellContents, rule: MinimumCount, method: CellSuppression, kept: Flags
) -> HidingProblem:
    values = contents.rows.astype(np.float64)
    inner = contents.inner.astype(np.float64)
    sensitive = rule.counts(contents.people)
    high = np.maximum(np.maximum(rule.m - 1, inner + 1), values)
    return HidingProblem(
        contents.relations, values, inner, sensitive, inner, high, method.costs(values), kept,
        contents.people == 1, True, contents.places(),
    )  # fmt: skip


def _of_sums(
    contents: CellContents, rule: MinimumCount, sums: PPercent | Dominance, method: CellSuppression,
    counted: HidingProblem, pattern: Pattern,
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
    )


# -- earlier tables ------------------------------------------------------------------------------


def _earlier(releases: Sequence[Release]) -> tuple[list[Layout], list[dict[tuple[str, ...], bool]]]:
    """The layouts of earlier releases, and of each cell whether it was shown."""
    layouts: list[Layout] = []
    shown = []
    for release in releases:
        claims = [c for c in release.guarantee if isinstance(c, HiddenCells)]
        if not claims:
            raise ParameterError("an earlier release holds no tables.", hint="give what sf.tabulate returned")
        layouts += read_layouts(claims[0].layout)
        rows = release.data.to_arrow()
        names = [n for n in rows.column_names if n in claims[0].columns]
        lists = [rows[n].to_pylist() for n in names]
        there = [v is not None for v in rows[COUNT].to_pylist()]
        shown.append(
            {
                tuple(sorted((n, v) for n, v in zip(names, labels, strict=True) if v != "_T")): flag
                for labels, flag in zip(zip(*lists, strict=True), there, strict=True)
            }
        )
    return layouts, shown  # type: ignore[return-value]


def _given(problem: HidingProblem, contents: CellContents, shown: Sequence[Any]) -> tuple[HidingProblem, int]:
    """What was shown stays shown, what was withheld stays withheld."""
    if not shown:
        return problem, 0
    labels = {name: values.to_pylist() for name, values in contents.labels().items()}
    kept, hidden = problem.kept.copy(), problem.sensitive.copy()
    for i in range(problem.size):
        key = tuple(sorted((n, labels[n][i]) for n in contents.columns if labels[n][i] != "_T"))
        for earlier in shown:
            if key in earlier:
                kept[i] |= earlier[key]
                hidden[i] |= not earlier[key]
    told = kept & problem.sensitive
    if told.any():
        raise DataError(
            f"{int(told.sum())} cells are sensitive, and an earlier release shows them.",
            hint="what is published cannot be taken back; leave these cells out",
        )
    low = np.where(problem.sensitive, problem.low, problem.values)
    high = np.where(problem.sensitive, problem.high, problem.values)
    known = int((kept & hidden).sum())
    if known:
        raise DataError(
            f"{known} cells were shown once and withheld once.", hint="give releases of the same data"
        )
    return replace(problem, kept=kept, sensitive=hidden, low=low, high=high), int(kept.sum())


# -- what comes out ------------------------------------------------------------------------------


def _rounded(contents: CellContents, method: ControlledRounding) -> Release:
    key = Key.fresh()
    rounded = method.round(contents, key)
    labels = contents.labels()
    shown = pa.table({**labels, COUNT: rounded.counts})
    internal = pa.table({**labels, "rows": contents.rows, "people": contents.people})
    why = (
        f"Counts are rounded to multiples of {method.base}, so that an inner cell is off by less than "
        f"{method.base} and all totals add up. Totals bound what was rounded: sf.assess_tables says what a "
        "reader can tell."
    )
    extra = {"rounding": {"base": method.base, "farthest": rounded.farthest, "mean": rounded.mean}}
    record = InternalRecord(key=key, tables={"cells": internal}, extra=extra)
    about = f"A table of {len(contents.codes)} cells, rounded to multiples of {method.base}."
    return Release(Table.from_arrow(shown), Guarantee.of(NoGuarantee("rounded counts", why)), record, about)


def _release(
    contents: CellContents, rule: MinimumCount, method: CellSuppression, problem: HidingProblem,
    pattern: Pattern, findings: dict[str, Pattern], of: str | None, known: int,
) -> Release:  # fmt: skip
    labels = contents.labels()
    withheld = pattern.withheld
    shown: dict[str, pa.Array] = {**labels, COUNT: pa.array(contents.rows, mask=withheld)}
    if of is not None and contents.sums is not None:
        shown[of] = pa.array(contents.sums.total, mask=withheld)
    layout = ";".join(x.text for x in contents.layouts)
    claim = HiddenCells(
        rule.m, contents.columns, layout, of or "", method.contributors, unit=Unit.row()
    ).assuming(
        "Readers know the tables, that zeros are left out, and at most what they contributed themselves."
    )
    why = np.where(rule.counts(contents.people), "few people", np.where(withheld, "hides another cell", ""))
    internal = pa.table(
        {**labels, "rows": contents.rows, "people": contents.people, "withheld": withheld, "why": why}
    )
    extra = {
        name: {
            "withheld": int(p.withheld.sum()), "cost": p.cost, "bound": p.bound, "gap": p.gap,
            "for contributors": p.for_contributors, "by program only": p.findings.by_program_only,
            "programs": p.programs,
        }
        for name, p in findings.items()
    }  # fmt: skip
    record = InternalRecord(tables={"cells": internal}, extra={"suppression": extra, "shown before": known})
    about = (
        f"{len(contents.layouts)} table{'s' * (len(contents.layouts) > 1)} of {len(contents.codes)} cells, "
        f"{int(withheld.sum())} of them withheld."
    )
    return Release(Table.from_arrow(pa.table(shown)), Guarantee.of(claim), record, about)
