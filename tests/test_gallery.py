"""The gallery: every picture that is shown is kept, small, and drawn from a table of the experiments."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from architecture import ROOT

sys.path.insert(0, str(ROOT / "experiments"))
from gallery import LARGEST, PICTURES, drawn


def test_what_is_shown_is_there_and_small() -> None:
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = re.findall(r"\]\(gallery/([a-z0-9-]+)\.svg\)", page)
    assert sorted(shown) == sorted(PICTURES)
    for name in shown:
        assert (ROOT / "docs" / "gallery" / f"{name}.svg").stat().st_size <= LARGEST


def test_pictures_come_from_the_tables_that_are_there(tmp_path: Path) -> None:
    table = "k,method,frequency\n2,resample,0.4\n5,resample,0.1\n"
    (tmp_path / "reidentification_by_k.csv").write_text(table, encoding="utf-8")
    written, absent = drawn(tmp_path, tmp_path / "out")
    assert [p.name for p in written] == ["reidentification-by-k.svg"] and len(absent) == 7
    assert "<svg" in written[0].read_text(encoding="utf-8")
