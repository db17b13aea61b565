"""Forms for the settings of a method, made from its declaration: nothing here knows a method by name.

A newcomer sees five methods and three settings of each: what is required, what the map varies, what is
declared for beginners. Who knows the method sees everything. What has no field of its own (tables, several
shapes at once) is written as in the plan.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from sfumato.errors import ParameterError
from sfumato.methods.declaration import Does, declaration_of
from sfumato.methods.names import find, names
from sfumato.methods.parameters import Field
from sfumato.methods.shapes import Flag, ListOf, Number, Shape, Text
from sfumato.plan.step import Step, fields_of
from sfumato.studio.markup import Html, el
from sfumato.studio.view import Form, PageView

FEW_METHODS, FEW_SETTINGS = 5, 3
PREFIX = "set-"


def placeable() -> list[str]:
    """Methods that have a place on the map, those that a newcomer meets first in front."""
    open_ = [n for n in names() if _on_the_map(n)]
    declared = {n: declaration_of(find(n)) for n in open_}
    return sorted(open_, key=lambda n: (not declared[n].first, not declared[n].grid))


def _on_the_map(name: str) -> bool:
    declared = declaration_of(find(name))
    other = (Does.FIT, Does.TABULATE, Does.PEOPLE)
    return declared.does not in other and not {"map", "plan"} & set(declared.closed)


def settings_of(method: str, *, everything: bool) -> list[Field]:
    """The settings a form shows. everything: for who knows the method."""
    kind = find(method)
    grid = {name for given in declaration_of(kind).grid for name in given}
    open_ = [f for f in fields_of(kind).values() if not f.parameter.python_only]
    if everything:
        return open_

    def rank(one: Field) -> int:
        simple = isinstance(one.parameter.shape, Number | Flag) or bool(_choices(one.parameter.shape))
        return 0 if one.required else 1 if one.name in grid else 2 if one.parameter.beginner and simple else 3

    ranked = sorted(open_, key=rank)
    return [f for f in ranked if rank(f) < 3][:FEW_SETTINGS]


def setting_fields(
    view: PageView, method: str, given: Mapping[str, Any], *, everything: bool, apart: Sequence[str] = ()
) -> Html:
    """The fields of a form. apart: settings that the screen asks for itself."""
    open_ = [f for f in settings_of(method, everything=everything) if f.name not in apart]
    return declared_fields(view, open_, given)


def method_address(screen: str, method: str, everything: bool) -> str:
    """Where the form of a method stands on a screen."""
    query = {k: v for k, v in (("add", method), ("all", "1" if everything else "")) if v}
    return f"/{screen}?{urlencode(query)}#add" if query else f"/{screen}#add"


def method_links(view: PageView, names: Sequence[str], chosen: str, *, everything: bool) -> Html:
    """Methods to choose from, each with what it says of itself."""
    links = [
        el("li", el("a", name, href=method_address(view.screen, name, everything), id=f"add-{name}",
                    aria_current="true" if name == chosen else None),
           " ", el("span", view.t.said(declaration_of(find(name)).summary), class_="small"))
        for name in names
    ]  # fmt: skip
    return el("ul", links, class_="methods")


def declared_fields(view: PageView, fields: Sequence[Field], given: Mapping[str, Any]) -> Html:
    """The fields of a form for anything that declares its settings."""
    return el("div", [_labelled(view, f, given.get(f.name)) for f in fields], class_="fields settings")


def read_settings(form: Form, method: str) -> dict[str, Any]:
    """What a form of a method has sent; what is left empty is left to the method."""
    found = read_declared(form, settings_of(method, everything=True), method)
    Step(method, found).build()  # what settings say together is checked by the method itself
    return found


def read_declared(form: Form, fields: Sequence[Field], name: str) -> dict[str, Any]:
    """What a form of declared settings has sent; each is held against its declaration. name: of the whole."""
    found: dict[str, Any] = {}
    faults: list[str] = []
    for one in fields:
        sent = [v for v in form.several(PREFIX + one.name) if v.strip()]
        if sent:
            found[one.name] = value_sent(one.parameter.shape, sent)
    for one in fields:
        if one.name in found:
            faults += [
                f"{'.'.join(map(str, at))} {words}"
                for at, words in one.parameter.shape.faults(found[one.name], (one.name,))
            ]
        elif one.required:
            faults.append(f"{one.name} is needed")
    if faults:
        raise ParameterError(f"{name}: {'; '.join(faults[:6])}.", hint="correct these")
    return found


# -- fields --------------------------------------------------------------------------------------------


def _labelled(view: PageView, one: Field, given: object) -> Html:
    name, parameter = f"{PREFIX}{one.name}", one.parameter
    unit = f" ({parameter.unit})" if parameter.unit else ""
    usual = one.plain_default
    default = (
        ""
        if one.required or usual in (None, (), [], {})
        else view.t("form.default", value=written_value(usual))
    )
    words = " ".join(
        w for w in (view.t.said(parameter.doc), view.t.said(_bounds(parameter.shape)), default) if w
    )
    return el(
        "div", el("label", one.name, unit, " *" if one.required else "", for_=name),
        _control(view, one, name, given), el("p", words, class_="small", id=f"{name}-means"), class_="field",
    )  # fmt: skip


def _control(view: PageView, one: Field, name: str, given: object) -> Html:
    shape, t = one.parameter.shape, view.t
    usual: dict[str, Any] = {
        "id": name, "name": name, "disabled": view.fixed, "aria_describedby": f"{name}-means",
        "required": one.required,
    }  # fmt: skip
    if isinstance(shape, Flag):
        said = "" if given is None else str(bool(given)).lower()
        offered = [("", "–"), ("true", t("yes")), ("false", t("no"))]
        return el("select", [_option(v, w, said == v) for v, w in offered], **usual)
    choices = _choices(shape)
    if choices:
        said = str(given or "")
        return el("select", [_option(v, v or "–", said == v) for v in ("", *choices)], **usual)
    if one.parameter.columns and isinstance(shape, Text | ListOf):
        several = isinstance(shape, ListOf)
        chosen = [str(c) for c in given] if isinstance(given, list | tuple) else [str(given or "")]
        known = [*([] if several else [""]), *view.columns]
        options = [_option(c, c or "–", c in chosen) for c in known]
        return el("select", options, multiple=several, size=min(6, len(known)) if several else None, **usual)
    if isinstance(shape, Number):
        return el(
            "input", type="number", step=1 if shape.whole else "any", value=written_value(given),
            min=shape.least, max=shape.most, **usual,
        )  # fmt: skip
    return el(
        "input", type="text", value=written_value(given), spellcheck="false", autocomplete="off", **usual
    )


def _option(value: str, words: str, chosen: bool) -> Html:
    return el("option", words, value=value, selected=chosen)


def _choices(shape: Shape) -> tuple[str, ...]:
    return shape.choices if isinstance(shape, Text) else ()


def _bounds(shape: Shape) -> str:
    said = shape.words()
    return f"{said[:1].upper()}{said[1:]}." if isinstance(shape, Number) else ""


def written_value(value: object) -> str:
    """A plain value as a field shows it, which is how the plan writes it; a text without its quotes."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    from sfumato.plan.proposal_text import value as written

    return written(list(value) if isinstance(value, tuple) else value)


# -- values --------------------------------------------------------------------------------------------


def value_sent(shape: Shape, sent: Sequence[str]) -> object:
    """What was sent, as the plan would hold it; what is wrong with it is found by the shape."""
    first = sent[0].strip()
    if isinstance(shape, Flag):
        return {"true": True, "false": False}.get(first, first)
    if isinstance(shape, Number):
        return _number(first, shape.whole)
    if isinstance(shape, Text):
        return first
    if isinstance(shape, ListOf) and isinstance(shape.of, Text) and not first.startswith("["):
        if len(sent) > 1 or shape.whole_items:
            return [s.strip() for s in sent]
        return [s.strip() for s in first.split(",") if s.strip()]
    try:
        return tomllib.loads(f"x = {first}")["x"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return first


def _number(said: str, whole: bool) -> object:
    try:
        return int(said) if whole or said.lstrip("-").isdigit() else float(said)
    except ValueError:
        return said
