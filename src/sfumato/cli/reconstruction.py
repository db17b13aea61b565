"""reconstruct, assess-aggregates: what aggregates say about people, to who uses and who publishes them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as Grid
from rich.text import Text

from sfumato.cli.commands import Overwrite, ReadOptions, SchemaFile
from sfumato.cli.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sfumato.assessment.aggregates import AggregateRisk
    from sfumato.reconstruction.aggregate import Aggregates
    from sfumato.reconstruction.baselines import EcologicalRegression, MoorePenrose
    from sfumato.reconstruction.cudia import CUDIA
    from sfumato.reconstruction.fitted_model import FittedReconstruction
    from sfumato.reconstruction.ludia import LUDIA
    from sfumato.table import Table

    _Method = MoorePenrose | EcologicalRegression | LUDIA | CUDIA

_CHOSEN = ("rank", "sharing", "iterations", "shrinkage", "clusters")
_OPTIONS = {
    "partial=True": "--partial",
    "give the standard deviation: noise=0.3": "leave out --interval, or give --known",
}  # what a hint says to a program, and what it says here
_METHODS = "mp, er, er-corrected, ludia or cudia."

By = Annotated[
    str, typer.Option("--by", metavar="A,B,...", help="The columns that name a group.", show_default=False)
]
Value = Annotated[
    list[str],
    typer.Option("--value", metavar="NAME", help="A masked column; may be repeated.", show_default=False),
]
Statistic = Annotated[str, typer.Option("--statistic", help="mean, sum, count or mean_log.")]
Method = Annotated[str, typer.Option("--method", help=f"{_METHODS} See docs/reconstruct.md.")]
Known = Annotated[
    str | None,
    typer.Option(
        "--columns", metavar="A,B,...", help="What is known of a person; all that fits if not given."
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", help="For methods that draw, to repeat a run.")]


@dataclass(frozen=True)
class _Published:
    """What was published, and which parts of it there are."""

    by: By
    value: Value
    statistic: Statistic = "mean"
    sizes: Annotated[
        str | None,
        typer.Option("--sizes", metavar="NAME", help="The column with published group sizes, to check."),
    ] = None
    level: Annotated[
        list[str] | None,
        typer.Option("--level", metavar="COLUMN=FILE", help="Aggregates by another column; may be repeated."),
    ] = None

    def read(self, aggregates: str) -> Aggregates:
        """All of it, from its files."""
        from sfumato.reconstruction.aggregate import Aggregates

        kinds = dict.fromkeys(self.value, self.statistic)
        found = Aggregates.of(aggregates, _split(self.by), kinds, sizes=self.sizes)
        for more in self.level or []:
            column, file = _level(more)
            found = found + Aggregates.of(file, column, kinds)
        return found


@dataclass(frozen=True)
class _Result:
    """What is written, and where."""

    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE", help="The people with what was reconstructed.", show_default=False
        ),
    ]
    interval: Annotated[
        float | None,
        typer.Option("--interval", metavar="SHARE", help="Also write ends that hold with this chance."),
    ] = None
    natural: Annotated[
        bool, typer.Option("--natural", help="Of means of logs: write the values, not their logs.")
    ] = False
    overwrite: Overwrite = False


def reconstruct(
    terminal: Terminal,
    reading: ReadOptions,
    individuals: Annotated[
        str,
        typer.Argument(
            metavar="INDIVIDUALS", show_default=False, help="The people, without the masked column."
        ),
    ],
    aggregates: Annotated[
        str,
        typer.Argument(
            metavar="AGGREGATES", show_default=False, help="A row per group, with its statistics."
        ),
    ],
    published: _Published,
    target: _Result,
    method: Method = "ludia",
    known: Known = None,
    partial: Annotated[bool, typer.Option("--partial", help="Groups may be missing on either side.")] = False,
    true_values: Annotated[
        str | None,
        typer.Option(
            "--known",
            metavar="FILE",
            help="For ludia: some people with their true values, to calibrate slopes and intervals.",
            show_default=False,
        ),
    ] = None,
    schema: SchemaFile = None,
    seed: Seed = None,
) -> None:
    """Give each person the values they may have had, from published aggregates.

    The result meets the aggregates and is an estimate: its use is models of many people, not facts about one.
    """
    table = reading.scan(individuals, schema, keep_text=True)
    found = published.read(aggregates)
    chosen_method = _method(method, known, partial, seed)
    with _by_options():
        fitted = _fitted(chosen_method, table, found, reading, true_values)
        result = fitted.reconstruct(natural=target.natural, interval=target.interval)
    out = target.out
    result.save(out, overwrite=target.overwrite)
    people = fitted.grouping.rows
    told = fitted.calibration is not None or (fitted.rests is not None and len(fitted.rests[1]) > 2)
    uncertain = fitted.uncertainty() if told else None
    chosen = {k: v for k, v in fitted.chosen.items() if k in _CHOSEN}
    plain = {
        "written": str(out), "method": fitted.method, "people": people, "groups": len(fitted.grouping.sizes),
        "columns": list(result.values), "residual": fitted.residual,
        "chosen": chosen,
        "pinned": None if uncertain is None else uncertain.pinned,
        "sigma": None if uncertain is None else uncertain.sigma.tolist(),
    }  # fmt: skip
    lines = [
        Text(
            f"{', '.join(result.values)} of {people:,} people written to {out.name} by {fitted.method}.",
            "green",
        )
    ]
    if chosen:
        lines.append(Text("  " + ", ".join(f"{k} {_brief(v)}" for k, v in chosen.items()), "dim"))
    if uncertain is not None:
        lines.append(
            Text(f"  the aggregates fix {uncertain.pinned:.2%} of what differs between people; "
                 f"a person is off by about {', '.join(f'{s:.4g}' for s in uncertain.sigma)} or less")
        )  # fmt: skip
    terminal.result(lines, plain)


def assess_aggregates(
    terminal: Terminal,
    reading: ReadOptions,
    data: Annotated[
        str, typer.Argument(metavar="DATA", show_default=False, help="The confidential data: a file.")
    ],
    by: By,
    value: Annotated[
        str,
        typer.Option(
            "--value", metavar="NAME", help="The column to be published as an aggregate.", show_default=False
        ),
    ],
    control: Annotated[
        str | None,
        typer.Option("--control", metavar="FILE", help="People who are not in the data, same columns."),
    ] = None,
    statistic: Statistic = "mean",
    method: Method = "ludia",
    known: Known = None,
    tolerance: Annotated[
        float,
        typer.Option(
            "--tolerance", metavar="SHARE", help="A guess this close to the true value is a success."
        ),
    ] = 0.1,
    max_risk: Annotated[
        float,
        typer.Option("--max-risk", metavar="SHARE", help="How much better than guess and control it may be."),
    ] = 0.1,
    fewest: Annotated[
        int, typer.Option("--fewest", metavar="N", help="Smaller groups are to be coarsened.")
    ] = 3,
    schema: SchemaFile = None,
    seed: Seed = None,
) -> int:
    """Before aggregates are published: how close would an intruder come who reconstructs people from them?

    Exit code 1 if a group has to be coarsened. What is printed is internal: it is computed from the original.
    """
    from sfumato.assessment.aggregates import assess_aggregates as judge
    from sfumato.reconstruction.aggregate import Aggregates

    table = reading.scan(data, schema, keep_text=True)
    groups = _split(by)
    published = Aggregates.compute(table, groups, {value: statistic})
    intruder = _method(method, known, False, seed, daring=True)
    fitted = intruder.fit(table.drop([value]), published)
    made = fitted.reconstruct(natural=statistic == "mean_log").data
    pair = None
    if control is not None:
        others = reading.scan(control, table.schema, columns=list(table.columns), keep_text=True)
        pair = (others, fitted.reconstruct(others, natural=statistic == "mean_log").data)
    found = judge(
        table, made, by=groups, value=value, control=pair,
        tolerance=tolerance, max_risk=max_risk, fewest=fewest,
    )  # fmt: skip
    too_few = sum(w == "too few people" for w in found.groups["why"].to_pylist())
    plain = {
        "method": fitted.method, "groups": found.groups.num_rows, "coarsen": found.coarsen.num_rows,
        "too_few_people": too_few, "guessed_too_well": found.coarsen.num_rows - too_few,
        "scores": [{k: v for k, v in s.to_dict().items() if k != "details"} for s in found.scores],
    }  # fmt: skip
    terminal.result(_shown(found, too_few), plain)
    return 0 if found.met else 1


def _shown(found: AggregateRisk, too_few: int) -> list[Any]:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    grid.add_column("", overflow="fold")
    for title in ("value", "group mean", "control"):
        grid.add_column(title, justify="right", no_wrap=True)
    for s in found.scores:
        cells = ["" if v is None else f"{v:.3f}" for v in (s.value, s.baseline, s.control)]
        grid.add_row(Text(s.name), *cells)
    flagged = found.coarsen.num_rows
    words = f"{flagged} of {found.groups.num_rows} groups should be coarsened"
    if flagged:
        words += f": {too_few} with too few people, {flagged - too_few} guessed too well"
    return [grid, "", Text(f"{words}.", "bold red" if flagged else "green")]


@contextmanager
def _by_options() -> Iterator[None]:
    """Let hints name what can be said at the terminal."""
    from sfumato.errors import SfumatoError

    try:
        yield
    except SfumatoError as error:
        for keyword, option in _OPTIONS.items():
            error.hint = error.hint.replace(keyword, option)
        raise


def _fitted(
    method: _Method, table: Table, found: Aggregates, reading: ReadOptions, true_values: str | None
) -> FittedReconstruction:
    from sfumato.errors import ParameterError
    from sfumato.reconstruction.ludia import LUDIA

    if true_values is None:
        return method.fit(table, found)
    if not isinstance(method, LUDIA):
        raise ParameterError("--known is for --method ludia.", hint="leave it out, or --method ludia")
    return method.fit(table, found, known=reading.scan(true_values, keep_text=True))


def _brief(value: object) -> str:
    return ", ".join(f"{v:.3g}" for v in value) if isinstance(value, tuple) else str(value)


def _split(names: str) -> list[str]:
    return [part.strip() for part in names.split(",") if part.strip()]


def _level(text: str) -> tuple[str, str]:
    from sfumato.errors import ParameterError

    column, sign, file = text.partition("=")
    if not sign or not column or not file:
        raise ParameterError("a level is COLUMN=FILE.", hint="--level hospital=means.csv")
    return column, file


def _method(
    name: str, known: str | None, partial: bool, seed: int | None, *, daring: bool = False
) -> _Method:
    """The method of that name. daring: as an intruder would take it, who has nothing to lose."""
    from sfumato.errors import ParameterError
    from sfumato.reconstruction.baselines import EcologicalRegression, MoorePenrose
    from sfumato.reconstruction.cudia import CUDIA
    from sfumato.reconstruction.ludia import LUDIA

    columns = None if known is None else _split(known)
    makers: dict[str, Callable[[], _Method]] = {
        "mp": lambda: MoorePenrose(partial=partial),
        "er": lambda: EcologicalRegression(columns=columns, partial=partial),
        "er-corrected": lambda: EcologicalRegression(correction=True, columns=columns, partial=partial),
        "ludia": lambda: LUDIA(
            columns=columns, partial=partial, seed=seed, shrinkage=1.0 if daring else None
        ),
        "cudia": lambda: CUDIA(columns=columns, partial=partial, seed=seed),
    }
    if name not in makers:
        raise ParameterError(f"there is no method of that name: {_METHODS}", hint="--method ludia")
    return makers[name]()
