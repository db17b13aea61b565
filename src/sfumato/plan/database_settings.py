"""What is done with linked tables, one of three entries of a plan, and the settings that each declares.

[pseudonyms] and [codes] are functions, not methods; here they say of themselves what a form needs. Those of
[synthesis] are declared by the method `linked`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from sfumato.methods.parameters import Field, Parameter, parameters
from sfumato.methods.shapes import ListOf, Number, Text
from sfumato.plan.production import PEOPLE
from sfumato.plan.step import fields_of
from sfumato.privacy.code_sets import MOST_CODES


@dataclass(frozen=True)
class CodesEntry:
    """[codes]: any m codes of a person fit at least k persons."""

    k: Annotated[
        int,
        Parameter(Number("Persons whom any m codes must fit.", 2, 10**6, whole=True), beginner=True),
    ] = 5
    m: Annotated[
        int, Parameter(Number("Codes that an intruder may know.", 1, MOST_CODES, whole=True), beginner=True)
    ] = 2
    codes: Annotated[
        tuple[str, ...] | None,
        Parameter(ListOf(Text(), "Columns of codes, as table.column; by default all known ones.")),
    ] = None
    columns: Annotated[
        tuple[str, ...] | None,
        Parameter(
            ListOf(Text(), "What else an intruder knows: columns of persons; by default quasi-identifiers.")
        ),
    ] = None


@dataclass(frozen=True)
class PseudonymsEntry:
    """[pseudonyms]: keys are replaced and dates moved, which is not anonymous."""

    shift_dates: Annotated[
        int | None,
        Parameter(
            Number("Move all dates of a person by the same secret number of days, up to it.", 1, whole=True),
            unit="days", beginner=True,
        ),
    ] = None  # fmt: skip
    coarsen_dates: Annotated[
        str | None,
        Parameter(
            Text("Cut dates down to the first day of it: gaps in days identify.", choices=("week", "month")),
            beginner=True,
        ),
    ] = None
    drop: Annotated[
        tuple[str, ...], Parameter(ListOf(Text(), "Further columns to leave out, as table.column."))
    ] = ()


def _synthesis() -> Mapping[str, Field]:
    from sfumato.methods.names import find

    return fields_of(find(PEOPLE))


def entries() -> Mapping[str, Mapping[str, Field]]:
    """The settings by entry; a plan has one of these."""
    return MappingProxyType(
        {
            "codes": parameters(CodesEntry),
            "pseudonyms": parameters(PseudonymsEntry),
            "synthesis": _synthesis(),
        }
    )
