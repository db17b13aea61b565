"""Guesses at those who treat, sign or ask, and at numbers and names that no word explains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.inference import infer
from sfumato.schema import Role, Schema

ROWS = 600
DRAW = np.random.default_rng(3)
NAMES = [
    f"{a} {b}"
    for a in ("Jan", "Ewa", "Marek", "Adam", "Rui")
    for b in ("Bos", "Nowak", "Mendes", "Roth", "Diaz")
]
NUMBERS = [4_100_000 + 37_411 * k for k in range(30)]


def some(*values: Any) -> list[Any]:
    return [values[i] for i in DRAW.integers(0, len(values), ROWS)]


def beside_health(**columns: Any) -> Schema:
    known = {"sex": some("male", "female"), "age": some(*range(20, 90)), "diabetes": some(0, 1)}
    return infer(pa.table(known | columns | {"hypertension": some(0, 1)}))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Lekarz_prowadzący", NAMES),
        ("medico_assistente", NAMES),
        ("behandelaar", ("J. de Vries", "M. Bos", "P. Mulder", "A. Peters", "K. Smit", "L. Kok")),
        ("Hausarzt", ("Dr. Maier", "Dr. Roth", "Dr. Frank")),
        ("whatever", ("Dr. Maier", "Dr. Roth", "Dr. Frank", "Prof. Kaiser")),
        ("Operateur", ("MAI", "SCH", "VOG", "ROT", "HUB")),
        ("rph_initials", ("JT", "KM", "AL", "BS", "RW")),
        ("validated_by", ("hub", "gru", "wag", "pic", "ste")),
        ("doktor_tescil_no", NUMBERS),
        ("medico_colegiado", NUMBERS),
        ("provider_num", NUMBERS),
        ("Employee No.", NUMBERS),
        ("loyalty_card", [4_000_000_000_000_001 + 977 * k for k in range(200)]),
        ("n_utente", [210_000_001 + 9_973 * k for k in range(200)]),
        ("zz_hpr", NUMBERS),  # nothing explains numbers so long
        ("caregiver_id", [10_007 + 311 * k for k in range(40)]),
        ("code_menage", [f"MN{k:03d}" for k in range(150)]),
        ("treatment_supporter_name", NAMES),
        ("Ordering Provider", ("CHEN, LI MD", "PATEL, RAJ MD", "O'NEIL, SARAH DO", "ROTH, KEVIN NP")),
        ("CONSULT", [f"C{1_234_567 + 7_919 * k}" for k in range(40)]),
        ("Embriólogo", ("AMR", "LPG", "CSS", "JVT", "MNB")),
        ("voornaam_kind", ("Jan", "Emma", "Lucas", "Sara", "Noah", "Anna", "Tom", "Eva", "Max", "Julia")),
        ("监护人", ("王建国", "李秀英", "张志强", "刘桂兰", "陈海燕")),
        ("whatever", ("RUA DAS FLORES 12", "AV BRASIL 1009", "RUA TIRADENTES 77", "AV SETE 3", "RUA XV 9")),
    ],
)
def test_names_and_numbers_of_people_are_left_out(name: str, values: Any) -> None:
    assert beside_health(**{name: some(*values)})[name].role in (Role.IDENTIFIER, Role.PERSON)


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("hospital_id", range(10_100, 10_108), Role.QUASI_IDENTIFIER),
        ("doctor_specialty", ("CAR", "NEU", "PED", "ORT", "URO"), Role.QUASI_IDENTIFIER),
        ("doctor_visits", range(12), None),
        ("address_city", ("Salem", "Dover", "Bristol", "Auburn"), Role.QUASI_IDENTIFIER),
        ("biologicalSex", ("FEMALE", "MALE", "NOT_SET"), Role.QUASI_IDENTIFIER),
        ("herkomst", ("Nederland", "Turkije", "Marokko", "Overig westers"), Role.QUASI_IDENTIFIER),
        ("sor_ann", (2018, 2019), Role.QUASI_IDENTIFIER),
        ("m_clin", ("M0", "M1"), Role.SENSITIVE),
        ("zz_flag", ("N", "H", "L"), Role.SENSITIVE),
        ("zz_done", ("Appendectomy", "Partial mastectomy", "Knee arthroplasty"), Role.SENSITIVE),
        ("height_cm", range(150, 195), Role.SENSITIVE),
        ("Zuweisungsdiagnose", ("Fieber", "Kontrolle", "unklar"), Role.SENSITIVE),
        ("sensor_age_h", range(240), None),
    ],
)
def test_what_is_no_person_is_not(name: str, values: Any, role: Role | None) -> None:
    found = beside_health(**{name: some(*values)})[name]
    assert found.role is role if role else found.role not in (Role.IDENTIFIER, Role.PERSON)
    assert found.unit != "months"


def test_concepts_of_a_cdm_are_read_by_its_names() -> None:
    table = {
        "person_id": [k // 3 for k in range(ROWS)],
        "condition_concept_id": some(*range(312_000, 312_060)),
        "condition_type_concept_id": some(32_817, 32_020),
        "gender_concept_id": some(8_507, 8_532),
        "unit_concept_id": some(8_876, 9_529, 8_840),
    }
    found = {c.name: c.role for c in infer(pa.table(table))}
    assert (
        found["condition_concept_id"] is Role.SENSITIVE
        and found["gender_concept_id"] is Role.QUASI_IDENTIFIER
    )
    assert found["condition_type_concept_id"] is Role.OTHER and found["unit_concept_id"] is Role.OTHER


def test_whole_numbers_as_weights_of_a_survey() -> None:
    assert beside_health(KWGTR=some(*range(1_500, 30_000, 37)))["KWGTR"].role is Role.WEIGHT


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("zzq", ("Bart", "Ilse", "Wouter", "Sanne", "Joris")),  # first names alone
        ("zzq", tuple(f"doc. {n}" for n in ("Laca", "Hudec", "Slavik", "Bena", "Krajci"))),
        (
            "zzq",
            tuple(f"{a} {b}" for a in ("Esi", "Kojo", "Adwoa", "Fiifi") for b in ("Quaye", "Darko", "Addo")),
        ),
        ("zzq", tuple(f"{k:02d}-{7919 * k:09d}-{k % 10}" for k in range(1, 90))),  # long, of one form
        ("zzq", tuple(f"M{10_007 + 13 * k}A" for k in range(30))),  # many codes of one form
        ("medicare_num", tuple(f"{k}AB{k:04d}" for k in range(1_000, 1_200))),
    ],
)
def test_people_are_told_by_values_where_the_name_says_nothing_of_them(
    name: str, values: tuple[str, ...]
) -> None:
    rows = 900
    table = pa.table(
        {
            "age": [20 + i % 60 for i in range(rows)],
            "sex": [("male", "female")[i % 2] for i in range(rows)],
            name: [values[i % len(values)] for i in range(rows)],
            "diabetes": [i % 3 % 2 for i in range(rows)],
        }
    )
    assert infer(table)[name].role in (Role.IDENTIFIER, Role.PERSON)
