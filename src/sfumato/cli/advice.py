"""What to change where a release misses its limit of risk: the next command, to be typed as it is printed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.text import Text

from sfumato.errors import printable

if TYPE_CHECKING:
    from sfumato.plan.outcome import Run


def to_change(
    run: Run, plan: Path, out: Path, bands: Mapping[str, str] | None = None, data: str = ""
) -> list[Any]:
    """Which columns cause it, and a plan that changes them; nothing where the limit of risk is met.

    bands: of numbers the lines that band them; looked for in the data of the plan if not given.
    data: as it was typed, to name the command that invents rows instead.
    """
    from sfumato.plan import Plan
    from sfumato.plan.advice import advice, misses_risk
    from sfumato.plan.preparation import open_input, trimmed
    from sfumato.plan.proposal import bands_of

    if not misses_risk(run) or run.unchanged:
        return []
    if bands is None:
        read = Plan.read(plan)
        released = run.load().schema
        table = trimmed(read, open_input(read).table)
        bands = bands_of(table.select([c.name for c in table.schema if c.name in released]))
    found = advice(run, plan, bands)
    parts: list[Any] = ["", Text("What to change", "bold")]
    if found is not None:
        words = f"{found.words} See what comes of it:"
        parts.append(Padding(Text(printable(words)), (0, 0, 0, 2)))
        again = out.with_name(f"{out.name}-advised") if not out.name.endswith("-advised") else out
        parts.append(
            Text(f"  sfumato run {found.plan} --out {again}{' --overwrite' * (again == out)}", "bold")
        )
    if data:
        invented = f"sfumato synthesize {data} --out {out.with_name(f'{out.name}-synthetic')}"
        parts.append(Padding(Text(printable(f"Or release invented rows instead: {invented}")), (0, 0, 0, 2)))
    return parts if len(parts) > 2 else []
