"""Short work goes first: a map that is being drawn makes way, and goes on behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.studio.view import PageView
from sfumato.studio.work import Task


def submit_ahead(view: PageView, kind: str, given: Mapping[str, Any]) -> Task:
    """Put a task in front of a map: the map is paused, and what is left of it waits behind."""
    from sfumato.studio.map_points import MAP, rest_of

    worker = view.worker
    maps = [t for t in worker.tasks(MAP) if t.open]
    for task in maps:
        worker.cancel(task.id)
    task = worker.submit(kind, given, view.folder.revision)
    for paused in reversed(maps):
        rest = rest_of(worker, paused)
        if rest["points"]:
            worker.submit(MAP, rest, paused.revision)
    return task
