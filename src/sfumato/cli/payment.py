"""What commands that spend of a privacy budget share: whose budget, and that nobody pays uncounted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.cli.terminal import Terminal
    from sfumato.privacy import Guarantee
    from sfumato.privacy.ledger import Ledger
    from sfumato.table import Table

LedgerOption = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="LEDGER",
        help="The budget to debit before anything is drawn: a file, or a PostgreSQL URL.",
        show_default=False,
    ),
]
OtherPeople = Annotated[
    bool, typer.Option("--other-people", help="Nobody in it was paid for before, by another ledger.")
]


SpendAgain = Annotated[
    bool,
    typer.Option("--spend-again", help="Draw noise again that a stopped command had drawn; both count."),
]


Against = Annotated[
    list[Path] | None,
    typer.Option(
        "--against", metavar="RELEASE", show_default=False,
        help="A release or model that was paid from the ledger before: one that lacks it is an older copy, "
        "and pays for nothing. May be repeated.",
    ),
]  # fmt: skip


def paying(ledger: str | None, against: list[Path] | None) -> Ledger | None:
    """The ledger that a command debits, held against what was published from it."""
    from sfumato.plan.witnesses import require_held
    from sfumato.privacy.ledger import Ledger
    from sfumato.privacy.signatures import Trust

    if ledger is None:
        if against:
            raise ParameterError("--against is for a ledger.", hint="--ledger LEDGER")
        return None
    book = Ledger.open(ledger)
    require_held(book, against or (), Trust.default())
    return book


def as_trusted(table: Table, book: Ledger | None) -> Table:
    """The table, of whose domains those count that the trust file allows, if it says who may declare them.

    Found ones count where this ledger has paid for them, or who signed them is trusted.
    """
    from sfumato.privacy.signatures import Trust

    return table.with_schema(table.schema.trusting(Trust.default(), book))


def note_unaccounted(terminal: Terminal, guarantee: Guarantee) -> None:
    """Say in so many words that nobody adds up what was spent."""
    from sfumato.privacy import Unaccounted

    if any(isinstance(c, Unaccounted) for c in guarantee):
        terminal.note(
            "unaccounted: no ledger was debited, so nobody adds up what is learnt from these people. "
            "sfumato ledger new starts one, --ledger debits it."
        )


def require_payer(book: Ledger | None, source: str, table: Table, other_people: bool) -> None:
    """Who was paid for from one ledger is paid for from it again, or a person says that it is others."""
    from sfumato.io.addresses import noted
    from sfumato.privacy.ledger import Ledger
    from sfumato.release.people import known_people, people_of

    source = noted(source)  # as a plan does, from wherever it is run
    if book is not None:
        book.pay_for(source, people_of(table), other_people=other_people)
    elif not other_people and (payer := Ledger.payer_of(source, known_people(table))):
        raise ParameterError(
            f"what was learnt from these people was paid from ledger {payer}; without it this would not be "
            "counted. Nothing was spent.",
            hint="--ledger LEDGER; if other people are in it now: --other-people",
        )
