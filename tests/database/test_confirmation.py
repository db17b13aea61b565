"""Tables that nobody said hold no persons are in no release: households and doctors look like wards."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from linked import tables, written
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app

NAMES = ["Elm Street 4", "Oak Lane 9"]
LEFT_OUT = "left out of the release.*stays.ward_id.*'households', 'wards'"


def rows() -> dict[str, pa.Table]:
    """Patients of two households, stays in two wards: both tables are pointed to and reach nobody."""
    found = tables(patients={"household_id": [70, 70, 80]}, stays={"ward_id": [1, 2, 1, 1]})
    found["households"] = pa.table({"household_id": [70, 80], "street": NAMES})
    found["wards"] = pa.table({"ward_id": [1, 2], "name": ["north", "south"]})
    return found


def released(how: str, database: sf.Database) -> sf.DatabaseRelease:
    if how == "pseudonyms":
        return sf.pseudonymize(database)
    if how == "codes":
        return sf.anonymize_database(database, sf.KMAnonymity(2, 1), codes=["diagnoses.code"], columns=[])
    return sf.LinkedSynthesizer().fit(database).sample(5, seed=1)


@pytest.mark.parametrize("how", ["pseudonyms", "codes", "synthesis"])
@pytest.mark.filterwarnings("ignore:the data have 3 persons", "ignore:left out, since they identify")
@pytest.mark.filterwarnings("ignore:not synthesized")
def test_guessed_tables_do_not_leave_until_somebody_says_that_they_hold_nobody(
    how: str, tmp_path: Path
) -> None:
    guessed = sf.scan_database(rows())
    assert guessed.unconfirmed == guessed.apart == {"households", "wards"}
    with pytest.warns(sf.SfumatoWarning, match=LEFT_OUT):
        release = released(how, guessed)
    assert set(release.data.tables) == {"patients", "stays", "diagnoses"}
    assert "ward_id" not in release.data["stays"].columns
    release.save(tmp_path / "out")
    assert not any(n.encode() in p.read_bytes() for p in (tmp_path / "out/public").iterdir() for n in NAMES)

    half = sf.scan_database(rows(), without_persons=["wards"])
    with pytest.warns(sf.SfumatoWarning, match="'households'. Nobody has said"):
        release = released(how, half)
    assert set(release.data.tables) == {"patients", "stays", "diagnoses", "wards"}
    assert sorted(release.data["wards"].to_arrow()["name"].to_pylist()) == ["north", "south"]
    assert release.data.check().unconfirmed == frozenset()


def test_the_declaration_keeps_the_question_open_and_takes_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "data", rows())
    found = CliRunner().invoke(app, ["init", "data", "--out", "work"])
    assert found.exit_code == 0 and "persons = false" in found.output and "'households'" in found.output
    declared = Path("work/database.toml")
    again = sf.scan_database("data", declared)
    assert again.unconfirmed == {"households", "wards"} and again.apart == again.unconfirmed
    with pytest.warns(sf.SfumatoWarning, match=LEFT_OUT):
        assert "wards" not in sf.pseudonymize(again).data.tables
    assert sf.scan_database("data", declared, without_persons=["wards"]).unconfirmed == {"households"}
    declared.write_text(declared.read_text().replace('"unconfirmed"', "false"))
    assert sf.scan_database("data", declared).unconfirmed == frozenset()
    declared.write_text(declared.read_text().replace("persons = false", 'persons = "no"'))
    with pytest.raises(sf.SchemaError, match='persons must be true or false, or "unconfirmed"'):
        sf.scan_database("data", declared)


def test_patients_who_point_to_a_household_are_the_persons_still() -> None:
    """Most tables hang on the household, but its key names nobody."""
    db = sf.scan_database(rows())
    assert db.root == "patients" and db.people.count == 3 and db.person_column("stays") == "patient_id"


def test_names_of_no_table_are_refused() -> None:
    with pytest.raises(sf.ParameterError, match="no table 'ward'"):
        sf.scan_database(rows(), without_persons=["ward"])
    with pytest.raises(sf.SchemaError, match="not among the tables without persons"):
        sf.Database(sf.scan_database(rows()).tables, unconfirmed=frozenset({"wards"}))
