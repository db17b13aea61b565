"""Pictures of every screen at two widths, some dark, some German: drawn by `make pictures`, kept in
`docs/pictures`, shown in `docs/studio.md`; and nothing in them hangs over or complains.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import accessibility
import chromium
import pytest
from clicking import settled, until
from pictured import held
from windows import RunningStudio

import sfumato as sf

WIDTHS = (1280, 800)
_COLOURS, _HEIGHT = 32, 900
_COLUMNS = ("age_years", "sex", "zip", "mdc", "los_days", "pay")
_POINTS = 6  # on the map, before it is paused
# What says the same whatever was drawn: titles, labels, buttons, heads of tables.
_STEADY = "main h1, main h2, main label, main button, main th[scope=col], nav.screens a"


@pytest.fixture
def browser() -> Iterator[chromium.Browser]:
    program = chromium.executable()
    if program is None:
        pytest.skip("there is no Chromium here")
    with chromium.Browser(program) as opened:
        opened.resize(1280, _HEIGHT)
        yield opened


def looked_at(
    browser: chromium.Browser, name: str, *, at: str = "", heights: tuple[int, int] = (_HEIGHT, _HEIGHT)
) -> None:
    """The screen as it is now, at both widths. at: what is scrolled to, below the head of the page."""
    axe = accessibility.script()
    for width, height in zip(WIDTHS, heights, strict=True):
        browser.resize(width, height)
        assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        if axe is not None:
            assert accessibility.faults(browser, axe) == [], name
        browser.evaluate("scrollTo(0, 0); document.activeElement?.blur()")
        if at:
            browser.evaluate(
                f"scrollTo(0, document.querySelector({at!r}).getBoundingClientRect().top + scrollY - 70)"
            )
        kept = f"studio-{name}" if width == WIDTHS[0] else f"studio-{name}-{width}"
        held(browser, kept, "main", _STEADY, window=True, colours=_COLOURS)
    browser.resize(WIDTHS[0], _HEIGHT)
    assert browser.complaints() == [], name


def shown(browser: chromium.Browser, base: str, path: str, claim: str) -> None:
    browser.visit(base + path)
    settled(browser, claim)


def pressed(browser: chromium.Browser, selector: str, claim: str) -> None:
    browser.evaluate(f"document.querySelector({selector!r}).click()")
    settled(browser, claim)


def typed(browser: chromium.Browser, selector: str, words: str) -> None:
    browser.evaluate(f"document.querySelector({selector!r}).value = {words!r}")


def in_clothes(browser: chromium.Browser, *, dark: bool = False, german: bool = False) -> None:
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.ask("Emulation.setEmulatedMedia", features=[scheme])
    language = "de" if german else "en"
    if browser.evaluate("document.documentElement.lang") != language:
        pressed(browser, f"button[lang={language}]", f"document.documentElement.lang === '{language}'")


@pytest.mark.soak
def test_every_screen_of_a_table(browser: chromium.Browser, tmp_path: Path) -> None:
    """From the file to the papers, as somebody goes who looks at everything."""
    sf.write(sf.samples.discharges(1_000, seed=1).select(list(_COLUMNS)), tmp_path / "stays.csv")
    studio = RunningStudio(tmp_path, cwd=tmp_path)
    base = studio.address.partition("/enter")[0]
    try:
        browser.visit(studio.address)
        settled(browser, "document.querySelector('#file-0')")
        in_clothes(browser)
        pressed(browser, "#file-0", "document.querySelector('main a.go')")
        before_the_run(browser, base)
        shown(browser, base, "/release", "document.querySelector('#signer')")
        typed(browser, "#accepted", "A trial with invented data; the privacy officer")
        pressed(browser, "#set-limits", "document.querySelector('.beside').textContent.includes('A trial')")
        typed(browser, "#signer", "A. Miller, privacy officer")
        browser.evaluate("document.querySelector('#every').checked = true")
        pressed(browser, "#sign", "document.querySelector('#signed')")
        pressed(browser, "#run", "document.querySelector('#outcome')")
        looked_at(browser, "release", at="#run-part")
        in_clothes(browser, german=True)
        looked_at(browser, "release-german", at="#run-part")
        in_clothes(browser)
        shown(browser, base, "/papers", "document.querySelector('#determination-form')")
        browser.evaluate("document.querySelector('#determination-form').open = true")
        looked_at(browser, "papers")
        shown(browser, base, "/plan", "document.querySelector('main pre')")
        looked_at(browser, "plan")
    finally:
        studio.stop()


def before_the_run(browser: chromium.Browser, base: str) -> None:
    """All screens that stand before the release."""
    shown(browser, base, "/open", "document.querySelector('#dialect')")
    browser.evaluate("document.querySelector('#dialect').open = true")
    looked_at(browser, "open")
    shown(browser, base, "/columns", "document.querySelector('.card .bars')")
    looked_at(browser, "columns", at="#lane-quasi-identifier")
    in_clothes(browser, dark=True, german=True)
    looked_at(browser, "columns-dark", at="#lane-quasi-identifier")
    in_clothes(browser)
    shown(browser, base, "/knowledge", "document.querySelector('#telling')")
    looked_at(browser, "knowledge")
    shown(browser, base, "/hierarchies", "document.querySelector('#tree')")
    looked_at(browser, "hierarchies")
    shown(browser, base, "/map", "document.querySelector('#map-begin')")
    pressed(browser, "#map-begin", "document.querySelector('#map-pause')")
    until(browser, f"document.querySelectorAll('svg.map a.point').length >= {_POINTS}")
    pressed(browser, "#map-pause", "document.querySelector('#map-begin')")
    looked_at(browser, "map")
    in_clothes(browser, dark=True)
    looked_at(browser, "map-dark")
    in_clothes(browser)
    shown(browser, base, "/map?add=local#add", "document.querySelector('#map-place')")
    looked_at(browser, "setting", at="#add")
    shown(browser, base, "/comparison", "document.querySelector('#comparison-make')")
    pressed(browser, "#comparison-make", "document.querySelector('.pairs .changed a')")
    pressed(browser, ".pairs .changed a", "document.querySelector('#why')")
    looked_at(browser, "comparison", at="#why")
    shown(browser, base, "/attacks", "document.querySelector('#attacks-begin')")
    pressed(browser, "#attacks-begin", "document.querySelector('#person')")
    looked_at(browser, "attacks")
    shown(browser, base, "/tables", "document.querySelector('#axes')")
    typed(browser, "#set-by", "mdc,sex")
    typed(browser, "#set-minimum", "5")
    pressed(browser, "#tables-add", "document.querySelector('#tables-instead')")
    pressed(browser, "#tables-instead", "document.querySelector('#tables-work')")
    pressed(browser, "#tables-work", "document.querySelector('td.few a')")
    pressed(browser, "td.few a", "document.querySelector('#why')")
    looked_at(browser, "tables", at="#cells")
    pressed(browser, "#do-undo", "document.querySelector('#tables-instead')")
    pressed(browser, "#do-undo", "!document.querySelector('#tables')")


@pytest.mark.soak
def test_the_screens_of_linked_tables(browser: chromium.Browser, tmp_path: Path) -> None:
    for name, table in sf.samples.hospital(200, seed=1).tables.items():
        sf.write(table, tmp_path / f"{name}.csv")
    studio = RunningStudio(tmp_path, cwd=tmp_path)
    try:
        browser.visit(studio.address)
        settled(browser, "document.querySelector('#open-linked')")
        in_clothes(browser)
        pressed(browser, "#open-linked", "document.querySelector('svg.linked')")
        looked_at(browser, "linked")
    finally:
        studio.stop()
