from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from assessment.attack_tables import fitting, literal_greedy, names, ring, table
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.assessment import attacks
from sfumato.assessment.attacks.ambiguity import _links, _usable
from sfumato.assessment.attacks.intruder import look
from sfumato.assessment.reading.alignment import Pair, align
from sfumato.errors import DataError, ParameterError


def matching_size(fits: np.ndarray) -> int:
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    return int((maximum_bipartite_matching(csr_matrix(fits.astype(int)), perm_type="column") >= 0).sum())


def left_by_hand(fits: np.ndarray) -> np.ndarray:
    """Which links some largest matching uses: fix each link and see whether the rest can still be matched."""
    largest = matching_size(fits)
    out = np.zeros_like(fits)
    for i, j in zip(*np.nonzero(fits), strict=True):
        rest = np.delete(np.delete(fits, i, 0), j, 1)
        out[i, j] = matching_size(rest) == largest - 1
    return out


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 9), st.integers(2, 9))
def test_pruning_removes_exactly_the_links_no_largest_matching_uses(
    seed: int, people: int, records: int
) -> None:
    rng = np.random.default_rng(seed)
    values = [f"v{i}" for i in range(4)]
    original = {"x": [str(v) for v in rng.choice(values, people)]}
    sets = ["{" + ", ".join(sorted({str(v) for v in rng.choice(values, 2)})) + "}" for _ in range(records)]
    pair = align(table(original), table({"x": sets}))
    fits = fitting(pair, ["x"])
    view = look(pair, ["x"])
    usable, matched = _usable(_links(view), view.persons.sizes, view.classes.sizes)
    rows = usable.toarray().astype(bool)[view.persons.of][:, view.classes.of]
    assert matched == matching_size(fits)
    # Equal people and equal records are one node, and both versions treat them alike.
    assert rows.tolist() == left_by_hand(fits).tolist()


def test_a_ring_of_ambiguity_three_gives_everyone_away_but_the_last_three() -> None:
    pair = ring(30, 3)
    assert attacks.smallest_cover(pair, ["x"])[0].value == 3
    found = attacks.perfect_matching(pair, ["x"])[0]
    # Person 0 fits record 0 only, so person 1 has record 1, and so on up to the three equal records.
    assert found.value == pytest.approx(27 / 30)
    assert found.baseline == pytest.approx(1 / 30)
    assert found.details["perfect"] and found.details["links_removed"] > 0.5


def test_literal_greedy_at_three_is_re_identified_in_good_part() -> None:
    shares = []
    for seed in range(6):
        pair = literal_greedy(seed, 150, 3)
        assert attacks.smallest_cover(pair, list(pair.columns))[0].value >= 3
        found, guessed = attacks.perfect_matching(pair, list(pair.columns))
        assert found.baseline is not None and guessed.baseline is not None
        assert found.value >= found.baseline and guessed.value >= guessed.baseline
        shares.append(found.value)
    assert np.mean(shares) > 0.1


def test_closed_classes_withstand_the_matching() -> None:
    columns = {"x": [f"v{i}" for i in range(12)]}
    blocks = ["{" + ", ".join(columns["x"][i // 3 * 3 : i // 3 * 3 + 3]) + "}" for i in range(12)]
    found, guessed = attacks.perfect_matching(align(table(columns), table({"x": blocks})), ["x"])
    assert found.value == 0 and guessed.value == pytest.approx(1 / 3)
    assert found.details["links_removed"] == 0


def two_releases(order: list[int]) -> tuple[Pair, Pair]:
    """Each release generalizes one of the two columns, in classes of two."""
    original = table(
        {"age": ["20", "21", "30", "31"], "zip": ["10", "20", "10", "20"], "s": ["u", "v", "w", "x"]}
    )
    one = {
        "age": ["{20, 21}", "{20, 21}", "{30, 31}", "{30, 31}"],
        "zip": ["*"] * 4,
        "s": ["u", "v", "w", "x"],
    }
    two = {"age": ["*"] * 4, "zip": ["10", "20", "10", "20"], "s": ["u", "v", "w", "x"]}
    shuffled = {c: [v[i] for i in order] for c, v in two.items()}
    return align(original, table(one)), align(original, table(shuffled))


def test_rows_in_the_same_order_are_put_side_by_side() -> None:
    first, second = two_releases([0, 1, 2, 3])
    same, found = attacks.unsorted_matching(first, second, ["age", "zip"])
    assert same.value == 1
    assert found.value == 1 and found.baseline == 0
    with pytest.raises(DataError, match="rows"):
        shorter = align(first.original, table({"age": ["*"], "zip": ["*"], "s": ["u"]}))
        attacks.unsorted_matching(first, shorter, ["age", "zip"])


def test_two_complementary_releases_intersect_to_one_value_in_any_order() -> None:
    pairs = two_releases([3, 1, 0, 2])
    value, record = attacks.complementary(pairs, ["age", "zip"], "s")
    assert value.value == 1 and value.baseline == 0
    assert record.value == 1 and record.baseline == 0


def test_order_cannot_be_told_where_rows_were_shuffled() -> None:
    rng = np.random.default_rng(4)
    columns = names(rng, 300, {"a": 5, "b": 5})
    other = rng.permutation(300)
    original = table(columns)
    shuffled = align(original, table({c: [v[i] for i in other] for c, v in columns.items()}))
    same = attacks.unsorted_matching(align(original, original), shuffled, ["a", "b"], confidence=1 - 1e-6)[0]
    assert same.low is not None and same.baseline is not None and same.low <= same.baseline < 0.2


def test_the_newcomer_is_what_the_later_release_has_more_of() -> None:
    before = {"zip": ["1", "1", "2"], "s": ["flu", "gout", "flu"]}
    after = {"zip": [*before["zip"], "1"], "s": [*before["s"], "hiv"]}
    pairs = [align(table(x), table(x)) for x in (before, after)]
    right, certain = attacks.temporal(pairs[0], pairs[1], ["zip"], "s")
    assert right.value == 1 and certain.value == 1
    assert right.baseline == pytest.approx(1 / 3) and certain.baseline == 0
    with pytest.raises(ParameterError, match="newcomers"):
        attacks.temporal(pairs[1], pairs[1], ["zip"], "s")


def test_suppressing_the_only_rare_value_points_at_it() -> None:
    columns = {"race": ["w"] * 9 + ["b"]}
    pair = align(table(columns), table({"race": ["w"] * 9 + ["*"]}))
    score = attacks.rare_values(pair, ["race"], k=5)[0]
    assert score.value == 1 and score.details["fewest_records"] == 1
    hidden = align(table(columns), table({"race": ["*"] * 5 + ["w"] * 4 + ["*"]}))
    assert attacks.rare_values(hidden, ["race"], k=5)[0].value == 0
    assert attacks.rare_values([hidden, pair], ["race"], k=5)[0].value == 1
    with pytest.raises(ParameterError, match="from 2 up"):
        attacks.rare_values(pair, ["race"], k=1)


def binned(before: list[int] | list[float], after: Sequence[object], **more: Sequence[object]) -> Pair:
    """A number in bins, of which the release adds some of its own."""
    return align(table({"x": before, "s": more["s"]}), table({"x": after, "s": more.get("t", more["s"])}))


def test_values_that_only_one_release_has_part_no_two_releases() -> None:
    secret = ["u", "v", "w", "x"]
    plain = binned([5, 7, 9, 11], ["5-7", "5-7", "9-11", "9-11"], s=secret)
    for further in (6, 2, 40):  # between the original's values, below and above them
        others = [binned([5, 7, 9, 11], [5, 7, 9, further], s=secret)]
        others.append(binned([5, 7, 9, 11], ["5", "7-9", "7-9", str(further)], s=secret))
        for other in others:
            for first, second in ((plain, other), (other, plain)):
                same, found = attacks.unsorted_matching(first, second, ["x"], truth=None)
                assert same.value == 0.75  # all but the row whose value was replaced
                assert found.value == 0.75
                rare = attacks.rare_values([first, second], ["x"], k=3)[0]
                assert rare.value == 1 and rare.details["people"] == 4


def test_a_sensitive_number_is_the_same_in_every_release() -> None:
    original = {"zip": ["1", "1", "2", "2"], "x": [5, 7, 5, 9]}
    one = align(table(original), table({"zip": ["1", "1", "2", "2"], "x": [5, 6, 5, 90]}))
    two = align(table(original), table({"zip": ["1", "2", "1", "2"], "x": [5, 7, 7, 1]}))
    value, _ = attacks.complementary([one, two], ["zip"], "x")
    # of zip 1 the releases hold {5, 6} and {5, 7}: 5 is left, and right for one of two
    assert value.value == 0.25 and value.baseline == 0


def test_a_truth_value_is_the_same_as_flag_and_as_text() -> None:
    original = table({"zip": ["1", "1"], "x": [True, False]})
    flags = align(original, table({"zip": ["1", "1"], "x": [True, True]}))
    texts = align(original, table({"zip": ["1", "1"], "x": ["true", "unknown"]}))
    value, _ = attacks.complementary([flags, texts], ["zip"], "x")
    assert value.value == 0.5


def test_originals_in_different_bins_are_refused() -> None:
    def of(numbers: range) -> Pair:
        return align(*[table({"zip": ["1"] * len(numbers), "x": list(numbers)})] * 2)

    with pytest.raises(DataError, match="different bins"):
        attacks.temporal(of(range(100)), of(range(130)), ["zip"], "x")
    few = attacks.temporal(of(range(5)), of(range(7)), ["zip"], "x")[0]  # a bin is a value
    assert few.value == 0.5


def test_releases_of_different_people_are_refused() -> None:
    first, _ = two_releases([0, 1, 2, 3])
    other = align(
        table({"age": ["20"], "zip": ["10"], "s": ["u"]}), table({"age": ["*"], "zip": ["*"], "s": ["u"]})
    )
    with pytest.raises(DataError, match="same people"):
        attacks.complementary([first, other], ["age", "zip"], "s")


def test_a_baseline_counts_only_whoever_is_found_rightly() -> None:
    """Two people have each other's record: it is the only one that fits, and it is not theirs."""
    pair = align(table({"x": ["a", "b", "c"]}), table({"x": ["b", "a", "c"]}))
    matched = attacks.perfect_matching(pair, ["x"])
    assert [(s.value, s.baseline) for s in matched] == [(pytest.approx(1 / 3),) * 2] * 2
    found = attacks.unsorted_matching(pair, pair, ["x"])[1]
    assert (found.value, found.baseline) == (pytest.approx(1 / 3),) * 2


def test_nobody_is_known_by_a_missing_value() -> None:
    columns = {"x": ["a"] * 9 + [None]}
    score = attacks.rare_values(align(table(columns), table(columns)), ["x"], k=3)[0]
    assert (score.value, score.details["people"]) == (0.0, 0)


def test_a_row_number_is_a_whole_number() -> None:
    pair = align(table({"x": ["a", "b"]}), table({"x": ["a", "b"]}))
    for truth in ([0.5, 1.0], [float("nan"), 1.0]):
        with pytest.raises(ParameterError, match="row number"):
            attacks.perfect_matching(pair, ["x"], truth=truth)  # type: ignore[arg-type]
