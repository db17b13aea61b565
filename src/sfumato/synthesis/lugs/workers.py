"""Processes of our own that draw parts: a fresh Python that loads Sfumato and nothing of the caller's.

The standard library's way to spawn a process runs the caller's script once more in each of them, and with it
whatever the script pays for. These are started by name (`python -m`), are told a job and parts by a pipe, and
never see the script.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sfumato.errors import DataError, SfumatoError

_MODULE = "sfumato.synthesis.lugs.workers"


def in_processes(job: object, tasks: Sequence[tuple[Any, ...]], workers: int | None) -> Iterator[Any]:
    """`job.draw(*task)` for each task, in their order, by at most so many processes."""
    number = max(1, min(workers or os.cpu_count() or 1, len(tasks)))
    started = [_start(job) for _ in range(number)]
    idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
    for process in started:
        idle.put(process)

    def one(task: tuple[Any, ...]) -> Any:
        process = idle.get()
        try:
            return _asked(process, task)
        finally:
            idle.put(process)

    pool = ThreadPoolExecutor(number)
    try:
        yield from pool.map(one, tasks)
    finally:
        for process in started:  # ends threads that wait for an answer, too
            process.kill()
        pool.shutdown(cancel_futures=True)
        for process in started:
            process.communicate()


def _start(job: object) -> subprocess.Popen[bytes]:
    places = os.pathsep.join(p for p in sys.path if p)
    command = [sys.executable, "-P", "-m", _MODULE]  # nothing of the folder it is started in
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": places}
    )
    assert process.stdin is not None
    pickle.dump(job, process.stdin)
    process.stdin.flush()
    return process


def _asked(process: subprocess.Popen[bytes], task: tuple[Any, ...]) -> Any:
    assert process.stdin is not None and process.stdout is not None
    try:
        pickle.dump(task, process.stdin)
        process.stdin.flush()
        done, answer = pickle.load(process.stdout)
    except (EOFError, OSError, pickle.UnpicklingError):
        raise DataError(
            "a process that drew a part ended before it was done.",
            hint="fewer workers leave more memory to each",
        ) from None
    if done:
        return answer
    raise answer


def main() -> None:
    """A process: the job, then parts, until nobody asks any more."""
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints must not get between the answers
    job = pickle.load(source)
    while True:
        try:
            task = pickle.load(source)
        except EOFError:
            return
        try:
            answer: tuple[bool, Any] = (True, job.draw(*task))
        except SfumatoError as error:
            answer = (False, error)
        except Exception as error:  # its words may quote a cell
            answer = (False, DataError(f"a part could not be drawn ({type(error).__name__})."))
        pickle.dump(answer, sink)
        sink.flush()


if __name__ == "__main__":
    main()
