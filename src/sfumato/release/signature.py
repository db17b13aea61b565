"""A person signs a release, and a stranger finds out who did.

What is signed is the list of all public files by their SHA-256, the guarantee, the signer's name and the day:
an in-toto statement in a DSSE envelope (`privacy.signatures`), a line of `public/signatures.intoto.jsonl` for
each signer. It holds no digest of the original, of its rows, of the plan or of anything internal.

Guarantee: no file of `public/` can be changed, added, left out or taken from another release without
           breaking every signature on it, whoever rewrites the lists of hashes.
Because:   the statement names every file by its SHA-256, and Ed25519 signs the statement (`_agrees`).
Assumes:   SHA-256 and Ed25519 hold; the trusted key is its owner's, and its secret half is known to nobody
           else. That an *older* release of the same signer is shown in place of a newer one is not noticed.
Tested by: tests/test_release_altered.py
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from sfumato.errors import DataError, ParameterError, VerificationError, listed
from sfumato.io.atomic import write_text
from sfumato.privacy.signatures import Envelope, Purpose, SigningKey, Statement, Trust, TrustedKey
from sfumato.privacy.signatures.log import ReleaseLog
from sfumato.release import manifest
from sfumato.release.checks import Outcome, VerificationCheck
from sfumato.release.core import parts, read_guarantee
from sfumato.release.database import words_of
from sfumato.release.residue import residue

_HOW = "signature"
_MOST = 1 << 24  # bytes of all signatures
_LARGE = 1 << 20  # bytes of a file that is not read again to be signed
Hashes = Mapping[str, str]


def sign(
    directory: str | Path, key: SigningKey, name: str, *, on: date | None = None,
    log: ReleaseLog | str | Path | None = None,
) -> Statement:  # fmt: skip
    """Sign a saved release with a person's key; gives back what was signed. An earlier one by this key goes.

    Its files must be those of its list; a draft is not signed. Large files are compared by their length only:
    what is signed are the hashes of the list, and one that was changed behind it is altered for whoever
    verifies. Whether all of it fits and the claims hold, `verify` says: look before you sign.

    name: who signs, as recipients will read it. log: where it is written down that this was released.

    >>> path = sf.pseudonymize(sf.samples.members(40).select(["id", "sex"]), columns=["id"]).save("out")
    >>> key = sf.SigningKey.fresh()
    >>> statement = sf.sign(path, key, "A. Miller, privacy officer")
    >>> sf.verify(path, trusted=key.public).standing.value
    'authentic'
    """
    public, _ = parts(Path(directory))
    details, listing = manifest.read_manifest(public / manifest.MANIFEST)
    if draft := manifest.draft_of(details):
        raise ParameterError(
            f"a draft is not signed: {draft.rstrip('.')}.",
            hint="sign the plan, mend the limits, run it again",
        )
    if not isinstance(key, SigningKey):
        raise ParameterError("a release is signed with a SigningKey.", hint="SigningKey.load(path)")
    wrong = [n for n, entry in listing.items() if not _as_listed(public / n, entry)]
    wrong += [] if _sums_fit(public, listing) else [manifest.SUMS]
    wrong += manifest.unexplained(listing, words_of(public, details) | set(manifest.data_names(details)))
    wrong += manifest.strays(public, {*listing, manifest.MANIFEST, manifest.SUMS, manifest.SIGNATURES})
    if wrong:
        raise VerificationError(
            f"{len(wrong)} files are not those of the manifest: {listed([ascii(n) for n in wrong])}.",
            hint="sfumato verify says more; only a whole release is signed",
        )
    hidden = [f"{n!a}: {what}" for n, what in residue(public, manifest.data_names(details))]
    if hidden:
        raise VerificationError(
            f"something lies where no release has anything: {listed(hidden)}.",
            hint="look at it, and have the release made again; nobody should sign what nobody is shown",
        )
    found = {n: entry.sha256 for n, entry in listing.items()}
    found |= {n: manifest.measure(public / n).sha256 for n in (manifest.MANIFEST, manifest.SUMS)}
    said = Statement(
        Purpose.RELEASE, found, " ".join(str(name).split()), on or datetime.now(UTC).date(),
        {"guarantee": _stated(public)},
    )  # fmt: skip
    envelope = said.signed(key)
    others = [e for e in read_envelopes(public / manifest.SIGNATURES) if not e.signed_by(key.public)]
    book = None if log is None else ReleaseLog.at(log)
    write_text(
        public / manifest.SIGNATURES, "".join(e.to_line() for e in [*others, envelope]), overwrite=True
    )
    if book is not None:  # after the signature is there: an entry without one would be a false alarm
        book.append(statement_digest(envelope), key.public, said.signer)
    return said


def _as_listed(path: Path, entry: manifest.FileEntry) -> bool:
    if not path.is_file() or path.stat().st_size != entry.size:
        return False
    return entry.size > _LARGE or manifest.measure(path) == entry


def _sums_fit(public: Path, listing: manifest.Listing) -> bool:
    """Whether the list for `sha256sum` says what the manifest says."""
    try:
        said = manifest.read_sums(public / manifest.SUMS)
        own = manifest.measure(public / manifest.MANIFEST).sha256
    except (OSError, ValueError):
        return False
    return said == {manifest.MANIFEST: own, **{n: e.sha256 for n, e in listing.items()}}


def _stated(public: Path) -> object:
    """The guarantee as the file has it: a later version may write the same one otherwise."""
    read_guarantee(public)  # what is none is not signed
    return manifest.read_json(public / "guarantee.json")


def statement_digest(envelope: Envelope) -> str:
    """What the log knows a statement by."""
    return hashlib.sha256(envelope.payload).hexdigest()


def hashes(public: Path, listing: manifest.Listing, measured: Callable[[Path], str]) -> Hashes:
    """The SHA-256 of each file that is signed: all that are listed, and the two lists themselves."""
    names = sorted({*listing, manifest.MANIFEST, manifest.SUMS})
    try:
        return {n: measured(public / n) for n in names if (public / n).is_file()}
    except (OSError, ValueError):
        raise DataError("a file of the release cannot be read.", hint="ask for a fresh copy") from None


def asks_for_signature(trusted: object, trust: Trust, log: object) -> bool:
    """Whether who asks wants a signature: who names a file does, also where nobody is in it.

    Else an empty file would let everything pass.
    """
    return bool(trust) or log is not None or trusted not in (None, [], ())


def read_envelopes(path: Path) -> list[Envelope]:
    """The signatures in a file; none where there is no such file."""
    if not path.exists() and not path.is_symlink():
        return []
    if path.exists() and not path.is_file():  # to read a pipe would wait for ever
        raise DataError(f"{path.name} is no ordinary file.", hint="ask for a fresh copy")
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST + 1)
        lines = raw.decode("ascii").split("\n")
    except OSError as error:
        raise DataError(
            f"{path.name} cannot be read: {error.strerror}.", hint="ask for a fresh copy"
        ) from None
    except ValueError:
        raise DataError(f"{path.name} is not a list of signatures.", hint="ask for a fresh copy") from None
    if len(raw) > _MOST or lines.pop() != "" or not lines:  # every line ends; an empty list signs nothing
        raise DataError(f"{path.name} is not a list of signatures.", hint="ask for a fresh copy")
    return [Envelope.from_line(line) for line in lines]


# -- checking ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Signed:
    """What the signatures show. by: those that count, in words; doubts: why others do not."""

    checks: tuple[VerificationCheck, ...] = ()
    by: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def check_signatures(
    path: Path, found: Hashes, says: Mapping[str, object], trust: Trust,
    logged: Mapping[str, date] | None = None, purpose: Purpose = Purpose.RELEASE,
) -> Signed:  # fmt: skip
    """Each signature against the files as they are, what they say, and whom the reader trusts.

    path: the file of signatures. found: the SHA-256 of every file that is signed. says: what is to be signed
    beside them; of a release its guarantee as it stands. logged: the statements that are in the log, and the
    days they came there; None where no log is asked.
    """
    try:
        envelopes = read_envelopes(path)
    except DataError as error:
        return Signed((_failed(path, error.message),))
    checks: list[VerificationCheck] = []
    by: list[str] = []
    doubts: list[str] = []
    for envelope in envelopes:
        faults = [*_faults(envelope, found, says, trust, purpose)]
        checks += [_failed(path, fault) for fault in faults]
        if faults:
            continue
        for words, refusal in _signers(envelope, trust, logged, purpose):
            outcome = Outcome.UNSEEN if refusal else Outcome.PASSED
            checks.append(VerificationCheck(words, outcome, _HOW, refusal))
            (doubts if refusal else by).append(f"{words}: {refusal}" if refusal else words)
    return Signed(tuple(checks), tuple(by), tuple(doubts))


def _in_the_log(key: TrustedKey, purpose: Purpose, day: date | None) -> str:
    """Why a signature does not count by the log; empty if it does.

    The day that it bears is its signer's word, and the log's is not: what a retired key signed after its last
    day does not count, whatever day it bears.
    """
    if day is None:
        return "it is not in the log"
    late = key.refusal(purpose, day)
    return f"by the log it was released on {day.isoformat()}, and {late}" if late else ""


def _failed(path: Path, detail: str) -> VerificationCheck:
    return VerificationCheck(path.name, Outcome.FAILED, _HOW, detail)


def _faults(
    envelope: Envelope, found: Hashes, says: Mapping[str, object], trust: Trust, purpose: Purpose
) -> Iterator[str]:
    """What is wrong with a signature whoever made it."""
    if envelope.broken:
        yield "a signature does not fit what it signs"
        return
    if not envelope.signers and not any(envelope.signed_by(k.public) for k in trust.keys):
        return  # of a key that is not known here: nothing in it can be told
    try:
        said = Statement.from_payload(envelope.payload)
    except DataError as error:
        yield error.message
        return
    if said.purpose is not purpose:
        yield f"it is signed as a {said.purpose}, not as a {purpose}"
        return
    differ = sorted(n for n in {*found, *said.subjects} if found.get(n) != said.subjects.get(n))
    if differ:
        yield f"{listed([ascii(n) for n in differ])}: not as it was signed"
    if said.says != says:
        yield "what it says is not what was signed"


def _signers(
    envelope: Envelope, trust: Trust, logged: Mapping[str, date] | None, purpose: Purpose
) -> Iterator[tuple[str, str]]:
    """Each signer in words, and why the signature does not count; empty if it does."""
    trusted = [k for k in trust.keys if envelope.signed_by(k.public)]
    strangers = [p for p in envelope.signers if trust.find(p) is None]
    told_apart = {*envelope.signers, *(k.public for k in trusted)}
    if not trusted and not strangers:
        yield "signed by somebody", "with a key that is neither named nor among those you trust"
        return
    said = Statement.from_payload(envelope.payload)
    for key in trusted:
        name = key.name or said.signer
        refusal = key.refusal(purpose, said.on)
        if not refusal and logged is not None:
            refusal = _in_the_log(key, purpose, logged.get(statement_digest(envelope)))
        yield f"signed by {name}, {said.on.isoformat()}", refusal
    for public in strangers:
        words = f"signed by somebody who claims to be {said.signer}, {said.on.isoformat()}"
        yield words, f"the key {public} is not among those you trust"
    if len(envelope.signatures) > len(told_apart):
        yield "signed by somebody else", "with a key that is not named"
