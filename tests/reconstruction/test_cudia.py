"""CUDIA: recovery of separated clusters, both variants; the greedy objective never rises."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from reconstruction import worlds

import sfumato as sf
from sfumato.errors import ParameterError

ETA = np.array([0.0, 6.0, -5.0])


def clusters(rng: np.random.Generator, partitions: int = 30, each: int = 200):
    """Three separated clusters, two numbers and a category, y with standard deviation 1 in each."""
    g = np.repeat(np.arange(partitions), each)
    pi = rng.dirichlet(np.ones(3), partitions)
    z = (rng.random((len(g), 1)) > np.cumsum(pi[g], axis=1)[:, :-1]).sum(axis=1)
    x = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])[z] + rng.normal(size=(len(g), 2))
    c = np.where(rng.random(len(g)) < 0.8, z, rng.integers(0, 3, len(g)))
    y = ETA[z] + rng.normal(size=len(g))
    columns = {"g": g.astype(str), "a": x[:, 0], "b": x[:, 1], "c": c.astype(str), "y": y}
    return sf.Table.from_arrow(pa.table(columns)), g, y


@pytest.mark.parametrize("variant", ["deterministic", "mcem"])
@pytest.mark.parametrize("correction", [False, True])
def test_separated_clusters_are_recovered(variant, correction) -> None:
    """P = 30, 200 each: centres within 0.5 standard deviations, error at most 0.4 of MP's; any seed.

    A centre is known to about sqrt(sd^2 / (P N / K)) and the mixing noise to 0.1: 0.5 is five deviations off.
    """
    table, g, y = clusters(np.random.default_rng())
    made, people = worlds.aggregates(table, "g"), table.drop(["y"])
    fitted = sf.CUDIA(3, variant, correction=correction, iterations=20).fit(people, made)
    assert np.abs(np.sort(fitted.rule.centres[:, 0]) - np.sort(ETA)).max() < 0.5
    got = fitted.reconstruct().numbers()[:, 0]
    plain = sf.MoorePenrose().fit(people, made).reconstruct().numbers()[:, 0]
    assert np.abs(got - y).mean() <= 0.4 * np.abs(plain - y).mean()
    gap = np.abs(worlds.means(g, got) - worlds.means(g, y)).max()
    assert (gap < 1e-9) == correction


def test_the_greedy_objective_never_rises() -> None:
    rng = np.random.default_rng()
    table, _ = worlds.people(rng, 600, 12)
    fitted = sf.CUDIA(4, seed=3).fit(table.drop(["y"]), worlds.aggregates(table, "g"))
    assert len(fitted.trace) > 1
    assert (np.diff(fitted.trace) <= 1e-9 * abs(fitted.trace[0])).all()


def test_a_seed_repeats_a_run() -> None:
    table, _, _ = clusters(np.random.default_rng(1), 10, 50)
    made, people = worlds.aggregates(table, "g"), table.drop(["y"])
    method = sf.CUDIA(3, "mcem", iterations=3, draws=5, seed=4)
    first, second = (method.fit(people, made).reconstruct().numbers() for _ in range(2))
    assert (first == second).all()


def test_missing_numbers_are_left_out_of_the_likelihood() -> None:
    table, _, y = clusters(np.random.default_rng(2), 20, 100)
    arrow = table.to_arrow()
    gone = np.random.default_rng(3).random(len(y)) < 0.2
    holes = arrow.set_column(1, "a", pa.array(arrow["a"].to_numpy(), mask=gone))
    made = worlds.aggregates(table, "g")
    got = sf.CUDIA(3, seed=1).fit(sf.Table.from_arrow(holes.drop(["y"])), made).reconstruct().numbers()[:, 0]
    assert np.isfinite(got).all()
    assert np.abs(got - y).mean() < 0.6 * np.abs(y - y.mean()).mean()


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"clusters": 0}, "clusters is a whole number"),
        ({"variant": "vb"}, "variant is"),
        ({"ridge": 0.0}, "ridge is positive"),
        ({"floor": -1.0}, "floor is positive"),
        ({"columns": "a"}, "list of names"),
    ],
)
def test_bad_parameters_are_refused(bad, words) -> None:
    with pytest.raises(ParameterError, match=words):
        sf.CUDIA(**bad)
