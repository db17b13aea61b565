"""Commands to run and a small table to run them on."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_support import CANARY, Answer, Sfumato

from sfumato.cli import main


@pytest.fixture
def sfumato(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Sfumato:
    """Runs a command in an empty folder, in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: object) -> Answer:
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """A small table with a person, quasi-identifiers, and a rare diagnosis."""
    rows = [
        f"P{i // 2:04},{'FM'[i % 2]},{20 + i % 60},{CANARY if i == 7 else f'D{i % 5}'},2020-0{1 + i % 9}-11"
        for i in range(200)
    ]
    path = tmp_path / "visits.csv"
    path.write_text("patient_id,sex,age,dx,admitted\n" + "\n".join(rows) + "\n")
    return path
