"""PMI: its law by enumeration, its bound between any two models, what it says, and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from pegs_oracle import FALSE_ALARM, misfit, tiny

from sfumato.errors import BudgetError, DataError, ParameterError, SchemaError
from sfumato.privacy import Budget, Ledger, NoGuarantee, PureDP
from sfumato.samples import discharges
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.synthesis.constraints import Implies, Never
from sfumato.synthesis.imputation.engines import ElasticNet, fit_logistic
from sfumato.synthesis.imputation.pmi import PMI, FittedPMI, weights
from sfumato.synthesis.perturbation import dirichlet_alpha
from sfumato.table import Table

ROWS = [(0, 0, 0)] * 16 + [(0, 1, 1)] * 9 + [(1, 2, 1)] * 15 + [(1, 0, 0)] * 5 + [(0, 2, 0)] * 3
SIZES = (2, 3, 2)
DRAWS = 50_000
QUICK = ElasticNet(folds=2)


def fitted(**more: Any) -> FittedPMI:
    return PMI(**{"alpha": 0.3, "engine": QUICK, **more}).fit(tiny(ROWS, SIZES))


def law(
    model: FittedPMI,
    alpha: float,
    sweeps: int = 1,
    allowed: Callable[[tuple[int, ...]], bool] = lambda _: True,
) -> dict[tuple[tuple[int, ...], ...], float]:
    """Every path from an even seed, by the paper's formula, with the log-odds added up one by one."""

    def g(i: int, x: tuple[int, ...]) -> NDArray[np.float64]:
        given_ = model.models[i]
        score = given_.intercept + sum(given_.effects[j][x[j]] for j in range(len(SIZES)) if j != i)
        odds = np.exp(score)
        return np.asarray(odds / odds.sum())

    states = [x for x in product(*map(range, SIZES)) if allowed(x)]
    p = dict.fromkeys(states, 1 / len(states))
    for _ in range(sweeps):
        for i, size in enumerate(SIZES):
            after = dict.fromkeys(states, 0.0)
            for x, mass in p.items():
                ends = [(*x[:i], j, *x[i + 1 :]) for j in range(size)]
                there = np.array([allowed(end) for end in ends])
                own = g(i, x) * there / (g(i, x) @ there)
                perturbed = (own + alpha) * there / (1 + there.sum() * alpha)
                for end, share in zip(ends, perturbed, strict=True):
                    if share:
                        after[end] += mass * share
            p = after
    return {(x,): mass for x, mass in p.items()}


@pytest.mark.parametrize("sweeps", [1, 3])
@pytest.mark.parametrize("secret", [True, False])
def test_rows_have_the_enumerated_law(sweeps: int, secret: bool) -> None:
    model = fitted(sweeps=sweeps)
    key = Key.fresh() if secret else Key.from_seed(int.from_bytes(Key.fresh().to_bytes()[1:9]))
    truth = law(model, 0.3, sweeps)
    assert abs(sum(truth.values()) - 1) < 1e-9
    assert misfit(model.codes(DRAWS, key), truth) > FALSE_ALARM


RULES = (Never({"v0": 1, "v2": 0}), Implies({"v1": 1}, {"v0": 0, "v2": 1}))


def kept(x: tuple[int, ...]) -> bool:
    return not (x[0] == 1 and x[2] == 0) and not (x[1] == 1 and (x[0], x[2]) != (0, 1))


def test_constraints_hold_by_construction_and_their_law_is_the_enumerated_one() -> None:
    model = fitted(sweeps=2, constraints=RULES)
    key = Key.fresh()
    codes = model.codes(DRAWS, key)
    truth = law(model, 0.3, 2, kept)
    assert abs(sum(truth.values()) - 1) < 1e-9 and misfit(codes, truth) > FALSE_ALARM
    assert not model.domain.violations(codes).any()
    parts = [model.codes(n, key, start, DRAWS) for start, n in ((0, 3), (3, DRAWS - 3))]
    assert np.array_equal(codes, np.concatenate(parts, axis=1))
    claim, unaccounted = model.sample(10).guarantee
    assert unaccounted.title == "unaccounted"
    assert isinstance(claim, PureDP) and "cannot be" in claim.text()
    assert claim.epsilon == fitted(sweeps=2).sample(10).guarantee.claims[0].epsilon  # the bound is the same


def test_rows_that_break_a_constraint_and_rows_without_weight_are_not_learnt_from() -> None:
    within = [r for r in ROWS if kept(r)]
    assert len(within) < len(ROWS)
    alone = PMI(alpha=0.3, engine=QUICK, constraints=RULES).fit(tiny(within, SIZES))
    x = np.array(list(product(*map(range, SIZES)))).T
    for one, other in zip(fitted(constraints=RULES).models, alone.models, strict=True):
        assert np.array_equal(one.probabilities(x), other.probabilities(x))
    weighted = with_weights([1.0 if kept(r) else (None, 0.0, -2.0)[n % 3] for n, r in enumerate(ROWS)])
    model = PMI(alpha=0.3, engine=QUICK, weight="w").fit(weighted)
    for one, other in zip(model.models, alone.models, strict=True):
        assert np.allclose(one.probabilities(x), other.probabilities(x), atol=1e-3)
    nobody = PMI(alpha=0.3, weight="w").fit(with_weights([0.0] * len(ROWS)))  # not told by a refusal either
    assert np.allclose(nobody.models[1].probabilities(x), 1 / 3)


def test_weights_count_as_rows_do() -> None:
    """v2 alone: the share of its levels is that of the weights, where no other column says anything."""
    rows = [(n % 2, n % 3, int(n < 300)) for n in range(1_200)]
    model = PMI(alpha=0.0, engine=QUICK, weight="w").fit(with_weights([9.0] * 300 + [1.0] * 900, rows))
    share = model.codes(20_000, Key.from_seed(1))[2].mean()
    assert share == pytest.approx(0.75, abs=0.02)  # 2700 of 3600; 0.25 by rows


def with_weights(weights: list[float | None], rows: Sequence[tuple[int, ...]] = ROWS) -> Table:
    table = tiny(rows, SIZES)
    column = Column("w", Kind.NUMERIC, Role.WEIGHT, type="real")
    data = table.to_arrow().append_column("w", pa.array(weights, pa.float64()))
    return Table.from_arrow(data, Schema((*table.schema, column)))


@pytest.mark.parametrize("broken", [{"alpha": 0.15}, {"alpha": 0.0}])
def test_a_broken_perturbation_is_seen(broken: dict[str, Any]) -> None:
    truth = law(fitted(), 0.3)
    assert misfit(fitted(**broken).codes(DRAWS, Key.fresh()), truth) < FALSE_ALARM


@given(
    arrays.arrays(np.float64, (2, 4), elements=st.floats(0, 1)),
    st.integers(1, 2**40),
)
@settings(max_examples=200)
def test_the_bound_holds_for_any_two_models_and_is_reached(g: NDArray[np.float64], a: int) -> None:
    unit = 2**22
    total = g.sum(axis=1, keepdims=True)
    one, other = weights(np.where(total > 0, g / np.where(total > 0, total, 1), 0.25), unit, a).tolist()
    assert sum(one) == sum(other) == unit + 4 * a
    assert all(p * a <= q * (a + unit) and q * a <= p * (a + unit) for p, q in zip(one, other, strict=True))
    possible = np.array([[True, False, True, True]] * 2)
    shares = np.where(total > 0, g / np.where(total > 0, total, 1), 0.25)
    one, other = (w[possible[0]].tolist() for w in weights(shares, unit, a, possible))
    assert sum(one) == sum(other) == unit + 3 * a
    assert all(p * a <= q * (a + unit) and q * a <= p * (a + unit) for p, q in zip(one, other, strict=True))
    first, second = weights(np.eye(4)[:2], unit, a).tolist()
    assert first[0] * a == second[0] * (a + unit)


def test_a_law_that_is_no_number_breaks_no_bound() -> None:
    [row] = weights(np.full((1, 3), np.nan), 2**22, 7).tolist()
    assert min(row) == 7 and sum(row) == 2**22 + 21


def test_two_tables_with_nothing_in_common_reach_epsilon() -> None:
    """Models of constant columns are certain, so a row's odds are off by exactly the bound, M times over."""
    epsilon = 2.0
    zeros, ones = (
        PMI(epsilon_per_row=epsilon, engine=QUICK).fit(tiny([(v,) * 3] * 20, (2, 2, 2))) for v in (0, 1)
    )
    unit, a = zeros.priors(1)
    p, q = ((unit + a) / (unit + 2 * a), a / (unit + 2 * a))
    assert all(m.probabilities(np.zeros((3, 1), np.int64))[0, 0] == 1 for m in zeros.models)
    assert all(m.probabilities(np.zeros((3, 1), np.int64))[0, 0] == 0 for m in ones.models)
    assert 3 * math.log(p / q) == pytest.approx(epsilon, rel=1e-5)
    assert 3 * math.log(p / q) <= epsilon


def test_alpha_follows_the_paper() -> None:
    for epsilon in (0.1, 1.0, 10.0):
        assert fitted(alpha=None, epsilon_per_row=epsilon).alpha() == pytest.approx(
            dirichlet_alpha(epsilon, 3), rel=1e-4
        )
    assert fitted(alpha=None, epsilon=10.0).alpha(100) == pytest.approx(dirichlet_alpha(0.1, 3), rel=1e-4)
    assert fitted(alpha=None, epsilon_per_row=1.0, sweeps=2).alpha() == pytest.approx(
        dirichlet_alpha(1.0, 6), rel=1e-4
    )


def test_its_noise_does_not_shrink_with_the_data() -> None:
    """Why it loses: ten times the rows, and the law is as far from the data's as before."""
    small, large = (
        PMI(epsilon_per_row=1.0, engine=QUICK).fit(tiny([(0, 0, 0)] * n, (2, 2, 2))) for n in (20, 2_000)
    )
    shares = [(m.codes(DRAWS, Key.fresh()) == 0).mean() for m in (small, large)]
    alpha = dirichlet_alpha(1.0, 3)
    expected = (1 + alpha) / (1 + 2 * alpha)
    assert shares == pytest.approx([expected] * 2, abs=0.01)
    assert expected < 0.6


def test_the_guarantee_says_the_total_and_that_it_bounds_any_two_data_sets() -> None:
    model = fitted(alpha=None, epsilon_per_row=1.0)
    claim = model.sample(40).guarantee.claims[0]
    assert isinstance(claim, PureDP) and claim.epsilon == 40
    assert "any two data sets" in claim.text() and "40 released rows" in claim.text()
    by_alpha = fitted(alpha=1.0).sample(5).guarantee.claims[0]
    assert isinstance(by_alpha, PureDP) and by_alpha.epsilon == pytest.approx(15 * math.log(2))
    assert by_alpha.epsilon >= 15 * math.log(2)


@pytest.mark.parametrize(
    ("more", "reason"), [({"alpha": 0.0}, "no noise"), ({"domain": "data"}, ""), ({"seed": 1}, "seeded")]
)
def test_what_ends_the_promise_is_said(more: dict[str, Any], reason: str) -> None:
    seed = more.pop("seed", None)
    claims = list(fitted(**more).sample(10, seed=seed).guarantee)
    if reason:
        assert [c.reason for c in claims if isinstance(c, NoGuarantee)] == [reason]
    else:  # these domains are confirmed, wherever one says they come from
        assert isinstance(claims[0], PureDP)


def test_domains_from_the_data_end_the_promise() -> None:
    table = discharges(200, 3).select(["sex", "cat"])
    from dataclasses import replace

    bare = table.with_schema(Schema(tuple(replace(c, levels=None, confirmed=False) for c in table.schema)))
    with pytest.raises(SchemaError, match="2 without a public domain"):
        PMI(epsilon_per_row=1.0).fit(bare)
    [claim] = PMI(epsilon_per_row=1.0, domain="data", engine=QUICK).fit(bare).sample(10).guarantee
    assert isinstance(claim, NoGuarantee) and claim.reason == "domain from the data"


def test_the_same_for_a_key_and_for_any_parts() -> None:
    model, key = fitted(), Key.fresh()
    whole = model.codes(1_000, key)
    parts = [model.codes(n, key, start, 1_000) for start, n in ((0, 300), (300, 1), (301, 699))]
    assert np.array_equal(whole, np.concatenate(parts, axis=1))
    assert model.sample(50, key=key) == model.sample(50, key=key)
    assert not np.array_equal(whole, model.codes(1_000, Key.fresh()))
    one, two = model.samples(2, 50, key=key)
    assert one.data.to_arrow() != two.data.to_arrow()


def test_a_key_used_for_other_models_gives_unrelated_words() -> None:
    key = Key.fresh()
    one, other = (fitted(alpha=a).codes(5_000, key) for a in (50.0, 50.1))
    assert (one == other).all(axis=0).mean() < 0.2  # 1 in 12 by chance


def test_a_grant_is_used_up() -> None:
    model = fitted(alpha=None, epsilon_per_row=0.5)
    ledger = Ledger.in_memory(Budget(epsilon=10.0))
    with pytest.raises(BudgetError, match="does not cover"):
        model.sample(10, grant=ledger.grant(epsilon=1.0, purpose="too little"))
    grant = ledger.grant(epsilon=5.0, purpose="ten rows")
    model.sample(10, grant=grant)
    with pytest.raises(BudgetError):
        model.sample(10, grant=grant)


def test_the_elastic_net_finds_what_matters_and_drops_what_does_not() -> None:
    draw = Key.from_seed(5).generator("rows")
    x = (draw.random((1_500, 12)) < 0.5).astype(float)
    y = (draw.random(1_500) < 1 / (1 + np.exp(-(3 * x[:, 0] - 1.5)))).astype(float)
    learnt = ElasticNet(mix=1.0, folds=3).learn(x, y, 2)
    effect = learnt.law(None).beta[:, 1]
    assert abs(effect[0] - 3) < 1.2
    assert np.abs(effect[1:]).max() < 0.5 and (effect[1:] == 0).sum() >= 3
    none = fit_logistic(x, y.astype(np.int64), 2, 1e-6, 1.0)
    assert (none.beta == 0).all()  # the strongest penalty leaves the marginal
    assert none.probabilities(x[:1])[0, 1] == pytest.approx(y.mean(), abs=0.05)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({}, "one of epsilon"),
        ({"epsilon_per_row": 1.0, "alpha": 1.0}, "one of epsilon"),
        ({"epsilon_per_row": 0}, "above 0"),
        ({"epsilon_per_row": math.nan}, "above 0"),
        ({"epsilon_per_row": 1e9}, "at most 1000"),
        ({"epsilon": "1"}, "above 0"),
        ({"alpha": -1.0}, "alpha must be"),
        ({"alpha": 1.0, "sweeps": 0}, "sweeps must be"),
        ({"alpha": 1.0, "engine": "trees"}, "engine must be"),
        ({"alpha": 1.0, "domain": "mine"}, "domain must be"),
        ({"alpha": 1.0, "constraints": ["sex"], "weight": 3}, "constraints must be .*weight must be"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        PMI(**parameters)


def test_bad_input_is_refused() -> None:
    for rows in (0, -1, 1.5, True):
        with pytest.raises(ParameterError, match="rows must be"):
            fitted().sample(rows)
    with pytest.raises(ParameterError, match="a key and a seed"):
        fitted().sample(5, key=Key.fresh(), seed=1)
    with pytest.raises(DataError, match="no rows"):
        PMI(alpha=0).fit(tiny([], SIZES))
    even = PMI(alpha=1.0).fit(tiny([], SIZES))  # with a promise, an empty table is a table like others
    assert np.allclose(even.models[1].probabilities(np.zeros((3, 1), np.int64)), 1 / 3)
    with pytest.raises(ParameterError, match="folds"):
        ElasticNet(folds=1)
