"""Tables to publish as a part of a plan: made, judged, verified, signed and resumed like every step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from planned import PLAN, rows, written

import sfumato as sf
from sfumato.errors import DataError, PlanError
from sfumato.plan import tables
from sfumato.plan.outcome import Run
from sfumato.privacy import HiddenCells

_HEAD = PLAN[: PLAN.index("[columns]")]
WITHHELD = '[[tables]]\nmethod = "suppress"\neffort = "fast"\nby = ["region,sex"]\nminimum = 5\n'
NOISE = '[[tables]]\nmethod = "noise"\nname = "counts"\nepsilon = 1.0\nby = ["region,dx", "sex"]\n'


def run(folder: Path, text: str, out: str = "out", **files: str) -> Run:
    return sf.Plan.read(written(folder, text, **files)).run(folder / out)


def epsilon(release: sf.Release, scope: str = "") -> float:
    (claim,) = (c for c in release.guarantee if c.differential and c.scope == scope)
    return float(claim.epsilon)  # type: ignore[attr-defined]


def test_a_plan_of_tables_alone_is_run_verified_and_left_as_it_is(tmp_path: Path) -> None:
    done = run(tmp_path, _HEAD + WITHHELD)
    assert done.met and "nobody has signed" in done.draft
    release = done.load()
    assert [type(c) for c in release.guarantee] == [HiddenCells]
    assert sf.verify(tmp_path / "out").ok
    assert "the attacker finds none of the small counts" in done.tables["tables"].sentence
    page = (tmp_path / "out/internal/report.html").read_text("utf-8")
    assert "region,sex" in page and "DRAFT" in page
    again = sf.Plan.read(tmp_path / "plan.toml").run(tmp_path / "out")
    assert again.unchanged


def test_a_signature_stamps_the_same_cells_anew(tmp_path: Path) -> None:
    first = run(tmp_path, _HEAD + NOISE).load().data.to_arrow()
    signed = '[review]\nby = "R. Weiss"\non = 2026-03-01\n'
    (tmp_path / "plan.toml").write_text(_HEAD + signed + NOISE, encoding="utf-8")
    done = sf.Plan.read(tmp_path / "plan.toml").run(tmp_path / "out")
    assert not done.draft and done.load().data.to_arrow().equals(first)  # nothing was drawn again


def test_tables_that_withhold_take_those_before_them_as_known(tmp_path: Path) -> None:
    """A second table by the same regions: what the first withholds must not follow from both."""
    second = '[[tables]]\nmethod = "suppress"\neffort = "fast"\nby = ["region,dx"]\n'
    try:
        done = run(tmp_path, _HEAD + WITHHELD + second)
    except DataError as error:  # it errs on the safe side
        assert "cannot be hidden" in error.message and not (tmp_path / "out").exists()
        return
    both = [done.load(name) for name in ("tables-1", "tables-2")]
    assert both[1].internal is not None and both[1].internal.extra["shown before"] > 0
    first, second_ = (
        {tuple(sorted(v for k, v in row.items() if k != "count" and v != "_T")): row["count"] for row in rows}
        for rows in (release.data.to_arrow().to_pylist() for release in both)
    )
    assert all(second_[labels] == count for labels, count in first.items())  # shown as before, or not at all


def test_noise_adds_up_with_the_epsilon_of_other_steps(tmp_path: Path) -> None:
    steps = '[[steps]]\nmethod = "marginals"\nrows = 40\nepsilon = 0.5\n'
    budget = '[budget]\nledger = "a.ledger"\nepsilon = 5.0\n'
    done = run(tmp_path, f"{_HEAD}{steps}{NOISE}{budget}[assess]\nskip = true\n")
    assert epsilon(done.load("counts")) == pytest.approx(1.0)
    assert epsilon(done.load("counts"), "all 2 releases that left together") == pytest.approx(1.5)
    assert sf.Ledger.open(tmp_path / "a.ledger").spent == pytest.approx(1.5)


def test_everybody_is_counted_those_who_are_held_back_too(tmp_path: Path) -> None:
    """At epsilon 100 a total is off with a chance far below 1e-6."""
    table = NOISE.replace("epsilon = 1.0", "epsilon = 100.0").replace('"region,dx", ', "")
    steps = '[[steps]]\nmethod = "marginals"\nrows = 40\nepsilon = 50.0\n'
    assess = '[assess]\nhold_back = 0.4\neffort = "quick"\n'
    done = run(tmp_path, _HEAD + steps + table + assess, **{"data.csv": rows(200)})
    (total,) = (r["count"] for r in done.load("counts").data.to_arrow().to_pylist() if r["sex"] == "_T")
    assert total == 200


def test_tables_that_nobody_looked_into_are_a_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rounded = '[[tables]]\nmethod = "round"\nby = ["region,sex"]\n'
    fine = run(tmp_path, _HEAD + rounded)
    assert fine.met and "0 small counts follow exactly" in fine.tables["tables"].sentence
    monkeypatch.setattr(tables, "_EXAMINED", 3)
    done = run(tmp_path, _HEAD + rounded, out="large")
    assert not done.met and "not examined" in done.tables["tables"].sentence
    assert "does not meet its limits" in done.draft
    page = (tmp_path / "large/internal/report.html").read_text("utf-8")
    assert "NOT MET" in page


def test_small_counts_that_follow_are_not_met() -> None:
    people = sf.samples.members(300)
    release = sf.tabulate(people, "region,sex", method=sf.CellKeys(variance=1.0, most=3))
    step = sf.step("keys", by=["region,sex"])
    assert release.internal is not None
    for known, met in ((0, True), (2, False), (None, False)):
        found = {"cell keys": {**release.internal.extra["cell keys"], "known": known}}
        told = replace(release, internal=replace(release.internal, extra=found))
        assert tables.judged_tables(step, told).met is met


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (WITHHELD.replace("region,sex", "nowhere"), "not in the schema: 'nowhere'"),
        (WITHHELD.replace("region,sex", ","), "a table needs a column"),
        (WITHHELD + 'sum = "dx"\n', "must be a column of numbers"),
        (WITHHELD + 'keep = ["nowhere"]\n', "not in the schema"),
        (WITHHELD + 'earlier = ["old"]\n', "names a file that is not there"),
        (WITHHELD + NOISE, "cannot be judged together"),
        (WITHHELD + '[[steps]]\nmethod = "pseudonymize"\ncolumns = ["id"]\n', "anybody can count"),
        (WITHHELD + '[[steps]]\nmethod = "marginals"\nrows = 9\nepsilon = 9.0\n', "anybody can count"),
        (NOISE.replace("epsilon = 1.0", "epsilon = 0"), "at least 0.001"),
        (NOISE.replace('"sex"', '"id"'), "waits for domains"),
        ("", "needs [[steps]] or [[tables]]"),
        (WITHHELD + "[columns]\nsex = { drop = true }\n", "leaves out"),
    ],
)
def test_what_cannot_be_is_said_before_the_data_are_read(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(PlanError) as caught:
        sf.Plan.read(written(tmp_path, _HEAD + text))
    assert words in str(caught.value)


def test_a_plan_of_objects_is_the_plan_that_was_written(tmp_path: Path) -> None:
    written(tmp_path)
    step = sf.step(sf.PrivateTables(epsilon=2.0), by=["region,sex"], name="counts")
    plan = sf.Plan.of("data.csv", [step], schema="schema.toml", folder=tmp_path)
    assert "[[tables]]" in plan.text and plan.released[0].name == "counts"
    assert epsilon(plan.run(tmp_path / "out").load()) == pytest.approx(2.0)


def test_a_changed_earlier_release_is_another_plan(tmp_path: Path) -> None:
    run(tmp_path, _HEAD + WITHHELD, out="old")
    text = _HEAD + WITHHELD.replace("region,sex", "region,age") + 'earlier = ["old"]\n'
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    first = sf.Plan.read(tmp_path / "plan.toml")
    manifest = tmp_path / "old/public/manifest.json"
    manifest.write_text(manifest.read_text("utf-8") + " ", encoding="utf-8")
    second = sf.Plan.read(tmp_path / "plan.toml")
    assert first.made_by(first.steps[0]) != second.made_by(second.steps[0])
