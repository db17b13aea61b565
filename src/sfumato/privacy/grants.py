"""Budgets, and the one-use grants that are cut from them.

A grant stands for privacy loss that has been written off already. Whoever draws noise burns it first, so
a draw that fails has been paid for, and no grant pays twice: not after a copy, a pickle or a fork.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn, final

from sfumato._system import processes
from sfumato.errors import BudgetError, ParameterError
from sfumato.privacy.account import UNACCOUNTED, Account
from sfumato.privacy.base import ONE_ID, ROW, Neighbours, Unit
from sfumato.privacy.differential import ZCDP, ApproxDP, PureDP, to_approx, zcdp_epsilon
from sfumato.privacy.rounding import ceil_units, down, exact, shown, up

# Amounts are whole numbers, so that sums are exact: 10^-12 of epsilon or rho, 10^-15 of delta. Up to the
# largest budget they fit into 64-bit integers, and their 15 digits into a float that prints them exactly.
UNIT = 10**12
DELTA_UNIT = 10**15
_LARGEST = 1000


@dataclass(frozen=True)
class Budget:
    """How much may be spent on one data set: epsilon, or rho of zCDP (with a delta on top, if any).

    delta: what mechanisms with a chance of failure may add up to. With epsilon, all of it together is
        (epsilon, delta) by basic composition; with rho, approximate zCDP, and it is not the delta at which
        rho is turned into epsilon: that one is chosen when the claim is made.
    unit, neighbours: what the amounts are about; all grants of a ledger share them.

    >>> sf.Budget(epsilon=1.0, delta=1e-9).epsilon
    1.0
    >>> sf.Budget(epsilon=1.0, rho=0.5)
    Traceback (most recent call last):
        ...
    sfumato.errors.ParameterError: a budget is in epsilon or in rho, one of them...
    """

    epsilon: float | None = None
    rho: float | None = None
    delta: float = 0.0
    unit: Unit = ROW
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise ParameterError("a budget is in epsilon or in rho, one of them.", hint="Budget(epsilon=1.0)")
        if not 0 < exact(self.amount, "the budget") <= _LARGEST:
            raise ParameterError(f"a budget is positive and at most {_LARGEST}.", hint="e.g. 1.0")
        if not 0 <= exact(self.delta, "delta") < 1:
            raise ParameterError("delta is in [0, 1).", hint="Budget(epsilon=1.0, delta=1e-9)")
        if not isinstance(self.unit, Unit) or self.neighbours not in tuple(Neighbours):
            raise ParameterError(
                "a budget needs a Unit and Neighbours.", hint="Unit.row(), Neighbours.ADD_REMOVE"
            )
        if self.unit.of == "person" and self.unit.max_rows is None:
            raise ParameterError(
                "a budget for persons needs the largest number of rows one may have.",
                hint="Unit.person(max_rows), a public number",
            )
        object.__setattr__(self, "neighbours", Neighbours(self.neighbours))
        for name, unit in ((self.kind, UNIT), ("delta", DELTA_UNIT)):  # rounded down to whole units
            whole = int(exact(getattr(self, name)) * unit)
            object.__setattr__(self, name, down(Fraction(whole, unit)))
        if not self.amount:
            raise ParameterError("the budget is below the smallest amount that is counted.", hint="e.g. 1.0")

    @classmethod
    def coerce(cls, budget: Budget | float | PureDP | ZCDP) -> Budget:
        """A budget as it is; a claim as what it allows; a plain number as epsilon."""
        if isinstance(budget, cls):
            return budget
        if isinstance(budget, PureDP):
            return cls(epsilon=budget.epsilon, unit=budget.unit, neighbours=budget.neighbours)
        if isinstance(budget, ZCDP):
            return cls(rho=budget.rho, unit=budget.unit, neighbours=budget.neighbours)
        return cls(epsilon=down(exact(budget, "the budget")))

    @property
    def kind(self) -> str:
        """epsilon or rho."""
        return "epsilon" if self.epsilon is not None else "rho"

    @property
    def amount(self) -> float:
        """The number of epsilon or rho."""
        return self.epsilon if self.epsilon is not None else self.rho  # type: ignore[return-value]

    @property
    def units(self) -> tuple[int, int]:
        """The budget in whole units: of epsilon or rho, and of delta."""
        return int(exact(self.amount) * UNIT), int(exact(self.delta) * DELTA_UNIT)

    def __str__(self) -> str:
        delta = f", delta = {shown(self.delta)}" if self.delta else ""
        return f"{self.kind} = {self.amount!r}{delta}, for {self.unit}, {self.neighbours} neighbours"


def debit(budget: Budget, epsilon: object, rho: object, delta: object) -> tuple[int, int]:
    """What a request takes, in whole units, rounded up; refused where there is no sound answer."""
    if (epsilon is None) == (rho is None):
        raise ParameterError(
            "a grant is in epsilon or in rho, one of them.", hint="ledger.grant(epsilon=0.1, ...)"
        )
    asked = exact(rho if epsilon is None else epsilon, "the amount of a grant")
    spent_delta = exact(delta, "delta")
    if not 0 < asked <= _LARGEST or not 0 <= spent_delta < 1:
        raise ParameterError(
            f"a grant is positive and at most {_LARGEST}, its delta in [0, 1).", hint="e.g. 0.1"
        )
    if budget.kind == "epsilon" and (rho is not None or (spent_delta and not budget.delta)):
        raise BudgetError(
            "a budget of pure epsilon cannot pay for zCDP or delta: they promise less.",
            hint="a ledger with Budget(rho=...) or Budget(epsilon=..., delta=...), or a pure mechanism",
        )
    if budget.kind == "rho" and epsilon is not None:
        asked = Fraction(ceil_units(asked, UNIT), UNIT) ** 2 / 2  # pure epsilon is zCDP with epsilon^2 / 2
    return ceil_units(asked, UNIT), ceil_units(spent_delta, DELTA_UNIT)


# Tickets of the grants that can still be burnt, with what they are worth. A forked child starts with
# none: its copies of the parent's grants are worthless.
_live: dict[object, tuple[float | None, float | None, float]] = {}
_lock = threading.Lock()


def _forget() -> None:
    global _lock
    _lock = threading.Lock()
    _live.clear()


processes.after_fork(_forget)
_MINT = object()


@final
class Grant:
    """The right to one draw, for the loss it names. Only a ledger makes them."""

    __slots__ = ("_ticket", "account", "budget", "delta", "epsilon", "purpose", "rho")
    budget: Budget
    epsilon: float | None
    rho: float | None
    delta: float
    purpose: str
    account: Account  # the ledger that was debited, as a release may name it; of one in memory there is none
    _ticket: object

    def __init__(self, *_: object, **__: object) -> None:
        raise BudgetError("a grant comes from a ledger only.", hint="ledger.grant(epsilon=..., purpose=...)")

    @classmethod
    def _mint(
        cls, mint: object, budget: Budget, kind: str, units: int, delta_units: int, purpose: str,
        account: Account = UNACCOUNTED,
    ) -> Grant:  # fmt: skip
        """Make a grant; the ledger calls this after the debit is on disk."""
        if mint is not _MINT:
            raise BudgetError(
                "a grant comes from a ledger only.", hint="ledger.grant(epsilon=..., purpose=...)"
            )
        grant = object.__new__(cls)
        ticket = object()
        amount = up(Fraction(units, UNIT))
        for name, value in (
            ("budget", budget),
            ("epsilon", amount if kind == "epsilon" else None),
            ("rho", amount if kind == "rho" else None),
            ("delta", up(Fraction(delta_units, DELTA_UNIT))),
            ("purpose", purpose),
            ("account", account),
            ("_ticket", ticket),
        ):
            object.__setattr__(grant, name, value)
        with _lock:
            _live[ticket] = (grant.epsilon, grant.rho, grant.delta)
        return grant

    @property
    def loss(self) -> Fraction:
        """The exact amount of epsilon or rho."""
        return exact(self.rho if self.epsilon is None else self.epsilon)

    @property
    def burnt(self) -> bool:
        """Whether it has been used, or belongs to another process."""
        return getattr(self, "_ticket", None) not in _live

    def burn(self) -> None:
        """Use it up. The first call returns, every later one is refused."""
        with _lock:
            if self.burnt:
                raise BudgetError(
                    "this grant was used before, or belongs to another process.",
                    hint="ask the ledger for one grant per draw, in the process that draws",
                )
            worth = _live.pop(self._ticket)
        if worth != (self.epsilon, self.rho, self.delta):
            raise BudgetError("this grant was tampered with.", hint="ask the ledger for another")

    def __del__(self, live: dict[object, Any] = _live) -> None:
        live.pop(getattr(self, "_ticket", None), None)

    def claim(self, *assumptions: str, delta: float | None = None) -> PureDP | ZCDP | ApproxDP:
        """What a release that used this grant, and nothing else, may claim."""
        return claim_for(self.budget, self.epsilon, self.rho, self.delta, assumptions, delta)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise BudgetError("a grant does not change.", hint="ask the ledger for another")

    def __delattr__(self, name: str) -> NoReturn:
        raise BudgetError("a grant does not change.", hint="ask the ledger for another")

    def _refuse(self, *_: object) -> NoReturn:
        raise BudgetError("a grant cannot be copied or sent.", hint="ask the ledger for one grant per draw")

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = _refuse

    def __repr__(self) -> str:
        kind, amount = ("epsilon", self.epsilon) if self.epsilon is not None else ("rho", self.rho)
        return f"<Grant {kind} = {amount!r} for {self.purpose!r}{', burnt' * self.burnt}>"


def claim_for(
    budget: Budget,
    epsilon: float | None,
    rho: float | None,
    spent_delta: float,
    assumptions: tuple[str, ...],
    delta: float | None,
) -> PureDP | ZCDP | ApproxDP:
    """The claim for an amount spent; approximate zCDP needs the total delta to be stated at."""
    if budget.unit.of == "person":
        assumptions = tuple(dict.fromkeys((*assumptions, ONE_ID)))
    shared: dict[str, Any] = {
        "unit": budget.unit,
        "neighbours": budget.neighbours,
        "assumptions": assumptions,
    }
    if epsilon is not None and spent_delta:
        return to_approx(ApproxDP(epsilon, spent_delta, **shared), delta)
    if epsilon is not None:
        return PureDP(epsilon, **shared)
    assert rho is not None
    if delta is None and not spent_delta:
        return ZCDP(rho, **shared)
    if delta is None or not spent_delta < delta < 1:
        raise ParameterError(
            "the claim needs a total delta above what was spent of it, below 1.", hint="claim(delta=...)"
        )
    rest = down(exact(delta) - exact(spent_delta))
    return ApproxDP(zcdp_epsilon(rho, rest), delta, **shared)
