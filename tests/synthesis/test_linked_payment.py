"""Linked synthesis by command and by plan, paid for by a ledger: signed domains, one debit, nothing lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from linked import saved
from lives import lives, public

import sfumato as sf
from sfumato.cli.app import run as command
from sfumato.errors import BudgetError
from sfumato.io.declarations import database_toml
from sfumato.plan import people as plan_people
from sfumato.plan.database import DatabasePlan, run_database
from sfumato.privacy import Accounted, Budget, Ledger, Unit
from sfumato.privacy.signatures import SigningKey

ASKED = [
    "synthesize", "people", "--method", "linked", "--epsilon", "1", "--delta", "0", "--persons", "25",
    "--max-children", "visits=3", "--max-children", "tests=2", "--period", "2020-01-01",
    "--period", "2021-12-31", "-q",
]  # fmt: skip
DECLARE = ["schema", "declare", "people/database.toml", "--by", "R. Weiss", "--reason", "form F12", "-q"]
NAMED = ["people.birth_date", "people.death_date", "people.sex", "visits.ward", "tests.test"]
PLAN = """
[database]
data = "people"

[synthesis]
persons = 25
epsilon = 1.0
delta = 0.0
period = ["2020-01-01", "2021-12-31"]

[synthesis.max_children]
visits = 3
tests = 2

[budget]
ledger = "a.ledger"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of tables whose declaration nobody has signed yet, a key, and a ledger."""
    monkeypatch.chdir(tmp_path)
    data = public(lives(80))
    saved(tmp_path / "people", data)
    text = database_toml(data, {n: f"{n}.parquet" for n in data.tables})
    (tmp_path / "people" / "database.toml").write_text(text)
    SigningKey.fresh().save(tmp_path / "me.key")
    Ledger.open(tmp_path / "a.ledger", Budget(epsilon=5.0, unit=Unit.person(10)))
    return tmp_path


def signed() -> None:
    assert command([*DECLARE, "--key", "me.key", *(x for n in NAMED for x in ("--column", n))]) == 0


def spent() -> float:
    return Ledger.look("a.ledger").spent


def test_by_command(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command([*ASKED, "--ledger", "a.ledger", "--out", "no"]) != 0  # unsigned: no promise rests on it
    assert "'birth_date'" in capsys.readouterr().err and spent() == 0 and not list(here.glob(".no*"))
    assert command([*DECLARE, "--key", "me.key", "--column", "wards.x"]) != 0
    signed()
    assert command([*ASKED, "--ledger", "a.ledger", "--out", "out"]) == 0
    found = sf.verify("out")
    assert found.ok and not [c for c in found.checks if "domain" in c.subject and c.outcome.name == "WARNED"]
    release = sf.DatabaseRelease.load("out")
    assert release.data["people"].rows() == 25 and spent() == 1.0
    assert [c.total for c in release.guarantee if isinstance(c, Accounted)] == [1.0]
    assert command([*ASKED, "--out", "again"]) != 0  # another ledger pays for these people, or none
    assert "was paid from ledger" in capsys.readouterr().err
    without = [w for w in ASKED if w not in ("--epsilon", "1", "--delta", "0")]
    assert command([*without, "--ledger", "a.ledger", "--out", "again"]) != 0
    assert "nothing to debit" in capsys.readouterr().err and spent() == 1.0


def test_by_plan_stopped_after_the_draw_and_taken_up_again(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed()
    (here / "plan.toml").write_text(PLAN)
    plan = DatabasePlan.read(here / "plan.toml")

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(DatabasePlan, "judged", stopped)
        with pytest.raises(KeyboardInterrupt):
            run_database(plan, here / "out")
    assert spent() == 1.0 and not (here / "out").exists()
    with monkeypatch.context() as patched:
        patched.setattr(plan_people, "synthesized_people", stopped)  # it is there: nothing is drawn again
        done = run_database(plan, here / "out")
    assert spent() == 1.0 and done.release.data["people"].rows() == 25
    assert sf.verify(here / "out").ok and not list(here.glob(".out*"))


def test_by_plan_stopped_while_it_draws_is_said_and_paid_again_when_told(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed()
    (here / "plan.toml").write_text(PLAN)
    plan = DatabasePlan.read(here / "plan.toml")
    with monkeypatch.context() as patched:
        patched.setattr(sf.LinkedModel, "sample", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run_database(plan, here / "out")
    with pytest.raises(BudgetError, match="had begun to draw"):
        run_database(plan, here / "out")
    assert spent() == 1.0
    done = run_database(plan, here / "out", spend_again=True)
    (claim,) = (c for c in done.release.guarantee if c.differential)
    assert spent() == 2.0 and claim.epsilon == 2.0  # type: ignore[attr-defined]


def test_limits_that_were_measured_on_the_data_are_said_to_be_beyond_the_promise(here: Path) -> None:
    signed()
    (here / "plan.toml").write_text(f"{PLAN}[thresholds]\nrisk = 1.0\n")
    made = run_database(DatabasePlan.read(here / "plan.toml"), here / "out").release
    (claim,) = (c for c in made.guarantee if c.differential)
    assert any("not covered" in a for a in claim.assumptions)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PLAN.replace("epsilon = 1.0", 'epsilon = "much"'), "epsilon"),
        (PLAN.replace('ledger = "a.ledger"', ""), "ledger is not given"),
        (
            PLAN.replace("delta = 0.0", "delta = 0.0\ndeclared_persons = 80") + "[assess]\nhold_back = 0.1\n",
            "number of all persons",
        ),
        ('[database]\ndata = "people"\n[budget]\nledger = "a.ledger"\n', "pays for \\[synthesis\\]"),
    ],
)
def test_faults_of_a_plan(here: Path, text: str, words: str) -> None:
    (here / "plan.toml").write_text(text)
    with pytest.raises(sf.SfumatoError, match=words):
        DatabasePlan.read(here / "plan.toml")
