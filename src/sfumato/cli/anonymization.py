"""anonymize: from a table, and hierarchies for most methods, to a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from sfumato.cli.commands import Data, KeepText, Overwrite, Reading, SchemaFile
from sfumato.cli.terminal import Terminal
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.release import Release

Out = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The new release.", show_default=False)]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="For tests and teaching: what is drawn can be drawn again by anybody.",
        show_default=False,
    ),
]


def anonymize(
    terminal: Terminal,
    reading: Reading,
    data: Data,
    out: Out,
    method: Annotated[
        str, typer.Option("--method", "-m", metavar="NAME", help="One of sfumato methods anonymize.")
    ] = "optimal",
    hierarchies: Annotated[
        Path | None,
        typer.Option(
            "--hierarchies",
            metavar="DIR",
            help="Level tables, COLUMN.csv for each; methods that exchange values do without.",
            show_default=False,
        ),
    ] = None,
    register: Annotated[
        Path | None,
        typer.Option(
            "--register",
            metavar="DIR",
            help="Earlier releases of the same people, and this one.",
            show_default=False,
        ),
    ] = None,
    settings: dict[str, Any] | None = None,
    schema: SchemaFile = None,
    seed: Seed = None,
    keep_text: KeepText = False,
    overwrite: Overwrite = False,
) -> None:
    """Make a table more general until every person in it hides among others, and write a release.

    The classes of the written file satisfy what was asked. resample and dither exchange values between rows
    that are alike instead, and promise something else: read the guarantee. public/ may leave, internal/ not.
    """
    from sfumato.cli.method_options import step_of
    from sfumato.methods.declaration import Need
    from sfumato.plan.production import Surroundings, produce, require_asked
    from sfumato.release import Release

    step = step_of("anonymize", method, settings or {})
    step.build()  # what is wrong with the settings is said before the data are read
    require_asked(step)
    Release.require_place(out, overwrite=overwrite)  # before the search
    if hierarchies is None and Need.HIERARCHIES in step.declaration.needs:
        raise ParameterError(
            f"generalizing needs hierarchies, and the method {method} generalizes.",
            hint="--hierarchies DIR, with age.csv in it for a column age: sfumato hierarchy build DATA age "
            "--ages --out DIR/age.csv writes one",
        )
    table = reading.scan(data, schema, keep_text=keep_text)
    if schema is None and "quasi_identifiers" not in step.settings:
        terminal.note("the roles of the columns were guessed: look at them with sfumato describe.")
    around = Surroundings(hierarchies=hierarchies, keep_text=keep_text, register=register)
    release = produce(step, table, around, seed=seed)
    release.save(out, overwrite=overwrite)
    assert release.internal is not None
    (_show if "search" in release.internal.extra else _show_clusters)(terminal, release, out)


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
