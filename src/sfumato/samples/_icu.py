"""Simulated intensive-care patients with inflammation, and who goes into septic shock: for MIMIC-II's place.

Twelve hourly readings of six vital signs drift with a hidden severity and its trend; the columns are the
last reading, and the minimum, maximum and mean of the twelve. Shock follows from severity and trend, so
the readings tell of it without settling it. The coefficients are made up, estimated from nobody.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.samples._common import (
    BLOCK,
    Floats,
    LevelLaw,
    in_blocks,
    levels_column,
    names_column,
    numbers_column,
    simulated_column,
)
from sfumato.schema import Column, Draw, Kind, Role, Schema

SEXES = ("female", "male")
HOURS = 12
SUMMARIES = {"last": "last reading", "min": "minimum of 12 hours", "max": "maximum of 12 hours",
             "mean": "mean of 12 hours"}  # fmt: skip


class Sign(NamedTuple):
    """A vital sign: what it is, its public bins, and how it moves.

    usual, between: level of a middling patient, spread between patients; by_severity: what one unit of
    severity adds; within, keeps: spread from hour to hour, and how much of it stays to the next hour.
    """

    label: str
    unit: str
    edges: tuple[float, ...]
    usual: float
    between: float
    by_severity: float
    within: float
    keeps: float
    digits: int = 0
    unmeasured: float = 0.0


SIGNS = {
    "systolic_bp": Sign("Systolic blood pressure", "mmHg", (40, 80, 90, 100, 110, 120, 130, 145, 160, 250),
                        118.0, 11.0, -12.0, 9.0, 0.7),
    "diastolic_bp": Sign("Diastolic blood pressure", "mmHg", (20, 40, 45, 50, 55, 60, 65, 75, 85, 150),
                         61.0, 8.0, -5.0, 6.5, 0.7),
    "heart_rate": Sign("Heart rate", "beats/min", (30, 70, 80, 90, 100, 110, 120, 135, 220),
                       93.0, 12.0, 9.0, 6.0, 0.8),
    "respiratory_rate": Sign("Respiratory rate", "breaths/min", (4, 12, 15, 18, 21, 24, 28, 33, 60),
                             20.0, 3.5, 2.3, 2.6, 0.5),
    "temperature": Sign("Body temperature", "degrees Celsius",
                        (33, 36, 36.5, 37, 37.5, 38, 38.5, 39, 42), 37.3, 0.55, 0.15, 0.3, 0.8, 1, 0.04),
    "spo2": Sign("Oxygen saturation by pulse oximetry", "%", (60, 91, 93, 94, 95, 96, 97, 98, 100),
                 96.3, 1.5, -0.8, 1.1, 0.5),
}  # fmt: skip

_AGE = LevelLaw([3.0, 5.0, 7.0, 11.0, 16.0, 20.0, 20.0, 18.0])  # 18, 28, ..., 88
_SHOCK = (-3.02, 1.70)  # log-odds of shock at middling severity, and what one unit adds


@cache
def icu_schema() -> Schema:
    """All columns of the simulated stays, in order. Their domain is public: the simulator defines it."""
    quasi = Role.QUASI_IDENTIFIER
    return Schema((
        simulated_column("id", Kind.NOMINAL, Role.IDENTIFIER, "Number of the patient."),
        simulated_column("age", Kind.NUMERIC, quasi, "Age.", type="integer", draw=Draw.INTEGER,
                         edges=(18, 30, 40, 50, 60, 70, 80, 100), unit="years", clamp=True),
        simulated_column("sex", Kind.NOMINAL, quasi, "Sex.", levels=SEXES),
        *(_summary(name, sign, which) for name, sign in SIGNS.items() for which in SUMMARIES),
        simulated_column("septic_shock", Kind.FLAG, Role.SENSITIVE, "Goes into septic shock.",
                         type="boolean", levels=(False, True)),
    ))  # fmt: skip


def _summary(name: str, sign: Sign, which: str) -> Column:
    whole = which != "mean" and not sign.digits
    kind: dict[str, Any] = (
        {"type": "integer", "draw": Draw.INTEGER} if whole else {"type": "real", "draw": Draw.UNIFORM}
    )
    return simulated_column(
        f"{name}_{which}", Kind.NUMERIC, Role.OTHER, f"{sign.label}, {SUMMARIES[which]}.",
        edges=sign.edges, unit=sign.unit, clamp=True, missing=sign.unmeasured > 0, **kind,
    )  # fmt: skip


def icu_rows(n: int, seed: int) -> tuple[pa.Table, Schema]:
    """The simulated stays and their schema."""
    schema = icu_schema()
    return in_blocks(n, seed, "icu", schema, _block), schema


def _block(rng: np.random.Generator, block: int) -> dict[str, Any]:
    n = BLOCK
    age = np.minimum(18 + 10 * _AGE.draw(rng.random(n)) + rng.integers(0, 10, n), 100)
    male = rng.random(n) < 0.56
    before = 0.012 * (age - 62) + rng.standard_normal(n)
    trend = 0.3 * before + 0.9 * rng.standard_normal(n)
    base, by_severity = _SHOCK
    shock = rng.random(n) < 1.0 / (1.0 + np.exp(-(base + by_severity * (0.7 * before + trend))))
    course = before[:, None] + trend[:, None] * np.linspace(0.0, 1.0, HOURS)
    columns: dict[str, Any] = {
        "id": names_column("P", block * BLOCK + np.arange(n) + 1),
        "age": numbers_column(age),
        "sex": levels_column(SEXES, male.astype(np.int64)),
    }
    for name, sign in SIGNS.items():
        readings = _readings(rng, sign, course)
        missing = rng.random(n) < sign.unmeasured
        summaries = {
            "last": readings[:, -1], "min": readings.min(axis=1), "max": readings.max(axis=1),
            "mean": np.round(readings.mean(axis=1), sign.digits + 1),
        }  # fmt: skip
        for which, values in summaries.items():
            whole = which != "mean" and not sign.digits
            columns[f"{name}_{which}"] = numbers_column(values.astype(np.int64) if whole else values, missing)
    return {**columns, "septic_shock": pa.array(shock)}


def _readings(rng: np.random.Generator, sign: Sign, course: Floats) -> Floats:
    """(patients, hours): level, severity, and an error that fades from hour to hour."""
    n, hours = course.shape
    shocks = rng.standard_normal((n, hours)) * np.sqrt(1.0 - sign.keeps**2)
    error = np.empty((n, hours))
    error[:, 0] = rng.standard_normal(n)
    for hour in range(1, hours):
        error[:, hour] = sign.keeps * error[:, hour - 1] + shocks[:, hour]
    level = sign.usual + sign.between * rng.standard_normal((n, 1))
    values = level + sign.by_severity * course + sign.within * error
    return np.clip(np.round(values, sign.digits), sign.edges[0], sign.edges[-1])
