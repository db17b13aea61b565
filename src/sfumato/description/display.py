"""Descriptions and differences for the terminal and the notebook."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from sfumato.errors import listed, printable
from sfumato.inference.clues import UNSURE

if TYPE_CHECKING:
    from sfumato.description.differences import Difference, Differences
    from sfumato.description.profile import ColumnProfile, Description, Together, UniquenessStep

_WIDE = 118  # from here on the reasons stand beside the columns
_COLOURS = {
    "identifier": "bold red",
    "person": "magenta",
    "quasi-identifier": "yellow",
    "sensitive": "cyan",
}
_MOST_STEPS = 6
_MOST_NAMES = 20


def percent(share: float) -> str:
    """'12.3%'; small but not nothing is '<0.1%', and nearly all is not all."""
    if 0 < share < 0.0005:
        return "<0.1%"
    if 0.9995 <= share < 1:
        return ">99.9%"
    return f"{share:.1%}"


def bar(share: float, width: int = 8) -> Text:
    """A share as a bar, warmer the longer it is."""
    filled = round(min(max(share, 0.0), 1.0) * width)
    filled = max(filled, 1) if share > 0 else 0
    colour = "red" if share > 0.6 else "yellow" if share > 0.3 else "green"
    return Text("█" * filled, colour).append("░" * (width - filled), "dim")


def describe_lines(description: Description, width: int) -> Iterator[RenderableType]:
    """A description, piece by piece, for a terminal of some width."""
    wide = width >= _WIDE
    yield _head(description)
    yield ""
    yield _columns(description, wide)
    if not wide:
        yield from _reasons(description)
    yield from _unsure(description)
    if description.together is not None:
        yield from _together(description.together)
    if description.person is not None:
        who = description.person
        yield ""
        rows = f"{who.mean:.2f} rows each on average, at most {who.most:,}"
        text = f"{who.persons:,} in '{printable(who.column)}', {rows}."
        if who.respelled:
            text += f" {who.respelled:,} ids are blank or only another spelling of one."
        if who.near:
            text += f" {who.near:,} ids look nearly like another one: look at them."
        yield Text.assemble(("Persons: ", "bold"), text)


def _head(description: Description) -> Text:
    text = Text.assemble((f"{description.rows:,} rows, {len(description.columns)} columns", "bold"))
    if description.dialect:
        text.append(f"\nRead with {description.dialect}.", "dim")
    if description.left_out:
        names = printable(", ".join(f"'{n}'" for n in description.left_out))
        text.append(f"\nLeft out (free text, or not in the schema): {names}.", "yellow")
    return text


def _columns(description: Description, wide: bool) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    grid.add_column("Column", overflow="fold", max_width=32)
    grid.add_column("Kind", no_wrap=True)
    grid.add_column("Role", no_wrap=True)
    for name in ("Levels", "Missing", "Unique"):
        grid.add_column(name, justify="right", no_wrap=True)
    grid.add_column("Identifies\n(bits)", no_wrap=True)
    if wide:
        grid.add_column("Why", overflow="fold", style="dim", min_width=24)
    for column in description.columns:
        cells: list[RenderableType] = [
            Text(printable(column.name)),
            column.kind,
            Text(column.role, _COLOURS.get(column.role, "")),
            f"{column.levels:,}",
            percent(column.missing),
            percent(column.unique),
            bar(column.identifying, 5).append(f" {column.entropy:4.1f}"),
        ]
        grid.add_row(*cells, *([Text(_why(column))] if wide else []))
    return grid


def _why(column: ColumnProfile) -> str:
    otherwise = "confirmed in the schema" if column.confirmed else "as the schema says"
    sure = f"{column.confidence}: " if column.confidence and column.reason else ""
    return printable(sure + (column.reason or otherwise))


def _reasons(description: Description) -> Iterator[RenderableType]:
    reasons = [(c.name, _why(c)) for c in description.columns if c.reason]
    if not reasons:
        return
    yield ""
    yield Text("Why these roles and kinds, and how sure that is", "bold")
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(overflow="fold", max_width=24)
    grid.add_column(overflow="fold", style="dim")
    for name, reason in reasons:
        grid.add_row(Text(printable(name)), Text(reason))
    yield Padding(grid, (0, 0, 0, 2))


def _unsure(description: Description) -> Iterator[RenderableType]:
    """What a person should look at first."""
    names = [f"'{c.name}'" for c in description.columns if c.confidence == UNSURE]
    if not names:
        return
    words = "1 role is an unsure guess" if len(names) == 1 else f"{len(names)} roles are unsure guesses"
    yield ""
    yield Text.assemble(("Look twice: ", "bold"), printable(f"{words}: {listed(names, _MOST_NAMES)}."))


def _together(together: Together) -> Iterator[RenderableType]:
    yield ""
    names = printable(", ".join(together.columns))
    yield Text.assemble(("Together: ", "bold"), f"{together.basis}: {names}")
    rows = "1 row" if together.smallest == 1 else f"{together.smallest:,} rows"
    yield Text(
        f"{together.combinations:,} combinations occur, the rarest in {rows}; "
        f"{percent(together.unique)} of the rows are alone in theirs."
    )
    if not together.steps:
        return
    yield ""
    yield Text("Rows that nobody else resembles, for someone who knows", "bold")
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(no_wrap=True)
    for step, label, added in _shown_steps(together):
        grid.add_row(label, Text(printable(added)), percent(step.unique), bar(step.unique, 12))
    yield Padding(grid, (0, 0, 0, 2))


def _shown_steps(together: Together) -> Iterator[tuple[UniquenessStep, str, str]]:
    """The pair, each further column, and all of them."""
    steps = together.steps
    for step in steps[:_MOST_STEPS]:
        n = len(step.columns)
        named = " and ".join(step.columns) if n == 2 else f"also {step.columns[-1]}"
        yield step, f"{n} columns", named
    last = steps[min(len(steps), _MOST_STEPS) - 1]
    if len(last.columns) < len(together.columns):
        whole = type(last)(together.columns, together.unique)
        yield (
            whole,
            f"all {len(together.columns)}",
            "no further column adds" if last.unique == together.unique else "",
        )


def html_description(description: Description) -> str:
    """A description as a table for notebooks."""
    head = "".join(
        f"<th>{h}</th>"
        for h in ("Column", "Kind", "Role", "Levels", "Missing", "Unique", "How identifying (bits)", "Why")
    )
    body = "".join(
        f"<tr><td>{escape(c.name)}</td><td>{c.kind}</td><td>{c.role}</td><td>{c.levels:,}</td>"
        f"<td>{percent(c.missing)}</td><td>{percent(c.unique)}</td><td>{c.entropy:.1f}</td>"
        f"<td>{escape(_why(c))}</td></tr>"
        for c in description.columns
    )
    lines = [f"{description.rows:,} rows, {len(description.columns)} columns."]
    if description.together is not None:
        t = description.together
        lines.append(
            f"{escape(t.basis)}: {escape(', '.join(t.columns))}. {t.combinations:,} combinations, "
            f"{percent(t.unique)} of the rows alone in theirs."
        )
        lines += [
            f"{escape(', '.join(s.columns))}: {percent(s.unique)} alone." for s in t.steps[:_MOST_STEPS]
        ]
    paragraphs = "".join(f"<p>{line}</p>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{paragraphs}"


# -- differences ---------------------------------------------------------------------------------


def rich_differences(differences: Differences) -> Group:
    """Everything that differs, then what is worth knowing."""
    parts: list[RenderableType] = []
    if differences.ok:
        parts.append(Text(f"The data is what {differences.schema} says.", "green"))
    else:
        number = len({d.column for d in differences.differences})
        verb = "column differs" if number == 1 else "columns differ"
        parts += [Text(f"{number} {verb} from {differences.schema}", "bold red")]
        parts.append(_grid(differences.differences))
    if differences.notes:
        parts += ["", Text("Worth knowing", "bold"), _grid(differences.notes)]
    return Group(*parts)


def _grid(items: tuple[Difference, ...]) -> Padding:
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(overflow="fold")
    grid.add_column(overflow="fold")
    for d in items:
        grid.add_row(Text(printable(d.column)), Text(d.what))
    return Padding(grid, (0, 0, 0, 2))
