"""Commands that pages about linked tables print, run as they stand, on folders named as the pages say."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from cli_support import Sfumato
from linked import saved
from printed import Play

import sfumato as sf
from sfumato.io.declarations import database_toml

pytestmark = pytest.mark.soak


@pytest.fixture(autouse=True)
def own_trust(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a test trusts is no business of this machine's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))


DRAFT = {"sfumato run": 1, "verify": 3}  # a proposed plan: nobody reviewed it, nobody signed what it made


def test_linked_records(sfumato: Sfumato) -> None:
    with Play("database").inside(sfumato) as play:
        saved(Path("hospital"), sf.samples.hospital(400))
        saved(Path("other-hospital"), sf.samples.hospital(400, seed=2))
        play.rest("database", until="sfumato init")
        shutil.rmtree("release")
        assert sfumato("determination", "new", "form.toml").code == 0
        play.rest("database", {**DRAFT, "sfumato assess": 1})


def test_fhir_bulk_data(sfumato: Sfumato) -> None:
    pytest.importorskip("fhir.resources", reason="needs the extra fhir")
    with Play("fhir-bulk").inside(sfumato) as play:
        sf.write_fhir(sf.samples.fhir(60), "bulk")
        play.rest("fhir-bulk", DRAFT)
        assert Path("released-bulk", "Patient.ndjson").stat().st_size > 1_000


def test_a_cdm(sfumato: Sfumato) -> None:
    with Play("omop").inside(sfumato) as play:
        saved(Path("cdm"), sf.samples.omop(300))
        saved(Path("other-cdm"), sf.samples.omop(300, seed=2))
        play.rest("omop", DRAFT, until="sfumato pseudonymize")
        shutil.rmtree("release")
        play.rest("omop")


def unsaid(schema: sf.Schema) -> sf.Schema:
    years = tuple(date(y, 1, 1) for y in range(1900, 2031, 5))
    columns = (replace(column, provenance=None) for column in schema)
    return sf.Schema(
        tuple(replace(c, edges=years, clamp=True) if c.name == "birth_date" else c for c in columns)
    )


def test_linked_synthesis(sfumato: Sfumato) -> None:
    with Play("linked-synthesis").inside(sfumato) as play:
        saved(Path("hospital"), sf.samples.hospital(400))
        saved(Path("other-hospital"), sf.samples.hospital(400, seed=2))
        play.rest("linked-synthesis", until="sfumato schema declare")
        # The domains that the page asks for, which nobody has declared yet, and bounds of birth dates.
        db = sf.samples.hospital(400)
        public = db.with_tables(
            {name: table.with_schema(unsaid(table.schema)) for name, table in db.tables.items()}
        )
        Path("hospital", "database.toml").write_text(
            database_toml(public, {name: f"{name}.parquet" for name in public.tables}), "utf-8"
        )
        assert sfumato("trust", "key", "me.key").code == 0
        play.rest("linked-synthesis")
