"""PrivateSynthesizer: noise once, a promise about the whole data set, and rows without end.

    model = sf.PrivateSynthesizer(epsilon=1.0, delta=1e-9, target="readmitted").fit(table)
    model.sample().save("release")          # as many rows as the noised number of them
    model.sample(1_000_000)                 # free: nothing is asked of the data again

What is asked of the data, and why its answers are private: purse.py. What becomes of the answers:
tables.py, potentials.py, calibration.py, all of them post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import pyarrow as pa

from sfumato.errors import ParameterError, listed
from sfumato.methods.declaration import Declaration, Does, Need, Spending, declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.shapes import ListOf, Number, Text
from sfumato.privacy import Guarantee
from sfumato.privacy.base import ROW, Neighbours, Unit
from sfumato.privacy.debits import require_same
from sfumato.privacy.differential import zcdp_budget
from sfumato.privacy.grants import Budget, Grant
from sfumato.privacy.ledger import Ledger, Payer
from sfumato.schema import Role, Schema
from sfumato.schema.domains import grounds, with_search
from sfumato.synthesis.constraints import Constraint
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.parameters import COLUMNS, CONSTRAINTS, WEIGHT
from sfumato.synthesis.private import measurement
from sfumato.synthesis.private.exact_counts import count
from sfumato.synthesis.private.graph import Pair
from sfumato.synthesis.private.measurement import measure
from sfumato.synthesis.private.model import PrivateModel, kind_of
from sfumato.synthesis.private.potentials import learn
from sfumato.synthesis.private.purse import Purse
from sfumato.synthesis.private.variables import DomainVariables
from sfumato.synthesis.private.workload import Entry, expected_before, items, weights, written
from sfumato.table import Table

_SMALLEST, _LARGEST = 0.001, 100.0
_PURPOSE = "private synthesizer"
_NUMBERS = ("fine", "bins")


@declares(
    Declaration(
        "private",
        Does.SYNTHESIZE,
        "Noise once, one promise for the whole data set, rows without end.",
        page="private.md",
        own_rows=True,
        claims=("PureDP", "ApproxDP", "ZCDP"),
        needs=(Need.PUBLIC_DOMAIN,),
        first=True,
        grid=({"epsilon": 0.5}, {"epsilon": 2.0}),
    )
)
@dataclass(frozen=True)
class PrivateSynthesizer:
    """A synthesizer with one promise for the whole data set, however many rows are drawn from it.

    Where a column has the role person, at most max_rows_per_person rows of each are used, taken at random,
    and the promise is to persons. Without such a column 1 is a promise to rows, and more than 1 one to
    persons on the assumption that nobody has more. Rows that break a constraint do not count, and none is
    ever drawn. Of weights, the last declared edge is the largest that counts, and what the noise is scaled
    to: one that is far above most weights wastes the budget.

    >>> people = sf.samples.members(300).select(["sex", "region", "diabetes"])
    >>> model = sf.PrivateSynthesizer(epsilon=2.0, delta=1e-9, declared_rows=300).fit(people)
    >>> model.sample(50).data.rows()
    50
    >>> model.guarantee.claims[0].title
    'differential privacy with epsilon = 2, delta = 1e-9'
    """

    epsilon: Annotated[
        float,
        Parameter(
            Number("What the whole fit costs; any number of rows follows from it.", _SMALLEST, _LARGEST),
            unit="epsilon",
            beginner=True,
        ),
    ] = 1.0
    delta: Annotated[
        float, Parameter(Number("Of the promise. 0 is pure epsilon: stronger, and much noisier.", 0, 0.001))
    ] = 1e-9
    target: Annotated[
        str | None,
        Parameter(
            Text("A column that matters most, such as the outcome: its pairs count three times."),
            beginner=True,
            columns=True,
        ),
    ] = None
    max_rows_per_person: Annotated[
        int,
        Parameter(
            Number(
                "A public number: rows of a person that count; the promise is to persons.",
                1,
                1000,
                whole=True,
            )
        ),
    ] = 1
    declared_rows: Annotated[
        int | None,
        Parameter(
            Number(
                "The number of rows of the data, if it is public already; otherwise noised.",
                1,
                10**10,
                whole=True,
            )
        ),
    ] = None
    columns: Annotated[tuple[str, ...] | None, COLUMNS] = None
    constraints: Annotated[tuple[Constraint, ...], CONSTRAINTS] = ()
    weight: Annotated[str | None, WEIGHT] = None
    numbers: Annotated[
        str,
        Parameter(
            Text(
                "'fine': how numbers and days lie within bins is measured, too; 'bins': drawn evenly.",
                _NUMBERS,
            )
        ),
    ] = "fine"

    workload: Annotated[
        tuple[Entry, ...] | None,
        Parameter(
            ListOf(
                Text(),
                "What the rows are for: tables of two or three columns ('age, sex') and models "
                "('sick ~ age + sex', 'sick ~ .'); their pairs count ten times.",
                least=1,
                whole_items=True,
            ),
            write=written,
        ),
    ] = None

    def __post_init__(self) -> None:
        for name in ("columns", "constraints", "workload"):
            value = getattr(self, name)
            if isinstance(value, Sequence) and not isinstance(value, str):
                object.__setattr__(self, name, tuple(value))
        faults = self._faults()
        if faults:
            raise ParameterError(f"{'; '.join(faults)}.", hint="epsilon 1.0 and delta 1e-9 are usual")

    def _faults(self) -> list[str]:
        faults = []
        if not _number(self.epsilon) or not _SMALLEST <= self.epsilon <= _LARGEST:
            faults.append(
                f"epsilon is a number from {_SMALLEST} to {_LARGEST:g}: less tells nothing, more all"
            )
        if not _number(self.delta) or not (self.delta == 0 or 1e-30 <= self.delta <= 0.001):
            faults.append("delta is 0, or from 1e-30 to 0.001: well below one over the number of rows")
        if not _whole(self.max_rows_per_person) or not 1 <= self.max_rows_per_person <= 1000:
            faults.append("max_rows_per_person is a whole number from 1 to 1000")
        rows = self.declared_rows
        if rows is not None and (not _whole(rows) or not 1 <= rows <= 10**10):
            faults.append("declared_rows is a whole number, at least 1")
        if self.target is not None and not isinstance(self.target, str):
            faults.append("target is the name of a column")
        if self.weight is not None and not isinstance(self.weight, str):
            faults.append("weight is the name of a column")
        if self.numbers not in _NUMBERS:
            faults.append("numbers is 'fine' or 'bins'")
        if self.weight is not None and rows is not None:
            faults.append("a number of rows is not the sum of their weights: give declared_rows or weight")
        if self.columns is not None and not (
            isinstance(self.columns, tuple) and all(isinstance(c, str) for c in self.columns)
        ):
            faults.append("columns are names of columns")
        faults += self._workload_faults()
        if not isinstance(self.constraints, tuple) or not all(
            isinstance(c, Constraint) for c in self.constraints
        ):
            faults.append("constraints are Never, Implies, Ordered or Within")
        return faults

    def _workload_faults(self) -> list[str]:
        entries = () if self.workload is None else self.workload
        if not isinstance(entries, tuple) or not all(
            isinstance(e, str) or (isinstance(e, tuple | list) and all(isinstance(n, str) for n in e))
            for e in entries
        ):
            return [
                "workload is a list of names of columns together, or of texts: 'age, sex', 'sick ~ age + sex'"
            ]
        return sorted({fault for item in items(entries) if (fault := item.fault) is not None})

    def spends(self, rows: int | None) -> Spending:
        """What the fit costs, however many rows are drawn."""
        if self.pure:
            return Spending(epsilon=float(self.epsilon), claimed=True)
        return Spending(rho=self.rho, claimed=True)

    @property
    def pure(self) -> bool:
        """Whether the promise has no delta."""
        return self.delta == 0

    @property
    def rho(self) -> float | None:
        """The zCDP budget that gives (epsilon, delta); None with pure epsilon."""
        return None if self.pure else zcdp_budget(self.epsilon, self.delta)

    def unit(self, schema: Schema) -> Unit:
        """Whom the promise is to."""
        persons = bool(schema.of_role(Role.PERSON))
        return Unit.person(self.max_rows_per_person) if persons or self.max_rows_per_person > 1 else ROW

    def budget(self, schema: Schema) -> Budget:
        """What a ledger must have left for this fit."""
        shared = {"unit": self.unit(schema), "neighbours": Neighbours.ADD_REMOVE}
        if self.pure:
            return Budget(epsilon=self.epsilon, **shared)  # type: ignore[arg-type]
        return Budget(rho=self.rho, **shared)  # type: ignore[arg-type]

    def fit(self, table: Table, *, ledger: Payer | None = None) -> PrivateModel:
        """Read the data once, measure it with noise, and learn a model of what was measured.

        ledger: debited with the whole budget before the first draw, and refused if it does not
            cover it.
        """
        domain, variables = self._domain(table.schema)
        matters = self._matters(domain, variables)
        wanted = self.budget(table.schema)
        if ledger is not None:
            require_same(ledger, wanted)
        cost = domain.search_cost(wanted.neighbours, wanted.unit)
        counted = count(table, domain, variables, self.max_rows_per_person)
        grant = _debit(ledger if ledger is not None else Ledger.in_memory(wanted), wanted)
        said = self._assumptions(table.schema, domain)
        own = grant.claim(*said, delta=None if self.pure else self.delta)
        guarantee = Guarantee.of(with_search(own, cost), grant.account)
        purse = Purse(grant, self.max_rows_per_person, counted.unit)
        measured = measure(counted, purse, variables, rows=self.declared_rows, matters=matters)
        kind = kind_of(table.source, domain)
        plan = self._plan(largest_weight(domain))
        potentials = learn(measured.wanted(), again=measured.again)
        return PrivateModel(domain, guarantee, measured, potentials, plan, kind)

    def expected_errors(self, schema: Schema, rows: int) -> pa.Table:
        """What noise may move in tables of the workload (or in all pairs), before anything is spent.

        rows: about how many there are, publicly. From public numbers alone: the share of rows that noise
        would move in each pair of columns, if every pair were measured. `PrivateModel.expected_errors` says
        afterwards what is expected.
        """
        domain, variables = self._domain(schema)
        left = 1 - measurement.SHARES[self.pure]
        amount = left * (self.epsilon if self.pure else float(self.rho or 0))
        return expected_before(
            self.workload, domain, variables, self._matters(domain, variables), amount, rows,
            self.max_rows_per_person, self.pure,
        )  # fmt: skip

    def _domain(self, schema: Schema) -> tuple[Domain, DomainVariables]:
        fine = self.numbers == "fine"
        domain = Domain.of(schema, self.columns, self.constraints, weight=self.weight, ranges=fine)
        domain = domain.with_differences() if fine else domain
        return domain, DomainVariables.of(domain, fine=fine)

    def _matters(self, domain: Domain, variables: DomainVariables) -> dict[Pair, float]:
        """By how much more than others pairs of variables count."""
        names = [b.name for b in domain.released]
        if self.target is not None and self.target not in names:
            raise ParameterError(
                f"target '{self.target}' is not among the columns.",
                hint=f"there are {listed([repr(n) for n in names])}",
            )
        found = weights(self.workload, domain, variables)
        if self.target is not None:
            target = variables.place(names.index(self.target))
            for other in range(len(variables.every)):
                pair = min(target, other), max(target, other)
                found[pair] = max(measurement.TARGET_WEIGHT, found.get(pair, 0.0))
        return found

    def _assumptions(self, schema: Schema, domain: Domain) -> list[str]:
        said = [*grounds(domain.columns), "Every row lies within the levels and bins of all columns"]
        if self.constraints:
            said.append("The declared constraints are public and do not come from the data")
        if self.weight is not None:
            said.append(
                "The largest weight that counts is public; rows count by weight, rounded to 1/1024 of it "
                "and at most by that"
            )
        if self.declared_rows is not None:
            said.append("The declared number of rows is public")
        if self.unit(schema).of == "person" and not schema.of_role(Role.PERSON):
            said.append(f"No person has more than {self.max_rows_per_person} rows in the data")
        return said

    def _plan(self, largest: float | None) -> dict[str, object]:
        return {
            "method": "PrivateSynthesizer",
            "epsilon": self.epsilon,
            "delta": self.delta,
            "target": self.target,
            "max_rows_per_person": self.max_rows_per_person,
            "declared_rows": self.declared_rows,
            "numbers": self.numbers,
            **({} if self.workload is None else {"workload": written(self.workload)}),
            **({} if self.weight is None else {"weight": self.weight, "largest_weight": largest}),
        }


def largest_weight(domain: Domain) -> float | None:
    """W, if rows count by weight."""
    edges = None if domain.weight is None else domain.weight.edges
    return None if edges is None else float(edges[-1])  # type: ignore[arg-type]


def _debit(ledger: Payer, wanted: Budget) -> Grant:
    if wanted.kind == "epsilon":
        return ledger.grant(epsilon=wanted.amount, purpose=_PURPOSE)
    return ledger.grant(rho=wanted.amount, purpose=_PURPOSE)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
