"""The same people in another layout or under a code are the same people; the unknown is not met."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.assessment.copies.cells import cells
from sfumato.assessment.reading.layout import relaid
from sfumato.assessment.reading.leaves import Leaves
from sfumato.assessment.reading.matching import match_columns, understood
from sfumato.assessment.reading.unread import merged, too_much, unread
from sfumato.errors import DataError
from sfumato.seeds import Key

ROWS = 1_500


def people(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sick = rng.random(ROWS) < 0.3
    return pd.DataFrame(
        {
            "age": np.clip(rng.normal(45 + 20 * sick, 12, ROWS), 18, 95).astype(int),
            "sex": rng.choice(["female", "male"], ROWS, p=[0.55, 0.45]),
            "zip": rng.choice(
                [f"{z}" for z in range(10_000, 10_030)], ROWS, p=np.arange(1, 31) / np.arange(1, 31).sum()
            ),
            "dx": [f"d{i}" for i in rng.geometric(np.where(sick, 0.15, 0.5))],
            "cost": np.round(rng.lognormal(7 + sick, 0.6, ROWS), 2),
        }
    )


@pytest.fixture(scope="module")
def three() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    return people(1), people(2), people(3)


def hashed(frame: pd.DataFrame) -> pd.DataFrame:
    """Every cell by a key of its column that nobody knows."""
    out = {}
    for i, name in enumerate(frame):
        out[name] = [hashlib.sha256(f"key{i}{v}".encode()).hexdigest()[:10] for v in frame[name]]
    return pd.DataFrame(out)


def permuted(frame: pd.DataFrame) -> pd.DataFrame:
    """Every name is another name of the same column."""
    rng, out = np.random.default_rng(9), frame.copy()
    for name in ("sex", "zip", "dx"):
        values = np.sort(frame[name].unique())
        out[name] = frame[name].map(dict(zip(values, np.roll(values, 1 + rng.integers(3)), strict=True)))
    return out


DISGUISES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "merged": lambda f: pd.DataFrame({"row": f.astype(str).agg("|".join, axis=1)}),
    "merged with spaces": lambda f: pd.DataFrame({"row": f.astype(str).agg(" ; ".join, axis=1)}),
    "json": lambda f: pd.DataFrame({"row": [json.dumps(r) for r in f.to_dict("records")]}),
    "two merged": lambda f: f.assign(both=f["sex"] + "~" + f["zip"]).drop(columns=["sex", "zip"]),
    "split": lambda f: f.assign(a=f["zip"].str[:3], b=f["zip"].str[3:]).drop(columns="zip"),
    "hashed": hashed,
    "hashed and renamed": lambda f: hashed(f).rename(columns={n: f"v{i}" for i, n in enumerate(f)}),
    "permuted": permuted,
    "logarithms": lambda f: f.assign(cost=np.log(f["cost"]), age=np.exp(f["age"] / 10)),
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_disguise_hides_nobody(three: tuple[pd.DataFrame, ...], disguise: str) -> None:
    original, control, _ = three
    released = DISGUISES[disguise](original).sample(frac=1, random_state=1).reset_index(drop=True)
    found = sf.assess(
        original, released, control=control, thresholds={"risk": 0.05}, effort="quick", key=Key.from_seed(1)
    )
    assert found.thresholds[0].outcome == "not met", found.because


@pytest.mark.parametrize("disguise", DISGUISES)
def test_other_people_in_disguise_are_other_people(three: tuple[pd.DataFrame, ...], disguise: str) -> None:
    original, control, rest = three
    found = sf.assess(
        original, DISGUISES[disguise](rest), control=control, thresholds={"risk": 0.5}, effort="quick",
        key=Key.from_seed(1),
    )  # fmt: skip
    assert found.thresholds[0].outcome in ("met", "not examined"), found.because


def test_what_was_not_understood_is_not_met(three: tuple[pd.DataFrame, ...]) -> None:
    """Other people's rows, with columns of the original beside them under a key."""
    original, control, rest = three
    hidden = rest.assign(**{f"k{i}": hashed(original)[n] for i, n in enumerate(original)})
    found = sf.assess(
        original, hidden, control=control, thresholds={"risk": 0.5}, effort="quick", key=Key.from_seed(1)
    )
    assert found.thresholds[0].outcome == "not examined"
    assert "'k0'" in found.because and "leave them out" in found.because
    harmless = rest.assign(
        number=range(ROWS), source="hospital", pseudonym=hashed(original.assign(age=range(ROWS)))["age"]
    )
    clean = sf.assess(
        original, harmless, control=control, thresholds={"risk": 0.5}, effort="quick", key=Key.from_seed(1)
    )
    assert clean.thresholds[0].outcome == "met", clean.because


def test_what_is_read_and_what_is_not(three: tuple[pd.DataFrame, ...]) -> None:
    original = sf.scan(three[0])

    def not_read(frame: pd.DataFrame) -> tuple[str, ...]:
        return too_much(unread(original, sf.scan(frame), {}))

    general = three[2].assign(
        age=[f"[{a // 10 * 10}, {a // 10 * 10 + 10})" for a in three[2]["age"]], zip="100**"
    )
    assert not_read(three[2]) == not_read(general) == ()
    assert not_read(three[2].assign(dx="*", sex="f")) == ()
    assert not_read(three[2].assign(zip=hashed(three[2])["zip"])) == ("zip",)
    assert not_read(three[2].assign(cost=three[2]["cost"] + 1e9)) == ("cost",)
    assert unread(original, sf.scan(three[2].assign(dx="north")[:1]), {"dx": {"north": ["d1"]}}) == {}


def test_codes_are_read_by_each_other(three: tuple[pd.DataFrame, ...]) -> None:
    """No value is as in the original; shares and what stands beside them tell most of them all the same."""
    original, released = sf.scan(three[0]), sf.scan(hashed(three[0]))
    read = understood(released, match_columns(original, released)).to_pandas()
    for name in ("age", "sex", "zip", "dx"):
        right = read[name].astype(str).str.removesuffix(".0") == three[0][name].astype(str)
        assert right.mean() > 0.9, name


@pytest.mark.soak
def test_files_without_a_row_per_person_are_refused(three: tuple[pd.DataFrame, ...]) -> None:
    frame = three[0].astype(str)
    for turned in (frame.reset_index().melt(id_vars="index"), frame.T.reset_index().rename(columns=str)):
        with pytest.raises(DataError, match="no row per person") as caught:
            sf.assess(three[0], turned, effort="quick")
        assert "turn it" in caught.value.hint


def test_a_layout_that_is_none_is_left_alone(three: tuple[pd.DataFrame, ...]) -> None:
    original = sf.scan(three[0])
    assert relaid(original, sf.scan(three[2])) == (None, [])
    notes = three[2].assign(text=[f"seen, {i}, again" for i in range(ROWS)])
    assert relaid(original, sf.scan(notes, keep_text=True)) == (None, [])


def test_names_that_were_merged_are_never_met_without_a_control(three) -> None:  # type: ignore[no-untyped-def]
    """Half of the names under another one: too little agrees, and too little differs, to be seen alone."""
    original, _, others = three
    tied = original.drop(columns=["cost", "age"])
    merged_ = tied.copy()
    for name in ("zip", "dx"):
        values = sorted(tied[name].unique())
        merged_[name] = tied[name].map({v: values[i - i % 2] for i, v in enumerate(values)})
    assert merged(sf.scan(tied), sf.scan(merged_)) == ("zip", "dx")
    assert merged(sf.scan(tied), sf.scan(others[list(tied)])) == ()
    found = sf.assess(
        tied, merged_, thresholds={"risk": 0.05}, effort="quick", key=Key.from_seed(1), scope="limits"
    )
    assert not found.met and found.thresholds[0].outcome in ("not met", "not examined")


@pytest.mark.parametrize("with_control", [True, False])
@pytest.mark.parametrize("code", ["{} years", "k{}x"])
def test_codes_of_other_people_are_read_without_bringing_them_nearer(code: str, with_control: bool) -> None:
    """Many codes, few rows: read by the original alone, they looked copied. False alarm: one in a million."""
    rng = np.random.default_rng(0)
    original, control, others = (
        pd.DataFrame(
            {
                "age": rng.integers(18, 90, 400),
                "sex": rng.choice(["f", "m"], 400),
                "dx": rng.choice([f"d{i}" for i in range(30)], 400),
                "cost": rng.lognormal(7, 1, 400).round(2),
            }
        )
        for _ in range(3)
    )
    places = rng.permutation(90) if code.endswith("x") else np.arange(90)

    def judged(people: pd.DataFrame) -> sf.Assessment:
        return sf.assess(
            original, people.assign(age=[code.format(places[a]) for a in people["age"]]),
            control=control if with_control else None, thresholds={"copied rows": 0.9}, effort="quick",
            key=Key.from_seed(1), scope="limits",
        )  # fmt: skip

    assert judged(others)["people nearly copied"].details["p"] > 1e-6
    copies = judged(original)
    assert copies["people nearly copied"].details["p"] < 1e-6
    assert copies["copied rows"].value > 0.8 or code.endswith("x")
    rows = [p["row of the original"] == p["row of the release"] for p in copies.people]
    assert np.mean(rows) > 0.9


def test_copies_in_another_spelling_among_plain_rows_are_read(three: tuple[pd.DataFrame, ...]) -> None:
    """A tenth of a file, copies in capitals beside other people's plain rows, was met."""
    original, rest = (f.drop(columns="cost") for f in three[::2])
    loud = original[:150].astype(str).map(lambda v: v.upper() + " ")
    mixed = sf.scan(pd.concat([loud, rest[150:].astype(str)]), keep_text=True)
    read = understood(mixed, match_columns(sf.scan(original), mixed)).to_pandas()
    assert (read[:150].astype(str) == original[:150].astype(str)).all().all()
    assert (read[150:].astype(str) == rest[150:].astype(str)).all().all()


def test_codes_among_plain_values_are_not_taken_for_read(three: tuple[pd.DataFrame, ...]) -> None:
    """Three tenths of a file, copies under a code beside other people's plain rows, were met."""
    original, _, rest = three
    coded = original[:450].assign(**{n: "k" + original[n][:450].str[::-1] for n in ("sex", "zip", "dx")})
    strange = unread(sf.scan(original), sf.scan(pd.concat([coded, rest[450:]])), {})
    assert too_much(strange) == ("sex", "zip", "dx")
    moved = original[:450].assign(cost=original["cost"][:450] + 1e6)
    assert too_much(unread(sf.scan(original), sf.scan(pd.concat([moved, rest[450:]])), {})) == ("cost",)
    rare = rest.assign(dx=rest["dx"].where(rest["dx"].isin(["d1", "d2", "d3"]), "other"))
    assert unread(sf.scan(original), sf.scan(rare), {}) == {}  # stands for names that are gone


def test_a_gap_that_nobody_has_is_a_star() -> None:
    whole, gaps = (sf.scan(pd.DataFrame({"a": ["x", second]})) for second in ("y", None))
    for original, star in ((whole, True), (gaps, False)):
        found = cells([(original, None), (gaps, None)], ["a"], {}, apart=(1,))
        assert bool(found.general[-1]) is star


@pytest.mark.parametrize("code", ["{{k{}}}", "x*{}", "[{0}, 9{0})", "100{}"])
def test_codes_that_look_general_are_codes(three: tuple[pd.DataFrame, ...], code: str) -> None:
    """Copies with a brace or a star in every code were met: they passed for generalized."""
    original, control, _ = three
    coded = original.copy()
    for name in ("sex", "zip", "dx"):
        values = sorted(original[name].unique())
        coded[name] = original[name].map({v: code.format(i) for i, v in enumerate(values)})
    coded = coded.sample(frac=1, random_state=1)
    found = sf.assess(
        original,
        coded,
        control=control,
        thresholds={"risk": 0.05},
        effort="quick",
        key=Key.from_seed(1),
        scope="outcome",
    )
    assert found.thresholds[0].outcome == "not met" and "of the" in found.because


def test_a_general_value_stands_for_some_value() -> None:
    names, ages = Leaves(["a", "b", "b1"]), Leaves([str(i) for i in range(20, 60)])
    assert names.general("*") and names.general("{a, z}") and names.general("b*")
    assert not any(names.general(v) for v in ("{z}", "c*", "x*y", "[1, 2)", "2020", "a"))
    assert ages.general("[20, 30)") and ages.general("3*") and ages.general("20-29")
    assert not any(ages.general(v) for v in ("[90, 95)", "2020", "35", "9*"))
    days = Leaves(["2020-01-05", "2020-02-07", "2021-03-01"])
    assert days.general("2020") and days.general("2020-Q1") and not days.general("1999")


def test_what_is_not_understood_may_be_no_more_than_the_limit(three: tuple[pd.DataFrame, ...]) -> None:
    """Of a limit of 1% no column may hide 4%: so many copies could be there under a code."""
    original, control, rest = three
    coded = original[:60].assign(**{n: "k" + original[n][:60].str[::-1] for n in ("sex", "zip", "dx")})
    mixed = pd.concat([coded, rest[60:]]).sample(frac=1, random_state=1)
    strange = unread(sf.scan(original), sf.scan(mixed), {}, sf.scan(control))
    assert too_much(strange) == () and too_much(strange, 0.01) == ("sex", "zip", "dx")


def test_a_token_that_is_a_record_is_not_drawn_at_random(three: tuple[pd.DataFrame, ...]) -> None:
    """Signs of a token drawn at random are equally frequent (wrong once in a million); a record's are not."""
    original, _, rest = three
    rng = np.random.default_rng(5)
    lines = original.assign(n=np.arange(len(original)))
    record = [f"{r.age}{r.sex[0]}{r.zip}{r.dx}x{r.n:04d}" for r in lines.itertuples()]
    fine = {
        "drawn": ["".join(rng.choice(list("0123456789abcdef"), 16)) for _ in range(len(rest))],
        "running": [f"REC{i:06d}" for i in range(len(rest))],
    }
    assert unread(sf.scan(original), sf.scan(rest.assign(token=record)), {}) == {"token": 1.0}
    for tokens in fine.values():
        assert not unread(sf.scan(original), sf.scan(rest.assign(token=tokens)), {})


def test_a_record_in_the_column_of_identifiers_is_no_identifier(three: tuple[pd.DataFrame, ...]) -> None:
    rng = np.random.default_rng(6)
    ids = [[f"P{i:07d}" for i in rng.permutation(9_000_000)[: len(f)]] for f in three]
    original, _, rest = (f.assign(patient_id=i) for f, i in zip(three, ids, strict=True))
    first = sf.scan(original)
    assert first.schema["patient_id"].role is sf.Role.IDENTIFIER
    lines = ["".join(map(str, r)) for r in three[0].itertuples(index=False)]
    assert unread(first, sf.scan(rest.assign(patient_id=lines)), {}) == {"patient_id": 1.0}
    for names in (ids[2], list(range(1, len(rest) + 1)), ["*"] * len(rest)):
        assert not unread(first, sf.scan(rest.assign(patient_id=names)), {})


def test_stars_in_most_cells_hide_nobody(three: tuple[pd.DataFrame, ...]) -> None:
    """What a cell does not say is no difference: a copy of which half is starred was met."""
    original, control, _ = three
    stars = original.astype(str).mask(np.random.default_rng(7).random(original.shape) < 0.5, "*")
    found = sf.assess(
        original, stars.sample(frac=1, random_state=1), control=control, thresholds={"risk": 0.05},
        effort="quick", key=Key.from_seed(1), scope="outcome",
    )  # fmt: skip
    assert found.thresholds[0].outcome == "not met"


@pytest.mark.parametrize("written", ["times", "noise", "logarithms"])
def test_other_numbers_in_few_columns_hide_nobody(three: tuple[pd.DataFrame, ...], written: str) -> None:
    """Without a control, and too few columns for near copies: ages by a line, beside themselves, or bent."""
    few = three[0][["age", "sex", "zip", "dx"]]
    age = few["age"]
    noise = np.random.default_rng(1).normal(0, 0.02, ROWS)
    made = {"times": (age * 2.2).round(1), "noise": age * (1 + noise), "logarithms": np.log(age)}
    released = few.assign(age=made[written], zip="z" + few["zip"].str[::-1])
    released = released.sample(frac=1, random_state=1).reset_index(drop=True)
    found = sf.assess(
        few, released, thresholds={"risk": 0.05}, effort="quick", key=Key.from_seed(1), scope="outcome"
    )
    assert found.thresholds[0].outcome in ("not met", "not examined", "undecided"), found.because
