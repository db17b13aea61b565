"""compare: several scores side by side on one test set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as Grid
from rich.text import Text

from sfumato.cli.commands import ReadOptions, SchemaFile
from sfumato.cli.payment import (
    Against,
    LedgerOption,
    OtherPeople,
    as_trusted,
    note_unaccounted,
    paying,
    require_payer,
)
from sfumato.cli.signing import Trusted, trusted_signers
from sfumato.cli.terminal import Terminal
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.prediction.comparison import ScoreComparison


def compare(
    terminal: Terminal,
    reading: ReadOptions,
    test: Annotated[
        str, typer.Option("--test", metavar="DATA", help="Rows to judge on.", show_default=False)
    ],
    models: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="MODEL...", help="Fitted models (.sfm); the first is held against.", show_default=False
        ),
    ] = None,
    target: Annotated[str, typer.Option("--target", help="The outcome; by default the first model's.")] = "",
    column: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="NAME", help="A column with the probabilities of a public model."),
    ] = None,
    subgroup: Annotated[
        list[str] | None,
        typer.Option("--subgroup", metavar="NAME", help="Judge its levels singly; may be repeated."),
    ] = None,
    test_epsilon: Annotated[
        float | None,
        typer.Option("--test-epsilon", metavar="E", help="What the test rows may cost.", show_default=False),
    ] = None,
    test_is_public: Annotated[
        bool, typer.Option("--test-is-public", help="Nothing is promised to the test rows.")
    ] = False,
    max_rows_per_person: Annotated[
        int, typer.Option("--max-rows-per-person", metavar="L", help="Of one person in the test set.")
    ] = 1,
    trusted: Trusted = None,
    ledger: LedgerOption = None,
    against: Against = None,
    other_people: OtherPeople = False,
    schema: SchemaFile = None,
) -> None:
    """Put several scores side by side on the same rows: which tells cases apart, and whose numbers hold."""
    from sfumato.prediction.artefact import load
    from sfumato.prediction.comparison import compare_scores

    if (test_epsilon is None) != test_is_public:
        raise ParameterError(
            "a test set is public or costs epsilon, one of them.",
            hint="--test-epsilon 0.5 or --test-is-public",
        )
    trust = trusted_signers(trusted)
    found = [load(path, trusted=trust) for path in models or ()]
    outcome = target or (found[0].target if found else "")
    if not outcome:
        raise ParameterError("which column is the outcome is not said.", hint="--target NAME")
    book = paying(ledger, against)
    table = reading.scan(test, schema)
    if test_epsilon is not None:
        table = as_trusted(table, book)
        require_payer(book, test, table, other_people)
    compared = compare_scores(
        found, table, outcome, epsilon=test_epsilon, columns=tuple(column or ()),
        subgroups=tuple(subgroup or ()), ledger=book, max_rows_per_person=max_rows_per_person,
    )  # fmt: skip
    if test_epsilon is not None:
        note_unaccounted(terminal, compared.guarantee)
    plain = compared.to_dict() | {"guarantee": json.loads(compared.guarantee.to_json())}
    terminal.result(_shown(compared), plain)


def _shown(found: ScoreComparison) -> list[Any]:
    best = max(found.scores, key=lambda s: s.figures["auroc"] or 0.0)
    parts: list[Any] = [Text(_verdict(found, best.name), "bold"), "", _table(found)]
    if found.noise_scale:
        words = "; ".join(c.title for c in found.guarantee if c.differential)
        parts += [
            "",
            Text(f"Counted with noise of scale {found.noise_scale:.3g}; to the test rows: {words}.", "dim"),
        ]
    return parts


def _verdict(found: ScoreComparison, best: str) -> str:
    first = found.scores[0]
    if first.figures["too_small_to_say"]:
        return "The test set is too small to say."
    if found.noise_scale or best == first.name:
        return f"{best} tells cases apart best here."
    ahead = next(s.ahead for s in found.scores if s.name == best)
    sure = ahead is not None and ahead[1] > 0
    return f"{best} tells cases apart best here" + (
        "." if sure else f", but {first.name} may be as good: the difference is within chance."
    )


def _table(found: ScoreComparison) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("score", "rows of"):
        grid.add_column(title, overflow="fold")
    for title in ("area under the curve", "ahead of the first", "observed / predicted", "calibration error"):
        grid.add_column(title, justify="right")
    grid.add_column("promise", overflow="fold")
    for s in found.scores:
        ahead = "" if s.ahead is None else f"{s.ahead[0]:+.3f} ({s.ahead[1]:+.3f} to {s.ahead[2]:+.3f})"
        grid.add_row(s.name, "all", *_numbers(s.figures, ahead), Text(s.promise, "dim"))
        for group in s.subgroups:
            grid.add_row("", f"{group['column']} {group['level']}", *_numbers(group, ""), "")
    return grid


def _numbers(figures: dict[str, Any], ahead: str) -> list[str]:
    if figures["too_small_to_say"]:
        return ["too small to say", "", "", ""]
    area, ratio, error = (figures[k] for k in ("auroc", "observed_over_predicted", "calibration_error"))
    return [f"{area:.3f}", ahead, f"{ratio:.2f}", f"{error:.3f}"]
