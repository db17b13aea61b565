"""What has been spent on a data set: debited before it is used, durably, and never given back.

    ledger = Ledger.open("study.ledger", budget=Budget(epsilon=1.0))
    grant = ledger.grant(epsilon=0.1, purpose="age by sex")      # on disk when this returns
    noise.laplace(counts, 1, grant)

Amounts are whole numbers of 10^-12, rounded up, so that sums are exact and any number of threads and
processes grant exactly what fits. A ledger with a fixed budget is a privacy filter: amounts may be chosen
after seeing earlier results (pure epsilon and zCDP both allow this).

The budget of the data set is the promise: it is fixed at the start and never refreshed, since everything
learnt from the same people adds up. The budgets of clients divide it, and may be changed.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import NoReturn

from sfumato.errors import BudgetError, DataError, ParameterError
from sfumato.privacy.differential import ZCDP, ApproxDP, PureDP
from sfumato.privacy.grants import _MINT, DELTA_UNIT, UNIT, Budget, Grant, claim_for, debit
from sfumato.privacy.ledger import chain
from sfumato.privacy.ledger.chain import Account, Connection, Row, State
from sfumato.privacy.ledger.files import FileStore, MemoryStore
from sfumato.privacy.rounding import ceil_units, down, exact, up

_LARGEST = 1000  # of a client's budget, as of a data set's


@dataclass(frozen=True)
class Entry:
    """One line of the log: what was asked for, and what it took from the budget (in the budget's kind).

    kind: "debit"; "client" where a client was given a budget; "unlock" and "restore" where a person
        accounted for lines that were lost.
    client: whose budget was debited as well, or set; None if nobody's.
    """

    number: int
    at: datetime
    purpose: str
    epsilon: float | None
    rho: float | None
    amount: float
    delta: float
    hash: str
    kind: str = "debit"
    client: str | None = None


@dataclass(frozen=True)
class Client:
    """What one client may spend of the data set's budget, in the budget's kind."""

    name: str
    budget: float
    spent: float
    left: float
    left_delta: float = 0.0


class Ledger:
    """A budget and what was taken from it. Made by `in_memory`, `open` or `within`."""

    def __init__(self, store: FileStore | MemoryStore, budget: Budget) -> None:
        self._store = store
        self.budget = budget

    @classmethod
    def in_memory(cls, budget: Budget | float | PureDP | ZCDP) -> Ledger:
        """A ledger for this process only; it is forgotten at the end."""
        budget = Budget.coerce(budget)
        return cls(MemoryStore(_started(budget)), budget)

    @classmethod
    def within(cls, grant: Grant) -> Ledger:
        """Spend one grant in smaller pieces: the grant is burnt, and its amount is a new budget in memory."""
        grant.burn()
        return cls.in_memory(
            Budget(grant.epsilon, grant.rho, grant.delta if grant.epsilon is None else 0.0,
                   grant.budget.unit, grant.budget.neighbours)
        )  # fmt: skip

    @classmethod
    def open(
        cls, path: str | Path, budget: Budget | float | PureDP | ZCDP | None = None, *, seen: str = ""
    ) -> Ledger:
        """Open a ledger file, or start one if there is none and a budget is given.

        budget: for a file that is there, it must be the file's own.
        seen: a `head` noted earlier; refused if the file has lost it.
        """
        store = FileStore(Path(path))
        wanted = None if budget is None else Budget.coerce(budget)
        if not store.exists():
            if wanted is None or seen:
                raise DataError(
                    f"no ledger {store.name}.", hint="give a budget to start one, or correct the path"
                )
            store.create(_started(wanted))
        with store.transaction(write=False) as connection:
            store.examine(connection)
            budget = chain.check(connection, store.name, seen)
        if wanted is not None and wanted != budget:
            raise BudgetError(
                f"ledger {store.name} has another budget: {budget}.",
                hint="open it without a budget; a budget is not changed once data were used",
            )
        return cls(store, budget)

    # -- spending ----------------------------------------------------------------------------------

    def grant(
        self,
        *,
        epsilon: float | None = None,
        rho: float | None = None,
        delta: float = 0.0,
        purpose: str,
        client: str | None = None,
    ) -> Grant:
        """Debit the amount, durably, and give a one-use grant for it; or refuse and debit nothing.

        client: whose budget is debited as well, in the same transaction: both, or neither.
        """
        _check_text(purpose, "a purpose", 500, "say what is measured")
        amount, delta_units = debit(self.budget, epsilon, rho, delta)
        kind = "epsilon" if rho is None else "rho"
        asked = ceil_units(exact(epsilon if rho is None else rho), UNIT)
        with self._store.transaction(write=True) as connection:
            state = self._state(connection)
            self._require(self._own(state), amount, delta_units)
            row = self._row(state, purpose, kind, asked, amount, delta_units)
            if client is not None:
                account = self._account(connection, client)
                self._require(account, amount, delta_units)
                row = row._replace(
                    client=client,
                    client_total=account.spent + amount,
                    client_delta=account.spent_delta + delta_units,
                )
            chain.append(connection, state, row, self._store.name)
        return Grant._mint(_MINT, self.budget, kind, asked, delta_units, purpose)

    def set_client(
        self, name: str, epsilon: float | None = None, *, rho: float | None = None, delta: float = 0.0
    ) -> Client:
        """Give a client a budget of its own, in the data set's kind; again, to change it.

        What the client has spent stays spent. A budget of 0 closes the account. Together the clients may be
        promised more than the data set has: who comes first is served, and the data set's budget holds.
        """
        _check_text(name, "a client's name", 100, "e.g. the name of its key")
        given = epsilon if self.budget.kind == "epsilon" else rho
        if given is None or (epsilon is not None and rho is not None):
            raise ParameterError(
                f"a client's budget is in {self.budget.kind} here, as the data set's.",
                hint=f"set_client(name, {self.budget.kind}=...)",
            )
        exact_amount, exact_delta = exact(given, "the budget"), exact(delta, "delta")
        if not 0 <= exact_amount <= _LARGEST or not 0 <= exact_delta < 1:
            raise ParameterError(
                f"a client's budget is at least 0 and at most {_LARGEST}, its delta in [0, 1).",
                hint="e.g. 0.1",
            )
        units, delta_units = int(exact_amount * UNIT), int(exact_delta * DELTA_UNIT)  # rounded down
        with self._store.transaction(write=True) as connection:
            state = self._state(connection)
            known = chain.client_account(connection, name, self._store.name)
            spent = (0, 0) if known is None else (known.spent, known.spent_delta)
            row = self._row(state, "a client's budget", "client", units, 0, 0)._replace(
                client=name, client_total=spent[0], client_delta=spent[1], note=str(delta_units)
            )
            chain.append(connection, state, row, self._store.name)
        return _client(Account(name, units, delta_units, *spent))

    def _state(self, connection: Connection) -> State:
        """Where the ledger stands, at the start of a writing transaction."""
        chain.upgrade(connection, self._store.name)
        return chain.where(connection, self._store.name)

    def _row(self, state: State, purpose: str, kind: str, asked: int, amount: int, delta: int) -> Row:
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        return Row(
            state.number + 1, now, purpose, kind, asked, amount, delta,
            state.total + amount, state.total_delta + delta,
        )  # fmt: skip

    def _own(self, state: State) -> Account:
        return Account("", *self.budget.units, state.total, state.total_delta)

    def _account(self, connection: Connection, client: str) -> Account:
        found = chain.client_account(connection, client, self._store.name) if client else None
        if found is None:
            raise BudgetError("this client has no budget. Nothing was debited.", hint="set_client(name, ...)")
        return found

    def _require(self, account: Account, amount: int, delta: int) -> None:
        room, room_delta = account.budget - account.spent, account.budget_delta - account.spent_delta
        if amount <= room and delta <= room_delta:
            return
        need = f"{self.budget.kind} = {up(Fraction(amount, UNIT))!r}"
        left = f"{self.budget.kind} = {down(Fraction(max(room, 0), UNIT))!r}"
        if delta or self.budget.delta:
            need += f", delta = {up(Fraction(delta, DELTA_UNIT))!r}"
            left += f", delta = {down(Fraction(max(room_delta, 0), DELTA_UNIT))!r}"
        whose, hint = "the budget", "ask for less; a budget is not raised once data were used"
        if account.name:
            whose, hint = "the client's budget", "ask for less"
        raise BudgetError(
            f"{whose} does not cover this: {need} needed, {left} left. Nothing was debited.", hint=hint
        )

    # -- looking -----------------------------------------------------------------------------------

    def _spent(self) -> tuple[Fraction, Fraction]:
        with self._store.transaction(write=False) as connection:
            state = chain.where(connection, self._store.name)
        return Fraction(state.total, UNIT), Fraction(state.total_delta, DELTA_UNIT)

    @property
    def spent(self) -> float:
        """What has been spent, in the budget's kind."""
        return up(self._spent()[0])

    @property
    def left(self) -> float:
        """What is left, in the budget's kind."""
        return down(max(Fraction(self.budget.units[0], UNIT) - self._spent()[0], Fraction(0)))

    @property
    def left_delta(self) -> float:
        """What is left of the delta."""
        return down(max(Fraction(self.budget.units[1], DELTA_UNIT) - self._spent()[1], Fraction(0)))

    def left_of(self, client: str) -> float:
        """What a client may still spend: of its own budget, and of what the data set has left."""
        with self._store.transaction(write=False) as connection:
            state = chain.where(connection, self._store.name)
            own, account = self._own(state), self._account(connection, client)
        return min(_client(account).left, _client(own).left)

    def clients(self) -> tuple[Client, ...]:
        """All clients, by name, with what they may spend and have spent."""
        with self._store.transaction(write=False) as connection:
            found = chain.accounts(connection, self._store.name)
        return tuple(sorted(map(_client, found), key=lambda client: client.name))

    @property
    def head(self) -> str:
        """The last link of the chain: keep it elsewhere, to notice a ledger that was put back."""
        with self._store.transaction(write=False) as connection:
            return chain.where(connection, self._store.name).head

    def claim(self, *assumptions: str, delta: float | None = None) -> PureDP | ZCDP | ApproxDP:
        """What all that was paid from this ledger, taken together, may claim."""
        spent, spent_delta = self._spent()
        pure = self.budget.kind == "epsilon"
        amount = up(spent)
        return claim_for(
            self.budget,
            amount if pure else None,
            None if pure else amount,
            up(spent_delta),
            assumptions,
            delta,
        )

    def entries(self) -> tuple[Entry, ...]:
        """The whole log, oldest first; the chain is checked on the way."""
        with self._store.transaction(write=False) as connection:
            chain.check(connection, self._store.name)
            return tuple(map(_entry, chain.lines(connection, self._store.name)))

    def __repr__(self) -> str:
        return f"<Ledger {self._store.name}: {self.budget}>"

    def _refuse(self, *_: object) -> NoReturn:
        raise BudgetError("a ledger cannot be copied or sent.", hint="open the same file: Ledger.open(path)")

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = _refuse


def _check_text(text: object, what: str, most: int, hint: str) -> None:
    """A text that every database can store: half a surrogate pair and a zero byte cannot be."""
    if (
        not isinstance(text, str)
        or not 0 < len(text.strip()) <= len(text) <= most
        or "\0" in text
        or text.encode("utf-8", "ignore").decode() != text
    ):
        raise ParameterError(f"{what} is a text of 1 to {most} characters.", hint=hint)


def _started(budget: Budget) -> dict[str, str]:
    return chain.started(budget, secrets.token_hex(16))


def _client(account: Account) -> Client:
    left, left_delta = account.budget - account.spent, account.budget_delta - account.spent_delta
    return Client(
        account.name,
        down(Fraction(account.budget, UNIT)),
        up(Fraction(account.spent, UNIT)),
        down(Fraction(max(left, 0), UNIT)),
        down(Fraction(max(left_delta, 0), DELTA_UNIT)),
    )


def _entry(row: Row) -> Entry:
    asked = up(Fraction(row.asked, UNIT))
    return Entry(
        number=row.number,
        at=datetime.fromisoformat(row.at),
        purpose=row.purpose,
        epsilon=asked if row.kind == "epsilon" else None,
        rho=asked if row.kind == "rho" else None,
        amount=up(Fraction(row.amount, UNIT)),
        delta=up(Fraction(row.delta, DELTA_UNIT)),
        hash=row.hash,
        kind="debit" if row.kind in chain.DEBITS else row.kind,
        client=row.client or None,
    )
