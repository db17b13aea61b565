"""Tables from data to a release, and back through verify."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sfumato as sf
from sfumato.errors import DataError, ParameterError
from sfumato.tabulation import CellSuppression, MinimumCount, PPercent, tabulate
from sfumato.tabulation.rules import Contributions, Dominance

QUICK = CellSuppression(effort="fast")


def stays(rows: int = 800, seed: int = 5) -> pa.Table:
    random = np.random.default_rng(seed)
    county = random.choice(6, rows, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    return pa.table(
        {
            "area": [f"area {c // 2}" for c in county],
            "county": [f"county {c}" for c in county],
            "age": random.choice(["young", "middle", "old"], rows, p=[0.2, 0.5, 0.3]),
            "sex": random.choice(["f", "m"], rows),
            "charge": np.round(random.lognormal(8, 1.2, rows), 2),
        }
    )


def truth(release: sf.Release) -> dict[tuple[str, ...], int]:
    cells = release.internal.tables["cells"].to_pylist()
    return {tuple(c[n] for n in release.columns[:-1]): c["rows"] for c in cells}


def test_a_release_of_several_tables_holds_and_is_recounted(tmp_path) -> None:
    release = tabulate(stays(), "area>county,age;area>county,sex", 5, method=QUICK)
    release.save(tmp_path / "out", format="csv")
    again = sf.Release.load(tmp_path / "out")
    shown = {tuple(r[n] for n in release.columns[:-1]): r["count"] for r in again.data.to_arrow().to_pylist()}
    true = truth(release)
    assert shown.keys() == true.keys()
    assert all(v is None or v == true[k] for k, v in shown.items())
    assert all(v is None or v >= 5 for v in shown.values()) and None in shown.values()
    assert true["_T", "_T", "_T", "_T"] == 800
    report = sf.verify(tmp_path / "out")
    assert report.ok, str(report)
    assert any("none can be narrowed too far" in c.detail for c in report.checks)


def test_verify_finds_a_cell_that_was_put_back(tmp_path) -> None:
    from sfumato.privacy import HiddenCells
    from sfumato.release.hidden_cells import recount_cells

    release = tabulate(stays(), "county,age", 5, method=QUICK)
    claim = next(c for c in release.guarantee if isinstance(c, HiddenCells))
    rows = release.data.to_arrow().to_pylist()
    true = truth(release)
    assert recount_cells(claim, release.data)[0]
    withheld = [r for r in rows if r["count"] is None]
    large = next(r for r in withheld if true[r["county"], r["age"]] >= 5)
    large["count"] = true[large["county"], large["age"]]
    holds, detail = recount_cells(claim, sf.Table.from_arrow(pa.Table.from_pylist(rows)))
    assert not holds and "narrowed too far" in detail
    small = next(r for r in withheld if true[r["county"], r["age"]] < 5)
    small["count"] = true[small["county"], small["age"]]
    assert not recount_cells(claim, sf.Table.from_arrow(pa.Table.from_pylist(rows)))[0]


def test_sums_are_withheld_with_their_counts() -> None:
    release = tabulate(stays(), "county,age", 5, method=QUICK, of="charge", sums=PPercent(0.1))
    rows = release.data.to_arrow().to_pylist()
    assert all((r["count"] is None) == (r["charge"] is None) for r in rows)
    whole = next(r for r in rows if r["county"] == r["age"] == "_T")
    assert whole["charge"] == pytest.approx(sum(stays()["charge"].to_pylist()))


def test_persons_are_counted_where_the_schema_says_whose_rows_they_are() -> None:
    data = stays().append_column("id", pa.array([f"p{i // 4}" for i in range(800)]))
    found = sf.Table.from_arrow(data).schema
    columns = [replace(c, role=sf.Role.PERSON) if c.name == "id" else c for c in found]
    table = sf.Table.from_arrow(data, sf.Schema(tuple(columns)))
    by_rows = tabulate(table, "county", MinimumCount(5, persons=False), method=QUICK)
    cells = by_rows.internal.tables["cells"]
    assert cells["people"].to_pylist() == cells["rows"].to_pylist()
    by_person = tabulate(table, "county", MinimumCount(5), method=QUICK).internal.tables["cells"].to_pylist()
    assert all(c["people"] <= c["rows"] for c in by_person) and by_person[0]["people"] < by_person[0]["rows"]


def test_an_earlier_release_is_known_to_readers() -> None:
    first = tabulate(stays(), "county,age", 5, method=QUICK)
    second = tabulate(stays(), "county,sex", 5, method=QUICK, earlier=[first])
    names = [n for n in second.columns if n != "count"]
    earlier = {(r["county"], r["age"]): r["count"] for r in first.data.to_arrow().to_pylist()}
    for row in second.data.to_arrow().to_pylist():
        if row["sex"] == "_T":
            assert row["count"] == earlier[row["county"], row["age"]]
    assert set(names) == {"county", "age", "sex"}


def by_quarter() -> pa.Table:
    return stays().append_column("quarter", pa.array(["q1" if i % 3 else "q2" for i in range(800)]))


def test_a_quarter_that_was_published_is_known_when_the_year_is() -> None:
    """The first quarter alone, then both with their totals: what was shown stays, what was withheld, too."""
    both = by_quarter()
    first = tabulate(both.filter(pc.equal(both["quarter"], "q1")), "county,age", 5, method=QUICK)
    second = tabulate(both, "quarter,county", 5, method=QUICK, earlier=[(first, {"quarter": "q1"})])
    told = {(r["county"], r["age"]): r["count"] for r in first.data.to_arrow().to_pylist()}
    rows = second.data.to_arrow().to_pylist()
    now = {(r["county"], r["age"]): r["count"] for r in rows if r["quarter"] == "q1"}
    assert all(now[cell] == count for cell, count in told.items())
    assert {(r["quarter"], r["county"]) for r in rows if r["age"] == "_T" and r["count"] is not None}
    assert all(r["count"] is None for r in rows if r["age"] != "_T" and r["quarter"] != "q1")


def test_an_earlier_release_of_other_people_is_refused() -> None:
    """The difference of a cell then and now is people whom nobody looked at."""
    both = by_quarter()
    part = both.filter(pc.equal(both["quarter"], "q1"))
    first = tabulate(part, "county,age", 5, method=QUICK)
    with pytest.raises(sf.DataError, match="cells of an earlier release are others now"):
        tabulate(both, "county,sex", 5, method=QUICK, earlier=[first])
    with pytest.raises(sf.DataError, match="cells of an earlier release are others now"):
        tabulate(both, "quarter,county", 5, method=QUICK, earlier=[(first, {"quarter": "q2"})])
    with pytest.raises(sf.ParameterError, match="unknown column"):
        tabulate(both, "county", 5, method=QUICK, earlier=[(first, {"wave": "q1"})])


def test_totals_that_must_stay_stay() -> None:
    release = tabulate(stays(), "county,age", 5, method=QUICK, keep=[(), ("age",)])
    for row in release.data.to_arrow().to_pylist():
        if row["county"] == "_T":
            assert row["count"] is not None


def test_a_column_lies_within_the_same_one_in_every_table() -> None:
    with pytest.raises(ParameterError, match="'county' lies within another column") as raised:
        tabulate(stays(), ["area>county,age", "county,sex"], 5, method=QUICK)
    assert "area>county in every table" in raised.value.hint


def test_dear_cells_stay_where_others_can_go() -> None:
    method = CellSuppression(work_limit=200)

    def gone(**more) -> int:
        rows = tabulate(stays(300), "area>county,age", 5, method=method, **more).data.to_arrow().to_pylist()
        return sum(r["count"] is None for r in rows if r["county"] != "_T" and r["age"] == "_T")

    assert gone() == 0 < gone(prices={("area", "county", "age"): 50})
    for wrong in ({("area",): 0}, {("nowhere",): 2}, {("county",): 2}):
        with pytest.raises(ParameterError, match="price"):
            tabulate(stays(), "area>county,age", 5, method=QUICK, prices=wrong)


@pytest.mark.parametrize(
    ("tables", "more", "kind", "words"),
    [
        ("county,nowhere", {}, ParameterError, "unknown column"),
        ("", {}, ParameterError, "no table"),
        ("county,county", {}, ParameterError, "twice"),
        ("age>county", {}, DataError, "not a hierarchy"),
        ([tuple(f"c{i}" for i in range(1000))], {}, ParameterError, "kinds of totals"),
        ("county", {"rule": 1}, ParameterError, "from 2 up"),
        ("county", {"rule": True}, ParameterError, "smallest count"),
        ("county", {"rule": MinimumCount(5, persons=True)}, ParameterError, "whose rows"),
        ("county", {"of": "age"}, DataError, "not numbers"),
        ("county", {"keep": [("nowhere",)]}, ParameterError, "unknown columns"),
        ("county", {"of": "county"}, ParameterError, "cannot be a column"),
    ],
)
def test_bad_input_is_refused(tables, more, kind, words) -> None:
    with pytest.raises(kind, match=words):
        tabulate(stays(), tables, method=QUICK, **more)


def test_no_rows_and_a_sign_that_is_taken() -> None:
    with pytest.raises(DataError, match="no rows"):
        tabulate(stays().slice(0, 0), "county", method=QUICK)
    with pytest.raises(DataError, match="sign for totals"):
        tabulate(pa.table({"x": ["_T", "a"] * 10}), "x", method=QUICK)


def test_rules_by_hand() -> None:
    cells = Contributions(np.array([100.0, 100.0]), np.array([[90.0, 9.0], [40.0, 30.0]]), np.array([3, 9]))
    assert PPercent(0.15).room(cells).tolist() == pytest.approx([0.15 * 90 - 1, 0.15 * 40 - 30])
    assert Dominance(1, 0.85).room(cells).tolist() == pytest.approx([90 / 0.85 - 100, 40 / 0.85 - 100])
    three = Contributions(np.array([100.0]), np.array([[50.0, 30.0, 19.0]]), np.array([5]))
    assert PPercent(0.15).room(three)[0] == pytest.approx(0.15 * 50 - 20)
    assert PPercent(0.15, coalition=2).room(three)[0] == pytest.approx(0.15 * 50 - 1)  # two subtract theirs
    for wrong in ({"p": 0}, {"q": 0}, {"q": 2}, {"coalition": 0}):
        with pytest.raises(ParameterError):
            PPercent(**wrong)
    for wrong in ({"n": 0}, {"k": 1}):
        with pytest.raises(ParameterError):
            Dominance(**wrong)


def test_kept_cells_that_cannot_be_kept_are_named_by_their_kind() -> None:
    """The message names columns; labels are for the person at the terminal who asks."""
    county = ["here"] * 80 + ["there"] * 60 + ["canary county"] * 2
    rows = pa.table({"county": county, "sex": (["f", "m"] * 71)})
    with pytest.raises(DataError, match="must be published are sensitive") as caught:
        tabulate(rows, "county,sex", 5, method=QUICK, keep=[("county",)])
    assert "It is about cells by county." in caught.value.message
    assert "canary" not in str(caught.value)
    assert caught.value.values == ("county canary county, sex _T",)
    few = pa.table({"county": ["here"] * 40 + ["there"] * 23, "sex": ["f"] * 43 + ["m"] * 20})
    with pytest.raises(DataError, match="cannot be hidden while 5 cells must be published") as caught:
        tabulate(few, "county,sex", 5, method=QUICK, keep=[(), ("sex",), ("county",)])
    assert "of those cells would do" in caught.value.hint
    assert caught.value.values
