"""What is done on the hierarchies' screen: each action from a form to an edit of the plan."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy import Hierarchy, parse_levels, write_levels
from sfumato.hierarchy.tables import read_text
from sfumato.studio import tree_edits
from sfumato.studio.column_tree import TreeShelf, covering, values_of
from sfumato.studio.hierarchy_choice import (
    address,
    chosen,
    column_of,
    known_columns,
    level_files,
    suggested,
    tree_of,
)
from sfumato.studio.hierarchy_edits import with_chain, with_recipe, with_table
from sfumato.studio.plan_folder import StaleEdit, named
from sfumato.studio.recipe_forms import read_recipe
from sfumato.studio.tree_picture import TreePicture, node_of
from sfumato.studio.view import Form, PageView

LONGEST_FIND = 200


def change(view: PageView, form: Form) -> str | None:
    """One thing done to the tree."""
    name = chosen(view)
    tree = tree_of(view, name)
    found, what = tree.hierarchy, form.text("do")
    if form.text("tree") != tree.mark:
        raise StaleEdit
    dragged = form.text("dragged", "")
    nodes = [_number(n) for n in ([dragged] if dragged else form.several("node"))]
    label, target = form.text("label", "").strip(), form.text("target", "").strip()
    if what == "group" and not label and target:
        what = "move"  # Enter in the field of where to
    after = _changed(found, what, nodes, label, _target(found, what, target, form.text("onto", ""), nodes))
    _keep(view, form, name, after, named(f"edit.tree.{'move' if what == 'drop' else what}", column=name))
    return _address_after(view, name, found, after)


def _changed(found: Hierarchy, what: str, nodes: list[int], label: str, target: int) -> Hierarchy:
    if what in ("rename", "split") and len(nodes) != 1:
        raise ParameterError("tick one node.", hint="the others after it")
    if not nodes:
        raise ParameterError("tick a node first.", hint="in the tree")
    match what:
        case "group":
            return tree_edits.grouped(found, nodes, label)
        case "merge":
            return tree_edits.merged(found, nodes, label or _first(found, nodes))
        case "rename":
            return tree_edits.renamed(found, nodes[0], label)
        case "split":
            return tree_edits.split(found, nodes[0])
        case "move":
            return tree_edits.moved(found, nodes, target)
        case "drop":
            if _alike(found, [*nodes, target]):
                return tree_edits.merged(found, [target, *nodes], found.label(target))
            return tree_edits.moved(found, nodes, target)
    raise ParameterError("there is no such thing to do.", hint="load the page again")


def _first(found: Hierarchy, nodes: list[int]) -> str:
    return found.label(nodes[0]) if 0 <= nodes[0] < found.size else ""


def _alike(found: Hierarchy, nodes: list[int]) -> bool:
    """Whether all are groups of one level: one let fall on the other is both together."""
    if any(not 0 <= n < found.size or n == found.root for n in nodes) or len(set(nodes)) < 2:
        return False
    chains = [tree_edits.chain(found, n) for n in nodes]
    return all(c.start > 0 for c in chains) and bool(set.intersection(*map(set, chains)))


def _target(found: Hierarchy, what: str, said: str, onto: str, nodes: list[int]) -> int:
    if what == "drop":
        return _number(onto)
    if what != "move":
        return found.root
    if not said:
        raise ParameterError("say under which node.", hint="its name; * for none")
    if said in ("*", found.labels[-1][0]):
        return found.root
    level = max((int(found.level_of[n]) for n in nodes if 0 <= n < found.size), default=0)
    places = [at for at in range(found.height) if said in found.labels[at]]
    at = next((at for at in places if at > level), next(iter(places[::-1]), -1))
    if at < 0:
        raise ParameterError("no node has this name.", hint="names are written as in the tree")
    node = int(found.offsets[at]) + found.labels[at].index(said)
    return int(found.nodes[tree_edits.chain(found, node).stop - 1, found.first_leaf[node]])


def _number(said: str) -> int:
    if not said.isascii() or not said.isdigit() or len(said) > 9:
        raise ParameterError("there is no such node.", hint="load the page again")
    return int(said)


def _keep(view: PageView, form: Form, name: str, after: Hierarchy, edit: str) -> None:
    folder = view.folder.folder
    view.folder.edit(
        edit, lambda texts: with_table(texts, folder, name, after, suggested(view)), form.revision
    )


def _address_after(view: PageView, name: str, before: Hierarchy, after: Hierarchy) -> str:
    """The same place in the tree as it is now, if it is still there."""
    here = address(view, name)
    at = node_of(view.query, "at", before.size, before.root)
    if at != before.root and int(before.level_of[at]) < after.height:
        level, label = int(before.level_of[at]), before.label(at)
        if label in after.labels[level]:
            return f"{here}&at={int(after.offsets[level]) + after.labels[level].index(label)}"
    return here


def find(view: PageView, form: Form) -> str | None:
    """To where a value or a group stands: looked for by its name, which stays out of the address."""
    name = chosen(view)
    found, words = tree_of(view, name).hierarchy, form.text("words").strip()[:LONGEST_FIND].casefold()
    names = [
        (level, at)
        for level, some in enumerate(found.labels[:-1])
        for at, label in enumerate(some)
        if words in label.casefold()
    ]
    if not words or not names:
        raise ParameterError("nothing in the tree is written like this.", hint="try a part of it")
    level, at = min(names, key=lambda n: (found.labels[n[0]][n[1]].casefold() != words, n[0]))
    node = int(found.offsets[level]) + at
    up = tree_edits.chain(found, node).stop
    parent = int(found.nodes[up, found.first_leaf[node]])
    top = int(found.nodes[up - 1, found.first_leaf[node]])
    place = list(view.columns).index(name)
    drawing = TreePicture(view, tree_of(view, name), place, 0, parent, 0, True)
    return drawing.address(parent, drawing.page_of(parent, top))


def take(view: PageView, form: Form) -> str | None:
    """Another recipe: one of those that fit, or with settings of the person's own."""
    name, given = chosen(view), read_recipe(form)
    _look_over(view, name, given)
    recipe = given if isinstance(given, str) else str(given["recipe"])
    view.folder.edit(
        named("edit.recipe", column=name, recipe=recipe),
        lambda texts: with_recipe(texts, name, given, suggested(view)),
        form.revision,
    )
    return address(view, name)


def _look_over(view: PageView, name: str, given: object) -> None:
    """A recipe that has no place for some of the values is refused before the plan has it."""
    if view.look is None:
        raise ParameterError("the data was not counted yet.", hint="wait for it")
    entry = {**view.columns[name], "hierarchy": given}
    shelf = TreeShelf.of(view.look)
    shelf.tree(view.look, column_of(view, name), entry, view.folder.texts, view.folder.folder)


def leave_out(view: PageView, form: Form) -> str | None:
    """The tree without one of its levels."""
    name = chosen(view)
    tree, level = tree_of(view, name), form.whole("level", 1, 1000)
    if form.text("tree") != tree.mark:
        raise StaleEdit
    after = tree_edits.without_level(tree.hierarchy, level)
    _keep(view, form, name, after, named("edit.tree.level", column=name, level=level))
    return address(view, name)


def table(view: PageView, form: Form) -> str | None:
    """A table of levels from a file of the plan's folder, or as it was pasted."""
    name, add = chosen(view), form.text("add", "") == "yes"
    file = form.text("file", "")
    if file:
        if file not in level_files(view):
            raise ParameterError("there is no such table beside the plan.", hint="choose one of the list")
        text = read_text(view.folder.folder / file)
    else:
        text = form.text("levels", "")
        if not text.strip():
            raise ParameterError("no table was given.", hint="choose a file, or paste one")
    _take_table(view, form, name, parse_levels(text.lstrip("\ufeff")), add=add)
    return address(view, name)


def cover(view: PageView, form: Form) -> str | None:
    """The table that the column has, with the values that it lacks directly below *."""
    name = chosen(view)
    given = view.columns[name].get("hierarchy")
    file = str(given.get("file", "")) if isinstance(given, dict) else ""
    text = view.folder.texts.get(file)
    if text is None:
        text = read_text(view.folder.folder / file) if file else ""
    _take_table(view, form, name, parse_levels(text), add=True)
    return address(view, name)


def _take_table(view: PageView, form: Form, name: str, given: Hierarchy, *, add: bool) -> None:
    if view.look is None:
        raise ParameterError("the data was not counted yet.", hint="wait for it")
    values = values_of(view.look, column_of(view, name), view.columns[name])[0]
    after = covering(given, [str(v) for v in values], add=add)
    _keep(view, form, name, after, named("edit.levels", column=name))


def accept(view: PageView, form: Form) -> str | None:
    """Columns that nest become one hierarchy."""
    if view.look is None:
        raise ParameterError("the data was not counted yet.", hint="wait for it")
    name = form.text("column")
    names = [column_of(view, n) for n in known_columns(view)]
    above = TreeShelf.of(view.look).nested(view.look, names).get(name)
    if above is None:
        raise ParameterError("these columns do not nest.", hint="load the page again")
    view.folder.edit(
        named("edit.chain", columns=" < ".join((name, *above))),
        lambda texts: with_chain(texts, name, above),
        form.revision,
    )
    return address(view, name)


def apart(view: PageView, form: Form) -> str | None:
    """Columns that were one hierarchy have their own again; the tree of the finest stays, as a table."""
    name = chosen(view)
    _keep(view, form, name, tree_of(view, name).hierarchy, named("edit.apart", column=name))
    return address(view, name)


def download(view: PageView, given: Mapping[str, str]) -> Response:
    """The table of levels, as ARX reads it."""
    names = list(view.columns)
    if not given["place"].isascii() or not given["place"].isdigit() or int(given["place"]) >= len(names):
        raise DataError("there is no such column.", hint="see the list")
    text = write_levels(tree_of(view, names[int(given["place"])]).hierarchy)
    return Response(
        text,
        media_type="text/csv; charset=utf-8",
        headers={"content-disposition": f'attachment; filename="levels-{int(given["place"])}.csv"'},
    )
