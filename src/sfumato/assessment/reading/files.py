"""Any file as a table: opened, what it promises, and what its generalized values stand for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError, SfumatoError, listed
from sfumato.hierarchy import Hierarchy, read_folder
from sfumato.io import scan
from sfumato.io.hold import held
from sfumato.privacy import BoundedReidentification, Guarantee, KAnonymity, KMAnonymity
from sfumato.release import STANDS_FOR, Release
from sfumato.release.manifest import MANIFEST
from sfumato.schema import Schema, Value
from sfumato.sources import BatchSource
from sfumato.table import Table

Meanings = Mapping[str, Mapping[str, Sequence[Value]]]


def opened(
    data: object, what: str, *, schema: Schema | str | Path | None = None, keep_text: bool = False
) -> Table:
    """A Table, a Release, the folder of one, or whatever `scan` reads, as a table with rows in it.

    what: how messages call it. schema: names the columns that are read; the others are left out.
    """
    data = loaded(data)
    if isinstance(data, Release):
        data = data.data
    known = Schema.read(schema) if isinstance(schema, str | Path) else schema
    if isinstance(data, Table):
        return _held(data if known is None else data.with_schema(known))
    try:
        table = (
            scan(data, keep_text=keep_text)
            if known is None
            else scan(data, known, columns=known.names, keep_text=True)
        )
    except SfumatoError as error:
        error.message = f"{what}: {error.message}"
        raise
    return _held(table)


def _held(table: Table) -> Table:
    """A file is read once: a judge reads single columns, thousands of times where there are hundreds."""
    if not isinstance(table.source, BatchSource) or table.source.flavour != "file":
        return table
    return replace(table, source=held(table.source, table.columns))


def is_release(path: str | Path) -> bool:
    """Whether a path is the folder of a release, or its public part."""
    folder = Path(path)
    return (folder / "public" / MANIFEST).is_file() or (folder / MANIFEST).is_file()


def loaded(data: object) -> Any:
    """The release in a folder; anything else as it is."""
    return Release.load(data) if isinstance(data, str | Path) and is_release(data) else data


def guarantee_of(data: object) -> Guarantee | None:
    """What the released thing promises, if it says so."""
    data = loaded(data)
    return data.guarantee if isinstance(data, Release) else None


def promised_k(data: object) -> int | None:
    """The k that a release promises each record, or was asked for; None for a plain file."""
    promised = guarantee_of(data) or ()
    sizes = [claim.k for claim in promised if isinstance(claim, BoundedReidentification | KAnonymity)]
    sizes.append(asked_of_classes(data)[0])
    return next((k for k in sizes if k > 1), None)


def promised_codes(data: object, columns: Sequence[str]) -> int | None:
    """The m that a release promises of all these columns of codes; None where it does not."""
    promised = guarantee_of(data) or ()
    found = [c.m for c in promised if isinstance(c, KMAnonymity) and {*columns} <= {*c.codes}]
    return max(found, default=None)


def asked_of_classes(data: object) -> tuple[int, int]:
    """The k rows and l different sensitive values that a record says were asked for; 1 and 0 where none were.

    What a release promises is what was reached, which is often more.
    """
    plan = _plan(data)
    criterion = str(plan.get("criterion", ""))
    rows = re.findall(r"\bk = (\d+)", criterion)
    values = re.findall(r"distinct l-diversity of .*? with l = (\d+)", criterion)
    return max(map(int, rows), default=1), max(map(int, values), default=0)


def recorded_method(data: object) -> str:
    """The name of the method that made a release, by its internal record; nothing where there is none."""
    method = _plan(data).get("method", "")
    return str(next(iter(method), "")) if isinstance(method, Mapping) else str(method)


def _plan(data: object) -> Mapping[str, Any]:
    """What a record says was asked of whoever made the release anonymous."""
    data = loaded(data)
    record = data.internal if isinstance(data, Release) else None
    plan = {} if record is None else record.plan
    inner = plan.get("anonymize", plan)
    return inner if isinstance(inner, Mapping) else {}


def meanings(
    given: Mapping[str, object] | str | Path | None, released: object, columns: Sequence[str]
) -> Meanings:
    """For each column that was generalized, the leaves of each value.

    given: a folder of level tables, or by column a Hierarchy or {value: its leaves}; None if nobody said.
    released: where it is a release with its record, the record fills in the columns nobody spoke of.
    """
    if isinstance(
        given, str | Path
    ):  # posets without levels name values that explain themselves: ranges, bits
        given = {n: h for n, h in read_folder(given, columns).items() if isinstance(h, Hierarchy)}
    told: Mapping[str, Any] = given or {}
    wrong = [repr(name) for name, tree in told.items() if not isinstance(tree, Hierarchy | Mapping)]
    if wrong:
        raise ParameterError(
            f"hierarchies: what was given for {listed(wrong)} is not a hierarchy.",
            hint="a folder of level tables, or {'age': sf.Hierarchy(...)} or {'age': {'30-39': ['30', ...]}}",
        )
    said = {n: t.stands_for if isinstance(t, Hierarchy) else t for n, t in told.items()}
    return {**_recorded(released), **said}


def _recorded(released: object) -> Meanings:
    """What the internal record says, if it is there: a public part alone has none."""
    released = loaded(released)
    record = released.internal if isinstance(released, Release) else None
    if record is None or STANDS_FOR not in record.tables:
        return {}
    out: dict[str, dict[str, list[Value]]] = {}
    for row in record.tables[STANDS_FOR].to_pylist():
        out.setdefault(row["column"], {}).setdefault(row["value"], []).append(row["leaf"])
    return out
