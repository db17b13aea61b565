"""How a signed release is altered in tests: pieces to put ways together, and the trying of one way.

The ways themselves are in test_release_altered.py and test_release_forged.py.
"""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from releases import alter, cover_up, released

from sfumato.errors import SfumatoError, VerificationError
from sfumato.privacy.signatures import Purpose, SigningKey, Statement, Trust, TrustedKey, canonical
from sfumato.release import Standing, Verification, manifest, read_key, sign, verify
from sfumato.table import Table

OFFICER, FORGER = SigningKey(bytes(range(32))), SigningKey(bytes(range(1, 33)))
TRUST = Trust((TrustedKey(OFFICER.public, "A. Miller"),))
DATA, CARD, GUARANTEE, SCHEMA = "data.parquet", "card.md", "guarantee.json", "schema.toml"


W = Standing.WHOLE


@dataclass(frozen=True)
class Case:
    """One way: what is done to public/, and what the copy then is."""

    name: str
    do: Callable[[Path], None]
    left: Standing = Standing.ALTERED
    cover: bool = True  # whether rewriting the lists is tried too


def signed_pair(folder: Path) -> Path:
    """Two releases by the same signer: `one`, which is altered, and `two`, to take pieces from."""
    one, two = released(3), released(2)
    rows = two.data.to_arrow()
    moved = rows.set_column(2, "stay", pa.array(range(100, 115), pa.int64()))
    two = replace(two, data=Table.from_arrow(moved, two.schema))
    for name, release in (("one", one), ("two", two)):
        sign(release.save(folder / name), OFFICER, "A. Miller", on=date(2026, 3, 31))
    assert verify(folder / "one", trusted=TRUST).standing is Standing.AUTHENTIC
    return folder


def tried(case: Case, saved: Path, place: Path) -> Iterator[tuple[Verification, bool, bool]]:
    """One way, on the whole and on public/ alone, as it is and with every list rewritten to fit.

    Gives what is found, whether the whole was there, and whether the lists were rewritten. None of it is
    authentic, nor passes; a folder that is no release any more is refused, and not given.
    """
    for whole in (True, False):
        for covered in (False, True) if case.cover else (False,):
            folder = place / f"{whole}{covered}"
            shutil.copytree(saved, folder, symlinks=True)
            if not whole:
                shutil.rmtree(folder / "one" / "internal")
            case.do(folder / "one" / "public")
            if covered:
                lists(folder / "one" / "public")
            try:
                found = verify(folder / "one", trusted=TRUST)
            except SfumatoError as error:
                assert "no release" in error.message
                continue
            assert found.standing is not Standing.AUTHENTIC and not found.ok, str(found)
            assert not found.signers or found.failures
            with pytest.raises(VerificationError):
                found.require()
            assert "erified" not in found.verdict
            yield found, whole, covered


def rows(change: Callable[[pa.Table], pa.Table], **options: Any) -> Callable[[Path], None]:
    def do(public: Path) -> None:
        pq.write_table(change(pq.read_table(public / DATA)), public / DATA, **options)

    return do


def raw(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def do(public: Path) -> None:
        before = (public / name).read_bytes()
        (public / name).write_bytes(change(before))
        assert (public / name).read_bytes() != before

    return do


def text(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(content: bytes) -> bytes:
        assert old.encode() in content
        return content.replace(old.encode(), new.encode())

    return raw(name, change)


def other(*names: str) -> Callable[[Path], None]:
    """Files of another release that the same person signed."""

    def do(public: Path) -> None:
        for name in names:
            shutil.copy(public.parent.parent / "two" / "public" / name, public / name)

    return do


def listing(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def do(public: Path) -> None:
        path = public / manifest.MANIFEST
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))

    return do


def envelope(public: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((public / manifest.SIGNATURES).read_text())
    return found


def enclosed(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def do(public: Path) -> None:
        document = envelope(public)
        change(document)
        (public / manifest.SIGNATURES).write_bytes(canonical(document) + b"\n")

    return do


def said(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    """What was signed is changed, and the signature left as it is."""

    def do(document: dict[str, Any]) -> None:
        statement = json.loads(base64.b64decode(document["payload"]))
        change(statement)
        document["payload"] = base64.b64encode(canonical(statement)).decode()

    return enclosed(do)


def signed_anew(
    key: SigningKey, *, keep: bool = False, cell: bool = True, **changes: Any
) -> Callable[[Path], None]:
    """Altered, covered up, and signed by somebody; keep: beside the true signature."""

    def do(public: Path) -> None:
        before = (public / manifest.SIGNATURES).read_text() if keep else ""
        if cell:
            alter(public.parent, "stay", 0, 99)
            lists(public)
        given = {"purpose": Purpose.RELEASE, "signer": "A. Miller", "on": date(2026, 3, 31)}
        files = {
            p.name: manifest.measure(p).sha256 for p in public.iterdir() if p.name != manifest.SIGNATURES
        }
        stated = {"guarantee": json.loads((public / GUARANTEE).read_text())}
        line = Statement(**given | {"subjects": files, "says": stated} | changes).signed(key).to_line()
        (public / manifest.SIGNATURES).write_text(before + line)

    return do


def lists(public: Path) -> None:
    """Rewrite the public lists, and the owner's seal with its own key, so that they fit again."""
    cover_up(public.parent)
    internal = public.parent / "internal"
    if internal.is_dir():
        manifest.seal(public.parent, read_key(internal / "release.key"))
