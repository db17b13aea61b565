"""`init`: what is guessed, why, and that the untouched plan makes a release that verifies."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from planned import CANARY, unjudged

import sfumato as sf
from sfumato.errors import OutputError
from sfumato.plan import Plan
from sfumato.plan.proposal import propose, write
from sfumato.plan.recipes import Bands, band
from sfumato.schema import Role


def visits(folder: Path, rows: int = 400) -> Path:
    rng = random.Random(3)
    data = pa.table(
        {
            "patient_id": [f"P{rng.randrange(300):05d}" for _ in range(rows)],
            "visit_id": [f"V{i:06d}" for i in range(rows)],
            "age": [rng.randrange(1, 99) for _ in range(rows)],
            "age_group": [f"[{a}-{a + 10})" for a in (rng.randrange(9) * 10 for _ in range(rows))],
            "zip": [f"{rng.choice(['021', '606'])}{rng.randrange(20):02d}" for _ in range(rows)],
            "admission_date": [
                f"2020{rng.randrange(1, 13):02d}{rng.randrange(1, 29):02d}" for _ in range(rows)
            ],
            "sex": [rng.choice(["f", "m", ""]) for _ in range(rows)],
            "hospital": [f"H{rng.randrange(200)}" for _ in range(rows)],
            "income_household": [round(rng.random() * 9e4, 2) for _ in range(rows)],
            "famsize": [rng.randrange(2000) for _ in range(rows)],
            "diag_1": [rng.choice(["250.01", "V45", "401", "E884"]) for _ in range(rows)],
            "icd10": [rng.choice(["E11.9", "I10", "J45"]) for _ in range(rows)],
            "nothing": [None] * rows,
            "same": ["x"] * rows,
            "rare note": [CANARY if i == 5 else "a" for i in range(rows)],
        },
        schema=None,
    )
    path = folder / "visits.parquet"
    pq.write_table(data.set_column(12, "nothing", pa.array([None] * rows, pa.string())), path)
    return path


def test_guesses_with_their_reasons(tmp_path: Path) -> None:
    found = propose(str(visits(tmp_path)), folder=tmp_path)
    guess = {g.column.name: g for g in found.guesses}
    assert found.of_role(Role.PERSON) == ("patient_id",) and found.of_role(Role.IDENTIFIER) == ("visit_id",)
    assert guess["age"].hierarchy == {"recipe": "ages", "widths": [5, 10, 20]} and guess["age"].top == 90
    assert guess["age_group"].hierarchy == "bands"
    assert guess["zip"].hierarchy == {"recipe": "prefixes", "keep": [4, 3]}
    assert guess["admission_date"].hierarchy == {"recipe": "calendar", "steps": ["month", "quarter"]}
    assert guess["sex"].hierarchy == "suppress" and "" in guess["sex"].column.missing_codes
    assert [guess[n].hierarchy["recipe"] for n in ("diag_1", "icd10")] == ["icd9", "icd10"]
    assert guess["nothing"].drop == "no filled cell" and guess["same"].drop == "the same in every filled cell"
    assert "too many to hide among" in guess["hospital"].drop
    edges = guess["famsize"].hierarchy["edges"]
    assert len(edges) == 4 and set(edges[1]) < set(edges[0])
    assert all(not g.column.confirmed for g in found.guesses)
    assert 'method = "local"\nk = 11 ' in found.plan and "work_limit = 100000" in found.plan
    assert found.plan.count("reviewed = false }") == len(found.guesses)
    assert "'age' in the name means something others know" in found.plan and ", sure: " in found.plan
    assert CANARY not in found.plan  # levels are in the schema, which says so


def test_months_and_days_are_not_cut_off_as_if_they_were_years(tmp_path: Path) -> None:
    ages = {"age": 99, "age_months": 1200, "Alter_in_Tagen": 400, "AgeYears": 100}
    table = pa.table({name: [i % most for i in range(1300)] for name, most in ages.items()})
    pq.write_table(table, tmp_path / "ages.parquet")
    found = {g.column.name: g.top for g in propose(str(tmp_path / "ages.parquet"), folder=tmp_path).guesses}
    assert found == {"age": 90, "age_months": 1080, "Alter_in_Tagen": None, "AgeYears": 90}


def test_the_untouched_plan_runs_and_is_a_draft(tmp_path: Path) -> None:
    found = propose(str(visits(tmp_path)), folder=tmp_path)
    write(found, tmp_path)
    plan = Plan.read(tmp_path / "plan.toml")
    assert plan.path(plan.table("input")["data"]).resolve() == (tmp_path / "visits.parquet").resolve()
    assert plan.text.startswith("#:schema ./plan.schema.json")
    done = Plan.read(_quick(tmp_path)).run(tmp_path / "release")
    assert done.draft and sf.verify(tmp_path / "release").ok
    released = done.load()
    assert not {"patient_id", "visit_id", "nothing", "same", "hospital"} & set(released.columns)
    assert released.guarantee.claims[0].k >= 11 and released.guarantee.claims[0].unit.of == "person"


def _quick(folder: Path) -> Path:
    path = folder / "quick.toml"
    text = (folder / "plan.toml").read_text(encoding="utf-8")
    path.write_text(unjudged(text), encoding="utf-8")
    return path


def test_nothing_is_replaced_unasked(tmp_path: Path) -> None:
    data = str(visits(tmp_path))
    write(propose(data, folder=tmp_path), tmp_path)
    write(propose(data, folder=tmp_path), tmp_path)  # the same again changes nothing
    (tmp_path / "plan.toml").write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match=r"plan\.toml is there already"):
        write(propose(data, folder=tmp_path), tmp_path)
    assert (tmp_path / "plan.toml").read_text(encoding="utf-8") == "mine"
    write(propose(data, folder=tmp_path), tmp_path, overwrite=True)
    assert (tmp_path / "plan.toml").read_text(encoding="utf-8") != "mine"
    assert (tmp_path / "schema.toml").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "name", ["a.b", 'qu"ote', "new\nline", "[x]", "tab\there", "ü", "del\x7f", "'", "a # b", " "]
)
def test_any_name_of_a_column_survives(tmp_path: Path, name: str) -> None:
    rng = random.Random(1)
    table = pa.table(
        {name: [rng.choice("abc") for _ in range(60)], "sex": [rng.choice("fm") for _ in range(60)]}
    )
    pq.write_table(table, tmp_path / "x.parquet")
    write(propose(str(tmp_path / "x.parquet"), folder=tmp_path), tmp_path)
    assert set(Plan.read(tmp_path / "plan.toml").table("columns")) == {name, "sex"}


def test_bands() -> None:
    assert [band(t) for t in ("[0-10)", "10 to 19", "90+", ">75", "x", "")] == [
        (0, 10), (10, 19), (90, float("inf")), (75, float("inf")), None, None,
    ]  # fmt: skip
    hierarchy = Bands().over(["[20-30)", "[0-10)", "[10-20)"])
    labels = {hierarchy.labels[1][i] for i in hierarchy.ancestors[1]}
    assert hierarchy.labels[0] == ("[0-10)", "[10-20)", "[20-30)") and labels == {"0 to 20", "[20-30)"}


# -- real data -------------------------------------------------------------------------------------


def of_real_data(data: Path, folder: Path, known: set[str], person: str) -> None:
    found = propose(str(data), folder=folder)
    assert set(found.of_role(Role.QUASI_IDENTIFIER)) == known and found.of_role(Role.PERSON) == (person,)
    write(found, folder)
    if len(found.guesses) < 30:  # small enough for a thorough look, which takes longer than a test should
        text = (folder / "plan.toml").read_text(encoding="utf-8")
        (folder / "plan.toml").write_text(
            text.replace('effort = "normal"', 'effort = "quick"'), encoding="utf-8"
        )
    done = Plan.read(folder / "plan.toml").run(folder / "release")
    assert done.draft and sf.verify(folder / "release").ok
    release = done.load()
    assert release.guarantee.claims[0].k >= 5 and not {person} & set(release.columns)
    report = (folder / "release" / "internal" / "report.html").read_text(encoding="utf-8")
    for words in ("DRAFT", "What each quasi-identifier lost", "What it keeps: on average", "The columns"):
        assert words in report


def part(data: Path, folder: Path, rows: int, columns: int | None = None) -> Path:
    """The first rows and columns of a real table, for a quick look."""
    table = pq.read_table(data).slice(0, rows)
    pq.write_table(table.select(table.column_names[:columns]), folder / "part.parquet")
    return folder / "part.parquet"


DIABETES = "diabetes130/diabetic_data.parquet"
CLAIMS = "desynpuf/desynpuf_inpatient_claims_2008_2010_s1.parquet"
DAYS = {"CLM_FROM_DT", "CLM_THRU_DT", "CLM_ADMSN_DT", "NCH_BENE_DSCHRG_DT"}


@pytest.mark.soak
def test_a_part_of_diabetes(data_dir: Path, tmp_path: Path) -> None:
    of_real_data(
        part(data_dir / DIABETES, tmp_path, 1500), tmp_path, {"race", "gender", "age"}, "patient_nbr"
    )


# So many rows are more than the default work is enough for, and a run says so.
AT_ITS_LIMIT = pytest.mark.filterwarnings("ignore:the search was stopped by its work limit")


@pytest.mark.soak
@AT_ITS_LIMIT
def test_diabetes(data_dir: Path, tmp_path: Path) -> None:
    known = {"race", "gender", "age", "payer_code", "medical_specialty"}  # the last two: missing in the part
    of_real_data(data_dir / DIABETES, tmp_path, known, "patient_nbr")


@pytest.mark.soak
@AT_ITS_LIMIT
def test_inpatient_claims(data_dir: Path, tmp_path: Path) -> None:
    of_real_data(data_dir / CLAIMS, tmp_path, DAYS, "DESYNPUF_ID")


@pytest.mark.soak
def test_roles_of_inpatient_claims(data_dir: Path, tmp_path: Path) -> None:
    found = propose(str(part(data_dir / CLAIMS, tmp_path, 4000)), folder=tmp_path)
    assert set(found.of_role(Role.QUASI_IDENTIFIER)) == DAYS
    assert found.of_role(Role.IDENTIFIER) == ("CLM_ID", *(f"{d}_PHYSN_NPI" for d in ("AT", "OP", "OT")))
    guess = {g.column.name: g for g in found.guesses}
    assert (
        guess["ICD9_DGNS_CD_1"].hierarchy == {"recipe": "icd9", "chapters": True}
        and guess["ICD9_DGNS_CD_1"].column.role is Role.SENSITIVE
    )
    assert all(guess[f"HCPCS_CD_{i}"].drop for i in range(1, 46))
