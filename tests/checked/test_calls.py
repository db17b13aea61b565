"""Checked calls give what the ordinary ones give, but for what is withheld."""

from __future__ import annotations

import csv
import json
from itertools import pairwise

import numpy as np
import pytest

import sfumato as sf
from sfumato.checked import ACRO, Analysis, OutputLimits
from sfumato.checked.histograms import round_edges
from sfumato.checked.models import fitted_alone, set_apart
from sfumato.errors import DataError, OutputError, ParameterError

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def people():
    draw = np.random.default_rng(11)
    n = 600
    data = pd.DataFrame(
        {
            "ward": draw.choice(list("abc"), n),
            "sex": draw.choice(["f", "m"], n),
            "band": draw.choice([10, 20, 30], n, p=[0.5, 0.47, 0.03]),
            "age": draw.integers(20, 90, n),
            "cost": draw.gamma(2.0, 300.0, n),
            "days": draw.exponential(20.0, n).round(1),
            "died": draw.integers(0, 2, n),
        }
    )
    data.loc[draw.choice(n, 40, replace=False), "cost"] = np.nan
    data.loc[draw.choice(n, 30, replace=False), "sex"] = None
    return data


def agrees(checked, plain) -> None:
    """Shown numbers are the plain ones, in the same places."""
    assert checked.index.equals(plain.index) and checked.columns.equals(plain.columns)
    shown = checked.notna().to_numpy()
    assert shown.any()
    np.testing.assert_allclose(checked.to_numpy(float)[shown], plain.to_numpy(float)[shown])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"margins": True},
        {"margins": True, "margins_name": "total"},
        {"dropna": False},
        {"normalize": True},
        {"normalize": "index"},
        {"normalize": "columns", "margins": True},
        {"rownames": ["Station"], "colnames": ["Alter"]},
    ],
)
def test_a_cross_table_is_that_of_pandas(people, options) -> None:
    agrees(
        Analysis().crosstab(people["ward"], people["band"], **options),
        pd.crosstab(people["ward"], people["band"], **options),
    )


def test_a_cross_table_by_several_columns_and_with_missing_labels(people) -> None:
    rows = [people["ward"], people["sex"]]
    for margins in (False, True):
        found = Analysis().crosstab(rows, people["band"], margins=margins)
        agrees(found, pd.crosstab(rows, people["band"], margins=margins))
    counts = pd.crosstab(rows, people["band"])
    assert not (found.iloc[:-1, :-1].notna() & (counts < 10)).any(axis=None)


@pytest.mark.parametrize(
    "options",
    [
        {"index": "ward", "values": "cost"},
        {"index": "ward", "columns": "sex", "values": "cost", "margins": True},
        {"index": ["ward", "sex"], "columns": "band", "values": "cost", "aggfunc": "sum"},
        {"index": "ward", "columns": "band", "values": "cost", "aggfunc": ["mean", "count"]},
        {"index": "ward", "columns": "band", "values": ["cost", "age"], "aggfunc": "std"},
        {"index": "ward", "values": ["cost", "age"], "aggfunc": ["mean", "median"]},
        {"index": "ward", "columns": "band", "values": "cost", "aggfunc": "count", "fill_value": 0},
    ],
)
def test_a_pivot_table_is_that_of_pandas(people, options) -> None:
    found = Analysis().pivot_table(people, **options)
    agrees(found, pd.pivot_table(people, **options))
    if "columns" in options and "band" in options["columns"]:
        assert found.isna().any(axis=None)


def test_polars_frames_give_the_same(people) -> None:
    pl = pytest.importorskip("polars")
    frame = pl.from_pandas(people)
    agrees(
        Analysis().crosstab(frame["ward"], frame["band"], margins=True),
        pd.crosstab(people["ward"], people["band"], margins=True),
    )
    agrees(
        Analysis().pivot_table(frame, index="ward", values="cost"),
        pd.pivot_table(people, index="ward", values="cost"),
    )
    assert Analysis().hist(frame, "age").sum(axis=None) == len(people)


def test_values_of_a_cross_table(people) -> None:
    asked = {"values": people["cost"], "aggfunc": "mean"}
    agrees(
        Analysis().crosstab(people["ward"], people["band"], **asked),
        pd.crosstab(people["ward"], people["band"], **asked),
    )


def test_one_call_without_an_analysis(people) -> None:
    table = sf.checked.crosstab(people["ward"], people["band"], limits=OutputLimits(threshold=2))
    assert table.notna().all(axis=None) and table.attrs["decision"] == "pass"
    assert sf.checked.pivot_table(people, index="ward", values="cost").attrs["decision"] == "pass"
    assert sf.checked.hist(people, "age", bins=5).attrs["decision"] == "pass"


# --- histograms and curves ------------------------------------------------------------------------


def test_edges_of_bins_are_nobodys_value() -> None:
    values = pd.Series([17.3, 25.0, 88.9])
    edges = round_edges(values, 10)
    assert edges[0] <= 17.3 and edges[-1] > 88.9 and not set(edges) & {17.3, 88.9}
    assert {round(b - a, 9) for a, b in pairwise(edges)} == {10.0}


def test_small_bins_are_withheld(people) -> None:
    draw = pd.Series([*np.arange(100) % 50, 90.0, 91.0, 92.0], name="x")
    table = Analysis().hist(draw, bins=10)
    assert table.isna().any(axis=None) and table.dropna().to_numpy().min() >= 10


def test_a_curve_is_told_where_enough_people_had_the_event(people) -> None:
    table = Analysis().surv_func(people["days"], people["died"])
    assert table.attrs["decision"] == "pass" and len(table) > 3
    assert (table["events"] >= 10).all() and (
        (table["seen no longer"] >= 10) | (table["seen no longer"] == 0)
    ).all()
    assert table["events"].sum() == people["died"].sum()
    api = pytest.importorskip("statsmodels.api")
    curve = api.SurvfuncRight(people["days"], people["died"])
    for label, row in table.iloc[:-1].iterrows():
        end = float(label.split("until ")[1])
        assert row["survival"] == pytest.approx(curve.surv_prob[curve.surv_times <= end][-1], abs=6e-4)


def test_a_curve_of_few_people_is_refused(people) -> None:
    few = people.iloc[:15]
    table = Analysis().surv_func(few["days"], few["died"])
    assert table.isna().all(axis=None) and table.attrs["decision"] == "refused"


def test_curves_by_group(people) -> None:
    table = Analysis().surv_func(people["days"], people["died"], by=people["ward"])
    assert {label.split(",")[0] for label in table.index} == {"a", "b", "c"}


# --- models ---------------------------------------------------------------------------------------


def test_models_are_judged_by_their_columns(people) -> None:
    pytest.importorskip("statsmodels")
    data = people.dropna().assign(rare=lambda d: np.arange(len(d)) < 4, one=1.0)
    data["rare"] = data["rare"].astype(float)
    analysis = Analysis()
    fitted = analysis.ols(data["cost"], data[["one", "age"]])
    assert fitted.params["age"] == pytest.approx(np.polyfit(data["age"], data["cost"], 1)[0])
    analysis.ols(data["cost"], data[["one", "age", "rare"]])
    analysis.ols(data["cost"].iloc[:8], data[["one", "age"]].iloc[:8])
    analysis.logit(data["rare"], data[["one", "age"]])
    analysis.probit(data["died"], data[["one", "age"]])
    analysis.poisson(data["died"], data[["one", "age"]])
    analysis.regression("ols", "cost ~ C(ward) * C(band)", data)
    analysis.ols(data["cost"].iloc[3:], data[["one", "age"]].iloc[3:])
    found = [o.decision for o in analysis.outputs.values()]
    assert found == ["pass", "refused", "refused", "refused", "pass", "pass", "refused", "review"]


def test_a_parameter_of_few_people_is_found_however_it_is_written() -> None:
    """A saturated model is a table of means, whatever the contrast."""
    group = np.repeat([0, 1, 2], [40, 40, 3])
    dummies = np.eye(3)[group]
    turned = dummies @ np.array([[1.0, 2, 0], [0, 1, 3], [1, 0, 1]])
    rows = np.arange(len(group))
    assert fitted_alone(dummies, rows, 10) == fitted_alone(turned, rows, 10) == 1
    assert fitted_alone(np.column_stack([np.ones(83), np.arange(83.0)]), rows, 10) == 0
    assert set_apart(dummies[:, 2], rows) == 3


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(ParameterError, match="no fitted model"):
        Analysis().model(object())


# --- the record -----------------------------------------------------------------------------------


def test_the_record_holds_what_a_checker_needs(people, tmp_path) -> None:
    analysis = Analysis()
    analysis.crosstab(people["ward"], people["band"])
    analysis.small = "show"
    analysis.crosstab(people["ward"], people["band"].rename("<b>band</b>"))
    analysis.comment("output_0", "for figure 1 <script>")
    analysis.rename("output_0", "figure_1")
    (tmp_path / "plot.png").write_bytes(b"x")
    analysis.file(tmp_path / "plot.png", "drawn elsewhere")
    analysis.save(tmp_path / "record")
    folder = tmp_path / "record"
    assert [p.name for p in (folder / "outputs").iterdir()] == ["figure_1.csv"]  # cleared, and nothing else
    assert [p.name for p in (folder / "to-review").iterdir()] == ["output_2.plot.png"]
    record = json.loads((folder / "analysis.json").read_text())
    assert {n: r["status"] for n, r in record["results"].items()} == {
        "figure_1": "pass", "output_1": "refused", "output_2": "review",
    }  # fmt: skip
    page = (folder / "review.html").read_text()
    assert "<script" not in page and "for figure 1" in page and "http" not in page
    assert page.index("output_1") < page.index("output_2") < page.index("figure_1")  # what to do comes first
    small = pd.crosstab(people["ward"], people["band"]).loc["a", 30]
    written = pd.read_csv(folder / "outputs" / "figure_1.csv", index_col=0)
    assert np.isnan(written.loc["a", "30"]) and 0 < small < 10
    with pytest.raises(OutputError):
        analysis.save(folder)


def test_a_record_replaces_a_record_and_nothing_else(people, tmp_path) -> None:
    analysis = Analysis()
    analysis.crosstab(people["ward"], people["sex"])
    others = tmp_path / "thesis"
    others.mkdir()
    (others / "chapter.txt").write_text("years of work")
    for folder in (others, tmp_path):
        with pytest.raises(OutputError, match="no record"):
            analysis.save(folder, overwrite=True)
    (others / "analysis.json").write_text('{"format": "another"}')
    with pytest.raises(OutputError, match="no record"):
        analysis.save(others, overwrite=True)
    record = analysis.save(tmp_path / "record")
    analysis.rename("output_0", "again")
    assert (analysis.save(record, overwrite=True) / "outputs" / "again.csv").is_file()
    assert not (record / "outputs" / "output_0.csv").exists()
    (record / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match="holds more"):
        analysis.save(record, overwrite=True)
    assert (record / "notes.txt").read_text() == "mine"
    assert (others / "chapter.txt").read_text() == "years of work"


def test_labels_leave_as_text_that_no_spreadsheet_runs(people, tmp_path) -> None:
    live = {"a": "=1+cmd|' /C calc'!A0", "b": "@sum", "c": "-x", "d": "+1"}
    ward = people["ward"].map(lambda w: live.get(w, w)).rename("=ward")
    analysis = Analysis()
    analysis.crosstab(ward, [people["sex"], ward.rename("+again")])
    analysis.crosstab(people["sex"], ward)
    folder = analysis.save(tmp_path / "record")
    texts = [p.read_text() for p in sorted(folder.glob("*/*.csv"))]
    assert len(texts) == 2
    for row in (row for text in texts for row in csv.reader(text.splitlines())):
        for cell in row:
            assert not cell.startswith(("=", "@", "-", "+", "\t")) or cell == "+1", row
    assert "'=1+cmd" in texts[0] and "'@sum" in texts[1]


def test_an_exception_puts_a_refused_output_aside(people, tmp_path) -> None:
    analysis = Analysis(small="show")
    analysis.crosstab(people["ward"], people["band"])
    analysis.request("output_0", "needed for the inspection")
    analysis.save(tmp_path / "record")
    assert (tmp_path / "record" / "held" / "output_0.csv").exists()
    assert not (tmp_path / "record" / "outputs").exists()


def test_bad_input_is_refused_before_anything_is_recorded(people) -> None:
    analysis = Analysis()
    wrong = [
        lambda: analysis.crosstab("ward", "sex"),
        lambda: analysis.crosstab(people["ward"], people["sex"], values=people["cost"]),
        lambda: analysis.crosstab(people["ward"], people["sex"], values=people["cost"], aggfunc="max"),
        lambda: analysis.crosstab(people["ward"], people["sex"], normalize="rows"),
        lambda: analysis.crosstab([people["ward"].rename(str(i)) for i in range(7)], people["sex"]),
        lambda: analysis.pivot_table(people, index="nowhere", values="cost"),
        lambda: analysis.pivot_table(people, index="ward", values="sex"),
        lambda: analysis.pivot_table(people, index="ward", values="cost", aggfunc=min),
        lambda: analysis.pivot_table([1, 2], index="ward"),
        lambda: analysis.hist(people, "ward"),
        lambda: analysis.hist(people, "age", bins=[3, 2]),
        lambda: analysis.surv_func(people["days"], people["age"]),
        lambda: analysis.comment("output_7", "?"),
        lambda: analysis.file("nowhere.png"),
        lambda: OutputLimits(threshold=1),
        lambda: Analysis(small="drop"),
        lambda: ACRO("house"),
    ]
    for call in wrong:
        with pytest.raises(ParameterError):
            call()
    with pytest.raises(DataError, match="no output"):
        analysis.save("nowhere")
    with pytest.raises(DataError, match="no row in common"):
        analysis.crosstab(people["ward"].iloc[:5], people["sex"].iloc[5:])
    assert not analysis.outputs
