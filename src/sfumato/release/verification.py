"""Is a saved release what it says? Its files, its data against its schema, and each of its claims."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from sfumato._system import permissions
from sfumato.counts import type_name
from sfumato.errors import DataError, SfumatoError
from sfumato.privacy import Claim, ConsistentTotals, Guarantee, NoGuarantee, Pseudonymous, Unaccounted
from sfumato.privacy.signatures import ReleaseLog, Trust
from sfumato.release import manifest
from sfumato.release.checks import Outcome, Verification, VerificationCheck
from sfumato.release.claims import check_claim
from sfumato.release.contents import ReadOnce, read_once
from sfumato.release.core import card_of, parts, read_data, read_guarantee, wording
from sfumato.release.database import is_linked, linked_card, read_database, words_of
from sfumato.release.linked_verification import check_data, check_linked_claim, with_domains
from sfumato.release.record import RELEASE_KEY, read_document, read_key
from sfumato.release.residue import residue
from sfumato.release.signature import Signed, asks_for_signature, check_signatures, hashes
from sfumato.release.spelling import check_spelling
from sfumato.schema import Origin, Role, Schema
from sfumato.schema.declaration import fits, refusal
from sfumato.table import Table

_HASH, _SEAL, _SCHEMA = "SHA-256 in the manifest", "seal of the internal record", "data against schema"
_RECORD = "checked against the internal record"
_SAID = "as the internal record says"
_ABSENT = "not here: without a signature, a change of both a file and its hash stays unseen"
_ODD = "no ordinary file: nothing was read"
_UNEXPLAINED = "neither data nor words of a release: no claim is about it"
_HIDDEN = "places where nothing belongs"
_LARGE = "larger than anything that is written there: nothing was read"
_WORDS = "recomputed from schema and guarantee"
_DOMAIN = "who answers for it"
_BEYOND = "levels, labels or bounds that no released row shows, and nobody answers for"
_NOBODY = "nobody says where it comes from: read off the data, it would end the promise of an epsilon"
T = TypeVar("T")
Measure = Callable[[Path], manifest.FileEntry]


def verify(
    directory: str | Path, *, trusted: Trust | str | Path | Sequence[str | Path] | None = None,
    log: ReleaseLog | str | Path | None = None, guests: bool = False,
) -> Verification:  # fmt: skip
    """Check a saved release, or a copy of its public folder; nothing is changed, nothing is believed.

    What only agrees with itself is whole, and no more: whoever changes a file can rewrite the lists too. It
    is authentic if somebody signed it whom you trust. With `internal/` beside it, its owner sees any change.

    trusted: whose signatures count: public keys, their files, or trust files. None: the trust file at its
        usual place, if there is one; an empty list: nobody's.
    log: the log of what was released; then only signatures count that are in it.
    guests: let installed packages count their own claims again. Without it nothing of theirs is loaded: a
        release of somebody else's must not decide which code runs here.

    >>> path = sf.pseudonymize(sf.samples.members(40).select(["id", "sex"]), columns=["id"]).save("out")
    >>> sf.verify(path, trusted=[]).standing.value
    'whole but not signed by anyone you trust'
    """
    trust = Trust.of(trusted)
    asked = asks_for_signature(trusted, trust, log)
    logged = None if log is None else ReleaseLog.at(log).days()  # a broken log is no fault of the release
    public, internal = parts(Path(directory))
    odd = dict.fromkeys(manifest.specials(public if internal is None else public.parent), _ODD)
    if odd := odd or dict.fromkeys(manifest.oversized(public), _LARGE):
        return Verification(
            tuple(VerificationCheck(n, Outcome.FAILED, _HASH, why) for n, why in odd.items()), (), ()
        )
    measure = cache(manifest.measure)  # a large file is read once, however many lists have it
    files = [*_public_files(public, measure), *_beside(Path(directory), public)]
    if internal is None:
        files.append(VerificationCheck("internal/", Outcome.UNSEEN, _SEAL, _ABSENT))
    else:
        files += [*_sealed_files(public.parent, measure), *_opened(internal)]
    listed, _ = _attempt(manifest.MANIFEST, lambda: manifest.read_manifest(public / manifest.MANIFEST))
    details, listing = listed or ({}, {})
    guarantee, doubts = _attempt("guarantee.json", lambda: read_guarantee(public))
    linked = is_linked(public)
    signed, broken = _attempt(manifest.SIGNATURES, lambda: _signed(public, listing, measure, trust, logged))
    if linked:
        data, claims = _linked(public, internal, guarantee, doubts, guests, trust)
    else:
        data, claims = _single(public, internal, guarantee, doubts, guests, trust)
    signed = signed or Signed()
    return Verification(
        (*files, *_card(public, details)), tuple(data), tuple(claims), manifest.draft_of(details),
        (*broken, *signed.checks), signed.by, signed.doubts, asked,
    )  # fmt: skip


Checks = list[VerificationCheck]


def _single(
    public: Path, internal: Path | None, guarantee: Guarantee | None, doubts: Checks, guests: bool,
    trust: Trust,
) -> tuple[Checks, Checks]:  # fmt: skip
    """The data and the claims of a release of one table."""
    table, faults = _attempt("data", lambda: read_data(public))
    once: ReadOnce | None = None
    if table is not None:
        stated = guarantee.claims if guarantee is not None else ()
        once, unread = _attempt("data", partial(read_once, table, stated))
        faults += unread
        table = table if once is None else once.table
    data = [*faults, *(_agreement(table, public, once) if table is not None else ())]
    data += [] if table is None else _origins({"": table.schema}, guarantee, trust)
    data += [] if table is None or once is None else _spelling(public, {"": table})
    check = None if table is None else partial(check_claim, table=table, guests=guests, trust=trust)
    claims = [*doubts, *(_claims(guarantee, check, internal) if guarantee is not None else ())]
    return data, claims


def _linked(
    public: Path, internal: Path | None, guarantee: Guarantee | None, doubts: Checks, guests: bool,
    trust: Trust,
) -> tuple[Checks, Checks]:  # fmt: skip
    """The data and the claims of a release of several linked tables."""
    database, data = _attempt("data", lambda: read_database(public))
    check = None
    if database is not None:
        found, unread = _attempt("data", lambda: list(check_data(database, public)))
        data += [*unread, *(found or ()), *_origins(with_domains(database), guarantee, trust)]
        data += _spelling(public, database.tables) if found is not None else []
        check = partial(check_linked_claim, database=database, guests=guests, trust=trust)
    return data, [*doubts, *(_claims(guarantee, check, internal) if guarantee is not None else ())]


def _signed(
    public: Path, listing: manifest.Listing, measure: Measure, trust: Trust, logged: Mapping[str, date] | None
) -> Signed:
    found = hashes(public, listing, lambda path: measure(path).sha256)
    stated, _ = _attempt("guarantee.json", lambda: manifest.read_json(public / "guarantee.json"))
    return check_signatures(public / manifest.SIGNATURES, found, {"guarantee": stated}, trust, logged)


def _attempt(subject: str, action: Callable[[], T]) -> tuple[T | None, list[VerificationCheck]]:
    """A damaged file is a finding, not a traceback; libraries' own messages may show cells."""
    try:
        return action(), []
    except SfumatoError as error:
        detail = error.message
    except (OSError, pa.ArrowException, ValueError):
        detail = "cannot be read"
    return None, [VerificationCheck(subject, Outcome.FAILED, "reading", detail)]


# -- files ---------------------------------------------------------------------------------------


def _public_files(public: Path, measure: Measure) -> Iterator[VerificationCheck]:
    read, faults = _attempt(manifest.MANIFEST, lambda: manifest.read_manifest(public / manifest.MANIFEST))
    yield from faults
    if read is None:
        return
    details, listing = read
    names, faults = _attempt(manifest.MANIFEST, lambda: manifest.data_names(details))
    yield from faults
    words = words_of(public, details)
    for name in manifest.unexplained(listing, {*words, *(names or ())}) if names else ():
        yield VerificationCheck(name, Outcome.FAILED, _HASH, _UNEXPLAINED)
    wanted = {*words, *(names or ())}
    wanted -= {*listing, *(name.partition("/")[0] for name in listing)}  # data may be a folder of parts
    for name in sorted(wanted):
        yield VerificationCheck(name, Outcome.FAILED, _HASH, "not listed")
    yield from _compare(public, listing, _HASH, measure)
    for name in manifest.strays(public, {*listing, manifest.MANIFEST, manifest.SUMS, manifest.SIGNATURES}):
        yield VerificationCheck(name, Outcome.FAILED, _HASH, "not part of the release")
    yield from _sums(public, listing, measure)
    for name, what in residue(public, names or []):
        yield VerificationCheck(name, Outcome.FAILED, _HIDDEN, what)


def _beside(directory: Path, public: Path) -> Iterator[VerificationCheck]:
    """What lies beside `public/`: nobody signed it, and a reader may take it for the release."""
    if public == directory:
        return
    if (directory / manifest.MANIFEST).exists():
        detail = "two releases in one folder: this list is beside public/, which is what was looked at"
        yield VerificationCheck(manifest.MANIFEST, Outcome.FAILED, _HASH, detail)
    for name in sorted({p.name for p in directory.iterdir()} - {"public", "internal", manifest.MANIFEST}):
        detail = "it lies beside public/: nobody signed it, and it was not looked at"
        yield VerificationCheck(ascii(name)[1:-1], Outcome.WARNED, _HASH, detail)


def _compare(
    root: Path, listing: manifest.Listing, how: str, measure: Measure
) -> Iterator[VerificationCheck]:
    for name, entry in listing.items():
        path = root / name
        if not os.path.isfile(path):  # Path.is_file refuses to say so of a name that no file can have
            yield VerificationCheck(name, Outcome.FAILED, how, "missing")
            continue
        found, faults = _attempt(name, partial(measure, path))
        yield from faults
        if found is None:
            continue
        same = found == entry
        length = f"altered: {found.size} bytes instead of {entry.size}"
        detail = "" if same else length if found.size != entry.size else "altered"
        yield VerificationCheck(name, Outcome.PASSED if same else Outcome.FAILED, how, detail)


def _sums(public: Path, listing: manifest.Listing, measure: Measure) -> Iterator[VerificationCheck]:
    """The list for `sha256sum` says the same as the manifest."""
    if not (public / manifest.SUMS).is_file():
        yield VerificationCheck(manifest.SUMS, Outcome.FAILED, _HASH, "missing")
        return
    read, faults = _attempt(manifest.SUMS, lambda: manifest.read_sums(public / manifest.SUMS))
    yield from faults
    if read is not None:
        own = measure(public / manifest.MANIFEST).sha256
        same = read == {manifest.MANIFEST: own, **{n: e.sha256 for n, e in listing.items()}}
        outcome = Outcome.PASSED if same else Outcome.FAILED
        yield VerificationCheck(manifest.SUMS, outcome, _HASH, "" if same else "differs from the manifest")


def _sealed_files(root: Path, measure: Measure) -> Iterator[VerificationCheck]:
    """Both parts against the owner's list, which nobody can rewrite without the key."""
    internal = root / "internal"
    key, faults = _attempt(f"internal/{RELEASE_KEY}.key", lambda: read_key(internal / f"{RELEASE_KEY}.key"))
    yield from faults
    if key is None:
        return
    sealed = f"internal/{manifest.MANIFEST}"
    listing, faults = _attempt(sealed, lambda: manifest.read_seal(root, key))
    yield from faults
    if listing is None:
        if not faults:
            yield VerificationCheck(sealed, Outcome.FAILED, _SEAL, "rewritten by someone without the key")
        return
    yield from _compare(root, listing, _SEAL, measure)
    known = {*listing, sealed, f"internal/{RELEASE_KEY}.key", f"public/{manifest.SIGNATURES}"}
    for name in manifest.strays(root, known):
        if name.startswith("public/"):
            yield VerificationCheck(name, Outcome.FAILED, _SEAL, "not part of the release")
        elif name.startswith("internal/"):  # reports may be added later
            yield VerificationCheck(name, Outcome.UNSEEN, _SEAL, "added later, not under seal")


def _opened(internal: Path) -> Iterator[VerificationCheck]:
    """The internal record is for its owner alone: keys and original values lie in it."""
    if not permissions.open_to(internal.stat().st_mode):
        return  # nobody else gets in, whatever the files say
    others = stat.S_IRGRP | stat.S_IROTH | stat.S_IWGRP | stat.S_IWOTH
    within = [path for path in sorted(internal.rglob("*")) if path.is_file() and not path.is_symlink()]
    mode = internal.stat().st_mode
    for path in within:
        mode |= path.stat().st_mode
    if mode & others:
        detail = "can be read or changed by others: chmod -R go-rwx, and ask who has read it"
        yield VerificationCheck("internal/", Outcome.WARNED, "permissions", detail)


def _card(public: Path, details: dict[str, Any]) -> Iterator[VerificationCheck]:
    """What people read says what programs read: the card follows from schema and guarantee, word for word.

    A card of another version may say the same in other words; then this one cannot tell.
    """
    found, faults = _attempt("card.md", lambda: _compared_card(public, details))
    same = bool(found)
    if same:
        yield VerificationCheck("card.md", Outcome.PASSED, _WORDS)
    elif faults or details.get("wording") == wording():
        detail = faults[0].detail if faults else "it says something else"
        yield VerificationCheck("card.md", Outcome.FAILED, _WORDS, detail)
    else:
        detail = "it was worded by another version: read guarantee.json, whose words these are not"
        yield VerificationCheck("card.md", Outcome.UNSEEN, _WORDS, detail)


def _compared_card(public: Path, details: dict[str, Any]) -> bool:
    try:
        made = linked_card(public, details) if is_linked(public) else card_of(public, details)
        return (public / "card.md").read_bytes() == made.encode("utf-8")
    except OSError:
        raise DataError("it cannot be read.") from None


# -- data against schema -------------------------------------------------------------------------


def _agreement(table: Table, public: Path, once: ReadOnce | None) -> list[VerificationCheck]:
    stored = table.source.arrow_schema
    if tuple(stored.names) != table.columns:
        return [
            VerificationCheck("columns", Outcome.FAILED, _SCHEMA, "not those of schema.toml, in that order")
        ]
    checks = [VerificationCheck("columns", Outcome.PASSED, _SCHEMA)]
    if (public / "data.parquet").exists():
        wrong = [c.name for c in table.schema if type_name(stored.field(c.name).type) != c.type]
        checks += [
            VerificationCheck(f"column '{n}'", Outcome.FAILED, _SCHEMA, "stored as another type")
            for n in wrong
        ]
    for name, fault in (once.outside if once is not None else {}).items():
        checks.append(
            VerificationCheck(f"column '{name}'", Outcome.FAILED if fault else Outcome.PASSED, _SCHEMA, fault)
        )
    # The first format let bounds leave that nobody answers for.
    made = manifest.read_manifest(public / manifest.MANIFEST)[0].get("sfumato_release", 1)
    beyond = Outcome.FAILED if made > 1 else Outcome.WARNED
    for name in once.beyond if once is not None else ():
        checks.append(VerificationCheck(f"column '{name}'", beyond, _SCHEMA, _BEYOND))
    return checks


def _spelling(public: Path, tables: Mapping[str, Table]) -> Iterator[VerificationCheck]:
    """Text files whose rows are not written as a release writes them. tables: by name; of one table, none."""
    for name, table in tables.items():
        for path in sorted(public.glob(f"{name or 'data'}.csv*")):
            found, faults = _attempt(path.name, partial(check_spelling, path, table))
            yield from [*(found or ()), *faults]


def _origins(
    schemas: Mapping[str, Schema], guarantee: Guarantee | None, trust: Trust
) -> Iterator[VerificationCheck]:
    """Who answers for the domains that a promise of differential privacy rests on; of tables of counts, whose
    columns are labels, the claim says so itself. schemas: by what the columns of each are named with."""
    claims = () if guarantee is None else guarantee.claims
    if not any(c.differential for c in claims) or any(isinstance(c, ConsistentTotals) for c in claims):
        return
    whole = any(c.differential and not c.scope for c in claims)
    pseudonyms = {n for c in claims if isinstance(c, Pseudonymous) for n in c.columns}
    for prefix, column in ((prefix, column) for prefix, schema in schemas.items() for column in schema):
        said = column.provenance
        subject = f"domain of '{prefix}{column.name}'"
        if said is None or said.origin is Origin.READ_OFF:
            if whole and column.role is not Role.PERSON and f"{prefix}{column.name}" not in pseudonyms:
                yield VerificationCheck(subject, Outcome.WARNED, _DOMAIN, _NOBODY)
            continue
        if said.origin not in (Origin.DECLARED, Origin.FOUND):
            continue
        found = said.origin is Origin.FOUND
        words = str(said) if found else f"declared by {said.by}"
        refused = refusal(column, trust)
        if not fits(column):
            outcome, detail = Outcome.FAILED, f"{words}: its signature does not fit"
        elif not column.stated:
            outcome, detail = Outcome.FAILED, f"{words}: it was changed since"
        elif refused:
            whose = "which only its ledger knows" if found else "whose word it rests on"
            outcome, detail = Outcome.UNSEEN, f"{words}, {whose}: {refused}"
        else:
            known = trust.find(said.key)
            outcome, detail = Outcome.PASSED, f"{words}, signed by {known.name if known else said.by}"
        yield VerificationCheck(subject, outcome, _DOMAIN, detail)


# -- claims --------------------------------------------------------------------------------------


def _claims(
    guarantee: Guarantee, check: Callable[[Claim], VerificationCheck] | None, internal: Path | None
) -> Iterator[VerificationCheck]:
    recorded = _recorded(internal, guarantee)
    if recorded is not None and recorded.outcome is Outcome.FAILED:
        yield recorded
    for claim in guarantee.claims:
        if check is None:
            yield VerificationCheck(
                claim.title, Outcome.FAILED, "recounted from the file", "the data cannot be read"
            )
            continue
        found, faults = _attempt(claim.title, partial(check, claim))
        yield from faults
        if found is None:
            continue
        vouched = recorded is not None and recorded.outcome is Outcome.PASSED
        if vouched and found.outcome is Outcome.UNSEEN and not isinstance(claim, NoGuarantee | Unaccounted):
            detail = f"not recounted, {found.detail}"
            found = replace(found, outcome=Outcome.RECORDED, how=_SAID, detail=detail)
        yield found


def _recorded(internal: Path | None, guarantee: Guarantee) -> VerificationCheck | None:
    """Whether the owner's copy of the guarantee is the public one."""
    if internal is None:
        return None
    document, faults = _attempt("internal/record.json", lambda: read_document(internal))
    if document is None:
        return faults[0]
    same = document.get("guarantee") == json.loads(guarantee.to_json())
    detail = "" if same else "not the guarantee that was recorded"
    return VerificationCheck("guarantee.json", Outcome.PASSED if same else Outcome.FAILED, _RECORD, detail)
