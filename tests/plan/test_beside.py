"""What a plan makes beside its release: aggregates that are judged, a determination that is filled."""

from __future__ import annotations

from pathlib import Path

import pytest
from planned import CANARY, HEADER, PLAN, ran, written

import sfumato as sf
from sfumato.errors import PlanError
from sfumato.plan import Plan
from sfumato.report.determination import read_report, template


def test_aggregates_that_give_people_away_make_a_draft(tmp_path: Path) -> None:
    """Cost follows the age: who knows ages learns how from the groups' means, and then everybody's cost."""
    lines = [HEADER]
    for i in range(600):
        place = i % 12
        region, dx = ("east", "west", "north", "south")[place % 4], "abc"[place // 4]
        age = i * 37 % 30 + 5 * place
        lines.append(f"p{i:04d},{'fm'[i // 12 % 2]},{age},{region},{dx},{4 * age + i % 3}")
    plan = PLAN.replace("max_suppressed = 0.2", "max_suppressed = 1.0")
    asked = '\n[[aggregates]]\nby = ["region", "dx"]\nvalue = "cost"\n'
    path = written(tmp_path, plan + asked, **{"data.csv": "\n".join(lines) + "\n"})
    run = Plan.read(path).run(tmp_path / "release")
    (found,) = run.aggregates
    assert found.risk.groups.num_rows == 12
    assert not run.passed and "limits" in run.draft and not found.met and found.share > 0, found.sentence
    assert "guessed too well" in found.sentence
    path.write_text(plan + asked + "most = 1.0\n", encoding="utf-8")
    allowed = Plan.read(path).run(tmp_path / "release")
    assert allowed.met and allowed.releases
    assert "To be coarsened" in allowed.reports[0].read_text(encoding="utf-8")


def test_faults_of_aggregates_are_listed(tmp_path: Path) -> None:
    asked = '\n[[aggregates]]\nby = ["ward", "dx"]\nvalue = "dx"\n'
    with pytest.raises(PlanError) as error:
        Plan.read(written(tmp_path, PLAN + asked))
    said = [words for _, words in error.value.faults]
    assert any("aggregate 1: by names columns" in w and "'ward'" in w for w in said), said
    assert any("must not hold the value" in w for w in said), said


def test_the_determination_is_filled_from_the_run(tmp_path: Path) -> None:
    form = template().replace('recipient = """"""', 'recipient = "Two named analysts."')
    limit = "\n[thresholds]\nutility = 0.01\n"
    plan = PLAN.replace("skip = true", 'effort = "quick"') + limit
    plan += '\n[outputs]\ndetermination = "form.toml"\nreports = ["html", "json"]\n'
    path = written(tmp_path, plan, **{"form.toml": form})
    done = Plan.read(path).run(tmp_path / "release")
    page = next(p for p in done.reports if p.stem == "determination")
    text = page.read_text(encoding="utf-8")
    for words in ("DRAFT: Determination: Visits of a small clinic", "Two named analysts.", "data.csv",
                  "5 of 6", "optimal (k = 3", "utility, limit 0.01", "(open)", "K-anonymity with k = 3",
                  "What an intruder is taken to know", "The attacks that gain most"):  # fmt: skip
        assert words in text, words
    assert CANARY not in text and page.stat().st_mode & 0o077 == 0 and sf.verify(tmp_path / "release").ok
    found = read_report(tmp_path / "release")  # what `determination fill` takes: the folder, or its report
    assert found == read_report(tmp_path / "release" / "internal" / "report.json")
    assert found["thresholds"][0]["name"] == "utility" and found["rows"]["original"] == 120
    (tmp_path / "form.toml").write_text(form.replace("Two named", "Three named"), encoding="utf-8")
    again = Plan.read(path).run(tmp_path / "release")  # other words, the same rows
    assert again.resumed and "Three named analysts." in page.read_text(encoding="utf-8")
    assert Plan.read(path).run(tmp_path / "release").unchanged
    (tmp_path / "form.toml").write_text("nonsense = 1\n", encoding="utf-8")
    with pytest.raises(PlanError, match="'nonsense' is not asked for"):
        Plan.read(path)
    with pytest.raises(PlanError, match="needs the numbers of an assessment"):
        ran(tmp_path, PLAN + '\n[outputs]\ndetermination = "form.toml"\n')
