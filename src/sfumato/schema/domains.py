"""What a promise may say of the domains it rests on: which end it, who answers for the others, their cost.

Guarantee: a claim of differential privacy for a method that uses the columns, each domain of which is public,
           declared or found: `with_search` adds what finding them cost.
Because:   a public list and a declared domain are no functions of the rows (of the latter a named person says
           so); a found one is the output of an (epsilon, delta)-DP mechanism on the same rows, and a method
           that looks at it and then at the rows composes with it: epsilons and deltas add up, also when the
           second is chosen after the first (basic composition).
Assumes:   what `grounds` lists.
Tested by: tests/test_provenance.py, tests/test_domain_search.py
"""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.errors import SchemaError, listed
from sfumato.privacy.base import Neighbours, Unit
from sfumato.privacy.differential import ApproxDP, DifferentialPrivacy, PureDP, for_person, total
from sfumato.schema.column import Column
from sfumato.schema.provenance import Origin
from sfumato.schema.standards import STANDARDS

ADVICE = (
    "name a public list (standard = ...), let a person sign for it (sfumato schema declare --key FILE; in a "
    "program of yours schema.declare(NAME, REASON)), or find it with a part of the budget (sfumato schema "
    "find; in a file it counts where the ledger that paid is given)"
)
UNSIGNED = "this is not signed: whoever wrote the program that made this could write any name"
READ_OFF = "The values or bounds of a column were read off the data, or nobody says where they come from."


def without_public_domain(columns: Iterable[Column]) -> str:
    """Which columns no promise can rest on, and where each domain comes from; empty if there are none."""
    open_: dict[str, list[str]] = {}
    for column in columns:
        if not column.public:
            open_.setdefault(column.origin, []).append(repr(column.name))
    if not open_:
        return ""
    said = "; ".join(f"{listed(names)} ({origin})" for origin, names in open_.items())
    return f"{sum(map(len, open_.values()))} without a public domain: {said}"


def grounds(columns: Iterable[Column]) -> tuple[str, ...]:
    """Where the domains of these columns come from: what a claim rests on, one sentence for each source."""
    groups: dict[str, list[str]] = {}
    for column in columns:
        said = column.provenance
        if said is None or not column.public:
            continue
        if said.origin is Origin.STANDARD:
            text = f"is the public list {said.name} ({STANDARDS[said.name].source})"
        elif said.origin is Origin.DECLARED:
            signed = f"signed with key {said.key[:8]}" if said.signature else UNSIGNED
            text = f"was {said}, who answers for it that it was not read off these data; {signed}"
        else:
            text = f"was {said}, which is part of the total"
        groups.setdefault(text, []).append(repr(column.name))
    return tuple(f"The domain of {listed(names, 12)} {text}" for text, names in groups.items())


def search_cost(
    columns: Iterable[Column], unit: Unit, neighbours: Neighbours
) -> tuple[DifferentialPrivacy, ...]:
    """What finding the domains cost, as claims to the same unit; refused where that does not follow."""
    out: list[DifferentialPrivacy] = []
    wrong = []
    for column in columns:
        said = column.provenance
        if said is None or said.origin is not Origin.FOUND or not column.public:
            continue
        rows = said.max_rows_per_person
        own = Unit.person(rows) if rows else Unit.row()
        claim: DifferentialPrivacy = (
            ApproxDP(said.epsilon, said.delta, unit=own) if said.delta else PureDP(said.epsilon, unit=own)
        )
        if own.of == "row" and unit.of == "person":
            claim = for_person(claim, unit.max_rows or 1)
        if claim.unit != unit or neighbours is not Neighbours.ADD_REMOVE:
            wrong.append(repr(column.name))
        out.append(claim)
    if wrong:
        raise SchemaError(
            f"domains that were found for another promise than to {unit}, {neighbours} neighbours: "
            f"{listed(wrong)}.",
            hint="find them for the same unit (--max-rows-per-person), add/remove neighbours",
        )
    return tuple(out)


def with_search(claim: DifferentialPrivacy, cost: Iterable[DifferentialPrivacy]) -> DifferentialPrivacy:
    """The claim with what finding its domains cost."""
    cost = tuple(cost)
    if not cost:
        return claim
    every = [claim, *cost]
    kind = PureDP if all(isinstance(c, PureDP) for c in every) else ApproxDP
    summed = total(every, kind, delta=None, parallel=False)
    if summed is None:
        raise SchemaError(
            "the claim and what finding the domains cost have no common form.",
            hint="state the claim at a delta, and keep the sum of all deltas below 1",
        )
    return summed
