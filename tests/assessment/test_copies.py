"""Copies: found by content, against people outside; a clean file is left alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import oracles
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.assessment.copies import Overlap, counted_rows, find, overlap
from sfumato.assessment.copies.cells import cells
from sfumato.assessment.copies.equality import equal_rows
from sfumato.assessment.copies.nearness import evidence, few
from sfumato.assessment.copies.rarity import RowTree
from sfumato.assessment.copies.tails import detectable, tail
from sfumato.seeds import Key
from sfumato.table import Table

ROWS = 1_200
KEY = Key.from_seed(3)


def people(rows: int, seed: int) -> dict[str, list[object]]:
    """Nine columns that hang together a little, some of them rare."""
    rng = np.random.default_rng(seed)
    sick = rng.random(rows) < 0.3
    return {
        "age": list(np.clip(rng.normal(50 + 15 * sick, 12), 18, 95).astype(int)),
        "sex": list(rng.choice(["female", "male"], rows)),
        "county": [f"c{i}" for i in rng.geometric(0.15, rows)],
        "dx": [f"d{i}" for i in rng.geometric(np.where(sick, 0.1, 0.4))],
        "ward": list(rng.choice(["a", "b", "c", "d"], rows, p=[0.5, 0.3, 0.15, 0.05])),
        "days": list(rng.poisson(2 + 6 * sick)),
        "charge": list(np.round(rng.lognormal(7 + sick, 0.5)).astype(int)),
        "race": list(rng.choice(["x", "y", "z"], rows, p=[0.7, 0.25, 0.05])),
        "died": [str(v) for v in rng.random(rows) < 0.05 + 0.1 * sick],
    }


def table(columns: dict[str, list[object]]) -> Table:
    return sf.scan(pa.table(columns))


def lent(original: Table, control: Table, columns: Sequence[str], seed: int = 3) -> Overlap:
    """Originals in the control; what was released does not enter it."""
    return overlap(counted_rows([original, original, control], columns), Key.from_seed(seed), 1e-3)


def rows_of(
    columns: dict[str, list[object]], at: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> dict[str, list[object]]:
    return {n: [v[i] for i in at] for n, v in columns.items()}


def joined(first: dict[str, list[object]], second: dict[str, list[object]]) -> dict[str, list[object]]:
    return {n: [*first[n], *second[n]] for n in first}


def found(original, released, control, **more):  # type: ignore[no-untyped-def]
    first, second = table(original), table(released)
    outside = None if control is None else table(control).with_schema(first.schema)
    settings = {"known": ["age", "sex", "county"], "meanings": {}, **more}
    return find(
        first, second, outside, columns=[c for c in first.columns if c in second.columns and c != "id"],
        whole=(first, second, outside), key=Key.from_seed(3), most_work=10**10, error=0.01, **settings,
    )  # fmt: skip


@pytest.fixture(scope="module")
def three() -> tuple[dict[str, list[object]], ...]:
    return people(ROWS, 1), people(ROWS, 2), people(ROWS, 3)


def test_rows_of_other_people_are_no_copies(three) -> None:  # type: ignore[no-untyped-def]
    original, control, rest = three
    clean = found(original, rest, control)
    assert clean.p > 0.01 and clean.because == ""
    assert clean.named_by_chance == pytest.approx(1, abs=0.01)
    share = clean.scores[0]
    assert share.name == "copied rows" and share.low == 0 and share.value < 0.02


@pytest.mark.parametrize("share", [0.05, 0.2, 1.0])
@pytest.mark.parametrize("with_control", [True, False])
def test_the_share_of_copies_follows_the_true_one(three, share: float, with_control: bool) -> None:  # type: ignore[no-untyped-def]
    original, control, rest = three
    many = round(share * ROWS)
    mixed = joined(rows_of(original, np.arange(many)), rows_of(rest, np.arange(ROWS - many)))
    seen = found(original, mixed, control if with_control else None)
    assert seen.p < 1e-6 and "rows of the original" in seen.because
    score = seen.scores[0]
    assert score.low is not None and score.high is not None
    assert score.low - 0.01 <= share <= score.high + 0.01


def test_one_unusual_person_is_named(three) -> None:  # type: ignore[no-untyped-def]
    original, control, rest = three
    odd = rows_of(original, np.array([7]))
    odd |= {"county": ["c77"], "dx": ["d88"], "race": ["z"], "ward": ["d"], "charge": [99_999]}
    original = joined(original, odd)
    seen = found(original, joined(odd, rest), control)
    named = [p["row of the original"] for p in seen.people]
    assert ROWS in named and len(named) <= 5
    assert next(p for p in seen.people if p["row of the original"] == ROWS)["row of the release"] == 0


def test_noise_on_every_number_hides_nobody(three) -> None:  # type: ignore[no-untyped-def]
    original, control, _ = three
    rng = np.random.default_rng(5)
    noisy = dict(original)
    for name in ("age", "days", "charge"):
        noisy[name] = [
            int(v) + int(s) for v, s in zip(original[name], rng.choice([-1, 1], ROWS), strict=True)
        ]  # type: ignore[call-overload]
    order = rng.permutation(ROWS)
    seen = found(original, rows_of(noisy, order), control)
    assert seen.p < 1e-6 and "is nearly theirs" in seen.because
    right = [p["row of the original"] == order[p["row of the release"]] for p in seen.people]
    assert right and np.mean(right) > 0.9


def test_a_class_of_generalized_rows_is_no_copy_of_one_person(three) -> None:  # type: ignore[no-untyped-def]
    """Rows that share generalized quasi-identifiers with others are judged by attacks, not as copies."""
    original, control, _ = three
    general = {**original, "age": ["*"] * ROWS, "sex": ["*"] * ROWS, "county": ["*"] * ROWS}
    near = found(original, general, control).scores[1]
    assert near.name == "people nearly copied" and near.value == 0


def test_classes_are_counted_in_all_released_rows(three) -> None:  # type: ignore[no-untyped-def]
    """Of classes of five, the few rows that are compared show hardly two: that makes nobody a copy."""
    zones: list[object] = [f"z{i // 5}" for i in range(ROWS)]
    sexes: list[object] = [("male", "female")[i // 5 % 2] for i in range(ROWS)]
    original, control = ({**columns, "sex": sexes, "zone": zones} for columns in three[:2])
    general = {**original, "sex": ["*"] * (ROWS // 2) + sexes[ROWS // 2 :]}
    first, second, outside = table(original), table(general), table(control)
    drawn = find(
        first, second, outside.with_schema(first.schema), columns=first.columns, meanings={}, key=KEY,
        whole=(first, second, outside), most_work=9 * 10**6, error=0.01, known=["sex", "zone"],
    )  # fmt: skip
    assert drawn.because == "" and drawn.p > 0.01
    # A few stars in a file whose classes were as large before make nobody anonymous.
    few = table({**original, "sex": ["*"] * 5 + sexes[5:]})
    copied = find(
        first, few, outside.with_schema(first.schema), columns=first.columns, meanings={}, key=KEY,
        whole=(first, few, outside), most_work=9 * 10**6, error=0.01, known=["sex", "zone"],
    )  # fmt: skip
    assert copied.because == "All of the released rows are rows of the original."


def test_an_identifier_that_survives_is_seen_under_another_name(three) -> None:  # type: ignore[no-untyped-def]
    original, control, rest = (
        {"id": [f"{seed}-{i:05d}" for i in range(ROWS)], **columns}
        for seed, columns in zip("xyz", three, strict=True)
    )
    stars: dict[str, list[object]] = {n: ["*"] * ROWS for n in original}
    kept = {**stars, "number": [str(v).upper() for v in reversed(original["id"])]}
    del kept["id"]
    seen = found(original, kept, control)
    assert seen.p < 1e-6 and "'id'" in seen.because and "'number'" in seen.because
    fresh = found(original, {**rest, "number": rest["id"]}, control)
    assert fresh.p > 0.01


def test_running_numbers_are_no_identifier_that_survives(three) -> None:  # type: ignore[no-untyped-def]
    original, control, rest = (
        {"id": [str(1 + i + ROWS * at) for i in range(ROWS)], **columns} for at, columns in enumerate(three)
    )
    numbered = {**rest, "id": [str(i + 1) for i in range(ROWS)]}  # as any program numbers its rows
    assert found(original, numbered, control).p > 0.01
    assert "'id'" in found(original, original, control).because  # but rows joined by it agree


def test_few_and_common_columns_are_no_overlap_and_no_copies() -> None:
    """Where many people agree by chance, nothing may look copied, with a control or without."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        original, control, rest = (
            {
                "a": list(rng.integers(0, 60, 1_500)),
                "b": list(rng.integers(0, 40, 1_500)),
                "c": list(rng.choice(4, 1_500)),
            }
            for _ in range(3)
        )
        assert lent(table(original), table(control), ["a", "b", "c"]).p > 1e-3
        assert found(original, rest, control, known=["a"]).p > 1e-3
        assert found(original, rest, None, known=["a"]).p > 1e-3


@pytest.mark.parametrize("share", [0.01, 0.03, 0.9])
def test_rows_of_the_original_in_the_control_are_found(three, share: float) -> None:  # type: ignore[no-untyped-def]
    original, control, _ = three
    columns = list(original)
    many = round(share * ROWS)
    mixed = joined(rows_of(control, np.arange(ROWS - many)), rows_of(original, np.arange(many)[::-1]))
    mixed = rows_of(mixed, np.random.default_rng(0).permutation(ROWS))
    seen = lent(table(original), table(mixed), columns)
    assert seen.p < (1e-3 if share < 0.02 else 1e-6) and abs(seen.rows - many) <= 0.02 * ROWS
    assert lent(table(original), table(control), columns).p > 1e-3


def test_what_is_said_to_be_noticed_in_a_control_is_noticed() -> None:
    """The share of lent rows that would be noticed 95 times in 100 is; half of it is not surely."""
    columns = ["a", "b", "c"]
    hits, few_, told = 0, 0, []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        files = [
            {n: list(rng.geometric(p, 800).astype(str)) for n, p in (("a", 0.03), ("b", 0.05), ("c", 0.3))}
            for _ in range(2)
        ]
        told.append(lent(table(files[0]), table(files[1]), columns, seed).seen)
        for share in (told[-1], told[-1] / 4):
            many = round(share * 800)
            mixed = joined(rows_of(files[1], np.arange(800 - many)), rows_of(files[0], np.arange(many)))
            noticed = lent(table(files[0]), table(mixed), columns, seed).p <= 1e-3
            hits, few_ = (hits + noticed, few_) if share == told[-1] else (hits, few_ + noticed)
    assert min(told) > 0.01 and max(told) < 0.2
    assert hits >= 9  # of 16; 95 in 100 give fewer less than once in a million
    assert few_ < hits
    same = table({"a": ["x"] * 300})
    assert lent(same, same, ["a"]).seen == 1  # where all are alike nobody can tell who is in both


def test_the_tail_test_keeps_its_level_and_sees_few() -> None:
    rng = np.random.default_rng(0)
    chance = [tail(rng.normal(size=400), rng.normal(size=300)).p for _ in range(400)]
    assert np.mean(np.array(chance) <= 0.05) <= 0.05
    some = rng.normal(size=400)
    some[:30] += 10
    assert tail(some, rng.normal(size=300)).p < 1e-3
    nothing = tail(np.full(5, -np.inf), np.full(4, -np.inf))
    assert nothing.p == 1 and nothing.excess == 0


def test_the_most_of_a_tail_holds_the_largest_excess() -> None:
    """At whichever cut the excess is largest, its bound errs as seldom as it says: 1 in 100."""
    rng = np.random.default_rng(4)
    wrong = 0
    for _ in range(200):
        inside = rng.normal(size=500)
        inside[rng.random(500) < 0.1] += (
            2.0  # a tenth stands out: at the best cut by .1 (P(z > c - 2) - P(z > c))
        )
        wrong += tail(inside, rng.normal(size=500)).most(0.01) < 0.1 * 0.6826
    assert wrong <= 13  # of 200 at 0.01, more happens less than once in a million
    assert tail(np.full(5, -np.inf), np.full(4, -np.inf)).most(0.01) == 0


def test_the_strongest_row_is_that_of_all_rows() -> None:
    """Rows that cannot win are left out early; nobody who could is."""
    original, control, rest = (people(60, seed) for seed in (5, 6, 7))
    rest = joined(rows_of(rest, np.arange(40)), rows_of(original, np.arange(20)))
    found_ = cells([(table(f), None) for f in (original, rest, control)], list(original), {}, apart=(1,))
    for itself in (None, np.arange(60)):
        rows = found_.files[1] if itself is None else found_.files[0]
        seen = evidence(found_, found_.files[0], rows, itself=itself)
        for person in range(60):
            total = np.array(oracles.copy_evidence(found_, found_.files[0][:, person], rows))
            if itself is not None:
                total[person] = -np.inf
            assert total[seen.row[person]] == pytest.approx(total.max(), abs=1e-3)
            assert seen.score[person] in (-np.inf, pytest.approx(total.max(), abs=1e-3))


def test_what_is_said_to_be_seen_is_seen() -> None:
    """The share that would be seen 95 times in 100 is, in as many simulations."""
    rng = np.random.default_rng(1)
    own = rng.gamma(8, size=2_000)
    met = np.where(rng.random(2_000) < 0.2, own, -np.inf)
    share = detectable(own, met, 2_000, 0.01)
    hits = 0
    for _ in range(100):
        inside = np.where(rng.random(2_000) < 0.2, own, -np.inf)
        copied = rng.choice(2_000, round(share * 2_000), replace=False)
        inside[copied] = own[copied]
        hits += tail(inside, np.where(rng.random(2_000) < 0.2, own, -np.inf)).p <= 0.01
    assert 0.02 < share < 0.2 and hits >= 85
    assert detectable(own[:1], met, 2_000, 0.01) == 1  # one person cannot stand out among two thousand


def test_rarity_follows_what_hangs_together() -> None:
    """Columns that are copies of each other make a row no rarer than one of them."""
    rng = np.random.default_rng(2)
    one = rng.integers(0, 10, 5_000)
    codes = np.column_stack([one, one, one])
    tree = RowTree.fit(codes, np.ones(5_000, np.int64), [10, 10, 10])
    assert np.allclose(-tree.log_probability(codes, 1.0)[0], np.log(10), atol=0.15)
    mixed = np.array([[0, 1, 2]])
    assert -tree.log_probability(mixed, 0.0)[0][0] > 2 * np.log(10)


def test_few_is_a_fifth() -> None:
    assert [few(c) for c in (1, 2, 3, 9, 13, 31)] == [0, 0, 1, 2, 3, 6]


@pytest.mark.parametrize("with_control", [True, pytest.param(False, marks=pytest.mark.soak)])
def test_an_identifier_in_a_disguise_is_seen(three, with_control: bool) -> None:  # type: ignore[no-untyped-def]
    """Whoever knows an identifier can turn it round or hash it: beside other people's rows it still tells."""
    original, control, rest = (
        {"id": [f"{seed}{i * 7919 % 99991:05d}" for i in range(ROWS)], **columns}
        for seed, columns in zip("xyz", three, strict=True)
    )
    outside = control if with_control else None
    written = {
        "backwards": lambda v: v[::-1],
        "SHA1": lambda v: hashlib.sha1(v.encode()).hexdigest(),
        "SHA256": lambda v: hashlib.sha256(v.encode()).hexdigest(),
        "around": lambda v: f"NHS-{v}/1",
        "something": lambda v: f"q{v}q",
    }
    for word, change in written.items():
        seen = found(original, {**rest, "id": [change(v) for v in original["id"]]}, outside)
        assert seen.p < 1e-6 and word in seen.because, word
        fresh = found(original, {**rest, "id": [change(v) for v in rest["id"]]}, outside)
        assert fresh.p > 0.001, word


def test_people_of_few_columns_who_agree_by_chance_are_no_copies() -> None:
    """Twins and people met elsewhere are ranked alike: in files of few columns many rows are equal."""
    overlaps, copies = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        files = [
            table(
                {n: list(rng.geometric(p, 500).astype(str)) for n, p in (("a", 0.05), ("b", 0.2), ("c", 0.6))}
            )
            for _ in range(2)
        ]
        columns = files[0].columns
        overlaps.append(lent(files[0], files[1], columns).p)
        copies.append(equal_rows(counted_rows(files[:2], columns), 0.01, KEY).tail.p)
    assert min(overlaps) > 1e-4
    assert sum(p <= 0.05 for p in overlaps) <= 10  # of 30, exact: more happens less than once in a million
    assert sum(p <= 0.01 for p in copies) <= 2


def test_a_row_written_many_times_is_still_one_persons(three) -> None:  # type: ignore[no-untyped-def]
    original, control, rest = three

    def repeated(rows: dict[str, list[object]]) -> dict[str, list[object]]:
        return {**{n: v * 4 for n, v in rows.items()}, "sex": ["*"] * (4 * len(rows["sex"]))}

    assert found(original, repeated(original), control).p <= 0.01
    assert found(original, repeated(rest), control).p > 0.01
