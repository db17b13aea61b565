"""What to change where a release misses a limit, as a plan that can be run: nothing is to be typed.

The plan of the draft stays as it is. Beside it lies one in which the columns that tell most of a person are
in bands, or the column that can be told from others is left out; the rest is the same, line by line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from sfumato.io.output import write_text

NAME = "plan-advised.toml"


def advised(plan: Path, lines: Mapping[str, str]) -> Path:
    """Write the plan with other lines for some columns beside it, and say where.

    lines: of each column the line that stands in its place. `l`, about sensitive columns, loses them.
    """
    text = plan.read_text("utf-8")
    for name, line in lines.items():
        own = re.compile(rf"(?m)^{re.escape(_key(line))} = \{{.*\}}$")
        text = own.sub(line.replace("\\", r"\\"), text)
        hit = re.search(r"(?m)^l = (\{.*\})(.*)\n", text)
        if hit is not None:
            text = text[: hit.start()] + _without(hit, name) + text[hit.end() :]
    target = plan.with_name(NAME)
    write_text(target, text, overwrite=True)
    return target


def dropped(name: str, plan: Path) -> dict[str, str]:
    """The line that leaves a column out, with its name as the plan writes it."""
    columns = tomllib.loads(plan.read_text("utf-8"))["columns"]
    if name not in columns:
        return {}
    key = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)
    return {name: f"{key} = {{ drop = true, reviewed = false }}"}


def _key(line: str) -> str:
    """What stands before the equals sign; a name in quotes may hold one too."""
    hit = re.match(r'"(?:[^"\\]|\\.)*"|[A-Za-z0-9_-]+', line)
    return hit.group() if hit else line


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _without(hit: re.Match[str], name: str) -> str:
    """The line of `l` without a column; nothing if it was the last."""
    kept = {k: v for k, v in tomllib.loads(f"l = {hit.group(1)}")["l"].items() if k != name}
    if not kept:
        return ""
    inside = ", ".join(
        f"{k if re.fullmatch(r'[A-Za-z0-9_-]+', k) else _quoted(k)} = {v}" for k, v in kept.items()
    )
    return f"l = {{ {inside} }}{hit.group(2)}\n"
