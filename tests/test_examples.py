"""Every public name has an example in its docstring, and each does what it shows."""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path

import pytest

import sfumato as sf

pytestmark = pytest.mark.xdist_group("examples")  # one worker loads the house for all of them

NAMES = [name for name in dir(sf) if not name.startswith("_")]  # __version__ is text, and has no docstring
_PARSER = doctest.DocTestParser()


def example_of(name: str, thing: object) -> doctest.DocTest:
    """The example in the docstring of a thing itself, not in that of a base."""
    text = thing.__doc__ or ""
    return _PARSER.get_doctest(inspect.cleandoc(text), {"sf": sf}, name, f"the example of sf.{name}", 0)


def trouble_of(example: doctest.DocTest) -> str:
    """What an example gives that it does not show; nothing if it is right."""
    said: list[str] = []
    doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS).run(example, out=said.append)
    return "".join(said)


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_shows_how_it_is_used(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    example = example_of(name, getattr(sf, name))
    assert example.examples, f"sf.{name} has no example in its docstring"
    assert any(e.want for e in example.examples), f"sf.{name} shows no result"
    trouble = trouble_of(example)
    assert not trouble, trouble


def test_what_is_not_as_shown_is_told() -> None:
    class Wrong:
        """Half of it.

        >>> 3 / 2
        1
        """

    class Heir(Wrong):
        pass

    assert "Got:\n    1.5" in trouble_of(example_of("Wrong", Wrong))
    assert not example_of("Heir", Heir).examples
