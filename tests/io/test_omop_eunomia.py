"""OHDSI's own small CDM (5.3, by Synthea): its keys do not hold; mended, it goes all the way."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_support import environment

import sfumato as sf
from sfumato.errors import DataError, SfumatoWarning


@pytest.fixture(scope="module")
def cdm(peer: Callable[..., dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The DuckDB file."""
    out = tmp_path_factory.mktemp("eunomia") / "cdm.duckdb"
    peer("eunomia", out=str(out))
    return out


def test_it_is_refused_with_every_difference(cdm: Path) -> None:
    with pytest.warns(SfumatoWarning, match=r"OMOP CDM 5\.3"), pytest.raises(DataError) as refused:
        sf.scan_database(cdm)
    told = refused.value.message
    assert "observation_period.PERSON_ID: 2,649 rows without a parent in 'person'" in told
    assert "drug_exposure.DRUG_EXPOSURE_ID: 4,384 keys occur more than once" in told


def test_pseudonyms_and_codes(cdm: Path, tmp_path: Path) -> None:
    with pytest.warns(SfumatoWarning) as said:
        db = sf.scan_database(cdm, mend=True)
    assert any("observation_period: 2,649 rows without a person left out" in str(w.message) for w in said)
    assert db.form == "omop 5.3" and db.people.count == 2_694 and not [d for d in db.differences if d.fatal]
    sf.pseudonymize(db, shift_dates=365, coarsen_dates="week").save(tmp_path / "moved")
    assert sf.verify(tmp_path / "moved").ok
    out = sf.DatabaseRelease.load(tmp_path / "moved").data.check()
    assert {n: t.rows() for n, t in out.tables.items()} == {n: t.rows() for n, t in db.tables.items()}
    codes = ["condition_occurrence.CONDITION_CONCEPT_ID", "procedure_occurrence.PROCEDURE_CONCEPT_ID"]
    with pytest.warns(SfumatoWarning, match="left out"):
        release = sf.anonymize_database(db, sf.KMAnonymity(5, 2), codes=codes, columns=["GENDER_CONCEPT_ID"])
    release.save(tmp_path / "coded")
    assert sf.verify(tmp_path / "coded").ok


@pytest.mark.soak
def test_all_the_way_at_the_command_line(cdm: Path, tmp_path: Path) -> None:
    """init, run with pseudonyms and with k^m, synthesize, verify, assess; the script checks itself."""
    script = Path(__file__).parents[2] / "benchmarks" / "eunomia.py"
    done = subprocess.run(
        [sys.executable, str(script), "--keep", str(tmp_path / "way")], env=environment(),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and "not as expected" not in done.stdout, done.stdout + done.stderr
    assert "verify drawn" in done.stdout and (tmp_path / "way" / "codes" / "public" / "card.md").is_file()
