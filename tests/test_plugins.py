"""Guests are found by entry points only, loaded late, and one that fails takes nothing else with it."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from architecture import SOURCE
from guests import METHOD, installed

import sfumato as sf
from sfumato import plugins
from sfumato.errors import ParameterError, SfumatoWarning
from sfumato.methods import names
from sfumato.methods.declaration import Does, declaration_of
from sfumato.plan.step import step
from sfumato.plugins import Group

Install = Callable[[str, str, Mapping[str, Mapping[str, str]]], Path]
CANARY = "zebra7319"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    before = set(sys.modules)

    def add(package: str, code: str, entries: Mapping[str, Mapping[str, str]]) -> Path:
        folder = installed(tmp_path / "site" / package, package, code, entries)
        monkeypatch.syspath_prepend(str(folder))
        return folder

    yield add
    plugins.forget()
    for name in set(sys.modules) - before:
        if name.startswith("guest_"):
            del sys.modules[name]


def test_a_method_of_a_guest_is_found_and_loaded_late(install: Install) -> None:
    install("guest-a", METHOD.format(name="nothing"), {"sfumato.methods": {"nothing": "Method"}})
    known = names.MethodTable(lambda kind: kind)
    assert list(known)[-1] == "nothing" and "local" in known and "guest_a" not in sys.modules
    kind = names.find("nothing")
    assert declaration_of(kind).name == "nothing" and not names.is_ours(kind)
    assert names.names(Does.REPLACE) == ["pseudonymize", "nothing"]
    assert "nothing" in names.MethodTable(lambda kind: kind, Does.REPLACE)
    assert "nothing" not in names.MethodTable(lambda kind: kind, Does.SYNTHESIZE)
    assert step("nothing").kind is kind


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (f"raise ImportError('{CANARY}')", "it cannot be loaded (ImportError)"),
        (f"import {CANARY}", "it cannot be loaded (ModuleNotFoundError)"),
        (f"raise SystemExit('{CANARY}')", "it cannot be loaded (SystemExit)"),
        ("x = 1", "it cannot be loaded (AttributeError)"),
        (f"this is no {CANARY}", "it cannot be loaded (SyntaxError)"),
        ("Method = 3", "it must be a class"),
        ("class Method: pass", "Method is not a method: it declares nothing"),
        (METHOD.format(name="another"), "it declares itself as 'another'"),
    ],
)
def test_a_guest_that_fails_is_named_and_nothing_else_is_lost(
    install: Install, code: str, words: str
) -> None:
    install("guest-good", METHOD.format(name="good"), {"sfumato.methods": {"good": "Method"}})
    install("guest-bad", code, {"sfumato.methods": {"bad": "Method"}})
    with pytest.warns(SfumatoWarning) as warned:
        assert names.names(Does.REPLACE) == ["pseudonymize", "good"]
    (one,) = warned
    assert "bad of guest-bad (sfumato.methods): left out" in str(one.message)
    assert CANARY not in str(one.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        with pytest.raises(ParameterError, match="no method is called that"):
            names.find("bad")
        assert names.find("good") and names.find("local")


def test_a_name_of_ours_and_a_shared_one_are_nobodys(install: Install) -> None:
    install("guest-thief", METHOD.format(name="local"), {"sfumato.methods": {"local": "Method"}})
    with pytest.warns(SfumatoWarning, match="local of guest-thief .* the name is one of ours"):
        assert names.names() == list(names.OURS)
    assert names.is_ours(names.find("local")) and "guest_thief" not in sys.modules
    for package in ("guest-one", "guest-two"):
        install(package, METHOD.format(name="twin"), {"sfumato.methods": {"twin": "Method"}})
    with pytest.warns(SfumatoWarning, match="guest-one .*guest-two .* they share one name"):
        assert "twin" not in names.names()
    with pytest.raises(ParameterError, match="no method is called that"):
        names.find("twin")
    assert not {"guest_one", "guest_two"} & set(sys.modules)


def test_guests_can_be_switched_off(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("guest-a", METHOD.format(name="nothing"), {"sfumato.methods": {"nothing": "Method"}})
    with plugins.disabled():
        assert not plugins.enabled() and "nothing" not in names.names()
        assert "guest_a" not in sys.modules
        with plugins.disabled():
            pass
        assert not plugins.enabled()
    assert plugins.enabled() and "nothing" in names.names()
    monkeypatch.setenv(plugins.VARIABLE, "OFF")
    assert "nothing" not in names.names()
    monkeypatch.setenv(plugins.VARIABLE, "perhaps")
    with pytest.raises(ParameterError, match="must be on or off") as refused:
        names.names()
    assert "off" in refused.value.hint
    monkeypatch.setenv(plugins.VARIABLE, "on")
    assert "nothing" in names.names()


def test_what_is_registered_in_python_has_a_name_of_its_own(install: Install) -> None:
    install("guest-a", METHOD.format(name="nothing"), {"sfumato.methods": {"nothing": "Method"}})
    space: dict[str, type] = {}
    exec(METHOD.format(name="mine"), space)
    mine = space["Method"]
    assert names.register(mine) is mine and names.register(mine) is mine
    with plugins.disabled():
        assert names.find("mine") is mine  # it is loaded already
    for taken in ("mine", "nothing", "local"):
        exec(METHOD.format(name=taken), space)
        with pytest.raises(ParameterError, match="called"):
            names.register(space["Method"])
    plugins.register("sfumato.sources", "x", print)
    with pytest.raises(ParameterError, match="taken already"):
        plugins.register(Group.SOURCES, "x", repr)
    with pytest.raises(ValueError):
        plugins.register("sfumato.nothing", "x", print)


@pytest.mark.parametrize(
    "named", ["os", "os.path:join", "guest_a", "guest_a:Method", "sfumato.plugins", "../guest_a", "nothin"]
)
def test_a_plan_never_names_code(install: Install, tmp_path: Path, named: str) -> None:
    folder = install("guest-a", METHOD.format(name="nothing"), {"sfumato.methods": {"nothing": "Method"}})
    (folder / "guest_hidden.py").write_text("raise SystemExit", encoding="utf-8")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f'sfumato_plan = 2\n[input]\ndata = "x.csv"\nschema = "x.toml"\n[[steps]]\nmethod = "{named}"\n',
        encoding="utf-8",
    )
    with pytest.raises(sf.PlanError, match="step 1: method must be one of"):
        sf.Plan.read(plan)
    assert not {"guest_a", "guest_hidden"} & set(sys.modules)


@pytest.mark.parametrize(
    "script",
    [
        "import sfumato",
        "import sfumato; sfumato.scan; sfumato.verify; sfumato.anonymize",
        "from sfumato.cli import main; main(['--help'])",
        "from sfumato.cli import main; main(['--version'])",
        "import sfumato; from sfumato.methods.names import find; find('datafly')",
    ],
)
def test_nothing_is_loaded_for_what_needs_no_guest(tmp_path: Path, script: str) -> None:
    site = installed(tmp_path, "guest-a", "raise SystemExit(3)", {g: {"guest": "x"} for g in Group})
    ask = f"import sys\ntry:\n  {script}\nexcept SystemExit as e:\n  assert not e.code, e\n"
    ask += "print('loaded' if 'guest_a' in sys.modules else 'nothing')"
    paths = os.pathsep.join([str(SOURCE.parent), str(site)])
    done = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}
    )
    assert done.returncode == 0 and done.stdout.split()[-1] == "nothing", done.stderr
    assert "left out" not in done.stderr
