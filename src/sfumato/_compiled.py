"""numba's compiler, kept between runs where there is a place to keep its work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """The function as machine code that lets other threads run.

    It is cached beside the source or in the user's cache. In a container where neither can be written
    numba refuses to cache at all; the function is then compiled anew in every run.
    """
    try:
        return cast(F, numba.njit(nogil=True, cache=True)(function))
    except RuntimeError:  # no locator available
        return cast(F, numba.njit(nogil=True)(function))
