"""Linked synthesis where the data live in Spark: executors count, draw and write what one machine would.

No row passes through the driver: whoever reads a table there fails these tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from linked import in_engine
from linked_counts import listened, require_same
from lives import lives, private, public
from tapes import taped

import sfumato as sf
from sfumato.errors import DataError
from sfumato.sources import EngineSource
from sfumato.synthesis.people import executor_persons, model
from sfumato.synthesis.people.tallies import LinkedCounts, Outline

LIVES = {n: t.to_arrow() for n, t in lives(150).tables.items()}


def refused(*_: object) -> None:
    raise AssertionError("rows of Spark reach the driver")


@pytest.mark.soak
@pytest.mark.parametrize("epsilon", [None, 2.0])
def test_executors_count_and_draw_what_one_machine_does(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, epsilon: float | None
) -> None:
    """Groups of about 20 persons; five batches drawn, their keys numbered through; saved and verified."""
    for name in ("_AT_ONCE", "_STEP"):
        monkeypatch.setattr(model, name, 50)
    monkeypatch.setattr(executor_persons, "_PERSONS", 20)
    here, there = (sf.scan_database(in_engine(LIVES, engine, spark)) for engine in ("arrow", "spark"))
    method = sf.LinkedSynthesizer() if epsilon is None else private(epsilon)
    tape = None if epsilon is None else taped(monkeypatch)
    if epsilon is not None:
        here, there = public(here), public(there)
    asked = listened(monkeypatch, executor_persons.ExecutorPersons)
    alone = method.fit(here).sample(230, seed=1)
    mine, asked[:] = list(asked), []
    if tape is not None:
        tape.place = 0
    with monkeypatch.context() as patched:
        patched.setattr(EngineSource, "batches", refused)
        release = method.fit(there).sample(230, seed=1)
        release.save(tmp_path / "out")
    assert [type(a) for a in asked] == [Outline, LinkedCounts]
    require_same(tuple(mine), tuple(asked))
    assert sf.verify(tmp_path / "out").ok
    again = sf.DatabaseRelease.load(tmp_path / "out").data.check()
    for name, table in alone.data.tables.items():
        order = [(column, "ascending") for column in table.columns]
        one, two, saved = (t.to_arrow().sort_by(order) for t in (table, release.data[name], again[name]))
        assert one.equals(two.cast(one.schema)) and one.equals(saved.cast(one.schema)), name
    assert alone.data["people"].rows() == 230 and alone.data["visits"].rows() > 230


@pytest.mark.soak
def test_keys_that_do_not_hold_are_refused_with_the_same_words(spark: Any) -> None:
    visits = LIVES["visits"]
    ids = pa.array([10**6, *visits["visit_id"].to_pylist()[1:]])
    odd = {**LIVES, "visits": visits.set_column(0, "visit_id", ids)}
    said = []
    for engine in ("arrow", "spark"):
        data = sf.scan_database(in_engine(LIVES, engine, spark))
        tables = sf.scan_database(in_engine(odd, engine, spark), check=False).tables
        with pytest.raises(DataError, match="without a parent in 'visits'") as refusal:
            sf.LinkedSynthesizer().fit(data.with_tables(tables))
        said.append(refusal.value.message)
    assert said[0] == said[1]
