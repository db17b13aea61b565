"""The internal record of a release: what its owner needs to rebuild and recount it, and no one else may see.

It holds the key the release was drawn with. A disclosed key turns a promise that rests on randomness
into none, and a pseudonym back into a name, so `internal/` is readable by its owner only and says in
its own README that it must not leave.
"""

from __future__ import annotations

import json
import platform
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato._system import permissions
from sfumato.errors import DataError, ParameterError, SfumatoWarning, listed
from sfumato.io.atomic import owner_only
from sfumato.privacy import Guarantee
from sfumato.release.manifest import read_json
from sfumato.seeds import Key

RECORD = "record.json"
RELEASE_KEY = "release"
STANDS_FOR = "stands for"  # the table (column, value, leaf) of what generalized values stand for
_NAME = re.compile(r"[a-z][a-z0-9-]*")

_README = """INTERNAL: THIS FOLDER MUST NOT LEAVE THE HOUSE.

It belongs to the release in ../public and holds what that release is kept safe by: secret keys, a keyed
fingerprint of the input, the plan, and tables computed from the original. Whoever has it can undo what
the release promises. Send ../public only. Keep this folder, readable by its owner alone: without it the
release cannot be rebuilt, checked against its record, or joined with later ones under the same key.
"""


@dataclass(frozen=True)
class InternalRecord:
    """What must not leave.

    key: the release's own secret; everything random in it and the seal of its files derive from it.
    seed: the number the key was made from, for tests and teaching; None for a secret key.
    keys: further secrets by name, such as the one for pseudonyms, which several releases may share.
    fingerprint: keyed hash of the input, see `fingerprint`.
    plan: what was asked for, as JSON. versions: the software that did it.
    tables: Arrow tables by name: noisy tables, class sizes. extra: any further JSON.
    """

    key: Key = field(default_factory=Key.fresh)
    seed: int | None = None
    keys: Mapping[str, Key] = field(default_factory=dict)
    fingerprint: str | None = None
    plan: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=lambda: versions())
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("keys", "plan", "versions", "tables", "extra"):
            object.__setattr__(self, name, dict(getattr(self, name)))
        wrong = [repr(n) for n in self.keys if not _NAME.fullmatch(n) or n == RELEASE_KEY]
        if wrong:
            raise ParameterError(
                f"these names cannot be file names of keys: {listed(wrong)}.",
                hint=f"use small letters, digits and hyphens, and not '{RELEASE_KEY}'",
            )
        try:
            # As JSON gives it back: tuples are lists, keys are text. A record is equal after a round trip.
            for name in ("plan", "extra"):
                object.__setattr__(self, name, json.loads(json.dumps(getattr(self, name), allow_nan=False)))
        except (TypeError, ValueError):
            raise ParameterError(
                "plan and extra must be plain JSON.", hint="give tables in `tables`"
            ) from None

    # -- files -----------------------------------------------------------------------------------

    def write(self, folder: Path, guarantee: Guarantee) -> None:
        """Write the record into a folder that only its owner can enter.

        guarantee: kept a second time, so that a public one that was changed does not match it.
        """
        folder.mkdir()
        owner_only(folder)  # before anything lies in it
        (folder / "README").write_text(_README, encoding="utf-8")
        for name, key in {RELEASE_KEY: self.key, **self.keys}.items():
            write_key(folder / f"{name}.key", key)
        if self.tables:
            (folder / "tables").mkdir()
        files = {name: f"tables/{i:04d}.arrow" for i, name in enumerate(self.tables)}
        for name, file in files.items():
            _write_table(folder / file, self.tables[name])
        document = {
            "note": "internal: must not leave the house",
            "sfumato_record": 1,
            "seed": self.seed,
            "keys": sorted(self.keys),
            "fingerprint": self.fingerprint,
            "plan": self.plan,
            "versions": self.versions,
            "tables": files,
            "extra": self.extra,
            "guarantee": json.loads(guarantee.to_json()),
        }
        (folder / RECORD).write_text(
            json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        owner_only(folder)

    @classmethod
    def read(cls, folder: Path) -> InternalRecord:
        """Read the record back; an equal one."""
        document = read_document(folder)
        try:
            return cls(
                key=read_key(folder / f"{RELEASE_KEY}.key"),
                seed=document["seed"],
                keys={name: read_key(folder / f"{name}.key") for name in document["keys"]},
                fingerprint=document["fingerprint"],
                plan=document["plan"],
                versions=document["versions"],
                tables={name: _read_table(folder, file) for name, file in document["tables"].items()},
                extra=document["extra"],
            )
        except (KeyError, TypeError, AttributeError):
            raise DataError(
                f"internal/{RECORD} is not a record.", hint="restore the folder from a copy"
            ) from None


def read_document(folder: Path) -> dict[str, Any]:
    """The record as JSON, without keys and tables."""
    try:
        document = read_json(folder / RECORD)
    except OSError as error:
        raise DataError(f"internal/{RECORD} cannot be read: {error.strerror}.") from None
    except ValueError:
        document = None
    if not isinstance(document, dict) or document.get("sfumato_record") != 1:
        raise DataError(f"internal/{RECORD} is not a record of this version.", hint="restore it from a copy")
    return document


def versions(*parts: str) -> dict[str, str]:
    """The versions of Python, Sfumato and the named distributions, as far as they are installed."""
    found = {"python": platform.python_version()}
    for part in ("sfumato", "numpy", "pyarrow", *parts):
        try:
            found[part] = metadata.version(part)
        except metadata.PackageNotFoundError:
            found[part] = "not installed"
    return found


# -- keys ----------------------------------------------------------------------------------------


def write_key(path: Path, key: Key) -> None:
    """A key as a small JSON file that never was readable by anyone else."""
    path.touch(mode=0o600)
    owner_only(path)
    document = {"note": "secret: must not leave the house", "sfumato_key": 1, "hex": key.to_bytes().hex()}
    path.write_text(json.dumps(document) + "\n", encoding="utf-8")


def read_key(path: Path) -> Key:
    """Read a key file; its content never appears in a message."""
    try:
        key = Key.from_bytes(bytes.fromhex(read_json(path)["hex"]))
        if permissions.open_to(path.stat().st_mode):
            warnings.warn(
                f"key file {path.name} can be read by others: chmod 600, or take a new key if somebody has.",
                SfumatoWarning,
                stacklevel=2,
            )
        return key
    except FileNotFoundError:
        raise DataError(
            f"no key file {path.name} in {path.parent.name}/.", hint="give the internal/ folder"
        ) from None
    except OSError as error:
        raise DataError(
            f"key file {path.name} cannot be read: {error.strerror}.", hint="only its owner can read it"
        ) from None
    except (ValueError, KeyError, TypeError, ParameterError):
        raise DataError(f"{path.name} is not a key file.", hint="restore it from a copy") from None


# -- tables --------------------------------------------------------------------------------------


def _write_table(path: Path, table: pa.Table) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def _read_table(folder: Path, file: str) -> pa.Table:
    path = folder / "tables" / Path(file).name
    try:
        with pa.OSFile(str(path), "rb") as source:
            return pa.ipc.open_file(source).read_all()
    except (OSError, pa.ArrowInvalid):
        raise DataError(
            f"internal/tables/{path.name} cannot be read.", hint="restore it from a copy"
        ) from None
