"""Several steps of a plan, its ledger and its register."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from planned import CANARY, PLAN, SCHEMA, card, hidden, public_bytes, ran, with_steps, written

import sfumato as sf
from sfumato.errors import BudgetError, DataError, OutputError, PlanError
from sfumato.plan import Plan
from sfumato.privacy import Ledger

# -- several steps ---------------------------------------------------------------------------------


def test_several_releases_of_one_plan(tmp_path: Path) -> None:
    plan = with_steps('name = "tables"\nmethod = "optimal"\nk = 3\nmax_suppressed = 0.2',
                      'name = "rows"\nof = "input"\nmethod = "marginals"\nrows = 40')  # fmt: skip
    found = ran(tmp_path, plan)
    assert sorted(found.releases) == ["rows", "tables"]
    assert all(sf.verify(folder).ok for folder in found.releases.values())
    assert found.load("rows").data.rows() == 40
    assert Plan.read(tmp_path / "plan.toml").run(tmp_path / "release").unchanged


def test_a_chain_promises_what_holds_of_the_input(tmp_path: Path) -> None:
    pegs = 'method = "pegs"\nrows = 30\nepsilon = 2.0\nparents = 1\ncolumns = ["sex", "dx"]'
    alone = ran(tmp_path, with_steps(pegs)).load().guarantee
    assert any(c.differential for c in alone)
    generalize = 'name = "base"\nmethod = "optimal"\nk = 3\nmax_suppressed = 0.2'
    data = pegs.replace("epsilon = 2.0", 'log_l = 0.2\ndomain = "data"\ncap = true')
    release = ran(tmp_path, with_steps(generalize, data), out="chained").load()
    assert not any(c.differential for c in release.guarantee)
    assert "Lost: k-anonymity" in release.guarantee.text() or "Lost:" in release.guarantee.text()
    assert "several steps" in card(tmp_path / "chained") and release.data.rows() == 30
    noisy = 'name = "noisy"\nmethod = "marginals"\nrows = 60\nepsilon = 1.0'
    later = 'method = "resample"\nk = 3'
    kept = ran(tmp_path, with_steps(noisy, later), out="private-first").load().guarantee
    assert [c.epsilon for c in kept if c.differential] == [1.0]


def test_detailed_codes_in_two_steps(tmp_path: Path) -> None:
    within = 'constraints.within = [{ column = "dx", group = "region", file = "groups.csv" }]'
    step = (
        f'method = "pegs"\nrows = 50\nepsilon = 3.0\nparents = 1\ncolumns = ["sex", "region", "dx"]\n{within}'
    )
    groups = "dx,region\na,east\nb,west\nc,north\nzebra7319,south\na,north\nb,south\n"
    written(tmp_path, with_steps(step), **{"groups.csv": groups})
    found = Plan.read(tmp_path / "plan.toml").run(tmp_path / "release").load().data.to_arrow().to_pylist()
    allowed = {tuple(line.split(",")[::-1]) for line in groups.splitlines()[1:]}
    pairs = {(r["region"], r["dx"]) for r in found if r["region"] is not None and r["dx"] is not None}
    assert pairs and pairs <= allowed


def test_pseudonyms_and_exchange(tmp_path: Path) -> None:
    found = ran(tmp_path, with_steps('method = "pseudonymize"\ncolumns = ["id"]'), out="names")
    assert "p0007" not in found.load().data.to_arrow()["id"].to_pylist()
    exchanged = ran(tmp_path, with_steps('method = "resample"\nk = 3\nresponse = "cost"'), out="exchanged")
    assert exchanged.load().guarantee.claims[0].k >= 3


# -- budgets and registers -------------------------------------------------------------------------


def test_a_ledger_is_debited_once_for_one_release(tmp_path: Path) -> None:
    plan = with_steps('method = "marginals"\nrows = 40\nepsilon = 1.0')
    plan += '\n[budget]\nledger = "study.ledger"\nepsilon = 1.5\n'
    ran(tmp_path, plan)
    ledger = Ledger.open(tmp_path / "study.ledger")
    assert ledger.spent == 1.0 and "plan.toml" in ledger.entries()[0].purpose
    assert ran(tmp_path, plan).unchanged and ledger.spent == 1.0
    again = Plan.read(tmp_path / "plan.toml").run(tmp_path / "again", record=tmp_path / "release")
    assert public_bytes(again.out) == public_bytes(tmp_path / "release") and ledger.spent == 1.0
    with pytest.raises(BudgetError, match="does not cover"):
        ran(tmp_path, plan, out="other")
    assert not (tmp_path / "other").exists() and hidden(tmp_path) == []


def test_a_plan_notes_which_ledger_pays_for_its_data(tmp_path: Path) -> None:
    plain = with_steps('method = "marginals"\nrows = 40\nepsilon = 1.0')
    first, second = (f'{plain}\n[budget]\nledger = "{n}.ledger"\nepsilon = 9.0\n' for n in ("one", "two"))
    ran(tmp_path, first)
    assert Ledger.payer_of(tmp_path / "data.csv") == "one.ledger"
    for plan in (second, plain):  # the same people, counted elsewhere or nowhere
        with pytest.raises(BudgetError, match=r"paid from ledger one\.ledger"):
            ran(tmp_path, plan, out="other")
    assert not (tmp_path / "other").exists() and Ledger.open(tmp_path / "two.ledger").spent == 0
    written(tmp_path, second)
    Plan.read(tmp_path / "plan.toml").run(tmp_path / "others", other_people=True)
    assert Ledger.payer_of(tmp_path / "data.csv") == "two.ledger"
    frame = sf.scan(tmp_path / "data.csv", sf.Schema.from_toml(SCHEMA)).to_arrow()
    written(tmp_path, first)
    with pytest.raises(BudgetError, match=r"paid from ledger two\.ledger"):  # as on Spark, from the same file
        Plan.read(tmp_path / "plan.toml").run(
            tmp_path / "framed", input=frame, source=str(tmp_path / "data.csv")
        )


def test_a_ledger_may_be_a_database(tmp_path: Path) -> None:
    plan = with_steps('method = "marginals"\nrows = 40\nepsilon = 1.0')
    plan += '\n[budget]\nledger = "postgresql://nobody@127.0.0.1:1/none#study"\nepsilon = 9.0\n'
    with pytest.raises(sf.SfumatoError, match=r"server|not installed"):
        ran(tmp_path, plan)
    assert not (tmp_path / "release").exists() and not (tmp_path / "postgresql:").exists()
    with pytest.raises(PlanError, match="holds a password"):
        ran(tmp_path, plan.replace("nobody@", "nobody:hunter2@"))


def test_the_register_is_entered_once_and_checked(tmp_path: Path) -> None:
    plan = PLAN + '\n[register]\nfolder = "register"\n'
    ran(tmp_path, plan)
    entries = sorted((tmp_path / "register").glob("release-*.parquet"))
    assert len(entries) == 1
    assert ran(tmp_path, plan).unchanged
    coarser = plan.replace("top = 90 }", "top = 90, max_level = 0 }").replace(
        "max_suppressed = 0.2", "max_suppressed = 1.0"
    )
    with pytest.raises(sf.ParameterError, match="earlier release"):
        ran(tmp_path, coarser, out="other")
    assert len(list((tmp_path / "register").glob("release-*.parquet"))) == 1


def test_a_record_of_something_else_is_refused(tmp_path: Path) -> None:
    ran(tmp_path)
    with pytest.raises(DataError, match="not what this plan makes"):
        ran(tmp_path, PLAN.replace("k = 3", "k = 4"), out="other", record=tmp_path / "release")
    with pytest.raises(OutputError, match="another plan or from other data"):
        ran(tmp_path, PLAN.replace("k = 3", "k = 4"))
    assert ran(tmp_path, PLAN.replace("k = 3", "k = 4"), overwrite=True).load().guarantee.claims[0].k >= 4
    record = json.loads((tmp_path / "release" / "internal" / "run.json").read_text(encoding="utf-8"))
    assert CANARY not in json.dumps(record)


def test_a_promise_says_that_limits_were_measured_on_the_data(tmp_path: Path) -> None:
    plan = with_steps('method = "marginals"\nrows = 60\nepsilon = 1.0').replace(
        "skip = true", 'effort = "quick"'
    )
    found = ran(tmp_path, plan + "\n[thresholds]\nutility = 0.01\n")
    (claim,) = [c for c in found.load().guarantee if c.differential]
    assert any("met limits" in a for a in claim.assumptions)
    looser = ran(tmp_path, plan)  # the same rows, without limits: the sentence goes too
    (claim,) = [c for c in looser.load().guarantee if c.differential]
    assert looser.resumed and not any("met limits" in a for a in claim.assumptions)


def test_names_of_steps_stay_inside_the_release(tmp_path: Path) -> None:
    for name in ("..", "../x", "/tmp/x", ".hidden", "public", "a/b", ""):
        with pytest.raises(PlanError):
            ran(tmp_path, with_steps(f"name = '{name}'\nmethod = \"optimal\"\nk = 3"))


def test_a_register_needs_classes(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"\[register\] compares classes"):
        ran(tmp_path, with_steps('method = "resample"\nk = 3') + '\n[register]\nfolder = "register"\n')


def test_an_epsilon_that_is_known_afterwards_only(tmp_path: Path) -> None:
    step = 'method = "pegs"\nrows = 10\nalpha = 50.0\nparents = 0\ncolumns = ["sex", "dx"]'
    with pytest.raises(PlanError, match="known afterwards only"):
        ran(tmp_path, with_steps(step) + '\n[budget]\nledger = "x"\nepsilon = 1\n')
    with pytest.raises(PlanError, match="looks at the data"):
        ran(tmp_path, with_steps(step) + '\n[prepare]\nredundant = "drop"\n')
    assert any(c.differential for c in ran(tmp_path, with_steps(step)).load().guarantee)
