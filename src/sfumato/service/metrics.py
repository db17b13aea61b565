"""Counters for Prometheus, summed over all workers.

Labels are routes, status codes and outcomes: fixed lists, so that nothing a caller sends and nobody's name
can become one. Each worker counts in a file of its own; whoever is asked adds all of them up.

By hand, since a score must stay cheap: `prometheus-client`, over several workers, took 4.0 us of processor
time to count one, this takes 1.0.
"""

from __future__ import annotations

import bisect
import mmap
import os
import struct
from collections.abc import Iterator
from pathlib import Path

from sfumato._system import disk

ROUTES = (
    "page", "docs", "openapi", "healthz", "readyz", "metrics", "models", "model", "score", "activate",
    "rollback", "budget", "token", "cds", "inference", "drift", "other",
)  # fmt: skip
_STATUSES = (200, 304, 308, 400, 401, 403, 404, 405, 408, 409, 412, 413, 415, 422, 429, 500, 503)
_OUTCOMES = ("released", "drawn", "repeated", "refused")
_EDGES = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_NUMBER = struct.Struct("<d")

_HELP = {
    "sfumato_requests_total": ("counter", "Requests by route and status."),
    "sfumato_scores_total": (
        "counter",
        "Scores: released, noisy drawn, noisy repeated, refused for the budget.",
    ),
    "sfumato_request_seconds": ("histogram", "Time from request to answer."),
}


def _names() -> Iterator[str]:
    for route in ROUTES:
        for status in (*_STATUSES, "other"):
            yield f'sfumato_requests_total{{route="{route}",status="{status}"}}'
    for outcome in _OUTCOMES:
        yield f'sfumato_scores_total{{outcome="{outcome}"}}'
    for edge in (*_EDGES, "+Inf"):
        yield f'sfumato_request_seconds_bucket{{le="{edge}"}}'
    yield "sfumato_request_seconds_sum"
    yield "sfumato_request_seconds_count"


_PLACES = {name: place for place, name in enumerate(_names())}
_REQUESTS = {
    (route, status): _PLACES[f'sfumato_requests_total{{route="{route}",status="{status}"}}']
    for route in ROUTES
    for status in (*_STATUSES, "other")
}
_SCORES = {outcome: _PLACES[f'sfumato_scores_total{{outcome="{outcome}"}}'] for outcome in _OUTCOMES}
_BUCKET = _PLACES[f'sfumato_request_seconds_bucket{{le="{_EDGES[0]}"}}']
_SUM, _COUNT = _PLACES["sfumato_request_seconds_sum"], _PLACES["sfumato_request_seconds_count"]
assert _COUNT == _SUM + 1  # both are counted in one step
_TWO = struct.Struct("<2d")
_SIZE = len(_PLACES) * _NUMBER.size


class Metrics:
    """This worker's counters, beside those of the others."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        path = self._folder / f"metrics-{os.getpid()}"
        descriptor = disk.opened(path, os.O_RDWR | os.O_CREAT)
        os.ftruncate(descriptor, _SIZE)
        self._numbers = mmap.mmap(descriptor, _SIZE)
        os.close(descriptor)

    def request(self, route: str, status: int, seconds: float) -> None:
        """One request was answered."""
        place = _REQUESTS.get((route, status))  # the first place is 0
        self._add(_REQUESTS[route, "other"] if place is None else place, 1.0)
        self._add(_BUCKET + bisect.bisect_left(_EDGES, seconds), 1.0)
        total, count = _TWO.unpack_from(self._numbers, _SUM * _NUMBER.size)
        _TWO.pack_into(self._numbers, _SUM * _NUMBER.size, total + seconds, count + 1.0)

    def scored(self, outcome: str, number: int = 1) -> None:
        """So many scores were given, or refused."""
        self._add(_SCORES[outcome], float(number))

    def _add(self, place: int, amount: float) -> None:
        # Called on the event loop only, so no lock is needed.
        at = place * _NUMBER.size
        _NUMBER.pack_into(self._numbers, at, _NUMBER.unpack_from(self._numbers, at)[0] + amount)

    def text(self) -> str:
        """All counters that ever moved, of all workers, in Prometheus' text format."""
        totals = [0.0] * len(_PLACES)
        for path in sorted(self._folder.glob("metrics-*")):
            content = path.read_bytes()
            if len(content) == _SIZE:
                for place, (amount,) in enumerate(_NUMBER.iter_unpack(content)):
                    totals[place] += amount
        for place in range(_BUCKET + 1, _BUCKET + len(_EDGES) + 1):  # buckets hold all below their edge
            totals[place] += totals[place - 1]
        lines = []
        for family, (kind, meaning) in _HELP.items():
            lines += [f"# HELP {family} {meaning}", f"# TYPE {family} {kind}"]
            for name, place in _PLACES.items():
                moved = totals[place] or not name.startswith("sfumato_requests_total")
                if name.startswith(family) and moved:
                    lines.append(f"{name} {totals[place]:.10g}")
        return "\n".join(lines) + "\n"
