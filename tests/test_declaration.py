"""A signed declaration fits one column, one domain, one name, one reason; a trust file says whose count."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import SchemaError
from sfumato.privacy.signatures import Purpose, SigningKey, Trust, TrustedKey
from sfumato.schema import Column, Kind, Provenance, Schema
from sfumato.schema.declaration import refusal

KEY, OTHER = SigningKey.fresh(), SigningKey.fresh()
DAY = date(2026, 3, 1)
SEX = Column("sex", Kind.NOMINAL, levels=("f", "m"), provenance=Provenance.read_off())
AGE = Column("age", Kind.NUMERIC, edges=(0.0, 50.0, 120.0), provenance=Provenance.read_off())
SIGNED = Schema((SEX, AGE)).declare("R. Weiss", "form F12", ["sex", "age"], key=KEY, on=DAY)
TRUST = Trust((TrustedKey(KEY.public, "R. Weiss", (Purpose.DECLARATION,)),))


def test_it_survives_the_file_and_counts() -> None:
    again = Schema.from_toml(SIGNED.to_toml())
    assert again == SIGNED and all(c.public for c in again) and all(c.public for c in again.trusting(TRUST))
    entry = tomllib.loads(SIGNED.to_toml())["columns"]["sex"]["provenance"]
    assert entry["key"] == KEY.public and entry["on"] == "2026-03-01" and len(entry["signature"]) == 128


CHANGES = {
    "another level": {"levels": ("f", "x")},
    "one level more": {"levels": ("f", "m", "x")},
    "their order": {"levels": ("m", "f")},
    "missing": {"missing": False},
    "the column": {"name": "gender"},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_signature_fits_one_column_with_one_domain(change: str) -> None:
    """Also where the digest without a key was rewritten to fit."""
    column = replace(SIGNED["sex"], **CHANGES[change])
    assert column.provenance is not None
    rewritten = replace(column, provenance=column.provenance.about(column.domain))
    assert not rewritten.public and "signature does not fit" in rewritten.origin
    assert refusal(rewritten, TRUST) == "its signature does not fit"


@pytest.mark.parametrize(
    "lie",
    [{"by": "A. Miller"}, {"reason": "form F13"}, {"on": "2026-03-02"}, {"key": OTHER.public},
     {"signature": "0" * 128}, {"on": "2026-13-45"}],
)  # fmt: skip
def test_nothing_that_is_signed_can_be_changed(lie: dict[str, str]) -> None:
    said = SIGNED["sex"].provenance
    assert said is not None
    column = replace(SIGNED["sex"], provenance=replace(said, **lie))
    assert not column.public
    with pytest.raises(SchemaError, match="signature does not fit"):
        Schema((column,)).require_public()


@pytest.mark.parametrize("part", ["key", "on", "signature"])
def test_half_a_signature_is_none(part: str) -> None:
    said = SIGNED["sex"].provenance
    assert said is not None
    with pytest.raises(SchemaError, match="a signature has a key"):
        replace(said, **{part: ""})
    with pytest.raises(SchemaError, match="has no key"):
        replace(Provenance.standard("months"), key=KEY.public, on="2026-03-01", signature="0" * 128)


def test_a_trust_file_says_whose_declarations_count() -> None:
    unsigned = Schema((SEX,)).with_("sex", provenance=None).declare("R. Weiss", "form F12")
    stranger = Schema((SEX,)).declare("R. Weiss", "form F12", ["sex"], key=OTHER, on=DAY)
    assert unsigned["sex"].public and stranger["sex"].public  # nobody was asked whom to trust
    for schema in (unsigned, stranger):
        counted = schema.trusting(TRUST)
        assert not counted["sex"].public and "whom the trust file names" in counted["sex"].origin
        assert not Schema.from_toml(counted.to_toml())["sex"].public
    for entries in (
        {"revoked": date(2026, 5, 1)}, {"end": date(2026, 2, 1)}, {"start": date(2026, 4, 1)},
        {"signs": (Purpose.RELEASE, Purpose.DECLARATION), "start": date(2027, 1, 1)},
    ):  # fmt: skip
        bad = Trust((replace(TRUST.keys[0], **entries),))  # type: ignore[arg-type]
        assert not SIGNED.trusting(bad)["sex"].public
    retired = Trust((replace(TRUST.keys[0], end=date(2026, 4, 1)),))
    assert SIGNED.trusting(retired)["sex"].public  # signed before
    releases = Trust((TrustedKey(OTHER.public, "A. Miller", (Purpose.RELEASE,)),))
    assert unsigned.trusting(releases)["sex"].public  # it does not say who may declare


def test_a_signature_for_another_purpose_is_none() -> None:
    from sfumato.privacy.signatures import Envelope, Statement
    from sfumato.schema.provenance import whole_digest

    column = SIGNED["sex"]
    said = column.provenance
    assert said is not None
    domain = whole_digest(column.levels, column.edges, missing=column.missing)
    for purpose in Purpose:
        statement = Statement(
            purpose, {"domain": domain}, said.by, DAY, {"column": "sex", "reason": said.reason}
        )
        (made,) = Envelope.sign(statement.payload(), KEY).signatures
        forged = replace(column, provenance=replace(said, signature=made.value.hex()))
        assert forged.public == (purpose is Purpose.DECLARATION)


def test_an_unsigned_declaration_says_so_in_the_guarantee() -> None:
    column = Column("sex", Kind.NOMINAL, levels=("f", "m"), provenance=Provenance.declared("R. W.", "F12"))
    both = Schema((column, replace(column, name="twin")))
    table = sf.scan(pa.table({"sex": ["f", "m"] * 20, "twin": ["f", "m"] * 20}), both)
    said = sf.synthesize(table, sf.MarginalBootstrap(epsilon=1.0), 5).guarantee.text()
    assert "R. W. (F12), who answers for it that it was not read off these data; this is not signed" in said


# -- a name in a file is nobody's word -----------------------------------------------------------------


def _claimed(table: sf.Table) -> bool:
    """Whether a method that claims an epsilon takes the table."""
    try:
        made = sf.synthesize(table, sf.MarginalBootstrap(epsilon=1.0), 5)
    except SchemaError as refused:
        assert "nobody signed that" in str(refused) or "nobody says where it comes from" in str(refused)
        return False
    return any(c.differential for c in made.guarantee)


ROWS = pa.table({"sex": ["f", "m"] * 20, "twin": ["m", "f"] * 20})
_WORD = Provenance.declared("R. W.", "F12")
_SEX = Column("sex", Kind.NOMINAL, levels=("f", "m"), provenance=_WORD)
SAID = Schema((_SEX, replace(_SEX, name="twin")))


def _by_schema_file(folder: Path, schema: Schema) -> sf.Table:
    (folder / "s.toml").write_text(schema.to_toml(), encoding="utf-8")
    sf.write(sf.scan(ROWS), folder / "d.csv")
    return sf.scan(folder / "d.csv", folder / "s.toml")


def _by_metadata(folder: Path, schema: Schema) -> sf.Table:
    sf.write(sf.scan(ROWS, schema), folder / "d.parquet", schema=schema)
    return sf.scan(folder / "d.parquet")


def _by_release(folder: Path, schema: Schema) -> sf.Table:
    made = sf.synthesize(sf.scan(ROWS, schema), sf.MarginalBootstrap(epsilon=1.0), 40)
    made.save(folder / "release")
    return sf.Release.load(folder / "release").data


def _by_database(folder: Path, schema: Schema) -> sf.Table:
    sf.write(sf.scan(ROWS), folder / "visits.csv")
    entry = schema.to_toml().replace("[columns.", "[tables.visits.columns.").partition("\n\n")[2]
    text = f'sfumato_database = 1\n[tables.visits]\ndata = "visits.csv"\n\n{entry}'
    (folder / "db.toml").write_text(text, encoding="utf-8")
    return sf.scan_database(folder, folder / "db.toml")["visits"]


DOORS = (_by_schema_file, _by_metadata, _by_release, _by_database)


@pytest.mark.parametrize("door", DOORS)
def test_through_no_file_does_an_unsigned_declaration_carry_a_promise(door, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """What the program says counts in the program; signed it counts from each file, too."""
    assert _claimed(sf.scan(ROWS, SAID))
    assert not _claimed(door(tmp_path, SAID))


@pytest.mark.parametrize("door", [d for d in DOORS if d is not _by_metadata])  # no domain counts from there
def test_through_every_file_of_words_a_signed_one_does(door, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert _claimed(door(tmp_path, SAID.declare("R. W.", "F12", ["sex", "twin"], key=KEY)))


def test_no_file_says_of_itself_that_it_is_believed() -> None:
    text = SAID.to_toml()
    for more in ('checked = "said by the program that uses it"', 'checked = "signed by somebody trusted"'):
        with pytest.raises(SchemaError, match="unknown key"):
            Schema.from_toml(text.replace('by = "R. W."', f'by = "R. W."\n{more}'))


def test_a_person_declares_again_what_a_file_says() -> None:
    """In a program by a word, for a file with a key; what another person is said to declare stays theirs."""
    read = Schema.from_toml(SAID.to_toml())
    assert not read["sex"].public and read.declare("R. W.", "F12")["sex"].public
    assert read.declare("A. Miller", "list") == read  # not theirs
    assert read.declare("A. Miller", "list", ["sex"])["sex"].origin == "declared by A. Miller (list)"
    assert Schema.from_toml(read.declare("R. W.", "F12", key=KEY).to_toml())["sex"].public
