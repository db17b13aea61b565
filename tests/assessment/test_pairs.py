"""Copies without a control: pairs of rows that are alike, whatever file they come from."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import sfumato as sf
from sfumato.assessment.copies import find
from sfumato.assessment.copies.pairs import joining
from sfumato.seeds import Key

TIED = {"a": 6, "b": 4, "c": 3, "d": 2, "e": 2}  # few values: nearly everybody has equals


def people(rows: int, seed: int, levels: dict[str, int] = TIED) -> dict[str, list[str]]:
    rng = np.random.default_rng(seed)
    return {n: [f"{n}{v}" for v in rng.integers(0, k, rows)] for n, k in levels.items()}


def chance(original: dict[str, list[str]], released: dict[str, list[str]], seed: int) -> dict[str, float]:
    import pyarrow as pa

    first, second = (sf.scan(pa.table(t)) for t in (original, released))
    found = find(
        first, second, None, columns=list(original), known=["a"], whole=(first, second, None), meanings={},
        key=Key.from_seed(seed), most_work=10**9, error=0.01,
    )  # fmt: skip
    return {s.name: s.details["p"] for s in found.scores if "p" in s.details}


@pytest.mark.parametrize(("originals", "released", "pairs"), [(4, 4, 2), (5, 3, 3), (3, 5, 2), (6, 2, 3)])
def test_the_chance_is_that_of_all_ways_to_deal_out_the_files(
    originals: int, released: int, pairs: int
) -> None:
    """All labellings of a small pool, those with a pair of two released rows left out."""
    counts: dict[int, int] = {}
    for chosen in combinations(range(originals + released), released):
        held = [sum(2 * g + i in chosen for i in (0, 1)) for g in range(pairs)]
        if 2 not in held:
            counts[sum(held)] = counts.get(sum(held), 0) + 1
    total = sum(counts.values())
    for joined in range(pairs + 1):
        truth = sum(n for a, n in counts.items() if a >= joined) / total
        joins = np.arange(pairs) < joined
        assert joining(np.zeros(pairs), joins, originals, released) == pytest.approx(truth)


def test_every_copy_counts_and_chance_does_not() -> None:
    score = np.arange(400.0)
    assert joining(score, np.ones(400, bool), 1_000, 1_000) < 1e-50
    assert joining(score, np.arange(400) % 3 > 0, 1_000, 1_000) > 0.01
    assert joining(np.zeros(0), np.zeros(0, bool), 10, 10) == 1.0


def test_rows_that_tie_favour_no_file() -> None:
    """Of equally near rows the released one must not be taken first. False alarm: one in a million."""
    seen = [chance(people(250, 2 * s), people(250, 2 * s + 1), s) for s in range(30)]
    for name in ("copied rows", "people nearly copied"):
        assert sum(s[name] <= 0.01 for s in seen) <= 5, name
        assert min(s[name] for s in seen) > 1e-7, name


def test_noisy_copies_that_are_there_twice_are_seen_without_a_control() -> None:
    levels = {f"c{i}": 12 for i in range(10)}
    original, rest = people(300, 1, levels), people(300, 2, levels)
    moved = {
        n: [f"{n}x" if i % 10 == at else v for i, v in enumerate(c)]
        for at, (n, c) in enumerate(original.items())
    }
    twice = {n: [*c[:150], *c[:150], *rest[n][:100]] for n, c in moved.items()}
    assert (
        chance({"a": original["c0"], **original}, {"a": twice["c0"], **twice}, 1)["people nearly copied"]
        < 1e-6
    )
