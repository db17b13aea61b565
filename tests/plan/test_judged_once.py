"""Rows that were judged are not judged again: after a signature, a reason, another form of the output."""

from __future__ import annotations

import json
import math
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from planned import PLAN, ran, written

from sfumato.assessment import assess as assessing
from sfumato.assessment.memory import read_back, written_down
from sfumato.plan import Plan
from sfumato.plan.signature import sign

JUDGED = PLAN.replace("skip = true", 'effort = "quick"\nhold_back = 0.2')
LIMITED = JUDGED + "\n[thresholds]\nutility = 0.999\n"


class Calls:
    """How often something was assessed."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count = 0
        genuine = assessing.assess

        def assess(*given: Any, **named: Any) -> Any:
            self.count += 1
            return genuine(*given, **named)

        patch.setattr(assessing, "assess", assess)

    def new(self) -> int:
        """Since it was last asked."""
        found, self.count = self.count, 0
        return found


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(monkeypatch)


def again(folder: Path, text: str | None = None, **named: Any) -> Any:
    path = folder / "plan.toml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    return Plan.read(path).run(folder / "release", **named)


def test_a_signature_judges_nothing_again(tmp_path: Path, calls: Calls) -> None:
    first = ran(tmp_path, JUDGED)
    assert calls.new() >= 1 and first.draft
    sign(tmp_path / "plan.toml", "A. Miller")
    second = again(tmp_path)
    assert calls.new() == 0 and not second.draft
    before, after = first.assessments["step-1"], second.assessments["step-1"]
    assert after.to_html() == before.to_html() and after.to_dict() == before.to_dict()
    assert second.load().guarantee == first.load().guarantee


def test_a_reason_and_another_form_judge_nothing_again(tmp_path: Path, calls: Calls) -> None:
    ran(tmp_path, LIMITED)
    calls.new()
    accepted = LIMITED + 'accepted = "agreed with the board, A. Miller"\n'
    assert again(tmp_path, accepted).accepted and calls.new() == 0
    changed = again(tmp_path, accepted + '\n[outputs]\nreports = ["md", "json"]\n')
    assert calls.new() == 0 and (changed.out / "internal" / "report.md").exists()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(LIMITED.replace("0.999", "0.5"), id="a limit"),
        pytest.param(JUDGED + "\n[thresholds]\nrisk = 0.3\n", id="another limit", marks=pytest.mark.soak),
        pytest.param(LIMITED.replace('"quick"', '"normal"'), id="effort"),
        pytest.param(
            LIMITED.replace('"quick"', '"quick"\ntarget = "dx"'), id="target", marks=pytest.mark.soak
        ),
    ],
)
def test_what_decides_the_judgement_judges_anew(tmp_path: Path, calls: Calls, text: str) -> None:
    ran(tmp_path, LIMITED)
    calls.new()
    again(tmp_path, text)
    assert calls.new() >= 1


def test_what_was_kept_counts_for_its_own_rows_alone(tmp_path: Path, calls: Calls) -> None:
    """Whoever changes what was kept, or the rows, gets a judgement of what is there."""
    ran(tmp_path, JUDGED)
    kept = tmp_path / "release" / "internal" / "assessment.json"
    assert kept.stat().st_mode & 0o077 == 0
    document = json.loads(kept.read_text(encoding="utf-8"))
    for name in ("rows", "judged_by", "version"):
        kept.write_text(json.dumps({**document, name: "x"}), encoding="utf-8")
        calls.new()
        again(tmp_path, JUDGED.replace("Visits", f"Visits, {name}"))
        assert calls.new() >= 1, name
    kept.write_text("no JSON", encoding="utf-8")
    again(tmp_path, JUDGED.replace("Visits", "Calls"))
    assert calls.new() >= 1


def test_an_earlier_release_is_attacked_together(tmp_path: Path, calls: Calls) -> None:
    ran(tmp_path, JUDGED)
    written(tmp_path, JUDGED)
    Plan.read(tmp_path / "plan.toml").run(tmp_path / "earlier")
    calls.new()
    again(tmp_path, previous=tmp_path / "earlier")
    assert calls.new() >= 1


def test_everything_comes_back(tmp_path: Path) -> None:
    found = ran(tmp_path, LIMITED).assessments["step-1"]
    text = json.dumps(written_down(found))
    same = read_back(json.loads(text))
    assert json.dumps(written_down(same)) == text and same.to_html() == found.to_html()
    score = found.scores[0]
    odd = {"day": date(2020, 1, 2), "time": datetime(2020, 1, 2, 3, 4), "none": None, "nan": math.nan}
    kept = written_down(type(found)((type(score)(**{**vars(score), "details": {"rows": [odd]}}),)))
    (back,) = read_back(json.loads(json.dumps(kept))).scores[0].details["rows"]
    assert {k: v for k, v in back.items() if k != "nan"} == {k: v for k, v in odd.items() if k != "nan"}
    assert math.isnan(back["nan"])
