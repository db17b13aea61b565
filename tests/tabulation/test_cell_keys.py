"""Cell keys: the law is the asked one, and the same people have the same number everywhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.tabulation import CellKeys, tabulate


@pytest.mark.parametrize("method", [CellKeys(), CellKeys(1.0, 3), CellKeys(4.0, 8, 2)])
def test_the_law_has_mean_0_and_the_variance(method) -> None:
    table = method.chances()
    moves = np.arange(-method.most, method.most + 1)
    assert table[0, method.most] == 1.0
    for i, row in enumerate(table[1:], 1):
        assert row.sum() == pytest.approx(1) and row @ moves == pytest.approx(0, abs=1e-6)
        assert row @ moves**2 == pytest.approx(method.variance, abs=1e-6)
        after = i + moves
        assert not row[(after < 0) | ((after > 0) & (after <= method.smallest))].any()
    # Of largest entropy: the logarithm is a parabola over what is allowed.
    last = np.log(table[-1])
    assert np.ptp(np.diff(last, 2)) < 1e-6


def test_a_million_cells_move_as_the_law_says() -> None:
    method = CellKeys()
    rng = np.random.default_rng(5)
    counts = rng.integers(0, 12, 1_000_000)
    moved = method.perturb(counts, rng.integers(0, 2**63, len(counts)).astype(np.uint64) * 2)
    assert (moved >= 0).all() and np.abs(moved - counts).max() <= method.most
    assert (moved[counts == 0] == 0).all()
    for i in (1, 2, 9):
        here = moved[counts == i] - i
        # One in a million: a mean of n numbers with variance 2, within five standard errors.
        assert abs(here.mean()) < 5 * np.sqrt(method.variance / len(here))


def people(rows: int = 600) -> sf.Table:
    rng = np.random.default_rng(3)
    data = pa.table(
        {
            "id": [f"p{i}" for i in range(rows)],
            "county": rng.choice(["a", "b", "c", "d"], rows),
            "sex": rng.choice(["f", "m"], rows),
            "age": rng.choice(["young", "old"], rows),
        }
    )
    schema = sf.Table.from_arrow(data).schema
    columns = [replace(c, role=sf.Role.PERSON) if c.name == "id" else c for c in schema]
    return sf.Table.from_arrow(data, sf.Schema(tuple(columns)))


def shown(release: sf.Release) -> dict[tuple[tuple[str, str], ...], int]:
    rows = release.data.to_arrow().to_pylist()
    return {tuple((k, v) for k, v in r.items() if k != "count" and v != "_T"): r["count"] for r in rows}


def test_the_same_people_have_the_same_count_in_every_table() -> None:
    key = sf.Key.fresh()
    table = people()
    first = tabulate(table, "county,sex", method=CellKeys(key=key))
    backwards = sf.Table.from_arrow(table.to_arrow().take(pa.array(range(599, -1, -1))), table.schema)
    second = tabulate(backwards, "county,age", method=CellKeys(key=key))
    same = shown(first).keys() & shown(second).keys()
    assert len(same) == 5 and all(shown(first)[k] == shown(second)[k] for k in same)
    other = tabulate(table, "county,sex", method=CellKeys())
    assert shown(other) != shown(first)
    audit = first.internal.extra["cell keys"]
    assert audit["known"] is not None and audit["most"] == 5
    assert "Key" not in first.guarantee.text() and first.internal.key == key


def test_bad_laws_are_refused() -> None:
    for wrong in ({"most": 0}, {"variance": 0}, {"variance": 30}, {"smallest": 5}, {"key": "secret"}):
        with pytest.raises(ParameterError):
            CellKeys(**wrong)
    with pytest.raises(ParameterError, match="no law moves"):
        CellKeys(variance=0.5, most=5, smallest=2)
    with pytest.raises(ParameterError, match="only counts"):
        tabulate(people(), "county", method=CellKeys(), weight="age")
