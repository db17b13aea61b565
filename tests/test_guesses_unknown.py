"""Guesses at columns whose names are in no list: by values, by neighbours, as short for other words."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.inference import infer
from sfumato.inference.check_digits import checked_numbers
from sfumato.inference.fallback import NOT_EXPLAINED
from sfumato.inference.names import parts, read
from sfumato.schema import Role, Schema

ROWS = 400
DRAW = np.random.default_rng(11)


def some(*values: Any) -> list[Any]:
    return [values[i] for i in DRAW.integers(0, len(values), ROWS)]


def roles(**columns: Any) -> Schema:
    """The guesses at a table that is clearly about people: what is asked stands between age and a disease."""
    known = {"sex": some("male", "female"), "age": some(*range(20, 90))}
    return infer(pa.table(known | columns | {"diabetes": some(0, 1)}))


def among_known(**columns: Any) -> Schema:
    known = {"sex": some("male", "female"), "age": some(*range(20, 90))}
    return infer(pa.table(known | columns | {"region": some("north", "south", "east")}))


def among_health(**columns: Any) -> Schema:
    table = {"sex": some("male", "female"), "diabetes": some(0, 1), **columns, "hypertension": some(0, 1)}
    return infer(pa.table(table))


@pytest.mark.parametrize(
    ("values", "role"),
    [
        ((0, 1), Role.SENSITIVE),
        (("ja", "nein"), Role.SENSITIVE),
        (("Y", "N", "U"), Role.SENSITIVE),
        (("not at all", "several days", "nearly every day"), Role.SENSITIVE),
        (("nunca", "a veces", "siempre"), Role.SENSITIVE),
        ((1, 2, 7, 9), Role.SENSITIVE),
        ((0, 1, 2, 3), Role.SENSITIVE),
        (tuple(np.round(np.linspace(0.1, 9, 80), 2)), Role.SENSITIVE),
        (tuple(range(90, 190)), Role.SENSITIVE),
        ((1, 2), Role.SENSITIVE),
        (tuple(range(1, 9)), Role.QUASI_IDENTIFIER),
        (("qua", "bru", "zot"), Role.QUASI_IDENTIFIER),
    ],
)
def test_what_nothing_explains_gets_the_safer_role_and_is_said_to_be_unsure(values, role) -> None:
    found = roles(zzq=some(*values))["zzq"]
    assert found.role is role and found.confidence == "unsure" and NOT_EXPLAINED in found.reason


@pytest.mark.parametrize("values", [(0, 1), (1, 2, 3), ("qua", "bru", "zot"), tuple(range(200, 290))])
def test_columns_about_one_thing_stand_together(values) -> None:
    assert among_health(zzq=some(*values))["zzq"].role is Role.SENSITIVE
    assert among_known(zzq=some(*values))["zzq"].role is Role.QUASI_IDENTIFIER


def test_items_of_a_questionnaire_are_told_by_their_stem_and_their_values() -> None:
    """Wherever they stand; others of the stem with other values are none."""
    items = {f"q4_{i}": some("aa", "bb", "cc") for i in range(1, 5)}
    found = among_known(**items, q4_9=some("qua", "bru"))
    assert all(found[n].role is Role.SENSITIVE and "answers" in found[n].reason for n in items)
    assert "answers" not in found["q4_9"].reason


def test_a_battery_of_questions_is_not_read_by_the_letters_of_single_names() -> None:
    """`nat` and `aid` are no birth and no number where ten columns begin so and have the same answers."""
    names = ("natspac", "nataid", "natrace", "natcity", "natarms", "natsoc", "natfare")
    found = among_known(**{name: some(-1, 0, 1) for name in names})
    assert all(found[n].role is Role.SENSITIVE and "battery" in found[n].reason for n in names)
    known = among_known(**{f"region{i}": some(1, 2, 3) for i in range(8)})
    assert known["region4"].role is Role.QUASI_IDENTIFIER


def test_measurements_are_no_ages_and_what_rises_in_blocks_numbers_groups() -> None:
    pulses = np.clip(np.round(DRAW.normal(40, 9, 4_000)), 5, 80).astype(int)
    table = {"no": [f"A{i:05d}" for i in range(4_000)], "zzq": pulses, "diabetes": pulses % 2}
    assert "ages" not in infer(pa.table(table))["zzq"].reason
    blocks = np.sort(DRAW.integers(4, 2_000, ROWS))
    assert roles(intnum=blocks)["intnum"].role is Role.PERSON


@pytest.mark.parametrize("name", ["ScrSSN", "treatment_buddy_tel", "lab_contact_phone"])
def test_a_number_that_leads_to_a_person_is_one_whatever_stands_beside_it(name: str) -> None:
    for least, most in ((10**8, 10**9), (10**9, 10**10)):
        found = roles(**{name: DRAW.integers(least, most, ROWS)})[name]
        assert found.role in (Role.IDENTIFIER, Role.PERSON), found.reason


def test_ages_and_sexes_are_looked_for_where_no_name_says_them() -> None:
    """Once each: of several columns like them the first; a name that says something else is none."""
    columns = {f"f{i:04d}": some(*values) for i, values in enumerate(
        (range(18, 93), range(18, 93), (1, 2), (1, 2), ("K", "M"), range(60, 190)))}  # fmt: skip
    found = infer(pa.table({"no": [f"A{i:05d}" for i in range(ROWS)], **columns, "diabetes": some(0, 1)}))
    assert "ages" in found["f0000"].reason and "ages" not in found["f0001"].reason
    assert "sex" in found["f0002"].reason and "sex" not in found["f0003"].reason
    assert found["f0000"].role is found["f0002"].role is Role.QUASI_IDENTIFIER
    named = infer(pa.table({"id": range(ROWS), "group": some(1, 2), "diabetes": some(0, 1)}))
    assert "sex" not in named["group"].reason


def test_alone_they_are_left_as_they_are_and_many_are_not_all_made_more_general() -> None:
    assert infer(pa.table({"zzq": some("qua", "bru", "zot")}))["zzq"].role is Role.OTHER
    many = {f"zz{chr(97 + i)}q": some("qua", "bru", f"z{i}") for i in range(25)}
    assert all(c.role is Role.SENSITIVE for c in among_known(**many) if c.name in many)


@pytest.mark.parametrize("name", ["status", "stage", "class", "type", "klasse", "grado_nivel"])
def test_words_that_say_nothing_of_what_a_column_is_about_do_not_make_it_harmless(name: str) -> None:
    assert among_health(**{name: some("qua", "bru", "zot")})[name].role is Role.SENSITIVE
    way = infer(pa.table({"sex": some("m", "f"), "admission_type": some(1, 2, 3)}))
    assert way["admission_type"].role is Role.OTHER


@pytest.mark.parametrize(
    "values",
    [
        ("Positive", "Negative", "Borderline"), ("mild", "moderate", "severe"), ("IA", "IB", "IIA", "III"),
        ("Asthma", "Migraine", "Hypertension"), ("METFORMIN", "LISINOPRIL", "ATORVASTATIN"),
        ("TT", "TC", "CC"), ("e3/e4", "e3/e3", "e4/e4"),
    ],
)  # fmt: skip
def test_cells_that_speak_of_health_are_sensitive_whatever_their_column_is_called(values) -> None:
    found = roles(zzq=some(*values))["zzq"]
    assert found.role is Role.SENSITIVE and "the values are" in found.reason


def test_years_that_reach_back_a_lifetime_and_exact_degrees_are_known_to_others() -> None:
    assert roles(zzq=some(*range(1920, 2011)))["zzq"].role is Role.QUASI_IDENTIFIER
    assert roles(zzq=np.round(DRAW.normal(48.2, 0.5, ROWS), 5))["zzq"].role is Role.QUASI_IDENTIFIER


@pytest.mark.parametrize("form", ["%Y%m%d", "%d%m%Y", "%m%d%Y"])
def test_days_of_eight_digits_are_days_in_any_order(form: str) -> None:
    days = [dt.date(1930, 1, 1) + dt.timedelta(int(k)) for k in DRAW.integers(0, 30_000, ROWS)]
    for values in ([f"{d:{form}}" for d in days], [int(f"{d:{form}}") for d in days]):
        assert roles(born=values)["born"].role is Role.QUASI_IDENTIFIER


# -- who people are --------------------------------------------------------------------------------------


def test_another_text_in_every_row_leads_to_a_person_whatever_its_name_says() -> None:
    own = [f"{c}{i:04d}-{i * 7919 % 1000:03d}" for i, c in enumerate("AB" * (ROWS // 2))]
    for name in ("diagnosis_ref_no", "hospno", "result", "medication"):
        assert roles(**{name: own})[name].role is Role.IDENTIFIER, name
    amounts = [f"{i * 37 % 10_000:,}.50" for i in range(1, ROWS + 1)]
    assert roles(charges=amounts)["charges"].role is not Role.IDENTIFIER
    assert roles(hospital_id=some(*range(40)))["hospital_id"].role is Role.QUASI_IDENTIFIER


def test_numbers_that_begin_with_a_day_of_birth_are_numbers_of_people() -> None:
    born = [dt.date(1940, 1, 1) + dt.timedelta(int(k)) for k in DRAW.integers(0, 25_000, ROWS)]
    danish = [f"{d:%d%m%y}-{n:04d}" for d, n in zip(born, DRAW.integers(0, 9999, ROWS), strict=True)]
    assert roles(zzq=danish)["zzq"].role in (Role.IDENTIFIER, Role.PERSON)
    assert "day of birth" in roles(zzq=danish)["zzq"].reason
    times = [f"{d:%Y%m%d}{n:02d}30" for d, n in zip(born, DRAW.integers(0, 24, ROWS), strict=True)]
    assert checked_numbers(times)[0] == ""
    assert checked_numbers([f"{n:010d}" for n in DRAW.integers(10**9, 10**10, ROWS)])[0] == ""


def test_a_logarithm_is_what_it_is_of_and_weights_of_surveys_are_finer_than_scales() -> None:
    assert (
        read("loginc").first("income") and read("lnhhexp").first("income") and read("pcdx").first("diagnosis")
    )
    fine = np.round(DRAW.gamma(4, 0.25, ROWS) + 0.01, 6)
    for name in ("FACTOR07", "wt_nurse", "peso_ind"):
        assert roles(**{name: fine})[name].role is Role.WEIGHT, name
    assert roles(costwt=fine)["costwt"].role is not Role.WEIGHT
    assert roles(num_visits=some(0, 1, 2, 3, 7))["num_visits"].role is Role.SENSITIVE


def test_names_of_places_are_no_names_of_people() -> None:
    assert roles(state_name=some("Kerala", "Punjab"))["state_name"].role is Role.QUASI_IDENTIFIER
    people = [f"Anna B. Moore{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(ROWS)]
    assert roles(insured_nm=people)["insured_nm"].role is Role.IDENTIFIER


# -- words -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("short", "long"),
    [("cittadin", "cittadinanza"), ("radiatn", "radiation"), ("staatsang", "staatsangehoerigkeit")],
)
def test_a_word_cut_off_or_without_vowels_is_the_word(short: str, long: str) -> None:
    assert read(short).about.keys() & read(long).about.keys()


def test_what_could_be_short_for_different_things_is_left_alone() -> None:
    assert parts("medic") == ("medic",)  # medicare, medication
    assert "lab" not in read("plate") and "lab" not in read("plaster")


@pytest.mark.parametrize(
    ("name", "concept"),
    [
        ("kjonn", "sex"), ("alder", "age"), ("fodselsdato", "birth"), ("sivilstand", "marital"),
        ("bostedskommune", "place"), ("sykehus", "site"), ("hoveddiagnose", "diagnosis"), ("idade", "age"),
        ("data_nascimento", "birth"), ("estado_civil", "marital"), ("concelho", "place"),
        ("profissao", "work"), ("Länsdel", "place"), ("Kjønn", "sex"),
        ("Ålder", "age"), ("Födelseår", "birth"), ("utbildning", "education"), ("inntekt", "income"),
    ],
)  # fmt: skip
def test_words_of_portuguese_and_of_the_north(name: str, concept: str) -> None:
    assert concept in read(name)


def test_dictionaries_of_health_and_retirement_and_of_trials() -> None:
    hrs = {n: some(1, 2, 3) for n in ("HHIDPN", "RAGENDER", "R10MSTAT", "R10SHLT", "R10CESD", "RARACEM")}
    found = infer(pa.table(hrs))
    assert [found[n].role for n in ("RAGENDER", "R10MSTAT", "RARACEM")] == [Role.QUASI_IDENTIFIER] * 3
    assert found["R10SHLT"].role is found["R10CESD"].role is Role.SENSITIVE
    trial = {n: some("a", "b", "c") for n in ("AEDECOD", "LBORRES", "CMTRT", "STUDYID")}
    found = infer(pa.table(trial))
    assert [found[n].role for n in ("AEDECOD", "LBORRES", "CMTRT")] == [Role.SENSITIVE] * 3
