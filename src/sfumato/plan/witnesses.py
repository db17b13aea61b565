"""What was published, held against the ledger that is about to pay: an older copy of it pays for nothing.

Anybody can write a release that names a ledger. One that somebody signed whom the owner trusts is believed,
and locks a ledger that lacks its line (`privacy.ledger.published`). Any other is compared, and no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from sfumato.errors import DataError, VerificationError
from sfumato.privacy import Accounted, Guarantee, Ledger
from sfumato.privacy.ledger.witnesses import Compared
from sfumato.privacy.signatures import Trust
from sfumato.release import verify
from sfumato.release.core import parts, read_guarantee

_AUTHENTIC = "authentic"


def promise_of(path: Path) -> Guarantee:
    """What a release, a model or a guarantee by itself says."""
    from sfumato.prediction.artefact import load

    if path.is_dir():
        return read_guarantee(parts(path)[0])
    if path.suffix != ".json":
        return load(path).guarantee
    try:
        return Guarantee.from_json(path.read_text("utf-8", "replace"))
    except OSError as error:
        raise DataError(f"{path.name} cannot be read: {error.strerror}.", hint="correct the path") from None


def is_authentic(path: Path, trust: Trust) -> bool:
    """Whether somebody signed it whom you trust."""
    from sfumato.prediction.artefact import ArtefactError, load

    if not trust or path.suffix == ".json":
        return False
    if path.is_dir():
        return verify(path, trusted=trust).standing == _AUTHENTIC
    try:
        load(path, trusted=trust)
    except ArtefactError:
        return False
    return True


def compare(
    ledger: Ledger, published: Sequence[Path], trust: Trust, *, genuine: bool = False
) -> tuple[Compared, int]:
    """A ledger against what was published, and how many of that were believed.

    genuine: a person says that all of it is, whoever signed it.
    """
    promised = [(promise_of(path), genuine or is_authentic(path, trust)) for path in published]
    believed = ledger.check_against(*(g for g, known in promised if known), genuine=True)
    others = ledger.check_against(*(g for g, known in promised if not known))
    both = Compared(*(a + b for a, b in zip(believed, others, strict=True)))
    return both, sum(known for _, known in promised)


def require_held(ledger: Ledger, published: Sequence[Path], trust: Trust) -> None:
    """Refuse to pay from a ledger that lacks what something was paid from."""
    if published and compare(ledger, published, trust)[0].lacking:
        raise VerificationError(
            "the ledger lacks entries that an earlier release or model was paid from: it is an older copy, "
            "or one that was used elsewhere. Nothing was debited.",
            hint="restore the last one, or account for the loss: sfumato ledger check LEDGER --against IT",
        )


def note_on_accounts(ledger: Ledger | None, published: Iterable[Path]) -> str:
    """What a reader of both an earlier release and a new one should know of their accounts, if anything."""
    paid = [c for path in published for c in promise_of(path) if isinstance(c, Accounted)]
    if not paid:
        return ""
    if ledger is None:
        return (
            f"the earlier release was paid from ledger {paid[0].ledger[:8]}, and this one from none: nobody "
            "adds up what both give away."
        )
    if ledger.check_against(Guarantee.of(*paid)).others:
        return (
            f"the earlier release was paid from ledger {paid[0].ledger[:8]}, which is another: where the "
            "same people are in both, what both give away is in neither total."
        )
    return ""
