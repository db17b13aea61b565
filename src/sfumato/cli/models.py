"""fit, and model: learn a private risk score, sign it, look at it, check it, score with it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from sfumato.cli.commands import Data, Overwrite, ReadOptions, SchemaFile
from sfumato.cli.exit_codes import NOT_TRUSTED
from sfumato.cli.payment import (
    Against,
    LedgerOption,
    OtherPeople,
    SpendAgain,
    as_trusted,
    note_unaccounted,
    paying,
    require_payer,
)
from sfumato.cli.signing import Trusted, trusted_signers
from sfumato.cli.terminal import Terminal
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.prediction.models import ReleasedModel
    from sfumato.privacy.ledger import Ledger

Model = Annotated[Path, typer.Argument(metavar="MODEL", show_default=False, help="A .sfm file.")]


@dataclass(frozen=True)
class Judging:
    """How a score is judged on rows that it did not learn from."""

    test: Annotated[
        str | None,
        typer.Option("--test", metavar="DATA", help="Rows to judge the score on.", show_default=False),
    ] = None
    test_epsilon: Annotated[
        float | None,
        typer.Option("--test-epsilon", metavar="E", help="What the test rows may cost.", show_default=False),
    ] = None
    test_is_public: Annotated[
        bool, typer.Option("--test-is-public", help="Nothing is promised to the test rows.")
    ] = False
    disjoint: Annotated[
        str, typer.Option("--disjoint", metavar="RULE", help="Why nobody is in both, if that is so.")
    ] = ""
    subgroup: Annotated[
        list[str] | None,
        typer.Option("--subgroup", metavar="NAME", help="Judge its levels singly; may be repeated."),
    ] = None

    def refuse(self) -> None:
        """A test set that is neither public nor paid for, or both."""
        if self.test is not None and (self.test_epsilon is None) != self.test_is_public:
            raise ParameterError(
                "a test set is public or costs epsilon, one of them.",
                hint="--test-epsilon 0.5 or --test-is-public",
            )
        if self.test_epsilon is not None:
            from sfumato.privacy import Budget

            Budget(epsilon=self.test_epsilon)  # no number, or none that can be paid


def fit(
    terminal: Terminal,
    reading: ReadOptions,
    data: Data,
    sign: Annotated[Path, typer.Option("--sign", metavar="KEY", help="The signing key.", show_default=False)],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The new model.", show_default=False)
    ],
    judging: Judging,
    method: Annotated[
        str, typer.Option("--method", "-m", metavar="NAME", help="One of sfumato methods fit.")
    ] = "logistic",
    settings: dict[str, Any] | None = None,
    ledger: LedgerOption = None,
    against: Against = None,
    other_people: OtherPeople = False,
    spend_again: SpendAgain = False,
    name: Annotated[str, typer.Option("--name", help="Of the model; by default the target's.")] = "",
    schema: SchemaFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Learn a risk score under differential privacy and write it as a signed model.

    The schema must say which values each column may have, and where they come from (sfumato schema declare).
    """
    from sfumato.cli.method_options import step_of
    from sfumato.plan.command import learnt
    from sfumato.plan.workplace import left_behind
    from sfumato.prediction.artefact import write
    from sfumato.prediction.card import JudgedRows, evaluated
    from sfumato.prediction.models import checked_name
    from sfumato.privacy.signatures import SigningKey

    step = step_of("fit", method, settings or {})
    target, estimator = step.request().target, step.build()
    judging.refuse()
    key = SigningKey.load(sign)  # before anything is spent
    if ledger is None or not left_behind(out):  # else a command that was stopped is finished
        _require_place(out, overwrite)
    if name:
        checked_name(name)
    book = paying(ledger, against)
    table = as_trusted(reading.scan(data, schema), book)
    judged = None
    groups = tuple(judging.subgroup or ())
    if judging.test is not None:  # all that can be wrong with it is said before the fit is paid for
        judged = reading.scan(judging.test, table.schema)
        JudgedRows.of(
            judged, target, estimator.features_of(table, target), groups,
            private=not judging.test_is_public, max_rows_per_person=estimator.max_rows_per_person,
        )  # fmt: skip
    require_payer(book, data, table, other_people)
    if judged is not None and judging.test is not None and not judging.test_is_public:
        require_payer(book, judging.test, judged, other_people)

    def card(model: ReleasedModel, purse: Ledger | None) -> ReleasedModel:
        assert judged is not None
        return evaluated(
            model, judged, target, epsilon=judging.test_epsilon, subgroups=groups, disjoint=judging.disjoint,
            ledger=purse, max_rows_per_person=estimator.max_rows_per_person,
        )  # fmt: skip

    if book is not None:
        written = learnt(
            step, table, out, book, key, again=spend_again, card=judging.test_epsilon, name=name,
            overwrite=overwrite, judged=None if judged is None else card,
        )  # fmt: skip
    else:
        model = estimator.fit(table, target).released(name)
        written = write(model, out, key, overwrite=overwrite)  # kept, whatever becomes of the card
        if judged is not None:
            written = write(card(model, None), out, key, overwrite=True)
    note_unaccounted(terminal, written.guarantee)
    terminal.result(
        [Text(f"Model {written.name!r} written to {out.name}.", "green"), *_about(written)],
        {"written": str(out), **_plain(written)},
    )


def _require_place(out: Path, overwrite: bool) -> None:
    """That a file can be written there, before there is something to lose."""
    folder = out.absolute().parent
    if out.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise ParameterError(
            f"{out.name} cannot be written there.", hint="--out names a file in a folder of yours"
        )
    if out.exists() and not overwrite:
        raise ParameterError(f"{out.name} exists already.", hint="--overwrite replaces it")


def show(terminal: Terminal, model: Model) -> None:
    """Say what a model is, what it promises, what it takes, and how good it is."""
    from sfumato.prediction.artefact import load

    found = load(model)
    terminal.result(_about(found), _plain(found))


def verify(terminal: Terminal, model: Model, trusted: Trusted = None) -> int:
    """Check a model's checksum, signature, guarantee and every part of it; exit code 1 if one fails.

    Exit code 3 if nothing fails, and nobody is named as trusted, here or in the trust file.
    """
    from sfumato.prediction.artefact import ArtefactError, load

    trust = trusted_signers(trusted)
    try:
        found = load(model, trusted=trust)
    except ArtefactError as error:
        if not model.is_file():
            raise
        shown: list[Any] = [Text(f"✗ {fault}", "red") for fault in error.faults]
        shown += ["", Text(f"{model.name} is not accepted: {error.hint}.", "bold red")]
        terminal.result(shown, {"authentic": False, "faults": error.faults})
        return 1
    words = "is authentic" if trust else "is whole, but nobody was named whose signature you trust"
    hint = "" if trust else " Compare the key with the one its owner gave you, then name it with --trusted."
    terminal.result(
        [
            Text(f"{model.name} {words}.", "green" if trust else "yellow"),
            Text.assemble("Signed by ", (found.signer, "bold"), f".{hint}"),
        ],
        {
            "authentic": bool(trust), "signer": found.signer, "trusted": bool(trust),
            "version": found.version,
        },
    )  # fmt: skip
    return 0 if trust else NOT_TRUSTED


def score(
    terminal: Terminal,
    model: Model,
    values: Annotated[
        list[str],
        typer.Argument(metavar="NAME=VALUE...", show_default=False, help="The features of one row."),
    ],
    trusted: Trusted = None,
) -> None:
    """Score one row, and say what each feature adds."""
    from sfumato.prediction.artefact import load

    found = load(model, trusted=trusted_signers(trusted))
    row = _row(found, values)
    (answer,) = found.score([row])
    told = found.explain(row)
    sure = _sure(found, row)
    grid = Grid("feature", "log-odds", *(["without noise"] if sure else []), box=None)
    parts = dict(
        zip((n for n, _ in told.contributions), sure.get("contribution_intervals", ()), strict=False)
    )
    for feature, part in sorted(told.contributions, key=lambda c: -abs(c[1])):
        between = [f"{parts[feature][0]:+.3f} to {parts[feature][1]:+.3f}"] if feature in parts else []
        grid.add_row(feature, f"{part:+.3f}", *between)
    lines: list[Any] = [Text(f"{found.target}: {answer.probability:.1%}", "bold")]
    if "interval" in sure:
        low, high = sure["interval"]
        lines.append(
            Text(f"Without the noise it would have been between {low:.1%} and {high:.1%} (90% sure).")
        )
    lines.append(Padding(grid, (1, 0, 0, 2)))
    if answer.clamped:
        lines.append(Text(f"Clamped to the public bounds: {', '.join(answer.clamped)}.", "yellow"))
    terminal.result(
        lines,
        {"probability": answer.probability, "clamped": list(answer.clamped), "base": told.base,
         "contributions": dict(told.contributions), "version": found.version, **sure},
    )  # fmt: skip


def _sure(model: ReleasedModel, row: dict[str, Any]) -> dict[str, Any]:
    """The intervals of a score and of its parts, where they were paid for."""
    from sfumato.prediction.models import LogisticModel

    if not isinstance(model, LogisticModel) or not model.has_intervals:
        return {}
    return {
        "interval": list(model.interval(row)),
        "contribution_intervals": [list(i) for i in model.contribution_intervals(row)],
    }


def _row(model: ReleasedModel, values: list[str]) -> dict[str, Any]:
    """NAME=VALUE in the types of the features; what is no such value is left for the model to refuse."""
    kinds = {f.name: f for f in model.features}
    row: dict[str, Any] = {}
    for item in values:
        name, sign, text = item.partition("=")
        if not sign:
            raise ParameterError("a feature is given as NAME=VALUE.", hint="sfumato model show lists them")
        feature = kinds.get(name)
        text_wanted = feature is not None and feature.levels and isinstance(feature.levels[0], str)
        try:
            row[name] = text if text_wanted else json.loads(text)
        except ValueError:
            row[name] = text
    return row


def _about(model: ReleasedModel) -> list[Any]:
    grid = Grid("feature", "kind", "takes", box=None)
    for f in model.features:
        takes = f"{f.low:g} to {f.high:g} {f.unit}" if f.low is not None and f.high is not None else (
            f"{len(f.levels)} levels" if f.levels else "any number"
        )  # fmt: skip
        grid.add_row(f.name, f.kind, takes.strip() + (", or missing" if f.missing_allowed else ""))
    judged = model.card.get("evaluation")
    quality = "It was not judged on a test set."
    if isinstance(judged, dict) and isinstance(judged.get("auroc"), float):
        quality = f"Area under the curve {judged['auroc']:.3f}, on {judged.get('source')}."
    return [
        Text(f"{model.kind.capitalize()} {model.name!r}: the probability of {model.target}."),
        Text(f"Version {model.version}."),
        Padding(Text(model.guarantee.text()), (1, 0, 1, 2)),
        Padding(grid, (0, 0, 1, 2)),
        Text(quality),
        Text(f"Signed by {model.signer}."),
    ]


def _plain(model: ReleasedModel) -> dict[str, Any]:
    return {
        "name": model.name,
        "kind": model.kind,
        "version": model.version,
        "target": model.target,
        "features": [f.name for f in model.features],
        "guarantee": json.loads(model.guarantee.to_json()),
        "card": dict(model.card),
        "signer": model.signer,
    }
