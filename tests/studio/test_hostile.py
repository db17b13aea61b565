"""A file from somebody who means no good: names that are HTML, names and cells of any length."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from windows import opened, prepared

from sfumato.studio.screens import SCREENS

NAMES = (
    "<script>alert(1)</script>", "</title><img src=x onerror=alert(1)>", "javascript:alert(1)", "=cmd|x!A1",
    "../../etc", "'; DROP", "{0} {n} %s", "\u202egnp", "a", "b",
)  # fmt: skip


def test_names_and_cells_are_text_wherever_they_stand(tmp_path: Path) -> None:
    chance = random.Random(1)
    cells = ("<b onclick=alert(1)>x</b>", "y", "{z}", "&amp;", "</td><script>")
    lines = [",".join(f'"{c}"' for c in NAMES)]
    lines += [",".join(chance.choice(cells) for _ in NAMES) for _ in range(60)]
    with opened(prepared(tmp_path, "\n".join(lines) + "\n")) as window:
        for screen in SCREENS:
            reply = window.get(f"/{screen.name}")
            assert reply.status == 200, screen.name
            tags = set(re.findall(r"<[a-z][^>]*>", reply.text))
            assert not [t for t in tags if "alert(1)" in re.sub(r'"[^"]*"', "", t)], screen.name
            assert "<img" not in reply.text and "<script>" not in reply.text and "<b " not in reply.text
        folder = window.studio.plan_folder
        assert folder is not None
        for name in NAMES:
            column = list(folder.document["columns"]).index(name)
            reply = window.post("/columns/role", column=name, role="drop")
            assert reply.status == 200 and folder.document["columns"][name]["drop"] is True, column
        assert window.faults == []


@pytest.mark.parametrize("where", ["name", "cell"])
def test_a_very_long_word_takes_no_longer_than_its_length(tmp_path: Path, where: str) -> None:
    """Were it the square, this test would take minutes."""
    word = "v" * 100_000
    head = f"a,{word if where == 'name' else 'b'},c\n"
    rows = [f"{i},{word if where == 'cell' and i == 3 else i % 3},{i % 5}\n" for i in range(40)]
    with opened(prepared(tmp_path, head + "".join(rows))) as window:
        for screen in ("open", "columns", "knowledge", "release"):
            assert window.get(f"/{screen}").status == 200, screen
        assert where == "name" or len(window.get("/open").text) < 50_000
        assert window.faults == []
