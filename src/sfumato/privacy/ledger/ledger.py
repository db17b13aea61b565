"""What has been spent on a data set: debited before it is used, durably, and never given back.

    ledger = Ledger.open("study.ledger", budget=Budget(epsilon=1.0))
    grant = ledger.grant(epsilon=0.1, purpose="age by sex")      # on disk when this returns
    noise.laplace(counts, 1, grant)

Amounts are whole numbers of 10^-12, rounded up, so that sums are exact and any number of threads and
processes grant exactly what fits. A ledger with a fixed budget is a privacy filter: amounts may be chosen
after seeing earlier results (pure epsilon and zCDP both allow this).

One transaction debits where it still fits, appends a line to a log chained by SHA-256 (chain.py) and commits;
then the witness (witness.py) notes the line; only then does the grant exist.

The budget of the data set is the promise: it is fixed at the start and never refreshed, since everything
learnt from the same people adds up. The budgets of clients divide it, and may be changed.
"""

from __future__ import annotations

import os
import secrets
from fractions import Fraction
from pathlib import Path
from typing import NoReturn

from sfumato.errors import BudgetError, DataError, ParameterError
from sfumato.privacy import account as accounts
from sfumato.privacy.differential import ZCDP, ApproxDP, PureDP
from sfumato.privacy.grants import _MINT, DELTA_UNIT, UNIT, Budget, Grant, claim_for, debit
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.ledger import bindings, chain, recovery
from sfumato.privacy.ledger.backup import restore, write
from sfumato.privacy.ledger.create import lay_out, started
from sfumato.privacy.ledger.debit import Book, require_room, store_at, unlock
from sfumato.privacy.ledger.files import MemoryStore
from sfumato.privacy.ledger.overlap import PeopleSketch
from sfumato.privacy.ledger.records import Client, LedgerEntry, account_at, account_of, client_of, entry_of
from sfumato.privacy.ledger.tables import Account, Connection, LedgerState, check_text
from sfumato.privacy.ledger.witness import Witness
from sfumato.privacy.ledger.witnesses import Compared
from sfumato.privacy.rounding import ceil_units, down, exact, up

_LARGEST = 1000  # of a client's budget, as of a data set's
_MOST_GRANTS = 100_000  # in one transaction


class Ledger:
    """A budget and what was taken from it. Made by `in_memory`, `open`, `look` or `within`.

    >>> ledger = sf.Ledger.open("study.ledger", sf.Budget(epsilon=1.0))
    >>> grant = ledger.grant(epsilon=0.25, purpose="age by sex")
    >>> sf.Ledger.open("study.ledger").left
    0.75
    """

    def __init__(
        self, book: Book, budget: Budget, dataset: str = "", paid_by: accounts.Account = accounts.UNACCOUNTED
    ) -> None:
        self._book = book
        self._paid_by = paid_by  # of a ledger in memory: what has paid for its budget
        self.budget = budget
        self.dataset = dataset
        self._units = budget.units
        self._sources: dict[str, bool] = {}  # noted, and nothing was debited for them yet
        self._people: list[PeopleSketch] = []

    @classmethod
    def in_memory(
        cls, budget: Budget | float | PureDP | ZCDP, *, paid_by: accounts.Account = accounts.UNACCOUNTED
    ) -> Ledger:
        """A ledger for this process only; it is forgotten at the end.

        paid_by: the account of a ledger that was debited for the whole budget, which its grants then name.
        """
        budget = Budget.coerce(budget)
        meta = started(budget, secrets.token_hex(16))
        return cls(Book(MemoryStore(meta), meta["id"], None), budget, paid_by=paid_by)

    @classmethod
    def within(cls, grant: Grant) -> Ledger:
        """Spend one grant in smaller pieces: the grant is burnt, and its amount is a new budget in memory."""
        grant.burn()
        return cls.in_memory(
            Budget(grant.epsilon, grant.rho, grant.delta, grant.budget.unit, grant.budget.neighbours),
            paid_by=grant.account,
        )

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        budget: Budget | float | PureDP | ZCDP | None = None,
        *,
        dataset: str = "",
        seen: str = "",
    ) -> Ledger:
        """Open a ledger, or start one if there is none and a budget is given.

        path: a file, or postgresql://user@host/database#name.
        budget: for a ledger that is there, it must be its own.
        dataset: the declared name of the data set; no second ledger is started here under the same name. For
            a ledger that is there, it must be its own.
        seen: a `head` noted earlier; refused if the ledger has lost it.
        """
        store = store_at(path)
        wanted = None if budget is None else Budget.coerce(budget)
        if dataset:
            check_text(dataset, "the name of a data set", 200, "whose data, and of when")
        if not store.exists():
            if wanted is None or seen:
                raise DataError(
                    f"no ledger {store.name}.", hint="give a budget to start one, or correct the path"
                )
            recovery.require_unused(Witness(), store.place, store.name)
            bindings.require_first(Witness(), dataset, "", store.name)
            meta = started(wanted, secrets.token_hex(16), dataset)
            store.create(lambda connection: lay_out(connection, meta))
        ledger = cls.look(path, seen=seen)
        if wanted is not None and wanted != ledger.budget:
            raise BudgetError(
                f"ledger {store.name} has another budget: {ledger.budget}.",
                hint="open it without a budget; a budget is not changed once data were used",
            )
        if dataset and dataset != ledger.dataset:
            raise BudgetError(
                f"ledger {store.name} is of another data set, or of none by name.",
                hint="sfumato ledger show LEDGER says which; a name is not changed",
            )
        if not any(ledger._spent()):
            bindings.require_first(Witness(), ledger.dataset, ledger._book.id, store.name)
        ledger._book.settle(ledger.dataset)
        return ledger

    @classmethod
    def look(cls, path: str | os.PathLike[str], *, seen: str = "") -> Ledger:
        """Open a ledger to look at it, also where it is locked: `locked` says why, and grants are refused."""
        store = store_at(path)
        if not store.exists():
            raise DataError(f"no ledger {store.name}.", hint="correct the path")
        with store.transaction(write=False) as connection:
            store.examine(connection)
            budget = chain.check(connection, store.name, seen)
            meta = chain.read_meta(connection, store.name)
        return cls(Book(store, str(meta.get("id")), Witness()), budget, meta.get("dataset", ""))

    @property
    def locked(self) -> str:
        """Why nothing is granted until a person unlocks this ledger; empty if it is not locked."""
        return self._book.locked()

    def check_against(self, *published: Guarantee, genuine: bool = False) -> Compared:
        """Compare with the guarantees of releases and models that it has paid for: each is a witness.

        genuine: they are known to be, as somebody signed them whom you trust: what the ledger lacks is noted
            then, and locks it, since an older copy was put back. Anybody can make up a release.
        """
        if self._book.witness is None:
            raise ParameterError("a ledger in memory is no witness.", hint="Ledger.look(path)")
        paid = [c for guarantee in published for c in guarantee if isinstance(c, accounts.Accounted)]
        return self._book.compared(paid, genuine)

    # -- whose data it is --------------------------------------------------------------------------

    def pay_for(
        self, source: str | os.PathLike[str] | None, people: PeopleSketch | None = None, *,
        other_people: bool = False,
    ) -> None:  # fmt: skip
        """Note that what is learnt from a file or URL is paid from here; refused if another ledger does.

        people: who is in it, by `people_of(table)`: refused if another ledger has paid for some of them.
        other_people: those that another ledger has paid for are others.
        """
        if self._book.witness is None:
            return
        mine = (self._book.id, self._book.name, other_people)
        if people is not None:
            bindings.note_people(self._book.witness, people, *mine)
            if not other_people:
                self._people.append(people)
        if source is not None:
            bindings.note_source(self._book.witness, source, *mine)
            self._sources[bindings.located(source)] = other_people

    @staticmethod
    def payer_of(source: str | os.PathLike[str] | None, people: PeopleSketch | None = None) -> str:
        """The name of the ledger that has paid for a source, or its people, here; empty if none is known."""
        found = bindings.payer_of(Witness(), source) if source is not None else ""
        if not found and people is not None:
            found, _ = bindings.payer_of_people(Witness(), people) or ("", 0.0)
        return found

    # -- spending ----------------------------------------------------------------------------------

    def grant(
        self, *, epsilon: float | None = None, rho: float | None = None, delta: float = 0.0, purpose: str,
        client: str | None = None,
    ) -> Grant:  # fmt: skip
        """Debit the amount, durably, and give a one-use grant for it; or refuse and debit nothing.

        client: whose budget is debited as well, in the same transaction: both, or neither.
        """
        (grant,) = self.grants(1, epsilon=epsilon, rho=rho, delta=delta, purpose=purpose, client=client)
        return grant

    def grants(
        self, number: int, *, epsilon: float | None = None, rho: float | None = None, delta: float = 0.0,
        purpose: str, client: str | None = None,
    ) -> tuple[Grant, ...]:  # fmt: skip
        """As many grants of the same amount, each with its own line, in one transaction: all, or none."""
        check_text(purpose, "a purpose", 500, "say what is measured")
        if not isinstance(number, int) or not 1 <= number <= _MOST_GRANTS:
            raise ParameterError(f"1 to {_MOST_GRANTS} grants are given at once.", hint="grants(3, ...)")
        amount, delta_units = debit(self.budget, epsilon, rho, delta)
        kind = "epsilon" if rho is None else "rho"
        asked = ceil_units(exact(epsilon if rho is None else rho), UNIT)
        sources, people = dict(self._sources), list(self._people)
        held = bindings.held_for(self._book.witness, sources, people, self._book.id, self._book.name)
        with held, self._book.writing() as step:
            # What cannot all be paid is refused before the first line.
            require_room(self.budget, self._own(step.state), number * amount, number * delta_units)
            account = None if client is None else self._account(step.connection, client)
            if account is not None:
                require_room(self.budget, account, number * amount, number * delta_units)
            for _ in range(number):
                row = self._book.row(step, purpose, kind, asked, amount, delta_units)
                if account is not None:
                    account = account._replace(
                        spent=account.spent + amount, spent_delta=account.spent_delta + delta_units
                    )
                    row = row._replace(
                        client=account.name, client_total=account.spent, client_delta=account.spent_delta
                    )
                self._book.append(step, row)
        for source in sources:  # from now on they are known as paid from here
            self._sources.pop(source, None)
        self._people = [p for p in self._people if p not in people]  # by identity: sketches have no ==
        paid_by, now = self._paid_by, step.state
        if self._book.witness is not None:
            paid_by = account_at(now.id, now.head, now.total, now.total_delta, self.budget)
        return tuple(
            Grant._mint(_MINT, self.budget, kind, asked, delta_units, purpose, paid_by) for _ in range(number)
        )

    def account_of(self, purpose: str) -> accounts.Accounted | None:
        """The debit that was made for a purpose, as a release may name it: the last one, if there is one."""
        found = [row for row in self._book.debits() if row.purpose == purpose]
        return None if not found else account_of(self._book.id, found[-1], self.budget)

    def seal(self, text: str) -> str:
        """A seal on a text, which nobody can make without this ledger; empty of one in memory."""
        return "" if self._book.witness is None else accounts.seal(self._book.id, text)

    def holds(self, seal: str, text: str, line: str) -> bool:
        """Whether a seal on a text is its own, and a debit with that mark is in it."""
        return self._book.holds(seal, text, line)

    def set_client(
        self, name: str, epsilon: float | None = None, *, rho: float | None = None, delta: float = 0.0
    ) -> Client:
        """Give a client a budget of its own, in the data set's kind; again, to change it.

        What the client has spent stays spent. A budget of 0 closes the account. Together the clients may be
        promised more than the data set has: who comes first is served, and the data set's budget holds.
        """
        check_text(name, "a client's name", 100, "e.g. the name of its key")
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
        with self._book.writing() as step:
            known = chain.client_account(step.connection, name, self._book.name)
            spent = (0, 0) if known is None else (known.spent, known.spent_delta)
            row = self._book.row(step, "a client's budget", "client", units)._replace(
                client=name, client_total=spent[0], client_delta=spent[1], note=str(delta_units)
            )
            self._book.append(step, row)
        return client_of(Account(name, units, delta_units, *spent))

    def unlock(
        self,
        lost: recovery.Amount = None,
        lost_delta: recovery.Amount = None,
        *,
        reason: str = "unlocked by a person",
    ) -> float:
        """Account for lines that were lost, so that a locked ledger grants again; what was counted as spent.

        lost, lost_delta: what had been spent and is no longer in the ledger, in the budget's kind; "all" for
            all that is left; by default what the witness knows, on the safe side.
        """
        check_text(reason, "a reason", 500, "say what happened")
        return unlock(self._book, self.budget, lost, lost_delta, reason)

    def backup(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write all of it to a file from which `restore` makes a ledger again; the file grants nothing."""
        write(self._book.store, Path(path), overwrite)

    @classmethod
    def restore(
        cls,
        backup: str | os.PathLike[str],
        path: str | os.PathLike[str],
        *,
        lost: recovery.Amount = None,
        lost_delta: recovery.Amount = None,
    ) -> Ledger:
        """Make a ledger from a backup, counting as spent what was spent since.

        path: a file or a URL where no ledger is.
        lost, lost_delta: what was spent since the backup; "all" for all that is left; by default what the
            witness knows, if nobody else has written to this ledger.
        """
        restore(Path(backup), store_at(path), lost, lost_delta)
        return cls.open(path)

    def _own(self, state: LedgerState) -> Account:
        return Account("", *self._units, state.total, state.total_delta)

    def _account(self, connection: Connection, client: str) -> Account:
        found = chain.client_account(connection, client, self._book.name) if client else None
        if found is None:
            raise BudgetError("this client has no budget. Nothing was debited.", hint="set_client(name, ...)")
        return found

    # -- looking -----------------------------------------------------------------------------------

    def _spent(self) -> tuple[Fraction, Fraction]:
        with self._book.reading() as connection:
            state = chain.where(connection, self._book.name)
        return Fraction(state.total, UNIT), Fraction(state.total_delta, DELTA_UNIT)

    @property
    def spent(self) -> float:
        """What has been spent, in the budget's kind."""
        return up(self._spent()[0])

    @property
    def left(self) -> float:
        """What is left, in the budget's kind."""
        return down(max(Fraction(self._units[0], UNIT) - self._spent()[0], Fraction(0)))

    @property
    def left_delta(self) -> float:
        """What is left of the delta."""
        return down(max(Fraction(self._units[1], DELTA_UNIT) - self._spent()[1], Fraction(0)))

    def left_of(self, client: str) -> float:
        """What a client may still spend: of its own budget, and of what the data set has left."""
        with self._book.reading() as connection:
            state = chain.where(connection, self._book.name)
            own, account = self._own(state), self._account(connection, client)
        return min(client_of(account).left, client_of(own).left)

    def clients(self) -> tuple[Client, ...]:
        """All clients, by name, with what they may spend and have spent."""
        with self._book.reading() as connection:
            found = chain.accounts(connection, self._book.name)
        return tuple(sorted(map(client_of, found), key=lambda client: client.name))

    @property
    def head(self) -> str:
        """The last link of the chain: keep it elsewhere, to notice a ledger that was put back."""
        with self._book.reading() as connection:
            return chain.where(connection, self._book.name).head

    def claim(self, *assumptions: str, delta: float | None = None) -> PureDP | ZCDP | ApproxDP:
        """What all that was paid from this ledger, taken together, may claim."""
        spent, spent_delta = self._spent()
        pure = self.budget.kind == "epsilon"
        amount = up(spent)
        epsilon, rho = (amount, None) if pure else (None, amount)
        return claim_for(self.budget, epsilon, rho, up(spent_delta), assumptions, delta)

    def entries(self) -> tuple[LedgerEntry, ...]:
        """The whole log, oldest first; the chain is checked on the way."""
        with self._book.reading() as connection:
            chain.check(connection, self._book.name)
            return tuple(map(entry_of, chain.lines(connection, self._book.name)))

    def __repr__(self) -> str:
        return f"<Ledger {self._book.name}: {self.budget}>"

    def _refuse(self, *_: object) -> NoReturn:
        raise BudgetError("a ledger cannot be copied or sent.", hint="open the same file: Ledger.open(path)")

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = _refuse
