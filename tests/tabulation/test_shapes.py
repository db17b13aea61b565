"""What a cell may show: ranges, means, weights; and groups that are all alike."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import DataError, ParameterError
from sfumato.tabulation import CellSuppression, Homogeneity, tabulate
from sfumato.tabulation.sheets import write_pattern_page, write_workbook

QUICK = CellSuppression(effort="fast")


def stays(rows: int = 500) -> pa.Table:
    rng = np.random.default_rng(11)
    return pa.table(
        {
            "county": rng.choice(["a", "b", "c", "d"], rows, p=[0.5, 0.3, 0.17, 0.03]),
            "age": rng.choice(["0-17", "18-64", "65+"], rows, p=[0.2, 0.5, 0.3]),
            "charge": np.round(rng.lognormal(8, 1.0, rows), 2),
            "weight": rng.choice([1.0, 2.5, 4.0], rows),
        }
    )


def rows_of(release: sf.Release) -> list[dict[str, object]]:
    return release.data.to_arrow().to_pylist()


def test_ranges_are_shown_and_all_of_them_stays_possible(tmp_path) -> None:
    release = tabulate(stays(), "county,age", 8, method=CellSuppression(effort="fast", ranges=True))
    shown = [r["count"] for r in rows_of(release)]
    assert "1-7" in shown and None in shown
    assert all(c is None or "-" in c or int(c) >= 8 for c in shown)
    risk = sf.assess_tables(release.data, "county,age", minimum=8)
    assert risk.met
    release.save(tmp_path / "out", format="csv")
    assert sf.verify(tmp_path / "out").ok
    # Without what hides them, two ranges in a row would be told.
    true = release.internal.tables["cells"]["rows"].to_pylist()
    told = [c if c is not None else str(n) for c, n in zip(shown, true, strict=True)]
    bare = release.data.to_arrow().set_column(2, "count", pa.array(told))
    assert not sf.assess_tables(bare, "county,age", minimum=8).met


def test_means_are_sums_over_counts(tmp_path) -> None:
    by_sum = {
        (r["county"], r["age"]): r
        for r in rows_of(tabulate(stays(), "county,age", method=QUICK, of="charge"))
    }
    release = tabulate(stays(), "county,age", method=QUICK, of="charge", means=True)
    for row in rows_of(release):
        other = by_sum[row["county"], row["age"]]
        assert (row["mean charge"] is None) == (other["charge"] is None)
        if row["count"] is not None:
            assert row["mean charge"] == pytest.approx(other["charge"] / row["count"])
    release.save(tmp_path / "out", format="csv")
    report = sf.verify(tmp_path / "out")
    assert report.ok and any("none follows from sums" in c.detail for c in report.checks)


def test_a_sum_that_was_put_back_is_found() -> None:
    from sfumato.privacy import HiddenCells
    from sfumato.release.hidden_cells import recount_cells

    release = tabulate(stays(), "county,age", 8, method=QUICK, of="charge")
    claim = next(c for c in release.guarantee if isinstance(c, HiddenCells))
    rows = rows_of(release)
    assert recount_cells(claim, release.data)[0]
    by_label = {(r["county"], r["age"]): r for r in rows}
    gone = [k for k, r in by_label.items() if r["charge"] is None]
    data = stays().to_pylist()
    for county, age in gone[1:]:  # all but one
        by_label[county, age]["charge"] = sum(
            r["charge"] for r in data if county in ("_T", r["county"]) and age in ("_T", r["age"])
        )
    holds, detail = recount_cells(claim, sf.Table.from_arrow(pa.Table.from_pylist(rows)))
    assert not holds and "follow from sums" in detail


def test_weighted_counts_are_hidden_by_people() -> None:
    release = tabulate(stays(), "county,age", 8, method=QUICK, weight="weight")
    cells = release.internal.tables["cells"].to_pylist()
    shown = rows_of(release)
    assert all(r["count"] is None for r, c in zip(shown, cells, strict=True) if c["people"] < 8)
    whole = next(r for r in shown if r["county"] == r["age"] == "_T")
    assert whole["count"] == pytest.approx(sum(stays()["weight"].to_pylist()))
    assert "weighted" in release.guarantee.text()


def alike() -> pa.Table:
    """Everybody of county b has the same diagnosis, and there are many of them."""
    rng = np.random.default_rng(2)
    county = ["a"] * 60 + ["b"] * 30 + ["c"] * 60
    dx = [*rng.choice(["x", "y", "z"], 60), *["x"] * 30, *rng.choice(["x", "y", "z"], 60)]
    return pa.table({"county": county, "dx": dx})


def test_a_group_in_one_category_is_not_known_to_be(tmp_path) -> None:
    plain = rows_of(tabulate(alike(), "county,dx", method=QUICK))
    assert next(r["count"] for r in plain if (r["county"], r["dx"]) == ("b", "x")) == 30
    release = tabulate(alike(), "county,dx", method=QUICK, homogeneity=Homogeneity("dx"))
    shown = {(r["county"], r["dx"]): r["count"] for r in rows_of(release)}
    assert shown["b", "x"] is None and ("b", "y") in shown
    assert None in (shown["b", "y"], shown["b", "z"]) or shown["b", "_T"] is None
    release.save(tmp_path / "out", format="csv")
    report = sf.verify(tmp_path / "out")
    assert report.ok, str(report)
    assert "same 'dx'" in release.guarantee.text()


def test_verify_finds_a_group_that_is_known_to_be_alike() -> None:
    from sfumato.privacy import HiddenCells
    from sfumato.release.hidden_cells import recount_cells

    release = tabulate(alike(), "county,dx", method=QUICK, homogeneity=Homogeneity("dx"))
    claim = next(c for c in release.guarantee if isinstance(c, HiddenCells))
    cells = release.internal.tables["cells"].to_pylist()
    rows = rows_of(release)
    for row, cell in zip(rows, cells, strict=True):
        row["count"] = cell["rows"]
    assert not recount_cells(claim, sf.Table.from_arrow(pa.Table.from_pylist(rows)))[0]


def test_a_workbook_and_an_internal_page(tmp_path) -> None:
    release = tabulate(stays(), "county,age", 8, method=QUICK, of="charge")
    write_workbook(release, tmp_path / "t.xlsx", sign="c")
    back = sf.scan(str(tmp_path / "t.xlsx"), sheet="table 1", header=3, keep_text=True).to_arrow()
    assert back.num_rows == 5 and "c" in {v for name in back.column_names for v in back[name].to_pylist()}
    write_pattern_page(release, tmp_path / "t.html")
    page = (tmp_path / "t.html").read_text(encoding="utf-8")
    assert "must not leave" in page and "class='few'" in page and "class='hides'" in page
    assert "http" not in page.replace("http-equiv", "")
    with pytest.raises(ParameterError, match="sign"):
        write_workbook(release, tmp_path / "u.xlsx", sign="7")
    with pytest.raises(ParameterError, match="no tables"):
        write_workbook(tabulate(stays(), "county", method=sf.ControlledRounding(3)), tmp_path / "u.xlsx")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"means": True}, "means of what"),
        ({"weight": "county"}, "cannot be a column"),
        ({"homogeneity": Homogeneity("nowhere")}, "no table has"),
        ({"homogeneity": Homogeneity("age"), "weight": "weight"}, "no weights"),
        ({"method": CellSuppression(effort="fast", ranges=True), "weight": "weight"}, "no ranges"),
    ],
)
def test_what_does_not_go_together_is_refused(more, words) -> None:
    with pytest.raises(ParameterError, match=words):
        tabulate(stays(), "county,age", **{"method": QUICK, **more})


def test_bad_weights_and_shares_are_refused() -> None:
    data = stays().set_column(3, "weight", pa.array(np.full(500, -1.0)))
    with pytest.raises(DataError, match="negative"):
        tabulate(data, "county", method=QUICK, weight="weight")
    for wrong in ({"column": ""}, {"column": "dx", "share": 0.4}, {"column": "dx", "share": 1.5}):
        with pytest.raises(ParameterError):
            Homogeneity(**wrong)
