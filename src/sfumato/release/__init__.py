"""Releases: a public part that may leave, an internal record that must not, and a check of both.

Start at `core` (`Release`, what every method returns) and `verification` (`verify`). Public: `dictionary`,
`manifest`, `signature` (who says so). Internal: `record`, `fingerprint`. `reading` reads the data once,
`claims` recounts each claim from it, `checks` is what was found. Of linked tables: `linked`,
`linked_verification`, `code_sets`. It lies below the methods and knows none: a
release is checked by counting alone.
"""

from sfumato.release.checks import Outcome, Standing, Verification, VerificationCheck
from sfumato.release.core import Release
from sfumato.release.database import DatabaseRelease
from sfumato.release.fingerprint import fingerprint, fingerprint_batches
from sfumato.release.record import STANDS_FOR, InternalRecord, read_key, versions, write_key
from sfumato.release.signature import sign
from sfumato.release.verification import verify

__all__ = [
    "STANDS_FOR",
    "DatabaseRelease",
    "InternalRecord",
    "Outcome",
    "Release",
    "Standing",
    "Verification",
    "VerificationCheck",
    "fingerprint",
    "fingerprint_batches",
    "read_key",
    "sign",
    "verify",
    "versions",
    "write_key",
]
