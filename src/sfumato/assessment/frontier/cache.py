"""Results of long runs on disk: whole entries or none, found again only by who holds the key.

The names of the entries are keyed hashes: a plain hash of a table would let anyone who can guess the
table, or all of it but one cell, check the guess against the folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import DataError, OutputError
from sfumato.io.atomic import explained, owner_only, write_text
from sfumato.seeds import Key

_KEY, _README = "cache.key", "README.txt"
_WARNING = """INTERNAL: THIS FOLDER MUST NOT LEAVE THE HOUSE.

It holds results computed from a confidential table, and the key they are found by. It can be deleted at
any time: what is missing is computed again.
"""


@dataclass(frozen=True)
class Cache:
    """A folder of results. Any number of processes may share it."""

    folder: Path
    key: Key

    @classmethod
    def open(cls, folder: str | Path) -> Cache:
        """The cache in a folder, which is made if it is not there."""
        path = Path(folder)
        if path.is_dir() and any(path.iterdir()) and not (path / _KEY).exists():
            raise OutputError(f"'{path.name}' is there and is not a cache.", hint="choose a new folder")
        try:
            path.mkdir(parents=True, exist_ok=True)
            owner_only(path)
        except OSError as error:
            raise explained(error, path) from None
        if not (path / _KEY).exists():
            with suppress(OutputError):  # another process may be first; then its key counts
                write_text(path / _KEY, Key.fresh().to_bytes().hex() + "\n", private=True)
            with suppress(OutputError):
                write_text(path / _README, _WARNING)
        return cls(path, _read_key(path / _KEY))

    def name(self, parts: object) -> str:
        """The name of the entry for what `parts` say (plain JSON), under this cache's key."""
        said = json.dumps(parts, sort_keys=True, ensure_ascii=True).encode()
        key = self.key.derive("assessment", "cache").to_bytes()
        return hashlib.blake2b(said, key=key, digest_size=20, person=b"sfumato.cache").hexdigest()

    def get(self, name: str) -> dict[str, Any] | None:
        """An entry; None if it is not there, or is not whole."""
        try:
            entry = json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        return entry if isinstance(entry, dict) and entry.pop("sfumato_cache", None) == 1 else None

    def put(self, name: str, entry: Mapping[str, Any]) -> None:
        """Keep an entry: written beside, then renamed, so that a crash leaves it whole or not at all."""
        text = json.dumps({"sfumato_cache": 1, **entry}, ensure_ascii=False)
        write_text(self.folder / f"{name}.json", text, overwrite=True, private=True)


def _read_key(path: Path) -> Key:
    try:
        return Key.from_bytes(bytes.fromhex(path.read_text(encoding="ascii").strip()))
    except (OSError, ValueError):
        raise DataError(
            f"the cache in '{path.parent.name}' has no key that can be read.",
            hint="delete the folder: what is missing is computed again",
        ) from None
