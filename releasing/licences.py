"""The licences of all that the lock pins, and whether one forbids our use.

We publish under Apache-2.0 and hand nobody's code on: users fetch each package from its own source. So what
matters is whether a licence lets people run and import the package beside code of any licence.

`python -m releasing.licences > docs/licences.md` writes the page.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata

from releasing.lock import closure, pinned, project

# Ask for their own text to be kept, and for nothing else.
FREE = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CNRI-Python", "ISC", "MIT", "MIT-0",
    "PSF-2.0", "Zlib",
}  # fmt: skip
# Ask that changes to the package itself stay open. We change none, and import them as they come.
WEAK = {"LGPL-3.0-only", "MPL-2.0"}

# What packages say that name no SPDX expression, in their own words.
_WORDS = {
    "apache 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "bsd 2-clause license": "BSD-2-Clause",
    "2-clause bsd": "BSD-2-Clause",
    "3-clause bsd license": "BSD-3-Clause",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
}
# Of packages that the lock has for other systems only, read by hand from their sources.
_ELSEWHERE = {"colorama": "BSD-3-Clause"}
_EXCEPTION = re.compile(r"\s+WITH\s+LLVM-exception")  # it permits more, never less


def licence(name: str) -> str:
    """The SPDX expression of an installed package; empty where nothing was understood."""
    try:
        about = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return _ELSEWHERE.get(name, "")
    if said := about.get("License-Expression"):
        return str(said)
    words = [c.rpartition("::")[2] for c in about.get_all("Classifier") or [] if c.startswith("License ::")]
    for text in (about.get("License") or "", *words):
        plain = " ".join(text.split())
        if plain in FREE | WEAK:
            return plain
        if known := _WORDS.get(plain.casefold()):
            return known
    return ""


def verdict(expression: str) -> str:
    """'free', 'weak' (changes to it stay open) or 'refused'. With OR the best counts, with AND the worst."""
    if not expression:
        return "refused"
    order = ["free", "weak", "refused"]
    plain = _EXCEPTION.sub("", expression)
    if "(" in plain:  # none has any; a person reads the first that does
        return "refused"
    choices = []
    for choice in re.split(r"\s+OR\s+", plain):
        parts = [p.strip() for p in re.split(r"\s+AND\s+", choice)]
        found = ["free" if p in FREE else "weak" if p in WEAK else "refused" for p in parts]
        choices.append(max(found, key=order.index))
    return min(choices, key=order.index)


def used_for() -> dict[str, str]:
    """For each package of the lock: 'core', the extras that bring it, or 'development'."""
    about = project()
    extras = about["optional-dependencies"]
    assert isinstance(extras, dict) and isinstance(about["dependencies"], list)
    core = closure(about["dependencies"])
    by = {name: closure(asked) - core for name, asked in extras.items() if name not in ("dev", "cloud")}
    found = {}
    for name in {p.name for p in pinned()}:
        bringing = sorted(extra for extra, names in by.items() if name in names)
        found[name] = "core" if name in core else ", ".join(bringing) or "development"
    return found


def page() -> str:
    """The page of all licences."""
    where = used_for()
    lines = [
        "# Licences",
        "",
        "Sfumato is under Apache-2.0. What it needs is fetched from its own source; nothing of others is",
        "handed on with it. `requirements.lock` pins these. None forbids running or importing it beside code",
        "of any licence, which a test holds (`tests/test_releasing.py`). *Weak* means: who changes that",
        "package and hands the change on must keep it open.",
        "",
        "| package | used for | licence | |",
        "|---|---|---|---|",
    ]
    for name in sorted(where):
        found = licence(name)
        mark = {"free": "", "weak": "weak"}.get(verdict(found), "REFUSED")
        lines.append(f"| {name} | {where[name]} | {found or 'not understood'} | {mark} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
