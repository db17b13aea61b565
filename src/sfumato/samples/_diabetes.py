"""Simulated adults at a check-up, and who of them has diabetes: a stand-in for the Pima data.

Weight and a family disposition raise glucose; glucose, weight, age and family raise the chance of
diabetes, which no measurement settles. The coefficients are made up, estimated from nobody.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.samples._common import (
    BLOCK,
    LevelLaw,
    in_blocks,
    levels_column,
    names_column,
    numbers_column,
    simulated_column,
)
from sfumato.schema import Column, Draw, Kind, Role, Schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEXES = ("female", "male")
SMOKING = ("never", "former", "current")
ACTIVITY = ("low", "moderate", "high")

_AGE = LevelLaw([8.0, 9.0, 9.5, 9.5, 10.0, 10.0, 9.5, 9.0, 8.0, 6.5, 5.0, 3.5, 2.0, 1.0])  # 20, 25, ..., 85
_SMOKING = LevelLaw([[0.60, 0.19, 0.21], [0.47, 0.27, 0.26]])
_ACTIVITY = LevelLaw([0.38, 0.41, 0.21])
_PREGNANCIES = LevelLaw([0.22, 0.19, 0.25, 0.15, 0.08, 0.05, 0.03, 0.02, 0.01])


@cache
def diabetes_schema() -> Schema:
    """All columns of the simulated check-up, in order. Their domain is public: the simulator defines it."""
    quasi = Role.QUASI_IDENTIFIER
    flag: dict[str, Any] = {"type": "boolean", "levels": (False, True)}
    return Schema((
        simulated_column("id", Kind.NOMINAL, Role.IDENTIFIER, "Number of the person."),
        _number("age", (20, 30, 35, 40, 45, 50, 55, 60, 70, 90), "Age.", "years", role=quasi, whole=True),
        simulated_column("sex", Kind.NOMINAL, quasi, "Sex.", levels=SEXES),
        _number("pregnancies", (0, 1, 2, 3, 4, 6, 8, 20), "Pregnancies so far; 0 for men.", whole=True),
        _number("bmi", (15, 20, 22.5, 25, 27.5, 30, 32.5, 35, 40, 60), "Body mass index.", "kg/m2"),
        _number("systolic_bp", (80, 105, 115, 125, 135, 145, 160, 220), "Systolic blood pressure.", "mmHg",
                whole=True),
        _number("diastolic_bp", (40, 60, 70, 75, 80, 85, 90, 100, 130), "Diastolic blood pressure.", "mmHg",
                whole=True),
        _number("glucose", (50, 80, 90, 100, 110, 120, 130, 145, 165, 300),
                "Plasma glucose, two hours after a glucose drink.", "mg/dl", whole=True),
        _number("hba1c", (4, 5, 5.25, 5.5, 5.75, 6, 6.25, 6.5, 7, 14), "Glycated haemoglobin.", "%",
                missing=True),
        _number("triglycerides", (30, 75, 100, 125, 150, 175, 200, 250, 800), "Triglycerides.", "mg/dl",
                whole=True, missing=True),
        _number("hdl", (15, 35, 40, 45, 50, 55, 60, 70, 120), "HDL cholesterol.", "mg/dl", whole=True,
                missing=True),
        simulated_column("smoking", Kind.NOMINAL, Role.OTHER, "Smoking.", levels=SMOKING, missing=True),
        simulated_column("activity", Kind.ORDINAL, Role.OTHER, "Physical activity.", levels=ACTIVITY),
        simulated_column("family_history", Kind.FLAG, Role.OTHER, "A parent or sibling has diabetes.",
                         **flag),
        simulated_column("blood_pressure_drugs", Kind.FLAG, Role.OTHER, "Takes drugs for blood pressure.",
                         **flag),
        simulated_column("diabetes", Kind.FLAG, Role.SENSITIVE, "Diabetes within the next five years.",
                         **flag),
    ))  # fmt: skip


def _number(
    name: str, edges: tuple[float, ...], description: str, unit: str = "", *,
    role: Role = Role.OTHER, whole: bool = False, missing: bool = False,
) -> Column:  # fmt: skip
    kind: dict[str, Any] = (
        {"type": "integer", "draw": Draw.INTEGER} if whole else {"type": "real", "draw": Draw.UNIFORM}
    )
    return simulated_column(
        name, Kind.NUMERIC, role, description, edges=edges, unit=unit, clamp=True, missing=missing, **kind
    )


def diabetes_rows(n: int, seed: int) -> tuple[pa.Table, Schema]:
    """The simulated check-ups and their schema."""
    schema = diabetes_schema()
    return in_blocks(n, seed, "diabetes", schema, _block), schema


def _block(rng: np.random.Generator, block: int) -> dict[str, Any]:
    n = BLOCK

    def noise() -> NDArray[np.float64]:
        return rng.standard_normal(n)

    age = np.minimum(20 + 5 * _AGE.draw(rng.random(n)) + rng.integers(0, 5, n), 90)
    decades = (age - 45) / 10
    male = rng.random(n) < 0.46
    pregnancies = np.where(male | (age < 22), 0, _PREGNANCIES.draw(rng.random(n)))
    pregnancies = pregnancies + (rng.random(n) < 0.2) * (pregnancies >= 3) * rng.integers(0, 6, n)
    family = rng.random(n) < 0.28
    smoking = _SMOKING.draw(rng.random(n), male.astype(np.int64))
    activity = _ACTIVITY.draw(rng.random(n))
    bmi = np.exp(3.34 + 0.02 * decades - 0.055 * (activity - 0.8) + 0.02 * family + 0.19 * noise())
    heavy = (bmi - 28.5) / 5.5
    resistance = 0.55 * heavy + 0.20 * decades + 0.35 * family - 0.2 * (activity - 0.8) + 0.9 * noise()
    glucose = 112 * np.exp(0.115 * resistance + 0.16 * noise())
    hba1c = 5.55 + 0.27 * resistance + 0.42 * noise()
    triglycerides = 128 * np.exp(0.22 * resistance + 0.06 * male + 0.40 * noise())
    hdl = 52 - 4.2 * resistance - 6.0 * male + 10.5 * noise()
    pressure = 0.55 * decades + 0.40 * heavy + 0.9 * noise()
    systolic, diastolic = 124 + 11 * pressure + 7 * noise(), 77 + 6 * pressure + 6 * noise()
    treated = rng.random(n) < _chance(-2.0 + 0.9 * pressure + 0.3 * decades)
    log_odds = (
        -1.45 + 0.55 * resistance + 0.020 * (glucose - 115) + 0.55 * (hba1c - 5.6)
        + 0.25 * decades + 0.25 * heavy + 0.55 * family + 0.06 * np.minimum(pregnancies, 6)
        + 0.20 * (smoking == 2) + 0.15 * treated
    )  # fmt: skip
    return {
        "id": names_column("D", block * BLOCK + np.arange(n) + 1),
        "age": numbers_column(age),
        "sex": levels_column(SEXES, male.astype(np.int64)),
        "pregnancies": numbers_column(np.minimum(pregnancies, 20)),
        "bmi": numbers_column(np.clip(np.round(bmi, 1), 15.0, 60.0)),
        "systolic_bp": _whole(systolic, 80, 220),
        "diastolic_bp": _whole(diastolic, 40, 130),
        "glucose": _whole(glucose, 50, 300),
        "hba1c": numbers_column(np.clip(np.round(hba1c, 1), 4.0, 14.0), rng.random(n) < 0.06),
        "triglycerides": _whole(triglycerides, 30, 800, rng.random(n) < 0.03),
        "hdl": _whole(hdl, 15, 120, rng.random(n) < 0.03),
        "smoking": levels_column(SMOKING, smoking, rng.random(n) < 0.02),
        "activity": levels_column(ACTIVITY, activity),
        "family_history": pa.array(family),
        "blood_pressure_drugs": pa.array(treated),
        "diabetes": pa.array(rng.random(n) < _chance(log_odds)),
    }


def _whole(
    values: NDArray[np.float64], low: int, high: int, missing: NDArray[np.bool_] | None = None
) -> pa.Array:
    return numbers_column(np.clip(np.rint(values), low, high).astype(np.int64), missing)


def _chance(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1.0 / (1.0 + np.exp(-log_odds))
