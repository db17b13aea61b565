"""Logs: one JSON object a line, made of names from fixed lists, our own models and their files, numbers, ids.

What a caller sent never reaches a log: no path, no query, no header, no body, no field, no address. An
exception is logged by its kind and place; its words may quote what was sent.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import sys
import time
import traceback
from pathlib import Path
from typing import Any, TextIO

LOGGER = logging.getLogger("sfumato.service")


class JsonLines(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "time": _stamp(record.created),
            "level": record.levelname.lower(),
        }
        known = getattr(record, "fields", None)
        if known is not None:
            line |= known
        elif record.name.startswith("uvicorn"):
            # Its messages have arguments such as addresses; the constant part says enough.
            line |= {"event": "server", "message": str(record.msg).split("%")[0].rstrip(" [(:")}
        else:
            line |= {"event": "library", "logger": record.name}
        if record.exc_info and record.exc_info[1] is not None:
            line |= fault(record.exc_info[1])
        return json.dumps(line)


def fault(error: BaseException) -> dict[str, Any]:
    """Kind and place of an exception, without its words."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    return {"fault": type(error).__name__, "at": [f"{Path(f.filename).name}:{f.lineno}" for f in frames]}


def event(name: str, level: int = logging.INFO, **fields: object) -> None:
    """Log one event; its fields are ours to choose, never the caller's."""
    if not LOGGER.isEnabledFor(level):
        return
    if _OWN and logging.getLogger().handlers == _OWN:  # nobody else listens
        line = {"time": _stamp(time.time()), "level": logging.getLevelName(level).lower(), "event": name}
        # Straight to the stream: a record of logging takes longer than most requests. As with a record, a
        # stream that is gone (its reader died) ends no request.
        with contextlib.suppress(OSError, ValueError):
            _OWN[0].stream.write(_LINE(line | fields) + "\n")
            _OWN[0].stream.flush()
    else:
        LOGGER.log(level, name, extra={"fields": {"event": name, **fields}})


_LINE = json.JSONEncoder(check_circular=False).encode  # of plain values
_OWN: list[logging.StreamHandler[TextIO]] = []  # where a worker's lines go, once it is set up


def _stamp(now: float) -> str:
    return f"{_second(int(now))}.{int(now % 1 * 1000):03d}Z"


@functools.lru_cache(2)
def _second(now: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))


def set_up(level: str = "info") -> None:
    """All logs of this process as JSON lines on standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error", "sfumato.service"):
        logger = logging.getLogger(name)
        logger.handlers[:] = []
        logger.propagate = True
        logger.setLevel(level.upper())
    logging.getLogger("uvicorn.access").disabled = True
    _OWN[:] = [handler]
