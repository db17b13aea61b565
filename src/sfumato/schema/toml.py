"""Columns as TOML tables and back; every fault of a table is listed at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Any

from sfumato.errors import SchemaError
from sfumato.schema.column import Column, Kind
from sfumato.schema.provenance import Provenance
from sfumato.schema.standards import STANDARDS


def column_to_dict(column: Column) -> dict[str, Any]:
    """Only what differs from the defaults, so that a person can read the file."""
    out: dict[str, Any] = {"kind": str(column.kind), "role": str(column.role), "type": column.type}
    listed = column.provenance.name if column.public and column.provenance is not None else ""
    if listed:  # the name says it all
        out["standard"] = listed
    left_out = ("levels", "edges", "labels", "provenance") if listed else ()
    for f in fields(Column):
        value = getattr(column, f.name)
        if f.name in left_out and (f.name != "labels" or value == STANDARDS[listed].labels):
            continue
        if f.name in ("name", *out) or value is None or value in ((), "", {}):
            continue
        if value != f.default or f.name == "confirmed":
            out[f.name] = _to_toml_value(value)
    return out


def _to_toml_value(value: object) -> object:
    if isinstance(value, Provenance):
        return value.to_dict()
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, tuple):
        return [_to_toml_value(v) for v in value]
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Decimal):  # TOML has no decimals: written as text, typed by the column
        return str(value)
    return value


def column_from_dict(name: str, entries: Mapping[str, Any]) -> Column:
    """The column a TOML table describes, or all that is wrong with it."""
    known = {f.name: f for f in fields(Column) if f.name != "name"}
    faults: list[str] = []
    entries = _with_standard(entries, faults)
    faults += [f"unknown key '{key}'" for key in entries if key not in known]
    values = {key: value for key, value in entries.items() if key in known}
    for key, wanted in _TOML_TYPES.items():
        if key in values and not isinstance(values[key], wanted):
            faults.append(f"{key} must be {_TOML_WORDS[wanted]}")
            del values[key]
    if "provenance" in values and not isinstance(values["provenance"], Mapping | Provenance):
        faults.append("provenance must be a table")
        del values["provenance"]
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
    if "provenance" in values and not isinstance(values["provenance"], Provenance):
        try:
            values["provenance"] = Provenance.from_dict(values["provenance"])
        except SchemaError as error:
            faults.append(error.message.rstrip("."))
    if faults:
        raise SchemaError(f"column '{name}': {'; '.join(faults)}.")
    return Column(name=name, **values)


def _with_standard(entries: Mapping[str, Any], faults: list[str]) -> dict[str, Any]:
    """`standard = "months"` as what it stands for: kind, type and values of that list, and its name."""
    values = dict(entries)
    if "standard" not in values:
        return values
    name = values.pop("standard")
    found = STANDARDS.get(name) if isinstance(name, str) else None
    if found is None:
        faults.append("standard names no public list (sfumato schema standards shows them)")
        return values
    given = [key for key in ("levels", "edges", "provenance") if key in values]
    if given:
        faults.append(f"standard brings its own domain: leave out {', '.join(given)}")
        return {key: value for key, value in values.items() if key not in given}
    own = {"kind": found.kind, "type": found.type, "labels": dict(found.labels)}
    return {**own, **values, "provenance": Provenance.standard(found.name)}


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
        try:
            return [float(v) if isinstance(v, int) and not isinstance(v, bool) else v for v in values]
        except OverflowError:
            faults.append(f"{key} must be numbers that a real can hold")
            return None
    return values


_TOML_TYPES: dict[str, type] = {
    "kind": str, "role": str, "type": str, "levels": list, "labels": dict, "edges": list, "clamp": bool,
    "unit": str, "draw": str, "separator": str, "missing": bool, "missing_codes": list, "confirmed": bool,
    "other": str, "reason": str, "confidence": str, "description": str, "ignore_case": bool,
}  # fmt: skip
_TOML_WORDS = {str: "text", list: "a list", dict: "a table", bool: "true or false"}
