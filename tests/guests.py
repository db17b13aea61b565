"""Packages of others, put where Python looks for them: as pip leaves them behind, but written by hand."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from architecture import ROOT

EXAMPLE = ROOT / "examples" / "sfumato-rounding"


def installed(folder: Path, package: str, code: str, entries: Mapping[str, Mapping[str, str]]) -> Path:
    """A package of one module. entries: {group: {name: what of the module}}."""
    module = package.replace("-", "_")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8"
    )
    lines = []
    for group, names in entries.items():
        lines.append(f"[{group}]")
        lines += [f"{name} = {module}:{what}" for name, what in names.items()]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def install_example(folder: Path) -> Path:
    """The example, by pip, without a network."""
    command = [sys.executable, "-m", "pip", "--quiet", "install", "--no-build-isolation", "--no-deps"]
    done = subprocess.run(
        [*command, "--no-index", "--target", str(folder), str(EXAMPLE)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return folder


METHOD = '''
from dataclasses import dataclass
from sfumato.methods.declaration import Declaration, Does, declares

@declares(Declaration("{name}", Does.REPLACE, "Does nothing.", page="x.md", claims=("NoGuarantee",)))
@dataclass(frozen=True)
class Method:
    """Does nothing."""

    def release(self, table, *, key=None):
        raise NotImplementedError
'''
