"""What the columns of a table mean: kind, role, domain, labels.

A schema is a value: frozen, checked on construction, and the same after a round trip through TOML.
It says what may be *assumed public* about a table. A domain that was read off the data is marked
`confirmed = false`, and whatever promises differential privacy refuses it (`Schema.require_public`):
categories inferred from people's rows leak without bound.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Any

from sfumato.errors import SchemaError, listed

type_names = ("text", "integer", "real", "decimal", "boolean", "date", "datetime", "instant")

Value = str | int | float | bool | date | datetime | Decimal


class Kind(StrEnum):
    """How the values of a column relate to each other."""

    NOMINAL = "nominal"  # names without order
    ORDINAL = "ordinal"  # levels in the order given
    NUMERIC = "numeric"  # a quantity, counted in bins if it has edges
    DATE = "date"  # a day or an instant, counted in bins if it has edges
    FLAG = "flag"  # at most two levels
    CODES = "codes"  # several codes in one cell
    TEXT = "text"  # free text: dropped unless someone asks for it


class Role(StrEnum):
    """What a column can do to a person."""

    IDENTIFIER = "identifier"  # names one person or record by itself: never released as it is
    PERSON = "person"  # says which rows belong to the same person
    QUASI_IDENTIFIER = "quasi-identifier"  # an intruder may know it
    SENSITIVE = "sensitive"  # an intruder wants it
    WEIGHT = "weight"  # survey weight
    OTHER = "other"


class Draw(StrEnum):
    """How a bin is turned back into a number."""

    UNIFORM = "uniform"  # any number of the bin, equally likely
    INTEGER = "integer"  # any whole number of the bin, equally likely
    LOWER = "lower"  # the lower edge
    MIDDLE = "middle"  # the middle of the bin


# The types a kind can have; the first is the default. Any type can be nominal, ordinal or a flag.
_TYPES = {
    Kind.NUMERIC: ("real", "integer", "decimal"),
    Kind.DATE: ("date", "datetime", "instant"),
    Kind.CODES: ("text",),
    Kind.TEXT: ("text",),
}
_WITH_LEVELS = {Kind.NOMINAL, Kind.ORDINAL, Kind.FLAG, Kind.CODES}
_WITH_EDGES = {Kind.NUMERIC, Kind.DATE}


@dataclass(frozen=True)
class Column:
    """One column: what it holds, what it may hold, and who may know it.

    type: how a value is written; by default what the kind suggests.
    levels: the values a cell may have, in order (for codes: the single codes).
    edges: bins [e0, e1), [e1, e2), ... of a numeric or date column; the last one is closed.
    clamp: values outside the edges go to the outer bins instead of being refused.
    missing: a cell may be empty. Missing is then a category of its own, the last one.
    missing_codes: values that stand for "missing" in the source (-9, "?").
    confirmed: a person has said that the domain is public, not read off the data.
    reason: why an inferred column is what it is.
    """

    name: str
    kind: Kind
    role: Role = Role.OTHER
    type: str = ""
    levels: tuple[Value, ...] | None = None
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    edges: tuple[Value, ...] | None = None
    clamp: bool = False
    unit: str = ""
    draw: Draw = Draw.UNIFORM
    separator: str = ";"
    missing: bool = True
    missing_codes: tuple[Value, ...] = ()
    confirmed: bool = False
    reason: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        faults: list[str] = []
        for attribute, enum in (("kind", Kind), ("role", Role), ("draw", Draw)):
            try:
                object.__setattr__(self, attribute, enum(getattr(self, attribute)))
            except ValueError:
                faults.append(f"{attribute} must be one of {', '.join(enum)}")
        for attribute in ("levels", "edges", "missing_codes"):
            value = getattr(self, attribute)
            if value is not None:
                object.__setattr__(self, attribute, tuple(value))
        object.__setattr__(self, "type", self.type or _TYPES.get(self.kind, ("text",))[0])
        object.__setattr__(self, "labels", dict(self.labels))
        faults += _column_faults(self)
        if faults:
            raise SchemaError(
                f"column '{self.name}': {'; '.join(faults)}.",
                hint="correct the column's entry in the schema",
            )

    @property
    def declared(self) -> bool:
        """Whether the domain is written down: levels, or edges."""
        return self.levels is not None or self.edges is not None

    @property
    def public(self) -> bool:
        """Whether the domain is written down and a person has confirmed that it is public."""
        return self.declared and self.confirmed

    @property
    def size(self) -> int | None:
        """How many codes the column has, the one for missing included; None while not declared."""
        if self.levels is not None and self.kind is not Kind.CODES:
            return len(self.levels) + self.missing
        if self.edges is not None:
            return len(self.edges) - 1 + self.missing
        return None

    def label(self, value: object) -> str:
        """The label of a value, or the value as text."""
        return self.labels.get(str(value), str(value))


def _column_faults(column: Column) -> list[str]:
    """Everything wrong with a column, as sentences without any cell value."""
    faults = []
    if not column.name:
        faults.append("the name is empty")
    if column.type not in type_names:
        faults.append(f"type must be one of {', '.join(type_names)}")
    elif column.type not in _TYPES.get(column.kind, type_names):
        faults.append(f"a {column.kind} column is of type {' or '.join(_TYPES[column.kind])}")
    if column.levels is not None:
        if column.kind not in _WITH_LEVELS:
            faults.append(f"a {column.kind} column has no levels")
        if len(set(map(_typed, column.levels))) < len(column.levels):
            faults.append("levels repeat")
        if any(level is None or level != level for level in column.levels):
            faults.append("a level is missing or not a number: use missing = true")
        if column.kind is Kind.FLAG and len(column.levels) > 2:
            faults.append("a flag has at most two levels")
        if not column.levels:
            faults.append("levels are empty")
    if column.edges is not None:
        faults += _edge_faults(column)
    if column.kind is Kind.CODES and not column.separator:
        faults.append("codes need a separator")
    if column.role is Role.WEIGHT and column.kind is not Kind.NUMERIC:
        faults.append("a weight must be numeric")
    return faults


def _edge_faults(column: Column) -> list[str]:
    edges = column.edges or ()
    if column.kind not in _WITH_EDGES:
        return [f"a {column.kind} column has no edges"]
    if len(edges) < 2:
        return ["edges need at least two values"]
    wanted: tuple[type, ...] = (int, float, Decimal) if column.kind is Kind.NUMERIC else (date,)
    if not all(isinstance(e, wanted) and not isinstance(e, bool) for e in edges):
        return [f"edges must be {'numbers' if column.kind is Kind.NUMERIC else 'dates'}"]
    try:
        increasing = all(a < b for a, b in pairwise(edges))  # type: ignore[operator]
    except TypeError:
        return ["edges must be all days, or all instants of one kind"]
    return [] if increasing else ["edges must increase"]


def _typed(value: object) -> tuple[str, object]:
    """1, 1.0 and True are different levels although Python calls them equal."""
    return (type(value).__name__, value)


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order."""

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        names = [c.name for c in self.columns]
        repeated = sorted({n for n in names if names.count(n) > 1})
        if repeated:
            raise SchemaError(f"column names repeat: {listed(repeated)}.", hint="rename one of them")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(c.name for c in self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, name: object) -> bool:
        return any(c.name == name for c in self.columns)

    def __getitem__(self, name: str) -> Column:
        self.require([name])
        return next(c for c in self.columns if c.name == name)

    def require(self, names: Iterable[str]) -> None:
        """All columns that are asked for and not there, at once."""
        known = set(self.names)
        unknown = sorted({n for n in names if n not in known})
        if unknown:
            raise SchemaError(
                f"unknown column{'s' * (len(unknown) > 1)}: {listed([repr(n) for n in unknown])}.",
                hint=f"the table has {listed([repr(n) for n in self.names])}",
            )

    def of_role(self, role: Role | str) -> tuple[str, ...]:
        """The names of the columns that play a role."""
        return tuple(c.name for c in self.columns if c.role == role)

    def select(self, names: Iterable[str]) -> Schema:
        """The named columns, in the order named."""
        names = list(names)
        self.require(names)
        return Schema(tuple(self[n] for n in names))

    def drop(self, names: Iterable[str]) -> Schema:
        """All columns but the named ones."""
        names = set(names)
        self.require(names)
        return Schema(tuple(c for c in self.columns if c.name not in names))

    def with_(self, name: str, **changes: Any) -> Schema:
        """The same schema with one column changed."""
        self.require([name])
        return Schema(tuple(replace(c, **changes) if c.name == name else c for c in self.columns))

    def require_public(self, names: Iterable[str] | None = None) -> None:
        """Refuse columns whose domain is not declared and confirmed: what differential privacy rests on."""
        wanted = list(self.names if names is None else names)
        self.require(wanted)
        unconfirmed = [n for n in wanted if not self[n].public]
        if unconfirmed:
            raise SchemaError(
                f"{len(unconfirmed)} column{'s' * (len(unconfirmed) > 1)} without a confirmed public "
                f"domain: {listed([repr(n) for n in unconfirmed])}.",
                hint="declare levels or edges that do not come from the data, and set confirmed = true",
            )

    # -- TOML ------------------------------------------------------------------------------------

    def to_toml(self) -> str:
        """The schema as text; `from_toml` gives back an equal one."""
        import tomli_w

        tables = {c.name: _column_to_dict(c) for c in self.columns}
        return tomli_w.dumps({"sfumato_schema": 1, "columns": tables})

    @classmethod
    def from_toml(cls, text: str, *, name: str = "schema") -> Schema:
        """Read a schema; all faults of all columns are listed at once."""
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SchemaError(f"{name} is not valid TOML: {error}.", hint="correct that line") from None
        tables = document.get("columns")
        if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()):
            raise SchemaError(f"{name} has no [columns.NAME] tables.", hint="see docs/schema.md")
        version = document.get("sfumato_schema", 1)
        if version != 1:
            raise SchemaError(f"{name} has version {version!r}, this release reads 1.", hint="upgrade")
        columns, faults = [], []
        for column_name, entries in tables.items():
            try:
                columns.append(_column_from_dict(column_name, entries))
            except SchemaError as error:
                faults.append(error.message.rstrip("."))
        if faults:
            raise SchemaError(f"{name}: {'; '.join(faults)}.", hint="see docs/schema.md for the keys")
        return cls(tuple(columns))

    @classmethod
    def read(cls, path: str | Path) -> Schema:
        """Read a schema file."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise SchemaError(
                f"no schema file {path.name}.", hint=f"sfumato schema update {path.name} DATA writes one"
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise SchemaError(
                f"schema file {path.name} cannot be read: {reason}.", hint="give a TOML file"
            ) from None
        return cls.from_toml(text, name=path.name)


def _column_to_dict(column: Column) -> dict[str, Any]:
    """Only what differs from the defaults, so that a person can read the file."""
    out: dict[str, Any] = {"kind": str(column.kind), "role": str(column.role), "type": column.type}
    for f in fields(Column):
        value = getattr(column, f.name)
        if f.name in ("name", *out) or value is None or value in ((), "", {}):
            continue
        if value != f.default or f.name == "confirmed":
            out[f.name] = _to_toml_value(value)
    return out


def _to_toml_value(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, tuple):
        return [_to_toml_value(v) for v in value]
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Decimal):  # TOML has no decimals: written as text, typed by the column
        return str(value)
    return value


def _column_from_dict(name: str, entries: Mapping[str, Any]) -> Column:
    known = {f.name: f for f in fields(Column) if f.name != "name"}
    faults = [f"unknown key '{key}'" for key in entries if key not in known]
    values = {key: value for key, value in entries.items() if key in known}
    for key, wanted in _TOML_TYPES.items():
        if key in values and not isinstance(values[key], wanted):
            faults.append(f"{key} must be {_TOML_WORDS[wanted]}")
            del values[key]
    if "kind" not in values:
        faults.append("kind is not given")
    labels = values.get("labels", {})
    if not all(isinstance(label, str) for label in labels.values()):
        faults.append("labels must be text")
    for key in ("levels", "edges", "missing_codes"):
        real = values.get("kind") == Kind.NUMERIC and "type" not in values
        values[key] = _typed_values(values.get(key), "real" if real else values.get("type"), faults, key)
        if values[key] is None:
            del values[key]
    if faults:
        raise SchemaError(f"column '{name}': {'; '.join(faults)}.")
    return Column(name=name, **values)


def _typed_values(values: Any, type_name: Any, faults: list[str], key: str) -> Any:
    """Values of a list as the column's type has them: decimals come as text, reals as whole numbers."""
    if values is None:
        return None
    if any(not isinstance(v, (str, int, float, bool, date)) for v in values):
        faults.append(f"{key} must be a list of plain values")
        return None
    if type_name == "decimal":
        try:
            return [Decimal(str(v)) for v in values]
        except ArithmeticError:
            faults.append(f"{key} must be decimal numbers")
            return None
    if type_name == "real":
        return [float(v) if isinstance(v, int) and not isinstance(v, bool) else v for v in values]
    return values


_TOML_TYPES: dict[str, type] = {
    "kind": str, "role": str, "type": str, "levels": list, "labels": dict, "edges": list, "clamp": bool,
    "unit": str, "draw": str, "separator": str, "missing": bool, "missing_codes": list, "confirmed": bool,
    "reason": str, "description": str,
}  # fmt: skip
_TOML_WORDS = {str: "text", list: "a list", dict: "a table", bool: "true or false"}


def draw_back(column: Column, code: int, u: float) -> float:
    """A number from bin `code`, for u uniform on [0, 1). An unbounded bin gives its finite edge."""
    if column.edges is None or column.kind is not Kind.NUMERIC:
        raise SchemaError(f"column '{column.name}' has no bins to draw from.", hint="declare edges")
    low, high = float(column.edges[code]), float(column.edges[code + 1])  # type: ignore[arg-type]
    if math.isinf(low) or math.isinf(high):
        return high if math.isinf(low) else low
    if column.draw is Draw.LOWER:
        return low
    if column.draw is Draw.MIDDLE:
        return (low + high) / 2
    if column.draw is Draw.INTEGER:
        first = math.ceil(low)
        last = math.ceil(high) - 1 if code + 2 < len(column.edges) else math.floor(high)
        return float(first + math.floor(u * (last - first + 1))) if last >= first else low
    return low + u * (high - low)
