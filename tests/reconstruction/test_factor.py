"""LUDIA's loop on sufficient statistics, held against the Kronecker form with the full U."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reconstruction import worlds

from sfumato.reconstruction import factor


def problem(seed: int, n: int, p: int, d: int, k: int, stacked: bool):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    g = np.sort(rng.integers(0, p, n) ** 2 // p)  # uneven groups
    h = rng.integers(0, 3, n)
    a = worlds.matrix(g, h) if stacked else worlds.matrix(g)
    y = x @ rng.normal(size=(d, k)) + rng.normal(size=(n, k)) + rng.normal(size=k)
    s = a @ y
    gram = a @ a.T
    t, rest = factor.diagonal(x.T @ x, a @ x, gram if stacked else np.diag(gram).copy(), s)
    assert np.abs(rest).max() < 1e-9
    return x, a, s, t, rng


CASES = st.tuples(
    st.integers(0, 10**6),
    st.integers(8, 25),
    st.integers(2, 6),
    st.integers(1, 4),
    st.integers(1, 2),
    st.booleans(),
)


@given(CASES, st.sampled_from(["mp", "er", "random"]), st.sampled_from(["even", "scores", "loadings"]))
def test_fast_and_kronecker_forms_agree(case, start, sharing) -> None:
    x, a, s, t, rng = problem(*case)
    r = min(factor.rank_of(t.xx), x.shape[1])
    state = factor.begin(t, r, start, sharing, lambda shape: rng.normal(size=shape))
    turn = np.eye(len(a)) if t.turn is None else t.turn
    pi, vx, vy = turn.T @ state.pi, state.vx, state.vy
    for state in islice(factor.iterate(t, state), 3):  # noqa: B020
        if np.linalg.cond(vx.T @ vx) > 1e4:  # the solution is then hardly determined in either form
            return
        u = worlds.kronecker_u(x, a, pi, vx)
        scale = max(np.abs(u).max(), 1.0)
        assert np.abs(x @ state.b + a.T @ turn.T @ state.k - u).max() < 1e-9 * scale
        pi = worlds.kronecker_pi(a, s, u, vy)
        assert np.abs(turn.T @ state.pi - pi).max() < 1e-9 * max(np.abs(pi).max(), 1.0)
        if np.linalg.cond(u) > 1e5 or np.linalg.cond(pi) > 1e5 or len(t.aa) < r:
            return
        vx, vy = worlds.plain_vx(x, u), worlds.plain_vy(a, s, pi)
        assert np.abs(state.vx - vx).max() < 1e-7 * max(np.abs(vx).max(), 1.0)
        assert np.abs(state.vy - vy).max() < 1e-7 * max(np.abs(vy).max(), 1.0)
        assert factor.objective(t, state) == pytest.approx(
            worlds.plain_objective(x, a, s, u, pi, vx, vy), rel=1e-7, abs=1e-7 * np.trace(t.xx)
        )
        pi, vx, vy = turn.T @ state.pi, state.vx, state.vy  # each step is compared by itself


@given(CASES, st.sampled_from(["mp", "er", "random"]), st.sampled_from(["even", "scores", "loadings"]))
def test_the_objective_never_rises(case, start, sharing) -> None:
    _, _, _, t, rng = problem(*case)
    r = max(factor.rank_of(t.xx), 1)
    state = factor.begin(t, r, start, sharing, lambda shape: rng.normal(size=shape))
    trace = [factor.objective(t, s) for s in [state, *islice(factor.iterate(t, state), 15)]]
    assert np.isfinite(trace).all()
    slack = 1e-9 * (abs(trace[0]) + float(np.trace(t.xx)))
    assert (np.diff(trace) <= slack).all()


def test_the_printed_weight_of_v_y_lets_the_objective_rise() -> None:
    """Algorithm 2 prints A A' where W was derived: with uneven groups the objective then rises."""
    rises = 0
    for seed in range(30):
        _, _, _, t, _ = problem(seed, 60, 20, 4, 1, False)
        state = factor.begin(t, 2, "mp", "scores")
        old = factor.objective(t, state)
        for _ in range(10):
            b, k = factor.update_u(t, state.pi, state.vx)
            pi = factor.update_pi(t, factor.project_u(t, b, k), state.vy)
            vx, _, _ = factor.update_vx(t, b, k)
            w = t.aa[:, None]
            vy = (np.linalg.pinv(pi.T @ (w * pi)) @ pi.T @ (w * t.s)).T
            state = factor.Iterate(b, k, pi, vx, vy)
            new = factor.objective(t, state)
            rises += new > old * (1 + 1e-9)
            old = new
    assert rises


@pytest.mark.parametrize("start", ["mp", "er", "random"])
@pytest.mark.parametrize("sharing", ["even", "scores", "loadings"])
def test_finite_with_fewer_groups_than_the_rank(start, sharing) -> None:
    *_, t, rng = problem(5, 30, 2, 4, 1, False)
    assert len(t.aa) < 4
    state = factor.begin(t, 4, start, sharing, lambda shape: rng.normal(size=shape))
    for found in islice(factor.iterate(t, state), 50):
        assert all(np.isfinite(part).all() for part in (found.b, found.k, found.pi, found.vx, found.vy))


def test_pi_is_always_solvable_and_u_with_a_rank_deficient_v_x_is_the_smallest() -> None:
    x, a, _, t, rng = problem(3, 20, 4, 3, 1, False)
    vx = np.column_stack([rng.normal(size=3), np.zeros(3)])
    pi = rng.normal(size=(len(a), 2))
    b, k = factor.update_u(t, pi, vx)
    assert np.abs(x @ b + a.T @ k - worlds.kronecker_u(x, a, pi, vx)).max() < 1e-9


def test_what_no_people_could_have_is_told_apart() -> None:
    x, a, s, _, _ = problem(3, 20, 4, 2, 1, True)
    wrong = s.copy()
    wrong[0] += 1.0
    _, rest = factor.diagonal(x.T @ x, a @ x, a @ a.T, wrong)
    y = np.linalg.lstsq(a, wrong, rcond=None)[0]
    assert np.abs(rest - (wrong - a @ y)).max() < 1e-9
    assert np.abs(rest).max() > 1e-3
