"""One column: what it holds, what it may hold, and who may know it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from itertools import pairwise

from sfumato.errors import SchemaError
from sfumato.schema.declaration import fits
from sfumato.schema.provenance import NOT_TRUSTED, Origin, Provenance, digest
from sfumato.schema.standards import STANDARDS

type_names = ("text", "integer", "real", "decimal", "boolean", "date", "datetime", "instant")

Value = str | int | float | bool | date | datetime | Decimal


class Kind(StrEnum):
    """How the values of a column relate to each other.

    >>> sf.Kind("ordinal")
    <Kind.ORDINAL: 'ordinal'>
    """

    NOMINAL = "nominal"  # names without order
    ORDINAL = "ordinal"  # levels in the order given
    NUMERIC = "numeric"  # a quantity, counted in bins if it has edges
    DATE = "date"  # a day or an instant, counted in bins if it has edges
    FLAG = "flag"  # at most two levels
    CODES = "codes"  # several codes in one cell
    TEXT = "text"  # free text: dropped unless someone asks for it


class Role(StrEnum):
    """What a column can do to a person.

    >>> [role.value for role in sf.Role]
    ['identifier', 'person', 'quasi-identifier', 'sensitive', 'weight', 'other']
    """

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
    other: the level that texts outside the levels are read as; one of the levels, of a column of text.
    confirmed: a person has looked at kind and role. It says nothing of where the domain comes from.
    provenance: where levels or edges come from; what promises differential privacy asks for it.
    reason: why an inferred column is what it is.
    confidence: how sure its role was guessed: "sure", "likely" or "unsure"; empty where nobody guessed.
    ignore_case: "p1" and "P1" are the same where persons or different values are counted, and ids replaced.

    >>> sex = sf.Column("sex", sf.Kind.NOMINAL, sf.Role.QUASI_IDENTIFIER, levels=("f", "m"), missing=False)
    >>> sex.size
    2
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
    other: str | None = None
    confirmed: bool = False
    reason: str = ""
    confidence: str = ""
    description: str = ""
    provenance: Provenance | None = None
    ignore_case: bool = False

    def __post_init__(self) -> None:
        faults: list[str] = []
        said = self.provenance
        if said is not None and not isinstance(said, Provenance):
            faults.append("provenance must be a Provenance")
            object.__setattr__(self, "provenance", None)
        elif said is not None and said.origin is Origin.STANDARD and not self.declared:
            self._fill_from(said.name)
        for attribute, enum in (("kind", Kind), ("role", Role), ("draw", Draw)):
            try:
                object.__setattr__(self, attribute, enum(getattr(self, attribute)))
            except ValueError:
                faults.append(f"{attribute} must be one of {', '.join(enum)}")
        for attribute in ("levels", "edges", "missing_codes"):
            value = getattr(self, attribute)
            if value is None:
                continue
            listed = isinstance(value, Iterable) and not isinstance(value, (str, bytes))
            plain = tuple(value) if listed else ([],)
            if not all(isinstance(v, Hashable) for v in plain):
                faults.append(f"{attribute} must be a list of plain values")
                plain = ()
            object.__setattr__(self, attribute, plain)
        object.__setattr__(self, "type", self.type or _TYPES.get(self.kind, ("text",))[0])
        if not isinstance(self.labels, Mapping):
            faults.append("labels must be a table of value and label")
            object.__setattr__(self, "labels", {})
        object.__setattr__(self, "labels", dict(self.labels))
        faults += _column_faults(self)
        if faults:
            raise SchemaError(
                f"column '{self.name}': {'; '.join(faults)}.",
                hint="correct the column's entry in the schema",
            )
        said = self.provenance
        if said is not None and not self.declared:
            object.__setattr__(self, "provenance", None)
        elif said is not None and said.public and not said.domain:
            object.__setattr__(self, "provenance", said.about(self.domain))

    def _fill_from(self, name: str) -> None:
        """The values of a public list, for a column that names it and lists none."""
        found = STANDARDS.get(name)
        if found is not None:
            object.__setattr__(self, "levels", found.levels)
            object.__setattr__(self, "edges", found.edges)
            object.__setattr__(self, "type", self.type or found.type)
            object.__setattr__(self, "labels", self.labels or found.labels)

    @property
    def declared(self) -> bool:
        """Whether the domain is written down: levels, or edges."""
        return self.levels is not None or self.edges is not None

    @property
    def public(self) -> bool:
        """Whether the domain is written down, and comes from where a promise of differential privacy may."""
        return self.stated and self.provenance is not None and self.provenance.believed

    @property
    def stated(self) -> bool:
        """The same as the provenance says: of a domain that was found or declared, before it is checked."""
        said = self.provenance
        if said is None or not self.declared or not said.public:
            return False
        if said.origin is Origin.STANDARD:
            found = STANDARDS.get(said.name)
            return found is not None and (self.levels, self.edges) == (found.levels, found.edges)
        return said.domain == self.domain and fits(self)

    @property
    def domain(self) -> str:
        """The digest of levels or edges, and of whether a cell may be empty: what a provenance is about."""
        return digest(self.levels, self.edges, missing=self.missing, other=self.other)

    @property
    def origin(self) -> str:
        """Where the domain comes from, in words."""
        if not self.declared:
            return "no domain is written down"
        if self.provenance is None:
            return "nobody says where it comes from"
        if self.provenance.domain == NOT_TRUSTED:
            return (
                f"declared by {self.provenance.by}, but not signed by anyone whom the trust file names for it"
            )
        if self.provenance.domain == self.domain and not fits(self):
            how = str(self.provenance.origin)
            return f"{how}{f' by {self.provenance.by}' * (how == 'declared')}, but the signature does not fit"
        if self.provenance.public and not self.stated:
            return f"changed since it was {self.provenance.origin}"
        if not self.provenance.believed and self.provenance.origin is Origin.DECLARED:
            return f"declared by {self.provenance.by}, as the file says, but nobody signed that"
        if not self.provenance.believed:
            return (
                "found with budget, as the schema says, which neither its ledger nor a signature that you "
                "trust bears out here"
            )
        return str(self.provenance)

    @property
    def size(self) -> int | None:
        """How many codes the column has, the one for missing included; None while not declared."""
        if self.levels is not None and self.kind is not Kind.CODES:
            return len(self.levels) + self.missing
        if self.edges is not None:
            return len(self.edges) - 1 + self.missing
        return None

    @property
    def text_marks(self) -> tuple[str, ...]:
        """Missing codes that are text in a column that is not, as '?' among numbers: taken out when read."""
        return () if self.type == "text" else tuple(c for c in self.missing_codes if isinstance(c, str))

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
        if any(_is_gap(level) for level in column.levels):
            faults.append("a level is missing or not a number: use missing = true")
        elif len(set(map(_typed, column.levels))) < len(column.levels):
            faults.append("levels repeat")
        if column.kind is Kind.FLAG and len(column.levels) > 2:
            faults.append("a flag has at most two levels")
        if not column.levels:
            faults.append("levels are empty")
    if column.edges is not None:
        faults += _edge_faults(column)
    if column.ignore_case and column.type != "text":
        faults.append("ignore_case is for text")
    if column.kind is Kind.CODES and not column.separator:
        faults.append("codes need a separator")
    said = column.provenance
    if said is not None and said.origin is Origin.STANDARD and said.name not in STANDARDS:
        faults.append("no public list has that name (sfumato schema standards shows them)")
    if (
        column.other is not None
        and column.levels is not None
        and (column.type != "text" or column.kind is Kind.CODES or column.other not in column.levels)
    ):
        faults.append("other must be one of the levels of a column of text")
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
    except (TypeError, ArithmeticError):  # ArithmeticError: a decimal that is not a number
        return ["edges must be all numbers, all days, or all instants of one kind"]
    if not increasing:
        return ["edges must increase"]
    if column.kind is Kind.DATE and {_moment(e) for e in edges} != {column.type}:
        return [f"edges of a column of type {column.type} must be {_MOMENTS[column.type]}"]
    return []


_MOMENTS = {"date": "days", "datetime": "days with a time", "instant": "days with a time and an offset"}


def _moment(edge: object) -> str:
    """The type of a column whose edge this is."""
    if not isinstance(edge, datetime):
        return "date"
    return "datetime" if edge.tzinfo is None else "instant"


def _is_gap(level: object) -> bool:
    return level.is_nan() if isinstance(level, Decimal) else level is None or level != level


def _typed(value: object) -> tuple[str, object]:
    """1, 1.0 and True are different levels although Python calls them equal."""
    return (type(value).__name__, value)


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
    drawn = low + u * (high - low)
    return drawn if drawn < high else math.nextafter(high, low)  # the sum rounds; the bin is open above
