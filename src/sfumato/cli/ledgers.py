"""ledger new, show, verify, check, client, unlock, backup, restore: a budget, and what was spent of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as Grid
from rich.text import Text

from sfumato.cli.commands import Overwrite
from sfumato.cli.signing import Trusted
from sfumato.cli.terminal import Terminal

if TYPE_CHECKING:
    from sfumato.privacy import Ledger, LedgerEntry

LedgerAt = Annotated[
    str,
    typer.Argument(
        metavar="LEDGER", help="A file, or postgresql://user@host/database#name.", show_default=False
    ),
]
Lost = Annotated[
    str | None,
    typer.Option(
        "--lost",
        metavar="AMOUNT",
        help="What was spent and is no longer there, or 'all' to count all that is left as spent. "
        "Default: what the witness knows.",
    ),
]
LostDelta = Annotated[
    str | None, typer.Option("--lost-delta", metavar="AMOUNT", help="The same for delta, if there is one.")
]


def new(
    terminal: Terminal,
    ledger: LedgerAt,
    dataset: Annotated[
        str,
        typer.Option(
            "--data-set", metavar="NAME", help="Whose data, and of when; never another.", show_default=False
        ),
    ],
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", metavar="E", help="All that may be spent.", show_default=False),
    ] = None,
    rho: Annotated[
        float | None, typer.Option("--rho", metavar="R", help="The same in zCDP.", show_default=False)
    ] = None,
    delta: Annotated[float, typer.Option("--delta", metavar="D", help="Of mechanisms that have one.")] = 0.0,
    max_rows_per_person: Annotated[
        int,
        typer.Option(
            "--max-rows-per-person", metavar="N", help="It is for persons with so many rows; above 1 always."
        ),
    ] = 1,
    persons: Annotated[
        bool, typer.Option("--persons", help="It is for persons, also with one row each.")
    ] = False,
    client: Annotated[
        list[str] | None,
        typer.Option(
            "--client", metavar="NAME=AMOUNT", help="A client's budget within it; may be repeated.",
            show_default=False,
        ),
    ] = None,
) -> None:  # fmt: skip
    """Start the ledger of a data set: what may ever be spent on its people, and by whom.

    A budget is fixed at the start and never refreshed.
    """
    from sfumato.errors import OutputError
    from sfumato.privacy import Budget, Ledger
    from sfumato.privacy.base import ROW, Unit
    from sfumato.privacy.ledger.debit import store_at

    unit = Unit.person(max_rows_per_person) if persons or max_rows_per_person != 1 else ROW
    budget = Budget(epsilon, rho, delta, unit)
    clients = dict(_share(item) for item in client or ())
    trial = Ledger.in_memory(budget)
    for name, amount in clients.items():  # what is wrong with them is said before there is a ledger
        trial.set_client(name, **{budget.kind: amount})
    if store_at(ledger).exists():
        raise OutputError(
            f"ledger {store_at(ledger).name} is there already.", hint="sfumato ledger show LEDGER"
        )
    made = Ledger.open(ledger, budget, dataset=dataset)
    for name, amount in clients.items():
        made.set_client(name, **{budget.kind: amount})
    lines: list[Any] = [Text("Started.", "green"), _balance(made)]
    if found := _clients(made):
        lines += ["", found]
    terminal.result(lines, {**_plain(made), "clients": _shares(made)})


def _share(item: str) -> tuple[str, float]:
    from sfumato.errors import ParameterError

    name, _, amount = item.rpartition("=")
    try:
        return name, float(amount)
    except ValueError:
        raise ParameterError("a client's budget is NAME=AMOUNT.", hint="--client clinic=0.5") from None


def show(terminal: Terminal, ledger: LedgerAt) -> None:
    """Show a privacy budget, what was spent on what, and what is left."""
    from sfumato.privacy import Ledger

    found = Ledger.look(ledger)
    locked, entries = found.locked, found.entries()
    if locked:
        terminal.note(f"locked: {locked}")
    plain = {
        **_plain(found),
        "locked": locked,
        "clients": _shares(found),
        "entries": [
            {
                "number": e.number,
                "at": e.at.isoformat(),
                "kind": e.kind,
                "client": e.client,
                "purpose": e.purpose,
                "amount": e.amount,
                "delta": e.delta,
            }
            for e in entries
        ],
    }
    parts = [part for part in (_log(found, entries), _clients(found)) if part is not None]
    terminal.result([line for part in parts for line in (part, "")] + [_balance(found)], plain)


def _shares(ledger: Ledger) -> list[dict[str, Any]]:
    return [{"name": c.name, "budget": c.budget, "spent": c.spent, "left": c.left} for c in ledger.clients()]


def _plain(ledger: Ledger) -> dict[str, Any]:
    budget = ledger.budget
    return {
        "data_set": ledger.dataset,
        "budget": {"kind": budget.kind, "amount": budget.amount, "delta": budget.delta},
        "spent": ledger.spent,
        "left": ledger.left,
        "head": ledger.head,
    }


def _grid(*columns: tuple[str, bool]) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name, number in columns:
        if number:
            grid.add_column(name, justify="right", no_wrap=True)
        else:
            grid.add_column(name, overflow="fold")
    return grid


def _log(ledger: Ledger, entries: tuple[LedgerEntry, ...]) -> Grid | None:
    grid = _grid(
        ("#", True), ("When", True), ("Purpose", False), ("Client", False), (ledger.budget.kind, True)
    )
    for e in entries:
        purpose = e.purpose if e.kind in ("debit", "client") else f"{e.kind}: {e.purpose}"
        when = f"{e.at:%Y-%m-%d %H:%M}"
        grid.add_row(str(e.number), when, Text(purpose), Text(e.client or ""), f"{e.amount:g}")
    return grid if entries else None


def _clients(ledger: Ledger) -> Grid | None:
    clients = ledger.clients()
    grid = _grid(("Client", False), ("Budget", True), ("Spent", True), ("Left", True))
    for c in clients:
        grid.add_row(Text(c.name), f"{c.budget:g}", f"{c.spent:g}", f"{c.left:g}")
    return grid if clients else None


def _balance(ledger: Ledger) -> Text:
    whose = Text.assemble(("Of     ", "bold"), f"{ledger.dataset}\n") if ledger.dataset else Text()
    return Text.assemble(
        whose, ("Budget ", "bold"), str(ledger.budget), ("\nSpent  ", "bold"), f"{ledger.spent:g}",
        ("\nLeft   ", "bold"), f"{ledger.left:g}", ("\nHead   ", "bold"), (ledger.head, "dim"),
    )  # fmt: skip


def verify(
    terminal: Terminal,
    ledger: LedgerAt,
    seen: Annotated[
        str, typer.Option("--seen", metavar="HEAD", help="A head noted earlier, which must still be there.")
    ] = "",
) -> int:
    """Check a ledger: every link, every account, the witness; exit code 1 if it grants nothing as it is."""
    from sfumato.errors import VerificationError
    from sfumato.privacy import Ledger

    plain: dict[str, Any] = {"ok": False}
    try:
        found = Ledger.look(ledger, seen=seen)
        plain |= {**_plain(found), "entries": len(found.entries())}
        problem = found.locked
    except VerificationError as error:
        problem = error.message
    plain |= {"ok": not problem, "problem": problem}
    if problem:
        terminal.result(Text(f"BROKEN: {problem}", "bold red"), plain)
        return 1
    terminal.result(
        [
            _balance(found),
            "",
            Text(f"Unbroken, and as last seen here: {plain['entries']} entries.", "bold green"),
        ],
        plain,
    )
    return 0


def check(
    terminal: Terminal,
    ledger: LedgerAt,
    against: Annotated[
        list[Path],
        typer.Option(
            "--against", metavar="RELEASE", show_default=False,
            help="A release or model (.sfm) that was paid from it; may be repeated.",
        ),
    ],
    trusted: Trusted = None,
    genuine: Annotated[
        bool, typer.Option("--genuine", help="Whoever signed them, they are what was published from it.")
    ] = False,
) -> int:  # fmt: skip
    """Hold a ledger against what was published from it; exit code 1 if it is an older one.

    A ledger that lacks what a release was paid from grants nothing from then on, until it is unlocked. For
    that the release must be signed by somebody you trust, or a person must say that it is genuine: anybody
    can make one up.
    """
    from sfumato.plan.witnesses import compare
    from sfumato.privacy import Ledger
    from sfumato.privacy.signatures import Trust

    found = Ledger.look(ledger)
    compared, believed = compare(found, against, Trust.of(trusted or None), genuine=genuine)
    ok, locked = compared.held > 0 and not compared.lacking, found.locked
    plain = {"ok": ok, **compared._asdict(), "believed": believed, "locked": locked}
    if compared.lacking:
        lacks = f"it lacks what {compared.lacking} of {len(against)} were paid from."
        if locked:
            lacks = (
                f"AN OLDER LEDGER: {lacks} It grants nothing until the loss is accounted for: sfumato ledger "
            )
            lacks += "unlock LEDGER --lost AMOUNT"
        else:
            lacks = (
                f"AN OLDER LEDGER, OR A FORGERY: {lacks} Nobody whom you trust signed that, and anybody can "
            )
            lacks += "make it up, so the ledger was not locked: --trusted KEY, or --genuine if you know it"
        terminal.result(Text(lacks, "bold red"), plain)
    elif not compared.held:
        terminal.result(Text("NOT CHECKED: none of them was paid from this ledger.", "bold red"), plain)
    else:
        words = f"It holds what {compared.held} of {len(against)} were paid from."
        terminal.result([_balance(found), "", Text(words, "bold green")], plain)
    if compared.others and compared.held:
        terminal.note(f"{compared.others} name another ledger, and say nothing of this one.")
    return 0 if ok else 1


def client(
    terminal: Terminal,
    ledger: LedgerAt,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The client.", show_default=False)],
    budget: Annotated[
        float,
        typer.Option("--budget", metavar="AMOUNT", help="In the kind of the ledger's.", show_default=False),
    ],
    delta: Annotated[float, typer.Option("--delta", metavar="AMOUNT", help="Its delta.")] = 0.0,
) -> None:
    """Give a client a budget of its own within the data set's, or another one; 0 closes it."""
    from sfumato.privacy import Ledger

    opened = Ledger.open(ledger)
    kind = {opened.budget.kind: budget}
    given = opened.set_client(name, delta=delta, **kind)
    plain = {"name": given.name, "budget": given.budget, "spent": given.spent, "left": given.left}
    terminal.result(
        Text(f"Client {given.name}: {given.budget:g}, spent {given.spent:g}, left {given.left:g}."), plain
    )


def unlock(
    terminal: Terminal,
    ledger: LedgerAt,
    lost: Lost = None,
    lost_delta: LostDelta = None,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="For the log.")
    ] = "unlocked by a person",
) -> None:
    """Let a ledger that was put back grant again, counting what was lost as spent."""
    from sfumato.privacy import Ledger

    found = Ledger.look(ledger)
    counted = found.unlock(_amount(lost), _amount(lost_delta), reason=reason)
    locked = found.locked
    if locked:
        terminal.note(f"still locked: {locked}")
    terminal.result(
        [Text(f"Unlocked: {counted:g} was counted as spent.", "green"), _balance(found)],
        {**_plain(found), "counted": counted, "locked": locked},
    )


def backup(
    terminal: Terminal,
    ledger: LedgerAt,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The backup.", show_default=False)],
    overwrite: Overwrite = False,
) -> None:
    """Write a checked copy of a ledger, from which only `restore` makes a ledger again."""
    from sfumato.privacy import Ledger

    found = Ledger.look(ledger)
    found.backup(out, overwrite=overwrite)
    entries = len(found.entries())
    terminal.result(
        Text(f"Backup written to {out.name}: {entries} entries.", "green"),
        {"written": str(out), "entries": entries},
    )


def restore(
    terminal: Terminal,
    backup: Annotated[
        Path, typer.Argument(metavar="BACKUP", help="What `backup` has written.", show_default=False)
    ],
    ledger: LedgerAt,
    lost: Lost = None,
    lost_delta: LostDelta = None,
) -> None:
    """Make a ledger from a backup, counting what was spent since as spent."""
    from sfumato.privacy import Ledger

    made = Ledger.restore(backup, ledger, lost=_amount(lost), lost_delta=_amount(lost_delta))
    counted = made.entries()[-1].amount
    terminal.result(
        [Text(f"Restored: {counted:g} was counted as spent since the backup.", "green"), _balance(made)],
        {**_plain(made), "counted": counted},
    )


def _amount(text: str | None) -> float | str | None:
    from sfumato.errors import ParameterError

    if text is None or text == "all":
        return text
    try:
        return float(text)
    except ValueError:
        raise ParameterError("what was lost is a number, or 'all'.", hint="e.g. --lost 0.3") from None
