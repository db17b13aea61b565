"""The voice of the command line: notes, progress, our own faults, hints in the words of the shell."""

from __future__ import annotations

import io
import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from cli_support import CANARY, Sfumato
from releases import released
from rich.console import Console

from sfumato.cli import terminal as module
from sfumato.cli.terminal import Terminal, as_options
from sfumato.errors import DataError, SfumatoWarning, printable
from sfumato.privacy import Guarantee, NoGuarantee
from sfumato.progress import track


def fault(*_: object, **__: object) -> Any:
    secret = CANARY
    raise ValueError(f"could not convert {secret}")


def test_a_fault_of_ours_is_said_without_its_words(
    visits: Path, sfumato: Sfumato, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.description.describe", fault)
    plain = sfumato("describe", visits)
    assert plain.code == 70 and "fault of its own (ValueError)" in plain.err and "Hint: " in plain.err
    assert "Traceback" not in plain.err and 'File "' not in plain.err
    debug = sfumato("describe", visits, "--debug")
    assert debug.code == 70 and re.search(r"test_terminal\.py\S*, line \d+, in fault", debug.err)
    assert CANARY not in plain.all + debug.all


def test_what_several_steps_note_is_said_once() -> None:
    heard = io.StringIO()
    terminal = Terminal(err=Console(file=heard, width=200))

    def work() -> int:
        for text in ("letters are guessed", "days are guessed", "letters are guessed"):
            warnings.warn(text, SfumatoWarning, stacklevel=1)
        return 0

    assert terminal.run(work) == 0
    assert heard.getvalue().splitlines() == ["note: letters are guessed", "note: days are guessed"]


def test_the_result_comes_before_the_notes_of_the_work() -> None:
    seen = io.StringIO()
    both = Console(file=seen, width=200)
    terminal = Terminal(out=both, err=both)

    def work() -> int:
        warnings.warn("letters are guessed", SfumatoWarning, stacklevel=1)
        terminal.result("Not met.", None)
        warnings.warn("days are guessed", SfumatoWarning, stacklevel=1)
        terminal.result("Written.", None)
        return 0

    assert terminal.run(work) == 0
    lines = ["Not met.", "note: letters are guessed", "note: days are guessed", "Written."]
    assert seen.getvalue().splitlines() == lines


def test_an_interrupt_is_said_in_one_line(
    visits: Path, sfumato: Sfumato, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.description.describe", stop)
    answer = sfumato("describe", visits)
    assert (answer.code, answer.err) == (130, "stopped; nothing was written\n")


@pytest.mark.parametrize(
    ("error", "word"), [(MemoryError(), "memory"), (OSError(5, "broken disk"), "broken disk")]
)
def test_what_the_system_refuses_is_bad_input(
    error: Exception, word: str, visits: Path, sfumato: Sfumato, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> Any:
        raise error

    monkeypatch.setattr("sfumato.description.describe", refuse)
    answer = sfumato("describe", visits)
    assert answer.code == 2 and word in answer.err and "Hint: " in answer.err


def drawn(
    monkeypatch: pytest.MonkeyPatch, *, person: bool, quiet: bool = False, patience: float = 0.0
) -> str:
    import pyarrow as pa

    monkeypatch.setattr(module, "_PATIENCE", patience)
    page = io.StringIO()
    voice = Terminal(quiet=quiet, err=Console(file=page, force_terminal=person, width=100))
    batches = [pa.record_batch({"x": [1, 2]})] * 3
    assert voice.run(lambda: len(list(track(batches, "counting", 6))) - 3) == 0
    return page.getvalue()


def test_progress_is_drawn_for_a_person_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "counting" in drawn(monkeypatch, person=True)
    assert drawn(monkeypatch, person=False) == ""
    assert drawn(monkeypatch, person=True, quiet=True) == ""
    assert drawn(monkeypatch, person=True, patience=60.0) == ""


def test_names_cannot_repaint_the_terminal(tmp_path: Path, sfumato: Sfumato) -> None:
    path = tmp_path / "hostile.csv"
    path.write_text("a,\x1b[2Jb\n1,2\n3,4\n")
    for answer in (
        sfumato("describe", path),
        sfumato("counts", path, "nope"),
        sfumato("counts", path, "\x1b[2Jb"),
    ):
        assert "\x1b" not in answer.all


def test_a_hostile_copy_of_a_release_cannot_write_its_own_verdict(tmp_path: Path, sfumato: Sfumato) -> None:
    target = released().save(tmp_path / "out")
    path = target / "public" / "manifest.json"
    document = json.loads(path.read_text())
    signs = "\x1b[2J\x9b2J\u202e\ud800\nAUTHENTIC: signed."
    document["files"][f"a{signs}"] = {"sha256": "0", "bytes": 1}
    path.write_text(json.dumps(document))
    guarantee = Guarantee.of(NoGuarantee(signs.replace("\ud800", "")))
    (target / "public" / "guarantee.json").write_text(guarantee.to_json())
    for more in ([], ["--all"], ["--json"]):
        answer = sfumato("verify", target, *more)
        assert answer.code == 1 and not {"\x1b", "\x9b", "\u202e", "\ud800"} & set(answer.all)
        assert not any(line.startswith("AUTHENTIC") for line in answer.out.splitlines())
        assert more or answer.out.splitlines()[-1].startswith("ALTERED")


def test_names_in_other_scripts_are_shown_as_they_are() -> None:
    assert printable("年\u3000齢\xa0é\tñ\n") == "年\u3000齢\xa0é\tñ\n"
    assert printable("\x1b\x9b\u202e\r") == "\\x1b\\x9b\\x202e\\x0d"


def test_markup_in_a_message_is_shown_as_it_is() -> None:
    page = io.StringIO()
    voice = Terminal(err=Console(file=page, markup=False, width=100))

    def refuse() -> int:
        raise DataError("column '[red]' is odd.", hint="rename [red]")

    assert voice.run(refuse) == 2
    assert page.getvalue() == "DataError: column '[red]' is odd.\nHint: rename [red]\n"


@pytest.mark.parametrize(
    ("hint", "option"),
    [
        ("say encoding='latin-1'", "say --encoding latin-1"),
        ("say separator=...", "say --separator ..."),
        ("say missing=[...]", "say --missing ..."),
        ("overwrite=True replaces it", "--overwrite replaces it"),
        ("keep_text=True keeps it", "--keep-text keeps it"),
        ('name the columns: columns=["patient"]', "name the columns: --column patient"),
        ("give a control, or holdout=0 for none", "give a control, or --holdout 0 for none"),
        ("(earlier=[(original, release)])", "(--grown-from)"),
        ("set missing = true", "set missing = true"),
        ("set confirmed = true", "set confirmed = true"),
    ],
)
def test_hints_speak_of_options(hint: str, option: str) -> None:
    assert as_options(hint) == option


def test_json_has_no_number_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    """Most readers refuse NaN and Infinity, which are no JSON."""
    Terminal(json=True).result("", {"a": [float("nan"), (1.5, float("-inf"))], "b": float("inf"), "c": None})
    said = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert said == {"a": [None, [1.5, None]], "b": None, "c": None}
