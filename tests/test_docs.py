"""Every snippet runs: the Python blocks of a page, top to bottom, as one script in an empty folder."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from architecture import ROOT
from snippets import trouble_of

import sfumato

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w-]*)[^\n`]*$")


def script_of(text: str) -> str:
    """The Python blocks, every line at the line number it has on the page."""
    script: list[str] = []
    inside: str | None = None
    indent = ""
    for line in text.splitlines():
        fence = _FENCE.match(line)
        if inside is None and fence:
            inside, indent = fence["language"], fence["indent"]
            script.append("")
        elif inside is not None and line.strip() == "```":
            inside = None
            script.append("")
        else:
            script.append(line.removeprefix(indent) if inside == "python" else "")
    if inside is not None:
        raise ValueError("a fence is not closed")
    return "\n".join(script)


WITH_PYTHON = [p for p in PAGES if script_of(p.read_text(encoding="utf-8")).strip()]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_snippets_run(page: Path, tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text(script_of(page.read_text(encoding="utf-8")), encoding="utf-8")
    folder = tmp_path / "empty"
    folder.mkdir()
    trouble = trouble_of(script, folder)
    if trouble:
        name = page.relative_to(ROOT).as_posix()
        trouble = trouble.replace(str(script), name)
        pytest.fail(f"a snippet of {name} fails (line numbers are the page's):\n{trouble}", pytrace=False)


NAMES_PAGE = (ROOT / "docs" / "names.md").read_text(encoding="utf-8")
FURTHER = dict(re.findall(r"^\| `(sfumato\.[\w.]+)` \| [^|]+ \| ([^|]+) \|$", NAMES_PAGE, flags=re.MULTILINE))


def imports_of(script: str) -> set[str]:
    """What a script imports of Sfumato: a public name by itself, anything else with its module."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(script)):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names if a.name.startswith("sfumato.")}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "sfumato":
            below = f"{node.module}.".removeprefix("sfumato.")
            found |= {f"sfumato.{below}{a.name}" if below else a.name for a in node.names}
    return found


def promised(name: str) -> bool:
    """Whether docs/names.md promises it. `sfumato.testing` is the kit of guests: docs/stability.md."""
    return name in sfumato.__all__ or name in FURTHER or name.startswith("sfumato.testing.")


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_no_page_needs_an_import_that_is_not_promised(page: Path) -> None:
    odd = sorted(n for n in imports_of(script_of(page.read_text(encoding="utf-8"))) if not promised(n))
    assert not odd, f"{odd}: use a public name, or promise it in docs/names.md"


def test_an_import_that_is_not_promised_is_found() -> None:
    script = (
        "import sfumato as sf\nfrom sfumato import scan, nowhere\nfrom sfumato.table import plain_column\n"
    )
    odd = {n for n in imports_of(script + "import sfumato.counts.duck\n") if not promised(n)}
    assert odd == {"nowhere", "sfumato.table.plain_column", "sfumato.counts.duck"}


def test_every_name_further_in_is_used_on_its_pages() -> None:
    assert len(FURTHER) > 50
    for name, links in FURTHER.items():
        pages = re.findall(r"\]\(([\w-]+\.md)\)", links)
        assert pages, name
        for page in pages:
            assert name in imports_of(script_of((ROOT / "docs" / page).read_text(encoding="utf-8"))), (
                name,
                page,
            )


def test_each_heading_of_the_names_stands_once_above_a_table() -> None:
    headings = re.findall(r"^##+ (.+)$", NAMES_PAGE, flags=re.MULTILINE)
    assert len(headings) == len(set(headings)) > 15
    for heading, text in re.findall(r"^##+ (.+)\n((?:(?!#).*\n?)*)", NAMES_PAGE, flags=re.MULTILINE):
        assert "|---|" in text or heading == "Further in", heading


_COMMAND = re.compile(r"(?:^\$ (?:\.venv/bin/)?|`)sfumato ([^`\n]*)", re.MULTILINE)


def unknown_in(words: list[str], command: Any) -> list[str]:
    """The options of a line that its command does not have; the line itself if there is no such command."""
    rest = list(words)
    while rest and rest[0] in getattr(command, "commands", {}):
        command = command.commands[rest.pop(0)]
    if rest and not rest[0].startswith("-") and hasattr(command, "commands"):
        return [] if "|" in rest[0] else words  # new|show: several at once
    if hasattr(command, "whole"):  # its options are those of its methods, known when they are loaded
        command = command.whole()
    known = {name for p in command.params for name in (*p.opts, *p.secondary_opts)} | {"--help"}
    return [w for w in rest if re.match(r"--?[a-z]", w) and w.partition("=")[0] not in known]


def test_commands_and_options_of_the_pages_are_there() -> None:
    import typer

    from sfumato.cli.app import app

    command = typer.main.get_command(app)
    found = {}
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for line in _COMMAND.findall(text):
            found[page.name, line] = unknown_in(shlex.split(line, comments=True), command)
    assert len(found) > 150 and not {line: bad for line, bad in found.items() if bad}
    assert unknown_in(["desribe", "x.csv"], command) and unknown_in(["run", "p", "--owt", "d"], command)


def test_a_snippet_that_fails_is_told(tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text("import sfumato\n\nassert sfumato.nothing\n", encoding="utf-8")
    assert 'page.py", line 3' in trouble_of(script, tmp_path)
    script.write_text("import os\nos.abort()\n", encoding="utf-8")
    assert "it ended with" in trouble_of(script.rename(tmp_path / "other.py"), tmp_path)


def test_blocks_keep_their_line_numbers() -> None:
    page = "a\n```python\nx = 1\n```\ntext\n```console\n$ ls\n```\n  ```python\n  y = 2\n  ```\n"
    assert script_of(page).split("\n") == ["", "", "x = 1", "", "", "", "", "", "", "y = 2", ""]


def test_an_open_fence_is_refused() -> None:
    with pytest.raises(ValueError, match="not closed"):
        script_of("```python\nx = 1\n")


def test_the_pages_are_found() -> None:
    assert ROOT / "README.md" in WITH_PYTHON
