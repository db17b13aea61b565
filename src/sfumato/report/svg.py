"""Vega-Lite to SVG at build time, made small, the same every time, and fit to stand inside a page.

The reader's browser runs no drawing code: a page needs no network, no evaluation of strings, and prints.
Marks with a description carry it as <title>, which browsers show as a tooltip even without scripts.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from sfumato.errors import DataError
from sfumato.languages import locale
from sfumato.report.json import plain
from sfumato.report.palette import INK, LINE, MUTED

# Comes with the drawing library, so text is as wide on every machine. Arial and Helvetica are as wide; some
# room is left for readers who have neither.
_FONT = "Liberation Sans"
_CONFIG: dict[str, Any] = {
    "background": None,
    "font": _FONT,
    "padding": {"left": 14, "right": 8, "top": 5, "bottom": 5},
    "view": {"stroke": None},
    "axisQuantitative": {"labelOverlap": "greedy", "labelSeparation": 8},
    "axis": {
        "domainColor": MUTED, "tickColor": LINE, "gridColor": LINE, "labelColor": MUTED, "titleColor": INK,
        "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": 600, "labelLimit": 0,
        "titleLimit": 0, "titlePadding": 8, "domain": False, "ticks": False, "labelPadding": 6,
    },
    "legend": {
        "labelColor": INK, "titleColor": INK, "labelFontSize": 11, "titleFontSize": 12, "labelLimit": 220,
        "orient": "bottom", "titleFontWeight": 600, "columns": 3, "columnPadding": 18,
    },
    "title": {"color": INK, "fontSize": 13, "fontWeight": 600, "anchor": "start", "offset": 8, "limit": 0},
    "text": {"color": INK, "fontSize": 11},
}  # fmt: skip
_KEPT = frozenset([
    "d", "fill", "stroke", "opacity", "fill-opacity", "stroke-opacity", "stroke-width",
    "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "transform", "x", "y", "x1", "y1", "x2",
    "y2", "width", "height", "rx", "ry", "cx", "cy", "r", "text-anchor", "font-size", "font-weight",
    "font-style", "dominant-baseline", "viewBox", "id", "clip-path", "offset", "stop-color", "dx", "dy",
])  # fmt: skip
_NUMBERS = frozenset([
    "d", "transform", "x", "y", "x1", "y1", "x2", "y2", "width", "height", "opacity", "fill-opacity",
    "stroke-opacity", "stroke-width",
])  # fmt: skip
_LONG = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?|-?\d+(?:\.\d+)?e-\d+")


def draw(spec: Mapping[str, Any], *, identity: str, label: str) -> str:
    """The SVG element of one panel. identity: a prefix that makes its ids unique on the page."""
    import vl_convert

    if _loads(spec):
        raise DataError(
            "a figure would load its data from elsewhere.", hint="put the data inside the specification"
        )
    complete = {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", **plain(spec)}
    complete["config"] = {**_CONFIG, **complete.get("config", {})}
    try:
        # No address is allowed: a specification cannot make the build load anything.
        text = vl_convert.vegalite_to_svg(complete, allowed_base_urls=[], format_locale=locale())
        root = ElementTree.fromstring(text)
    except (ValueError, ElementTree.ParseError):
        raise DataError(
            "a figure could not be drawn: its specification is not valid Vega-Lite with data inside.",
            hint="check the specification with altair.Chart.from_dict",
        ) from None
    width, height = root.get("width", "0"), root.get("height", "0")
    names = {e.get("id", ""): f"{identity}-{i}" for i, e in enumerate(_identified(root))}
    head = (
        f'<svg role="img" aria-label="{escape(label)}" width="{_rounded(width)}" height="{_rounded(height)}" '
        f'viewBox="0 0 {_rounded(width)} {_rounded(height)}">'
    )
    return head + "".join(_element(child, names) for child in root) + "</svg>"


def _loads(part: object) -> bool:
    """Whether any data of a specification come from an address or a file."""
    if isinstance(part, Mapping):
        data = part.get("data")
        if isinstance(data, Mapping) and "url" in data:
            return True
        return any(_loads(value) for name, value in part.items() if name != "values")
    return isinstance(part, list | tuple) and any(_loads(item) for item in part)


def _identified(root: ElementTree.Element) -> Iterator[ElementTree.Element]:
    return (e for e in root.iter() if e.get("id"))


def _element(node: ElementTree.Element, names: Mapping[str, str]) -> str:
    """One element without what only a live chart needs: classes, roles, empty boxes."""
    tag = node.tag.rpartition("}")[2]
    if tag == "image" or node.get("display") == "none" or node.get("d") in ("", "M0,0h0v0h0Z"):
        return ""
    inner = escape(node.text or "", quote=False) + "".join(_element(child, names) for child in node)
    tooltip = _tooltip(node)
    if tooltip:
        inner = f"<title>{escape(tooltip, quote=False)}</title>{inner}"
    kept = "".join(f' {k}="{escape(_value(k, v, names))}"' for k, v in node.attrib.items() if _matters(k, v))
    if tag in ("g", "a") and not inner:
        return ""
    if tag == "a" or (tag == "g" and not kept):  # links lead nowhere in a report
        return inner
    return f"<{tag}{kept}>{inner}</{tag}>" if inner else f"<{tag}{kept}/>"


def _tooltip(node: ElementTree.Element) -> str:
    marks = ("axis", "legend", "title", "group mark container")
    if node.get("role") != "graphics-symbol" or node.get("aria-roledescription") in marks:
        return ""
    return node.get("aria-label", "")


def _matters(name: str, value: str) -> bool:
    if name == "opacity" and value == "1":
        return False
    return name in _KEPT and value != "translate(0,0)"


def _value(name: str, value: str, names: Mapping[str, str]) -> str:
    if name == "id":
        return names[value]
    if value.startswith("url(#"):
        return f"url(#{names.get(value[5:-1], '')})"
    return _rounded(value) if name in _NUMBERS else value


def _rounded(value: str) -> str:
    """Hundredths of a pixel are fine enough, and the same on every machine."""
    return _LONG.sub(lambda m: f"{float(m.group()):.2f}".rstrip("0").rstrip("."), value)
