"""Linked tables through every door of the command line: files, DuckDB, PostgreSQL, FHIR; and broken ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
import pytest
from cli_support import environment
from linked import saved
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.io.addresses import CONSENT

RUN = CliRunner()


def ask(*words: str, code: int = 0) -> str:
    found = RUN.invoke(app, list(words))
    assert found.exit_code == code, found.output
    return " ".join(found.output.split())


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# -- broken databases ------------------------------------------------------------------------------

PATIENTS = {
    "patient_id": [f"p{i}" for i in range(60)],
    "sex": ["f", "m"] * 30,
    "birth_date": ["1950-01-01"] * 60,
}
STAYS = {
    "stay_id": [f"s{i}" for i in range(120)],
    "patient_id": [f"p{i % 60}" for i in range(120)],
    "admitted": [f"2010-01-{1 + i % 28:02d}" for i in range(120)],
}
CODES = {"stay_id": [f"s{i % 120}" for i in range(300)], "code": [f"{250 + i % 20}" for i in range(300)]}
BROKEN = {
    "orphans": (
        {},
        {"patient_id": [f"p{i % 62}" for i in range(120)]},
        {"stay_id": [f"s{i % 125}" for i in range(300)]},
        ["10 rows without a parent in 'stays'", "2 rows without a parent in 'patients'"],
    ),
    "of two persons": (
        {}, {}, {"patient_id": [f"p{(i + (i % 120 == 3)) % 60}" for i in range(300)]},
        ["3 rows reach two persons"],
    ),
    "key twice": (
        {"patient_id": ["p0", "p0", *(f"p{i}" for i in range(2, 60))]},
        {"patient_id": [f"p{2 + i % 58}" for i in range(120)]}, {}, ["1 key occurs more than once"],
    ),
    "nobody": ({}, {"patient_id": None}, {}, ["no link leads to a person"]),
    "types": ({"patient_id": list(range(60))}, {}, {}, ["text in one table, numbers in another"]),
}  # fmt: skip


def folder(patients: dict[str, object], stays: dict[str, object], codes: dict[str, object]) -> None:
    Path("data").mkdir()
    for name, rows, change in (
        ("patients", PATIENTS, patients),
        ("stays", STAYS, stays),
        ("codes", CODES, codes),
    ):
        merged = {column: values for column, values in {**rows, **change}.items() if values is not None}
        pyarrow.csv.write_csv(pa.table(merged), f"data/{name}.csv")


@pytest.mark.parametrize("name", BROKEN)
def test_broken_links_are_all_counted_and_nothing_is_written(name: str) -> None:
    *changes, words = BROKEN[name]
    folder(*changes)
    said = ask("pseudonymize", "data", "--shift-dates", "100", "--out", "out", code=2)
    assert all(part in said for part in words) and not Path("out").exists()


@pytest.mark.parametrize(
    "further, words",
    [
        (("stays.patient_id", "codes.code"), "points to two parents"),
        (("patients.sex", "stays.stay_id"), "in a circle"),
    ],
)
def test_links_that_cannot_be_are_refused(further: tuple[str, str], words: str) -> None:
    folder({}, {}, {})
    links = [("stays.patient_id", "patients.patient_id"), further]
    declared = "".join(f'[[links]]\nchild = "{child}"\nparent = "{parent}"\n' for child, parent in links)
    named = {"patients": "patient_id", "stays": "stay_id", "codes": "code"}
    keys = "".join(f'[tables.{table}]\nkey = "{key}"\n' for table, key in named.items())
    Path("data/database.toml").write_text(f"sfumato_database = 1\n{declared}{keys}")
    assert words in ask("pseudonymize", "data", "--out", "out", code=2)
    assert not Path("out").exists()


def test_a_stay_before_birth_is_said_and_no_obstacle() -> None:
    folder({"birth_date": ["2010-01-10"] * 60}, {}, {})
    assert "44 rows before the birth" in ask("pseudonymize", "data", "--shift-dates", "100", "--out", "out")
    assert sf.verify("out").ok


def test_killed_between_two_tables_leaves_nothing() -> None:
    saved(Path("hospital"), sf.samples.hospital(20))
    program = (
        "import os, signal, sfumato as sf, sfumato.release.database as place\n"
        "write, done = place.write_data, []\n"
        "def killed(path, table):\n"
        "    done.append(path) if not done else os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return write(path, table)\n"
        "place.write_data = killed\n"
        "sf.pseudonymize(sf.scan_database('hospital')).save('out')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, check=False
    )
    assert ended.returncode != 0 and not Path("out").exists()
    ask("pseudonymize", "hospital", "--out", "out")
    assert sf.verify("out").ok


# -- where a database may be -----------------------------------------------------------------------


def cdm_rows() -> dict[str, pa.Table]:
    return {name: table.to_arrow() for name, table in sf.samples.omop(60).tables.items()}


def through(data: str) -> None:
    assert "condition_occurrence" in ask("init", data, "--out", "work")
    assert 'form = "omop 5.4"' in Path("work/database.toml").read_text()
    RUN.invoke(app, ["run", "work/plan.toml", "--out", "release"])  # a draft: nobody has signed
    assert sf.scan_database("release/public").form == "omop 5.4" and sf.verify("release").ok


@pytest.mark.soak
def test_a_cdm_in_duckdb() -> None:
    with duckdb.connect("cdm.duckdb") as connection:
        for name, table in cdm_rows().items():
            connection.register("rows_", table)
            connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM rows_')
            connection.unregister("rows_")
    through("duckdb:///cdm.duckdb")
    assert "columns" in ask("convert", "duckdb:///cdm.duckdb", "person.csv", "--table", "person")


def test_a_cdm_in_postgresql(postgres_url: str) -> None:
    import ibis

    connection = ibis.connect(postgres_url)
    connection.create_database("cdm_doors", force=True)
    try:
        for name, table in cdm_rows().items():
            connection.create_table(name, table, database="cdm_doors", overwrite=True)
        through(f"{postgres_url}?options=-csearch_path%3Dcdm_doors")
    finally:
        for name in cdm_rows():
            connection.drop_table(name, database="cdm_doors", force=True)
        connection.drop_database("cdm_doors", force=True)


def test_a_plan_connects_to_no_other_machine_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CONSENT, raising=False)
    Path("plan.toml").write_text('[database]\ndata = "postgresql://u@hospital.example/cdm"\n')
    assert CONSENT in ask("run", "plan.toml", "--out", "out", code=2)


@pytest.mark.soak
def test_a_synthetic_cdm_is_a_cdm_and_is_judged() -> None:
    saved(Path("cdm"), sf.samples.omop(80))
    ask("synthesize", "cdm", "--method", "linked", "--persons", "60", "--seed", "1", "--out", "drawn")
    assert sf.scan_database("drawn/public").form == "omop 5.4"
    files = {p.stem: str(p) for p in Path("drawn/public").glob("*.parquet")}
    again = sf.scan_database(files)  # without its declaration: as any CDM
    assert again.form == "omop 5.4" and not again.differences
    assert "visit_occurrence per row of person" in ask("assess", "cdm", "drawn")
    ask("init", "drawn", "--out", "work")


def test_a_release_of_fhir_becomes_resources_again() -> None:
    pytest.importorskip("fhir.resources")
    sf.write_fhir(sf.samples.fhir(12), "bulk")
    ask("pseudonymize", "bulk", "--shift-dates", "100", "--out", "release")
    assert "6 files" in ask("convert", "release", "released")
    before, after = sf.scan_database("bulk"), sf.scan_database("released")
    assert {n: t.rows() for n, t in before.tables.items()} == {n: t.rows() for n, t in after.tables.items()}
    assert not set(before["patient"].to_arrow()["id"].to_pylist()) & set(
        after["patient"].to_arrow()["id"].to_pylist()
    )
    folder({}, {}, {})
    assert "not of FHIR" in ask("convert", "data", "out.csv", code=2)


# -- concepts ----------------------------------------------------------------------------------------


def climbing_cdm() -> sf.Database:
    """40 conditions of ten persons each; ten of them lie under each of four families, which lie under 9."""
    rows = {name: table.to_arrow() for name, table in sf.samples.omop(60).tables.items()}
    ids = list(range(1, 401))
    people = {
        "gender_concept_id": 8507,
        "year_of_birth": 1950,
        "race_concept_id": 0,
        "ethnicity_concept_id": 0,
    }
    rows["person"] = pa.table({"person_id": ids, **{name: [value] * 400 for name, value in people.items()}})
    concepts = [1000 + i % 40 for i in range(400)]
    rows["condition_occurrence"] = pa.table({
        "condition_occurrence_id": ids, "person_id": ids, "condition_concept_id": concepts,
        "condition_type_concept_id": [0] * 400,
    })  # fmt: skip
    family = [(100 + c % 4, c, 1) for c in range(1000, 1040)]
    roots = [(9, c, 2) for c in range(1000, 1040)] + [(9, f, 1) for f in range(100, 104)]
    other = [(900, c, 1) for c in range(1000, 1040)]  # a parent of all: never the nearest
    pairs = [*family, *roots, *other, *((c, c, 0) for c in range(1000, 1040))]
    names = ("ancestor_concept_id", "descendant_concept_id", "min_levels_of_separation")
    rows["concept_ancestor"] = pa.table(dict(zip(names, map(list, zip(*pairs, strict=True)), strict=True)))
    kept = ("person", "condition_occurrence", "concept", "cdm_source", "concept_ancestor")
    return sf.scan_database({name: rows[name] for name in kept})


@pytest.mark.filterwarnings("ignore::sfumato.SfumatoWarning")
def test_concepts_climb_their_ancestors() -> None:
    before, place = climbing_cdm(), "condition_occurrence.condition_concept_id"
    release = sf.anonymize_database(before, sf.KMAnonymity(30, 1), codes=[place], columns=[])
    release.save("release")
    assert sf.verify("release").ok
    out = sf.scan_database("release/public")
    after = out["condition_occurrence"].to_arrow()["condition_concept_id"]
    assert out.form == "omop 5.4" and after.type == pa.int64() and after.null_count == 0
    assert set(after.to_pylist()) == {100, 101, 102, 103}  # never 900, nor 9: each has ten persons too few
    found = sf.assess_database(before, release, codes=[place], columns=[], thresholds={"risk": 0.5})
    assert "understood" not in str(found.because) and found["linking by 1 code"].value < 1 / 30


def test_tables_of_one_name_are_not_taken_for_each_other():
    with duckdb.connect("two.duckdb") as made:
        made.execute("CREATE SCHEMA other; CREATE TABLE other.patients AS SELECT 1 AS patient_id")
        made.execute("CREATE TABLE patients AS SELECT 2 AS patient_id")
    for data in ("two.duckdb", "duckdb:///two.duckdb"):
        assert "several tables are called alike: 'patients'" in ask("describe", data, code=2)


def test_a_file_that_cannot_be_read_is_named_and_not_its_neighbours():
    Path("folder").mkdir()
    for name, columns in (("patients", PATIENTS), ("stays", STAYS), ("codes", CODES)):
        pa.csv.write_csv(pa.table(columns), f"folder/{name}.csv")
    with open("folder/stays.csv", "a", encoding="utf-8") as file:
        file.write("s999,p1,2010-01-01,one,too many\n")
    said = ask("pseudonymize", "folder", "--out", "release", code=2)
    assert "stays" in said and "differ from" not in said and "too many" not in said
    assert not Path("release").exists()


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::sfumato.SfumatoWarning")
def test_a_release_whose_rows_hang_on_another_table_is_judged() -> None:
    """Records that name no visit hang on their persons when drawn: what cannot be compared is said."""
    rows = {name: table.to_arrow() for name, table in sf.samples.omop(60).tables.items()}
    conditions = rows["condition_occurrence"]
    at = conditions.column_names.index("visit_occurrence_id")
    none = pa.nulls(conditions.num_rows, pa.int64())
    rows["condition_occurrence"] = conditions.set_column(at, "visit_occurrence_id", none)
    before = sf.scan_database(rows)
    drawn = sf.LinkedSynthesizer().fit(before).sample(50, seed=1)
    assert "visit_occurrence_id" not in drawn.data["condition_occurrence"].columns
    found = sf.assess_database(before, drawn)
    words = "condition_occurrence hangs on no row of visit_occurrence in the release"
    assert any(words in str(part) for part in found.skipped)
    assert found["visit_occurrence per row of person"].value < 0.5
    back = found["repeated condition_occurrence.condition_concept_id"]  # in another record of the person
    assert back.details["halves of the original"] > 0
