"""What has been spent on a data set: debited before it is used, durably, and never given back.

    ledger = Ledger.open("study.ledger", budget=Budget(epsilon=1.0))
    grant = ledger.grant(epsilon=0.1, purpose="age by sex")      # on disk when this returns
    noise.laplace(counts, 1, grant)

Amounts are whole numbers of 10^-12, rounded up, so that sums are exact and any number of threads and
processes grant exactly what fits. A ledger with a fixed budget is a privacy filter: amounts may be chosen
after seeing earlier results (pure epsilon and zCDP both allow this).

Entries are chained by SHA-256, so that a changed, removed or reordered one is noticed on opening. The chain
has no key: someone who rewrites the whole file, or puts back an old copy, is noticed only by who has
kept a later `head` and gives it as `seen`.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from sfumato.errors import BudgetError, DataError, ParameterError, SfumatoError, VerificationError
from sfumato.privacy._store import FileStore, MemoryStore
from sfumato.privacy.base import Neighbours, Unit
from sfumato.privacy.differential import ZCDP, ApproxDP, PureDP
from sfumato.privacy.grants import _MINT, DELTA_UNIT, UNIT, Budget, Grant, claim_for, debit
from sfumato.privacy.rounding import ceil_units, down, exact, up

_VERSION = "1"
_COLUMNS = "number, at, purpose, kind, asked, amount, delta, total, total_delta, hash"


@dataclass(frozen=True)
class Entry:
    """One debit: what was asked for, and what it took from the budget (in the budget's kind)."""

    number: int
    at: datetime
    purpose: str
    epsilon: float | None
    rho: float | None
    amount: float
    delta: float
    hash: str


class Ledger:
    """A budget and what was taken from it. Made by `in_memory`, `open` or `within`."""

    def __init__(self, store: FileStore | MemoryStore, budget: Budget) -> None:
        self._store = store
        self.budget = budget

    @classmethod
    def in_memory(cls, budget: Budget | float | PureDP | ZCDP) -> Ledger:
        """A ledger for this process only; it is forgotten at the end."""
        budget = Budget.coerce(budget)
        return cls(MemoryStore(_meta(budget)), budget)

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
            store.create(_meta(wanted))
        with store.transaction(write=False) as connection:
            budget = _check(connection, store.name, seen)
        if wanted is not None and wanted != budget:
            raise BudgetError(
                f"ledger {store.name} has another budget: {budget}.",
                hint="open it without a budget; a budget is not changed once data were used",
            )
        return cls(store, budget)

    # -- spending ----------------------------------------------------------------------------------

    def grant(
        self, *, epsilon: float | None = None, rho: float | None = None, delta: float = 0.0, purpose: str
    ) -> Grant:
        """Debit the amount, durably, and give a one-use grant for it; or refuse and debit nothing."""
        if not isinstance(purpose, str) or not 0 < len(purpose.strip()) <= 500 or not _writable(purpose):
            raise ParameterError("a purpose is a text of 1 to 500 characters.", hint="say what is measured")
        amount, delta_units = debit(self.budget, epsilon, rho, delta)
        kind = "epsilon" if rho is None else "rho"
        asked = ceil_units(exact(epsilon if rho is None else rho), UNIT)
        with self._store.transaction(write=True) as connection:
            number, total, total_delta, head = _tail(connection, self._store.name)
            room, room_delta = self.budget.units[0] - total, self.budget.units[1] - total_delta
            if amount > room or delta_units > room_delta:
                raise self._refusal(amount, room, delta_units, room_delta)
            now = datetime.now(UTC).isoformat(timespec="microseconds")
            row = (
                number + 1,
                now,
                purpose,
                kind,
                asked,
                amount,
                delta_units,
                total + amount,
                total_delta + delta_units,
            )
            head = _chained(head, row)
            connection.execute(f"INSERT INTO entries ({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?)", (*row, head))
            connection.execute("UPDATE meta SET value = ? WHERE key = 'head'", (head,))
        return Grant._mint(_MINT, self.budget, kind, asked, delta_units, purpose)

    def _refusal(self, amount: int, room: int, delta: int, room_delta: int) -> BudgetError:
        need = f"{self.budget.kind} = {up(Fraction(amount, UNIT))!r}"
        left = f"{self.budget.kind} = {down(Fraction(room, UNIT))!r}"
        if delta or self.budget.delta:
            need += f", delta = {up(Fraction(delta, DELTA_UNIT))!r}"
            left += f", delta = {down(Fraction(room_delta, DELTA_UNIT))!r}"
        return BudgetError(
            f"the budget does not cover this: {need} needed, {left} left. Nothing was debited.",
            hint="ask for less; a budget is not raised once data were used",
        )

    # -- looking -----------------------------------------------------------------------------------

    def _spent(self) -> tuple[Fraction, Fraction]:
        with self._store.transaction(write=False) as connection:
            _, total, total_delta, _ = _tail(connection, self._store.name)
        return Fraction(total, UNIT), Fraction(total_delta, DELTA_UNIT)

    @property
    def spent(self) -> float:
        """What has been spent, in the budget's kind."""
        return up(self._spent()[0])

    @property
    def left(self) -> float:
        """What is left, in the budget's kind."""
        return down(Fraction(self.budget.units[0], UNIT) - self._spent()[0])

    @property
    def left_delta(self) -> float:
        """What is left of the delta."""
        return down(Fraction(self.budget.units[1], DELTA_UNIT) - self._spent()[1])

    @property
    def head(self) -> str:
        """The last link of the chain: keep it elsewhere, to notice a ledger that was put back."""
        with self._store.transaction(write=False) as connection:
            return _tail(connection, self._store.name)[3]

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
        """All debits, oldest first; the chain is checked on the way."""
        with self._store.transaction(write=False) as connection:
            _check(connection, self._store.name, "")
            rows = connection.execute(f"SELECT {_COLUMNS} FROM entries ORDER BY number").fetchall()
        return tuple(map(_entry, rows))

    def __repr__(self) -> str:
        return f"<Ledger {self._store.name}: {self.budget}>"

    def _refuse(self, *_: object) -> NoReturn:
        raise BudgetError("a ledger cannot be copied or sent.", hint="open the same file: Ledger.open(path)")

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = _refuse


def _writable(text: str) -> bool:
    """Whether a text can be stored: half a surrogate pair cannot."""
    return text.encode("utf-8", "ignore").decode() == text


# -- the chain ---------------------------------------------------------------------------------------


def _meta(budget: Budget) -> dict[str, str]:
    amount, delta = budget.units
    meta = {
        "version": _VERSION,
        "id": secrets.token_hex(16),
        "kind": budget.kind,
        "amount": str(amount),
        "delta": str(delta),
        "unit": json.dumps(budget.unit.to_dict()),
        "neighbours": str(budget.neighbours),
    }
    return {**meta, "head": _genesis(meta)}


def _genesis(meta: dict[str, str]) -> str:
    """The first link holds the budget, so that changing it breaks the chain."""
    return _chained("", tuple((k, v) for k, v in sorted(meta.items(), key=repr) if k != "head"))


def _chained(head: str, row: tuple[Any, ...]) -> str:
    return hashlib.sha256(json.dumps([head, *row], ensure_ascii=True, default=repr).encode()).hexdigest()


def _tail(connection: sqlite3.Connection, name: str) -> tuple[int, int, int, str]:
    """Number, totals and hash of the last entry; it must be the one the head points to."""
    meta = dict(connection.execute("SELECT key, value FROM meta"))
    head = str(meta.get("head"))
    rows = connection.execute(f"SELECT {_COLUMNS} FROM entries ORDER BY number DESC LIMIT 2").fetchall()
    if not rows:
        if head != _genesis(meta):
            raise _broken(name)
        return 0, 0, 0, head
    last, before = rows[0], rows[1][-1] if len(rows) > 1 else _genesis(meta)
    # The whole chain is walked on opening; a change since then shows here if it touches the totals.
    if last[-1] != head or _chained(before, last[:-1]) != head:
        raise _broken(name)
    return last[0], last[7], last[8], head


def _check(connection: sqlite3.Connection, name: str, seen: str) -> Budget:
    """Walk the whole chain; give back the budget it begins with."""
    if connection.execute("PRAGMA quick_check").fetchone()[0] != "ok":
        raise DataError(f"ledger {name} is damaged. Nothing was granted.", hint="restore the file")
    meta = dict(connection.execute("SELECT key, value FROM meta"))
    if meta.get("version") != _VERSION:
        raise DataError(f"ledger {name} has another version than {_VERSION}.", hint="upgrade Sfumato")
    head = _genesis(meta)
    found = {head}
    number = total = total_delta = 0
    for row in connection.execute(f"SELECT {_COLUMNS} FROM entries ORDER BY number"):
        head = _chained(head, row[:-1])
        found.add(head)
        if not all(type(row[i]) is int and row[i] >= 0 for i in (4, 5, 6)):
            raise _broken(name)
        number, total, total_delta = number + 1, total + row[5], total_delta + row[6]
        if row[-1] != head or (row[0], row[7], row[8]) != (number, total, total_delta):
            raise _broken(name)
    if meta.get("head") != head:
        raise _broken(name)
    if seen and seen not in found:
        raise VerificationError(
            f"ledger {name} has lost entries that were seen before.",
            hint="an old copy was put back: restore the last one",
        )
    return _budget(meta, name)


def _budget(meta: dict[str, str], name: str) -> Budget:
    try:
        amount = down(Fraction(int(meta["amount"]), UNIT))
        delta = down(Fraction(int(meta["delta"]), DELTA_UNIT))
        unit, neighbours = Unit.from_dict(json.loads(meta["unit"])), Neighbours(meta["neighbours"])
        pure = meta["kind"] == "epsilon"
        return Budget(amount if pure else None, None if pure else amount, delta, unit, neighbours)
    except (KeyError, TypeError, ValueError, SfumatoError):
        raise _broken(name) from None


def _broken(name: str) -> VerificationError:
    return VerificationError(
        f"ledger {name} was changed by other means than this program. Nothing was granted.",
        hint="restore the file; what was spent cannot be known from this one",
    )


def _entry(row: tuple[Any, ...]) -> Entry:
    number, at, purpose, kind, asked, amount, delta, *_, head = row
    asked = up(Fraction(asked, UNIT))
    return Entry(
        number, datetime.fromisoformat(at), purpose, asked if kind == "epsilon" else None,
        asked if kind == "rho" else None, up(Fraction(amount, UNIT)), up(Fraction(delta, DELTA_UNIT)), head,
    )  # fmt: skip
