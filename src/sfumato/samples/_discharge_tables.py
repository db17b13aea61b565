"""The numbers behind the simulated discharges: made up to look plausible, estimated from nobody.

Rows of MDC tables are the 25 major diagnostic categories in order; see `_diagnoses.MDC_LABELS`.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from sfumato.samples._common import Floats, LevelLaw
from sfumato.samples._discharge_schema import AGES, COUNTIES, COUNTY_OF_HOSPITAL, HOSPITALS, ZIPS

# Ages at the start of the first year, by five-year band; newborns come on top.
NEWBORNS = 0.10
AGE_BAND = LevelLaw((3.5, 1.5, 1.7, 3.5, 5.5, 6.5, 6.5, 5.5, 5.5, 6.5, 7.5, 7.5, 7.5, 7.0, 6.5, 6.5, 14.0))

# Four kinds of neighbourhood; each ZIP area is one of them.
ZIP = LevelLaw((16, 10, 6, 3, 5, 7, 8, 7, 6, 5, 4, 9, 5, 3, 8, 6))
NEIGHBOURHOOD_OF_ZIP = np.array([1, 1, 1, 0, 0, 2, 2, 3, 0, 3, 0, 2, 2, 0, 3, 2])
RACE_BY_NEIGHBOURHOOD = LevelLaw([
    [0.75, 0.05, 0.005, 0.10, 0.005, 0.07, 0.020],
    [0.35, 0.35, 0.005, 0.06, 0.005, 0.20, 0.030],
    [0.45, 0.05, 0.010, 0.08, 0.005, 0.38, 0.025],
    [0.35, 0.05, 0.005, 0.45, 0.015, 0.11, 0.025],
])  # fmt: skip
HISPANIC_BY_RACE = np.array([0.30, 0.03, 0.30, 0.02, 0.05, 0.80, 0.30])
HISPANIC_BY_NEIGHBOURHOOD = np.array([0.5, 1.1, 1.5, 0.7])

# Why people come, by age: 0-4, 5-14, 15-44, 45-64, 65 and older.
_MDC_BY_AGE = np.array([
    [6, 9, 4, 7, 8], [0.3, 0.4, 0.3, 0.4, 0.4], [8, 7, 2, 1.2, 0.8], [26, 15, 4, 8, 13], [2, 2, 4, 17, 24],
    [11, 20, 10, 11, 10], [0.8, 1.5, 4, 4, 3], [2, 8, 6, 11, 11], [4, 4, 3.5, 3.5, 2.5], [7, 6, 3, 4, 3.5],
    [4, 4, 3, 5, 7.5], [0.5, 0.5, 0.3, 1, 1], [0, 0.3, 3, 3, 1], [0, 0, 110, 0, 0], [0, 0, 0, 0, 0],
    [2.5, 3, 1, 1.2, 1.5], [1.5, 3, 0.6, 1.5, 1], [6, 5, 2.5, 4.5, 7], [0, 6, 9, 6, 1.5], [0, 0.2, 3, 3, 0.4],
    [2.5, 3, 2, 1.5, 1], [0.6, 0.4, 0.15, 0.15, 0.1], [1.5, 1, 1, 2, 4], [0.2, 0.4, 0.5, 0.3, 0.2],
    [0, 0.02, 0.5, 0.6, 0.05],
])  # fmt: skip
_MEN_MORE = {5: 1.3, 20: 2.0, 21: 1.2, 24: 1.8, 25: 4.0, 8: 0.9, 19: 0.9}
_PREGNANCY_BY_AGE = {15: 0.5, 20: 1.2, 25: 1.4, 30: 1.3, 35: 0.8, 40: 0.25}

PREGNANCY, NEWBORN = 13, 14  # codes (number minus one)
ACUTE, NURSING, PSYCHIATRIC, DEPENDENCY, REHABILITATION, DAY_SURGERY = range(6)
DIED, PRISON, AGAINST_ADVICE = 7, 5, 6
MEDICARE, MEDI_CAL, WORKERS = 0, 1, 3

SURGICAL = np.array([
    0.20, 0.55, 0.35, 0.12, 0.32, 0.35, 0.45, 0.65, 0.30, 0.12, 0.18, 0.70, 0.80,
    0.32, 0.01, 0.08, 0.30, 0.15, 0.00, 0.00, 0.40, 0.35, 0.05, 0.60, 0.05,
])  # fmt: skip
DAY = np.array([
    0.02, 0.55, 0.30, 0.00, 0.03, 0.10, 0.05, 0.12, 0.12, 0.00, 0.05, 0.20, 0.20,
    0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.03, 0.00, 0.00, 0.00, 0.00,
])  # fmt: skip
SEVERITY = np.array([
    0.1, -0.9, -0.7, 0.5, 0.1, 0.0, 0.2, -0.2, -0.3, 0.1, 0.3, -0.5, -0.6,
    -0.6, -0.8, 0.2, 0.5, 1.0, -0.6, -0.4, 0.1, 0.2, -0.2, 1.0, 0.7,
])  # fmt: skip
STAY = np.array([
    0.1, -0.6, -0.5, 0.2, 0.0, 0.0, 0.1, 0.1, 0.1, -0.1, 0.0, -0.4, -0.4,
    -0.2, -0.3, 0.1, 0.6, 0.5, 0.3, 0.0, 0.0, 0.6, 0.2, 0.8, 0.5,
])  # fmt: skip
CHARGE = np.array([
    0.1, -0.2, -0.3, 0.0, 0.35, 0.05, 0.1, 0.2, -0.2, -0.2, -0.1, 0.0, 0.0,
    -0.3, -1.2, 0.0, 0.5, 0.2, -0.5, -0.5, 0.1, 0.4, -0.3, 0.8, 0.1,
])  # fmt: skip
STAY_BY_TYPE = np.log([3.2, 22.0, 7.0, 9.0, 12.0, 0.1])
CHARGE_BY_TYPE = np.array([0.0, -1.1, -0.9, -1.2, -0.7, 0.1])

# Log-odds of the thirteen dispositions: level, per ten years over 45, per degree of severity, by type.
DISPOSITION = np.array([2.7, -0.7, -1.5, -0.8, -2.0, -4.2, -1.3, -2.9, 0.3, -1.8, -3.2, -3.8, -3.2])
DISPOSITION_BY_AGE = np.array([0, 0, 0.1, 0.45, 0.2, -0.3, -0.25, 0.35, 0.3, 0.25, -0.2, 0.55, 0])
DISPOSITION_BY_SEVERITY = np.array([0, 0.4, 0.3, 0.6, 0.2, 0, -0.1, 1.1, 0.4, 0.5, 0, 0.8, 0.1])
DISPOSITION_BY_TYPE = np.array([
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    [-1.4, 1.4, 0.5, 0.8, 0.8, -2, -0.5, 0.9, 0.5, -1, -1, 0.8, 0],
    [0, 0, 0.8, -0.5, 1.4, 0.5, 0.3, -4, -3, -3, 2.5, -5, 0.5],
    [0, -0.5, 0.8, -3, 1.4, 0.5, 1.8, -5, -3, -3, 1.0, -6, 0.5],
    [-0.8, 0.8, 0, 0.8, 0.4, -3, -0.8, -1.5, 1.2, -1, -2, -2, 0],
    [0, -4, -4, -5, -5, -3, -3, -5, -4, -5, -5, -6, -3],
])  # fmt: skip
DISPOSITION_OF_NEWBORN = np.array([0, 0, -1, -9, -9, -9, -2.5, 0.3, -2, -9, -9, -9, -1])

# Who pays, by age (under 18, 18 to 64, 65 and older) and neighbourhood.
PAYER = LevelLaw([
    [[0, 30, 62, 0, 0.1, 2, 0.2, 3, 1], [0, 72, 20, 0, 0.5, 2, 0.5, 4, 1],
     [0, 66, 27, 0, 0.4, 2, 0.4, 4, 1], [0, 45, 46, 0, 0.2, 2, 0.3, 5, 1]],
    [[6, 16, 64, 0, 1.5, 3, 1, 7, 1.5], [11, 38, 30, 0, 6, 3, 2, 9, 1.5],
     [8, 32, 38, 0, 5, 3, 2, 10, 1.5], [6, 24, 52, 0, 3, 3, 1, 9, 1.5]],
    [[88, 2, 8, 0, 0.1, 0.7, 0.1, 0.8, 0.4], [84, 9, 4, 0, 0.3, 1, 0.2, 1, 0.4],
     [84, 8, 5, 0, 0.3, 1, 0.2, 1, 0.4], [80, 12, 5, 0, 0.2, 1, 0.2, 1.2, 0.4]],
])  # fmt: skip
INJURIES = np.array([7, 20, 23])  # where workers' compensation may pay


@cache
def mdc_law() -> LevelLaw:
    """Shape (2 sexes, 17 age bands, 25): zero where it cannot be; newborns are set apart."""
    weights = np.zeros((2, len(AGES), 25))
    for band, age in enumerate(AGES):
        by_age = _MDC_BY_AGE[:, int(np.searchsorted([5, 15, 45, 65], age, side="right"))]
        weights[:, band] = by_age
        weights[:, band, PREGNANCY] *= _PREGNANCY_BY_AGE.get(age, 0.0)
        if age < 10:
            weights[:, band, 12] = 0.0
    for mdc, more in _MEN_MORE.items():
        weights[0, :, mdc - 1] *= more
    weights[0, :, [12, PREGNANCY]] = 0.0
    weights[1, :, 11] = 0.0
    return LevelLaw(weights)


@cache
def type_law() -> LevelLaw:
    """Shape (2: under 65 or not, 25, 6)."""
    weights = np.zeros((2, 25, 6))
    weights[:, :, DAY_SURGERY] = DAY
    weights[:, 18, PSYCHIATRIC] = 0.65, 0.45
    weights[:, 19, [PSYCHIATRIC, DEPENDENCY]] = 0.10, 0.35
    weights[:, 22, REHABILITATION] = 0.40, 0.45
    weights[:, [0, 7], REHABILITATION] = 0.03
    weights[1, :, NURSING] = 0.05
    weights[1, [0, 7, 8, 22], NURSING] = 0.10
    weights[0, :, NURSING] = 0.004
    weights[:, [PREGNANCY, NEWBORN], NURSING] = 0.0
    weights[:, :, ACUTE] = 1.0 - weights[:, :, 1:].sum(axis=2)
    return LevelLaw(weights)


@cache
def hospital_law() -> LevelLaw:
    """Shape (ZIP areas, hospitals): mostly the hospitals of the county around the area."""
    size = 1.0 / (1.0 + np.arange(len(HOSPITALS)) // len(COUNTIES))
    home = np.arange(len(ZIPS))[:, None] // 2 == np.asarray(COUNTY_OF_HOSPITAL)[None, :]
    return LevelLaw(np.where(home, 1.0, 0.03) * size)


@cache
def hospital_effects() -> Floats:
    """What each hospital adds to the logarithm of the charge."""
    return np.asarray(0.35 * np.sin(2.3 * np.arange(len(HOSPITALS))))
