"""PrivateLogistic on neighbours chosen to be worst: it passes, and with little noise it fails.

A bound of the audit is above the true epsilon with a chance of at most 1e-6. The audit looks at the
coefficients along the row that is there or not. Power: 150 draws refute a mechanism with a thousandth of the
noise, and 200 one with noise for one row where a person has many.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from private_tables import grant
from score_tables import numbers

from sfumato.assessment.audit import Audit, audit
from sfumato.prediction import objective
from sfumato.prediction.basis import Basis
from sfumato.prediction.logistic import PrivateLogistic
from sfumato.prediction.objective import Perturbation, published

SCHEMA = numbers((0, 8), (0, 8))
# Without any row, and with one in a corner; and with it among rows that all say the contrary.
ALONE = np.array([[8.0, 8.0]])
BASIS = Basis((np.array([[-1.0], [1.0]]),) * 2, (False, False))


def of_estimator(with_it: bool) -> list[float]:
    X = np.concatenate([np.full((30, 2), 8.0), ALONE]) if with_it else np.full((30, 2), 8.0)
    model = PrivateLogistic(1.0, SCHEMA, declared_rows=30, anyway=True, shape="quadratic")
    model.fit(X, np.array([0] * 30 + [1] * with_it))
    return [model.model_.base, *(w[-1] for w in model.model_.weights), *(w[0] for w in model.model_.weights)]


def of_objective(with_it: bool, most: int = 1, rows: int = 1, sharpness: int = 1) -> list[float]:
    """The mechanism alone on an empty table, or one with `rows` rows of one person in a corner."""
    n = rows * with_it
    codes, outcome = np.ones((2, n), dtype=np.int64), np.ones(n, dtype=np.int64)
    law = Perturbation(3, 3, 0, Fraction(1), 10.0, most, sharpness)
    grants = grant(epsilon=1.0), grant(epsilon=0.002)
    theta = published(BASIS, codes, outcome, 0.0, law, grants).coefficients
    return [float(theta.sum()), float(theta.min())]


def audited(mechanism: Any, draws: int) -> Audit:
    return audit(mechanism, False, True, claim=1.002, draws=draws, error=1e-6, batched=False, learn=False)


def test_what_is_published_passes_its_epsilon() -> None:
    found = audited(of_estimator, 100)
    assert not found.refutes() and not found.replayed


def test_the_mechanism_passes_and_with_a_thousandth_of_the_noise_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With that little noise the two laws do not overlap: it is refuted whatever is drawn."""
    assert not audited(of_objective, 150).refutes()
    real = objective.cube_and_laplace

    def weak(*given: Any) -> Any:
        return tuple(replace(block, values=block.values // 1000) for block in real(*given))

    monkeypatch.setattr(objective, "cube_and_laplace", weak)
    assert audited(of_objective, 150).refutes()


@pytest.mark.soak
def test_rows_of_one_person_need_noise_for_all_of_them() -> None:
    """Eight rows of a person: with L = 8 it passes. 5,000 with noise for one: the laws hardly overlap."""
    assert not audited(lambda with_it: of_objective(with_it, most=8, rows=8), 120).refutes()
    assert audited(lambda with_it: of_objective(with_it, rows=5_000), 200).refutes()


@pytest.mark.soak
@pytest.mark.parametrize("sharpness", [1, 2])
def test_the_mechanism_passes_a_longer_audit(sharpness: int) -> None:
    found = audited(lambda with_it: of_objective(with_it, sharpness=sharpness), 20_000)
    assert not found.refutes() and found.lower > 0.1


def test_nothing_published_is_read_off_the_data() -> None:
    """Two data sets without a row in common: all that is no noisy number is the same."""
    random = np.random.default_rng(0)
    model = PrivateLogistic(1.0, SCHEMA, declared_rows=300, anyway=True, intervals=True)
    shapes = []
    for n, label in ((1, 0), (900, 1)):
        released = model.fit(random.random((n, 2)) * 8, [label] * n).released()
        content = replace(released, base=0.0)
        shapes.append(([len(w) for w in content.weights], content.features, content.card["plan"]["ridge"]))
    assert shapes[0] == shapes[1]
