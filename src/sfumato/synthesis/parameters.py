"""Parameters that several synthesizers share, declared once: columns, weights, constraints, engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.methods.parameters import Parameter
from sfumato.methods.shapes import Either, Flag, ListOf, Number, Plain, Record, TableOf, Text
from sfumato.privacy import Neighbours
from sfumato.synthesis.constraints import Constraint, from_document, read_file, to_document

MOST_EPSILON = 1000.0  # more is a slip of the pen


def amount(doc: str, **more: Any) -> Parameter:
    """An epsilon."""
    return Parameter(Number(doc, 0, MOST_EPSILON, above=True), unit="epsilon", **more)


def count(doc: str, least: int = 0, **more: Any) -> Parameter:
    """A whole number from `least` up."""
    return Parameter(Number(doc, least, whole=True), **more)


EPSILON = amount("What the whole release costs, all rows together.", beginner=True)
EPSILON_PER_ROW = amount("What each released row costs instead; the guarantee says the total it comes to.")
COLUMNS = Parameter(
    ListOf(Text(), "Which are synthesized; by default all but those that name people.", least=1),
    beginner=True, columns=True,
)  # fmt: skip
WEIGHT = Parameter(Text("The column of survey weights that rows count by."), columns=True)
DOMAIN = Parameter(
    Text(
        "'public': listed, declared or found (docs/domains.md). 'data': read off the data, no promise.",
        ("public", "data"),
    )
)
NEIGHBOURS = Parameter(Text("Which data sets the promise is about.", tuple(Neighbours)))
PROPER = Parameter(Flag("Draw the models' parameters too, as intervals from several sets need."))
_OWN = "or, in Python, an engine of your own"
_ENGINE_NAMES = ("models", "elastic-net", "trees", "forests", "marginals")
ENGINE = Parameter(Text(f"The models that columns are drawn from, {_OWN}.", _ENGINE_NAMES), beginner=True)
ENGINES = Parameter(TableOf(Text("", _ENGINE_NAMES), f"The engine of single columns, {_OWN}."), columns=True)

_CONDITIONS = TableOf(Plain(), "{column: a value, or a list of values}")
_RULES = Record(
    {
        "never": ListOf(_CONDITIONS, "Combinations that nobody has."),
        "implies": ListOf(
            Record({"when": _CONDITIONS, "then": _CONDITIONS}, required=("when", "then")),
            "Whoever has all of when has all of then.",
        ),
        "ordered": ListOf(
            Record({"first": Text(), "second": Text()}, required=("first", "second")),
            "The first column is never above the second.",
        ),
        "within": ListOf(
            Record(
                {
                    "column": Text("The detailed code."),
                    "group": Text("The column of its groups."),
                    "members": TableOf(Plain(), "The codes of each group."),
                    "file": Text("A CSV file of code and group instead, with a header."),
                },
                required=("column", "group"),
            ),
            "Detailed codes in two steps: first the group, then the code within it.",
        ),
    }
)


def _read_constraints(value: str | Mapping[str, Any], folder: Path) -> tuple[Constraint, ...]:
    return read_file(folder / value) if isinstance(value, str) else from_document(value, folder)


def _write_constraints(value: Sequence[Constraint]) -> Mapping[str, Any] | None:
    return to_document(value) or None


CONSTRAINTS = Parameter(
    Either(
        (Text("A TOML file of them."), _RULES),
        "a TOML file, or tables never, implies, ordered and within",
        "What cannot be: a TOML file, or tables never, implies, ordered and within.",
    ),
    read=_read_constraints,
    write=_write_constraints,
)
