"""assess, frontier: what a release keeps and gives away, and the map between the two."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.commands import Data, Overwrite, Reading, SchemaFile
from sfumato.cli.scores import gathered, map_of, shown, without_details
from sfumato.cli.terminal import Terminal

_LIMITS = "What is asked of the release (exit code 1 if it is not met)"


def _columns(name: str, help_: str) -> Any:
    return typer.Option(name, metavar="A,B,...", help=help_, show_default=False)


QuasiIdentifiers = Annotated[
    str | None, _columns("--quasi-identifiers", "What an intruder may know; by role if not given.")
]
Sensitive = Annotated[str | None, _columns("--sensitive", "What an intruder wants; by role if not given.")]
Control = Annotated[
    str | None,
    typer.Option("--control", metavar="FILE", help="People who are not in the data, same columns."),
]


def _hierarchies(help_: str) -> Any:
    return typer.Option("--hierarchies", metavar="DIR", exists=True, file_okay=False, help=help_)


def assess(
    terminal: Terminal,
    reading: Reading,
    original: Annotated[
        str, typer.Argument(metavar="ORIGINAL", show_default=False, help="The confidential data: a file.")
    ],
    released: Annotated[
        str,
        typer.Argument(
            metavar="RELEASED",
            show_default=False,
            help="What was made of it, by any tool: a file or a release.",
        ),
    ],
    control: Control = None,
    schema: SchemaFile = None,
    quasi_identifiers: QuasiIdentifiers = None,
    sensitive: Sensitive = None,
    hierarchies: Annotated[
        Path | None,
        _hierarchies("Level tables that say what generalized values stand for; a release of Sfumato knows."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="COLUMN",
            help="What models predict: trained on the release, tested on the control.",
        ),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option("--weight", "-w", metavar="COLUMN", help="The survey weight of the original."),
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(
            "--population", metavar="N|FILE", help="How many people the data is a sample of, or all of them."
        ),
    ] = None,
    truth: Annotated[
        str | None,
        typer.Option("--truth", metavar="rows", help="'rows' if row i of the release was made of row i."),
    ] = None,
    database: Annotated[
        list[str] | None,
        typer.Option(
            "--database",
            metavar="FILE",
            help="A table an intruder could hold, row i about person i; more are joined to the first. "
            "Linked by likelihood; needs --truth rows.",
        ),
    ] = None,
    earlier: Annotated[
        list[str] | None,
        typer.Option(
            "--earlier",
            metavar="FILE",
            help="Another release of the same people; may be repeated. Releases are attacked together.",
        ),
    ] = None,
    grown_from: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--grown-from",
            metavar="ORIGINAL RELEASED",
            help="The table as it was before it grew, and what was released of it then.",
        ),
    ] = None,
    formula: Annotated[
        list[str] | None,
        typer.Option("--formula", metavar="'Y ~ A + B'", help="A linear regression to compare, as in R."),
    ] = None,
    logistic: Annotated[
        list[str] | None,
        typer.Option("--logistic", metavar="'Y ~ A + B'", help="A logistic regression to compare."),
    ] = None,
    max_risk: Annotated[
        float | None,
        typer.Option(
            "--max-risk",
            metavar="SHARE",
            min=0,
            max=1,
            rich_help_panel=_LIMITS,
            help="No attack may exceed its control (or a plain guess) by more than this share.",
        ),
    ] = None,
    min_utility: Annotated[
        float | None,
        typer.Option(
            "--min-utility",
            metavar="SHARE",
            min=0,
            max=1,
            rich_help_panel=_LIMITS,
            help="No score of utility from 0 to 1 on the whole table may fall below this.",
        ),
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            "--threshold",
            metavar="NAME=LIMIT",
            rich_help_panel=_LIMITS,
            help="A limit for one score or measure, by its name; may be repeated.",
        ),
    ] = None,
    effort: Annotated[str, typer.Option("--effort", help="quick, normal or thorough.")] = "normal",
    report: Annotated[
        list[Path] | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write the internal report: .html, .md or .json; may be repeated.",
        ),
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option(
            "--card", metavar="FILE", help="Write the public card: nothing of the original is in it."
        ),
    ] = None,
    overwrite: Overwrite = False,
) -> int:
    """Judge any two files: what the release keeps, what it gives away.

    The release may come from any tool: intervals, '*' and prefixes are understood. Exit code 1 if a threshold
    is not met or could not be examined. The report is internal: it is computed from the original.
    """  # fmt: skip
    from sfumato.assessment.assess import assess as judge
    from sfumato.assessment.attacks.fellegi_sunter import AttackDatabase

    limits = _limits(max_risk, min_utility, threshold or [])
    reports = report or []
    _refuse_existing(overwrite, *reports, card)
    first = _opened(reading, original, schema)
    held = [_like(reading, path, first, others=True) for path in database or []]
    grown = [grown_from] if grown_from else []
    then = [(_like(reading, old, first), _opened(reading, made)) for old, made in grown]
    found = judge(
        first,
        _opened(reading, released),
        control=None if control is None else _like(reading, control, first),
        quasi_identifiers=_split(quasi_identifiers),
        sensitive=_split(sensitive),
        hierarchies=hierarchies,
        target=target,
        weight=weight,
        population=_population(reading, population),
        truth=truth,
        thresholds=limits,
        effort=effort,
        database=AttackDatabase(held) if held else None,
        formulas=_formulas(formula or [], logistic or []),
        earlier=[*(_opened(reading, path) for path in earlier or []), *then],
    )
    for path in reports:
        found.save(path, overwrite=overwrite)
    if card is not None:
        found.card(card, overwrite=overwrite)
    for note in gathered(found.notes, found.columns):
        terminal.note(note)
    terminal.result(shown(found, reports, card), without_details(found.to_dict()))
    return 0 if found.met else 1


def _opened(reading: Reading, data: str, schema: Path | None = None) -> Any:
    """A release with its guarantee, or a table read as the options say."""
    from sfumato.assessment.reading.files import is_release
    from sfumato.release import Release
    from sfumato.schema import Schema

    if is_release(data):
        return Release.load(data)
    known = None if schema is None else Schema.read(schema)
    return reading.scan(data, known, columns=None if known is None else known.names, keep_text=True)


def _like(reading: Reading, data: str, first: Any, *, others: bool = False) -> Any:
    """A file read with the meaning of the original: "007" must not become 7 in one of two files.

    others: columns that the original does not have stay, with the meaning they seem to have.
    """
    from sfumato.release import Release
    from sfumato.schema import Schema

    found = _opened(reading, data)
    if isinstance(found, Release):
        return found
    schema = first.schema.select([n for n in first.schema.names if n in found.schema])
    if others:
        schema = Schema((*schema, *(c for c in found.schema if c.name not in schema)))
    return reading.scan(data, schema, columns=schema.names, keep_text=True) if len(schema) else found


def _split(names: str | None) -> list[str] | None:
    return None if names is None else [n.strip() for n in names.split(",") if n.strip()]


def _formulas(linear: list[str], logistic: list[str]) -> dict[str, Any]:
    from sfumato.errors import ParameterError

    if set(linear) & set(logistic):
        raise ParameterError(
            "a formula is named as linear and as logistic.", hint="write one of them with a space more"
        )
    return {**dict.fromkeys(linear, "linear"), **dict.fromkeys(logistic, "logistic")}


def _limits(max_risk: float | None, min_utility: float | None, more: list[str]) -> dict[str, float]:
    from sfumato.errors import ParameterError

    limits: dict[str, float] = {}
    if max_risk is not None:
        limits["risk"] = max_risk
    if min_utility is not None:
        limits["utility"] = min_utility
    for entry in more:
        name, _, limit = (part.strip() for part in entry.rpartition("="))
        try:
            value = float(limit)
        except ValueError:
            name = ""
        if not name:
            raise ParameterError(
                "a threshold is a name, = and a number.", hint="--threshold 'total variation, pairs=0.1'"
            )
        if limits.setdefault(name, value) != value:  # the later one would loosen the gate unseen
            raise ParameterError(f"'{name}' has two limits.", hint="keep one of them")
    return limits


def _population(reading: Reading, given: str | None) -> Any:
    """A number of people, or a file of them."""
    from sfumato.errors import ParameterError

    if given is None or not given.lstrip("-").isdecimal():
        return None if given is None else _opened(reading, given)
    if int(given) < 1:
        raise ParameterError("a population has at least one member.", hint="--population 330000")
    return int(given)


def _refuse_existing(overwrite: bool, *paths: Path | None, suffixes: str = ".html .md .json") -> None:
    """Before minutes of work, not after them."""
    from sfumato.errors import OutputError, ParameterError

    odd = [p.name for p in paths if p is not None and p.suffix.lower() not in suffixes.split()]
    if odd:
        raise ParameterError(f"{', '.join(odd)} has no suffix of a report.", hint=f"one of {suffixes}")
    given = [p for p in paths if p is not None]
    if len({p.resolve() for p in given}) < len(given):
        raise ParameterError("the same file is named twice for output.", hint="a name for each")
    if any(not p.resolve().parent.is_dir() for p in given):
        raise OutputError("a folder for the output does not exist.", hint="make the folder first")
    there = [p.name for p in given if p.exists()]
    if there and not overwrite:
        raise OutputError(f"{', '.join(there)} exists already.", hint="overwrite=True replaces it")


# -- the map ---------------------------------------------------------------------------------------


def frontier(
    terminal: Terminal,
    reading: Reading,
    data: Data,
    schema: SchemaFile = None,
    control: Control = None,
    holdout: Annotated[
        float,
        typer.Option(
            "--holdout",
            metavar="SHARE",
            min=0,
            max=0.9,
            help="Without a control, people set aside to be one; 0 for none.",
        ),
    ] = 0.2,
    quasi_identifiers: QuasiIdentifiers = None,
    sensitive: Sensitive = None,
    hierarchies: Annotated[
        Path | None,
        _hierarchies("Level tables of the quasi-identifiers; without them nothing is generalized."),
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="How often each setting is run.")] = 3,
    risk: Annotated[
        str | None, typer.Option("--risk", metavar="NAME", help="A risk or attack score, by its name.")
    ] = None,
    utility: Annotated[
        str | None, typer.Option("--utility", metavar="NAME", help="A utility score, by its name.")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache", metavar="DIR", help="Keep results here; a stopped run goes on from them. Internal."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="Runs side by side; one for each core if not given."),
    ] = None,
    stand_in: Annotated[
        str,
        typer.Option(
            "--stand-in", metavar="WORDS", help="What the data is, if it is not the confidential table."
        ),
    ] = "",
    report: Annotated[
        Path | None,
        typer.Option(
            "--report", metavar="FILE", help="Write the map: .html, .md, .json, or .parquet with all runs."
        ),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Draw the map of risk and utility: methods and plain baselines, with a small grid of settings.

    It is internal: settings that are chosen on the confidential table have learnt from it.
    """
    from sfumato.assessment.frontier import frontier as draw
    from sfumato.cli.baselines import default_grid

    _refuse_existing(overwrite, report, suffixes=".html .md .json .parquet")
    table = _opened(reading, data, schema)
    found = draw(
        table,
        default_grid(_split(quasi_identifiers), hierarchies),
        risk=risk,
        utility=utility,
        repeats=repeats,
        control=None if control is None else _like(reading, control, table),
        holdout=holdout,
        quasi_identifiers=_split(quasi_identifiers),
        sensitive=_split(sensitive),
        cache=cache,
        workers=workers,
        stand_in=stand_in,
    )
    if report is not None:
        found.save(report, overwrite=overwrite)
    for note in found.notes:
        terminal.note(note)
    terminal.result(map_of(found, report), found.to_dict())
