"""numba's compiler, kept between runs where there is a place to keep its work."""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba

from sfumato._system import disk, locks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


D = TypeVar("D")
F = TypeVar("F", bound=Callable[..., Any])
_RUN = secrets.token_hex(6)
_PATIENCE = 300.0  # seconds on the clock; who waited that long compiles, whoever holds the lock
_held = threading.local()
_KEPT: dict[str, Any] = {"nogil": True, "cache": True, "no_cfunc_wrapper": True}  # nothing in C calls us


def compiled(function: F) -> F:
    """The function as machine code that lets other threads run.

    It is cached beside the source or in the user's cache. In a container where neither can be written
    numba refuses to cache at all; the function is then compiled anew in every run.
    """
    return _compiled(function, {})


def compiled_lean(function: F) -> F:
    """The same for a function that makes no array and gives none back.

    numba counts the references to every array it takes out of a tuple, with a lock, each time; where no array
    is made or given back there is nothing to count. Loops over tuples of arrays are much faster without.
    """
    return _compiled(function, {"_nrt": False})


def _compiled(function: F, further: dict[str, Any]) -> F:
    try:
        made = _with_files_of_its_own(numba.njit(**_KEPT, **further)(function))
        return cast(F, _by_one_run_at_a_time(_once_for_numbers(made)))
    except RuntimeError:  # no locator available
        return cast(F, _once_for_numbers(numba.njit(nogil=True, **further)(function)))


def _with_files_of_its_own(dispatcher: D) -> D:
    """Let two runs that fill the cache at once never write to the same file.

    numba numbers its files 1, 2, ... and enters a number into its index before the file is there. So another
    run may read, under that number, what was compiled for other types, or what is left of an earlier version
    of the source: code that is not the function's. With names that no other run has, it finds no file, and
    compiles. numba has no setting for this; where its inside is another, its files are as they were.
    """
    file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    pattern = getattr(file, "_data_name_pattern", "")
    if file is not None and pattern.endswith(".{number:d}.nbc"):
        file._data_name_pattern = pattern.replace(".{number:d}.nbc", f".{_RUN}.{{number:d}}.nbc")
        file._load_index = _of_this_version(file._load_index)
    return dispatcher


def _of_this_version(load: Callable[[], dict[Any, str]]) -> Callable[[], dict[Any, str]]:
    """Take an index that names a class which is gone for an empty one.

    numba reads an index before it asks whether the source is still the same, so that a class which another
    version of this package called otherwise would end every call of its kernels.
    """

    def known() -> dict[Any, str]:
        try:
            return load()
        except (AttributeError, ImportError):
            return {}

    return known


def _once_for_numbers(dispatcher: Any) -> Any:
    """Compile one kernel for all whole numbers that another kernel gives it, not one for each constant.

    numba takes a 3 written in the caller for a type of its own, so grow(..., 3) and grow(..., k) are compiled
    apart: a fifth of all compiling, for code that was not seen to be faster.
    """
    resolve = dispatcher.get_call_template
    plain: Callable[[Any], Any] = numba.types.unliteral

    def without_constants(args: Sequence[object], kws: Mapping[str, object]) -> object:
        return resolve(tuple(map(plain, args)), {name: plain(kind) for name, kind in kws.items()})

    dispatcher.get_call_template = without_constants
    return dispatcher


def _by_one_run_at_a_time(dispatcher: Any) -> Any:
    """Let several runs that need the same kernel compile it once: workers, or tests side by side.

    The others wait and take it from the cache. The lock only saves work: where a system has no locks, where
    its file cannot be written or its holder is stopped, everybody compiles for themselves.
    """
    file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    index = getattr(file, "_index_path", None)
    if index is None:
        return dispatcher
    genuine = dispatcher.compile

    def once(signature: object) -> object:
        with _locked(f"{index}.lock"):
            return genuine(signature)

    dispatcher.compile = once
    return dispatcher


@contextmanager
def _locked(path: str) -> Iterator[None]:
    """Hold a lock on a file, or go on without it. A kernel that calls itself holds it already."""
    mine: set[str] = _held.__dict__.setdefault("paths", set())
    handle = None if path in mine else _lock(path)
    if handle is None:
        yield
        return
    mine.add(path)
    try:
        yield
    finally:
        mine.discard(path)
        locks.close(handle)


def _lock(path: str) -> int | None:
    """An open file with a lock on it; None if there is none to be had."""
    try:
        handle = disk.opened(path, os.O_RDWR | os.O_CREAT)
    except OSError:
        return None
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        try:
            locks.hold(handle, wait=False)
            return handle
        except BlockingIOError:
            time.sleep(0.02)
        except OSError:  # a file system without locks
            break
    os.close(handle)
    return None
