"""One step that is paid for, done by a command with a ledger: `sfumato synthesize`, `tabulate`, `fit`,
`schema find`.

It goes on where a command that was killed has stopped, and what it has paid for is not lost (`payment`).
Until the result is in its place a hidden folder beside it holds what is needed for that.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.description.domain_search import DomainSearch, FoundDomains
from sfumato.errors import OutputError
from sfumato.io.atomic import write_text
from sfumato.plan.payment import PaidOnce, found_again, noised_once, of_attempts
from sfumato.plan.production import produce
from sfumato.plan.step import Step
from sfumato.plan.workplace import Workplace, workplace
from sfumato.privacy import Accounted, Budget, Ledger, Neighbours
from sfumato.privacy.base import ROW
from sfumato.privacy.differential import DifferentialPrivacy
from sfumato.privacy.rounding import shown
from sfumato.privacy.signatures import Trust
from sfumato.release import Release, fingerprint
from sfumato.release.kept import kept, take_back
from sfumato.schema import Schema
from sfumato.schema.search_record import sealed
from sfumato.table import Table

_FOUND = ".domains.json"  # of a search that is paid for, until its schema is in place

if TYPE_CHECKING:
    from sfumato.prediction.models import ReleasedModel
    from sfumato.privacy.signatures import SigningKey


def paid_for(
    step: Step, table: Table, out: Path, ledger: Ledger, *, seed: int | None = None, again: bool = False,
    overwrite: bool = False, format: str = "parquet",
) -> Release:  # fmt: skip
    """Synthetic rows or private tables that a ledger pays for, in their place."""
    from sfumato.synthesis.private import PrivateSynthesizer

    method = step.build()
    with workplace(out) as place:
        name = name_of(place, [[step.method, step.settings]], table)
        folder = place.steps / name
        if place.placed(name):
            place.remove()
            return Release.load(out)
        place.require_no_other(name)
        Release.require_place(out, overwrite=overwrite)
        if not place.finished(name) and not take_back(folder, name):
            payer = PaidOnce(place, name, "", _like(method, table), ledger, again)
            key = None if seed is not None else place.key.derive("synthesize", name)
            if isinstance(method, PrivateSynthesizer):
                model = place.steps / f"{name}.model"
                release = noised_once(model, step, table, method, payer, key=key, seed=seed)
            else:
                release = produce(step, table, key=key, seed=seed, ledger=payer)
            own = of_attempts(release.guarantee, place.attempts(name))
            kept(partial(replace(release, guarantee=own).save, format=format), folder)
        place.place(name)
        place.remove()
    return Release.load(out)


def learnt(
    step: Step, table: Table, out: Path, ledger: Ledger, key: SigningKey, *, again: bool = False,
    card: float | None = None, name: str = "", overwrite: bool = False,
    judged: Callable[[ReleasedModel, Ledger | None], ReleasedModel] | None = None,
) -> ReleasedModel:  # fmt: skip
    """A score that a ledger pays for, signed, in its place.

    card: what judging it will cost; debited with the fit, or neither is. judged: the model with its card, for
        a purse of that much. name: of the model.
    """
    from sfumato.prediction.artefact import load, write
    from sfumato.prediction.fit_budget import FitAndCard, budget_for

    method = step.build()
    with workplace(out) as place:
        mark = name_of(place, [[step.method, step.settings], name, card, key.public], table)
        place.require_no_other(mark)
        model_file, rest = place.steps / f"{mark}.sfm", None
        resumed = model_file.exists() or take_back(model_file)
        if out.exists() and not overwrite and not (resumed and _same_model(out, model_file)):
            raise OutputError(f"{out.name} exists already.", hint="--overwrite replaces it")
        if not resumed:
            wanted = budget_for(float(method.epsilon), method.max_rows_per_person)
            payer = PaidOnce(place, mark, "", wanted, ledger, again)
            both = payer if card is None else FitAndCard(payer, card)
            fitted = method.fit(table, step.request().target, ledger=both).released(name)
            own = of_attempts(fitted.guarantee, place.attempts(mark))
            kept(lambda path: write(replace(fitted, guarantee=own), path, key), model_file)
            rest = both.rest if isinstance(both, FitAndCard) else None
        model = load(model_file, trusted=[key.public])
        try:
            if judged is not None and "evaluation" not in model.card:
                model = judged(model, _purse(place, f"{mark}.card", model, card, rest))
        finally:  # paid for: in its place, whatever becomes of its card
            last = place.steps / f"{mark}.last.sfm"
            kept(lambda path: write(model, path, key, overwrite=True), last, model_file.name)
            place.place_file(last)
            place.remove()
    return load(out, trusted=[key.public])


def searched(
    search: DomainSearch, table: Table, columns: Sequence[str], out: Path, ledger: Ledger,
    write: Callable[[Path, Schema], object], *, again: bool = False,
    signer: tuple[str, SigningKey] | None = None, linked: bool = False,
) -> FoundDomains:  # fmt: skip
    """Domains that a ledger pays for, in the schema file that they are for.

    write: puts a schema into a file. A search that was stopped before its schema was in place is taken from
        where it is kept; one that was stopped right after it is not made, or paid for, a second time.
    signer: name and key of who signs what was found. linked: whether the ledger is for persons with all their
        rows in linked tables. It may pay for a search in one of them: of each person at most so many rows
        count, taken by coins, whatever number there are, so what is promised is promised to the whole person.
    """
    columns = list(dict.fromkeys(columns))
    with workplace(out) as place:
        known = [_read(p, table, ledger) for p in place.steps.glob(f"*{_FOUND}")]
        ready = [f for f in known if f.schema == table.schema and columns in ([], list(f.columns))]
        if ready:  # it is in its place, and only the folder was left behind
            place.remove()
            return ready[0]
        search.require(table, columns)
        name = name_of(place, [asdict(search), columns], search.seen(table, columns))
        place.require_no_other(name)
        file = place.steps / f"{name}{_FOUND}"
        if not file.exists() and not take_back(file):
            budget = search.budget(table.schema, columns)
            payer = PaidOnce(place, name, "", budget, ledger, again)
            if linked and payer.budget.unit.of == budget.unit.of == "person":
                payer.budget = replace(payer.budget, unit=budget.unit)
            drawn = search.find(table, columns, ledger=payer)
            whole = found_again(drawn, place.attempts(name))
            whole = whole.under(Schema(sealed(whole.schema, ledger)))
            whole = whole if signer is None else whole.signed(*signer)
            kept(lambda path: write_text(path, whole.to_json(), overwrite=True), file)
        found = _read(file, table, ledger)
        draft = place.folder / place.target.name  # there, so that a kill leaves nothing beside the schema
        shutil.copyfile(place.target, draft)
        kept(lambda path: write(path, found.schema), draft)
        remarks = draft.with_name(f"{draft.name}.bak")  # of the old file, where it had any
        if remarks.exists():
            os.replace(remarks, place.target.with_name(remarks.name))
        place.place_file(draft)
        place.remove()
    return found


def _read(file: Path, table: Table, ledger: Ledger) -> FoundDomains:
    """What was found and kept, believed of the ledger alone: a file can be changed."""
    found = FoundDomains.from_json(file.read_text("utf-8"), table)
    return found.under(found.schema.trusting(Trust(), ledger))


def _same_model(out: Path, kept_file: Path) -> bool:
    """Whether a model in its place is the one that is kept, put there by a command that was killed then."""
    from sfumato.prediction.artefact import ArtefactError, load

    try:
        return load(out).parameters() == load(kept_file).parameters()
    except ArtefactError:
        return False


def _purse(
    place: Workplace, name: str, model: ReleasedModel, card: float | None, rest: Ledger | None
) -> Ledger | None:
    """What pays for the card: it was debited with the fit, perhaps by a command that was stopped since.

    A command that was stopped while it drew the card has lost it: that is refused, and the model is there.
    """
    if card is None:
        return None
    place.require_undrawn(name, f"the card (epsilon = {shown(card)})", again=False)
    place.attempt(name)
    if rest is not None:
        return rest
    promised = next(c for c in model.guarantee if isinstance(c, DifferentialPrivacy))
    paid_by = next(c for c in model.guarantee if isinstance(c, Accounted))
    budget = Budget(epsilon=card, unit=promised.unit, neighbours=promised.neighbours)
    return Ledger.in_memory(budget, paid_by=paid_by)


def name_of(place: Workplace, asked: object, *tables: Table) -> str:
    """What a result is called in the workplace: the same for the same that is asked of the same data."""
    text = json.dumps(asked, sort_keys=True, default=str)
    whole = " ".join([text, *(fingerprint(table, place.key) for table in tables)])
    return hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()


def _like(method: object, table: Table) -> Budget:
    """Unit and neighbours of what the method promises; the amount is asked for when it is known."""
    unit = method.unit(table.schema) if hasattr(method, "unit") else ROW
    return Budget(epsilon=1.0, unit=unit, neighbours=getattr(method, "neighbours", Neighbours.ADD_REMOVE))
