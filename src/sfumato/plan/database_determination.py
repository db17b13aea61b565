"""The determination of a release of linked tables: of persons, and of what their sequences tell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.database import Database
from sfumato.errors import listed
from sfumato.plan.determination import worst_attacks
from sfumato.release import DatabaseRelease
from sfumato.report import DataTable, Page, Section
from sfumato.report.determination import Said, determination

if TYPE_CHECKING:
    from sfumato.assessment.judgement import Assessment
    from sfumato.plan.database import DatabasePlan


def determination_page(
    plan: DatabasePlan, said: Said, database: Database, release: DatabaseRelease, found: Assessment
) -> Page:
    """What a person says beside what the run knows of persons, tables and sequences."""
    facts = {
        "data": Section("The run", (), [_data(plan, database, release)]),
        "knowledge": Section("The run", _known(plan, found)),
        "residual_risk": worst_attacks(found),
        "limits": Section("The run", (*_limits(plan, found), *found.notes)),
    }
    page = determination(said, found.to_dict(), facts, [release.draft] if release.draft else [])
    return replace(page, title=f"{page.title}: linked tables")


def _data(plan: DatabasePlan, database: Database, release: DatabaseRelease) -> DataTable:
    rows: list[tuple[str, str]] = [
        ("persons", f"{database.people.count:,}"),
        (
            "what was done",
            "codes generalized and dropped" if "codes" in plan.document else "keys and dates only",
        ),
        ("plan", plan.name),
    ]
    for name, table in database.tables.items():
        after = release.data.tables.get(name)
        gone = [c for c in table.columns if after is None or c not in after.columns]
        rows.append(
            (f"table {name}", f"{table.rows():,} rows; columns left out: {listed(gone, 20) or 'none'}")
        )
    rows += [(f"link {link.place}", f"to {link.target}") for link in database.links]
    return DataTable(("of the run", "what"), rows, "What was released", words=(0,), mixed=(1,))


def _known(plan: DatabasePlan, found: Assessment) -> tuple[str, ...]:
    known = plan.document.get("assess", {}).get("known")
    columns = listed(found.quasi_identifiers, 12) or "no column"
    things = "all records of a person" if known is None else f"at most {known} things of one kind"
    return (
        f"An intruder is taken to know {columns} of the person, and {things}: codes, days, gaps between "
        "days, numbers of records, further values of a record.",
        "A person's sequence goes through all tables: what is known of one record helps to find the others.",
    )


def _limits(plan: DatabasePlan, found: Assessment) -> tuple[str, ...]:
    words = [
        "The numbers count persons, not rows, and hold for these tables alone: a further release of the same "
        "persons needs a determination of its own, as two sequences of one person can be put together."
    ]
    if not plan.limits:
        words.append(
            "The plan sets no threshold: nobody but who signs says whether the numbers are small enough."
        )
    if not found.met and plan.accepted:
        words.append(f"A limit is missed, and that is accepted: {plan.accepted}")
    return tuple(words)
