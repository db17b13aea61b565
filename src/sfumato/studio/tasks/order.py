"""What a task is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Order:
    """What is to be done. given: its settings. folder: of the plan. place: of this task alone."""

    kind: str
    given: Mapping[str, Any]
    folder: Path
    place: Path
    revision: int = 0
