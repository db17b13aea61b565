"""Several levels together: what each alone hides, differences give away."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.assessment.differences import stack_levels
from sfumato.errors import ParameterError


def columns(sizes: dict[tuple[str, str], int]) -> dict[str, list[str]]:
    rows = [pair for pair, n in sizes.items() for _ in range(n)]
    return {"area": [a for a, _ in rows], "county": [c for _, c in rows]}


def test_a_small_county_is_the_area_less_the_others() -> None:
    people = columns({("N", "a"): 30, ("N", "b"): 2, ("S", "c"): 20, ("S", "d"): 25})
    assert stack_levels(people, [("county",)], 5).met
    found = stack_levels(people, [("county",), ("area",)], 5)
    assert not found.met and found.found == 1 and found.withheld == 1
    hidden = columns({("N", "a"): 3, ("N", "b"): 2, ("S", "c"): 20, ("S", "d"): 25})
    assert stack_levels(hidden, [("county",), ("area",)], 5).met


def test_two_ways_of_cutting_leave_a_few_people() -> None:
    """By age to 64 and to 65: the difference is who is 65."""
    people = {"to_64": ["y"] * 40 + ["o"] * 30, "to_65": ["y"] * 42 + ["o"] * 28}
    found = stack_levels(people, [("to_64",), ("to_65",)], 5)
    assert not found.met and found.found == 1
    assert stack_levels(people, [("to_64",)], 5).met


def test_assess_aggregates_looks_at_all_levels_together() -> None:
    people = columns({("N", "a"): 30, ("N", "b"): 2, ("S", "c"): 20, ("S", "d"): 25})
    charge = np.random.default_rng(2).normal(100, 10, 77)
    table = pa.table({**people, "charge": charge})
    guess = pa.table({"charge": np.full(77, 100.0)})
    by_area = sf.assess_aggregates(table, guess, by="area", value="charge", fewest=5, max_risk=1)
    assert by_area.met and by_area.stacked is None
    both = sf.assess_aggregates(
        table, guess, by="area", value="charge", fewest=5, max_risk=1, levels=["county"]
    )
    assert not both.met and both.stacked is not None and both.stacked.found == 1


def test_unknown_levels_are_refused() -> None:
    with pytest.raises(ParameterError, match="not there"):
        stack_levels({"a": ["x"]}, [("b",)], 5)
