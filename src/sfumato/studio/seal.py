"""What this person's studio said of a release itself, told from what came with somebody else's plan.

Guarantee: that a release was made, verified or signed is shown only if this user's studio said so here.
Because:   beside it stands an HMAC of the whole result; the key lies in the user's own state folder
           (SFUMATO_STATE), readable by its owner alone, and never in the folder of a plan.
Assumes:   nobody else reads that folder. Where it cannot be written, this lasts as long as the studio.
Tested by: tests/studio/test_work.py
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from functools import lru_cache
from pathlib import Path

from sfumato.errors import OutputError
from sfumato.privacy.ledger.witness import state_folder

_BYTES = 32


def seal(text: str) -> str:
    """The seal of a text."""
    try:
        key = _key(state_folder())
    except OutputError:
        key = _key(None)
    return hmac.new(key, text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def is_ours(text: str, found: str) -> bool:
    """Whether a seal that was found beside a text is ours."""
    return hmac.compare_digest(found.strip().encode("utf-8", "replace"), seal(text).encode())


@lru_cache(8)
def _key(folder: Path | None) -> bytes:
    """The key that is there, a new one, or one for this process alone."""
    fresh = secrets.token_bytes(_BYTES)
    if folder is None:
        return fresh
    file = folder / "studio.key"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = file.with_name(f"studio.key.{secrets.token_hex(6)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            out.write(fresh)
        try:
            os.link(draft, file)  # whole, or another studio's that was first
        except FileExistsError:
            pass
        finally:
            draft.unlink()
        found = file.read_bytes()
    except OSError:
        return fresh
    return found if len(found) == _BYTES else fresh
