"""What stands around a tree: columns that nest, what each level would cost, recipes that fit, tables in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.plan.proposed_hierarchies import Values, alternatives
from sfumato.studio.column_tree import ColumnTree, TreeShelf, values_of
from sfumato.studio.hierarchy_choice import address, column_of, known_columns, level_files
from sfumato.studio.markup import Html, el, join
from sfumato.studio.method_forms import written_value
from sfumato.studio.pictures import meter
from sfumato.studio.recipe_forms import offered, recipe_fields, setting_values
from sfumato.studio.view import PageView

_QUICK = 5_000  # values up to which recipes are tried unasked


def found_nestings(view: PageView) -> Html | None:
    """Columns that nest, and are not one hierarchy yet."""
    look, t = view.look, view.t
    if look is None:
        return None
    names = known_columns(view)
    taken = {c for e in view.columns.values() for c in _above(e)}
    found = TreeShelf.of(look).nested(
        look, [column_of(view, n) for n in names if view.schema and n in view.schema]
    )
    parts = []
    for name, above in found.items():
        if _above(view.columns[name]) == list(above) or taken & {name, *above}:
            continue
        said = " < ".join((name, *above))
        parts.append(
            view.form(
                "accept",
                view.hidden(column=name),
                el("p", t("hierarchies.nest", names=said)),
                view.button(
                    t("hierarchies.accept"),
                    class_="quiet",
                    id=f"nest-{names.index(name)}",
                    aria_label=f"{t('hierarchies.accept')}: {said}",
                ),
            )
        )
    return el("div", el("h3", t("hierarchies.nests")), parts, class_="nests") if parts else None


def loss_table(view: PageView, name: str, tree: ColumnTree, k: int, *, fixed: bool) -> Html:
    """What the hierarchy would cost: at least, and level by level."""
    t, height, rows = view.t, tree.hierarchy.height, []
    for level in tree.levels(k):
        inner = 0 < level.level < height and not fixed and not view.fixed
        away = (
            view.form(
                f"level?{address(view, name).partition('?')[2]}",
                view.hidden(level=level.level, tree=tree.mark),
                view.button(
                    t("hierarchies.leave_out"),
                    class_="quiet",
                    id=f"level-{level.level}",
                    aria_label=t("hierarchies.leave_out.level", level=level.level),
                ),
            )
            if inner
            else None
        )
        label = (
            t("hierarchies.level.values")
            if level.level == 0
            else (
                t("hierarchies.level.all")
                if level.level == height
                else t("hierarchies.level", level=level.level)
            )
        )
        rows.append(
            el(
                "tr",
                el("th", label, scope="row"),
                el("td", t.number(level.nodes), class_="n"),
                el("td", t.number(level.smallest), class_="n"),
                el("td", t.number(level.few), class_="n"),
                el("td", meter(level.loss, t.share(level.loss)), t.share(level.loss)),
                el("td", away),
            )
        )
    titles = (
        ("hierarchies.told", None),
        ("hierarchies.nodes", "n"),
        ("hierarchies.smallest", "n"),
        ("hierarchies.below_k", "n"),
        ("hierarchies.loss", None),
    )
    head = el("tr", [el("th", t(n, k=k), scope="col", class_=c) for n, c in titles], el("td"))
    least = tree.least_loss(k)
    return join(
        el("p", t("hierarchies.least", loss=t.share(least), k=k), class_="figure", id="least-loss"),
        el("p", t("hierarchies.least.means", k=k), class_="small"),
        el(
            "div",
            el("table", el("thead", head), el("tbody", rows), id="levels"),
            class_="wide",
            tabindex="0",
            role="region",
            aria_label=t("hierarchies.cost"),
        ),
    )


# -- recipes -------------------------------------------------------------------------------------------


def recipe_list(view: PageView, name: str, k: int) -> Html:
    """Recipes that fit the values, with what each would cost; and a form for any."""
    t, entry = view.t, view.columns[name]
    now = entry.get("hierarchy")
    rows = []
    for i, (given, why) in enumerate(_fitting(view, name)):
        found = _tried(view, name, given)
        if found is None:
            continue
        recipe = given if isinstance(given, str) else given["recipe"]
        settings = {} if isinstance(given, str) else {k: v for k, v in given.items() if k != "recipe"}
        sent = setting_values(settings)
        label = t("hierarchies.taken" if given == now else "hierarchies.take")
        button = view.form(
            f"take?{address(view, name).partition('?')[2]}",
            view.hidden(recipe=recipe, **sent),
            view.button(
                label,
                class_="choice",
                id=f"take-{i}",
                aria_pressed="true" if given == now else "false",
                aria_label=f"{label}: {_word(view, recipe)} {_settings(settings)}",
            ),
        )
        sizes = " › ".join(t.number(len(names)) for names in found.hierarchy.labels)
        rows.append(
            el(
                "tr",
                el("td", button),
                el(
                    "th",
                    _word(view, recipe),
                    " ",
                    el("span", _settings(settings), class_="small"),
                    el("p", why, class_="small"),
                    scope="row",
                ),
                el("td", sizes, class_="n sizes"),
                el("td", t.share(found.least_loss(k)), class_="n"),
            )
        )
    head = el(
        "tr",
        el("td"),
        [
            el("th", t(n), scope="col", class_=c)
            for n, c in (
                ("hierarchies.recipe", None),
                ("hierarchies.sizes", "n"),
                ("hierarchies.at_least", "n"),
            )
        ],
    )
    listed = el("table", el("thead", head), el("tbody", rows), id="recipes") if rows else None
    return el(
        "section",
        el("h2", t("hierarchies.recipes")),
        el("p", t("hierarchies.recipes.lead")),
        listed,
        _forms(view, name, now),
        id="recipes-part",
    )


def _forms(view: PageView, name: str, now: object) -> Html | None:
    if view.fixed:
        return None
    t, here = view.t, address(view, name)
    own = now if isinstance(now, dict) else {"recipe": now}
    wanted = view.query.get("recipe", "")
    if wanted not in offered():
        wanted = str(own.get("recipe")) if own.get("recipe") in offered() else offered()[0]
    links = [
        el(
            "li",
            el(
                "a",
                _word(view, r),
                href=f"{here}&recipe={r}#own",
                aria_current="true" if r == wanted else None,
            ),
        )
        for r in offered()
    ]
    given = own if own.get("recipe") == wanted else {}
    form = view.form(
        f"take?{here.partition('?')[2]}&recipe={wanted}",
        view.hidden(recipe=wanted),
        recipe_fields(view, wanted, given),
        view.button(t("hierarchies.take.own"), id="take-own"),
    )
    return el(
        "details",
        el("summary", t("hierarchies.own")),
        el("nav", el("ul", links), class_="picks", aria_label=t("hierarchies.own")),
        form,
        id="own",
        open=bool(view.query.get("recipe")),
    )


def _fitting(view: PageView, name: str) -> list[tuple[Any, str]]:
    look = view.look
    if look is None or not 0 < look.columns[name].levels <= _QUICK:
        return []
    kept: dict[str, Any] = look.memory.setdefault("recipes", {})
    column, entry = column_of(view, name), view.columns[name]
    key = repr((column, entry.get("top"), entry.get("bottom")))
    if key not in kept:
        try:
            values = values_of(look, column, entry)[0]
        except SfumatoError:
            return []
        kept[key] = alternatives(column, Values(list(values), list(values.values())))
    found: list[tuple[Any, str]] = kept[key]
    return found


def _tried(view: PageView, name: str, given: object) -> ColumnTree | None:
    assert view.look is not None
    entry = {**view.columns[name], "hierarchy": given}
    try:
        return TreeShelf.of(view.look).tree(
            view.look, column_of(view, name), entry, view.folder.texts, view.folder.folder
        )
    except SfumatoError:
        return None


def _word(view: PageView, recipe: str) -> str:
    return view.t(f"recipe.{recipe}") if view.t.has(f"recipe.{recipe}") else recipe


def _settings(settings: Mapping[str, object]) -> str:
    said = ", ".join(f"{k} = {written_value(v)}" for k, v in settings.items())
    return said if len(said) < 200 else f"{said[:199]}…"


def _above(entry: Mapping[str, Any]) -> list[str]:
    given = entry.get("hierarchy")
    return [str(c) for c in given.get("above", ())] if isinstance(given, Mapping) else []


# -- tables of levels ----------------------------------------------------------------------------------


def table_forms(view: PageView, name: str) -> Html | None:
    """A table of levels in: a file beside the plan, or pasted."""
    if view.fixed:
        return None
    t, files, query = view.t, level_files(view), address(view, name).partition("?")[2]

    def fill(place: str) -> Html:
        box = el("input", type="checkbox", name="add", value="yes", id=f"add-{place}")
        return el("div", box, el("label", t("hierarchies.add"), for_=f"add-{place}"), class_="tick")

    choose = el("p", t("hierarchies.no_files"), class_="small")
    if files:
        choose = view.form(
            f"table?{query}",
            el("label", t("hierarchies.file"), for_="levels-file"),
            el("select", [el("option", f, value=f) for f in files], name="file", id="levels-file"),
            fill("file"),
            view.button(t("hierarchies.file.take"), class_="quiet", id="take-file"),
        )
    paste = view.form(
        f"table?{query}",
        el("label", t("hierarchies.paste"), for_="levels-text"),
        el("p", t("hierarchies.paste.note"), class_="small"),
        el(
            "textarea",
            "",
            name="levels",
            id="levels-text",
            rows=5,
            cols=60,
            spellcheck="false",
            required=True,
        ),
        fill("text"),
        view.button(t("hierarchies.paste.take"), class_="quiet", id="take-text"),
    )
    return el(
        "section", el("h2", t("hierarchies.tables")), el("p", t("hierarchies.tables.lead")), choose, paste
    )
