"""anonymize: from a table, and hierarchies for most methods, to a release."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.text import Text

from sfumato.cli.commands import Data, KeepText, Overwrite, ReadOptions, SchemaFile
from sfumato.cli.terminal import Terminal

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
    reading: ReadOptions,
    data: Data,
    out: Out,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="One of sfumato methods anonymize; the better of local and optimal.",
            show_default=False,
        ),
    ] = None,
    hierarchies: Annotated[
        Path | None,
        typer.Option(
            "--hierarchies",
            metavar="DIR",
            help="Level tables, COLUMN.csv for each; without them a plan is proposed, run, and left beside.",
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
) -> int:
    """Make a table more general until every person in it hides among others, and write a release.

    The classes of the written file satisfy what was asked. Without hierarchies, roles and hierarchies are
    proposed, and what is made is a draft: its plan lies beside it, for a person to read. resample and dither
    exchange values between rows that are alike instead, and promise something else: read the guarantee.
    public/ may leave, internal/ not.
    """
    from sfumato.cli.method_options import step_of
    from sfumato.plan.production import Surroundings, produce, require_asked
    from sfumato.release import Release

    if hierarchies is None and (method is None or _generalizes(method)):
        from sfumato.cli.drafts import anonymize_in_one

        return anonymize_in_one(
            terminal,
            reading,
            data,
            out,
            method=method,
            settings=settings or {},
            schema=schema,
            keep_text=keep_text,
            overwrite=overwrite,
            refused={"seed": seed, "register": register},
        )
    step = step_of("anonymize", method or "optimal", settings or {})
    step.build()  # what is wrong with the settings is said before the data are read
    require_asked(step)
    Release.require_place(out, overwrite=overwrite)  # before the search
    table = reading.scan(data, schema, keep_text=keep_text)
    if schema is None and "quasi_identifiers" not in step.settings:
        terminal.note("the roles of the columns were guessed: look at them with sfumato describe.")
    around = Surroundings(hierarchies=hierarchies, keep_text=keep_text, register=register)
    release = produce(step, table, around, seed=seed)
    release.save(out, overwrite=overwrite)
    assert release.internal is not None
    (_show if "search" in release.internal.extra else _show_clusters)(terminal, release, out)
    return 0


def _generalizes(method: str) -> bool:
    """Whether a method is one of ours that needs hierarchies; what is no method is refused elsewhere."""
    from sfumato.cli.method_options import methods_of
    from sfumato.methods.declaration import Need, declaration_of
    from sfumato.methods.names import find

    return method in methods_of("anonymize") and Need.HIERARCHIES in declaration_of(find(method)).needs


def _show_clusters(terminal: Terminal, release: Release, out: Path) -> None:
    import json

    assert release.internal is not None
    extra = release.internal.extra
    terminal.result(
        [
            Text(f"Release written to {out.name}: {extra['clusters']:,} clusters of rows.", "green"),
            Padding(Text(release.guarantee.text()), (1, 0, 1, 2)),
            *folders("how many rows each cluster has"),
        ],
        {"written": str(out), **extra, "guarantee": json.loads(release.guarantee.to_json())},
    )


def _about_codes(extra: Mapping[str, Any]) -> list[Text]:
    """What became of codes under k^m."""
    if "code_sets" not in extra:
        return []
    found = extra["code_sets"]
    share = found["dropped"] / max(1, found["codes"])
    alone = found["dropped_by_dropping_alone"]
    return [
        Text(
            f"{found['dropped']:,} of {found['codes']:,} codes dropped ({share:.1%}; without generalizing "
            f"{alone:.1%}), the others {found['levels_raised']:.1f} levels up on average."
        )
    ]


def folders(record: str) -> list[Text]:
    """What lies in the two parts of a release."""
    return [
        Text.assemble(("public/", "bold"), "    the data, its schema, the guarantee, a card in plain words"),
        Text.assemble(("internal/", "bold"), f"  the record, with {record}: must not leave"),
    ]


def _show(terminal: Terminal, release: Release, out: Path) -> None:
    import json

    from sfumato.cli.drafts import lost

    assert release.internal is not None
    extra = release.internal.extra
    search, rows, told = extra["search"], extra["rows"], extra["explanation"]
    grid = lost(told)
    gap = 0 if search.get("optimal") else search.get("gap")
    proven = "not proven to be the optimum" if gap is None else f"at most {gap:.4g} from the optimum"
    proven = "the optimum" if gap == 0 else proven
    gone = rows["withheld"] + rows["left_out"]
    terminal.result(
        [
            Text(f"Release written to {out.name}: loss {extra['loss']:.4f}, {proven}.", "green"),
            Text(
                f"{gone:,} of {rows['read']:,} rows withheld or left out; "
                f"{search.get('checked', 0):,} nodes looked at."
            ),
            *_about_codes(extra),
            Padding(grid, (1, 0, 1, 2)),
            Padding(Text(release.guarantee.text()), (0, 0, 1, 2)),
            *folders("the classes"),
        ],
        {
            "written": str(out),
            "loss": extra["loss"],
            "search": search,
            "rows": rows,
            "explanation": told,
            **({"code_sets": extra["code_sets"]} if "code_sets" in extra else {}),
            "guarantee": json.loads(release.guarantee.to_json()),
        },
    )
