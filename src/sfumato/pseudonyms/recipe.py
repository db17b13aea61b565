"""What happens to which column, settled and checked before any row is read."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from sfumato.database import Reference
from sfumato.errors import ParameterError, SfumatoWarning, listed
from sfumato.schema import Column, Kind, Role, Schema

KEY_NAME = "pseudonym"  # of the file that holds the key
MOST_DAYS = 36_525  # a century
_DATES = {"date", "datetime", "instant"}


@dataclass(frozen=True)
class PseudonymRecipe:
    """The columns that are replaced, dropped or shifted; `text` is free text that was asked to stay."""

    replaced: tuple[str, ...]
    dropped: tuple[str, ...]
    shifted: tuple[str, ...]
    text: tuple[str, ...]
    person: str | None
    max_days: int
    domains: Mapping[str, str]

    def domain(self, column: str | None) -> str:
        """Ids of one domain that look alike are the same id."""
        return self.domains.get(column or "", self.domains.get("", ""))

    def plan(self) -> dict[str, object]:
        """The recipe as JSON, for the internal record."""
        return {
            "method": "pseudonymize",
            "columns": self.replaced,
            "drop": self.dropped,
            "shift_dates": self.max_days or None,
            "shifted": self.shifted,
            "person": self.person,
            "domain": self.domains,
        }


@dataclass(frozen=True)
class LinkedRecipe:
    """What happens to every column of every table, settled before any row is read.

    domains: by `table.column`, whose key it is: empty for persons. grain: what dates are cut to, or nothing.
    references: by `table.column`, ids whose key another column of the row names.
    """

    tables: dict[str, PseudonymRecipe]
    domains: dict[str, str]
    max_days: int
    grain: str
    integers: int | None
    references: dict[str, Reference] = field(default_factory=dict)

    @property
    def replaced(self) -> tuple[str, ...]:
        """Every column that holds pseudonyms, as `table.column`."""
        return tuple(f"{name}.{c}" for name, recipe in self.tables.items() for c in recipe.replaced)

    @property
    def shifted(self) -> tuple[str, ...]:
        """Every column of dates that are moved or cut."""
        return tuple(f"{name}.{c}" for name, recipe in self.tables.items() for c in recipe.shifted)

    def plan(self) -> dict[str, object]:
        """The recipe as JSON, for the internal record."""
        return {
            "method": "pseudonymize",
            "columns": self.replaced,
            "drop": [f"{n}.{c}" for n, r in self.tables.items() for c in r.dropped],
            "shift_dates": self.max_days or None,
            "shifted": self.shifted,
            "coarsen_dates": self.grain or None,
            "integers": self.integers,
        }


def settle(
    schema: Schema,
    *,
    columns: Sequence[str] | None,
    drop: Sequence[str],
    shift_dates: int | None,
    person: str | None,
    domain: str | Mapping[str, str],
    keep_text: bool,
) -> PseudonymRecipe:
    """Decide for each column. An identifier is replaced or dropped, and never stays as it is."""
    domains = {"": domain} if isinstance(domain, str) else dict(domain)
    schema.require([*(columns or ()), *drop, *filter(None, domains), *filter(None, [person])])
    both = [repr(n) for n in columns or () if n in drop]
    if both:
        raise ParameterError(f"both replaced and dropped: {listed(both)}.", hint="name each column once")
    persons = {*schema.of_role(Role.PERSON), *filter(None, [person])}
    wanted = (persons if columns is None else set(columns)) - set(drop)
    naming = {*schema.of_role(Role.IDENTIFIER), *persons}
    text = {c.name for c in schema if c.kind is Kind.TEXT} - wanted - set(drop) - naming
    gone = set(drop) | (naming - wanted) | (set() if keep_text else text)
    if not wanted and not gone and shift_dates is None:
        raise ParameterError(
            "no column names people: none has the role identifier or person.",
            hint='set the roles in the schema, or name the columns: columns=["patient"]',
        )
    if text and not keep_text:
        left_out = listed([repr(n) for n in schema.names if n in text])
        warnings.warn(
            f"free text is left out: {left_out}; keep_text=True keeps it.", SfumatoWarning, stacklevel=3
        )
    silent = sorted(persons - wanted - set(drop)) if columns is not None else []
    if silent:
        warnings.warn(
            f"left out, since columns= does not name them: {listed([repr(n) for n in silent])}, which say "
            "whose "
            "rows they are; name them too to join tables by them, or drop= them.",
            SfumatoWarning,
            stacklevel=3,
        )
    days = days_of(shift_dates)
    return PseudonymRecipe(
        replaced=_ordered(schema, wanted),
        dropped=_ordered(schema, gone),
        shifted=_required_dates(schema, wanted | gone) if days else (),
        text=_ordered(schema, text) if keep_text else (),
        person=_person(schema, person) if days else None,
        max_days=days,
        domains=domains,
    )


def _ordered(schema: Schema, names: set[str]) -> tuple[str, ...]:
    return tuple(n for n in schema.names if n in names)


def days_of(shift_dates: int | None) -> int:
    """How many days dates are moved by at most; 0 for not at all."""
    if shift_dates is None:
        return 0
    if isinstance(shift_dates, bool) or not isinstance(shift_dates, int) or not 1 <= shift_dates <= MOST_DAYS:
        raise ParameterError(
            f"shift_dates must be a whole number of days from 1 to {MOST_DAYS}.", hint="shift_dates=365"
        )
    return shift_dates


def date_columns(schema: Schema, taken: set[str]) -> tuple[str, ...]:
    """The columns of dates among the others."""
    return tuple(c.name for c in schema if c.type in _DATES and c.name not in taken)


def _required_dates(schema: Schema, taken: set[str]) -> tuple[str, ...]:
    shifted = date_columns(schema, taken)
    if not shifted:
        raise ParameterError(
            "shift_dates: no column holds dates.", hint="give the columns the type date in the schema"
        )
    return shifted


def _person(schema: Schema, person: str | None) -> str:
    found = schema.of_role(Role.PERSON) if person is None else (person,)
    if len(found) != 1:
        raise ParameterError(
            f"shift_dates needs one column that says whose row it is; {len(found)} have the role person.",
            hint='person="patient"',
        )
    return found[0]


# -- the columns afterwards ----------------------------------------------------------------------


def schema_after(schema: Schema, recipe: PseudonymRecipe) -> Schema:
    """The schema of the result: a domain of names or of days does not hold any more."""
    return Schema(tuple(_after(c, recipe) for c in schema.drop(recipe.dropped)))


def _after(column: Column, recipe: PseudonymRecipe) -> Column:
    if column.name in recipe.replaced:
        # A pseudonym names nobody by itself, so it is no identifier any more.
        role = Role.PERSON if column.role is Role.PERSON else Role.OTHER
        description = f"{column.description} (pseudonym)".strip()
        # A blank id is nobody's and has no pseudonym, so a cell may be empty whatever was declared.
        return Column(column.name, Kind.NOMINAL, role, "text", description=description)
    if column.name in recipe.shifted:
        return replace(
            column, levels=None, labels={}, missing_codes=(), edges=_widened(column, recipe.max_days)
        )
    # The canonical rows hold no missing codes any more.
    return replace(column, missing_codes=())


def _widened(column: Column, days: int) -> tuple[date, ...] | None:
    """Bins of dates, the outer ones wide enough for what was moved over their edges."""
    if column.edges is None:
        return None
    first, *inner, last = (e for e in column.edges if isinstance(e, date))
    try:
        return (first - timedelta(days), *inner, last + timedelta(days))
    except OverflowError:
        return None
