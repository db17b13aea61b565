"""LinkedSynthesizer: patients, their stays, the codes of each stay, drawn from counts.

model = sf.LinkedSynthesizer().fit(database)
model.sample().save("release")          # as many persons as the data have
model.sample(1_000_000)                 # drawn when it is read

With an epsilon, what is counted is counted with noise: `noisy_rows` says what is promised, and why it holds.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated

from sfumato.database import Database, confirmed
from sfumato.errors import DataError, ParameterError, SfumatoWarning, listed, offered
from sfumato.io.spark import is_spark
from sfumato.methods.declaration import NOTHING, Declaration, Does, Spending, declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.settings import require_numbers
from sfumato.methods.shapes import ListOf, Number, TableOf, Text
from sfumato.privacy import Budget, Guarantee, Ledger, Neighbours, NoGuarantee, Unit
from sfumato.privacy.debits import require_same
from sfumato.privacy.differential import zcdp_budget
from sfumato.privacy.ledger import Payer
from sfumato.schema.domains import with_search
from sfumato.seeds import Key
from sfumato.synthesis.people.bounds import PersonBounds
from sfumato.synthesis.people.estimation import Estimation, ExactCounting
from sfumato.synthesis.people.model import LinkedModel
from sfumato.synthesis.people.noisy_rows import NoisyCounting
from sfumato.synthesis.people.person_chunks import PersonChunks, Persons
from sfumato.synthesis.people.promise import assumptions, require_public, search_costs
from sfumato.synthesis.people.structure import TableTree, hung_on_persons, unnamed
from sfumato.synthesis.people.tallies import Outline, OutlineQuestion

_MOST = 1_000  # children of one row that are drawn one after the other
_SMALLEST, _LARGEST = 0.001, 100.0
_PURPOSE = "linked synthesis"
_FEW = 20  # persons: two classes of ten
_EPOCH = date(1970, 1, 1)
_DETAIL = (
    "The counts that persons are drawn from were taken from the data without noise. Nothing bounds what they "
    "tell about a person: how much that is must be measured."
)
_ONE_DATABASE = "linked tables are synthesized by [synthesis] in a plan with [database]"


@declares(
    Declaration(
        "linked",
        Does.PEOPLE,
        "Persons with the rows of all linked tables, by counts: children given parent and predecessor.",
        page="linked-synthesis.md",
        own_rows=True,
        claims=("NoGuarantee", "PureDP", "ApproxDP"),
        closed={"plan": _ONE_DATABASE, "map": "the map tries methods on one table"},
    )
)
@dataclass(frozen=True)
class LinkedSynthesizer:
    """Synthetic persons with all their records: how many, in which order, when, and with which codes.

    Each table is learnt by counts of its rows with the rows above and before them. Keys never dangle, nobody
    has records before birth or after death, and no further date of a row lies before its first. With an
    epsilon the promise is to persons, with all their rows in all tables: every domain, the most rows of a
    parent and the period must then be public.

    >>> release = sf.LinkedSynthesizer().fit(sf.samples.hospital(60)).sample(30)
    >>> release.data["patients"].rows()
    30
    >>> release.guarantee.claims[0].title
    'no guarantee (counts without noise)'
    """

    epsilon: Annotated[
        float | None,
        Parameter(
            Number(
                "What the whole fit costs; any number of persons follows from it. Without one nothing is "
                "promised.",
                _SMALLEST,
                _LARGEST,
            ),
            unit="epsilon",
            beginner=True,
        ),
    ] = None
    delta: Annotated[
        float, Parameter(Number("Of the promise. 0 is pure epsilon: stronger, and much noisier.", 0, 0.001))
    ] = 1e-9
    max_children: Annotated[
        Mapping[str, int],
        Parameter(
            TableOf(
                Number("", 1, _MOST, whole=True),
                "By table, the most rows of one parent that count, the first in time; by default 1,000. "
                "With an epsilon a public number for each table.",
            ),
            beginner=True,
        ),
    ] = field(default_factory=dict)
    period: Annotated[
        tuple[str, str] | None,
        Parameter(
            ListOf(
                Text(),
                "First and last day of the study; by default the first and last in the data. With an epsilon "
                "they must be given.",
                2,
            )
        ),
    ] = None
    declared_persons: Annotated[
        int | None,
        Parameter(
            Number(
                "The number of persons of the data, if it is public already; otherwise noised.",
                1,
                10**10,
                whole=True,
            )
        ),
    ] = None

    def __post_init__(self) -> None:
        require_numbers(self)
        faults = []
        if self.epsilon is not None and not _SMALLEST <= self.epsilon <= _LARGEST:
            faults.append(f"epsilon is a number from {_SMALLEST} to {_LARGEST:g}")
        if not (self.delta == 0 or 1e-30 <= self.delta <= 0.001):
            faults.append("delta is 0, or from 1e-30 to 0.001: well below one over the number of persons")
        if self.declared_persons is not None and not 1 <= self.declared_persons <= 10**10:
            faults.append("declared_persons is a whole number, at least 1")
        bounds = self.max_children
        if not isinstance(bounds, Mapping) or not all(_is_bound(b) for b in bounds.values()):
            faults.append(f"max_children is a whole number from 1 to {_MOST:,} for each table it names")
        else:
            object.__setattr__(self, "max_children", dict(bounds))
        if self.period is not None:
            days = _days(self.period)
            if days is None or days[0] > days[1]:
                faults.append("period is two days, the first not after the last (2008-01-01)")
            else:
                object.__setattr__(self, "period", tuple(str(d) for d in self.period))
        if faults:
            raise ParameterError(f"{'; '.join(faults)}.", hint="see docs/linked-synthesis.md")

    def spends(self, rows: int | None) -> Spending:
        """What the fit costs, however many persons are drawn."""
        if self.epsilon is None:
            return NOTHING
        if self.delta == 0:
            return Spending(epsilon=float(self.epsilon), claimed=True)
        return Spending(rho=zcdp_budget(self.epsilon, self.delta), claimed=True)

    def budget(self, database: Database) -> Budget:
        """What a ledger must have left for this fit, and for whom."""
        structure = TableTree.of(database)
        return self._budget(PersonBounds(structure, self._bounds(structure)))

    def _budget(self, bounds: PersonBounds) -> Budget:
        return Budget(
            **self.spends(None).amounts(), unit=Unit.person(bounds.all_rows), neighbours=Neighbours.ADD_REMOVE
        )

    def require(self, database: Database) -> TableTree:
        """That tables can be learnt, and that what an epsilon needs is public."""
        if not isinstance(database, Database):
            raise ParameterError("linked tables are a database.", hint="sf.scan_database(folder)")
        database = confirmed(database, stacklevel=4)
        if self.epsilon is None:  # with one, nothing of the data decides which table hangs on which
            database, loose = hung_on_persons(database)
            if loose:
                words = "often empty, so these rows hang on their persons and the columns are left out"
                warnings.warn(f"{words}: {listed(list(loose), 12)}.", SfumatoWarning, stacklevel=3)
        structure = TableTree.of(database)
        self._bounds(structure)
        if self.epsilon is not None:
            require_public(structure, self.max_children, self.period)
        elif self.declared_persons is not None:
            raise ParameterError(
                "declared_persons is for an epsilon: without one persons are counted.", hint="leave it out"
            )
        return structure

    def fit(self, database: Database, *, ledger: Payer | None = None) -> LinkedModel:
        """Count all tables once, and learn what has the counts.

        ledger: debited with the whole epsilon before the first draw, and refused if it does not cover it.
        """
        structure = self.require(database)
        if self.epsilon is not None:
            return self._private(structure, ledger)
        if ledger is not None:
            raise ParameterError("without an epsilon there is nothing to debit.", hint="give epsilon=")
        persons = persons_of(structure, self._bounds(structure))
        outline = persons.count(_outline(structure, persons, self._bounds(structure)))
        if not outline.tables[structure.root.name].rows:
            raise DataError("the data have no persons.", hint="there is nothing to learn from")
        _, outline = outline.within(structure)
        period = _days(self.period) if self.period is not None else _found_period(outline)
        assert period is not None
        work = Estimation(structure, persons, outline, period, ExactCounting(), Key.from_seed(0))
        generator, size = work.generator()
        notes = tuple(self._notes(structure, outline))
        for note in notes:
            warnings.warn(note, SfumatoWarning, stacklevel=2)
        return LinkedModel(generator, _nothing_promised(structure.database), round(size), self._plan(), notes)

    def _private(self, structure: TableTree, ledger: Payer | None) -> LinkedModel:
        """Read, pay, and then count: nothing that is left out or found missing is said of the data."""
        bounds = PersonBounds(structure, self._bounds(structure))
        wanted = self._budget(bounds)
        payer: Payer = Ledger.in_memory(wanted) if ledger is None else ledger
        require_same(payer, wanted)
        cost = search_costs(structure, bounds)
        period = _days(self.period) if self.period is not None else (0, 0)
        assert period is not None
        persons = persons_of(structure, bounds.children)
        outline = persons.count(_outline(structure, persons, bounds.children))
        grant = payer.grant(**{wanted.kind: wanted.amount}, purpose=_PURPOSE)
        said = assumptions(structure, bounds, self.period, self.declared_persons)
        own = grant.claim(*said, delta=self.delta or None)
        guarantee = Guarantee.of(with_search(own, cost), grant.account)
        counting = NoisyCounting(grant, structure, persons.axes, bounds, self.declared_persons)
        work = Estimation(structure, persons, outline, period, counting, Key.from_seed(0))
        generator, size = work.generator()
        notes = (unnamed(structure.left_out),) if structure.left_out else ()
        for note in notes:
            warnings.warn(note, SfumatoWarning, stacklevel=3)
        return LinkedModel(generator, guarantee, max(round(size), 1), self._plan(), notes)

    def _plan(self) -> dict[str, object]:
        amounts = {} if self.epsilon is None else {
            "epsilon": self.epsilon, "delta": self.delta, "declared_persons": self.declared_persons,
        }  # fmt: skip
        return {"method": "linked", "max_children": dict(self.max_children), "period": self.period, **amounts}

    def _bounds(self, structure: TableTree) -> dict[str, int]:
        below = [b.name for b in structure.branches[1:]]
        unknown = [n for n in self.max_children if n not in below]
        if unknown:
            raise ParameterError(
                f"max_children names {listed([repr(n) for n in unknown])}, below which nothing hangs.",
                hint=offered(unknown, below),
            )
        return {n: self.max_children.get(n, _MOST) for n in below}

    def _notes(self, structure: TableTree, outline: Outline) -> list[str]:
        notes = [unnamed(structure.left_out)] if structure.left_out else []
        tables = outline.tables
        cut = [f"{n} ({r.cut:,})" for n, r in tables.items() if r.cut]
        if cut:
            notes.append(f"rows beyond the most of one parent were left out: {listed(cut)}")
        lost = {n for n, r in tables.items() if r.cut or r.alone}  # rows below lost ones go without a word
        alone = [
            f"{n} ({r.alone:,})" for n, r in tables.items() if r.alone and structure[n].parent not in lost
        ]
        if alone:
            notes.append(f"rows that point to no row of the table above were left out: {listed(alone)}")
        persons = tables[structure.root.name].rows
        if persons < _FEW:
            notes.append(
                f"the data have {persons} person{'s' * (persons > 1)}: of so few, drawn ones repeat much of "
                "what is theirs, or all of it"
            )
        return notes


def persons_of(structure: TableTree, bounds: Mapping[str, int]) -> Persons:
    """The persons of a database, where their rows are."""
    database = structure.database
    if all(is_spark(database[b.name].source) for b in structure.branches):
        from sfumato.synthesis.people.executor_persons import ExecutorPersons

        return ExecutorPersons(structure, bounds)
    return PersonChunks(structure, bounds)


def _outline(structure: TableTree, persons: Persons, bounds: Mapping[str, int]) -> OutlineQuestion:
    return OutlineQuestion(structure.without_rows(), persons.axes, bounds)


def _is_bound(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST


def _days(period: object) -> tuple[int, int] | None:
    """Two days as numbers; None where they are not."""
    if not isinstance(period, tuple | list) or len(period) != 2:
        return None
    try:
        first, last = (d if isinstance(d, date) else date.fromisoformat(str(d)) for d in period)
    except ValueError:
        return None
    return (first - _EPOCH).days, (last - _EPOCH).days


def _found_period(outline: Outline) -> tuple[int, int]:
    days = [t.days for t in outline.tables.values() if t.days is not None]
    return (min(d[0] for d in days), max(d[1] for d in days)) if days else (0, 0)


def _nothing_promised(database: Database) -> Guarantee:
    keys = [f"{n}.{c}" for n in database.tables if n not in database.apart for c in database.key_columns[n]]
    return Guarantee.of(NoGuarantee("counts without noise", _DETAIL, columns=tuple(keys)))
