"""Simulated patients, their stays, and the diagnoses of each stay: three linked tables.

Each patient has a few lasting conditions, which come back in later stays, and codes that belong to one stay.
Gaps between stays are short or long, so that some readmissions fall within 30 days. All numbers are made up.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.samples._common import (
    BLOCK,
    Codes,
    check_rows,
    dates_column,
    levels_column,
    names_column,
    numbers_column,
    simulated_column,
)
from sfumato.samples._diagnoses import COMORBIDITIES, all_codes, code_law
from sfumato.schema import Kind, Role, Schema
from sfumato.seeds import Key

SEXES = ("female", "male")
BANDS = ("0-17", "18-39", "40-64", "65-79", "80+")
WARDS = ("internal medicine", "surgery", "neurology", "orthopaedics", "psychiatry")
_FROM = (0, 18, 40, 65, 80)
_FIRST_DAY, _DAYS = 15_706, 1095  # 2013-01-01 and three years
_MOST_STAYS, _LASTING, _PASSING = 12, 5, 4


@cache
def hospital_schemas() -> dict[str, Schema]:
    """The schemas of the three tables."""
    c = simulated_column
    levels = tuple(sorted({*all_codes(), *COMORBIDITIES}))
    patients = Schema((
        c("patient_id", Kind.NOMINAL, Role.PERSON, "Patient", type="text", provenance=None),
        c("birth_date", Kind.DATE, Role.QUASI_IDENTIFIER, "Day of birth", type="date", provenance=None),
        c("sex", Kind.NOMINAL, Role.QUASI_IDENTIFIER, "Sex", levels=SEXES),
        c("age_band", Kind.ORDINAL, Role.QUASI_IDENTIFIER, "Age on the first day", levels=BANDS),
    ))  # fmt: skip
    stays = Schema((
        c("stay_id", Kind.NOMINAL, Role.IDENTIFIER, "Stay", type="integer", provenance=None),
        c("patient_id", Kind.NOMINAL, Role.PERSON, "Patient", type="text", provenance=None),
        c("admitted", Kind.DATE, Role.QUASI_IDENTIFIER, "Admission", type="date", provenance=None),
        c("discharged", Kind.DATE, Role.QUASI_IDENTIFIER, "Discharge", type="date", provenance=None),
        c("ward", Kind.NOMINAL, Role.OTHER, "Ward", levels=WARDS),
    ))  # fmt: skip
    diagnoses = Schema((
        c("stay_id", Kind.NOMINAL, Role.IDENTIFIER, "Stay", type="integer", provenance=None),
        c("position", Kind.NUMERIC, Role.OTHER, "Rank of the diagnosis", type="integer", provenance=None),
        c("code", Kind.NOMINAL, Role.SENSITIVE, "Diagnosis, shaped like ICD-9", levels=levels),
    ))  # fmt: skip
    return {"patients": patients, "stays": stays, "diagnoses": diagnoses}


def hospital_rows(n: int, seed: int) -> dict[str, pa.Table]:
    """The three tables of the first n patients of an endless hospital."""
    n, key = check_rows(n), Key.from_seed(seed)
    blocks = [_block(key.generator("samples", "hospital", b), b) for b in range(-(-n // BLOCK))]
    whole = {name: pa.concat_tables([b[name] for b in blocks]) for name in blocks[0]}
    patients = whole["patients"].slice(0, n)
    stays = whole["stays"].filter(
        pc.is_in(whole["stays"]["patient_id"], patients["patient_id"].combine_chunks())
    )
    kept = pc.is_in(whole["diagnoses"]["stay_id"], stays["stay_id"].combine_chunks())
    return {"patients": patients, "stays": stays, "diagnoses": whole["diagnoses"].filter(kept)}


def _block(rng: np.random.Generator, block: int) -> dict[str, pa.Table]:
    n = BLOCK
    age = np.clip(rng.normal(58, 21, n), 0, 99).astype(np.int64)
    sex = rng.integers(0, 2, n)
    lasting = _lasting(rng, age)
    count = np.minimum(rng.geometric(0.42 - 0.002 * np.clip(age, 0, 90)), _MOST_STAYS) - (
        rng.random(n) < 0.25
    )
    owner = np.repeat(np.arange(n), count)
    admitted, discharged = _days(rng, count)
    number = block * BLOCK * _MOST_STAYS + np.arange(len(owner)) + 1
    patient = block * BLOCK + np.arange(n)
    born = _FIRST_DAY - age * 365 - rng.integers(0, 365, n)
    band = np.searchsorted(_FROM, age, side="right") - 1
    ids = names_column("P", patient)
    return {
        "patients": pa.table({
            "patient_id": ids, "birth_date": dates_column(born), "sex": levels_column(SEXES, sex),
            "age_band": levels_column(BANDS, band.astype(np.int64)),
        }),
        "stays": pa.table({
            "stay_id": numbers_column(number), "patient_id": ids.take(pa.array(owner)),
            "admitted": dates_column(admitted), "discharged": dates_column(discharged),
            "ward": levels_column(WARDS, rng.choice(5, len(owner), p=(0.4, 0.25, 0.12, 0.15, 0.08))),
        }),
        "diagnoses": _diagnoses(rng, owner, number, lasting),
    }  # fmt: skip


def _lasting(rng: np.random.Generator, age: Codes) -> Codes:
    """(patients, up to five) lasting conditions, by number; -1 where there are fewer."""
    odds = np.array([a + b * (age - 50) / 10 for a, b in COMORBIDITIES.values()]).T
    has = rng.random(odds.shape) < 1 / (1 + np.exp(-odds + 0.7))
    order = np.argsort(np.where(has, rng.random(odds.shape), 2), axis=1)[:, :_LASTING]
    return np.where(np.take_along_axis(has, order, 1), order, -1)


def _days(rng: np.random.Generator, count: Codes) -> tuple[Codes, Codes]:
    """Admission and discharge of each stay, one after the other for each patient."""
    total = int(count.sum())
    first = np.repeat(np.cumsum(count) - count, count)
    gap = np.where(rng.random(total) < 0.3, rng.integers(2, 31, total), rng.integers(20, 260, total))
    length = np.minimum(rng.geometric(0.18, total), 60)
    start = np.repeat(_FIRST_DAY + rng.integers(0, _DAYS // 2, len(count)), count)
    steps = np.cumsum(gap + length)
    before = np.where(np.arange(total) == first, 0, steps[np.maximum(np.arange(total) - 1, 0)])
    base = steps[first] - (gap + length)[first]
    admitted = start + np.maximum(before - base, 0)
    return admitted, admitted + length


def _diagnoses(rng: np.random.Generator, owner: Codes, number: Codes, lasting: Codes) -> pa.Table:
    stays = len(owner)
    names = np.array([*all_codes(), *COMORBIDITIES])
    mdc = rng.integers(0, 25, stays)
    passing = rng.integers(1, _PASSING + 1, stays)
    codes = np.full((stays, _PASSING + _LASTING), -1, np.int64)
    for at in range(_PASSING):
        drawn = code_law().draw(
            rng.random(stays), np.where(at == 0, mdc, rng.integers(0, 25, stays)), passing % 3
        )
        codes[:, at] = np.where(at < passing, drawn, -1)
    kept = lasting[owner]
    codes[:, _PASSING:] = np.where((kept >= 0) & (rng.random(kept.shape) < 0.8), kept + len(all_codes()), -1)
    rows, columns = np.nonzero(codes >= 0)
    value = names[codes[rows, columns]]
    _, once = np.unique(np.char.add(np.char.add(rows.astype(str), " "), value), return_index=True)
    once.sort()
    rows, value = rows[once], value[once]
    place = np.arange(len(rows)) - np.searchsorted(rows, rows)
    return pa.table({"stay_id": number[rows], "position": place + 1, "code": value})
