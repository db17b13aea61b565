"""`sfumato init`: a first plan and schema after one look at the data, every guess marked as one.

The plan k-anonymizes as it stands, and what it makes is stamped DRAFT. Roles and kinds come from the
inference of `scan`, each with its reason; hierarchies from the values: ages and other numbers in bands, days
by month and year, ZIP codes by their first digits, ICD codes by category. Both files may hold values of
single persons (levels of the schema) and counts (reasons): they are to be kept as safe as the data.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.description import update
from sfumato.description.one_way import one_way, open_table
from sfumato.errors import OutputError, listed
from sfumato.inference import names
from sfumato.io import scan
from sfumato.io.addresses import is_url, with_relative_file, without_secrets
from sfumato.io.atomic import write_text
from sfumato.plan.holdback import suggested
from sfumato.plan.limits import PUBLIC, asked_of
from sfumato.plan.limits import recipient as recipient_of
from sfumato.plan.proposal_text import Asked, Guess, plan_text, schema_text
from sfumato.plan.recipes import band, recipe
from sfumato.plan.spec import NAME, json_schema_text
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.table import Table

_ZIP = frozenset({"zip", "zipcode", "zcta", "plz", "postleitzahl", "postcode", "postal", "postalcode"})
_AGE = frozenset({"age", "ages", "alter"})
_DIAGNOSIS = frozenset({"diag", "diagnosis", "diagnoses", "dx", "icd", "icd9", "icd10", "dgns", "diagnose"})
_ICD9 = re.compile(r"(\d{1,3}|\d{3}\.?\d{1,2}|V\d{2}\.?\d{0,2}|E\d{3}\.?\d?)")
_ICD10 = re.compile(r"[A-TV-Z]\d[0-9A-Z]\.?[0-9A-Z]{0,4}")
_COMPACT_DAY = re.compile(r"(19|20)\d{2}(0[1-9]|1[0-2])([0-2]\d|3[01])")
_OLD = 90  # years, from which on ages are one category under HIPAA's Safe Harbor
_MOSTLY = 0.95
_COMMON = 10  # times k people under a value, on average, for it to be worth keeping


@dataclass(frozen=True)
class Proposal:
    """A plan and a schema as text, and the guesses they were made of."""

    guesses: tuple[Guess, ...]
    plan: str
    schema: str
    variables: tuple[str, ...] = ()  # of the environment, which the address of the data names

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
    **options: Any,
) -> Proposal:
    """Look at data and propose how to release it.

    folder: where the plan will lie; the data is named from there.
    recipient: who receives the file, the "public" or someone under "agreement": sets the limits.
    k: another one than is usual for them.
    options: how the data is read, as for `scan`. A password in the address of a database is left out: the
        plan names a variable in its place.
    """
    who = recipient_of(recipient)
    k = who.k if k is None else k
    table = _without_blanks(scan(data, keep_text=True, **options))
    meant = update(None, table)
    values = _values(table.with_schema(meant))
    rows = table.rows()
    where, variables = without_secrets(data) if is_url(data) else (_from(data, Path(folder)), ())
    where = with_relative_file(where, lambda path: _from(path, Path(folder)))
    guesses = tuple(_guess(c, values.get(c.name, []), rows / (_COMMON * k)) for c in meant)
    asked = Asked(who, asked_of(who, k), k, suggested(_people(table.with_schema(meant), rows)))
    return Proposal(
        guesses,
        plan_text(
            guesses,
            where,
            schema,
            options,
            asked,
            rows,
            _nodes(guesses, values),
            reading=getattr(table.source.origin, "reading", ""),
        ),
        schema_text(Schema(tuple(g.column for g in guesses))),
        variables,
    )


def _people(table: Table, rows: int) -> int:
    """How many people there are, where a column says so; rows otherwise."""
    person = next(iter(table.schema.of_role(Role.PERSON)), None)
    return rows if person is None else table.codebooks([person])[person].size


def suggested_hierarchies(table: Table, k: int = 5) -> dict[str, Any]:
    """A hierarchy for each quasi-identifier of a table, guessed from its values as `init` guesses them."""
    known = table.schema.of_role(Role.QUASI_IDENTIFIER)
    values, rows = _values(table.select(known)) if known else {}, table.rows()
    guesses = [_guess(table.schema[n], values.get(n, []), rows / (_COMMON * k)) for n in known]
    return {g.column.name: recipe(g.hierarchy or "suppress", Path()) for g in guesses}


def write(
    proposal: Proposal, folder: Path, *, overwrite: bool = False, schema: str = "schema.toml"
) -> list[Path]:
    """Write plan, schema and the JSON Schema for editors; nothing is replaced unasked."""
    texts = {"plan.toml": proposal.plan, schema: proposal.schema, NAME: json_schema_text()}
    there = [n for n in texts if (folder / n).exists() and not _holds(folder / n, texts[n])]
    if there and not overwrite:
        raise OutputError(
            f"{listed(there)} is there already.", hint="--force replaces it; --out DIR writes elsewhere"
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


def _values(table: Table) -> dict[str, list[Any]]:
    """The values that occur in each column that does not name people."""
    apart = (Role.IDENTIFIER, Role.PERSON)
    wanted = [c.name for c in table.schema if c.role not in apart and c.kind is not Kind.TEXT]
    counted, _ = one_way(open_table(table, wanted))
    return {name: counts.codebooks[0].levels.to_pylist() for name, counts in counted.items()}


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


def _guess(column: Column, values: Sequence[Any], most: float) -> Guess:
    """most: so many values without any order leave too few people under each to hide among."""
    if column.role in (Role.IDENTIFIER, Role.PERSON) or column.kind is Kind.TEXT:
        return Guess(column)
    if len(values) <= 1:
        nothing = "no filled cell" if not values else "the same in every filled cell"
        return Guess(column, drop=nothing)
    hierarchy, because = _hierarchy(column, values)
    if hierarchy == "suppress" and len(values) > max(most, 2):
        many = f"{len(values):,} values are too many to hide among, and nothing is known that they belong to"
        return Guess(column, hierarchy, drop=many)
    age = column.kind is Kind.NUMERIC and bool(names.is_about(column.name, _AGE))
    years = column.unit in ("", "years")  # months and days are no years
    old = age and years and max(map(float, values)) > _OLD
    return Guess(column, hierarchy, top=_OLD if old else None, because=because)


def _hierarchy(column: Column, values: Sequence[Any]) -> tuple[str | dict[str, Any] | None, str]:
    """A recipe and why; for what is not made more general only where a better one than * is known."""
    texts = [str(v) for v in values]
    known = column.role is Role.QUASI_IDENTIFIER
    if column.kind is Kind.DATE or (column.kind is Kind.NOMINAL and _all(_COMPACT_DAY, texts, 1.0)):
        return {"recipe": "calendar", "steps": ["month", "year"]}, "days"
    if names.is_about(column.name, _DIAGNOSIS) and column.kind in (Kind.NOMINAL, Kind.FLAG):
        if _all(_ICD9, texts):
            return "icd9", "codes that look like ICD-9"
        if _all(_ICD10, texts):
            return "icd10", "codes that look like ICD-10"
    if not known:
        return None, ""
    if names.is_about(column.name, _ZIP) and all(re.fullmatch(r"\d{1,5}", t) for t in texts):
        return "zip", "postal codes"
    if column.kind is Kind.NUMERIC:
        if names.is_about(column.name, _AGE):
            return {"recipe": "ages", "widths": [5, 10, 20]}, "ages"
        return {"recipe": "intervals", "widths": _widths(values)}, "numbers"
    if len(texts) > 2 and all(band(t) is not None for t in texts):
        return "bands", "bands of numbers"
    return "suppress", "values without a known order: the value, or nothing"


def _nodes(guesses: Sequence[Guess], values: Mapping[str, Sequence[Any]]) -> int:
    """How many ways there are to choose a level for each quasi-identifier."""
    known = [g for g in guesses if g.column.role is Role.QUASI_IDENTIFIER and not g.drop and g.hierarchy]
    found = 1
    for guess in known:
        assert guess.hierarchy is not None
        found *= len(recipe(guess.hierarchy, Path(".")).over(values[guess.column.name]).labels)
    return found


def _all(pattern: re.Pattern[str], texts: Sequence[str], least: float = _MOSTLY) -> bool:
    return sum(pattern.fullmatch(t) is not None for t in texts) >= least * len(texts)


def _widths(values: Sequence[Any]) -> list[float]:
    """Three widths, each four times the one before, the widest about half of the range."""
    values = [v for v in values if math.isfinite(v)] or [0]
    low, high = float(min(values)), float(max(values))
    span = max(high - low, 1e-9)
    step = 10.0 ** math.floor(math.log10(span / 32))
    first = next((m * step for m in (1, 2, 5) if m * step * 32 >= span), 10 * step)
    whole = all(float(v).is_integer() for v in values)
    first = max(1.0, round(first)) if whole else float(f"{first:.3g}")
    widths = [first, 4 * first, 16 * first]
    return [int(w) if whole else float(f"{w:.6g}") for w in widths]
