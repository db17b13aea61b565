"""What was asked, checked before any row is counted: roles, hierarchies, criteria; all faults at once."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from sfumato.anonymization.nested_columns import Chains, bind, goes_with
from sfumato.anonymization.problem import MISSING, Problem, compress
from sfumato.counts import case_variants, near_duplicates
from sfumato.criteria import Criterion, KAnonymity, KMap, TCloseness
from sfumato.errors import DataError, ParameterError, SfumatoWarning, listed
from sfumato.hierarchy import (
    Hierarchy,
    Matrix,
    Numbered,
    PassThrough,
    Product,
    Suppression,
    read_folder,
)
from sfumato.schema import Kind, Role
from sfumato.table import Table

ORDERED = (Kind.NUMERIC, Kind.DATE, Kind.ORDINAL)


@dataclass(frozen=True, eq=False)
class Request:
    """Everything settled before counting.

    columns: the quasi-identifiers that are searched over. chains: those that others go with, by name.
    released: what the file has.
    """

    table: Table
    criterion: Criterion
    method: Any
    columns: tuple[str, ...]
    hierarchies: Mapping[str, Hierarchy]
    sensitive: tuple[str, ...]
    person: str | None
    released: tuple[str, ...]
    weights: Mapping[str, float]
    max_level: Mapping[str, int]
    chains: Chains = field(default_factory=dict)

    @property
    def known(self) -> tuple[str, ...]:
        """All quasi-identifiers: also those that go with another one."""
        return (*self.columns, *(c for chain in self.chains.values() for c in chain.heights))

    def compress(self) -> Problem:
        """Count the table."""
        population = _population(self.criterion)
        table = self.by_value()
        warn_of_spellings(table, self.person, self.criterion.sensitive)
        return compress(
            table,
            self.columns,
            self.hierarchies,
            sensitive=self.sensitive,
            weights=self.weights,
            max_level=self.max_level,
            person=self.person,
            survey=self.criterion.weights,
            population=None if population is None else _binned_as(self.table, population, self.columns),
        )

    def by_value(self) -> Table:
        """The table, columns that must be close to the whole without their bins."""
        return _by_value(self.table, self.criterion)

    def plan(self, **more: object) -> dict[str, Any]:
        """What was asked, for the record."""
        return {
            "anonymize": {
                "criterion": self.criterion.describe(),
                "method": described(self.method),
                "quasi_identifiers": list(self.known),
                "weights": dict(self.weights),
                "max_level": dict(self.max_level),
                "released": list(self.released),
                **more,
            }
        }


def described(value: object) -> object:
    """A method and its settings as plain JSON."""
    if is_dataclass(value) and not isinstance(value, type):
        settings = {f.name: described(getattr(value, f.name)) for f in fields(value) if f.repr}
        return {type(value).__name__: settings}
    if isinstance(value, Mapping):
        return {str(k): described(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [described(v) for v in value]
    return value if isinstance(value, str | int | float | bool | None) else type(value).__name__


def ask(
    table: Table,
    criterion: Criterion,
    method: object,
    hierarchies: Mapping[str, Any] | str | Path,
    quasi_identifiers: Sequence[str] | None,
    weights: Mapping[str, float],
    max_level: Mapping[str, int],
    drop: Sequence[str],
    keep_text: bool,
    codes: Sequence[str] = (),
) -> Request:
    """Settle roles and hierarchies, or list everything that is wrong. codes: columns of codes, which are no
    quasi-identifiers here: they are made more general once the classes are settled."""
    schema = table.schema
    if not isinstance(criterion, Criterion):
        raise ParameterError("what is asked must be a criterion.", hint="sf.KAnonymity(5)")
    if not hasattr(method, "search"):
        raise ParameterError("the method cannot search.", hint="method=sf.OptimalRecoding()")
    columns = tuple(schema.of_role(Role.QUASI_IDENTIFIER) if quasi_identifiers is None else quasi_identifiers)
    columns = tuple(c for c in columns if c not in codes)
    if not columns:
        raise ParameterError(
            "no column is a quasi-identifier: nothing would be made more general.",
            hint="sf.anonymize_database(sf.Database.of(table), sf.KMAnonymity(5, 2))"
            if codes
            else "name the quasi-identifiers, or give columns that role in the schema",
        )
    led = goes_with(hierarchies) if isinstance(hierarchies, Mapping) else {}
    led = {c: name for c, name in led.items() if name in columns}
    columns = tuple(c for c in columns if c not in led)
    schema.require([*columns, *criterion.sensitive, *criterion.weights, *drop, *weights, *max_level])
    person = next(iter(schema.of_role(Role.PERSON)), None)
    faults = [*_led_faults(led, columns), *_faults(table, criterion, columns, drop, weights, max_level)]
    faults += [
        f"'{c}' cannot be quasi-identifier and sensitive at once" for c in led if c in criterion.sensitive
    ]
    if faults:
        raise ParameterError(f"{'; '.join(faults)}.", hint="correct these")
    if isinstance(hierarchies, str | Path):
        hierarchies = _from_folder(Path(hierarchies), columns)
    hierarchies, chains = bind(table, hierarchies, columns)
    table = _unbinned(table, hierarchies, columns)
    needs = tuple(getattr(getattr(method, "loss", None), "needs", ()) or ()) + tuple(
        getattr(method, "needs", ()) or ()
    )
    gone = {*schema.of_role(Role.IDENTIFIER), *schema.of_role(Role.PERSON), *drop}
    gone |= {c.name for c in schema if c.kind is Kind.TEXT and not keep_text}
    gone |= unprotected(table, (*columns, *led, *criterion.sensitive, *criterion.weights, *codes), gone)
    settled = settle_hierarchies(table, hierarchies, columns, _population(criterion))
    refuse_posets(method, criterion, settled)
    return Request(
        table,
        criterion,
        method,
        columns,
        settled,
        tuple(dict.fromkeys([*criterion.sensitive, *needs])),
        person if _counts_persons(criterion) else None,
        tuple(c for c in schema.names if c not in gone),
        weights,
        max_level,
        chains,
    )


def _led_faults(led: Mapping[str, str], columns: Sequence[str]) -> list[str]:
    """Columns that go with one another in a circle, or with one that is not made more general."""
    circle = [repr(c) for c, name in led.items() if name not in columns]
    return [f"{listed(circle)} go with a column that goes with another one itself"] if circle else []


def unprotected(table: Table, asked: tuple[str, ...], gone: set[str]) -> set[str]:
    """Columns an intruder may know that nothing was asked of: released as they are they undo the rest."""
    schema = table.schema
    bare = [c for c in schema.of_role(Role.QUASI_IDENTIFIER) if c not in asked and c not in gone]
    if bare:
        warnings.warn(
            f"{len(bare)} quasi-identifier{'s' * (len(bare) > 1)} that nothing was asked of "
            f"{'are' if len(bare) > 1 else 'is'} left out: {listed([repr(c) for c in bare])}. Name them, "
            "or give them another role to have them released as they are.",
            SfumatoWarning,
            stacklevel=4,
        )
    return set(bare)


def warn_of_spellings(table: Table, person: str | None, sensitive: Sequence[str]) -> None:
    """Ids and values that may be the same but count as different: how many, never which."""
    books = table.codebooks([*sensitive, *([person] if person else ())])
    found = []
    if person and (near := near_duplicates(books[person])):
        found.append(
            f"{near:,} ids of '{person}' differ from another one only in case, blanks, punctuation or "
            "leading zeros, and count as persons of their own"
        )
    for name in sensitive:
        if same := case_variants(books[name]):
            found.append(
                f"{same:,} values of '{name}' differ from another one only in case, and count as others"
            )
    if found:
        warnings.warn(
            f"{'; '.join(found)}. If they are not, correct them, or set ignore_case = true in the schema.",
            SfumatoWarning,
            stacklevel=5,
        )


def _counts_persons(criterion: Criterion) -> bool:
    return any(isinstance(p, KAnonymity) and p.persons is not False and p.monotone for p in criterion.parts)


def _faults(
    table: Table,
    criterion: Criterion,
    columns: tuple[str, ...],
    drop: Sequence[str],
    weights: Mapping[str, float],
    max_level: Mapping[str, int],
) -> list[str]:
    schema, faults = table.schema, []
    if len(set(columns)) < len(columns):
        faults.append("a quasi-identifier is named twice")
    naming = [repr(c) for c in columns if schema[c].role in (Role.IDENTIFIER, Role.PERSON)]
    if naming:
        faults.append(f"{listed(naming)} name people: they are left out, not made more general")
    lost = [repr(c) for c in (*columns, *criterion.sensitive) if c in drop]
    if lost:
        faults.append(f"{listed(lost)} are to be left out, but something is asked of them")
    faults += misfits(table, criterion, columns)
    if len([p for p in criterion.parts if isinstance(p, KMap) and p.population is not None]) > 1:
        faults.append("only one population can be counted in")
    wrong = [repr(c) for c in [*weights, *max_level] if c not in columns]
    if wrong:
        faults.append(f"weights or levels are given for {listed(wrong)}, which are not quasi-identifiers")
    if any(not isinstance(w, int | float) or not 0 <= w < float("inf") for w in weights.values()) or (
        weights and not sum(weights.get(c, 1.0) for c in columns) > 0
    ):
        faults.append("weights must be numbers from 0 up, not all 0")
    if any(isinstance(m, bool) or not isinstance(m, int) or m < 0 for m in max_level.values()):
        faults.append("levels must be whole numbers from 0 up")
    return faults


def misfits(table: Table, criterion: Criterion, columns: Sequence[str]) -> list[str]:
    """What a criterion asks that this table cannot answer."""
    both = [repr(c) for c in columns if c in criterion.sensitive]
    faults = [f"{listed(both)} cannot be quasi-identifier and sensitive at once"] if both else []
    for part in criterion.parts:
        if isinstance(part, TCloseness) and part.distance == "ordered" and not _ordered(table, part.column):
            faults.append(f"the values of '{part.column}' have no order")
        if isinstance(part, KAnonymity) and part.persons and not table.schema.of_role(Role.PERSON):
            faults.append("persons are to be counted, but no column has the role person")
    return faults


def _ordered(table: Table, name: str) -> bool:
    column = table.schema[name]
    return column.kind in ORDERED and (column.kind is not Kind.ORDINAL or column.levels is not None)


# -- hierarchies -----------------------------------------------------------------------------------


def _from_folder(folder: Path, columns: tuple[str, ...]) -> dict[str, Any]:
    """The hierarchies of a folder; the files that are not there are named."""
    found = read_folder(folder, columns)
    absent = [c for c in columns if c not in found]
    if absent:
        raise DataError(
            f"{len(absent)} quasi-identifier{'s have' if len(absent) > 1 else ' has'} no hierarchy in "
            f"'{folder.name}': {listed([repr(c) for c in absent])}.",
            hint=f"write one: sfumato hierarchy build DATA {quote(absent[0])} --suppress "
            f"--out {quote(f'{folder.name}/{absent[0]}.csv')} (or --intervals 5,10, --prefixes 3,2, ...)",
        )
    return found


def _unbinned(table: Table, given: Mapping[str, Any], columns: tuple[str, ...]) -> Table:
    """Columns with bins are counted by their values, unless the hierarchy is one of these bins."""
    schema = table.schema
    for name in columns:
        if schema[name].edges is None or name not in given:
            continue
        bins = table.codebooks([name])[name].levels.to_pylist()
        hierarchy = given[name]
        if not (isinstance(hierarchy, Hierarchy) and all(b in hierarchy.places for b in bins)):
            schema = schema.with_(name, edges=None, clamp=False)
    return table if schema is table.schema else table.with_schema(schema)


def _by_value(table: Table, criterion: Criterion) -> Table:
    """Columns that must be close to the whole, without their bins: values that are close in bins need not be
    so as they are released. (Bins that are diverse are: their values are more diverse still.)"""
    schema = table.schema
    close = [p for p in criterion.parts if isinstance(p, TCloseness) and p.distance != "hierarchical"]
    for name in {p.column for p in close}:
        if schema[name].edges is not None:
            schema = schema.with_(name, edges=None, clamp=False)
    return table if schema is table.schema else table.with_schema(schema)


def _population(criterion: Criterion) -> Table | None:
    """The population that is counted in, if there is one."""
    maps = [p.population for p in criterion.parts if isinstance(p, KMap)]
    return next((m for m in maps if m is not None), None)


def _binned_as(table: Table, population: Table, columns: tuple[str, ...]) -> Table:
    """The population in the bins of the table, or by value where the table is."""
    schema = population.schema
    for name in columns:
        if name in schema and schema[name].kind is table.schema[name].kind:
            column = table.schema[name]
            schema = schema.with_(name, edges=column.edges, clamp=column.clamp)
    return population if schema == population.schema else population.with_schema(schema)


def settle_hierarchies(
    table: Table, given: Mapping[str, Any], columns: tuple[str, ...], population: Table | None = None
) -> dict[str, Hierarchy]:
    """Recipes applied to what occurs, in a population too; every fault of every column at once."""
    absent = [repr(c) for c in columns if c not in given]
    if absent:
        raise ParameterError(
            f"{len(absent)} quasi-identifiers have no hierarchy: {listed(absent)}.",
            hint="give hierarchies={'age': ...}",
        )
    books = table.codebooks(columns)
    beyond = {}
    if population is not None:
        population.schema.require(columns)
        beyond = _binned_as(table, population, columns).codebooks(columns)
    found, faults, values = {}, [], []
    for name in columns:
        hierarchy = given[name]
        try:
            levels = books[name].levels.to_pylist()
            if not isinstance(hierarchy, Hierarchy):
                more = beyond[name].levels.to_pylist() if name in beyond else []
                hierarchy = _over(hierarchy, list(dict.fromkeys([*levels, *more])))
            unknown = [str(v) for v in levels if str(v) not in hierarchy.places]
            if unknown:
                raise DataError(
                    f"column '{name}': {len(unknown)} of its {len(levels)} values are not in the hierarchy.",
                    values=unknown,
                )
            found[name] = hierarchy
        except (DataError, ParameterError) as error:
            said = error.message.rstrip(".")
            faults.append(said if f"'{name}'" in said else f"column '{name}': {said}")
            values += list(error.values)
        except AttributeError:
            faults.append(f"column '{name}': what was given is not a hierarchy")
    if faults:
        raise DataError(f"{'; '.join(faults)}.", hint="correct the hierarchies", values=values)
    return found


def _over(given: Any, levels: list[object]) -> Hierarchy:
    """A recipe or a poset over the values that occur: with levels wherever it has them."""
    if isinstance(given, PassThrough | Product):
        raise ParameterError(
            "a quasi-identifier cannot pass through: it would give its persons away"
            if isinstance(given, PassThrough)
            else "a product is for whole rows; each column has a poset of its own"
        )
    if not levels:  # a recipe cannot know what an empty column could hold
        return Hierarchy.of_rows([(MISSING, "*")])
    if isinstance(given, Matrix):
        try:
            return given.levels().over(levels)
        except (DataError, ParameterError):  # no levels, or cells that hold a mere category
            return Numbered.of(given, levels)
    chain = isinstance(given, Suppression) or getattr(given, "reckoned", "") == "by year"
    found: Hierarchy = (
        given.over(levels) if chain or not hasattr(given, "lub") else Numbered.of(given, levels)
    )
    return found


def refuse_posets(method: object, criterion: Criterion, hierarchies: Mapping[str, Hierarchy]) -> None:
    """Posets without levels are for the searches that take them, and no population fits them."""
    without = [repr(c) for c, h in hierarchies.items() if isinstance(h, Numbered)]
    if without and not getattr(method, "takes_posets", False):
        raise ParameterError(
            f"{type(method).__name__} needs hierarchies with levels, which {listed(without)} "
            f"{'have' if len(without) > 1 else 'has'} not.",
            hint="method=sf.Greedy() or sf.Partition(), or bands: Intervals(widths=(5, 10))",
        )
    if without and any(isinstance(p, KMap) and p.population is not None for p in criterion.parts):
        raise ParameterError(
            f"a population is counted along levels, which {listed(without)} lack.",
            hint="KMap(5, weight=...), or hierarchies with levels",
        )
