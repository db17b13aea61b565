"""The map as a picture: risk from left to right, what is lost from bottom to top; best is bottom left."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sfumato.studio.map_points import TriedSetting
from sfumato.studio.markup import Html, el
from sfumato.studio.texts import Words

_W, _H, _LEFT, _BOTTOM, _EDGE = 720, 420, 64, 52, 18
_Place = Callable[[float, float], tuple[float, float]]
_STEPS = (0.02, 0.05, 0.1, 0.2, 0.25)


def map_picture(points: Sequence[TriedSetting], limit: float | None, chosen: str, own: str, t: Words) -> Html:
    """Points as links, thresholds as lines. Every point says in words what it is."""
    far = _end([p.risk for p in points] + ([limit * 1.3] if limit else []))
    high = _end([p.lost for p in points])

    def at(risk: float, lost: float) -> tuple[float, float]:
        x = _LEFT + risk / far * (_W - _LEFT - _EDGE)
        y = _H - _BOTTOM - lost / high * (_H - _BOTTOM - _EDGE)
        return x, y

    parts = [*_grid(far, high, at, t)]
    if limit is not None and limit <= far:
        x, _ = at(limit, 0)
        parts.append(
            Html(f'<line class="limit" x1="{x:.1f}" x2="{x:.1f}" y1="{_EDGE}" y2="{_H - _BOTTOM}"></line>')
        )
        words = t("map.limit.line", limit=limit)
        parts.append(_text(x + 5, _H - _BOTTOM - 6, words, "limit-words"))
    front = sorted((p.risk, p.lost) for p in points if p.front)
    if len(front) > 1:
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*one) for one in front))
        parts.append(Html(f'<polyline class="front" points="{line}"></polyline>'))
    for p in sorted(points, key=lambda p: (p.id == chosen, p.front)):
        parts.append(_mark(p, at(p.risk, p.lost), chosen, own, t))
    for p, (x, y) in _named(points, at, chosen, own):
        anchor = "end" if x > _W * 0.72 else "start"
        parts.append(_text(x + (-9 if anchor == "end" else 9), y - 8, p.label[:44], "name", anchor))
    return el("svg", parts, viewBox=f"0 0 {_W} {_H}", class_="map", role="group", aria_label=t("map.picture"))


def _grid(far: float, high: float, at: _Place, t: Words) -> list[Html]:
    parts = []
    for value in _ticks(far):
        x, y = at(value, 0)
        parts.append(_line("grid", x, x, _EDGE, y))
        parts.append(_text(x, y + 18, t.number(value), "tick", "middle"))
    for value in _ticks(high):
        x, y = at(0, value)
        parts.append(
            Html(f'<line class="grid" x1="{x:.1f}" x2="{_W - _EDGE}" y1="{y:.1f}" y2="{y:.1f}"></line>')
        )
        parts.append(_text(x - 8, y + 4, t.number(value), "tick", "end"))
    parts.append(_text((_LEFT + _W) / 2, _H - 10, t("map.axis.risk"), "axis", "middle"))
    middle = (_H - _BOTTOM) / 2
    turned = f"rotate(-90 16 {middle:.0f})"
    words = t("map.axis.lost")
    parts.append(el("text", words, x=16, y=middle, class_="axis", text_anchor="middle", transform=turned))
    return parts


def _line(kind: str, x1: float, x2: float, y1: float, y2: float) -> Html:
    return el("line", class_=kind, x1=f"{x1:.1f}", x2=f"{x2:.1f}", y1=f"{y1:.1f}", y2=f"{y2:.1f}")


def _mark(p: TriedSetting, place: tuple[float, float], chosen: str, own: str, t: Words) -> Html:
    x, y = place
    words = t("map.point.words", label=p.label, risk=round(p.risk, 3), lost=round(p.lost, 3))
    kind = " ".join(w for w, so in (("point", True), ("best", p.front), ("chosen", p.id == chosen),
                                    ("own", p.id == own), ("post", p.end_post)) if so)  # fmt: skip
    shape = (
        Html(f'<rect x="{x - 6:.1f}" y="{y - 6:.1f}" width="12" height="12"></rect>')
        if p.id == own
        else Html(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{8 if p.id == chosen else 6}"></circle>')
    )
    return el(
        "a", el("title", words), shape, href=f"/map?point={p.id}#chosen", class_=kind, aria_label=words,
        id=f"point-{p.id}",
    )  # fmt: skip


def _named(
    points: Sequence[TriedSetting], at: _Place, chosen: str, own: str
) -> list[tuple[TriedSetting, tuple[float, float]]]:
    """Points whose name is written beside them: those that matter most, as long as names do not meet."""
    ranked = sorted(points, key=lambda p: (p.id != chosen, p.id != own, not p.front, p.risk))
    taken: list[tuple[float, float, float]] = []
    found = []
    for p in ranked:
        x, y = at(p.risk, p.lost)
        wide = 6.4 * min(44, len(p.label))
        left = x - wide - 9 if x > _W * 0.72 else x + 9
        if any(abs(y - b) < 15 and left < a + w and a < left + wide for a, b, w in taken):
            continue
        taken.append((left, y, wide))
        found.append((p, (x, y)))
    return found


def _text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> Html:
    return el("text", words, x=f"{x:.1f}", y=f"{y:.1f}", class_=kind, text_anchor=anchor)


def _end(values: Sequence[float]) -> float:
    """The end of an axis: a little beyond the largest, at most 1."""
    most = max([*values, 0.05]) * 1.08
    return min(1.0, most) if max([*values, 0]) <= 1 else most


def _ticks(end: float) -> list[float]:
    step = next((s for s in _STEPS if end / s <= 6), end / 4)
    return [round(i * step, 6) for i in range(int(end / step + 1e-9) + 1)]
