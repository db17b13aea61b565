"""FHIR bulk data as linked tables, and back: there and back alike, all valid, and every difference said."""

from __future__ import annotations

import gzip
import json
import warnings
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.errors import DataError, OutputError, ParameterError, SfumatoWarning
from sfumato.io.fhir.paths import PATHS, element, put, reference_parts, steps_of
from sfumato.io.fhir.validation import faults_of

CANARY = "Quetzalcoatl"


def bulk(folder: Path, *resources: dict[str, Any] | str) -> Path:
    """A folder with one file for all resources, and a patient."""
    folder.mkdir(exist_ok=True)
    lines = [r if isinstance(r, str) else json.dumps(r) for r in (PATIENT, *resources)]
    (folder / "all.ndjson").write_text("\n".join(lines) + "\n")
    return folder


PATIENT = {"resourceType": "Patient", "id": "p1", "gender": "female", "birthDate": "1950-03-04"}
CODE = {"coding": [{"system": "http://snomed.info/sct", "code": "44054006"}]}


def condition(**more: Any) -> dict[str, Any]:
    return {
        "resourceType": "Condition",
        "id": "c1",
        "subject": {"reference": "Patient/p1"},
        "code": CODE,
        **more,
    }


def heard(folder: Path, **options: Any) -> tuple[sf.Database, str]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = sf.scan_fhir(folder, **options)
    return found, " | ".join(str(w.message) for w in said if issubclass(w.category, SfumatoWarning))


def test_files_as_servers_write_them(tmp_path: Path) -> None:
    folder = bulk(tmp_path / "bulk", condition())
    plain = (folder / "all.ndjson").read_bytes()
    (folder / "all.ndjson").unlink()
    (folder / "ALL.NDJSON").write_bytes(b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n"))
    (folder / "Observation.ndjson").write_bytes(b"")
    (folder / "more.ndjson.gz").write_bytes(gzip.compress(json.dumps(condition(id="c2")).encode()))
    db, said = heard(folder)
    assert db["patient"].rows() == 1 and db["condition"].rows() == 2 and not said
    (folder / "visits.csv").write_text("id\n1\n")
    assert "left out: the file visits.csv" in heard(folder)[1]
    (folder / "all.ndjson.gz").write_bytes(gzip.compress(plain)[:-9])
    with pytest.raises(DataError, match="called alike"):
        sf.scan_fhir(folder)
    (folder / "ALL.NDJSON").unlink()
    with pytest.raises(DataError, match=r"all\.ndjson\.gz is a damaged gzip file"):
        sf.scan_fhir(folder)
    (folder / "Observation.ndjson.bz2").write_bytes(b"")
    with pytest.raises(DataError, match="packed files that are not read"):
        sf.scan_fhir(folder)


def test_there_and_back_is_the_same_and_valid(tmp_path: Path) -> None:
    people = sf.samples.fhir(40)
    first = sf.write_fhir(people, tmp_path / "one")  # every resource is held against fhir.resources
    again = sf.scan_database(tmp_path / "one")
    assert again.form == "fhir r4" and not again.differences and set(again.tables) == set(people.tables)
    for name, table in people.tables.items():
        here = again[name].to_arrow()
        assert table.to_arrow().cast(here.schema).equals(here), name
    for path in sf.write_fhir(again, tmp_path / "two"):
        assert path.read_bytes() == (tmp_path / "one" / path.name).read_bytes()
    assert len(first) == len(PATHS)


def test_a_release_is_valid_and_names_nobody(tmp_path: Path) -> None:
    people = sf.samples.fhir(40)
    sf.pseudonymize(people, shift_dates=365).save(tmp_path / "release")
    assert sf.verify(tmp_path / "release").ok
    released = sf.DatabaseRelease.load(tmp_path / "release").data
    files = sf.write_fhir(released, tmp_path / "bulk")
    ids = {json.loads(line)["id"] for f in files for line in f.read_text().splitlines()}
    before = {i for t in people.tables.values() for i in t.to_arrow()["id"].to_pylist()}
    assert len(ids) == len(before) and not ids & before
    again = sf.scan_database(tmp_path / "bulk")
    assert again.people.count == 40 and not again.differences


def test_under_km_a_required_code_is_masked(tmp_path: Path) -> None:
    people = sf.samples.fhir(60)
    with pytest.warns(SfumatoWarning, match="left out"):
        release = sf.anonymize_database(
            people, sf.KMAnonymity(5, 2), codes=["medication_request.medication", "observation.code"],
            columns=["gender"],
        )  # fmt: skip
    assert release.internal is not None and release.internal.extra["code_sets"]["dropped"] > 0
    files = {p.stem: p for p in sf.write_fhir(release.data, tmp_path / "bulk")}
    lines = [json.loads(line) for line in files["MedicationRequest"].read_text().splitlines()]
    masked = [r for r in lines if r["medicationCodeableConcept"]["coding"][0]["code"] == "masked"]
    assert masked and len(masked) < len(lines)


# -- what is left out, and said --------------------------------------------------------------------


def test_narrative_extensions_and_times_are_left_out_and_said(tmp_path: Path) -> None:
    told = {
        **PATIENT, "id": "p2", "text": {"status": "generated", "div": CANARY}, "name": [{"family": CANARY}],
        "extension": [{"url": "http://example.org/place", "valueString": "Vienna"}], "birthDate": "1960",
    }  # fmt: skip
    timed = condition(onsetDateTime="2020-02-03T04:05:06+02:00", note=[{"text": CANARY}])
    two = {"coding": [*CODE["coding"], {"system": "x", "code": "y"}]}
    folder = bulk(
        tmp_path / "b", told, timed, condition(id="c2", code=two), {"resourceType": "Device", "id": "d"}
    )
    db, said = heard(folder)
    for words in (
        "Patient.text (1)", "Patient.name (1)", "Patient.extension (1)", "Condition.note (1)",
        "further codings of Condition.code (1)", "resources of type Device (1)",
        "Patient.birthDate known to the year or month only (1)",
        "times of day of Condition.onsetDateTime (1)",
    ):  # fmt: skip
        assert words in said, words
    assert CANARY not in said and "Vienna" not in said
    assert db["condition"].to_arrow()["onset"].to_pylist() == [date(2020, 2, 3), None]
    place = {"Patient": {"place": "extension[url=http://example.org/place].valueString"}}
    named, said = heard(folder, further=place)
    assert named["patient"].to_arrow()["place"].to_pylist() == [None, "Vienna"]
    assert "Patient.extension" not in said
    files = sf.write_fhir(named, tmp_path / "out", further=place)
    assert '"extension":[{"url":"http://example.org/place","valueString":"Vienna"}]' in files[0].read_text()


def test_references_in_every_spelling(tmp_path: Path) -> None:
    spellings = ("Patient/p1", "https://example.org/fhir/Patient/p1/_history/3", "urn:uuid:p1")
    good = [condition(id=f"c{i}", subject={"reference": r}) for i, r in enumerate(spellings)]
    lost = [
        condition(id="x1", subject={"reference": "#inside"}, contained=[{**PATIENT, "id": "inside"}]),
        condition(id="x2", subject={"reference": "Group/g"}), condition(id="x3", subject={"display": CANARY}),
        condition(id="x4", modifierExtension=[{"url": "u", "valueBoolean": True}]),
    ]  # fmt: skip
    db, said = heard(bulk(tmp_path / "b", *good, *lost))
    assert db["condition"].rows() == 3 and CANARY not in said
    assert "Condition whose subject is no Patient of the export (3)" in said
    assert "Condition with a modifierExtension (1)" in said
    with pytest.raises(DataError, match="1 row without a parent in 'patient'"):
        sf.scan_fhir(bulk(tmp_path / "c", condition(subject={"reference": "Patient/nobody"})))
    assert reference_parts("p1") == reference_parts(7) == ("", "")


# -- what is refused -------------------------------------------------------------------------------


def test_broken_lines_are_listed_by_number_and_not_quoted(tmp_path: Path) -> None:
    folder = bulk(
        tmp_path / "b", f'{{"resourceType": "Patient", "id": "{CANARY}"', "[]", {"id": "x"},
        {"resourceType": "Patient"}, {**PATIENT, "id": "p2", "gender": {"a": CANARY}},
        {**PATIENT, "id": "p3", "birthDate": CANARY}, "[" * 5_000,
    )  # fmt: skip
    with pytest.raises(DataError) as refused:
        sf.scan_database(folder)
    told = refused.value.message
    for words in ("7 lines", "all.ndjson lines 2 to 3, 8: not JSON", "line 4: no resource",
                  "line 5: no id", "line 6: gender", "line 7: birthDate"):  # fmt: skip
        assert words in told, words
    assert CANARY not in str(refused.value) and refused.value.__cause__ is None


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    db = sf.scan_fhir(bulk(tmp_path / "b", {"resourceType": "Encounter", "id": "e1",
                                            "subject": {"reference": "Patient/p1"}}))  # fmt: skip
    with pytest.raises(OutputError, match=r"Encounter\.status"):
        sf.write_fhir(db, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(ParameterError, match="came from FHIR"):
        sf.write_fhir(sf.samples.hospital(5), tmp_path / "out")
    with pytest.raises(DataError, match="no Patient"):
        (tmp_path / "d").mkdir()
        (tmp_path / "d" / "x.ndjson").write_text('{"resourceType": "Condition", "id": "1"}\n')
        sf.scan_database(tmp_path / "d")
    for wrong in ({"Device": {"a": "b"}}, {"Patient": {"gender": "x"}}, {"Patient": {"a": "b..c"}}):
        with pytest.raises(ParameterError):
            sf.scan_fhir(tmp_path / "b", further=wrong)


def test_each_path_can_be_read_where_it_was_written() -> None:
    for paths in PATHS.values():
        resource: dict[str, Any] = {}
        for i, path in enumerate(paths):
            put(resource, path.steps, f"v{i}")
        assert [element(resource, p.steps) for p in paths] == [f"v{i}" for i in range(len(paths))]
    assert steps_of("a.b[0].c[url=http://x.y/z]") == (("a", ""), ("b", "0"), ("c", "url=http://x.y/z"))
    assert faults_of({"resourceType": "Patient", "id": "p", "gender": 7})
