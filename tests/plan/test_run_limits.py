"""Signatures, limits that are missed or accepted, and drafts, from a plan to its release."""

from __future__ import annotations

import json
import shutil
from datetime import date
from pathlib import Path

import pytest
from planned import PLAN, SCHEMA, card, public_bytes, ran, written

import sfumato as sf
from sfumato.errors import PlanError
from sfumato.plan import Plan
from sfumato.plan.signature import sign

# -- the signature ---------------------------------------------------------------------------------


def test_signing_takes_the_stamp_away_and_leaves_the_bytes(tmp_path: Path) -> None:
    ran(tmp_path)
    out = tmp_path / "release"
    before = public_bytes(out)
    plan = sign(tmp_path / "plan.toml", "A. Miller", on=date(2026, 3, 1))
    assert plan.draft == "" and plan.signed == ("A. Miller", date(2026, 3, 1))
    found = plan.run(out)
    assert not found.draft and found.resumed == ("step-1",)
    assert public_bytes(out) == before and sf.verify(out).ok
    assert "DRAFT" not in card(out)
    assert "Signed by A. Miller on 2026-03-01" in (out / "internal" / "report.html").read_text(
        encoding="utf-8"
    )
    again = plan.run(out)
    assert again.unchanged and public_bytes(out) == before


def test_a_signature_covers_what_was_signed(tmp_path: Path) -> None:
    path = written(
        tmp_path, PLAN.replace('hierarchy = "suppress" }', 'hierarchy = "suppress", reviewed = false }')
    )
    with pytest.raises(PlanError, match="1 guess about columns is not reviewed: 'sex'"):
        sign(path, "A. Miller")
    assert Plan.read(path).draft.count("not reviewed") == 1
    assert sign(path, "A. Miller", all_reviewed=True).draft == ""
    text = path.read_text(encoding="utf-8")
    assert "reviewed = true" in text and text.count("[review]") == 1
    path.write_text(text.replace("k = 3", "k = 2"), encoding="utf-8")
    assert Plan.read(path).draft == "the plan was changed after it was signed"
    (tmp_path / "schema.toml").write_text(SCHEMA + "# and more\n", encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    assert "changed after" in Plan.read(path).draft
    by_hand = PLAN + '\n[review]\nby = "B. Moss"\non = "2026-03-02"\n'
    assert Plan.read(written(tmp_path, by_hand)).draft == ""


# -- thresholds ------------------------------------------------------------------------------------


def test_a_threshold_that_is_not_met_refuses_or_marks(tmp_path: Path) -> None:
    strict = PLAN.replace("skip = true", 'effort = "quick"') + "\n[thresholds]\nutility = 0.999\n"
    found = ran(tmp_path, strict + '\n[outputs]\nunmet = "refuse"\n')
    assert found.refused and not found.met and not (tmp_path / "release").exists()
    (report,) = found.reports
    said = report.read_text(encoding="utf-8")
    assert report.name == "release-refused.html" and "utility at least" in said
    order = [
        '<p class="verdict-title">', "utility at least 0.999", "DRAFT: it does not meet", "Risk: what the",
        ">Utility: what the", ">What was promised<", ">The run<", ">How it was done<",
    ]  # fmt: skip
    said = said[said.index("<body>") :]
    places = [said.index(words) for words in order[:3]]
    places += [said.rindex(words) for words in order[3:]]  # the last is the heading, before it the way there
    assert places == sorted(places)
    for said in ("", '\n[outputs]\nunmet = "mark"\n'):  # the earlier word means the same
        out = f"release{len(said)}"
        drafted = ran(tmp_path, strict + said, out=out)
        assert not drafted.refused and not drafted.met and not drafted.passed and sf.verify(drafted.out).ok
        assert "DRAFT: it does not meet the limits" in card(drafted.out)
    assert "does not meet its limits" in drafted.draft


def test_a_draft_says_so_wherever_it_is_looked_at(tmp_path: Path) -> None:
    """Signed, and its limits missed: what a tired person might do is send public/ away."""
    strict = PLAN.replace("skip = true", 'effort = "quick"') + "\n[thresholds]\nutility = 0.999\n"
    plan = sign(written(tmp_path, strict), "A. Miller", on=date(2026, 3, 1))
    out = tmp_path / "release"
    assert plan.run(out).draft == "it does not meet its limits"
    public = tmp_path / "sent"
    shutil.copytree(out / "public", public)
    for folder in (out, public):
        found = sf.verify(folder)
        assert found.ok and "DRAFT" in found.verdict and "not to be passed on" in found.verdict
        assert "limits" in sf.Release.load(folder).draft and "DRAFT" in repr(sf.Release.load(folder))
    assert (public / "DRAFT.txt").read_text(encoding="utf-8").startswith("DRAFT: it does not meet")
    assert (public / "card.md").read_text(encoding="utf-8").startswith("# DRAFT")
    again = plan.run(out)  # found as it is: still no release
    assert again.unchanged and not again.met and not again.passed and "limits" in again.draft
    (public / "DRAFT.txt").unlink()
    assert not sf.verify(public).ok


def test_a_draft_does_not_take_the_place_of_a_release(tmp_path: Path) -> None:
    """Next quarter's run overwrites, and misses its limits: the release of this quarter is still there."""
    sign(written(tmp_path), "A. Miller", on=date(2026, 3, 1)).run(tmp_path / "release")
    before = public_bytes(tmp_path / "release")
    other = PLAN.replace("k = 3", "k = 4").replace("skip = true", 'effort = "quick"')
    limits = "\n[thresholds]\nutility = 0.999\n"
    found = ran(tmp_path, other + limits, overwrite=True)
    assert found.refused and not found.passed and any("does not replace" in n for n in found.notes)
    assert public_bytes(tmp_path / "release") == before and sf.verify(tmp_path / "release").ok
    easy = ran(tmp_path, other + limits.replace("0.999", "0.01"), overwrite=True)
    assert easy.met and easy.resumed == ("step-1",) and public_bytes(tmp_path / "release") != before
    draft = ran(tmp_path, other.replace("k = 4", "k = 5") + limits, overwrite=True)  # for a draft it does
    assert not draft.refused and not draft.met and draft.load().draft


REASON = "agreed with the recipient, A. Miller 2026-03-01"


def test_a_missed_limit_is_accepted_with_a_reason(tmp_path: Path) -> None:
    limits = "\n[thresholds]\nutility = 0.999\n"
    strict = PLAN.replace("skip = true", 'effort = "quick"') + limits
    first = ran(tmp_path, strict)
    before = public_bytes(first.out)
    path = written(tmp_path, strict + f'accepted = "{REASON}"\n')
    accepted = sign(path, "A. Miller", on=date(2026, 3, 1)).run(first.out)
    assert accepted.passed and not accepted.met and accepted.accepted == REASON and accepted.draft == ""
    assert accepted.resumed == ("step-1",) and public_bytes(first.out) == before  # not drawn anew
    assert "DRAFT" not in card(first.out) and "does not meet all limits" in card(first.out)
    assert REASON not in card(first.out) and not (first.out / "public" / "DRAFT.txt").exists()
    report = (first.out / "internal" / "report.html").read_text(encoding="utf-8")
    assert REASON in report and "Signed by A. Miller" in report
    record = json.loads((first.out / "internal" / "run.json").read_text(encoding="utf-8"))
    assert record["accepted"] == REASON and record["met"] is False
    again = Plan.read(path).run(first.out)
    assert again.unchanged and again.passed and again.accepted == REASON
    path.write_text(path.read_text(encoding="utf-8").replace("agreed", "not agreed"), encoding="utf-8")
    assert "changed after" in Plan.read(path).draft  # the signature covers the reason


def test_an_acceptance_that_is_not_needed_is_said(tmp_path: Path) -> None:
    easy = PLAN.replace("skip = true", 'effort = "quick"') + "\n[thresholds]\nutility = 0.01\n"
    found = ran(tmp_path, easy + f'accepted = "{REASON}"\n')
    assert found.met and found.accepted == "" and any("not needed" in n for n in found.notes)
    assert "was not needed" in (found.out / "internal" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("blank", ["", "   ", "\\t"])
def test_an_acceptance_says_something(tmp_path: Path, blank: str) -> None:
    easy = PLAN.replace("skip = true", 'effort = "quick"') + "\n[thresholds]\nutility = 0.01\n"
    with pytest.raises(PlanError, match=r"\[thresholds\] accepted is empty"):
        ran(tmp_path, easy + f'accepted = "{blank}"\n')
    with pytest.raises(PlanError, match="no limit is set"):
        ran(tmp_path, PLAN + '\n[thresholds]\naccepted = "whatever, by whom"\n')
    with pytest.raises(PlanError, match="must be text"):
        ran(tmp_path, easy + "accepted = true\n")
