"""The rules of the house, each with a test that shows that the rule can be broken."""

from __future__ import annotations

import ast
import inspect
import os
import re
import shutil
import statistics
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path

import architecture
import provoked
import pytest
from architecture import ROOT, SOURCE, nodes, parsed
from cli_support import PATIENCE

import sfumato
from sfumato import errors

READS_ALL = pytest.mark.xdist_group("house")  # one worker parses the house for all of its rules
MODULES = sorted(SOURCE.rglob("*.py"))
HEAVY = (
    "duckdb",
    "ibis",
    "numba",
    "opendp",
    "pandas",
    "polars",
    "pyreadstat",
    "pyspark",
    "scipy",
    "sqlalchemy",
)


def python(
    *arguments: str, before: tuple[str, ...] = (), cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter that sees this source tree."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    return subprocess.run(
        [*before, sys.executable, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        cwd=cwd,
        timeout=PATIENCE,
    )


# --- public names ---------------------------------------------------------------------------------


def documented_names() -> list[str]:
    """The names in the first column of the tables of docs/names.md."""
    page = (ROOT / "docs" / "names.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE)


def test_public_names_are_the_documented_ones() -> None:
    documented = documented_names()
    assert len(documented) == len(set(documented))
    assert sorted(documented) == sorted(sfumato.__all__)
    assert sorted(dir(sfumato)) == sorted(sfumato.__all__)


@pytest.mark.parametrize("name", sorted(sfumato.__all__))
def test_public_name_resolves_and_explains_itself(name: str) -> None:
    found = getattr(sfumato, name)
    assert name == "__version__" or inspect.getdoc(found)


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    guarded = next(n for n in tree.body if isinstance(n, ast.If))
    seen = {"__version__"}
    for node in guarded.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            seen |= {str(alias.asname) for alias in node.names}
    assert seen == set(sfumato.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        sfumato.nonsense  # noqa: B018


# --- reading the source ---------------------------------------------------------------------------


@READS_ALL
def test_every_public_name_has_a_docstring() -> None:
    faults = [
        f"{f}:{n} {what}" for f, tree in parsed().items() for n, what in architecture.undocumented(tree)
    ]
    assert not faults, "\n".join(faults)


@READS_ALL
def test_no_noise_outside_its_room() -> None:
    faults = [
        f"{f}:{n} {what}" for f, tree in parsed().items() for n, what in architecture.stray_noise(tree, f)
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    "planted",
    [
        "import random",
        "from random import gauss",
        "from numpy.random import default_rng",
        "from numpy import random",
        "import opendp.prelude as dp",
        "from opendp import measurements",
        "x = np.random.default_rng(1)",
        "x = numpy.random.laplace(size=3)",
        "x = generator.laplace(0, 1)",
        "x = self.stream.standard_normal(3)",
        "import numpy as xp\nx = xp.random.default_rng(1)",
        "import numpy\nrandom = numpy.random",
        "import opendp as harmless",
        "import importlib\ndp = importlib.import_module('opendp.prelude')",
        "r = __import__('random')",
        "draw = generator.laplace",
        "draw = getattr(generator, 'laplace')",
        "from scipy import stats\nx = stats.norm.rvs(3)",
        "import secrets as s\nx = s.SystemRandom()",
        "from secrets import randbelow",
        "import os\nx = os.urandom(8)",
        "connection.execute('select n + random() from t')",
        "rows = f'{name} USING SAMPLE 10%'",
    ],
)
def test_planted_noise_is_found(planted: str) -> None:
    assert list(architecture.stray_noise(ast.parse(planted), "counts/__init__.py"))


@READS_ALL
def test_grants_are_made_by_ledgers_only() -> None:
    faults = [
        f"{f}:{n} {what}" for f, tree in parsed().items() for n, what in architecture.forged_grants(tree, f)
    ]
    assert not faults, "\n".join(faults)
    for planted in (
        "from sfumato.privacy.grants import _MINT as m",
        "g = Grant._mint(m, budget, 'epsilon', 1, 0, '')",
        "m = getattr(grants, '_MINT')",
        "grants._live[ticket] = (1.0, None, 0.0)",
    ):
        assert list(architecture.forged_grants(ast.parse(planted), "synthesis/pegs.py"))


def test_simulation_and_streams_may_draw() -> None:
    assert not list(architecture.stray_noise(ast.parse("x = secrets.token_hex(8)"), "counts/tables.py"))
    assert not list(architecture.stray_noise(ast.parse("def f(g: np.random.Generator): ..."), "table.py"))
    assert not list(architecture.stray_noise(ast.parse("x = generator.normal()"), "samples/discharges.py"))
    assert not list(architecture.stray_noise(ast.parse("x = np.random.Philox(key=k)"), "seeds.py"))
    assert not list(architecture.stray_noise(ast.parse("import opendp.prelude"), "privacy/noise.py"))


@READS_ALL
def test_no_import_is_hidden_from_the_test_of_the_layers() -> None:
    faults = [
        f"{f}:{n} {what}" for f, tree in parsed().items() for n, what in architecture.hidden_imports(tree, f)
    ]
    assert not faults, "\n".join(faults)
    for planted in ("importlib.import_module('sfumato.plan')", "__import__(f'sfumato.{room}')"):
        assert list(architecture.hidden_imports(ast.parse(planted), "counts/tables.py"))


@READS_ALL
def test_a_method_is_found_by_its_name_only_above_the_methods() -> None:
    """The table of names imports anything: who judges, or is a method, must not ask it."""
    rooms = set()
    for file, tree in parsed().items():
        for node in nodes(tree):
            if isinstance(node, ast.ImportFrom) and node.module == "sfumato.methods.names":
                rooms.add(file.partition("/")[0])
    assert rooms <= {"plan", "cli", "studio", "methods", "testing.py"}


ERROR_NAMES = {
    n for n, c in vars(errors).items() if isinstance(c, type) and issubclass(c, errors.SfumatoError)
}


@READS_ALL
def test_no_cell_values_in_messages() -> None:
    faults = [
        f"{f}:{n} {what}"
        for f, tree in parsed().items()
        for n, what in architecture.leaky_messages(tree, ERROR_NAMES)
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("planted", "leaks"),
    [
        ("raise SchemaError(f'{value} is not a level')", True),
        ("raise SchemaError('bad', hint=f'remove {row[0]!r}')", True),
        ("raise DataError(f'cannot read: {exc}')", True),
        ("raise DataError('cannot read: ' + str(exc))", True),
        ("faults.append(f'{column.levels[0]} repeats')", True),
        ("warnings.warn(f'{cell}', SfumatoWarning)", True),
        ("raise DataError('not a level: ' + value)", True),
        ("raise DataError('not a level: %s' % value)", True),
        ("raise DataError('not a level: {}'.format(cell))", True),
        ("raise DataError(', '.join(levels))", True),
        ("for v in values:\n  raise DataError(f'{v} is not a level')", True),
        ("for i, v in enumerate(cells):\n  faults.append('no level: ' + v)", True),
        ("for i, v in enumerate(cells):\n  raise DataError(f'column {names[i]}')", False),
        ("raise SchemaError(f'{len(values)} values of {column.name}')", False),
        ("raise SchemaError('bad', values=[str(v) for v in values])", False),
        ("raise OutputError(f'cannot write: {exc.strerror}')", False),
        ("try: pass\nexcept DataError as exc: faults.append(f'{exc.message}')", False),
        ("try: pass\nexcept OSError as exc: raise DataError(f'{exc}')", False),
        ("try: pass\nexcept (OSError, ValueError) as exc: raise DataError(f'{exc}')", True),
    ],
)
def test_planted_values_are_found(planted: str, leaks: bool) -> None:
    assert bool(list(architecture.leaky_messages(ast.parse(planted), ERROR_NAMES))) == leaks


@READS_ALL
def test_no_error_brings_along_that_of_another_library() -> None:
    faults = [
        f"{f}:{n} {what}" for f, tree in parsed().items() for n, what in architecture.foreign_causes(tree)
    ]
    assert not faults, "\n".join(faults)
    planted = "try: pass\nexcept ValueError as e:\n  raise DataError('x'){}"
    for end, found in (("", 1), (" from e", 1), (" from None", 0)):
        assert len(list(architecture.foreign_causes(ast.parse(planted.format(end))))) == found


@pytest.mark.parametrize("name", sorted(provoked.PROVOKED))
def test_a_provoked_error_hides_the_cell(name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as warned, pytest.raises(errors.SfumatoError) as raised:
        warnings.simplefilter("always")
        provoked.PROVOKED[name](tmp_path)
    error = raised.value
    # Causes count too: an uncaught error prints the whole chain into somebody's log. The lines of
    # code that a traceback quotes are not shown here, because those of the tests name the canary.
    chain: list[BaseException] = [error]
    while cause := chain[-1].__cause__ or (None if chain[-1].__suppress_context__ else chain[-1].__context__):
        chain.append(cause)
    shown = "".join(line for link in chain for line in traceback.format_exception_only(link))
    shown += repr(error) + "".join(str(w.message) for w in warned)
    assert provoked.CANARY not in shown
    assert error.hint


# --- the tree -------------------------------------------------------------------------------------

_SOMEBODYS_MACHINE = re.compile(
    r"(?<![\w.~}])/(?:home|root|work|Users)/\w|\b[A-Z]:\\{1,2}(?:Users|Windows|Program|Temp|work|data)",
    re.IGNORECASE,
)
_NOT_OURS = {".git", ".venv", ".peers", "site", "build", "dist", "artifacts", "__pycache__"}


def own_files() -> Iterator[Path]:
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [
            f
            for f in folders
            if f not in _NOT_OURS and not f.endswith(("_cache", ".egg-info")) and f != ".hypothesis"
        ]
        yield from (Path(folder, f) for f in files if f != ".git")


def test_no_absolute_paths_in_the_tree() -> None:
    faults = []
    for path in own_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        faults += [
            f"{path.relative_to(ROOT)}:{n}"
            for n, line in enumerate(text.splitlines(), 1)
            if _SOMEBODYS_MACHINE.search(line)
        ]
    assert not faults, "\n".join(faults)


def test_a_planted_path_is_found() -> None:
    for parts in (["", "home", "ann", "x.csv"], ["", "root", "x"], ["C:", "Users", "ann"]):
        text = ("\\" if parts[0] else "/").join(parts)
        assert _SOMEBODYS_MACHINE.search(f'open("{text}")')
    assert not _SOMEBODYS_MACHINE.search("https://example.org/work/item and ./work/x")


def test_no_file_is_too_long_to_read() -> None:
    lengths = {
        p.relative_to(SOURCE).as_posix(): len(p.read_text(encoding="utf-8").splitlines()) for p in MODULES
    }
    assert not {f: n for f, n in lengths.items() if n > 400}


# --- importing ------------------------------------------------------------------------------------


def test_import_takes_less_than_half_a_second() -> None:
    script = "import time; t = time.process_time(); import sfumato; print(time.process_time() - t)"
    python("-c", script)  # the first run may write bytecode
    assert statistics.median(float(python("-c", script).stdout) for _ in range(5)) < 0.5


# Predictors are scikit-learn's own kind, so that naming one loads scikit-learn; nothing else does.
_NAMED = (
    "[getattr(sfumato, n) for n in dir(sfumato) if not sfumato._HOME.get(n, '').startswith('prediction.')]"
)


@pytest.mark.parametrize("script", ["import sfumato", f"import sfumato; {_NAMED}"])
def test_import_loads_no_heavy_library(script: str) -> None:
    ask = f"{script}\nimport sys; print(*sorted(set(sys.modules) & set({HEAVY!r})))"
    answer = python("-c", ask)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() == []


# --- the network ----------------------------------------------------------------------------------

_USE = """
import sys

def forbid(event, arguments):
    # A pair of local sockets wakes up who waits for Ctrl-C; it leads nowhere.
    if event.startswith("socket.") and not (event == "socket.__new__" and arguments[1] == 1):
        raise RuntimeError("a socket was used: " + event)

if "--audit" in sys.argv:
    sys.addaudithook(forbid)
    import socket
    assert socket.AF_UNIX == 1
    for use in (socket.socket, lambda: socket.getaddrinfo("example.org", 80)):
        try:
            use()
        except RuntimeError:
            continue
        sys.exit("the hook does not bite")

from pathlib import Path
import sfumato as sf
from sfumato.counts import accumulator
from sfumato.privacy.noise import laplace

Path("visits.csv").write_text("sex,age\\nF,41\\nM,35\\nF,41\\n")
table = sf.scan("visits.csv")
assert table.counts("sex").total == 3
assert table.rows() == 3
accumulator.DENSE_CELLS = 1  # DuckDB counts
assert table.counts("sex", "age").total == 3
sf.pseudonymize(table, columns=["sex"]).save("release")
assert sf.verify("release").ok and sf.Release.load("release").counts("age").total == 3
ledger = sf.Ledger.open("visits.ledger", 1.0)
assert laplace(table.counts("sex").n, 1, ledger.grant(epsilon=1.0, purpose="a test")).values.shape == (2,)
print("done")
"""


def test_it_opens_no_socket_and_needs_no_network(tmp_path: Path) -> None:
    """What Python opens is seen by a hook; libraries in C run where the kernel has no way out."""
    apart: tuple[str, ...] = ("unshare", "--user", "--map-root-user", "--net")
    if shutil.which("unshare") is None or subprocess.run([*apart, "true"], capture_output=True).returncode:
        apart = ()  # this system lets nobody make a network namespace
    answer = python("-W", "ignore", "-c", _USE, "--audit", before=apart, cwd=tmp_path)
    assert answer.stdout.strip() == "done", answer.stderr
