"""Killed at any moment: nothing, or a whole release; and the next run goes on."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_support import PATIENCE, environment
from planned import PLAN, written

import sfumato as sf

# One process that has made a release before; each run is a fork of it, so that it is short and its kill a
# real one.
_ZYGOTE = """
import os, sys
import sfumato as sf
sf.Plan.read("plan.toml").run("release")
sys.stdout.write("ready\\n"); sys.stdout.flush()
for line in sys.stdin:
    pid = os.fork()
    if not pid:
        os.setpgid(0, 0)
        try:
            sf.Plan.read("plan.toml").run("release")
            os._exit(0)
        except BaseException as error:
            sys.stderr.write(repr(error)); sys.stderr.flush()
            os._exit(1)
    sys.stdout.write(f"{pid}\\n"); sys.stdout.flush()
    _, status = os.waitpid(pid, 0)
    sys.stdout.write(f"{status}\\n"); sys.stdout.flush()
"""


class Zygote:
    """Starts runs, kills them after a while, and says how they ended."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _ZYGOTE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment(), cwd=folder,
        )  # fmt: skip
        assert self._said() == "ready"

    def _said(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def run(self, after: float | None = None) -> tuple[int, float]:
        """Run, and kill after so many seconds if it is not done by then; the status and the seconds."""
        assert self._process.stdin is not None
        start = time.monotonic()
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        pid = int(self._said())
        if after is not None:
            time.sleep(after)
            with contextlib.suppress(ProcessLookupError):  # it may have been done already
                os.kill(pid, signal.SIGKILL)
        return int(self._said()), time.monotonic() - start

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE)


def killed_often(folder: Path, times: int, seed: int) -> int:
    """Kill runs at random moments; how many were killed. Every state in between is checked."""
    rng = random.Random(seed)
    written(folder, PLAN.replace('title = "Visits', f'title = "{seed} visits'))
    release = folder / "release"
    zygote = Zygote(folder)
    try:
        release.rename(folder / "done-first")
        status, seconds = zygote.run()
        assert status == 0
        killed = 0
        for _ in range(times):
            if release.exists():
                release.rename(folder / f"done-{rng.random()}")
            status, _ = zygote.run(after=rng.uniform(0, seconds))
            killed += os.WIFSIGNALED(status)
            assert status in (0, signal.SIGKILL)
            if release.exists():
                assert sf.verify(release).ok, "a release that is there is whole"
            else:
                assert os.WIFSIGNALED(status)
            shown = {p.name for p in folder.iterdir() if not p.name.startswith((".", "done-"))}
            assert shown - {"release"} == {"data.csv", "plan.toml", "region.csv", "schema.toml"}
            status, _ = zygote.run()
            assert status == 0 and sf.verify(release).ok
            assert not [p for p in folder.iterdir() if p.name.startswith(".")], "nothing hidden is left"
        return killed
    finally:
        zygote.end()


@pytest.mark.soak
def test_ten_kills_at_random_moments(tmp_path: Path) -> None:
    killed_often(tmp_path, 10, seed=random.SystemRandom().randrange(2**32))


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_many_kills_at_random_moments(tmp_path: Path, seed: int) -> None:
    assert killed_often(tmp_path, 50, seed) > 5


def test_ctrl_c_ends_cleanly(tmp_path: Path) -> None:
    """The real command, interrupted: exit code 130, no release, no traceback; the next run is a whole one."""
    written(tmp_path)
    command = [sys.executable, "-m", "sfumato", "run", "plan.toml", "--out", "release"]
    process = subprocess.Popen(command, env=environment(), cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    hidden = tmp_path / ".release.sfumato"
    end = time.monotonic() + PATIENCE
    while not hidden.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in said
    if process.returncode != 0:  # it may have been done already
        assert process.returncode == 130 and not (tmp_path / "release").exists()
        sf.Plan.read(tmp_path / "plan.toml").run(tmp_path / "release")
    assert sf.verify(tmp_path / "release").ok
