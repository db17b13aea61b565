"""The claim of DPaT and EDPaT, epsilon = 1 a call, refuted: by sampling, and by the exact laws.

A bound of the audit is above the true epsilon with a chance of at most `error`: 1e-6 here.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from sfumato.assessment.audit import Audit, audit
from sfumato.assessment.audit.events import epsilon_low
from sfumato.prediction.dpat import DPaT, EDPaT, NoisyTrees
from sfumato.prediction.perturbation import UNIT, Output, output

TRIALS = 10_000_000
ASKED = (1, 1)  # the record that is asked for at each call


def known(n: int, more: bool) -> list[tuple[int, int, int]]:
    """x1 tells y, x2 errs once in each class; with one more row x1 errs too, and no split is admissible."""
    rows = [(0, int(i == 0), 0) for i in range(n)] + [(1, int(i > 0), 1) for i in range(n)]
    return [*rows, (0, 1, 1)] if more else rows


def fixed(n: int, more: bool) -> list[tuple[int, int, int]]:
    """x1 tells y and x2 tells nothing: x1 splits, with and without the one row that x1 does not fit."""
    rows = [(0, i % 2, 0) for i in range(n)] + [(1, i % 2, 1) for i in range(n)]
    return [*rows, (1, 1, 0)] if more else rows


PAIRS = {"known pair": known, "structure fixed": fixed}


def fitted(rows: list[tuple[int, int, int]], model: NoisyTrees) -> NoisyTrees:
    array = np.array(rows, float)
    return model.fit(array[:, :2], array[:, 2].astype(int))


def law(model: NoisyTrees) -> Output:
    """Mean and Delta of the answer for the record that is asked for."""
    codes = model._codes(np.array([ASKED], float))
    return output([t.nodes[int(t.leaf_of(codes)[0])] for t in model.trees_])


def log_probability(answer: Output, epsilon: float, x: float) -> float:
    """The log of the discrete Laplace law at x, in steps of 2^-30."""
    scale = math.ceil(answer.delta * UNIT) / epsilon
    return math.log(math.tanh(1 / (2 * scale))) - abs(round(x * UNIT) - round(answer.chance * UNIT)) / scale


def audited(pair: Any, make: Any, n: int, draws: int) -> Audit:
    models = [fitted(pair(n, more), make()) for more in (False, True)]
    record = np.array([ASKED], float)

    def mechanism(which: int, calls: int) -> np.ndarray:
        return models[which].answer(np.repeat(record, calls, axis=0))

    return audit(mechanism, 0, 1, claim=1.0, draws=draws, error=1e-6, batch=8192)


MODELS = {"DPaT": DPaT, "DPaT at alpha 2": lambda: DPaT(2.0), "EDPaT": lambda: EDPaT(alphas=(0.5, 1.0, 2.0))}


@pytest.mark.parametrize("name", MODELS)
def test_sampling_refutes_the_claim(name: str) -> None:
    """At least 5 where 1 was claimed: one call tells whether a row was there."""
    found = audited(known, MODELS[name], 60, 16_000)
    assert found.refutes() and found.lower >= 5 and found.control < 1 and not found.replayed


def test_sampling_refutes_it_with_the_structure_fixed() -> None:
    """The scale of the noise alone gives the row away; a bound of 5 takes more draws (the next two)."""
    found = audited(fixed, DPaT, 60, 60_000)
    assert found.refutes() and found.lower > 1.5 and found.control < 1


def test_sampling_finds_five_with_the_structure_fixed() -> None:
    """One event, chosen beforehand: an answer in the tail that has 2 of 1000 answers with the row. 5 standard
    errors below what is expected, the bound is still above 5. Ten million answers are drawn from the law,
    which is that of the code (the last test here; the next draws as many by the code itself)."""
    draw, hits = np.random.default_rng(7), [0, 0]
    laws = [law(fitted(fixed(60, more), DPaT())) for more in (False, True)]
    for which, (mean, delta) in enumerate(laws):
        rare = -math.expm1(-1 / math.ceil(delta * UNIT))  # two geometric numbers differ by a discrete Laplace
        for _ in range(10):
            steps = draw.geometric(rare, (2, TRIALS // 10))
            hits[which] += int((mean + (steps[0] - steps[1]) / UNIT < tail(laws[1])).sum())
    assert epsilon_low(np.array(hits[1]), np.array(hits[0]), TRIALS, 1e-6, 0.0) >= 5


@pytest.mark.soak
def test_sampling_by_the_code_finds_five_with_the_structure_fixed() -> None:
    models = [fitted(fixed(60, more), DPaT()) for more in (False, True)]
    hits = [0, 0]
    for which in (1, 0):
        for _ in range(TRIALS // 40_000):
            answers = models[which].answer(np.repeat([ASKED], 40_000, axis=0))
            hits[which] += int((answers < tail(law(models[1]))).sum())
    assert epsilon_low(np.array(hits[1]), np.array(hits[0]), TRIALS, 1e-6, 0.0) >= 5


def tail(answer: Output) -> float:
    """Where 2 of 1000 answers lie below."""
    return answer.chance + answer.delta * math.log(2 * 0.002)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("pair", PAIRS)
def test_the_exact_laws_refute_the_claim(pair: str, name: str) -> None:
    """The answer 0 (or 1) is more than exp(30) times likelier for one of the two data sets."""
    models = [fitted(PAIRS[pair](100, more), MODELS[name]()) for more in (False, True)]
    assert (models[0].tree_.structure == models[1].tree_.structure) == (pair == "structure fixed")
    first, second = (law(m) for m in models)
    ratios = [log_probability(first, 1.0, x) - log_probability(second, 1.0, x) for x in (0.0, 1.0)]
    assert max(map(abs, ratios)) > 30


def test_the_ratio_grows_without_bound() -> None:
    """Twice the rows, twice the leak: no epsilon holds for all data sets."""
    leaks = []
    for n in (50, 100, 200, 400):
        first, second = (law(fitted(fixed(n, more), DPaT())) for more in (False, True))
        leaks.append(log_probability(second, 1.0, 0.0) - log_probability(first, 1.0, 0.0))
    assert all(b > 1.9 * a for a, b in pairwise(leaks)) and leaks[-1] > 190


def test_the_exact_law_is_the_one_that_is_drawn() -> None:
    """The check of the check: the share of draws above the mean, and within one scale, at 1e-6."""
    model = fitted(fixed(60, False), DPaT())
    found, drawn = law(model), model.answer(np.repeat([ASKED], 20_000, axis=0))
    inside = (np.abs(drawn - found.chance) <= found.delta).mean()
    assert abs(inside - (1 - math.exp(-1))) < 4.9 * math.sqrt(0.25 / 20_000)
    assert abs((drawn > found.chance).mean() - 0.5) < 4.9 * math.sqrt(0.25 / 20_000)
