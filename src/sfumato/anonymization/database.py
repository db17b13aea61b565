"""Linked tables under (k, k^m): codes generalized, few dropped, keys without meaning.

Guarantee: `KMAnonymity`: any m codes of a person, with all the named columns of the person, fit k persons
or nobody.
Because:   every subset of up to m codes of every person was counted within the person's class
           (`code_sets`); persons of classes below k have those columns withheld, or the run is refused.
           The rows then leave in a secret order under fresh pseudonyms, which carry nothing.
Assumes:   what the claim says: the intruder knows no more than that.
Tested by: tests/database/test_code_sets.py
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.anonymization.code_items import CodeItems, exploded, gather_codes
from sfumato.anonymization.code_ladders import ladder_of, levels_of
from sfumato.anonymization.code_sets import DROPPED, CodeRecoding, Ladder, dropping_alone, recode_sets
from sfumato.counts import canonical_type
from sfumato.criteria import KMAnonymity
from sfumato.database import Database, confirmed
from sfumato.errors import DataError, ParameterError, SfumatoWarning, listed
from sfumato.hierarchy import Hierarchy, Recipe
from sfumato.io.omop.ancestors import ancestor_table, chains
from sfumato.privacy import Guarantee, Unit
from sfumato.privacy import KMAnonymity as Claim
from sfumato.pseudonyms import pseudonymize
from sfumato.release import DatabaseRelease
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.sources import BatchSource
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.seeds import Key

Ints = NDArray[np.int64]
_DATES = {"date", "datetime", "instant"}


def anonymize_database(
    database: Database,
    criterion: KMAnonymity,
    *,
    codes: Sequence[str] | None = None,
    hierarchies: Mapping[str, Hierarchy | Recipe | str] | None = None,
    columns: Sequence[str] | None = None,
    key: Key | None = None,
) -> DatabaseRelease:
    """Release linked tables so that any m codes of a person fit k persons.

    codes: the columns with codes, as `table.column`; one cell may hold several (kind codes). A column of
    dates counts
        too: its days climb to weeks, months, quarters and years. By default all of kind codes and all that
        have a hierarchy.
    hierarchies: by `table.column`: a hierarchy, a recipe, or "icd9" or "icd10"; without one a code stays
        or is dropped. Concepts of an OMOP CDM climb its `concept_ancestor`, where it is there.
    columns: what else an intruder knows of a person: columns of the table of persons, by default those of
        role quasi-identifier there. Classes of fewer than k persons have them withheld.
    key: of the pseudonyms; None draws one that nobody needs to keep.

    Other dates and quasi-identifiers of the other tables are left out, with a warning: days identify.

    >>> linked = sf.samples.hospital(40)
    >>> linked = linked.with_tables(
    ...     {
    ...         "patients": linked.tables["patients"].drop(["birth_date"]),
    ...         "stays": linked.tables["stays"].drop(["admitted", "discharged"]),
    ...     }
    ... )
    >>> release = sf.anonymize_database(
    ...     linked, sf.KMAnonymity(3, 1), codes=["diagnoses.code"], hierarchies={"diagnoses.code": "icd9"}
    ... )
    >>> release.guarantee.claims[0].title
    'k- and k^m-anonymity with k = 3, m = 1'
    """
    if not isinstance(database, Database) or not isinstance(criterion, KMAnonymity):
        raise ParameterError(
            "anonymize_database takes a database and KMAnonymity(k, m).", hint="sf.scan_database(folder)"
        )
    if criterion.codes and codes is not None:
        raise ParameterError("codes are named twice.", hint="in KMAnonymity, or as codes=[...]")
    database = confirmed(database.check())
    codes = codes if codes is not None else tuple(criterion.codes) or None
    known = {**(hierarchies or {})}
    places = _code_places(database, codes, known)
    beside = _person_places(database, columns, places)
    items = gather_codes(database, places)
    ladder, labels = _ladder(items, known, database)
    classes, sizes = _classes(database, beside)
    withheld = _too_small(sizes, criterion.k)[classes]
    classes = np.where(withheld, len(sizes), classes)
    found = recode_sets(items.person, items.code, classes, ladder, criterion.k, criterion.m)
    alone = dropping_alone(items.person, items.code, classes, ladder, criterion.k, criterion.m)
    whole = {p for p in places if p not in known and _described(database, p).type == "integer"}
    recoded = _recoded(database, places, beside, items, found, labels, withheld, whole)
    claim = Claim(criterion.k, criterion.m, tuple(places), tuple(beside), unit=Unit.person())
    return _released(recoded, claim, found, alone, key, len(items.code), withheld)


# -- which columns -------------------------------------------------------------------------------


def _code_places(database: Database, codes: Sequence[str] | None, known: Mapping[str, Any]) -> list[str]:
    every = {f"{n}.{c.name}": c for n, t in database.tables.items() for c in t.schema if database.route(n)}
    if codes is None:
        found = [p for p, c in every.items() if c.kind is Kind.CODES or p in known]
    else:
        found = list(dict.fromkeys(codes))
    unknown = [p for p in {*found, *known} if p not in every]
    faults = [f"no column {listed(sorted(unknown))}: write table.column"] if unknown else []
    stray = [p for p in known if p not in found and p in every]
    faults += [f"a hierarchy of what is not a column of codes: {listed(stray)}"] if stray else []
    faults += [] if found else ["no column of codes is named"]
    if faults:
        raise ParameterError(f"{'; '.join(faults)}.", hint='codes=["diagnoses.code"]')
    return found


def _person_places(database: Database, columns: Sequence[str] | None, codes: Sequence[str]) -> list[str]:
    root = database.root
    if columns is None:
        schema = database[root].schema
        return [
            f"{root}.{c}" for c in schema.of_role(Role.QUASI_IDENTIFIER)
            if f"{root}.{c}" not in codes and schema[c].type not in _DATES
        ]  # fmt: skip
    found = [c if "." in c else f"{root}.{c}" for c in columns]
    wrong = [
        c for c in found if c.partition(".")[0] != root or c.partition(".")[2] not in database[root].schema
    ]
    if wrong:
        raise ParameterError(
            f"not in the table of persons '{root}': {listed(wrong)}.", hint="join it there first"
        )
    if database.keys.get(root) != database.person_column(root):
        raise ParameterError(
            f"'{root}' has several rows per person, so its columns are not the person's.", hint="columns=[]"
        )
    return found


def _described(database: Database, place: str) -> Column:
    name, _, column = place.partition(".")
    return database[name].schema[column]


# -- codes by number -----------------------------------------------------------------------------


def _ladder(
    items: CodeItems, known: Mapping[str, Hierarchy | Recipe | str], database: Database
) -> tuple[Ladder, list[str]]:
    """All columns under one roof."""
    return ladder_of({p: _hierarchy(p, values, known.get(p), database) for p, values in items.values.items()})


def _hierarchy(
    place: str, values: Sequence[str], given: Hierarchy | Recipe | str | None, database: Database
) -> list[tuple[str, ...]]:
    """The levels of each value without the root."""
    if given is None and _described(database, place).type in _DATES:
        return [_calendar(v) for v in values]
    if given is None and (above := ancestor_table(database, place)) is not None:
        return chains(above, values)
    return levels_of(place, values, given)


def _calendar(text: str) -> tuple[str, ...]:
    """A day, its week, month, quarter and year; weeks begin on Monday and belong to that month."""
    from datetime import date, timedelta

    day = date.fromisoformat(text[:10])
    monday = day - timedelta(day.weekday())
    quarter = f"{monday.year}-Q{(monday.month + 2) // 3}"
    return day.isoformat(), f"week of {monday.isoformat()}", f"{monday:%Y-%m}", quarter, str(monday.year)


# -- classes of persons --------------------------------------------------------------------------


def _classes(database: Database, places: Sequence[str]) -> tuple[Ints, Ints]:
    """The class of each person by what else is known of them, and the size of each class."""
    people = database.people
    found = np.zeros(people.count, np.int64)
    if places:
        columns = [p.partition(".")[2] for p in places]
        known: dict[tuple[object, ...], int] = {}
        for batch, numbers in people.batches(database.root, columns):
            coded = [c.cast(pa.string()).to_pylist() for c in batch.columns]
            found[numbers] = [known.setdefault(row, len(known)) for row in zip(*coded, strict=True)]
    return found, np.bincount(found)


def _too_small(sizes: Ints, k: int) -> NDArray[np.bool_]:
    """(classes,) whose columns are withheld: those below k, and the next smallest until k are together."""
    if sizes.sum() < k:
        raise DataError(f"there are {int(sizes.sum())} persons, fewer than {k}.", hint="ask for a smaller k")
    small = sizes < k
    if small.any():
        order = np.argsort(sizes, kind="stable")
        enough = int(np.searchsorted(np.cumsum(sizes[order]), k)) + 1
        small[order[:enough]] = True
    return np.asarray(small, np.bool_)


# -- the tables afterwards -----------------------------------------------------------------------


def _recoded(
    database: Database, places: Sequence[str], beside: Sequence[str], items: CodeItems, found: CodeRecoding,
    labels: Sequence[str], withheld: NDArray[np.bool_], whole: set[str],
) -> Database:  # fmt: skip
    """The tables with codes written as their nodes; dates and quasi-identifiers that nothing covers go.

    whole: codes that are whole numbers and stay so, since no hierarchy names their nodes.
    """
    written = Written(items, found.node, pa.array(labels))
    tables, gone = {}, []
    for name, table in database.tables.items():
        if name in database.apart:
            tables[name] = table
            continue
        own = {p.partition(".")[2]: p for p in places if p.startswith(f"{name}.")}
        kept = {p.partition(".")[2] for p in beside if p.startswith(f"{name}.")}
        loose = [
            c.name for c in table.schema
            if c.name not in own and c.name not in kept and c.name not in database.key_columns[name]
            and (c.role is Role.QUASI_IDENTIFIER or c.type in _DATES)
        ]  # fmt: skip
        gone += [f"{name}.{c}" for c in loose]
        hidden = withheld if name == database.root and kept and withheld.any() else None
        tables[name] = _table(database, name, table.drop(loose), own, kept, written, hidden, whole)
    if gone:
        warnings.warn(
            f"left out, since they identify and no criterion covers them: {listed(gone)}.",
            SfumatoWarning, stacklevel=4,
        )  # fmt: skip
    return replace(database, tables=tables)


def _table(
    database: Database, name: str, table: Table, own: Mapping[str, str], kept: set[str], written: Written,
    hidden: NDArray[np.bool_] | None, whole: set[str],
) -> Table:  # fmt: skip
    def column(c: Column) -> Column:
        if c.name in own:
            kind = Kind.CODES if c.kind is Kind.CODES else Kind.NOMINAL
            role = c.role if c.role is not Role.QUASI_IDENTIFIER else Role.OTHER
            type_ = "integer" if own[c.name] in whole else "text"
            return Column(c.name, kind, role, type_, separator=c.separator, description=c.description)
        return replace(c, missing=True) if hidden is not None and c.name in kept else c

    schema = Schema(tuple(column(c) for c in table.schema))
    arrow = pa.schema([pa.field(c.name, canonical_type(c)) for c in schema])

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch, numbers in database.people.batches(name, list(names)):
            arrays = []
            for at, n in enumerate(names):
                array = batch.column(at)
                if n in own:
                    texts = written.cells(database[name].schema[n], own[n], array, numbers)
                    array = texts.cast(arrow.field(n).type)
                elif hidden is not None and n in kept:
                    array = pc.if_else(pa.array(hidden[numbers]), pa.scalar(None, array.type), array)
                arrays.append(array)
            yield pa.RecordBatch.from_arrays(arrays, schema=pa.schema([arrow.field(n) for n in names]))

    return Table(
        BatchSource(arrow, read, rows=getattr(table.source, "rows", None)), schema, table.memory_limit
    )


class Written:
    """How each code of each person is written: the label of its node, or nothing where it was dropped."""

    def __init__(self, items: CodeItems, node: Ints, labels: pa.Array) -> None:
        self._base = 1 + sum(map(len, items.values.values()))
        self._keys = items.person * self._base + items.code  # sorted, as the pairs are
        self._node, self._labels = node, labels
        self._numbers = {
            place: {v: items.first[place] + i for i, v in enumerate(values)}
            for place, values in items.values.items()
        }

    def cells(self, column: Column, place: str, values: pa.Array, numbers: NDArray[np.int32]) -> pa.Array:
        """The cells of a column as they leave; empty where all codes of a cell are dropped."""
        if column.kind is not Kind.CODES:
            return self._single(place, values.cast(pa.string()), numbers.astype(np.int64))
        lists = pc.split_pattern(values.cast(pa.string()), column.separator)
        owner, texts = exploded(column, values, numbers)
        written = self._single(place, texts, owner).to_pylist()
        found: list[set[str]] = [set() for _ in range(len(values))]
        for row, text in zip(pc.list_parent_indices(lists).to_pylist(), written, strict=True):
            if text is not None:
                found[row].add(text)
        return pa.array([column.separator.join(sorted(cell)) or None for cell in found], pa.string())

    def _single(self, place: str, texts: pa.Array, person: Ints) -> pa.Array:
        coded = texts.dictionary_encode()
        known = self._numbers[place]
        local = np.array([known[v] for v in coded.dictionary.to_pylist()], np.int64)
        there = np.asarray(texts.is_valid().to_numpy(zero_copy_only=False), bool)
        index = np.asarray(coded.indices.fill_null(0).to_numpy(zero_copy_only=False), np.int64)
        code = local[index] if len(local) else np.zeros(len(texts), np.int64)
        at = np.searchsorted(self._keys, person * self._base + code)
        node = np.where(there, self._node[np.minimum(at, len(self._node) - 1)], DROPPED)
        return self._labels.take(pa.array(node, pa.int64(), mask=node == DROPPED))


# -- the release ---------------------------------------------------------------------------------


def _released(
    recoded: Database, claim: Claim, found: CodeRecoding, alone: float, key: Key | None, codes: int,
    withheld: NDArray[np.bool_],
) -> DatabaseRelease:  # fmt: skip
    base = pseudonymize(recoded, key=key)
    assert base.internal is not None
    rest = [
        f"{n}.{c.name}" for n, t in base.data.tables.items() if n not in base.data.apart for c in t.schema
        if f"{n}.{c.name}" not in (*claim.codes, *claim.columns) and c.role is not Role.PERSON
    ]  # fmt: skip
    share = found.dropped / max(1, codes)
    numbers = {
        "codes": codes, "dropped": found.dropped, "loss": found.loss, "levels_raised": found.raised,
        "dropped_by_dropping_alone": alone, "persons_withheld": int(withheld.sum()),
        "thresholds": {str(c): t for c, t in found.thresholds.items()},
    }  # fmt: skip
    claim = claim.assuming(
        "The intruder knows nothing of the rest: how many records a person has, which codes came "
        "together, and "
        f"these columns, which are as they were or pseudonyms: {listed(rest, 20)}."
    )
    about = (
        "Linked tables of person-level data whose codes were generalized so that a few of them fit many "
        "persons; "
        f"{share:.1%} of the codes were dropped (empty cells)."
    )
    return DatabaseRelease(
        base.data,
        Guarantee.of(claim, *base.guarantee.claims),
        replace(base.internal, plan={"method": "anonymize_database", "k": claim.k, "m": claim.m},
                extra={**base.internal.extra, "code_sets": numbers}),
        about,
    )  # fmt: skip
