from __future__ import annotations

import math

import numpy as np
import pytest
from assessment.attack_tables import SURE, fitting, generalized_pair, names, table
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.assessment import attacks
from sfumato.assessment.attacks.beliefs import believe
from sfumato.assessment.attacks.frames import frames
from sfumato.assessment.attacks.success import mean_interval
from sfumato.assessment.audit.intervals import share
from sfumato.assessment.reading.alignment import align
from sfumato.assessment.thresholds import counts_as_risk, excess
from sfumato.errors import DataError, ParameterError

KNOWN = ["a", "b", "c"]
LEVELS = {"a": 3, "b": 3, "c": 2, "s": 5}


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6))
def test_beliefs_are_the_histograms_of_the_records_that_fit(seed: int) -> None:
    pair = generalized_pair(seed)
    fits = fitting(pair, ["a", "b"])
    there = np.array(pair.released.to_arrow().column("s").to_pylist())
    truth = pair.original.to_arrow().column("s").to_pylist()
    beliefs = believe(pair, ["a", "b"], "s")
    for i, row in enumerate(fits):
        values, counts = np.unique(there[row], return_counts=True)
        modes = values[counts == counts.max()]
        assert beliefs.distinct[i] == len(values)
        assert beliefs.mode_right()[i] == pytest.approx((truth[i] in modes) / len(modes))
        assert beliefs.confidence_in_truth()[i] == pytest.approx(np.mean(there[row] == truth[i]))
        assert beliefs.certain()[i] == (set(there[row]) == {truth[i]})
        assert beliefs.certain(1)[i] == (truth[i] in values and len(values) <= 2)


def test_independent_noise_tells_nothing_about_anyone() -> None:
    rng = np.random.default_rng()
    original, released, control = (table(names(rng, n, LEVELS)) for n in (1500, 1200, 1000))
    pair = align(original, released)
    scores = [
        *attacks.most_frequent(pair, KNOWN, "s", control=control, confidence=SURE),
        *attacks.learnt(pair, KNOWN, "s", control=control, confidence=SURE),
        *attacks.bayesian_network(pair, KNOWN, "s", control=control, confidence=SURE),
        *attacks.homogeneity(pair, KNOWN, "s", control=control, confidence=SURE),
        *attacks.background(pair, KNOWN, "s", control=control, confidence=SURE),
        *attacks.inference(original, released, KNOWN, "s", control=control, confidence=SURE),
        *attacks.linkability(original, released, (["a", "b"], ["c", "s"]), control=control, confidence=SURE),
        *attacks.singling_out(original, released, control=control, confidence=SURE, max_attempts=3000),
    ]
    for score in scores:
        if "above_control" in score.details:
            assert score.details["above_control"]["low"] <= 0, score.name
        if score.name.endswith("risk"):
            assert score.low == 0, score.name
    gain = attacks.link_gain(pair, ["a"], ["b"], "s", control=control, confidence=SURE)[0]
    assert gain.low is not None and gain.high is not None and gain.low <= 1 <= gain.high


def test_what_is_copied_is_inferred_about_members_and_not_about_strangers() -> None:
    rng = np.random.default_rng(1)
    levels = {"a": 30, "b": 20, "c": 10, "s": 5}
    original, control = table(names(rng, 400, levels)), table(names(rng, 400, levels))
    pair = align(original, original)
    for score in (
        attacks.most_frequent(pair, KNOWN, "s", control=control, confidence=SURE)[0],
        attacks.homogeneity(pair, KNOWN, "s", control=control, confidence=SURE)[0],
        attacks.inference(original, original, KNOWN, "s", control=control, confidence=SURE)[0],
        attacks.linkability(
            original, original, (["a", "b"], ["c", "s"]), nearest=8, control=control, confidence=SURE
        )[0],
    ):
        assert score.details["above_control"]["low"] > 0, score.name
    assert attacks.inference(original, original, KNOWN, "s", control=control)[1].value > 0.5
    for alone in (False, True):
        data = {**names(rng, 300, levels), "x": rng.normal(size=300).tolist()}
        other = {**names(rng, 300, levels), "x": rng.normal(size=300).tolist()}
        scores = attacks.singling_out(
            table(data), table(data), control=table(other), univariate=alone, confidence=SURE
        )
        assert scores[0].value == 1 and scores[1].low is not None and scores[1].low > 0


def test_a_model_and_a_network_learn_what_the_release_teaches() -> None:
    rng = np.random.default_rng(2)
    columns = names(rng, 1500, {"a": 4, "b": 3})
    columns["s"] = [f"s{x[1:]}" if rng.random() < 0.9 else "s0" for x in columns["a"]]
    blurred = {**columns, "b": ["{b0, b1}" if x != "b2" else x for x in columns["b"]]}
    pair = align(table(columns), table(blurred))
    from sklearn.tree import DecisionTreeClassifier

    for score in (
        attacks.learnt(pair, ["a", "b"], "s")[0],
        attacks.learnt(pair, ["a", "b"], "s", estimator=DecisionTreeClassifier(random_state=0))[0],
        attacks.bayesian_network(pair, ["a", "b"], "s")[0],
    ):
        assert score.baseline is not None and score.value > 0.88 > score.baseline


def test_the_network_finds_what_a_generalized_cell_stands_for() -> None:
    # In the release, a generalized b is nearly always b0 where s is s0, b1 where s is s1: EM must learn
    # from the cells that are not generalized that b tells about s.
    rng = np.random.default_rng(3)
    secret = rng.integers(0, 2, 3000)
    b = [f"b{s if rng.random() < 0.95 else 1 - s}" for s in secret]
    columns = {"b": b, "s": [f"s{s}" for s in secret]}
    blurred = {**columns, "b": ["*" if rng.random() < 0.7 else x for x in b]}
    score = attacks.bayesian_network(align(table(columns), table(blurred)), ["b"], "s")[0]
    assert score.value > 0.93


def test_homogeneity_and_background_knowledge_find_the_planted_classes() -> None:
    columns = {
        "zip": ["1"] * 3 + ["2"] * 3 + ["3"] * 4,
        "s": ["flu"] * 3 + ["flu", "flu", "hiv"] + ["flu", "hiv", "gout", "gout"],
    }
    pair = align(table(columns), table(columns))
    score = attacks.homogeneity(pair, ["zip"], "s")[0]
    assert score.value == pytest.approx(0.3)
    assert score.details["homogeneous_classes_of_two_or_more"] == 1 and score.details["records_in_them"] == 3
    assert attacks.background(pair, ["zip"], "s", excluded=1)[0].value == pytest.approx(0.6)
    assert attacks.background(pair, ["zip"], "s", excluded=2)[0].value == 1


def test_the_link_gain_is_the_ratio_of_theorem_2() -> None:
    # One class of known: s is right for 1/2 of its records; with z for all of them.
    columns = {"x": ["1"] * 4, "z": ["p", "p", "q", "q"], "s": ["u", "u", "v", "v"]}
    score = attacks.link_gain(align(table(columns), table(columns)), ["x"], ["z"], "s")[0]
    assert score.value == pytest.approx(2) and score.details["before"] == pytest.approx(0.5)
    with pytest.raises(ParameterError, match="adds no column"):
        attacks.link_gain(align(table(columns), table(columns)), ["x"], ["x"], "s")


def test_the_mean_of_the_matches_is_guessed() -> None:
    columns = {"x": ["p", "p", "q", "q"], "y": [10.0, 12.0, 100.0, 100.0]}
    error, right = attacks.mean_value(align(table(columns), table(columns)), ["x"], "y")
    assert error.value == pytest.approx(0.5) and error.baseline == pytest.approx((45.5 + 43.5 + 44.5 * 2) / 4)
    assert right.value == pytest.approx(0.5)
    with pytest.raises(DataError, match="not numeric"):
        attacks.mean_value(align(table(columns), table(columns)), ["y"], "x")


def test_a_secret_that_is_known_is_refused() -> None:
    pair = generalized_pair(0)
    for attack in (attacks.most_frequent, attacks.homogeneity, attacks.learnt, attacks.bayesian_network):
        with pytest.raises(ParameterError, match="knows"):
            attack(pair, ["a", "s"], "s")


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 40), st.data(), st.sampled_from([0.5, 0.95, 1 - 1e-6]))
def test_clopper_and_pearson_cover_as_they_say(trials: int, data: st.DataObject, confidence: float) -> None:
    from scipy.stats import binom

    p = data.draw(st.floats(1e-9, 1 - 1e-9))
    missed = 0.0
    for x in range(trials + 1):
        _, low, high = share(x, trials, confidence)
        if not low <= p <= high:
            missed += float(binom.pmf(x, trials, p))
    assert missed <= 1 - confidence + 1e-9


def test_an_interval_of_fractions_holds_and_is_wider_than_the_binomial() -> None:
    half = np.full(20, 0.5)
    low, high = mean_interval(half, 0.95)
    exact = share(10, 20, 0.95)[1:]
    assert low < exact[0] < exact[1] < high
    assert not math.isnan(low)


def test_anonymeters_definitions_by_hand() -> None:
    # Two numeric columns, no ties: the nearest record of each half is known.
    original = table({"x": [0.0, 5.0, 10.0], "y": [0.0, 5.0, 10.0], "s": [100.0, 200.0, 300.0]})
    released = table({"x": [0.1, 4.9, 10.0], "y": [0.2, 9.0, 5.2], "s": [101.0, 500.0, 303.0]})
    score = attacks.linkability(original, released, (["x"], ["y"]))[0]
    assert score.value == pytest.approx(1 / 3) and score.baseline == pytest.approx(1 / 3)
    guess = attacks.inference(original, released, ["x"], "s")[0]
    assert guess.value == pytest.approx(2 / 3)
    assert guess.baseline == pytest.approx(2 / 9)
    with pytest.raises(ParameterError, match="overlap"):
        attacks.linkability(original, released, (["x"], ["x"]))


def test_the_control_is_taken_off_once() -> None:
    """The risk of the three risks is above its control already: `risk` counts the plain one, and no other."""
    rng = np.random.default_rng(5)
    original, control = (table(names(rng, 300, {"a": 40, "b": 40, "c": 3})) for _ in range(2))
    plain, risk = attacks.singling_out(original, original, control=control, attacks=100)
    assert plain.control is not None and risk.details["control"] == plain.control
    assert counts_as_risk(plain) and not counts_as_risk(risk)
    assert plain.value - plain.control <= excess(plain) <= plain.value - plain.control + 0.2


def test_many_diagnoses_are_learnt_by_a_quicker_model() -> None:
    """Logistic regression over hundreds of classes and dates made general would take minutes."""
    generator = np.random.default_rng(5)
    day = generator.integers(0, 365, 3_000)
    data = {"day": [f"d{v:03d}" for v in day], "s": [f"s{v % 150}" for v in day]}
    released = {**data, "day": ["*"] * 1_500 + data["day"][1_500:]}
    pair = align(table(data), table(released))
    found = attacks.learnt(pair, ["day"], "s")[0]
    assert "MultinomialNB" in found.name and found.value > 0.5


def test_numbers_of_attacks_below_one_are_refused() -> None:
    files = (table({"a": [1, 2], "b": [1, 2]}),) * 2
    with pytest.raises(ParameterError, match="nearest"):
        attacks.linkability(*files, (["a"], ["b"]), nearest=0)
    with pytest.raises(ParameterError, match="attacks, conditions"):
        attacks.singling_out(*files, attacks=0, conditions=-1)
    with pytest.raises(ParameterError, match="attacks"):
        attacks.inference(*files, ["a"], "b", attacks=0)


def test_a_number_that_is_missing_everywhere_has_no_mean() -> None:
    here, empty = table({"k": ["a", "b"], "v": [1.0, 2.0]}), table({"k": ["a", "b"], "v": [math.nan] * 2})
    for first, second in ((here, empty), (empty, here)):
        with pytest.raises(DataError, match="missing in a whole file"):
            attacks.mean_value(align(first, second), ["k"], "v")
    with pytest.raises(DataError, match="missing in the control"):
        attacks.mean_value(align(here, here), ["k"], "v", control=empty)


def test_a_number_is_the_same_beside_a_star() -> None:
    """A file with one suppressed cell is one of text: its '500.0' is the other file's 500."""
    original = table({"cost": [500.0, 700.5, 900.0], "dx": ["a", "b", "c"]})
    released = table({"cost": ["500.0", "700.5", "*"], "dx": ["a", "b", "c"]})
    first, second = frames([original, released], ["cost", "dx"]).cells
    assert first[0, :2].tolist() == second[0, :2].tolist() and first[0, 2] != second[0, 2]
