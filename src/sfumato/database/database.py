"""Tables plus keys: a database, and how each of its rows reaches its person."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.database.checks import Defect, differences, structure_faults
from sfumato.database.link import Link
from sfumato.database.people import People, gather
from sfumato.database.reference import Reference
from sfumato.errors import DataError, ParameterError, SchemaError, listed, offered
from sfumato.schema import Role
from sfumato.sources import BatchSource
from sfumato.table import Table

_NAME = re.compile(r"\w[\w-]{0,99}")


@dataclass(frozen=True, eq=False)
class Database:
    """Tables and the links between them; every row reaches its person through its parents.

    tables: by name. links: which rows belong to which. keys: the key of each table that has one.
    apart: tables that hold no persons (names of wards, of codes); all others must reach one.
    unconfirmed: those of them that were only guessed to hold none. They are in no release, nor are columns
    that point to them (`confirmation`).
    references: columns whose ids point to several tables. form: the standard it follows, such as "omop 5.4".
    mended: whether rows or ids were left out so that keys hold; what is left of a person may then hang on
    the rows of others, so nothing is promised to persons (`repair`).

    A link from a table to itself (the visit before) is no parent. Who a person is says the role `person` of a
    column; it may be in one table only.

    >>> db = sf.samples.hospital(20)
    >>> db
    Database(patients, stays, diagnoses; 2 links)
    >>> db.order
    ('patients', 'stays', 'diagnoses')
    >>> int(db.tables["patients"].rows())
    20
    """

    tables: Mapping[str, Table]
    links: tuple[Link, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    apart: frozenset[str] = frozenset()
    references: tuple[Reference, ...] = ()
    form: str = ""
    unconfirmed: frozenset[str] = frozenset()
    mended: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", dict(self.tables))
        object.__setattr__(self, "links", tuple(self.links))
        object.__setattr__(self, "apart", frozenset(self.apart))
        object.__setattr__(self, "unconfirmed", frozenset(self.unconfirmed))
        object.__setattr__(self, "references", tuple(self.references))
        object.__setattr__(self, "keys", {**{k.parent: k.key for k in self.links}, **dict(self.keys)})
        if not self.tables:
            raise ParameterError("a database has at least one table.", hint="sf.scan_database(folder)")
        odd = [repr(n) for n in self.tables if not isinstance(n, str) or not _NAME.fullmatch(n)]
        if odd:
            raise ParameterError(
                f"these cannot be names of tables: {listed(odd)}.", hint="letters, digits, _ and -, no dot"
            )
        wrong = [repr(n) for n, t in self.tables.items() if not isinstance(t, Table)]
        if wrong:
            raise ParameterError(f"these are not tables: {listed(wrong)}.", hint="sf.scan(...) makes one")
        faults = structure_faults(self)
        if faults:
            raise SchemaError(
                f"{len(faults)} fault{'s' * (len(faults) > 1)} in the links of a database: "
                f"{'; '.join(faults)}.",
                hint="correct database.toml, or the links",
            )

    @classmethod
    def of(cls, table: Table, name: str = "table") -> Database:
        """A table as a database of one."""
        return cls({name: table})

    # -- looking ---------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Table:
        self.require([name])
        return self.tables[name]

    def require(self, names: Iterable[str]) -> None:
        """All tables that are asked for and not there, at once."""
        unknown = [n for n in names if n not in self.tables]
        if unknown:
            raise ParameterError(
                f"no table {listed([repr(n) for n in unknown])}.", hint=offered(unknown, list(self.tables))
            )

    def __repr__(self) -> str:
        return f"Database({', '.join(self.tables)}; {len(self.links)} links)"

    def _repr_html_(self) -> str:
        """Tables and links, drawn; no cell."""
        from sfumato.database.picture import drawn_svg

        return drawn_svg(self)

    def parents(self, table: str) -> tuple[Link, ...]:
        """The links from a table to its parents, which are other tables."""
        return tuple(link for link in self.links if link.child == table != link.parent)

    def children(self, table: str) -> tuple[Link, ...]:
        """The links to a table from its children, which are other tables."""
        return tuple(link for link in self.links if link.parent == table != link.child)

    def points(self, table: str) -> dict[str, Link | Reference]:
        """By column of a table that points to rows: to which, those of the table itself among them."""
        links = {k.column: k for k in self.links if k.child == table}
        return {**links, **{r.column: r for r in self.references if r.child == table}}

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The tables, parents before their children."""
        done: list[str] = []
        waiting = list(self.tables)
        while waiting:
            free = [n for n in waiting if all(p.parent in done for p in self.parents(n))]
            if not free:
                raise SchemaError(f"links go round in a circle: {', '.join(sorted(waiting))}.")
            done += free
            waiting = [n for n in waiting if n not in free]
        return tuple(done)

    @property
    def key_columns(self) -> dict[str, tuple[str, ...]]:
        """By table, the columns that are keys or point to one."""
        found: dict[str, tuple[str, ...]] = {}
        for name in self.tables:
            own = [self.keys[name]] if name in self.keys else []
            person = self.person_column(name)
            names = [*own, *self.points(name), *([person] if person else [])]
            found[name] = tuple(dict.fromkeys(names))
        return found

    # -- persons ---------------------------------------------------------------------------------

    def person_column(self, table: str) -> str | None:
        """The column of a table that says whose row it is, if it has one itself."""
        found = self.tables[table].schema.of_role(Role.PERSON)
        return found[0] if found else None

    def route(self, table: str) -> tuple[str, Link | Reference | None] | None:
        """How rows reach their person: a column of their own, or one that points to a parent that does."""
        if table in self.apart:
            return None
        person = self.person_column(table)
        if person is not None:
            return person, None
        for link in self.parents(table):
            if link.parent not in self.apart and self.route(link.parent) is not None:
                return link.column, link
        for reference in self.references:
            if reference.child == table and any(self.person_column(p) for p in reference.parents):
                return reference.column, reference
        return None

    @cached_property
    def root(self) -> str:
        """The table with one row per person where there is one; else the first that names persons."""
        named = [n for n in self.order if self.person_column(n) is not None]
        own = [n for n in named if self.keys.get(n) == self.person_column(n)]
        return next(iter([*own, *named, *(n for n in self.order if n not in self.apart)]))

    @cached_property
    def people(self) -> People:
        """The persons, numbered; the keys of all parents are read once."""
        return gather(self)

    # -- changing --------------------------------------------------------------------------------

    def with_tables(self, tables: Mapping[str, Table]) -> Database:
        """The same links over other tables."""
        return replace(self, tables={**self.tables, **tables})

    def only(self, persons: NDArray[np.bool_]) -> Database:
        """The rows of some persons in every table; tables without persons as they are.

        persons: one for each of `people`, in their order.
        """
        if len(persons) != self.people.count:
            raise ParameterError(f"there are {self.people.count:,} persons.", hint="one answer for each")
        chosen = np.append(np.asarray(persons, np.bool_), False)  # the last for rows of nobody
        kept = {n: _rows_of(self, n, chosen) for n in self.tables if self.route(n) or self.people.ids is None}
        return self.with_tables({n: t for n, t in kept.items() if n not in self.apart})

    # -- checking --------------------------------------------------------------------------------

    @cached_property
    def differences(self) -> tuple[Defect, ...]:
        """All that is wrong with keys and links, counted; reads the key columns once."""
        return tuple(differences(self))

    def check(self) -> Database:
        """Refuse a database whose keys do not hold, with every difference; itself if they do."""
        found = [d for d in self.differences if d.fatal]
        if found:
            raise DataError(
                f"{len(found)} difference{'s' * (len(found) > 1)} between tables and links: "
                f"{'; '.join(map(str, found))}.",
                hint="correct the rows or the links; a table without persons says persons = false; mend=True "
                "(in a plan mend = true) leaves out rows without a person and empties ids of no row",
            )
        return self


def _rows_of(database: Database, name: str, chosen: NDArray[np.bool_]) -> Table:
    """The rows of a table whose persons were chosen, read anew each time."""
    table, people = database.tables[name], database.people

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch, numbers in people.batches(name, list(names)):
            yield batch.filter(pa.array(chosen[numbers]))

    names = list(table.columns)
    arrow = pa.schema([table.source.arrow_schema.field(n) for n in names])
    for batch in read(names):  # as batches come, types and all
        arrow = batch.schema
        break
    return Table(BatchSource(arrow, read), table.schema, table.memory_limit)
