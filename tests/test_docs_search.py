"""The built pages: searched by a newcomer in a real browser; a reference that leaves no public name out."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import accessibility
import chromium
import pytest
from architecture import ROOT

# What a newcomer types, and the pages of which one must be among the first three.
QUESTIONS = {
    "how do I keep dates": "questions.html#how-do-i-keep-dates",
    "what does epsilon 1 mean": "questions.html#what-does-epsilon-1-mean",
    "my file has two rows per patient": "questions.html#my-file-has-two-or-more-rows-per-patient",
    "is my data safe to share": "questions.html#is-my-file-safe-to-publish",
    "read an Excel sheet": "files.html",
    "verify a release I got from someone": "questions.html#somebody-sent-me-a-release-how-do-i-verify-it",
    "HIPAA": "privacy-officer.html",
    "quasi-identifier": "glossary.html",
    "linked tables of patients and stays": "database.html",
    "publish counts with small cells": "questions.html#how-do-i-publish-a-table-of-counts-with-small-cells",
    "plan.toml": "plan.html",
    "risk score API": "quickstart-builder.html",
    "install offline": "questions.html#how-do-i-install-it-without-internet",
    "what does a quasi identifier mean": "glossary.html",  # asks for a word: its meaning comes first
    "what does undecided mean": "glossary.html",
    "equivalence class": "glossary.html#what-is-done-to-it",  # what others call it, in brackets there
    "how do I remove names": "questions.html#how-do-i-remove-names-and-other-identifiers",
    "does the data leave my computer": "questions.html#do-data-leave-my-machine",
    "my file is too big for memory": "questions.html#my-file-is-larger-than-memory",
    "what happens if two releases are combined": "questions.html",
    "how do I add my own method": "questions.html#can-i-add-a-method-of-my-own",
    "what may I send to the recipient": "release.html#send-the-public-part-and-only-that",
    "which attacks are tried": "attacks.html",
    "rare disease": "questions.html#a-few-people-in-my-file-are-very-rare",
    "HMA synthesizer": "coming-from.html#from-sdv",
    "average per region to individuals": "quickstart-analyst.html",
    "run it every month": "questions.html#the-same-data-come-again-every-month-or-quarter",
    "docker": "deploy.html",
    "anonimize a csv": "anonymize.html",  # one letter is wrong
    "can I use it from R": "from-r.html",
    "what is t-closeness": "criteria.html",  # stands there as TCloseness
    "has anybody tampered with the file": "signing.html",  # what newcomers call it: search_words.toml
    "can someone figure out who is in my data": "membership.html",  # a turn of speech
    # Asked before anybody had tuned on them, and missed then.
    "how can I strip out social security numbers": "questions.html#how-do-i-remove-names",
    "someone emailed me a dataset, is it genuine": "questions.html#somebody-sent-me-a-release",
    "my supervisor wants a document to sign off": "determination.html",
    "patients appear in both last year's and this year's release": "anonymize.html#after-other-releases",
    "does it run without admin rights on a hospital PC": "install.html",
    "synthetic patients with realistic histories": "linked-synthesis.html",
    "the program refuses my file": "files.html",
    "compare synthetic with original distribution": "utility.html",
    "outliers like a 107 year old": "questions.html#a-few-people-in-my-file-are-very-rare",
    "average income per district to each household": "quickstart-analyst.html",
    "maximum number of rows": "questions.html#my-file-is-larger-than-memory",
    "membership inference attack": "membership.html",
    "mask phone numbers in a comment field": "questions.html#",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[chromium.Browser]:
    program = chromium.executable()
    if program is None:
        pytest.skip("there is no Chromium on this machine")
    with chromium.Browser(program) as running:
        yield running


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def found(browser: chromium.Browser) -> list[str]:
    text = browser.evaluate(
        "JSON.stringify([...document.querySelectorAll('.search-hit a')].map(a => a.getAttribute('href')))"
    )
    return list(json.loads(text))


@pytest.mark.parametrize("way", ["folder", "HTTP"])
def test_the_page_finds_what_was_typed(browser: chromium.Browser, site: Path, served: str, way: str) -> None:
    base = site.as_uri() if way == "folder" else served
    browser.visit(f"{base}/search.html?q={quote('how do I keep dates')}")
    assert QUESTIONS["how do I keep dates"] in found(browser)[:3]
    assert browser.evaluate("document.getElementById('search-words').value") == "how do I keep dates"
    assert not browser.complaints()
    browser.visit(f"{base}/decisions/index.html")  # from a page in a folder below
    action = browser.evaluate("document.getElementById('rtd-search-form').action")
    assert action == f"{base}/search.html"


@pytest.mark.parametrize("way", ["folder", "HTTP"])
def test_a_newcomers_questions_are_answered_by_one_of_the_first_three(
    browser: chromium.Browser, site: Path, served: str, way: str
) -> None:
    browser.visit(f"{site.as_uri() if way == 'folder' else served}/search.html")
    asked = json.dumps(list(QUESTIONS))
    hits = json.loads(
        browser.evaluate(
            "(() => { const index = siteSearch.prepared(searchIndex, searchSynonyms); "
            f"return JSON.stringify({asked}.map("
            "q => siteSearch.find(index, q, 3).map(h => h.section.place))) })()"
        )
    )
    missed = {
        question: places
        for (question, wanted), places in zip(QUESTIONS.items(), hits, strict=True)
        if not any(place.startswith(wanted) for place in places)
    }
    assert not missed


def test_what_newcomers_call_a_page_names_a_page_that_is_there() -> None:
    named = tomllib.loads((ROOT / "docs" / "search_words.toml").read_text("utf-8"))
    there = {p.stem for p in (ROOT / "docs").glob("*.md")} - {"search"}
    assert set(named) == there
    assert not any(len(words.split()) != len(set(words.split())) for words in named.values())


def test_what_is_typed_is_never_taken_for_markup(browser: chromium.Browser, site: Path) -> None:
    typed = "<img src=x onerror=window.hit=1> dates"
    browser.visit(f"{site.as_uri()}/search.html?q={quote(typed)}")
    assert found(browser) and browser.evaluate("typeof window.hit") == "undefined"
    browser.visit(f"{site.as_uri()}/search.html?q={quote('zzzyqx')}")
    assert "Nothing was found" in browser.evaluate("document.getElementById('search-results').textContent")


def test_every_public_name_has_its_place_in_the_reference(site: Path) -> None:
    import sfumato as sf

    headings = re.findall(
        r"<h2 id=[^>]*>(\w+)<", "".join(p.read_text("utf-8") for p in site.glob("reference/*.html"))
    )
    assert sorted(set(headings)) == sorted(name for name in sf.__all__ if not name.startswith("_"))
    names = (site / "names.html").read_text("utf-8")  # and from the list of names a link leads there
    linked = set(re.findall(r'<a href="reference/[a-z-]+\.html#\w+"><code>(\w+)</code>', names))
    assert linked == set(headings)
    page = (site / "reference" / "anonymize.html").read_text("utf-8")
    assert "<code>drop_rarer_than</code>: leave out rows" in page  # a setting and what its docstring says
    assert "Annotated" not in page and " object at " not in page


def test_the_menu_opens_where_one_reads_and_keeps_the_search_in_sight(
    browser: chromium.Browser, site: Path
) -> None:
    browser.open(site / "reference" / "anonymize.html", width=1200)
    opened = "[...document.querySelectorAll('nav details[open] summary')].map(s => s.textContent.trim())"
    assert browser.evaluate(opened) == ["API"]
    box = browser.evaluate("document.querySelector('#rtd-search-form input').getBoundingClientRect().top")
    assert 0 < box < 200
    assert browser.evaluate("document.querySelectorAll('nav details').length") < 20  # all fit a screen
    browser.open(site / "index.html", width=400)  # on a telephone the menu comes by a button
    left = "document.querySelector('.wy-nav-side').getBoundingClientRect().right"
    assert browser.evaluate(left) <= 0
    browser.evaluate("document.querySelector('.menu-button').click()")
    assert browser.evaluate(left) > 200 and not browser.complaints()


def serious(browser: chromium.Browser, page: Path, width: int, dark: bool) -> list[str]:
    axe = accessibility.script()
    if axe is None:
        pytest.skip("axe is not installed: make axe")
    browser.open(page, width=width, dark=dark)
    return [
        f"{page.name}, {width}, {'dark' if dark else 'light'}: {f}"
        for f in accessibility.faults(browser, axe)
    ]


@pytest.mark.parametrize("page", ["index", "notebooks/publisher"])
def test_axe_finds_nothing_serious_on_the_pages(browser: chromium.Browser, site: Path, page: str) -> None:
    for width, dark in ((1200, False), (400, False), (1200, True)):
        assert serious(browser, site / f"{page}.html", width, dark) == []


@pytest.mark.soak
def test_axe_finds_nothing_serious_on_any_page(browser: chromium.Browser, site: Path) -> None:
    found = [
        f
        for p in sorted(site.rglob("*.html"))
        for dark in (False, True)
        for f in serious(browser, p, 1200, dark)
    ]
    assert found == []
