"""Hierarchies: how the values of a column become more general, as a tree with rows under every node.

A tree can be taken apart and put together by hand; then it is a table of levels beside the plan.
"""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.errors import SfumatoError
from sfumato.studio import hierarchy_actions as actions
from sfumato.studio.column_tree import ColumnTree, NotCovered
from sfumato.studio.hierarchy_choice import address, chosen, known_columns, tree_of
from sfumato.studio.hierarchy_parts import found_nestings, loss_table, recipe_list, table_forms
from sfumato.studio.markup import Html, el, join
from sfumato.studio.screens.knowledge import wanted_k
from sfumato.studio.screens.screen import Screen
from sfumato.studio.tree_picture import TreePicture, node_of
from sfumato.studio.view import PageView


def show(view: PageView) -> Html:
    """The columns, and the tree of one of them."""
    t, names = view.t, known_columns(view)
    head = [el("h1", t("hierarchies.title")), el("p", t("hierarchies.lead"))]
    if view.look is None:
        return el("section", *head, el("p", t("open.looking")))
    if not names:
        return el("section", *head, el("p", t("hierarchies.none")))
    name = chosen(view)
    links = [
        el(
            "li",
            el(
                "a",
                n,
                href=address(view, n),
                id=f"column-{list(view.columns).index(n)}",
                aria_current="true" if n == name else None,
            ),
        )
        for n in names
    ]
    return join(
        el(
            "section",
            *head,
            el("p", t("internal"), class_="small"),
            el("nav", el("ul", links), class_="picks", aria_label=t("hierarchies.columns")),
            found_nestings(view),
        ),
        _column(view, name),
    )


def _column(view: PageView, name: str) -> Html:
    t, entry = view.t, view.columns[name]
    leader = next((n for n, e in view.columns.items() if name in _above(e)), "")
    title = el("h2", name, id="column")
    if leader:
        with_ = el("a", leader, href=address(view, leader))
        return el("section", title, el("p", t("hierarchies.goes_with"), " ", with_))
    k = wanted_k(view)
    try:
        tree = tree_of(view, name)
    except SfumatoError as error:
        fault = el(
            "div", el("p", el("strong", error.message)), el("p", error.hint, class_="small"), class_="warn"
        )
        add = None
        if isinstance(error, NotCovered):
            add = view.form(f"cover?{_query(view, name)}", view.button(t("hierarchies.cover"), id="cover"))
        return join(el("section", title, fault, add), recipe_list(view, name, k), table_forms(view, name))
    given = entry.get("hierarchy", "")
    recipe = given if isinstance(given, str) else str(given.get("recipe", ""))
    word = t(f"recipe.{recipe}") if t.has(f"recipe.{recipe}") else recipe
    chained = recipe == "columns"
    place = list(view.columns).index(name)
    download = el(
        "a", t("hierarchies.download"), href=f"/hierarchies/{place}/levels.csv", id="download", download=True
    )
    facts = el("p", t("hierarchies.is", recipe=word, levels=tree.hierarchy.height), " ", download)
    apart = None
    if chained:
        apart = view.form(
            f"apart?{_query(view, name)}",
            el("p", t("hierarchies.chained", names=" < ".join([name, *_above(entry)]))),
            view.button(t("hierarchies.apart"), id="apart", class_="quiet"),
        )
    return join(
        el("section", title, facts, apart, loss_table(view, name, tree, k, fixed=chained)),
        _tree(view, name, tree, k, fixed=chained or view.fixed),
        recipe_list(view, name, k),
        table_forms(view, name),
    )


def _tree(view: PageView, name: str, tree: ColumnTree, k: int, *, fixed: bool) -> Html:
    t, found = view.t, tree.hierarchy
    at = node_of(view.query, "at", found.size, found.root)
    start = node_of(view.query, "from", len(found.leaves), 0)
    place = list(view.columns).index(name)
    drawing = TreePicture(view, tree, place, k, at, start, fixed)
    find = (
        view.form(
            f"find?{_query(view, name)}",
            el("label", t("hierarchies.find"), for_="tree-find"),
            el(
                "input",
                type="text",
                name="words",
                id="tree-find",
                maxlength=actions.LONGEST_FIND,
                autocomplete="off",
                required=True,
            ),
            " ",
            el("button", t("hierarchies.find.go"), type="submit", class_="quiet", id="tree-found"),
            class_="find",
            disabled=view.fixed,
        )
        if found.size > 30 and not view.fixed
        else None
    )
    title = el("h2", t("hierarchies.tree"))
    if fixed:
        return el("section", title, find, drawing.html(), id="tree-part")

    def button(what: str, **more: object) -> Html:
        return view.button(
            t(f"hierarchies.do.{what}"), name="do", value=what, id=f"tree-{what}", class_="quiet", **more
        )

    bar = el(
        "div",
        el(
            "div",
            el("label", t("hierarchies.name"), for_="tree-name"),
            el("input", type="text", name="label", id="tree-name", maxlength=200, autocomplete="off"),
            el("div", button("group"), button("merge"), button("rename"), class_="row"),
        ),
        el(
            "div",
            el("label", t("hierarchies.under"), for_="tree-target"),
            el(
                "input",
                type="text",
                name="target",
                id="tree-target",
                list="tree-targets",
                maxlength=200,
                autocomplete="off",
            ),
            el("div", button("move"), button("split"), class_="row"),
        ),
        class_="tree-bar",
    )
    hands = join(
        view.hidden(tree=tree.mark),
        el("input", type="hidden", name="dragged", id="tree-dragged", value=""),
        el("input", type="hidden", name="onto", id="tree-onto", value=""),
        button("drop", hidden=True),
    )
    return el(
        "section",
        title,
        el("p", t("hierarchies.tree.lead")),
        el("p", t("hierarchies.keys"), class_="small keys"),
        find,
        view.form(
            f"change?{_query(view, name)}", bar, hands, drawing.targets(), drawing.html(), id="tree-form"
        ),
        id="tree-part",
    )


def _query(view: PageView, name: str) -> str:
    """Where one is, for the address that a form is sent to: what went wrong is said there too."""
    said = address(view, name).partition("?")[2]
    return "&".join(
        [said, *(f"{k}={view.query[k]}" for k in ("at", "from") if view.query.get(k, "").isdigit())]
    )


def _above(entry: Mapping[str, object]) -> list[str]:
    given = entry.get("hierarchy")
    return list(given.get("above", ())) if isinstance(given, dict) else []


SCREEN = Screen(
    "hierarchies",
    show,
    {
        "change": actions.change,
        "find": actions.find,
        "take": actions.take,
        "level": actions.leave_out,
        "table": actions.table,
        "cover": actions.cover,
        "accept": actions.accept,
        "apart": actions.apart,
    },
    {"{place}/levels.csv": actions.download},
)
