"""From a step and a table to a release: the one way through the house.

A run of a plan, `sfumato anonymize` and `sfumato synthesize`, and the map all come through here, so that the
same words make the same release wherever they are said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError
from sfumato.methods.declaration import Does
from sfumato.methods.requests import ASKING, AnonymityRequest
from sfumato.plan.step import Step
from sfumato.plan.tables import tabulated
from sfumato.release import Release
from sfumato.schema import Schema
from sfumato.seeds import Key
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.anonymization.register import Register
    from sfumato.criteria import Criterion
    from sfumato.database import Database
    from sfumato.privacy.ledger import Payer
    from sfumato.release import DatabaseRelease

PEOPLE = "linked"  # the method for linked tables


def _as_it_is(population: Table) -> Table:
    return population


@dataclass(frozen=True)
class Surroundings:
    """What a step finds around it.

    hierarchies: of the columns, or a folder of level tables. folder: where files start from.
    keep_text: whether free text stays in. register: earlier releases of the same people.
    weights, max_level: of columns, beside those the step names itself.
    read_as, prepared: how a population that a criterion counts in is read, and what is done to it first.
    beside: tables of the same people that leave together with those of the step.
    """

    hierarchies: Mapping[str, Any] | Path | None = None
    folder: Path = Path()
    keep_text: bool = False
    register: Register | Path | None = None
    weights: Mapping[str, float] | None = None
    max_level: Mapping[str, int] | None = None
    read_as: Schema | None = None
    prepared: Callable[[Table], Table] = _as_it_is
    beside: tuple[Release, ...] = ()


def produce(
    step: Step,
    table: Table,
    around: Surroundings | None = None,
    *,
    key: Key | None = None,
    seed: int | None = None,
    ledger: Payer | None = None,
) -> Release:
    """Do one step with a table.

    key: of everything that is drawn; a fresh secret one if none is given. seed: for tests and teaching.
    ledger: debited with what the step spends before anything is drawn.
    """
    around = around or Surroundings()
    does = step.declaration.does
    if ledger is not None and does not in (Does.SYNTHESIZE, Does.TABULATE):
        raise ParameterError(
            f"{step.method} promises no epsilon: there is nothing to debit.", hint="leave the ledger out"
        )
    if does in (Does.GENERALIZE, Does.EXCHANGE):
        return _anonymized(step, table, around, key, seed)
    if does is Does.SYNTHESIZE:
        from sfumato.synthesis.synthesize import synthesize

        method, rows = step.build(around.folder), step.request(around.folder).rows
        return synthesize(table, method, rows, key=key, seed=seed, ledger=ledger)
    if does is Does.TABULATE:
        own = key or (None if seed is None else Key.from_seed(seed))
        return tabulated(step, table, around.folder, key=own, ledger=ledger, beside=around.beside)
    if does is Does.REPLACE:
        drawn = key or (Key.fresh() if seed is None else Key.from_seed(seed))
        method = _with_text(step.build(around.folder), around)
        release: Release = method.release(table, key=drawn.derive("pseudonyms"))
        return release
    if does is Does.PEOPLE:
        raise ParameterError(
            f"{step.method} draws persons with the rows of linked tables; this is one table.",
            hint="a folder of tables (docs/linked-synthesis.md), or --method private",
        )
    raise ParameterError(
        f"{step.method} learns a score, which is not a release of rows.", hint="sfumato fit, or its own fit()"
    )


def synthesized_people(
    step: Step, database: Database, *, folder: Path | str = ".", key: Key | None = None,
    seed: int | None = None, ledger: Payer | None = None,
) -> DatabaseRelease:  # fmt: skip
    """Persons who never lived, with the rows of all linked tables. ledger: debited before noise is drawn."""
    if step.declaration.does is not Does.PEOPLE:
        raise ParameterError(
            f"{step.method} makes rows of one table; these are linked ones.", hint=f"--method {PEOPLE}"
        )
    persons = step.request(folder).persons
    model = step.build(folder).fit(database, ledger=ledger)
    release: DatabaseRelease = model.sample(persons, key=key, seed=seed)
    return release


def require_asked(step: Step) -> None:
    """Refuse a step that makes classes and asks nothing of them."""
    if step.declaration.does in (Does.GENERALIZE, Does.EXCHANGE) and not set(ASKING) & set(step.settings):
        raise ParameterError("nothing is asked of the release.", hint="k, l, t or criteria")


def _anonymized(step: Step, table: Table, around: Surroundings, key: Key | None, seed: int | None) -> Release:
    from sfumato.anonymization.anonymize import anonymize
    from sfumato.anonymization.requirements import asked_of
    from sfumato.criteria import All

    require_asked(step)
    request = step.request(around.folder)
    given = around.hierarchies
    further = asked_of(
        step.criteria,
        table,
        hierarchies=given,
        quasi_identifiers=request.quasi_identifiers,
        folder=around.folder,
        read_as=around.read_as,
        prepared=around.prepared,
    )
    options: dict[str, Any] = {}
    if step.declaration.does is Does.GENERALIZE:
        options = {
            "weights": {**(around.weights or {}), **request.weights},
            "max_level": {**(around.max_level or {}), **request.max_level},
            "drop_rarer_than": request.drop_rarer_than,
            "bounds": request.bounds,
        }
    if around.register is not None:  # refused where a method makes no classes: it would not be looked at
        options["register"] = around.register
    return anonymize(
        table,
        All((*parts_of(request), *further)),
        method=step.build(around.folder),
        hierarchies=given or None,
        quasi_identifiers=request.quasi_identifiers,
        drop=request.drop,
        keep_text=around.keep_text,
        key=key,
        seed=seed,
        **options,
    )


def parts_of(request: AnonymityRequest) -> tuple[Criterion, ...]:
    """What is asked of each class by k, l and t."""
    from sfumato.criteria import KAnonymity, LDiversity, TCloseness

    parts: list[Criterion] = []
    if request.k is not None:
        parts.append(KAnonymity(request.k, persons=request.persons))
    elif request.persons is not None:
        raise ParameterError("persons says what k counts, and no k is given.", hint="k = 5")
    parts += [LDiversity(n, column) for column, n in request.l.items()]
    parts += [TCloseness(far, column) for column, far in request.t.items()]
    return tuple(parts)


def _with_text(method: Any, around: Surroundings) -> Any:
    """Free text is kept or not for the whole release, and methods that ask for it are told."""
    return replace(method, keep_text=True) if around.keep_text and hasattr(method, "keep_text") else method
