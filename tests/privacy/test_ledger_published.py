"""What was published is a witness: an older ledger is refused, also after a whole machine was put back."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from sfumato.errors import BudgetError, ParameterError, VerificationError
from sfumato.privacy import Accounted, Budget, Guarantee, Ledger, PureDP, Unaccounted, Unit


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SFUMATO_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def promised(ledger: Ledger, epsilon: float) -> Guarantee:
    grant = ledger.grant(epsilon=epsilon, purpose="a secret purpose")
    return Guarantee.of(grant.claim(), grant.account)


def test_a_grant_names_the_ledger_that_was_debited(place: str) -> None:
    ledger = Ledger.open(place, Budget(epsilon=3.0, unit=Unit.person(2)))
    first, second = (ledger.grant(epsilon=0.5, purpose="p").account for _ in range(2))
    assert isinstance(first, Accounted) and isinstance(second, Accounted)
    assert first.ledger == second.ledger and first.head != second.head
    assert (first.total, second.total) == (0.5, 1.0) and first.unit == Unit.person(2)
    both = ledger.grants(2, epsilon=0.25, purpose="p")
    assert both[0].account == both[1].account and both[0].account.total == 1.5
    within = Ledger.within(ledger.grant(epsilon=0.5, purpose="p"))
    assert within.grant(epsilon=0.1, purpose="p").account.total == 2.0
    assert ledger.account_of("p").total == 2.0 and ledger.account_of("q") is None
    assert isinstance(Ledger.in_memory(1.0).grant(epsilon=0.5, purpose="p").account, Unaccounted)


def test_what_is_named_tells_nothing_of_the_lines(tmp_path: Path, state: Path) -> None:
    """Neither the id, nor a head, nor a plain hash of either: purposes could be tried against them."""
    ledger = Ledger.open(tmp_path / "a.ledger", 3.0)
    text = promised(ledger, 0.5).to_json()
    secrets = [ledger._book.id, ledger.head]
    for secret in [*secrets, *(hashlib.sha256(s.encode()).hexdigest() for s in secrets)]:
        assert secret[:16] not in text
    assert "secret purpose" not in text


def test_the_whole_machine_is_put_back_and_a_release_tells(tmp_path: Path, state: Path) -> None:
    path = tmp_path / "a.ledger"
    ledger = Ledger.open(path, Budget(epsilon=3.0))
    early = promised(ledger, 0.5)
    shutil.copy(path, tmp_path / "copy")
    shutil.copytree(state, tmp_path / "state-copy")
    late = promised(ledger, 1.0)
    assert ledger.check_against(early, late) == (2, 0, 0)
    shutil.copy(tmp_path / "copy", path)
    shutil.rmtree(state)
    shutil.copytree(tmp_path / "state-copy", state)
    older = Ledger.open(path)  # nothing here can tell
    assert not older.locked and older.spent == 0.5
    assert older.check_against(early) == (1, 0, 0) and not older.locked
    assert older.check_against(early, late) == (1, 1, 0) and not older.locked  # anybody can make one up
    assert older.check_against(early, late, genuine=True) == (1, 1, 0)
    assert "older copy" in older.locked
    with pytest.raises(VerificationError, match="older copy"):
        older.grant(epsilon=0.1, purpose="more")
    with pytest.raises(VerificationError, match="older copy"):
        Ledger.open(path)
    with pytest.raises(BudgetError, match="nobody here knows"):
        Ledger.look(path).unlock()
    with pytest.raises(BudgetError, match=r"at least 1\.0"):
        Ledger.look(path).unlock(0.9)
    assert Ledger.look(path).unlock(1.25, reason="the machine was put back") == 1.25
    again = Ledger.open(path)
    assert again.spent == 1.75 and again.check_against(early, late) == (2, 0, 0) and not again.locked


def test_a_copy_that_went_another_way_is_noticed(tmp_path: Path, state: Path) -> None:
    """The totals agree, and the lines do not."""
    path = tmp_path / "a.ledger"
    ledger = Ledger.open(path, Budget(epsilon=3.0))
    shutil.copy(path, tmp_path / "copy")
    shutil.copytree(state, tmp_path / "state-copy")
    published = promised(ledger, 1.0)
    shutil.copy(tmp_path / "copy", path)
    shutil.rmtree(state)
    shutil.copytree(tmp_path / "state-copy", state)
    other = Ledger.open(path)
    other.grant(epsilon=1.0, purpose="a secret purpose")
    assert other.check_against(published, genuine=True) == (0, 1, 0) and other.locked
    other.unlock(1.0)
    assert Ledger.open(path).spent == 2.0


def test_another_ledger_says_nothing(tmp_path: Path, state: Path) -> None:
    one, two = (Ledger.open(tmp_path / f"{n}.ledger", 3.0) for n in "ab")
    published = promised(two, 1.0)
    assert one.check_against(published, Guarantee.of(PureDP(1.0))) == (0, 0, 1) and not one.locked
    with pytest.raises(ParameterError, match="in memory"):
        Ledger.in_memory(1.0).check_against(published)
    (state / "published").mkdir()
    file = state / "published" / hashlib.sha256(one._book.id.encode()).hexdigest()[:32]
    file.write_text("{")
    with pytest.raises(VerificationError, match="damaged"):
        one.grant(epsilon=0.1, purpose="p")


def test_it_holds_on_every_database(place: str) -> None:
    ledger = Ledger.open(place, Budget(epsilon=3.0))
    published = promised(ledger, 0.5)
    assert ledger.check_against(published) == (1, 0, 0)
    (account,) = (c for c in published if isinstance(c, Accounted))
    made_up = Accounted(account.ledger, "0" * 32, "epsilon", 2.0)
    assert ledger.check_against(Guarantee.of(made_up)) == (0, 1, 0) and not ledger.locked
    assert ledger.check_against(Guarantee.of(made_up), genuine=True) == (0, 1, 0) and ledger.locked


@pytest.mark.parametrize(
    "wrong",
    [{"ledger": "x" * 32}, {"head": "0" * 31}, {"kind": "delta"}, {"total": -1.0}, {"delta": 1.0}],
    ids=lambda w: next(iter(w)),
)
def test_an_account_checks_itself(wrong: dict[str, object]) -> None:
    right = {"ledger": "0" * 32, "head": "1" * 32, "kind": "rho", "total": 1.0}
    with pytest.raises(ParameterError):
        Accounted(**{**right, **wrong})  # type: ignore[arg-type]


def test_accounts_of_several_releases(tmp_path: Path, state: Path) -> None:
    one, two = (Ledger.open(tmp_path / f"{n}.ledger", 3.0) for n in "ab")
    parts = [
        promised(one, 0.5),
        promised(one, 1.0),
        promised(two, 0.25),
        Guarantee.of(PureDP(1.0)).accounted(),
    ]
    whole = parts[0].compose(*parts[1:])
    kinds = [c for c in whole if isinstance(c, Accounted | Unaccounted)]
    assert [getattr(c, "total", None) for c in kinds] == [1.5, 0.25, None]
    assert whole.claims[0].epsilon == 2.75  # type: ignore[attr-defined]
    assert all(isinstance(c, PureDP | Accounted | Unaccounted) for c in whole)
    kept = parts[0].post_processed()
    assert kept == parts[0]
    assert Guarantee.of(PureDP(1.0)).accounted(parts[0].claims[1]).accounted() == parts[0].__class__(
        (PureDP(1.0), parts[0].claims[1])
    )
