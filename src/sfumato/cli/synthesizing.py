"""synthesize: new rows that resemble the old ones, as a release with its promise."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.padding import Padding
from rich.text import Text

from sfumato.cli.commands import Data, Overwrite, Reading, SchemaFile
from sfumato.cli.terminal import Terminal
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.synthesis.synthesize import Method


@dataclass(frozen=True)
class Asked:
    """What was said on the command line; each method takes what it knows, and refuses the rest."""

    epsilon: float | None
    per_row: bool
    delta: float | None
    log_l: float | None
    parents: int | None
    block: int | None
    columns: list[str] | None
    cap: bool = False

    def only(self, method: str, *known: str) -> None:
        """Refuse options that this method has no use for: silence would look like consent."""
        others = {"delta": self.delta, "log_l": self.log_l, "parents": self.parents, "block": self.block,
                  "per_row": self.per_row or None, "cap": self.cap or None}  # fmt: skip
        foreign = [f"--{n.replace('_', '-')}" for n, v in others.items() if v is not None and n not in known]
        if foreign:
            raise ParameterError(f"{method} has no {', '.join(foreign)}.", hint="sfumato synthesize --help")


def _pegs(asked: Asked) -> Method:
    from sfumato.synthesis.pegs import PeGS

    asked.only("pegs", "log_l", "parents", "block", "per_row")
    return PeGS(
        epsilon=asked.epsilon if asked.per_row else None,
        total=None if asked.per_row else asked.epsilon,
        log_l=asked.log_l,
        parents=2 if asked.parents is None else asked.parents,
        block=asked.block,
        columns=asked.columns or None,
    )


def _private(asked: Asked) -> Method:
    from sfumato.synthesis.private import PrivateSynthesizer

    asked.only("private", "delta")
    return PrivateSynthesizer(
        epsilon=1.0 if asked.epsilon is None else asked.epsilon,
        delta=1e-9 if asked.delta is None else asked.delta,
        columns=tuple(asked.columns) if asked.columns else None,
    )


def _pmi(asked: Asked) -> Method:
    from sfumato.synthesis.imputation.pmi import PMI

    asked.only("pmi", "per_row")
    per_row, total = (asked.epsilon, None) if asked.per_row else (None, asked.epsilon)
    return PMI(epsilon=per_row, total=total, columns=asked.columns or None)


def _imputation(asked: Asked) -> Method:
    from sfumato.synthesis.imputation.multiple import MultipleImputation

    asked.only("imputation")
    if asked.epsilon is not None:
        raise ParameterError("imputation promises no epsilon.", hint="--method pmi or marginals, or without")
    return MultipleImputation(engine="trees", columns=asked.columns or None)


def _marginals(asked: Asked) -> Method:
    from sfumato.synthesis.baselines import MarginalBootstrap

    asked.only("marginals")
    return MarginalBootstrap(epsilon=asked.epsilon, columns=asked.columns or None)


def _table(asked: Asked) -> Method:
    from sfumato.synthesis.baselines import ContingencyTable

    asked.only("table")
    return ContingencyTable(epsilon=asked.epsilon, columns=asked.columns or None)


def _lugs(asked: Asked) -> Method:
    from sfumato.synthesis.lugs.method import LUGS

    asked.only("lugs", "log_l", "cap")
    if asked.epsilon is not None:
        raise ParameterError(
            "lugs has no --epsilon: it is not differentially private.", hint="--log-l, or --method private"
        )
    return LUGS(
        log_l=0.5 if asked.log_l is None else asked.log_l,
        cap=asked.cap,
        columns=tuple(asked.columns) if asked.columns else None,
    )


# A further method is one line here.
METHODS: dict[str, Callable[[Asked], Method]] = {
    "pegs": _pegs,
    "private": _private,
    "pmi": _pmi,
    "imputation": _imputation,
    "marginals": _marginals,
    "table": _table,
    "lugs": _lugs,
}


def synthesize(
    terminal: Terminal,
    reading: Reading,
    data: Data,
    rows: Annotated[
        int, typer.Option("--rows", "-n", metavar="N", min=1, help="How many.", show_default=False)
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="The new release.", show_default=False)
    ],
    method: Annotated[str, typer.Option("--method", "-m", metavar="|".join(METHODS), help="How.")] = next(
        iter(METHODS)
    ),
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", metavar="E", help="Of all rows together.", show_default=False),
    ] = None,
    per_row: Annotated[
        bool, typer.Option("--per-row", help="pegs: epsilon is that of each row; the total is said.")
    ] = False,
    delta: Annotated[
        float | None,
        typer.Option("--delta", metavar="D", help="private: of the promise.", show_default=False),
    ] = None,
    log_l: Annotated[
        float | None,
        typer.Option(
            "--log-l", metavar="H", help="pegs, lugs: the entropy of each law instead.", show_default=False
        ),
    ] = None,
    cap: Annotated[
        bool, typer.Option("--cap", help="lugs: columns with too few values for it are drawn evenly.")
    ] = False,
    parents: Annotated[
        int | None,
        typer.Option("--parents", metavar="M", help="pegs: columns each is drawn given.", show_default=False),
    ] = None,
    block: Annotated[
        int | None,
        typer.Option("--block", metavar="B", help="pegs: rows of a block with resets.", show_default=False),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="NAME", help="Synthesize this one; may be repeated. Default: all."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", help="For tests: a promise that rests on the draw is void.", show_default=False
        ),
    ] = None,
    schema: SchemaFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a release of synthetic rows, with what it promises.

    The schema must say which values each column may have, confirmed by a person as public. Only lugs, which
    promises no differential privacy, takes them from the data.
    """
    from sfumato.synthesis.synthesize import synthesize as make

    if method not in METHODS:
        raise ParameterError("no such method.", hint=f"--method {' or '.join(METHODS)}")
    wanted = METHODS[method](Asked(epsilon, per_row, delta, log_l, parents, block, column, cap))
    release = make(reading.scan(data, schema), wanted, rows, seed=seed)
    release.save(out, overwrite=overwrite)
    plain = {
        "written": str(out),
        "rows": rows,
        "columns": list(release.columns),
        "guarantee": json.loads(release.guarantee.to_json()),
    }
    terminal.result(
        [
            Text(f"{rows:,} synthetic rows written to {out.name}: {len(release.columns)} columns.", "green"),
            Padding(Text(release.guarantee.text()), (1, 0, 1, 2)),
            Text.assemble(
                ("public/", "bold"), "    the rows, their schema, the guarantee, a card in plain words"
            ),
            Text.assemble(("internal/", "bold"), "  the key and the counts: must not leave"),
        ],
        plain,
    )
