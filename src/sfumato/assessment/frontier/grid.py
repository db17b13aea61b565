"""Many methods, settings and repeats, run side by side; each result is kept as soon as it is there.

A run draws from a key of its own, derived from the grid's key and from what is run, never from when or
where: the results are the same for any number of workers, and after a crash as without one.
"""

from __future__ import annotations

import functools
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any, Protocol

from sfumato.assessment.frontier.cache import Cache
from sfumato.errors import ParameterError, SfumatoError, listed
from sfumato.progress import report
from sfumato.release import Release
from sfumato.release.fingerprint import fingerprint
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table

Made = Release | Table
Measure = Callable[[Table, Table, Table | None, Key], Score]
"""(original, released, control or None, key) -> Score."""


class Runnable(Protocol):
    """What a grid runs: anything with a name and settings that makes a release of a table."""

    @property
    def name(self) -> str:
        """Of the method, the same for all its settings."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What sets this one apart from others of the same name."""

    def __call__(self, table: Table, key: Key, /) -> Made:
        """A release of the table, or a plain table."""


@dataclass(frozen=True)
class Candidate:
    """A function as a method: called as `make(table, key, **settings)`, so what is shown is what was run."""

    name: str
    make: Callable[..., Made]
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __call__(self, table: Table, key: Key, /) -> Made:
        """A release of the table."""
        return self.make(table, key, **self.settings)


@dataclass(frozen=True)
class Trial:
    """One method with one setting, once. method: its place in the list of methods.

    trouble: why there is no result; then risk and utility are None.
    reused: it was found in the cache.
    """

    method: int
    repeat: int
    risk: Score | None = None
    utility: Score | None = None
    seconds: float = 0.0
    promises: tuple[str, ...] = ()
    trouble: str = ""
    reused: bool = False


@dataclass(frozen=True)
class FrontierGrid:
    """What is to be run, and how it is judged."""

    table: Table
    methods: tuple[Runnable, ...]
    risk: Measure
    utility: Measure
    repeats: int
    control: Table | None
    key: Key

    def __post_init__(self) -> None:
        if not self.methods:
            raise ParameterError("no method was given.", hint="frontier(table, methods=[...])")
        unfit = [str(i) for i, m in enumerate(self.methods, 1) if not _is_method(m)]
        if unfit:
            raise ParameterError(
                f"method {listed(unfit)} of {len(self.methods)} has no name, no settings or no call.",
                hint="give Candidate(name, function, settings), or an object with name, settings and a call",
            )
        labels = [(m.name, plain_settings(m)) for m in self.methods]
        twice = sorted({repr(n) for n, s in labels if labels.count((n, s)) > 1})
        if twice:
            raise ParameterError(f"listed twice with the same settings: {listed(twice)}.", hint="keep one")
        if isinstance(self.repeats, bool) or not isinstance(self.repeats, int) or self.repeats < 1:
            raise ParameterError("repeats must be a whole number from 1 up.", hint="repeats=3")

    def key_of(self, method: int, repeat: int) -> Key:
        """The key of one run: by what is run, so that another method more or less changes nothing."""
        chosen = self.methods[method]
        return self.key.derive("frontier", chosen.name, plain_settings(chosen), repeat)

    def run_one(self, method: int, repeat: int) -> Trial:
        """Make one release and judge it. A method that fails is a finding, not the end of the grid."""
        key = self.key_of(method, repeat)
        start = time.perf_counter()
        try:
            made = self.methods[method](self.table, key)
            if not isinstance(made, Release | Table):
                return Trial(method, repeat, trouble=f"it gave back a {type(made).__name__}, not a release")
            risk = self._judged(self.risk, made, key.derive("risk"))
            utility = self._judged(self.utility, made, key.derive("utility"))
        except SfumatoError as error:
            return Trial(method, repeat, trouble=error.message)
        except Exception as error:  # a foreign exception may quote a cell: only its kind is told
            return Trial(method, repeat, trouble=f"it failed ({type(error).__name__})")
        odd = [m for m in (risk, utility) if not isinstance(m, Score)]
        if odd:  # a function of the user's own may give back anything
            return Trial(
                method, repeat, trouble=f"a measure gave back a {type(odd[0]).__name__}, not a Score"
            )
        promises = tuple(c.title for c in made.guarantee) if isinstance(made, Release) else ()
        # Tables behind the numbers stay behind: hundreds of runs are kept.
        risk, utility = replace(risk, details={}), replace(utility, details={})
        return Trial(method, repeat, risk, utility, time.perf_counter() - start, promises)

    def _judged(self, measure: Measure, made: Made, key: Key) -> Score:
        """A user's own measure sees the table; ours also see what generalized values stand for."""
        plain = isinstance(made, Release) and not getattr(measure, "takes_releases", False)
        shown: Any = made.data if plain else made  # type: ignore[union-attr]
        return measure(self.table, shown, self.control, key)

    def run(self, cache: Cache | None, workers: int) -> list[Trial]:
        """All runs, in the order of methods and repeats, however many work on them."""
        todo = [(m, r) for m in range(len(self.methods)) for r in range(self.repeats)]
        done: dict[tuple[int, int], Trial] = {}
        names: dict[tuple[int, int], str] = {}
        if cache is not None:
            names = dict(zip(todo, self._names(cache, todo), strict=True))
            done = {at: run for at, name in names.items() if (run := _kept(at, cache.get(name)))}
        open_ = [at for at in todo if at not in done]
        report(_LABEL, len(done), len(todo))
        try:
            for run in _side_by_side(self.run_one, open_, workers):
                done[run.method, run.repeat] = run
                if cache is not None and not run.trouble:
                    cache.put(names[run.method, run.repeat], _entry(run))
                report(_LABEL, len(done), len(todo))
        except KeyboardInterrupt:
            if all(run.trouble for run in done.values()):
                raise  # there is nothing to show
        return [done.get(at) or Trial(*at, trouble=STOPPED) for at in todo]

    def _names(self, cache: Cache, todo: Sequence[tuple[int, int]]) -> Iterator[str]:
        """Everything a result depends on, as far as it can be named."""
        import sfumato

        shared = {
            "version": sfumato.__version__,
            "table": fingerprint(self.table, cache.key),
            "schema": self.table.schema.to_toml(),
            "control": None if self.control is None else fingerprint(self.control, cache.key),
            "key": cache.key.derive("grid", self.key.derive("frontier", "which").to_bytes().hex())
            .to_bytes()
            .hex(),
            "risk": _identity(self.risk),
            "utility": _identity(self.utility),
        }
        for method, repeat in todo:
            chosen = self.methods[method]
            yield cache.name(
                {**shared, "method": chosen.name, "settings": plain_settings(chosen),
                 "code": _identity(chosen), "repeat": repeat}
            )  # fmt: skip


_LABEL = "runs for the map"
STOPPED = "it was stopped before it was run."


def plain_settings(method: Runnable) -> str:
    """The settings as JSON text: the same text for the same settings."""

    def as_text(value: object) -> str:
        text = repr(value)
        if " at 0x" in text:  # a place in memory is another one in the next process
            raise ParameterError(
                f"a setting of '{method.name}' is a {type(value).__name__}, which has no lasting name.",
                hint="give numbers, texts, lists, or values with a repr of their own",
            )
        return text

    return json.dumps(_finite(dict(method.settings)), sort_keys=True, default=as_text, allow_nan=False)


def _finite(value: object) -> object:
    """JSON has no word for an epsilon without end: it is told as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {k: _finite(v) for k, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, list | tuple) else value


def _is_method(method: object) -> bool:
    name = getattr(method, "name", None)
    named = isinstance(name, str) and bool(name)
    return named and isinstance(getattr(method, "settings", None), Mapping) and callable(method)


# -- side by side --------------------------------------------------------------------------------


def _side_by_side(
    work: Callable[[int, int], Trial], todo: Sequence[tuple[int, int]], workers: int
) -> Iterator[Trial]:
    """Results as they come. Threads: kernels and engines release the interpreter, and nothing is copied.

    Whatever stops the loop cancels what has not begun. On Ctrl-C what is under way ends first, and counts.
    """
    if workers == 1:
        yield from (work(*at) for at in todo)
        return
    pool = ThreadPoolExecutor(workers, thread_name_prefix="sfumato-frontier")
    try:
        open_: set[Future[Trial]] = {pool.submit(work, *at) for at in todo}
        while open_:
            finished, open_ = wait(open_, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in finished)
    except KeyboardInterrupt:
        pool.shutdown(wait=True, cancel_futures=True)
        yield from (future.result() for future in open_ if future.done() and not future.cancelled())
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


# -- what is kept --------------------------------------------------------------------------------


def _entry(run: Trial) -> dict[str, Any]:
    assert run.risk is not None and run.utility is not None
    return {
        "risk": run.risk.to_dict(), "utility": run.utility.to_dict(),
        "seconds": run.seconds, "promises": list(run.promises),
    }  # fmt: skip


def _kept(at: tuple[int, int], entry: dict[str, Any] | None) -> Trial | None:
    """A run from its entry; None if there is none, or it is not one of ours: then it is run again."""
    if entry is None:
        return None
    try:
        risk, utility = _score(entry["risk"]), _score(entry["utility"])
        return Trial(*at, risk, utility, float(entry["seconds"]), tuple(entry["promises"]), reused=True)
    except (KeyError, TypeError, ValueError, SfumatoError):
        return None


def _score(entry: dict[str, Any]) -> Score:
    """A score from its entry; what is not finite was written as nothing."""
    numbers = ("value", "low", "high", "confidence", "baseline", "control")
    if not all(entry[n] is None or type(entry[n]) in (int, float) for n in numbers):
        raise TypeError  # text would compare with text, and pass for an interval
    low, high = entry["range"]
    infinite = (float("-inf") if low is None else low, float("inf") if high is None else high)
    value = float("nan") if entry["value"] is None else entry["value"]
    ends = {end: entry[end] for end in ("low", "high")}
    if entry["confidence"] is not None and None in ends.values() and set(ends.values()) != {None}:
        ends = {end: infinite[i] if ends[end] is None else ends[end] for i, end in enumerate(ends)}
    kept = {**entry, **ends, "value": value, "range": infinite, "columns": tuple(entry["columns"])}
    return Score(**kept)


def _identity(thing: object) -> list[Any]:
    """What a callable is, for the cache: where it lives and what its code says, not what it closes over."""
    if isinstance(thing, Candidate):
        return _identity(thing.make)
    if isinstance(thing, functools.partial):
        return [
            _identity(thing.func),
            [repr(a) for a in thing.args],
            [f"{k}={v!r}" for k, v in sorted(thing.keywords.items())],
        ]
    called = getattr(type(thing), "__call__", None)  # noqa: B004  (its code is wanted)
    code = getattr(thing, "__code__", None) or getattr(called, "__code__", None)
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    own = "" if named is thing else repr(getattr(thing, "name", ""))
    return [named.__module__, named.__qualname__, own, _code(code) if isinstance(code, CodeType) else ""]


def _code(code: CodeType) -> list[Any]:
    constants = [_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return [code.co_code.hex(), constants, list(code.co_names)]
