"""Every snippet runs: the Python blocks of a page, top to bottom, as one script in an empty folder."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from architecture import ROOT
from snippets import trouble_of

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
