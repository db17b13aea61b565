"""The parts all methods share: which columns, which clusters, and the released file."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.anonymization.request import misfits, unprotected
from sfumato.anonymization.shape.cluster import Clustering, RowClusters, against_exact, k_member
from sfumato.anonymization.shape.dependence import following
from sfumato.anonymization.shape.draws import Draws
from sfumato.anonymization.shape.rosenblatt import variable
from sfumato.anonymization.shape.space import codebook, numbers, space
from sfumato.anonymization.shape.variety import beyond_size, widen
from sfumato.counts import merged, representatives
from sfumato.criteria import Criterion
from sfumato.errors import DataError, ParameterError, SfumatoWarning, listed
from sfumato.hierarchy import Hierarchy
from sfumato.privacy import Guarantee
from sfumato.release import InternalRecord, Release, fingerprint
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.sources import Source
from sfumato.table import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
KEEP, JOIN, APART = "keep", "join", "apart"  # what becomes of kept columns that can be predicted
_BINS = 10  # of a numeric column whose variety is asked for


@dataclass(frozen=True, eq=False)
class Grouped:
    """A table in memory, its quasi-identifiers, and its clusters.

    joined: kept columns that the test found to follow from the quasi-identifiers, and that are now among
    these. apart: those that are exchanged each by itself. tested: whether any were looked for.
    """

    data: pa.Table
    schema: Schema
    quasi: tuple[str, ...]
    response: str | None
    weights: Floats
    clusters: RowClusters
    key: Key
    origin: Source
    fingerprint: str
    about: Mapping[str, Any]
    joined: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    tested: bool = False

    @property
    def draws(self) -> Draws:
        """Random numbers of this release."""
        return Draws(self.key.derive("shape"))

    @property
    def reached(self) -> int:
        """The rows of the smallest cluster: the k that was reached."""
        return int(self.clusters.sizes.min())

    def released(
        self, columns: Mapping[str, pa.Array], guarantee: Guarantee, about: str, **plan: object
    ) -> Release:
        """The file: quasi-identifiers replaced, the rest as it was, in a secret random order."""
        data = self.data
        alone = {
            name: self.data.column(name).take(
                pa.array(self.draws.shuffled_within(f"apart {name}", self.clusters.label))
            )
            for name in self.apart
        }
        for name, array in {**columns, **alone}.items():
            data = data.set_column(data.column_names.index(name), name, array)
        data = data.take(self.draws.permutation("order", data.num_rows))
        sizes = pa.table({"cluster": np.arange(len(self.clusters.sizes)), "rows": self.clusters.sizes})
        record = InternalRecord(
            key=self.key,
            fingerprint=self.fingerprint,
            plan={**plan, "columns": self.quasi, "response": self.response, "apart": self.apart},
            tables={"clusters": sizes},
            extra=dict(self.about),
        )
        promise = guarantee.seeded() if self.key.seeded else guarantee
        return Release(Table.from_arrow(data, self.schema), promise, record, about, self.origin)


def group(
    table: Table,
    criterion: Criterion,
    how: Clustering,
    *,
    columns: tuple[str, ...] | None,
    response: str | None,
    weight: str | None,
    hierarchies: Mapping[str, Hierarchy],
    key: Key | None,
    keep_text: bool = False,
    predicted: str = KEEP,
) -> Grouped:
    """Check everything, read the table, and cluster it; again with each kept column that is to join."""
    schema = table.schema
    varied = beyond_size(criterion)
    schema.require([s for part in varied for s in part.sensitive])
    quasi = tuple(columns) if columns is not None else schema.of_role(Role.QUASI_IDENTIFIER)
    _refuse(table, criterion, quasi, response)
    weight = weight or next(iter(schema.of_role(Role.WEIGHT)), None)
    gone = {*schema.of_role(Role.IDENTIFIER), *schema.of_role(Role.PERSON)}
    gone |= {c.name for c in schema if c.kind is Kind.TEXT and not keep_text} - {*quasi, response}
    gone |= unprotected(table, (*quasi, *criterion.sensitive, response or "", weight or ""), gone)
    _warn_of_known(schema, quasi, (*criterion.sensitive, response, weight))
    secret = key or Key.fresh()
    _one_row_each(table)
    kept = table.drop(gone) if gone else table
    data = kept.to_arrow()
    if not data.num_rows:
        raise DataError("the table has no rows.", hint="give a table with rows")
    weights = _weights(kept, data, weight)
    own = None if weight is None else weights
    asked = tuple(quasi)
    apart: tuple[str, ...] = ()
    alone = {*criterion.sensitive, response, weight, *schema.of_role(Role.SENSITIVE)}
    while True:
        points = space(
            data,
            [schema[c] for c in quasi],
            None if response is None else schema[response],
            how.response_weight,
            hierarchies,
            own,
        ).points
        clusters = _clustered(points, criterion.k, how, own, secret, mixed=predicted != KEEP)
        if varied:
            codes = {s: _values(schema[s], data.column(s)) for part in varied for s in part.sensitive}
            clusters = widen(points, clusters, varied, codes)
        if predicted == KEEP:
            break
        found = _following(
            kept.schema, data, quasi, apart, clusters.label, Draws(secret.derive("dependence"))
        )
        joining = tuple(c for c in found if predicted == JOIN and c not in alone)
        apart += tuple(c for c in found if c not in joining)
        if not joining:
            break
        quasi += joining
    about: dict[str, Any] = {"asked": criterion.describe()}
    ratio = against_exact(points, criterion.k, how, secret.generator("sample"), own)
    if ratio is not None:
        about["distortion, times the exact one on a sample"] = ratio
    about |= {"clusters": len(clusters.sizes), "distortion": clusters.distortion}
    return Grouped(
        data, kept.schema, quasi, response, weights, clusters, secret, table.source,
        fingerprint(table, secret), about, quasi[len(asked) :], apart, predicted != KEEP,
    )  # fmt: skip


def _clustered(
    points: Floats, k: int, how: Clustering, weights: Floats | None, secret: Key, *, mixed: bool
) -> RowClusters:
    """Clusters of k. mixed: rows come in a secret random order, for ties go to the first: the order of the
    file, and what follows from it, would else say something of the quasi-identifiers within clusters."""
    generator = secret.generator("clustering")
    if not mixed:
        return k_member(points, k, how, weights=weights, generator=generator)
    order = Draws(secret.derive("mixed")).permutation("rows", len(points))
    found = k_member(
        points[order], k, how, weights=None if weights is None else weights[order], generator=generator
    )
    label = np.empty_like(found.label)
    label[order] = found.label
    return RowClusters(label, found.sizes, found.distortion)


def _following(
    schema: Schema, data: pa.Table, quasi: tuple[str, ...], apart: tuple[str, ...], label: Ints, draws: Draws
) -> tuple[str, ...]:
    """The columns still kept that the test finds to follow from those that are exchanged together."""
    codes = {c: _values(schema[c], data.column(c)) for c in schema.names if c not in apart}
    known = {c: codes.pop(c) for c in quasi}
    return following(codes, known, label, draws)


def _refuse(table: Table, criterion: Criterion, quasi: tuple[str, ...], response: str | None) -> None:
    schema = table.schema
    schema.require([*quasi, *filter(None, [response])])
    faults = misfits(table, criterion, quasi)
    if not quasi:
        faults.append("no column has the role quasi-identifier")
    if len(set(quasi)) < len(quasi):
        faults.append("a column is named twice")
    if response in quasi:
        faults.append("the response is one of the quasi-identifiers")
    naming = [repr(c) for c in quasi if schema[c].role in (Role.IDENTIFIER, Role.PERSON)]
    if naming:
        faults.append(f"columns that name people cannot be exchanged: {listed(naming)}")
    if faults:
        raise ParameterError(
            f"{'; '.join(faults)}.", hint='columns=["sex", "age"], or set roles in the schema'
        )


def _warn_of_known(schema: Schema, quasi: tuple[str, ...], kept: tuple[str | None, ...]) -> None:
    """What is looked at is released as it is; by role it may be what an intruder knows."""
    by_role = schema.of_role(Role.QUASI_IDENTIFIER)
    known = [c for c in dict.fromkeys(kept) if c in by_role and c not in quasi]
    if known:
        warnings.warn(
            f"{listed([repr(c) for c in known])} is a quasi-identifier by role and stays as it is: whoever "
            "knows it can match by it. Give it another role, or leave it out by drop=.",
            SfumatoWarning,
            stacklevel=5,
        )


def _one_row_each(table: Table) -> None:
    """The bound is for rows: a person with several rows could be found by any of them."""
    for name in table.schema.of_role(Role.PERSON):
        counts = merged(table.one_way([name])[name], name)
        several = int((counts.n > 1).sum())
        if several:
            raise DataError(
                f"{several:,} persons have several rows by column '{name}', and the promise is for rows.",
                hint="bring the table to one row a person first",
            )


def _values(column: Column, array: pa.ChunkedArray) -> Ints:
    """What is varied: numbers in bins, spellings of one value as one."""
    codes = variable(column, array, _BINS).codes
    if column.kind in (Kind.NUMERIC, Kind.DATE):
        return codes
    found: Ints = representatives(codebook(column, array))[codes]
    return found


def _weights(table: Table, data: pa.Table, name: str | None) -> Floats:
    if name is None:
        return np.ones(data.num_rows)
    table.schema.require([name])
    if table.schema[name].kind is not Kind.NUMERIC:
        raise ParameterError(f"weights are numbers, and '{name}' is not numeric.", hint="weight='weight'")
    values = numbers(table.schema[name], data.column(name))
    if np.isnan(values).any() or (values <= 0).any():
        raise DataError(f"weights in '{name}' must all be positive.", hint="drop rows without weight first")
    return values


def taken(data: pa.Table, columns: tuple[str, ...], donor: Ints) -> dict[str, pa.Array]:
    """The quasi-identifiers of other rows, whole."""
    return {name: pc.take(data.column(name), pa.array(donor)) for name in columns}
