"""Three ways to release clusters of k rows: by their centroids, by exchange within them, or by dither.

Guarantee: for every row, the chance that an intruder who goes by quasi-identifiers alone, and knows all of
           them, picks its released row is at most 1/k (ClusterResample, ClusterDither); k-anonymity
           (Centroid).
Because:   given the clusters, the released quasi-identifiers of the rows of a cluster are exchangeable:
           they are drawn alike and do not look at which row is which. So a match that falls into the
           own cluster is the own row with chance 1/n_l, and n_l >= k; one that does not is wrong.
           Rows leave in secret random order, so the order tells nothing.
Assumes:   the intruder neither knows nor infers the other columns, which are released as they are. Who
           learns from the release how a kept column follows from the quasi-identifiers breaks 1/k for people
           who differ from their cluster (docs/thinking-intruder.md, "Predicting the row"): keep no such
           column, make it a quasi-identifier, or let a test decide (predicted="join" or "apart"): a column
           that is exchanged, or independent of the quasi-identifiers given the cluster, tells no row. The
           key stays secret.
Tested by: tests/anonymization/test_shape.py::test_no_record_is_found_more_often_than_one_in_k
           tests/anonymization/test_dependence.py::test_the_mend_takes_the_intruders_advantage_away
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.anonymization import parameters as declared
from sfumato.anonymization.shape.cluster import Clustering
from sfumato.anonymization.shape.dependence import LEVEL
from sfumato.anonymization.shape.exchange import APART, JOIN, KEEP, Grouped, group, taken
from sfumato.anonymization.shape.gaussian import Dither, GaussianDither
from sfumato.anonymization.shape.rosenblatt import donors, variable
from sfumato.anonymization.shape.space import codebook, numbers, unit
from sfumato.counts import canonical_type
from sfumato.criteria import Criterion
from sfumato.errors import ParameterError, listed
from sfumato.hierarchy import Hierarchy
from sfumato.methods.declaration import Declaration, Does, Need, declares
from sfumato.methods.parameters import Parameter, nested
from sfumato.methods.settings import require_numbers
from sfumato.methods.shapes import Flag, Text
from sfumato.privacy import BoundedReidentification, Claim, Guarantee
from sfumato.privacy import KAnonymity as KAnonymityClaim
from sfumato.release import Release
from sfumato.schema import Column, Kind
from sfumato.seeds import Key
from sfumato.table import Table

Floats = NDArray[np.float64]
_ORDER = "The rows were put in a secret random order."
_SEEDED = "Nobody guesses the seed: it tells the order the rows had."


@dataclass(frozen=True)
class _Cluster(ABC):
    """What all three need."""

    response: Annotated[
        str | None,
        Parameter(
            Text("A column that rows of a cluster should be alike in, such as the cost."),
            beginner=True,
            columns=True,
        ),
    ] = None
    columns: Annotated[
        tuple[str, ...] | None, declared.names("The quasi-identifiers; by default those of that role.")
    ] = None
    weight: Annotated[
        str | None,
        Parameter(Text("The column of survey weights; by default that of role weight."), columns=True),
    ] = None
    clustering: Annotated[Clustering, nested(Clustering, "How rows are put together.")] = field(
        default_factory=Clustering
    )
    predicted: Annotated[
        str,
        Parameter(
            Text(
                "What becomes of kept columns that follow from the quasi-identifiers, by a test: keep them; "
                "join them with the quasi-identifiers (sensitive ones apart); exchange each apart.",
                choices=(KEEP, JOIN, APART),
            )
        ),
    ] = KEEP
    keep_text: Annotated[
        bool,
        Parameter(
            Flag("Release free text too; it may say of whom a row is, whatever was exchanged."),
            python_only="elsewhere it is said once for the release: keep_text of [prepare], --keep-text",
        ),
    ] = False

    def __post_init__(self) -> None:
        if self.columns is not None:
            if isinstance(self.columns, str):
                raise ParameterError("columns must be a list of names.", hint='columns=["sex", "age"]')
            object.__setattr__(self, "columns", tuple(self.columns))
        if self.predicted not in (KEEP, JOIN, APART):
            raise ParameterError("predicted must be keep, join or apart.", hint="predicted='join'")

    def release(
        self,
        table: Table,
        criterion: Criterion,
        *,
        hierarchies: Mapping[str, Hierarchy] | None = None,
        key: Key | None = None,
    ) -> Release:
        """Cluster the rows, replace their quasi-identifiers, and say what is promised."""
        grouped = group(
            table, criterion, self.clustering, columns=self.columns, response=self.response,
            weight=self.weight, hierarchies=hierarchies or {}, key=key, keep_text=self.keep_text,
            predicted=self.predicted,
        )  # fmt: skip
        plan: dict[str, object] = {
            "method": type(self).__name__,
            "criterion": criterion.describe(),
            "clustering": asdict(self.clustering),
            "predicted": self.predicted,
        }
        return self._made(grouped, plan)

    @abstractmethod
    def _made(self, grouped: Grouped, plan: dict[str, object]) -> Release: ...


def _bounded(grouped: Grouped) -> Guarantee:
    claim: Claim = BoundedReidentification(grouped.reached, grouped.quasi)
    return Guarantee.of(claim.assuming(_ORDER, "Every row is another person.", *_tested(grouped)))


def _tested(grouped: Grouped) -> tuple[str, ...]:
    """What was done about columns from which rows can be told, and what it does not prove."""
    if not grouped.tested:
        return ()
    done = []
    if grouped.joined:
        done.append(f"{listed([repr(c) for c in grouped.joined], 12)} exchanged with the quasi-identifiers")
    if grouped.apart:
        done.append(f"{listed([repr(c) for c in grouped.apart], 12)} exchanged each by itself")
    failed = f"what failed was {' and '.join(done)}" if done else "nothing was found"
    beside = (
        f"{listed([repr(c) for c in grouped.joined], 12)} left with the quasi-identifiers they belong to: "
        "who knows enough of these to tell a person apart learns the rest of them.",
    ) if grouped.joined else ()  # fmt: skip
    return (
        "The columns that were kept do not follow from the exchanged ones within groups. This was tested "
        f"(permutations, level {LEVEL:.0%} for all columns together), and {failed}.",
        "A dependence that is too weak or too rare for the test can still tell a row.",
        *beside,
    )


@declares(
    Declaration(
        "resample",
        Does.EXCHANGE,
        "Values exchanged between rows that are alike.",
        page="shape.md",
        claims=("BoundedReidentification",),
        needs=(Need.KEY,),
        first=True,
        grid=({"k": 3}, {"k": 10}),
    )
)
@dataclass(frozen=True)
class ClusterResample(_Cluster):
    """Section 3.2.1: each row takes the quasi-identifiers of a row of its cluster.

    With replacement the law of the quasi-identifiers is kept on average (Lemma 1), by weight where there are
    weights; without it exactly, row for row.

    >>> people = sf.samples.members(100).select(["age", "sex", "cost"])
    >>> release = sf.anonymize(people, sf.KAnonymity(5), method=sf.ClusterResample(response="cost"))
    >>> release.guarantee.claims[0].title
    're-identification at most 1/5 for every record'
    """

    replacement: Annotated[
        bool, Parameter(Flag("Drawn anew for each row, or else a permutation."), beginner=True)
    ] = True

    def _made(self, grouped: Grouped, plan: dict[str, object]) -> Release:
        """Exchange, and say what is promised."""
        label = grouped.clusters.label
        if self.replacement:
            donor = grouped.draws.drawn_within("exchange", label, grouped.weights)
        else:
            donor = grouped.draws.shuffled_within("exchange", label)
        return grouped.released(
            taken(grouped.data, grouped.quasi, donor),
            _bounded(grouped),
            f"Person-level data in which {', '.join(grouped.quasi)} were exchanged between rows that are "
            "alike. A row no longer describes one person.",
            **plan,
            replacement=self.replacement,
        )


@declares(
    Declaration(
        "dither",
        Does.EXCHANGE,
        "Noise around groups of rows that are alike.",
        page="shape.md",
        claims=("BoundedReidentification",),
        needs=(Need.KEY,),
    )
)
@dataclass(frozen=True)
class ClusterDither(_Cluster):
    """Section 3.2.2: continuous noise around each cluster, transformed back to the law of the original.

    In Python `dither` is any object with `fit`, see `sfumato.anonymization.shape.gaussian`.

    >>> people = sf.samples.members(100).select(["age", "sex", "cost"])
    >>> release = sf.anonymize(people, sf.KAnonymity(5), method=sf.ClusterDither(response="cost"))
    >>> release.guarantee.claims[0].title
    're-identification at most 1/5 for every record'
    """

    dither: Annotated[Dither, nested(GaussianDither, "The noise.")] = field(default_factory=GaussianDither)
    order: Annotated[
        tuple[str, ...] | None,
        declared.names("The order of the columns in the transformation; by default that of the table."),
    ] = None
    bins: Annotated[int, declared.count("Bins that a numeric column without edges gets, at most.", 1)] = 10

    def __post_init__(self) -> None:
        require_numbers(self)
        super().__post_init__()
        if self.bins < 1:
            raise ParameterError("bins must be at least 1.", hint="ClusterDither(bins=10)")
        if self.order is not None:
            object.__setattr__(self, "order", tuple(self.order))

    def _made(self, grouped: Grouped, plan: dict[str, object]) -> Release:
        """Dither, transform to uniform numbers and on to the original's law."""
        order = _permuted(grouped.quasi, self.order)
        variables = [variable(grouped.schema[c], grouped.data.column(c), self.bins) for c in order]
        points = np.stack([_scaled(v.score[v.codes], grouped.weights) for v in variables], axis=1)
        law = self.dither.fit(points, grouped.clusters.label, grouped.weights)
        uniforms = law.uniforms(law.draw(grouped.clusters.label, grouped.draws))
        donor = donors(uniforms, variables, grouped.weights, grouped.draws)
        return grouped.released(
            taken(grouped.data, grouped.quasi, donor),
            _bounded(grouped),
            f"Person-level data in which {', '.join(grouped.quasi)} were drawn anew around groups of rows "
            "that are alike. A row no longer describes one person.",
            **plan,
            dither=repr(self.dither),
            order=order,
            bins=self.bins,
        )


@declares(
    Declaration(
        "centroid",
        Does.EXCHANGE,
        "The middle of groups of rows that are alike.",
        page="shape.md",
        claims=("KAnonymity",),
        needs=(Need.KEY,),
    )
)
@dataclass(frozen=True)
class Centroid(_Cluster):
    """The conventional release: each row shows its cluster's middle.

    Numbers and dates: the mean. Ordered levels: the level nearest to the mean. Others: the most frequent.

    >>> people = sf.samples.members(100).select(["age", "sex", "cost"])
    >>> release = sf.anonymize(people, sf.KAnonymity(5), method=sf.Centroid())
    >>> bool(release.counts("age", "sex").n.min() >= 5)
    True
    """

    def _made(self, grouped: Grouped, plan: dict[str, object]) -> Release:
        """Replace each quasi-identifier by the cluster's middle."""
        middles = {c: _middle(grouped, grouped.schema[c]) for c in grouped.quasi}
        schema = grouped.schema
        for name, array in middles.items():
            if pa.types.is_floating(array.type) and schema[name].type != "real":
                # a mean may fall on the number that stood for a missing cell
                schema = schema.with_(name, type="real", missing_codes=())
        settled = Grouped(**{**vars(grouped), "schema": schema})
        claim: Claim = KAnonymityClaim(grouped.reached, grouped.quasi).assuming(*_tested(grouped))
        if grouped.key.seeded:
            claim = claim.assuming(_SEEDED)
        return settled.released(
            middles,
            Guarantee.of(claim),
            f"Person-level data in which {', '.join(grouped.quasi)} were replaced by the middle of groups "
            "of rows that are alike.",
            **plan,
        )


def _permuted(quasi: tuple[str, ...], order: Sequence[str] | None) -> tuple[str, ...]:
    if order is None:
        return quasi
    if sorted(order) != sorted(quasi):
        raise ParameterError("order must name each quasi-identifier once.", hint="leave it out, or list all")
    return tuple(order)


def _scaled(values: Floats, weights: Floats) -> Floats:
    centred = values - np.average(values, weights=weights)
    spread = np.sqrt(np.average(centred**2, weights=weights))
    out: Floats = centred / (spread if spread > 0 else 1.0)
    return out


def _middle(grouped: Grouped, column: Column) -> pa.Array:
    """The middle of each row's cluster; missing cells count only where nothing else is there."""
    label, weights = grouped.clusters.label, grouped.weights
    array = grouped.data.column(column.name)
    if column.kind in (Kind.NUMERIC, Kind.DATE):
        mean = _means(numbers(column, array), label, weights)
        if column.kind is Kind.NUMERIC:
            return pa.array(mean[label], from_pandas=True)
        stamps = pa.array(
            np.where(np.isnan(mean), 0, mean * 86_400e6).astype(np.int64)[label], mask=np.isnan(mean)[label]
        )
        return stamps.cast(pa.timestamp("us")).cast(canonical_type(column), safe=False)
    book = codebook(column, array)
    codes = book.encode(array.combine_chunks()).astype(np.int64)
    if column.kind is Kind.ORDINAL:
        ranks = np.where(codes == len(book.levels), np.nan, codes)
        mean = _means(ranks, label, weights)
        middle = np.where(np.isnan(mean), len(book.levels), np.rint(np.nan_to_num(mean)))
        return book.decode(middle[label].astype(book.dtype))
    table = np.zeros((len(grouped.clusters.sizes), book.size))
    np.add.at(table, (label, codes), weights)
    return book.decode(table.argmax(axis=1)[label].astype(book.dtype))


def _means(values: Floats, label: NDArray[np.int64], weights: Floats) -> Floats:
    there = ~np.isnan(values)
    scale = unit(values)
    mass = np.bincount(label, weights * there)
    total = np.bincount(label, weights * np.where(there, values / scale, 0.0))
    out: Floats = np.divide(total, mass, out=np.full(len(mass), np.nan), where=mass > 0)
    return out * scale
