"""PMI: multiple imputation whose every law is mixed with the even one (Park and Ghosh 2014, section 3.5).

    sf.PMI(epsilon=20.0).fit(table).sample(1_000)     # for all rows together: alpha follows
    sf.PMI(epsilon_per_row=50.0)                      # for each released row; the total grows with them
    sf.PMI(alpha=0)                                   # no perturbation, and no promise

Each column is drawn in turn from an elastic-net multinomial model given all others, whose probability g
becomes (g + alpha) / (1 + C alpha). It is the paper's baseline and is here to be compared with: at a small
epsilon the rows are nearly even, because its bound ignores how many rows a model was learnt from.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import canonical_type
from sfumato.errors import BudgetError, DataError, ParameterError
from sfumato.methods.declaration import Declaration, Does, Need, Spending, declares
from sfumato.methods.parameters import Parameter, nested
from sfumato.methods.shapes import Number
from sfumato.privacy import Grant, Guarantee, NoGuarantee, PureDP
from sfumato.privacy.rounding import exact, shown
from sfumato.privacy.together import leaving_together
from sfumato.progress import report
from sfumato.release import InternalRecord, Release
from sfumato.schema.domains import READ_OFF, grounds, with_search
from sfumato.seeds import Key
from sfumato.sources import BatchSource
from sfumato.synthesis.checks import whole
from sfumato.synthesis.constraints import Constraint
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.imputation import rules
from sfumato.synthesis.imputation.draws import Floats
from sfumato.synthesis.imputation.engines import ElasticNet, Softmax
from sfumato.synthesis.imputation.promises import key_of
from sfumato.synthesis.joint_columns import joined
from sfumato.synthesis.parameters import (
    COLUMNS,
    CONSTRAINTS,
    DOMAIN,
    EPSILON,
    EPSILON_PER_ROW,
    WEIGHT,
    count,
)
from sfumato.synthesis.perturbation import Visit, cost, least_prior, stated, total_cost
from sfumato.table import Table

_CHUNK = 16_384
_MOST = 1000.0
_TRIES = 2_000
_MOST_STATES = 512  # of columns that are one: a model has a class for each


@declares(
    Declaration(
        "pmi",
        Does.SYNTHESIZE,
        "Perturbed multiple imputation, the baseline of the PeGS paper.",
        page="imputation.md",
        claims=("PureDP", "ApproxDP", "NoGuarantee"),
        needs=(Need.PUBLIC_DOMAIN, Need.KEY),
    )
)
@dataclass(frozen=True, eq=False)
class PMI:
    """Perturbed multiple imputation. One of epsilon, epsilon_per_row and alpha says how much it perturbs.

    >>> people = sf.samples.members(300).select(["sex", "diabetes"])
    >>> fitted = sf.PMI(epsilon_per_row=50.0).fit(people)
    >>> fitted.sample(5).guarantee.claims[0].title
    'differential privacy with epsilon = 250'
    """

    epsilon: Annotated[float | None, EPSILON] = None
    epsilon_per_row: Annotated[float | None, EPSILON_PER_ROW] = None
    alpha: Annotated[float | None, Parameter(Number("The perturbation itself; 0 for none.", 0))] = None
    sweeps: Annotated[
        int, count("How often all columns are drawn; each time costs its part of epsilon.", 1)
    ] = 1
    engine: Annotated[ElasticNet, nested(ElasticNet, "The elastic net that columns are drawn from.")] = field(
        default_factory=ElasticNet
    )
    columns: Annotated[Sequence[str] | None, COLUMNS] = None
    constraints: Annotated[Sequence[Constraint], CONSTRAINTS] = ()
    weight: Annotated[str | None, WEIGHT] = None
    domain: Annotated[str, DOMAIN] = "public"

    def __post_init__(self) -> None:
        faults = []
        amounts = {n: getattr(self, n) for n in ("epsilon", "epsilon_per_row", "alpha")}
        if sum(a is not None for a in amounts.values()) != 1:
            faults.append("give one of epsilon (all rows), epsilon_per_row and alpha")
        for name, amount in amounts.items():
            real = isinstance(amount, (int, float)) and not isinstance(amount, bool) and math.isfinite(amount)
            if amount is None or (real and (0 < amount <= _MOST or (name == "alpha" and amount >= 0))):
                continue
            faults.append(f"{name} must be a number above 0" + f", at most {_MOST:g}" * (name != "alpha"))
        if isinstance(self.sweeps, bool) or not isinstance(self.sweeps, int) or self.sweeps < 1:
            faults.append("sweeps must be a whole number, at least 1")
        if not isinstance(self.engine, ElasticNet):
            faults.append("engine must be an ElasticNet")
        if self.domain not in ("public", "data"):
            faults.append("domain must be public or data")
        faults += rules.faults(self.constraints, self.weight)
        if faults:
            raise ParameterError(f"PMI: {'; '.join(faults)}.", hint="see docs/imputation.md")

    def spends(self, rows: int | None) -> Spending:
        """What so many rows cost, known before the data are looked at unless it follows from alpha."""
        claimed = self.alpha != 0 and self.domain != "data"
        if not claimed or rows is None or self.alpha is not None:
            return Spending(claimed=claimed)
        return Spending(epsilon=self.total(rows), claimed=True)

    def total(self, rows: int) -> float:
        """The epsilon of so many rows that was asked for, in one or the other way."""
        if self.epsilon is not None:
            return float(self.epsilon)
        assert self.epsilon_per_row is not None
        return stated(float(self.epsilon_per_row), rows)

    def fit(self, table: Table) -> FittedPMI:
        """A model of each column given all others. Faults of the schema are said before data are read."""
        domain = (
            Domain.of_data(table, self.columns, self.constraints)
            if self.domain == "data"
            else Domain.of(table.schema, self.columns, self.constraints)
        )
        domain = joined(domain, most=_MOST_STATES, details=False)
        rules.refuse(self.constraints, self.weight, table.schema)
        codes, weights = _read(table, domain, self.weight)
        if not codes.shape[1] and self.alpha == 0:  # with a promise, not even that is told
            raise DataError("the table has no rows that count.", hint="models are learnt from rows")
        models = []
        for i, name in enumerate(domain.names):
            report("learning", i, len(domain.names))
            models.append(_learn(self.engine, domain, codes, domain.place(name), weights))
        return FittedPMI(self, domain, tuple(models))


@dataclass(frozen=True, eq=False)
class Given:
    """One column given all others: log-odds add up.  intercept: (C,), effects: per column (size, C)."""

    intercept: Floats
    effects: tuple[Floats, ...]

    def probabilities(self, codes: NDArray[np.int64]) -> Floats:
        """g: (rows, C).  codes: (columns, rows); the column's own effect is zero."""
        score = np.repeat(self.intercept[None, :], codes.shape[1], axis=0)
        for effect, row in zip(self.effects, codes, strict=True):
            score += effect[row]
        score -= score.max(axis=1, keepdims=True)
        odds = np.exp(score)
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _read(table: Table, domain: Domain, weight: str | None) -> tuple[NDArray[np.int64], Floats | None]:
    """The codes (columns, rows) of rows that keep the constraints and have a weight, and the weights."""
    parts, weights, own_domain = [], [], domain.declared
    for batch in table.batches([*own_domain.names, weight] if weight else own_domain.names):
        codes = np.stack([b.encode(batch.column(i)) for i, b in enumerate(own_domain.books)]).astype(np.int64)
        counts = ~own_domain.violations(codes)
        if weight:
            raw = batch.column(len(codes)).cast(pa.float64(), safe=False).fill_null(0.0)
            own = np.nan_to_num(raw.to_numpy(zero_copy_only=False), posinf=0.0)
            counts &= own > 0
            weights.append(own[counts])
        parts.append(domain.join(codes[:, counts]).astype(np.int64))
    if not parts:
        return np.empty((len(domain.books), 0), np.int64), None
    return np.concatenate(parts, axis=1), rules.effective(np.concatenate(weights)) if weight else None


def _learn(
    engine: ElasticNet, domain: Domain, codes: NDArray[np.int64], target: int, weights: Floats | None
) -> Given:
    sizes = domain.sizes
    if not codes.shape[1]:
        return Given(np.zeros(sizes[target]), tuple(np.zeros((s, sizes[target])) for s in sizes))
    others = [j for j in range(len(sizes)) if j != target]
    flags = [(codes[j][:, None] == np.arange(1, sizes[j])).astype(np.float64) for j in others]
    learnt = engine.learn(
        np.concatenate(flags, axis=1), codes[target].astype(np.float64), sizes[target], weights
    )
    law: Softmax = learnt.law(None)
    effects, start = [np.zeros((s, sizes[target])) for s in sizes], 0
    for j in others:
        effects[j][1:] = law.beta[start : start + sizes[j] - 1]
        start += sizes[j] - 1
    return Given(law.intercept, tuple(effects))


def weights(g: Floats, unit: int, a: int, possible: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
    """Whole numbers in proportion to g + alpha, alpha = a / unit; each row sums to unit + C a.  g: (rows, C).

    possible: (rows, C), at least one in each row. The law is then g given that one of these comes, plus alpha
    for each of them, and C is their number; others have weight 0.

    Guarantee: any two models' probabilities of a category differ by a factor of at most 1 + unit / a.
    Because:   the g part of a weight is from 0 to unit and sums to unit whatever the model says, so that
               the sum of the weights is the same under both, and one weight is from a to unit + a. What is
               possible depends on the constraints and on the row so far, not on the model.
    Assumes:   the number of categories and the constraints do not depend on the data.
    Tested by: tests/synthesis/test_pmi.py::test_the_bound_holds_for_any_two_models_and_is_reached
    """
    share = np.clip(np.nan_to_num(g), 0, 1)
    if possible is not None:
        share = np.where(possible, share, 0)
        whole_ = share.sum(axis=1, keepdims=True)
        share = np.where(whole_ > 0, share / np.where(whole_ > 0, whole_, 1), 0)
    parts = np.floor(share * unit).astype(np.int64)
    largest = (parts if possible is None else np.where(possible, parts, -1)).argmax(axis=1)
    parts[np.arange(len(parts)), largest] += unit - parts.sum(axis=1)
    return parts + a if possible is None else np.where(possible, parts + a, 0)


@dataclass(frozen=True, eq=False)
class FittedPMI:
    """Models to sample from: confidential. Each release with another key costs its epsilon again."""

    method: PMI
    domain: Domain
    models: tuple[Given, ...] = field(repr=False)

    # -- what it costs ---------------------------------------------------------------------------

    @property
    def visits(self) -> int:
        """How many draws a released row takes."""
        return self.method.sweeps * len(self.models)

    def priors(self, rows: int) -> tuple[int, int]:
        """(unit, a) of the weights; alpha is a / unit. a = 0 for no perturbation."""
        visit = Visit(1, 1, 2)
        if self.method.alpha is not None:
            return visit.unit, math.ceil(exact(self.method.alpha) * visit.unit)
        whole_, each = self.method.epsilon, self.method.epsilon_per_row
        epsilon = exact(each) if whole_ is None else exact(whole_) / rows
        return least_prior(visit, epsilon / self.visits, both=False)

    def alpha(self, rows: int = 1) -> float:
        """What the paper calls alpha."""
        unit, a = self.priors(whole("rows", rows))
        return a / unit

    def spends(self, rows: int) -> float | None:
        """The epsilon of so many rows; None where there is none."""
        method = self.method
        if method.alpha == 0:
            return None
        if method.alpha is None:
            return method.total(rows)
        unit, a = self.priors(rows)
        return total_cost([cost(Visit(1, 1, 2), unit, a, both=False)], rows * self.visits)

    def guarantee(self, rows: int) -> Guarantee:
        """The promise of so many rows, and every part that it does not cover."""
        spent = self.spends(rows)
        if spent is None:
            return Guarantee.of(NoGuarantee("no noise", "With alpha = 0 the laws are those of the models."))
        if not self.domain.public:
            detail = (
                f"{READ_OFF} Without this part the rows would satisfy epsilon = "
                f"{shown(spent)} in all; with it nothing is known."
            )
            return Guarantee.of(NoGuarantee("domain from the data", detail))
        own = PureDP(spent).assuming(
            f"The total is for {rows:,} released rows, each of {self.visits} draws; it grows with every row",
            "The bound takes nothing about the models for granted: it would hold between any two data "
            "sets, not only between neighbours, which is far more than was asked for and is paid for in "
            "accuracy",
            "Further rows, drawn from the same data under another key, add to the total",
            "The number of released rows was chosen without looking at the data",
            *grounds(self.domain.columns),
            *["The combinations that cannot be were declared without looking at the data"]
            * bool(self.domain.constraints),
        )
        return Guarantee.of(with_search(own, self.domain.search_cost()))

    # -- rows ------------------------------------------------------------------------------------

    def sample(
        self, rows: int, *, key: Key | None = None, seed: int | None = None, grant: Grant | None = None
    ) -> Release:
        """So many rows, drawn when they are read or saved; row r depends on the key and on r alone.

        seed: for tests and teaching; then nothing is promised. grant: for at least the total; used up first.
        """
        rows, key = whole("rows", rows), key_of(key, seed)
        spent = self.spends(rows)
        if grant is not None:
            if spent is None or grant.epsilon is None or grant.epsilon < spent:
                raise BudgetError(
                    "the grant does not cover these rows.", hint="fitted.spends(rows) says how much"
                )
            grant.burn()
        promised = self.guarantee(rows)
        if grant is not None:
            promised = promised.accounted(grant.account)
        asked = {
            n: getattr(self.method, n)
            for n in ("epsilon", "epsilon_per_row", "alpha", "sweeps", "weight", "domain")
        }
        asked["constraints"] = [repr(c) for c in self.method.constraints]
        plan: dict[str, Any] = {"method": "pmi", "rows": rows, "engine": repr(self.method.engine),
                                "columns": list(self.domain.declared.names), **asked}  # fmt: skip
        return Release(
            self._table(rows, key),
            promised.seeded() if key.seeded else promised,
            InternalRecord(key=key, seed=seed, plan=plan, extra={"alpha": self.alpha(rows)}),
            "Synthetic rows, drawn by PMI (perturbed multiple imputation) from models of person-level "
            "data. No row is that of a person; what was learnt from persons is bounded by what is "
            "promised below, and by nothing else.",
        )

    def samples(
        self, k: int, rows: int, *, key: Key | None = None, seed: int | None = None
    ) -> tuple[Release, ...]:
        """k data sets. They leave together: each guarantee says what its own costs, and all k of them."""
        k, rows, key = whole("k", k), whole("rows", rows), key_of(key, seed)
        made = [self.sample(rows, key=key.derive("set", i)) for i in range(k)]
        promised = leaving_together([r.guarantee for r in made])
        return tuple(replace(r, guarantee=g) for r, g in zip(made, promised, strict=True))

    def codes(self, rows: int, key: Key, first: int = 0, of: int | None = None) -> NDArray[np.int64]:
        """Rows first, first + 1, ... of a release of `of` rows: (columns, rows)."""
        unit, a = self.priors(of or rows)
        stream = key.derive("pmi", self._digest(unit, a))
        x = self._seeds(stream, rows, first)
        for sweep in range(self.method.sweeps):
            for i, (name, model) in enumerate(zip(self.domain.names, self.models, strict=True)):
                possible = self.domain.possible(i, x)
                upto = np.cumsum(weights(model.probabilities(x), unit, a, possible), axis=1)
                draw, total = stream.derive("draw", name), unit + self.domain.sizes[i] * a
                u = draw.integers(sweep, first, rows, total)
                for bound in np.unique(upto[:, -1]):  # one for each number of categories that are possible
                    if bound < total:
                        here = upto[:, -1] == bound
                        u[here] = draw.derive(int(bound)).integers(sweep, first, rows, int(bound))[here]
                x[i] = (upto <= u.astype(np.int64)[:, None]).sum(axis=1)
        return x

    def _seeds(self, stream: Key, rows: int, first: int) -> NDArray[np.int64]:
        """Even among the combinations that can be: the law of a seed knows nothing of the data."""
        names, sizes = self.domain.names, self.domain.sizes

        def drawn(number: int) -> NDArray[np.int64]:
            columns = [
                stream.derive("seed", n).integers(number, first, rows, size)
                for n, size in zip(names, sizes, strict=True)
            ]
            return np.stack(columns).astype(np.int64)

        x = drawn(0)
        for number in range(1, _TRIES):
            broken = self.domain.violations(x)
            if not broken.any():
                return x
            x[:, broken] = drawn(number)[:, broken]
        raise ParameterError(
            "the constraints leave so few combinations that no seed was found.", hint="fewer constraints"
        )

    def _digest(self, unit: int, a: int) -> str:
        """Of all that is drawn from: the same words under two laws would tell where they differ."""
        found = hashlib.blake2b(repr((unit, a, self.method.sweeps, self.domain.sizes)).encode())
        if self.domain.constraints:
            found.update(repr(self.domain.constraints).encode())
        for model in self.models:
            for array in (model.intercept, *model.effects):
                found.update(np.ascontiguousarray(array).data)
        return found.hexdigest()

    def _table(self, rows: int, key: Key) -> Table:
        arrow = pa.schema([pa.field(b.name, canonical_type(b.column)) for b in self.domain.released])

        def open_(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
            for start in range(0, rows, _CHUNK):
                here = min(_CHUNK, rows - start)
                codes = self.codes(here, key, start, rows)
                yield self.domain.decode(codes, key, start).select(list(names))
                report("synthesizing", start + here, rows)

        return Table(BatchSource(arrow, open_, rows=rows), self.domain.schema)
