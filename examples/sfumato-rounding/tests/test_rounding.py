"""The kit of Sfumato tries the method; what is ours alone is tried here."""

from __future__ import annotations

import pyarrow as pa
import pytest
from sfumato_rounding.claim import Rounded
from sfumato_rounding.method import Rounding

from sfumato import testing
from sfumato.errors import ParameterError
from sfumato.schema import Column, Kind, Schema
from sfumato.table import Table


def numbers(*cells: int | None) -> Table:
    return Table.from_arrow(
        pa.table({"n": pa.array(cells, pa.int64())}), Schema((Column("n", Kind.NUMERIC, type="integer"),))
    )


@pytest.mark.parametrize("check", testing.checks(Rounding(base=10)), ids=str)
def test_the_kit_passes(check: testing.MethodCheck) -> None:
    check()


def test_numbers_become_the_nearest_multiples() -> None:
    released = Rounding(base=5).release(numbers(0, 2, 3, -3, None, 12)).data.to_arrow()
    assert released["n"].to_pylist() == [0, 0, 5, -5, None, 10]


def test_a_file_that_breaks_the_claim_is_told() -> None:
    assert Rounded(5, ("n",)).recount(numbers(0, 5, -10, None)) == (True, "0 numbers are no multiples of 5")
    assert Rounded(5, ("n",)).recount(numbers(0, 7, -3)) == (False, "2 numbers are no multiples of 5")


def test_what_cannot_be_rounded_is_refused() -> None:
    with pytest.raises(ParameterError, match="cannot be rounded"):
        Rounding(columns=("m",)).release(numbers(1))
    with pytest.raises(ParameterError, match="base must be"):
        Rounding(base=1)
