"""Reads the source as a tree and reports what breaks a rule of the house, as `file:line what`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "sfumato"

# --- docstrings -----------------------------------------------------------------------------------


def undocumented(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Public modules, classes, functions and methods that say nothing about themselves."""
    if ast.get_docstring(tree) is None:
        yield 1, "the module has no docstring"
    todo: list[ast.Module | ast.ClassDef] = [tree]
    while todo:
        for node in todo.pop().body:
            if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if node.name.startswith("_") or _repeats_a_documented_name(node):
                continue
            if ast.get_docstring(node) is None:
                yield node.lineno, f"{node.name} has no docstring"
            if isinstance(node, ast.ClassDef):
                todo.append(node)


def _repeats_a_documented_name(node: ast.AST) -> bool:
    """Overloads and property setters: the docstring stands at the first or the last of them."""
    marks = [ast.unparse(d) for d in getattr(node, "decorator_list", [])]
    return any(m.endswith(("overload", ".setter", ".deleter", "override")) for m in marks)


# --- noise ----------------------------------------------------------------------------------------

NOISE_ROOM = "privacy/noise.py"
STREAM_ROOM = "seeds.py"  # makes generators from keys
SIMULATION_ROOMS = ("samples",)  # draws simulated persons; no promise rests on it

_DISTRIBUTIONS = {
    "chisquare", "exponential", "geometric", "gumbel", "laplace", "logistic", "lognormal",
    "multivariate_normal", "normal", "poisson", "standard_cauchy", "standard_exponential",
    "standard_gamma", "standard_normal", "standard_t", "triangular", "vonmises", "wald", "weibull",
}  # fmt: skip
_GENERATOR_TYPES = {"Generator", "BitGenerator"}  # as annotations they draw nothing


def stray_noise(tree: ast.Module, file: str) -> Iterator[tuple[int, str]]:
    """Randomness where none belongs: global state, other libraries, distributions that look like noise."""
    streams = file == STREAM_ROOM
    simulates = file.split("/")[0].removesuffix(".py") in SIMULATION_ROOMS
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for module in _imported(node):
                if module.split(".")[0] == "opendp" and file != NOISE_ROOM:
                    yield node.lineno, "opendp is imported outside privacy/noise.py"
                if module.split(".")[0] == "random":
                    yield node.lineno, "the random module has global state"
                if module.startswith("numpy.random") and not streams:
                    yield node.lineno, "numpy.random is imported outside seeds.py"
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("np.random", "numpy.random"):
            if not streams and node.attr not in _GENERATOR_TYPES:
                yield node.lineno, f"np.random.{node.attr} outside seeds.py"
        elif isinstance(node, ast.Call) and not simulates and file != NOISE_ROOM:
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if method in _DISTRIBUTIONS:
                yield node.lineno, f".{method}() draws noise outside privacy/noise.py"


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if node.level:
        return []
    return [f"{node.module}.{alias.name}" for alias in node.names]


# --- values in messages ---------------------------------------------------------------------------

_LEAKY = {"cell", "cells", "entry", "item", "level", "levels", "record", "records", "row", "value", "values"}
_FOREIGN = {"e", "err", "error", "exc", "exception"}  # another library's message may quote a cell
_HARMLESS_CALLS = {"len", "sum", "type", "isinstance", "any", "all"}
_HARMLESS_ATTRIBUTES = {"__class__", "__name__", "dtype", "errno", "filename", "lineno", "strerror", "type"}
# These say where and what kind, or name a file; they quote no cell.
_SAFE_EXCEPTIONS = {"tomllib.TOMLDecodeError", "OSError", "FileNotFoundError", "PermissionError"}
_MESSAGE_LISTS = {"complaints", "differences", "errors", "faults", "problems", "warnings"}


def leaky_messages(tree: ast.Module, errors: set[str]) -> Iterator[tuple[int, str]]:
    """Messages of our errors and warnings that quote a variable whose name says it holds a cell."""
    safe = _safe_names(tree, _SAFE_EXCEPTIONS | errors)  # our own messages are clean already
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _makes_a_message(node, errors):
            texts = [*node.args, *(k.value for k in node.keywords if k.arg != "values")]
            for text in texts:
                for leak in _leaks(text):
                    if (ast.unparse(leak), leak.lineno) in safe:
                        continue
                    yield leak.lineno, f"a message quotes `{ast.unparse(leak)}`"


def _safe_names(tree: ast.Module, kinds_without_cells: set[str]) -> set[tuple[str, int]]:
    """Exceptions by name and line, where the handler catches only kinds that quote no cell."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.type is not None and node.name:
            kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            if {ast.unparse(k) for k in kinds} <= kinds_without_cells:
                found |= {(node.name, line) for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    return found


def _makes_a_message(call: ast.Call, errors: set[str]) -> bool:
    name = ast.unparse(call.func)
    if name.split(".")[-1] in errors or name == "warnings.warn":
        return True
    owner, _, method = name.rpartition(".")
    return method == "append" and owner.split(".")[-1] in _MESSAGE_LISTS


def _leaks(text: ast.expr) -> Iterator[ast.expr]:
    for node in ast.walk(text):
        if isinstance(node, ast.FormattedValue):
            yield from _leaky_parts(node.value)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("str", "repr"):
            yield from (part for argument in node.args for part in _leaky_parts(argument))


def _leaky_parts(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Call) and ast.unparse(node.func) in _HARMLESS_CALLS:
        return
    if isinstance(node, ast.IfExp):  # the condition is not shown
        yield from _leaky_parts(node.body)
        yield from _leaky_parts(node.orelse)
        return
    if isinstance(node, ast.Attribute):
        if node.attr in _HARMLESS_ATTRIBUTES or (node.attr == "values" and _is_called_on_a_mapping(node)):
            return
        if node.attr in _LEAKY:
            yield node
            return
    if isinstance(node, ast.Name) and node.id in _LEAKY | _FOREIGN:
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _leaky_parts(child)


def _is_called_on_a_mapping(node: ast.Attribute) -> bool:
    """`counts.values()` in a sum is arithmetic; the sum itself is caught above."""
    return isinstance(node.value, ast.Name) and node.value.id.endswith("counts")
