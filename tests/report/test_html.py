"""The HTML page: whole, escaped, described, self-contained, and the same every time."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pages
import pytest

from sfumato.report import DataTable, Page, ScoreTable, Section, Verdict, overclaims
from sfumato.report.palette import COLOURS
from sfumato.report.verdict import count, limits, outcome
from sfumato.score import Score

_VOID = {"meta", "br", "link", "img", "input", "hr"}
_LOADS = {"src", "href", "srcset", "data", "action", "poster", "xlink:href", "background", "formaction"}


class Reader(HTMLParser):
    """Reads a page strictly: every element closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, f"left open: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"<{tag}> repeats an attribute"
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))

    def of(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def text(self) -> str:
        return "".join(data for tag, data in self.texts if tag not in ("style", "script"))


@pytest.fixture(scope="module")
def html() -> str:
    return pages.assessment().to_html()


@pytest.fixture(scope="module")
def hostile() -> str:
    return pages.hostile().to_html()


@pytest.fixture(params=["html", "hostile"])
def page(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


def test_the_page_is_well_formed_and_its_ids_are_unique(page: str) -> None:
    reader = Reader(page)
    ids = Counter(a["id"] for _, a in reader.elements if "id" in a)
    assert max(ids.values()) == 1
    for _, attributes in reader.elements:
        for name in ("aria-labelledby", "aria-describedby"):
            assert attributes.get(name, "main") in ids or name not in attributes
        if attributes.get("href", "").startswith("#"):
            assert attributes["href"][1:] in ids
        for used in re.findall(r"url\(#([^)]*)\)", " ".join(attributes.values())):
            assert used in ids


def test_it_has_landmarks_headings_captions_and_scopes(html: str) -> None:
    reader = Reader(html)
    names = [tag for tag, _ in reader.elements]
    assert Counter(names)["main"] == Counter(names)["h1"] == Counter(names)["header"] == 1
    assert reader.of("html") == [{"lang": "en"}]
    assert "nav" in names and "footer" in names
    levels = [int(t[1]) for t in names if re.fullmatch(r"h[1-6]", t)]
    assert all(b - a <= 1 for a, b in pairwise(levels)), "a heading level is skipped"
    assert names.count("caption") == names.count("table") > 5
    assert all(a.get("scope") in ("row", "col") for a in reader.of("th"))
    first = next(a for tag, a in reader.elements if tag == "a")
    assert first == {"class": "skip", "href": "#main"}


def test_every_picture_is_described(page: str) -> None:
    for attributes in Reader(page).of("svg"):
        assert attributes.get("aria-hidden") == "true" or (
            attributes["role"] == "img" and len(attributes["aria-label"]) > 10
        )
    assert not Reader(page).of("img")


def test_the_verdict_comes_first(html: str) -> None:
    said = Reader(html).text()
    order = ["Discharges 2024", "At a glance", "Not met", "Four of ten diagnoses are guessed right.",
             "attribute inference of diagnosis", "What to do next", "Leave out the diagnosis",
             "Not examined", "linking with other registers", "The limits were set by the board.",
             "How it was done", "K-anonymity", "total variation, pairs", "linking, deterministic",
    ]  # fmt: skip
    said = said[said.index("Skip to the report") :]
    places = [said.index(words) for words in order]  # the way around comes after the verdict
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("verdict", "title"),
    [
        (Verdict(["a"], [], ["b"]), "Met"),
        (Verdict(["a"], ["b"]), "Not met"),
        (Verdict(["a"], ["b"], undecided=["c"]), "Not met"),
        (Verdict(["a"], undecided=["c"]), "Undecided"),
        (Verdict(because="Nobody asked for anything."), "No threshold was set"),
    ],
)
def test_the_verdicts_title_does_not_flatter(verdict: Verdict, title: str) -> None:
    page = Page("T", "", [Section("S", "", [verdict])])
    said = Reader(page.to_html()).text()
    shown = re.sub(r"[✓✗?]", "", said).split("S\n", 1)[1].split("\n")
    assert title in shown[:3]
    assert "Not examined" in said
    assert f"**{title}.**" in page.to_markdown()


def test_every_limit_is_shown_with_what_was_found_the_worst_first() -> None:
    verdict = Verdict(
        ["linking: age at most 0.05: 0.021 (linking, nearest)"],
        ["k at least 5: 1 (k, the smallest class)", "risk was not examined: no attack was tried"],
        undecided=["utility, limit 0.9: 0.87 to 0.93"],
    )
    assert limits(verdict) == [
        ("not met", "k at least 5", "1 (k, the smallest class)"),
        ("not met", "risk was not examined", "no attack was tried"),
        ("undecided", "utility, limit 0.9", "0.87 to 0.93"),
        ("met", "linking: age at most 0.05", "0.021 (linking, nearest)"),
    ]
    assert count(verdict) == "Of 4 thresholds, 2 are not met and 1 is undecided, which counts as not met."
    assert count(Verdict(["a", "b"])) == "All 2 thresholds are met."
    assert outcome(Verdict(undecided=["a"])) == "undecided"
    text = Page("T", "", [Section("S", "", [verdict])]).to_html()
    assert "<strong>1</strong> (k, the smallest class)" in text


def test_many_limits_that_are_met_fold_and_those_that_are_not_stay() -> None:
    verdict = Verdict([f"a{i} at most 1: 0" for i in range(9)], [f"b{i} at most 1: 2" for i in range(9)])
    text = Page("T", "", [Section("S", "", [verdict])]).to_html()
    folded = text[text.index("<details>") : text.index("</details>")]
    assert "9 thresholds that are met" in folded
    assert all(f"a{i} at most 1" in folded and f"b{i} at most 1" not in folded for i in range(9))


def test_the_later_rows_of_a_long_table_fold_and_all_are_in_the_json() -> None:
    table = DataTable(("row",), [(f"person {i}",) for i in range(25)], "People", most=10)
    page = Page("T", "", [Section("S", "", [table])])
    text = page.to_html()
    start = text.index("<details")
    assert text.index("person 9<") < start < text.index("person 10<")
    assert "<summary>15 more<" in text
    assert all(f'"person {i}"' in page.to_json() for i in range(25))


def test_a_long_list_of_what_was_not_examined_is_counted_and_folded_but_a_fault_never_is() -> None:
    many = [f"part {i}: no time" for i in range(19)]
    text = Page("T", "", [Section("S", "", [Verdict([], many, many)])]).to_html()
    assert text.count("<details") == 1
    folded = text[text.index("<details") : text.index("</details>")]
    assert "<summary>Not examined: 19 parts, and why</summary>" in folded and folded.count("<li>") == 19
    assert "not met" not in folded and text.count("not met</td>") == 19
    assert "<details" not in Page("T", "", [Section("S", "", [Verdict([], [], many[:6])])]).to_html()


def test_nothing_is_loaded_and_the_policy_forbids_it(page: str) -> None:
    reader = Reader(page)
    for tag, attributes in reader.elements:
        assert not attributes.keys() & (_LOADS - {"href"}), tag
        assert attributes.get("href", "#").startswith("#")
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
    assert not {"link", "iframe", "object", "embed", "base", "form", "use", "image"} & {
        t for t, _ in reader.elements
    }
    policy = next(a["content"] for a in reader.of("meta") if "http-equiv" in a)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    style = "".join(data for tag, data in reader.texts if tag == "style")
    assert "@import" not in style and "url(" not in style


def test_payloads_stay_text(hostile: str) -> None:
    reader = Reader(hostile)
    assert len(reader.of("script")) == 1
    assert "alert" not in "".join(data for tag, data in reader.texts if tag in ("script", "style"))
    shown = reader.text()
    for payload in pages.PAYLOADS:
        words = payload.replace("\x00", "\ufffd").replace("\x0b", "\ufffd").replace("\ud800", "\ufffd")
        assert words in shown
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]", hostile)
    hostile.encode("utf-8")


def test_no_word_promises_too_much(html: str) -> None:
    page = pages.assessment()
    for text in (html, page.to_markdown(), page.to_json()):
        assert overclaims(text) == []
    for word in ("Safe", "anonymous", "GDPR-compliant", "unsafe", "compliance"):
        assert overclaims(f"This is {word}.")
    assert not overclaims("k-anonymity, anonymized, safeguard")


def test_internal_is_on_every_page_and_on_paper(html: str) -> None:
    assert "<title>INTERNAL" in html
    assert '<div class="mark" role="note"><strong>INTERNAL</strong>' in html
    assert html.count('@top-center{content:"INTERNAL') == 1
    assert ".paper-mark{display:block;position:fixed" in html
    assert html.rindex("INTERNAL: computed") > html.rindex("</main>")


def test_the_same_page_gives_the_same_bytes(html: str) -> None:
    assert pages.assessment().to_html() == html


def test_it_stays_small(html: str) -> None:
    assert len(html.encode()) < 400_000


@pytest.mark.soak
def test_the_largest_page_stays_below_three_megabytes() -> None:
    text = pages.largest().to_html()
    Reader(text)
    assert len(text.encode()) < 3_000_000


def test_thousands_of_scores_stay_readable_and_small() -> None:
    columns = [f"column {i}" for i in range(40)]
    scores = [
        Score(f"total variation: {a} × {b} × {c}", "utility", (i + j + k) / 200, (0, 1), "lower",
              "The share of rows that would have to change.", columns=(a, b, c))
        for i, a in enumerate(columns) for j, b in enumerate(columns[:i]) for k, c in enumerate(columns[:j])
    ]  # fmt: skip
    assert len(scores) == 9_880
    text = Page("Many", "", [Section("S", "", [ScoreTable(scores, "Utility")])]).to_html()
    assert len(text.encode()) < 1_000_000
    reader = Reader(text)
    assert len(reader.of("details")) == 1
    assert "total variation: triples (9,880)" in text
    assert "9,380 more are in the JSON" in text
    assert text.count("The share of rows that would have to change.") == 1  # said once for the group
    values = [float(v) for v in re.findall(r'class="value">([\d.]+)<', text)]
    assert values == sorted(values, reverse=True)  # the worst first


def test_an_empty_table_and_missing_cells_are_shown() -> None:
    table = DataTable(("a", "b"), [("x", None), ("y", float("nan")), ("z", True)], "Cells")
    text = Page("T", "", [Section("S", "", [table, DataTable(("a",), [], "None"), ScoreTable([])])]).to_html()
    assert "not defined" in text and ">yes</td>" in text
    Reader(text)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    light, dark = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_text_and_marks_stand_out(dark: bool) -> None:
    colours = {name: pair[dark] for name, pair in COLOURS.items()}
    grounds = [colours["paper"], "#14171d" if dark else "#f7f5f0"]
    for ground in grounds:
        for name in ("ink", "muted", "original", "control"):  # used for text: AA
            assert contrast(colours[name], ground) >= 4.5, (name, ground)
        for name in ("released", "violet", "sand", "rose", "slate", "sky"):  # used for marks
            assert contrast(colours[name], ground) >= 3, (name, ground)
    assert contrast("#7d1733", "#ffffff") >= 7


def test_drawn_colours_are_told_apart_by_the_swaps() -> None:
    lights = [light for light, _ in COLOURS.values()]
    assert len(set(lights)) == len(lights)
