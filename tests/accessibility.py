"""Axe, run inside a page: what is wrong for who does not see, does not point, or does not tell colours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import chromium
from architecture import ROOT

_PLACES = (
    os.environ.get("SFUMATO_AXE", ""),
    str(ROOT / ".peers" / "axe" / "node_modules" / "axe-core" / "axe.min.js"),
)


def script() -> Path | None:
    """Axe where `make axe` put it, or where SFUMATO_AXE says."""
    return next((Path(p) for p in _PLACES if p and Path(p).is_file()), None)


def faults(browser: chromium.Browser, axe: Path) -> list[str]:
    """What is serious or critical on the page that is open, each with the first places."""
    browser.evaluate(axe.read_text(encoding="utf-8") + "; 0")
    found: list[dict[str, Any]] = browser.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => ({id: v.id, "
        "impact: v.impact, help: v.help, count: v.nodes.length, where: v.nodes.slice(0, 3).map(n => "
        "n.target.join(' ') + ' | ' + (n.any.concat(n.all, n.none)[0] || {message: ''}).message)})))"
    )
    serious = [v for v in found if v["impact"] in ("serious", "critical")]
    return [f"{v['impact']}: {v['id']} ({v['help']}) x {v['count']}: {v['where']}" for v in serious]
