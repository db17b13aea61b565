"""Is a saved release what it says? Its files, its data against its schema, and each of its claims."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from sfumato.counts import DomainWatch, type_name
from sfumato.errors import SfumatoError
from sfumato.privacy import Guarantee, NoGuarantee, Unaccounted
from sfumato.release import manifest
from sfumato.release.checks import Outcome, Verification, VerificationCheck
from sfumato.release.claims import check_claim
from sfumato.release.core import parts, read_data, read_guarantee
from sfumato.release.record import RELEASE_KEY, read_document, read_key
from sfumato.table import Table

_HASH, _SEAL, _SCHEMA = "SHA-256 in the manifest", "seal of the internal record", "data against schema"
_RECORD = "checked against the internal record"
_SAID = "as the internal record says"
_ABSENT = "not here: a change of both a file and its hash stays unseen"
T = TypeVar("T")


def verify(directory: str | Path, *, guests: bool = False) -> Verification:
    """Check a saved release, or a copy of its public folder; nothing is changed, nothing is trusted.

    With `public/` alone, a file that was altered *together with* its manifest is noticed only where it
    breaks the schema or a claim. With `internal/` beside it, any change is.

    guests: let installed packages count their own claims again. Without it nothing of theirs is loaded: a
        release of somebody else's must not decide which code runs here.
    """
    public, internal = parts(Path(directory))
    files = [*_public_files(public)]
    if internal is None:
        files.append(VerificationCheck("internal/", Outcome.UNSEEN, _SEAL, _ABSENT))
    else:
        files += [*_sealed_files(public.parent), *_opened(internal)]
    table, faults = _attempt("data", lambda: read_data(public))
    guarantee, doubts = _attempt("guarantee.json", lambda: read_guarantee(public))
    data = [*faults, *(_agreement(table, public) if table is not None else ())]
    claims = [*doubts, *(_claims(guarantee, table, internal, guests) if guarantee is not None else ())]
    details, _ = _attempt(manifest.MANIFEST, lambda: manifest.read_manifest(public / manifest.MANIFEST)[0])
    return Verification(tuple(files), tuple(data), tuple(claims), manifest.draft_of(details or {}))


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


def _public_files(public: Path) -> Iterator[VerificationCheck]:
    read, faults = _attempt(manifest.MANIFEST, lambda: manifest.read_manifest(public / manifest.MANIFEST))
    yield from faults
    if read is None:
        return
    _, listing = read
    wanted = {"schema.toml", "guarantee.json", "card.md", str(read[0].get("data", "data.parquet"))}
    wanted -= {*listing, *(name.partition("/")[0] for name in listing)}  # data may be a folder of parts
    for name in sorted(wanted):
        yield VerificationCheck(name, Outcome.FAILED, _HASH, "not listed")
    yield from _compare(public, listing, _HASH)
    for name in manifest.strays(public, {*listing, manifest.MANIFEST, manifest.SUMS}):
        yield VerificationCheck(name, Outcome.FAILED, _HASH, "not part of the release")
    yield from _sums(public, listing)


def _compare(root: Path, listing: manifest.Listing, how: str) -> Iterator[VerificationCheck]:
    for name, entry in listing.items():
        path = root / name
        if not os.path.isfile(path):  # Path.is_file refuses to say so of a name that no file can have
            yield VerificationCheck(name, Outcome.FAILED, how, "missing")
            continue
        found, faults = _attempt(name, partial(manifest.measure, path))
        yield from faults
        if found is None:
            continue
        same = found == entry
        length = f"altered: {found.size} bytes instead of {entry.size}"
        detail = "" if same else length if found.size != entry.size else "altered"
        yield VerificationCheck(name, Outcome.PASSED if same else Outcome.FAILED, how, detail)


def _sums(public: Path, listing: manifest.Listing) -> Iterator[VerificationCheck]:
    """The list for `sha256sum` says the same as the manifest."""
    if not (public / manifest.SUMS).is_file():
        yield VerificationCheck(manifest.SUMS, Outcome.FAILED, _HASH, "missing")
        return
    read, faults = _attempt(manifest.SUMS, lambda: manifest.read_sums(public / manifest.SUMS))
    yield from faults
    if read is not None:
        own = manifest.measure(public / manifest.MANIFEST).sha256
        same = read == {manifest.MANIFEST: own, **{n: e.sha256 for n, e in listing.items()}}
        outcome = Outcome.PASSED if same else Outcome.FAILED
        yield VerificationCheck(manifest.SUMS, outcome, _HASH, "" if same else "differs from the manifest")


def _sealed_files(root: Path) -> Iterator[VerificationCheck]:
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
    yield from _compare(root, listing, _SEAL)
    known = {*listing, sealed, f"internal/{RELEASE_KEY}.key"}
    for name in manifest.strays(root, known):
        if name.startswith("public/"):
            yield VerificationCheck(name, Outcome.FAILED, _SEAL, "not part of the release")
        elif name.startswith("internal/"):  # reports may be added later
            yield VerificationCheck(name, Outcome.UNSEEN, _SEAL, "added later, not under seal")


def _opened(internal: Path) -> Iterator[VerificationCheck]:
    """The internal record is for its owner alone: keys and original values lie in it."""
    if os.name != "posix":
        return  # a mode says nothing there
    if not internal.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return  # nobody else gets in, whatever the files say
    others = stat.S_IRGRP | stat.S_IROTH | stat.S_IWGRP | stat.S_IWOTH
    within = [path for path in sorted(internal.rglob("*")) if path.is_file() and not path.is_symlink()]
    mode = internal.stat().st_mode
    for path in within:
        mode |= path.stat().st_mode
    if mode & others:
        detail = "can be read or changed by others: chmod -R go-rwx, and ask who has read it"
        yield VerificationCheck("internal/", Outcome.WARNED, "permissions", detail)


# -- data against schema -------------------------------------------------------------------------


def _agreement(table: Table, public: Path) -> list[VerificationCheck]:
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
    found, faults = _attempt("data", lambda: _outside(table))
    checks += faults
    for name, fault in (found or {}).items():
        checks.append(
            VerificationCheck(f"column '{name}'", Outcome.FAILED if fault else Outcome.PASSED, _SCHEMA, fault)
        )
    return checks


def _outside(table: Table) -> dict[str, str]:
    """What the cells of each column hold that the schema does not allow, or nothing."""
    watch = DomainWatch(table.schema)
    for batch in table.batches():
        watch.look(batch)
    return watch.faults()


# -- claims --------------------------------------------------------------------------------------


def _claims(
    guarantee: Guarantee, table: Table | None, internal: Path | None, guests: bool
) -> Iterator[VerificationCheck]:
    recorded = _recorded(internal, guarantee)
    if recorded is not None and recorded.outcome is Outcome.FAILED:
        yield recorded
    for claim in guarantee.claims:
        if table is None:
            yield VerificationCheck(
                claim.title, Outcome.FAILED, "recounted from the file", "the data cannot be read"
            )
            continue
        found, faults = _attempt(claim.title, partial(check_claim, claim, table, guests=guests))
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
