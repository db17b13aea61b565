"""What a reader gets by calls that look harmless: each of these once gave somebody away."""

import json

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import SfumatoError

WARDS = pd.DataFrame(
    {"ward": ["a"] * 30 + ["b"] * 30, "cost": np.arange(60.0) + 100, "days": np.arange(60.0)}
)


def test_totals_of_others_than_the_rows_are_not_given_out():
    data = WARDS.copy()
    data.loc[7, "days"] = np.nan  # pandas leaves this person out of the total of both columns
    told = pd.pivot_table(data, values=["cost", "days"], index="ward", aggfunc="sum", margins=True)["cost"]
    assert told["a"] + told["b"] - told["All"] == data.loc[7, "cost"]
    with pytest.raises(SfumatoError, match="other people"):
        sf.checked.pivot_table(data, values=["cost", "days"], index="ward", aggfunc="sum", margins=True)
    alone = sf.checked.pivot_table(data, values="days", index="ward", aggfunc="sum", margins=True)
    assert alone.loc["All", "days"] == data["days"].sum()


def test_no_number_leaves_unchecked():
    few = pd.DataFrame({"ward": ["a"] * 30 + ["b"] * 2, "sex": ["f", "m"] * 16, "cost": np.arange(32.0)})
    for values in ("cost", ["cost"], None):
        for aggfunc in ("size", ["size"], ["mean", "size"]):
            with pytest.raises(SfumatoError, match="size counts rows"):
                sf.checked.pivot_table(few, values=values, index="ward", columns="sex", aggfunc=aggfunc)


@pytest.mark.parametrize("normalize", ["index", "columns", "all"])
@pytest.mark.parametrize("margins", [False, True])
def test_shares_beside_missing_labels_are_of_the_people_shown(normalize, margins):
    data = pd.DataFrame({"ward": ["a", "b", None] * 40, "sex": ["f"] * 60 + ["m"] * 60})
    asked = {"margins": margins, "normalize": normalize}
    shares = sf.checked.crosstab(data["ward"], data["sex"], **asked)
    pd.testing.assert_frame_equal(shares, pd.crosstab(data["ward"], data["sex"], **asked))


def test_a_column_without_a_name_is_judged_as_any_other():
    cost = pd.Series(np.r_[np.ones(29), 1e9, np.arange(30.0) + 100], name="")
    table = sf.checked.crosstab(WARDS["ward"], WARDS["ward"].rename("again"), values=cost, aggfunc="sum")
    assert table.isna().to_numpy().any()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_records_hold_missing_and_infinite_numbers_and_no_file_twice(tmp_path):
    data = WARDS.assign(cost=pd.array(range(60), "Int64"), flat=0.0)
    data.loc[:3, "ward"] = "c"
    analysis = sf.checked.Analysis()
    assert analysis.pivot_table(data, values="cost", index="ward").isna().to_numpy().any()
    analysis.regression("ols", "flat ~ days", data)  # fitted without any error: a likelihood without end
    analysis.rename("output_0", "output_1_0")
    folder = analysis.save(tmp_path / "record")
    results = json.loads((folder / "analysis.json").read_text())["results"]
    files = [file for result in results.values() for file in result["files"]]
    assert len(files) == len(set(files)) == 1 + 2 * (results["output_1"]["status"] != "refused")
    assert "withheld" in (folder / "review.html").read_text()


def test_bins_with_other_edges_do_not_tell_who_is_between():
    ages = pd.DataFrame({"age": [20] * 15 + [30] * 20 + [50] + [60] * 30 + [70] * 25})
    analysis = sf.checked.Analysis()
    first = analysis.hist(ages, "age", bins=[0, 50, 100])
    second = analysis.hist(ages, "age", bins=[0, 51, 100])
    assert first["count"].tolist() == [35, 56]
    assert second["count"].isna().all()
    assert analysis.hist(ages, "age", bins=[0, 20, 50, 100]).index.name == "age in bins"


def test_who_lies_beyond_the_bins_is_not_told_by_the_total():
    ages = pd.DataFrame({"age": [20] * 30 + [40] * 30 + [95], "all": "all", "people": "people"})
    analysis = sf.checked.Analysis()
    assert analysis.crosstab(ages["all"], ages["people"]).iloc[0, 0] == 61
    assert analysis.hist(ages, "age", bins=[0, 30, 90])["count"].isna().any()


def test_the_last_bin_has_its_end():
    ages = pd.DataFrame({"age": [10] * 15 + [60] * 30})
    assert sf.checked.hist(ages, "age", bins=[0, 20, 60])["count"].tolist() == [15, 30]


def test_counts_beside_sums_of_the_same_column_are_looked_at():
    wards = {"a": (20, 4, 11), "b": (30, 25, 28)}  # of a: n1 + n2 = 15 and n1 + 2 n2 = 26 tell both
    rows = [(ward, x) for ward, sizes in wards.items() for x, n in enumerate(sizes) for _ in range(n)]
    data = pd.DataFrame(rows, columns=["ward", "children"])
    for turn in (1, -1):
        analysis = sf.checked.Analysis()
        calls = [
            lambda: analysis.crosstab(data["ward"], data["children"], margins=True),  # noqa: B023
            lambda: analysis.pivot_table(data, values="children", index="ward", aggfunc="mean"),  # noqa: B023
        ]
        for call in calls[::turn]:
            call()
        assert list(analysis.judge().values()) == ["pass", "review"]


def test_a_column_of_two_values_and_one_person_with_a_third_are_looked_at():
    data = pd.DataFrame({"ward": ["a"] * 40 + ["b"] * 40, "x": [0, 1] * 40})
    data.loc[3, "x"] = 2
    analysis = sf.checked.Analysis()
    analysis.pivot_table(data, values="x", index="ward", aggfunc="sum")
    analysis.pivot_table(data[data["x"] < 2], values="x", index="ward", aggfunc="sum")  # two less: the third
    assert list(analysis.judge().values()) == ["pass", "review"]


def test_counts_and_means_of_other_columns_pass():
    analysis = sf.checked.Analysis()
    analysis.crosstab(WARDS["ward"], WARDS["days"] < 5)
    analysis.pivot_table(WARDS, values="cost", index="ward", aggfunc=["mean", "count"])
    assert set(analysis.judge().values()) == {"pass"}


def test_odd_bins_and_fillings_are_taken_or_named():
    assert sf.checked.hist(WARDS, "days", bins=[0, 30, np.inf])["count"].tolist() == [30, 30]
    assert sf.checked.hist(WARDS, "days", bins=np.int64(3)).equals(sf.checked.hist(WARDS, "days", bins=3))
    with pytest.raises(SfumatoError, match="edges of bins"):
        sf.checked.hist(WARDS, "days", bins="auto")
    with pytest.raises(SfumatoError, match="fills empty cells"):
        sf.checked.pivot_table(WARDS, values="cost", index="ward", fill_value="none")


def test_a_second_curve_with_other_steps_is_looked_at():
    draw = np.random.default_rng(0)
    days, died = pd.Series(draw.integers(1, 60, 300)), pd.Series(draw.integers(0, 2, 300))
    analysis = sf.checked.Analysis()
    analysis.surv_func(days, died)
    analysis.surv_func(days, died, by=pd.Series(draw.choice(["f", "m"], 300)))
    assert list(analysis.judge().values()) == ["pass", "review"]
