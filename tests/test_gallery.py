"""The gallery: what is drawn is kept, small and shown; every figure and table of the texts has its line."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from architecture import ROOT

sys.path.insert(0, str(ROOT / "experiments"))
import gallery
from gallery import LARGEST, PICTURES, drawn

EXPERIMENTS = ROOT / "experiments"
PAGE = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
LIST = (
    (ROOT / "docs" / "papers.md").read_text(encoding="utf-8").split("## Figures and tables, beside ours")[1]
)
VERDICTS = ("reproduced", "in part", "not reproduced", "wrong")
STATES_NOTHING = ("diagram", "illustration", "list")
PRINTED = {  # how many figures and tables each text has; of the dissertation, by chapter
    "PeGS": (12, 3),
    "LUGS": (7, 1),
    "DSG": (26, 0),
    "Wei": (10, 2),
    "diss. 1": (2, 0),
    "diss. 2": (7, 3),
    "diss. 3": (12, 3),
    "diss. 4": (8, 3),
    "diss. 5": (7, 1),
}


def entries() -> list[list[str]]:
    """The lines of the list: what, shows, verdict, why."""
    lines = [line for line in LIST.splitlines() if re.match(r"\| [A-Za-z]", line)]
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if "| what |" not in line
    ]


def anchors(page: str) -> set[str]:
    """Of the headings, as the pages' builder makes them."""
    plain = (re.sub(r"[^\w\s-]", "", h).strip().lower() for h in re.findall(r"^#+ (.+)$", page, re.MULTILINE))
    return {re.sub(r"[\s-]+", "-", h) for h in plain}


def test_what_is_drawn_is_kept_small_and_shown() -> None:
    shown = re.findall(r"!\[[^\]]{20,}\]\(gallery/([a-z0-9-]+)\.svg\)", PAGE)  # each with a description
    kept = [p.stem for p in (ROOT / "docs" / "gallery").iterdir()]
    assert sorted(shown) == sorted(kept) == sorted(PICTURES)
    for name in shown:
        text = (ROOT / "docs" / "gallery" / f"{name}.svg").read_text(encoding="utf-8")
        assert len(text.encode()) <= LARGEST and text.startswith("<svg") and "<text" in text
        assert "NaN" not in text and "undefined" not in text and "null" not in text


def test_every_table_is_written_by_an_experiment() -> None:
    written = "".join(p.read_text(encoding="utf-8") for p in EXPERIMENTS.glob("*.py") if p.stem != "gallery")
    for name, picture in PICTURES.items():
        table = picture.table.split("/")[-1].removesuffix(".json")
        assert f'"{table}"' in written or f'"{table}.csv"' in written, name


def test_every_figure_and_table_of_the_texts_has_one_line() -> None:
    found: list[str] = []
    for what, *_ in entries():
        for part in what.split("; "):
            text, rest = part.split(" ", 1)
            for kind, numbers in re.findall(r"(fig\.|table) (\d[\d.]*(?:, \d[\d.]*)*)", rest):
                found += [f"{text} {kind} {n}" for n in numbers.split(", ")]
    wanted = []
    for text, counts in PRINTED.items():
        before = f"{text[-1]}." if text.startswith("diss.") else ""
        for kind, many in zip(("fig.", "table"), counts, strict=True):
            wanted += [f"{text.split(' ')[0]} {kind} {before}{i}" for i in range(1, many + 1)]
    assert sorted(found) == sorted(wanted)


def test_every_line_has_a_verdict_and_every_result_is_shown() -> None:
    there = anchors(PAGE)
    linked = set()
    for what, _, verdict, why in entries():
        link = re.fullmatch(r"\[(.+)\]\(gallery\.md#([a-z0-9-]+)\)", verdict)
        said = (link[1] if link else verdict).split(", ")[0]
        assert said in (*VERDICTS, *STATES_NOTHING) and why, what
        assert (said in STATES_NOTHING) <= (link is None), what
        if link:
            assert link[2] in there, f"{what}: {link[2]}"
            linked.add(link[2])
    assert len(linked) > 30
    for section in re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]:
        title = section.splitlines()[0]
        if title != "What the searches cost":  # no figure of the thesis
            assert next(iter(anchors(f"# {title}"))) in linked, title
            assert re.search(r"^\*\*(Reproduced|In part|Not reproduced)", section, re.MULTILINE), title


def test_pictures_come_from_the_tables_that_are_there_and_are_drawn_alike(tmp_path: Path) -> None:
    table = "k,method,frequency\n2,resample,0.4\n5,resample,0.123456\n"
    (tmp_path / "reidentification_by_k.csv").write_text(table, encoding="utf-8")
    drawings = []
    for place in ("one", "two"):
        written, absent = drawn(tmp_path, tmp_path / place)
        assert [p.name for p in written] == ["reidentification-by-k.svg"]
        assert len(absent) == len({p.table for p in PICTURES.values()}) - 1
        drawings.append(written[0].read_bytes())
    assert drawings[0] == drawings[1] and b"resample</text>" in drawings[0]


def test_a_picture_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "reidentification_by_k.csv").write_text("k,method,frequency\n2,a,0.4\n", encoding="utf-8")
    monkeypatch.setattr(gallery, "LARGEST", 100)
    with pytest.raises(SystemExit, match="reidentification-by-k takes"):
        drawn(tmp_path, tmp_path / "out")


def test_places_are_rounded_and_labels_are_not() -> None:
    svg = '<path d="M1.23456,-0.0049L1e-7,3"/><text x="12.3456">0.00125</text>'
    assert gallery._shorter(svg) == '<path d="M1.23,-0L1e-7,3"/><text x="12.35">0.00125</text>'
