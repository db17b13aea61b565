"""What a promise to persons needs before anything is read, and what it then says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sfumato.errors import SchemaError, listed
from sfumato.privacy.base import ONE_ID, Unit
from sfumato.privacy.differential import ApproxDP, DifferentialPrivacy, PureDP, for_person
from sfumato.schema.column import Column
from sfumato.schema.domains import ADVICE, grounds, without_public_domain
from sfumato.schema.provenance import Origin
from sfumato.synthesis.people.bounds import PersonBounds
from sfumato.synthesis.people.structure import DATES, TableTree


def domains(structure: TableTree) -> list[tuple[str, Column]]:
    """Table and column of every domain that is used: dates below the persons have bins of their own."""
    return [
        (branch.name, column)
        for branch in structure.branches
        for column in branch.columns
        if branch.link is None or column.type not in DATES
    ]


def require_public(structure: TableTree, children: Mapping[str, int], period: tuple[str, str] | None) -> None:
    """That nothing would be read off the data; all that is missing at once."""
    if structure.database.mended:
        raise SchemaError(
            "these tables were mended, and an epsilon needs keys that hold by themselves: which rows and ids "
            "of a person were left out may hang on rows of others.",
            hint="correct the keys in the data, or leave out the epsilon",
        )
    faults = []
    for branch in structure.branches:
        own = [c for name, c in domains(structure) if name == branch.name]
        if said := without_public_domain(own):
            faults.append(f"{branch.name}: {said}")
    hints = [ADVICE] if faults else []
    open_ = [b.name for b in structure.branches[1:] if b.name not in children]
    if open_:
        faults.append(f"max_children does not say how many rows of one parent count in {listed(open_)}")
        hints.insert(0, "max_children: a public number for each table, not counted in the data")
    timed = [b.name for b in structure.branches if b.when is not None]
    if period is None and timed:
        faults.append(f"period is not given, and {listed(timed)} has dates")
        hints.insert(0, "period: the first and the last day of the study")
    if faults:
        raise SchemaError(f"an epsilon needs what is public: {'; '.join(faults)}.", hint="; ".join(hints))


def search_costs(structure: TableTree, bounds: PersonBounds) -> tuple[DifferentialPrivacy, ...]:
    """What finding domains cost, as claims to one person with all rows.

    A search for persons lets at most so many rows of each count, whatever they have: its promise is to the
    whole person. A search for rows gives a promise to who has at most s rows, which is then assumed.
    """
    unit = Unit.person(bounds.all_rows)
    out: list[DifferentialPrivacy] = []
    for name, column in domains(structure):
        said = column.provenance
        if said is None or said.origin is not Origin.FOUND or not column.public:
            continue
        if said.max_rows_per_person:
            claim: DifferentialPrivacy = (
                ApproxDP(said.epsilon, said.delta, unit=unit)
                if said.delta
                else PureDP(said.epsilon, unit=unit)
            )
        else:
            plain: DifferentialPrivacy = (
                ApproxDP(said.epsilon, said.delta) if said.delta else PureDP(said.epsilon)
            )
            most = bounds.rows(name)
            said_of = f"No person has more than {most} rows in table {name}: a search for rows saw them all"
            claim = replace(for_person(plain, most), unit=unit, assumptions=(said_of, ONE_ID))
        out.append(claim)
    return tuple(out)


def assumptions(
    structure: TableTree, bounds: PersonBounds, period: tuple[str, str] | None, persons: int | None
) -> list[str]:
    """What the promise rests on."""
    said = []
    for branch in structure.branches:
        own = [c for name, c in domains(structure) if name == branch.name]
        said += [f"{text}, of table {branch.name}" for text in grounds(own)]
    said.append("Which tables, columns, types, keys and links there are, and what each is for, is public")
    said.append("Every row lies within the levels and bins of its columns, and all keys hold")
    most = listed([f"{n} ({bounds.children[n]})" for n in bounds.children], 12)
    said.append(
        f"The most rows of one parent that count are public: {most}; of more, the first in time count"
    )
    if period is not None:
        said.append(f"The period from {period[0]} to {period[1]} is public")
    if persons is not None:
        said.append("The declared number of persons is public")
    if structure.database.apart - structure.staff:
        kept = sorted(structure.database.apart - structure.staff)
        said.append(f"Tables without persons are public, and are released as they are: {listed(kept, 12)}")
    return said
