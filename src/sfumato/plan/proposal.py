"""`sfumato init`: a first plan and schema after one look at the data, every guess marked as one.

The plan k-anonymizes as it stands, and what it makes is stamped DRAFT. Roles and kinds come from the
inference of `scan`, each with its reason; hierarchies from the values (`proposed_hierarchies`) and from
columns that nest in each other (`nesting`). Both files may hold values of single persons (levels of the
schema) and counts (reasons): they are to be kept as safe as the data.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.counts import Counts
from sfumato.description import scan_as, update
from sfumato.description.one_way import one_way, open_table
from sfumato.errors import OutputError, listed
from sfumato.io import scan
from sfumato.io.addresses import is_url, with_relative_file, without_secrets
from sfumato.io.atomic import write_text
from sfumato.plan.holdback import suggested
from sfumato.plan.limits import GAIN, PUBLIC, asked_of
from sfumato.plan.limits import recipient as recipient_of
from sfumato.plan.nested_columns import chains
from sfumato.plan.proposal_text import (
    Asked,
    Guess,
    ProposedStep,
    entry_line,
    plan_text,
    schema_text,
    synthesizes,
)
from sfumato.plan.proposed_hierarchies import OLD, SUPPRESS, Values, age_unit, proposed
from sfumato.plan.recipes import recipe
from sfumato.plan.spec import NAME, json_schema_text
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.table import Table

_CATEGORIES = (Kind.NOMINAL, Kind.ORDINAL)
_HALF = 0.5
_MOST_DIVERSE = 5  # columns that diversity is asked of by default
_FINE, _BANDED = 12, 4  # values of a number worth banding; how many columns are named
_COMMON = 10  # times k people under a value, on average, for it to be worth keeping


@dataclass(frozen=True)
class Proposal:
    """A plan and a schema as text, and the guesses they were made of."""

    guesses: tuple[Guess, ...]
    plan: str
    schema: str
    variables: tuple[str, ...] = ()  # of the environment, which the address of the data names
    nodes: int = 1  # ways to choose a level for each quasi-identifier
    rows: int = 0
    again: Callable[[str], str] | None = field(default=None, repr=False, compare=False)
    bands: Mapping[str, str] = field(default_factory=dict)
    """Columns released as they are that tell most of a person: the plan's line to have them in bands."""

    def by(self, method: str) -> Proposal:
        """The same plan with another method."""
        assert self.again is not None, "made by propose"
        return replace(self, plan=self.again(method))

    def of_role(self, role: Role) -> tuple[str, ...]:
        """The columns that were taken for this."""
        return tuple(g.column.name for g in self.guesses if g.column.role is role and not g.drop)


def propose(
    data: str,
    *,
    folder: str | Path = ".",
    k: int | None = None,
    recipient: str = PUBLIC.name,
    schema: str = "schema.toml",
    known: Schema | None = None,
    settings: Mapping[str, Any] | None = None,
    keep_text: bool = False,
    scanned: Table | None = None,
    **options: Any,
) -> Proposal:
    """Look at data and propose how to release it.

    folder: where the plan will lie; the data is named from there.
    recipient: who receives the file, the "public" or someone under "agreement": sets the limits.
    k: another one than is usual for them.
    known: what a person has written of the columns; the rest is guessed.
    settings: of the step, beside k, as method and l; by default those that fit the data.
    keep_text: free text stays in.
    scanned: the data as it was read with these options already, free text and all.
    options: how the data is read, as for `scan`. A password in the address of a database is left out: the
        plan names a variable in its place.
    """
    who = recipient_of(recipient)
    k = who.k if k is None else k
    if known is None:
        table = _without_blanks(scan(data, keep_text=True, **options) if scanned is None else scanned)
    else:
        table = scan_as(data, known, **options)
    meant = update(known, table)
    values = _values(table.with_schema(meant))
    rows = table.rows()
    where, variables = without_secrets(data) if is_url(data) else (_from(data, Path(folder)), ())
    where = with_relative_file(where, lambda path: _from(path, Path(folder)))
    guesses = _guesses(table.with_schema(meant), values, rows / (_COMMON * k))
    limits = asked_of(who, k)
    if settings and "method" in settings and synthesizes(settings["method"]):
        limits = tuple(limit for limit in limits if limit.name == GAIN)  # synthetic rows have no classes
    asked = Asked(who, limits, k, suggested(_people(table.with_schema(meant), rows)))
    nodes = _nodes(guesses, values)
    step = ProposedStep(settings or {}, diverse(guesses, values), nodes, keep_text)

    reading = getattr(table.source.origin, "reading", "")

    def text(method: str | None = None) -> str:
        own = step if method is None else replace(step, settings={**step.settings, "method": method})
        return plan_text(guesses, where, schema, options, asked, rows, own, reading)

    return Proposal(
        guesses,
        text(),
        schema_text(Schema(tuple(g.column for g in guesses))),
        variables,
        nodes,
        rows,
        text,
        _bands(guesses, values),
    )


def diverse(guesses: Sequence[Guess], values: Mapping[str, Values]) -> tuple[str, ...]:
    """Sensitive columns that every class should have two values of, at a small price.

    Those of categories of which none has half of the rows: in others most classes of any method are alike,
    and asking for a second value would cost more than it hides. Of columns that say the same, the first.
    """
    found: dict[tuple[int, ...], str] = {}
    for guess in guesses:
        name = guess.column.name
        if guess.column.role is not Role.SENSITIVE or guess.drop or guess.column.kind not in _CATEGORIES:
            continue
        n = sorted(values[name].n, reverse=True) if name in values else []
        if len(n) > 2 and n[0] <= _HALF * sum(n):
            found.setdefault(tuple(n), name)
    return tuple(found.values())[:_MOST_DIVERSE]


def _bands(guesses: Sequence[Guess], values: Mapping[str, Values]) -> dict[str, str]:
    """Of the numbers that are released as they are, those that tell most: the lines that band them."""
    found: dict[str, tuple[float, str]] = {}
    for guess in guesses:
        column = guess.column
        kept = column.role in (Role.SENSITIVE, Role.OTHER) and not guess.drop and column.kind is Kind.NUMERIC
        if not kept or column.name not in values or len(values[column.name].levels) < _FINE:
            continue
        hierarchy, _ = proposed(replace(column, role=Role.QUASI_IDENTIFIER), values[column.name])
        if hierarchy in (None, SUPPRESS):
            continue
        n = np.array(values[column.name].n, float)
        shares = n[n > 0] / n.sum()
        told = float(-(shares * np.log2(shares)).sum())
        found[column.name] = told, entry_line(column.name, Role.QUASI_IDENTIFIER, hierarchy)
    return {name: found[name][1] for name in sorted(found, key=lambda c: -found[c][0])[:_BANDED]}


def bands_of(table: Table) -> dict[str, str]:
    """Of a table that is released: for numbers that tell most of a person, the lines that band them."""
    return _bands([Guess(column) for column in table.schema], _values(table))


def _people(table: Table, rows: int) -> int:
    """How many people there are, where a column says so; rows otherwise."""
    person = next(iter(table.schema.of_role(Role.PERSON)), None)
    return rows if person is None else table.codebooks([person])[person].size


def suggested_hierarchies(table: Table, k: int = 5) -> dict[str, Any]:
    """A hierarchy for each quasi-identifier of a table, guessed from its values as `init` guesses them."""
    known = table.schema.of_role(Role.QUASI_IDENTIFIER)
    if not known:
        return {}
    part = table.select(known)
    guesses = _guesses(part, _values(part), table.rows() / (_COMMON * k))
    return {g.column.name: recipe(g.hierarchy or SUPPRESS, Path()) for g in guesses if not g.goes_with}


def write(
    proposal: Proposal, folder: Path, *, overwrite: bool = False, schema: str = "schema.toml"
) -> list[Path]:
    """Write plan, schema and the JSON Schema for editors; nothing is replaced unasked."""
    texts = {"plan.toml": proposal.plan, schema: proposal.schema, NAME: json_schema_text()}
    there = [n for n in texts if (folder / n).exists() and not _holds(folder / n, texts[n])]
    if there and not overwrite:
        raise OutputError(
            f"{listed(there)} is there already.",
            hint="--overwrite (or --force, of init) replaces it; --out DIR writes elsewhere",
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_text(folder / name, text, overwrite=True, private=name != NAME)
    return [folder / name for name in texts]


def _holds(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode("utf-8")
    except OSError:
        return False


def _from(data: str, folder: Path) -> str:
    """The path of the data as the plan's folder sees it."""
    return Path(os.path.relpath(Path(data).absolute(), folder.absolute())).as_posix()


# -- looking -------------------------------------------------------------------------------------------


def _values(table: Table) -> dict[str, Values]:
    """The values that occur in each column that does not name people, and how often."""
    apart = (Role.IDENTIFIER, Role.PERSON)
    wanted = [c.name for c in table.schema if c.role not in apart and c.kind is not Kind.TEXT]
    counted, _ = one_way(open_table(table, wanted))
    return {name: _counted(counts) for name, counts in counted.items()}


def _counted(counts: Counts) -> Values:
    levels = counts.codebooks[0].levels.to_pylist()
    n = [0] * len(levels)
    for code, rows in zip(counts.codes[:, 0].tolist(), counts.n.tolist(), strict=True):
        if code < len(levels):
            n[code] = int(rows)
    return Values(levels, n)


def _without_blanks(table: Table) -> Table:
    """An empty text is a missing cell."""
    texts = [c.name for c in table.schema if c.type == "text" and c.kind is not Kind.TEXT]
    blank = {n for n, book in table.codebooks(texts).items() if _has_blank(book.levels)} if texts else set()
    columns = [
        replace(c, missing_codes=(*c.missing_codes, ""), reason=f"{c.reason}; empty cells are missing")
        if c.name in blank
        else c
        for c in table.schema
    ]
    return table.with_schema(Schema(tuple(columns))) if blank else table


def _has_blank(levels: pa.Array) -> bool:
    return "" in levels.to_pylist()


def _guesses(table: Table, values: Mapping[str, Values], most: float) -> tuple[Guess, ...]:
    """What is proposed for each column. most: so many values without an order are too many to hide among."""
    alone = [_guess(c, values.get(c.name, Values([])), most) for c in table.schema]
    # What has an order of its own, as days and ages have, is not made more general by other columns.
    ordered = {g.column.name for g in alone if g.hierarchy not in (None, SUPPRESS)}
    sizes = {n: len(v.levels) for n, v in values.items()}
    found = {
        fine: up for fine, up in chains(table, tuple(table.schema), sizes).items() if fine not in ordered
    }
    above = {c: fine for fine, up in found.items() for c in up}
    return tuple(_chained(g, found, above) for g in alone)


def _chained(guess: Guess, found: Mapping[str, tuple[str, ...]], above: Mapping[str, str]) -> Guess:
    name = guess.column.name
    if name in found:
        words = " and ".join(f"one '{c}'" for c in found[name])
        because = f"each value lies in {words}"
        return Guess(guess.column, {"recipe": "columns", "above": list(found[name])}, because=because)
    if name in above:
        because = f"'{above[name]}' says what it is: made more general together"
        return Guess(guess.column, because=because, goes_with=above[name])
    return guess


def _guess(column: Column, values: Values, most: float) -> Guess:
    """most: so many values without any order leave too few people under each to hide among."""
    if column.role in (Role.IDENTIFIER, Role.PERSON) or column.kind is Kind.TEXT:
        return Guess(column)
    if len(values.levels) <= 1:
        nothing = "no filled cell" if not values.levels else "the same in every filled cell"
        return Guess(column, drop=nothing)
    hierarchy, because = proposed(column, values)
    if hierarchy == SUPPRESS and len(values.levels) > max(most, 2):
        n = f"{len(values.levels):,}"
        many = f"{n} values are too many to hide among, and nothing is known that they belong to"
        return Guess(column, hierarchy, drop=many)
    old = OLD.get(age_unit(column))
    beyond = old is not None and max(values.numbers, default=0) > old
    return Guess(column, hierarchy, top=old if beyond else None, because=because)


def _nodes(guesses: Sequence[Guess], values: Mapping[str, Values]) -> int:
    """How many ways there are to choose a level for each quasi-identifier."""
    known = [g for g in guesses if g.column.role is Role.QUASI_IDENTIFIER and not g.drop and g.hierarchy]
    found = 1
    for guess in known:
        assert guess.hierarchy is not None
        if isinstance(guess.hierarchy, dict) and guess.hierarchy["recipe"] == "columns":
            found *= len(guess.hierarchy["above"]) + 2
        else:
            levels = values[guess.column.name].levels
            found *= len(recipe(guess.hierarchy, Path(".")).over(levels).labels)
    return found
