"""Printed commands that no test plays: those that CI runs itself, and those that need what is not here.

By page; each entry is how the command begins.
"""

from __future__ import annotations

# Each stands in `.ci/run`, or is a line of the Makefile that one of these runs.
BY_CI: dict[str, tuple[str, ...]] = {
    "README": ("make demo", "make test"),
    "CONTRIBUTING": ("make setup", "make demo", "make lint"),
    "install": (
        "make demo",
        "make test",
        ".venv/bin/python -m pip install --require-hashes -r requirements.lock",
        ".venv/bin/python -m pytest -n auto --dist loadgroup",
    ),
}

_UNRELEASED = "no release of this package is in a registry yet"
_IMAGES = (
    "needs a container engine and a registry of images; what the image may hold is read by "
    "tests/service/test_deployment.py"
)

UNPLAYED: dict[str, dict[str, str]] = {
    "deploy": {
        "podman build": _IMAGES,
        "podman run": _IMAGES,
        "podman exec": _IMAGES,
        "cp deploy/sfumato.service": "needs systemd; tests/service/test_deployment.py reads the unit",
    },
    "files": {
        'pip install "sfumato[cloud]"': _UNRELEASED,
        "sfumato describe s3:": "needs somebody's bucket; tests/io reads another one's protocol on loopback",
    },
    "releasing": {
        "pipx run twine upload": "uploads: a person with the project's token does it, once",
        "pipx install sfumato": _UNRELEASED,
        "uv tool install": _UNRELEASED,
        "pip install 'sfumato[service]'": _UNRELEASED,
        "make rehearsal TRY=python3.13": "needs another Python; the line above is the same",
    },
    "windows": {
        "wsl --install": "needs Windows",
        "sudo apt install": "installs into the system",
        "pipx install sfumato": _UNRELEASED,
    },
}
