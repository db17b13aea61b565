"""What points nowhere is emptied or left out, parents before their children, and every change is counted."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from linked import tables, written

import sfumato as sf
from sfumato.database import mend
from sfumato.errors import SfumatoWarning
from sfumato.io.declarations import database_toml
from sfumato.plan.database import DatabasePlan

LINKS = [("stays.patient_id", "patients.patient_id"), ("diagnoses.stay_id", "stays.stay_id")]


def broken() -> dict[str, pa.Table]:
    """Stay 2 comes twice, stay 4 is nobody's; so are its diagnosis and one of a stay that is not there."""
    return tables(
        stays={"stay_id": [1, 2, 2, 4], "patient_id": ["a", "a", "b", "x"]},
        diagnoses={"stay_id": [1, 1, 2, 3, 4, 1]},
    )


def test_rows_of_nobody_go_with_their_children() -> None:
    found = sf.scan_database(broken(), links=LINKS, check=False)
    mended, changes = mend(found)
    assert [d for d in found.differences if d.fatal] and not mended.check().differences
    assert mended["stays"].to_arrow()["stay_id"].to_pylist() == [1, 2]
    assert mended["diagnoses"].to_arrow()["stay_id"].to_pylist() == [1, 1, 2, 1]
    assert changes == [
        "stays: 1 rows left out whose key is empty or came before", "stays: 1 rows without a person left out",
        "diagnoses: 2 rows without a person left out",
    ]  # fmt: skip
    whole, nothing = mend(mended)
    assert not nothing and whole["diagnoses"].rows() == 4


def test_ids_that_may_be_empty_are_emptied() -> None:
    cdm = {n: t.to_arrow() for n, t in sf.samples.omop(20).tables.items()}
    visits = cdm["visit_occurrence"]
    cdm["visit_occurrence"] = visits.slice(1)  # of the first person: what points to it points nowhere
    before, one = (
        cdm["condition_occurrence"]["visit_occurrence_id"].to_pylist(),
        visits["visit_occurrence_id"][0],
    )
    with pytest.warns(SfumatoWarning, match="ids of no row emptied"):
        db = sf.scan_database(cdm, mend=True)
    after = db["condition_occurrence"].to_arrow()["visit_occurrence_id"].to_pylist()
    assert after == [None if v == one.as_py() else v for v in before]
    assert not db.differences


def test_a_plan_asks_for_it(tmp_path: Path) -> None:
    written(tmp_path / "data", broken())
    declared = sf.scan_database(tables(), links=LINKS)
    (tmp_path / "data" / "database.toml").write_text(database_toml(declared))
    lines = ["[database]", 'data = "data"', "mend = true", "", "[pseudonyms]", 'drop = ["stays.ward"]']
    (tmp_path / "plan.toml").write_text("\n".join(lines))
    with pytest.warns(SfumatoWarning, match="mended: .*stays: 1 rows without a person left out"):
        assert DatabasePlan.read(tmp_path / "plan.toml").database()["stays"].rows() == 2
