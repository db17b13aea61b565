"""How a plain function becomes a command: the options all commands share are added here, once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand

from sfumato.cli.terminal import Terminal
from sfumato.languages import LANGUAGES

if TYPE_CHECKING:
    from typer.models import OptionInfo

    from sfumato.schema import Schema
    from sfumato.table import Table

HELP = {"help_option_names": ["-h", "--help"]}
_FILES = "How the data is read"
_SPEECH = "What is printed"

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="A file, a folder, a pattern in quotes ('part-*.parquet'), the address of a database, or one of "
        "s3://, gs://, abfs://, https://.",
    ),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema", "-s", metavar="FILE", help="What the columns mean (TOML); guessed if not given."
    ),
]
KeepText = Annotated[
    bool, typer.Option("--keep-text", help="Keep columns of free text, which are left out otherwise.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
Mend = Annotated[
    bool,
    typer.Option(
        "--mend",
        help="Linked tables whose keys do not hold: leave out rows without a person and rows whose key came "
        "before, and empty ids of no row; every change is counted.",
    ),
]


def _said(name: str, metavar: str, help_: str) -> OptionInfo:
    made: OptionInfo = typer.Option(name, metavar=metavar, help=help_, rich_help_panel=_FILES)
    return made


@dataclass(frozen=True)
class ReadOptions:
    """How data is to be read, where the user knows better than the detection."""

    separator: Annotated[str | None, _said("--separator", "SIGN", "Between cells: , ; | or tab.")] = None
    decimal: Annotated[str | None, _said("--decimal", "SIGN", "In numbers: . or ,")] = None
    encoding: Annotated[str | None, _said("--encoding", "NAME", "Such as utf-8, cp1252, latin-1.")] = None
    dates: Annotated[str | None, _said("--dates", "ORDER", "YMD, DMY or MDY.")] = None
    missing: Annotated[
        list[str] | None, _said("--missing", "TEXT", "A cell that stands for missing; may be repeated.")
    ] = None
    header: Annotated[
        int | None,
        _said("--header", "LINE", "The line (of a sheet: the row) with the names, from 1; 0: no names."),
    ] = None
    units: Annotated[
        bool | None,
        typer.Option(
            "--units/--no-units",
            show_default=False,
            help="The row below the names holds units, and is skipped.",
            rich_help_panel=_FILES,
        ),
    ] = None
    table: Annotated[str | None, _said("--table", "NAME", "Of a database: a table, or a SELECT.")] = None
    sheet: Annotated[
        str | None, _said("--sheet", "NAME", "Of a workbook: its name, or its number from 0.")
    ] = None
    memory_limit: Annotated[
        str | None, _said("--memory-limit", "SIZE", "What counting may use before it spills to disk, as 4GB.")
    ] = None

    def options(self) -> dict[str, Any]:
        """As `sfumato.scan` takes them: only those that were given."""
        given = {
            f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) not in (None, [])
        }
        if given.get("separator") in ("tab", "\\t"):
            given["separator"] = "\t"
        if str(given.get("sheet", "")).isdecimal():
            given["sheet"] = int(given["sheet"])
        return given

    def scan(self, data: str, schema: Path | Schema | None = None, **more: Any) -> Table:
        """The table, with what was said on the command line."""
        from sfumato.io import scan
        from sfumato.schema import Schema

        if isinstance(schema, Path):
            schema = Schema.read(schema)
        return scan(data, schema, **self.options(), **more)


@dataclass(frozen=True)
class _Shared:
    """The options of every command."""

    language: Annotated[
        str | None,
        typer.Option(
            "--language", metavar="CODE", rich_help_panel=_SPEECH, show_default=False,
            help=f"Of what is printed and of pages and cards: {' or '.join(LANGUAGES)}. "
            "Errors and --json stay English.",
        ),
    ] = None  # fmt: skip
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON, for programs.", rich_help_panel=_SPEECH)
    ] = False
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No notes and no progress.", rich_help_panel=_SPEECH)
    ] = False
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Where a fault of Sfumato itself is.", rich_help_panel=_SPEECH),
    ] = False
    show_values: Annotated[
        bool,
        typer.Option(
            "--show-values",
            help="At a terminal, show the values behind an error; never in files and logs.",
            rich_help_panel=_SPEECH,
        ),
    ] = False


T = TypeVar("T")
_CONTEXT = ("terminal", "reading")


def register_methods(app: typer.Typer, function: Callable[..., int | None]) -> None:
    """Make a function a command with the options of all its methods, in its parameter `settings`.

    They are known when the methods are loaded, which is done when the command is called, not to list it.
    """
    name = function.__name__

    class Command(TyperCommand):
        def whole(self, only: str = "") -> Any:
            """The command with all its options. only: those of one method, for its help."""
            from sfumato.cli.method_options import options_of

            alone = typer.Typer(add_completion=False, context_settings=HELP)
            register(alone, function, more=options_of(name, only))
            return typer.main.get_command(alone)

        def make_context(self, *args: Any, **more: Any) -> Any:
            words = list(args[1] if len(args) > 1 else more["args"])
            asked = set(words) & set(HELP["help_option_names"])
            return self.whole(_method_in(words) if asked else "").make_context(*args, **more)

    app.command(name, cls=Command, help=inspect.getdoc(function))(lambda: None)


def _method_in(words: Sequence[str]) -> str:
    """The method whose help is asked for: --method NAME, --method=NAME, -m NAME."""
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word in ("--method", "-m"):
            return after
        if word.startswith("--method="):
            return word.partition("=")[2]
    return ""


def register(
    app: typer.Typer,
    function: Callable[..., int | None],
    name: str | None = None,
    *,
    more: Sequence[inspect.Parameter] = (),
) -> None:
    """Make a function a command of `app`.

    A parameter called `terminal` gets the `Terminal` to print on; one called `reading` gets the `ReadOptions`
    that say how data is read. A parameter of another frozen dataclass stands for the options that
    are its fields. The function gives back an exit code, or None for 0.
    more: further options, which it gets as one dictionary called `settings`.
    """
    own = inspect.signature(function, eval_str=True).parameters
    groups = {n: p.annotation for n, p in own.items() if n not in _CONTEXT and _is_group(p.annotation)}
    parameters: list[inspect.Parameter] = []
    for n, p in own.items():
        if n == "settings":
            parameters += more
        elif n not in _CONTEXT:
            parameters += _options(groups[n]) if n in groups else [p.replace(kind=p.KEYWORD_ONLY)]
    reads = "reading" in own
    parameters += [*(_options(ReadOptions) if reads else ()), *_options(_Shared)]

    def command(**given: object) -> None:
        terminal = _taken(_Shared, given, Terminal)
        if reads:
            given["reading"] = _taken(ReadOptions, given, ReadOptions)
        for group, kind in groups.items():
            given[group] = _taken(kind, given, kind)
        if more:
            given["settings"] = {p.name: given.pop(p.name) for p in more}
        code = terminal.run(lambda: function(terminal=terminal, **given))
        if code:
            raise typer.Exit(code)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    command.__doc__ = function.__doc__
    app.command(name or function.__name__)(command)


def _is_group(annotation: object) -> bool:
    return isinstance(annotation, type) and is_dataclass(annotation)


def _options(group: type) -> list[inspect.Parameter]:
    """The fields of a dataclass as parameters of a command."""
    hints = inspect.get_annotations(group, eval_str=True)
    return [
        inspect.Parameter(
            f.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if f.default is MISSING else f.default,  # it must be given
            annotation=hints[f.name],
        )
        for f in fields(group)
    ]


def _taken(group: type, given: dict[str, object], make: Callable[..., T]) -> T:
    """The options of a group, taken out of what was given, as what `make` makes of them."""
    return make(**{f.name: given.pop(f.name) for f in fields(group)})
