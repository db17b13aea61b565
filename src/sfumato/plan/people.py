"""Persons of linked tables that a ledger pays for: kept as soon as they are drawn, and paid for once.

What `command` does for one table, for several; the order of debit, draw and result is that of `payment`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.database import Database
from sfumato.errors import ParameterError
from sfumato.plan.command import name_of
from sfumato.plan.payment import PaidOnce, of_attempts
from sfumato.plan.production import synthesized_people
from sfumato.plan.step import Step
from sfumato.plan.workplace import Workplace, workplace
from sfumato.privacy import Ledger
from sfumato.privacy.signatures import Trust
from sfumato.release import DatabaseRelease
from sfumato.release.kept import kept, take_back

if TYPE_CHECKING:
    from sfumato.synthesis.people import LinkedSynthesizer


def people_paid_for(
    step: Step, database: Database, out: Path, ledger: Ledger, *, seed: int | None = None,
    again: bool = False, overwrite: bool = False,
) -> DatabaseRelease:  # fmt: skip
    """Persons who never lived, in their place."""
    require_paid(step, database)
    with workplace(out) as place:
        name = name_of(place, [step.method, step.settings], *database.tables.values())
        if place.placed(name):
            place.remove()
            return DatabaseRelease.load(out)
        DatabaseRelease.require_place(out, overwrite=overwrite)
        people_kept(place, step, database, ledger, seed=seed, again=again)
        place.place(name)
        place.remove()
    return DatabaseRelease.load(out)


def people_kept(
    place: Workplace, step: Step, database: Database, ledger: Ledger, *, seed: int | None = None,
    again: bool = False,
) -> Path:  # fmt: skip
    """Where in the workplace the release of a step is: made now, or by a command that was stopped then."""
    name = name_of(place, [step.method, step.settings], *database.tables.values())
    folder = place.steps / name
    place.require_no_other(name)
    if not place.finished(name) and not take_back(folder, name):
        method: LinkedSynthesizer = step.build()
        payer = PaidOnce(place, name, "", method.budget(database), ledger, again)
        key = None if seed is not None else place.key.derive("synthesize", name)
        release = synthesized_people(step, database, key=key, seed=seed, ledger=payer)
        own = of_attempts(release.guarantee, place.attempts(name))
        kept(replace(release, guarantee=own).save, folder)
    return folder


def require_paid(step: Step, database: Database) -> None:
    """That there is something to pay for, and that all it rests on is public: before anything is spent."""
    if not step.spends().claimed:
        raise ParameterError(
            f"{step.method} without an epsilon promises nothing: there is nothing to debit.",
            hint="give an epsilon, or leave the ledger out",
        )
    step.build().require(database)


def as_trusted(database: Database, ledger: Ledger | None) -> Database:
    """The tables, of whose domains those count that the trust file allows, or this ledger has paid for."""
    trust = Trust.default()
    return database.with_tables(
        {n: t.with_schema(t.schema.trusting(trust, ledger)) for n, t in database.tables.items()}
    )
