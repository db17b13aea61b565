"""assess: what a release keeps and what it gives away, and how the files it compares are opened."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.commands import Mend, Overwrite, ReadOptions, SchemaFile
from sfumato.cli.databases import assess_databases, is_database, refuse_mend
from sfumato.cli.scores import gathered, shown, without_details
from sfumato.cli.terminal import Terminal

if TYPE_CHECKING:
    from typer.models import OptionInfo

    from sfumato.assessment.utility.models import Model
    from sfumato.release import Release
    from sfumato.table import Table

_LIMITS = "What is asked of the release (exit code 1 if it is not met)"


def _columns(name: str, help_: str) -> OptionInfo:
    made: OptionInfo = typer.Option(name, metavar="A,B,...", help=help_, show_default=False)
    return made


QuasiIdentifiers = Annotated[
    str | None, _columns("--quasi-identifiers", "What an intruder may know; by role if not given.")
]
Sensitive = Annotated[str | None, _columns("--sensitive", "What an intruder wants; by role if not given.")]
Control = Annotated[
    str | None,
    typer.Option("--control", metavar="FILE", help="People who are not in the data, same columns."),
]


def level_tables(help_: str) -> OptionInfo:
    """The option for a folder of level tables."""
    made: OptionInfo = typer.Option("--hierarchies", metavar="DIR", exists=True, file_okay=False, help=help_)
    return made


@dataclass(frozen=True)
class _Given:
    """What is said of the two files."""

    control: Control = None
    schema: SchemaFile = None
    quasi_identifiers: QuasiIdentifiers = None
    sensitive: Sensitive = None
    hierarchies: Annotated[
        Path | None,
        level_tables("Level tables that say what generalized values stand for; a release of Sfumato knows."),
    ] = None
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="COLUMN",
            help="What models predict: trained on the release, tested on the control.",
        ),
    ] = None
    weight: Annotated[
        str | None,
        typer.Option("--weight", "-w", metavar="COLUMN", help="The survey weight of the original."),
    ] = None
    population: Annotated[
        str | None,
        typer.Option(
            "--population", metavar="N|FILE", help="How many people the data is a sample of, or all of them."
        ),
    ] = None
    truth: Annotated[
        str | None,
        typer.Option("--truth", metavar="rows", help="'rows' if row i of the release was made of row i."),
    ] = None
    database: Annotated[
        list[str] | None,
        typer.Option(
            "--database",
            metavar="FILE",
            help="A table an intruder could hold, row i about person i; more are joined to the first. "
            "Linked by likelihood; needs --truth rows.",
        ),
    ] = None
    earlier: Annotated[
        list[str] | None,
        typer.Option(
            "--earlier",
            metavar="FILE",
            help="Another release of the same people; may be repeated. Releases are attacked together.",
        ),
    ] = None
    grown_from: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--grown-from",
            metavar="ORIGINAL RELEASED",
            help="The table as it was before it grew, and what was released of it then.",
        ),
    ] = None
    formula: Annotated[
        list[str] | None,
        typer.Option("--formula", metavar="'Y ~ A + B'", help="A linear regression to compare, as in R."),
    ] = None
    logistic_formula: Annotated[
        list[str] | None,
        typer.Option("--logistic", metavar="'Y ~ A + B'", help="A logistic regression to compare."),
    ] = None

    known: Annotated[
        int | None,
        typer.Option(
            "--known", metavar="N", min=1,
            help="Linked tables: the verdict on risk takes it that an intruder knows at most so many things.",
        ),
    ] = None  # fmt: skip
    mend: Mend = False

    def refuse_for_databases(self) -> None:
        """What is said of one table means nothing for several."""
        from sfumato.errors import ParameterError

        own = {"control", "quasi_identifiers", "known", "mend"}
        odd = [
            f"--{f.name.replace('_', '-')}"
            for f in fields(self)
            if f.name not in own and getattr(self, f.name)
        ]
        if odd:
            raise ParameterError(
                f"linked tables take no {', '.join(odd)}.", hint="database.toml says what the columns mean"
            )

    def arguments(self, reading: ReadOptions, original: str, released: str) -> dict[str, Any]:
        """As `assess` takes it: the two files, and everything beside them, opened."""
        from sfumato.assessment.attacks.fellegi_sunter import AttackDatabase
        from sfumato.release import Release

        first = open_data(reading, original, self.schema)
        found = [open_like(reading, path, first, others=True) for path in self.database or []]
        held = [f.data if isinstance(f, Release) else f for f in found]
        grown = [self.grown_from] if self.grown_from else []
        then = [(open_like(reading, old, first), open_data(reading, made)) for old, made in grown]
        return {
            "original": first,
            "released": open_data(reading, released),
            "control": None if self.control is None else open_like(reading, self.control, first),
            "quasi_identifiers": split_names(self.quasi_identifiers),
            "sensitive": split_names(self.sensitive),
            "hierarchies": self.hierarchies,
            "target": self.target,
            "weight": self.weight,
            "population": _population(reading, self.population),
            "truth": self.truth,
            "database": AttackDatabase(held) if held else None,
            "formulas": _formulas(self.formula or [], self.logistic_formula or []),
            "earlier": [*(open_data(reading, path) for path in self.earlier or []), *then],
        }


@dataclass(frozen=True)
class _Limits:
    """What is asked of the release."""

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
    ] = None
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
    ] = None
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            "--threshold",
            metavar="NAME=LIMIT",
            rich_help_panel=_LIMITS,
            help="A limit for one score or measure, by its name; may be repeated.",
        ),
    ] = None

    def by_name(self) -> dict[str, float]:
        """The limits by the name of a score or measure."""
        from sfumato.errors import ParameterError

        limits: dict[str, float] = {}
        if self.max_risk is not None:
            limits["risk"] = self.max_risk
        if self.min_utility is not None:
            limits["utility"] = self.min_utility
        for entry in self.threshold or []:
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


@dataclass(frozen=True)
class _Reports:
    """What is written."""

    report: Annotated[
        list[Path] | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write the internal report: .html, .md or .json; may be repeated.",
        ),
    ] = None
    card: Annotated[
        Path | None,
        typer.Option(
            "--card", metavar="FILE", help="Write the public card: nothing of the original is in it."
        ),
    ] = None
    overwrite: Overwrite = False


def assess(
    terminal: Terminal,
    reading: ReadOptions,
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
    given: _Given,
    limits: _Limits,
    *,
    effort: Annotated[str, typer.Option("--effort", help="quick, normal or thorough.")] = "normal",
    alpha: Annotated[
        float,
        typer.Option(
            "--alpha", help="The error of the verdict on risk: how often it may be wrong by chance."
        ),
    ] = 0.01,
    limits_only: Annotated[
        bool,
        typer.Option(
            "--limits-only", help="Measure only what the limits speak of, until the verdict is certain."
        ),
    ] = False,
    output: _Reports,
) -> int:
    """Judge any two files: what the release keeps, what it gives away.

    The release may come from any tool: intervals, '*' and prefixes are understood. Exit code 1 if a threshold
    is not met, undecided, or could not be examined. The report is internal: it is computed from the original.
    """  # fmt: skip
    from sfumato.assessment.assess import assess as judge

    thresholds = limits.by_name()
    reports = output.report or []
    refuse_existing(output.overwrite, *reports, output.card)
    if is_database(original) and is_database(released):
        given.refuse_for_databases()
        return assess_databases(
            terminal, original, released, control=given.control, known=given.known, limits=thresholds,
            columns=split_names(given.quasi_identifiers), alpha=alpha, reports=reports, mend=given.mend,
            overwrite=output.overwrite,
        )  # fmt: skip
    refuse_mend(given.mend)
    found = judge(
        **given.arguments(reading, original, released), thresholds=thresholds, effort=effort, alpha=alpha,
        scope="limits" if limits_only else "all",
    )  # fmt: skip
    for path in reports:
        found.save(path, overwrite=output.overwrite)
    if output.card is not None:
        found.card(output.card, overwrite=output.overwrite)
    for note in gathered(found.notes, found.columns):
        terminal.note(note)
    terminal.result(shown(found, reports, output.card), without_details(found.to_dict()))
    return 0 if found.met else 1


def open_data(reading: ReadOptions, data: str, schema: Path | None = None) -> Table | Release:
    """A release with its guarantee, or a table read as the options say."""
    from sfumato.assessment.reading.files import is_release
    from sfumato.release import Release
    from sfumato.schema import Schema

    if is_release(data):
        return Release.load(data)
    known = None if schema is None else Schema.read(schema)
    return reading.scan(data, known, columns=None if known is None else known.names, keep_text=True)


def open_like(
    reading: ReadOptions, data: str, first: Table | Release, *, others: bool = False
) -> Table | Release:
    """A file read with the meaning of the original: "007" must not become 7 in one of two files.

    others: columns that the original does not have stay, with the meaning they seem to have.
    """
    from sfumato.release import Release
    from sfumato.schema import Schema

    found = open_data(reading, data)
    if isinstance(found, Release):
        return found
    schema = first.schema.select([n for n in first.schema.names if n in found.schema])
    if others:
        schema = Schema((*schema, *(c for c in found.schema if c.name not in schema)))
    return reading.scan(data, schema, columns=schema.names, keep_text=True) if len(schema) else found


def split_names(names: str | None) -> list[str] | None:
    """Names that were written with commas between them; None if nothing was said."""
    return None if names is None else [n.strip() for n in names.split(",") if n.strip()]


def _formulas(linear: list[str], logistic: list[str]) -> dict[str, Model]:
    from sfumato.errors import ParameterError

    if set(linear) & set(logistic):
        raise ParameterError(
            "a formula is named as linear and as logistic.", hint="write one of them with a space more"
        )
    return {**dict.fromkeys(linear, "linear"), **dict.fromkeys(logistic, "logistic")}


def _population(reading: ReadOptions, given: str | None) -> int | Table | Release | None:
    """A number of people, or a file of them."""
    from sfumato.errors import ParameterError

    if given is None or not given.lstrip("-").isdecimal():
        return None if given is None else open_data(reading, given)
    if int(given) < 1:
        raise ParameterError("a population has at least one member.", hint="--population 330000")
    return int(given)


def refuse_existing(overwrite: bool, *paths: Path | None, suffixes: str = ".html .md .json") -> None:
    """Refuse reports that cannot be written: before minutes of work, not after them."""
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
