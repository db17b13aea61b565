"""Forms for the settings of a recipe, made from what is declared of it: nothing here knows a recipe by name.

What has no field of its own (edges of several levels) is written as in the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError, SfumatoError
from sfumato.methods.shapes import Flag, Number, Shape
from sfumato.plan.recipes import RECIPES, recipe
from sfumato.studio.markup import Html, el
from sfumato.studio.method_forms import value_sent, written_value
from sfumato.studio.view import Form, PageView

_ELSEWHERE = ("columns", "levels")  # of other columns, of files: these have places of their own on the page
_PREFIX = "set-"


def offered() -> list[str]:
    """Recipes that are a form."""
    return [name for name in RECIPES if name not in _ELSEWHERE]


def recipe_fields(view: PageView, name: str, given: Mapping[str, Any]) -> Html:
    """The fields of a recipe; what it says of itself stands above."""
    declared = RECIPES[name]
    fields = [
        _labelled(view, key, shape, given.get(key), required=key in declared.required)
        for key, shape in declared.entries.items()
    ]
    return el("div", el("p", declared.doc), el("div", fields, class_="fields settings"))


def setting_values(given: Mapping[str, object]) -> dict[str, str]:
    """Settings as the fields of a form would send them."""
    return {_PREFIX + key: written_value(value) for key, value in given.items()}


def read_recipe(form: Form) -> str | dict[str, Any]:
    """What a form of a recipe has sent, as the plan writes it; what is left empty is left to the recipe."""
    name = form.text("recipe")
    if name not in offered():
        raise ParameterError("there is no such recipe.", hint=", ".join(offered()))
    declared, found = RECIPES[name], {}
    for key, shape in declared.entries.items():
        sent = [v for v in form.several(_PREFIX + key) if v.strip()]
        if sent:
            found[key] = _value(shape, sent[0].strip())
    faults = [f"{'.'.join(map(str, at)) or name} {words}" for at, words in declared.faults(found, ())]
    if faults:
        raise ParameterError(f"{name}: {'; '.join(faults[:6])}.", hint="correct these")
    given: str | dict[str, Any] = {"recipe": name, **found} if found else name
    try:
        recipe(given, Path())
    except SfumatoError:
        raise
    except (TypeError, ValueError):
        raise ParameterError("these settings do not fit together.", hint="correct them") from None
    return given


def _value(shape: Shape, said: str) -> object:
    """As the plan would hold it; what has commas between it is a list, without brackets and quotes too."""
    found = value_sent(shape, [said])
    if isinstance(found, str) and shape.json().get("type") == "array":
        parts = [part.strip().strip("\"'") for part in said.strip("[]").split(",")]
        return [value_sent(Number(whole="." not in part), [part]) for part in parts if part]
    return found


def _labelled(view: PageView, name: str, shape: Shape, given: object, *, required: bool) -> Html:
    key, t = f"{_PREFIX}{name}", view.t
    usual: dict[str, Any] = {
        "id": key,
        "name": key,
        "disabled": view.fixed,
        "required": required,
        "aria_describedby": f"{key}-means",
    }
    if isinstance(shape, Flag):
        said = "" if given is None else str(bool(given)).lower()
        offered_ = [("", "–"), ("true", t("yes")), ("false", t("no"))]
        control = el("select", [el("option", w, value=v, selected=said == v) for v, w in offered_], **usual)
    else:
        control = el(
            "input", type="text", value=written_value(given), spellcheck="false", autocomplete="off", **usual
        )
    words = f"{shape.doc} {shape.words()[:1].upper()}{shape.words()[1:]}.".strip()
    return el(
        "div",
        el("label", name, " *" if required else "", for_=key),
        control,
        el("p", words, class_="small", id=f"{key}-means"),
        class_="field",
    )
