"""The DSG toolkit's files: Hierarchy.xml with posets, Columns.xml with the columns they belong to.

The thesis shows the elements of each poset and of each column, and says that posets live in namespaces, but
not the elements around them. Here a file of posets has any root; posets directly in it, or in an element
<Hierarchy Name="...">, belong to the namespace "Default" or the named one. <SuppressionPoset> is not in the
thesis' examples, though its Columns.xml names one: a value or nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import DataError, ParameterError, SfumatoError
from sfumato.hierarchy._markup import Element, attribute, parse
from sfumato.hierarchy._posets_xml import DEFAULT, Named, element_of, poset_of
from sfumato.hierarchy.poset import Poset
from sfumato.hierarchy.rows import PassThrough, Product
from sfumato.hierarchy.tables import read_text

_SPACES = ("Hierarchy", "Namespace")


def read_posets(path: str | Path) -> dict[Named, Any]:
    """Read a Hierarchy.xml: posets by (namespace, name)."""
    path = Path(path)
    return parse_posets(read_text(path), name=path.name)


def parse_posets(text: str, *, name: str = "Hierarchy.xml") -> dict[Named, Any]:
    """Posets from text; all faults of all posets are listed at once.

    A pass-through column has no role here, so it is kept open (None) until `Columns.bind` is told the roles.
    """
    root = parse(text, name)
    places = [(DEFAULT, e) for e in root.inside if e.tag not in _SPACES]
    for space in root.inside:
        if space.tag in _SPACES:
            places += [(space.attributes.get("Name", DEFAULT), e) for e in space.inside]
    if root.tag == "Hierarchy" and "Name" in root.attributes:
        places = [(root.attributes["Name"], e) for _, e in places]
    posets: dict[Named, Any] = {}
    faults: list[str] = []
    examples: list[object] = []
    if not places:
        faults.append("it has no posets")
    # Sparse codes name the poset of their codes, which may stand further down.
    for space_name, element in sorted(places, key=lambda p: p[1].tag == "SparseMatrixPoset"):
        key = (space_name, element.attributes.get("Name", ""))
        if not key[1] or key in posets:
            faults.append(f"the poset of line {element.line} has no name, or one that is taken")
            continue
        try:
            posets[key] = poset_of(element, space_name, posets)
        except SfumatoError as problem:
            faults.append(f"the poset of line {element.line}: {problem.message.rstrip('.')}")
            examples += problem.values
    if faults:
        raise DataError(
            f"{name}: {'; '.join(faults)}.", hint="see docs/hierarchies.md for the elements", values=examples
        )
    return posets


def write_posets(posets: Mapping[Named | str, Any]) -> str:
    """A Hierarchy.xml; `parse_posets` gives back equal posets (a hierarchy with levels comes as a `Matrix`).

    Names without a namespace are put into "Default".
    """
    spaces: dict[str, list[str]] = {}
    for key, poset in posets.items():
        space, name = (DEFAULT, key) if isinstance(key, str) else key
        spaces.setdefault(space, []).extend(element_of(name, poset, space, posets))
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<Hierarchies>"]
    for space, elements in spaces.items():
        lines += [f"  <Hierarchy Name={attribute(space)}>", *elements, "  </Hierarchy>"]
    return "\n".join([*lines, "</Hierarchies>"]) + "\n"


@dataclass(frozen=True)
class BoundColumn:
    """One column of a Columns.xml: which poset it has, and how much it counts."""

    name: str
    poset: str
    hierarchy: str = DEFAULT
    weight: float = 1.0


@dataclass(frozen=True)
class Columns:
    """A Columns.xml: the columns of a table, in order.

    The weights the thesis prints are ratios of mutual information to that of a random column; any numbers
    from 0 on will do.
    """

    columns: tuple[BoundColumn, ...]

    @property
    def weights(self) -> dict[str, float]:
        """How much each column counts."""
        return {c.name: c.weight for c in self.columns}

    def bind(self, posets: Mapping[Named, Any], roles: Mapping[str, str]) -> dict[str, Poset[Any]]:
        """The poset of each column.

        roles: what the columns that pass through can do to a person; refused for one that names people or
        that an intruder may know, and where it is not said.
        """
        bound: dict[str, Poset[Any]] = {}
        faults = []
        for c in self.columns:
            key = (c.hierarchy, c.poset)
            if key not in posets:
                faults.append(f"column '{c.name}' has a poset that is not there")
            elif posets[key] is not None:
                bound[c.name] = posets[key]
            elif c.name not in roles:
                faults.append(f"column '{c.name}' passes through, and its role is not said")
            else:
                try:
                    bound[c.name] = PassThrough(roles[c.name])
                except ParameterError as problem:
                    faults.append(f"column '{c.name}': {problem.message.rstrip('.')}")
        if faults:
            raise ParameterError(
                f"{len(faults)} columns cannot be bound: {'; '.join(faults)}.",
                hint="roles={'charge': 'sensitive'}; drop what names people",
            )
        return bound

    def product(self, posets: Mapping[Named, Any], roles: Mapping[str, str]) -> Product:
        """The poset of whole rows, with the weights."""
        return Product(self.bind(posets, roles), self.weights)


def read_columns(path: str | Path) -> Columns:
    """Read a Columns.xml."""
    path = Path(path)
    return parse_columns(read_text(path), name=path.name)


def parse_columns(text: str, *, name: str = "Columns.xml") -> Columns:
    """Columns from text; all faults are listed at once."""
    root = parse(text, name)
    columns, faults = [], []
    for element in root.inside:
        column = _column(element)
        if isinstance(column, str):
            faults.append(f"line {element.line}: {column}")
        else:
            columns.append(column)
    names = [c.name for c in columns]
    if len(set(names)) < len(names):
        faults.append(f"{len(names) - len(set(names))} names are taken twice")
    if not root.inside:
        faults.append("it has no columns")
    if faults:
        raise DataError(f"{name}: {'; '.join(faults)}.", hint="as <Column Name=... Poset=... Weight=.../>")
    return Columns(tuple(columns))


def _column(element: Element) -> BoundColumn | str:
    given = element.attributes
    if element.tag != "Column" or not given.get("Name") or not given.get("Poset"):
        return "a column must have Name and Poset"
    try:
        weight = float(given.get("Weight", "1"))
    except ValueError:
        weight = math.nan
    if not (math.isfinite(weight) and weight >= 0):
        return "the weight must be a number, 0 or more"
    return BoundColumn(given["Name"], given["Poset"], given.get("Hierarchy", DEFAULT), weight)


def write_columns(columns: Columns) -> str:
    """A Columns.xml; `parse_columns` gives back the same."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<TableDescription>"]
    for c in columns.columns:
        lines.append(
            f"  <Column Name={attribute(c.name)} Hierarchy={attribute(c.hierarchy)} "
            f"Poset={attribute(c.poset)} Weight={attribute(repr(c.weight))}/>"
        )
    return "\n".join([*lines, "</TableDescription>"]) + "\n"
