"""synthesize: new rows that resemble the old ones, as a release with its promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.text import Text

from sfumato.cli.commands import Data, Overwrite, Reading, SchemaFile
from sfumato.cli.paying import LedgerOption, OtherPeople, require_payer
from sfumato.cli.synthesis_methods import METHODS, OWN_ROWS, Asked
from sfumato.cli.terminal import Terminal
from sfumato.errors import ParameterError, offered


def _said(name: str, metavar: str, help_: str) -> Any:
    return typer.Option(name, metavar=metavar, help=help_, show_default=False)


def synthesize(
    terminal: Terminal,
    reading: Reading,
    data: Data,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="The new release.", show_default=False)
    ],
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows",
            "-n",
            metavar="N",
            min=1,
            show_default=False,
            help="How many. private: by default as many as the data have, as far as that may be known; "
            "partial, missing: those of the data.",
        ),
    ] = None,
    method: Annotated[str, typer.Option("--method", "-m", metavar="|".join(METHODS), help="How.")] = next(
        iter(METHODS)
    ),
    epsilon: Annotated[
        float | None, _said("--epsilon", "E", "Of all rows together (private: 1 by default).")
    ] = None,
    per_row: Annotated[
        bool, typer.Option("--per-row", help="pegs, pmi: epsilon is that of each row; the total is said.")
    ] = False,
    delta: Annotated[
        float | None, _said("--delta", "D", "private: of the promise; 1e-9 by default, 0 for none.")
    ] = None,
    target: Annotated[
        str | None, _said("--target", "NAME", "private: the column that matters most, such as an outcome.")
    ] = None,
    max_rows_per_person: Annotated[
        int | None,
        _said(
            "--max-rows-per-person", "L", "private: rows of a person that count; the promise is to persons."
        ),
    ] = None,
    declared_rows: Annotated[
        int | None, _said("--declared-rows", "N", "private, pegs: the number of rows, if it is public.")
    ] = None,
    log_l: Annotated[
        float | None, _said("--log-l", "H", "pegs, lugs: the entropy of each law instead of an epsilon.")
    ] = None,
    cap: Annotated[
        bool, typer.Option("--cap", help="pegs, lugs: columns with too few values for it are drawn evenly.")
    ] = False,
    parents: Annotated[
        int | None, _said("--parents", "M", "pegs: columns each is drawn given; -1 for thirty rows a cell.")
    ] = None,
    block: Annotated[int | None, _said("--block", "B", "pegs: rows of a block with resets.")] = None,
    sweeps: Annotated[int | None, _said("--sweeps", "S", "pegs, pmi, missing: over all columns.")] = None,
    smoothing: Annotated[
        int | None,
        _said("--smoothing", "N", "pegs: sixteenths of a row counted at the levels beside its own."),
    ] = None,
    models: Annotated[
        list[str] | None,
        _said("--models", "NAME=FAMILY", "pegs: normal, lognormal, gamma or poisson; may be repeated."),
    ] = None,
    engine: Annotated[
        str | None, _said("--engine", "NAME", "imputation, partial, missing: models, elastic-net, trees, ...")
    ] = None,
    risky: Annotated[
        int | None, _said("--risky", "K", "partial: draw only where fewer than K rows share what --by names.")
    ] = None,
    by: Annotated[
        list[str] | None, _said("--by", "NAME", "partial: what an intruder knows; may be repeated.")
    ] = None,
    hashes: Annotated[
        int | None, _said("--hashes", "N", "lugs: min-hashes of a key; 0 for exact keys.")
    ] = None,
    burn_in: Annotated[
        int | None, _said("--burn-in", "N", "lugs: sweeps before a chain's first row.")
    ] = None,
    thin: Annotated[int | None, _said("--thin", "N", "lugs: sweeps between the rows of a chain.")] = None,
    partitions: Annotated[
        int | None, _said("--partitions", "N", "lugs: parts, each learnt by itself on a process of its own.")
    ] = None,
    weight: Annotated[
        str | None,
        _said("--weight", "NAME", "Survey weights, with every method."),
    ] = None,
    neighbours: Annotated[
        str | None, _said("--neighbours", "KIND", "pegs, marginals, table: add/remove or replace.")
    ] = None,
    constraints: Annotated[
        Path | None, _said("--constraints", "FILE", "What cannot be (TOML), with every method.")
    ] = None,
    ledger: LedgerOption = None,
    other_people: OtherPeople = False,
    column: Annotated[
        list[str] | None,
        _said("--column", "NAME", "Synthesize (or fill) this one; may be repeated. Default: all."),
    ] = None,
    seed: Annotated[
        int | None, _said("--seed", "N", "For tests: a promise that rests on the draw is void.")
    ] = None,
    schema: SchemaFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a release of synthetic rows, with what it promises.

    The schema must say which values each column may have, confirmed by a person as public. Only lugs and the
    methods of imputation, which promise no differential privacy, take them from the data.
    """
    from sfumato.privacy import Ledger
    from sfumato.release import Release
    from sfumato.synthesis.synthesize import synthesize as make

    if method not in METHODS:
        raise ParameterError("no such method.", hint=offered([method], list(METHODS), "--method is one of"))
    if rows is None and method not in OWN_ROWS:
        raise ParameterError("how many rows?", hint="--rows 1000")
    said = {
        "per_row": per_row, "delta": delta, "target": target, "max_rows_per_person": max_rows_per_person,
        "declared_rows": declared_rows, "log_l": log_l, "cap": cap, "parents": parents, "block": block,
        "sweeps": sweeps, "smoothing": smoothing, "models": models, "engine": engine, "weight": weight,
        "neighbours": neighbours, "constraints": constraints, "risky": risky, "by": by, "hashes": hashes,
        "burn_in": burn_in, "thin": thin, "partitions": partitions,
    }  # fmt: skip
    wanted = METHODS[method](Asked(epsilon, column, said))
    Release.require_place(out, overwrite=overwrite)  # before anything is spent
    book = None if ledger is None else Ledger.open(ledger)
    table = reading.scan(data, schema)
    if book is not None or epsilon is not None or method == "private":
        require_payer(book, data, other_people)
    release = make(table, wanted, rows, seed=seed, ledger=book)
    release.save(out, overwrite=overwrite)
    drawn = release.data.rows()
    plain = {
        "written": str(out),
        "rows": drawn,
        "columns": list(release.columns),
        "guarantee": json.loads(release.guarantee.to_json()),
    }
    terminal.result(
        [
            Text(f"{drawn:,} synthetic rows written to {out.name}: {len(release.columns)} columns.", "green"),
            Padding(Text(release.guarantee.text()), (1, 0, 1, 2)),
            Text.assemble(
                ("public/", "bold"), "    the rows, their schema, the guarantee, a card in plain words"
            ),
            Text.assemble(("internal/", "bold"), "  the key and the counts: must not leave"),
        ],
        plain,
    )
