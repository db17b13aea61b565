"""Is it an OMOP CDM, of which version, and what of it is read: tables, columns, links and references."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.database import Database, Link, Reference
from sfumato.errors import DataError, SchemaError, SfumatoWarning, listed
from sfumato.io.omop.fields import CdmField, fields_of
from sfumato.io.omop.roles import NOTES, PLACES, PUBLIC, RELATIONS, column_of, left_out
from sfumato.io.omop.versions import stated_version, told_version, unknown
from sfumato.schema import Schema
from sfumato.table import Table

FORM = "omop"
_SAY_CDM = ("person_id", "gender_concept_id")
_REQUIRED_TABLES = ("observation_period",)
_LIKE_CDM = 3  # tables that are called as those of a CDM, and are hardly so by accident
_NAMED = 100  # tables and columns that a warning names; a whole CDM has fewer of any sort
# Ids that point to any table, and the column that says to which.
_EVENTS = {
    "measurement": ("measurement_event_id", "meas_event_field_concept_id"),
    "observation": ("observation_event_id", "obs_event_field_concept_id"),
    "note": ("note_event_id", "note_event_field_concept_id"),
    "episode_event": ("event_id", "episode_event_field_concept_id"),
    "cost": ("cost_event_id", "cost_domain_id"),
}
# Concepts of fields that are used most; all others are looked up in `concept`, where it is there.
_FIELD_CONCEPTS = {
    "1147127": "condition_occurrence", "1147082": "procedure_occurrence", "1147094": "drug_exposure",
}  # fmt: skip
_DOMAINS = {
    "Drug": "drug_exposure", "Condition": "condition_occurrence", "Procedure": "procedure_occurrence",
    "Visit": "visit_occurrence", "Visit Detail": "visit_detail", "Measurement": "measurement",
    "Observation": "observation", "Device": "device_exposure", "Specimen": "specimen",
}  # fmt: skip
_FAMILIES = {
    "integer": ("integer", "real", "decimal"), "real": ("real", "integer", "decimal"),
    "date": ("date", "datetime", "instant"), "datetime": ("datetime", "instant", "date"), "text": ("text",),
}  # fmt: skip


@dataclass(frozen=True)
class Cdm:
    """A recognized CDM: what its tables and columns are called here, and what is left out of it.

    tables: by name of the standard, the name in the data. columns: by name of the standard, by field, the
    column. omitted: why, and what. unknown: tables and columns that the standard does not have.
    """

    version: str
    tables: Mapping[str, str]
    columns: Mapping[str, Mapping[str, str]]
    omitted: Mapping[str, tuple[str, ...]]
    unknown: tuple[str, ...]
    missing: tuple[str, ...]
    moments: tuple[str, ...] = ()

    def schema(self, table: str, types: Mapping[str, str], is_empty: Callable[[str], bool]) -> Schema:
        """What the columns of a table mean. types: those of the data, by column, else those of the standard.

        is_empty: whether a column holds nothing: tools that guess call that text, and it is left out. So is
        text that is stored as something else.
        """
        fields = fields_of(self.version)[table]
        found, faults = [], []
        for name, called in self.columns[table].items():
            have = types.get(called, fields[name].type)
            if have not in _FAMILIES[fields[name].type] and table not in PUBLIC:
                free = fields[name].type == "text"  # codes of the source are often stored as numbers
                if not fields[name].key and (free or is_empty(called)):
                    continue
                faults.append(f"'{called}' is {have}, not {fields[name].type}")
                continue
            found.append(column_of(fields[name], called, have))
        if faults:
            raise SchemaError(
                f"{self.tables[table]}: {len(faults)} columns are of another type than a CDM's: "
                f"{listed(faults, _NAMED)}.",
                hint="convert them; database.toml declares what is no CDM",
            )
        return Schema(tuple(found))

    def over(self, schemas: Mapping[str, Schema]) -> Cdm:
        """The same with the columns that are read, by tables of the standard; empty ones are gone."""
        kept = {
            t: {n: c for n, c in columns.items() if c in schemas[t].names}
            for t, columns in self.columns.items()
        }
        gone = tuple(
            f"{self.tables[t]}.{c}"
            for t, cs in self.columns.items()
            for n, c in cs.items()
            if n not in kept[t]
        )
        more = {"since they are of another type, and empty or text": gone} if gone else {}
        every = fields_of(self.version)
        moments = tuple(
            f"{self.tables[t]}.{c}"
            for t, columns in kept.items()
            for n, c in columns.items()
            if every[t][n].type == "date" and schemas[t][c].type != "date" and t not in PUBLIC
        )
        return replace(self, columns=kept, omitted={**self.omitted, **more}, moments=moments)

    def links(self) -> tuple[Link, ...]:
        """Which rows belong to which, only between tables that are there; nearer parents first."""
        found = [(t, f) for t, f in self._fields() if t not in PUBLIC and f.points_to in self.tables]
        found.sort(key=lambda pair: pair[1].points_to == "person")
        return tuple(
            Link(self.tables[t], self.columns[t][f.name], self.tables[f.points_to], key, "the CDM says so")
            for t, f in found
            if (key := self.key(f.points_to))
        )

    def key(self, table: str) -> str:
        """The column that is the key of a table; empty if it has none."""
        fields = fields_of(self.version)[table]
        named = [n for n, f in fields.items() if f.key] or [n for n in fields if n == f"{table}_id"]
        return self.columns[table].get(named[0], "") if named else ""

    def references(self, read: Mapping[str, Table]) -> Iterator[Reference]:
        """Ids whose table another column names: by the rules above, and by the names of concepts."""
        for table, (column, by) in _EVENTS.items():
            here = self.columns.get(table, {})
            if column not in here or by not in here:
                continue
            child = self.tables[table]
            known = dict(_DOMAINS) if table == "cost" else dict(_FIELD_CONCEPTS)
            further = _values(read[child], here[by]) - set(known) if table != "cost" else set()
            if further and {"concept_id", "concept_name"} <= set(self.columns.get("concept", ())):
                known |= self._named(read[self.tables["concept"]], further)
            there = {v: self.tables[t] for v, t in known.items() if t in self.tables and self.key(t)}
            yield Reference(child, here[column], here[by], there)

    def _named(self, concepts: Table, values: set[str]) -> dict[str, str]:
        """The tables of concepts that are called `table.field`, its key."""
        here = self.columns["concept"]
        known, found = fields_of(self.version), {}
        wanted = pa.array(sorted(values), pa.string())
        for batch in concepts.batches([here["concept_id"], here["concept_name"]]):
            rows = batch.filter(pc.is_in(batch.column(0).cast(pa.string()), value_set=wanted))
            for value, name in zip(rows.column(0).to_pylist(), rows.column(1).to_pylist(), strict=True):
                table, _, field = str(name).casefold().partition(".")
                if field in known.get(table, {}) and known[table][field].key and table not in PUBLIC:
                    found[str(value)] = table
        return found

    def _fields(self) -> Iterator[tuple[str, CdmField]]:
        every = fields_of(self.version)
        return ((t, every[t][n]) for t, columns in self.columns.items() for n in columns)

    def concept_columns(self) -> dict[str, list[str]]:
        """By table of persons, the columns that hold concepts."""
        found: dict[str, list[str]] = {}
        for table, field in self._fields():
            if table not in PUBLIC and field.is_concept:
                found.setdefault(table, []).append(self.columns[table][field.name])
        return found

    def words(self) -> Iterator[str]:
        """What is different from the standard, and what is left out; a line each."""
        if self.missing:
            yield f"it lacks what the standard requires: {listed(self.missing, _NAMED)}"
        if self.unknown:
            yield f"left out, as the standard does not have it: {listed(self.unknown, _NAMED)}"
        if self.moments:
            yield f"days that are kept with a time of day, which stays: {listed(self.moments, _NAMED)}"
        for why, names in self.omitted.items():
            yield f"left out, {why}: {listed(names, _NAMED)}"


def _values(table: Table, column: str) -> set[str]:
    """The values of a column as text."""
    found: set[str] = set()
    for batch in table.batches([column]):
        found.update(pc.unique(batch.column(0).cast(pa.string())).drop_null().to_pylist())
    return found


# -- recognizing -----------------------------------------------------------------------------------


def recognized(
    layouts: Mapping[str, Sequence[str]],
    keep_text: bool = False,
    stated: Callable[[str, str], Table] | None = None,
) -> Cdm | None:
    """The CDM that tables with these columns are; None if they are none. Capitals do not matter.

    stated: reads a column of a table, to find the version that `cdm_source` states.
    """
    heads = _heads(layouts)
    if not set(_SAY_CDM) <= set(heads.get("person", ())) or not any(
        "person_id" in columns for n, columns in heads.items() if n != "person" and n in fields_of("5.4")
    ):
        return None
    if alike := _alike(layouts):
        raise SchemaError(
            f"names of this OMOP CDM differ in capitals only: {listed(alike, _NAMED)}.",
            hint="keep one of each, or declare the tables in database.toml",
        )
    version, column = "", heads.get("cdm_source", {}).get("cdm_version")
    if stated is not None and column is not None:
        name = next(n for n in layouts if n.casefold() == "cdm_source")
        version = stated_version(_values(stated(name, column), column))
    return as_version(layouts, version or told_version(heads), keep_text)


def as_version(layouts: Mapping[str, Sequence[str]], version: str, keep_text: bool) -> Cdm:
    """The tables read as those of a version."""
    names = {name.casefold(): name for name in layouts}
    heads = _heads(layouts)
    every = fields_of(version)
    omitted: dict[str, list[str]] = {}
    columns: dict[str, dict[str, str]] = {}
    for table in [t for t in every if t in heads]:
        if not set(heads[table]) & set(every[table]):
            omitted.setdefault("since none of their columns is the standard's", []).append(names[table])
        elif table == RELATIONS:
            omitted.setdefault("since it ties records of any persons together", []).append(names[table])
        elif table in NOTES and not keep_text:
            omitted.setdefault("since notes name people (keep_text=True reads them)", []).append(names[table])
        else:
            columns[table] = {}
            for field, described in every[table].items():
                if field not in heads[table]:
                    continue
                if why := left_out(described, keep_text):
                    omitted.setdefault(why, []).append(f"{names[table]}.{heads[table][field]}")
                else:
                    columns[table][field] = heads[table][field]
    columns = {t: c for t, c in columns.items() if c}
    missing = [t for t in _REQUIRED_TABLES if t not in heads]
    missing += [
        f"{names[t]}.{n}"
        for t in columns
        for n, f in every[t].items()
        if f.required and n not in heads[t] and not left_out(f, keep_text)
    ]
    further = [f"{names[t]}.{heads[t][c]}" if c else names[t] for t, c in unknown(heads, version)]
    return Cdm(
        version,
        {t: names[t] for t in columns},
        columns,
        {why: tuple(those) for why, those in omitted.items()},
        tuple(further),
        tuple(missing),
    )


def _heads(layouts: Mapping[str, Sequence[str]]) -> dict[str, dict[str, str]]:
    """By table, by column, what it is called in the data; both without capitals."""
    return {n.casefold(): {_plain(c): c for c in columns} for n, columns in layouts.items()}


def _plain(column: str) -> str:
    return column.casefold().strip('"')


def _alike(layouts: Mapping[str, Sequence[str]]) -> list[str]:
    """Tables, and columns of a table, of which one would be taken for another."""
    tables = Counter(n.casefold() for n in layouts)
    twice = [n for n in layouts if tables[n.casefold()] > 1]
    for name, columns in layouts.items():
        many = Counter(map(_plain, columns))
        twice += [f"{name}.{c}" for c in columns if many[_plain(c)] > 1]
    return twice


# -- the database ----------------------------------------------------------------------------------


def cdm_database(cdm: Cdm, read: Mapping[str, Table]) -> Database:
    """Tables as they were read, with the links and references of the standard."""
    called = cdm.tables
    empty = [n for n in ("person",) if not read[called[n]].rows()]
    if empty:
        raise DataError("the table of persons has no rows.", hint="give a CDM with persons")
    keys = {called[t]: key for t in called if (key := cdm.key(t))}
    apart = frozenset(called[t] for t in called if t in PUBLIC or t in PLACES)
    found = tuple(cdm.references(read))
    return Database(read, cdm.links(), keys, apart, found, f"{FORM} {cdm.version}")


def concept_differences(cdm: Cdm, database: Database) -> list[str]:
    """Concept ids that the vocabulary does not have, counted by column. 0 stands for none."""
    if "concept_id" not in cdm.columns.get("concept", {}):
        return ["there is no vocabulary ('concept'): what the concept ids mean is not checked"]
    known = _known_concepts(database.tables[cdm.tables["concept"]], cdm.columns["concept"]["concept_id"])
    faults = []
    for table, columns in cdm.concept_columns().items():
        rows = dict.fromkeys(columns, 0)
        for batch in database.tables[cdm.tables[table]].batches(columns):
            for name, ids in zip(columns, batch.columns, strict=True):
                ids = _whole_numbers(ids)
                there = pc.or_kleene(pc.is_in(ids, value_set=known), pc.equal(ids, 0))
                rows[name] += int(pc.sum(pc.invert(pc.or_kleene(there, ids.is_null()))).as_py() or 0)
        faults += [f"{cdm.tables[table]}.{n} ({many:,} rows)" for n, many in rows.items() if many]
    return [f"concept ids that 'concept' does not have: {listed(faults, _NAMED)}"] if faults else []


def _known_concepts(concepts: Table, column: str) -> pa.Array:
    parts = [_whole_numbers(batch.column(0)) for batch in concepts.batches([column])]
    return pa.concat_arrays(parts) if parts else pa.array([], pa.int64())


def _whole_numbers(ids: pa.Array) -> pa.Array:
    """Concept ids as int64; -1, which is none, for what is no whole number."""
    if pa.types.is_integer(ids.type):
        return ids.cast(pa.int64())
    if not (pa.types.is_floating(ids.type) or pa.types.is_decimal(ids.type)):
        texts = ids.cast(pa.string())
        ids = pc.if_else(pc.match_substring_regex(texts, "^[0-9]{1,15}$"), texts, "-1")
        return ids.cast(pa.int64())
    reals = ids.cast(pa.float64())
    fits = pc.and_kleene(pc.equal(reals, pc.floor(reals)), pc.less(pc.abs(reals), 1e15))
    return pc.if_else(fits, reals, -1.0).cast(pa.int64())


def warn_of_nobody(names: Sequence[str]) -> None:
    """Say that what is called as the tables of a CDM lacks the one that makes it a CDM."""
    own = [n for n in names if n.casefold() in fields_of("5.4") and "_" in n and n.casefold() not in PUBLIC]
    if len(own) >= _LIKE_CDM:
        words = "called as in an OMOP CDM, which needs a table 'person': they are read as any other tables"
        warnings.warn(f"{listed(own)}: {words}.", SfumatoWarning, stacklevel=4)


def warn(cdm: Cdm, further: Sequence[str] = ()) -> None:
    """Say what is different and what is left out, notes in a warning of their own."""
    lines = [*cdm.words(), *further]
    loud = [line for line in lines if "notes name people" in line]
    for group in (loud, [line for line in lines if line not in loud]):
        if group:
            warnings.warn(f"OMOP CDM {cdm.version}: {'; '.join(group)}.", SfumatoWarning, stacklevel=4)
