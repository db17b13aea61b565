"""A grant pays once: not after a copy, a pickle, a fork, or a change; and nobody makes one by hand."""

import copy
import os
import pickle
import threading

import pytest

from sfumato.errors import BudgetError, ParameterError
from sfumato.privacy import ZCDP, ApproxDP, Budget, Grant, Ledger, Neighbours, PureDP, Unit, noise
from sfumato.privacy.base import ONE_ID


def fresh(**amount):
    amount = amount or {"epsilon": 1.0}
    kind = "rho" if "rho" in amount else "epsilon"
    return Ledger.in_memory(Budget(**{kind: 100.0})).grant(**amount, purpose="test")


def test_a_grant_is_used_once():
    grant = fresh()
    assert not grant.burnt
    grant.burn()
    assert grant.burnt and "burnt" in repr(grant)
    with pytest.raises(BudgetError):
        grant.burn()


@pytest.mark.parametrize("steal", [copy.copy, copy.deepcopy, pickle.dumps, lambda g: g.__getstate__()])
def test_a_grant_cannot_be_copied(steal):
    grant = fresh()
    with pytest.raises(BudgetError):
        steal(grant)
    assert not grant.burnt


def test_a_grant_cannot_be_forged():
    with pytest.raises(BudgetError):
        Grant()
    with pytest.raises(BudgetError):
        Grant(1.0, purpose="mine")
    with pytest.raises(BudgetError):
        Grant._mint(object(), Budget(1.0), "epsilon", 10**12, 0, "mine")
    hollow = object.__new__(Grant)
    assert hollow.burnt
    for use in (
        lambda: hollow.burn(),
        lambda: noise.laplace([1], 1, hollow),
        lambda: noise.laplace([1], 1, None),
    ):
        with pytest.raises(BudgetError):
            use()


def test_a_grant_does_not_change():
    grant = fresh()
    with pytest.raises(BudgetError):
        grant.epsilon = 100.0
    with pytest.raises(BudgetError):
        del grant.epsilon
    with pytest.raises(AttributeError):
        grant.__dict__  # noqa: B018
    object.__setattr__(grant, "epsilon", 100.0)  # someone goes to lengths
    with pytest.raises(BudgetError, match="tampered"):
        noise.laplace([1], 1, grant)
    assert grant.burnt


def test_a_ticket_moved_to_a_larger_grant_is_noticed():
    small, large = fresh(epsilon=0.1), fresh(epsilon=10.0)
    large.burn()
    object.__setattr__(large, "_ticket", small._ticket)
    with pytest.raises(BudgetError, match="tampered"):
        large.burn()


def test_grants_that_are_dropped_leave_nothing_behind():
    from sfumato.privacy import grants

    before = len(grants._live)
    kept = fresh()
    fresh(), fresh()
    assert len(grants._live) == before + 1
    del kept
    assert len(grants._live) == before


def test_many_threads_burn_a_grant_once():
    grant, wins = fresh(), []
    start = threading.Barrier(16)

    def race():
        start.wait()
        try:
            grant.burn()
            wins.append(1)
        except BudgetError:
            pass

    threads = [threading.Thread(target=race) for _ in range(16)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(wins) == 1


def in_child(work):
    """The exit code of `work` in a forked child: 0 if it returned, 7 if it was refused."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BudgetError:
            os._exit(7)
        except BaseException:
            os._exit(9)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_forked_child_cannot_use_its_parents_grant():
    grant = fresh()
    assert in_child(grant.burn) == 7
    assert in_child(lambda: fresh().burn()) == 0  # its own are good
    grant.burn()


def test_a_forked_child_cannot_spend_its_parents_memory():
    ledger = Ledger.in_memory(1.0)
    assert in_child(lambda: ledger.grant(epsilon=1.0, purpose="again")) == 7
    assert ledger.left == 1.0


def test_a_grant_says_what_may_be_claimed():
    budget = Budget(rho=1.0, unit=Unit.person(3), neighbours=Neighbours.REPLACE)
    grant = Ledger.in_memory(budget).grant(rho=0.3, purpose="x")
    assert grant.claim("A") == ZCDP(0.3, unit=Unit.person(3), neighbours="replace", assumptions=("A", ONE_ID))
    assert isinstance(grant.claim(delta=1e-9), ApproxDP)
    assert fresh(epsilon=0.3).claim() == PureDP(0.3)
    failing = Ledger.in_memory(Budget(rho=1.0, delta=1e-6)).grant(rho=0.5, delta=1e-6, purpose="x")
    with pytest.raises(ParameterError):
        failing.claim()
    with pytest.raises(ParameterError):
        failing.claim(delta=1e-6)
    assert failing.claim(delta=1e-5).epsilon > ZCDP(0.5).rho
    both = Ledger.in_memory(Budget(rho=1.0, delta=1e-6)).grant(epsilon=0.5, delta=1e-6, purpose="x")
    assert both.claim() == both.claim(delta=1e-5) == ApproxDP(0.5, 1e-6)
    with pytest.raises(ParameterError):
        both.claim(delta=1e-7)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Budget(),
        lambda: Budget(epsilon=1, rho=1),
        lambda: Budget(epsilon=0),
        lambda: Budget(epsilon=-1),
        lambda: Budget(epsilon=float("nan")),
        lambda: Budget(epsilon=float("inf")),
        lambda: Budget(epsilon=1e-13),
        lambda: Budget(epsilon=1001),
        lambda: Budget(epsilon=1, delta=-1e-9),
        lambda: Budget(rho=1, delta=1),
        lambda: Budget(rho=1, delta=-1),
        lambda: Budget(epsilon=1, unit="row"),
        lambda: Budget(epsilon=1, neighbours="odd"),
        lambda: Budget.coerce("much"),
    ],
)
def test_impossible_budgets_are_refused(make):
    with pytest.raises(ParameterError):
        make()


def test_budgets_come_from_claims_and_numbers():
    assert Budget.coerce(1) == Budget(epsilon=1.0) == Budget.coerce(PureDP(1.0))
    assert Budget.coerce(ZCDP(0.5)) == Budget(rho=0.5)
    assert Budget(epsilon=1 / 3).epsilon == 0.333333333333  # never more than was said
    assert "epsilon = 1.0" in str(Budget(1.0))
