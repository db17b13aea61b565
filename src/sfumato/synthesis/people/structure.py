"""Which tables are synthesized, where their rows hang, and which columns are drawn: known without a row.

The tables of persons are a tree: one row per person at its root, every other row below one row of its parent.
A table below which nothing hangs, and whose rows say one thing each (a code), holds sets: codes of a stay.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa

from sfumato.counts import canonical_type
from sfumato.database import Database, Link, Reference, key_ids
from sfumato.errors import SchemaError, listed
from sfumato.inference.names import words
from sfumato.io.spark import is_spark
from sfumato.schema import Kind, Role
from sfumato.schema.column import Column
from sfumato.table import Table

DATES = ("date", "datetime", "instant")
_RANKS = {"position", "rank", "seq", "sequence", "order", "line", "number", "nr", "no", "num"}
_BIRTH = {"birth", "dob", "born", "geburt", "geburtsdatum", "naissance", "nacimiento", "nascita", "birthdate"}
_DEATH = {"death", "dod", "died", "deceased", "todesdatum", "deces", "defuncion", "decesso", "deathdate"}
_OFTEN = 0.1  # of the rows name no row of the table between
_NEVER = (Role.IDENTIFIER, Role.PERSON, Role.WEIGHT)


@dataclass(frozen=True)
class Branch:
    """One table of persons.

    link: how its rows hang on their parent; none for the persons themselves. copies: further columns that
    hold the key of a row above, by column the table it is of. columns: what is drawn, in order; when: the
    date that orders the rows of a parent, among them. rank: a column that numbers the rows of a parent.
    code: of a table of sets, the column of codes. left_out: columns that are not synthesized.
    """

    name: str
    link: Link | None
    columns: tuple[Column, ...]
    when: str | None = None
    rank: str | None = None
    code: str | None = None
    copies: dict[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @property
    def parent(self) -> str | None:
        """The table its rows hang on."""
        return None if self.link is None else self.link.parent


@dataclass(frozen=True, eq=False)
class TableTree:
    """The tree of tables, parents before their children.

    birth, death: the columns of the persons before and after which no record of a person may lie.
    """

    database: Database
    branches: tuple[Branch, ...]
    birth: str | None = None
    death: str | None = None
    unplaced: tuple[str, ...] = ()

    @classmethod
    def of(cls, database: Database) -> TableTree:
        """All that stands in the way is said at once."""
        faults: list[str] = []
        database, unplaced = _placed(database)
        named = [n for n in database.order if database.route(n) is not None]
        root = database.root
        if database.keys.get(root) is None or database.keys.get(root) != database.person_column(root):
            faults.append("no table has one row for each person, with the person as its key")
        elif len(named) < 2:
            faults.append("nothing hangs on the persons: one table is for sf.synthesize")
        if faults:
            raise SchemaError(f"{'; '.join(faults)}.", hint="see docs/linked-synthesis.md")
        branches = [_branch(database, name, faults) for name in [root, *(n for n in named if n != root)]]
        if faults:
            raise SchemaError(f"{'; '.join(faults)}.", hint="see docs/linked-synthesis.md")
        columns = branches[0].columns
        return cls(database, tuple(branches), _named(columns, _BIRTH), _named(columns, _DEATH), unplaced)

    def __getitem__(self, name: str) -> Branch:
        return next(b for b in self.branches if b.name == name)

    @property
    def root(self) -> Branch:
        """The table of persons."""
        return self.branches[0]

    def children(self, name: str) -> tuple[str, ...]:
        """The tables that hang on one."""
        return tuple(b.name for b in self.branches if b.parent == name)

    def above(self, name: str) -> tuple[str, ...]:
        """The tables above one, its parent first."""
        out: list[str] = []
        at = self[name].parent
        while at is not None:
            out.append(at)
            at = self[at].parent
        return tuple(out)

    def without_rows(self) -> TableTree:
        """The same over empty tables: which there are and what columns mean, and nothing of the data."""
        tables = {}
        for name, table in self.database.tables.items():
            arrow = pa.schema([pa.field(c.name, canonical_type(c)) for c in table.schema])
            tables[name] = Table.from_arrow(arrow.empty_table(), table.schema)
        return replace(self, database=self.database.with_tables(tables))

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        """`table.column` of all that is not synthesized, and tables that are not released."""
        columns = [f"{b.name}.{c}" for b in self.branches for c in b.left_out]
        return (*columns, *(n for n in self.database.tables if n in self.staff), *self.unplaced)

    @cached_property
    def staff(self) -> frozenset[str]:
        """Tables without persons whose keys name somebody, and to which no released column points."""
        database = self.database
        lost = {(b.name, c) for b in self.branches for c in b.left_out}
        used = {k.parent for k in database.links if (k.child, k.column) not in lost}
        keys = {n: database.keys.get(n) for n in database.apart - used}
        return frozenset(n for n, key in keys.items() if key and database[n].schema[key].role in _NEVER)


def _placed(database: Database) -> tuple[Database, tuple[str, ...]]:
    """Without tables of a CDM that reach a person only where another column says by which table: its costs.

    A CDM has the tables of the standard; elsewhere somebody chose them, and such a table is refused.
    """
    if not database.form.startswith("omop"):
        return database, ()
    routes = {n: route for n in database.tables if (route := database.route(n)) is not None}
    gone = tuple(n for n, (_, way) in routes.items() if isinstance(way, Reference))
    if not gone:
        return database, ()
    kept = {n: t for n, t in database.tables.items() if n not in gone}
    links = tuple(k for k in database.links if not {k.child, k.parent} & set(gone))
    references = tuple(r for r in database.references if not {r.child, *r.parents} & set(gone))
    keys = {n: key for n, key in database.keys.items() if n in kept}
    return replace(database, tables=kept, links=links, references=references, keys=keys), gone


def hung_on_persons(database: Database) -> tuple[Database, tuple[str, ...]]:
    """Tables whose rows often name no row of the table between hang on the persons; and those columns.

    Records of an OMOP CDM name their person always and their visit perhaps: hung on visits, all others would
    be lost. It looks at the rows, so it is for synthesis without a promise.
    """
    loose: list[Link] = []
    for name in database.order:
        own = database.person_column(name)
        for link in database.parents(name):
            between = database.route(link.parent) is not None and link.parent != database.root
            if own not in (None, link.column) and between and _empty(database, link) > _OFTEN:
                loose.append(link)
    if not loose:
        return database, ()
    tables = dict(database.tables)
    for link in loose:
        tables[link.child] = tables[link.child].drop([link.column])
    kept = tuple(k for k in database.links if k not in loose)
    return replace(database, tables=tables, links=kept), tuple(k.place for k in loose)


def _empty(database: Database, link: Link) -> float:
    """The share of rows that name no row of the parent."""
    if is_spark(database[link.child].source):
        from sfumato.synthesis.people.executor_keys import empty_share

        return empty_share(database[link.child], link.column)
    rows = empty = 0
    column = database[link.child].schema[link.column]
    for batch in database[link.child].batches([link.column]):
        rows += batch.num_rows
        empty += key_ids(column, batch.column(0)).null_count
    return empty / max(rows, 1)


def _branch(database: Database, name: str, faults: list[str]) -> Branch:
    keys, schema = database.key_columns[name], database[name].schema
    to_persons = [k for k in database.parents(name) if database.route(k.parent) is not None]
    link = _deepest(database, to_persons)
    person = database.person_column(name)
    if link is None and name != database.root and person is not None:
        link = Link(name, person, database.root, database.keys[database.root])
    if link is None and name != database.root:
        faults.append(f"{name}: no column says by itself on which row of which table its rows hang")
    copies: dict[str, str] = {}
    if link is not None:
        above = _ancestors(database, link)
        for other in to_persons:
            if other.column == link.column:
                continue
            if other.parent in above:
                copies[other.column] = other.parent
            else:
                faults.append(
                    f"{name}: hangs on '{link.parent}' and on '{other.parent}', neither above the other"
                )
        if person is not None and person != link.column and person not in copies:
            copies[person] = database.root
    aside = {k.column for k in database.parents(name) if k.parent in database.apart}
    own = {k.column for k in database.links if k.child == k.parent == name}
    drawn, lost, rank = [], [], None
    for column in schema:
        if column.name in keys and column.name not in aside | own:
            continue
        if column.name in own or column.role in _NEVER or column.kind in (Kind.TEXT, Kind.CODES):
            lost.append(column.name)
        elif link is not None and rank is None and _is_rank(column):
            rank = column.name
        else:
            drawn.append(column)
    when = next((c.name for c in drawn if c.type in DATES), None) if link is not None else None
    leaf = link is not None and not database.children(name)
    single = len(drawn) == 1 and drawn[0].kind in (Kind.NOMINAL, Kind.ORDINAL)
    code = drawn[0].name if leaf and single and drawn[0].name not in aside else None
    return Branch(name, link, tuple(drawn), when, rank, code, copies, tuple(lost))


def _is_rank(column: Column) -> bool:
    return column.type == "integer" and column.edges is None and bool(set(words(column.name)) & _RANKS)


def _ancestors(database: Database, link: Link | None) -> list[str]:
    out: list[str] = []
    while link is not None:
        out.append(link.parent)
        link = _deepest(
            database, [k for k in database.parents(link.parent) if database.route(k.parent) is not None]
        )
    return out


def _deepest(database: Database, links: list[Link]) -> Link | None:
    """The parent furthest below the persons: a diagnosis that names stay and patient hangs on the stay."""
    return max(links, key=lambda k: database.order.index(k.parent), default=None)


def _named(columns: tuple[Column, ...], wanted: set[str]) -> str | None:
    """The one column of dates whose name says what it is; none where it is not clear."""
    found = [c.name for c in columns if c.type in DATES and set(words(c.name)) & wanted]
    return found[0] if len(found) == 1 else None


def unnamed(names: tuple[str, ...]) -> str:
    """What is not synthesized, in words."""
    why = "they name people or other rows, or hold text or several codes"
    return f"not synthesized ({why}): {listed(list(names), 12)}"
