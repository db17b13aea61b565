"""The values a page is made of, and its renderings as Markdown and JSON."""

from __future__ import annotations

import json
import math
import stat
from pathlib import Path
from typing import Any

import altair
import numpy as np
import pages
import pytest
from declared import PUBLIC
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError, OutputError, ParameterError
from sfumato.privacy import Guarantee
from sfumato.report import DataTable, Figure, Page, Promises, ScoreTable, Section, Verdict, card
from sfumato.report.words import clean, details_of, grouped, number
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.score import Score

SPEC: dict[str, Any] = {"data": {"values": [{"a": 1}]}, "mark": "point", "encoding": {"x": {"field": "a"}}}


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Verdict("a text"),
        lambda: Verdict([1]),
        lambda: ScoreTable(["no score"]),
        lambda: DataTable(("a", "b"), [(1,)], "caption"),
        lambda: DataTable(("a",), [], " "),
        lambda: Figure([], "title", "description"),
        lambda: Figure(SPEC, "title", ""),
        lambda: Section("", "prose"),
        lambda: Section("title", "prose", ["no block"]),
        lambda: Page("", "", [Section("s")]),
        lambda: Page("title", "", []),
        lambda: Page("title", "", [Section("s")], audience="everybody"),
        lambda: Page("title", "", [Section("a"), Section("b", "", [Verdict()])]),
    ],
)
def test_what_makes_no_page_is_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError):
        wrong()


@pytest.mark.parametrize(
    "block",
    [Verdict(["a"]), ScoreTable(pages.risks()), Figure(SPEC, "title", "description")],
    ids=lambda b: type(b).__name__,
)
def test_a_public_page_holds_nothing_computed(block: Any) -> None:
    with pytest.raises(ParameterError, match="computed from the original"):
        Page("title", "", [Section("s", "", [block])], audience="public")


@pytest.mark.parametrize(
    "spec",
    [
        {"mark": 7, "data": {"values": []}},
        {"mark": "point", "data": {"url": "https://example.org/secret.csv"}},
        {"layer": [{"mark": "point", "data": {"url": "file:///secret.csv"}}]},
        {"mark": "point", "data": {"values": []},
         "transform": [{"lookup": "a", "from": {"data": {"url": "secret.csv"}, "key": "a"}}]},
    ],
)  # fmt: skip
def test_a_picture_that_is_none_or_loads_something_is_refused(spec: Any) -> None:
    page = Page("T", "", [Section("s", "", [Figure(spec, "title", "description")])])
    with pytest.raises(DataError) as raised:
        page.to_html()
    assert "secret" not in str(raised.value)


def test_links_and_images_of_a_specification_are_left_out() -> None:
    values = {"data": {"values": [{"u": "https://example.org/i.png", "url": "x"}]}}
    image = {
        **values,
        "mark": {"type": "image", "width": 9, "height": 9},
        "encoding": {"url": {"field": "u"}},
    }
    link = {**values, "mark": "point", "encoding": {"href": {"field": "u"}}}
    text = Page("T", "", [Section("s", "", [Figure([image, link], "title", "description")])]).to_html()
    assert "<image" not in text and "<a " in text  # the link to skip, and no other
    assert text.count("<a ") == 1


def test_json_holds_everything() -> None:
    page = pages.assessment()
    document = json.loads(page.to_json())
    assert document["audience"] == "internal"
    blocks = [b for s in document["sections"] for b in s["blocks"]]
    scores = [s for b in blocks if b["block"] == "scores" for s in b["scores"]]
    assert [s["name"] for s in scores] == [s.name for s in page.scores()]
    assert scores[0]["low"] == 0.015
    verdict = blocks[0]
    assert verdict["outcome"] == "not met"
    assert verdict["sentence"].startswith("Four of ten diagnoses are guessed right. Not met: attribute")
    assert "Not examined: linking with other registers" in verdict["sentence"]
    assert verdict["advice"] == ["Leave out the diagnosis, or make it more general."]
    assert verdict["undecided"] == ["membership at most 0.52: 0.508 (0.489 to 0.527)"]
    promised = next(b for b in blocks if b["block"] == "promises")
    assert Guarantee.from_json(json.dumps(promised["guarantee"])) == pages.promised()
    assert page.to_json() == pages.assessment().to_json()


def test_json_writes_no_nan_and_knows_numpy() -> None:
    score = Score("s", "risk", math.nan, (0, math.inf), "lower", "m",
                  details={"a": np.arange(2), "b": np.float32(0.5), "c": math.inf, "d": {1, 2}})  # fmt: skip
    text = Page("T", "", [Section("s", "", [ScoreTable([score])])]).to_json()
    found = json.loads(text)["sections"][0]["blocks"][0]["scores"][0]
    assert found["value"] is None and found["range"] == [0, None]
    assert found["details"] == {"a": [0, 1], "b": 0.5, "c": None, "d": [1, 2]}


def test_every_specification_is_valid_vega_lite() -> None:
    for figure in pages.pictures():
        for spec in figure.panels:
            altair.Chart.from_dict(dict(spec))


def test_markdown_says_internal_first_and_last_and_keeps_payloads_text() -> None:
    text = pages.hostile().to_markdown()
    lines = text.strip().splitlines()
    assert lines[0] == lines[-1] and lines[0].startswith("**INTERNAL")
    assert "<script>" not in text.replace("\\<script\\>", "")
    tables = [line for line in lines if line.startswith("|")]
    assert tables and all(line.endswith("|") for line in tables)


def test_markdown_tables_have_as_many_cells_as_columns() -> None:
    for text in (pages.assessment().to_markdown(), pages.hostile().to_markdown()):
        width = None
        for line in text.splitlines():
            cells = (
                line.replace("\\\\", "").replace("\\|", "").count("|") - 1 if line.startswith("|") else None
            )
            assert cells is None or width is None or cells == width
            width = cells


def test_saving_follows_the_suffix_and_keeps_internal_pages_private(tmp_path: Path) -> None:
    page = pages.assessment()
    for name, start in (("r.html", "<!DOCTYPE html>"), ("r.md", "**INTERNAL"), ("r.json", "{")):
        path = page.save(tmp_path / name)
        assert path.read_text(encoding="utf-8").startswith(start)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(OutputError):
        page.save(tmp_path / "r.md")
    page.save(tmp_path / "r.md", overwrite=True)
    with pytest.raises(ParameterError):
        page.save(tmp_path / "r.pdf")


@given(st.floats(min_value=-1e300, max_value=1e300) | st.just(math.inf))
def test_numbers_are_close_to_what_they_say(value: float) -> None:
    text = number(value)
    if not math.isfinite(value):
        assert text in ("not defined", "∞", "−∞")
        return
    assert float(text.replace("−", "-").replace(",", "")) == pytest.approx(value, rel=6e-3)


@given(st.text(alphabet=st.characters(codec=None)))
def test_cleaned_text_can_be_written(text: str) -> None:
    clean(text).encode("utf-8")
    assert clean(clean(text)) == clean(text)


def test_cleaned_text_keeps_every_letter_and_no_sign_that_turns_text() -> None:
    assert clean("naïve 𠮷 😀 ñ עברית") == "naïve 𠮷 😀 ñ עברית"
    assert clean("a\u202eb\u2066c\x00d\ufffe") == "a\ufffdb\ufffdc\ufffdd\ufffd"


def test_what_stands_behind_a_score_is_no_program_text() -> None:
    details = {
        "sets": [
            {"row": {"age": "[20, 30[", "sex": None}, "of": [["age"], ["age", "sex"]], "v": [None, 0.5]}
        ],
        "matrices": {"names": ["age", "sex"], "before": [[None, 0.5], [0.5, None]], "cramers_v_after": []},
    }
    behind = Score("mutual information, mean", "utility", 0.5, (0, 1), "lower", "A test.", details=details)
    first, before, _ = details_of(behind)
    assert first.rows == (("age: [20, 30[; sex: ", "age; age, sex", "–, 0.5"),)
    assert before.caption == "mutual information before" and before.rows[1] == ("sex", 0.5, None)
    assert before.columns == ("column", "age", "sex")


def test_groups_have_every_score_once() -> None:
    scores = pages.scores()
    groups = grouped(scores)
    assert sorted(s.name for g in groups for s in g.scores) == sorted(s.name for s in scores)
    assert [g.title for g in groups] == ["", "total variation: single columns", "total variation: pairs"]
    assert [g.folded for g in groups] == [False, True, True]


def test_a_score_that_is_alone_of_its_kind_needs_no_heading() -> None:
    def attack(name: str, *columns: str) -> Score:
        return Score(name, "attack", 0.5, (0, 1), "lower", "For a test.", columns=columns, knowledge="all")

    known = ("age", "sex", "race", "pay")
    scores = [attack(f"attack {i}", *known) for i in range(12)]
    scores += [attack(f"inference, {secret}", *known, secret) for secret in ("dx", "zip")]
    first, second = grouped(scores)
    assert (first.title, len(first.scores), first.folded) == ("", 12, False)
    assert (second.title, len(second.scores), second.folded) == ("inference", 2, True)


# -- the card ------------------------------------------------------------------------------------------


def schema() -> Schema:
    return Schema(
        (
            Column("sex", Kind.NOMINAL, Role.QUASI_IDENTIFIER, levels=("f", "m"), provenance=PUBLIC),
            Column(
                "a|b\\", Kind.NOMINAL, Role.SENSITIVE, levels=("x|y", "<script>"), description="one | two"
            ),
        )
    )


def test_the_card_says_what_card_md_says() -> None:
    about = "# Not a heading\n\n| no | table | `code` <b>"
    page = card(schema(), pages.promised(), about=about, data="data.csv")
    assert page.audience == "public"
    assert [s.title for s in page.sections] == [
        "The data", "What is promised", "What is not promised", "Columns"]  # fmt: skip
    assert page.sections[0].prose[0] == about
    assert "data.csv" in page.sections[0].prose[1]
    assert page.sections[1].blocks == (Promises(pages.promised()),)
    table = page.sections[3].blocks[0]
    assert isinstance(table, DataTable)
    assert table.columns == ("column", "kind", "role", "values", "meaning")
    assert table.rows[1][0] == "a|b\\" and table.rows[1][4] == "one | two"
    assert "x|y, <script>" in str(table.rows[1][3])


def test_the_card_is_not_marked_internal() -> None:
    page = card(schema(), Guarantee())
    text = page.to_html()
    assert "INTERNAL" not in text + page.to_markdown() + page.to_json()
    assert "Nothing is promised." in text
    assert "&lt;script&gt;" in text and text.count("<script>") == 1
