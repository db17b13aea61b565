"""Linked synthesis with an epsilon: what it refuses, promises and keeps; odd data; falling errors; an audit.

The proof that nothing gets past the noise is in test_linked_tape.py and test_linked_bounds.py.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from lives import BOUNDS, DAY, SAID, lives, private, public
from tapes import taped

import sfumato as sf
from sfumato.assessment.audit import Audit, audit
from sfumato.assessment.database_measures import utilities
from sfumato.errors import BudgetError, ParameterError, SchemaError
from sfumato.privacy import Accounted, ApproxDP, Budget, Ledger, PureDP, Unit
from sfumato.schema import Role
from sfumato.synthesis.people import estimation
from sfumato.synthesis.people.bounds import PersonBounds
from sfumato.synthesis.people.estimation import Estimation, ExactCounting
from sfumato.synthesis.people.noisy_rows import NoisyCounting
from sfumato.synthesis.people.person_chunks import PersonChunks
from sfumato.synthesis.people.structure import TableTree
from sfumato.synthesis.people.tallies import OutlineQuestion
from sfumato.synthesis.private import purse

DAYS = ((DAY - date(1970, 1, 1)).days, (date(2021, 12, 31) - date(1970, 1, 1)).days)
PERSON = Unit.person(10)  # three visits with two tests each, and themselves


@pytest.fixture(scope="module")
def people() -> sf.Database:
    return public(lives(300))


# -- before anything is spent ----------------------------------------------------------------------------


def test_what_is_not_public_is_named_all_at_once_and_nothing_is_spent(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "a.ledger", Budget(epsilon=5.0, unit=PERSON))
    with pytest.raises(SchemaError) as refused:
        sf.LinkedSynthesizer(1.0, delta=0.0).fit(lives(40), ledger=ledger)
    for word in ("'birth_date'", "'ward'", "'test'", "max_children", "visits, tests", "period"):
        assert word in refused.value.message, word
    assert "'from_date'" not in refused.value.message  # days between rows have bins of their own
    assert ledger.spent == 0


def test_a_value_outside_its_domain_is_refused_before_the_debit(people: sf.Database, tmp_path: Path) -> None:
    wards = people["visits"].schema.with_("ward", levels=("a", "b"))
    data = people.with_tables({**people.tables, "visits": people["visits"].with_schema(wards)})
    ledger = Ledger.open(tmp_path / "a.ledger", Budget(epsilon=5.0, unit=PERSON))
    with pytest.raises(sf.SfumatoError, match="ward"):
        private(1.0, delta=0.0).fit(data, ledger=ledger)
    assert ledger.spent == 0


def test_a_ledger_for_other_units_or_with_too_little_is_refused(people: sf.Database) -> None:
    with pytest.raises(BudgetError, match="one person \\(with at most 10 rows\\)"):
        private(1.0, delta=0.0).fit(people, ledger=Ledger.in_memory(Budget(epsilon=5.0)))
    poor = Ledger.in_memory(Budget(epsilon=0.5, unit=PERSON))
    with pytest.raises(BudgetError):
        private(1.0, delta=0.0).fit(people, ledger=poor)
    assert poor.spent == 0
    with pytest.raises(ParameterError, match="nothing to debit"):
        sf.LinkedSynthesizer().fit(people, ledger=poor)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": 0.0}, "epsilon is a number"),
        ({"epsilon": "1"}, "epsilon must be a number"),
        ({"epsilon": 1.0, "delta": 0.5}, "delta is 0"),
        ({"epsilon": 1.0, "declared_persons": 0}, "declared_persons"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        sf.LinkedSynthesizer(**settings)


def test_a_declared_number_without_an_epsilon_is_refused(people: sf.Database) -> None:
    with pytest.raises(ParameterError, match="for an epsilon"):
        sf.LinkedSynthesizer(declared_persons=5).fit(people)


# -- what is promised ------------------------------------------------------------------------------------


def test_the_promise_is_to_persons_with_all_rows(people: sf.Database, tmp_path: Path) -> None:
    method = private(1.0)
    ledger = Ledger.open(tmp_path / "a.ledger", Budget(rho=1.0, unit=PERSON))
    release = method.fit(people, ledger=ledger).sample(40)
    guessed = people["people"].schema["sex"], release.data["people"].schema["sex"]
    assert [c.role for c in guessed] == [Role.QUASI_IDENTIFIER, Role.OTHER]  # of the rows: it is not said
    assert [bool(c.confidence) for c in guessed] == [True, False]
    (claim,) = (c for c in release.guarantee if c.differential)
    assert isinstance(claim, ApproxDP) and claim.epsilon <= 1.0 + 1e-9 and claim.delta == 1e-9
    assert claim.unit == PERSON and any(isinstance(c, Accounted) for c in release.guarantee)
    assert ledger.spent == pytest.approx(method.spends(None).rho)
    release.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").ok
    card = "".join(p.read_text() for p in (tmp_path / "out" / "public").glob("*.md"))
    assert "epsilon = 1" in card and "visits (3), tests (2)" in card and "2020-01-01" in card
    pure = private(1.0, delta=0.0, declared_persons=300).fit(people)
    (own,) = (c for c in pure.guarantee if c.differential)
    assert isinstance(own, PureDP) and own.epsilon == 1.0 and pure.persons == 300
    assert "declared number of persons is public" in own.text()


def test_domains_that_were_found_add_their_cost_to_the_promise(people: sf.Database) -> None:
    """A search for rows costs who has three rows three times as much; one for persons does not."""
    for most, cost in ((None, 3 * 0.25), (3, 0.25)):
        rows = people["visits"]
        search = sf.DomainSearch(0.25, delta=1e-9, max_rows_per_person=most or 1, persons=most is not None)
        open_ = rows.with_schema(rows.schema.with_("ward", levels=None, provenance=None))
        found = search.find(open_ if most else open_.select(["ward"]), ["ward"])
        schema = rows.schema.with_(
            "ward",
            levels=found.schema["ward"].levels,
            other="other",
            provenance=found.schema["ward"].provenance,
        )
        data = people.with_tables({**people.tables, "visits": rows.with_schema(schema)})
        (claim,) = (c for c in private(1.0, delta=0.0).fit(data).guarantee if c.differential)
        assert isinstance(claim, ApproxDP) and claim.epsilon == pytest.approx(1 + cost)
        assert claim.unit == PERSON
        assert any("all keys hold" in a for a in claim.assumptions)  # other data are refused
        assert any("more than 3 rows in table visits" in a for a in claim.assumptions) == (most is None)


# -- what always holds -----------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.05, 5.0])
def test_keys_hold_and_time_runs_forwards_however_much_noise(people: sf.Database, epsilon: float) -> None:
    data = private(epsilon, declared_persons=300).fit(people).sample(400, seed=1).data.check()
    assert not data.differences
    persons, visits = data["people"].to_arrow().to_pydict(), data["visits"].to_arrow().to_pydict()
    number = {i: n for n, i in enumerate(persons["person_id"])}
    many = np.bincount([number[i] for i in visits["person_id"]], minlength=400)
    assert many.max() <= BOUNDS["visits"]
    for i, first, last in zip(visits["person_id"], visits["from_date"], visits["to_date"], strict=True):
        born, died = persons["birth_date"][number[i]], persons["death_date"][number[i]]
        assert first is None or ((born is None or born <= first) and (died is None or first <= died))
        assert first is None or DAY <= first <= date(2021, 12, 31)
        assert first is None or last is None or first <= last
    tests = data["tests"].to_arrow().to_pydict()
    held = list(zip(tests["visit_id"], tests["test"], strict=True))
    assert len(set(held)) == len(held)
    assert max(np.unique(tests["visit_id"], return_counts=True)[1], default=0) <= BOUNDS["tests"]


@pytest.mark.parametrize("delta", [1e-9, 0.0])
@pytest.mark.parametrize("case", ["more than the bound", "no children", "one person", "nobody"])
def test_odd_data(people: sf.Database, case: str, delta: float) -> None:
    if case == "more than the bound":
        rows = {n: t.to_arrow() for n, t in lives(40).tables.items()}
        many = pa.table({
            "visit_id": range(10**6, 10**6 + 50), "person_id": ["P0"] * 50, "from_date": [DAY] * 50,
            "to_date": [DAY] * 50, "ward": ["a"] * 50,
        }).cast(rows["visits"].schema)  # fmt: skip
        data = public(sf.scan_database({**rows, "visits": pa.concat_tables([rows["visits"], many])}))
    else:
        without = np.bincount(people.people.numbers("visits"), minlength=300) == 0
        masks = {"no children": without, "one person": np.arange(300) == 7, "nobody": np.arange(300) < 0}
        data = people.only(masks[case])
    model = private(1.0, delta=delta).fit(data)
    release = model.sample(30, seed=1)
    assert release.data.check()["people"].rows() == 30
    assert model.notes == ()  # what was left out is not said: it is of the data


@pytest.mark.parametrize("epsilon", [None, 5.0])
def test_rows_of_keys_alone_are_counted_and_nothing_else(epsilon: float | None) -> None:
    """A table that only says how often: its parents know the number, and there is no more to learn."""
    people = pa.table({"person_id": [f"P{i}" for i in range(60)], "sex": ["f", "m"] * 30})
    calls = pa.table({"call_id": range(120), "person_id": [f"P{i // 2}" for i in range(120)]})
    data = sf.scan_database({"people": people, "calls": calls})
    schema = data["people"].schema.with_("sex", levels=("f", "m"), provenance=SAID)
    data = data.with_tables({"people": data["people"].with_schema(schema)})
    model = sf.LinkedSynthesizer(epsilon, delta=0.0, max_children={"calls": 2}).fit(data)
    drawn = model.sample(60, seed=1).data.check()
    assert drawn["people"].rows() == 60 and set(drawn["calls"].columns) == {"call_id", "person_id"}
    if epsilon is None:
        assert drawn["calls"].rows() == 120


def test_errors_fall_with_the_budget() -> None:
    """So far apart that no noise turns it round: where almost nothing is seen, and where almost all is."""
    data = public(lives(600))
    means = []
    for epsilon in (0.005, 100.0):
        method = private(epsilon, max_children={"visits": 4, "tests": 3}, declared_persons=600)
        drawn = method.fit(data).sample(seed=1).data
        found = utilities(data, drawn, ["tests.test"], sf.Key.from_seed(0), [])
        means.append(float(np.mean([s.value for s in found])))
    assert means[1] < 0.08 and means[1] < means[0] / 2, means


# -- an audit --------------------------------------------------------------------------------------------


def with_one_more(visits: int) -> tuple[sf.Database, sf.Database]:
    """Twelve persons, and with them one of so many visits, all alike."""
    small = {n: t.to_arrow() for n, t in lives(12).tables.items()}
    number = list(range(900, 900 + visits))
    one: dict[str, dict[str, list[Any]]] = {
        "people": {"person_id": ["X"], "birth_date": [date(1999, 5, 1)], "death_date": [None], "sex": ["f"]},
        "visits": {
            "visit_id": number, "person_id": ["X"] * visits, "from_date": [DAY] * visits,
            "to_date": [DAY] * visits, "ward": ["b"] * visits,
        },
        "tests": {
            "visit_id": [n for n in number for _ in range(2)], "person_id": ["X"] * 2 * visits,
            "test": ["T3", "T4"] * visits,
        },
    }  # fmt: skip
    more = {n: pa.concat_tables([t, pa.table(one[n], schema=t.schema)]) for n, t in small.items()}
    whole = public(sf.scan_database(more))
    return whole.only(np.arange(whole.people.count) < 12), whole


class Questions(ExactCounting):
    """Counts as they are, and which columns were asked for."""

    def variables(self, name: str, counts: Any, ordered: Any) -> Any:
        asked[name] = (counts, ordered)
        return super().variables(name, counts, ordered)


asked: dict[str, Any] = {}


def columns_audited(monkeypatch: pytest.MonkeyPatch, claim: float, visits: int, counted: int) -> Audit:
    """The number of persons and every column of persons and visits by itself; `counted` visits of each.

    The statistic is how far all answers go the way that the one person leads.
    """
    tape, columns, exact = taped(monkeypatch), [], []
    both = with_one_more(visits)
    for database in both:
        tree = TableTree.of(database)
        persons = PersonChunks(tree, {"visits": counted, "tests": 2})
        outline = persons.count(OutlineQuestion(tree, persons.axes, BOUNDS))
        Estimation(tree, persons, outline, DAYS, Questions(), sf.Key.from_seed(0)).single_columns()
        columns.append((tree, persons.axes, outline.tables["people"].rows, dict(asked)))

    def drawn(number: int) -> list[Any]:
        tree, axes, persons, every = columns[number]
        paid = Ledger.in_memory(Budget(epsilon=claim, unit=PERSON)).grant(epsilon=claim, purpose="audit")
        counting = NoisyCounting(paid, tree, axes, PersonBounds(tree, BOUNDS), None)
        tape.asked.clear(), tape.answers.clear()
        counting.persons(persons)
        for name, question in every.items():
            counting.variables(name, *question)
        return tape.answers

    for number in range(2):
        drawn(number)
        exact.append([np.asarray(values, float) for _, values, *_ in tape.asked])
    ways = [after - before for before, after in zip(*exact, strict=True)]

    def mechanism(number: int, n: int) -> Any:
        return np.array([
            [sum(float((a.values * w).sum()) / a.scale for a, w in zip(drawn(number), ways, strict=True))]
            for _ in range(n)
        ])  # fmt: skip

    return audit(mechanism, 0, 1, claim=PureDP(claim, unit=PERSON), draws=100, batch=50, error=1e-6)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore:(visits|tests). one person has")
def test_an_audit_passes_and_one_of_rows_without_a_bound_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine thousand visits are so many that the two laws do not overlap: nothing here is left to chance."""
    assert not columns_audited(monkeypatch, 0.5, visits=9_000, counted=BOUNDS["visits"]).refutes()
    assert columns_audited(monkeypatch, 0.5, visits=9_000, counted=10_000).refutes()


class Weighing:
    """The answers of a fit, and how much likelier a neighbour makes them, as a logarithm.

    The neighbour is fitted too, and given the same answers: so each is weighed by what the neighbour would
    have been asked, whatever hung on earlier answers. Nothing tells two databases apart better.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers: list[Any] = []
        self.exact: list[Any] = []
        self.place: int | None = None
        self.weight = 0.0
        for name in ("gaussian", "laplace", "noisy_max"):
            monkeypatch.setattr(purse, name, self._draw(getattr(purse, name)))

    def _draw(self, real: Any) -> Any:
        def drawn(values: Any, sensitivity: float, grant: Any) -> Any:
            exact = np.asarray(values).astype(np.int64)
            if self.place is None:
                self.answers.append(real(values, sensitivity, grant))
                self.exact.append(exact)
                return self.answers[-1]
            answer, before = self.answers[self.place], self.exact[self.place]
            self.place += 1
            if hasattr(answer, "values"):
                noise = np.abs(answer.values - before).sum() - np.abs(answer.values - exact).sum()
                self.weight += float(noise) / answer.scale
            return answer

        return drawn

    def of(self, method: sf.LinkedSynthesizer, data: sf.Database, neighbour: sf.Database) -> float:
        """The weight of one fit to the data."""
        self.answers, self.exact, self.place, self.weight = [], [], None, 0.0
        method.fit(data)
        self.place = 0
        method.fit(neighbour)
        assert self.place == len(self.answers)
        return self.weight


@pytest.mark.soak
def test_a_whole_fit_stays_below_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """One patient more, with as many visits and tests as count; the draws are enough to refute a quarter."""
    for name in ("_LEAST", "_MOST"):
        monkeypatch.setattr(estimation, name, 20)
    weighing, both = Weighing(monkeypatch), with_one_more(3)
    method = private(16.0, delta=0.0)

    def mechanism(number: int, n: int) -> Any:
        weights = [weighing.of(method, both[number], both[1 - number]) for _ in range(n)]
        assert max(map(abs, weights)) <= method.epsilon * (1 + 1e-9)
        return np.array(weights)[:, None] * (1 if number else -1)

    claim = PureDP(16.0, unit=PERSON)
    found = audit(mechanism, 0, 1, claim=claim, draws=200, batch=100, error=1e-6)
    assert not found.refutes() and found.refutes(0.25), found.lower
