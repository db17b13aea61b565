"""The points of the map: read from what tasks have left, across pauses and restarts.

Points belong to a state of the data, the columns and the hierarchies (`state_of`). When one of these changes,
the points of another state are not shown: they would compare what does not compare.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.methods.names import find
from sfumato.plan.baselines import BASELINES
from sfumato.plan.map import default_steps
from sfumato.plan.step import fields_of
from sfumato.studio.plan_folder import PLAN
from sfumato.studio.tasks.risk_map import POINTS
from sfumato.studio.view import PageView
from sfumato.studio.work import Task, Worker

MAP = "map"
_PARTS = ("input", "columns", "prepare")


@dataclass(frozen=True)
class TriedSetting:
    """One setting on the map, or why it has no place there. id: names it in an address."""

    id: str
    method: str
    settings: Mapping[str, Any]
    risk: float = 0.0
    lost: float = 0.0
    seconds: float = 0.0
    promises: tuple[str, ...] = ()
    trouble: str = ""
    end_post: bool = False
    front: bool = False
    axes: Mapping[str, str] | None = None

    @property
    def label(self) -> str:
        """The method and its settings in one line."""
        said = ", ".join(f"{k} = {v}" for k, v in self.settings.items())
        return f"{self.method} ({said})" if said else self.method


def state_of(view: PageView) -> str:
    """By what one sees that points belong to the data and columns as they are now."""
    document, texts = view.document, view.folder.texts
    parts: list[object] = [document.get(name) for name in _PARTS]
    parts += sorted((n, t) for n, t in texts.items() if n != PLAN)
    parts.append("" if view.look is None else view.look.mark)
    said = json.dumps(parts, default=str, sort_keys=True).encode()
    return hashlib.blake2b(said, digest_size=12).hexdigest()


def tasks_of(view: PageView) -> list[Task]:
    """The tasks of the map as it is now, the latest first."""
    state = state_of(view)
    return [t for t in view.worker.tasks(MAP) if t.given.get("state") == state]


def points_of(view: PageView) -> list[TriedSetting]:
    """All points that are there, those that no other beats marked."""
    found: dict[str, TriedSetting] = {}
    for task in reversed(tasks_of(view)):
        for line in _lines(view.worker, task):
            point = _point(line)
            found[point.id] = point
    return _marked(list(found.values()))


def arrived(view: PageView) -> str:
    """How much has arrived: changes with every point."""
    sizes = []
    for task in view.worker.tasks(MAP)[:3]:
        try:
            sizes.append((view.worker.own(task) / POINTS).stat().st_size)
        except OSError:
            sizes.append(0)
    return "-".join(map(str, sizes))


def identity(method: str, settings: Mapping[str, Any]) -> str:
    """A short name of a setting."""
    said = json.dumps([method, settings], sort_keys=True, default=str).encode()
    return hashlib.blake2b(said, digest_size=6).hexdigest()


def order_of(view: PageView, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What a task of the map is told: what is wanted and not there yet. more: a setting of one's own."""
    mine = tasks_of(view)
    there = {p.id for p in points_of(view)}
    earlier = [one for task in reversed(mine) for one in task.given.get("points", ())]
    wanted = [*earlier, more] if more is not None else [*usual(view), *earlier]
    unique = {identity(str(one["method"]), one["settings"]): one for one in wanted if one is not None}
    key = str(mine[0].given["key"]) if mine else secrets.token_bytes(32).hex()
    points = [one for name, one in unique.items() if name not in there]
    return {"state": state_of(view), "key": key, "points": points, "repeats": 1}


def rest_of(worker: Worker, task: Task) -> dict[str, Any]:
    """What a task of the map has not come to."""
    done = {_point(line).id for line in _lines(worker, task)}
    points = [p for p in task.given["points"] if identity(str(p["method"]), p["settings"]) not in done]
    return {**task.given, "points": points}


def usual(view: PageView) -> list[dict[str, Any]]:
    """What is tried unasked: the end posts, the settings that methods propose, the plan's own step.

    Methods that can be told how much effort to spend take long: they come last.
    """
    own = [
        {"method": s["method"], "settings": {k: v for k, v in s.items() if k not in ("method", "name", "of")}}
        for s in view.document.get("steps", ())[:1]
        if isinstance(s, dict) and isinstance(s.get("method"), str)
    ]
    grid = [{"method": s.method, "settings": dict(s.settings)} for s in default_steps()]
    posts = [{"method": b.name, "settings": dict(b.settings)} for b in BASELINES]
    return [*posts, *sorted([*own, *grid], key=lambda one: _takes_long(str(one["method"])))]


def own_point(view: PageView) -> str:
    """The name of the plan's own step."""
    steps = [s for s in view.document.get("steps", ()) if isinstance(s, dict)]
    if not steps:
        return ""
    settings = {k: v for k, v in steps[0].items() if k not in ("method", "name", "of")}
    return identity(str(steps[0].get("method")), settings)


def _takes_long(method: str) -> bool:
    try:
        return "effort" in fields_of(find(method))
    except SfumatoError:  # a method that the plan misspells is said elsewhere
        return False


def _lines(worker: Worker, task: Task) -> list[dict[str, Any]]:
    """What a task has written; a last line that is not whole is not there yet."""
    try:
        text = (worker.own(task) / POINTS).read_text("utf-8")
    except (OSError, ValueError):
        return []
    found = []
    for line in text.split("\n")[:-1]:
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict) and "method" in said:
            found.append(said)
    return found


def _point(line: Mapping[str, Any]) -> TriedSetting:
    method, settings = str(line["method"]), dict(line["settings"])
    point = TriedSetting(
        identity(method, settings), method, settings, trouble=str(line.get("trouble", "")),
        end_post=method in {b.name for b in BASELINES},
    )  # fmt: skip
    if point.trouble:
        return point
    axes = {k: str(v) for k, v in line.items() if k.startswith(("risk_", "utility_"))}
    return replace(
        point, risk=float(line["risk"]["value"]), lost=float(line["utility"]["value"]),
        seconds=float(line["seconds"]), promises=tuple(line["promises"]), axes=axes,
    )  # fmt: skip


def _marked(points: list[TriedSetting]) -> list[TriedSetting]:
    """Those that no other beats on both counts."""
    good = [(p.risk, p.lost) for p in points if not p.trouble]

    def unbeaten(p: TriedSetting) -> bool:
        mine = (p.risk, p.lost)
        return not p.trouble and not any(a <= mine[0] and b <= mine[1] and (a, b) != mine for a, b in good)

    return [replace(p, front=unbeaten(p)) for p in points]
