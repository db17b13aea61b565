"""What every test stands on: no way out to the network, real data if it is there, a real Spark."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from repeatable import DRAWS, repeatable

# Deadlines measure the machine, not the code. At a desk, and above all in the long runs, examples are new
# each time; in CI they are the same each time, so that what fails there is what the change broke.
hypothesis.settings.register_profile("desk", deadline=None, print_blob=True, derandomize=False)
_DESK = hypothesis.settings.get_profile("desk")
hypothesis.settings.register_profile("ci", parent=_DESK, derandomize=True)
hypothesis.settings.register_profile("soak", parent=_DESK, max_examples=2_000)
_PROFILE = "soak" if os.environ.get("SFUMATO_SOAK") else "ci" if os.environ.get("CI") else "desk"
hypothesis.settings.load_profile(_PROFILE)

# A shell's "&" leaves SIGINT ignored, and every process that is started from here would inherit that: the
# tests of Ctrl-C would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# --- no network -----------------------------------------------------------------------------------

_LOOPBACK = ("127.", "::1", "localhost", "0:0:0:0:0:0:0:1", "::ffff:127.")


class NetworkBlockedError(AssertionError):
    """Something tried to leave the machine."""


def _stays_here(family: int, address: Any) -> bool:
    """Unix sockets and loopback stay on the machine: Spark and PostgreSQL speak through them."""
    if family == getattr(socket, "AF_UNIX", object()):
        return True
    return isinstance(address, tuple) and str(address[0]).startswith(_LOOPBACK)


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Iterator[None]:
    """Refuse every connection and every name look-up that would leave the machine.

    This sees what Python opens; libraries in C (DuckDB, libpq) are told apart in
    test_architecture.py, which runs them where the kernel itself has no way out.
    """
    genuine = {name: getattr(socket.socket, name) for name in ("connect", "connect_ex", "sendto")}
    look_up = socket.getaddrinfo

    def guarded(name: str) -> Any:
        def method(self: socket.socket, *args: Any) -> Any:
            # sendto(data, [flags,] address): the address is the last argument in all three.
            if not _stays_here(self.family, args[-1]):
                raise NetworkBlockedError(f"a test called socket.{name} towards another machine")
            return genuine[name](self, *args)

        return method

    def guarded_look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        text = host.decode() if isinstance(host, bytes) else host
        if text and not text.startswith((*_LOOPBACK, "0.0.0.0")) and text != socket.gethostname():
            raise NetworkBlockedError("a test looked up the name of another machine")
        return look_up(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        for name in genuine:
            patch.setattr(socket.socket, name, guarded(name))
        patch.setattr(socket, "getaddrinfo", guarded_look_up)
        yield


# --- no traces -------------------------------------------------------------------------------------


@pytest.fixture(autouse=True, scope="session")
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The witnesses of ledgers are kept apart from those of the person who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_STATE", str(tmp_path_factory.mktemp("state")))
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))  # whom a developer trusts
        patch.delenv("SFUMATO_TRUST", raising=False)
        yield


@pytest.fixture(autouse=True)
def own_people(own_state: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Each test is a machine of its own: the people of one were not paid for by another."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_STATE", str(tmp_path_factory.mktemp("state")))
        yield


# --- draws ------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True, scope="session")
def repeatable_draws() -> Iterator[None]:
    """Noise and keys that are the same in each run of CI, and genuine elsewhere (see `repeatable`)."""
    with repeatable():
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture of the test draws, its stream begins."""
    of_noise = Path(__file__).parent / "privacy" in item.path.parents
    DRAWS.begin(item.nodeid.partition("@")[0], repeatable=_PROFILE == "ci" and not of_noise)


# --- side by side ---------------------------------------------------------------------------------


_SHARED = (("spark", "spark"), ("postgres", "postgres_url"), ("mariadb", "mariadb_url"))


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """One worker starts Spark, one talks to each database: a session is dear, or shared."""
    if part := os.environ.get("SFUMATO_PART"):
        _keep_part(config, items, part)
    for item in items:
        needed = getattr(item, "fixturenames", ())
        for name, fixture in _SHARED:
            if fixture in needed or f"[{name}" in item.nodeid or f"-{name}" in item.nodeid:
                item.add_marker(pytest.mark.xdist_group(name))
    yield
    for item in items:
        if item.get_closest_marker("xdist_group") is None and _shares_with_its_file(item):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
    if getattr(config.option, "loadgroup", False):
        for item in items:
            _tell_group(item)


def _shares_with_its_file(item: pytest.Item) -> bool:
    """Whether it asks for something that is made once a file: with every worker that gets a test of the file
    it would be made once more."""
    fixtures = getattr(item, "_fixtureinfo", None)
    known = fixtures.name2fixturedefs if fixtures is not None else {}
    return any(found[-1].scope == "module" for name, found in known.items() if name in item.fixturenames)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Each worker compiles its share of the test files before it collects all of them.

    In a fresh clone every worker would compile every file, all at the same moment: a fifth of a minute each.
    These are pytest's own functions without a promise; where they are others, each compiles for itself.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None or sys.dont_write_bytecode:
        return
    try:
        from _pytest.assertion import rewrite

        state = session.config.stash[rewrite.assertstate_key]
        files = sorted(Path(__file__).parent.rglob("test_*.py"))
        for file in files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
            folder = rewrite.get_cache_dir(file)
            compiled = folder / (file.stem + rewrite.PYC_TAIL)
            if rewrite.try_makedirs(folder) and rewrite._read_pyc(file, compiled) is None:
                source, code = rewrite._rewrite_test(file, session.config)
                rewrite._write_pyc(state, code, source, compiled)
    except (ImportError, AttributeError, TypeError, ValueError, KeyError, SyntaxError):
        return


def pytest_collection_finish(session: pytest.Session) -> None:
    """What is there once all tests are loaded stays: no collection of garbage needs to look at it again.

    Thousands of tests and the libraries they import are millions of objects, and each full collection took
    seconds in every worker.
    """
    gc.collect()
    gc.freeze()


def _keep_part(config: pytest.Config, items: list[pytest.Item], part: str) -> None:
    """Of the long tests every n-th, from the k-th on, for the part k/n: the n parts are all of them."""
    k, _, n = part.partition("/")
    if not (k.isdecimal() and n.isdecimal() and 1 <= int(k) <= int(n)):
        raise pytest.UsageError("PART is k/n with 1 <= k <= n, as in: make soak PART=3/20")
    long = sorted((i for i in items if i.get_closest_marker("soak")), key=lambda item: item.nodeid)
    kept = set(long[int(k) - 1 :: int(n)])
    config.hook.pytest_deselected(items=[i for i in items if i not in kept])
    items[:] = [i for i in items if i in kept]


def _tell_group(item: pytest.Item) -> None:
    """The scheduler reads a group off the end of an id: xdist 3.8 writes it where pytest 9.2 no longer looks,
    and every group then falls apart without a word (pytest-xdist #1386)."""
    groups = sorted({str(mark.args[0]) for mark in item.iter_markers("xdist_group")})
    suffix = f"@{'_'.join(groups)}"
    if groups and hasattr(item, "_id") and not item.nodeid.endswith(suffix):
        item._id = type(item._id).parse(item.nodeid + suffix)


@pytest.fixture
def uncollected() -> Iterator[None]:
    """No garbage is collected: that costs what other tests left behind, and is not what is measured."""
    gc.disable()
    yield
    gc.enable()


# --- data and engines -----------------------------------------------------------------------------


@pytest.fixture(scope="session")
def peer() -> Callable[..., dict[str, Any]]:
    """Ask another tool about files; skips where its environment was not built."""
    import peers

    def ask(name: str, **question: Any) -> dict[str, Any]:
        if peers.python_of(name) is None:
            pytest.skip(f"the environment of {name} was not built (make peers)")
        return peers.ask(name, question)

    return ask


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real, public data that is not part of the project."""
    folder = os.environ.get("SFUMATO_DATA", "")
    if not folder:
        pytest.skip("SFUMATO_DATA is not set: no real data here")
    if not Path(folder).is_dir():
        pytest.skip("SFUMATO_DATA does not name a folder")
    return Path(folder).resolve()


@pytest.fixture(scope="session")
def postgres_url() -> str:
    """A PostgreSQL that tests may write to."""
    url = os.environ.get("SFUMATO_POSTGRES_URL", "")
    if not url:
        pytest.skip("SFUMATO_POSTGRES_URL is not set: no PostgreSQL here")
    return url


@pytest.fixture(scope="session")
def mariadb_url() -> str:
    """A MariaDB that tests may write to."""
    url = os.environ.get("SFUMATO_MYSQL_URL", "")
    if not url:
        pytest.skip("SFUMATO_MYSQL_URL is not set: no MariaDB here")
    if importlib.util.find_spec("MySQLdb") is None:
        pytest.skip("the driver of MariaDB, mysqlclient, is not installed")
    return url


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Spark session with two executor processes of their own, as on a cluster."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed")
    java_home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (java_home and Path(java_home, "bin", "java").exists()):
        pytest.skip("Spark needs Java, and there is none on this machine")
    session = _start_spark(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


def _start_spark(home: Path) -> Any:
    # Executors are new processes: they must find this interpreter and this loopback address.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    # The master of a local cluster writes its workers' folders below SPARK_WORKER_DIR.
    os.environ["SPARK_WORKER_DIR"] = str(home / "work")
    os.environ["SPARK_LOCAL_DIRS"] = str(home / "local")
    from pyspark.sql import SparkSession

    # Tables of a few rows: a second compiler and many collectors, which make long work quick, only cost.
    brief = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.default.parallelism": "4",
        "spark.executor.extraJavaOptions": brief,
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={home} {brief}",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("sfumato-tests")
    for name, setting in settings.items():
        builder = builder.config(name, setting)
    return builder.getOrCreate()
