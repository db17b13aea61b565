"""What the other columns would keep without one of them: searched on counts, nothing is written."""

from __future__ import annotations

import math
from collections.abc import Mapping

from sfumato.plan import Plan
from sfumato.plan.checks import hierarchies
from sfumato.plan.choice import choose
from sfumato.progress import report
from sfumato.studio.tasks.order import Order

_LABEL = "trying without a column"
_MANY = 10**9  # ways to choose levels, where nobody counts them: the quick search is taken


def without(order: Order) -> Mapping[str, object]:
    """For the columns that lost most: what is kept with them and without."""
    report(_LABEL, 0, 1)
    plan = Plan.read(order.folder / "plan.toml")
    heights = [getattr(h, "height", 3) + 1 for h in hierarchies(plan).values()]
    nodes = math.prod(heights) if heights else _MANY
    wanted = plan.steps[0].method if plan.steps[0].method in ("local", "optimal") else None
    found = choose(plan, nodes, wanted)
    report(_LABEL, 1, 1)
    return {
        "method": found.method,
        "losses": dict(found.losses),
        "without": [{"column": w.column, "now": w.now, "instead": w.instead} for w in found.without],
    }
