"""Who says so: keys of people, what they sign, and whose signatures count here.

`keys` (Ed25519), `statement` (what is signed: files by their hashes, as in-toto has it), `envelope` (how it
leaves: DSSE), `trust` (whose signatures count, for what, from when until when), `log` (what was released).
Start at `statement`. It knows no release and no model: those rooms say what they sign.
"""

from sfumato.privacy.signatures.envelope import Envelope, canonical, pae, strict_json
from sfumato.privacy.signatures.keys import SigningKey, signed
from sfumato.privacy.signatures.log import LogEntry, ReleaseLog
from sfumato.privacy.signatures.statement import Purpose, Statement
from sfumato.privacy.signatures.trust import Trust, TrustedKey

__all__ = [
    "Envelope",
    "LogEntry",
    "Purpose",
    "ReleaseLog",
    "SigningKey",
    "Statement",
    "Trust",
    "TrustedKey",
    "canonical",
    "pae",
    "signed",
    "strict_json",
]
