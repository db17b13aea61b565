"""Reports, cards, maps and determinations for everyone: axe finds nothing serious, in light and dark.

The pages of the documentation are looked at where they are built, in test_docs_search.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import accessibility
import chromium
import pages
import pytest

import sfumato as sf
from sfumato.assessment.frontier import Candidate
from sfumato.report.determination import Said, determination, read_report, template
from sfumato.seeds import Key
from sfumato.table import Table

KNOWN = ["age", "sex"]


@pytest.fixture(scope="module")
def browser() -> Iterator[chromium.Browser]:
    program = chromium.executable()
    if program is None:
        pytest.skip("there is no Chromium on this machine")
    if accessibility.script() is None:
        pytest.skip("axe is not installed: make axe")
    with chromium.Browser(program) as running:
        yield running


def part(table: Table, key: Key, *, share: float) -> Table:
    """Some of the rows as they are."""
    rows = table.to_arrow()
    return Table.from_arrow(rows.slice(0, int(share * rows.num_rows)), table.schema)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The four kinds of page, each made as a user makes it, in both languages; and one with every block."""
    place = tmp_path_factory.mktemp("pages")
    table = sf.samples.discharges(300, seed=1).select([*KNOWN, "pay"])
    judged = sf.assess(table, table, effort="quick", quasi_identifiers=KNOWN, thresholds={"risk": 0.05})
    judged.save(place / "report.html")
    judged.card(place / "card.html")
    (place / "said.toml").write_text(template(), encoding="utf-8")
    found = read_report(judged.save(place / "report.json"))
    determination(Said.read(place / "said.toml"), found).save(place / "determination.html")
    ways = [Candidate("part", part, {"share": share}) for share in (0.3, 0.6)]
    drawn = sf.frontier(table, ways, quasi_identifiers=KNOWN, repeats=1, workers=1)
    drawn.save(place / "map.html")
    judged.save(place / "report-de.html", language="de")
    judged.card(place / "card-de.html", language="de")
    determination(Said.read(place / "said.toml"), found).save(place / "determination-de.html", language="de")
    drawn.save(place / "map-de.html", language="de")
    pages.assessment().save(place / "every-block.html")
    return place


@pytest.mark.parametrize(
    "name",
    ["report", "card", "map", "determination", "every-block", "report-de", "card-de",
     *(pytest.param(f"{name}-de", marks=pytest.mark.soak) for name in ("map", "determination"))],
)  # fmt: skip
@pytest.mark.parametrize(
    ("width", "dark"), [(1200, False), pytest.param(400, True, marks=pytest.mark.soak)], ids=["light", "dark"]
)
def test_nothing_serious_is_found(
    browser: chromium.Browser, folder: Path, name: str, width: int, dark: bool
) -> None:
    axe = accessibility.script()
    assert axe is not None
    browser.open(folder / f"{name}.html", width=width, dark=dark)
    assert accessibility.faults(browser, axe) == []
    assert browser.evaluate("document.documentElement.lang") == ("de" if name.endswith("-de") else "en")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width  # long words do not widen it


def test_axe_does_find_what_is_wrong(browser: chromium.Browser, tmp_path: Path) -> None:
    axe = accessibility.script()
    assert axe is not None
    page = tmp_path / "bad.html"
    page.write_text(
        "<!doctype html><title>x</title><p style='color:#bbb'>pale</p><img src='data:,'>", "utf-8"
    )
    browser.open(page, width=800)
    found = " ".join(accessibility.faults(browser, axe))
    assert all(fault in found for fault in ("color-contrast", "image-alt", "html-has-lang"))
