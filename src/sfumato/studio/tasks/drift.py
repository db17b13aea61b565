"""The plan's data against what an earlier release was made of: names and numbers, no cell."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sfumato.errors import DataError
from sfumato.plan import Plan
from sfumato.plan import drift as drifting
from sfumato.plan.output_folders import records
from sfumato.plan.preparation import open_input
from sfumato.progress import report
from sfumato.studio.tasks.order import Order

_LABEL = "comparison with the earlier data"


def drift(order: Order) -> Mapping[str, object]:
    """What has moved since, in sentences, the worst first."""
    report(_LABEL, 0, 2)
    plan = Plan.read(order.folder / "plan.toml")
    earlier = [folder for folder, _ in records(Path(str(order.given["previous"])))]
    if not earlier:
        raise DataError("the earlier release is not there any more.", hint="choose another one")
    before = drifting.read(earlier[0])
    report(_LABEL, 1, 2)
    found = drifting.compare(before, open_input(plan).table)
    report(_LABEL, 2, 2)
    notable = float(plan.table("drift").get("notable", 0.1))
    return {
        "sentences": found.sentences(notable),
        "rows": list(found.rows),
        "notable": len(found.notable(notable)),
        "unknown": len(found.unknown),
    }
