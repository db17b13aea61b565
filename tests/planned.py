"""A small folder with data, schema, levels and a plan: what a person who has just begun would have."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

from declared import signed

from sfumato.plan import Plan
from sfumato.schema import Schema

CANARY = "zebra7319"
HEADER = "id,sex,age,region,dx,cost"

_DECLARED = """\
[columns.id]
kind = "nominal"
role = "identifier"
[columns.sex]
kind = "flag"
role = "quasi-identifier"
levels = ["f", "m"]
confirmed = true
provenance = {origin="declared", by="me", reason="so", domain="sha256:4839344862f357d18b5c30c3da185493"}
[columns.age]
kind = "numeric"
type = "integer"
role = "quasi-identifier"
edges = [0, 20, 40, 60, 80, 120]
confirmed = true
provenance = {origin="declared", by="me", reason="so", domain="sha256:c7d0fedf1b243898561fb4481ddd6ff2"}
[columns.region]
kind = "nominal"
role = "quasi-identifier"
levels = ["east", "north", "south", "west"]
confirmed = true
provenance = {origin="declared", by="me", reason="so", domain="sha256:17f59e212739460c16b3221fa4bc1d43"}
[columns.dx]
kind = "nominal"
role = "sensitive"
levels = ["a", "b", "c", "zebra7319"]
confirmed = true
provenance = {origin="declared", by="me", reason="so", domain="sha256:5ffd89fe056f8831da9307ec78ca583f"}
[columns.cost]
kind = "numeric"
type = "integer"
role = "sensitive"
edges = [0, 100, 200, 400]
confirmed = true
provenance = {origin="declared", by="me", reason="so", domain="sha256:093941ef5fe4a99f20c0ca53fa384e02"}
"""


def _signed(text: str) -> str:
    """The text with a signature in each provenance: unsigned they count in no file."""
    for column in signed(Schema.from_toml(text)):
        if (said := column.provenance) is not None:
            mark = f'key="{said.key}", on="{said.on}", signature="{said.signature}"'
            text = text.replace(f'domain="{said.domain}"}}', f'domain="{said.domain}", {mark}}}')
    return text


SCHEMA = _signed(_DECLARED)

LEVELS = """\
east;east or west;*
west;east or west;*
north;north or south;*
south;north or south;*
"""

PLAN = """\
sfumato_plan = 2
title = "Visits of a small clinic"

[input]
data = "data.csv"
schema = "schema.toml"

[columns]
sex = { role = "quasi-identifier", hierarchy = "suppress" }
age = { hierarchy = { recipe = "ages", widths = [5, 20] }, top = 90 }
region = { hierarchy = { recipe = "levels", file = "region.csv" } }

[[steps]]
method = "optimal"
k = 3
max_suppressed = 0.2

[assess]
skip = true
"""


def rows(number: int = 120, seed: int = 1) -> str:
    """Data as CSV text; one diagnosis is rare, and must never be shown."""
    rng = random.Random(seed)
    lines = [HEADER]
    for i in range(number):
        dx = CANARY if i == 7 else rng.choice("aaabbc")
        line = (
            f"p{i:04d}",
            rng.choice("fm"),
            rng.randrange(95),
            rng.choice(["east", "west", "north", "south"]),
        )
        lines.append(",".join(map(str, (*line, dx, rng.randrange(400)))))
    return "\n".join(lines) + "\n"


def written(folder: Path, plan: str = PLAN, **files: str) -> Path:
    """The folder filled; gives back the path of the plan."""
    texts = {"data.csv": rows(), "schema.toml": SCHEMA, "region.csv": LEVELS, "plan.toml": plan}
    for name, text in {**texts, **files}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "plan.toml"


def unjudged(text: str) -> str:
    """A plan of `init` without its assessment, the people held back for it, and the limits: quick to run."""
    text = re.sub(r'effort = "\w+"', "skip = true", text)
    text = re.sub(r"^hold_back = .*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^\[thresholds\]\n(?:(?!\[|# \[).*\n)*", "", text, flags=re.MULTILINE)


def with_steps(*steps: str, more: str = "") -> str:
    """The plan with other steps."""
    head = PLAN.partition("[[steps]]")[0]
    return head + "\n".join(f"[[steps]]\n{s}\n" for s in steps) + "\n[assess]\nskip = true\n" + more


def ran(folder: Path, plan: str = PLAN, out: str = "release", **options: Any) -> Any:
    """The plan, run."""
    return Plan.read(written(folder, plan)).run(folder / out, **options)


def public_bytes(folder: Path) -> bytes:
    """The released data, as the file has it."""
    return (folder / "public" / "data.parquet").read_bytes()


def card(folder: Path) -> str:
    return (folder / "public" / "card.md").read_text(encoding="utf-8")


def hidden(folder: Path) -> list[str]:
    return [p.name for p in folder.iterdir() if p.name.startswith(".")]
