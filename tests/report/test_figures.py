"""What the figures compute: shares, residuals, fronts, and how they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pages
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.report import Page, Section, figures
from sfumato.report.figures import MapPoint, pareto
from sfumato.report.figures.common import short
from sfumato.report.figures.tables import _residuals, _tiles
from sfumato.score import Score


def values(figure: Any, panel: int = 0) -> list[dict[str, Any]]:
    return list(figure.panels[panel]["data"]["values"])


def test_marginals_are_shares_and_name_the_worst_column() -> None:
    figure = figures.marginals({"a": ("xy", [1, 3], [10, 30]), "b": ("xyz", [1, 1, 2], [2, 1, 1])})
    assert [v["share"] for v in values(figure)] == [0.25, 0.75, 0.25, 0.75]
    assert "differs most is b: 25.0%" in figure.description
    assert figure.table is not None and len(figure.table.rows) == 5


def test_many_levels_and_columns_are_cut_and_said() -> None:
    wide = {f"c{i}": (range(100), np.arange(100), np.arange(100)[:: 1 - 2 * (i > 25)]) for i in range(30)}
    figure = figures.marginals(wide, most_columns=4, most_levels=10)
    assert len(figure.panels) == 4
    assert [p["title"]["text"] for p in figure.panels] == ["c26", "c27", "c28", "c29"]  # those that differ
    drawn = [v for v in values(figure) if v["of"] == "original"]
    assert len(drawn) == 10
    rest = 1 - sum(v["share"] for v in drawn)
    assert f"and 90 others: {100 * rest:.1f}% before" in figure.panels[0]["title"]["subtitle"]
    assert "4 of 30 columns" in figure.description


def test_class_sizes_count_rows_not_classes() -> None:
    figure = figures.class_sizes([1, 1, 8], [5, 5], k=5)
    found = {(v["of"], v["level"]): v["share"] for v in values(figure)}
    assert found["original", "1"] == 0.2 and found["original", "5–9"] == 0.8
    assert found["released", "5–9"] == 1
    assert "smaller than 5 are 20.0% of the original's rows and 0.0%" in figure.description
    assert "unique" in figures.class_sizes([1], []).description


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_tiles_are_as_large_as_their_shares(a: int, b: int, seed: int) -> None:
    table = np.random.default_rng(seed).uniform(0.1, 1, (a, b))
    p = table / table.sum()
    boxes = {at: (x1 - x0, y1 - y0) for at, x0, x1, y0, y1 in _tiles(p, 0, (0.0, 1.0, 0.0, 1.0))}
    total = sum(w * h for w, h in boxes.values())
    for at, (w, h) in boxes.items():
        assert w > 0 and h > 0
        assert w * h / total == pytest.approx(p[at], rel=1e-9)


def test_residuals_vanish_without_association_and_ignore_the_size() -> None:
    table = np.outer([1.0, 3.0], [2.0, 5.0, 1.0])
    assert np.allclose(_residuals(table), 0)
    table[0, 0] += 4
    assert np.allclose(_residuals(table), _residuals(1000 * table))
    assert _residuals(table)[0, 0] > 0
    assert np.allclose(_residuals(np.zeros((2, 2))), 0)


def test_a_mosaic_may_have_other_levels_after() -> None:
    figure = figures.mosaic(
        ["age", "sex"], [["20", "21"], ["f", "m"]], [[1, 2], [3, 4]], [[4, 6]],
        released_levels=[["20–21"], ["f", "m"]],
    )  # fmt: skip
    assert [len(p["layer"][0]["data"]["values"]) for p in figure.panels] == [4, 2]
    assert figure.table is not None
    assert ("released", "20–21", "m", 6.0, "60.0%") in figure.table.rows


def test_associations_name_the_pair_that_changed() -> None:
    before = np.array([[1, 0.5, 0.2], [0.5, 1, np.nan], [0.2, np.nan, 1]])
    after = before.copy()
    after[0, 2] = after[2, 0] = -0.1
    figure = figures.associations(["a", "b", "c"], before, after)
    assert "a and c: 0.2 before, −0.1 after" in figure.description
    assert len(values(figure, 2)) == 4  # neither the diagonal nor what is not a number
    one = figures.associations(["a"], [[1.0]], [[1.0]])
    assert "no pair" in one.description


def test_many_columns_of_associations_are_cut() -> None:
    m = np.eye(50)
    m2 = m.copy()
    m2[7, 9] = m2[9, 7] = 0.9
    figure = figures.associations([f"c{i}" for i in range(50)], m, m2, most_columns=5)
    assert "5 of 50 columns" in figure.description and "c7 and c9" in figure.description


@given(st.text(), st.integers(2, 30))
def test_short_labels_fit_and_keep_their_ends(text: str, letters: int) -> None:
    words = " ".join(text.split())
    found = short(text, letters)
    assert len(found) <= letters
    assert found == words or (len(words) > letters and "…" in found)


def test_names_made_alike_stay_apart() -> None:
    assert len({short(f"a rather long column name {i}", 14) for i in range(60)}) == 60


def test_attacks_say_how_many_beat_both() -> None:
    figure = figures.attacks([*pages.attacks(), *pages.risks()])
    assert "1 of 4 attacks lies above both" in figure.description
    gain = Score("gain", "attack", 3.0, (0, np.inf), "lower", "m", knowledge="k")
    assert len(figures.attacks([*pages.attacks(), gain]).panels[0]["layer"][1]["data"]["values"]) == 12
    assert figures.attacks([gain]).table is not None


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=30), st.booleans())
def test_the_front_is_what_no_point_beats(found: list[tuple[int, int]], higher: bool) -> None:
    sign = 1 if higher else -1
    slow = [
        not any(
            (r2 <= r and sign * u2 >= sign * u) and (r2 < r or sign * u2 > sign * u) for r2, u2 in found
        )
        for r, u in found
    ]  # fmt: skip
    risk, utility = zip(*found, strict=True)
    assert pareto(risk, utility, utility_better="higher" if higher else "lower").tolist() == slow


def test_no_two_methods_look_alike_on_the_map() -> None:
    spec = figures.frontier([MapPoint(f"m{i}", i, i) for i in range(30)]).panels[0]
    last = spec["layer"][-1]["encoding"]
    looks = zip(last["color"]["scale"]["range"], last["shape"]["scale"]["range"], strict=True)
    assert len(set(looks)) == 30


def test_names_on_the_map_overlap_neither_each_other_nor_a_point() -> None:
    from sfumato.report.figures.labels import _box, _meet, _pixels

    draw = np.random.default_rng(4)
    points = [MapPoint(f"method {i % 5}", *draw.random(2), settings={"k": i}) for i in range(40)]
    points += [MapPoint("apart", 2.0, 2.0), MapPoint("apart", 2.0, 2.0)]
    for better in ("higher", "lower"):
        figure = figures.frontier(points, utility_better=better)  # type: ignore[arg-type]
        spec, shown = figure.panels[0], values(figure)
        axes = spec["layer"][-1]["encoding"]
        ends = (axes["x"]["scale"]["domain"], axes["y"]["scale"]["domain"])
        assert axes["y"]["scale"]["reverse"] is (better == "lower")
        size = (spec["width"], spec["height"])
        at = [_pixels(v["risk"], v["utility"], ends, size, better == "lower") for v in shown]
        boxes = {i: _box(*at[i], v["place"], len(v["label"])) for i, v in enumerate(shown) if v["place"]}
        assert len(boxes) > 15 and shown[-2]["place"] and not shown[-1]["place"]  # the same is said once
        for i, box in boxes.items():
            assert not any(_meet(box, other) for j, other in boxes.items() if j != i)
            assert not any(box[0] < x < box[2] and box[1] < y < box[3] for x, y in at)


def test_the_map_shows_settings_and_leaves_out_what_has_no_value() -> None:
    points = [
        MapPoint("m", 0.1, 0.9, (0.05, 0.15), None, {"k": 5}),
        MapPoint("m", 0.2, 0.8, settings={"k": 2, "loss": "ncp"}),
        MapPoint("n", float("nan"), 0.5),
    ]
    figure = figures.frontier(points, risk="linking", utility="kept", max_risk=0.15)
    assert "1 settings without a value are not drawn" in figure.description
    assert values(figure)[0]["says"] == "m: k = 5\nlinking 0.1 (0.05 to 0.15)\nkept 0.9\non the Pareto front"
    assert figure.table is not None
    assert figure.table.rows == (
        ("m", "5", "", "0.1 (0.05 to 0.15)", "0.9", True), ("m", "2", "ncp", "0.2", "0.8", False),
    )  # fmt: skip
    text = Page("T", "", [Section("s", "", [figure])]).to_html()
    assert "<title>m: k = 5\nlinking 0.1" in text  # a tooltip even without scripts


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: figures.marginals({}),
        lambda: figures.marginals({"a": ("xy", [1], [1])}),
        lambda: figures.marginals({"a": ("xy", [1, -1], [1, 1])}),
        lambda: figures.class_sizes([np.nan], [1]),
        lambda: figures.mosaic(["a"], ["xy"], [1, 2], [1, 2]),
        lambda: figures.mosaic(["a", "b"], ["xy", "z"], [[1, 2]], [[1, 2]]),
        lambda: figures.associations(["a"], [[1, 2]], [[1, 2]]),
        lambda: figures.attacks(pages.risks()),
        lambda: figures.frontier([MapPoint("m", np.nan, 1)]),
    ],
)
def test_what_cannot_be_drawn_is_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError):
        wrong()


def test_empty_files_are_drawn() -> None:
    figure = figures.marginals({"a": ("xy", [0, 0], [1, 1])})
    empty = figures.mosaic(["a", "b"], ["xy", "z"], [[0], [0]], [[1], [0]])
    nobody = figures.class_sizes([], [])
    Page("T", "", [Section("s", "", [figure, empty, nobody])]).to_html()
