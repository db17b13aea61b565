"""[domains]: found before the steps, paid once, kept through a stop, stated in what is released."""

from __future__ import annotations

from pathlib import Path

import pytest
from planned import SCHEMA, rows, with_steps, written

from sfumato.errors import BudgetError, PlanError
from sfumato.plan import Plan, found_domains
from sfumato.privacy import ApproxDP, Ledger
from sfumato.release import Release

ASK = """
[domains]
columns = ["dx", "cost"]
epsilon = 1.0
delta = 1e-6
grid = [0, 100, 200, 300, 400]

[budget]
ledger = "spent.ledger"
rho = 2.0
delta = 1e-6

[assess]
skip = true
"""
STEP = 'method = "private"\nepsilon = 1.0\nrows = 50'


def asked(folder: Path) -> Plan:
    """dx and cost have no domain of their own, and many have each level."""
    before, _, rest = SCHEMA.partition("[columns.dx]")
    bare = '[columns.dx]\nkind = "nominal"\n[columns.cost]\nkind = "numeric"\ntype = "integer"\n'
    assert rest
    plan = with_steps(STEP).partition("[assess]")[0] + ASK
    return Plan.read(written(folder, plan, **{"schema.toml": before + bare, "data.csv": rows(3_000)}))


def spent(folder: Path) -> float:
    return Ledger.open(folder / "spent.ledger").spent


def test_found_domains_are_paid_once_and_stated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = asked(tmp_path)

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:  # stopped when the domains are found, and nothing else is done
        patch.setattr("sfumato.plan.run._do_steps", stopped)
        with pytest.raises(KeyboardInterrupt):
            plan.run(tmp_path / "release")
    assert spent(tmp_path) == pytest.approx(1.0)  # two columns, rho = epsilon^2 / 2 each
    with monkeypatch.context() as patch:
        patch.setattr(found_domains.DomainSearch, "find", stopped)  # it is not asked again
        plan.run(tmp_path / "release")
    assert 1.0 < spent(tmp_path) < 1.05
    release = Release.load(tmp_path / "release")
    (claim,) = (c for c in release.guarantee if c.differential)
    assert isinstance(claim, ApproxDP)
    assert claim.epsilon == pytest.approx(3.0) and claim.delta == pytest.approx(1e-6 + 1e-9)
    assert "found in the data with epsilon = 1, delta = 1e-06" in claim.text()
    public = release.data.schema["dx"]
    assert public.stated and public.levels is not None and "other" in public.levels
    assert not public.public, "whoever reads the release has the word of its signer, and no ledger"


def test_what_was_drawn_and_lost_counts_again_if_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = asked(tmp_path)

    def lost(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(found_domains.DomainSearch, "_found", lost)  # paid, and about to be drawn
        with pytest.raises(KeyboardInterrupt):
            plan.run(tmp_path / "release")
    with pytest.raises(BudgetError, match="Drawing again spends it again"):
        plan.run(tmp_path / "release")
    assert spent(tmp_path) == pytest.approx(1.0)
    with pytest.raises(BudgetError):  # the delta is spent
        plan.run(tmp_path / "release", spend_again=True)


def test_what_is_wrong_is_said_before(tmp_path: Path) -> None:
    wrong = ASK.replace('["dx", "cost"]', '["dx", "none", "id"]')
    with pytest.raises(PlanError, match=r"(?s)schema: 'none'.*to find: 'id'"):
        Plan.read(written(tmp_path, with_steps(STEP).partition("[assess]")[0] + wrong))


def test_a_later_step_may_rest_on_what_was_found_for_the_first(tmp_path: Path) -> None:
    """Its own epsilon is about rows of the first result, and is not claimed; it is not refused either."""
    asked(tmp_path)
    first, rest = (tmp_path / "plan.toml").read_text().split("[domains]")
    more = '[[steps]]\nname = "again"\nof = "rows"\nmethod = "marginals"\nrows = 30\nepsilon = 1.0\n'
    named = first.replace("[[steps]]\n", '[[steps]]\nname = "rows"\n', 1)
    (tmp_path / "plan.toml").write_text(f"{named}\n{more}\n[domains]{rest}")
    Plan.read(tmp_path / "plan.toml").run(tmp_path / "release")
    spent_in_all = spent(tmp_path)
    assert 1.0 < spent_in_all < 1.05
