"""Intruders who think: by the columns that tell, with errors, by the order of rows, by prediction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from assessment.attack_tables import SURE, generalized_pair
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.assessment.attacks import by_key, sharp, subset_linkage
from sfumato.assessment.attacks.agreement import agreement
from sfumato.assessment.attacks.intruder import look
from sfumato.assessment.attacks.linkage import deterministic
from sfumato.assessment.attacks.order import order_of_rows
from sfumato.assessment.attacks.prediction import Plays, played, predicting
from sfumato.assessment.attacks.subset_linkage import most_telling, tolerant
from sfumato.assessment.case import Case, case_of
from sfumato.assessment.checks import attacks as checks
from sfumato.assessment.reading.alignment import Pair, align
from sfumato.assessment.subject import Subject
from sfumato.errors import DataError, ParameterError
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table

KNOWN = ["age", "weight", "town", "job", "school", "sex", "kids", "car"]


def people(rng: np.random.Generator, rows: int) -> pa.Table:
    """Columns that depend on each other, as those of people do."""
    age = np.clip(rng.normal(45, 18, rows).round(), 0, 95).astype(int)
    sex = rng.integers(0, 2, rows)
    job = (age // 12 + rng.integers(0, 12, rows)) % 20
    return pa.table(
        {
            "age": age,
            "weight": np.clip(rng.normal(60 + 12 * sex + age / 10, 11), 3, 150).round().astype(int),
            "town": [f"t{x}" for x in rng.zipf(1.5, rows) % 60],
            "job": [f"j{x}" for x in job],
            "school": [f"s{x}" for x in (job // 3 + rng.integers(0, 3, rows)) % 9],
            "sex": [f"x{x}" for x in sex],
            "kids": np.minimum(rng.poisson(1.4, rows), 6),
            "car": [f"c{x}" for x in rng.integers(0, 30, rows)],
        }
    )


def changed(rows: pa.Table, **columns: object) -> pa.Table:
    for name, values in columns.items():
        rows = rows.set_column(rows.column_names.index(name), name, pa.array(values))
    return rows


def jittered(rng: np.random.Generator, rows: pa.Table, *names: str) -> pa.Table:
    return changed(rows, **{n: rows[n].to_numpy() + rng.choice([-1, 1], len(rows)) for n in names})


def pair_of(original: pa.Table, released: pa.Table) -> Pair:
    return sharp(Table.from_arrow(original), Table.from_arrow(released))


def above(score: Score) -> float:
    assert score.control is not None
    return score.value - score.control


def low_above(score: Score) -> float:
    return float(score.details["above_control"]["low"])


# -- the columns that tell, and errors ------------------------------------------------------------


def test_two_blanked_columns_hide_nobody_from_who_matches_on_the_others() -> None:
    rng = np.random.default_rng(1)
    rows, control = people(rng, 1500), Table.from_arrow(people(rng, 1500))
    blank = np.zeros(1500, int)
    pair = pair_of(rows, changed(rows, age=blank, weight=blank))
    assert deterministic(pair, KNOWN, control=control)[0].value == 0
    key = Key.from_seed(1)
    for attack in (most_telling, tolerant):
        claimed, found = attack(pair, KNOWN, key=key, truth="rows", control=control)
        assert above(claimed) > 0.7 and found.value > 0.8
        assert "age" not in str(claimed.details.get("chosen", ""))


def test_values_that_are_one_off_are_forgiven() -> None:
    rng = np.random.default_rng(2)
    rows, control = people(rng, 1200), Table.from_arrow(people(rng, 1200))
    pair = pair_of(rows, jittered(rng, rows, "age", "weight", "kids"))
    assert above(deterministic(pair, KNOWN, control=control)[0]) < 0.05
    claimed, found = tolerant(pair, KNOWN, key=Key.from_seed(2), truth="rows", control=control)
    assert above(claimed) > 0.6 and found.value > 0.8


@pytest.mark.parametrize("attack", [most_telling, tolerant])
@pytest.mark.parametrize("noisy", [False, True])
def test_rows_of_other_people_raise_no_alarm(attack: object, noisy: bool) -> None:
    for _ in range(3):
        rng = np.random.default_rng()
        rows, others = people(rng, 800), people(rng, 700)
        others = jittered(rng, others, "age", "weight") if noisy else others
        control = Table.from_arrow(people(rng, 600))
        given_ = {"key": Key.fresh(), "control": control, "confidence": SURE}
        (score,) = attack(pair_of(rows, others), KNOWN, **given_)  # type: ignore[operator]
        assert low_above(score) <= 0 and abs(above(score)) < 0.15


def test_strangers_numbers_are_as_near_as_peoples_would_be() -> None:
    """The same people, once as people and once as strangers: agreement must be worth the same."""
    rng = np.random.default_rng(5)
    rows = people(rng, 600)
    shifted = changed(people(rng, 600), age=np.arange(600) % 97 + 0.5)
    seen = agreement(pair_of(rows, shifted), ["age"], Table.from_arrow(rows))
    assert seen.control is not None
    mine, theirs = seen.best(seen.people), seen.best(seen.control)
    assert np.allclose(mine.best, theirs.best) and np.allclose(mine.share, theirs.share)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10**6))
def test_who_stands_alone_is_found_by_looking_at_every_record(seed: int) -> None:
    pair, names = generalized_pair(seed, 70), ["a", "b", "c"]
    view = look(pair, names)
    part = subset_linkage.Part(np.arange(70), np.arange(70), None)
    search = subset_linkage._prepared(view, None, part, Key.from_seed(seed))
    for columns in ((0,), (1, 2), (0, 1, 2)):
        fits = look(pair, [view.columns[c] for c in columns])
        found = search._alone(search.people, columns)
        assert ((found >= 0) == (fits.matches == 1)).all()
        assert ((found == -1) == (fits.matches == 0)).all()
        right = (fits.matches == 1) & fits.may_be(np.arange(70))
        assert search.worth(columns) == pytest.approx(right.mean())


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10**6))
def test_the_best_and_the_runner_up_are_those_of_all_records(seed: int) -> None:
    seen = agreement(generalized_pair(seed, 50), ["a", "b", "c"])
    table = np.stack([seen.between(seen.people, np.full(50, r)) for r in range(50)], axis=1)
    found = seen.best(seen.people)
    ordered = np.sort(table, axis=1)
    assert np.allclose(found.best, ordered[:, -1], atol=1e-4)
    assert np.allclose(found.second, ordered[:, -2], atol=1e-4)
    assert np.allclose(table[np.arange(50), found.which], ordered[:, -1], atol=1e-4)


def test_agreement_is_worth_how_rare_it_is() -> None:
    original = pa.table({"x": [10, 20, 30, 40], "n": ["a", "a", "b", "c"]})
    released = pa.table({"x": [11, 20, 33, 90], "n": ["a", "b", "b", "a"]})
    seen = agreement(pair_of(original, released), ["x", "n"])
    x, n = seen.columns.index("x"), seen.columns.index("n")

    def bits(column: int, person: int, record: int) -> float:
        return float(seen.gains[column][seen.people[person, column], seen.released[record, column]])

    assert bits(n, 0, 0) == 1.0 and bits(n, 0, 1) == 0.0  # half of the records are 'a'
    assert bits(x, 1, 1) == 2.0  # one of four is 20
    assert bits(x, 0, 0) == 2.0  # 11 is the nearest to 10: one of four comes that near
    assert bits(x, 0, 1) == 1.0 and bits(x, 0, 3) == 0.0


def test_what_is_drawn_hangs_on_the_key_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("_TRIED", 300),
        ("_SEARCHED", 60),
        ("_FEWEST", 60),
        ("_RECORDS", 256),
        ("_LEAST", 200),
    ):
        monkeypatch.setattr(subset_linkage, name, value)
    rng = np.random.default_rng(3)
    rows, control = people(rng, 1000), Table.from_arrow(people(rng, 900))
    pair = pair_of(rows, changed(rows, age=np.zeros(1000, int)))

    def both(seed: int) -> list[tuple[str, float, int]]:
        key = Key.from_seed(seed)
        given_ = {"key": key, "control": control, "truth": "rows"}
        scores = [*most_telling(pair, KNOWN, **given_), *tolerant(pair, KNOWN, pairs=1.0, **given_)]
        return [(s.name, s.value, s.details["people"]) for s in scores]

    assert both(1) == both(1) != both(2)
    assert {n for _, _, n in both(1)} == {240, 150}  # less those on whom was chosen


def test_a_claim_needs_somebody_to_be_held_against() -> None:
    rows = people(np.random.default_rng(0), 30)
    for attack in (most_telling, tolerant):
        with pytest.raises(ParameterError, match="right claim looks like a wrong one"):
            attack(pair_of(rows, rows), KNOWN, key=Key.from_seed(0))


# -- the order of rows ----------------------------------------------------------------------------


def test_a_release_in_the_order_of_the_original_gives_places_away() -> None:
    rng = np.random.default_rng(4)
    rows = people(rng, 1000)
    noisy = jittered(rng, rows, "age", "weight")
    noisy = changed(noisy, **{n: rng.permutation(rows[n].to_pylist()) for n in ("town", "job", "car")})
    assert order_of_rows(pair_of(rows, rows))[0].value > 0.95
    assert order_of_rows(pair_of(rows, noisy))[0].low > 0.3  # type: ignore[operator]
    fewer = rows.filter(pa.array(rng.random(1000) > 0.1))
    (score,) = order_of_rows(pair_of(rows, fewer))
    assert score.baseline == pytest.approx(0.2) and score.low is not None and score.low > 0.35


@pytest.mark.parametrize("by", [[], ["age"], ["town", "sex"], ["weight", "age"]])
@pytest.mark.parametrize("fewer", [0, 90])
def test_shuffled_rows_and_files_that_are_merely_sorted_raise_no_alarm(by: list[str], fewer: int) -> None:
    rng = np.random.default_rng(len(by) + fewer)
    rows, others = people(rng, 900), people(rng, 900 - fewer)
    if by:
        keys = [(name, "ascending") for name in by]
        rows, others = rows.sort_by(keys), others.sort_by(keys)
    else:
        others = rows.take(pa.array(rng.permutation(900)[: 900 - fewer]))
    (score,) = order_of_rows(pair_of(rows, others), confidence=SURE)
    assert score.low is not None and score.baseline is not None and score.low <= score.baseline


# -- prediction -----------------------------------------------------------------------------------


def members(rng: np.random.Generator, rows: int, title: bool) -> Table:
    """Five numbers and the sex are known; the title is kept, and follows from the sex, or is one for all."""
    sex = np.where(rng.random(rows) < 0.15, "w", "m")
    said = np.where((sex == "w") & title, "Ms", "Mr")
    numbers = {f"n{i}": rng.integers(0, 30, rows) for i in range(5)}
    return Table.from_arrow(pa.table({**numbers, "sex": sex, "title": said, "number": np.arange(rows)}))


def exchanged(table: Table, rounds: int, k: int, known: tuple[str, ...]) -> Iterator[tuple[Pair, np.ndarray]]:
    columns = [c for c in table.columns if c != "number"]
    for seed in range(rounds):
        release = sf.anonymize(
            table, sf.KAnonymity(k), method=sf.ClusterResample(columns=known), key=Key.from_seed(seed)
        )
        own = by_key(table, release.data, "number")
        yield align(table.select(columns), release.data.select(columns), bins=100), own


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::sfumato.errors.SfumatoWarning")
def test_what_is_kept_gives_away_who_differs_from_their_group() -> None:
    known = ("n0", "n1", "n2", "n3", "n4", "sex")
    given_ = {"key": Key.from_seed(1), "k": 10, "rounds": 40}
    for title in (True, False):
        table = members(np.random.default_rng(7), 300, title)
        found = played(exchanged(table, 40, 10, known), known, **given_)
        assert found.chance.mean() < 0.1
        if title:  # a lone woman in a group of men is the row with her title, wherever her values went
            assert found.proven() >= 2 and found.found.max() >= 15
        else:  # one title for all says nothing: the promise holds
            assert found.proven(SURE) == 0


def test_holms_rule_counts_what_cannot_be_luck() -> None:
    from scipy.stats import binom

    found = np.array([20, 9, 2, 2, 1, 0])
    tails = binom.sf(found - 1, 20, 0.1)
    assert tails[0] < 0.05 / 6 and tails[1] < 0.05 / 5 and tails[2] > 0.05 / 4
    assert Plays(found, found / 20, 20, 10).proven() == 2
    rng = np.random.default_rng()
    lucky = rng.binomial(60, 0.1, 3000)
    assert Plays(lucky, lucky / 60, 60, 10).proven(SURE) == 0


def test_a_predicting_intruder_is_judged_by_the_truth_and_finds_nobody_by_luck() -> None:
    rng = np.random.default_rng()
    rows, others = people(rng, 500), people(rng, 500)
    known = KNOWN[:4]
    (score,) = predicting(pair_of(rows, others), known, key=Key.from_seed(0), confidence=SURE)
    assert score.low is not None and score.baseline == pytest.approx(1 / 500) and score.low <= 1 / 500
    (score,) = predicting(pair_of(rows, rows), known, key=Key.from_seed(0), people=300)
    assert score.value > 0.5 and score.details["people"] == 300
    with pytest.raises(ParameterError, match="judged by the truth"):
        predicting(pair_of(rows, rows), known, key=Key.from_seed(0), truth=None)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::sfumato.errors.SfumatoWarning")
def test_records_of_adult_are_found_more_often_than_one_in_k(data_dir: Path) -> None:
    """benchmarks/prediction_of_rows.py with fewer plays."""
    known = ("age", "sex", "race", "marital-status", "education-num", "hours-per-week")
    rows = pq.read_table(data_dir / "adult" / "adult_uci_48842.parquet")
    chosen = np.sort(np.random.default_rng(0).choice(len(rows), 2_000, replace=False))
    some = rows.take(pa.array(chosen)).select([*known, "relationship"])
    table = Table.from_arrow(some.append_column("number", pa.array(np.arange(2_000))))
    found = played(exchanged(table, 24, 10, known), known, key=Key.from_seed(0), k=10, rounds=24)
    assert found.proven() >= 4 and found.found.max() >= 14


# -- in an assessment -----------------------------------------------------------------------------


def case(table: Table, keep: bool) -> Case:
    known = ("n0", "n1", "sex")

    def maker(people: Table, key: Key) -> sf.Release:
        few = people if keep else people.select([*known, "title"])
        return sf.anonymize(few, sf.KAnonymity(5), method=sf.ClusterResample(columns=known), key=key)

    release = maker(table, Key.fresh())
    return case_of(
        Subject(original=table, released=release, quasi_identifiers=known, maker=maker, key=Key.from_seed(1))
    )


@pytest.mark.filterwarnings("ignore::sfumato.errors.SfumatoWarning")
def test_releases_are_made_anew_and_a_number_says_whose_row_is_whose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_ROUNDS", {"normal": 3})
    monkeypatch.setattr(checks, "_PEOPLE", 50)
    table = members(np.random.default_rng(1), 80, True).select(["n0", "n1", "sex", "title"])
    told = case(table, keep=True)
    assert told.promised == 5
    found = {s.name: s for s in checks._predicting_again(told)}
    assert found["predicting intruder, played"].details["people"] == 50
    assert found["largest chance of a single record"].baseline == pytest.approx(1 / 5)
    assert 0 < found["predicting intruder, played"].value < 0.5
    with pytest.raises(DataError, match="does not carry along"):
        checks._predicting_again(case(table, keep=False))


def test_what_an_intruder_who_thinks_needs_is_said() -> None:
    rows = Table.from_arrow(people(np.random.default_rng(2), 60))
    found = sf.assess(rows, rows, quasi_identifiers=KNOWN[:3], effort="quick", key=Key.from_seed(0))
    reasons = {s.part: s.reason for s in found.skipped}
    assert "nor whose row is whose" in reasons["linking by the most telling columns"]
    assert "maker" in reasons["predicting, in releases made anew"]
    assert found["order of rows"].value > 0.5
    told = sf.assess(
        rows, rows, quasi_identifiers=KNOWN[:3], truth="rows", effort="quick", key=Key.from_seed(0)
    )
    assert told["linking that forgives errors, re-identified"].value > 0.5
    assert told["linking by the most telling columns, re-identified"].value > 0.5
    fewer = sf.assess(rows, rows.drop(["town"]), quasi_identifiers=KNOWN[:3], truth="rows", effort="quick")
    for score in (fewer[n] for n in fewer.names if n.endswith("re-identified") and " by the " in n):
        assert score.details["not_usable"] == ["town"]


def test_who_is_found_does_not_depend_on_the_file_a_person_is_in() -> None:
    """Original and control exchanged: the same people have the same records. So a choice made on some of them
    is tried on others who were dealt out at random, and the bounds of the gain hold."""
    rng = np.random.default_rng(4)
    first, second, third = (
        rows.append_column("charge", pa.array(np.round(rng.lognormal(8, 1, len(rows)), 2)))
        for rows in (people(rng, 300) for _ in range(3))
    )
    known = [*KNOWN, "charge"]
    found = {}
    for name, original, control in (("as given", first, second), ("exchanged", second, first)):
        case = case_of(
            Subject(
                original=original, released=third, control=control, quasi_identifiers=known, effort="quick"
            )
        )
        for columns in (known, ["age", "charge"], ["charge"], ["town", "kids", "weight"]):
            inside = look(case.sharp, columns).matches
            outside = look(case.sharp, columns, case.control).matches
            found[name, tuple(columns)] = (inside, outside)
    for (name, columns), (inside, outside) in found.items():
        other = found["exchanged" if name == "as given" else "as given", columns]
        assert (inside == other[1]).all() and (outside == other[0]).all(), columns
