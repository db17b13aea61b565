"""Controlled rounding: multiples of the base, less than the base away, and everything adds up."""

from __future__ import annotations

import numpy as np
import pytest
from tabulation.test_tabulate import stays

from sfumato.errors import ParameterError
from sfumato.tabulation import ControlledRounding, tabulate


@pytest.mark.parametrize("base", [3, 5, 10])
def test_everything_adds_up(base) -> None:
    release = tabulate(stays(), "area>county,age,sex", method=ControlledRounding(base))
    rows = release.data.to_arrow().to_pylist()
    true = [c["rows"] for c in release.internal.tables["cells"].to_pylist()]
    cells = {(r["area"], r["county"], r["age"], r["sex"]): r["count"] for r in rows}
    assert all(n % base == 0 and n >= 0 for n in cells.values())
    finest = {k: v for k, v in cells.items() if "_T" not in k}
    for key, n in cells.items():
        assert n == sum(
            v for k, v in finest.items() if all(a in ("_T", b) for a, b in zip(key, k, strict=True))
        )
    for row, n in zip(rows, true, strict=True):
        if "_T" not in (row["county"], row["age"], row["sex"]):
            assert abs(row["count"] - n) < base
    said = release.internal.extra["rounding"]
    away = np.abs(np.array([r["count"] for r in rows]) - np.array(true))
    assert said["farthest"] == away.max() <= 2 * base and said["mean"] == pytest.approx(away.mean())


def test_bad_input_is_refused() -> None:
    for base in (1, 0, True, 2.5):
        with pytest.raises(ParameterError, match="base"):
            ControlledRounding(base)
    with pytest.raises(ParameterError, match="one table"):
        tabulate(stays(), "county,age;county,sex", method=ControlledRounding(3))
    with pytest.raises(ParameterError, match="no sums"):
        tabulate(stays(), "county,age", method=ControlledRounding(3), of="charge")
