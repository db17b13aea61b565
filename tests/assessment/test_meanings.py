"""What generalized values stand for, as the user says it and as the record of a release does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.assessment.reading.files import meanings
from sfumato.errors import ParameterError
from sfumato.hierarchy import Hierarchy, write_levels

ROWS = [("oak", "tree", "*"), ("elm", "tree", "*"), ("rose", "bush", "*"), ("fern", "fern", "*")]
TREE = Hierarchy.of_rows(ROWS)
STANDS_FOR = {
    "oak": ("oak",), "elm": ("elm",), "rose": ("rose",), "tree": ("oak", "elm"), "bush": ("rose",),
    "fern": ("fern",), "*": ("oak", "elm", "rose", "fern"),
}  # fmt: skip
PLANTS = pa.table({"plant": ["oak", "elm"] * 4 + ["rose", "fern", None] * 6, "n": [1, 2] * 13})


def release() -> sf.Release:
    schema = sf.Schema(
        (sf.Column("plant", sf.Kind.NOMINAL, role="quasi-identifier"), sf.Column("n", sf.Kind.NUMERIC))
    )
    made = sf.anonymize(sf.scan(PLANTS, schema), sf.KAnonymity(6), hierarchies={"plant": TREE})
    assert "tree" in made.data.counts("plant").codebooks[0].levels.to_pylist()
    return made


def test_each_value_and_its_leaves() -> None:
    assert TREE.stands_for == STANDS_FOR


@pytest.mark.parametrize("given", [{"plant": TREE}, {"plant": dict(TREE.stands_for)}, "folder"])
def test_as_the_user_says(tmp_path: Path, given: Any) -> None:
    if given == "folder":
        (tmp_path / "plant.csv").write_text(write_levels(TREE))
        given = tmp_path
    assert meanings(given, PLANTS, ["plant", "n"]) == {"plant": STANDS_FOR}


def test_as_the_record_of_the_release_says(tmp_path: Path) -> None:
    folder = release().save(tmp_path / "release")
    assert set(meanings(None, folder, ["plant"])["plant"]["tree"]) == {"oak", "elm"}
    assert meanings(None, folder / "public", ["plant"]) == {}  # the record stays in the house
    assert meanings({"plant": {"tree": ["oak"]}}, folder, ["plant"])["plant"] == {"tree": ["oak"]}


def test_a_release_is_spread_over_the_leaves_without_being_told() -> None:
    found = sf.assess(PLANTS, release(), effort="quick")
    assert not any("levels of their own" in note for note in found.notes)
    assert found["total variation, columns"].value == pytest.approx(0, abs=0.05)


def test_what_is_no_hierarchy_is_refused() -> None:
    with pytest.raises(ParameterError, match="'plant' is not a hierarchy"):
        meanings({"plant": 3}, PLANTS, ["plant"])


def test_the_map_sees_through_generalized_values() -> None:
    """Without their meaning nobody would fit a generalized record, and linking would find nobody."""
    from sfumato.assessment.frontier.axes import LINKING
    from sfumato.assessment.frontier.grid import Candidate

    schema = sf.scan(PLANTS).schema.with_("plant", role="quasi-identifier").with_("n", role="other")
    found = sf.frontier(
        sf.scan(PLANTS, schema), [Candidate("k = 6", lambda table, key: release())], repeats=1, holdout=0,
        risk=LINKING, workers=1,
    )  # fmt: skip
    assert found.points[0].risk.value > 0.1
