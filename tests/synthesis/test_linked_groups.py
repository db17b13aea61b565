"""Persons counted group by group: the same counts however they are divided, and nothing left on the disk."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from linked_counts import listened, require_same
from lives import lives, private, public
from tapes import taped

import sfumato as sf
from sfumato.errors import OutputError
from sfumato.schema import Column
from sfumato.synthesis.people import found_axes, person_chunks
from sfumato.synthesis.people.found_axes import LevelsFound, NumbersFound, quantiles


@pytest.mark.parametrize("epsilon", [None, 2.0])
def test_groups_in_files_have_the_counts_of_all_persons_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, epsilon: float | None
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    method = sf.LinkedSynthesizer() if epsilon is None else private(epsilon)
    data = lives(150) if epsilon is None else public(lives(150))
    tape = None if epsilon is None else taped(monkeypatch)
    answers = listened(monkeypatch)
    whole = method.fit(data).sample(60, seed=1).data
    mine, answers[:] = list(answers), []
    monkeypatch.setattr(person_chunks, "_PERSONS", 40)
    if tape is not None:
        tape.place = 0
    parted = method.fit(data).sample(60, seed=1).data
    require_same(tuple(mine), tuple(answers))
    assert len(mine) == 2 and not list(tmp_path.iterdir())
    for name, table in whole.tables.items():
        assert table.to_arrow().equals(parted[name].to_arrow()), name


def test_a_group_without_rows_of_a_table_and_rows_of_nobody() -> None:
    files = person_chunks.GroupFile()
    cells = np.arange(12).reshape(4, 3)
    rows = person_chunks.PackedRows(pa.array([7, 8, 9, 10]), pa.array(["a", None, "b", "c"]), cells)
    files.add("stays", rows, np.array([2, 0, 2, 0]))

    class Form:
        def none(self) -> Any:
            return rows.take(np.empty(0, np.int64))

    first, second, third = (files.read("stays", Form(), g) for g in range(3))  # type: ignore[arg-type]
    assert first.key.to_pylist() == [8, 10] and third.parent.to_pylist() == ["a", "b"]
    assert (third.cells == cells[[0, 2]]).all() and len(second.cells) == 0


def test_a_full_temporary_folder_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, part: bytes) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def close(self) -> None: ...

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    files = person_chunks.GroupFile()
    rows = person_chunks.PackedRows(pa.array([7]), None, np.zeros((1, 2), np.int64))
    with pytest.raises(OutputError, match="put aside in the temporary folder"):
        files.add("stays", rows, np.array([0]))


@given(st.lists(st.integers(-5, 5) | st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_quantiles_are_those_of_the_rows(numbers: list[float]) -> None:
    rows = np.asarray(numbers, np.float64) + 0.0
    values, many = np.unique(rows, return_counts=True)
    shares = np.linspace(0, 1, 21)
    assert (quantiles(values, many.astype(np.int64), shares) == np.quantile(rows, shares)).all()


def found(parts: list[np.ndarray], apart: bool) -> NumbersFound:
    """The numbers of some batches, read one after the other or each by itself."""
    column = Column("x", "numeric")
    many = [NumbersFound(column, LevelsFound(column)) for _ in range(len(parts) if apart else 1)]
    for at, part in enumerate(parts):
        many[at if apart else 0].add(pa.array(part))
    for other in many[1:]:
        many[0].include(other)
    return many[0].settled()


@pytest.mark.parametrize("most", [50, 400, 10**6])
def test_numbers_are_those_of_all_rows_in_whatever_order_they_come(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Of more than can be told apart the last bits are dropped: as few as all rows together need."""
    monkeypatch.setattr(found_axes, "_MOST", most)
    monkeypatch.setattr(found_axes, "_WAITING", 100)
    monkeypatch.setattr(found_axes, "_DROPPED", (0, 40, 44, 46, 48, 50, 52))
    rng = np.random.default_rng(0)
    parts = [np.round(rng.normal(size=n) * 100, 3) for n in (3, 200, 0, 500, 41)]
    one, two, three = found(parts, False), found(parts[::-1], False), found(parts, True)
    for other in (two, three):
        assert one.dropped == other.dropped and (one.numbers == other.numbers).all()
        assert (one.many == other.many).all() and one.axis() == other.axis()
    assert one.many.sum() == 744 and len(one.numbers) <= most and (one.dropped == 0) == (most == 10**6)


def test_few_numbers_are_levels_in_whatever_batches() -> None:
    parts = [np.array([1.0, 2.0]), np.array([3.0, np.nan, 1.0]), np.array([])]
    for apart in (False, True):
        assert found(parts, apart).axis().book.levels.to_pylist() == [1.0, 2.0, 3.0]
