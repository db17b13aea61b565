"""Simulated adults with demographics, health and a year's medical cost, in the shape of a household survey.

Cost has two parts, as in such surveys: many spend nothing; the others' cost is log-normal around a level
that health, age, insurance and income move. The coefficients are made up, estimated from nobody.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.samples._common import (
    BLOCK,
    Codes,
    Flags,
    Floats,
    LevelLaw,
    choose,
    in_blocks,
    levels_column,
    names_column,
    numbers_column,
)
from sfumato.samples._common import simulated_column as _column
from sfumato.schema import Column, Draw, Kind, Role, Schema, Value

if TYPE_CHECKING:
    from collections.abc import Iterable

SEXES = ("female", "male")
RACES = ("white", "black", "asian", "other")
EDUCATION = ("less than high school", "high school", "some college", "college", "post-graduate")
REGIONS = ("northeast", "midwest", "south", "west")
INCOME = ("poor", "near poor", "low", "middle", "high")  # of the poverty line: 1, 1.25, 2 and 4 times
INSURANCE = ("private", "public", "uninsured")
HEALTH = ("excellent", "very good", "good", "fair", "poor")

# Log-odds at age 45 in middling health, what ten years add, what one step of ill health adds.
CONDITIONS = {
    "hypertension": (-1.1, 0.65, 0.40), "diabetes": (-2.6, 0.45, 0.55), "heart_disease": (-2.9, 0.65, 0.60),
    "asthma": (-2.3, -0.05, 0.40), "arthritis": (-1.4, 0.60, 0.45), "depression": (-1.8, -0.05, 0.65),
}  # fmt: skip

_AGE = LevelLaw([9.5, 9.0, 9.5, 9.5, 10.0, 9.8, 9.5, 8.5, 7.2, 5.5, 4.2, 3.5, 2.5, 2.0])  # 18, 23, ..., 83
_REGION = LevelLaw([0.17, 0.20, 0.38, 0.25])
_RACE_BY_REGION = LevelLaw([[0.78, 0.13, 0.07, 0.02], [0.84, 0.11, 0.03, 0.02],
                       [0.74, 0.22, 0.02, 0.02], [0.80, 0.06, 0.10, 0.04]])  # fmt: skip
_HISPANIC = np.array([[0.12, 0.07, 0.02, 0.20], [0.08, 0.03, 0.01, 0.15],
                      [0.20, 0.02, 0.01, 0.20], [0.36, 0.04, 0.03, 0.30]])  # fmt: skip
_EDUCATION = np.array([0.15, 0.32, 0.24, 0.18, 0.11])
_FAMILY = LevelLaw([0.22, 0.30, 0.18, 0.16, 0.09, 0.03, 0.02])
_MAX_COST, _MAX_INCOME, _MAX_WEIGHT = 1_000_000, 1_000_000, 100_000


@cache
def member_schema() -> Schema:
    """All columns of the simulated survey, in order. Their domain is public: the simulator defines it."""
    quasi, sensitive = Role.QUASI_IDENTIFIER, Role.SENSITIVE
    return Schema((
        _column("id", Kind.NOMINAL, Role.IDENTIFIER, "Number of the person."),
        _column("weight", Kind.NUMERIC, Role.WEIGHT, "How many adults the person stands for.", type="real",
                edges=(0.0, 2e3, 4e3, 6e3, 8e3, 1e4, 1.5e4, 2e4, 3e4, float(_MAX_WEIGHT))),
        _number("age", quasi, (*range(18, 83, 5), 85), "Age, 85 stands for 85 and older.", unit="years"),
        _levels("sex", quasi, SEXES, "Sex."),
        _levels("race", quasi, RACES, "Race."),
        _column("hispanic", Kind.FLAG, quasi, "Hispanic ethnicity.", type="boolean", levels=(False, True)),
        _levels("region", quasi, REGIONS, "Census region."),
        _levels("education", quasi, EDUCATION, "Highest schooling.", kind=Kind.ORDINAL, missing=True),
        _number("family_size", quasi, range(1, 9), "People in the family.", draw=Draw.LOWER),
        _number("family_income", quasi, (0, 5_000, 10_000, 20_000, 30_000, 40_000, 50_000, 75_000, 100_000,
                150_000, _MAX_INCOME), "Yearly income of the family.", unit="dollars"),
        _levels("income", quasi, INCOME, "Family income against the poverty line.", kind=Kind.ORDINAL),
        _levels("insurance", quasi, INSURANCE, "Health insurance over the year."),
        _levels("health", sensitive, HEALTH, "Health as the person rates it.", kind=Kind.ORDINAL,
                missing=True),
        _column("limitation", Kind.FLAG, sensitive, "Any limitation of activity.", type="boolean",
                levels=(False, True)),
        *(_column(name, Kind.FLAG, sensitive, f"Ever told of {name.replace('_', ' ')}.", type="boolean",
                  levels=(False, True)) for name in CONDITIONS),
        _number("stays", sensitive, (0, 1, 2, 3, 4, 10), "Hospital stays in the year."),
        _number("prescriptions", sensitive, (0, 1, 3, 6, 12, 24, 48, 400), "Prescriptions in the year."),
        _number("cost", sensitive, (0, 1, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, _MAX_COST),
                "Medical cost of the year; the first bin holds those without any.", unit="dollars"),
        _number("cost_self", sensitive, (0, 1, 100, 200, 500, 1_000, 2_000, 5_000, _MAX_COST),
                "What the person paid of it.", unit="dollars"),
    ))  # fmt: skip


def _levels(
    name: str,
    role: Role,
    levels: tuple[str, ...],
    description: str,
    kind: Kind = Kind.NOMINAL,
    **more: object,
) -> Column:
    return _column(name, kind, role, description, levels=levels, **more)


def _number(name: str, role: Role, edges: Iterable[Value], description: str, **more: Any) -> Column:
    more = {"draw": Draw.INTEGER, **more}
    return _column(name, Kind.NUMERIC, role, description, type="integer", edges=tuple(edges), **more)


def member_rows(n: int, seed: int) -> tuple[pa.Table, Schema]:
    """The simulated members and their schema."""
    schema = member_schema()
    return in_blocks(n, seed, "members", schema, _block), schema


def _block(rng: np.random.Generator, block: int) -> dict[str, Any]:
    n = BLOCK
    age = np.minimum(18 + 5 * _AGE.draw(rng.random(n)) + rng.integers(0, 5, n), 85)
    male = rng.random(n) < 0.48
    region = _REGION.draw(rng.random(n))
    race = _RACE_BY_REGION.draw(rng.random(n), region)
    hispanic = rng.random(n) < _HISPANIC[region, race]
    education = _schooling(rng, age, hispanic)
    family = 1 + _FAMILY.draw(np.where(age >= 65, 0.55, 1.0) * rng.random(n))
    dollars = _income(rng, age, male, education, family)
    income = np.searchsorted([1.0, 1.25, 2.0, 4.0], dollars / (6_500.0 + 3_200.0 * family), side="right")
    ill = 0.028 * (age - 45) - 0.22 * (education - 2) - 0.20 * (income - 3) + 1.1 * rng.standard_normal(n)
    health = np.searchsorted([-0.9, 0.15, 1.15, 2.1], ill, side="right")
    insurance = _insurance(rng, age, income, hispanic, ill)
    limited = rng.random(n) < _chance(-1.5 + 0.035 * (age - 45) + 0.75 * (health - 2))
    conditions = {
        name: rng.random(n) < _chance(base + by_age * (age - 45) / 10 + by_health * (health - 2))
        for name, (base, by_age, by_health) in CONDITIONS.items()
    }
    chronic = np.sum(list(conditions.values()), axis=0)
    stays = np.minimum(
        rng.poisson(np.exp(-3.2 + 0.018 * (age - 45) + 0.35 * (health - 2) + 0.22 * chronic)), 10
    )
    drugs = rng.poisson(
        rng.gamma(0.8, np.exp(1.1 + 0.008 * (age - 45) + 0.35 * (health - 2) + 0.5 * chronic))
    )
    cost = _cost(rng, age, male, health, insurance, chronic, stays, education)
    share = rng.beta(1.2, np.choose(insurance, [4.5, 9.0, 0.8]))
    return {
        "id": names_column("M", block * BLOCK + np.arange(n) + 1),
        "weight": numbers_column(_weights(rng, age, race, hispanic, region)),
        "age": numbers_column(age),
        "sex": levels_column(SEXES, male.astype(np.int64)),
        "race": levels_column(RACES, race),
        "hispanic": pa.array(hispanic),
        "region": levels_column(REGIONS, region),
        "education": levels_column(EDUCATION, education, rng.random(n) < 0.01),
        "family_size": numbers_column(family),
        "family_income": numbers_column(dollars),
        "income": levels_column(INCOME, income),
        "insurance": levels_column(INSURANCE, insurance),
        "health": levels_column(HEALTH, health, rng.random(n) < 0.015),
        "limitation": pa.array(limited),
        **{name: pa.array(flags) for name, flags in conditions.items()},
        "stays": numbers_column(stays),
        "prescriptions": numbers_column(np.minimum(drugs, 400)),
        "cost": numbers_column(cost),
        "cost_self": numbers_column(np.floor(cost * share).astype(np.int64)),
    }


def _chance(log_odds: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-log_odds)))


def _schooling(rng: np.random.Generator, age: Codes, hispanic: Flags) -> Codes:
    """The young have not finished, the old had less, and origin matters."""
    step = np.arange(5) - 2.0
    tilt = -0.012 * np.maximum(age - 45, 0) - 0.55 * hispanic
    weights = _EDUCATION * np.exp(tilt[:, None] * step)
    weights[age < 22, 3:] = 0.0
    return choose(rng.random(len(age)), weights)


def _income(rng: np.random.Generator, age: Codes, male: Flags, education: Codes, family: Codes) -> Codes:
    location = 10.25 + 0.28 * (education - 1) + 0.05 * male + 0.14 * np.minimum(family - 1, 3)
    location = location - 0.0006 * (age - 48.0) ** 2
    dollars = np.exp(location + 0.75 * rng.standard_normal(len(age)))
    return np.where(rng.random(len(age)) < 0.01, 0, np.minimum(dollars, _MAX_INCOME)).astype(np.int64)


def _insurance(rng: np.random.Generator, age: Codes, income: Codes, hispanic: Flags, ill: Floats) -> Codes:
    """Nobody is uninsured from 65 on."""
    private = 0.6 + 0.75 * (income - 2) + 0.01 * (age - 45)
    public = -0.6 - 0.55 * (income - 2) + 0.25 * ill + 2.2 * (age >= 65)
    uninsured = -0.2 - 0.015 * (age - 45) + 0.5 * hispanic
    weights = np.exp(np.stack([private, public, uninsured], axis=1))
    weights[age >= 65, 2] = 0.0
    return choose(rng.random(len(age)), weights)


def _cost(
    rng: np.random.Generator, age: Codes, male: Flags, health: Codes,
    insurance: Codes, chronic: Codes, stays: Codes, education: Codes,
) -> Codes:  # fmt: skip
    """Part one: any cost at all. Part two: how much."""
    n = len(age)
    covered = np.choose(insurance, [0.6, 0.5, -0.9])
    any_cost = (
        0.9
        + 0.02 * (age - 45)
        - 0.7 * male
        + 0.3 * (health - 2)
        + 1.1 * chronic
        + covered
        + 0.2 * (education - 2)
    )
    spends = (stays > 0) | (rng.random(n) < _chance(any_cost))
    location = 6.75 + 0.014 * (age - 45) - 0.15 * male + 0.22 * (health - 2) + 0.28 * chronic + 0.35 * covered
    location = location + 1.6 * np.log1p(stays)
    dollars = np.clip(np.ceil(np.exp(location + 1.25 * rng.standard_normal(n))), 1, _MAX_COST)
    return np.where(spends, dollars, 0).astype(np.int64)


def _weights(rng: np.random.Generator, age: Codes, race: Codes, hispanic: Flags, region: Codes) -> Floats:
    """Small groups are sampled more densely, so each of their members stands for fewer people."""
    location = 9.15 - 0.35 * (race == 1) - 0.45 * hispanic + 0.002 * (age - 45) + 0.06 * (region == 1)
    return np.asarray(np.minimum(np.exp(location + 0.45 * rng.standard_normal(len(age))), _MAX_WEIGHT))
