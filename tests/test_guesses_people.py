"""Columns whose names say nothing, and that name people: told by letters, signs, repetition, rows of one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.inference.letters import name_like

ROWS = 900
SURNAMES = (
    "Hinterleitner Wagenhofer Brambilla Okonkwo Papadimitriou Vandermeer Szczepaniak Delahunty Figueirinha"
)
GOODS = "Paracetamol Ibuprofen Ramipril Metformin Simvastatin Pantoprazole Amlodipine Furosemide Bisoprolol"


def _roles(**columns: object) -> dict[str, str]:
    """The roles of columns beside an age and a sex, so that the table is about people."""
    rng = np.random.default_rng(1)
    table = {
        "age": rng.integers(0, 95, ROWS),
        "sex": np.where(rng.integers(0, 2, ROWS) == 0, "m", "f"),
        **{name: np.asarray(values) for name, values in columns.items()},
    }
    return {c.name: str(c.role) for c in sf.scan(pa.table(table)).schema}


def _drawn(levels: list[str] | list[int], seed: int = 2) -> np.ndarray:
    return np.array(levels)[np.random.default_rng(seed).integers(0, len(levels), ROWS)]


def test_letters_tell_surnames_that_no_list_has_from_drugs() -> None:
    surnames, goods = name_like(SURNAMES.split()), name_like(GOODS.split())
    assert surnames is not None and goods is not None
    assert surnames > 0 > goods
    assert name_like(["12", "A1"]) is None


@pytest.mark.parametrize("name", ["zz4", "fld_b"])
def test_surnames_beside_a_number_of_a_person_are_left_out(name: str) -> None:
    numbers = [f"P{i:06d}" for i in range(ROWS)]
    assert _roles(patient_id=numbers, **{name: _drawn(SURNAMES.split())})[name] == "identifier"


@pytest.mark.parametrize(
    "levels",
    [
        ["A.L.", "J.M.", "N.E.", "I.U."],  # initials
        ["KANE, R", "MEHTA, S", "LOPRESTI, J", "FISK, D", "ODUYA, T"],
        ["OA Brunner", "FA Egger", "OA Thaler", "TA Reiter", "FA Moser"],
        ["mdw", "kvd", "jhp", "rsn", "abt"],
        ["Мельник Т. Г.", "Савченко І. Б.", "Руденко О. О.", "Поліщук В. В."],
    ],
)
def test_signs_and_short_names_are_left_out(levels: list[str]) -> None:
    assert _roles(zz4=_drawn(levels))["zz4"] == "identifier"


@pytest.mark.parametrize("levels", [["MED", "SUR", "CAR", "OBS", "PUL"], ["i.v.", "p.o.", "s.c.", "i.m."]])
def test_codes_and_ways_to_give_a_drug_are_no_signs(levels: list[str]) -> None:
    assert _roles(zz4=_drawn(levels))["zz4"] != "identifier"


def test_numbers_that_never_come_twice_where_chance_would_repeat_them_number_rows() -> None:
    rng = np.random.default_rng(3)
    given_out = rng.choice(3_000, ROWS, replace=False)
    assert _roles(tube=given_out)["tube"] == "identifier"
    assert _roles(tube=rng.integers(0, 3_000, ROWS))["tube"] != "identifier"


def test_numbers_of_those_who_treat_are_left_out_and_those_of_a_clinic_are_not() -> None:
    people = [10_000_000 + 7 * (i // 3) for i in range(ROWS)]
    doctors, hospitals = (
        _drawn(list(range(3_000_017, 3_060_017, 997))),
        _drawn(list(range(3_000_017, 3_060_017, 997))),
    )
    roles = _roles(patient_id=people, pxe_num=doctors, clinic_code=hospitals)
    assert roles["pxe_num"] == "identifier"
    assert roles["clinic_code"] == "quasi-identifier"


def test_what_stays_with_a_person_is_known_rather_than_wanted() -> None:
    rng = np.random.default_rng(4)
    person = np.arange(ROWS) // 6
    of_person = rng.integers(0, 4, ROWS)[person]
    table = pa.table(
        {
            "patient_id": 10_000_000 + 7 * person,
            "sex": np.array(["m", "f"])[rng.integers(0, 2, ROWS)[person]],
            "birth_date": (np.datetime64("1940-01-01") + rng.integers(0, 20_000, ROWS))[person],
            "zz1": np.array(list("abcd"))[of_person],
            "zz2": np.array(list("abcd"))[rng.integers(0, 4, ROWS)],
        }
    )
    schema = sf.scan(table).schema
    assert str(schema["zz1"].role) == "quasi-identifier"
    assert "other values in each row of a person" in schema["zz2"].reason


def test_a_dictionary_whose_weight_is_a_code_is_not_the_one_that_was_used() -> None:
    rng = np.random.default_rng(5)
    table = pa.table(
        {f"V{k:03d}": rng.integers(1, 7, ROWS) for k in range(1, 9)} | {"V012": rng.integers(15, 90, ROWS)}
    )
    assert "weight" not in {str(c.role) for c in sf.scan(table).schema}
