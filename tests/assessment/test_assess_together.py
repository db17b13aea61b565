"""More than two files in one assessment: earlier releases, the method itself, an audit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from assess_files import KEY, QUICK, frame
from toys import people

import sfumato as sf
from sfumato.assessment.assess import assess
from sfumato.errors import DataError, ParameterError
from sfumato.table import Table

NAMES = (
    "complementary releases", "releases side by side, row by row (unsorted matching)",
    "values of few people in several releases", "releases of a table that grew (temporal)",
    "membership by shadow releases", "audit of a claim of differential privacy",
)  # fmt: skip


def by_age(data: pd.DataFrame, width: int, start: int = 0) -> pd.DataFrame:
    low = (data["age"] - start) // width * width + start
    return data.assign(age=[f"[{a}, {a + width})" for a in low])


def test_what_was_not_given_is_named_with_what_to_give() -> None:
    found = {s.part: s.reason for s in assess(frame(), by_age(frame(), 20), **QUICK).skipped}
    for name, word in zip(NAMES, ["earlier"] * 4 + ["maker", "audit"], strict=True):
        assert word in found[name]


def test_releases_that_are_fine_alone_are_not_together() -> None:
    """Ages in twenties, from 20 and from 30: together they are tens."""
    original = frame(400)
    first, second = by_age(original, 20), by_age(original, 20, 10)
    found = assess(original, first, earlier=[second], truth="rows", **QUICK)
    done = {s.part for s in found.skipped}
    assert not done & {NAMES[0], NAMES[1], NAMES[2]} and NAMES[3] in done
    both = found["unsorted matching, re-identified"]
    assert both.baseline is not None and both.value >= both.baseline
    assert found["unsorted matching, same order"].value == 1
    certain = found["complementary releases, dx"]
    assert certain.baseline is not None and certain.value >= certain.baseline
    assert any(n.startswith("values of few people, fewer than") for n in found.names)


def test_newcomers_of_a_table_that_grew(tmp_path: Path) -> None:
    whole = frame(400).drop(columns=["zip"])
    shuffled = whole.sample(frac=1, random_state=3)  # newcomers need not stand at the end
    before = whole.iloc[:395]
    before.to_csv(tmp_path / "before.csv", index=False)
    found = assess(shuffled, shuffled, earlier=[(tmp_path / "before.csv", before)], **QUICK)
    certain = found["temporal, certain, dx"]
    assert certain.value == 1  # subtract, and five people are left
    assert certain.details["people"] == 5
    same = assess(whole, whole, earlier=[(whole, whole)], **QUICK)
    assert "no rows that the earlier one lacks" in str([s for s in same.skipped if s.part == NAMES[3]])


def test_an_attack_that_is_refused_for_its_size_meets_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it would have reached is not known; that nobody is new, though, is an answer."""
    from sfumato.assessment.attacks import releases

    original = frame(200)
    asked = {"risk": 1.0, "complementary releases": 1.0, "linking, at most": 1.0}
    given: dict[str, Any] = {"earlier": [by_age(original, 20, 10)], "thresholds": asked, **QUICK}
    assert assess(original, by_age(original, 20), **given).met
    monkeypatch.setattr(releases, "_CELLS", 10)
    found = assess(original, by_age(original, 20), **given)
    assert [t.outcome for t in found.thresholds] == ["not examined", "not examined", "met"] and not found.met
    assert "complementary releases: 200 people x" in found.thresholds[0].sentence
    given["earlier"] = [(original, original)]
    assert assess(original, by_age(original, 20), **{**given, "thresholds": {"risk": 1.0}}).met


def test_the_method_is_attacked_by_making_releases() -> None:
    def keeps(table: Table, key: sf.Key) -> pa.Table:
        assert "dx" in table.columns
        return table.to_arrow()

    def forgets(table: Table, key: sf.Key) -> Table:
        return people(200, seed=int(key.generator("seed").integers(2**31)))

    given: dict[str, Any] = {"quasi_identifiers": ["age", "sex"], "sensitive": ["dx"], "key": KEY}
    name = "membership by shadow releases, area under the curve"
    told = assess(people(), people(), maker=keeps, **given)[name]
    untold = assess(people(), people(), maker=forgets, **given)[name]
    assert untold.low is not None and told.low is not None
    assert untold.low <= 0.5 <= untold.value + 0.2
    assert told.value > untold.value


def test_an_audit_stands_in_the_report() -> None:
    generator = np.random.default_rng(1)
    audit = sf.audit(lambda d, n: d + generator.laplace(size=n), 0.0, 1.0, claim=0.1, draws=20_000)
    found = assess(frame(), frame(), audit=[audit, audit], **QUICK)
    assert found["audit, lower bound on epsilon"].value > 0.1
    assert "audit, lower bound on epsilon (2)" in found.names
    assert any("refuted" in note for note in found.notes)
    assert NAMES[5] not in {s.part for s in found.skipped}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"maker": 3}, "maker must be a function"),
        ({"audit": 0.5}, "not what sf.audit gives"),
        ({"earlier": "first.csv"}, "a list of releases"),
        ({"maker": 3, "effort": "slow", "truth": "maybe"}, "effort .* truth .* maker"),
    ],
)
def test_what_cannot_be_used_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        assess(frame(), frame(), **{**QUICK, **given})


def test_earlier_files_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match="no column in common"):
        assess(frame(), frame(), earlier=[pd.DataFrame({"x": [1]})], **QUICK)
    with pytest.raises(DataError, match="an earlier original lacks 'dx'"):
        assess(frame(), frame(), earlier=[(frame().drop(columns=["dx"]), frame())], **QUICK)
    with pytest.raises(DataError, match="an earlier release: the data has no rows"):
        assess(frame(), frame(), earlier=[frame().iloc[:0]], **QUICK)


def test_a_weight_that_is_no_number_is_refused_at_the_door() -> None:
    with pytest.raises(ParameterError, match="the weight 'sex' is not numeric"):
        assess(frame(), frame(), **QUICK, weight="sex")
    found = assess(frame().assign(w=2.0), frame(), **QUICK, weight="w")
    assert any("Attacks and risks count rows" in note for note in found.notes)


def test_the_card_lists_every_released_column(tmp_path: Path) -> None:
    released = frame().assign(note=[f"text {i} of some length" for i in range(300)], extra=1)
    found = assess(frame(), released, **QUICK)
    text = found.card(tmp_path / "card.md").read_text(encoding="utf-8")
    assert all(name in text for name in released.columns)
    assert "note" not in found.columns


def test_text_and_numbers_of_the_same_data_are_judged_alike(tmp_path: Path) -> None:
    """A zip code is a name, whether a file stores it as text or as a number."""
    draw = np.random.default_rng(2)
    files = {}
    for name, rows in (("original", 300), ("released", 300), ("control", 200)):
        data = frame(rows, seed=len(name)).assign(zip=draw.integers(1300, 1320, rows))
        files[name] = data
    given: dict[str, Any] = {"quasi_identifiers": ["age", "sex", "zip"], "sensitive": ["dx"], "key": KEY}
    found = []
    for suffix in ("csv", "parquet"):
        paths = {n: tmp_path / f"{n}.{suffix}" for n in files}
        for n, data in files.items():
            as_text = data.assign(zip=data["zip"].astype(str))
            data.to_csv(paths[n], index=False) if suffix == "csv" else as_text.to_parquet(paths[n])
        found.append(assess(paths["original"], paths["released"], control=paths["control"], **given))
    assert found[0].names == found[1].names
    for first, second in zip(found[0].scores, found[1].scores, strict=True):
        assert first.value == pytest.approx(second.value, nan_ok=True), first.name
