"""A run that was stopped: what is finished is kept, and noise is not drawn twice for one budget."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from planned import PLAN, public_bytes, ran, with_steps, written

import sfumato as sf
from sfumato.errors import BudgetError, OutputError
from sfumato.plan import Plan, run
from sfumato.plan.workplace import Workplace, workplace
from sfumato.privacy import Ledger
from sfumato.synthesis import baselines

NOISY = with_steps('method = "marginals"\nrows = 40\nepsilon = 0.5')


class StoppedError(Exception):
    """Stands for a power cut at one line of the program."""


def cut(patch: pytest.MonkeyPatch, where: Any, name: str) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise StoppedError

    patch.setattr(where, name, stop)


def workplace_of(folder: Path) -> Path:
    return folder / ".release.sfumato"


def test_finished_steps_are_taken_as_they_are(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        cut(patch, run, "judged")
        with pytest.raises(StoppedError):
            ran(tmp_path)
    assert not (tmp_path / "release").exists() and workplace_of(tmp_path).stat().st_mode & 0o077 == 0
    kept = next(p for p in (workplace_of(tmp_path) / "steps").iterdir() if p.is_dir())
    before = public_bytes(kept)
    found = ran(tmp_path)
    assert found.resumed == ("step-1",) and public_bytes(tmp_path / "release") == before
    assert not workplace_of(tmp_path).exists()


def test_what_is_drawn_from_a_key_is_drawn_the_same_after_a_stop(tmp_path: Path) -> None:
    """The key is on disk before the first draw: a run that is killed in the middle repeats itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Workplace, "forget_if_empty", lambda self: None)  # as a kill would
        cut(patch, sf.Release, "save")
        with pytest.raises(StoppedError):
            ran(tmp_path)
    key = (workplace_of(tmp_path) / "run.key").read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        cut(patch, run, "judged")
        with pytest.raises(StoppedError):
            ran(tmp_path)
    assert (workplace_of(tmp_path) / "run.key").read_bytes() == key
    ran(tmp_path)
    assert sf.verify(tmp_path / "release").ok


def test_noise_is_not_drawn_twice_for_one_budget(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        cut(patch, baselines, "laplace")  # after the debit, before the result is kept
        with pytest.raises(StoppedError):
            ran(tmp_path, NOISY)
    with pytest.raises(BudgetError, match=r"had begun to draw noise for epsilon = 0\.5"):
        ran(tmp_path, NOISY)
    found = ran(tmp_path, NOISY, spend_again=True)
    ((claim),) = [c for c in found.load().guarantee if c.differential]
    assert claim.epsilon == 1.0 and any("drawn 2 times" in a for a in claim.assumptions)
    assert sf.verify(tmp_path / "release").ok
    assert ran(tmp_path, NOISY).unchanged


def test_a_debit_is_on_disk_before_the_draw_and_is_kept(tmp_path: Path) -> None:
    plan = NOISY + '\n[budget]\nledger = "study.ledger"\nepsilon = 0.9\n'
    with pytest.MonkeyPatch.context() as patch:
        cut(patch, baselines, "laplace")
        with pytest.raises(StoppedError):
            ran(tmp_path, plan)
    assert Ledger.open(tmp_path / "study.ledger").spent == 0.5
    with pytest.raises(BudgetError, match="does not cover"):
        ran(tmp_path, plan, spend_again=True)
    assert Ledger.open(tmp_path / "study.ledger").spent == 0.5


def test_a_fitted_model_is_kept_before_anything_is_done_with_it(tmp_path: Path) -> None:
    from sfumato.synthesis.private import PrivateModel

    plan = with_steps('method = "private"\nepsilon = 1.0\nrows = 30\ncolumns = ["sex", "region"]')
    with pytest.MonkeyPatch.context() as patch:
        cut(patch, PrivateModel, "sample")
        with pytest.raises(StoppedError):
            ran(tmp_path, plan)
    found = ran(tmp_path, plan)  # no --spend-again: what was drawn is still there
    (claim,) = [c for c in found.load().guarantee if c.differential]
    assert claim.epsilon == pytest.approx(1.0)


def test_a_release_that_was_being_replaced_comes_back(tmp_path: Path) -> None:
    ran(tmp_path)
    before = public_bytes(tmp_path / "release")
    with pytest.MonkeyPatch.context() as patch:
        genuine = os.rename

        def once(source: Any, target: Any) -> None:
            if Path(target).name == "release":
                raise StoppedError
            genuine(source, target)

        patch.setattr(Workplace, "forget_if_empty", lambda self: None)
        patch.setattr(os, "rename", once)
        with pytest.raises(StoppedError):
            ran(tmp_path, PLAN.replace("k = 3", "k = 4"), overwrite=True)
    assert not (tmp_path / "release").exists()
    assert ran(tmp_path).unchanged and public_bytes(tmp_path / "release") == before


def test_thresholds_can_be_changed_without_drawing_anew(tmp_path: Path) -> None:
    first = ran(tmp_path, NOISY)
    before = public_bytes(first.out)
    second = ran(tmp_path, NOISY.replace('title = "Visits', 'title = "All visits'))
    assert second.resumed == ("step-1",) and public_bytes(second.out) == before
    assert "All visits" in (first.out / "public" / "card.md").read_text(encoding="utf-8")


def test_one_run_at_a_time(tmp_path: Path) -> None:
    path = written(tmp_path)
    with workplace(tmp_path / "release"), pytest.raises(OutputError, match="another run"):
        Plan.read(path).run(tmp_path / "release")
    assert not workplace_of(tmp_path).exists()
    Plan.read(path).run(tmp_path / "release")


def test_the_register_is_not_entered_by_a_run_that_came_to_nothing(tmp_path: Path) -> None:
    plan = PLAN + '\n[register]\nfolder = "register"\n'
    with pytest.MonkeyPatch.context() as patch:
        cut(patch, run, "written")
        with pytest.raises(StoppedError):
            ran(tmp_path, plan)
    assert not (tmp_path / "register").exists()
    with pytest.MonkeyPatch.context() as patch:
        cut(
            patch, Workplace, "put_in_place"
        )  # entered, and not in place: the next run must not enter it again
        with pytest.raises(StoppedError):
            ran(tmp_path, plan)
    ran(tmp_path, plan)
    assert len(list((tmp_path / "register").glob("release-*.parquet"))) == 1


def test_a_register_that_has_grown_since_is_looked_at_again(tmp_path: Path) -> None:
    plan = PLAN + '\n[register]\nfolder = "register"\n'
    with pytest.MonkeyPatch.context() as patch:
        cut(patch, run, "judged")
        with pytest.raises(StoppedError):
            ran(tmp_path, plan)  # checked against an empty register, and stopped
    finer = plan.replace("top = 90 }", "top = 90, max_level = 0 }").replace("= 0.2", "= 1.0")
    ran(tmp_path, finer, out="other")
    with pytest.raises(sf.ParameterError, match="together with 1 earlier release"):
        ran(tmp_path, plan)
    assert not (tmp_path / "release").exists()
