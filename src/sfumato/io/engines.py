"""Tables that live in an engine: DuckDB, Ibis, Spark, and databases named by a URL.

An engine groups where the data is. Its columns are renamed by position to c0, c1, ..., because engines
fold case and reserve words; the user's names stay on the outside.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import narwhals as nw
import pyarrow as pa

from sfumato._interrupts import heed
from sfumato.counts.duck import OFFLINE
from sfumato.errors import DataError, MissingExtraError, ParameterError, SfumatoWarning, listed
from sfumato.io.addresses import filled
from sfumato.io.file_checks import require_names
from sfumato.sources import BatchSource, EngineFlavour, EngineSource, Source, engine_faults

if TYPE_CHECKING:
    import duckdb
    import ibis
    import pyspark.sql

DATABASES = (
    "postgresql",
    "postgres",
    "sqlite",
    "duckdb",
    "mysql",
    "mssql",
    "snowflake",
    "bigquery",
    "trino",
    "clickhouse",
    "oracle",
    "databricks",
)

_EXTRAS = {"postgresql": "postgres"}  # what Ibis calls it, where that is not the scheme
_CASE_SENSITIVE = {"polars", "postgres"}  # Ibis backends that were seen to tell n from N
# Their usual collations group 'F' with 'f', 'e' with 'é', 'a' with 'a ': rows are fetched and counted here.
# MySQL, MariaDB and SQLite are asked for bytes instead, see `_told_apart`.
_FOLDING = {"mssql", "singlestoredb"}


@engine_faults()
def from_duckdb(relation: duckdb.DuckDBPyRelation, origin: object = None) -> EngineSource:
    """A DuckDB relation, in the connection it came from."""
    heed(getattr(relation, "_con", None))  # it has no public name
    inner = ", ".join(f"c{k}" for k in range(len(relation.columns)))
    frame = relation.query("sfumato_scan", f"SELECT * FROM sfumato_scan AS sfumato_scan({inner})")
    assert frame is not None, "a query has rows"
    return _engine(
        frame, frame.limit(0).to_arrow_table().schema, relation.columns, "duckdb", origin or relation
    )


@engine_faults()
def from_ibis(table: ibis.Table, origin: object = None) -> Source:
    """An Ibis table of any backend. One that takes different values for equal only hands over its rows."""
    names = list(table.columns)
    folded = [name.casefold() for name in names]
    alike = [repr(name) for name in names if folded.count(name.casefold()) > 1]
    if alike and _backend(table) not in _CASE_SENSITIVE:
        # DuckDB behind Ibis then gives the values of one column for the other, without a word.
        raise DataError(
            f"this Ibis backend mixes up columns whose names differ in case only: {listed(alike)}.",
            hint="rename one of them",
        )
    frame = table.rename({f"c{k}": name for k, name in enumerate(names)})
    found = _engine(_told_apart(frame), frame.schema().to_pyarrow(), names, "ibis", origin or table)
    if _backend(table) in _FOLDING:
        return BatchSource(found.arrow_schema, found.batches, origin=origin or table)
    return found


def _told_apart(frame: ibis.Table) -> ibis.Table:
    """The table with its texts as bytes, where the engine takes different texts for the same.

    MySQL and MariaDB do by default: "P1", "p1" and "P1 " are one to them, and would count as one. SQLite does
    where a column says so. The bytes are those of UTF-8, whatever a column is stored in, and can be grouped.
    """
    backend = _backend(frame)
    texts = [name for name, kind in frame.schema().items() if kind.is_string()]
    if not texts or backend not in ("mysql", "sqlite"):
        return frame
    if backend == "sqlite":
        return frame.mutate(**{name: frame[name].cast("binary") for name in texts})
    cells = [
        f"UNHEX(HEX(CONVERT({name} USING utf8mb4))) AS {name}" if name in texts else name
        for name in frame.columns
    ]
    return frame.alias("sfumato_text").sql(f"SELECT {', '.join(cells)} FROM sfumato_text")


def _backend(table: ibis.Table) -> str:
    """The name of the engine behind an Ibis table; one in memory runs on the default one, DuckDB."""
    backends = table._find_backends()[0]
    return str(backends[0].name) if backends else "duckdb"


@engine_faults()
def from_spark(frame: pyspark.sql.DataFrame) -> EngineSource:
    """A Spark frame, classic or Connect."""
    names = list(frame.columns)
    renamed = frame.toDF(*[f"c{k}" for k in range(len(names))])
    return _engine(renamed, renamed.limit(0).toArrow().schema, names, "spark", frame)


def _engine(
    native: Any, inner: pa.Schema, names: list[str], flavour: EngineFlavour, origin: object
) -> EngineSource:
    require_names(names)
    fields = [inner.field(k).with_name(name) for k, name in enumerate(names)]
    return EngineSource(nw.from_native(native).lazy(), pa.schema(fields), flavour, origin)


# -- databases -------------------------------------------------------------------------------------


def from_url(url: str, table: str | None) -> Source:
    """A table of a database, or a query against it. The URL may hold a password: it is never repeated.

    `${NAME}` in it stands for an environment variable.
    """
    scheme = url.partition("://")[0].lower().partition("+")[0]
    if scheme not in DATABASES:
        raise DataError(
            f"'{scheme}' addresses are not read.",
            hint="download the file first; read are s3, gs, abfs, https, and databases such as "
            f"{listed(list(DATABASES[:4]))}",
        )
    url = filled(url)
    if scheme == "duckdb":
        return _from_duckdb_file(_local_file(url, "DuckDB"), table)
    connection = _connection(url, scheme)
    return from_ibis(_ibis_table(connection, table), connection)


def table_names(url: str) -> list[str]:
    """The tables and views of a database, in order of name; `schema.table` beside those found without one."""
    scheme = url.partition("://")[0].lower().partition("+")[0]
    if scheme not in DATABASES:
        raise DataError(
            f"'{scheme}' addresses are no databases.", hint=f"such as {listed(list(DATABASES[:4]))}"
        )
    url = filled(url)
    if scheme != "duckdb":
        connection = _connection(url, scheme)
        if connection.name == "postgres":
            return _postgres_names(connection)
        return sorted(connection.list_tables())
    file = _duckdb_connection(_local_file(url, "DuckDB"))
    try:
        return sorted(_duckdb_names(file))
    finally:
        file.close()


def _postgres_names(connection: ibis.BaseBackend) -> list[str]:
    """The tables of all schemas of the search path; of two of one name the one before, and said."""
    with connection.raw_sql("SELECT unnest(current_schemas(false))") as cursor:
        schemas = [row[0] for row in cursor.fetchall()]
    found: dict[str, str] = {}
    hidden = []
    for schema in schemas:
        for name in sorted(connection.list_tables(database=schema)):
            hidden += [f"{schema}.{name}"] if name in found else []
            found.setdefault(name, name if schema == schemas[0] else f"{schema}.{name}")
    if hidden:
        words = "not read, since a schema before it on the search path has a table of that name"
        warnings.warn(f"{words}: {listed(hidden)}.", SfumatoWarning, stacklevel=2)
    return list(found.values())


def _connection(url: str, scheme: str) -> ibis.BaseBackend:
    try:
        import ibis
    except ImportError:
        raise MissingExtraError(f"reading from {scheme}", "ibis") from None
    try:
        if scheme == "sqlite":
            connection = ibis.sqlite.connect(_local_file(url, "SQLite"))
        else:
            connection = ibis.connect(url)
    except DataError:
        raise
    except ImportError:  # Ibis is there: what lacks is its driver for this database
        raise DataError(
            f"reading from {scheme} needs a driver that is not installed.",
            hint=f'pip install "ibis-framework[{_EXTRAS.get(scheme, scheme)}]"',
        ) from None
    except Exception as error:  # every driver has its own; their messages may repeat the password
        raise _no_connection(scheme, url, error) from None
    return connection


def _no_connection(scheme: str, url: str, error: Exception) -> DataError:
    if scheme == "sqlite":
        name = _local_file(url, "SQLite").name
        return DataError(
            f"{name} cannot be opened as a SQLite database ({type(error).__name__}).",
            hint="it may be damaged, locked, or another kind of file",
        )
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    where = f" on {host}" if host else ""
    return DataError(
        f"no connection to the {scheme} database{where} ({type(error).__name__}).",
        hint="check address, name and password with the database's own client",
    )


def _local_file(url: str, what: str) -> Path:
    """The file of a URL such as sqlite:///relative.db or sqlite:////absolute.db."""
    path = Path(unquote(urlsplit(url).path.removeprefix("/")))
    if not path.is_file():  # the drivers would make an empty one
        raise DataError(f"no {what} file {path.name or '(no name)'}.", hint="check the path after ///")
    return path


def is_query(table: str) -> bool:
    """Whether what was named as a table is a query against the database."""
    return bool(re.match(r"\s*(select|with|from|values)\s", table, flags=re.IGNORECASE))


def _chosen(table: str | None, names: list[str]) -> str:
    """The table asked for, or the only one there is."""
    if table is None and len(names) == 1:
        return names[0]
    if table is None:
        raise ParameterError(
            f"the database has {len(names)} tables: {listed(sorted(names))}.", hint="say table='...'"
        )
    return table


def _duckdb_connection(path: Path) -> duckdb.DuckDBPyConnection:
    import duckdb

    try:
        return duckdb.connect(str(path), read_only=True, config=OFFLINE)
    except duckdb.Error as error:
        raise DataError(
            f"{path.name} cannot be opened as a DuckDB database ({type(error).__name__}).",
            hint="close other programs that write to it; if it is open here, give a relation instead",
        ) from None


def _duckdb_names(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """The tables by name, `schema.table` outside of main, and how each is asked for without a doubt."""
    tables = "SELECT database_name, schema_name, table_name FROM duckdb_tables()"
    views = "SELECT database_name, schema_name, view_name FROM duckdb_views() WHERE NOT internal"
    rows = connection.sql(f"{tables} UNION ALL {views}").fetchall()
    named = {n if s == "main" else f"{s}.{n}": (d, s, n) for d, s, n in rows}
    return {n: ".".join('"' + p.replace('"', '""') + '"' for p in path) for n, path in named.items()}


def _from_duckdb_file(path: Path, table: str | None) -> EngineSource:
    import duckdb

    connection = _duckdb_connection(path)
    places = _duckdb_names(connection)
    names = list(places)
    wanted = _chosen(table, names)
    try:
        asked = f"FROM {places[wanted]}" if wanted in places else ""
        if not asked and is_query(wanted):
            asked = _only_reading(connection, wanted)
        relation = connection.sql(asked) if asked else connection.table(wanted)
        return from_duckdb(relation, connection)
    except duckdb.Error as error:
        raise _bad_table(wanted, names, error) from None


def _only_reading(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """A query that reads and does nothing else: a plan may come from anybody, and COPY writes any file."""
    import duckdb

    statements = connection.extract_statements(query)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise ParameterError("a query is one SELECT, and nothing else.", hint="table='SELECT ... FROM ...'")
    return query


def _one_query(connection: ibis.BaseBackend, query: str) -> str:
    """The same for servers, which would run what stands behind a semicolon by the rights of who asks."""
    import sqlglot

    if sum(s is not None for s in sqlglot.parse(query, read=connection.dialect)) != 1:
        raise ParameterError("a query is one SELECT, and nothing else.", hint="table='SELECT ... FROM ...'")
    return query


def _ibis_table(connection: ibis.BaseBackend, table: str | None) -> ibis.Table:
    names = list(connection.list_tables())
    wanted = _chosen(table, names)
    try:
        if wanted in names:  # whoever may make tables there may call one as a query is written
            return connection.table(wanted)
        if is_query(wanted):
            return connection.sql(_one_query(connection, wanted))
        if "." in wanted:
            database, _, name = wanted.rpartition(".")
            return connection.table(name, database=database)
        return connection.table(wanted)
    except ParameterError:
        raise
    except Exception as error:  # drivers differ, and quote values of a failed query
        raise _bad_table(wanted, names, error) from None


def _bad_table(wanted: str, names: list[str], error: Exception) -> DataError:
    if is_query(wanted):
        return DataError(
            f"the query failed ({type(error).__name__}).", hint="try it in the database's own client"
        )
    if wanted in names:
        return DataError(
            f"table {wanted!r} has a column that cannot be read ({type(error).__name__}).",
            hint="give a query that casts it: table='SELECT id, CAST(amount AS TEXT) AS amount FROM ...'",
        )
    return DataError(
        f"no table {wanted!r}.",
        hint=f"the database has {listed(sorted(names))}" if names else "it has no tables",
    )
