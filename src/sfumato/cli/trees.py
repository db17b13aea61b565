"""tree: learn a decision tree and look at it; or keep noisy trees in a confidential file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from sfumato.cli.commands import Data, Overwrite, ReadOptions, SchemaFile
from sfumato.cli.payment import as_trusted
from sfumato.cli.terminal import Terminal
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.prediction.learner import Learner
    from sfumato.prediction.structures import GrownTree
    from sfumato.table import Table


def tree(
    terminal: Terminal,
    reading: ReadOptions,
    data: Data,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="tree, ensemble; or dpat, edpat, whose claim does not hold.",
        ),
    ] = "tree",
    settings: dict[str, Any] | None = None,
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="A,B,...", help="The features; all that fit if not given."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Also draw it: .html, .md, .json or .svg.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Of dpat and edpat: the confidential model, .dpat."),
    ] = None,
    name: Annotated[
        str,
        typer.Option(
            "--name", metavar="NAME", help="Of the model in the file; the file's name if not given."
        ),
    ] = "",
    schema: SchemaFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Learn a decision tree and show it; or keep noisy trees in a confidential file.

    Trees and their answers tell of the people they were learnt from: all of it is internal.
    """
    from sfumato.cli.method_options import step_of

    step = step_of("tree", method, settings or {})
    target, learner = step.request().target, step.build()
    if out is not None and not hasattr(learner, "save"):
        raise ParameterError(
            "such a tree has no file of its own.", hint="--report tree.json, or --method dpat"
        )
    if out is not None and out.suffix != ".dpat":  # before the work, not after it
        raise ParameterError("a confidential model's suffix is .dpat.", hint="--out model.dpat")
    table = _features(as_trusted(reading.scan(data, schema), None), target, columns)
    model = learner.fit(table, target)
    written = []
    if report is not None:
        _report(model, report, f"A tree for {model.target_}", f"{Path(data).name}; {model!r}", overwrite)
        written.append(report)
    if out is not None:
        written.append(model.save(out, name, overwrite=overwrite))
    grown = getattr(model, "trees_", None) or (model.tree_,)
    plain = {
        "target": model.target_, "method": method, "written": [str(p) for p in written],
        "guarantee": [c.title for c in getattr(model, "guarantee", ())],
        "trees": [{"alpha": t.alpha, "rules": _rules(t)} for t in grown],
    }  # fmt: skip
    terminal.result([Text(model.text()), *_closing(model, written)], plain)
    if not all(v.public for v in model.variables_):
        terminal.note("thresholds or levels were read off the data: a schema can state them.")


def _features(table: Table, target: str, columns: str | None) -> Table:
    if columns is None:
        return table
    wanted = [part.strip() for part in columns.split(",") if part.strip()]
    return table.select([*(n for n in wanted if n != target), target])


def _report(model: Learner, path: Path, title: str, stamp: str, overwrite: bool) -> None:
    from sfumato.io.atomic import write_text

    if path.suffix == ".svg":
        write_text(path, model.svg(), overwrite=overwrite, private=True)
        return
    model.page(title, stamp).save(path, overwrite=overwrite)


def _rules(tree: GrownTree) -> list[dict[str, Any]]:
    from sfumato.prediction.tree_figures import rules

    return [{"rule": words, "rows": n.size, "share": n.chance} for words, n in rules(tree)]


def _closing(model: object, written: list[Path]) -> list[Any]:
    lines: list[Any] = [""] if written or hasattr(model, "guarantee") else []
    if hasattr(model, "guarantee"):
        lines.append(Text(model.guarantee.text(), "yellow"))
    for path in written:
        kind = "confidential, it holds true counts" if path.suffix == ".dpat" else "internal"
        lines.append(Text(f"{path.name} written ({kind}).", "green"))
    return lines
