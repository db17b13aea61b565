"""Ask a peer a question about files. See README.md."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
NAMES = tuple(sorted(lock.stem for lock in _HERE.glob("*.lock")))


def python_of(name: str) -> Path | None:
    """The interpreter of a peer's environment, if `make peers` built it."""
    found = _HERE.parent / ".peers" / name / "bin" / "python"
    return found if found.exists() else None


def ask(name: str, question: dict[str, Any], *, seconds: float = 600) -> dict[str, Any]:
    """The peer's answer."""
    python = python_of(name)
    if python is None:
        raise FileNotFoundError(f"the environment of {name} was not built: make peers")
    done = subprocess.run(
        [str(python), str(_HERE / f"ask_{name}.py")],
        input=json.dumps(question), capture_output=True, text=True, timeout=seconds, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{name} failed:\n{done.stderr[-2000:]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
