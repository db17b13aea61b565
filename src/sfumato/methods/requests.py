"""What is asked beside the method: how many must be alike, how many rows are wanted, which tables, what is
predicted.

The same words in a plan's step, on the command line, and in `sf.anonymize`, `sf.synthesize` and `fit`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from sfumato.criteria.text import FORMS
from sfumato.errors import ParameterError
from sfumato.methods.declaration import Does
from sfumato.methods.parameters import Parameter
from sfumato.methods.shapes import Flag, ListOf, Number, TableOf, Text


def _names(doc: str, *, beginner: bool = False) -> Parameter:
    return Parameter(ListOf(Text(), doc, least=1), columns=True, beginner=beginner)


@dataclass(frozen=True)
class AnonymityRequest:
    """What is asked of every class of people who are alike."""

    k: Annotated[
        int | None,
        Parameter(
            Number("Every class has at least k persons, or rows where no column says whose.", 2, whole=True),
            beginner=True,
        ),
    ] = None
    persons: Annotated[
        bool | None,
        Parameter(Flag("Whether k counts persons or rows; by default persons where a column says whose.")),
    ] = None
    l: Annotated[  # noqa: E741
        Mapping[str, int],
        Parameter(
            TableOf(
                Number("", 2, whole=True), "Every class has this many different values in these columns."
            ),
            beginner=True,
            columns=True,
        ),
    ] = field(default_factory=dict)
    t: Annotated[
        Mapping[str, float],
        Parameter(
            TableOf(
                Number("", 0, 1, above=True), "Every class is within t of the whole file in these columns."
            ),
            columns=True,
        ),
    ] = field(default_factory=dict)
    criteria: Annotated[
        tuple[str, ...],
        Parameter(
            ListOf(Text(), f"What else is asked, as 'entropy-l(diagnosis, 3)': {', '.join(FORMS)}.", least=1)
        ),
    ] = ()
    quasi_identifiers: Annotated[
        tuple[str, ...] | None,
        _names("What an intruder may know; by default the columns of that role.", beginner=True),
    ] = None
    drop: Annotated[tuple[str, ...], _names("Columns to leave out.")] = ()


@dataclass(frozen=True)
class GeneralizationRequest(AnonymityRequest):
    """What is asked where values become more general."""

    weights: Annotated[
        Mapping[str, float],
        Parameter(TableOf(Number("", 0), "How much a column counts in the loss."), columns=True),
    ] = field(default_factory=dict)
    max_level: Annotated[
        Mapping[str, int],
        Parameter(TableOf(Number("", 0, whole=True), "How far a column may go, 0 not at all."), columns=True),
    ] = field(default_factory=dict)
    drop_rarer_than: Annotated[
        int | None,
        Parameter(Number("Leave out rows with a value that fewer rows have.", 1, whole=True)),
    ] = None
    bounds: Annotated[
        Mapping[str, tuple[float, float]],
        Parameter(
            TableOf(ListOf(Number(), least=2), "Leave out rows whose number lies outside [low, high]."),
            columns=True,
        ),
    ] = field(default_factory=dict)


@dataclass(frozen=True)
class RowsRequest:
    """How many rows are wanted."""

    rows: Annotated[
        int | None,
        Parameter(
            Number("How many rows, chosen without looking at the data.", 1, 1e9, whole=True),
            beginner=True,
        ),
    ] = None


@dataclass(frozen=True)
class PersonsRequest:
    """How many persons are wanted."""

    persons: Annotated[
        int | None,
        Parameter(
            Number(
                "How many persons, chosen without looking at the data; by default as many as there are.",
                1, 1e9, whole=True,
            ),
            beginner=True,
        ),
    ] = None  # fmt: skip


@dataclass(frozen=True)
class TargetRequest:
    """What is predicted."""

    target: Annotated[str, Parameter(Text("The column that is predicted."), beginner=True, columns=True)]


@dataclass(frozen=True)
class TablesRequest:
    """Which tables, and what each cell shows."""

    by: Annotated[
        tuple[str, ...],
        Parameter(
            ListOf(
                Text(),
                "The tables: 'area>county,age' is by county within area, and age, with all totals.",
                least=1,
                whole_items=True,
            ),
            beginner=True,
        ),
    ]
    minimum: Annotated[
        int,
        Parameter(Number("Counts of 1 to minimum - 1 people are sensitive.", 2, whole=True), beginner=True),
    ] = 5
    sum: Annotated[
        str | None,
        Parameter(Text("A column that is summed in every cell, too."), columns=True, beginner=True),
    ] = None
    mean: Annotated[bool, Parameter(Flag("Show the mean of the summed column, not its sum."))] = False
    weight: Annotated[
        str | None, Parameter(Text("A column of weights: counts and sums are weighted."), columns=True)
    ] = None
    homogeneity: Annotated[
        str | None,
        Parameter(Text("Hide also that all of a group are in one category of this column."), columns=True),
    ] = None
    keep: Annotated[
        tuple[str, ...],
        Parameter(
            ListOf(
                Text(),
                "Totals to be published in any case, by columns: 'area,age'; 'all' is the grand total.",
                whole_items=True,
            )
        ),
    ] = ()
    price: Annotated[
        tuple[str, ...],
        Parameter(
            ListOf(
                Text(),
                "What totals cost to withhold: 'area,age=3': those by area and age are three times as dear.",
                whole_items=True,
            )
        ),
    ] = ()
    earlier: Annotated[
        tuple[str, ...],
        Parameter(
            ListOf(
                Text(),
                "Releases of tables of the same people that were published before; 'first where quarter=q1' "
                "if it was of those alone.",
                whole_items=True,
            )
        ),
    ] = ()


def price_of(text: str) -> tuple[tuple[str, ...], float]:
    """The columns of some totals, and how dear they are: 'area,age=3', 'all=10' for the grand total."""
    columns, _, number = text.rpartition("=")
    try:
        price = float(number)
    except ValueError:
        price = 0.0
    if not columns.strip() or not price > 0:
        raise ParameterError("how dear are which totals?", hint="such as 'area,age=3', or 'all=10'")
    return (() if columns.strip() == "all" else tuple(n.strip() for n in columns.split(","))), price


def earlier_folder(text: str) -> tuple[str, dict[str, str]]:
    """The folder of an earlier release, and of whom it was: 'first where quarter=q1, sex=f'."""
    folder, _, people = text.partition(" where ")
    labels = [part.partition("=") for part in people.split(",") if part.strip()]
    if not all(sign and name.strip() and value.strip() for name, sign, value in labels):
        raise ParameterError("of whom was the earlier release?", hint="such as 'first where quarter=q1'")
    return folder.strip(), {name.strip(): value.strip() for name, _, value in labels}


@dataclass(frozen=True)
class EmptyRequest:
    """Where the method says it all."""


REQUESTS: dict[Does, type] = {
    Does.GENERALIZE: GeneralizationRequest,
    Does.EXCHANGE: AnonymityRequest,
    Does.SYNTHESIZE: RowsRequest,
    Does.PEOPLE: PersonsRequest,
    Does.REPLACE: EmptyRequest,
    Does.TABULATE: TablesRequest,
    Does.FIT: TargetRequest,
}
ASKING = ("k", "l", "t", "criteria")  # one of these must be given where classes are made
