"""Every method that claims an epsilon: unaccounted without a ledger, named with one, and summed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest
from cli_support import Sfumato
from declared import signed
from planned import with_steps, written
from private_tables import chain, table_of
from score_tables import MIXED, mixed

import sfumato as sf
from sfumato.methods.declaration import Does, declaration_of
from sfumato.methods.names import OURS, find
from sfumato.prediction.artefact import load
from sfumato.privacy import Accounted, Guarantee, Ledger, PureDP, Unaccounted, Unit
from sfumato.privacy.signatures import SigningKey
from sfumato.privacy.together import leaving_together, whole_of

EPSILONS = {"PureDP", "ApproxDP", "ZCDP"}
ROWS = 12
TABLE = table_of(chain(120), (2, 2, 2, 3))
CLAIMING = [name for name in OURS if EPSILONS & set(declaration_of(find(name)).claims)]
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "private": [{"epsilon": 2.0, "delta": 0.0}],
    "pegs": [{"epsilon": 2.0}, {"epsilon_per_row": 0.25, "parents": 0}],
    "pmi": [{"epsilon_per_row": 0.1}],
    "marginals": [{"epsilon": 2.0}],
    "table": [{"epsilon": 2.0}, {"alpha": 4.0}],
    "noise": [{"epsilon": 2.0}],
    "logistic": [{"epsilon": 4.0}],
    "additive": [{"epsilon": 4.0}],
    "forest": [{"epsilon": 4.0}],
}
CASES = [(name, settings) for name, many in SETTINGS.items() for settings in many]
SYNTHESIS = [case for case in CASES if OURS[case[0]][0] is Does.SYNTHESIZE]


def test_no_method_that_claims_an_epsilon_is_left_out() -> None:
    """Linked ones: tests/methods/test_promises.py and tests/synthesis/test_linked_payment.py."""
    linked = {name for name in CLAIMING if OURS[name][0] is Does.PEOPLE}
    assert linked == {"linked"} and set(SETTINGS) == set(CLAIMING) - linked


def accounts(guarantee: Guarantee) -> list[type]:
    return [type(c) for c in guarantee if isinstance(c, Accounted | Unaccounted)]


def made(name: str, settings: dict[str, Any], folder: Path, ledger: Ledger | None) -> Path:
    """The artefact of a method, saved."""
    method = find(name)(**settings)
    if OURS[name][0] is Does.FIT:
        model = method.fit(mixed(300, 0), "sick", ledger=ledger)
        model.save(folder / "m.sfm", SigningKey.fresh())
        return folder / "m.sfm"
    if OURS[name][0] is Does.TABULATE:
        return sf.tabulate(TABLE, "v0,v1", method=method, ledger=ledger).save(folder / "release")
    return sf.synthesize(TABLE, method, ROWS, ledger=ledger).save(folder / "release")


def said(artefact: Path) -> Guarantee:
    """What the saved artefact says, read anew."""
    if artefact.suffix == ".sfm":
        assert "naccounted" in artefact.read_text() or "Accounted" in artefact.read_text()
        return load(artefact).guarantee
    return Guarantee.from_json((artefact / "public" / "guarantee.json").read_text("utf-8"))


@pytest.mark.parametrize(("name", "settings"), CASES, ids=lambda c: str(c))
def test_without_a_ledger_it_says_unaccounted_and_with_one_which(
    tmp_path: Path, name: str, settings: dict[str, Any]
) -> None:
    (tmp_path / "without").mkdir()
    alone = made(name, settings, tmp_path / "without", None)
    assert accounts(said(alone)) == [Unaccounted] and "Unaccounted." in said(alone).text()
    if alone.is_dir():
        assert "Unaccounted." in (alone / "public" / "card.md").read_text("utf-8")
        assert sf.verify(alone).ok
    ledger = Ledger.open(tmp_path / "a.ledger", 100.0)
    paid = said(made(name, settings, tmp_path, ledger))
    assert accounts(paid) == [Accounted] and "naccounted" not in paid.text()
    (account,) = (c for c in paid if isinstance(c, Accounted))
    (claim,) = (c for c in paid if c.differential)
    assert account.total == ledger.spent == pytest.approx(claim.epsilon)  # type: ignore[attr-defined]
    assert ledger.check_against(paid) == (1, 0, 0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pyarrow.csv.write_csv(TABLE.to_arrow(), tmp_path / "data.csv")
    (tmp_path / "data.toml").write_text(signed(TABLE.schema).to_toml())
    pyarrow.csv.write_csv(mixed(300, 0).to_arrow(), tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(signed(MIXED).to_toml())
    SigningKey.fresh().save(tmp_path / "my.key")
    return tmp_path


@pytest.mark.parametrize(("name", "settings"), CASES, ids=lambda c: str(c))
def test_the_command_says_it_too(sfumato: Sfumato, folder: Path, name: str, settings: dict[str, Any]) -> None:
    options = [str(x) for k, v in settings.items() for x in (f"--{k.replace('_', '-')}", v)]
    if OURS[name][0] is Does.FIT:
        base = ["fit", "people.csv", "--schema", "people.toml", "--target", "sick", "--sign", "my.key"]
    elif OURS[name][0] is Does.TABULATE:
        base = ["tabulate", "data.csv", "--schema", "data.toml", "--by", "v0,v1"]
    else:
        base = ["synthesize", "data.csv", "--schema", "data.toml", "--rows", str(ROWS)]
    base += ["--method", name, *options]
    alone = sfumato(*base, "--out", "one.sfm")
    assert alone.code == 0, alone.err
    assert "unaccounted: no ledger was debited" in " ".join(alone.err.split())
    assert "Unaccounted." in alone.out
    ledger = Ledger.open(folder / "a.ledger", 100.0)
    paid = sfumato(*base, "--ledger", "a.ledger", "--out", "two.sfm", "--json")
    assert paid.code == 0 and "unaccounted" not in paid.err, paid.err
    kinds = [c["claim"] for c in json.loads(paid.out)["guarantee"]["claims"]]
    assert "Accounted" in kinds and "Unaccounted" not in kinds and ledger.spent > 0
    checked = sfumato("ledger", "check", "a.ledger", "--against", "two.sfm", "--json")
    assert checked.code == 0 and json.loads(checked.out)["held"] == 1, checked.all
    other = sfumato("ledger", "check", "a.ledger", "--against", "one.sfm")
    assert other.code == 1 and "NOT CHECKED" in other.out


def test_an_older_ledger_is_refused_at_the_command_line(sfumato: Sfumato, folder: Path) -> None:
    import os
    import shutil

    state = Path(os.environ["SFUMATO_STATE"])
    Ledger.open(folder / "a.ledger", 9.0)
    shutil.copy(folder / "a.ledger", folder / "copy")
    shutil.copytree(state, folder / "state")
    base = ["synthesize", "data.csv", "--schema", "data.toml", "--rows", "9", "--method", "marginals"]
    base += ["--epsilon", "1", "--ledger", "a.ledger", "--out"]
    assert sfumato(*base, "one").code == 0
    shutil.copy(folder / "copy", folder / "a.ledger")
    shutil.rmtree(state)
    shutil.copytree(folder / "state", state)
    refused = sfumato("ledger", "check", "a.ledger", "--against", "one/public")
    assert refused.code == 1 and "OR A FORGERY" in refused.out and not Ledger.look("a.ledger").locked
    refused = sfumato(*base, "two", "--against", "one")
    assert refused.code != 0 and "older copy" in refused.err and not (folder / "two").exists()
    assert Ledger.open("a.ledger").spent == 0
    sfumato("sign", "one", "--key", "my.key", "--name", "A. Miller")
    public = SigningKey.load("my.key").public
    stranger = SigningKey.fresh().public
    assert sfumato("ledger", "check", "a.ledger", "--against", "one", "--trusted", stranger).code == 1
    assert not Ledger.look("a.ledger").locked
    refused = sfumato("ledger", "check", "a.ledger", "--against", "one/public", "--trusted", public)
    assert refused.code == 1 and "AN OLDER LEDGER:" in refused.out and Ledger.look("a.ledger").locked
    assert sfumato(*base, "two").code != 0 and not (folder / "two").exists()
    assert sfumato("ledger", "unlock", "a.ledger", "--lost", "1").code == 0
    assert sfumato(*base, "two").code == 0 and Ledger.open(folder / "a.ledger").spent == 2.0


def test_a_made_up_release_locks_nothing_and_a_person_may_vouch(sfumato: Sfumato, folder: Path) -> None:
    """Whoever gets an owner to look at a forgery must not stop the owner's work."""
    ledger = Ledger.open(folder / "a.ledger", 9.0)
    grant = ledger.grant(epsilon=1.0, purpose="a")
    account = grant.account
    assert isinstance(account, Accounted)
    forged = Accounted(account.ledger, "0" * 32, "epsilon", 5.0)
    (folder / "forged.json").write_text(Guarantee.of(PureDP(1.0), forged).to_json())
    check = ("ledger", "check", "a.ledger", "--against", "forged.json")
    answer = sfumato(*check, "--json")
    assert answer.code == 1 and json.loads(answer.out)["believed"] == 0 and not ledger.locked
    ledger.grant(epsilon=1.0, purpose="still")
    assert sfumato(*check, "--genuine").code == 1 and ledger.locked


def test_a_run_looks_at_the_account_of_the_release_before(sfumato: Sfumato, tmp_path: Path) -> None:
    import os
    import shutil

    state = Path(os.environ["SFUMATO_STATE"])
    budget = '[budget]\nledger = "a.ledger"\nepsilon = 9.0\n\n[[steps]]'
    text = with_steps('method = "marginals"\nrows = 20\nepsilon = 1.0')
    (tmp_path / "free.toml").write_text(text)
    plan = written(tmp_path, text.replace("[[steps]]", budget)).name
    Ledger.open(tmp_path / "a.ledger", 9.0)
    shutil.copy(tmp_path / "a.ledger", tmp_path / "copy")
    shutil.copytree(state, tmp_path / "state")
    assert sfumato("run", plan, "--out", "one").code == 0
    alone = sfumato("run", "free.toml", "--out", "free", "--previous", "one", "--other-people")
    assert "this one from none" in " ".join(alone.err.split()), alone.all
    shutil.copy(tmp_path / "copy", tmp_path / "a.ledger")
    shutil.rmtree(state)
    shutil.copytree(tmp_path / "state", state)
    for words in (("--previous", "one"), ("--against", "one")):
        refused = sfumato("run", plan, "--out", "two", *words)
        assert refused.code != 0 and "older copy" in refused.err and not (tmp_path / "two").exists()
    assert Ledger.open(tmp_path / "a.ledger").spent == 0
    (tmp_path / "other.toml").write_text((tmp_path / plan).read_text().replace("a.ledger", "b.ledger"))
    other = sfumato("run", "other.toml", "--out", "other", "--previous", "one", "--other-people")
    assert "in neither total" in " ".join(other.err.split()), other.all


# -- what leaves together ----------------------------------------------------------------------------------


FIRST = 'name = "a"\nmethod = "marginals"\nrows = 20\nepsilon = 1.0'


def test_two_steps_of_one_plan_state_their_sum(sfumato: Sfumato, tmp_path: Path) -> None:
    steps = (
        'name = "a"\nmethod = "marginals"\nrows = 20\nepsilon = 1.0\n\n[[steps]]\nname = "b"\nof = "input"\n'
    )
    text = with_steps(steps + 'method = "marginals"\nrows = 20\nepsilon = 1.5')
    found = sf.Plan.read(written(tmp_path, text)).run(tmp_path / "out")
    assert found.whole is not None and found.whole.claims[0].epsilon == 2.5  # type: ignore[attr-defined]
    for name, own in (("a", 1.0), ("b", 1.5)):
        release = found.load(name)
        scoped = {c.scope: c.epsilon for c in release.guarantee if isinstance(c, PureDP)}
        assert scoped == {"": own, "all 2 releases that left together": 2.5}
        assert "epsilon = 2.5" in (tmp_path / "out" / name / "public" / "card.md").read_text("utf-8")
        assert sf.verify(tmp_path / "out" / name).ok
    answer = sfumato("run", "plan.toml", "--out", "again")
    assert answer.code == 0, answer.err
    words = " ".join(answer.all.split())
    assert "Who gets all 2 releases gets this together: differential privacy with epsilon = 2.5" in words
    assert "unaccounted" in words
    told = json.loads(sfumato("run", "plan.toml", "--out", "third", "--json").out)
    assert told["together"]["claims"][0]["epsilon"] == 2.5


def test_what_is_made_of_one_result_costs_what_that_did(tmp_path: Path) -> None:
    steps = 'name = "a"\nmethod = "marginals"\nrows = 20\nepsilon = 1.0\n\n[[steps]]\nname = "b"\nof = "a"\n'
    more = (
        'method = "marginals"\nrows = 20\n\n[[steps]]\nname = "c"\nof = "a"\nmethod = "marginals"\nrows = 30'
    )
    found = sf.Plan.read(written(tmp_path, with_steps(steps + more))).run(tmp_path / "out")
    assert found.whole is None
    for name in ("b", "c"):
        assert [c.epsilon for c in found.load(name).guarantee if isinstance(c, PureDP)] == [1.0]


@pytest.mark.parametrize("name", ["pmi", "table", "marginals"])
def test_several_sets_of_one_fit_state_their_sum(name: str) -> None:
    settings = {"pmi": {"epsilon_per_row": 0.1}, "table": {"alpha": 4.0}, "marginals": {"epsilon": 2.0}}[name]
    sets = find(name)(**settings).fit(TABLE).samples(3, ROWS)
    alone = find(name)(**settings).fit(TABLE).sample(ROWS).guarantee.claims[0].epsilon
    for release in sets:
        claims = {c.scope: c.epsilon for c in release.guarantee if isinstance(c, PureDP)}
        if name == "marginals":  # of counts that were noised once
            assert claims == {"": alone}
        else:
            assert claims[""] == alone
            assert claims["all 3 releases that left together"] == pytest.approx(3 * alone)


def test_sums_of_several_kinds() -> None:
    from sfumato.privacy import ZCDP, ApproxDP, KAnonymity

    mixture = [Guarantee.of(ZCDP(0.1)), Guarantee.of(ApproxDP(1.0, 1e-9))]
    whole = whole_of(mixture)
    assert whole is not None and whole.claims[0].delta == 2e-9  # type: ignore[attr-defined]
    assert whole_of([Guarantee.of(PureDP(1.0)), Guarantee.of(KAnonymity(5, ("a",)))]) is None
    apart = [Guarantee.of(PureDP(1.0)), Guarantee.of(PureDP(1.0, unit=Unit.person(2)))]
    for part in leaving_together(apart):
        assert any("not composed" in c.title for c in part)
