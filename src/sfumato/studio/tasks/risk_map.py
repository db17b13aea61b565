"""The map of risk and utility, point by point: each is written as soon as it is there.

The plan's own data, columns and hierarchies; the same people are set aside as a control for all points of one
map, so that points of a map that was paused and gone on with compare. Points go into `points.jsonl`, a line
each: numbers, names of methods and settings, never a cell.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any

from sfumato.assessment.frontier import Frontier
from sfumato.assessment.frontier.driver import set_aside
from sfumato.errors import DataError, SfumatoError
from sfumato.plan import Plan
from sfumato.plan.baselines import BASELINES
from sfumato.plan.checks import hierarchies
from sfumato.plan.map import frontier
from sfumato.plan.preparation import open_input, trimmed
from sfumato.plan.step import Step
from sfumato.progress import report
from sfumato.seeds import Key
from sfumato.studio.tasks.order import Order
from sfumato.table import Table

POINTS = "points.jsonl"
_LABEL = "settings for the map"
_SHARE = 0.2  # of the people, set aside as a control


def risk_map(order: Order) -> Mapping[str, object]:
    """Run every setting that was asked for, one after the other."""
    wanted = list(order.given["points"])
    report(_LABEL, 0, len(wanted))
    plan = Plan.read(order.folder / "plan.toml")
    table = trimmed(plan, open_input(plan).table)
    table = Table.from_arrow(table.to_arrow(), table.schema)
    key = Key.from_bytes(bytes.fromhex(str(order.given["key"])))
    given = {n: h for n, h in hierarchies(plan).items() if n in table.schema}
    people, others = _with_control(table, key)
    with (order.place / POINTS).open("a", encoding="utf-8") as file:
        os.chmod(file.fileno(), 0o600)
        for number, one in enumerate(wanted, 1):
            found = _placed(one, people, others, given, key, int(order.given.get("repeats", 1)))
            file.write(json.dumps(found) + "\n")
            file.flush()
            report(_LABEL, number, len(wanted))
    return {"points": len(wanted), "control": 0 if others is None else others.rows()}


def _with_control(table: Table, key: Key) -> tuple[Table, Table | None]:
    try:
        return set_aside(table, _SHARE, key.derive("studio", "map"))
    except DataError:  # too few: attacks are then held against a plain guess, which is said
        return table, None


def _placed(
    one: Mapping[str, Any], people: Table, others: Table | None, given: Mapping[str, Any], key: Key,
    repeats: int,
) -> dict[str, object]:  # fmt: skip
    """One setting's point, or why there is none."""
    posts = {post.name: post for post in BASELINES}
    method: Any = posts.get(str(one["method"])) or Step(str(one["method"]), dict(one["settings"]))
    asked = {"method": one["method"], "settings": dict(one["settings"])}
    try:
        found: Frontier = frontier(
            people, [method], hierarchies=given, control=others, holdout=0 if others is None else None,
            repeats=repeats, workers=1, key=key,
        )  # fmt: skip
    except SfumatoError as error:
        return {**asked, "trouble": error.message.removeprefix("none of 1 runs gave a release: ")}
    point = found.points[0]
    if not all(map(math.isfinite, (point.risk.value, point.utility.value))):
        return {**asked, "trouble": "no number came of it"}
    axes = {
        f"{axis}_{what}": getattr(score, what)
        for axis, score in (("risk", point.risk), ("utility", point.utility))
        for what in ("name", "meaning", "better")
    }
    return {**point.to_dict(), **asked, **axes, "full_settings": point.to_dict()["settings"]}
