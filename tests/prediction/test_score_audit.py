"""Both scores from end to end on neighbours chosen to be worst: they pass, and with little noise they fail.

A bound of the audit is above the true epsilon with a chance of at most 1e-6. Each audit looks at everything
that is published: all numbers of the artefact's content.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from declared import PUBLIC
from scipy.stats import norm
from score_tables import numbers

from sfumato.assessment.audit import Audit, audit
from sfumato.prediction import additive, forest, private_tree
from sfumato.prediction.additive import AdditiveScore
from sfumato.prediction.content import content_of
from sfumato.prediction.forest import AlphaForest
from sfumato.privacy import noise
from sfumato.privacy.grants import Grant
from sfumato.schema import Column, Kind, Schema

EPSILON = 1.0
SCHEMA = numbers((0, 8), (0, 8), (0, 8))
# The row that is there or not is alone in the last bin of every feature, and alone in its outcome.
MANY = np.full((30, 3), 0.5)
ALONE = np.array([[7.5, 7.5, 7.5]])


def rows(with_it: bool) -> tuple[Any, Any]:
    X = np.concatenate([MANY, ALONE]) if with_it else MANY
    return X, np.array([0] * len(MANY) + [1] * with_it)


def published(model: Any) -> list[float]:
    """All numbers of the content, in one order; the trees' own layout is public, their splits are not."""
    content = content_of(model)
    told: list[float] = []

    def walk(part: Any) -> None:
        if isinstance(part, dict):
            for key in sorted(part):
                walk(part[key])
        elif isinstance(part, list):
            for item in part:
                walk(item)
        elif isinstance(part, int | float) and not isinstance(part, bool):
            told.append(float(part))

    walk(content["parameters"])
    walk(content["card"])
    return told


def of_additive(with_it: bool) -> list[float]:
    score = AdditiveScore(EPSILON, SCHEMA, bins=2, anyway=True)
    return published(score.fit(*rows(with_it)).released())


def of_forest(with_it: bool) -> list[float]:
    score = AlphaForest(EPSILON, SCHEMA, trees=1, depth=1, anyway=True)
    return published(score.fit(*rows(with_it)).released())


def audited(mechanism: Any, draws: int) -> Audit:
    return audit(mechanism, False, True, claim=EPSILON, draws=draws, error=1e-6, batched=False, learn=False)


@pytest.mark.parametrize("mechanism", [of_additive, of_forest])
def test_what_is_published_passes_its_epsilon(mechanism: Any) -> None:
    found = audited(mechanism, 100)
    assert not found.refutes() and not found.replayed


# What tells most: one feature of two levels, so that nothing is parted among features or lost on splits; and
# many rows of one outcome beside the row, so that the noise in their count does not blur it.
FLAG = Schema((Column("x0", Kind.FLAG, type="integer", levels=(0, 1), missing=False, provenance=PUBLIC),))


def sharp(kind: Any, with_it: bool, **more: Any) -> list[float]:
    score = kind(EPSILON, FLAG, anyway=True, **more)
    return published(score.fit(np.ones((1000 + with_it, 1)), [0] * 1000 + [1] * with_it).released())


def sharp_additive(with_it: bool) -> list[float]:
    return sharp(AdditiveScore, with_it, bins=2)


def sharp_forest(with_it: bool) -> list[float]:
    return sharp(AlphaForest, with_it, trees=1, depth=1)


def bound_to_expect(p: float, q: float, trials: int) -> tuple[float, float]:
    """What the audit shows of an event of these chances, and its standard deviation.

    The bound is log(p / q) less as much as both shares can be off at half of the error each (normal law: 4.9
    standard deviations of each logarithm); the estimate itself varies by the two together.
    """
    far = norm.isf(1e-6 / 2)
    first, second = (math.sqrt((1 - r) / (r * trials)) for r in (p, q))
    return math.log(p / q) - far * (first + second), math.hypot(first, second)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("mechanism", "p", "q", "draws"),
    [(sharp_additive, 0.67, 0.31, 4_000), (sharp_forest, 0.58, 0.35, 12_000)],
)
def test_what_is_published_passes_a_longer_audit(mechanism: Any, p: float, q: float, draws: int) -> None:
    """p, q: of the event that tells most; the first from 2,000 confirming draws, the second from 500."""
    expected, spread = bound_to_expect(p, q, draws // 2)
    assert expected - norm.isf(1e-7) * spread > 0.2, "a sound audit shows less once in ten million"
    found = audited(mechanism, draws)
    assert not found.refutes() and found.lower > 0.2


@pytest.mark.soak
@pytest.mark.parametrize("mechanism", [of_additive, of_forest])
def test_too_little_noise_is_caught(mechanism: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts with a thousandth of their noise; every number else as it is."""
    real = noise.laplace

    def weak(values: Any, sensitivity: int, grant: Grant, **more: Any) -> noise.Noisy:
        big = real(np.asarray(values) * 1000, sensitivity, grant, **more)
        return noise.Noisy(np.rint(big.values / 1000).astype(np.int64), big.scale, big.law)

    for module in (additive, forest, private_tree):
        monkeypatch.setattr(module, "laplace", weak)
    assert audited(mechanism, 220).refutes()


# --- the parts, with many draws -----------------------------------------------------------------------------


def copies(counts: Any, n: int, sensitivity: int) -> Any:
    """One mechanism in n copies: the grant pays for one, and the audit looks at each alone."""
    from private_tables import grant

    return noise.laplace(np.tile(counts, (n, 1)), sensitivity, grant(epsilon=1.0)).values


@pytest.mark.parametrize(("believed", "caught"), [(3, False), (1, True)])
def test_a_row_changes_the_tables_by_the_number_of_features(believed: int, caught: bool) -> None:
    tables = []
    for with_it in (False, True):
        X, y = rows(with_it)
        codes = (X > 4).astype(np.int64).T
        tables.append(additive._counts(codes, y, [2, 2, 2]))
    assert np.abs(tables[1] - tables[0]).sum() == 3
    changed = np.flatnonzero(tables[1] - tables[0])
    # The event that tells most: all cells of the row are high.
    found = audit(
        lambda t, n: copies(t, n, believed), tables[0], tables[1], claim=1.0, draws=6_000, batch=3_000,
        error=1e-6, learn=False, features=lambda batch: batch[:, changed].min(axis=1),
    )  # fmt: skip
    assert found.refutes() is caught and found.lower > 0


def test_nothing_published_is_read_off_the_data() -> None:
    """Two data sets without a row in common: all that is no noisy number is the same, byte for byte."""

    def frame(model: Any) -> str:
        content = content_of(model)
        if "trees" in content["parameters"]:
            content["parameters"] = [
                (len(t["nodes"]), len(t["values"])) for t in content["parameters"]["trees"]
            ]
        else:
            content["parameters"] = [len(w) for w in content["parameters"]["weights"]]
        content["card"]["rows"]["number"] = 0
        content["card"]["plan"].pop("evidence", None)
        return json.dumps(content, sort_keys=True)

    random = np.random.default_rng(0)
    for kind in (AdditiveScore, AlphaForest):
        score = kind(1.0, SCHEMA, declared_rows=300, anyway=True)
        fits = [
            score.fit(random.random((n, 3)) * 8, [label] * n).released() for n, label in ((1, 0), (900, 1))
        ]
        assert frame(fits[0]) == frame(fits[1])
