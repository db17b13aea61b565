"""The risk-utility map: the same for any number of workers, whole after a crash, honest about choosing."""

from __future__ import annotations

import json
import math
import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from cli_support import PATIENCE
from hypothesis import given
from hypothesis import strategies as st
from toys import copies, distance, drawn, grid, independent, people, sampled, values

import sfumato as sf
from sfumato.assessment.frontier import Candidate, frontier
from sfumato.assessment.frontier.driver import set_aside
from sfumato.assessment.frontier.grid import plain_settings
from sfumato.assessment.frontier.points import Point, marked
from sfumato.errors import DataError, OutputError, ParameterError
from sfumato.progress import listening
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table


def test_all_methods_and_settings_are_on_the_map() -> None:
    found = drawn()
    assert [p.label for p in found.points] == [
        "sample (share = 0.1)", "sample (share = 0.5)", "coarse (width = 5)", "coarse (width = 20)",
        "independent",
    ]  # fmt: skip
    assert found.points[1].risk.value > found.points[0].risk.value  # more rows, more copies
    assert found.points[1].utility.value < found.points[0].utility.value  # and nearer to the original
    assert all(p.repeats == 2 for p in found.points)
    assert found.points[2].promises == ("2-anonymity",) or found.points[2].promises


def test_results_do_not_depend_on_the_number_of_workers() -> None:
    assert values(drawn(workers=1)) == values(drawn(workers=4)) == values(drawn(workers=2))


def test_a_further_method_changes_no_other_point() -> None:
    alone = frontier(
        people(),
        grid()[3:],
        risk=copies,
        utility=distance,
        repeats=2,
        key=Key.from_seed(1),
        workers=1,
        holdout=0,
    )
    assert values(alone) == values(drawn())[3:]


def test_repeats_differ_and_give_an_interval() -> None:
    point = drawn(repeats=4).points[0]
    assert point.risk.low is not None and point.risk.high is not None
    assert point.risk.low < point.risk.value < point.risk.high
    fixed = drawn().points[2]  # rounding ages draws nothing
    assert fixed.risk.low == fixed.risk.value == fixed.risk.high
    assert drawn(repeats=1).points[0].risk.low is None


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=9))
def test_the_front_is_what_no_other_beats(at: list[tuple[int, int]]) -> None:
    def score(name: str, value: float, better: str) -> Score:
        section = "risk" if name == "risk" else "utility"
        return Score(name, section, value, (0, 4), better, "For a test.")  # type: ignore[arg-type]

    points = [Point("m", {"i": i}, i, score("risk", r, "lower"), score("use", u, "higher"), 1, 0.0)
              for i, (r, u) in enumerate(at)]  # fmt: skip
    for point in marked(points):
        mine = (point.risk.value, point.utility.value)
        beaten = any(r <= mine[0] and u >= mine[1] and (r, u) != mine for r, u in at)
        assert point.front is not beaten


def everything(table: Table, key: Key) -> Table:
    return table


def test_scores_by_name_are_held_against_people_set_aside() -> None:
    table = sf.samples.discharges(1_000, 3).select(["age_years", "sex", "zip", "los_days", "mdc"])
    methods = [Candidate("everything", everything), Candidate("independent", independent)]
    names = {
        "quasi_identifiers": ["age_years", "sex", "zip", "los_days"],
        "sensitive": [],
        "key": Key.from_seed(4),
    }
    whole, nothing = frontier(table, methods, repeats=2, **names).points  # type: ignore[arg-type]
    assert whole.risk.name == "worst attack, compared with people who are not in the data"
    assert whole.risk.value > nothing.risk.value + 0.2
    assert whole.utility.value == 0 < nothing.utility.value
    guess = frontier(table, methods, repeats=1, holdout=0, **names).points[0]  # type: ignore[arg-type]
    assert guess.risk.name == "worst attack, compared with a plain guess"


def test_the_default_risk_tells_a_copy_from_noise_where_people_share_what_is_known() -> None:
    table = sf.samples.discharges(600, 3).select(["sex", "zip", "los_days", "charge_usd", "age_years", "mdc"])
    methods = [Candidate("everything", everything), Candidate("independent", independent)]
    more = {"quasi_identifiers": ["sex"], "sensitive": [], "repeats": 1, "key": Key.from_seed(4)}
    whole, nothing = frontier(table, methods, **more).points  # type: ignore[arg-type]
    linked = frontier(table, methods, risk="linking, at most", **more).points  # type: ignore[arg-type]
    assert max(p.risk.value for p in linked) < 0.01  # half of all people fit, in the data or not
    assert whole.risk.value > 0.9 and nothing.risk.value < 0.2


def test_the_people_set_aside_are_shown_to_no_method() -> None:
    seen: list[int] = []

    def counted(table: Table, key: Key) -> Table:
        seen.append(table.rows())
        return table

    found = frontier(
        people(), [Candidate("counted", counted)], risk=copies, utility=distance, repeats=1, workers=1
    )
    assert 280 < seen[0] < 360
    assert found.choose(0).data.rows() == 400  # the release is made of all
    with pytest.raises(DataError, match="too few"):
        frontier(people(30), grid()[:1], risk=copies, utility=distance, holdout=0.2)
    alone = frontier(people(30), grid()[:1], risk=copies, utility=distance)  # not asked for: drawn without
    assert "too small to set people aside" in alone.notes[0]
    with pytest.raises(ParameterError, match="holdout"):
        frontier(people(), grid()[:1], risk=copies, utility=distance, holdout=1.5)


def test_all_rows_of_a_person_are_on_one_side() -> None:
    table = sf.samples.discharges(600, 3)
    person = table.schema.of_role("person")[0]
    inside, outside = (set(t.to_arrow()[person].to_pylist()) for t in set_aside(table, 0.3, Key.from_seed(1)))
    assert inside and outside and not inside & outside


# -- what goes wrong -------------------------------------------------------------------------------


def test_a_method_that_fails_does_not_end_the_map() -> None:
    def refuses(table: Table, key: Key) -> Table:
        raise DataError("it needs more rows.", hint="give them")

    def breaks(table: Table, key: Key) -> Table:
        raise ValueError("zebra-7319 is not in list")

    def strange(table: Table, key: Key) -> str:
        return "a release"

    methods = [Candidate("refuses", refuses), Candidate("breaks", breaks), *grid()[:1],
               Candidate("strange", strange)]  # type: ignore[arg-type]  # fmt: skip
    found = frontier(people(), methods, risk=copies, utility=distance, repeats=2, workers=2)
    assert [p.name for p in found.points] == ["sample"]
    assert len(found.notes) == 3 and "it needs more rows" in found.notes[0] and "ValueError" in found.notes[1]
    assert "zebra-7319" not in str(found) + json.dumps(found.to_dict()) + found._repr_html_()
    with pytest.raises(DataError, match="none of 2 runs") as caught:
        frontier(people(), methods[1:2], risk=copies, utility=distance, repeats=2)
    assert "zebra-7319" not in str(caught.value)


def test_a_measure_or_a_choice_that_gives_back_something_else() -> None:
    with pytest.raises(DataError, match="a measure gave back a float, not a Score"):
        frontier(people(), grid()[:1], risk=lambda *a: 0.3, utility=distance, repeats=1)  # type: ignore
    answers: list[object] = [people(), 42]
    once = Candidate("once", lambda table, key: answers.pop(0))  # type: ignore[arg-type,return-value]
    found = frontier(people(), [once], risk=copies, utility=distance, repeats=1)
    with pytest.raises(DataError, match="once gave back a int"):
        found.choose(0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"methods": []}, "no method"),
        ({"methods": [sampled]}, "method 1 of 1"),
        ({"methods": grid()[:1] * 2}, "listed twice"),
        ({"methods": [Candidate("x", sampled, {"share": object()})]}, "no lasting name"),
        ({"repeats": 0}, "repeats"),
        ({"repeats": True}, "repeats"),
        ({"workers": 0}, "workers"),
        ({"risk": "no such score"}, "no score is called"),
        ({"risk": 3}, "risk"),
        ({"risk": "k"}, "'k' cannot be an axis"),
        ({"risk": "histogram intersection"}, "cannot be an axis"),
        ({"utility": "G2 ratio"}, "cannot be an axis"),
    ],
)
def test_bad_parameters_are_refused(change: dict[str, object], words: str) -> None:
    options = {"methods": grid()[:1], "risk": copies, "utility": distance, "repeats": 1, **change}
    with pytest.raises(ParameterError, match=words):
        frontier(people(), **options)  # type: ignore[arg-type]


def test_a_risk_of_which_more_is_better_is_no_axis() -> None:
    def upside_down(original: Table, released: Table, control: Table | None, key: Key) -> Score:
        return Score("upside down", "risk", 0.5, (0, 1), "higher", "For a test.")

    with pytest.raises(ParameterError, match="cannot be an axis"):
        frontier(people(), grid()[:1], risk=upside_down, utility=distance, repeats=1)


@pytest.mark.parametrize("workers", [1, 2])
def test_what_was_found_until_ctrl_c_is_given_back(workers: int, tmp_path: Path) -> None:
    first = threading.Event()  # two workers begin at once: whoever stops waits until something was found

    def told(label: str, done: int, total: int | None) -> None:
        if label == "runs for the map" and done:
            first.set()

    def stopping(table: Table, key: Key) -> Table:
        assert first.wait(PATIENCE)
        raise KeyboardInterrupt

    methods = [*grid()[:1], Candidate("stopping", stopping), *grid()[1:2]]
    options: dict[str, object] = {"risk": copies, "utility": distance, "repeats": 1, "holdout": 0}
    with listening(told):
        found = frontier(people(), methods, workers=workers, cache=tmp_path / "c", **options)  # type: ignore[arg-type]
    assert found.stopped and found.points[0].label == "sample (share = 0.1)"
    assert any("stopping: no release: it was stopped" in note for note in found.notes)
    again = frontier(people(), [methods[0], methods[2]], cache=tmp_path / "c", **options)  # type: ignore[arg-type]
    assert not again.stopped and len(again.points) == 2 and again.runs[0].reused
    with pytest.raises(KeyboardInterrupt):  # nothing was found
        frontier(people(), [methods[1]], workers=workers, **options)  # type: ignore[arg-type]


def test_a_column_that_is_left_out_counts_as_wholly_different() -> None:
    def without(table: Table, key: Key, *, columns: int) -> Table:
        return table.select(table.columns[columns:])

    methods = [Candidate("without", without, {"columns": n}) for n in (0, 1, 2)]
    found = frontier(people(), methods, risk=copies_of_rows, repeats=1, holdout=0)
    assert [p.utility.value for p in found.points] == pytest.approx([0, 2 / 3, 1])
    alone = frontier(people().select(["dx"]), methods[:1], risk=copies_of_rows, repeats=1, holdout=0)
    assert alone.points[0].utility.name == "total variation, columns"


def copies_of_rows(original: Table, released: Table, control: Table | None, key: Key) -> Score:
    return Score("rows", "risk", released.rows() / original.rows(), (0, 1), "lower", "For a test.")


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int | None]] = []
    with listening(lambda *said: told.append(said)):
        drawn()
    runs = [t for t in told if t[0] == "runs for the map"]
    assert runs[0][1:] == (0, 10) and runs[-1][1:] == (10, 10)


# -- files -----------------------------------------------------------------------------------------


def test_the_map_is_saved_by_suffix(tmp_path: Path) -> None:
    found = drawn()
    for suffix in ("html", "md", "json", "parquet"):
        path = found.save(tmp_path / f"map.{suffix}")
        assert oct(path.stat().st_mode)[-3:] == "600"
    page = (tmp_path / "map.html").read_text()
    assert "comes from the size of the release alone" not in page  # each point has its own
    assert "INTERNAL" in page and "share = 0.1" in page and "independent" in page
    assert "INTERNAL" in (tmp_path / "map.md").read_text()
    document = json.loads((tmp_path / "map.json").read_text())
    assert document["internal"] and len(document["points"]) == 5
    rows = pq.read_table(tmp_path / "map.parquet").to_pylist()
    assert len(rows) == 10 and json.loads(rows[0]["settings"]) == {"share": 0.1}
    with pytest.raises(ParameterError, match="written as"):
        found.save(tmp_path / "map.png")
    with pytest.raises(OutputError, match="exists"):
        found.save(tmp_path / "map.md")


def test_an_epsilon_without_end_is_told_in_words() -> None:
    score = Score("risk", "risk", 0.5, (0, 1), "lower", "For a test.")
    point = Point("m", {"epsilon": math.inf, "grid": [1, math.nan], "k": 3}, 0, score, score, 1, 0.0)
    assert Point.label_of("m", {"share": 0.1 + 0.2, "k": 3}) == "m (share = 0.3, k = 3)"
    told = json.loads(json.dumps(point.to_dict(), allow_nan=False))["settings"]
    assert told == {"epsilon": "inf", "grid": "[1, nan]", "k": 3}
    settings = plain_settings(Candidate("m", grid()[0].make, {"epsilon": math.inf, "grid": (1, math.nan)}))
    assert settings == '{"epsilon": "inf", "grid": [1, "nan"]}'


def test_words() -> None:
    found = drawn()
    assert str(found).startswith("INTERNAL") and "sample (share = 0.1)" in str(found)
    assert "<table>" in found._repr_html_()
