"""A score cannot be made without its meaning."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from sfumato.errors import ParameterError
from sfumato.score import Score

GOOD: dict[str, Any] = {
    "name": "total variation", "section": "utility", "value": 0.1, "range": (0.0, 1.0), "better": "lower",
    "meaning": "how far two tables are apart",
}  # fmt: skip


@pytest.mark.parametrize(("change", "fault"), [
    ({"name": ""}, "has a name"),
    ({"meaning": ""}, "has a name and a meaning"),
    ({"value": 1.5}, "lies in its range"),
    ({"low": 0.0}, "two ends"),
    ({"low": 0.0, "high": 0.2}, "a confidence"),
    ({"low": 0.2, "high": 0.1, "confidence": 0.95}, "from low to high"),
    ({"section": "attack"}, "what the intruder knows"),
])  # fmt: skip
def test_a_score_without_its_meaning_is_refused(change: dict[str, Any], fault: str) -> None:
    with pytest.raises(ParameterError, match=fault):
        Score(**{**GOOD, **change})


def test_it_prints_and_becomes_json() -> None:
    attack = Score(**{**GOOD, "section": "attack", "knowledge": "age", "baseline": 0.01, "control": 0.02,
                      "low": 0.05, "high": 0.2, "confidence": 0.95})  # fmt: skip
    assert str(attack) == "total variation: 0.1 [0.05, 0.2], control 0.02, baseline 0.01 (lower is better)"
    assert json.loads(json.dumps(attack.to_dict()))["control"] == 0.02
    assert Score(**{**GOOD, "value": math.nan}).to_dict()["value"] is None
    assert Score(**{**GOOD, "range": (0.0, math.inf)}).to_dict()["range"] == [0.0, None]


def test_rounding_does_not_carry_a_value_out_of_its_range() -> None:
    assert Score(**{**GOOD, "value": -1e-17}).value == 0.0
    assert Score(**{**GOOD, "value": 6.000000000000001, "range": (0.0, 6.0)}).value == 6.0
    assert Score(**{**GOOD, "value": 0.1}).value == 0.1


def test_a_notebook_shows_scores_and_tables_without_markup_or_cells() -> None:
    import pyarrow as pa

    from sfumato.privacy import Guarantee, NoGuarantee
    from sfumato.release import Release
    from sfumato.table import Table

    score = Score(name="<b>", section="utility", value=0.5, range=(0, 1), better="higher", meaning="a & b")
    shown = score._repr_html_()
    assert "&lt;b&gt;: 0.5" in shown and "a &amp; b" in shown
    table = Table.from_arrow(pa.table({"<i>": ["zebra7319", "b"]}))
    release = Release(table, Guarantee.of(NoGuarantee("a test")), draft="<u>not signed</u>")
    for thing in (table, table.schema, release):
        shown = thing._repr_html_()
        assert "&lt;i&gt;" in shown and "zebra7319" not in shown and "nominal" in shown
    assert "nothing is promised" in shown.lower() and "&lt;u&gt;" in shown
