"""Lines that were lost: how they are noticed, and how a person accounts for them.

A ledger must hold the last line that its witness has seen, or a later line by which a person has accounted
for the loss. Otherwise it is locked: nothing is granted, and who opens it is told so.

Guarantee: what is counted as spent is never below what was granted by those who keep their witness.
Because:   a grant exists only after its line is in the ledger and in the witness (witness.py); a ledger
           without that line is locked for this witness; unlocking adds at least what the witness had seen
           above the last line that both are sure to share.
Assumes:   the witness is not lost or put back together with the ledger. Who keeps a `head` elsewhere
           (`seen=`) notices that too.
Tested by: tests/privacy/test_ledger_put_back.py
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfumato.errors import BudgetError, DataError, ParameterError, VerificationError
from sfumato.privacy.grants import DELTA_UNIT, UNIT, Budget
from sfumato.privacy.ledger import chain
from sfumato.privacy.ledger.tables import Connection, LedgerState
from sfumato.privacy.ledger.witness import Held, LastSeen, Witness, damaged
from sfumato.privacy.rounding import ceil_units, exact, up

_LARGEST = 1000
Amount = float | str | None  # of what was lost: a number, "all" that is left, or what the witness knows


def require(connection: Connection, state: LedgerState, seen: LastSeen | None, name: str) -> None:
    """Refuse a ledger that has lost what its witness has seen."""
    if not holds(connection, state, seen, name):
        raise VerificationError(
            f"ledger {name} has lost entries that were seen here: an older copy was put back, or a copy was "
            "used elsewhere. Nothing was granted.",
            hint="restore the last one, or account for the loss: sfumato ledger unlock LEDGER",
        )


def require_held(connection: Connection, state: LedgerState, held: Held) -> None:
    """The same, for who is about to debit: a witness that cannot be read is no witness."""
    if held.damaged:
        raise damaged(held.name)
    require(connection, state, held.seen, held.name)


def holds(connection: Connection, state: LedgerState, seen: LastSeen | None, name: str) -> bool:
    """Whether the ledger holds what was seen, or an account of its loss."""
    return (
        seen is None or contains(connection, state, seen, name) or chain.covers(connection, seen.head, name)
    )


def contains(connection: Connection, state: LedgerState, seen: LastSeen, name: str) -> bool:
    """Whether the line that was seen is there itself."""
    return state.head == seen.head or chain.hash_at(connection, seen.number, name) == seen.head


# -- another ledger in its place, or none ----------------------------------------------------------------


def _used_at(witness: Witness, place: str, name: str) -> tuple[str, LastSeen] | None:
    """The ledger that was last used at a place, if anything was spent from it."""
    known = witness.known_at(place)
    seen = None if known is None else witness.read(known, name)
    return (known, seen) if known and seen and (seen.total or seen.total_delta) else None


def require_unused(witness: Witness, place: str, name: str) -> None:
    """Refuse to start a ledger where one was spent from that is gone."""
    if _used_at(witness, place, name):
        raise DataError(
            f"ledger {name} is gone; it was spent from before. Nothing was granted.",
            hint="restore it: sfumato ledger restore; for other data take another name",
        )


def _stranger(
    connection: Connection, witness: Witness, place: str, identity: str, name: str
) -> LastSeen | None:
    """What was seen of another ledger that was used at this place, if that is not accounted for."""
    used = _used_at(witness, place, name)
    if used is None or used[0] == identity or chain.covers(connection, used[1].head, name):
        return None
    return used[1]


def require_at_home(
    connection: Connection, witness: Witness, place: str, state: LedgerState, name: str
) -> None:
    """Refuse a ledger that lies where another was spent from."""
    if _stranger(connection, witness, place, state.id, name):
        raise not_the_one(name)


def not_the_one(name: str) -> VerificationError:
    """The refusal of a ledger that is not the one that was here."""
    return VerificationError(
        f"ledger {name} is not the one that was used here before. Nothing was granted.",
        hint="put that one back, or account for what it had spent: sfumato ledger unlock LEDGER",
    )


# -- accounting for it -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gap:
    """Lines that are no longer there. All amounts in whole units, delta second.

    head: the last of them; empty if it is not known.
    known: the totals that were seen after it; None if the witness is damaged or there is none.
    here: the totals of the ledger as it is. shared: the totals after the last line that both have for sure.

    A witness never lets its own place go on with a ledger that has lost its lines. So what this place wrote
    is shared (chain.shared_with); what the witness saw above it is lost, unless others wrote some of it and
    that is still there. A person may know better and say less, but not less than the totals differ.
    """

    head: str
    known: tuple[int, int] | None
    here: tuple[int, int]
    shared: tuple[int, int]
    stated: bool = False  # whether a person must say what was lost

    def lost(self, budget: Budget, amount: Amount, delta: Amount) -> tuple[int, int]:
        """What is to be counted as spent."""
        if delta is None and amount is not None and not (amount != "all" and self._least(1)):
            # Who states an amount alone means that no delta was lost.
            delta = "all" if amount == "all" else 0.0
        found = tuple(self._lost(i, budget.units[i], given) for i, given in enumerate((amount, delta)))
        return found[0], found[1]

    def _least(self, i: int) -> int:
        return 0 if self.known is None else max(self.known[i] - self.here[i], 0)

    def _lost(self, i: int, budget: int, given: Amount) -> int:
        if given is None:
            if self.known is None or self.stated:
                raise BudgetError(
                    "nobody here knows all that was spent and is no longer in the ledger.",
                    hint="say it: lost=..., or lost='all' to count all that is left as spent",
                )
            return max(self.known[i] - self.shared[i], 0)
        if given == "all":
            return max(budget - self.here[i], self._least(i), 0)
        number, unit = exact(given, "what was lost"), (UNIT, DELTA_UNIT)[i]
        if not 0 <= number <= _LARGEST:
            raise ParameterError(f"what was lost is at least 0 and at most {_LARGEST}.", hint="e.g. 0.3")
        if ceil_units(number, unit) < self._least(i):
            raise BudgetError(
                f"at least {up(Fraction(self._least(i), unit))!r} was seen here that is no longer there.",
                hint="say at least that",
            )
        return ceil_units(number, unit)


def found(connection: Connection, witness: Witness, held: Held, place: str, state: LedgerState) -> Gap | None:
    """What this ledger lacks, by its own witness or else by what was seen of another in its place."""
    return lacking(connection, witness, held, state) or instead(connection, witness, held, place, state)


def lacking(connection: Connection, witness: Witness, held: Held, state: LedgerState) -> Gap | None:
    """What its own witness has seen and it has no more."""
    here = (state.total, state.total_delta)
    if held.damaged:
        return Gap("", None, here, (0, 0))
    seen = held.seen
    if seen is None or holds(connection, state, seen, held.name):
        return None
    return Gap(seen.head, seen[3:], here, chain.shared_with(connection, witness.writer, held.name))


def instead(
    connection: Connection, witness: Witness, held: Held, place: str, state: LedgerState
) -> Gap | None:
    """What another ledger had spent that was seen in this place."""
    other = _stranger(connection, witness, place, state.id, held.name)
    return None if other is None else Gap(other.head, other[3:], (0, 0), (0, 0))


def next_era(state: LedgerState, held: Held) -> int:
    """After all that was seen."""
    return max(state.era, 0 if held.seen is None else held.seen.era) + 1
