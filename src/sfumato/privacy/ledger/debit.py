"""One debit: alone, compared with the witness, committed, witnessed. Only then may a grant exist."""

from __future__ import annotations

import contextlib
import hmac
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path

from sfumato.errors import BudgetError, OutputError, ParameterError, VerificationError
from sfumato.privacy.account import Accounted, mark, seal
from sfumato.privacy.grants import DELTA_UNIT, UNIT, Budget
from sfumato.privacy.ledger import bindings, chain, recovery, witnesses
from sfumato.privacy.ledger.create import upgrade
from sfumato.privacy.ledger.files import FileStore, MemoryStore
from sfumato.privacy.ledger.postgres import PostgresStore
from sfumato.privacy.ledger.tables import DEBITS, VERSION, Account, Connection, LedgerState, Row
from sfumato.privacy.ledger.witness import Held, Witness
from sfumato.privacy.postgres import is_postgres
from sfumato.privacy.rounding import down, up

_DRIFT = timedelta(seconds=60)  # by which clocks are set right every day
Store = FileStore | PostgresStore | MemoryStore


def store_at(place: str | os.PathLike[str]) -> FileStore | PostgresStore:
    """A file, or PostgreSQL by URL."""
    return PostgresStore(str(place)) if is_postgres(place) else FileStore(Path(place))


@dataclass
class OpenDebit:
    """A debit under way: where the ledger stands after the lines that were written so far."""

    connection: Connection
    state: LedgerState
    held: Held | None


class Book:
    """A ledger's tables together with their witness; a ledger in memory has none."""

    def __init__(self, store: Store, identity: str, witness: Witness | None) -> None:
        self.store = store
        self.witness = witness
        self.id = identity

    @property
    def name(self) -> str:
        """As messages call it."""
        return self.store.name

    def reading(self) -> contextlib.AbstractContextManager[Connection]:
        """A transaction that only looks."""
        return self.store.transaction(write=False)

    @contextlib.contextmanager
    def writing(self, *, unlocking: bool = False) -> Iterator[OpenDebit]:
        """Debit, commit, let the witness know. What follows this block happens after all of it, or never."""
        with contextlib.ExitStack() as alone:
            held = None
            if self.witness is not None:
                held = alone.enter_context(self.witness.held(self.id, self.name))
            with self.store.transaction(write=True) as connection:
                state = self._same(chain.where(connection, self.name))
                if state.version != VERSION:
                    upgrade(connection, self.name)
                    state = chain.where(connection, self.name)
                if held and self.witness is not None and not unlocking:
                    recovery.require_held(connection, state, held)
                    witnesses.require(connection, self.witness, state, self.name)
                step = OpenDebit(connection, state, held)
                yield step
            if held:
                held.note(step.state)

    def row(
        self, step: OpenDebit, purpose: str, kind: str, asked: int, amount: int = 0, delta: int = 0
    ) -> Row:
        """The next line."""
        now = self._now(step.connection, step.state)
        return next_row(step.state, now, purpose, kind, asked, amount, delta)

    def append(self, step: OpenDebit, row: Row) -> None:
        """Write a line and what it takes."""
        if self.witness is not None:
            row = row._replace(writer=self.witness.writer)
        seen = step.held.seen if step.held and row.kind in DEBITS else None
        if seen and recovery.contains(step.connection, step.state, seen, self.name):
            row = row._replace(note=str(seen.number))
        step.state = chain.append(step.connection, step.state, row, self.name)

    def settle(self, dataset: str = "") -> None:
        """Compare with the witness, and let it know where the ledger stands, and whose data it is of."""
        assert self.witness is not None
        try:
            with self.witness.held(self.id, self.name) as held:
                with self.reading() as connection:
                    state = self._same(chain.where(connection, self.name))
                    recovery.require_held(connection, state, held)
                    witnesses.require(connection, self.witness, state, self.name)
                    recovery.require_at_home(connection, self.witness, self.store.place, state, self.name)
                held.note(state)
                self.witness.remember(self.store.place, self.id, self.name)
                bindings.note_name(self.witness, dataset, self.id, self.name)
        except OutputError:  # who may not write may look; a grant will meet the same fault and be refused
            if reason := self.locked():
                raise VerificationError(reason, hint="sfumato ledger unlock LEDGER") from None

    def locked(self) -> str:
        """Why nothing is granted until a person sees to it; empty if nothing is wrong."""
        if self.witness is None:
            return ""
        try:
            seen = self.witness.read(self.id, self.name)  # before the ledger, which may have gone on since
            with self.reading() as connection:
                state = self._same(chain.where(connection, self.name))
                recovery.require(connection, state, seen, self.name)
                witnesses.require(connection, self.witness, state, self.name)
                recovery.require_at_home(connection, self.witness, self.store.place, state, self.name)
                self._now(connection, state)
        except VerificationError as error:
            return error.message
        return ""

    def compared(self, accounts: Iterable[Accounted], genuine: bool) -> witnesses.Compared:
        """Hold it against what was published from it; what it lacks locks it, if that is genuine."""
        assert self.witness is not None
        with self.witness.held(self.id, self.name), self.reading() as connection:
            state = self._same(chain.where(connection, self.name))
            return witnesses.compare(connection, self.witness, state, self.name, accounts, genuine)

    def debits(self) -> list[Row]:
        """All lines that have paid for something, oldest first."""
        with self.reading() as connection:
            return [row for row in chain.lines(connection, self.name) if row.kind in DEBITS]

    def holds(self, given: str, text: str, line: str) -> bool:
        """Whether a seal is its own, and the debit is in it that has this mark: an older copy lacks it."""
        own = seal(self.id, text)
        if self.witness is None or not hmac.compare_digest(own.encode(), given.encode()):
            return False
        return any(mark(self.id, row.hash) == line for row in self.debits())

    def late(self, step: OpenDebit) -> bool:
        """Whether the clock stands before the last line."""
        try:
            self._now(step.connection, step.state)
        except VerificationError:
            return True
        return False

    def _same(self, state: LedgerState) -> LedgerState:
        if state.id != self.id:
            raise recovery.not_the_one(self.name)
        return state

    def _now(self, connection: Connection, state: LedgerState) -> datetime:
        """The time; never before the last line, so that the log is in order."""
        now = self.store.now(connection)
        if not state.last:
            return now
        last = datetime.fromisoformat(state.last)
        if now < last - _DRIFT:
            raise VerificationError(
                f"the clock stands before the last entry of ledger {self.name}. Nothing was granted.",
                hint="set the clock; if the entry's time was wrong: sfumato ledger unlock LEDGER",
            )
        return max(now, last)


def require_room(budget: Budget, account: Account, amount: int, delta: int) -> None:
    """Refuse what an account does not cover, and say what is left."""
    room, room_delta = account.budget - account.spent, account.budget_delta - account.spent_delta
    if amount <= room and delta <= room_delta:
        return
    need = f"{budget.kind} = {up(Fraction(amount, UNIT))!r}"
    left = f"{budget.kind} = {down(Fraction(max(room, 0), UNIT))!r}"
    if delta or budget.delta:
        need += f", delta = {up(Fraction(delta, DELTA_UNIT))!r}"
        left += f", delta = {down(Fraction(max(room_delta, 0), DELTA_UNIT))!r}"
    whose, hint = "the budget", "ask for less; a budget is not raised once data were used"
    if account.name:
        whose, hint = "the client's budget", "ask for less"
    raise BudgetError(
        f"{whose} does not cover this: {need} needed, {left} left. Nothing was debited.", hint=hint
    )


def next_row(
    state: LedgerState, at: datetime, purpose: str, kind: str, asked: int, amount: int, delta: int
) -> Row:
    """The line that follows, with its totals."""
    return Row(
        state.number + 1, at.isoformat(timespec="microseconds"), purpose, kind, asked, amount, delta,
        state.total + amount, state.total_delta + delta,
    )  # fmt: skip


def unlock(
    book: Book, budget: Budget, lost: recovery.Amount, lost_delta: recovery.Amount, reason: str
) -> float:
    """Append a line that accounts for what the ledger lacks; give back what was counted as spent."""
    assert book.witness is not None
    with book.writing(unlocking=True) as step:
        assert step.held is not None
        own = recovery.lacking(step.connection, book.witness, step.held, step.state)
        other = None  # of a damaged witness a person must say it all
        if not step.held.damaged:
            other = recovery.instead(step.connection, book.witness, step.held, book.store.place, step.state)
        gap = own or other or witnesses.lacking(step.connection, book.witness, step.state, book.name)
        if gap is None and not book.late(step):
            raise ParameterError(f"ledger {book.name} is not locked.", hint="there is nothing to be done")
        amount, delta = (0, 0) if gap is None else gap.lost(budget, lost, lost_delta)
        now, era = book.store.now(step.connection), recovery.next_era(step.state, step.held)
        row = next_row(step.state, now, reason, "unlock", era, amount, delta)
        book.append(step, row._replace(note="" if gap is None else gap.head))
    # One line accounts for one gap. While another ledger's spending is open, its place is not taken: this one
    # stays locked until a second unlock counts that as well.
    if own is None or other is None:
        book.witness.remember(book.store.place, step.state.id, book.name)
    return up(Fraction(amount, UNIT))
