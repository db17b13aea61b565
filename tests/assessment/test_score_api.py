"""The two case studies: a seen score gives its input away; a model that overfits gives its trainers away.

Statistical tests have a false-alarm rate of 1e-6 or less, for any seed.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.assessment.attacks.score_api import invert_score, who_trained
from sfumato.errors import DataError, ParameterError
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table

SURE = 1 - 1e-6
KNOWN, SECRET = ["age", "sex"], ["hypertension", "smoker", "asthma"]


@pytest.fixture
def key() -> Key:
    return Key.from_seed(secrets.randbelow(2**62))


def simulated(n: int, seed: int | None = None) -> Table:
    generator = np.random.default_rng(seed)
    flags = {name: generator.random(n) < 0.4 for name in SECRET}
    age, sex = generator.integers(40, 80, n), generator.choice(["f", "m"], n)
    ill = generator.random(n) < 0.5
    return Table.from_arrow(pa.table({"age": age, "sex": sex, **flags, "ill": ill}))


def risk(inputs: pa.Table) -> Any:
    """Distinct weights, so that a score in full has one input only."""
    weights = {"hypertension": 0.31, "smoker": 0.17, "asthma": 0.059}
    total = 0.01 * inputs["age"].to_numpy()
    for name, weight in weights.items():
        total = total + weight * inputs[name].to_numpy(zero_copy_only=False)
    return 1 / (1 + np.exp(-total))


def named(scores: list[Score], ending: str) -> Score:
    assert all(s.section == "attack" and s.knowledge for s in scores)
    (found,) = [s for s in scores if s.name.endswith(ending)]
    return found


# -- 5.0.1 -----------------------------------------------------------------------------------------


def test_a_score_in_full_gives_its_input_away(key: Key) -> None:
    scores = invert_score(risk, simulated(1_500), known=KNOWN, secret=SECRET, key=key)
    found = named(scores, "fields found")
    assert found.value == 1 and named(scores, "no doubt left").value == 1
    assert found.baseline is not None and found.control is not None
    assert found.baseline < 0.6 and found.control < 0.6
    # Three independent flags of 0.4 hold 2.91 bits; 200 people know them to a few tenths.
    assert 2.2 < named(scores, "bits learnt").value < 3.8


def test_coarser_scores_help(key: Key) -> None:
    people = simulated(1_500)
    found = [
        named(invert_score(risk, people, known=KNOWN, secret=SECRET, key=key, digits=d), "bits learnt").value
        for d in (4, 1, 0)
    ]
    assert found[0] > found[1] >= found[2]


def test_a_score_that_ignores_the_secret_is_no_help(key: Key) -> None:
    scores = invert_score(
        lambda inputs: inputs["age"].to_numpy() / 100.0,
        simulated(1_500),
        known=KNOWN,
        secret=SECRET,
        key=key,
        confidence=SURE,
    )
    found = named(scores, "fields found")
    assert found.low is not None and found.high is not None and found.baseline is not None
    assert found.low <= found.baseline <= found.high
    assert named(scores, "bits learnt").value == pytest.approx(0, abs=1e-9)
    assert named(scores, "no doubt left").value == 0


def test_inversion_is_the_same_for_the_same_key() -> None:
    people = simulated(400, seed=1)
    runs = [
        invert_score(risk, people, known=KNOWN, secret=SECRET, key=Key.from_seed(4), targets=50, digits=2)
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


def test_inversion_refuses_what_it_cannot_do(key: Key) -> None:
    people = simulated(100)
    with pytest.raises(ParameterError, match="disjoint"):
        invert_score(risk, people, known=KNOWN, secret=["age"], key=key, targets=5)
    with pytest.raises(ParameterError, match="combinations"):
        invert_score(risk, people, known=KNOWN, secret=SECRET, key=key, targets=5, most=4)
    with pytest.raises(DataError, match="number for each"):
        invert_score(lambda _: 1.0, people, known=KNOWN, secret=SECRET, key=key, targets=5)
    with pytest.raises(DataError, match="finite"):
        invert_score(
            lambda t: np.full(t.num_rows, np.nan), people, known=KNOWN, secret=SECRET, key=key, targets=5
        )


# -- 5.0.2 -----------------------------------------------------------------------------------------


def inputs_of(table: pa.Table) -> Any:
    names = ["age", *SECRET]
    return np.stack([table[n].to_numpy(zero_copy_only=False).astype(float) for n in names], axis=1)


def tree(table: Table, key: Key) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    rows = table.to_arrow()
    seed = int(key.generator("tree").integers(2**31))
    model = DecisionTreeClassifier(random_state=seed)
    model.fit(inputs_of(rows), rows["ill"].to_numpy(zero_copy_only=False))
    return lambda inputs: model.predict_proba(inputs_of(inputs))[:, 1]


@pytest.mark.parametrize("guess", ["membership", "outcome"])
def test_a_full_tree_gives_its_trainers_away(key: Key, guess: Any) -> None:
    people = simulated(600)
    scores = who_trained(tree, people, key=key, outcome="ill", guess=guess, size=80)
    area = named(scores, "area under the curve")
    assert area.low is not None and area.low > 0.5 and area.value > 0.6


@pytest.mark.parametrize("guess", ["membership", "outcome"])
def test_a_score_made_without_the_data_tells_nothing(key: Key, guess: Any) -> None:
    def train(_: Table, key: Key) -> Any:
        slope = key.generator("slope").normal()
        return lambda inputs: slope * inputs_of(inputs)[:, 0]

    scores = who_trained(
        train, simulated(300), key=key, outcome="ill", guess=guess, size=50, confidence=SURE, shadows=16
    )
    for ending in ("area under the curve", "advantage"):
        score = named(scores, ending)
        assert score.low is not None and score.high is not None and score.baseline is not None
        assert score.low <= score.baseline <= score.high


def test_training_games_are_the_same_for_the_same_key() -> None:
    people = simulated(120, seed=2)
    runs = [
        who_trained(
            tree, people, key=Key.from_seed(1), outcome="ill", size=40, targets=5, shadows=4, trials=4
        )
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


def test_training_games_refuse_what_they_cannot_do(key: Key) -> None:
    people = simulated(60)
    for wrong in ({"size": 0}, {"queries": 0}, {"guess": "name"}, {"trials": 0}, {"confidence": 0.0}):
        with pytest.raises(ParameterError):
            who_trained(tree, people, key=key, outcome="ill", **wrong)  # type: ignore[arg-type]
    same = Table.from_arrow(people.to_arrow().set_column(5, "ill", pa.array([True] * 60)))
    with pytest.raises(DataError, match="same for everybody"):
        who_trained(tree, same, key=key, outcome="ill", guess="outcome")


def test_a_single_person_has_no_control(key: Key) -> None:
    """Somebody else's score would be their own, and the attack look as harmless as chance."""
    scores = invert_score(risk, simulated(300, seed=1), known=KNOWN, secret=SECRET, key=key, targets=[3])
    assert [s.control for s in scores] == [None] * 3


def test_to_be_certain_of_somebody_elses_fields_is_no_success(key: Key) -> None:
    """Every score is of one combination alone: whoever sees another person's is certain, and mostly wrong."""

    def telling(inputs: pa.Table) -> Any:
        flags = [inputs[name].to_numpy(zero_copy_only=False) for name in SECRET]
        return np.stack(flags, axis=1) @ np.array([1.0, 2.0, 4.0])

    scores = invert_score(telling, simulated(600), known=KNOWN, secret=SECRET, key=key)
    certain = named(scores, "no doubt left")
    assert certain.value == 1 and certain.control is not None and certain.control < 0.9


def test_a_score_without_an_input_is_refused(key: Key) -> None:
    table = Table.from_arrow(pa.table({"y": [0, 1] * 20}))
    with pytest.raises(ParameterError, match="input"):
        who_trained(tree, table, key=key, outcome="y", targets=2)
