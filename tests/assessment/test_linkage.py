from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from assessment.attack_tables import SURE, fitting, generalized_pair, names, table
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import samples
from sfumato.assessment.attacks.intruder import correspondence, look, sharp
from sfumato.assessment.attacks.linkage import AttackDatabase, by_key, deterministic, fellegi_sunter, nearest
from sfumato.assessment.reading.alignment import Pair, align
from sfumato.errors import DataError, ParameterError
from sfumato.score import Score

KNOWN = ["a", "b", "c"]


def by_name(scores: list[Score]) -> dict[str, Score]:
    return {s.name: s for s in scores}


def noise(seed: int, people: int = 400, records: int = 300) -> Pair:
    rng = np.random.default_rng(seed)
    levels = {"a": 6, "b": 4, "c": 3, "s": 5}
    return align(table(names(rng, people, levels)), table(names(rng, records, levels)))


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 60))
def test_identical_files_give_away_everyone_who_is_unique(seed: int, rows: int) -> None:
    columns = names(np.random.default_rng(seed), rows, {"a": 6, "b": 4, "c": 3})
    found = by_name(deterministic(align(table(columns), table(columns)), KNOWN))
    keys = list(zip(*columns.values(), strict=True))
    often = Counter(keys)
    assert found["linking, re-identified"].value == pytest.approx(np.mean([often[k] == 1 for k in keys]))
    assert found["linking, guessed"].value == pytest.approx(np.mean([1 / often[k] for k in keys]))
    assert found["linking, claimed"].value == found["linking, re-identified"].value


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([["a"], ["a", "b"], KNOWN]))
def test_generalized_cells_match_what_they_cover(seed: int, known: list[str]) -> None:
    pair = generalized_pair(seed)
    fits = fitting(pair, known)
    view = look(pair, known)
    assert view.matches.tolist() == fits.sum(axis=1).tolist()
    own = np.random.default_rng(seed).permutation(len(fits))
    assert view.may_be(own).tolist() == fits[np.arange(len(fits)), own].tolist()
    found = by_name(deterministic(pair, known))
    assert found["linking, guessed"].value == pytest.approx(
        (1 / fits.sum(axis=1)).mean()
    )  # its own always fits


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10**6))
def test_the_nearest_record_is_the_nearest_one_and_ties_share_the_chance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    original = {"a": rng.integers(0, 8, 30).tolist(), "b": [f"b{x}" for x in rng.integers(0, 3, 30)]}
    released = {"a": rng.permutation(original["a"]).tolist(), "b": rng.permutation(original["b"]).tolist()}
    pair = align(table(original), table(released))
    # The obvious version: standardized coordinates, all distances, ties counted.
    a = np.array(original["a"], float), np.array(released["a"], float)
    dummies = [
        np.equal.outer(np.asarray(x["b"]), [f"b{i}" for i in range(3)]).astype(float)
        for x in (original, released)
    ]
    spread = [x if x > 0 else 1.0 for x in (a[0].std(), *dummies[0].std(axis=0))]
    points = [np.column_stack([x, d]) / spread for x, d in zip(a, dummies, strict=True)]
    far = ((points[0][:, None] - points[1][None]) ** 2).sum(axis=2)
    at_best = far <= far.min(axis=1, keepdims=True) + 1e-9
    chance = np.where(np.diag(at_best), 1 / at_best.sum(axis=1), 0.0)
    scores = by_name(nearest(pair, ["a", "b"], k=3))
    assert scores["nearest record"].value == pytest.approx(chance.mean())
    classes: dict[tuple[object, ...], list[float]] = {}
    for i, x in enumerate(chance):
        classes.setdefault((original["a"][i], original["b"][i]), []).append(x)
    assert scores["nearest record, worst class"].value == pytest.approx(
        max(np.mean(c) for c in classes.values())
    )
    assert scores["nearest record"].details["above_1_over_k"] == pytest.approx((chance > 1 / 3 + 1e-9).mean())


def test_independent_noise_is_linked_no_better_than_by_chance() -> None:
    pair = noise(int(np.random.default_rng().integers(2**32)))
    truth = np.random.default_rng().integers(0, 300, 400)
    for score in (
        *deterministic(pair, KNOWN, truth=truth, confidence=SURE)[1:],
        nearest(pair, KNOWN, truth=truth, confidence=SURE)[0],
    ):
        assert score.low is not None and score.baseline == pytest.approx(1 / 300)
        assert score.low <= score.baseline, score.name


def test_strangers_are_the_control_and_unseen_values_match_suppressed_cells_only() -> None:
    pair = align(table({"a": ["x", "y"], "s": ["1", "2"]}), table({"a": ["x", "*"], "s": ["1", "2"]}))
    strangers = table({"a": ["unseen", "x", None], "s": ["1", "1", "1"]})
    assert look(pair, ["a"], strangers).matches.tolist()[:2] == [1, 2]
    score = deterministic(pair, ["a"], control=strangers)[0]
    assert score.control is not None and 0 < score.control < 1
    assert score.details["above_control"]["low"] <= score.details["above_control"]["value"]


def test_without_the_truth_the_chance_is_an_upper_bound() -> None:
    columns = {"a": ["x", "x", "y"]}
    scores = by_name(deterministic(align(table(columns), table(columns)), ["a"], truth=None))
    assert scores["linking, at most"].value == pytest.approx((0.5 + 0.5 + 1) / 3)
    assert "linking, re-identified" not in scores


def test_a_key_says_whose_record_is_whose() -> None:
    here, there = (
        table({"id": ["p", "q", "r"], "a": ["x", "y", "z"]}),
        table({"id": ["q", "p"], "a": ["y", "x"]}),
    )
    truth = by_key(here, there, "id")
    assert truth.tolist() == [1, 0, -1]
    found = by_name(deterministic(align(here, there, columns=["a"]), ["a"], truth=truth))
    assert found["linking, re-identified"].value == pytest.approx(2 / 3)
    with pytest.raises(DataError, match="no column"):
        by_key(here, there, "nobody")
    with pytest.raises(DataError, match="repeats"):
        by_key(here, table({"id": ["q", "q"]}), "id")


def test_what_cannot_be_is_refused() -> None:
    pair = align(table({"a": ["x", "y"]}), table({"a": ["x"]}))
    with pytest.raises(ParameterError, match="2 and 1 rows"):
        correspondence(pair, "rows")
    with pytest.raises(ParameterError, match="one released row number"):
        correspondence(pair, [5, 0])
    with pytest.raises(ParameterError, match="do not share"):
        deterministic(pair, ["nothing"], truth=None)
    with pytest.raises(ParameterError, match="needs the truth"):
        nearest(pair, ["a"], truth=None)
    with pytest.raises(DataError, match="control lacks"):
        deterministic(pair, ["a"], truth=None, control=table({"b": ["x"]}))


def test_thirty_thousand_by_thirty_thousand_on_nine_columns() -> None:
    rows = samples.discharges(30_000, seed=3)
    known = list(samples.DISCHARGE_VARIABLES[:9])
    pair = align(rows, rows, columns=known)
    scores = by_name(deterministic(pair, known))
    codes = pair.codes()[0].codes
    unique = np.unique(codes, axis=1, return_counts=True)[1]
    assert scores["linking, re-identified"].value == pytest.approx((unique == 1).sum() / 30_000)
    assert nearest(pair, known)[0].value == pytest.approx(len(unique) / 30_000)


def test_numbers_are_known_as_they_are_and_the_bins_are_said_otherwise() -> None:
    rng = np.random.default_rng(7)
    columns = {"age": rng.integers(0, 95, 500).tolist(), "weight": rng.normal(70, 9, 500).round(1).tolist()}
    often = Counter(zip(*columns.values(), strict=True))
    both = ["age", "weight"]
    score = by_name(deterministic(sharp(table(columns), table(columns)), both))["linking, re-identified"]
    assert score.value == pytest.approx(sum(n == 1 for n in often.values()) / 500)
    coarse = by_name(deterministic(align(table(columns), table(columns)), both))["linking, re-identified"]
    assert coarse.value < score.value and "age (in 20 bins)" in coarse.knowledge


def test_splink_finds_the_unique_and_no_stranger() -> None:
    pytest.importorskip("splink")
    rng = np.random.default_rng(5)
    columns = names(rng, 250, {"a": 40, "b": 30, "c": 12, "s": 5})
    noisy = {c: [x if rng.random() < 0.95 else str(rng.choice(v)) for x in v] for c, v in columns.items()}
    pair = align(table(columns), table(noisy))
    scores = by_name(fellegi_sunter(pair, KNOWN))
    exact = by_name(deterministic(pair, KNOWN))
    # It forgives single errors, which deterministic linking does not.
    assert scores["probabilistic linking"].value > exact["linking, re-identified"].value
    assert scores["probabilistic linking"].value > 0.9
    strangers = align(table(columns), table(names(np.random.default_rng(), 250, {"a": 40, "b": 30, "c": 12})))
    score = fellegi_sunter(strangers, KNOWN, confidence=SURE)[0]
    assert score.low is not None and score.low <= 1 / 250


def test_an_attack_database_is_joined_and_its_guessed_fields_are_named() -> None:
    pytest.importorskip("splink")
    rng = np.random.default_rng(6)
    columns = names(rng, 120, {"a": 30, "b": 25, "c": 12})
    people = [f"p{i}" for i in range(120)]
    cities = table({"b": [f"b{i}" for i in range(25)], "region": [f"r{i % 5}" for i in range(25)]})
    strangers = names(rng, 60, {"a": 30, "b": 25})
    register = table(
        {
            "name": [*people, *[f"s{i}" for i in range(60)]],
            "a": columns["a"] + strangers["a"],
            "b": columns["b"] + strangers["b"],
        }
    )
    secret = pa.array(columns["c"] + names(rng, 60, {"c": 12})["c"])
    database = AttackDatabase(
        [register, cities], {"c": lambda rows: secret}, person=[*range(120), *[-1] * 60]
    )
    assert database.joined().column_names == ["name", "a", "b", "region", "c"]
    assert database.joined().column("region").to_pylist()[0] == f"r{int(columns['b'][0][1:]) % 5}"
    suppressed = {**columns, "b": ["*" if i % 3 == 0 else x for i, x in enumerate(columns["b"])]}
    scores = fellegi_sunter(align(table(columns), table(suppressed)), KNOWN, database=database)
    assert "c inferred" in scores[0].knowledge
    # A suppressed cell covers everybody, so being covered must weigh less than being equal.
    plain = by_name(deterministic(align(table(columns), table(suppressed)), KNOWN))["linking, guessed"]
    assert scores[0].value > plain.value - 0.02
    assert scores[1].control is not None and scores[1].control < scores[1].value
    with pytest.raises(DataError, match="lacks 'c'"):
        fellegi_sunter(align(table(columns), table(columns)), KNOWN, database=AttackDatabase([register]))
    with pytest.raises(DataError, match="shares no column"):
        AttackDatabase([register, table({"z": ["1"]})]).joined()


def test_a_value_that_is_a_bin_lies_where_it_is() -> None:
    released = table({"x": ["0", "[8, 12]", "11", "[90, 100]"]})
    found = by_name(nearest(sharp(table({"x": [0.0, 10.0, 11.0, 100.0]}), released), ["x"]))
    assert found["nearest record"].value == 1  # 10 is nearest to the middle of 10 and 11, not to 0


def test_a_stranger_between_two_values_fits_neither() -> None:
    people = table({"x": [1_000, 2_000, 3_000, None]})
    strangers = table({"x": [1_500, 2_999, 3_001, 2_000]})
    found = by_name(deterministic(sharp(people, people), ["x"], control=strangers))
    assert found["linking, claimed"].control == pytest.approx(1 / 4)
    bands = sharp(people, table({"x": ["[1000, 2000)", "[2000, 3000]", "[2000, 3000]", None]}))
    assert by_name(deterministic(bands, ["x"], control=strangers))["linking, claimed"].control == 1 / 4


def test_a_suppressed_cell_may_have_been_a_missing_one() -> None:
    original = table({"age": [20, 30, 40, None], "zip": ["a", "a", "b", "c"]})
    released = table({"age": ["20", "30", "40", "*"], "zip": ["a", "a", "b", "c"]})
    found = by_name(deterministic(sharp(original, released), ["age", "zip"]))
    assert found["linking, re-identified"].value == 1
    # A stranger's age that nobody has fits the star, and no age beside it.
    assert look(sharp(original, released), ["age"], table({"age": [25], "zip": ["a"]})).matches.tolist() == [
        1
    ]


def test_the_only_level_of_a_column_is_not_everybodys() -> None:
    women = {"sex": ["f"] * 4, "zip": ["a", "b", "c", "d"]}
    pair = align(table(women), table(women))
    found = deterministic(pair, ["sex", "zip"], control=table({**women, "sex": ["m"] * 4}))[0]
    assert (found.value, found.control) == (1.0, 0.0)


def test_the_nearest_name_is_found_in_little_memory() -> None:
    """Twelve hundred names against as many records: a cube of them would take fourteen gigabytes."""
    columns = {"zip": [f"{i:05d}" for i in range(1200)]}
    assert nearest(align(table(columns), table(columns)), ["zip"])[0].value == 1


@pytest.mark.parametrize("known", [["a"], ["a", "b"]])
def test_splink_links_where_every_pair_agrees_on_all_that_is_known(known: list[str]) -> None:
    pytest.importorskip("splink")
    columns = names(np.random.default_rng(8), 400, {"a": 250, "b": 30})
    pair = align(table(columns), table(columns))
    exact = by_name(deterministic(pair, known))["linking, guessed"]
    assert fellegi_sunter(pair, known)[0].value == pytest.approx(exact.value)


def test_tables_that_hold_a_shared_column_in_another_type_are_not_joined() -> None:
    with pytest.raises(DataError, match=r"table 2 .* holds 'a' in another type"):
        AttackDatabase([table({"a": [1]}), table({"a": ["1"], "b": ["x"]})]).joined()
