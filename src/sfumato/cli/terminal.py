"""What the person at the terminal sees: results on stdout, notes, errors and progress on stderr."""

from __future__ import annotations

import json as json_
import math
import os
import re
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from sfumato.cli.exit_codes import BAD_INPUT, INTERRUPTED, NO_READER, OUR_FAULT
from sfumato.cli.renderings import said
from sfumato.errors import SfumatoError, SfumatoWarning, printable
from sfumato.languages import say, speaking
from sfumato.progress import listening

if TYPE_CHECKING:
    from rich.progress import Progress

STOPPED = "stopped; nothing was written"
_PATIENCE = 2.0  # seconds before a bar is drawn
_MOST_VALUES = 50
_SIGNS = re.compile(
    "[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)  # that JSON may hold and terminals obey


class _Console(Console):
    """Shows names and claims that come from others, a hostile copy of a release among them."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is printed, without signs that could move the cursor or recolour a verdict."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich would end the process with exit code 1


def _console(stderr: bool = False) -> Console:
    # No markup and no emoji: a column may well be called [red] or :heart:.
    return _Console(stderr=stderr, markup=False, emoji=False, highlight=False)


@dataclass
class Terminal:
    """One command's way to speak.

    json: results as JSON. quiet: no notes, no progress. debug: say where our own faults are.
    show_values: the values behind an error, if a person is looking. language: of results and notes.
    """

    json: bool = False
    quiet: bool = False
    debug: bool = False
    show_values: bool = False
    language: str | None = None
    out: Console = field(default_factory=_console)
    err: Console = field(default_factory=lambda: _console(stderr=True))
    _later: list[str] | None = field(default=None, init=False, repr=False)

    # -- speaking --------------------------------------------------------------------------------

    def result(self, shown: RenderableType | Sequence[RenderableType], plain: object) -> None:
        """A result: for people, or with --json for programs."""
        if self.json:
            text = json_.dumps(_finite(plain), indent=2, ensure_ascii=False, default=str, allow_nan=False)
            sys.stdout.write(_SIGNS.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text) + "\n")
        else:
            parts: Sequence[Any] = shown if isinstance(shown, (list, tuple)) else [shown]
            with speaking(self.language):
                for part in parts:
                    self.out.print(said(part))
        sys.stdout.flush()
        self._catch_up()

    def note(self, text: str) -> None:
        """Something to know although the work goes on."""
        if not self.quiet:
            with speaking(self.language):
                words = f"{say('note')}: {printable(as_options(say(text)))}"
            self.err.print(Text(words, "yellow"), soft_wrap=True)

    def _catch_up(self) -> None:
        """Say the notes that waited for the result: a dozen before it would push it off the screen."""
        waiting, self._later = self._later, None
        for text in waiting or []:
            self.note(text)

    def values(self, found: dict[str, Sequence[object]]) -> None:
        """The values behind a message: for eyes at a terminal, never into a file or a log."""
        if not self.show_values or not found:
            return
        if not self.err.is_terminal:
            self.note("values are shown at a terminal only, and this output goes elsewhere.")
            return
        for name, values in found.items():
            listed = ", ".join(printable(repr(v)) for v in values[:_MOST_VALUES])
            more = f" and {len(values) - _MOST_VALUES} more" if len(values) > _MOST_VALUES else ""
            self.err.print(Text(f"{printable(name)}: {listed}{more}" if name else f"{listed}{more}"))

    # -- running ---------------------------------------------------------------------------------

    def run(self, work: Callable[[], int | None]) -> int:
        """Do the work and say what went wrong, without a traceback and without a cell."""
        try:
            with speaking(self.language), self._notes(), _Bar(self) as bar, listening(bar):
                code = work() or 0
                sys.stdout.flush()
                return code
        except SfumatoError as error:
            self._refusal(error)
            return BAD_INPUT
        except KeyboardInterrupt:
            self.err.print(Text(STOPPED, "yellow"))
            return INTERRUPTED
        except BrokenPipeError:
            # Whoever read our output has seen enough. Python must not complain again when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return NO_READER
        except MemoryError:
            self._say(
                "MemoryError", "the data does not fit in memory.", "say --memory-limit, or take fewer columns"
            )
            return BAD_INPUT
        except OSError as error:
            self._say(
                "OSError",
                f"the system refused: {error.strerror or 'no reason given'}.",
                "check path and disk",
            )
            return BAD_INPUT
        except Exception as error:
            self._our_fault(error)
            return OUR_FAULT

    def _say(self, kind: str, message: str, hint: str) -> None:
        self.err.print(Text(f"{kind}: {printable(message)}", "bold red"), soft_wrap=True)
        if hint:
            self.err.print(Text(f"Hint: {printable(as_options(hint))}"), soft_wrap=True)

    def _refusal(self, error: SfumatoError) -> None:
        self._say(type(error).__name__, error.message, error.hint)
        self.values({"": error.values} if error.values else {})

    def _our_fault(self, error: Exception) -> None:
        """The words of a foreign exception may quote a cell, so only its kind and place are shown."""
        kind = type(error).__name__
        hint = "please report the command and what --debug shows; it holds no data"
        if self.debug:
            self.err.print(Text("".join(traceback.format_tb(error.__traceback__)).rstrip()), soft_wrap=True)
            hint = "please report this; the words of the exception are withheld, they may hold data"
        self._say("Fault", f"Sfumato has a fault of its own ({kind}).", hint)
        self.values({"": [str(error)]})

    @contextmanager
    def _notes(self) -> Iterator[None]:
        """Our warnings become notes, each said once; those of libraries are for developers."""
        heard: set[str] = set()
        self._later = []

        def now_or_later(text: str) -> None:
            self.note(text) if self._later is None else self._later.append(text)

        with warnings.catch_warnings():
            warnings.simplefilter("default" if self.debug else "ignore")
            warnings.simplefilter("always", SfumatoWarning)
            usual = warnings.showwarning

            def show(
                message: Warning | str, category: type[Warning], filename: str, lineno: int,
                file: TextIO | None = None, line: str | None = None,
            ) -> None:  # fmt: skip
                if issubclass(category, SfumatoWarning):
                    if str(message) not in heard:
                        heard.add(str(message))
                        now_or_later(str(message))
                else:
                    usual(message, category, filename, lineno, file, line)

            warnings.showwarning = show
            try:
                yield
            finally:
                self._catch_up()


class _Bar:
    """Draws progress on stderr once the work has taken two seconds, if a person is looking."""

    def __init__(self, terminal: Terminal) -> None:
        self._console = terminal.err
        self._wanted = terminal.err.is_terminal and not terminal.quiet
        self._start = time.monotonic()
        self._progress: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> _Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def __call__(self, label: str, done: int, total: int | None) -> None:
        if not self._wanted or time.monotonic() - self._start < _PATIENCE:
            return
        if self._progress is None:
            self._progress = self._drawn()
            self._progress.start()
        if label not in self._tasks:
            self._tasks[label] = self._progress.add_task(label, total=total)
        self._progress.update(self._tasks[label], completed=done, total=total)

    def _drawn(self) -> Progress:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        return Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,}"),
            TimeElapsedColumn(), TimeRemainingColumn(), console=self._console, transient=True,
        )  # fmt: skip


_PARAMETER = re.compile(
    r"\b(separator|decimal|encoding|dates|missing|header|units|table|sheet|overwrite|mend|keep_text|columns|schema|memory_limit"
    r"|lost|quasi_identifiers|sensitive|target|effort|holdout|truth|population|database|formulas|earlier)="
    r"(True|False|N\b|\.\.\.|\[\.\.\.\]|\[\(original, release\)\]"
    r"|\[[\"']([^\"']*)[\"']\]|[\"']([^\"']*)[\"']|(\d[\d.]*))?"
)


_SPELT = {"columns": "column", "formulas": "formula"}


def as_options(text: str) -> str:
    """Hints are written for Python (`encoding='latin-1'`); here they read `--encoding latin-1`."""

    def option(found: re.Match[str]) -> str:
        if found[2] == "[(original, release)]":
            return "--grown-from"
        name = f"--{_SPELT.get(found[1], found[1]).replace('_', '-')}"
        if found[2] == "False":
            return f"--no-{name[2:]}"
        if found[2] == "N":
            return f"{name} N"
        if found[2] is None or found[2] == "True":
            return name
        return f"{name} {found[3] or found[4] or found[5] or '...'}"

    return _PARAMETER.sub(option, text)


def _finite(value: object) -> object:
    """What is no number, or has no end, is null: JSON has no word for it, and most readers refuse ours."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, list | tuple) else value
