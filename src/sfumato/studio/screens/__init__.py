"""The screens, in the order of the way: one module each, and this table.

A new screen is a module with a `SCREEN`, and one line here. See docs/studio.md, "How a screen is made".
"""

from __future__ import annotations

from sfumato.studio.screens import (
    attacks,
    columns,
    comparison,
    hierarchies,
    knowledge,
    papers,
    plan_file,
    release,
    risk_map,
    start,
    tables,
)
from sfumato.studio.screens.screen import Screen

SCREENS: tuple[Screen, ...] = (
    start.SCREEN,
    columns.SCREEN,
    knowledge.SCREEN,
    hierarchies.SCREEN,
    risk_map.SCREEN,
    comparison.SCREEN,
    attacks.SCREEN,
    tables.SCREEN,
    release.SCREEN,
    papers.SCREEN,
    plan_file.SCREEN,
)
