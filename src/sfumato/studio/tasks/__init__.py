"""What is done in the background: one function a module, from an order to plain values.

A task runs in a process of its own (`sfumato.studio.process`). It may read anything, writes into
`order.place` alone (but for a release, which goes where the person said), reports by
`sfumato.progress.report`, and gives back plain values: the studio's side changes the plan. A task
is added with one line in `task_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sfumato.errors import ParameterError
from sfumato.studio.tasks.order import Order

TaskFunction = Callable[[Order], Mapping[str, object]]


def task_of(kind: str) -> TaskFunction:
    """The function of a kind of task; loaded when it is wanted."""
    match kind:
        case "look":
            from sfumato.studio.tasks.look import look

            return look
        case "run":
            from sfumato.studio.tasks.release import run_plan

            return run_plan
        case "map":
            from sfumato.studio.tasks.risk_map import risk_map

            return risk_map
        case "attack":
            from sfumato.studio.tasks.attack import attack

            return attack
        case "preview":
            from sfumato.studio.tasks.preview import preview

            return preview
        case "without":
            from sfumato.studio.tasks.without import without

            return without
        case "sign":
            from sfumato.studio.tasks.key_signature import sign_release

            return sign_release
        case "drift":
            from sfumato.studio.tasks.drift import drift

            return drift
        case "tables":
            from sfumato.studio.tasks.tables import tables

            return tables
        case "linked":
            from sfumato.studio.tasks.links import linked

            return linked
        case _:
            raise ParameterError(f"no task is called '{kind}'.", hint="see sfumato.studio.tasks")
