"""A document that is signed by itself: a determination, what a package says its claims rest on, or a package.

The signatures lie beside it, in NAME.intoto.jsonl, in the same form and under the same keys as a release's.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from sfumato.errors import DataError, ParameterError
from sfumato.io.atomic import write_text
from sfumato.privacy.signatures import Purpose, ReleaseLog, SigningKey, Statement, Trust
from sfumato.release.checks import Outcome, Verification, VerificationCheck
from sfumato.release.manifest import measure
from sfumato.release.signature import (
    asks_for_signature,
    check_signatures,
    read_envelopes,
    statement_digest,
)

_DOCUMENTS = (Purpose.DETERMINATION, Purpose.CLAIM, Purpose.PACKAGE)


def sign_document(
    path: str | Path, key: SigningKey, name: str, *, purpose: Purpose | str = Purpose.DETERMINATION,
    on: date | None = None, log: ReleaseLog | str | Path | None = None,
) -> Statement:  # fmt: skip
    """Sign a file as it is; gives back what was signed. An earlier signature by this key goes."""
    path, purpose = Path(path), _purpose(purpose)
    said = Statement(
        purpose, {path.name: _digest(path)}, " ".join(str(name).split()), on or datetime.now(UTC).date()
    )
    envelope = said.signed(key)
    others = [e for e in read_envelopes(signatures_of(path)) if not e.signed_by(key.public)]
    write_text(signatures_of(path), "".join(e.to_line() for e in [*others, envelope]), overwrite=True)
    if log is not None:
        ReleaseLog.at(log).append(statement_digest(envelope), key.public, said.signer)
    return said


def verify_document(
    path: str | Path, *, trusted: Trust | str | Path | Sequence[str | Path] | None = None,
    log: ReleaseLog | str | Path | None = None, purpose: Purpose | str = Purpose.DETERMINATION,
) -> Verification:  # fmt: skip
    """Whether a file is as somebody signed it whom you trust; see `verify` for the words."""
    path, purpose = Path(path), _purpose(purpose)
    trust = Trust.of(trusted)
    logged = None if log is None else ReleaseLog.at(log).days()
    found = {path.name: _digest(path)}
    signed = check_signatures(signatures_of(path), found, {}, trust, logged, purpose)
    file = VerificationCheck(path.name, Outcome.PASSED, "reading")
    asked = asks_for_signature(trusted, trust, log)
    return Verification((file,), (), (), "", signed.checks, signed.by, signed.doubts, asked)


def signatures_of(path: Path) -> Path:
    """Where the signatures of a document lie."""
    return path.with_name(f"{path.name}.intoto.jsonl")


def _purpose(given: Purpose | str) -> Purpose:
    if given not in _DOCUMENTS:
        raise ParameterError(
            f"a document is signed as a {' or a '.join(_DOCUMENTS)}.",
            hint="releases and models have their own",
        )
    return Purpose(given)


def _digest(path: Path) -> str:
    if not path.is_file():
        raise DataError(f"no file {path.name}.", hint="correct the path")
    try:
        return measure(path).sha256
    except OSError as error:
        raise DataError(f"{path.name} cannot be read: {error.strerror}.", hint="check its rights") from None
