"""Which column the hierarchies' screen shows, and what it finds: its tree, and tables beside the plan."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace

from sfumato.errors import ParameterError
from sfumato.hierarchy.tables import MOST_BYTES
from sfumato.schema import Column, Role
from sfumato.studio.column_tree import ColumnTree, TreeShelf
from sfumato.studio.hierarchy_edits import PLACE
from sfumato.studio.tree_picture import node_of
from sfumato.studio.view import PageView

_MOST_FILES = 200
_KNOWN = str(Role.QUASI_IDENTIFIER)


def known_columns(view: PageView) -> list[str]:
    """Columns that are made more general, or have a hierarchy for another reason, as the plan orders them."""
    return [
        n
        for n, e in view.columns.items()
        if not e.get("drop") and (view.role_of(n) == _KNOWN or "hierarchy" in e)
    ]


def chosen(view: PageView) -> str:
    """The column of the address; else the one that the last edit was about; else the first."""
    names, every = known_columns(view), list(view.columns)
    if not names:
        raise ParameterError("no column is made more general.", hint="tick one under who knows what")
    place = node_of(view.query, "column", len(every), -1)
    if place >= 0:
        if every[place] not in names:
            raise ParameterError("this column is not made more general.", hint="choose another")
        return every[place]
    for said in (view.folder.redoable, view.folder.undoable):
        try:
            about = json.loads(said)[1].get("column")
        except (ValueError, AttributeError, IndexError, TypeError, KeyError):
            continue
        if about in names:
            return str(about)
    return names[0]


def address(view: PageView, name: str) -> str:
    """The page of a column: by its place in the plan."""
    return f"/hierarchies?column={list(view.columns).index(name)}"


def column_of(view: PageView, name: str) -> Column:
    """What the schema says of a column, with the role that the plan gives it."""
    if view.schema is None or name not in view.schema:
        raise ParameterError("the schema lacks this column.", hint="read the file again")
    return replace(view.schema[name], role=Role(view.role_of(name)))


def tree_of(view: PageView, name: str) -> ColumnTree:
    """The tree of a column as the plan has it."""
    entry = view.columns[name]
    if view.look is None:
        raise ParameterError("the data was not counted yet.", hint="wait for it")
    if "hierarchy" not in entry:
        raise ParameterError("this column has no hierarchy of its own yet.", hint="take a recipe below")
    folder = view.folder
    return TreeShelf.of(view.look).tree(view.look, column_of(view, name), entry, folder.texts, folder.folder)


def suggested(view: PageView) -> Mapping[str, object]:
    """What each column would get if it needed a hierarchy of its own."""
    return {} if view.look is None else {c.name: c.hierarchy for c in view.look.columns.values()}


def level_files(view: PageView) -> list[str]:
    """Files beside the plan that may be tables of levels; no links, nothing hidden."""
    folder, found = view.folder.folder, []
    for place in (folder, folder / PLACE):
        if not place.is_dir() or place.is_symlink():
            continue
        with os.scandir(place) as items:
            for item in sorted(items, key=lambda e: e.name.lower()):
                plain = not item.name.startswith(".") and item.name.lower().endswith((".csv", ".txt"))
                if plain and item.is_file(follow_symlinks=False) and item.stat().st_size <= MOST_BYTES:
                    found.append(item.name if place == folder else f"{PLACE}/{item.name}")
    return found[:_MOST_FILES]
