"""Whose signature counts: trust files, days of a key, keys that are none, revoked ones, the log."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from alterations import (
    FORGER,
    OFFICER,
    TRUST,
    W,
    enclosed,
    envelope,
    signed_pair,
)
from releases import released

from sfumato.errors import SfumatoError
from sfumato.privacy.signatures import Purpose, SigningKey, Trust, TrustedKey, canonical
from sfumato.release import Standing, manifest, sign, verify

SIGNATURES = manifest.SIGNATURES


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return signed_pair(tmp_path_factory.mktemp("signed"))


def test_a_trust_file_of_nobody_makes_nothing_authentic(tmp_path: Path, saved: Path) -> None:
    for content in ("", "keys = []\n", "# nobody yet\n"):
        (tmp_path / "trust.toml").write_text(content)
        found = verify(saved / "one", trusted=tmp_path / "trust.toml")
        assert found.standing is W and not found.ok
    assert verify(saved / "one", trusted=Trust()).standing is W


def test_two_signatures_of_which_one_is_trusted(tmp_path: Path, saved: Path) -> None:
    """A stranger who signs the same files beside takes nothing away; one who signs others does."""
    folder = shutil.copytree(saved / "one", tmp_path / "both")
    sign(folder, FORGER, "B. Forger")
    assert verify(folder, trusted=TRUST).standing is Standing.AUTHENTIC
    path = folder / "public" / SIGNATURES
    theirs = (saved / "two" / "public" / SIGNATURES).read_text()
    path.write_text(path.read_text() + theirs)
    assert verify(folder, trusted=TRUST).standing is Standing.ALTERED
    in_one = envelope(saved / "one" / "public")
    in_one["signatures"].append({"keyid": FORGER.public, "sig": in_one["signatures"][0]["sig"]})
    path.write_bytes(canonical(in_one) + b"\n")
    assert verify(folder, trusted=TRUST).standing is Standing.ALTERED


@pytest.mark.parametrize(
    ("entries", "counts"),
    [
        ({"revoked": date(2026, 3, 30)}, False),  # before the day it bears
        ({"revoked": date(2026, 4, 30)}, False),  # and after: whoever has the key writes any day
        ({"end": date(2026, 3, 30)}, False),
        ({"end": date(2026, 3, 31)}, True),
        ({"start": date(2026, 4, 1)}, False),
        ({"signs": (Purpose.MODEL, Purpose.DECLARATION, Purpose.CLAIM, Purpose.DETERMINATION)}, False),
    ],
)
def test_days_of_the_key(saved: Path, entries: dict[str, object], counts: bool) -> None:
    trust = Trust((replace(TRUST.keys[0], **entries),))  # type: ignore[arg-type]
    assert (verify(saved / "one", trusted=trust).standing is Standing.AUTHENTIC) == counts


def test_a_day_that_has_not_come_and_a_key_twice_in_a_trust_file(tmp_path: Path) -> None:
    folder = released(3).save(tmp_path / "one")
    sign(folder, OFFICER, "A. Miller", on=date.today() + timedelta(days=9))
    assert verify(folder, trusted=TRUST).standing is W
    entry = f'[[keys]]\npublic = "{OFFICER.public}"\n'
    (tmp_path / "t.toml").write_text(f"{entry}{entry}revoked = 2026-01-01\n")
    with pytest.raises(SfumatoError, match="twice"):
        verify(folder, trusted=tmp_path / "t.toml")


PRIME = 2**255 - 19
CURVE = -121665 * pow(121666, -1, PRIME) % PRIME


def added(p: tuple[int, int], q: tuple[int, int]) -> tuple[int, int]:
    """Addition on the curve of Ed25519."""
    (x1, y1), (x2, y2) = p, q
    k = CURVE * x1 * x2 * y1 * y2 % PRIME
    x = (x1 * y2 + x2 * y1) * pow(1 + k, -1, PRIME) % PRIME
    return x, (y1 * y2 + x1 * x2) * pow(1 - k, -1, PRIME) % PRIME


def of_small_order() -> set[int]:
    """The second coordinates of all points that are nothing eight times over, found by multiplying points
    with the order of the large group."""
    order, found = 2**252 + 27742317777372353535851937790883648493, set()
    for y in range(2, 90):
        square = (y * y - 1) * pow(CURVE * y * y + 1, -1, PRIME) % PRIME
        x = pow(square, (PRIME + 3) // 8, PRIME)
        x = x if x * x % PRIME == square else x * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
        if x * x % PRIME != square:
            continue
        point, total, n = (x, y), (0, 1), order
        while n:
            total = added(total, point) if n & 1 else total
            point, n = added(point, point), n >> 1
        found.add(total[1])
    return found


def test_a_key_that_signs_anything_is_no_key(tmp_path: Path, saved: Path) -> None:
    """For points of small order anybody can make signatures: they are nobody's keys, trusted or not."""
    points = of_small_order()
    assert len(points) == 5  # of the eight points, four share theirs by sign
    spelt = {y.to_bytes(32, "little") for y in (*points, PRIME, PRIME + 1)}  # those below 19 in two ways
    public = shutil.copytree(saved / "one" / "public", tmp_path / "received")
    for point in (*spelt, *(s[:31] + bytes([s[31] | 0x80]) for s in spelt)):
        with pytest.raises(SfumatoError, match="a key of somebody"):
            TrustedKey(point.hex(), "nobody")
        forged = {"keyid": point.hex(), "sig": base64.b64encode(point + bytes(32)).decode()}
        enclosed(lambda d, forged=forged: d.update(signatures=[forged]))(public)
        assert verify(public, trusted=TRUST).standing is not Standing.AUTHENTIC


def test_a_signing_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    pem = ec.generate_private_key(ec.SECP256R1()).public_key()
    (tmp_path / "p256.pub").write_bytes(pem.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    with pytest.raises(SfumatoError, match="Ed25519"):
        Trust.of(tmp_path / "p256.pub")
    assert SigningKey.fresh().public != SigningKey.fresh().public


# -- what the reader's own trust file and the log know --------------------------------------------------


@pytest.fixture
def own_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Writes the reader's own trust file: one entry for the officer's key."""

    def write(entry: str) -> None:
        path = tmp_path / "own.toml"
        path.write_text(f'[[keys]]\nname = "A. Miller"\npublic = "{OFFICER.public}"\n{entry}\n')
        path.chmod(0o644)
        monkeypatch.setenv("SFUMATO_TRUST", str(path))

    return write


def test_a_revoked_key_counts_under_no_other_name(tmp_path: Path, saved: Path, own_trust) -> None:  # type: ignore[no-untyped-def]
    """Named by its digits, its file, or another trust file: who was told that it is stolen is not untold."""
    OFFICER.save_public(tmp_path / "officer.pub")
    other = tmp_path / "other.toml"
    other.write_text(f'[[keys]]\nname = "The new officer"\npublic = "{OFFICER.public}"\n')
    other.chmod(0o644)
    ways = (OFFICER.public, tmp_path / "officer.pub", other, [OFFICER.public.upper()])
    for way in ways:
        assert verify(saved / "one", trusted=way).standing is Standing.AUTHENTIC
    own_trust('revoked = 2026-11-02\nreason = "laptop stolen"')
    for way in ways:
        found = verify(saved / "one", trusted=way)
        assert found.standing is W and not found.ok and "laptop stolen" in found.verdict


def test_what_the_trust_file_says_of_a_key_holds_where_it_is_named(saved: Path, own_trust) -> None:  # type: ignore[no-untyped-def]
    own_trust("until = 2026-03-30")
    assert verify(saved / "one", trusted=OFFICER.public).standing is W
    own_trust('signs = ["model"]')
    assert verify(saved / "one", trusted=OFFICER.public).standing is W
    own_trust("until = 2026-03-31")
    assert verify(saved / "one", trusted=OFFICER.public).standing is Standing.AUTHENTIC


def test_the_log_tells_a_signature_that_bears_an_earlier_day(tmp_path: Path) -> None:
    """A key was retired; who still has it signs today, under a day when it was good."""
    folder, log = released(3).save(tmp_path / "one"), tmp_path / "log"
    today = datetime.now(UTC).date()
    sign(folder, OFFICER, "A. Miller", on=today - timedelta(days=60), log=log)
    retired = Trust((replace(TRUST.keys[0], end=today - timedelta(days=30)),))
    assert verify(folder, trusted=retired).standing is Standing.AUTHENTIC  # its word
    found = verify(folder, trusted=retired, log=log)
    assert found.standing is W and not found.ok and "by the log it was released" in found.verdict
    assert verify(folder, trusted=TRUST, log=log).standing is Standing.AUTHENTIC
