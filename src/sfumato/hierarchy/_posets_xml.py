"""One element of a Hierarchy.xml and the poset it stands for, both ways."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy._markup import Element, attribute
from sfumato.hierarchy.births import DateOfBirth
from sfumato.hierarchy.bits import PowerSet
from sfumato.hierarchy.codes import SparseCodes
from sfumato.hierarchy.levels import Hierarchy
from sfumato.hierarchy.matrix import Matrix
from sfumato.hierarchy.ranges import Range
from sfumato.hierarchy.rows import PassThrough, Suppression

if TYPE_CHECKING:
    from sfumato.hierarchy.poset import Poset

DEFAULT = "Default"
Named = tuple[str, str]  # namespace and name


def poset_of(element: Element, space: str, known: Mapping[Named, Any]) -> Poset[Any] | None:
    """The poset of an element; None for one that passes through, whose role the columns must say."""
    given = element.attributes
    if element.tag == "RangePoset":
        widest = _number(given, "MaxDiff") if "MaxDiff" in given else None
        whole = given.get("Whole", "false").lower() in ("true", "1")
        return Range(_number(given, "LowerBound"), _number(given, "UpperBound"), widest, whole)
    if element.tag == "MatrixPoset":
        return _matrix(element)
    if element.tag == "PowerPoset":
        return PowerSet(_whole(given, "Bits"))
    if element.tag == "DateOfBirthPoset":
        return _births(given)
    if element.tag == "SparseMatrixPoset":
        codes = known.get((space, given.get("MatrixLatticeName", "")))
        if not isinstance(codes, Matrix):
            raise DataError("MatrixLatticeName names no matrix poset of its namespace.")
        return SparseCodes(codes, _whole(given, "Columns") if "Columns" in given else None)
    if element.tag == "PassThroughPoset":
        return None
    if element.tag == "SuppressionPoset":
        return Suppression()
    raise DataError("this kind of poset is not known.")


def _number(given: Mapping[str, str], key: str) -> float:
    try:
        found = float(given[key])
    except (KeyError, ValueError):
        raise DataError(f"{key} is not given, or no number.") from None
    if not math.isfinite(found):
        raise DataError(f"{key} is not finite.")
    return found


def _whole(given: Mapping[str, str], key: str) -> int:
    found = _number(given, key)
    if found != int(found):
        raise DataError(f"{key} is not whole.")
    return int(found)


def _births(given: Mapping[str, str]) -> DateOfBirth:
    try:
        base = datetime.strptime(given.get("BaseDate", ""), "%Y%m%d").date()
        bands = tuple(int(part) for part in given.get("AgeRanges", "").split(","))
        oldest = int(given.get("Oldest", "130"))
    except ValueError:
        raise DataError("BaseDate must be as 20060101, AgeRanges as 5,30,50.") from None
    # The thesis reckons completed years on the base date.
    reckoned: Any = given.get("Reckoned", "by day")
    return DateOfBirth(base, bands, reckoned, oldest)


def _matrix(element: Element) -> Matrix:
    """Nodes with ID, Name, Value and Parents (several, divided by spaces or commas); the root is its own."""
    parents: dict[Hashable, list[Hashable]] = {}
    names: dict[Hashable, str] = {}
    values: dict[Hashable, float] = {}
    faults: list[str] = []
    for node in element.inside:
        given = node.attributes
        key = given.get("ID", "")
        if node.tag != "Node" or not key or "Name" not in given or key in parents:
            faults.append(f"line {node.line} must be a node with a Name and an ID of its own")
            continue
        parents[key] = list(given.get("Parents", "").replace(",", " ").split())
        names[key] = given["Name"]
        if "Value" in given:
            values[key] = _number(given, "Value")
    root = element.attributes.get("RootNode")
    if root is not None and [p for p in parents.get(root, [None]) if p != root]:
        faults.append("RootNode is not a node, or has a parent")
    if values and len(values) < len(parents):
        faults.append(f"{len(parents) - len(values):,} nodes have no Value, others have")
    if faults:
        shown = "; ".join(faults[:5]) + (f" and {len(faults) - 5} more faults" if len(faults) > 5 else "")
        raise DataError(f"{shown}.")
    return Matrix.of(parents, names=names, values=values or None)


def element_of(name: str, poset: object, space: str, posets: Mapping[Any, Any]) -> list[str]:
    """The lines of a poset's element."""
    start = f"Name={attribute(name)}"
    if isinstance(poset, Hierarchy):
        poset = Matrix.of_hierarchy(poset)
    if isinstance(poset, Matrix):
        return _matrix_lines(start, poset)
    if isinstance(poset, SparseCodes):
        most = "" if poset.most is None else f' Columns="{poset.most}"'
        lattice = _name_of(poset.codes, space, posets)
        return [f"    <SparseMatrixPoset {start} MatrixLatticeName={attribute(lattice)}{most}/>"]
    for kind, write in _SHORT.items():
        if isinstance(poset, kind):
            return [f"    <{write(start, poset)}/>"]
    raise ParameterError("this kind of poset cannot be written as XML.")


def _matrix_lines(start: str, matrix: Matrix) -> list[str]:
    lines = [f'    <MatrixPoset {start} RootNode="N{matrix.root}">']
    for i, (label, parents) in enumerate(zip(matrix.node_labels, matrix.parents, strict=True)):
        value = "" if matrix.values is None else f" Value={attribute(repr(matrix.values[i]))}"
        above = " ".join(f"N{p}" for p in parents or (i,))
        lines.append(f'      <Node ID="N{i}" Name={attribute(label)}{value} Parents="{above}"/>')
    return [*lines, "    </MatrixPoset>"]


def _name_of(codes: object, space: str, posets: Mapping[Any, Any]) -> str:
    for key, poset in posets.items():
        where, name = (DEFAULT, key) if isinstance(key, str) else key
        if poset is codes and where == space:
            return str(name)
    raise ParameterError("the poset of the codes must be written too, in the same namespace.")


def _range(start: str, p: Range) -> str:
    widest = "" if p.max_width is None else f' MaxDiff="{p.max_width!r}"'
    whole = ' Whole="true"' if p.whole else ""
    return f'RangePoset {start} LowerBound="{p.low!r}" UpperBound="{p.high!r}"{widest}{whole}'


def _born(start: str, p: DateOfBirth) -> str:
    ages = ",".join(map(str, p.bands))
    return (
        f'DateOfBirthPoset {start} BaseDate="{p.base:%Y%m%d}" AgeRanges="{ages}" '
        f'Reckoned="{p.reckoned}" Oldest="{p.oldest}"'
    )


_SHORT: dict[type, Callable[[str, Any], str]] = {
    Range: _range,
    PowerSet: lambda start, p: f'PowerPoset {start} Bits="{p.bits}"',
    DateOfBirth: _born,
    PassThrough: lambda start, p: f"PassThroughPoset {start}",
    type(None): lambda start, p: f"PassThroughPoset {start}",
    Suppression: lambda start, p: f"SuppressionPoset {start}",
}
