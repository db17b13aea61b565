"""The commands that install, build and put in place, run as they stand, in a copy of this folder.

They fetch packages: where no registry can be reached, those tests skip.
"""

from __future__ import annotations

import functools
import gzip
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from architecture import ROOT
from printed import Play, shell

pytestmark = pytest.mark.soak


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def copy(work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of this folder to install from, where packages can be fetched."""
    got = shell("python3 -m pip download --quiet --no-deps -d fetched packaging", work)
    if got.code:
        pytest.skip("no registry of packages can be reached")
    folder = work / "sfumato"
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if names.returncode:
        pytest.skip("this folder is no clone: its files are not known")
    packed = subprocess.run(
        ["tar", "-c", "--null", "--ignore-failed-read", "-T", "-"], cwd=ROOT, input=names.stdout,
        capture_output=True, check=True,
    )  # fmt: skip
    folder.mkdir()
    subprocess.run(["tar", "-x"], cwd=folder, input=packed.stdout, check=True)
    monkeypatch.chdir(folder)
    return folder


def alone(play: Play) -> Play:
    """What is started sees what it installed, and nothing of the environment of this test."""
    play.run = lambda command: shell(command, Path.cwd(), {"PYTHONPATH": "", "VIRTUAL_ENV": ""})
    return play


def test_step_by_step(copy: Path) -> None:
    with alone(Play("install")) as play:
        play.rest("install")
    assert (copy / "sfumato-demo" / "report.html").exists()


def test_without_a_network(copy: Path) -> None:
    with alone(Play("development")) as play:
        # The page says so: for the demo and the service this lock is enough. The whole one is a gigabyte.
        play.swap("development", "requirements.lock", "requirements-demo.lock")
        play.rest("development")


def test_a_machine_with_systemd(copy: Path) -> None:
    """And backup and restore, as the page types them, with folders of this test's."""
    with alone(Play("deploy")) as play:
        for old in ("/opt/sfumato", "/var/lib/sfumato", "/srv/sfumato", "/backups"):
            play.swap("deploy", old, old[1:])
        for folder in ("opt", "var/lib/sfumato", "srv/sfumato/models", "backups"):
            Path(folder).mkdir(parents=True)
        play.rest("deploy", until="deploy/backup")
        bin_ = copy / "opt" / "sfumato" / "bin"
        seen = play.run(f'cd / && {bin_}/python -c "import sfumato; print(sfumato.__file__)"').said
        assert str(copy / "opt") in seen
        for command in ("keys create clinic --keys var/lib/sfumato/sfumato.keys",
                        "ledger new study.ledger --data-set study --epsilon 1"):  # fmt: skip
            assert play.run(f"sfumato {command}").code == 0
        play.next("deploy", "deploy/backup")
        for name in ("var/lib/sfumato", "srv/sfumato/models", "study.ledger"):
            Path(name).rename(f"{name}.old")
        play.rest("deploy")
        assert (copy / "var" / "lib" / "sfumato" / "sfumato.keys").exists()


def test_a_first_change(work: Path) -> None:
    with Play("CONTRIBUTING") as play:
        play.swap("CONTRIBUTING", ".venv/bin/pytest", f"cd {ROOT} && {sys.executable} -m pytest")
        play.rest("CONTRIBUTING")


def test_a_release_of_this_package(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    author = "-c user.name=a -c user.email=a@example.org"
    for command in (
        "git init -q", "git add -A", f"git {author} commit -q -m all", "sfumato trust key releases.key",
        "python3 -m venv tools", "tools/bin/python -m pip -q install pipx",
    ):  # fmt: skip
        assert shell(command, copy).code == 0, command
    monkeypatch.setenv("PATH", f"{copy / 'tools' / 'bin'}{os.pathsep}{os.environ['PATH']}")
    with Play("releasing") as play:
        # What the Makefile says, with this environment in place of one that it would make first.
        said = "-m releasing.rehearsal --out dist --python"
        assert said in (ROOT / "Makefile").read_text("utf-8")
        play.swap("releasing", "make rehearsal", f"{sys.executable} {said} {sys.executable}")
        play.rest("releasing", until="sfumato verify")
        wheel = next(Path("dist").glob("*.whl"))
        signing = "from pathlib import Path as P; from releasing.rehearsal import sign"
        script = f"{signing}; sign([P('{wheel}')], P('releases.key'))"
        assert (
            shell(f'"{sys.executable}" -c "{script}"', copy).code == 0
        )  # with the project's key, as step 5 says
        monkeypatch.chdir("dist")
        play.swap("releasing", "sfumato-0.2.0-py3-none-any.whl", wheel.name)
        play.swap("releasing", "releases.pub", "../releases.pub")
        play.rest("releasing")


def test_a_linux_on_windows(work: Path) -> None:
    (work / "data.csv").write_text(
        "age,sex\n" + "".join(f"{20 + i % 60},{'fm'[i % 2]}\n" for i in range(200))
    )
    with Play("windows") as play:
        play.swap("windows", "/mnt/c/Users/you/Documents", str(work))
        one_window = " && ".join(play.take("windows", name) for name in ("mkdir", "cp", "sfumato describe"))
        ended = shell(one_window, work)
        assert ended.code == 0 and "200 rows" in ended.said, ended


@pytest.fixture
def site(work: Path) -> Iterator[str]:
    """A server on loopback over the folder."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(work))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_a_file_on_the_web(work: Path, site: str) -> None:
    pytest.importorskip("fsspec", reason="needs the extra cloud")
    pytest.importorskip("aiohttp", reason="needs the extra cloud")
    rows = "age,sex\n" + "".join(f"{20 + i % 60},{'fm'[i % 2]}\n" for i in range(200))
    (work / "visits.csv.gz").write_bytes(gzip.compress(rows.encode()))
    with Play("files") as play:
        play.swap("files", "https://data.example.org", site)
        play.rest("files")
