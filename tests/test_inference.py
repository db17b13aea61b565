import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from declared import PUBLIC

from sfumato.inference import infer
from sfumato.inference.names import is_about, read, words
from sfumato.io import scan
from sfumato.schema import Column, Kind, Role, Schema

ROWS = 200


def one(name: str, values, type_=None) -> Column:
    array = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values, type_)
    return infer(pa.table([array], names=[name]))[name]


def cycle(values, rows=ROWS):
    return [values[i % len(values)] for i in range(rows)]


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("BENE_BIRTH_DT", ("bene", "birth", "dt")),
        ("patientId", ("patient", "id")),
        ("HTTPServer2Go", ("http", "server", "2", "go")),
        ("Größe (cm)", ("groesse", "cm")),
        ("âge", ("age",)),
        ("", ()),
    ],
)
def test_words(name, parts):
    assert words(name) == parts


def test_whole_words_only():
    for name in ("essex", "percentage", "racetrack", "package", "stage", "zipper"):
        assert not read(name).about, name
    assert not is_about("exam_identity", frozenset({"id"}))


@pytest.mark.parametrize(
    "name",
    ["age", "AgeAtAdmission", "Alter", "âge", "sex", "Geschlecht", "sexe", "PLZ", "Postleitzahl",
     "code_postal", "zip3", "county", "Landkreis", "departement", "race", "ethnicity", "Familienstand",
     "etat_civil", "marital-status", "education", "Beruf", "profession", "native-country", "pays", "DOB",
     "Geburtsdatum", "date_naissance", "admission_date", "Entlassung_Datum", "hospital", "Krankenhaus",
     "hopital"],
)  # fmt: skip
def test_quasi_identifiers_by_name(name):
    assert one(name, cycle(["red", "green", "blue"])).role is Role.QUASI_IDENTIFIER


@pytest.mark.parametrize(
    "name",
    ["diagnosis", "dx1", "icd10", "Diagnose", "diagnostic", "drug", "Medikament", "cost", "Kosten", "cout",
     "total_charges", "income", "Einkommen", "revenu", "disease", "Krankheit", "maladie", "income_family"],
)  # fmt: skip
def test_sensitive_by_name(name):
    assert one(name, cycle(["red", "green", "blue"])).role is Role.SENSITIVE


@pytest.mark.parametrize("name", ["essex", "percentage", "colour", "rank", "package"])
def test_other_by_name(name):
    assert one(name, cycle(["red", "green", "blue"])).role is Role.OTHER


def test_survey_weights_are_not_bodies():
    assert one("perwt04f", np.linspace(1, 9, ROWS)).role is Role.WEIGHT
    assert one("survey_weight", np.linspace(1, 9, ROWS)).role is Role.WEIGHT
    assert one("weight", np.linspace(2000, 30_000, ROWS)).role is Role.WEIGHT
    body = one("weight", np.linspace(45, 120, ROWS))
    assert body.role is Role.SENSITIVE
    assert "body" in body.reason
    assert one("birth_weight", np.linspace(2000, 4500, ROWS)).kind is Kind.NUMERIC
    assert "survey" not in read("wt")
    assert one("weight", cycle(["light", "heavy", "very heavy"])).role is Role.OTHER


# -- identifiers -----------------------------------------------------------------------------------


def test_numbers_of_people():
    unique = [f"P{i:05d}" for i in range(ROWS)]
    assert one("patient_id", unique).role is Role.IDENTIFIER
    assert one("patient_id", cycle(unique[:90])).role is Role.PERSON
    assert one("patient_nbr", [i // 3 for i in range(ROWS)]).role is Role.PERSON
    assert one("Patient", cycle(unique[:90])).role is Role.PERSON
    assert one("encounter_id", list(range(ROWS))).role is Role.IDENTIFIER
    assert one("admission_type_id", cycle([1, 2, 3])).role is Role.OTHER
    assert one("admission_type_id", cycle([1, 2, 3])).kind is Kind.NOMINAL
    assert one("hospital_id", list(range(ROWS))).role is Role.QUASI_IDENTIFIER
    assert one("dupersid", np.arange(ROWS) + 2e7).role is Role.IDENTIFIER


def test_names_and_addresses_even_if_they_repeat():
    for name in ("last_name", "Nachname", "nom", "email", "Telefon", "address", "ssn"):
        assert one(name, cycle(["aa", "bb", "cc"])).role is Role.IDENTIFIER, name
    assert one("drug_name", cycle(["aa", "bb", "cc"])).role is Role.SENSITIVE


@pytest.mark.parametrize(
    "value", ["a{}@b.org", "00000000-0000-0000-0000-{:012d}", "123-45-{:04d}", "+49 30 {:07d}"]
)
def test_the_shape_gives_an_identifier_away(value):
    assert one("x", [value.format(i) for i in range(ROWS)]).role is Role.IDENTIFIER


def test_unique_words_are_an_identifier_and_unique_numbers_are_not():
    assert one("x", [f"w{i}" for i in range(ROWS)]).role is Role.IDENTIFIER
    assert one("score", np.random.default_rng(1).normal(size=ROWS)).role is Role.OTHER


# -- kinds and types -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind", "type_"),
    [
        (cycle(["yes", "no"]), "flag", "text"),
        (cycle([0, 1]), "flag", "integer"),
        (cycle([True, False, None]), "flag", "boolean"),
        (cycle(["only"]), "flag", "text"),
        (cycle(["a", "b", "c"]), "nominal", "text"),
        ([i // 3 for i in range(ROWS)], "numeric", "integer"),
        ([i / 7 for i in range(ROWS)], "numeric", "real"),
        ([str(i // 3) for i in range(ROWS)], "numeric", "integer"),
        ([f"{i}.5" for i in range(ROWS)], "numeric", "real"),
        ([f"{i:04d}" for i in range(ROWS)], "nominal", "text"),
        (cycle(["12345678901234567890", "12345678901234567891", "5"]), "nominal", "text"),
        (cycle([dt.date(2020, 1, d) for d in range(1, 20)]), "date", "date"),
        (cycle([f"2020-01-{d:02d}" for d in range(1, 20)]), "date", "date"),
        (cycle([f"2020-02-{d:02d}" for d in range(25, 32)]), "nominal", "text"),
        (cycle([f"202001{d:02d}" for d in range(1, 20)]), "nominal", "text"),
        (cycle([20200100 + d for d in range(1, 20)]), "nominal", "integer"),
        (cycle([dt.datetime(2020, 1, 1, 10), dt.datetime(2021, 1, 1)]), "date", "datetime"),
        (cycle([["A"], ["B", "C"]]), "codes", "text"),
        (cycle(["E11;I10", "I10", "J45;E11;I10"]), "codes", "text"),
        (cycle(["E11|I10", "I10"]), "codes", "text"),
        (cycle(["250.1, 401.9", "401.9", "250.1"]), "codes", "text"),
        (cycle(["E11.9 I10.0", "I10.0", "J45.1"]), "codes", "text"),
        (cycle(["1,5", "2,25", "3"]), "nominal", "text"),
        (cycle(["New York", "Los Angeles", "Rome"]), "nominal", "text"),
        (cycle(["18 to 29", "30 to 49", "50 to 69"]), "nominal", "text"),
        (cycle(["[0-10)", "[10-20)", "[20-30)"]), "nominal", "text"),
        ([None] * ROWS, "nominal", "text"),
        ([f"seen on day {i} with a cough and told to rest at home" for i in range(ROWS)], "text", "text"),
    ],
)
def test_kinds(values, kind, type_):
    column = one("x", values)
    assert (column.kind, column.type) == (kind, type_)
    assert column.reason
    assert column.levels is None
    assert column.edges is None
    assert not column.confirmed


def test_the_separator_of_codes():
    assert one("dx", cycle(["E11|I10", "I10"])).separator == "|"
    assert one("dx", cycle([["A"], ["B"]])).separator == ";"


def test_few_rows_are_not_called_flags():
    assert one("age", [34, 51]).kind is Kind.NUMERIC
    assert one("town", ["Rome", "Oslo"]).kind is Kind.NOMINAL
    assert one("sex", ["m", "f", "f"]).kind is Kind.FLAG


def test_numbers_that_are_codes():
    for name in ("zip", "race", "drg_code", "RACE1"):
        assert one(name, cycle([1, 2, 3, 4])).kind is Kind.NOMINAL, name
    assert one("code_count", cycle([1, 2, 3, 4])).kind is Kind.NUMERIC


def test_categoricals_keep_their_levels_unconfirmed():
    ordered = pd.Categorical(cycle(["low", "high"]), categories=["low", "mid", "high"], ordered=True)
    column = one("severity", pa.array(ordered))
    assert (column.kind, column.levels, column.confirmed) == (Kind.ORDINAL, ("low", "mid", "high"), False)
    plain = one("colour", pa.array(pd.Categorical(cycle(["r", "g"]), categories=["r", "g", "b"])))
    assert (plain.kind, plain.levels) == (Kind.NOMINAL, ("r", "g", "b"))
    numbers = one("ward", pa.array(pd.Categorical(cycle([1, 2, 3]), categories=[1, 2, 3, 4])))
    assert (numbers.kind, numbers.type, numbers.levels) == (Kind.NOMINAL, "integer", (1, 2, 3, 4))


def test_what_text_nearly_is_stands_in_the_reason():
    for values, word in (
        (["1.234,50", "12,50", "2.345,00"], "thousands"),
        (["31/12/99", "01/02/00", "02/03/01"], "two digits"),
        (["12-34-56", "40-47-84", "20-00-00"], "words"),
        (["1 234", "999", "12 000"], "thousands"),
        (["00123", "99999", "12345"], "leading zeros"),
        (["001", "470", "871"], "leading zeros"),
        (["250.00", "401.9", "038.9"], "words"),
        (["12345678901234567890", "9" * 20, "8" * 20], "very long"),
    ):
        assert word in one("x", cycle(values)).reason, values


def test_a_hash_of_64_bits_is_a_name():
    column = one("x", pa.array([2**64 - 1, 1, 2**63], pa.uint64()))
    assert (column.kind, column.type) == (Kind.NOMINAL, "text")
    assert one("x", pa.array([5, 1, 2**63 - 1], pa.uint64())).type == "integer"


@pytest.mark.parametrize(
    ("texts", "type_"), [(["1.123456789012", "2.5"], "real"), (["1" * 33, "2"], "text"), (["1.5"], "decimal")]
)
def test_decimals_that_no_schema_holds_are_guessed_as_what_can_be_counted(texts, type_):
    data = pa.table({"x": pa.array([Decimal(t) for t in texts])})
    table = scan(data)
    assert table.schema["x"].type == type_
    assert table.counts("x").total == len(texts)


def test_missing_markers():
    marked = one("job", cycle(["?", "clerk", "nurse"]))
    assert marked.missing_codes == ("?",)
    assert one("job", cycle(["Unknown", "clerk", "nurse"])).missing_codes == ()
    assert "'unknown' may stand for missing" in one("job", cycle(["Unknown", "clerk", "nurse"])).reason
    assert "-9 may stand" in one("visits", cycle([-9, 0, 1, 2, 3])).reason
    assert "999 may stand" in one("visits", cycle([999, 0, 1, 2, 3])).reason
    assert "may stand" not in one("visits", cycle([5, 0, 1, 2, 3])).reason
    assert one("visits", cycle(["?", "1", "2"])).type == "text"


def test_reasons_hold_no_values():
    for values in (
        ["SECRET", "SECRET2", "x"],
        ["SECRET;A1", "B2;C3"],
        [f"SECRET word {i} a b c d e f" for i in range(9)],
    ):
        assert "SECRET" not in one("x", cycle(values)).reason


def test_a_hint_wins_but_cannot_confirm():
    table = pa.table({"sex": cycle([1, 2]), "q1": cycle([1, 2, 9]), "free": cycle(["a", "b"])})
    hints = Schema(
        (
            Column(
                "sex",
                "nominal",
                levels=(1, 2),
                labels={"1": "male", "2": "female"},
                type="integer",
                provenance=PUBLIC,
            ),
            Column(
                "q1", "ordinal", role="sensitive", type="integer", missing_codes=(9,), description="asked"
            ),
        )
    )
    found = infer(table, hints=hints)
    assert found["sex"].kind is Kind.NOMINAL
    assert found["sex"].labels == {"1": "male", "2": "female"}
    assert found["sex"].role is Role.QUASI_IDENTIFIER  # the file did not say
    assert not found["sex"].confirmed
    assert (found["q1"].role, found["q1"].missing_codes, found["q1"].description) == (
        Role.SENSITIVE,
        (9,),
        "asked",
    )
    assert found["free"].kind is Kind.FLAG


def test_every_schema_survives_toml():
    table = pa.table({"id": list(range(40)), "dx": cycle(["A1;B2", "B2"], 40), "w?": cycle([1.5, None], 40)})
    schema = infer(table)
    assert Schema.from_toml(schema.to_toml()) == schema


def test_empty_and_odd_columns():
    assert one("x", pa.array([], pa.string())).kind is Kind.NOMINAL
    assert one("x", pa.array([None, None], pa.null())).type == "text"
    assert one("x", pa.array(cycle([1, None]), pa.decimal128(9, 2))).type == "decimal"
    assert one("x", pa.array(cycle(["a", "b"]), pa.large_string())).kind is Kind.FLAG
    assert one("x", pa.array(cycle(["a", "b", "c"]), pa.string_view())).kind is Kind.NOMINAL
    assert one("x", pa.array([float("nan")] * ROWS)).type == "real"
    assert one("x", pa.array(cycle([dt.time(10), dt.time(11)]))).type == "text"


# -- real data -------------------------------------------------------------------------------------

REAL = {
    "adult/adult_uci_48842.parquet": {
        "quasi-identifier": "age workclass education marital-status occupation race sex native-country",
        "sensitive": "income capital-gain",
        "weight": "fnlwgt",
        "other": "hours-per-week",
    },
    "diabetes130/diabetic_data.parquet": {
        "identifier": "encounter_id",
        "person": "patient_nbr",
        "quasi-identifier": "race gender age",
        "sensitive": "diag_1 diag_2 diag_3 insulin readmitted",
        "other": "weight admission_type_id",
    },
    "desynpuf/desynpuf_beneficiary2008_s1.parquet": {
        "identifier": "DESYNPUF_ID",
        "quasi-identifier": "BENE_BIRTH_DT BENE_SEX_IDENT_CD BENE_RACE_CD SP_STATE_CODE BENE_COUNTY_CD",
        "sensitive": "SP_DIABETES SP_COPD MEDREIMB_IP",
    },
    "desynpuf/desynpuf_inpatient_claims_2008_2010_s1.parquet": {
        "person": "DESYNPUF_ID",
        "identifier": "CLM_ID AT_PHYSN_NPI",
        "quasi-identifier": "CLM_ADMSN_DT NCH_BENE_DSCHRG_DT PRVDR_NUM",
        "sensitive": "ICD9_DGNS_CD_1 ADMTNG_ICD9_DGNS_CD CLM_PMT_AMT CLM_DRG_CD",
    },
    "meps/meps2004_adults.parquet": {
        "weight": "weight",
        "quasi-identifier": "age sex race hispanic education region famsize",
        "sensitive": "income_family exp_tot exp_dent",
    },
    "meps/meps2003_age65plus_cameron_trivedi.parquet": {
        "identifier": "dupersid",
        "sensitive": "totexp income",
    },
    "sparcs/sparcs2020_musculoskeletal_charges.parquet": {
        "quasi-identifier": "hospital_county permanent_facility_id gender race ethnicity age",
        "sensitive": "ccsr_diagnosis_code total_charges total_costs",
    },
}


@pytest.mark.parametrize("path", REAL)
def test_roles_on_real_data(data_dir, path):
    file = data_dir / path
    if not file.exists():
        pytest.skip(f"{path} is not among the real data")
    schema = infer(pq.read_table(file).slice(0, 100_000))
    wrong = {
        name: f"{schema[name].role} instead of {role}"
        for role, names in REAL[path].items()
        for name in names.split()
        if schema[name].role != role
    }
    assert not wrong


def test_kinds_on_real_data(data_dir):
    file = data_dir / "diabetes130/diabetic_data.parquet"
    if not file.exists():
        pytest.skip("diabetes130 is not among the real data")
    schema = infer(pq.read_table(file).slice(0, 50_000))
    assert schema["time_in_hospital"].kind is Kind.NUMERIC
    assert schema["race"].missing_codes == ("?",)
    assert schema["change"].kind is Kind.FLAG
    assert schema["diag_1"].kind is Kind.NOMINAL
    assert not any(column.kind in (Kind.TEXT, Kind.CODES) for column in schema)
