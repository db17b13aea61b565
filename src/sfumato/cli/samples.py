"""sample: simulated data to try things on."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from sfumato.cli.commands import Overwrite
from sfumato.cli.terminal import Terminal


class Sample(StrEnum):
    """What there is."""

    discharges = "discharges"
    members = "members"
    diabetes = "diabetes"
    icu = "icu"


def sample(
    terminal: Terminal,
    what: Annotated[
        Sample,
        typer.Argument(
            help="Hospital discharges, members of a survey, check-ups, intensive care.", show_default=False
        ),
    ],
    rows: Annotated[int, typer.Argument(metavar="N", min=1, help="How many rows.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="Its suffix names the format.", show_default=False),
    ],
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same rows.")] = 0,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema", "-s", metavar="FILE", help="Also write the schema (TOML).", show_default=False
        ),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write simulated data. No row describes a real person.

    The schema's domains are those of the simulator, signed with a key that is made for it and thrown away.
    """
    from sfumato.io import write
    from sfumato.io.atomic import write_text
    from sfumato.samples import diabetes, discharges, icu, members, signed_schema

    table = {s.__name__: s for s in (discharges, members, diabetes, icu)}[what.value](rows, seed)
    write(table, out, schema=table.schema, overwrite=overwrite)
    if schema is not None:
        write_text(schema, signed_schema(table.schema).to_toml(), overwrite=overwrite)
    said = f"{rows:,} simulated rows ({what}) written to {out.name}" + (
        f", schema to {schema.name}." if schema else "."
    )
    terminal.result(
        Text(said, "green"),
        {"written": str(out), "rows": rows, "schema": None if schema is None else str(schema)},
    )
