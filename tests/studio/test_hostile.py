"""A file from somebody who means no good: names that are HTML, names and cells of any length."""

from __future__ import annotations

import random
import re
import threading
import tomllib
from pathlib import Path

import pytest
from windows import opened, prepared

from sfumato.studio.screens import SCREENS, columns, knowledge

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


def test_thousands_of_columns_are_shown_some_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "PAGE", 20)
    monkeypatch.setattr(knowledge, "_MOST", 15)
    chance = random.Random(1)
    rows = "".join(",".join(str(chance.randrange(5)) for _ in range(50)) + "\n" for _ in range(30))
    data = prepared(tmp_path, ",".join(f"c{i}" for i in range(50)) + "\n" + rows)
    with opened(data) as window:
        pages = [
            window.get(f"/columns{at}").text for at in ("", "?from=20", "?from=40", "?from=9x", "?from=60")
        ]
        assert [p.count('class="card') - p.count('class="cards') for p in pages] == [20, 20, 10, 20, 0]
        assert "Columns 21 to 40 of 50" in pages[1] and 'id="column-20"' in pages[1]
        assert "?from=0" in pages[1] and "?from=40" in pages[1] and "?from=60" not in pages[2]
        reply = window.raw_post("/columns/accept", column="c25", query="from=20")
        assert reply.status == 303 and reply.headers["location"] == "/columns?from=20"
        known = window.get("/knowledge").text
        assert known.count('id="know-') == 15
        assert "further columns identify less" in known and window.faults == []


def test_windows_that_click_at_once_lose_nothing_that_was_accepted(tmp_path: Path) -> None:
    """Each click is done on the state that was seen, or refused; undo goes back through all of them."""
    with opened(prepared(tmp_path)) as window:
        folder = window.studio.plan_folder
        assert folder is not None
        start, done, refused = folder.texts, [], []

        def clicks(seed: int) -> None:
            chance = random.Random(seed)
            for _ in range(12):
                seen = folder.revision
                role = chance.choice(("sensitive", "other", "drop", "quasi-identifier"))
                reply = window.raw_post("/columns/role", seen, column="cost", role=role)
                (done if reply.status == 303 else refused).append(reply.status)

        windows = [threading.Thread(target=clicks, args=(seed,)) for seed in range(4)]
        for one in windows:
            one.start()
        for one in windows:
            one.join()
        assert len(done) + len(refused) == 48 and set(refused) <= {409} and done
        assert tomllib.loads((folder.folder / "plan.toml").read_text("utf-8")) == folder.document
        while folder.undoable:
            folder.undo()
        assert folder.texts == start and window.faults == []
