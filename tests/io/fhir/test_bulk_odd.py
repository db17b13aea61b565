"""Bulk exports as hospitals have them: other types, contained and referenced resources, broken lines."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.errors import DataError, SfumatoWarning

CANARY = "Quetzalcoatl"
PATIENT = {"resourceType": "Patient", "id": "p1", "gender": "female", "birthDate": "1950-03-04"}
SUBJECT = {"subject": {"reference": "Patient/p1"}}
CODE = {"coding": [{"system": "http://snomed.info/sct", "code": "44054006"}]}


def made(kind: str, id_: str, **more: Any) -> dict[str, Any]:
    return {"resourceType": kind, "id": id_, **SUBJECT, **more}


def bulk(folder: Path, *lines: dict[str, Any] | str | bytes) -> Path:
    folder.mkdir()
    texts = [line if isinstance(line, str | bytes) else json.dumps(line) for line in (PATIENT, *lines)]
    raw = [text.encode() if isinstance(text, str) else text for text in texts]
    (folder / "all.ndjson").write_bytes(b"\n".join(raw) + b"\n")
    return folder


def heard(folder: Path, **options: Any) -> tuple[sf.Database, str]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = sf.scan_fhir(folder, **options)
    return found, " | ".join(str(w.message) for w in said if issubclass(w.category, SfumatoWarning))


# -- contained and referenced ------------------------------------------------------------------------


def test_contained_and_referenced_resources_are_left_out_and_said(tmp_path: Path) -> None:
    drug = {"resourceType": "Medication", "id": "m", "code": {"text": CANARY, **CODE}}
    stay = {"resourceType": "Encounter", "id": "e", "status": "finished"}
    request = {"status": "active", "intent": "order"}
    folder = bulk(
        tmp_path / "b",
        made("MedicationRequest", "r1", contained=[drug], medicationReference={"reference": "#m"}, **request),
        made("MedicationRequest", "r2", medicationReference={"reference": "Medication/m"}, **request),
        made("Condition", "c1", contained=[stay], encounter={"reference": "#e"}, code=CODE),
        made("Condition", "c2", encounter={"reference": "EpisodeOfCare/7"}, code=CODE),
        made("Condition", "c3", encounter={"identifier": {"value": CANARY}}, code=CODE),
        made("Observation", "o1", hasMember=[{"reference": "Observation/o2"}], status="final", code=CODE),
    )
    db, said = heard(folder)
    assert db["condition"].to_arrow()["encounter"].to_pylist() == [None] * 3
    assert db["medication_request"].to_arrow()["medication"].to_pylist() == [None] * 2
    for words in (
        "Condition.encounter that is no Encounter of the export (3)", "Condition.contained (1)",
        "MedicationRequest.contained (1)", "MedicationRequest.medicationReference (2)",
        "Observation.hasMember (1)", "Condition.encounter.identifier (1)",
    ):  # fmt: skip
        assert words in said, words
    assert CANARY not in said
    lines = [json.loads(x) for f in sf.write_fhir(db, tmp_path / "out") for x in f.read_text().splitlines()]
    drugs = [r["medicationCodeableConcept"]["coding"][0]["code"] for r in lines if "intent" in r]
    assert drugs == ["masked"] * 2 and CANARY not in json.dumps(lines)


def test_references_to_resources_that_are_not_in_the_export_are_refused_all_at_once(tmp_path: Path) -> None:
    folder = bulk(
        tmp_path / "b",
        made("Condition", "c1", code=CODE, subject={"reference": "Patient/nobody"}),
        made("Condition", "c2", code=CODE, encounter={"reference": "Encounter/nowhere"}),
        made("Encounter", "e1", status="finished"),
    )
    with pytest.raises(DataError) as refused:
        sf.scan_database(folder)
    for words in ("condition.patient: 1 row without a parent in 'patient'",
                  "condition.encounter: 1 row without a parent in 'encounter'"):  # fmt: skip
        assert words in refused.value.message
    assert "nobody" not in str(refused.value) and "nowhere" not in str(refused.value)
    with pytest.warns(SfumatoWarning, match="condition: 1 rows without a person left out"):
        assert sf.scan_database(folder, mend=True)["condition"].rows() == 1


def test_everything_below_an_element_that_is_read_is_said_too(tmp_path: Path) -> None:
    value = {
        "value": 5,
        "comparator": "<",
        "unit": "mg/dL",
        "extension": [{"url": "u", "valueString": CANARY}],
    }
    coding = {**CODE["coding"][0], "display": CANARY, "userSelected": True}
    folder = bulk(
        tmp_path / "b",
        made("Observation", "o1", valueQuantity=value, code={"coding": [coding], "text": CANARY}),
        made("Encounter", "e1", status="finished", type=[CODE, CODE], period={"start": "2020-01-02"}),
    )  # fmt: skip
    db, said = heard(folder)
    for words in (
        "Observation.code.text (1)", "Observation.code.coding.display (1)",
        "Observation.code.coding.userSelected (1)", "Observation.valueQuantity.extension (1)",
        "further entries of Encounter.type (1)",
    ):  # fmt: skip
        assert words in said, words
    assert CANARY not in said
    row = db["observation"].to_arrow().to_pylist()[0]
    assert (row["value"], row["comparator"]) == (5.0, "<")  # below five, and never five
    again = sf.write_fhir(db, tmp_path / "out", check=False)
    written = next(json.loads(f.read_text()) for f in again if f.stem == "Observation")
    assert written["valueQuantity"] == {"value": 5.0, "comparator": "<", "unit": "mg/dL"}


def test_of_extensions_those_that_were_not_named_are_said(tmp_path: Path) -> None:
    many = [{"url": "a", "valueString": "Vienna"}, {"url": "b", "valueString": CANARY}, {"url": ["c"]}]
    folder = bulk(tmp_path / "b", {**PATIENT, "id": "p2", "extension": many})
    db, said = heard(folder, further={"Patient": {"place": "extension[url=a].valueString"}})
    assert db["patient"].to_arrow()["place"].to_pylist() == [None, "Vienna"]
    assert "further entries of Patient.extension (1)" in said and CANARY not in said


def test_a_search_a_server_of_its_own_and_another_type_are_no_reference(tmp_path: Path) -> None:
    people = ({**PATIENT, "id": "7"}, made("Condition", "c1", code=CODE))
    wrong = (
        {"reference": "Patient?identifier=https://a.example/Patient/7"},
        {"reference": "urn:uuid:7", "type": "Group"}, {"reference": "urn:uuid:7", "type": [CANARY]},
    )  # fmt: skip
    lost = [made("Condition", f"x{i}", code=CODE) | {"subject": r} for i, r in enumerate(wrong)]
    db, said = heard(bulk(tmp_path / "b", *people, *lost))
    assert db["condition"].rows() == 1 and "whose subject is no Patient of the export (3)" in said
    far = [made("Condition", f"s{i}", code=CODE) | {"subject": {"reference": f"{base}/Patient/7"}}
           for i, base in enumerate(("http://a.example/fhir", "https://A.example/fhir"))]  # fmt: skip
    assert heard(bulk(tmp_path / "c", *people, *far))[0]["condition"].rows() == 3
    far[1]["subject"]["reference"] = "https://b.example/fhir/Patient/7"
    with pytest.raises(DataError, match="references name 2 servers: one id may be two persons"):
        sf.scan_fhir(bulk(tmp_path / "d", *people, *far))


def test_encounters_that_were_not_exported_are_said(tmp_path: Path) -> None:
    folder = bulk(tmp_path / "b", made("Condition", "c", code=CODE, encounter={"reference": "Encounter/e"}))
    db, said = heard(folder)
    assert "in a release Condition.encounter, as no Encounter is there (1)" in said
    assert "encounter" not in sf.pseudonymize(db).data["condition"].columns


def test_what_is_no_folder_of_ndjson_is_refused_with_what_to_do(tmp_path: Path) -> None:
    whole = {"resourceType": "Bundle", "entry": [{"resource": PATIENT}]}
    (tmp_path / "bundle.json").write_text(json.dumps(whole, indent=1))
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.ndjson").write_text(json.dumps(whole) + "\n")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.ndjson").write_text(json.dumps(whole, indent=1))
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "x.json").write_text(json.dumps([PATIENT]))
    for name in ("bundle.json", "a", "b", "c"):
        with pytest.raises(DataError, match="one on each line"):
            sf.scan_database(tmp_path / name)
        found = CliRunner().invoke(app, ["init", str(tmp_path / name), "--out", str(tmp_path / "work")])
        assert found.exit_code == 2 and "one on each line" in " ".join(found.output.split()), found.output
    with pytest.raises(DataError, match="give the folder"):
        sf.scan_database(tmp_path / "a" / "x.ndjson")
    with pytest.raises(DataError, match="into one folder"):
        sf.scan_database(tmp_path)


# -- other types -------------------------------------------------------------------------------------


def test_resources_of_other_types_are_counted_by_type(tmp_path: Path) -> None:
    others = [{"resourceType": kind, "id": CANARY} for kind in ("Device", "Claim", "Claim", "Bundle")]
    db, said = heard(bulk(tmp_path / "b", *others))
    assert set(db.tables) == {"patient"} and CANARY not in said
    for words in ("resources of type Device (1)", "resources of type Claim (2)", "of type Bundle (1)"):
        assert words in said, words


def test_an_export_of_other_types_alone_is_refused(tmp_path: Path) -> None:
    folder = bulk(tmp_path / "b")
    (folder / "all.ndjson").write_text('{"resourceType": "Claim", "id": "1"}\n')
    found = CliRunner().invoke(app, ["describe", str(folder)])
    assert found.exit_code == 2 and "there is no Patient among the resources" in found.output


# -- broken lines ------------------------------------------------------------------------------------

_VALUE = (
    '{"resourceType": "Observation", "id": "o", "subject": {"reference": "Patient/p1"}, '
    '"valueQuantity": {"value": %s}}'
)
_GERMAN = json.dumps({**PATIENT, "id": "x", "gender": "männlich"}, ensure_ascii=False)
BROKEN: dict[str, str | bytes | dict[str, Any]] = {
    "not JSON": CANARY,
    "of another encoding": _GERMAN.encode("utf-16"),
    "cut off": '{"resourceType": "Patient", "id": "' + CANARY,
    "not a number": _VALUE % "NaN",
    "half a sign": '{"resourceType": "Patient", "id": "h", "gender": "\\ud800' + CANARY + '"}',
    "an endless number": _VALUE % ("9" * 400),
    "infinite": _VALUE % "1e999",
    "a day that is none": {**PATIENT, "id": "d", "birthDate": "2020-02-30"},
    "an id with a name": {**PATIENT, "id": f"{CANARY} {CANARY}"},
    "a list where one belongs": {**PATIENT, "id": "l", "gender": [CANARY]},
    "a code of an older version": made("Condition", "s", clinicalStatus=CANARY),
    "codings of a newer version": made("Encounter", "n", **{"class": [{"coding": [{"code": CANARY}]}]}),
    "a name twice": '{"resourceType": "Patient", "id": "a", "id": "' + CANARY + '"}',
    "a time that is none": {**PATIENT, "id": "t", "birthDate": f"2020-01-02T{CANARY}"},
    "two on a line": json.dumps(PATIENT) + json.dumps({**PATIENT, "id": CANARY}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_line_is_named_by_its_number_and_not_quoted(name: str, tmp_path: Path) -> None:
    folder = bulk(tmp_path / "b", made("Condition", "c1", code=CODE), BROKEN[name])
    found = CliRunner().invoke(app, ["pseudonymize", str(folder), "--out", str(tmp_path / "out")])
    said = " ".join(found.output.split())
    assert found.exit_code == 2 and "cannot be read: all.ndjson line" in said and " 3" in said, said
    assert CANARY not in found.output and "999" not in said and not (tmp_path / "out").exists()


def test_however_many_lines_are_broken_all_are_named(tmp_path: Path) -> None:
    broken = [CANARY] * 5_000
    folder = bulk(tmp_path / "b", *broken, {**PATIENT, "id": "p2"}, CANARY, {"resourceType": "Patient"})
    (folder / "Zz.ndjson").write_text("\n" + "[]\n" + json.dumps({**PATIENT, "id": "p3"}) + "\n[]\n[]\n")
    with pytest.raises(DataError) as refused:
        sf.scan_database(folder)
    for words in ("5,005 lines cannot be read", "all.ndjson lines 2 to 5,001, 5,003: not JSON",
                  "all.ndjson line 5,004: no id", "Zz.ndjson lines 2, 4 to 5: not JSON"):  # fmt: skip
        assert words in refused.value.message, words


# -- one of several forms ------------------------------------------------------------------------------


def test_a_death_without_a_date_goes_there_and_back(tmp_path: Path) -> None:
    dead, alive = (
        {**PATIENT, "id": "p2", "deceasedBoolean": True},
        {**PATIENT, "id": "p3", "deceasedBoolean": False},
    )
    dated = {**PATIENT, "id": "p4", "deceasedDateTime": "2020-01-02"}
    db, said = heard(bulk(tmp_path / "b", dead, alive, dated))
    assert not said and db["patient"].to_arrow()["deceased"].to_pylist() == [None, True, False, None]
    file = sf.write_fhir(db, tmp_path / "out")[0]
    assert [json.loads(line) for line in file.read_text().splitlines()] == [PATIENT, dead, alive, dated]
    release = sf.pseudonymize(db, shift_dates=30)
    release.save(tmp_path / "release")
    assert sf.verify(tmp_path / "release").ok
    lines = sf.write_fhir(release.data, tmp_path / "released")[0].read_text()
    assert lines.count('"deceasedBoolean":true') == lines.count('"deceasedBoolean":false') == 1


def test_where_a_date_of_death_was_drawn_the_yes_or_no_is_not_written(tmp_path: Path) -> None:
    db, _ = heard(bulk(tmp_path / "b", {**PATIENT, "id": "p2", "deceasedDateTime": "2020-01-02"}))
    rows = db["patient"].to_arrow()
    both = rows.set_column(rows.schema.get_field_index("deceased"), "deceased", pa.array([True, True]))
    drawn = db.with_tables({"patient": sf.Table.from_arrow(both, db["patient"].schema)})
    first, second = map(json.loads, sf.write_fhir(drawn, tmp_path / "out")[0].read_text().splitlines())
    assert first["deceasedBoolean"] is True and "deceasedBoolean" not in second


@pytest.mark.parametrize("more", [
    {"deceasedBoolean": True, "deceasedDateTime": "2020-01-02"}, {"deceasedBoolean": "true"},
    {"deceasedBoolean": 1},
])  # fmt: skip
def test_a_death_in_two_forms_or_of_another_type_is_a_broken_line(
    more: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=r"all\.ndjson line 2: deceased(\[x\] in two forms|Boolean)"):
        sf.scan_database(bulk(tmp_path / "b", {**PATIENT, "id": "p2", **more}))


def test_other_elements_in_two_forms_are_broken_lines_too(tmp_path: Path) -> None:
    done = made("Procedure", "r", status="completed", performedDateTime="2020-01-02", performedPeriod={})
    with pytest.raises(DataError, match=r"line 2: performed\[x\] in two forms"):
        sf.scan_database(bulk(tmp_path / "b", done))


def test_an_encounter_without_its_class_says_that_it_is_not_there(tmp_path: Path) -> None:
    db, _ = heard(bulk(tmp_path / "b", made("Encounter", "e", status="finished")))
    file = next(f for f in sf.write_fhir(db, tmp_path / "out") if f.stem == "Encounter")
    assert json.loads(file.read_text())["class"]["code"] == "masked"


def test_files_with_a_mark_of_order_windows_ends_and_packed_parts(tmp_path: Path) -> None:
    line = json.dumps({**PATIENT, "id": "p2"}).encode()
    folder = bulk(tmp_path / "b", b"\xef\xbb\xbf" + line + b"\r")
    packed = b"".join(gzip.compress(b'{"resourceType":"Patient","id":"%d"}\r\n' % i) for i in range(3))
    (folder / "MORE.NDJSON.GZ").write_bytes(packed)
    assert heard(folder)[0]["patient"].rows() == 5


@pytest.mark.parametrize(("day", "read"), [
    ("1850-06-01", True), ("2020-01-01T23:30:00-12:00", True), ("2020-01-01T23:59:60Z", True),
    ("0000-01-01", False), ("2020-1-1", False), ("2020-01-01 10:00", False),
])  # fmt: skip
def test_days_before_1900_and_in_zones_are_the_days_that_are_written(
    day: str, read: bool, tmp_path: Path
) -> None:
    folder = bulk(tmp_path / "b", made("Condition", "c", code=CODE, onsetDateTime=day))
    if not read:
        with pytest.raises(DataError, match="line 2: onsetDateTime"):
            heard(folder)
    else:
        assert heard(folder)[0]["condition"].to_arrow()["onset"][0].as_py().isoformat() == day[:10]
