"""The log of what was released: every change of a line shows, in a file and in PostgreSQL."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from sfumato.errors import DataError, OutputError, ParameterError, SfumatoError, VerificationError
from sfumato.privacy.signatures import ReleaseLog, SigningKey
from sfumato.privacy.signatures import log as module

KEY = SigningKey(bytes(range(32))).public
DIGESTS = [f"{i:064x}" for i in range(4)]


def filled(place: Path | str) -> ReleaseLog:
    log = ReleaseLog.at(place)
    for digest in DIGESTS:
        log.append(digest, KEY, "A. Müller")
    return log


def test_a_log_comes_back_in_order(tmp_path: Path) -> None:
    log = filled(tmp_path / "log")
    found = ReleaseLog.at(str(tmp_path / "log")).entries()
    assert [e.statement for e in found] == DIGESTS and [e.number for e in found] == [1, 2, 3, 4]
    assert set(log.days()) == set(DIGESTS) and ReleaseLog.at(log) is log
    assert found[0].name == "A. Müller" and found[0].at.endswith("Z")
    with pytest.raises(DataError, match="there is no log"):
        ReleaseLog.at(tmp_path / "none").days()
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "change", ["name", "at", "statement", "key", "number", "gone", "twice", "swapped", "cut"]
)
def test_a_changed_line_breaks_the_chain(tmp_path: Path, change: str) -> None:
    path = tmp_path / "log"
    filled(path)
    lines = path.read_text().splitlines()
    second = json.loads(lines[1])
    if change in second:
        second[change] = 7 if change == "number" else "0" * 64
        lines[1] = json.dumps(second)
    elif change == "gone":
        del lines[1]
    elif change == "twice":
        lines.insert(1, lines[1])
    elif change == "swapped":
        lines[1], lines[2] = lines[2], lines[1]
    path.write_text("\n".join(lines)[:-3] if change == "cut" else "\n".join(lines) + "\n")
    for use in (ReleaseLog.at(path).days, lambda: ReleaseLog.at(path).append("f" * 64, KEY, "A")):
        with pytest.raises(VerificationError):
            use()


@pytest.mark.parametrize(
    "text", ["{}\n", "[]\n", "x\n", '{"a":1,"a":1}\n', "\xff\n", '{"number":"1"}\n', "1\n"]
)
def test_what_is_no_log_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "log").write_bytes(text.encode("latin-1"))
    with pytest.raises(VerificationError, match="not a log"):
        ReleaseLog.at(tmp_path / "log").entries()


def test_bad_lines_and_places(tmp_path: Path) -> None:
    log = ReleaseLog.at(tmp_path / "log")
    for line in (("x", KEY, "A"), (DIGESTS[0], "x", "A"), (DIGESTS[0], KEY, ""), (DIGESTS[0], KEY, "a\nb")):
        with pytest.raises(ParameterError):
            log.append(*line)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    for place in (tmp_path, tmp_path / "pipe", tmp_path / "dangling", tmp_path / "no" / "log"):
        with pytest.raises(SfumatoError):
            ReleaseLog.at(place).append(DIGESTS[0], KEY, "A")
    assert not (tmp_path / "nowhere").exists()


def test_a_clock_that_is_set_back_does_not_break_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = ReleaseLog.at(tmp_path / "log")
    first = log.append(DIGESTS[0], KEY, "A")

    class Earlier:
        @staticmethod
        def now(_: object) -> object:
            import datetime

            return datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC)

    monkeypatch.setattr(module, "datetime", Earlier)
    assert log.append(DIGESTS[1], KEY, "A").at == first.at and len(log.entries()) == 2


def _all_at_once(place: Path | str, writers: int, each: int) -> None:
    def write(number: int) -> None:
        for line in range(each):
            ReleaseLog.at(place).append(f"{number * each + line:064x}", KEY, "A")

    threads = [threading.Thread(target=write, args=(n,)) for n in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ReleaseLog.at(place).days()) == writers * each


def test_several_write_at_once(tmp_path: Path) -> None:
    _all_at_once(tmp_path / "log", 4, 5)


def test_a_log_in_postgres(postgres_url: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    place = f"{postgres_url}#test_releases"
    with psycopg.connect(postgres_url) as connection:
        connection.execute("DROP SCHEMA IF EXISTS sfumato_log_test_releases CASCADE")
    with pytest.raises(DataError, match="there is no log"):
        ReleaseLog.at(place).entries()
    assert [e.statement for e in filled(place).entries()] == DIGESTS
    with psycopg.connect(postgres_url) as connection:
        connection.execute("UPDATE sfumato_log_test_releases.released SET name = 'B' WHERE number = 2")
    with pytest.raises(VerificationError, match="line 2"):
        ReleaseLog.at(place).days()
    with psycopg.connect(postgres_url) as connection:
        connection.execute("DROP SCHEMA sfumato_log_test_releases CASCADE")
    _all_at_once(place, 3, 3)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("DROP SCHEMA sfumato_log_test_releases CASCADE")


def test_a_server_that_is_not_there_is_said_without_its_words() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(OutputError, match="not there") as error:
        ReleaseLog.at("postgresql://me:secret@127.0.0.1:1/db").entries()
    assert "secret" not in str(error.value)
    for url in ("postgresql://[", "postgresql://localhost/db#Bad Name"):
        with pytest.raises(ParameterError):
            ReleaseLog.at(url)
