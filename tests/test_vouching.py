"""A guest's claim that somebody signed: whose words it is, and that nobody changed or moved them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, SfumatoError
from sfumato.privacy import Claim, ForeignClaim, Guarantee, KAnonymity
from sfumato.privacy.guest_claims import sign_claim, vouched
from sfumato.privacy.signatures import Purpose, SigningKey, Trust, TrustedKey
from sfumato.release import InternalRecord, Outcome, Release, verify
from sfumato.schema import Column, Kind, Schema

KEY, OTHER = SigningKey.fresh(), SigningKey.fresh()
TRUST = Trust((TrustedKey(KEY.public, "Rounding Ltd.", (Purpose.CLAIM,)),))
DAY = date(2026, 5, 1)


@dataclass(frozen=True)
class Tidy(Claim):
    """A claim as another package would make it."""

    base: int

    @property
    def title(self) -> str:
        """In a few words."""
        return f"tidy to {self.base}"

    def promise(self) -> str:
        """What is promised."""
        return f"Every number is a multiple of {self.base}."

    def limits(self) -> str:
        """What is not."""
        return "Nothing else."


SIGNED = sign_claim(Tidy(5), KEY, "Rounding  Ltd.", on=DAY)


def saved(folder: Path, claim: Claim) -> Path:
    schema = Schema((Column("n", Kind.NUMERIC, type="integer"),))
    data = sf.scan(pa.table({"n": [5, 10, 15]}), schema)
    return Release(data, Guarantee.of(claim), InternalRecord(key=sf.Key.fresh())).save(folder)


def test_it_is_part_of_the_guarantee_and_comes_back(tmp_path: Path) -> None:
    guarantee = Guarantee.of(SIGNED)
    (again,) = Guarantee.from_json(guarantee.to_json()).claims
    assert again == SIGNED and vouched(again, TRUST) == (
        True,
        "its words are Rounding Ltd.'s, who signed them",
    )
    folder = saved(tmp_path / "r", SIGNED)
    sf.sign(folder, OTHER, "A. Miller")
    officer = TrustedKey(OTHER.public, "A. Miller", (Purpose.RELEASE,))
    found = verify(folder / "public", trusted=Trust((*TRUST.keys, officer)))
    assert found.standing == "authentic" and "who signed them" in found.claims[0].detail
    assert (
        "with a key you do not trust" in verify(folder / "public", trusted=Trust((officer,))).claims[0].detail
    )
    assert "nobody signed its words" in verify(saved(tmp_path / "s", Tidy(5)) / "public").claims[0].detail


@pytest.mark.parametrize("name", ["kind", "package", "says", "settings", "secret", "scope", "assumptions"])
def test_no_word_of_it_can_be_changed(tmp_path: Path, name: str) -> None:
    lies = {
        "kind": "Neat", "package": "another", "says": ("tidy to 50", *SIGNED.says[1:]),
        "secret": not SIGNED.secret, "settings": '{"base": 50}', "scope": "one column",
        "assumptions": ("nobody looks",),
    }  # fmt: skip
    changed = replace(SIGNED, **{name: lies[name]})  # type: ignore[arg-type]
    assert vouched(changed, TRUST) == (False, "its signature does not fit its words")
    found = verify(saved(tmp_path / "r", changed) / "public", trusted=TRUST)
    assert found.claims[0].outcome is Outcome.FAILED and found.standing == "altered"


def test_other_words_are_not_signed() -> None:
    assert not SIGNED.assuming("something more").signature and not SIGNED.about("a part").signature
    moved = replace(SIGNED, signature=sign_claim(Tidy(7), KEY, "Rounding Ltd.").signature)
    assert vouched(moved, TRUST)[0] is False
    assert vouched(replace(SIGNED, signature="{}"), TRUST) == (False, "its signature cannot be read")
    with pytest.raises(ParameterError, match="one line"):
        replace(SIGNED, signature="x" * 30_000)


def test_whose_words_count() -> None:
    stranger = sign_claim(Tidy(5), OTHER, "Rounding Ltd.", on=DAY)
    assert vouched(stranger, TRUST) == (
        None, "signed by somebody who claims to be Rounding Ltd., with a key you do not trust",
    )  # fmt: skip
    for entries in ({"revoked": date(2026, 6, 1)}, {"end": date(2026, 4, 1)}, {"signs": (Purpose.RELEASE,)}):
        stands, why = vouched(SIGNED, Trust((replace(TRUST.keys[0], **entries),)))  # type: ignore[arg-type]
        assert stands is None and why.startswith("signed by Rounding Ltd.: ")
    assert vouched(SIGNED, Trust((replace(TRUST.keys[0], end=DAY),)))[0] is True


def test_ours_are_not_vouched_for_and_a_document_is_no_claim(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="Sfumato's own"):
        sign_claim(KAnonymity(5, ("a",)), KEY, "me")
    with pytest.raises(SfumatoError):
        sign_claim(Tidy(5), "key", "me")  # type: ignore[arg-type]
    from sfumato.privacy.signatures import canonical
    from sfumato.release.document import sign_document

    words = replace(SIGNED, signature="")
    (tmp_path / "claim").write_bytes(canonical(words.to_dict()))
    sign_document(tmp_path / "claim", KEY, "Rounding Ltd.", purpose="claim", on=DAY)
    line = (tmp_path / "claim.intoto.jsonl").read_text().rstrip("\n")
    assert vouched(replace(words, signature=line), TRUST)[0] is False


def test_what_a_file_says_is_read_and_nothing_more() -> None:
    entry = json.loads(Guarantee.of(SIGNED).to_json())["claims"][0]
    entry["guest"]["signature"] = 3
    text = json.dumps({**json.loads(Guarantee.of(SIGNED).to_json()), "claims": [entry]})
    with pytest.raises(SfumatoError):
        Guarantee.from_json(text)
    assert isinstance(SIGNED, ForeignClaim)
