"""A plan that was changed after a stop: what was paid for before is kept, named, and can be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest
from planned import with_steps, written

import sfumato as sf
from sfumato.plan import Plan, assembly, run
from sfumato.privacy import Accounted, Ledger, PureDP


def plan(folder: Path, epsilon: float, method: str = "marginals", ledger: bool = True) -> Plan:
    budget = '[budget]\nledger = "a.ledger"\nepsilon = 5.0\n\n[[steps]]' if ledger else "[[steps]]"
    delta = "\ndelta = 0.0" * (method == "private")
    text = with_steps(f'name = "rows"\nmethod = "{method}"\nrows = 40\nepsilon = {epsilon}{delta}')
    return Plan.read(written(folder, text.replace("[[steps]]", budget, 1)))


def stopped(*_: Any, **__: Any) -> NoReturn:
    raise KeyboardInterrupt


def stop(at: str, patch: pytest.MonkeyPatch, folder: Path, one: Plan) -> None:
    with patch.context() as only, pytest.raises(KeyboardInterrupt):
        only.setattr(at, stopped)
        one.run(folder / "out", other_people=True)


def spent(folder: Path) -> float:
    return round(Ledger.look(folder / "a.ledger").spent, 9)


@pytest.mark.parametrize("method", ["marginals", "private"])
def test_what_was_paid_for_is_kept_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    stop("sfumato.plan.run.judged", monkeypatch, tmp_path, plan(tmp_path, 0.5, method))
    assert spent(tmp_path) == 0.5
    done = plan(tmp_path, 0.25, method).run(tmp_path / "out", other_people=True)
    assert spent(tmp_path) == 0.75 and sf.verify(tmp_path / "out").ok
    notes = [n for n in done.notes if "has paid for plan.toml: rows" in n or "has paid for" in n]
    assert notes and all(f"rows ({method}) (epsilon = 0.5)" in n and "out-paid-for/" in n for n in notes)
    kept = {p.suffix: p for p in (tmp_path / "out-paid-for").iterdir()}
    assert sf.verify(kept[""]).ok and len(kept) == len(notes) == (2 if method == "private" else 1)
    (claim,) = (c for c in sf.Release.load(kept[""]).guarantee if isinstance(c, PureDP))
    (account,) = (c for c in sf.Release.load(kept[""]).guarantee if isinstance(c, Accounted))
    assert claim.epsilon == account.total == 0.5
    if method == "private":
        assert sf.PrivateModel.load(kept[".model"]).sample(10).data.rows() == 10
    assert not (tmp_path / "out-paid-for").stat().st_mode & 0o077
    assert not list(tmp_path.glob(".out*"))


def test_the_earlier_plan_still_finds_its_result_until_another_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop("sfumato.plan.run.judged", monkeypatch, tmp_path, plan(tmp_path, 0.5))
    stop("sfumato.plan.run.judged", monkeypatch, tmp_path, plan(tmp_path, 0.25))
    done = plan(tmp_path, 0.5).run(tmp_path / "out", other_people=True)
    assert spent(tmp_path) == 0.75 and done.resumed == ("rows",)
    assert sum("epsilon = 0.25" in n for n in done.notes) == 1


def test_killed_after_the_release_was_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop("sfumato.plan.run.judged", monkeypatch, tmp_path, plan(tmp_path, 0.5))
    stop("sfumato.plan.assembly.keep_unused", monkeypatch, tmp_path, plan(tmp_path, 0.25))
    assert (tmp_path / "out").exists() and not (tmp_path / "out-paid-for").exists()
    done = plan(tmp_path, 0.25).run(tmp_path / "out", other_people=True)
    assert sum("epsilon = 0.5" in n for n in done.notes) == 1 and spent(tmp_path) == 0.75
    assert len(list((tmp_path / "out-paid-for").iterdir())) == 1
    assert assembly.keep_unused is run.keep_unused


def test_what_was_drawn_and_lost_is_said_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop("sfumato.plan.steps.kept", monkeypatch, tmp_path, plan(tmp_path, 0.5))
    stop("sfumato.plan.workplace.Workplace.attempt", monkeypatch, tmp_path, plan(tmp_path, 0.75))
    done = plan(tmp_path, 0.25).run(tmp_path / "out", other_people=True)
    said = " ".join(done.notes)
    assert "had begun to draw noise for" in said and "(epsilon = 0.5), and what it drew is gone" in said
    assert "(epsilon = 0.75), and has drawn nothing for it. The debit stands" in said
    assert spent(tmp_path) == 1.5 and not (tmp_path / "out-paid-for").exists()


def test_without_a_ledger_it_is_kept_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop("sfumato.plan.run.judged", monkeypatch, tmp_path, plan(tmp_path, 0.5, ledger=False))
    done = plan(tmp_path, 0.25, ledger=False).run(tmp_path / "out", other_people=True)
    assert sum("without a ledger" in n for n in done.notes) == 1
    (kept,) = (tmp_path / "out-paid-for").iterdir()
    assert sf.verify(kept).ok


def test_what_cost_nothing_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Plan.read(written(tmp_path))
    stop("sfumato.plan.run.judged", monkeypatch, tmp_path, first)
    text = (tmp_path / "plan.toml").read_text().replace("k = 3", "k = 4").replace("k = 5", "k = 4")
    (tmp_path / "plan.toml").write_text(text)
    Plan.read(tmp_path / "plan.toml").run(tmp_path / "out")
    assert not (tmp_path / "out-paid-for").exists() and not list(tmp_path.glob(".out*"))
