"""What comes out of tables: a release, with what is shown, what was true, and why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.cells import Attacker, Published, Target
from sfumato.privacy import Guarantee, HiddenCells, NoGuarantee, Unit
from sfumato.release import InternalRecord, Release
from sfumato.seeds import Key
from sfumato.table import Table
from sfumato.tabulation.cell_keys import CellKeys
from sfumato.tabulation.contents import CellContents
from sfumato.tabulation.history import COUNT
from sfumato.tabulation.rounding import ControlledRounding
from sfumato.tabulation.rules import MinimumCount
from sfumato.tabulation.suppression import CellSuppression, Pattern

Index = NDArray[np.int64]

_AUDITED = 3000  # cells of a table whose keys are audited for differences


@dataclass(frozen=True)
class CellShape:
    """What is shown of each cell beside its count. of: a summed column.  means: its mean, not its sum."""

    of: str | None = None
    means: bool = False
    weight: str | None = None

    @property
    def summed(self) -> str | None:
        """The name of the column that is shown."""
        return self.of if self.of is None or not self.means else f"mean {self.of}"


def rounded(contents: CellContents, method: ControlledRounding, key: Key) -> Release:
    """Counts rounded to multiples of a base."""
    found = method.round(contents, key)
    why = (
        f"Counts are rounded to multiples of {method.base}, so that an inner cell is off by less than "
        f"{method.base} and all totals add up. Totals bound what was rounded: sf.assess_tables says what a "
        "reader can tell."
    )
    places = int(np.prod([float(len(np.unique(c))) for c in contents.codes.T]))
    extra = {"base": method.base, "farthest": found.farthest, "mean": found.mean, "places": places}
    about = f"A table of {len(contents.codes)} cells, rounded to multiples of {method.base}."
    return _changed(contents, found.counts, key, {"rounding": extra}, about, "rounded counts", why)


def perturbed(contents: CellContents, method: CellKeys, rule: MinimumCount, key: Key) -> Release:
    """Counts moved by their cell keys, and what differences of published counts tell nevertheless."""
    assert contents.keys is not None
    counts = method.perturb(contents.rows, contents.keys)
    audit = _differences(contents, method, rule, counts)
    off = np.abs(counts - contents.rows)
    extra = {
        "variance": method.variance, "most": method.most, "smallest": method.smallest,
        "mean": float(off.mean()), "moved": int((off > 0).sum()), **audit,
    }  # fmt: skip
    why = (
        f"Every count is moved by at most {method.most}, with mean 0 and variance {method.variance:g}, as "
        "secret keys of its people say; the same people always have the same count. Totals are moved by "
        "themselves and do not add up exactly; with many tables, totals and their parts bound what was moved."
    )
    about = f"{len(contents.layouts)} tables of {len(counts)} cells, moved by cell keys."
    return _changed(contents, counts, key, {"cell keys": extra}, about, "cell keys", why)


def _differences(
    contents: CellContents, method: CellKeys, rule: MinimumCount, shown: Index
) -> dict[str, int | None]:
    """How many small counts follow exactly from all shown counts and how far they can be moved."""
    if len(shown) > _AUDITED:
        return {"examined": 0, "known": None}
    low = np.maximum(shown - method.most, 0.0)
    low = np.where(shown > 0, np.maximum(low, 1.0), low)  # nobody's cell is never moved
    high = (shown + method.most).astype(np.float64)
    published = Published(contents.relations, low, high, np.ones(len(shown), bool))
    small = np.flatnonzero(rule.counts(contents.people))
    true = contents.rows.astype(np.float64)
    found = Attacker(published, true).judge([Target(int(c), -np.inf, np.inf) for c in small], ends=True)
    known = np.floor(found.high + 1e-6) <= np.ceil(found.low - 1e-6)
    return {"examined": len(small), "known": int(known.sum())}


def _changed(
    contents: CellContents, counts: Index, key: Key, extra: dict[str, object], about: str, reason: str,
    why: str,
) -> Release:  # fmt: skip
    labels = contents.labels()
    shown = pa.table({**labels, COUNT: counts})
    internal = pa.table({**labels, "rows": contents.rows, "people": contents.people})
    record = InternalRecord(key=key, tables={"cells": internal}, extra=extra)
    return Release(Table.from_arrow(shown), Guarantee.of(NoGuarantee(reason, why)), record, about)


def suppressed(
    contents: CellContents, rule: MinimumCount, method: CellSuppression, pattern: Pattern,
    patterns: dict[str, Pattern], shape: CellShape, known: int, sensitive: NDArray[np.bool_],
) -> Release:  # fmt: skip
    """Counts and sums, with some cells withheld."""
    labels = contents.labels()
    withheld = pattern.withheld
    few = rule.counts(contents.people)
    shown: dict[str, pa.Array] = {**labels, COUNT: _counts(contents, rule, method, withheld, shape)}
    if shape.summed is not None and contents.sums is not None:
        value = contents.sums.total
        if shape.means:
            value = np.divide(value, contents.weights, out=np.zeros(len(value)), where=contents.weights > 0)
        shown[shape.summed] = pa.array(value, mask=withheld)
    layout = ";".join(x.text for x in contents.layouts)
    claim = HiddenCells(
        rule.m,
        contents.columns,
        layout,
        shape.summed or "",
        method.contributors,
        shape.weight or "",
        contents.zeros_of or "",
        unit=Unit.row(),
    ).assuming(
        "Readers know the tables, that zeros are left out, and at most what they contributed themselves."
        if contents.zeros_of is None
        else "Readers know the tables, and at most what they contributed themselves."
    )
    why = np.where(withheld, "hides another cell", "")
    why = np.where(few, "few people", np.where(sensitive & withheld, "a group in one category", why))
    internal = pa.table(
        {**labels, "rows": contents.rows, "people": contents.people, "withheld": withheld, "why": why}
    )
    extra = {
        name: {
            "withheld": int(p.withheld.sum()), "cost": p.cost, "bound": p.bound, "gap": p.gap,
            "for contributors": p.for_contributors, "by program only": p.findings.by_program_only,
            "programs": p.programs,
        }
        for name, p in patterns.items()
    }  # fmt: skip
    record = InternalRecord(tables={"cells": internal}, extra={"suppression": extra, "shown before": known})
    about = (
        f"{len(contents.layouts)} table{'s' * (len(contents.layouts) > 1)} of {len(contents.codes)} cells, "
        f"{int(withheld.sum())} of them withheld."
    )
    return Release(Table.from_arrow(pa.table(shown)), Guarantee.of(claim), record, about)


def _counts(
    contents: CellContents, rule: MinimumCount, method: CellSuppression, withheld: NDArray[np.bool_],
    shape: CellShape,
) -> pa.Array:  # fmt: skip
    """Counts as they are shown: numbers, or text where small ones have ranges."""
    if shape.weight is not None:
        return pa.array(contents.weights, mask=withheld)
    if not method.ranges:
        return pa.array(contents.rows, mask=withheld)
    few = rule.counts(contents.people)
    texts = [
        f"{least}-{rule.m - 1}" if small and least < rule.m - 1 else None if gone else str(n)
        for n, least, small, gone in zip(
            contents.rows.tolist(), contents.inner.tolist(), few.tolist(), withheld.tolist(), strict=True
        )
    ]
    return pa.array(texts, pa.string())
