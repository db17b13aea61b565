"""Several tables with keys: what they are, how they hang together, whose rows they hold. No cell of them.

Where a plan is to be proposed, its two texts are left in the task's folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from sfumato.database import Database
from sfumato.io.addresses import from_folder, is_url, require_consent
from sfumato.io.atomic import write_text
from sfumato.io.databases import scan_database
from sfumato.io.declarations import DECLARATION
from sfumato.plan.database import DatabasePlan
from sfumato.plan.database_proposal import propose_database
from sfumato.progress import report
from sfumato.studio.tasks.order import Order
from sfumato.studio.toml_text import with_entry

_LABEL = "looking at the tables"


def linked(order: Order) -> Mapping[str, object]:
    """Look at the tables of a plan, of a folder, or of a database."""
    report(_LABEL, 0, 2)
    data = str(order.given.get("data", ""))
    if order.given.get("propose"):
        require_consent(data, "the database")
        database, declared, plan = propose_database(data, order.folder)
        if not is_url(data):  # whoever gets the folder runs the plan there
            plan = with_entry(plan, ("database", "data"), os.path.relpath(data, order.folder))
        write_text(order.place / "plan.toml", plan, private=True, overwrite=True)
        write_text(order.place / DECLARATION, declared, private=True, overwrite=True)
    elif data:
        require_consent(data, "the database")
        database = scan_database(data, check=False)
    else:
        database = _of_plan(DatabasePlan.read(order.folder / "plan.toml"))
    report(_LABEL, 1, 2)
    found = described(database)
    report(_LABEL, 2, 2)
    return found


def _of_plan(plan: DatabasePlan) -> Database:
    """The tables that a plan names, whether their keys hold or not."""
    entry = plan.document["database"]
    require_consent(entry["data"], f"the data of {plan.name}")
    declared = plan.folder / entry["declared"] if "declared" in entry else None
    return scan_database(from_folder(entry["data"], plan.folder), declared, check=False)


def described(database: Database) -> dict[str, Any]:
    """Names, numbers and reasons."""
    faults = [[d.fatal, str(d)] for d in database.differences]
    return {
        "form": database.form,
        "tables": [_table(database, name) for name in database.order],
        "links": [
            {"child": k.child, "column": k.column, "parent": k.parent, "key": k.key, "why": k.reason}
            for k in database.links
        ],
        "differences": faults,
        "persons": None if any(fatal for fatal, _ in faults) else database.people.count,
    }  # fmt: skip


def _table(database: Database, name: str) -> dict[str, Any]:
    table, keys, points = database.tables[name], database.key_columns[name], database.points(name)
    route = database.route(name)
    columns = [*keys, *(c for c in table.columns if c not in keys)]
    to = {c: getattr(p, "target", "") for c, p in points.items()}
    return {
        "name": name,
        "rows": table.rows(),
        "columns": [
            {"name": c, "role": str(table.schema[c].role) if c in table.schema else "", "key": c in keys,
             "own": c == database.keys.get(name), "to": str(to.get(c, ""))}
            for c in columns
        ],
        "person": database.person_column(name) or "",
        "route": [] if route is None else [route[0], getattr(route[1], "parent", "")],
        "apart": name in database.apart,
        "unconfirmed": name in database.unconfirmed,
    }  # fmt: skip
