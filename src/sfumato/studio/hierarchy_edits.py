"""What a click on the hierarchies does to the plan: a recipe, a table of levels, columns that go together.

A tree that was changed by hand is a table of levels, `hierarchies/COLUMN.csv` beside the plan, which the plan
names; a table that came from elsewhere is left as it is.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError
from sfumato.hierarchy import Hierarchy, Nested, write_levels
from sfumato.schema import Role
from sfumato.studio.column_edits import ColumnEdit
from sfumato.studio.journal import Texts
from sfumato.studio.plan_folder import PLAN

PLACE = "hierarchies"
_LONGEST = 40


def with_recipe(texts: Texts, name: str, given: object, suggested: Mapping[str, object]) -> dict[str, str]:
    """The files after a column got another recipe; columns that went with it get their own again."""
    edit, before = ColumnEdit(texts[PLAN], suggested), _entry(texts, name)
    edit.set(("columns", name, "hierarchy"), given)
    _free(edit, texts, _above(before), suggested)
    return {**texts, PLAN: edit.text}


def with_table(
    texts: Texts, folder: Path, name: str, found: Hierarchy, suggested: Mapping[str, object]
) -> dict[str, str]:
    """The files after a column got a table of levels, in a file of its own."""
    file = file_of(texts, folder, name)
    after = with_recipe(texts, name, {"recipe": "levels", "file": file}, suggested)
    return {**after, file: write_levels(found)}


def with_chain(texts: Texts, name: str, above: Sequence[str]) -> dict[str, str]:
    """The files after columns that nest became one hierarchy; those above have none of their own then."""
    Nested(tuple(above))
    edit = ColumnEdit(texts[PLAN], {})
    for column in (name, *above):
        if _entry(texts, column).get("role", Role.QUASI_IDENTIFIER) != Role.QUASI_IDENTIFIER:
            raise ParameterError("one of these columns is not made more general.", hint="see its role")
    edit.set(("columns", name, "hierarchy"), {"recipe": "columns", "above": list(above)})
    for column in above:
        edit.remove(("columns", column, "hierarchy"))
    return {**texts, PLAN: edit.text}


def file_of(texts: Texts, folder: Path, name: str) -> str:
    """Where the table of a column is kept: where the studio keeps it already, or a name that is free."""
    entry = _entry(texts, name).get("hierarchy")
    now = str(entry.get("file", "")) if isinstance(entry, dict) else ""
    used = [n for n, e in _columns(texts).items() if _file(e) == now and n != name]
    if now in texts and now.startswith(f"{PLACE}/") and not used:
        return now
    stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_LONGEST] or "column"
    number = 1
    while True:
        file = f"{PLACE}/{stem if number == 1 else f'{stem}-{number}'}.csv"
        others = any(_file(e) == file for n, e in _columns(texts).items() if n != name)
        if not others and (file in texts or not (folder / file).exists()):
            return file
        number += 1


def _free(edit: ColumnEdit, texts: Texts, above: Sequence[str], suggested: Mapping[str, object]) -> None:
    now = tomllib.loads(edit.text).get("columns", {}).values()
    still = {c for e in now if isinstance(e, dict) for c in _above(e)}
    for column in above:
        entry = _entry(texts, column)
        known = entry.get("role", Role.QUASI_IDENTIFIER) == Role.QUASI_IDENTIFIER and not entry.get("drop")
        if known and column not in still and "hierarchy" not in entry:
            edit.set(("columns", column, "hierarchy"), suggested.get(column, "suppress"))


def _columns(texts: Texts) -> dict[str, dict[str, Any]]:
    found = tomllib.loads(texts[PLAN]).get("columns", {})
    return {n: e for n, e in found.items() if isinstance(e, dict)} if isinstance(found, dict) else {}


def _entry(texts: Texts, name: str) -> dict[str, Any]:
    if PLAN not in texts:
        raise ParameterError("there is no plan yet.", hint="open a file")
    found = _columns(texts)
    if name not in found:
        raise ParameterError("there is no such column.", hint="load the page again")
    return found[name]


def _file(entry: Mapping[str, Any]) -> str:
    given = entry.get("hierarchy")
    return str(given.get("file", "")) if isinstance(given, Mapping) else ""


def _above(entry: Mapping[str, Any]) -> list[str]:
    given = entry.get("hierarchy")
    return [str(c) for c in given.get("above", ())] if isinstance(given, Mapping) else []
