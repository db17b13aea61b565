"""A simulated OMOP CDM 5.4: persons, visits, conditions that last and come back, drugs that follow them.

Concepts above two thousand millions are local by OMOP's own rule, so that no code here stands for a real one.
All numbers are made up.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.samples._common import BLOCK, Codes, Flags, LevelLaw, check_rows, dates_column
from sfumato.seeds import Key

VERSION = "5.4"
_FEMALE, _MALE, _INPATIENT, _OUTPATIENT, _EHR = 8532, 8507, 9201, 9202, 32817
_LOCAL = 2_000_000_000
_CONDITIONS, _LASTING, _DRUGS, _TESTS, _PROVIDERS = 80, 20, 40, 12, 50
_FIRST_DAY, _DAYS = 16_801, 1826  # 2016-01-01 and five years
_MOST_VISITS, _MOST_EVENTS = 16, 96
_DOMAINS = ("Condition", "Drug", "Measurement")


def _concept(domain: int, number: Codes) -> Codes:
    return _LOCAL + 1000 * (domain + 1) + number


def omop_rows(n: int, seed: int) -> dict[str, pa.Table]:
    """The tables of the first n persons of an endless CDM."""
    blocks = list(omop_blocks(n, seed))
    whole = {name: pa.concat_tables([b[name] for b in blocks]).combine_chunks() for name in blocks[0]}
    return {**whole, **omop_lists()}


def omop_blocks(n: int, seed: int) -> Iterator[dict[str, pa.Table]]:
    """The tables of persons, some thousand persons at a time: for a CDM that no memory holds."""
    n, key = check_rows(n), Key.from_seed(seed)
    for b in range(-(-n // BLOCK)):
        block = _block(key.generator("samples", "omop", b), b)
        yield {name: t.filter(pc.less_equal(t["person_id"], n)) for name, t in block.items()}


def omop_lists() -> dict[str, pa.Table]:
    """The tables without persons."""
    return {"provider": _providers(), "concept": _concepts(), "cdm_source": _source()}


@cache
def _laws() -> tuple[LevelLaw, LevelLaw]:
    """Conditions that last, by age in three bands, and those that pass: a few are common, many are rare."""
    rank = np.arange(1, _LASTING + 1)
    lasting = np.stack([1 / rank ** (1.3 - 0.3 * band) for band in range(3)])
    passing = 1 / np.arange(1, _CONDITIONS - _LASTING + 1) ** 1.1
    return LevelLaw(lasting), LevelLaw(passing)


def _block(rng: np.random.Generator, block: int) -> dict[str, pa.Table]:
    n = BLOCK
    age = np.clip(rng.normal(52, 22, n), 0, 98).astype(np.int64)
    person = block * n + np.arange(n) + 1
    visits = np.minimum(rng.geometric(0.30 - 0.0015 * age), _MOST_VISITS)
    owner = np.repeat(np.arange(n), visits)
    start, end, inpatient = _days(rng, visits)
    visit = block * n * _MOST_VISITS + np.arange(len(owner)) + 1
    first = np.arange(len(owner)) == np.repeat(np.cumsum(visits) - visits, visits)
    condition, at = _conditions(rng, age, owner)
    conditions = _events(block, at, "condition_occurrence", "condition", person, owner, visit, start,
                         _concept(0, condition))  # fmt: skip
    treated = rng.random(len(at)) < 0.7
    drugs = _drugs(rng, block, at[treated], condition[treated], person, owner, visit, start)
    return {
        "person": _persons(rng, person, age),
        "observation_period": _periods(person, visits, start, end),
        "visit_occurrence": pa.table({
            "visit_occurrence_id": visit, "person_id": person[owner],
            "visit_concept_id": np.where(inpatient, _INPATIENT, _OUTPATIENT),
            "visit_start_date": dates_column(start), "visit_end_date": dates_column(end),
            "visit_type_concept_id": np.full(len(owner), _EHR),
            "provider_id": pa.array(rng.integers(1, _PROVIDERS + 1, len(owner)),
                                    mask=rng.random(len(owner)) < 0.2),
            "preceding_visit_occurrence_id": pa.array(visit - 1, mask=first),
        }),
        "condition_occurrence": conditions,
        "drug_exposure": drugs,
        "measurement": _measurements(rng, block, at, condition, person, owner, visit, start),
        "death": _deaths(rng, person, age, visits, end),
    }  # fmt: skip


def _persons(rng: np.random.Generator, person: Codes, age: Codes) -> pa.Table:
    n = len(person)
    born = _FIRST_DAY - age * 365.25 - rng.integers(0, 365, n)
    return pa.table({
        "person_id": person, "gender_concept_id": np.where(rng.random(n) < 0.52, _FEMALE, _MALE),
        "year_of_birth": (1970 + born / 365.2425).astype(np.int64),
        "race_concept_id": np.zeros(n, np.int64), "ethnicity_concept_id": np.zeros(n, np.int64),
        "provider_id": pa.array(rng.integers(1, _PROVIDERS + 1, n), mask=rng.random(n) < 0.3),
    })  # fmt: skip


def _periods(person: Codes, visits: Codes, start: Codes, end: Codes) -> pa.Table:
    """Observed from the first visit to the last."""
    last = np.cumsum(visits) - 1
    return pa.table({
        "observation_period_id": person, "person_id": person,
        "observation_period_start_date": dates_column(start[last - visits + 1]),
        "observation_period_end_date": dates_column(end[last]),
        "period_type_concept_id": np.full(len(person), _EHR),
    })  # fmt: skip


def _days(rng: np.random.Generator, visits: Codes) -> tuple[Codes, Codes, Flags]:
    """Start and end of each visit, one after the other for each person, and whether it is a stay."""
    total = int(visits.sum())
    inpatient = rng.random(total) < 0.25
    length = np.where(inpatient, np.minimum(rng.geometric(0.2, total), 60), 0)
    gap = np.where(rng.random(total) < 0.3, rng.integers(2, 31, total), rng.integers(20, 300, total))
    steps = np.cumsum(length + gap)
    first = np.repeat(np.cumsum(visits) - visits, visits)
    before = steps - (length + gap)
    begin = np.repeat(_FIRST_DAY + rng.integers(0, _DAYS // 2, len(visits)), visits)
    start = begin + before - before[first]
    return start, start + length, inpatient


def _conditions(rng: np.random.Generator, age: Codes, owner: Codes) -> tuple[Codes, Codes]:
    """(condition, visit by place) of each record: up to three that last and come back, and passing ones."""
    lasting, passing = _laws()
    band = np.minimum(age // 33, 2)
    own = np.stack([lasting.draw(rng.random(len(age)), band) for _ in range(3)], axis=1)
    has = rng.random(own.shape) < np.clip(age / 90, 0.05, 0.9)[:, None] * (0.8, 0.5, 0.3)
    there = has[owner] & (rng.random((len(owner), 3)) < 0.75)
    new = passing.draw(rng.random(len(owner))) + _LASTING
    codes = np.concatenate([own[owner], new[:, None]], axis=1)
    there = np.concatenate([there, rng.random((len(owner), 1)) < 0.6], axis=1)
    there[:, 1] &= codes[:, 1] != codes[:, 0]
    there[:, 2] &= (codes[:, 2] != codes[:, 1]) & (codes[:, 2] != codes[:, 0])
    at, place = np.nonzero(there)
    return codes[at, place], at


def _events(
    block: int, at: Codes, table: str, name: str, person: Codes, owner: Codes, visit: Codes, start: Codes,
    concept: Codes,
) -> pa.Table:  # fmt: skip
    number = block * BLOCK * _MOST_EVENTS + np.arange(len(at)) + 1
    return pa.table({
        f"{table}_id": number, "person_id": person[owner[at]], f"{name}_concept_id": concept,
        f"{name}_start_date": dates_column(start[at]), f"{name}_type_concept_id": np.full(len(at), _EHR),
        "visit_occurrence_id": visit[at],
    })  # fmt: skip


def _drugs(
    rng: np.random.Generator, block: int, at: Codes, condition: Codes, person: Codes, owner: Codes,
    visit: Codes, start: Codes,
) -> pa.Table:  # fmt: skip
    """What a condition is treated with, from the day of the visit."""
    drug = (condition * 7 + rng.integers(0, 3, len(at))) % _DRUGS
    supply = rng.choice((7, 14, 30, 90), len(at))
    plain = _events(block, at, "drug_exposure", "drug", person, owner, visit, start, _concept(1, drug))
    renamed = plain.rename_columns(
        [c.replace("drug_start_date", "drug_exposure_start_date") for c in plain.column_names]
    )
    ends = dates_column(start[at] + supply)
    return renamed.append_column("drug_exposure_end_date", ends).append_column(
        "days_supply", pa.array(supply)
    )


def _measurements(
    rng: np.random.Generator, block: int, at: Codes, condition: Codes, person: Codes, owner: Codes,
    visit: Codes, start: Codes,
) -> pa.Table:  # fmt: skip
    """Tests that a condition asks for; some say which record they belong to."""
    chosen = rng.random(len(at)) < 0.5
    rows, test = at[chosen], condition[chosen] % _TESTS
    record = block * BLOCK * _MOST_EVENTS + np.flatnonzero(chosen) + 1
    loose = rng.random(len(rows)) < 0.7
    value = np.round(rng.normal(10 * (test + 1), 2 + test), 1)
    return pa.table({
        "measurement_id": block * BLOCK * _MOST_EVENTS + np.arange(len(rows)) + 1,
        "person_id": person[owner[rows]], "measurement_concept_id": _concept(2, test),
        "measurement_date": dates_column(start[rows]),
        "measurement_type_concept_id": np.full(len(rows), _EHR), "value_as_number": value,
        "visit_occurrence_id": visit[rows],
        "measurement_event_id": pa.array(record, mask=loose),
        "meas_event_field_concept_id": pa.array(np.full(len(rows), 1147127), mask=loose),
    })  # fmt: skip


def _deaths(rng: np.random.Generator, person: Codes, age: Codes, visits: Codes, end: Codes) -> pa.Table:
    died = rng.random(len(person)) < np.clip((age - 30) / 500, 0.002, 0.2)
    day = end[np.cumsum(visits) - 1] + rng.integers(0, 200, len(person))
    return pa.table({
        "person_id": person[died], "death_date": dates_column(day[died]),
        "death_type_concept_id": np.full(int(died.sum()), _EHR),
    })  # fmt: skip


# -- what is the same for all ----------------------------------------------------------------------


def _providers() -> pa.Table:
    number = np.arange(_PROVIDERS) + 1
    return pa.table({"provider_id": number, "specialty_concept_id": np.zeros(_PROVIDERS, np.int64)})


def _concepts() -> pa.Table:
    """The vocabulary of all concepts that occur."""
    known = {
        _FEMALE: ("female", "Gender"), _MALE: ("male", "Gender"), _INPATIENT: ("inpatient", "Visit"),
        _OUTPATIENT: ("outpatient", "Visit"), _EHR: ("health record", "Type Concept"),
        1147127: ("condition_occurrence.condition_occurrence_id", "Metadata"),
    }  # fmt: skip
    for at, many in enumerate((_CONDITIONS, _DRUGS, _TESTS)):
        for number, concept in enumerate(_concept(at, np.arange(many)).tolist()):
            known[concept] = (f"simulated {_DOMAINS[at].lower()} {number + 1}", _DOMAINS[at])
    size = len(known)
    return pa.table({
        "concept_id": list(known), "concept_name": [name for name, _ in known.values()],
        "domain_id": [domain for _, domain in known.values()], "vocabulary_id": ["Simulated"] * size,
        "concept_class_id": ["Simulated"] * size, "standard_concept": ["S"] * size,
        "concept_code": [str(c) for c in known],
        "valid_start_date": dates_column(np.zeros(size, np.int64)),
        "valid_end_date": dates_column(np.full(size, 47_481)),
        "invalid_reason": pa.nulls(size, pa.string()),
    })  # fmt: skip


def _source() -> pa.Table:
    day = dates_column(np.array([_FIRST_DAY + _DAYS]))
    return pa.table({
        "cdm_source_name": ["Simulated persons"], "cdm_source_abbreviation": ["simulated"],
        "cdm_holder": ["Sfumato"], "source_release_date": day, "cdm_release_date": day,
        "cdm_version": [VERSION], "cdm_version_concept_id": [0], "vocabulary_version": ["simulated"],
    })  # fmt: skip
