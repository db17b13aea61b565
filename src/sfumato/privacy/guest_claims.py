"""A claim of a guest with the signature of who stands behind its words, inside the guarantee itself.

    claim = sf.sign_claim(Rounded(5, ("age",)), key, "Rounding Ltd.")      # in the guest, or by its user
    guarantee = Guarantee.of(claim)

What is signed is the claim as a guarantee holds it: its name, its package, its words, its settings and what
it rests on, as an in-toto statement in a DSSE envelope. So a reader knows whose promise it is, and that its
words are theirs. That it holds of some rows, the signature under the release says, or a recount.

Guarantee: no word or setting of a signed claim can be changed, and no signature moved to another claim.
Because:   the statement names the SHA-256 of the claim's one spelling (`_statement`).
Assumes:   SHA-256 and Ed25519 hold, and the trust file says whose key it is. The same claim, word for word,
           may stand in the guarantee of another release.
Tested by: tests/test_vouching.py
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, date, datetime

from sfumato.errors import DataError, ParameterError
from sfumato.privacy.base import Claim
from sfumato.privacy.foreign import ForeignClaim
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.signatures import Envelope, Purpose, SigningKey, Statement, Trust, canonical

_SUBJECT = "claim"


def _statement(claim: ForeignClaim, name: str, on: date) -> Statement:
    digest = hashlib.sha256(canonical(replace(claim, signature="").to_dict())).hexdigest()
    says = {"kind": claim.kind, "package": claim.package}
    return Statement(Purpose.CLAIM, {_SUBJECT: digest}, name, on, says)


def sign_claim(claim: Claim, key: SigningKey, name: str, *, on: date | None = None) -> ForeignClaim:
    """A guest's claim, signed by who stands behind its words; one of ours is not signed by anybody.

    name: who signs, as readers will see it. on: the day; by default today.

    >>> from sfumato.privacy.foreign import ForeignClaim
    >>> words = ("tidy to 5", "Every number is a multiple of 5.", "Nothing else.")
    >>> claim = ForeignClaim("Tidy", "rounding", words)
    >>> signed = sf.sign_claim(claim, sf.SigningKey.fresh(), "Rounding Ltd.")
    >>> signed.title
    'not ours (rounding): tidy to 5'
    """
    (own,) = Guarantee.of(claim).claims
    if not isinstance(own, ForeignClaim):
        raise ParameterError(
            "a claim of Sfumato's own is checked, and not vouched for.", hint="sign the release: sf.sign"
        )
    said = _statement(own, " ".join(str(name).split()), on or datetime.now(UTC).date())
    return replace(own, signature=said.signed(key).to_line().rstrip("\n"))


def vouched(claim: ForeignClaim, trust: Trust) -> tuple[bool | None, str]:
    """Whether somebody you trust stands behind the words of a claim, and in words who.

    None where nobody does whom you trust. False where there is a signature that does not fit.
    """
    if not claim.signature:
        return None, "nobody signed its words"
    try:
        envelope = Envelope.from_line(claim.signature)
        said = Statement.from_payload(envelope.payload)
        fits = said.payload() == _statement(claim, said.signer, said.on).payload()
    except (DataError, ParameterError):
        return False, "its signature cannot be read"
    if not fits or envelope.broken or len(envelope.signatures) != 1:
        return False, "its signature does not fit its words"
    for key in trust.keys:
        if envelope.signed_by(key.public):
            refused = key.refusal(Purpose.CLAIM, said.on)
            who = key.name or said.signer
            if refused:
                return None, f"signed by {who}: {refused}"
            return True, f"its words are {who}'s, who signed them"
    if not envelope.signers:
        return None, "signed with a key that is neither named nor among those you trust"
    return None, f"signed by somebody who claims to be {said.signer}, with a key you do not trust"
