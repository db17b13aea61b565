"""Journalist and marketer risk from the population's size alone, against populations that are known."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import nbinom

from sfumato import samples
from sfumato.assessment import risk
from sfumato.assessment.risk.estimators import Sizes
from sfumato.assessment.risk.population_classes import (
    ByColumns,
    BySizes,
    PopulationClasses,
    by_columns,
    by_sizes,
)
from sfumato.score import Score
from sfumato.table import Table


def estimated(sample: Table, columns: list[str], everybody: int) -> dict[str, Score]:
    found = risk.intruders(risk.classes(sample, columns), population_size=everybody)
    return {s.name: s for s in found if not s.name.startswith("prosecutor")}


def counted(sample: Table, columns: list[str], population: Table) -> dict[str, float]:
    found = risk.intruders(risk.classes(sample, columns), population=population)
    return {s.name: s.value for s in found if not s.name.startswith("prosecutor")}


def near(score: Score, truth: float) -> bool:
    """Within a factor of 1.5, or in an interval at most a factor of 4 wide."""
    assert score.low is not None and score.high is not None and score.confidence is not None
    close = truth / 1.5 <= score.value <= 1.5 * truth
    return close or (score.low <= truth <= score.high <= 4 * score.low)


# -- populations that are known --------------------------------------------------------------------

TABLES = {
    "adult": ("adult/adult_arx_30162.parquet", [
        ["age", "sex", "race", "education"],
        ["age", "sex", "race", "marital-status", "education", "native-country"],
        ["age", "sex", "occupation", "workclass", "native-country", "education", "race"],
    ]),
    "diabetes": ("diabetes130/diabetes130_categorical16.parquet", [
        ["race", "gender", "age", "admission_type_id", "discharge_disposition_id"],
        ["race", "gender", "age", "medical_specialty", "diag1_chapter", "los_days"],
    ]),
    "sparcs": ("sparcs/sparcs2020_musculoskeletal_charges.parquet", [
        ["hospital_county", "gender", "race", "age", "ethnicity"],
        ["permanent_facility_id", "gender", "race", "age", "ethnicity", "los"],
        ["hospital_county", "gender", "race", "age", "ccsr_diagnosis_code", "los"],
    ]),
    "brfss": ("brfss/brfss2015_diabetes_indicators.parquet", [
        ["Age", "Sex", "Education", "Income", "BMI"],
        ["Age", "Sex", "Education", "Income", "BMI", "PhysHlth", "GenHlth"],
    ]),
    "meps": ("meps/meps2004_adults.parquet", [
        ["age", "sex", "race", "hispanic", "education", "region", "famsize"],
        ["age", "sex", "region", "famsize", "income_category", "ins_dental"],
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_a_sample_says_what_the_population_holds(name: str, data_dir: Path) -> None:
    """Samples of 1, 10 and 30% of a public table that is taken for the population."""
    path, sets = TABLES[name]
    rows = pq.read_table(data_dir / path)
    everybody = Table.from_arrow(rows)
    for columns in sets:
        for fraction in (0.01, 0.1, 0.3):
            chosen = np.random.default_rng(5).permutation(len(rows))[: round(fraction * len(rows))]
            sample = Table.from_arrow(rows.take(pa.array(chosen)), everybody.schema)
            scores, truth = estimated(sample, columns, len(rows)), counted(sample, columns, everybody)
            for what, score in scores.items():
                assert near(score, truth[what]), (columns, fraction, str(score), truth[what])


@pytest.mark.parametrize("fraction", [0.02, 0.1, 0.3])
def test_simulated_discharges(fraction: float) -> None:
    everybody = samples.discharges(60_000, seed=4)
    rows = everybody.to_arrow()
    chosen = np.random.default_rng(6).permutation(len(rows))[: round(fraction * len(rows))]
    sample = Table.from_arrow(rows.take(pa.array(chosen)), everybody.schema)
    for columns in (
        ["age", "sex", "race", "zip", "pay"],
        ["age_years", "sex", "hospital", "mdc", "los_days"],
    ):
        scores, truth = estimated(sample, columns, len(rows)), counted(sample, columns, everybody)
        for what, score in scores.items():
            assert near(score, truth[what]), (columns, str(score), truth[what])


def test_columns_that_say_each_other_are_not_multiplied() -> None:
    """A county is known from its hospital: taken for independent, each pair would look rare."""
    rng = np.random.default_rng(7)
    hospital = rng.zipf(1.3, 40_000) % 300
    population = np.stack([hospital, hospital // 5, rng.integers(0, 3, 40_000)], axis=1)
    cells, sizes, drawn = sampled(population, 0.1, rng)
    truth = float((drawn / sizes).sum() / drawn.sum())
    tied, apart = (by_columns(cells, drawn, 40_000, tied=t) for t in (True, False))
    assert tied.name == "tied columns" and apart.name == "columns"
    assert truth / 1.2 < tied.marketer() < 1.2 * truth
    assert apart.marketer() > 1.5 * truth and apart.shape < 0.05


def sampled(
    population: np.ndarray, fraction: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sample's classes: their codes, sizes in the population, and sizes in the sample."""
    cells, of, sizes = np.unique(population, axis=0, return_inverse=True, return_counts=True)
    chosen = rng.permutation(len(population))[: round(fraction * len(population))]
    drawn = np.bincount(of.reshape(-1)[chosen], minlength=len(cells))
    seen = drawn > 0
    return cells[seen], sizes[seen], drawn[seen]


def test_one_column_is_left_to_the_sizes() -> None:
    rng = np.random.default_rng(8)
    population = rng.zipf(1.5, 50_000)[:, None] % 5_000
    cells, sizes, drawn = sampled(population, 0.05, rng)
    models = PopulationClasses.of(cells, drawn, 50_000)
    assert models.first.parameters > 0.9 and models.weight > 0.4 and isinstance(models.others[-1], BySizes)
    truth = float((drawn / sizes).sum() / drawn.sum())
    found = models.marketer()
    assert found.low < truth < found.high


# -- the sums --------------------------------------------------------------------------------------


@pytest.mark.parametrize("success", [0.001, 0.05, 0.5, 0.99])
@pytest.mark.parametrize("f", [1, 2, 7, 100])
@pytest.mark.parametrize("shape", [0.01, 1.0, 3.5, 30.0])
def test_the_expected_inverse_is_the_series(f: int, success: float, shape: float) -> None:
    model = ByColumns("", np.array([float(f)]), shape, np.array([success]), 0.1)
    more = np.arange(int(nbinom.isf(1e-13, f + shape, success)) + 1)
    chances = nbinom.pmf(more, f + shape, success)
    assert model.marketer() == pytest.approx((chances / (f + more)).sum(), rel=1e-6)
    for size in (1, 4, 120):
        assert model.members_up_to(size) == pytest.approx(chances[f + more <= size].sum(), abs=1e-9)
        assert model.classes_up_to(size) == pytest.approx(model.members_up_to(size))


def test_pitman_carried_on_has_as_many_members_as_the_population() -> None:
    sizes = Sizes.of(np.array([1] * 60 + [2] * 15 + [3] * 6 + [9, 20]), 1_500)
    model = by_sizes(sizes)
    assert model is not None
    assert model.members_up_to(1_500) == pytest.approx(1.0, rel=0.1)
    assert model.classes_up_to(1_500) < model.marketer() * 1_500
    shares = [model.members_up_to(s) for s in (1, 2, 5, 50)]
    assert shares == sorted(shares)


# -- ends ------------------------------------------------------------------------------------------


def test_a_larger_population_is_less_risk_and_a_wider_guess() -> None:
    sample = samples.discharges(2_000, seed=2)
    columns = ["age", "sex", "zip", "race", "pay"]
    values, widths = [], []
    for size in (2_500, 10_000, 100_000, 10_000_000):
        score = estimated(sample, columns, size)["marketer risk"]
        assert score.low is not None and score.high is not None
        values.append(score.value)
        widths.append(score.high / score.low)
    assert values == sorted(values, reverse=True) and widths == sorted(widths)


def test_a_file_that_is_its_population_needs_no_model() -> None:
    sample = samples.discharges(500, seed=2)
    scores = estimated(sample, ["age", "sex", "zip"], 500)
    found = {s.name: s.value for s in risk.intruders(risk.classes(sample, ["age", "sex", "zip"]))}
    assert scores["marketer risk"].value == found["prosecutor risk, average"]
    assert scores["marketer risk"].low is None


@pytest.mark.parametrize(
    "columns",
    [
        {"a": ["x"]},
        {"a": ["x"] * 50},
        {"a": [f"x{i}" for i in range(50)]},
        {"a": ["x", "y"], "b": ["*", "*"]},
    ],
)
def test_odd_files_have_an_answer(columns: dict[str, list[str]]) -> None:
    sample = Table.from_arrow(pa.table(columns))
    for score in estimated(sample, list(columns), 1_000).values():
        assert score.low is not None and score.high is not None
        assert 0 <= score.low <= score.value <= score.high <= 1 and not math.isnan(score.value)


def test_nobody_reaches_more_than_who_knows_that_a_person_is_in_the_file() -> None:
    sample = samples.discharges(1_000, seed=3)
    for columns in (["age", "sex"], ["born", "sex", "zip"]):
        scores = {s.name: s for s in risk.intruders(risk.classes(sample, columns), sampling_fraction=0.9)}
        for one, other in (("journalist risk, highest", "prosecutor risk, highest"),
                           ("marketer risk", "prosecutor risk, average")):  # fmt: skip
            high = scores[one].high
            assert high is not None and high <= scores[other].value + 1e-12
