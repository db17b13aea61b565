"""hierarchy build, check, show, convert: how values become more general."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.text import Text

from sfumato.cli.commands import Data, Overwrite, ReadOptions, SchemaFile
from sfumato.cli.terminal import Terminal
from sfumato.errors import DataError, ParameterError, listed

if TYPE_CHECKING:
    from typer.models import OptionInfo

    from sfumato.hierarchy import Hierarchy, Recipe
    from sfumato.hierarchy.poset import Poset

T = TypeVar("T")
_RECIPES = "What the levels are (one of these)"
_MORE = "More about the levels"

File = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="A table of levels (CSV) or a Hierarchy.xml.", show_default=False),
]
PosetName = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="Which poset of a Hierarchy.xml.", show_default=False),
]


def _recipe(name: str, metavar: str | None, help_: str) -> OptionInfo:
    made: OptionInfo = typer.Option(
        name, metavar=metavar, help=help_, rich_help_panel=_RECIPES, show_default=False
    )
    return made


def _more(name: str, metavar: str | None, help_: str) -> OptionInfo:
    made: OptionInfo = typer.Option(
        name, metavar=metavar, help=help_, rich_help_panel=_MORE, show_default=False
    )
    return made


def build(
    terminal: Terminal,
    reading: ReadOptions,
    data: Data,
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="Whose values.", show_default=False)],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="A .csv or .xml file.", show_default=False)
    ],
    intervals: Annotated[str | None, _recipe("--intervals", "WIDTHS", "Bands, as 5,10,20.")] = None,
    edges: Annotated[
        list[str] | None, _recipe("--edges", "EDGES", "Bands, as 0,18,65,120; may be repeated, finest first.")
    ] = None,
    ages: Annotated[bool, _recipe("--ages", None, "Years of age, 90 and over as one.")] = False,
    prefixes: Annotated[str | None, _recipe("--prefixes", "LENGTHS", "First characters, as 4,3,2.")] = None,
    icd9: Annotated[bool, _recipe("--icd9", None, "ICD-9-CM codes and categories.")] = False,
    chapters: Annotated[
        bool, _more("--chapters", None, "Blocks and chapters of ICD above the category.")
    ] = False,
    icd10: Annotated[bool, _recipe("--icd10", None, "ICD-10 codes and categories.")] = False,
    calendar: Annotated[
        str | None,
        _recipe("--calendar", "STEPS", "Some of day,month,quarter,year and years, as month,year,10."),
    ] = None,
    suppress: Annotated[bool, _recipe("--suppress", None, "The value or nothing.")] = False,
    levels: Annotated[
        Path | None, _recipe("--levels", "FILE", "A table of levels; values that do not occur are left out.")
    ] = None,
    low: Annotated[float, _more("--low", "NUMBER", "Where a band starts.")] = 0.0,
    bottom: Annotated[float | None, _more("--bottom", "NUMBER", "Below it all are one band.")] = None,
    top: Annotated[float | None, _more("--top", "NUMBER", "From it on all are one band.")] = None,
    width: Annotated[int, _more("--width", "N", "Fill codes with zeros to this width.")] = 0,
    above: Annotated[
        Path | None, _more("--above", "FILE", "A CSV of category and the levels above it (chapters).")
    ] = None,
    schema: SchemaFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Make a hierarchy for the values of a column, and write it.

    The file holds the column's values: keep it as safe as the data if those are not public.
    """
    import sfumato.hierarchy as h

    table = _above(above)
    makers: dict[str, tuple[object, Callable[[], Recipe]]] = {
        "--intervals": (
            intervals,
            lambda: h.Intervals(widths=_numbers(intervals), low=low, bottom=bottom, top=top),
        ),
        "--edges": (
            edges,
            lambda: h.Intervals(edges=tuple(map(_numbers, edges or ())), bottom=bottom, top=top),
        ),
        "--ages": (ages, lambda: h.ages(top=90 if top is None else top, bottom=bottom)),
        "--prefixes": (prefixes, lambda: h.Prefixes(_wholes(prefixes), width=width, above=table)),
        "--icd9": (icd9, lambda: h.Icd9(above=table, chapters=chapters)),
        "--icd10": (icd10, lambda: h.Icd10(above=table, chapters=chapters)),
        "--calendar": (calendar, lambda: h.Calendar(_steps(calendar or ""))),
        "--suppress": (suppress, h.Suppression),
        "--levels": (levels, lambda: h.LevelTable(tuple(h.read_levels(levels or "").rows()))),
    }
    chosen = [name for name, (given, _) in makers.items() if given]
    if len(chosen) != 1:
        said = f"{len(chosen)} are given: {listed(chosen)}" if chosen else "none is given"
        raise ParameterError(f"say what the levels are, once; {said}.", hint="such as --intervals 5,10,20")
    recipe = makers[chosen[0]][1]()
    made = _named(column, lambda: recipe.over(_values(reading, data, column, schema)))
    _write(out, made, column, overwrite)
    terminal.result(
        [Text(f"{out.name}: {_sizes(made)}.", "green")],
        {"written": str(out), "column": column, **_plain(made)},
    )
    terminal.note("the file holds the column's values; keep it as safe as the data if those are not public.")


def check(
    terminal: Terminal,
    reading: ReadOptions,
    file: File,
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="Whether it has all values.", show_default=False)
    ] = None,
    column: Annotated[
        str | None, typer.Argument(metavar="[COLUMN]", help="Of this column.", show_default=False)
    ] = None,
    name: PosetName = None,
    schema: SchemaFile = None,
) -> int:
    """List everything that is wrong with a hierarchy; exit code 1 if anything is.

    With DATA and COLUMN also whether all values of the column are in it.
    """
    from sfumato.hierarchy import Hierarchy
    from sfumato.hierarchy.tables import read_text

    if (data is None) != (column is None):
        raise ParameterError("DATA and COLUMN go together.", hint="sfumato hierarchy check FILE DATA COLUMN")
    read_text(file)  # what cannot be read is no finding
    values = None if data is None or column is None else _values(reading, data, column, schema)
    faults: list[str] = []
    remarks: list[str] = []
    found: dict[str, Any] = {}
    try:
        found = _everything(file, name)
        remarks = [r for p in found.values() if isinstance(p, Hierarchy) for r in _remarks(p)]
        if values is not None and column is not None:
            poset = _only(found, file)
            _named(column, lambda: _all_there(poset, values))
    except DataError as problem:
        faults.append(problem.message)
        terminal.values({"": problem.values})
    shown = [Text(f"✗ {fault}", "red") for fault in faults] + [Text(f"! {r}", "yellow") for r in remarks]
    if not faults:
        shown += [Text(f"{called}: {_sizes(p)}.", "green") for called, p in found.items()]
    terminal.result(shown, {"ok": not faults, "faults": faults, "remarks": remarks})
    return 1 if faults else 0


def show(
    terminal: Terminal,
    reading: ReadOptions,
    file: File,
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="Whose rows are counted.", show_default=False)
    ] = None,
    column: Annotated[
        str | None, typer.Argument(metavar="[COLUMN]", help="Of this column.", show_default=False)
    ] = None,
    name: PosetName = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Nodes shown.")] = 60,
    schema: SchemaFile = None,
) -> None:
    """Show a hierarchy as a tree, with how many values lie under each node.

    With DATA and COLUMN also how many rows. That is for your eyes, no table to publish: counts of 1 to 10 are
    written as such, and the others may still tell them.
    """
    from sfumato.cli.hierarchy_tree import tree_of

    if (data is None) != (column is None):
        raise ParameterError("DATA and COLUMN go together.", hint="sfumato hierarchy show FILE DATA COLUMN")
    found = _read(file, name)
    rows = None
    if data is not None and column is not None:
        rows = _rows_of(reading, data, column, schema)
        absent = [value for value in rows if value not in found.places]
        if absent:
            terminal.note(f"{len(absent):,} values of '{column}' are not in the hierarchy.")
            terminal.values({column: absent})
    tree, hidden = tree_of(found, limit, rows)
    last = Text(f"{hidden:,} more nodes (--limit)" if hidden else _sizes(found), "dim")
    terminal.result([tree, last], {**_plain(found), "rows": found.rows()})


def convert(
    terminal: Terminal,
    file: File,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A .csv or .xml file.", show_default=False)],
    name: PosetName = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a table of levels as Hierarchy.xml, or a poset of one as a table of levels."""
    found = _read(file, name)
    _write(out, found, name or file.stem, overwrite)
    terminal.result(Text(f"{out.name}: {_sizes(found)}.", "green"), {"written": str(out), **_plain(found)})


# -- reading and writing ---------------------------------------------------------------------------


def _everything(file: Path, name: str | None) -> dict[str, Any]:
    """The hierarchy of a table of levels, or the posets of a Hierarchy.xml, by what to call them."""
    from sfumato.hierarchy import read_levels, read_posets

    if file.suffix.lower() != ".xml":
        return {file.name: read_levels(file)}
    posets = {f"{space}/{own}": p for (space, own), p in read_posets(file).items()}
    return {called: p for called, p in posets.items() if name in (None, called, called.partition("/")[2])}


def _only(found: Mapping[str, T], file: Path) -> T:
    if len(found) != 1:
        names = listed([repr(called) for called in found]) or "none"
        raise ParameterError(f"which poset of {file.name} is meant? There may be {names}.", hint="say --name")
    return next(iter(found.values()))


def _read(file: Path, name: str | None) -> Hierarchy:
    """A hierarchy with levels."""
    from sfumato.hierarchy import Hierarchy, Matrix

    kinds = (Hierarchy, Matrix)
    found = _only({c: p for c, p in _everything(file, name).items() if isinstance(p, kinds)}, file)
    return found if isinstance(found, Hierarchy) else found.levels()


def _all_there(poset: Poset[Any] | Recipe | None, values: list[object]) -> None:
    """Refuse values that have no node, all at once."""
    if poset is None:  # passes through: whatever the values are
        return
    if hasattr(poset, "over"):
        poset.over(values)
        return
    absent = []
    for value in values:
        try:
            poset.node(value)
        except DataError:
            absent.append(value)
    if absent:
        raise DataError(f"{len(absent)} of {len(values)} values are not in the poset.", values=absent)


def _write(out: Path, found: Hierarchy, name: str, overwrite: bool) -> None:
    from sfumato.hierarchy import write_levels, write_posets
    from sfumato.io.atomic import write_text

    suffix = out.suffix.lower()
    if suffix not in (".csv", ".xml"):
        raise ParameterError("a hierarchy is written as .csv or .xml.", hint=f"{out.stem}.csv")
    write_text(
        out, write_levels(found) if suffix == ".csv" else write_posets({name: found}), overwrite=overwrite
    )


def _values(reading: ReadOptions, data: str, column: str, schema: Path | None) -> list[object]:
    """The values of a column as they stand in the data, not in a schema's bins."""
    from sfumato.schema import Schema

    known = None if schema is None else Schema.read(schema).select([column])
    if known is not None and known[column].edges is not None:
        known = Schema((replace(known[column], edges=None),))
    table = reading.scan(data, known, columns=[column], keep_text=True)
    values: list[object] = table.counts(column).codebooks[0].levels.to_pylist()
    return values


def _rows_of(reading: ReadOptions, data: str, column: str, schema: Path | None) -> dict[str, int]:
    """How many rows have each value of a column."""
    from sfumato.schema import Schema

    known = None if schema is None else Schema.read(schema).select([column])
    if known is not None and known[column].edges is not None:
        known = Schema((replace(known[column], edges=None),))
    counts = reading.scan(data, known, columns=[column], keep_text=True).counts(column)
    values = counts.codebooks[0].decode(counts.codes[:, 0]).to_pylist()
    return {str(v): int(n) for v, n in zip(values, counts.n.tolist(), strict=True) if v is not None}


def _named(column: str, work: Callable[[], T]) -> T:
    """Say which column a refusal is about."""
    try:
        return work()
    except DataError as problem:
        raise DataError(
            f"column '{column}': {problem.message}", hint=problem.hint, values=problem.values
        ) from None


def _above(file: Path | None) -> dict[str, tuple[str, ...]] | None:
    """Rows of a table by their first cell; the root is left out, it is put above all anyway."""
    if file is None:
        return None
    from sfumato.hierarchy import read_levels

    return {row[0]: row[1:-1] for row in read_levels(file).rows()}


def _numbers(text: str | None) -> tuple[float, ...]:
    try:
        found = tuple(float(part) for part in (text or "").split(","))
        return tuple(int(x) if x.is_integer() else x for x in found)
    except ValueError:
        raise ParameterError("an option must be a list of numbers.", hint="as 5,10,20") from None


def _wholes(text: str | None) -> tuple[int, ...]:
    found = _numbers(text)
    if not all(isinstance(x, int) for x in found):
        raise ParameterError("an option must be a list of whole numbers.", hint="as 4,3,2")
    return tuple(int(x) for x in found)


def _steps(text: str) -> tuple[str | int, ...]:
    return tuple(int(part) if part.strip().isdecimal() else part.strip() for part in text.split(","))


# -- showing ---------------------------------------------------------------------------------------


def _sizes(found: object) -> str:
    from sfumato.hierarchy import Hierarchy, Matrix

    if isinstance(found, Matrix):
        return f"{found.domain:,} values, {found.size:,} nodes"
    if not isinstance(found, Hierarchy):
        return "passes through" if found is None else type(found).__name__
    counts = " > ".join(f"{len(names):,}" for names in found.labels)
    return f"{len(found.leaves):,} values on {found.height + 1} levels ({counts})"


def _plain(found: Hierarchy) -> dict[str, object]:
    return {"values": len(found.leaves), "levels": [len(names) for names in found.labels]}


def _remarks(found: Hierarchy) -> list[str]:
    """What is no fault, but may not be meant."""
    import numpy as np

    from sfumato.assessment.reading.notation import spans

    remarks = []
    leaves = spans(list(found.leaves))
    if all(leaf is not None and leaf.point for leaf in leaves):
        at = np.array([leaf.low for leaf in leaves if leaf is not None])
        for height, names in enumerate(found.labels[1:-1], 1):
            read = spans(list(names))
            outside = sum(
                not bool(span.holds(at[i : i + 1])[0])
                for i, j in enumerate(found.ancestors[height])
                if (span := read[j]) is not None
            )
            if outside:
                remarks.append(
                    f"level {height}: {outside} values lie outside the interval that names their node"
                )
    for height in range(1, found.height + 1):
        if len(found.labels[height]) == len(found.labels[height - 1]):
            remarks.append(f"level {height} has as many nodes as level {height - 1}: a step without effect")
    names_of: dict[str, set[int]] = {}
    for node, text in enumerate(found.node_labels):
        names_of.setdefault(text, set()).add(int(found.leaf_counts[node]))
    twice = sum(len(sizes) > 1 for sizes in names_of.values())
    if twice:
        remarks.append(f"{twice} names stand for groups of different size on different levels")
    return remarks
