"""anonymize: from a table, and hierarchies for most methods, to a release."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from sfumato.cli.commands import Data, KeepText, Overwrite, Reading, SchemaFile
from sfumato.cli.methods import CLUSTERS, INFORMED, METHODS, method_of
from sfumato.cli.terminal import Terminal
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.criteria import Criterion
    from sfumato.release import Release

_ASKED = "What is asked"
_HOW = "How it is searched"
_DEFENCE = "What is taken out first"
_INFORMED = " or ".join(INFORMED)
_CRITERIA = (
    "k-anonymity, distinct-l, entropy-l, recursive-l, equal-t, ordered-t, hierarchical-t, alpha-k, k-map, "
    "j-anonymity"
)


# -- the command ---------------------------------------------------------------------------------------


def _asked(name: str, metavar: str, help_: str) -> Any:
    return typer.Option(name, metavar=metavar, help=help_, rich_help_panel=_ASKED, show_default=False)


def _how(name: str, metavar: str, help_: str) -> Any:
    return typer.Option(name, metavar=metavar, help=help_, rich_help_panel=_HOW)


def _out(name: str, metavar: str, help_: str) -> Any:
    return typer.Option(name, metavar=metavar, help=help_, rich_help_panel=_DEFENCE, show_default=False)


def anonymize(
    terminal: Terminal,
    reading: Reading,
    data: Data,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="The new release.", show_default=False)
    ],
    hierarchies: Annotated[
        Path | None,
        _asked("--hierarchies", "DIR", "Level tables, COLUMN.csv for each; methods of clusters do without."),
    ] = None,
    schema: SchemaFile = None,
    k: Annotated[
        int | None, _asked("--k", "K", "Every class has at least K persons, or rows if nobody is named.")
    ] = None,
    rows: Annotated[
        bool, typer.Option("--rows", help="K rows, not persons.", rich_help_panel=_ASKED)
    ] = False,
    l: Annotated[  # noqa: E741
        list[str] | None,
        _asked("--l", "COLUMN=L", "Every class has L different values there; may be repeated."),
    ] = None,
    t: Annotated[
        list[str] | None,
        _asked("--t", "COLUMN=T", "Every class is within T of the whole file there; may be repeated."),
    ] = None,
    criterion: Annotated[
        list[str] | None,
        _asked("--criterion", "TEXT", f"As 'entropy-l(diagnosis, 3)'; may be repeated. One of {_CRITERIA}."),
    ] = None,
    quasi_identifiers: Annotated[
        str | None, _asked("--quasi-identifiers", "NAMES", "Parted by commas. Default: by role.")
    ] = None,
    method: Annotated[str, _how("--method", "NAME", f"One of {', '.join(METHODS)}.")] = "optimal",
    loss: Annotated[
        str,
        _how("--loss", "NAME", f"loss, entropy, height, discernibility, class-size, ambiguity, {_INFORMED}."),
    ] = "loss",
    target: Annotated[
        str | None, _how("--target", "NAME", "What the model of guided, or such a loss, looks at.")
    ] = None,
    width: Annotated[int | None, _how("--width", "N", "How many sets a beam keeps; 5 if not given.")] = None,
    literal: Annotated[
        bool,
        typer.Option(
            "--literal",
            help="As printed: greedy and beam without classes (k-ambiguity), partition without retries.",
            rich_help_panel=_HOW,
        ),
    ] = False,
    leaking: Annotated[
        bool,
        typer.Option(
            "--leaking", help="guided looks at the outcome itself, and gives it away.", rich_help_panel=_HOW
        ),
    ] = False,
    max_suppressed: Annotated[
        float, _how("--max-suppressed", "SHARE", "Of the rows, how many may be suppressed.")
    ] = 0.0,
    weight: Annotated[
        list[str] | None, _how("--weight", "COLUMN=W", "How much a column counts; may be repeated.")
    ] = None,
    max_level: Annotated[
        list[str] | None, _how("--max-level", "COLUMN=N", "How far a column may go, 0 not at all.")
    ] = None,
    time_limit: Annotated[
        float | None, _how("--time-limit", "SECONDS", "Then the best so far is taken, and its gap said.")
    ] = None,
    threads: Annotated[int, _how("--threads", "N", "How many search side by side.")] = 1,
    effort: Annotated[
        str | None, _how("--effort", "NAME", "Of local: fast (10 seconds) or thorough (60, the default).")
    ] = None,
    relaxed: Annotated[
        bool,
        typer.Option("--relaxed", help="mondrian: parts may overlap at the cuts.", rich_help_panel=_HOW),
    ] = False,
    ordered: Annotated[
        str | None, _how("--ordered", "NAMES", "mondrian: columns in order, to be cut at the median.")
    ] = None,
    response: Annotated[
        str | None, _how("--response", "NAME", "What rows of a cluster should be alike in, as a cost.")
    ] = None,
    drop: Annotated[
        list[str] | None, _out("--drop", "NAME", "Leave this column out; may be repeated.")
    ] = None,
    drop_rarer_than: Annotated[
        int | None, _out("--drop-rarer-than", "K", "Leave out rows with a value fewer than K rows have.")
    ] = None,
    register: Annotated[
        Path | None, _out("--register", "DIR", "Earlier releases of the same people, and this one.")
    ] = None,
    seed: Annotated[
        int | None, _how("--seed", "N", "For tests and teaching: the order of rows can be undone.")
    ] = None,
    keep_text: KeepText = False,
    overwrite: Overwrite = False,
) -> None:
    """Make a table more general until every person in it hides among others, and write a release.

    The classes of the written file satisfy what was asked. resample and dither exchange values between rows
    that are alike instead, and promise something else: read the guarantee. public/ may leave, internal/ not.
    """
    from sfumato.anonymization.anonymize import anonymize as run
    from sfumato.anonymization.requirements import asked_of
    from sfumato.criteria import All, read_criteria
    from sfumato.release import Release

    given = {"loss": loss, "max_suppressed": max_suppressed, "time_limit": time_limit, "threads": threads}
    thesis = {"target": target, "width": width, "literal": literal, "leaking": leaking}
    others = {"response": response, "effort": effort, "relaxed": relaxed, "ordered": ordered}
    chosen = method_of(method, {**given, **thesis, **others})
    Release.require_place(out, overwrite=overwrite)  # before the search
    if hierarchies is None and method not in CLUSTERS:
        raise ParameterError(
            f"generalizing needs hierarchies, and the method {method} generalizes.",
            hint="--hierarchies DIR, with age.csv in it for a column age: sfumato hierarchy build DATA age "
            "--ages --out DIR/age.csv writes one",
        )
    asked = _criteria(k, rows, l or [], t or [], bool(criterion))
    wanted = read_criteria(criterion or ())
    table = reading.scan(data, schema, keep_text=keep_text)
    known = quasi_identifiers.split(",") if quasi_identifiers else None
    asked += asked_of(wanted, table, hierarchies=hierarchies, quasi_identifiers=known)
    if schema is None and quasi_identifiers is None:
        terminal.note("the roles of the columns were guessed: look at them with sfumato describe.")
    release = run(
        table,
        All(asked),
        method=chosen,
        hierarchies=hierarchies,
        quasi_identifiers=known,
        weights=_numbers("--weight", weight or [], float),
        max_level=_numbers("--max-level", max_level or [], int),
        drop=drop or (),
        keep_text=keep_text,
        drop_rarer_than=drop_rarer_than,
        register=register,
        seed=seed,
    )
    release.save(out, overwrite=overwrite)
    assert release.internal is not None
    (_show if "search" in release.internal.extra else _show_clusters)(terminal, release, out)


def _numbers(option: str, given: list[str], kind: Callable[[str], Any]) -> dict[str, Any]:
    """NAME=NUMBER; a name may hold an = itself."""
    found = {}
    for text in given:
        name, sign, number = text.rpartition("=")
        try:
            found[name] = kind(number)
        except ValueError:
            sign = ""
        if not sign or not name:
            raise ParameterError(f"{option} takes a column and a number.", hint=f"{option} age=2")
    return found


def _criteria(
    k: int | None,
    rows: bool,
    l: list[str],  # noqa: E741
    t: list[str],
    more: bool,
) -> tuple[Criterion, ...]:
    from sfumato.criteria import KAnonymity, LDiversity, TCloseness

    if rows and k is None:
        raise ParameterError("--rows says what --k counts.", hint="--k 5 --rows")
    parts: list[Criterion] = [] if k is None else [KAnonymity(k, persons=False if rows else None)]
    parts += [LDiversity(n, column) for column, n in _numbers("--l", l, int).items()]
    parts += [TCloseness(far, column) for column, far in _numbers("--t", t, float).items()]
    if not parts and not more:
        raise ParameterError("nothing is asked of the release.", hint="--k 5, or --criterion")
    return tuple(parts)


def _show_clusters(terminal: Terminal, release: Release, out: Path) -> None:
    import json

    assert release.internal is not None
    extra = release.internal.extra
    terminal.result(
        [
            Text(f"Release written to {out.name}: {extra['clusters']:,} clusters of rows.", "green"),
            Padding(Text(release.guarantee.text()), (1, 0, 1, 2)),
            *_folders("how many rows each cluster has"),
        ],
        {"written": str(out), **extra, "guarantee": json.loads(release.guarantee.to_json())},
    )


def _folders(record: str) -> list[Text]:
    return [
        Text.assemble(("public/", "bold"), "    the data, its schema, the guarantee, a card in plain words"),
        Text.assemble(("internal/", "bold"), f"  the record, with {record}: must not leave"),
    ]


def _show(terminal: Terminal, release: Release, out: Path) -> None:
    import json

    assert release.internal is not None
    extra = release.internal.extra
    search, rows, told = extra["search"], extra["rows"], extra["explanation"]
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("column", "values before", "after", "loss", "of all loss"):
        grid.add_column(name, justify="left" if name == "column" else "right")
    for c in told["columns"]:
        grid.add_row(
            Text(c["name"]), str(c["before"]), str(c["after"]), f"{c['loss']:.3f}", f"{c['share']:.0%}"
        )
    gap = 0 if search.get("optimal") else search.get("gap")
    proven = "not proven to be the optimum" if gap is None else f"at most {gap:.4g} from the optimum"
    proven = "the optimum" if gap == 0 else proven
    lost = rows["withheld"] + rows["left_out"]
    terminal.result(
        [
            Text(f"Release written to {out.name}: loss {extra['loss']:.4f}, {proven}.", "green"),
            Text(
                f"{lost:,} of {rows['read']:,} rows withheld or left out; "
                f"{search.get('checked', 0):,} nodes looked at."
            ),
            Padding(grid, (1, 0, 1, 2)),
            Padding(Text(release.guarantee.text()), (0, 0, 1, 2)),
            *_folders("the classes"),
        ],
        {
            "written": str(out),
            "loss": extra["loss"],
            "search": search,
            "rows": rows,
            "explanation": told,
            "guarantee": json.loads(release.guarantee.to_json()),
        },
    )
