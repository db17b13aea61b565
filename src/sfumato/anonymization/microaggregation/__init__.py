"""Microaggregation: numbers are replaced by the mean of a group of at least k similar ones.

Guarantee: k-anonymity of the aggregated columns: each combination of their values is that of k rows or more,
           and of k persons where a column says whose rows they are.
Because:   all rows of a group get the same values, and every group has k rows (`groups_of` checks it) and k
           persons (`_peopled` merges groups until it has). Columns that name people, and quasi-identifiers
           that are not aggregated, are not released.
Assumes:   an intruder knows the aggregated columns and nothing else of a row; without a column of persons,
           that the rows are of different ones.
Tested by: tests/anonymization/test_microaggregation.py::test_every_released_combination_is_shared_by_k_rows
           tests/anonymization/test_microaggregation.py::test_groups_hold_k_persons_and_nothing_that_names_them
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.anonymization.request import unprotected, warn_of_spellings
from sfumato.anonymization.shape.variety import joined
from sfumato.counts import person_ids
from sfumato.criteria import Classes, KAnonymity
from sfumato.errors import DataError, ParameterError, listed
from sfumato.privacy import Guarantee
from sfumato.progress import report
from sfumato.release import InternalRecord, Release, fingerprint
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.table import Table

__all__ = ["Groups", "groups_of", "microaggregate"]

_NAMING = (Role.IDENTIFIER, Role.PERSON)
_BLOCK = 20_000  # rows compared with each other; more are first parted at medians


@dataclass(frozen=True, eq=False)
class Groups:
    """label: (rows,), the group of each. means: (groups, columns). lost: the share of the variance lost."""

    label: NDArray[np.int64]
    means: NDArray[np.float64]
    lost: float


def groups_of(values: NDArray[np.float64], k: int) -> Groups:
    """Groups of at least k rows with little spread. values: (rows, columns), none missing.

    One column: the optimum. Several: MDAV on standardized columns; above 20,000 rows within parts cut at
    medians, so that time grows with rows and not with their square.
    """
    from sfumato.anonymization.microaggregation import _kernels as kernels

    x = np.ascontiguousarray(values, np.float64)
    if x.ndim != 2 or not x.shape[1]:
        raise ParameterError("values have rows and columns.", hint="values[:, None] for a single column")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ParameterError("k must be a whole number from 1 up.", hint="k=5")
    if not np.isfinite(x).all():
        raise DataError("numbers that are missing or infinite have no mean.", hint="leave those rows out")
    if 0 < len(x) < k:
        raise DataError(f"{len(x)} rows cannot be in groups of {k}.", hint="ask for a smaller k")
    spread = x.std(axis=0)
    z = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0) if len(x) else x
    label = np.zeros(len(x), np.int64)
    if x.shape[1] == 1:
        order = np.argsort(z[:, 0], kind="stable")
        label[order] = kernels.optimal_cuts(z[order, 0], k)
    else:
        number, todo, done = 0, [np.arange(len(x))], 0
        while todo:
            rows = todo.pop()
            if len(rows) > max(_BLOCK, 4 * k):
                wide = z[rows].std(axis=0).argmax()
                order = rows[np.argsort(z[rows, wide], kind="stable")]
                todo += [order[: len(rows) // 2], order[len(rows) // 2 :]]
                continue
            number = kernels.mdav(z, rows, k, label, number)
            done += len(rows)
            report("grouping rows", done, len(x))
    sizes = np.bincount(label)
    assert not len(x) or sizes.min() >= k
    sums = np.stack([np.bincount(label, x[:, j]) for j in range(x.shape[1])], axis=1)
    means = sums / np.maximum(sizes, 1)[:, None]
    zmeans = (
        np.stack([np.bincount(label, z[:, j]) / sizes for j in range(z.shape[1])], axis=1) if len(x) else z
    )
    lost = float(((z - zmeans[label]) ** 2).sum() / max((z**2).sum(), 1e-300)) if len(x) else 0.0
    return Groups(label, means, lost)


def microaggregate(
    table: Table,
    columns: Sequence[str],
    k: int,
    *,
    drop: Sequence[str] = (),
    keep_text: bool = False,
    seed: int | None = None,
) -> Release:
    """The table with the numbers of `columns` replaced by the means of groups of at least k rows.

    columns: numeric, grouped together: rows of a group agree in all of them. Rows with the same cells
        missing are grouped among themselves, and missing stays missing; fewer than k such rows are refused.
        Where a column says whose rows they are, k persons are asked for, not k rows.
    drop: columns to leave out. Identifiers, the column of persons and quasi-identifiers that are not among
        `columns` always are; free text unless keep_text.
    seed: for tests and teaching; the order of the rows can then be undone.

    The table is held in memory. Other columns are released as they are, in an order that is drawn anew.

    >>> people = sf.samples.members(100).select(["age", "cost"])
    >>> release = sf.microaggregate(people, ["age"], 5, drop=["cost"])
    >>> bool(release.counts("age").n.min() >= 5)
    True
    """
    names = tuple(columns)
    _refuse_others(table, names, drop)
    key = Key.fresh() if seed is None else Key.from_seed(seed)
    kept = table.schema.drop(_left_out(table, names, drop, keep_text))
    person = next(iter(table.schema.of_role(Role.PERSON)), None)
    held = table.select(dict.fromkeys([*kept.names, *([person] if person else ())])).to_arrow()
    warn_of_spellings(table, person, ())
    whose = None if person is None else _persons(table.schema[person], held[person])
    x = np.stack([_numbers(held[c]) for c in names], axis=1)
    absent = np.isnan(x)
    patterns, of = np.unique(absent, axis=0, return_inverse=True)
    of = of.reshape(-1)
    rare = np.flatnonzero(_sizes(of, whose, len(patterns)) < k)
    if len(x) and rare.size:
        rows = int(np.isin(of, rare).sum())
        raise DataError(
            f"{rows} rows share the cells they miss with fewer than k = {k} "
            f"{'rows' if whose is None else 'persons'}.",
            hint="leave those rows or a column out",
        )
    lost, groups = [], 0
    label = np.zeros(len(x), np.int64)
    for p, pattern in enumerate(patterns):
        there, mine = np.flatnonzero(~pattern), np.flatnonzero(of == p)
        if not mine.size:
            continue
        label[mine] = groups
        if there.size:
            values = x[mine[:, None], there]
            found = groups_of(values, k)
            if whose is not None:
                found = _peopled(values, found, whose[mine], k)
            x[mine[:, None], there] = found.means[found.label]
            label[mine] += found.label
            lost.append((len(mine), found.lost))
        groups = int(label[mine].max()) + 1
    order = np.argsort(key.derive("microaggregation", "order").words(0, 0, len(x)).reshape(-1), kind="stable")
    data = _with_means(kept, held, names, x).take(pa.array(order))
    share = sum(n * v for n, v in lost) / max(sum(n for n, _ in lost), 1)
    record = InternalRecord(
        key=key,
        seed=seed,
        fingerprint=fingerprint(table, key),
        plan={"method": "microaggregation", "columns": list(names), "k": k},
        extra={"variance lost": share},
    )
    asked = KAnonymity(k)
    persons = None if whose is None else _sizes(label, whose, groups)
    claims = asked.claims(Classes(np.bincount(label, minlength=groups), persons), names)
    about = "Person-level data in which numbers were replaced by the means of groups of similar rows."
    released = Table.from_arrow(data, _after(kept, names))
    return Release(released, Guarantee(claims), record, about, table.source)


def _left_out(table: Table, names: tuple[str, ...], drop: Sequence[str], keep_text: bool) -> set[str]:
    """What is not released: the same as `anonymize` leaves out."""
    schema = table.schema
    gone = {*schema.of_role(Role.IDENTIFIER), *schema.of_role(Role.PERSON), *drop}
    gone |= {c.name for c in schema if c.kind is Kind.TEXT and not keep_text}
    return gone | unprotected(table, names, gone)


def _persons(column: Column, ids: pa.ChunkedArray) -> NDArray[np.int64]:
    """(rows,): a number for each person, -1 for a row that is nobody's."""
    found = person_ids(column, ids.combine_chunks()).dictionary_encode().indices
    codes: NDArray[np.int64] = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _sizes(label: NDArray[np.int64], whose: NDArray[np.int64] | None, groups: int) -> NDArray[np.int64]:
    """(groups,): rows, or different persons. Rows without a person count as one each."""
    if whose is None:
        return np.bincount(label, minlength=groups)
    pairs = np.unique(np.stack([label, whose], axis=1), axis=0)
    named = np.bincount(pairs[pairs[:, 1] >= 0, 0], minlength=groups)
    some = np.bincount(pairs[:, 0], minlength=groups) > 0
    return np.where(named > 0, named, some).astype(np.int64)


def _peopled(values: NDArray[np.float64], found: Groups, whose: NDArray[np.int64], k: int) -> Groups:
    """Groups merged with their nearest until each holds k persons; all rows together do."""
    spread = values.std(axis=0)
    z = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    label = found.label
    while (poor := _sizes(label, whose, int(label.max()) + 1) < k).any() and len(poor) > 1:
        label = joined(z, label, poor)
    sizes = np.bincount(label)
    means = np.stack([np.bincount(label, v) / sizes for v in values.T], axis=1)
    zmeans = np.stack([np.bincount(label, v) / sizes for v in z.T], axis=1)
    return Groups(label, means, float(((z - zmeans[label]) ** 2).sum() / max((z**2).sum(), 1e-300)))


def _refuse_others(table: Table, names: tuple[str, ...], drop: Sequence[str]) -> None:
    table.schema.require(drop)
    kinds = {c.name: c.kind for c in table.schema if c.role not in _NAMING and c.name not in drop}
    wrong = [f"'{c}'" for c in names if kinds.get(c) is not Kind.NUMERIC]
    if not names or wrong or len(set(names)) < len(names):
        raise ParameterError(
            f"{len(wrong)} columns are not numeric columns of the table: {listed(wrong)}."
            if wrong
            else "name the numeric columns, each once.",
            hint="microaggregate(table, ['age', 'charge'], k=5)",
        )


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Missing becomes NaN."""
    found: NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy().astype(np.float64)
    return found.copy()


def _after(schema: Schema, names: tuple[str, ...]) -> Schema:
    """Means are real numbers, and what was said about the old values does not bind them."""
    return Schema(
        tuple(
            Column(c.name, Kind.NUMERIC, c.role, "real", unit=c.unit, description=c.description)
            if c.name in names
            else replace(c)
            for c in schema
        )
    )


def _with_means(schema: Schema, held: pa.Table, names: tuple[str, ...], x: NDArray[np.float64]) -> pa.Table:
    for j, name in enumerate(names):
        cells = pa.array(x[:, j], mask=np.isnan(x[:, j]))
        held = held.set_column(held.column_names.index(name), name, cells)
    return held.select([c.name for c in schema])
