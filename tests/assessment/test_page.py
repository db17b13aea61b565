"""The report of an assessment: decided first, then risk, utility, promises, and how it was done."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import chromium
import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.assessment.assess import Assessment
from sfumato.report import DataTable, ScoreTable, Verdict
from sfumato.schema import Role

COLUMNS = 15
KNOWN = ["age", "sex", "c2", "c3"]
PEOPLE = tuple(
    {"row of the original": i, "row of the release": i + 1, "how sure": 1 - i / 50, "agree": ["age", "sex"]}
    for i in range(23)
)


def people(rows: int, seed: int) -> pa.Table:
    """Fifteen columns of all kinds, one following from the other, so that there is something to find."""
    rng = np.random.default_rng(seed)
    start = rng.integers(0, 9, rows)
    columns: dict[str, object] = {
        "age": [f"[{10 * a}, {10 * a + 10})" for a in start],
        "sex": rng.choice(["female", "male"], rows),
    }
    for i in range(2, COLUMNS):
        levels = 3 + 2 * i
        drawn = (start * i + rng.integers(0, 3, rows)) % levels
        columns[f"c{i}"] = drawn.astype(float) * 1.5 if i % 5 == 0 else [f"value {v}" for v in drawn]
    return pa.table(columns)


@pytest.fixture(scope="module")
def found() -> Assessment:
    """A copy of half of the rows and other people for the rest, held against what was asked."""
    original, others = people(600, 1), people(300, 2)
    released = pa.concat_tables([original.slice(0, 300), others])
    judged = sf.assess(
        original, released, control=people(300, 3), quasi_identifiers=KNOWN, sensitive=["c4", "c6"],
        thresholds={"risk": 0.1, "utility": 0.2, "k": 3},
    )  # fmt: skip
    return replace(
        judged,
        because="Half of the released rows are rows of the original.",
        advice=("Do not release this file.", "Ask for k of at least 5, or invent the rows."),
        people=PEOPLE,
    )


def test_the_order_is_that_of_a_decision(found: Assessment) -> None:
    page = found.page()
    assert [s.title for s in page.sections] == [
        "In short", "Risk: what the release gives away", "Utility: what the release keeps",
        "What was promised", "How it was done",
    ]  # fmt: skip
    first = page.sections[0].blocks[0]
    assert isinstance(first, Verdict)
    assert first.because.startswith("Half") and len(first.advice) == 2
    assert len(first.met) + len(first.not_met) + len(first.undecided) == 3
    risk = page.sections[1].blocks
    assert isinstance(risk[0], DataTable) and len(risk[0].rows) == 23 and risk[0].most == 10
    assert isinstance(risk[1], ScoreTable) and risk[1].caption == "Copies of original rows"
    assert {"equal to an original on all columns", "purely artificial records"} <= {
        s.name for s in risk[1].scores
    }
    shown = [s.name for b in page.blocks() if isinstance(b, ScoreTable) for s in b.scores]
    assert sorted(shown) == sorted(found.names)  # every score once


def test_the_terminal_has_the_same_order(found: Assessment) -> None:
    text = str(found)
    words = ["INTERNAL. Not met. Half of the released", "not met", "What to do next", "1. Do not release",
             "Risk: what the release gives away", "People who can be found: 23 original rows",
             "equal to an original on all columns", "linking, claimed", "Utility: what the release keeps",
             "total variation, pairs", "Not examined"]  # fmt: skip
    places = [text.index(w) for w in words]
    assert places == sorted(places)


def test_what_a_page_folds_is_in_the_json(found: Assessment) -> None:
    tables = json.loads(found.to_json())["tables"]
    captions = [t["caption"] for t in tables]
    assert len(tables[0]["rows"]) == 23
    for name in ("Shares of rows by value", "Attack success", "All pairs"):
        assert name in captions
    empty = replace(found, people=())
    assert not any("can be found" in s.title for s in empty.page().sections)
    assert "People who can be found" not in empty.to_html()


def test_the_card_shows_the_roles_that_were_given(found: Assessment, tmp_path: Path) -> None:
    assert found.schema is not None
    assert found.schema.of_role(Role.QUASI_IDENTIFIER) == tuple(KNOWN)
    assert found.schema.of_role(Role.SENSITIVE) == ("c4", "c6")
    card = found.card(tmp_path / "card.html").read_text(encoding="utf-8")
    rows = re.findall(r'<tr><th scope="row">(\w+)</th><td>[^<]*</td><td>([^<]*)</td>', card)
    assert dict(rows) | {"age": "quasi-identifier", "c4": "sensitive", "c5": "other"} == dict(rows)


def test_the_card_shows_the_roles_of_the_schema_and_none_where_none_was_given() -> None:
    frame = people(80, 4)
    schema = sf.scan(frame).schema
    for column in schema:
        schema = schema.with_(column.name, role=Role.OTHER)
    schema = schema.with_("c3", role=Role.QUASI_IDENTIFIER).with_("c7", role=Role.SENSITIVE)
    by_schema = sf.assess(frame, frame, schema=schema, effort="quick")
    assert by_schema.schema is not None
    assert by_schema.schema.of_role(Role.QUASI_IDENTIFIER) == ("c3",)
    assert by_schema.schema.of_role(Role.SENSITIVE) == ("c7",)
    nothing = sf.assess(frame, frame, quasi_identifiers=[], sensitive=["c2"], effort="quick")
    assert nothing.schema is not None
    assert nothing.schema.of_role(Role.QUASI_IDENTIFIER) == ()  # 'age' and 'sex' are guessed, not given
    assert nothing.schema.of_role(Role.SENSITIVE) == ("c2",)


# -- in a browser ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[chromium.Browser]:
    program = chromium.executable()
    if program is None:
        pytest.skip("there is no Chromium on this machine")
    with chromium.Browser(program) as running:
        yield running


@pytest.fixture(scope="module")
def report(found: Assessment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return found.save(tmp_path_factory.mktemp("report") / "report.html")


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (400, 800)])
def test_the_first_screen_has_verdict_limits_and_advice(
    browser: chromium.Browser, report: Path, width: int, height: int
) -> None:
    browser.open(report, width=width, height=height)
    ends = browser.evaluate(
        "['.verdict-title', '.because', '.limits tbody tr:last-child', '.next li:last-child']"
        ".map(s => document.querySelector(s).getBoundingClientRect().bottom)"
    )
    assert ends == sorted(ends) and ends[-1] <= height
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    copies = browser.evaluate(
        "[...document.querySelectorAll('caption')].find(c => c.textContent.startsWith('Copies'))"
        ".getBoundingClientRect().top"
    )
    assert copies < 3 * height  # they stood fifteen screens down


@pytest.mark.parametrize("paper", [(8.27, 11.69), (8.5, 11.0)], ids=["A4", "Letter"])
def test_fifteen_columns_are_printed_on_a_dozen_sheets(
    browser: chromium.Browser, report: Path, paper: tuple[float, float], tmp_path: Path
) -> None:
    def sheets() -> int:
        browser.pdf(tmp_path / "report.pdf", paper)
        return len(re.findall(rb"/Type /Page\b", (tmp_path / "report.pdf").read_bytes()))

    browser.open(report, width=1280)
    assert 5 <= sheets() <= 13
    browser.evaluate("document.querySelectorAll('main > section ~ *').forEach(e => e.remove())")
    assert sheets() == 1  # verdict, limits and advice alone: nothing of them is pushed off the first one
