"""What a plan says that cannot be, beyond the form of its entries; found without looking at the data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import SchemaError, SfumatoError, listed
from sfumato.io.addresses import has_secret, is_url
from sfumato.methods.declaration import Does
from sfumato.methods.shapes import Fault
from sfumato.plan.document import FORM, INPUT, PlanDocument, said
from sfumato.plan.domain_search import faults_of_search
from sfumato.plan.limits import ACCEPTED
from sfumato.plan.production import parts_of, require_asked
from sfumato.plan.recipes import recipe
from sfumato.plan.step import Step
from sfumato.plan.tables import columns_of, faults_of_tables
from sfumato.report.determination import Said
from sfumato.schema import Column, Kind, Origin, Role, Schema
from sfumato.schema.domains import ADVICE, without_public_domain

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_CLASSES = (Does.GENERALIZE, Does.EXCHANGE)
_LOOKS = {"redundant": "drop", "least_information": None}


def faults_of(plan: PlanDocument) -> Iterator[Fault]:
    """Every contradiction of a plan whose entries have the right form."""
    if not plan.steps:
        yield (), "needs [[steps]] or [[tables]]"
    yield from _steps(plan)
    yield from _files(plan)
    yield from _limits(plan)
    yield from _held_back(plan)
    data, ledger = plan.table(INPUT)["data"], plan.table("budget").get("ledger", "")
    if is_url(data) and has_secret(data):
        yield (
            (INPUT, "data"),
            "holds a password, and plans are kept beside releases: write ${SFUMATO_PASSWORD} for it, the "
            "name of an environment variable",
        )
    if is_url(ledger) and has_secret(ledger):
        yield ("budget", "ledger"), "holds a password, and plans are kept beside releases: set PGPASSWORD"
    rows = [s for s in plan.released if s.declaration.does is not Does.TABULATE]
    without = [s for s in rows if s.declaration.does is not Does.GENERALIZE or s.of != INPUT]
    if plan.table("register") and without:
        names = listed([repr(s.name) for s in without])
        yield ("register",), f"compares classes of people, and {names} has none that were made of the input"
    budget = plan.table("budget")
    if "epsilon" in budget and "rho" in budget:
        yield ("budget",), "is in epsilon or in rho, one of them"
    review = plan.table("review")
    if str(review.get("by", "")).strip() and not review.get("on"):
        yield ("review",), "needs 'on', the day it was signed"
    try:
        schema = plan.schema
    except SchemaError as error:
        yield (INPUT, "schema"), f": {said(error)}"
        return
    except SfumatoError:
        return  # said among the files
    yield from faults_of_search(plan, schema)
    yield from _columns(plan, schema)
    yield from _named(plan, schema)
    yield from faults_of_tables(plan, schema)


def _steps(plan: PlanDocument) -> Iterator[Fault]:
    seen: set[str] = {INPUT}
    for step in plan.steps:
        at = step.at
        if step.name in seen or not _NAME.fullmatch(step.name) or step.name in ("public", "internal"):
            yield (*at, "name"), "must be a name of its own, of letters, digits, - and _"
        if step.of not in seen:
            yield (*at, "of"), f"must be '{INPUT}' or the name of an earlier step"
        seen.add(step.name)
        try:
            require_asked(step)
        except SfumatoError:
            yield at, "asks nothing of the release: give k, l, t or criteria"
        try:
            step.build(plan.folder)
            request = step.request(plan.folder)
            if step.declaration.does in _CLASSES:
                parts_of(request)
        except SfumatoError as error:
            yield at, said(error)
            continue
        if step.needs_rows:
            yield at, "needs 'rows', chosen without looking at the data"
        try:
            _ = step.criteria
        except SfumatoError as error:
            yield (*at, "criteria"), f": {said(error)} ({error.hint})"
        yield from _private_steps(plan, step)


def _private_steps(plan: PlanDocument, step: Step) -> Iterator[Fault]:
    """What a promise of differential privacy forbids before the step that makes it."""
    spending = step.spends(plan.folder)
    if not spending.claimed:
        return
    prepare = plan.table("prepare")
    for name, value in _LOOKS.items():
        if name in prepare and value in (None, prepare[name]):
            yield ("prepare", name), "looks at the data, and a step with an epsilon must not rest on that"
    budget = plan.table("budget")
    if budget and not spending.known:
        yield (
            step.at,
            "has an epsilon that is known afterwards only, and a budget is kept: give epsilon",
        )
    if "epsilon" in budget and spending.rho is not None:
        yield ("budget", "epsilon"), "cannot pay for a delta above 0: give rho, or delta = 0"


def _files(plan: PlanDocument) -> Iterator[Fault]:
    given: list[tuple[Any, str]] = [((INPUT, "schema"), plan.table(INPUT)["schema"])]
    if "control" in plan.table("assess"):
        given.append((("assess", "control"), plan.table("assess")["control"]))
    if FORM in plan.table("outputs"):
        given.append((("outputs", FORM), plan.table("outputs")[FORM]))
        yield from _form(plan)
    for step in plan.steps:
        given += [((*step.at, *at), name) for at, name in step.files]
        given += [((*step.at, "criteria"), name) for name in step.populations]
    for at, name in given:
        if not _is_file(plan.path(name)):
            yield at, "names a file that is not there"
    for name, entry in plan.table("columns").items():
        if "hierarchy" in entry:
            try:
                recipe(entry["hierarchy"], plan.folder)
            except SfumatoError as error:
                yield ("columns", name, "hierarchy"), f": {said(error)}"
            except (TypeError, ValueError):
                yield ("columns", name, "hierarchy"), "has settings that do not fit together"


def _form(plan: PlanDocument) -> Iterator[Fault]:
    if plan.table("assess").get("skip"):
        yield ("outputs", FORM), "needs the numbers of an assessment, and [assess] skips it"
    path = plan.path(plan.table("outputs")[FORM])
    if _is_file(path):
        try:
            Said.read(path)
        except SfumatoError as error:
            yield ("outputs", FORM), f": {said(error)}"


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _limits(plan: PlanDocument) -> Iterator[Fault]:
    from sfumato.assessment.checks import CHECKS, guest_checks
    from sfumato.assessment.thresholds import require_known

    known = [m for check in (*CHECKS, *guest_checks()) for m in check.gives]
    for name, limit in plan.limits.items():
        try:
            require_known({name: limit}, known)
        except SfumatoError as error:
            yield ("thresholds", name), f": {said(error)} ({error.hint})"
    if plan.limits and plan.table("assess").get("skip"):
        yield ("assess", "skip"), "cannot be: thresholds are set"
    if plan.accepted and not plan.limits and not {"aggregates", "tables"} & set(plan.document):
        yield ("thresholds", ACCEPTED), "accepts that a limit is missed, and no limit is set"


def _held_back(plan: PlanDocument) -> Iterator[Fault]:
    """People that are held back: how many, and what does not go with it."""
    at, wanted = ("assess", "hold_back"), plan.table("assess").get("hold_back")
    if wanted is None:
        return
    if wanted >= 1 and (wanted == 1 or not float(wanted).is_integer()):
        yield at, "must be a share below 1, or a whole number of people from 2 up"
    if plan.table("assess").get("skip"):
        yield at, "holds people back for the assessment, and [assess] skips it"
    if "control" in plan.table("assess"):
        yield at, "and 'control' are two controls: keep one of them"
    for step in plan.steps:
        if step.of == INPUT and wanted >= 1 and step.at[0] == "steps" and _spends(plan, step):
            yield (
                at,
                f"must be a share: the epsilon of '{step.name}' must not hang on how many people there are",
            )
        if "declared_rows" in step.settings:
            yield (
                ("steps", step.place, "declared_rows"),
                "is the number of all rows, and [assess] hold_back leaves some out: keep one of them",
            )


def _spends(plan: PlanDocument, step: Step) -> bool:
    try:
        return step.spends(plan.folder).claimed
    except SfumatoError:
        return False  # said among the steps


def _columns(plan: PlanDocument, schema: Schema) -> Iterator[Fault]:
    """Entries about columns against the schema, and quasi-identifiers nothing is said about."""
    unmatched = [n for n in plan.table("columns") if n not in schema]
    for name in unmatched:
        yield ("columns", name), "is not in the schema"
    for name, entry in plan.table("columns").items():
        if name in unmatched:
            continue
        numeric = schema[name].kind is Kind.NUMERIC
        for end in ("top", "bottom"):
            if end in entry and not numeric:
                yield ("columns", name, end), f"is for numbers, and this column is {schema[name].kind}"
        if entry.get("top", 1) <= entry.get("bottom", 0) and {"top", "bottom"} <= set(entry):
            yield ("columns", name, "top"), "must lie above bottom"
    yield from _nested(plan, schema)
    yield from _read_off(plan)
    for step in plan.steps:
        if step.declaration.does is not Does.GENERALIZE or step.of != INPUT:
            continue
        columns = step.settings.get("quasi_identifiers") or _quasi_identifiers(plan, schema)
        bare = [n for n in columns if n in schema and "hierarchy" not in plan.table("columns").get(n, {})]
        bare = [n for n in bare if n not in led(plan)]
        if bare:
            yield (
                ("steps", step.place),
                f"needs a hierarchy for {listed([repr(n) for n in bare])} in [columns]",
            )
        if not columns:
            yield ("steps", step.place), "has no quasi-identifier to make more general"


def _nested(plan: PlanDocument, schema: Schema) -> Iterator[Fault]:
    """Hierarchies over columns: the others must be there, and be made more general by this one alone."""
    entries, seen = plan.table("columns"), set[str]()
    for name, entry in entries.items():
        for column in _above(entry):
            at = ("columns", name, "hierarchy")
            if column not in schema:
                yield at, f"names '{column}', which is not in the schema"
            elif column in seen or column == name or _above(entries.get(column, {})):
                yield at, f"names '{column}', which is in another hierarchy over columns"
            elif entries.get(column, {}).get("drop"):
                yield at, f"names '{column}', which is dropped"
            elif "hierarchy" in entries.get(column, {}):
                yield ("columns", column, "hierarchy"), f"contradicts that it goes with '{name}': keep one"
            elif schema[column].role in (Role.IDENTIFIER, Role.PERSON):
                yield at, f"names '{column}', which names people"
            seen.add(column)


def _read_off(plan: PlanDocument) -> Iterator[Fault]:
    """Edges that were read off the data tell of it whatever an earlier step promises."""
    private = [s for s in plan.steps if any(_spends(plan, b) for b in plan.before(s))]
    if not any(s.declaration.does is Does.GENERALIZE for s in private):
        return
    for name, entry in plan.table("columns").items():
        hierarchy = entry.get("hierarchy")
        if isinstance(hierarchy, Mapping) and hierarchy.get("recipe") == "quantiles":
            yield (
                ("columns", name, "hierarchy"),
                "has edges that were read off the data, and a step with an epsilon comes before: choose "
                "edges without looking (recipe = 'intervals')",
            )


def _above(entry: Mapping[str, Any]) -> list[str]:
    hierarchy = entry.get("hierarchy")
    return list(hierarchy.get("above", ())) if isinstance(hierarchy, Mapping) else []


def led(plan: PlanDocument) -> dict[str, str]:
    """Columns that go with another one, whose hierarchy they are levels of: {column: that one}."""
    entries = plan.table("columns")
    return {c: n for n, e in entries.items() if not e.get("drop") for c in _above(e)}


def _quasi_identifiers(plan: PlanDocument, schema: Schema) -> list[str]:
    dropped = {n for n, e in plan.table("columns").items() if e.get("drop")}
    return [n for n in schema.of_role(Role.QUASI_IDENTIFIER) if n not in dropped]


def _named(plan: PlanDocument, schema: Schema) -> Iterator[Fault]:
    """Columns that steps, preparation and assessment name."""
    for step in plan.steps:
        at = step.at
        for key, names in step.columns:
            unknown = [repr(n) for n in names if n not in schema]
            if unknown:
                yield (*at, key), f"names columns that are not in the schema: {listed(unknown)}"
        yield from _criteria(plan, schema, step)
        learns = step.declaration.does in (Does.SYNTHESIZE, Does.TABULATE) and step.of == INPUT
        if learns and step.spends(plan.folder).claimed:
            yield from _domains(plan, schema, step)
    for i, entry in enumerate(plan.document.get("aggregates", ())):
        named = {"by": list(entry["by"]), "value": [entry["value"]]}
        for key, names in named.items():
            unknown = [repr(n) for n in names if n not in schema]
            if unknown:
                yield ("aggregates", i, key), f"names columns that are not in the schema: {listed(unknown)}"
        if entry["value"] in entry["by"]:
            yield ("aggregates", i, "by"), "must not hold the value itself"
        elif entry["value"] in schema and schema[entry["value"]].kind is not Kind.NUMERIC:
            yield ("aggregates", i, "value"), "must be a column of numbers"
    for table, key in (("prepare", "target"), ("assess", "target"), ("assess", "weight")):
        name = plan.table(table).get(key)
        if name is not None and name not in schema:
            yield (table, key), "is not a column of the schema"
    prepare = plan.table("prepare")
    if "least_information" in prepare and "target" not in prepare:
        yield ("prepare", "least_information"), "needs a target"


def _criteria(plan: PlanDocument, schema: Schema, step: Step) -> Iterator[Fault]:
    """Columns that criteria name, and hierarchies they look at."""
    at = ("steps", step.place, "criteria")
    asked = step.readable_criteria
    unknown = [repr(n) for w in asked for n in w.columns if n not in schema]
    if unknown:
        yield at, f"names columns that are not in the schema: {listed(unknown)}"
    trees = [w.tree for w in asked if w.tree is not None]
    bare = [repr(n) for n in trees if "hierarchy" not in plan.table("columns").get(n, {})]
    if bare:
        yield at, f"needs a hierarchy for {listed(bare)} in [columns]"


def _domains(plan: PlanDocument, schema: Schema, step: Step) -> Iterator[Fault]:
    """Differential privacy waits until every domain is public, declared or paid for."""
    apart = (Role.IDENTIFIER, Role.PERSON, Role.WEIGHT)
    dropped = {n for n, e in plan.table("columns").items() if e.get("drop")}
    found = set(plan.table("domains").get("columns", ()))
    wanted = _counted(step) or [
        c.name for c in schema if c.role not in apart and c.kind is not Kind.TEXT and c.name not in dropped
    ]
    open_ = [schema[n] for n in wanted if n in schema and n not in found]
    waiting = without_public_domain(c for c in open_ if not _to_be_checked(c))
    if waiting:
        yield step.at, f"waits for domains: {waiting} ({ADVICE})"


def _counted(step: Step) -> list[str]:
    """The columns that a step names to be learnt from; of tables those of which the layout can be read."""
    if step.declaration.does is not Does.TABULATE:
        return list(step.settings.get("columns") or ())
    try:
        return columns_of(step)
    except SfumatoError:
        return []  # said among the tables


def _to_be_checked(column: Column) -> bool:
    """Whether it says that it was found, under a seal or a signature: the run looks whether they hold."""
    said = column.provenance
    found = said is not None and said.origin is Origin.FOUND and bool(said.seal or said.signature)
    return found and column.stated


def contradictions(plan: PlanDocument) -> list[str]:
    """What a plan says of columns that it leaves out: it does nothing, and may not be meant."""
    about = ("role", "hierarchy", "max_level", "weight", "top", "bottom")
    apart = (Role.IDENTIFIER, Role.PERSON)
    said_of = {
        n: [k for k in about if k in e and not (k == "role" and e[k] in apart)]
        for n, e in plan.table("columns").items()
        if e.get("drop")
    }
    return [
        f"'{n}' is left out (drop = true), and what is said of its {', '.join(keys)} does nothing: "
        "keep one of them."
        for n, keys in said_of.items()
        if keys
    ]


def hierarchies(plan: PlanDocument) -> Mapping[str, Any]:
    """The hierarchy or recipe of each column that has one."""
    entries = plan.table("columns")
    return {n: recipe(e["hierarchy"], plan.folder) for n, e in entries.items() if "hierarchy" in e}
