"""What the utility scores must show on files whose answer is known."""

from __future__ import annotations

import json
import math
import resource
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.assessment.reading.alignment import align
from sfumato.assessment.utility.associations import two_way
from sfumato.assessment.utility.tables import (
    conditional,
    distances,
    frequency_ranks,
    interactions,
    marginals,
    missing_rates,
    utility,
)
from sfumato.errors import ParameterError
from sfumato.io import scan
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.score import Score
from sfumato.table import Table


def table(schema: Schema | None = None, **columns: Any) -> Table:
    return Table.from_arrow(pa.table(columns), schema)


def by_name(scores: list[Score]) -> dict[str, Score]:
    names = [s.name for s in scores]
    assert len(set(names)) == len(names)
    return {s.name: s for s in scores}


def people(rows: int, seed: int | None = None, keep: float = 0.6) -> dict[str, Any]:
    """Columns that follow a common cause with chance `keep`, and are noise otherwise."""
    generator = np.random.default_rng(seed)
    cause = generator.random(rows) ** 2

    def mixed() -> Any:
        return np.where(generator.random(rows) < keep, cause, generator.random(rows) ** 2)

    return {
        "age": (18 + mixed() * 70).astype(int),
        "sex": np.where(mixed() < 0.3, "f", "m"),
        "zip": [f"130{int(v * 6):02d}" for v in mixed()],
        "cost": np.exp(8 + 4 * mixed() + generator.normal(size=rows)),
    }


def test_identical_files_agree_in_everything() -> None:
    data = people(800)
    data["zip"] = [None if i % 9 == 0 else z for i, z in enumerate(data["zip"])]
    found = by_name(utility(align(table(**data), table(**data))))
    for name, score in found.items():
        if "total variation" in name or "difference" in name or "MSE" in name or "MAE" in name:
            assert score.value == pytest.approx(0, abs=1e-12), name
        elif "ratio" in name or "Kendall" in name or "Spearman" in name or "intersection" in name:
            assert score.value == pytest.approx(1), name
        else:
            raise AssertionError(f"no expectation for {name}")
    json.dumps([dict(s.details) for s in found.values()], allow_nan=False)  # plain values only


def test_reversed_ranks_give_minus_one() -> None:
    levels, n = list("abcd"), [1, 2, 3, 4]
    before = [v for v, k in zip(levels, n, strict=True) for _ in range(k)]
    after = [v for v, k in zip(levels, reversed(n), strict=True) for _ in range(k)]
    found = by_name(frequency_ranks(align(table(x=before), table(x=after))))
    assert [s.value for s in found.values()] == [-1, -1]
    # within each level of y the order of x is reversed
    both = align(
        table(x=before * 2, y=["u"] * 10 + ["v"] * 10), table(x=after * 2, y=["u"] * 10 + ["v"] * 10)
    )
    found = by_name(conditional(both, given=["y"]))
    assert found["Kendall's tau-b, conditional frequencies"].value == pytest.approx(-1)
    assert found["Spearman's rho, conditional frequencies"].value == pytest.approx(-1)


def test_associations_vanish_in_independent_noise() -> None:
    generator = np.random.default_rng()
    data = people(4000, keep=0.9)
    noise = {k: generator.permutation(np.asarray(v)) for k, v in data.items()}
    pair = align(table(**data), table(**noise), bins=5)
    for fact in two_way(pair):
        before, after = fact.information
        # 2N times plug-in information is chi-square with at most 56 degrees of freedom: 140 is passed with
        # a chance below 1e-8, and there are six pairs.
        assert before > 0.05 and after < 140 / (2 * 4000)
        if not math.isnan(fact.order[0]):
            assert fact.order[0] > 0.3 and abs(fact.order[1]) < 0.07  # more than five standard errors
    found = by_name(utility(pair))
    assert found["total variation, columns"].value == pytest.approx(0)
    assert found["chi-square ratio, " + _interaction(found)].value < 0.1


def _interaction(found: dict[str, Score]) -> str:
    return next(n for n in found if n.startswith("G2")).removeprefix("G2 ratio, ")


def test_marginal_scores_by_hand() -> None:
    pair = align(
        table(a=["x", "x", "y", "y"], b=["u", "u", "u", "v"]), table(a=["x", "x", "x", "y"], b=["u"] * 4)
    )
    found = by_name([*marginals(pair), *distances(pair, ways=1)])
    assert found["marginal MSE"].value == pytest.approx(0.25**2)
    assert found["marginal MAE"].value == pytest.approx(0.25)
    assert found["total variation, columns"].value == pytest.approx(0.25)
    assert found["histogram intersection"].value == pytest.approx(0.75)


def test_generalized_and_synthetic_files_stand_on_one_scale() -> None:
    schema = Schema((Column("age", Kind.NUMERIC, type="integer", edges=tuple(range(20, 41, 5))),))
    original = table(schema, age=[20, 21, 22, 23, 31, 33, 36, 40])  # 4, 0, 2, 2
    anonymous = table(age=["[20, 30)"] * 4 + ["[30, 40]"] * 4)  # 2, 2, 20/11, 24/11
    synthetic = table(age=[21, 22, 26, 27, 31, 33, 37, 38])  # 2, 2, 2, 2
    values = [distances(align(original, r), ways=1)[0].value for r in (anonymous, synthetic)]
    assert values == pytest.approx([(2 + 2 / 11) / 8, 2 / 8])


def test_missing_rates_are_reported() -> None:
    score = missing_rates(align(table(a=["x", None, None, "y"]), table(a=["x", "x", "y", None])))[0]
    assert score.value == pytest.approx(0.25)
    assert score.details["columns"] == [{"column": "a", "before": 0.5, "after": 0.25}]


def test_weights_weigh() -> None:
    schema = Schema((Column("a", Kind.NOMINAL), Column("w", Kind.NUMERIC, Role.WEIGHT)))
    original = table(schema, a=["x", "y"], w=[3.0, 1.0])
    released = table(a=["x", "x", "x", "y"])
    assert distances(align(original, released, weight="w"), ways=1)[0].value == 0
    assert distances(align(original, released), ways=1)[0].value == pytest.approx(0.25)


def test_the_unit_of_a_weight_does_not_matter() -> None:
    names, generator = list("abcdefgh"), np.random.default_rng(1)
    x, y = generator.choice(names, (2, 500))
    weight, released = generator.uniform(1, 2, 500), table(x=x, y=y)
    found = [
        utility(align(table(x=x, y=y, w=weight * unit), released, weight="w"), ways=2)
        for unit in (1e-6, 1, 1e6)
    ]
    assert [s.value for s in found[0]] == pytest.approx([s.value for s in found[1]], nan_ok=True)
    assert [s.value for s in found[2]] == pytest.approx([s.value for s in found[1]], nan_ok=True)


def test_a_sample_of_triples_says_so() -> None:
    generator = np.random.default_rng(1)
    data = {f"c{i}": [str(v) for v in generator.integers(0, 3, 300)] for i in range(9)}
    other = {f"c{i}": [str(v) for v in generator.integers(0, 3, 300)] for i in range(9)}
    pair = align(table(**data), table(**other))
    whole = distances(pair, ways=3)[0]
    part = distances(pair, ways=3, most=30, seed=4)[0]
    assert whole.low is None and whole.details["sets"] == math.comb(9, 3)
    assert "random sample of 30 of 84" in part.meaning and part.details["sets"] == 30
    assert part.low is not None and part.high is not None and part.low < part.value < part.high
    assert abs(part.value - whole.value) < 3 * (part.high - part.low)
    with pytest.raises(ParameterError):
        distances(pair, ways=5)


def test_interactions_compare_at_equal_size() -> None:
    before = table(a=["x", "x", "y", "y"] * 10, b=["u", "u", "v", "v"] * 10)
    after = table(a=["x", "x", "y", "y"], b=["u", "u", "v", "v"])
    chi, g2 = interactions(align(before, after), [("a", "b")])
    assert chi.value == pytest.approx(1) and g2.value == pytest.approx(1)
    assert chi.details["chi_square"] == pytest.approx([40, 40])
    kept = interactions(align(before, after), [("a", "b")], keep=[("a", "b")])
    assert kept[0].details["chi_square"] == pytest.approx([0, 0], abs=1e-9)


def test_bad_conditioning_columns_are_refused() -> None:
    pair = align(table(a=["x"], b=["y"]), table(a=["x"], b=["y"]))
    with pytest.raises(ParameterError):
        conditional(pair, given=["z"])


def test_one_column_is_enough() -> None:
    names = by_name(utility(align(table(a=["x", "y"]), table(a=["x", "x"]))))
    assert "total variation, columns" in names and "total variation, pairs" not in names


def test_a_column_all_missing_does_not_stop_the_rest() -> None:
    gone = pa.array([None] * 4, pa.string())
    scores = utility(align(table(a=list("xyxy"), b=gone), table(a=list("xxyy"), b=gone)))
    assert by_name(scores)["total variation, columns"].value == 0
    numbers = pa.array([None] * 4, pa.int64())
    scores = utility(align(table(a=[1, 2, 1, 2], b=numbers), table(a=[1, 1, 2, 2], b=numbers)))
    assert by_name(scores)["total variation, pairs"].value == 0
    scores = utility(align(table(a=list("xyxy"), b=list("uvuv")), table(a=list("xxyy"), b=gone)))
    assert by_name(scores)["missing rate, mean difference"].value == pytest.approx(0.5)


def test_a_file_of_another_tool_needs_no_code(tmp_path: Path) -> None:
    data = people(500, seed=2)
    original, released = tmp_path / "data.csv", tmp_path / "arx.csv"
    rows = list(zip(data["age"], data["sex"], data["zip"], strict=True))
    original.write_text("age;sex;zip\n" + "\n".join(f"{a};{s};{z}" for a, s, z in rows) + "\n")
    lines = [f"[{a // 10 * 10}, {a // 10 * 10 + 10}[;{s};{z[:3]}**" for a, s, z in rows]
    lines[:20] = ["*;*;*"] * 20
    released.write_text("age;sex;zip\n" + "\n".join(lines) + "\n")
    pair = align(scan(original), scan(released))
    assert pair.columns == ("age", "sex", "zip")
    assert not any("not in the original" in n or "no number" in n for n in pair.notes)
    assert 0 < by_name(utility(pair))["total variation, pairs"].value < 0.6


@pytest.mark.soak
def test_a_million_rows_in_under_a_minute(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    sizes = [2, 3, 5, 5, 6, 8, 10, 12, 16, 20, 24, 20, 20]
    for name in ("original", "released"):
        cause = generator.random(1_000_000)
        columns = {}
        for i, size in enumerate(sizes):
            u = np.where(generator.random(len(cause)) < 0.5, cause, generator.random(len(cause)))
            codes = pa.array((u * size).astype(np.int32))
            levels = pa.array([f"level {j}" for j in range(size)])
            columns[f"c{i}"] = pa.DictionaryArray.from_arrays(codes, levels)
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet", row_group_size=131_072)
    start = time.process_time()
    pair = align(scan(tmp_path / "original.parquet"), scan(tmp_path / "released.parquet"))
    found = by_name(utility(pair))
    assert time.process_time() - start < 60
    assert found["total variation, triples"].details["sets"] == len(list(combinations(sizes, 3))) == 286
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2_000_000  # KiB


def test_the_kernel_the_plain_loop_and_the_measure_agree() -> None:
    from sfumato import measures
    from sfumato.assessment.utility import _kernels

    generator = np.random.default_rng()
    p, q = generator.integers(0, 5, (2, 20, 7)).astype(float)
    p[0] = 3.0
    slow = [measures.kendall(a, b) for a, b in zip(p, q, strict=True)]
    np.testing.assert_allclose(_kernels.kendall_rows(p, q), slow)
    np.testing.assert_allclose(_kernels.kendall_rows.py_func(p, q), slow)
    slow = [measures.spearman(a, b) for a, b in zip(p, q, strict=True)]
    np.testing.assert_allclose(_kernels.spearman_rows(p, q), slow, atol=1e-12)
    np.testing.assert_allclose(_kernels.spearman_rows.py_func(p, q), slow, atol=1e-12)


def test_of_many_columns_a_sample_of_pairs_is_counted_and_said() -> None:
    generator = np.random.default_rng(3)
    files = [
        Table.from_arrow(pa.table({f"c{i}": generator.integers(0, 3, 200) for i in range(12)}))
        for _ in range(2)
    ]
    pair = align(*files)
    found = by_name(utility(pair, ways=2, most=20))
    for name in ("total variation, pairs", "conditional MSE", "mutual information, mean difference"):
        assert "random sample of 20 of 66" in found[name].meaning
    assert len(found["mutual information, mean difference"].details["pairs"]) == 20
    whole = by_name(utility(pair, ways=2))
    assert "sample" not in whole["conditional MSE"].meaning
    again = distances(pair, ways=2)[0]  # counted without the facts about pairs: the same
    assert again.value == pytest.approx(whole["total variation, pairs"].value, abs=1e-12)
