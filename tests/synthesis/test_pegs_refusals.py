"""What PeGS refuses, before any work: parameters, schemas, pools, numbers of rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pegs_oracle import tiny

import sfumato as sf
from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.samples import discharges
from sfumato.seeds import Key
from sfumato.synthesis.constraints import Never
from sfumato.synthesis.pegs import PeGS
from sfumato.table import Table

TABLE = discharges(300, 7)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({}, "one of epsilon"),
        ({"epsilon_per_row": 1.0, "epsilon": 1.0}, "one of epsilon"),
        ({"epsilon_per_row": 0.0}, "epsilon_per_row must be a number above 0"),
        ({"epsilon_per_row": -1.0}, "above 0"),
        ({"epsilon_per_row": math.nan}, "above 0"),
        ({"epsilon_per_row": math.inf}, "above 0"),
        ({"epsilon_per_row": 5_000.0}, "at most 1000"),
        ({"epsilon_per_row": "1"}, "above 0"),
        ({"epsilon": True}, "above 0"),
        ({"alpha": -1.0}, "alpha must be"),
        ({"alpha": 1e300}, "alpha must be"),
        ({"epsilon_per_row": 1.0, "prior": "marginal", "prior_floor": 1e-9}, "prior_floor must be between"),
        ({"epsilon_per_row": 1.0, "block": 0}, "block must be"),
        ({"epsilon_per_row": 1.0, "sweeps": 1.5}, "sweeps must be"),
        ({"epsilon_per_row": 1.0, "parents": -1}, "parents must be"),
        ({"epsilon_per_row": 1.0, "parents": "many"}, "parents must be"),
        ({"epsilon_per_row": 1.0, "choose": "luck"}, "choose must be"),
        ({"epsilon_per_row": 1.0, "seeds": "mine"}, "seeds must be"),
        ({"epsilon_per_row": 1.0, "smoothing": 12}, "smoothing must be"),
        ({"epsilon_per_row": 1.0, "neighbours": "far"}, "neighbours must be"),
        ({"epsilon": 1.0, "parents_epsilon": 1.0}, "whole epsilon"),
        ({"log_l": 0.5, "block": 3}, "not with log_l"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        PeGS(**parameters)


def _unreadable() -> Table:
    """A table that fails the test when it is read."""

    def open_(_: object) -> Any:
        raise AssertionError("the data were read")

    return Table(replace(TABLE.source, open=open_), TABLE.schema)  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"parents": {"sex": ["nowhere"]}}, "no such column"),
        ({"columns": ["sex", "nowhere"]}, "unknown column"),
        ({"columns": ["sex", "dx_other"]}, "several codes"),
        ({"seeds": tiny([(0, 0)], (2, 2))}, "pool of seeds lacks"),
        ({"constraints": [Never({"sex": "male", "nowhere": 1})]}, "not synthesized"),
        ({"weight": "charge_usd", "columns": ["sex", "mdc"], "prior": "marginal"}, "weighted"),
    ],
)
def test_what_does_not_fit_is_refused_before_the_data_are_read(more: dict[str, Any], words: str) -> None:
    with pytest.raises((ParameterError, SchemaError), match=words):
        PeGS(**{"epsilon_per_row": 1.0, "columns": ["sex", "mdc"], **more}).fit(_unreadable())


def test_a_pool_with_other_values_is_refused() -> None:
    pool = pa.table({"v0": [0, 9], "v1": [0, 1]})
    bad = Table.from_arrow(pool)
    with pytest.raises(DataError, match="outside the declared domain"):
        PeGS(epsilon_per_row=1.0, seeds=bad).fit(tiny([(0, 0)], (2, 2)))


def test_an_unseen_category_is_refused_by_number() -> None:
    rows = tiny([(0, 0), (1, 1)], (2, 2))
    with pytest.raises(DataError, match="1 cell outside"):
        PeGS(epsilon_per_row=1.0).fit(Table.from_arrow(pa.table({"v0": [0, 5], "v1": [1, 1]}), rows.schema))


@pytest.mark.parametrize("rows", [0, -1, 1.5, True, "10"])
def test_a_number_of_rows_is_at_least_one(rows: Any) -> None:
    with pytest.raises(ParameterError, match="rows must be a whole number"):
        PeGS(epsilon_per_row=1.0, columns=["sex", "mdc"]).fit(TABLE).sample(rows)
    with pytest.raises(ParameterError, match="rows must be a whole number"):
        sf.synthesize(_unreadable(), PeGS(epsilon_per_row=1.0), rows)
    with pytest.raises(ParameterError, match="key and a seed"):
        sf.synthesize(_unreadable(), PeGS(epsilon_per_row=1.0), 3, key=Key.fresh(), seed=1)


def test_a_prior_beyond_whole_numbers_is_refused() -> None:
    wide = tiny([(0, 0)], (300_000, 2))
    fitted = PeGS(epsilon=1e-6, parents={}).fit(wide)
    with pytest.raises(ParameterError, match=r"whole numbers|nothing of the data"):
        fitted.sample(10**7)
    assert fitted.sample(10).guarantee
    with pytest.raises(ParameterError, match="smoothing is for columns of up to 4,096 levels"):
        PeGS(epsilon=1.0, parents={}, smoothing=4).fit(wide)


def test_an_empty_table_gives_even_rows() -> None:
    rows = PeGS(epsilon_per_row=1.0).fit(tiny([], (2, 2))).sample(10_000).data.to_arrow()
    assert abs(np.mean(rows.column("v0").to_numpy()) - 0.5) < 6 * 0.5 / 100


def test_constraints_that_leave_next_to_nothing_are_refused() -> None:
    sizes = (40, 40, 40)
    table = tiny([(0, 0, 0)], sizes)
    every, others = list(range(40)), list(range(1, 40))
    ring = [("v0", "v1"), ("v1", "v2"), ("v2", "v0")]
    rules = [Never({a: others, b: every}) for a, b in ring]
    with pytest.raises(ParameterError, match="pool of rows"):
        PeGS(epsilon_per_row=1.0, constraints=rules).fit(table).sample(5).data.to_arrow()
    pool = tiny([(0, 0, 0)], sizes)
    got = PeGS(epsilon_per_row=1.0, constraints=rules, seeds=pool).fit(table).sample(5).data.to_arrow()
    assert got.column("v0").to_pylist() == [0] * 5
