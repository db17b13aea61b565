"""Columns: a card for each, in groups by role; every guess is accepted or corrected."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from sfumato.schema import Column, Kind
from sfumato.studio.column_edits import ROLES, with_kind, with_reviewed, with_role
from sfumato.studio.markup import Html, el, join
from sfumato.studio.pictures import bars, meter
from sfumato.studio.plan_folder import named
from sfumato.studio.screens.screen import Screen
from sfumato.studio.texts import Words
from sfumato.studio.view import Form, PageView

ORDER = ("identifier", "person", "quasi-identifier", "sensitive", "weight", "other", "drop")
PAGE = 200  # cards that are drawn at once
_KEYS = {
    "quasi-identifier": "q",
    "sensitive": "s",
    "identifier": "i",
    "person": "p",
    "other": "o",
    "weight": "w",
    "drop": "x",
}


def show(view: PageView) -> Html:
    """The cards, grouped by role."""
    t = view.t
    names = list(view.columns) or ([] if view.schema is None else list(view.schema.names))
    places = {name: i for i, name in enumerate(names)}
    done = sum(bool(view.columns.get(n, {}).get("reviewed", True)) for n in names)
    sure = _sure(view)
    shown = set(names[_start(view) : _start(view) + PAGE])
    groups = []
    for role in ORDER:
        here = [n for n in names if view.role_of(n) == role]
        cards = [_card(view, n, places[n]) for n in here if n in shown]
        title = join(
            el("span", t("columns.group", role=t(f"role.{role}"), n=len(here))),
            el("span", t(f"means.{role}"), class_="small"),
        )
        groups.append(
            el(
                "section",
                el("h2", title),
                el("div", cards, class_="cards"),
                class_="lane",
                data_role=role,
                hidden=not here and view.fixed,
                id=f"lane-{role}",
            )
        )
    all_sure = None
    if sure:
        label = t("columns.accept_sure", n=len(sure))
        all_sure = view.form("accept_sure", view.button(label, class_="quiet", id="accept-sure"))
    head = el(
        "section",
        el("h1", t("columns.title")),
        el("p", t("columns.lead")),
        el("p", t("columns.reviewed", done=done, n=len(names)), class_="figure"),
        el(
            "progress",
            value=done,
            max=max(1, len(names)),
            aria_label=t("columns.reviewed", done=done, n=len(names)),
        ),
        all_sure,
        el("p", t("columns.keys.list"), class_="small keys"),
        el("p", t("columns.drag"), class_="small"),
        _pages(view, len(names)),
    )
    return join(head, groups)


def _start(view: PageView) -> int:
    """The first column that is shown: of thousands, some at a time."""
    given = view.query.get("from", "")
    return int(given) // PAGE * PAGE if given.isascii() and given.isdigit() and len(given) < 9 else 0


def _pages(view: PageView, n: int) -> Html | None:
    """Links to the other columns, where there are too many for one page."""
    if n <= PAGE:
        return None
    t, start = view.t, _start(view)
    steps = [("columns.earlier", start - PAGE), ("columns.later", start + PAGE)]
    links = [el("li", el("a", t(name), href=f"/columns?from={at}")) for name, at in steps if 0 <= at < n]
    said = t("columns.shown", first=start + 1, last=min(start + PAGE, n), n=n)
    return el("nav", el("p", said), el("ul", links), class_="picks", aria_label=t("columns.pages"))


def _here(view: PageView) -> Html | None:
    """What brings a form back to the columns that were shown."""
    return view.hidden(query=f"from={_start(view)}") if _start(view) else None


def _sure(view: PageView) -> list[str]:
    """Columns whose guess is sure and was not looked at."""
    known = view.schema
    if known is None:
        return []
    return [
        n
        for n, e in view.columns.items()
        if not e.get("reviewed", True) and n in known and known[n].confidence == "sure"
    ]


def _card(view: PageView, name: str, place: int) -> Html:
    t, entry, seen = view.t, view.columns.get(name, {}), view.column(name)
    known = view.schema[name] if view.schema is not None and name in view.schema else None
    looked, role = bool(entry.get("reviewed", True)), view.role_of(name)
    card = f"column-{place}"
    sure = known.confidence if known is not None else ""
    title = el(
        "h3",
        name,
        el("span", t("columns.accepted"), class_="state done")
        if looked
        else el(
            "span", t(f"sure.{sure}") if t.has(f"sure.{sure}") else "?", class_=f"state {sure or 'unsure'}"
        ),
        id=f"{card}-title",
    )
    facts = [t("columns.levels", n=seen.levels)]
    if seen.missing:
        facts.append(t("columns.missing", share=t.share(seen.missing)))
    if seen.unique:
        facts.append(t("columns.unique", share=t.share(seen.unique)))
    told = t("columns.identifying.bar", share=t.share(seen.identifying), bits=t.number(round(seen.bits, 1)))
    counted = view.look is not None and not seen.unreadable
    shown = [
        _histogram(view, name) if counted else None,
        el(
            "div",
            el("p", t("columns.identifying"), class_="label"),
            meter(seen.identifying, told),
            el("p", told, class_="small"),
            el("p", "; ".join(facts), class_="small"),
            class_="facts",
        )
        if counted
        else el("p", t("columns.unreadable"), class_="small")
        if seen.unreadable
        else None,
    ]
    return el(
        "article",
        title,
        el("div", shown, class_="seen"),
        _why(view, name, known),
        _roles(view, name, role, card),
        _accept(view, name, known, looked, card),
        class_="card done" if looked else "card",
        id=card,
        tabindex="0",
        draggable="false" if view.fixed else "true",
        data_column=place,
        aria_labelledby=f"{card}-title",
    )


def _why(view: PageView, name: str, known: Column | None) -> Html:
    leader = next((n for n, e in view.columns.items() if name in _above(e)), "")
    along = el("p", view.t("columns.goes_with", name=leader), class_="small") if leader else None
    reason = known.reason if known is not None else ""
    return join(el("p", reason, class_="why") if reason else None, along)


def _above(entry: Mapping[str, object]) -> list[str]:
    hierarchy = entry.get("hierarchy")
    return list(hierarchy.get("above", ())) if isinstance(hierarchy, dict) else []


def _roles(view: PageView, name: str, role: str, card: str) -> Html:
    t = view.t
    return view.form(
        "role",
        view.hidden(column=name),
        _here(view),
        _role_buttons(t, card, role, view.fixed),
        class_="choices",
        role="toolbar",
        aria_label=t("columns.role"),
        id=f"{card}-roles",
    )


@lru_cache(4096)  # drawn anew with every click, and seldom another one
def _role_buttons(t: Words, card: str, role: str, fixed: bool) -> Html:
    """A button for each role; the present one is pressed."""
    return join(
        el("button", t(f"role.{r}"), type="submit", disabled=fixed, name="role", value=r, id=f"{card}-{r}",
           class_="choice", title=t(f"means.{r}"), aria_pressed="true" if r == role else "false",
           data_key=_KEYS[r])
        for r in ORDER
    )  # fmt: skip


@lru_cache(64)
def _kinds(t: Words, kind: Kind | None) -> Html:
    """The kinds to choose from."""
    return join(el("option", f"{t(f'kind.{k}')} ({k})", value=str(k), selected=kind is k) for k in Kind)


def _histogram(view: PageView, name: str) -> Html:
    """How the values spread; drawn once, as counts do not change."""
    look, t = view.look, view.t
    assert look is not None
    drawn: dict[tuple[str, str], Html] = look.memory.setdefault("histograms", {})
    if (name, t.language) not in drawn:
        picture = bars(view.column(name).bars, t("columns.histogram", name=name), t)
        drawn[name, t.language] = el("div", picture, class_="histogram")
    return drawn[name, t.language]


def _accept(view: PageView, name: str, known: Column | None, looked: bool, card: str) -> Html:
    t = view.t
    box = el(
        "select",
        _kinds(t, None if known is None else known.kind),
        name="kind",
        id=f"{card}-kind",
        disabled=view.fixed,
        data_submit=True,
        aria_label=f"{t('columns.kind')}: {name}",
    )
    kind = view.form(
        "kind",
        view.hidden(column=name),
        _here(view),
        el("label", t("columns.kind"), for_=f"{card}-kind"),
        box,
        el("noscript", view.button("OK")),
        class_="kind",
    )
    what = "reopen" if looked else "accept"
    agree = view.form(
        what,
        view.hidden(column=name),
        _here(view),
        view.button(
            t(f"columns.{what}"),
            id=f"{card}-accept",
            class_="quiet" if looked else "go",
            data_key="a",
            aria_label=f"{t(f'columns.{what}')}: {name}",
        ),
    )
    return el("div", kind, agree, class_="last")


# -- doing ---------------------------------------------------------------------------------------------


def set_role(view: PageView, form: Form) -> str | None:
    """Another role for a column."""
    name, role = form.text("column"), form.text("role")
    look = view.look
    suggested = {} if look is None else {c.name: c.hierarchy for c in look.columns.values()}
    said = role if role in ROLES else ""
    view.folder.edit(
        named("edit.role", column=name, role=said),
        lambda texts: with_role(texts, name, role, suggested),
        form.revision,
    )
    return None


def set_kind(view: PageView, form: Form) -> str | None:
    """Another kind for a column."""
    name, kind = form.text("column"), form.text("kind")
    view.folder.edit(
        named("edit.kind", column=name, kind=kind), lambda texts: with_kind(texts, name, kind), form.revision
    )
    return None


def accept(view: PageView, form: Form) -> str | None:
    """A person agrees with the guess."""
    name = form.text("column")
    view.folder.edit(
        named("edit.accept", column=name), lambda texts: with_reviewed(texts, [name], True), form.revision
    )
    return None


def reopen(view: PageView, form: Form) -> str | None:
    """A person wants to look again."""
    name = form.text("column")
    view.folder.edit(
        named("edit.reopen", column=name), lambda texts: with_reviewed(texts, [name], False), form.revision
    )
    return None


def accept_sure(view: PageView, form: Form) -> str | None:
    """A person agrees with all guesses that are sure."""
    names = _sure(view)
    view.folder.edit(
        named("edit.accept_sure", n=len(names)),
        lambda texts: with_reviewed(texts, names, True),
        form.revision,
    )
    return None


SCREEN = Screen(
    "columns",
    show,
    {"role": set_role, "kind": set_kind, "accept": accept, "reopen": reopen, "accept_sure": accept_sure},
)
