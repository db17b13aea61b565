"""A newcomer can hold the house in the head: short functions, one name for one thing, no circles."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from architecture import nodes, parsed

pytestmark = pytest.mark.xdist_group("house")  # one worker parses the house for all of its rules

# Words in -ing and -ed that are things. Whatever else ends so says what is done, not what lives there.
NOUNS = {
    "checked",  # the calls of pandas, checked: a name that users type
    "downcoding",
    "mapping",
    "matching",
    "nesting",
    "reading",
    "recoding",
    "rounding",
    "signing",
    "speed",
    "spelling",
    "testing",
}


@cache
def modules() -> dict[str, ast.Module]:
    """Every module by its name."""
    named = {}
    for path, tree in parsed().items():
        parts = ("sfumato", *Path(path).with_suffix("").parts)
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = tree
    return named


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (n for n in nodes(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def test_no_function_is_too_long_to_read() -> None:
    long = {
        f"{name}.{f.name}": length(f) for name, t in modules().items() for f in functions(t) if length(f) > 80
    }
    assert not long


def test_a_class_name_stands_for_one_thing() -> None:
    """But for criteria and the claims that they were met, which are named alike on purpose."""
    homes = defaultdict(list)
    for name, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(name)
    shared = {n: where for n, where in homes.items() if len(where) > 1}
    by_room = {n: sorted(w.split(".")[1] for w in where) for n, where in shared.items()}
    assert {n: where for n, where in by_room.items() if where != ["criteria", "privacy"]} == {}
    assert len(shared) <= 10


def test_modules_are_named_after_things() -> None:
    last = {name: name.rsplit(".", 1)[-1].rsplit("_", 1)[-1] for name in modules()}
    assert not [n for n, word in last.items() if word.endswith(("ing", "ed")) and word not in NOUNS]


# --- circles ---------------------------------------------------------------------------------------


def imported(tree: ast.Module, known: set[str]) -> set[str]:
    """The modules of the house that a module imports when it runs, at once or later."""
    only_types = {
        id(inner)
        for node in nodes(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    found = set()
    for node in nodes(tree):
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in only_types:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in known else node.module)
    return found & known


def circle(uses: dict[str, set[str]]) -> list[str]:
    """Modules that import each other, or nothing: what is left when all that leads nowhere is taken away."""
    left = {name: set(used) - {name} for name, used in uses.items()}
    while ends := {name for name, used in left.items() if not used}:
        left = {name: used - ends for name, used in left.items() if name not in ends}
    while starts := left.keys() - set().union(*left.values()):
        left = {name: used for name, used in left.items() if name not in starts}
    return sorted(left)


def test_no_module_imports_itself_in_a_circle() -> None:
    known = set(modules()) - {"sfumato"}  # the package's own face names everything, lazily
    assert circle({name: imported(modules()[name], known) for name in known}) == []


@pytest.mark.parametrize(
    ("uses", "found"),
    [
        ({"a": {"b"}, "b": {"a"}, "c": {"a"}, "d": set()}, ["a", "b"]),
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
    ],
)
def test_a_planted_circle_is_found(uses: dict[str, set[str]], found: list[str]) -> None:
    assert circle(uses) == found


# --- types -----------------------------------------------------------------------------------------


def test_any_is_said_only_where_nothing_else_can_be() -> None:
    """It may become less. Left: parsed JSON, options handed on, objects of libraries without types."""
    bare = 0
    for tree in modules().values():
        for f in functions(tree):
            a = f.args
            given = [x.annotation for x in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if x]
            bare += sum(isinstance(x, ast.Name) and x.id == "Any" for x in (*given, f.returns))
    assert bare <= 120
