"""Names beside points, where there is room for them: no two overlap, and none covers a point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

Box = tuple[float, float, float, float]  # left, top, right, bottom, in pixels
Ends = tuple[Sequence[float], Sequence[float]]
_LETTER, _LINE = 5.6, 12.0  # pixels of a letter and of a line, at the size the labels have
_POINT = 7.0  # around a point
PLACES = {  # name: (dx, dy, align) of the text; intervals are crosses, so what lies between their arms first
    "right above": (8, -11, "left"), "right below": (8, 11, "left"),
    "left above": (-8, -11, "right"), "left below": (-8, 11, "right"),
    "above": (0, -17, "center"), "below": (0, 17, "center"),
    "right": (12, 0, "left"), "left": (-12, 0, "right"),
}  # fmt: skip


def labelled(
    values: list[dict[str, Any]],
    ends: Ends,
    size: tuple[int, int],
    *,
    flip: bool,
    only_front: bool,
) -> None:
    """Say in each value where its label goes, "" where there is no room; those on the front choose first.

    ends: of the axes of risk and utility. flip: whether utility falls from the bottom to the top.
    """
    at = [_pixels(v["risk"], v["utility"], ends, size, flip) for v in values]
    lines = [line for v in values for line in _intervals(v, ends, size, flip)]
    lines += _steps([at[i] for i in range(len(values)) if values[i]["front"]])
    taken = [(x - _POINT, y - _POINT, x + _POINT, y + _POINT) for x, y in at]
    seen: set[tuple[str, int, int]] = set()
    for i in sorted(range(len(values)), key=lambda i: not values[i]["front"]):
        value, (x, y) = values[i], at[i]
        value["place"] = ""
        same = (value["label"], round(x), round(y))
        if (only_front and not value["front"]) or same in seen:
            continue
        seen.add(same)
        others = [box for j, box in enumerate(taken) if j != i]
        boxes = {place: _box(x, y, place, len(value["label"])) for place in PLACES}
        free = [
            place
            for place, box in boxes.items()
            if _inside(box, size) and not any(_meet(box, other) for other in others)
        ]
        if free:  # across a line only where there is no other room
            value["place"] = min(free, key=lambda place: sum(_meet(boxes[place], line) for line in lines))
            taken.append(boxes[value["place"]])


def _pixels(
    risk: float, utility: float, ends: Ends, size: tuple[int, int], flip: bool
) -> tuple[float, float]:
    x, y = ((v - low) / (high - low) for v, (low, high) in zip((risk, utility), ends, strict=True))
    return x * size[0], (y if flip else 1 - y) * size[1]


def _intervals(value: dict[str, Any], ends: Ends, size: tuple[int, int], flip: bool) -> Iterator[Box]:
    """The two thin lines of a point."""
    risk, utility = value["risk"], value["utility"]
    for first, last in (
        ((value["r0"], utility), (value["r1"], utility)), ((risk, value["u0"]), (risk, value["u1"])),
    ):  # fmt: skip
        if None not in (*first, *last):
            yield _line(_pixels(*first, ends, size, flip), _pixels(*last, ends, size, flip))


def _steps(front: Sequence[tuple[float, float]]) -> Iterator[Box]:
    """The dashed line: to the right, then up."""
    for (x, y), (far, high) in pairwise(sorted(front)):
        yield _line((x, y), (far, y))
        yield _line((far, y), (far, high))


def _line(a: tuple[float, float], b: tuple[float, float]) -> Box:
    return min(a[0], b[0]) - 1, min(a[1], b[1]) - 1, max(a[0], b[0]) + 1, max(a[1], b[1]) + 1


def _box(x: float, y: float, place: str, letters: int) -> Box:
    dx, dy, align = PLACES[place]
    width = letters * _LETTER
    left = x + dx - {"left": 0.0, "center": width / 2, "right": width}[align]
    return left, y + dy - _LINE / 2, left + width, y + dy + _LINE / 2


def _inside(box: Box, size: tuple[int, int]) -> bool:
    return box[0] >= 0 and box[1] >= 0 and box[2] <= size[0] and box[3] <= size[1]


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
