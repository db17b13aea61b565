"""Sign a release with a person's key, after it was looked at: what `sfumato sign release --key` does.

The key is read in this process alone; what is kept of the task names its file and its public half.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sfumato.errors import VerificationError
from sfumato.privacy.signatures import SigningKey
from sfumato.progress import report
from sfumato.release import sign, verify
from sfumato.studio.tasks.order import Order

_LABEL = "signature of the release"


def sign_release(order: Order) -> Mapping[str, object]:
    """Verify, sign, and verify once more as somebody who trusts this key."""
    report(_LABEL, 0, 3)
    release = Path(str(order.given["release"]))
    key = SigningKey.load(str(order.given["key"]))
    before = verify(release, trusted=[])
    if not before.ok:
        raise VerificationError(
            f"'{release.name}' does not verify, and was not signed: {before.verdict}",
            hint="run the plan again, and look at what does not fit",
        )
    report(_LABEL, 1, 3)
    said = sign(release, key, str(order.given["name"]))
    report(_LABEL, 2, 3)
    after = verify(release, trusted=key.public)
    report(_LABEL, 3, 3)
    return {
        "release": release.name,
        "by": said.signer,
        "on": said.on.isoformat(),
        "public_key": key.public,
        "standing": after.standing.name.lower(),
        "verdict": after.verdict,
    }
