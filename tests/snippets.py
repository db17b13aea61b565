"""Run a page's script in a process of its own that has the libraries already: to import them takes longer."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
import traceback
from pathlib import Path

_LOADED = (
    "sfumato", "numpy", "pyarrow", "pandas", "polars", "narwhals", "scipy.stats", "sklearn.linear_model",
    "sklearn.ensemble", "statsmodels.formula.api", "numba", "duckdb", "opendp.prelude",
)  # fmt: skip


def _play(script: str, folder: str, trouble: str) -> None:
    os.chdir(folder)
    os.environ.pop("SFUMATO_DATA", None)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    sys.argv = [script]
    sys.path.insert(0, str(Path(script).parent))
    try:
        runpy.run_path(script, run_name="__main__")
    except BaseException as error:
        if not (isinstance(error, SystemExit) and error.code in (None, 0)):
            Path(trouble).write_text(traceback.format_exc(), encoding="utf-8")


def trouble_of(script: Path, folder: Path, seconds: float = 300) -> str:
    """What went wrong with a script in a folder; nothing if it ran to its end."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_LOADED))
    said = script.with_suffix(".trouble")
    process = context.Process(target=_play, args=(str(script), str(folder), str(said)))
    process.start()
    process.join(seconds)
    if process.is_alive():
        process.kill()
        process.join()
        return f"it was not done after {seconds:g} seconds"
    if said.exists():
        return said.read_text(encoding="utf-8")
    return "" if process.exitcode == 0 else f"it ended with {process.exitcode}"
