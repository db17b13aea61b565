"""The process that does one task of the studio: waits for it on standard input, says how far it is on the
other.

It hears Ctrl-C like any command, and takes the end of its input for one: a studio that was killed leaves
nobody behind. What an unforeseen exception says is not passed on, as it may quote a cell; its kind is.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from queue import SimpleQueue
from typing import TextIO

from sfumato._system import processes
from sfumato.errors import SfumatoError
from sfumato.progress import listening
from sfumato.studio.tasks import task_of
from sfumato.studio.tasks.order import Order

_OFTEN = 0.2  # seconds between two words about progress


def main() -> int:
    """Do one task; 0 whatever comes of it, as it is said on the way."""
    processes.yield_to_others()  # clicks are answered by another process, and go first
    said = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print must not stand between our lines
    orders: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_hear, args=(orders,), daemon=True).start()
    try:
        _load()
        line = orders.get()
        if not line:
            return 0
        order = json.loads(line)
        answer = _done(
            Order(
                order["kind"], order["given"], Path(order["folder"]), Path(order["place"]), order["revision"]
            ),
            said,
        )
    except KeyboardInterrupt:
        answer = {"stopped": True}
    try:
        _say(said, answer)
    except OSError:
        return 0
    return 0


def _done(order: Order, said: TextIO) -> dict[str, object]:
    last = 0.0

    def listener(label: str, done: int, total: int | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > _OFTEN or done == total:
            last = now
            _say(said, {"progress": [label, done, total]})

    try:
        with listening(listener):
            return {"found": task_of(order.kind)(order)}
    except SfumatoError as error:
        return {"said": error.message, "hint": error.hint}
    except MemoryError:
        return {"said": "the data does not fit in memory.", "hint": "set memory_limit under [input]"}
    except Exception as error:
        kind = type(error).__name__
        return {
            "said": f"Sfumato has a fault of its own ({kind}).",
            "hint": "run the plan with --debug, and report it",
        }


def _say(said: TextIO, line: dict[str, object]) -> None:
    said.write(json.dumps(line, default=str) + "\n")
    said.flush()


def _hear(orders: SimpleQueue[bytes]) -> None:
    """The task; then the end of the studio, which is a Ctrl-C for us."""
    first = sys.stdin.buffer.readline()
    orders.put(first)
    if first:
        sys.stdin.buffer.read()
        os.kill(os.getpid(), signal.SIGINT)


def _load() -> None:
    """What every task needs and is slow to load: a few invented rows are counted once."""
    import sfumato.plan.proposal  # noqa: F401
    from sfumato.samples import members

    members(20).counts("sex")


if __name__ == "__main__":
    sys.exit(main())
