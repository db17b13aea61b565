"""The report in a real browser: no complaint, no request, figures drawn, at two widths, light and dark."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import chromium
import pages
import pytest
from architecture import ROOT

ARTIFACTS = ROOT / "artifacts" / "report"
WIDTHS = (400, 1200)


@pytest.fixture(scope="module")
def browser() -> Iterator[chromium.Browser]:
    program = chromium.executable()
    if program is None:
        pytest.skip("there is no Chromium on this machine")
    with chromium.Browser(program) as running:
        yield running


@pytest.fixture(scope="module")
def report() -> Path:
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    return pages.assessment().save(ARTIFACTS / "report.html", overwrite=True)


@pytest.fixture(scope="module")
def hostile() -> Path:
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    return pages.hostile().save(ARTIFACTS / "hostile.html", overwrite=True)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_report_opens_quietly(browser: chromium.Browser, report: Path, width: int, dark: bool) -> None:
    browser.open(report, width=width, dark=dark)
    name = f"report-{width}-{'dark' if dark else 'light'}"
    browser.screenshot(ARTIFACTS / f"{name}.png")
    for i in range(1, 6):
        browser.screenshot(ARTIFACTS / f"{name}-{i}.png", f"#section-{i}")
    assert browser.complaints() == []
    assert browser.requests() == [report.resolve().as_uri()]
    assert browser.evaluate("document.documentElement.scrollWidth") <= width  # nothing sticks out


@pytest.mark.parametrize("width", WIDTHS)
def test_figures_are_drawn(browser: chromium.Browser, report: Path, width: int) -> None:
    browser.open(report, width=width)
    sizes = browser.evaluate(
        "[...document.querySelectorAll('.panel > svg')].filter(s => s.checkVisibility()).map(s => ["
        "s.getBoundingClientRect().width, s.getBoundingClientRect().height, "
        "s.querySelectorAll('[data-says]').length])"
    )
    assert len(sizes) == 14  # the panels of the seven figures; of two for the attacks, the one that fits
    assert all(w > 150 and h > 40 and marks > 3 for w, h, marks in sizes)


@pytest.mark.parametrize("width", [400, 700, 1200])
def test_the_attacks_are_as_wide_as_the_page_and_readable(
    browser: chromium.Browser, report: Path, width: int
) -> None:
    browser.open(report, width=width)
    shown = browser.evaluate(
        "[...document.querySelectorAll('.panel.full > svg, .panel.narrow > svg')]"
        ".filter(s => s.checkVisibility()).map(s => [s.getBoundingClientRect().width, "
        "s.closest('figure').getBoundingClientRect().width, "
        "Math.min(...[...s.querySelectorAll('text')].map(t => t.getBoundingClientRect().height)),"
        "s.closest('.panel').scrollWidth - s.closest('.panel').clientWidth])"
    )
    assert len(shown) == 1
    drawn, room, letters, hidden = shown[0]
    assert drawn >= 0.85 * room
    assert letters >= 8  # pixels, as they are drawn
    assert hidden <= 1  # nothing is reached by scrolling sideways only


SCREENS = [(1280, 720), (400, 800)]
SAID_FIRST = ".verdict-title, .because, .limits tr, .next li"


@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_the_first_screen_decides(browser: chromium.Browser, report: Path, width: int, height: int) -> None:
    browser.open(report, width=width, height=height)
    browser.screenshot(ARTIFACTS / f"first-{width}.png", window=True)
    boxes = browser.evaluate(
        f"[...document.querySelectorAll('{SAID_FIRST}')].filter(e => !e.closest('.hidden')).map(e => "
        "(r => [r.top, r.bottom, r.height])(e.getBoundingClientRect()))"
    )
    assert len(boxes) == 7  # the word, the sentence, four limits, what to do
    assert all(0 < top < bottom <= height and tall > 10 for top, bottom, tall in boxes)


@pytest.mark.parametrize("paper", [(8.27, 11.69), (8.5, 11.0)], ids=["A4", "Letter"])
def test_the_first_printed_page_decides(
    browser: chromium.Browser, report: Path, paper: tuple[float, float]
) -> None:
    """With the later sections away, and all that must be said still there, one sheet is enough."""
    browser.open(report, width=1200)
    browser.evaluate("document.querySelectorAll('main > section ~ *').forEach(e => e.remove())")
    assert browser.evaluate(f"document.querySelectorAll('{SAID_FIRST}').length") == 8  # with a hidden head
    path = ARTIFACTS / "first.pdf"
    browser.pdf(path, paper)
    assert len(re.findall(rb"/Type /Page\b", path.read_bytes())) == 1


def test_colours_follow_the_readers_theme(browser: chromium.Browser, report: Path) -> None:
    bar = "getComputedStyle(document.querySelector('.panel > svg [fill=\"#c8500a\"]')).fill"
    browser.open(report, width=1200)
    assert browser.evaluate(bar) == "rgb(200, 80, 10)"
    browser.open(report, width=1200, dark=True)
    assert browser.evaluate(bar) == "rgb(245, 154, 74)"


def test_tooltips_come_by_pointer_and_by_key(browser: chromium.Browser, report: Path) -> None:
    browser.open(report, width=1200)
    browser.evaluate("document.querySelector('.panel.wide').focus()")
    for _ in range(2):
        browser.ask("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight", code="ArrowRight")
    assert browser.evaluate("document.querySelector('.tip').hidden") is False
    said = browser.evaluate("document.querySelector('.tip').textContent")
    assert said.startswith("partition: k = 3, repeats = 5\nlinking 0.")
    browser.evaluate(
        "document.querySelector('.panel.wide').scrollIntoView({block: 'center', behavior: 'instant'})"
    )
    browser.screenshot(ARTIFACTS / "tooltip.png", window=True)
    browser.ask("Input.dispatchKeyEvent", type="keyDown", key="Escape", code="Escape")
    assert browser.evaluate("document.querySelector('.tip').hidden") is True
    place = browser.evaluate(
        "(m => { m.scrollIntoView({block: 'center', behavior: 'instant'});"
        "const r = m.getBoundingClientRect();"
        "return [r.x + r.width / 2, r.y + r.height / 2] })(document.querySelector('.panel [data-says]'))"
    )
    browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    assert re.match(
        r"female: [\d.]+% \((original|released)\)",
        browser.evaluate("document.querySelector('.tip').textContent"),
    )
    assert browser.complaints() == []


def test_the_first_stop_of_the_keyboard_skips_to_the_report(browser: chromium.Browser, report: Path) -> None:
    browser.open(report, width=1200)
    browser.ask("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
    assert browser.evaluate("document.activeElement.className") == "skip"
    assert browser.evaluate("document.activeElement.getBoundingClientRect().left") >= 0


def test_payloads_do_nothing(browser: chromium.Browser, hostile: Path) -> None:
    browser.open(hostile, width=1200)
    browser.screenshot(ARTIFACTS / "hostile-1200.png")
    assert browser.complaints() == []
    assert browser.requests() == [hostile.resolve().as_uri()]
    assert browser.evaluate("document.scripts.length") == 1
    assert browser.evaluate("document.images.length") == 0


def test_the_policy_is_what_stops_a_request(browser: chromium.Browser, report: Path) -> None:
    """The test can fail: without the policy the page could ask; with it the browser refuses aloud."""
    browser.open(report, width=1200)
    refused = browser.evaluate("fetch('https://example.org/').then(() => 'sent', e => 'refused')")
    assert refused == "refused"
    browser.evaluate("document.body.append(Object.assign(new Image(), {src: 'https://example.org/x.png'}))")
    browser.evaluate("new Promise(done => setTimeout(done, 50))")
    assert any("Content Security Policy" in c for c in browser.complaints())


def test_every_printed_page_says_internal(browser: chromium.Browser, report: Path) -> None:
    browser.open(report, width=1200, dark=True)
    browser.pdf(ARTIFACTS / "report.pdf")
    content = (ARTIFACTS / "report.pdf").read_bytes()
    count = len(re.findall(rb"/Type /Page\b", content))
    mark = 0
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", content, flags=re.DOTALL):
        try:
            drawn = zlib.decompress(stream)
        except zlib.error:
            continue
        # The mark's colour is used for nothing else on paper.
        mark += len(re.findall(rb"\.4902 \.0902 \.2 rg", drawn)) >= 1
    assert count > 3
    assert mark == count
