"""The Bayesian network: links between columns, along their levels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from assessment.attack_tables import table

from sfumato.assessment import attacks
from sfumato.assessment.attacks import beliefs
from sfumato.assessment.attacks.network import forest, level_of
from sfumato.assessment.reading.alignment import align
from sfumato.score import Score


def test_what_two_columns_say_together_is_learnt() -> None:
    """The secret is whether two coins agree: neither says anything alone."""
    generator = np.random.default_rng(3)
    a, b = generator.integers(0, 2, (2, 800))
    data = table({"a": [f"a{x}" for x in a], "b": [f"b{x}" for x in b], "s": [f"s{x}" for x in a ^ b]})
    assert attacks.bayesian_network(align(data, data), ["a", "b"], "s")[0].value == 1


def test_a_link_runs_from_the_level_that_is_released() -> None:
    """Zip codes are cut to three digits; which sex means what depends on the first digits."""
    generator = np.random.default_rng(4)
    region, sex = generator.integers(0, 2, (2, 900))
    last = generator.integers(0, 10, 900)
    zips = [f"02{r}{n:02d}" for r, n in zip(region, last, strict=True)]
    columns = {
        "zip": zips, "sex": [f"x{v}" for v in sex], "s": [f"s{v}" for v in region ^ sex],
    }  # fmt: skip
    released = {**columns, "zip": [z[:3] + "**" for z in zips]}
    pair = align(table(columns), table(released))
    assert attacks.bayesian_network(pair, ["zip", "sex"], "s")[0].value == 1


def test_columns_that_have_nothing_to_do_with_each_other_are_not_linked() -> None:
    generator = np.random.default_rng()
    linked = 0
    for _ in range(40):
        groups = generator.integers(0, 4, (500, 3))
        belief = np.eye(2)[generator.integers(0, 2, 500)]
        linked += sum(p >= 0 for p in forest(groups, [4, 4, 4], belief.argmax(axis=1), belief.shape[1]))
    # 2N x information is chi-square with 18 degrees; above its mean 44% of the time, so never all of them.
    assert linked < 40 * 2


def test_the_heaviest_links_are_kept_and_close_no_circle() -> None:
    generator = np.random.default_rng(6)
    a = generator.integers(0, 3, 2_000)
    b = np.where(generator.random(2_000) < 0.9, a, generator.integers(0, 3, 2_000))
    c = np.where(generator.random(2_000) < 0.9, b, generator.integers(0, 3, 2_000))
    found = forest(np.column_stack([a, b, c]), [3, 3, 3], np.zeros(2_000, int), 1)
    assert found == [-1, 0, 1]  # not 0 -> 2, which b explains


def test_levels_are_what_the_release_always_tells() -> None:
    covers = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 1, 0]], float)
    level = level_of(covers)
    assert level.size == 3
    assert level.of_leaf[0] == level.of_leaf[1] and len(set(level.of_leaf[1:4])) == 3
    assert level.of_leaf[4] == -1 and level.of_node[2] == -1
    assert level.of_node[[0, 1, 3]].tolist() == level.of_leaf[[0, 2, 3]].tolist()


@pytest.mark.parametrize("hidden", [0.0, 0.5])
def test_cells_that_say_nothing_join_nothing_and_are_learnt_around(hidden: float) -> None:
    generator = np.random.default_rng(8)
    a, b = generator.integers(0, 2, (2, 1_200))
    shown = ["*" if generator.random() < hidden else f"a{x}" for x in a]
    columns = {"a": [f"a{x}" for x in a], "b": [f"b{x}" for x in b], "s": [f"s{x}" for x in a ^ b]}
    pair = align(table(columns), table({**columns, "a": shown}))
    assert attacks.bayesian_network(pair, ["a", "b"], "s")[0].value == 1


def test_a_control_with_values_that_no_release_has() -> None:
    """A value of the original that the release lacks is a group of its own that no record belongs to."""
    generator = np.random.default_rng(9)
    a, b = generator.integers(0, 3, (2, 900))
    columns = {"a": [f"a{x}" for x in a], "b": [f"b{x}" for x in b], "s": [f"s{x}" for x in (a + b) % 3]}
    kept = {name: [v for v, x in zip(cells, a, strict=True) if x < 2] for name, cells in columns.items()}
    pair = align(table(columns), table(kept))
    found = attacks.bayesian_network(pair, ["a", "b"], "s", control=table(columns))[0]
    assert found.control == found.value > 0.6


def test_a_level_joins_leaves_however_many_values_cover_them() -> None:
    covers = np.zeros((256, 4))
    covers[:, :2] = 1
    assert level_of(covers).of_leaf.tolist() == [0, 0, 1, -1]


@pytest.mark.parametrize("attack", [attacks.bayesian_network, attacks.learnt])
def test_models_of_many_records_learn_from_as_many_as_fit(
    attack: Callable[..., list[Score]], monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = {"a": ["x", "y"] * 500, "s": ["u", "v"] * 500}
    pair = align(table(columns), table(columns))
    monkeypatch.setattr(beliefs, "_LEARNT", 600)
    score = attack(pair, ["a"], "s", control=table(columns))[0]
    assert (score.value, score.control, score.details["trained_on"]) == (1.0, 1.0, 300)
