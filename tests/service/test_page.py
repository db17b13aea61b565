"""The pages in a real browser: sign in, try a score, see it drawn; nothing is loaded from elsewhere."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pyarrow as pa
import pytest
from chromium import Browser, executable
from cli_support import PATIENCE
from serving import Running, running

from sfumato.prediction.dpat import DPaT
from sfumato.privacy import Ledger
from sfumato.report.palette import variables
from sfumato.schema import Column, Schema
from sfumato.service.installation import Installation
from sfumato.table import Table

WIDTHS = (1100, 360)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, released: Path) -> Iterator[tuple[Running, str]]:
    folder = tmp_path_factory.mktemp("page")
    installation = Installation(folder / "sfumato.keys", create=True)
    _, key = installation.create_key("clinic", rate=1000)
    installation.close()
    with running(folder, released) as service:
        yield service, key


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = executable()
    if program is None:
        pytest.skip("there is no Chromium here")
    with Browser(program) as opened:
        yield opened


def visit(browser: Browser, service: Running, path: str, width: int, dark: bool) -> None:
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.ask("Emulation.setEmulatedMedia", features=[scheme])
    browser.resize(width, 900)
    browser.events.clear()
    browser.ask("Page.navigate", url=f"http://127.0.0.1:{service.port}{path}")
    until(browser, "document.readyState === 'complete'")


def until(browser: Browser, claim: str) -> None:
    end = time.monotonic() + PATIENCE
    while not browser.evaluate(claim):
        assert time.monotonic() < end, f"never so: {claim}; {browser.complaints()}"
        time.sleep(0.05)


def sign_in(browser: Browser, key: str) -> None:
    browser.evaluate(f"document.getElementById('key').value = {key!r}")
    browser.evaluate("document.getElementById('key-form').requestSubmit()")


def fits(browser: Browser) -> bool:
    return bool(browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_score_is_tried_and_drawn(
    live: tuple[Running, str], browser: Browser, width: int, dark: bool
) -> None:
    service, key = live
    visit(browser, service, "/", width, dark)
    assert browser.evaluate("document.getElementById('house').hidden")
    sign_in(browser, key)
    until(browser, "document.getElementById('budget').textContent !== ''")  # what is shown last
    assert browser.evaluate("document.querySelectorAll('.field').length") > 5
    assert "epsilon = 1" in browser.evaluate("document.getElementById('promises').textContent")
    assert "none is needed" in browser.evaluate("document.getElementById('budget').textContent")
    assert browser.evaluate("document.getElementById('key').value") == ""
    browser.evaluate("document.querySelector('[name=glucose]').value = '999'")
    browser.evaluate("document.getElementById('row-form').requestSubmit()")
    until(browser, "!document.getElementById('result').hidden")
    assert re.fullmatch(r"[\d.]+%", browser.evaluate("document.getElementById('risk').textContent"))
    assert "glucose" in browser.evaluate("document.querySelector('#answer .warn').textContent")
    drawn = browser.evaluate("document.querySelectorAll('.why rect').length")
    assert drawn == browser.evaluate("document.querySelectorAll('.field').length")
    assert fits(browser)
    if folder := os.environ.get("SFUMATO_SCREENSHOTS"):
        browser.screenshot(Path(folder) / f"page-{width}-{'dark' if dark else 'light'}.png")
    assert browser.complaints() == []
    home = f"http://127.0.0.1:{service.port}/"
    assert all(url.startswith(home) for url in browser.requests())


def test_faults_are_shown_at_their_fields(live: tuple[Running, str], browser: Browser) -> None:
    service, key = live
    visit(browser, service, "/", 1100, False)
    sign_in(browser, "sfm_000000000000_" + "x" * 43)
    until(browser, "!document.getElementById('trouble').hidden")
    assert "API key" in browser.evaluate("document.getElementById('trouble').textContent")
    sign_in(browser, key)
    until(browser, "document.getElementById('budget').textContent !== ''")  # what is shown last
    assert browser.evaluate("document.querySelectorAll('.field').length") > 5
    browser.evaluate("document.querySelector('[name=age]').value = ''")
    browser.evaluate("document.getElementById('row-form').requestSubmit()")
    until(browser, "document.querySelector('[name=age]').getAttribute('aria-invalid') === 'true'")
    assert "required" in browser.evaluate("document.querySelector('[name=age] + .fault').textContent")
    # Another model, by its chip.
    browser.evaluate("document.querySelector('[data-model=septic-shock]').click()")
    until(browser, "document.getElementById('model-title').textContent === 'septic-shock'")


def test_the_budget_shown_is_the_clients_own(
    tmp_path: Path, noisy: Path, ledger: Ledger, browser: Browser
) -> None:
    installation = Installation(tmp_path / "sfumato.keys", create=True)
    keys = [installation.create_key("clinic", scopes)[1] for scopes in (("score",), ("score", "admin"))]
    installation.close()
    with running(tmp_path, noisy, "--ledger", "study.ledger", "--allow-unproved") as service:
        for key, said in zip(keys, ("epsilon 2.", "epsilon 2; of the data set: 5."), strict=True):
            visit(browser, service, "/", 1100, False)
            sign_in(browser, key)
            until(browser, "document.getElementById('budget').textContent !== ''")
            shown = browser.evaluate("document.getElementById('budget').textContent")
            assert shown == f"Remaining budget of clinic: {said}"


def test_levels_that_are_not_told_are_typed(tmp_path: Path, ledger: Ledger, browser: Browser) -> None:
    rows = {"ward": ["a", "b"] * 40, "floor": [3, 4, 5, 4] * 20, "sick": [True, False, True, True] * 20}
    columns = (Column("ward", "nominal"), Column("floor", "nominal"), Column("sick", "flag"))
    table = Table.from_arrow(pa.table(rows), Schema(columns))
    DPaT(epsilon_per_call=0.5).fit(table, "sick").save(tmp_path / "wards.dpat", "wards")
    installation = Installation(tmp_path / "sfumato.keys", create=True)
    _, key = installation.create_key("clinic", rate=1000)
    installation.close()
    more = ("--ledger", "study.ledger", "--allow-unproved")
    with running(tmp_path, tmp_path / "wards.dpat", *more) as service:
        visit(browser, service, "/", 1100, False)
        sign_in(browser, key)
        until(browser, "document.getElementById('budget').textContent !== ''")
        assert browser.evaluate("document.querySelectorAll('select').length") == 0
        for name, typed in (("ward", "b"), ("floor", "4")):
            browser.evaluate(f"document.querySelector('input[name={name}]').value = {typed!r}")
        if folder := os.environ.get("SFUMATO_SCREENSHOTS"):
            browser.screenshot(Path(folder) / "page-untold.png")
        browser.evaluate("document.getElementById('row-form').requestSubmit()")
        until(browser, "!document.getElementById('result').hidden")
        assert browser.complaints() == []
        browser.evaluate("document.querySelector('[name=ward]').value = 'c'")
        browser.evaluate("document.getElementById('row-form').requestSubmit()")
        until(browser, "document.querySelector('[name=ward]').getAttribute('aria-invalid') === 'true'")


@pytest.mark.parametrize("width", WIDTHS)
def test_the_api_is_drawn_from_its_document(live: tuple[Running, str], browser: Browser, width: int) -> None:
    service, _ = live
    visit(browser, service, "/docs", width, False)
    until(browser, "document.body.dataset.ready === 'yes'")
    paths = service.ask("GET", "/openapi.json").json["paths"]
    assert browser.evaluate("document.querySelectorAll('main section').length") == sum(
        map(len, paths.values())
    )
    assert "POST /v1/models/{name}/score" in browser.evaluate("document.getElementById('score').textContent")
    assert fits(browser) and browser.complaints() == []
    if folder := os.environ.get("SFUMATO_SCREENSHOTS"):
        browser.screenshot(Path(folder) / f"docs-{width}.png")


def test_no_foreign_script_runs(live: tuple[Running, str], browser: Browser) -> None:
    service, _ = live
    visit(browser, service, "/", 1100, False)
    browser.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.stolen = 1\">');"
        "const s = document.createElement('script'); s.textContent = 'window.stolen = 2';"
        "document.body.append(s)"
    )
    end = time.monotonic() + PATIENCE
    while not any("Content Security Policy" in text for text in browser.complaints()):
        assert time.monotonic() < end, browser.complaints()
        browser.evaluate("0")  # what the page said meanwhile comes before the answer
        time.sleep(0.05)
    time.sleep(0.3)
    assert browser.evaluate("window.stolen === undefined")


def test_headers_of_every_answer(live: tuple[Running, str]) -> None:
    service, key = live
    seen = set()
    for path in ("/", "/docs", "/healthz", "/nothing", "/v1/models", "/page/page.js"):
        answer = service.ask("GET", path, key=key)
        policy = answer.headers["content-security-policy"]
        assert (
            "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        )
        assert (
            answer.headers["cache-control"] == "no-store"
            and answer.headers["x-content-type-options"] == "nosniff"
        )
        assert "server" not in answer.headers
        seen.add(answer.headers["x-request-id"])
    assert len(seen) == 6


def test_the_pages_load_nothing_and_wear_our_colours() -> None:
    folder = files("sfumato.service.page")
    for name in ("frame.html", "index.html", "docs.html", "style.css", "page.js", "docs.js", "drawing.js"):
        text = (folder / name).read_text(encoding="utf-8")
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), name
        assert (
            "innerHTML" not in text
            and "eval(" not in text
            and " style=" not in text
            and "onclick" not in text
        )
    css = (folder / "style.css").read_text(encoding="utf-8")
    assert variables(False) in css and variables(True) in css
    assert all(
        "<script>" not in (folder / f"{n}.html").read_text("utf-8") for n in ("frame", "index", "docs")
    )
