"""Linked synthesis: patients, stays and diagnoses of DE-SynPUF and diabetes130, drawn from counts.

    python benchmarks/linked_synthesis.py [--persons 5000] [--only NAME] [--seed 0] [--splits 1]
    python benchmarks/linked_synthesis.py --epsilon 1 10 [--only NAME]

Without privacy: fitted to some persons and held against as many others, beside what real persons differ from
those others by; of several splits also the means, since the ratio of two small numbers is mostly chance. With
an epsilon: fitted to all persons and held against the same, beside a fit without noise; domains are taken as
declared (levels as the file lists them, in place of the published lists of codes). Processor seconds of
fitting and drawing, compiled loops loaded before.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import sfumato as sf
from sfumato.assessment.database_measures import utilities
from sfumato.hierarchy.classifications import icd9_groups
from sfumato.synthesis.private.purse import Purse

DATA = Path(os.environ.get("SFUMATO_DATA", "data"))
_RATIO = 1.25  # drawn persons may differ from others by so much more than real ones
_CONDITIONS = ["SP_ALZHDMTA", "SP_CHF", "SP_CHRNKIDN", "SP_COPD", "SP_DEPRESSN", "SP_DIABETES", "SP_ISCHMCHT"]


def desynpuf() -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Patients of 2008 with their conditions, stays of three years with DRG and payment, diagnoses."""
    people = pd.read_parquet(DATA / "desynpuf/desynpuf_beneficiary2008_s1.parquet")
    claims = pd.read_parquet(DATA / "desynpuf/desynpuf_inpatient_claims_2008_2010_s1.parquet")
    born = pd.to_datetime(people.BENE_BIRTH_DT, format="%Y%m%d")
    bands = [0, 64, 69, 74, 79, 84, 200]
    age = pd.cut(2008 - born.dt.year, bands, labels=["<65", "65-69", "70-74", "75-79", "80-84", "85+"])
    patients = pd.DataFrame({
        "patient_id": people.DESYNPUF_ID, "birth_date": born.dt.date,
        "death_date": pd.to_datetime(people.BENE_DEATH_DT, format="%Y%m%d", errors="coerce").dt.date,
        "sex": people.BENE_SEX_IDENT_CD, "race": people.BENE_RACE_CD, "age_band": age.astype(str),
        **{c: people[c] for c in _CONDITIONS},
    })  # fmt: skip
    claims = claims[(claims.SEGMENT == "1") & claims.DESYNPUF_ID.isin(set(patients.patient_id))]
    claims = claims.drop_duplicates("CLM_ID")

    def day(column: str) -> pd.Series:
        return pd.to_datetime(claims[column], format="%Y%m%d", errors="coerce").dt.date

    stays = pd.DataFrame({
        "stay_id": claims.CLM_ID, "patient_id": claims.DESYNPUF_ID, "admitted": day("CLM_ADMSN_DT"),
        "discharged": day("NCH_BENE_DSCHRG_DT"), "drg": claims.CLM_DRG_CD, "payment": claims.CLM_PMT_AMT,
    })  # fmt: skip
    codes = [f"ICD9_DGNS_CD_{i}" for i in range(1, 11)]
    return {"patients": patients, "stays": stays, "diagnoses": _long(claims, "CLM_ID", "stay_id", codes)}, [
        "drg"
    ]


def diabetes130() -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Patients, encounters without dates, up to three diagnoses of each."""
    rows = pd.read_parquet(DATA / "diabetes130/diabetic_data.parquet")
    patients = rows.groupby("patient_nbr", as_index=False).first()[["patient_nbr", "race", "gender", "age"]]
    stays = rows[["encounter_id", "patient_nbr", "time_in_hospital", "admission_type_id", "readmitted"]]
    codes = ["diag_1", "diag_2", "diag_3"]
    long = _long(rows, "encounter_id", "encounter_id", codes)
    return {"patients": patients, "stays": stays, "diagnoses": long}, []


def _long(wide: pd.DataFrame, key: str, name: str, codes: list[str]) -> pd.DataFrame:
    long = pd.concat([pd.DataFrame({name: wide[key], "code": wide[c]}) for c in codes])
    return long[long.code.notna() & ~long.code.isin(["", "?"])].drop_duplicates()


def halves(frames: dict[str, pd.DataFrame], persons: int, seed: int) -> list[sf.Database]:
    """Two groups of persons that have nobody in common, each as a database."""
    patients, stays, diagnoses = frames.values()
    key, stay = patients.columns[0], stays.columns[0]
    ids = np.random.default_rng(seed).permutation(patients[key].unique())
    out = []
    for part in (ids[:persons], ids[persons : 2 * persons]):
        some = stays[stays[key].isin(set(part))]
        tables = {
            "patients": patients[patients[key].isin(set(part))], "stays": some,
            "diagnoses": diagnoses[diagnoses[stay].isin(set(some[stay]))],
        }  # fmt: skip
        out.append(
            sf.scan_database({n: pa.Table.from_pandas(t, preserve_index=False) for n, t in tables.items()})
        )
    return out


def measured(original: sf.Database, released: sf.Database) -> dict[str, float]:
    """Every linked measure."""
    return {
        s.name: s.value for s in utilities(original, released, ["diagnoses.code"], sf.Key.from_seed(0), [])
    }


def without_privacy(
    title: str, frames: dict[str, pd.DataFrame], persons: int, seed: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Fitted to some, held against others; what real and drawn persons differ from these by."""
    data, others = halves(frames, persons, seed)
    start = time.process_time()
    model = sf.LinkedSynthesizer().fit(data)
    fitted = time.process_time()
    release = model.sample(seed=seed)
    rows = {n: t.rows() for n, t in release.data.tables.items()}
    drawn = time.process_time()
    faults = [str(d) for d in release.data.differences]
    print(
        f"{title}, {persons:,} persons: fitted {fitted - start:.1f} s, drawn {drawn - fitted:.1f} s; {rows}"
    )
    print(f"  differences: {faults or 'none'}")
    real, made = measured(others, data), measured(others, release.data)
    print(f"  {'':44s} {'real':>7s} {'drawn':>7s}  ratio")
    for name, value in made.items():
        print(
            f"  {name:44s} {real[name]:7.4f} {value:7.4f}  {value / max(real[name], 1e-9):5.2f}", flush=True
        )
    return real, made


def over_splits(title: str, frames: dict[str, pd.DataFrame], persons: int, seeds: range) -> None:
    """The same for several splits, and the means with their standard errors."""
    found = [without_privacy(title, frames, persons, seed) for seed in seeds]
    if len(found) < 2:
        return
    print(f"{title}, means over {len(found)} splits, and the ratio of the means")
    for name in found[0][1]:
        real, made = (np.array([pair[side][name] for pair in found]) for side in (0, 1))
        ratios = made / np.maximum(real, 1e-9)
        more = made - real
        spread = more.std(ddof=1) / np.sqrt(len(found))
        print(
            f"  {name:44s} {real.mean():7.4f} {made.mean():7.4f}  {made.mean() / real.mean():5.2f}   "
            f"drawn - real {more.mean():+.4f} +- {spread:.4f}   "
            f"ratios {ratios.min():.2f} to {ratios.max():.2f}, {(ratios > _RATIO).sum()} above {_RATIO}"
        )


# -- codes ------------------------------------------------------------------------------------------------

_LEVELS = ("chapter", "category", "whole code")


def code_counts(database: sf.Database, level: str) -> dict[str, int]:
    """How often each code occurs, at a level of its tree."""
    codes = pd.Series(database["diagnoses"].to_arrow()["code"].to_pylist()).dropna().astype(str)
    if level == "whole code":
        return codes.value_counts().to_dict()
    stems = codes.map(_category)
    groups = icd9_groups()
    return (stems if level == "category" else stems.map(lambda c: groups[c][1])).value_counts().to_dict()


def _category(code: str) -> str:
    """The three characters (of external causes four) that a code of ICD-9-CM begins with."""
    stem = code.partition(".")[0]
    return stem[:4] if stem.startswith("E") else stem[:3].zfill(3)


def code_errors(original: sf.Database, released: sf.Database) -> dict[str, float]:
    """Total variation between the codes of two databases, at each level."""
    out = {}
    for level in _LEVELS:
        one, two = (pd.Series(code_counts(d, level)) for d in (original, released))
        out[level] = float((one / one.sum()).sub(two / two.sum(), fill_value=0).abs().sum() / 2)
    return out


class Listening:
    """The noise of the counts of codes, as they are paid for: by their number of cells."""

    def __init__(self) -> None:
        self.found: list[tuple[str, int, float]] = []

    def __enter__(self) -> Listening:
        self._genuine = genuine = Purse.sums

        def sums(purse: Purse, values: Any, taxi: int, squared: int, columns: Any, amount: float,
                 purpose: str) -> Any:  # fmt: skip
            got = genuine(purse, values, taxi, squared, columns, amount, purpose)
            if purpose in ("codes", "groups of codes"):
                self.found.append((purpose, len(values), got.sigma))
            return got

        Purse.sums = sums  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        Purse.sums = self._genuine  # type: ignore[method-assign]


def print_noise(data: sf.Database, listening: Listening, model: sf.LinkedModel) -> None:
    """What noise alone would do to the counts of codes, were each taken as it was measured."""
    total = sum(code_counts(data, "whole code").values())
    counts = np.array(list(code_counts(data, "whole code").values()))
    for purpose, cells, sigma in listening.found:
        alone = cells * sigma / np.sqrt(2 * np.pi) / total
        print(
            f"  {purpose}: {cells:,} cells, noise {sigma:,.0f} of a count; "
            f"by itself a total variation of {alone:.3f}"
        )
        if purpose == "codes":
            seen = counts > 2 * sigma
            print(
                f"  {seen.sum():,} of {len(counts):,} codes occur more often than twice that: "
                f"{counts[seen].sum() / total:.0%} of all diagnoses"
            )
    for sets in model.generator.sets.values():
        print(f"  seen in {int(sets.classes.max()) + 1} classes")


# -- with privacy ----------------------------------------------------------------------------------------

_YEARS = tuple(date(y, 1, 1) for y in range(1900, 2012, 3))
_MONTHS = (*(date(2008, m, 1) for m in range(1, 13)), date(2009, 1, 1))
_PAYMENTS = (-10_000, 0, 1, 2_000, 3_000, 4_000, 5_000, 6_000, 8_000, 10_000, 15_000, 25_000, 100_000)
_EDGES = {"birth_date": _YEARS, "death_date": _MONTHS, "payment": tuple(map(float, _PAYMENTS))}
_PUBLIC = {
    "DE-SynPUF": {"max_children": {"stays": 7, "diagnoses": 10}, "period": ("2007-11-01", "2010-12-31")},
    "diabetes130": {"max_children": {"stays": 5, "diagnoses": 3}},
}


def declared(frames: dict[str, pd.DataFrame]) -> sf.Database:
    """All persons, with domains that a person answers for."""
    tables = {n: pa.Table.from_pandas(t, preserve_index=False) for n, t in frames.items()}
    database = sf.scan_database(tables)
    out = {}
    for name, table in database.tables.items():
        schema, keys = table.schema, database.key_columns[name]
        named = []
        for column in schema:
            if column.name in keys or (column.type == "date" and name != "patients"):
                continue
            if column.name in _EDGES:
                schema = schema.with_(column.name, edges=_EDGES[column.name], levels=None, clamp=True)
            else:
                levels = sorted(table.to_arrow()[column.name].unique().drop_null().to_pylist())
                schema = schema.with_(column.name, levels=tuple(levels), kind="nominal")
            named.append(column.name)
            schema = schema.with_(column.name, provenance=None)
        schema = sf.Schema(tuple(sf.Column(**{**vars(c), "provenance": None}) for c in schema))
        out[name] = table.with_schema(schema.declare("benchmark", "in place of published lists", named))
    return database.with_tables(out)


def with_privacy(title: str, frames: dict[str, pd.DataFrame], epsilons: list[float], seed: int) -> None:
    """Fitted to all, held against all, at every epsilon and without noise."""
    data = declared(frames)
    found: dict[str, dict[str, float]] = {}
    for epsilon in [*sorted(epsilons), None]:
        start = time.process_time()
        with Listening() as listening:
            model = sf.LinkedSynthesizer(epsilon=epsilon, **_PUBLIC[title]).fit(data)  # type: ignore[arg-type]
        fitted = time.process_time()
        release = model.sample(seed=seed)
        rows = {n: t.rows() for n, t in release.data.tables.items()}
        drawn = time.process_time()
        name = "none" if epsilon is None else f"{epsilon:g}"
        print(f"{title}, epsilon {name}: fitted {fitted - start:.1f} s, drawn {drawn - fitted:.1f} s; {rows}")
        faults = [str(d) for d in release.data.differences]
        print(f"  differences: {faults or 'none'}; {model.guarantee.claims[0].title}", flush=True)
        print_noise(data, listening, model)
        codes = {f"codes by {n}": v for n, v in code_errors(data, release.data).items()}
        found[name] = {**measured(data, release.data), **codes}
    print(f"  {'total variation, against the data':44s} " + " ".join(f"{n:>8s}" for n in found))
    for measure in found["none"]:
        print(f"  {measure:44s} " + " ".join(f"{found[n][measure]:8.4f}" for n in found), flush=True)


def main() -> None:
    """Both data sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=5_000)
    parser.add_argument("--only", choices=("DE-SynPUF", "diabetes130"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--splits", type=int, default=1, help="of persons, from --seed on")
    parser.add_argument("--epsilon", type=float, nargs="+", help="with privacy, all persons")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", sf.SfumatoWarning)
    small = sf.samples.hospital(100)
    sf.LinkedSynthesizer().fit(small).sample(50).data["diagnoses"].rows()
    for title, read in (("DE-SynPUF", desynpuf), ("diabetes130", diabetes130)):
        if asked.only in (None, title):
            frames, _ = read()
            if asked.epsilon:
                with_privacy(title, frames, asked.epsilon, asked.seed)
            else:
                over_splits(title, frames, asked.persons, range(asked.seed, asked.seed + asked.splits))


if __name__ == "__main__":
    main()
