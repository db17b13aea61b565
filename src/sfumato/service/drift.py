"""Drift under privacy: noisy histograms of what the service is asked, one for each model, version and period.

Guarantee: grant.epsilon-DP for each period's histograms, adding or removing one request (one person who comes
           with a pseudonym, within the period). Periods add up in the ledger.
Because:   of each request one row is counted (drawn at random where there are several), of each pseudonym its
           first request of a period; a row is in one bin of each of F features: L1 sensitivity F.
Assumes:   bounds and levels are public, and so are the hours at which periods end.
Tested by: tests/service/test_drift.py::test_noise_has_the_stated_scale

Exact counts of the running period are in the folder of the run, for its owner alone, and end with it: a
service that stops forgets what it had counted since the last period ended.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import mmap
import os
import secrets
import struct
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato._system import disk, locks
from sfumato.errors import BudgetError, SfumatoError
from sfumato.prediction.population import bins_of
from sfumato.prediction.population import told as told_population
from sfumato.privacy import Guarantee, Ledger, PureDP
from sfumato.privacy.noise import laplace
from sfumato.service import logs
from sfumato.service._sqlite import connect, faults_named, writing
from sfumato.service.registry import Served

PERIODS = {"hour": 3600, "day": 86_400, "week": 604_800}
FITTED = -1  # the start of what stands for the rows a model was fitted on: before all periods
_APPLICATION = 0x53464D44  # "SFMD"
_LAYOUT = """
CREATE TABLE IF NOT EXISTS histograms (
    model TEXT NOT NULL, version TEXT NOT NULL, start INTEGER NOT NULL, seconds INTEGER NOT NULL,
    epsilon REAL NOT NULL, scale REAL NOT NULL, bins TEXT NOT NULL, counts TEXT NOT NULL,
    PRIMARY KEY (model, version, start)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS guarantees (
    model TEXT NOT NULL, version TEXT NOT NULL, start INTEGER NOT NULL, guarantee TEXT NOT NULL,
    PRIMARY KEY (model, version, start)) WITHOUT ROWID
"""
_ASSUMED = "Bounds and levels of the features, and the hours at which periods end, are public"
_WORD = struct.Struct("<q")


@dataclass(frozen=True)
class Histogram:
    """The noisy counts of one period: of each feature, of each bin. scale: of the noise in each count.

    guarantee: what is promised, and which ledger has paid; of a period that says nothing of it, unaccounted.
    """

    model: str
    version: str
    start: int
    seconds: int
    epsilon: float
    scale: float
    bins: dict[str, list[str]]
    counts: dict[str, list[int]]
    guarantee: Guarantee | None = None

    @property
    def promised(self) -> Guarantee:
        """What it costs, and who paid."""
        return self.guarantee or Guarantee.of(PureDP(self.epsilon)).accounted()

    @property
    def requests(self) -> float:
        """About how many there were: every feature's counts add up to it."""
        return float(np.median([sum(c) for c in self.counts.values()])) if self.counts else 0.0

    def shares(self, feature: str) -> list[float]:
        """The noisy shares of a feature's bins, none below 0."""
        counts = [max(0, c) for c in self.counts[feature]]
        return [c / max(1, sum(counts)) for c in counts]


class Histograms:
    """The file of noisy histograms: nothing in it is exact, and it may be shown."""

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        self.name = Path(path).name
        self._connection = connect(path, _APPLICATION, _LAYOUT, create=create)
        self._lock = threading.Lock()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def has(self, model: str, version: str, start: int) -> bool:
        """Whether a period was told already."""
        sql = "SELECT 1 FROM histograms WHERE model = ? AND version = ? AND start = ?"
        with self._lock, faults_named(self.name):
            return self._connection.execute(sql, (model, version, start)).fetchone() is not None

    def keep(self, histogram: Histogram) -> None:
        """Keep one; a period that is there stays as it is."""
        h = histogram
        texts = json.dumps(h.bins), json.dumps(h.counts)
        row = (h.model, h.version, h.start, h.seconds, h.epsilon, h.scale, *texts)
        says = (h.model, h.version, h.start, h.promised.to_json())
        with self._lock, faults_named(self.name), writing(self._connection):
            self._connection.execute("INSERT OR IGNORE INTO histograms VALUES (?,?,?,?,?,?,?,?)", row)
            self._connection.execute("INSERT OR IGNORE INTO guarantees VALUES (?,?,?,?)", says)

    def of(self, model: str, version: str = "") -> list[Histogram]:
        """All periods of a model, oldest first."""
        sql = (
            "SELECT h.*, g.guarantee FROM histograms h LEFT JOIN guarantees g USING (model, version, start) "
            "WHERE model = ? AND (? = '' OR version = ?) ORDER BY start, version"
        )
        with self._lock, faults_named(self.name):
            rows = self._connection.execute(sql, (model, version, version)).fetchall()
        return [
            Histogram(
                a, b, c, d, e, f, json.loads(bins), json.loads(counts), text and Guarantee.from_json(text)
            )
            for a, b, c, d, e, f, bins, counts, text in rows
        ]

    @property
    def models(self) -> list[str]:
        """Those there is something of."""
        with self._lock, faults_named(self.name):
            rows = self._connection.execute("SELECT DISTINCT model FROM histograms ORDER BY model").fetchall()
        return [row[0] for row in rows]


class Recorder:
    """Counts in a file that the workers share; at the end of a period one of them pays, draws and keeps."""

    def __init__(self, folder: Path, file: str | Path, ledger: Ledger, epsilon: float, seconds: int) -> None:
        self.histograms = Histograms(file)
        self.ledger, self.epsilon, self.seconds = ledger, epsilon, seconds
        self._folder = folder
        self._tables: dict[tuple[str, str], _Table] = {}
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="drift")
        self._unkept: list[Histogram] = []  # paid for and drawn, and the disk had no room for it

    def close(self) -> None:
        """Finish what is being told, and forget the running period."""
        self._thread.shutdown(wait=True)
        self._keep()
        for table in self._tables.values():
            table.close()
        self.histograms.close()

    def tick(self, current: Sequence[Served]) -> None:
        """Tell what has ended, and begin a period for every current version, whether anybody asks it or not.

        Which periods are told must not depend on requests. What is not current is not counted.
        """
        if self._unkept:
            self._thread.submit(self._keep)
        now = {(served.name, served.version): served for served in current}
        with self._lock:
            for at in [at for at in self._tables if at not in now]:
                self._tables.pop(at).close()
            for at in [at for at in now if at not in self._tables]:
                self._tables[at] = _Table(self._folder, now[at])
                self._thread.submit(self._fitted_on, now[at])
            for table in self._tables.values():
                self._told(table, table.add(None, self.period))

    def _fitted_on(self, served: Served) -> None:
        """Keep what a model tells of those it was fitted on, which periods are held against; free."""
        try:
            found = told_population(getattr(served.model, "card", {}), served.model.features)
            if found is not None and not self.histograms.has(served.name, served.version, FITTED):
                bins = {b.feature: b.names for b in bins_of(served.model.features)}
                epsilon, scale, counts = found
                says = Guarantee(tuple(served.model.guarantee))
                self.histograms.keep(
                    Histogram(served.name, served.version, FITTED, 0, epsilon, scale, bins, counts, says)
                )
        except Exception as error:
            logs.event("drift_failed", logging.WARNING, model=served.name, **logs.fault(error))

    def note(self, served: Served, rows: Sequence[dict[str, Any]]) -> None:
        """Count one row of a request; quick. A period that has just ended is told on a thread."""
        with self._lock:
            table = self._tables.get((served.name, served.version))
            if table is not None:
                row = rows[0] if len(rows) == 1 else rows[int.from_bytes(secrets.token_bytes(8)) % len(rows)]
                places = [axis.place(row.get(axis.feature)) for axis in table.axes]
                self._told(table, table.add(places, self.period))

    @property
    def period(self) -> int:
        """When the running period began."""
        return int(time.time()) // self.seconds * self.seconds

    def _told(self, table: _Table, ended: tuple[int, list[int]] | None) -> None:
        if ended is not None:
            self._thread.submit(self._guarded, table, *ended)

    def _guarded(self, table: _Table, start: int, counts: list[int]) -> None:
        try:
            self._tell(table, start, counts)
        except Exception as error:
            logs.event("drift_failed", logging.WARNING, model=table.model, **logs.fault(error))

    def _tell(self, table: _Table, start: int, counts: list[int]) -> None:
        model, version = table.model, table.version
        if self.histograms.has(model, version, start):
            return  # told once, whatever the clock did
        try:
            purpose = f"drift of {model} {version} from {start}"
            grant = self.ledger.grant(epsilon=self.epsilon, purpose=purpose)
        except BudgetError:
            logs.event("drift_not_told", logging.WARNING, model=model, version=version)
            return
        noisy = laplace(np.array(counts, dtype=np.int64), len(table.axes), grant)
        told, place = {}, 0
        for axis in table.axes:
            told[axis.feature] = [int(v) for v in noisy.values[place : place + axis.size]]
            place += axis.size
        bins = {axis.feature: axis.names for axis in table.axes}
        says = Guarantee.of(grant.claim(_ASSUMED), grant.account)
        self._unkept.append(
            Histogram(model, version, start, self.seconds, self.epsilon, noisy.scale, bins, told, says)
        )
        self._keep()

    def _keep(self) -> None:
        """Keep what was paid for; what finds no room is tried again, as long as the service runs."""
        for histogram in list(self._unkept):
            try:
                self.histograms.keep(histogram)
            except SfumatoError as error:
                logs.event("drift_not_kept", logging.WARNING, model=histogram.model, **logs.fault(error))
                return
            self._unkept.remove(histogram)


class _Table:
    """The exact counts of the running period of one version: a number for the period, then the bins."""

    def __init__(self, folder: Path, served: Served) -> None:
        self.model, self.version = served.name, served.version
        self.axes = bins_of(served.model.features)
        self._starts = [sum(a.size for a in self.axes[:i]) for i in range(len(self.axes))]
        self._cells = sum(a.size for a in self.axes)
        mark = hashlib.sha256(f"{served.name} {served.version}".encode()).hexdigest()[:32]
        self._file = disk.opened(folder / f"drift-{mark}", os.O_RDWR | os.O_CREAT)
        size = (1 + self._cells) * _WORD.size
        if os.fstat(self._file).st_size != size:
            os.ftruncate(self._file, size)
        self._words = mmap.mmap(self._file, size)
        self._lock = threading.Lock()

    def close(self) -> None:
        """Let go of the file."""
        self._words.close()
        os.close(self._file)

    def add(self, places: list[int] | None, period: int) -> tuple[int, list[int]] | None:
        """Count a row in the running period; gives back the counts of one that has just ended, once."""
        with self._lock:
            locks.hold_bytes(self._file, 0, 0)
            try:
                (running,) = _WORD.unpack_from(self._words, 0)
                ended = None
                if running != period:
                    counts = [n for (n,) in _WORD.iter_unpack(self._words[_WORD.size :])]
                    ended = (running, counts) if running and running < period else None
                    self._words[_WORD.size :] = bytes(self._cells * _WORD.size)
                    _WORD.pack_into(self._words, 0, period)
                for start, place in zip(self._starts, places or (), strict=False):
                    at = (1 + start + place) * _WORD.size
                    _WORD.pack_into(self._words, at, _WORD.unpack_from(self._words, at)[0] + 1)
                return ended
            finally:
                locks.let_go_of_bytes(self._file, 0, 0)


# -- reading -------------------------------------------------------------------------------------------

FALSE_ALARMS = 0.001  # a period that has not changed is called changed at most so often


def compared(baseline: Histogram, period: Histogram) -> dict[str, dict[str, Any]]:
    """How far each feature is from the baseline, and whether chance and noise may explain it.

    distance: total variation between the noisy shares. changed: some bin differs by more than the noise of
    both and the chance of sampling allow, at FALSE_ALARMS for all bins of a period together. The bound for
    noise is that of a Laplace tail, which is longer than a normal one. None: too few requests to say.
    """
    n, m = baseline.requests, period.requests
    shared = [f for f in period.counts if period.bins.get(f) == baseline.bins.get(f)]
    cells = sum(len(period.counts[f]) for f in shared)
    limit = math.log(2 * max(1, cells) / FALSE_ALARMS) / math.sqrt(2)
    noise = 2 * baseline.scale**2, 2 * period.scale**2  # variances
    found = {}
    for feature in shared:
        p, q = baseline.shares(feature), period.shares(feature)
        worst = 0.0
        for a, b in zip(p, q, strict=True):
            mean = min(max((a * n + b * m) / max(1.0, n + m), 0.0), 1.0)
            chance = mean * (1 - mean) * (1 / max(1.0, n) + 1 / max(1.0, m))
            variance = chance + noise[0] / max(1.0, n) ** 2 + noise[1] / max(1.0, m) ** 2
            worst = max(worst, abs(a - b) / math.sqrt(variance) if variance else 0.0)
        enough = n > 5 * baseline.scale and m > 5 * period.scale
        found[feature] = {
            "distance": round(sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2, 3),
            "changed": bool(worst > limit) if enough else None,
        }
    return found


def report(histograms: Histograms, model: str, version: str = "") -> dict[str, Any]:
    """All periods of a model, each held against what its version was fitted on; all from what is noisy.

    Where the model does not tell what that was, the first period stands for it.
    """
    periods = histograms.of(model, version)
    first: dict[str, Histogram] = {}
    lines = []
    for period in periods:  # what a version was fitted on comes before its periods
        base = first.setdefault(period.version, period)
        if period.start == FITTED:
            continue
        lines.append(
            {
                "version": period.version,
                "start": time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(period.start)),
                "seconds": period.seconds,
                "epsilon": period.epsilon,
                "noise_scale": round(period.scale, 3),
                "requests": max(0, round(period.requests)),
                "baseline": period is base,
                "held_against": "fitted" if base.start == FITTED else "first period",
                "features": compared(base, period),
                "bins": period.bins,
                "shares": {f: [round(s, 4) for s in period.shares(f)] for f in period.counts},
            }
        )
    paid = [p.promised for p in periods if p.start != FITTED]
    whole = paid[0].compose(*paid[1:]) if paid else Guarantee(())
    return {"model": model, "periods": lines, "guarantee": json.loads(whole.to_json())}
