"""A file that is dropped into the window: where it lands, under which name, and what never happens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from planned import rows
from windows import Reply, Window, opened, prepared

from sfumato.errors import ParameterError
from sfumato.studio import dropped_file
from sfumato.studio.app import DROP
from sfumato.studio.dropped_file import plain_name


@pytest.fixture
def window(tmp_path: Path) -> Iterator[Window]:
    folder = tmp_path / "chosen"
    folder.mkdir()
    with opened(folder) as found:
        yield found
        assert found.faults == []


def drop(window: Window, name: str, content: bytes, open_: str = "no", **other: str) -> Reply:
    headers = [*window.usual, ("content-type", "application/octet-stream"), ("x-file-name", quote(name))]
    headers = [(n, other.get(n.replace("-", "_"), v)) for n, v in headers]
    return window.raw("POST", DROP, content, [*headers, ("x-open", open_)])


def names(window: Window) -> set[str]:
    """Everything beside and in the chosen folder."""
    top = window.studio.chosen.root.parent
    return {p.relative_to(top).as_posix() for p in top.rglob("*")} - {"chosen"}


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("visits.csv", "visits.csv"),
        ("../../visits.csv", "visits.csv"),
        ("..\\..\\visits.csv", "visits.csv"),
        ("/etc/cron.d/visits.csv", "visits.csv"),
        ("...visits.csv", "visits.csv"),
        ("a\0b\n\u202e.csv", "ab.csv"),
        ("<img src=x onerror=1>.csv", "_img src=x onerror=1_.csv"),
        ("CON.csv", "_CON.csv"),
        ("زيارات المرضى.csv", "زيارات المرضى.csv"),
        ("e\u0301.CSV", "é.CSV"),
        ("a.b.csv.gz", "a.b.csv.gz"),
        ("x" * 400 + ".csv", "x" * 146 + ".csv"),
    ],
)
def test_names_are_made_plain(given: str, name: str) -> None:
    assert plain_name(given) == name


@pytest.mark.parametrize(
    "given", ["", "..", "../../x", ".csv", "plan.toml", "a.csv/", "x.sh", "a.csv.exe", "\0.csv"]
)
def test_names_of_no_data_are_refused(given: str) -> None:
    with pytest.raises(ParameterError):
        plain_name(given)


def test_a_file_lands_in_the_folder_and_replaces_none(window: Window) -> None:
    first, second = b"a,b\n1,2\n", b"a,b\n3,4\n"
    assert drop(window, "../../visits.csv", first).status == 303
    assert names(window) == {"chosen/visits.csv"}
    assert drop(window, "visits.csv", second).status == 303
    assert names(window) == {"chosen/visits.csv", "chosen/visits (2).csv"}
    root = window.studio.chosen.root
    assert (root / "visits.csv").read_bytes() == first and (root / "visits (2).csv").read_bytes() == second
    assert (root / "visits.csv").stat().st_mode & 0o077 == 0
    (root / "plan.toml").symlink_to(root / "nothing")
    (root / "link.csv").symlink_to(root.parent / "outside.csv")  # a link to nothing is not followed
    assert drop(window, "link.csv", first).status == 303
    assert not (root.parent / "outside.csv").exists() and (root / "link (2).csv").read_bytes() == first
    (root / "other-plan").mkdir()  # of a file that was here: its plan is not another file's
    assert drop(window, "other.csv", first).headers["location"] == "/open"
    assert not (root / "other.csv").exists() and (root / "other (2).csv").exists()
    assert "visits (2).csv" in window.get("/open").text


def test_what_is_refused_leaves_nothing(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"a,b\n1,2\n"
    assert drop(window, "a.sh", content).status == 422
    assert drop(window, "a.csv", b"").status == 422
    assert drop(window, "a.csv", content, content_type="text/plain").status == 415
    assert drop(window, "a.csv", content, origin="http://evil.example").status == 403
    assert drop(window, "a.csv", content, cookie="sfumato-8123=guessed").status == 401
    headers = [*window.usual, ("content-type", "application/octet-stream"), ("x-file-name", "%ff.csv")]
    assert window.raw("POST", DROP, content, headers).status == 422
    large = [*headers, ("content-length", str(10 << 30))]
    assert window.raw("POST", DROP, content, large).status == 413  # before a byte of it is read
    monkeypatch.setattr(dropped_file, "MOST_BYTES", 4)
    assert drop(window, "a.csv", content).status == 422
    monkeypatch.setattr(dropped_file, "MOST_BYTES", 1 << 30)
    monkeypatch.setattr(dropped_file, "_SPARE", 1 << 62)
    assert "disk is full" in drop(window, "a.csv", content).text
    assert names(window) == set()
    window.studio.read_only = True
    assert drop(window, "a.csv", content).status == 403 and names(window) == set()


def test_a_header_of_markup_and_a_dropped_file_is_opened(window: Window) -> None:
    """What stands in a file is text, wherever it is shown; and a drop opens the file as a click does."""
    text = rows(60).replace("region", "<script>alert(1)</script>", 1)
    reply = drop(window, "مرضى.csv", text.encode(), "yes")
    assert reply.status == 303 and reply.headers["location"] == "/"
    studio = window.studio
    assert studio.plan_folder is not None and studio.plan_folder.folder.name == "مرضى-plan"
    assert studio.worker is not None and studio.worker.running() is not None
    page = window.get("/open").text
    assert "مرضى.csv" in page and "<script>alert" not in page


def test_markup_in_a_header_is_shown_as_text(tmp_path: Path) -> None:
    text = rows(60).replace("region", "<script>alert(1)</script>", 1)
    with opened(prepared(tmp_path, text)) as window:
        for screen in ("columns", "knowledge", "tables", "release", "map", "plan", "open"):
            page = window.get(f"/{screen}").text
            assert "<script>alert" not in page, screen
        assert "&lt;script&gt;alert(1)" in window.get("/columns").text
        assert window.faults == []
