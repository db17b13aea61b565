"""Reads the source as a tree and reports what breaks a rule of the house, as `file:line what`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
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
    "betavariate", "chisquare", "expovariate", "exponential", "gauss", "geometric", "gumbel", "laplace",
    "logistic", "lognormal", "lognormvariate", "multivariate_normal", "normal", "normalvariate", "poisson",
    "randn", "rvs", "standard_cauchy", "standard_exponential", "standard_gamma", "standard_normal",
    "standard_t", "triangular", "vonmises", "wald", "weibull",
}  # fmt: skip
_GENERATOR_TYPES = {"numpy.random.Generator", "numpy.random.BitGenerator"}  # as annotations they draw nothing
_ENTROPY = {f"secrets.{n}" for n in ("token_bytes", "token_hex", "token_urlsafe", "compare_digest")}
_ENGINES_DRAW = re.compile(
    r"\b(?:random|rand|randn|setseed)\s*\(|\busing\s+sample\b|\btablesample\b", re.IGNORECASE
)


@cache
def parsed() -> dict[str, ast.Module]:
    """Every module of the house by its path, read once for all rules that a process tries."""
    return {
        path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(SOURCE.rglob("*.py"))
    }


@cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """All of a module's tree, walked once for all rules: a walk takes longer than most rules."""
    return tuple(ast.walk(tree))


def stray_noise(tree: ast.Module, file: str) -> Iterator[tuple[int, str]]:
    """Randomness where none belongs: global state, other libraries, distributions that look like noise.

    A name is followed through what it was imported as, so that another name for numpy hides nothing.
    """
    simulates = file.split("/")[0].removesuffix(".py") in SIMULATION_ROOMS
    known, prose = _bound_names(tree), _docstrings(tree)
    inner = {id(node.value) for node in nodes(tree) if isinstance(node, ast.Attribute)}
    for node in nodes(tree):
        names = _imported(node)
        if id(node) not in inner:  # of a.b.c the whole
            names.append(_full_name(node, known))
        for fault in filter(None, (_stray_name(name, file) for name in names)):
            yield node.lineno, fault
        if not simulates and file != NOISE_ROOM and (method := _reached(node)) in _DISTRIBUTIONS:
            yield node.lineno, f".{method} draws noise outside privacy/noise.py"
        text = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and id(node) not in prose and _ENGINES_DRAW.search(text):
            yield node.lineno, "an engine is asked for random numbers: they hang on no key"


def _stray_name(name: str, file: str) -> str:
    """What is wrong with a module or one of its names, here; empty if nothing is."""
    room, _, rest = name.partition(".")
    if room == "opendp" and file != NOISE_ROOM:
        return "opendp is used outside privacy/noise.py"
    if room == "random":
        return "the random module has global state"
    if f"{name}.".startswith("numpy.random.") and file != STREAM_ROOM and name not in _GENERATOR_TYPES:
        return f"{name} outside seeds.py"
    if (room == "secrets" and rest and name not in _ENTROPY) or name in ("os.urandom", "os.getrandom"):
        return f"{name}: keys come from seeds.py, names and tokens from secrets.token_hex and the like"
    return ""


MINTS = {"privacy/grants.py", "privacy/ledger/ledger.py"}


def forged_grants(tree: ast.Module, file: str) -> Iterator[tuple[int, str]]:
    """Grants that are not paid for: only a ledger makes them, after the debit is on disk."""
    for node in nodes(tree):
        names = {getattr(node, "id", ""), getattr(node, "attr", "")}
        if isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
        if isinstance(node, ast.Constant):
            names = {node.value} if isinstance(node.value, str) else set()
        if names & {"_MINT", "_mint", "_live"} and file not in MINTS:
            yield node.lineno, "a grant is made outside the ledger"


def _bound_names(tree: ast.Module) -> dict[str, str]:
    """What each imported name stands for: np -> numpy, r -> numpy.random."""
    bound = {}
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            bound |= {
                a.asname or a.name.split(".")[0]: a.name if a.asname else a.name.split(".")[0]
                for a in node.names
            }
        elif isinstance(node, ast.ImportFrom) and not node.level:
            bound |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    return {"np": "numpy", "numpy": "numpy", **bound}


def _full_name(node: ast.AST, known: dict[str, str]) -> str:
    """A dotted name with its first part as it was imported; empty for what was not."""
    if isinstance(node, ast.Name):
        return known.get(node.id, "")
    if isinstance(node, ast.Attribute) and (owner := _full_name(node.value, known)):
        return f"{owner}.{node.attr}"
    return ""


def _reached(node: ast.AST) -> str:
    """The attribute that is reached for, called or not: x.laplace, getattr(x, "laplace")."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "getattr" and len(node.args) > 1:
        name = node.args[1]
        return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""
    return ""


def _docstrings(tree: ast.Module) -> set[int]:
    """Strings that stand by themselves: prose."""
    return {id(node.value) for node in nodes(tree) if isinstance(node, ast.Expr)}


def _imported(node: ast.AST) -> list[str]:
    """The modules and names that a statement imports, or a call by their name as text."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Call) and _imports_by_text(node):
        return [str(a.value) for a in node.args[:1] if isinstance(a, ast.Constant)]
    return []


def _imports_by_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__"))


# --- layers ---------------------------------------------------------------------------------------


def hidden_imports(tree: ast.Module, file: str) -> Iterator[tuple[int, str]]:
    """Rooms that are imported by their name as text: import-linter does not see them."""
    # The face of the package names everything, lazily; so does the one table of methods.
    lazy = ("__init__.py", "methods/names.py")
    for node in nodes(tree):
        if _imports_by_text(node) and "sfumato" in ast.unparse(node) and file not in lazy:
            yield node.lineno, "a room is imported where no test of the layers looks"


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
    taken = _taken_from_cells(tree)
    for node in nodes(tree):
        if isinstance(node, ast.Call) and _makes_a_message(node, errors):
            texts = [*node.args, *(k.value for k in node.keywords if k.arg != "values")]
            for text in texts:
                for leak in _leaky_parts(text):
                    if (ast.unparse(leak), leak.lineno) in safe:
                        continue
                    yield leak.lineno, f"a message quotes `{ast.unparse(leak)}`"
                shown = {n.id for n in _shown(text) if isinstance(n, ast.Name)}
                for name in sorted(shown & taken.get(node.lineno, set())):
                    yield node.lineno, f"a message quotes `{name}`, one of many cells"


def foreign_causes(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Errors that drag another library's along: a traceback would print its message, and the cell in it."""
    for handler in nodes(tree):
        for node in ast.walk(handler) if isinstance(handler, ast.ExceptHandler) else ():
            if (
                isinstance(node, ast.Raise)
                and node.exc is not None
                and ast.unparse(node)[-10:] != " from None"
            ):
                yield node.lineno, "an error is raised without `from None`"


def _safe_names(tree: ast.Module, kinds_without_cells: set[str]) -> set[tuple[str, int]]:
    """Exceptions by name and line, where the handler catches only kinds that quote no cell."""
    found = set()
    for node in nodes(tree):
        if isinstance(node, ast.ExceptHandler) and node.type is not None and node.name:
            kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            if {ast.unparse(k) for k in kinds} <= kinds_without_cells:
                found |= {(node.name, line) for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    return found


def _taken_from_cells(tree: ast.Module) -> dict[int, set[str]]:
    """By line, the names that a loop over cells gives to one of them."""
    found: dict[int, set[str]] = {}
    for node in nodes(tree):
        if isinstance(node, ast.For) and any(_leaky_parts(node.iter)):
            names = {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
            for line in range(node.lineno, (node.end_lineno or 0) + 1):
                found.setdefault(line, set()).update(names)
    return found


def _shown(node: ast.AST) -> Iterator[ast.AST]:
    """What of an expression comes out in its text: no condition, no index, no name of a thing."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in _HARMLESS_CALLS:
        return
    if isinstance(node, ast.Attribute) and node.attr in {"name", *_HARMLESS_ATTRIBUTES}:
        return
    yield node
    hidden = getattr(node, "test", None) or getattr(node, "slice", None)
    for child in ast.iter_child_nodes(node):
        if child is not hidden:
            yield from _shown(child)


def _makes_a_message(call: ast.Call, errors: set[str]) -> bool:
    name = ast.unparse(call.func)
    if name.split(".")[-1] in errors or name == "warnings.warn":
        return True
    owner, _, method = name.rpartition(".")
    return method == "append" and owner.split(".")[-1] in _MESSAGE_LISTS


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
