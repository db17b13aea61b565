"""methods: what there is, what each does and promises, and all its settings."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from sfumato.cli.terminal import Terminal
from sfumato.errors import ParameterError, offered

if TYPE_CHECKING:
    from sfumato.methods.declaration import Declaration


def methods(
    terminal: Terminal,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            show_default=False,
            help="A method, for all its settings; or a command (anonymize, synthesize, fit).",
        ),
    ] = None,
    page: Annotated[
        bool, typer.Option("--page", help="Print all of it as a page of Markdown: docs/methods.md.")
    ] = False,
) -> None:
    """List the methods: what each does, what it promises, and how it is set."""
    if page:
        from sfumato.plan.reference import methods_page

        sys.stdout.write(methods_page())  # as the file is published: not wrapped to the terminal
        return
    from sfumato.methods.declaration import COMMANDS, declaration_of
    from sfumato.methods.names import find, is_ours, names

    commands = list(dict.fromkeys([*COMMANDS.values(), "tree"]))
    if name is not None and name not in (*names(), *commands):
        raise ParameterError(
            "no method is called that.", hint=offered([name], [*names(), *commands], "one of")
        )
    if name is not None and name in names():
        _one(terminal, name)
        return
    found = [declaration_of(find(n)) for n in names()]
    shown = [d for d in found if name in (None, d.command)]
    grid = Grid.grid(padding=(0, 2, 0, 0))
    for d in shown:
        mark = "" if is_ours(find(d.name)) else " (not ours)"
        grid.add_row(Text(d.name, "bold"), Text(str(d.does)), Text(d.summary + mark))
    plain = [_plain(d) for d in shown]
    terminal.result([grid, Text("\nsfumato methods NAME says all of one.", "dim")], {"methods": plain})


def _one(terminal: Terminal, name: str) -> None:
    from sfumato.methods.declaration import declaration_of
    from sfumato.methods.names import find, is_ours
    from sfumato.plan.step import fields_of

    kind = find(name)
    declared = declaration_of(kind)
    grid = Grid("setting", "may be", "what", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    rows = []
    for field in fields_of(kind).values():
        parameter = field.parameter
        words = parameter.shape.words() if not parameter.python_only else "in Python only"
        default = field.plain_default
        usual = (
            "needed" if field.required else ("" if default in (None, "", [], {}) else f"default {default}")
        )
        doc = f"{parameter.doc} Why: {parameter.python_only}." if parameter.python_only else parameter.doc
        grid.add_row(Text(field.name, "bold" if parameter.beginner else ""), Text(words), Text(doc))
        if usual:
            grid.add_row("", Text(usual, "dim"), "")
        rows.append({"name": field.name, "may_be": words, "doc": doc, "unit": parameter.unit,
                     "default": default, "required": field.required, "beginner": parameter.beginner,
                     "python_only": parameter.python_only or None})  # fmt: skip
    ours = is_ours(kind)
    where, page = ("sf", f"docs/{declared.page}") if ours else (kind.__module__, declared.page)
    lines: list[Any] = [
        Text.assemble((f"{declared.name}  ", "bold"), declared.summary),
        Text(f"sfumato {declared.command} --method {name}; {where}.{kind.__name__} in Python; {page}"),
        Text(f"It may claim: {', '.join(declared.claims)}."),
        Text(f"It needs: {', '.join(declared.needs) or 'nothing else'}."),
        *(Text(f"Not for {door}: {why}.") for door, why in declared.closed.items()),
        Padding(grid, (1, 0, 0, 0)),
    ]
    terminal.result(lines, {**_plain(declared), "settings": rows})


def _plain(declared: Declaration) -> dict[str, Any]:
    return {
        "name": declared.name, "does": str(declared.does), "summary": declared.summary, "page": declared.page,
        "command": declared.command, "claims": list(declared.claims),
        "needs": [str(n) for n in declared.needs],
        "closed": dict(declared.closed),
    }  # fmt: skip
