"""Linked synthesis where the data live in Spark: executors draw the persons that one machine would draw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from linked import in_engine

import sfumato as sf
from sfumato.sources import EngineSource
from sfumato.synthesis.people import model


@pytest.mark.soak
def test_executors_draw_what_one_machine_draws(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five batches of persons, their keys numbered through; saved by the executors, and verified."""
    for name in ("_AT_ONCE", "_STEP"):
        monkeypatch.setattr(model, name, 50)
    rows = {name: table.to_arrow() for name, table in sf.samples.hospital(150).tables.items()}
    alone, spread = (
        sf.LinkedSynthesizer().fit(sf.scan_database(in_engine(rows, engine, spark)))
        for engine in ("arrow", "spark")
    )
    here = alone.sample(230, seed=1)

    def refused(*_: object) -> None:
        raise AssertionError("rows of Spark reach the driver")

    with monkeypatch.context() as patched:
        patched.setattr(EngineSource, "batches", refused)
        there = spread.sample(230, seed=1)
        there.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").ok
    again = sf.DatabaseRelease.load(tmp_path / "out").data.check()
    for name, table in here.data.tables.items():
        order = [(column, "ascending") for column in table.columns]
        mine, theirs, saved = (t.to_arrow().sort_by(order) for t in (table, there.data[name], again[name]))
        assert mine.equals(theirs.cast(mine.schema)) and mine.equals(saved.cast(mine.schema)), name
    assert here.data["patients"].rows() == 230 and here.data["stays"].rows() > 230
