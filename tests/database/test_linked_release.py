"""A release of linked tables is held to the same rules as one of one table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from linked import tables

import sfumato as sf
from sfumato.errors import DataError, OutputError, ParameterError
from sfumato.privacy import Guarantee, NoGuarantee, PureDP
from sfumato.privacy.signatures import Purpose, SigningKey, Trust, TrustedKey
from sfumato.release import manifest
from sfumato.release.checks import Outcome
from sfumato.release.database import DatabaseRelease, read_database
from sfumato.schema import Provenance, Schema
from sfumato.schema.declaration import sign

KEY, OTHER = SigningKey.fresh(), SigningKey.fresh()
TRUST = Trust((TrustedKey(KEY.public, "R. Weiss", (Purpose.DECLARATION,)),))


def pseudonymous(**changes: Any) -> DatabaseRelease:
    return sf.pseudonymize(sf.scan_database(tables(**changes)))


def declared(key: SigningKey | None, provenance: Provenance | None = None) -> DatabaseRelease:
    """A release that claims an epsilon, with a domain that somebody answers for in a child table."""
    release = pseudonymous()
    stays = release.data["stays"]
    said = provenance or Provenance.declared("R. Weiss", "list of wards")
    ward = replace(stays.schema["ward"], levels=("x", "y"), provenance=said)
    ward = ward if key is None else sign(ward, key)
    schema = Schema(tuple(ward if c.name == "ward" else c for c in stays.schema))
    data = release.data.with_tables({**release.data.tables, "stays": stays.with_schema(schema)})
    return replace(release, data=data, guarantee=release.guarantee & Guarantee.of(PureDP(1.0)))


def domain(folder: Path, trust: Trust = TRUST) -> Any:
    found = {c.subject: c for c in sf.verify(folder, trusted=trust).data}
    return found["domain of 'stays.ward'"]


def test_who_answers_for_a_domain_is_checked_in_every_table(tmp_path: Path) -> None:
    for name, key, outcome, words in (
        ("signed", KEY, Outcome.PASSED, "signed by R. Weiss"),
        ("stranger", OTHER, Outcome.UNSEEN, "you do not trust the key"),
        ("nobody", None, Outcome.UNSEEN, "nobody signed it"),
    ):
        declared(key).save(tmp_path / name)
        found = domain(tmp_path / name)
        assert found.outcome is outcome and words in found.detail, name


def test_a_signature_that_does_not_fit_is_an_alteration(tmp_path: Path) -> None:
    declared(KEY).save(tmp_path / "out")
    path = tmp_path / "out" / "public" / "database.toml"
    path.write_text(path.read_text().replace("list of wards", "form F13"))
    found = domain(tmp_path / "out")
    assert found.outcome is Outcome.FAILED and "does not fit" in found.detail


def test_found_domains_rest_on_their_ledger(tmp_path: Path) -> None:
    declared(None, Provenance.found(0.5, 0.0)).save(tmp_path / "out")
    found = {c.subject: c for c in sf.verify(tmp_path / "out").data if "domain of" in c.subject}
    assert "domain of 'patients.patient_id'" not in found  # pseudonyms have none
    ward = found["domain of 'stays.ward'"]  # nobody has checked what was found: it did not leave
    assert ward.outcome is Outcome.WARNED and "nobody says where it comes from" in ward.detail


def test_text_that_would_run_as_a_formula(tmp_path: Path) -> None:
    release = pseudonymous(stays={"ward": ["=1+1", "@x", "x", "'x"]})
    release.save(tmp_path / "out", format="csv")
    text = (tmp_path / "out" / "public" / "stays.csv").read_text()
    assert "'=1+1" in text and "'@x" in text
    again = DatabaseRelease.load(tmp_path / "out").data["stays"].to_arrow()["ward"]
    assert sorted(again.to_pylist()) == ["'x", "=1+1", "@x", "x"] and sf.verify(tmp_path / "out").ok
    renamed = tables()
    renamed["stays"] = renamed["stays"].append_column("=A1", renamed["stays"]["ward"])
    with pytest.raises(OutputError, match="formula"):
        sf.pseudonymize(sf.scan_database(renamed)).save(tmp_path / "live", format="csv")


def test_other_files_than_those_of_the_release_are_not_counted(tmp_path: Path) -> None:
    """Whoever signs could let the check count a harmless file that lies elsewhere."""
    pseudonymous().save(tmp_path / "out")
    public = tmp_path / "out" / "public"
    elsewhere = tmp_path / "elsewhere.parquet"
    elsewhere.write_bytes((public / "stays.parquet").read_bytes())
    path = public / "database.toml"
    text = path.read_text()
    for place in (str(elsewhere), "../../elsewhere.parquet", "./stays.parquet"):
        path.write_text(text.replace('data = "stays.parquet"', f"data = {json.dumps(place)}"))
        details, _ = manifest.read_manifest(public / "manifest.json")
        manifest.write_public(public, details)
        with pytest.raises(DataError, match="different files"):
            read_database(public)
        assert not sf.verify(public, trusted=[]).ok


def test_a_person_column_without_a_claim_is_refused() -> None:
    raw = sf.scan_database(tables())
    (named,) = {raw.root}
    person = raw[named].schema.of_role("person")
    assert person, "the database knows whose rows they are"
    with pytest.raises(ParameterError, match="whose rows they are"):
        DatabaseRelease(raw, Guarantee.of(NoGuarantee("for a test")))
