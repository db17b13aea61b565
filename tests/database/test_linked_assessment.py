"""Who stands out in linked tables, and what of the links is kept: counted by hand on small ones."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.assessment.sequences.unicity import unicity


def test_unicity_counts_who_shares_all_that_is_known() -> None:
    person, item = np.array([0, 0, 1, 1, 2, 2, 3]), np.array([1, 2, 1, 2, 1, 3, 1])
    assert sorted(unicity(person, item, 2, 100, sf.Key.from_seed(0))) == [1, 2, 2]
    assert set(unicity(person, item, 1, 100, sf.Key.from_seed(0))) <= {1, 2, 4}
    assert not len(unicity(person, item, 3, 100, sf.Key.from_seed(0)))


def test_a_shift_keeps_gaps_and_weeks_hide_them() -> None:
    db = sf.samples.hospital(600)
    plain = sf.assess_database(db, sf.pseudonymize(db, shift_dates=365).data)
    coarse = sf.assess_database(db, sf.pseudonymize(db, shift_dates=365, coarsen_dates="week").data)
    name = "singled out by 2 gaps in days"
    assert plain[name].value > 0.3 and coarse[name].value < plain[name].value / 2
    assert plain["gaps between stays"].value == 0 and coarse["gaps between stays"].value > 0
    assert plain["stays again within 30 days"].value == 0


@pytest.mark.soak
def test_links_that_were_torn_are_seen() -> None:
    """Every patient gets the stays of the next one: marginals stay, what hangs together does not."""
    db = sf.samples.hospital(3_000)
    patients = db["patients"].to_arrow()
    moved = patients.set_column(2, "sex", patients["sex"].take(np.roll(np.arange(len(patients)), 1)))
    moved = moved.set_column(3, "age_band", patients["age_band"].take(np.roll(np.arange(len(patients)), 1)))
    torn = db.with_tables({"patients": sf.Table.from_arrow(moved, db["patients"].schema)})
    found = sf.assess_database(db, torn)["patients and diagnoses, pairs of columns"]
    assert found.value > found.details["halves of the original"]


def test_missing_tables_and_wrong_input_are_said() -> None:
    db = sf.samples.hospital(50)
    less = sf.Database({n: db[n] for n in ("patients", "stays")}, db.links[:1])
    assert any("diagnoses" in str(why) for why in sf.assess_database(db, less).skipped)
    with pytest.raises(sf.ParameterError, match="takes databases"):
        sf.assess_database(db, db["stays"])  # type: ignore[arg-type]
