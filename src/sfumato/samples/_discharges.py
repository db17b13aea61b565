"""Simulated hospital discharges: people first, then their stays, then what is recorded of each."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.samples import _discharge_tables as tables
from sfumato.samples._common import (
    BLOCK,
    Codes,
    Flags,
    Floats,
    bin_of,
    choose,
    dates_column,
    in_blocks,
    levels_column,
    names_column,
    numbers_column,
)
from sfumato.samples._diagnoses import COMORBIDITIES, all_codes, code_law
from sfumato.samples._discharge_schema import (
    AGES,
    CATEGORIES,
    CHARGES,
    COUNTIES,
    COUNTY_OF_HOSPITAL,
    DISPOSITIONS,
    ETHNICITIES,
    FIRST_DAY,
    HOSPITALS,
    LAST_DAY,
    MAX_CHARGE,
    MAX_STAY,
    PAYERS,
    RACES,
    REGION_OF_COUNTY,
    REGIONS,
    SEXES,
    STAYS,
    TYPES,
    ZIPS,
    discharge_schema,
)
from sfumato.schema import Schema

_FIRST = int(np.datetime64(FIRST_DAY, "D").astype(np.int64))
_LAST = int(np.datetime64(LAST_DAY, "D").astype(np.int64))
Single: TypeAlias = NDArray[np.float32]  # half the memory where precision does not matter
_YEAR = 365.2425
_MOST_STAYS = 8


@dataclass
class _People:
    """One entry per person; codes are positions in the level lists."""

    zip: Codes
    race: Codes
    ethnicity: Codes
    sex: Codes
    newborn: Flags
    born: Codes  # days since 1970
    first: Codes  # day of the first admission
    age: Codes  # completed years then
    frailty: Floats
    stays: Codes  # at most; some do not happen
    payer: Floats  # where the person stands in the list of payers, from 0 to 1
    conditions: Single  # (people, comorbidities): the log-odds from which the person has them


@dataclass
class _Stays:
    """One entry per stay, people in order and their stays in order of time."""

    person: Codes
    admitted: Codes
    age: Codes
    mdc: Codes
    typ: Codes
    cat: Codes
    sev: Codes
    los: Codes
    disp: Codes


_Record = TypeVar("_Record", _People, _Stays)


def discharge_rows(n: int, seed: int) -> tuple[pa.Table, Schema]:
    """The simulated discharges and their schema."""
    schema = discharge_schema()
    return in_blocks(n, seed, "discharges", schema, _block), schema


def _block(rng: np.random.Generator, block: int) -> dict[str, Any]:
    # Each person has at least one stay, so as many people as rows are always enough.
    people = _people(rng, BLOCK)
    stays = _stays(rng, people)
    return _recorded(rng, people, stays, block)


def _taken(record: _Record, which: NDArray[Any]) -> _Record:
    return type(record)(**{f.name: getattr(record, f.name)[which] for f in fields(record)})


def completed_years(born: Codes, day: Codes) -> Codes:
    """Age by the calendar: a year is complete on the birthday (1 March for 29 February)."""
    years, month_days = [], []
    for days in (born, day):
        dates = days.astype("datetime64[D]")
        months = dates.astype("datetime64[M]").astype(np.int64)
        years.append(months // 12)
        month_days.append(32 * (months % 12) + (dates - dates.astype("datetime64[M]")).astype(np.int64))
    return np.asarray(years[1] - years[0] - (month_days[1] < month_days[0]), dtype=np.int64)


def _people(rng: np.random.Generator, n: int) -> _People:
    zips = tables.ZIP.draw(rng.random(n))
    neighbourhood = tables.NEIGHBOURHOOD_OF_ZIP[zips]
    race = tables.RACE_BY_NEIGHBOURHOOD.draw(rng.random(n), neighbourhood)
    newborn = rng.random(n) < tables.NEWBORNS
    band = tables.AGE_BAND.draw(rng.random(n))
    within = np.where(band == len(AGES) - 1, np.minimum(rng.exponential(6.0, n), 25.0), 5.0 * rng.random(n))
    first = _FIRST + rng.integers(0, 365, n)
    # One day at least, so that nobody but a newborn is born on the day of admission.
    born = np.where(newborn, first, _FIRST - 1 - np.floor((5.0 * band + within) * _YEAR).astype(np.int64))
    age = completed_years(born, first)
    frailty = rng.standard_normal(n)
    again = np.where(newborn, 0.08, 0.28 * np.exp(0.5 * frailty + 0.012 * (age - 45.0)))
    return _People(
        zip=zips,
        race=race,
        ethnicity=_ethnicity(rng, race, neighbourhood),
        sex=(rng.random(n) < 0.52).astype(np.int64),
        newborn=newborn,
        born=born,
        first=first,
        age=age,
        frailty=frailty,
        stays=1 + np.minimum(rng.poisson(again), _MOST_STAYS - 1),
        payer=rng.random(n),
        conditions=_log_odds(rng.random((n, len(COMORBIDITIES)), dtype=np.float32)),
    )


def _log_odds(u: Single) -> Single:
    """Logistic draws: the chance that one lies below x is 1 / (1 + exp(-x))."""
    u = np.clip(u, 1e-7, 1.0 - 1e-7, dtype=np.float32)
    return np.asarray(np.log(u / (1.0 - u)), dtype=np.float32)


def _ethnicity(rng: np.random.Generator, race: Codes, neighbourhood: Codes) -> Codes:
    hispanic = tables.HISPANIC_BY_RACE[race] * tables.HISPANIC_BY_NEIGHBOURHOOD[neighbourhood]
    hispanic = np.minimum(hispanic, 0.92)
    unknown = np.where(race == RACES.index("unknown"), 1.5, 0.02)
    declined = np.full(len(race), 0.01)
    return choose(rng.random(len(race)), np.stack([hispanic, 1.0 - hispanic, declined, unknown], axis=1))


def _stays(rng: np.random.Generator, people: _People) -> _Stays:
    """All stays that happen, cut to a block: none after a death or after the last day."""
    person = np.repeat(np.arange(len(people.stays)), people.stays)
    start = (np.cumsum(people.stays) - people.stays)[person]  # where the person's stays begin
    is_first = np.arange(len(person)) == start
    p = _taken(people, person)
    n = len(person)
    mdc = _reasons(rng, p, start, is_first)
    is_newborn = mdc == tables.NEWBORN
    typ = tables.type_law().draw(rng.random(n), (p.age >= 65).astype(np.int64), mdc)
    operable = (typ == tables.ACUTE) & (rng.random(n) < tables.SURGICAL[mdc])
    cat = (operable | (typ == tables.DAY_SURGERY)).astype(np.int64)
    latent = 0.55 * p.frailty + 0.012 * (p.age - 45.0) + tables.SEVERITY[mdc] + rng.standard_normal(n)
    latent -= 1.5 * (typ == tables.DAY_SURGERY)
    sev = (latent > 0.6).astype(np.int64) + (latent > 1.6)
    los = _nights(rng, p, mdc, typ, cat, sev)
    disp = _dispositions(rng, p, typ, sev, is_newborn)

    away = los + 2 + np.floor(rng.exponential(70.0, n)).astype(np.int64)
    before = np.cumsum(away) - away  # until this stay, over all people
    admitted = p.first + before - before[start]
    died = (disp == tables.DIED).astype(np.int64)
    died_before = np.cumsum(died) - died
    happens = np.flatnonzero((admitted <= _LAST) & (died_before == died_before[start]))[:BLOCK]
    age = completed_years(p.born, admitted)
    return _taken(_Stays(person, admitted, age, mdc, typ, cat, sev, los, disp), happens)


def _reasons(rng: np.random.Generator, p: _People, start: Codes, is_first: Flags) -> Codes:
    """Major categories: a birth first for newborns, and often the same reason again for the others."""
    fresh = tables.mdc_law().draw(rng.random(len(start)), p.sex, bin_of(p.age, AGES))
    fresh = np.where(p.newborn & is_first, tables.NEWBORN, fresh)
    earlier = fresh[start]
    lasting = (earlier != tables.NEWBORN) & (earlier != tables.PREGNANCY)
    return np.where(~is_first & lasting & (rng.random(len(start)) < 0.45), earlier, fresh)


def _nights(rng: np.random.Generator, p: _People, mdc: Codes, typ: Codes, cat: Codes, sev: Codes) -> Codes:
    location = tables.STAY_BY_TYPE[typ] + tables.STAY[mdc] + 0.42 * sev + 0.15 * cat + 0.08 * p.frailty
    nights = np.floor(np.exp(location + 0.62 * rng.standard_normal(len(mdc))))
    nights = np.where(typ == tables.DAY_SURGERY, 0, nights)
    return np.minimum(nights, MAX_STAY).astype(np.int64)


def _dispositions(rng: np.random.Generator, p: _People, typ: Codes, sev: Codes, is_newborn: Flags) -> Codes:
    decades = ((p.age - 45.0) / 10.0)[:, None]
    logits = (
        tables.DISPOSITION
        + tables.DISPOSITION_BY_AGE * decades
        + tables.DISPOSITION_BY_SEVERITY * sev[:, None]
        + tables.DISPOSITION_BY_TYPE[typ]
        + np.where(is_newborn[:, None], tables.DISPOSITION_OF_NEWBORN, 0.0)
    )
    weights = np.exp(logits)
    weights[p.age < 15, tables.PRISON] = 0.0
    return choose(rng.random(len(typ)), weights)


def _payers(rng: np.random.Generator, p: _People, s: _Stays) -> Codes:
    """Mostly the person's own payer, as age allows; accidents at work and births have their own."""
    n = len(s.person)
    group = (s.age >= 18).astype(np.int64) + (s.age >= 65)
    u = np.where(rng.random(n) < 0.08, rng.random(n), p.payer)
    pay = tables.PAYER.draw(u, group, tables.NEIGHBOURHOOD_OF_ZIP[p.zip])
    pay[(pay == tables.MEDICARE) & (s.age < 20)] = tables.MEDI_CAL
    birth = np.isin(s.mdc, [tables.PREGNANCY, tables.NEWBORN])
    pay[birth & (rng.random(n) < 0.25)] = tables.MEDI_CAL
    at_work = np.isin(s.mdc, tables.INJURIES) & (group == 1) & (rng.random(n) < 0.07)
    pay[at_work] = tables.WORKERS
    return pay


def _charges(rng: np.random.Generator, s: _Stays, hospital: Codes) -> Codes:
    n = len(hospital)
    location = (
        8.55 + 0.78 * np.log1p(s.los) + 0.85 * s.cat + 0.22 * s.sev
        + tables.CHARGE[s.mdc] + tables.CHARGE_BY_TYPE[s.typ] + tables.hospital_effects()[hospital]
    )  # fmt: skip
    dollars = np.minimum(np.exp(location + 0.5 * rng.standard_normal(n)), MAX_CHARGE)
    return np.where(rng.random(n) < 0.004, 0, np.floor(dollars)).astype(np.int64)  # some are not charged


def _others(p: _People, s: _Stays, dx: Codes) -> pa.Array:
    """Other diagnoses, joined; the same people keep the same conditions, and get more with age."""
    base, by_age = np.array(list(COMORBIDITIES.values()), dtype=np.float32).T
    decades = ((s.age - 50.0) / 10.0).astype(np.float32)[:, None]
    illness = (0.45 * p.frailty + 0.35 * s.sev).astype(np.float32)[:, None]
    present = p.conditions < base + by_age * decades + illness
    present &= (s.mdc != tables.NEWBORN)[:, None] & (s.age >= 10)[:, None]
    present &= np.array([all_codes().index(code) for code in COMORBIDITIES])[None, :] != dx[:, None]
    offsets = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int32)
    listed = pa.ListArray.from_arrays(
        pa.array(offsets), levels_column(list(COMORBIDITIES), np.nonzero(present)[1])
    )
    joined = pc.binary_join(listed, ";")
    return pc.if_else(pa.array(np.diff(offsets) == 0), pa.scalar(None, pa.string()), joined)


def _recorded(rng: np.random.Generator, people: _People, s: _Stays, block: int) -> dict[str, Any]:
    """The columns, with what was not recorded left out."""
    p = _taken(people, s.person)
    n = len(s.person)
    hospital = tables.hospital_law().draw(rng.random(n), p.zip)
    county = np.asarray(COUNTY_OF_HOSPITAL)[hospital]
    dollars = _charges(rng, s, hospital)
    dx = code_law().draw(rng.random(n), s.mdc, s.sev)
    guarded = np.isin(s.typ, [tables.PSYCHIATRIC, tables.DEPENDENCY])  # where less is written down
    no_age, no_sex, no_stay = (rng.random((3, n)) < np.where(guarded, 0.05, 0.01)) & (
        np.array([1.0, 0.5, 1.0])[:, None] > rng.random((3, n))
    )
    return {
        "id": names_column("R", block * BLOCK + np.arange(n) + 1),
        "person": names_column("P", block * BLOCK + s.person + 1),
        "typ": levels_column(TYPES, s.typ),
        "age": levels_column(AGES, bin_of(s.age, AGES), no_age),
        "sex": levels_column(SEXES, p.sex, no_sex),
        "ethnicity": levels_column(ETHNICITIES, p.ethnicity),
        "race": levels_column(RACES, p.race),
        "zip": levels_column(ZIPS, p.zip),
        "los": levels_column(STAYS, bin_of(s.los, STAYS), no_stay),
        "disp": levels_column(DISPOSITIONS, s.disp),
        "pay": levels_column(PAYERS, _payers(rng, p, s)),
        "charge": levels_column(CHARGES, bin_of(dollars, CHARGES)),
        "mdc": numbers_column(s.mdc + 1),
        "sev": numbers_column(s.sev),
        "cat": levels_column(CATEGORIES, s.cat),
        "age_years": numbers_column(s.age, no_age),
        "los_days": numbers_column(s.los, no_stay),
        "charge_usd": numbers_column(dollars),
        "dx": levels_column(all_codes(), dx),
        "dx_other": _others(p, s, dx),
        "hospital": levels_column(HOSPITALS, hospital),
        "county": levels_column(COUNTIES, county),
        "region": levels_column(REGIONS, np.asarray(REGION_OF_COUNTY)[county]),
        "admitted": dates_column(s.admitted),
        "born": dates_column(p.born, no_age),
    }
