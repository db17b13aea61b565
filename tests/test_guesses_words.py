"""Guesses by the parts of medical words, by the ends of names, and by values that contradict a word."""

from __future__ import annotations

from itertools import cycle, islice

import numpy as np
import pyarrow as pa
import pytest

from sfumato.inference import infer
from sfumato.inference.morphology import family_of
from sfumato.schema import Role

ROWS = 400


def role(name: str, values: object, **others: object) -> Role:
    """The role of a column, beside others."""
    return infer(pa.table({name: pa.array(values), **{k: pa.array(v) for k, v in others.items()}}))[name].role


def few(*values: object) -> list[object]:
    return list(islice(cycle(values), ROWS))


@pytest.mark.parametrize(
    ("word", "about"),
    [
        ("hepatite", "disease"), ("bronchitis", "disease"), ("hiperglicemia", "disease"),
        ("nephropathie", "disease"), ("cholezystektomie", "procedure"), ("colonoscopie", "procedure"),
        ("trombocitos", "lab"), ("erythrozyten", "lab"), ("cefuroxime", "drug"),
        ("cefaleia", "symptom"), ("diarree", "symptom"), ("ramipril", "drug"), ("cisplatin", "drug"),
        ("website", ""), ("geografia", ""), ("minority", ""), ("securite", ""), ("limite", ""),
        ("visite", ""),
        ("university", ""), ("profile", ""), ("college", ""), ("cigarro", ""),
    ],
)  # fmt: skip
def test_words_of_medicine_by_their_parts(word: str, about: str) -> None:
    assert family_of(word) == about


@pytest.mark.parametrize("name", ["hepatite_b", "Nephropathie", "cholezystektomie", "prob_hiperglicemia"])
def test_such_a_column_is_sensitive(name: str) -> None:
    assert role(name, few(1, 2, 1, 1)) is Role.SENSITIVE


def test_names_that_begin_alike_have_one_role() -> None:
    known = {f"co_{d}": few(0, 1, 0) for d in ("asthma", "diabetes", "stroke")}
    assert (
        role("co_xyz", few("a", "b", "c"), **known, age=few(30, 40), county=few("a", "b")) is Role.SENSITIVE
    )


def test_a_hospital_that_is_yes_or_no_is_a_treatment() -> None:
    assert role("hospital", few(0, 1, 0)) is Role.SENSITIVE
    assert role("hospital", few("North", "South")) is Role.QUASI_IDENTIFIER


def test_numbers_with_fractions_are_nothing_that_others_know() -> None:
    measured = np.random.default_rng(1).normal(3, 1, ROWS)
    assert role("floor_thickness", measured, age=few(30, 40)) is not Role.QUASI_IDENTIFIER
    assert role("mortality_pred", abs(measured) / 10) is Role.SENSITIVE


def test_grams_of_newborns_are_no_survey_weight() -> None:
    grams = np.random.default_rng(1).normal(3200, 500, ROWS).astype(int)
    assert role("PESO", grams) is Role.SENSITIVE
    assert role("weight", grams * 37) is Role.WEIGHT


def test_a_mark_in_some_rows_is_no_harmless_constant() -> None:
    assert role("l_xyz", few("Y", None, None), age=few(30, 40, 50)) is Role.SENSITIVE
    assert role("l_xyz", few("Y"), age=few(30, 40, 50)) is Role.OTHER


def test_columns_without_repetition_say_nothing_of_each_other() -> None:
    rng = np.random.default_rng(1)
    table = {"latitude": rng.normal(50, 1, 120).round(6), "vol": rng.normal(3, 1, 120)}
    reason = infer(pa.table(table))["vol"].reason
    assert "says the same" not in reason


def test_states_of_life_are_known_by_their_values() -> None:
    assert role("x1", few("Alive", "Expired", "Alive")) is Role.QUASI_IDENTIFIER


def test_an_age_at_a_beginning_is_not_an_age() -> None:
    assert role("age_started", list(np.arange(ROWS) % 40 + 10)) is Role.SENSITIVE


def test_a_gender_before_an_operation_is_a_gender() -> None:
    assert role("preOp_gender", few(0, 1)) is Role.QUASI_IDENTIFIER
