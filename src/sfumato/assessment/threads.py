"""One thread for linear algebra while something is measured.

The matrices of an assessment are small: threads that wait for each other cost more than they save, many times
more on a busy machine. And a sum that is parted among threads may differ in its last digit with their number;
the same inputs and key are to give the same verdict anywhere.
"""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager


def one_thread() -> AbstractContextManager[object]:
    """Hold the libraries of linear algebra to one thread."""
    importlib.import_module("scipy.optimize")  # brings its own library: one loaded later would not be held
    limits: AbstractContextManager[object] = importlib.import_module("threadpoolctl").threadpool_limits(1)
    return limits
