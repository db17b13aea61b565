"""The bill of materials: what the lock pins, as CycloneDX 1.6 in JSON, the same bytes for the same lock.

`python -m releasing.bom > sfumato.cdx.json`
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import uuid
from datetime import UTC, datetime
from typing import Any

from packaging.utils import canonicalize_name

from releasing.licences import licence, used_for
from releasing.lock import Pinned, needs, pinned, project

_NAMES = uuid.uuid5(uuid.NAMESPACE_URL, "urn:sfumato:bom")


def bill(epoch: int | None = None) -> dict[str, Any]:
    """The document. epoch: seconds since 1970 of what is released; without it, it bears no time."""
    about, where, all_pinned = project(), used_for(), pinned()
    root = {
        "type": "library", "bom-ref": "sfumato", "name": "sfumato", "version": about["version"],
        "description": about["description"], "purl": f"pkg:pypi/sfumato@{about['version']}",
        "licenses": [{"license": {"id": about["license"]}}],
    }  # fmt: skip
    document: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": root},
        "components": [_component(p, where[p.name]) for p in all_pinned],
        "dependencies": _dependencies(all_pinned),
    }
    if epoch is not None:
        document["metadata"]["timestamp"] = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    content = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    return {**document, "serialNumber": f"urn:uuid:{uuid.uuid5(_NAMES, content)}"}


def _component(pin: Pinned, use: str) -> dict[str, Any]:
    """scope: required by the core, optional with an extra, excluded where only development needs it."""
    scope = {"core": "required", "development": "excluded"}.get(use, "optional")
    found: dict[str, Any] = {
        "type": "library", "bom-ref": pin.url, "name": pin.name, "version": pin.version, "purl": pin.url,
        "scope": scope,
        "externalReferences": [
            {
                "type": "distribution", "url": pin.url, "comment": "the lock admits exactly these files",
                "hashes": [{"alg": "SHA-256", "content": h} for h in pin.hashes],
            }
        ],
    }  # fmt: skip
    if said := licence(pin.name):
        single = {"license": {"id": said}} if " " not in said else {"expression": said}
        found["licenses"] = [single]
    return found


def _dependencies(all_pinned: list[Pinned]) -> list[dict[str, Any]]:
    """Who asks for whom, as installed here, without extras; a name that is pinned twice stands for both."""
    refs: dict[str, list[str]] = {}
    for pin in all_pinned:
        refs.setdefault(pin.name, []).append(pin.url)
    asked = project()["dependencies"]
    assert isinstance(asked, list)
    direct = {canonicalize_name(r.split(">")[0].split("[")[0]) for r in asked}
    found = [{"ref": "sfumato", "dependsOn": sorted(u for name in direct for u in refs.get(name, []))}]
    for pin in all_pinned:
        below = {canonicalize_name(r.name) for r in needs(pin.name)} - {pin.name}
        found.append({"ref": pin.url, "dependsOn": sorted(u for name in below for u in refs.get(name, []))})
    return found


if __name__ == "__main__":
    given = os.environ.get("SOURCE_DATE_EPOCH")
    sys.stdout.write(json.dumps(bill(None if given is None else int(given)), indent=2, sort_keys=True) + "\n")
