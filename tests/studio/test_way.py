"""The whole way in a real browser, by mouse and by keyboard alone: from a CSV to a signed, verified
release.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import accessibility
import pytest
from chromium import Browser, executable
from cli_support import process
from clicking import Press, by_dragging, by_keys, by_mouse, key, settled, until, write
from planned import CANARY, rows
from windows import RunningStudio, prepared

import sfumato as sf
from sfumato.release.manifest import SIGNATURES
from sfumato.studio.screens import SCREENS


@pytest.fixture
def browser() -> Iterator[Browser]:
    program = executable()
    if program is None:
        pytest.skip("there is no Chromium here")
    with Browser(program) as opened:
        opened.resize(1280, 900)
        yield opened


def released(browser: Browser, studio: RunningStudio, press: Press) -> None:
    """From the first screen to a release that is signed with a key, as a person goes."""
    until(browser, "document.querySelector('main a.go')")
    press(browser, "main a.go")
    until(browser, "document.querySelector('.card')")
    press(browser, "#accept-sure")
    settled(browser, "document.querySelectorAll('.card.done').length > 1")
    while waiting := browser.evaluate(
        "document.querySelector('.card:not(.done) .last button[id]')?.id ?? ''"
    ):
        press(browser, f"#{waiting}")
        settled(browser, f"document.querySelector('#{waiting}').closest('.card').classList.contains('done')")
    press(browser, "nav a[href='/release']")
    until(browser, "document.querySelector('#accepted')")
    write(browser, press, "#accepted", "a trial; the board")
    press(browser, "#set-limits")
    written = "document.querySelector('.beside').textContent.includes('accepted = \"a trial; the board\"')"
    settled(browser, written)
    write(browser, press, "#signer", "A. Miller, privacy officer")
    press(browser, "#sign")
    settled(browser, "document.querySelector('#signed')")
    press(browser, "#run")
    until(browser, "document.querySelector('#outcome')")
    write(browser, press, "#key-name", "A. Miller, privacy officer")
    press(browser, "#key-sign")
    until(browser, "document.querySelector('#key-signed-0') && document.querySelector('#key-verdict')")
    press(browser, "main a[href='/papers']")
    until(browser, "document.querySelector(\"a[href='/papers/release/report']\")")


def holds(folder: Path, name: str) -> None:
    """What the studio left is what the commands make of its plan, and no draft."""
    plan, release = folder / f"{name}-plan" / "plan.toml", folder / f"{name}-plan" / "release"
    again = process("run", plan, "--out", release, "--json", cwd=folder)
    assert again.code == 0, again.err
    said = json.loads(again.out)
    assert said["unchanged"] and said["draft"] is None
    copy = process("run", plan, "--out", folder / "copy", "--record", release, "--quiet", cwd=folder)
    assert copy.code == 0, copy.err
    for path in (release / "public").iterdir():
        if path.name == SIGNATURES:
            continue  # the person's, who has signed this one
        assert path.read_bytes() == (folder / "copy" / "public" / path.name).read_bytes(), path.name
    verified = json.loads(process("verify", release, "--trusted", "officer.pub", "--json", cwd=folder).out)
    assert verified["ok"] and not verified["draft"] and verified["standing"] == "authentic"


def with_key(folder: Path) -> None:
    """A signing key in the folder, as `sfumato trust key` makes one."""
    assert process("trust", "key", "officer.key", cwd=folder).code == 0


@pytest.mark.soak
@pytest.mark.parametrize("press", [by_mouse, by_keys])
def test_from_a_csv_to_a_signed_release(browser: Browser, tmp_path: Path, press: Press) -> None:
    (tmp_path / "visits.csv").write_text(rows(200), encoding="utf-8")
    with_key(tmp_path)
    studio = RunningStudio("visits.csv", cwd=tmp_path)
    try:
        browser.visit(studio.address)
        released(browser, studio, press)
        assert browser.complaints() == []
        home = studio.address.partition("/enter")[0]
        asked = browser.requests()
        assert asked and all(url.startswith(home) for url in asked)
        assert not any(CANARY in url for url in asked)
        assert browser.evaluate("localStorage.length + sessionStorage.length") == 0
    finally:
        code, printed = studio.stop()
    assert code == 0 and CANARY not in printed
    assert not list((tmp_path / "visits-plan").rglob("codes.npy"))  # the copy of the data is gone
    holds(tmp_path, "visits")


@pytest.mark.soak
@pytest.mark.parametrize("press", [by_mouse, by_keys])
def test_from_invented_data_to_a_signed_release(browser: Browser, tmp_path: Path, press: Press) -> None:
    with_key(tmp_path)
    studio = RunningStudio(tmp_path, cwd=tmp_path)
    try:
        browser.visit(studio.address)
        until(browser, "document.querySelector('#sample')")
        press(browser, "#write-sample")
        released(browser, studio, press)
        assert browser.complaints() == []
    finally:
        studio.stop()
    holds(tmp_path, "discharges-2000")


@pytest.mark.soak
def test_from_diabetes130_to_a_signed_release(browser: Browser, tmp_path: Path, data_dir: Path) -> None:
    from pyarrow import csv, parquet

    stays = parquet.read_table(data_dir / "diabetes130" / "diabetic_data.parquet")
    csv.write_csv(stays, tmp_path / "stays.csv")
    with_key(tmp_path)
    studio = RunningStudio("stays.csv", cwd=tmp_path)
    try:
        browser.visit(studio.address)
        released(browser, studio, by_mouse)
    finally:
        studio.stop()
    holds(tmp_path, "stays")


@pytest.mark.soak
def test_a_file_is_dropped_and_tables_are_asked_why(browser: Browser, tmp_path: Path) -> None:
    """A file chosen in the field lands in the folder; a table is added, worked out and asked, by keys; the
    linked tables of the folder are drawn. Pictures of both, and nothing serious for axe.
    """
    outside, folder = tmp_path / "outside", tmp_path / "chosen"
    outside.mkdir(), folder.mkdir()
    (outside / "visits.csv").write_text(rows(300), encoding="utf-8")
    for name, table in sf.samples.hospital(40, seed=1).tables.items():
        sf.write(table, folder / f"{name}.csv")
    studio = RunningStudio(folder, cwd=folder)
    try:
        browser.visit(studio.address)
        until(browser, "document.querySelector('#drop')")
        found = browser.ask("Runtime.evaluate", expression="document.querySelector('#drop')")["result"]
        browser.ask("DOM.setFileInputFiles", files=[str(outside / "visits.csv")], objectId=found["objectId"])
        until(browser, "document.querySelector('main a.go')")
        assert (folder / "visits.csv").read_bytes() == (outside / "visits.csv").read_bytes()
        by_keys(browser, "nav a[href='/tables']")
        until(browser, "document.querySelector('#axes')")
        write(browser, by_keys, "[id='set-by']", "age,sex")
        write(browser, by_keys, "#set-minimum", "13")
        by_keys(browser, "#tables-add")
        settled(browser, "document.querySelector('#tables-instead')")
        by_keys(browser, "#tables-instead")
        settled(browser, "document.querySelector('#tables-work')")
        by_keys(browser, "#tables-work")
        until(browser, "document.querySelector('td.few a')")
        by_keys(browser, "td.few a")
        until(browser, "document.querySelector('#why')?.textContent.includes('(primary)')")
        looked_at(browser, "tables-worked-out")
        by_keys(browser, "nav a[href='/open']")
        until(browser, "document.querySelector('#open-linked')")
        by_keys(browser, "#open-linked")
        until(browser, "document.querySelector('svg.linked')")
        looked_at(browser, "linked")
    finally:
        code, printed = studio.stop()
    assert code == 0 and CANARY not in printed
    assert "visits.csv" in {p.name for p in folder.iterdir()} and not list(folder.glob(".*.tmp"))


def looked_at(browser: Browser, name: str) -> None:
    """Nothing hangs over at two widths, nothing is serious for axe, and a picture is kept where asked."""
    axe = accessibility.script()
    for width in (1280, 800):
        browser.resize(width, 900)
        assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        if axe is not None:
            assert accessibility.faults(browser, axe) == [], name
        if folder := os.environ.get("SFUMATO_SCREENSHOTS"):
            browser.screenshot(Path(folder) / f"studio-{name}-{width}.png")
    browser.resize(1280, 900)


def test_clicks_and_keys_in_a_real_browser(browser: Browser, tmp_path: Path) -> None:
    """A role by one key, undo, a second window's change, and every screen at two widths without a
    complaint.
    """
    data = prepared(tmp_path)
    studio = RunningStudio(data, cwd=tmp_path)
    base = studio.address.partition("/enter")[0]
    try:
        browser.visit(studio.address)
        until(browser, "document.querySelector('.card')")
        by_keys(browser, "#column-1")
        key(browser, "o")
        settled(browser, "document.querySelector('#lane-other #column-1')")
        assert browser.evaluate("document.activeElement.id") == "column-1"  # one's place is kept
        key(browser, "z", control=True)
        settled(browser, "!document.querySelector('#lane-other #column-1')")
        browser.resize(1280, 3000)  # both ends in sight
        by_dragging(browser, "#column-1 h3", "#lane-sensitive h2")
        settled(browser, "document.querySelector('#lane-sensitive #column-1')")
        browser.resize(1280, 900)
        by_mouse(browser, "#do-undo")
        settled(browser, "!document.querySelector('#lane-sensitive #column-1')")
        plan = tmp_path / "visits-plan" / "plan.toml"
        text = plan.read_text("utf-8").replace('title = ""', 'title = "by an editor"')
        plan.write_text(text, encoding="utf-8")
        until(browser, "document.querySelector('.beside').textContent.includes('by an editor')")
        axe = accessibility.script()
        for width in (1280, 800):
            browser.resize(width, 900)
            for screen in SCREENS:
                browser.visit(f"{base}/{screen.name}")
                assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), screen.name
                assert browser.complaints() == [], screen.name
                if axe is not None and width == 800:
                    assert accessibility.faults(browser, axe) == [], screen.name
                if folder := os.environ.get("SFUMATO_SCREENSHOTS"):
                    browser.screenshot(Path(folder) / f"studio-{screen.name}-{width}.png")
    finally:
        code, printed = studio.stop()
        shutil.rmtree(tmp_path / "visits-plan" / "release", ignore_errors=True)
    assert code == 0 and CANARY not in printed


@pytest.mark.soak
def test_a_tree_by_keys_alone_and_by_dragging(browser: Browser, tmp_path: Path) -> None:
    data = prepared(tmp_path)
    plan = tmp_path / "visits-plan"
    studio = RunningStudio(data, cwd=tmp_path)
    levels = plan / "hierarchies" / "age.csv"

    def lines(value: int) -> str:
        return next(line for line in levels.read_text("utf-8").splitlines() if line.startswith(f"{value};"))

    try:
        browser.visit(studio.address)
        until(browser, "document.querySelector('nav a[href=\"/hierarchies\"]')")
        by_keys(browser, "nav a[href='/hierarchies']")
        until(browser, "document.querySelector('#tree')")
        age = browser.evaluate("[...document.querySelectorAll('.picks a')].find(a => a.text === 'age').id")
        by_keys(browser, f"#{age}")
        until(browser, "document.querySelector('#column')?.textContent === 'age'")
        first = "document.activeElement.closest('.node')?.textContent.startsWith"
        browser.evaluate("document.querySelector('#tree-split').focus()")
        key(browser, "Tab")
        until(browser, f"{first}('0-19')")
        key(browser, "ArrowRight")  # open
        key(browser, "ArrowDown")
        assert browser.evaluate(f"{first}('0-9')")
        key(browser, " ")  # tick it, and put it under the next group of the highest level
        key(browser, "ArrowUp")
        key(browser, "ArrowLeft")
        key(browser, "ArrowDown")
        assert browser.evaluate(f"{first}('20-39')")
        key(browser, "v")
        settled(browser, "document.querySelector('.beside').textContent.includes('hierarchies/age.csv')")
        assert lines(7) == "7;5-9;0-9;20-39;*"
        assert browser.evaluate(f"{first}('20-39')")  # one's place is kept
        key(browser, "r")
        until(browser, "document.activeElement.id === 'tree-name'")
        browser.ask("Input.insertText", text="young")
        key(browser, "Enter")
        settled(browser, "document.querySelector('#tree').textContent.includes('young')")
        assert lines(7) == "7;5-9;0-9;young;*"
        browser.evaluate("document.querySelector('#tree-name').blur()")
        key(browser, "z", control=True)
        settled(browser, "!document.querySelector('#tree').textContent.includes('young')")
        assert browser.evaluate("document.querySelector('#column').textContent") == "age"
        rows = browser.evaluate(
            "[...document.querySelectorAll('#tree .node[data-node]')].map(r => [r.dataset.node, "
            "r.querySelector('label')?.textContent])"
        )
        number = {name: n for n, name in rows}
        by_dragging(browser, f".node[data-node='{number['40-59']}']", f".node[data-node='{number['60-79']}']")
        settled(browser, "!document.querySelector('#tree').textContent.includes('40-59')")
        assert lines(45) == "45;45-49;40-49;60-79;*"
        assert browser.complaints() == []
    finally:
        code, printed = studio.stop()
    assert code == 0 and CANARY not in printed
