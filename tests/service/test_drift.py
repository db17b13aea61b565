"""Drift: one row of a request counts, noise has the stated scale, periods are paid once and add up."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from serving import WHOLE

from sfumato.cli import main
from sfumato.errors import OutputError
from sfumato.features.inputs import Feature
from sfumato.prediction.population import bins_of
from sfumato.privacy import Accounted, Guarantee, Ledger, PureDP, Unaccounted
from sfumato.service import drift
from sfumato.service.drift import Histogram, Histograms, Recorder, compared, report

FEATURES = (
    Feature("age", "number", 0, 100), Feature("sex", "category", levels=("f", "m")),
    Feature("open", "number"),
)  # fmt: skip
DAY = 86_400


def served(version: str = "v1") -> Any:
    return SimpleNamespace(name="m", version=version, model=SimpleNamespace(features=FEATURES))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that stands until it is moved."""
    held = SimpleNamespace(now=1_800_000_000.0 // DAY * DAY + 100)
    monkeypatch.setattr(drift.time, "time", lambda: held.now)
    return held


def recorder(folder: Path, budget: float = 10.0, epsilon: float = 1.0) -> Recorder:
    path = folder / "drift.ledger"
    ledger = Ledger.open(path) if path.exists() else Ledger.open(path, budget=budget)
    return Recorder(folder, folder / "drift", ledger, epsilon, DAY)


def test_bins_are_public_and_every_value_has_one() -> None:
    age, sex = bins_of(FEATURES)  # a number without bounds is left out
    assert age.size == 11 and sex.size == 3
    assert [age.place(v) for v in (-5, 0, 9.9, 10, 99, 100, 1e9)] == [0, 0, 0, 1, 9, 9, 9]
    assert [age.place(v) for v in (None, True, "x")] == [10, 10, 10]
    assert [sex.place(v) for v in ("f", "m", None, "other")] == [0, 1, 2, 2]
    assert len(age.names) == age.size and sex.names == ["f", "m", "missing"]


def test_a_period_is_told_once_paid_once_and_whether_asked_or_not(
    tmp_path: Path, clock: SimpleNamespace
) -> None:
    with closing(recorder(tmp_path)) as first, closing(recorder(tmp_path)) as second:  # two workers
        for worker in (first, second):
            worker.tick([served()])
        for _ in range(300):
            first.note(served(), [{"age": 30, "sex": "f"}])
            second.note(served(), [{"age": 70, "sex": "m"}] * 50)  # of many rows one counts
        clock.now += DAY
        for worker in (first, second):
            worker.tick([served()])
        clock.now += DAY  # a day on which nobody asked
        for worker in (first, second):
            worker.tick([served()])
    with closing(Histograms(tmp_path / "drift")) as histograms:
        full, empty = histograms.of("m")
    spent = Ledger.open(tmp_path / "drift.ledger").spent
    assert spent == 2.0
    assert full.scale == 2.0 and abs(full.requests - 600) < 60  # far beyond one in a million
    assert abs(full.counts["age"][3] - 300) < 60 and abs(full.counts["age"][7] - 300) < 60
    assert abs(empty.requests) < 120 and empty.counts.keys() == full.counts.keys()


def test_a_spent_ledger_tells_no_more(tmp_path: Path, clock: SimpleNamespace) -> None:
    with closing(recorder(tmp_path, budget=1.5)) as worker:
        for _ in range(4):
            worker.tick([served()])
            clock.now += DAY
    with closing(Histograms(tmp_path / "drift")) as histograms:
        assert len(histograms.of("m")) == 1


def test_what_is_not_current_is_not_counted_and_a_clock_set_back_pays_nothing(
    tmp_path: Path, clock: SimpleNamespace
) -> None:
    with closing(recorder(tmp_path)) as worker:
        worker.tick([served("v1")])
        worker.note(served("v2"), [{}])
        clock.now += DAY
        worker.tick([served("v2")])  # v1 is no longer current: its running period is forgotten
        clock.now -= DAY
        worker.tick([served("v2")])
        clock.now += 2 * DAY
        worker.tick([served("v2")])
    with closing(Histograms(tmp_path / "drift")) as histograms:
        assert {h.version for h in histograms.of("m")} == {"v2"}


def test_noise_has_the_stated_scale(tmp_path: Path, clock: SimpleNamespace) -> None:
    """The mean of |noise| over all cells of 40 empty days, at one in a million by Bernstein's inequality."""
    with closing(recorder(tmp_path, budget=1000.0)) as worker:
        worker.tick([served()])
        for _ in range(40):
            clock.now += DAY
            worker.tick([served()])
    with closing(Histograms(tmp_path / "drift")) as histograms:
        noise = np.abs([c for h in histograms.of("m") for row in h.counts.values() for c in row])
    q = math.exp(-1 / 2.0)  # two features: scale 2 / epsilon
    mean = 2 * q / (1 - q * q)
    assert len(noise) == 40 * 14
    log = math.log(2e6)
    assert abs(noise.mean() - mean) < math.sqrt(2 * 8 * log / len(noise)) + 2 * 2.0 * log / len(noise)


def histogram(start: int, ages: list[int], scale: float = 2.0) -> Histogram:
    return Histogram(
        "m", "v", start, DAY, 1.0, scale, {"age": [str(i) for i in range(len(ages))]}, {"age": ages}
    )


def test_change_is_told_only_beyond_noise_and_chance() -> None:
    base = histogram(0, [1000, 1000, 1000])
    assert compared(base, histogram(1, [1020, 990, 1010]))["age"]["changed"] is False
    assert compared(base, histogram(1, [300, 300, 2400]))["age"] == {"distance": 0.467, "changed": True}
    assert compared(base, histogram(1, [3, -2, 5]))["age"]["changed"] is None
    other = Histogram("m", "v", 1, DAY, 1.0, 2.0, {"age": ["a"]}, {"age": [5]})
    assert compared(base, other) == {}  # other bins are not compared


def test_unchanged_periods_are_seldom_called_changed() -> None:
    """400 pairs at 0.001 each: more than 10 false alarms has a probability below one in a million."""
    rng = np.random.default_rng(7)
    shares = rng.dirichlet(np.ones(11))

    def drawn(start: int) -> Histogram:
        noise = rng.geometric(1 - math.exp(-0.1), 11) - rng.geometric(1 - math.exp(-0.1), 11)
        return histogram(start, [int(c) for c in rng.multinomial(2000, shares) + noise], 10.0)

    alarms = sum(bool(compared(drawn(0), drawn(1))["age"]["changed"]) for _ in range(400))
    assert alarms <= 10


def test_the_service_counts_and_tells(
    serve: Callable, tmp_path: Path, clock: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    Ledger.open(tmp_path / "drift.ledger", budget=10.0)
    ledger, file = str(tmp_path / "drift.ledger"), str(tmp_path / "sfumato.drift")
    ask, service = serve(drift_ledger=ledger, drift=file, drift_epsilon=4.0)
    for i in range(200):
        assert ask("POST", "/v1/models/diabetes/score", {**WHOLE, "age": 40}).status == 200
        again = {"x-pseudonym": f"person-{i % 2}"}  # two persons, often
        ask("POST", "/v1/models/diabetes/score", {**WHOLE, "age": 20}, headers=again)
    clock.now += DAY
    service._tick(service.drift)
    service.drift._thread.shutdown(wait=True)
    told = ask("GET", "/v1/models/diabetes/drift").json
    (period,) = told["periods"]
    assert not period["baseline"] and period["held_against"] == "fitted"
    age = period["features"]["age"]
    assert age["changed"] is True and age["distance"] > 0.5  # asked of one age, fitted on all
    assert abs(period["requests"] - 202) < 150 and period["epsilon"] == 4.0
    assert told["epsilon_left"] == 2.0  # two models, one period each
    assert ask("GET", "/v1/models/diabetes").json["drift"] is True
    assert ask("GET", "/v1/models/diabetes/drift", key="").status == 401
    assert "/v1/models/{name}/drift" in ask("GET", "/openapi.json", key="").json["paths"]
    wrong = {"x-pseudonym": "a b"}
    assert ask("POST", "/v1/models/diabetes/score", WHOLE, headers=wrong).code == "bad_pseudonym"
    capsys.readouterr()
    assert main(["drift", str(tmp_path / "sfumato.drift"), "--json"]) == 0
    assert [a["model"] for a in json.loads(capsys.readouterr().out)] == ["diabetes", "septic-shock"]
    assert main(["drift", str(tmp_path / "sfumato.drift")]) == 0
    assert "not as those it was fitted on" in capsys.readouterr().out
    assert main(["drift", str(tmp_path / "nothing")]) != 0


def test_a_model_that_tells_no_population_is_held_against_its_first_period(
    tmp_path: Path, clock: SimpleNamespace
) -> None:
    with closing(recorder(tmp_path)) as worker:
        worker.tick([served()])
        for _ in range(2):
            clock.now += DAY
            worker.tick([served()])
    with closing(Histograms(tmp_path / "drift")) as histograms:
        first, second = report(histograms, "m")["periods"]
    assert first["baseline"] and not second["baseline"]
    assert {p["held_against"] for p in (first, second)} == {"first period"}


def test_without_a_ledger_nothing_is_counted(serve: Callable, tmp_path: Path) -> None:
    ask, _ = serve(drift=str(tmp_path / "sfumato.drift"))
    assert ask("GET", "/v1/models/diabetes/drift").code == "unknown"
    assert (
        not (tmp_path / "sfumato.drift").exists() and ask("GET", "/v1/models/diabetes").json["drift"] is False
    )


def test_a_report_of_nothing_is_empty(tmp_path: Path) -> None:
    with closing(Histograms(tmp_path / "drift")) as histograms:
        assert report(histograms, "m")["periods"] == []


def test_every_period_says_who_paid_and_all_of_them_their_sum(tmp_path: Path, clock: SimpleNamespace) -> None:
    with closing(recorder(tmp_path)) as worker:
        worker.tick([served()])
        for _ in range(3):
            clock.now += DAY
            worker.tick([served()])
    ledger = Ledger.open(tmp_path / "drift.ledger")
    with closing(Histograms(tmp_path / "drift")) as histograms:
        periods = histograms.of("m")
        whole = Guarantee.from_json(json.dumps(report(histograms, "m")["guarantee"]))
    assert [next(c.total for c in p.promised if isinstance(c, Accounted)) for p in periods] == [1.0, 2.0, 3.0]
    assert ledger.check_against(*(p.promised for p in periods)) == (3, 0, 0)
    (claim,) = (c for c in whole if isinstance(c, PureDP))
    (account,) = (c for c in whole if isinstance(c, Accounted))
    assert claim.epsilon == account.total == ledger.spent == 3.0


def test_a_period_of_an_older_file_says_unaccounted(tmp_path: Path) -> None:
    with closing(Histograms(tmp_path / "drift")) as histograms:
        histograms.keep(histogram(0, [5] * 11, 2.0))
        histograms._connection.execute("DELETE FROM guarantees")
        (period,) = histograms.of("m")
        assert any(isinstance(c, Unaccounted) for c in period.promised)


def test_a_full_disk_loses_no_period_that_was_paid_for(
    tmp_path: Path, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OutputError("the disk is full.")

    with closing(recorder(tmp_path)) as worker:
        worker.tick([served()])
        with monkeypatch.context() as patch:
            patch.setattr(Histograms, "keep", full)
            clock.now += DAY
            worker.tick([served()])
            worker._thread.submit(lambda: None).result()
        assert worker.ledger.spent == 1.0 and worker.histograms.of("m") == []
        worker.tick([served()])  # there is room again
        worker._thread.submit(lambda: None).result()
        assert len(worker.histograms.of("m")) == 1 and worker.ledger.spent == 1.0
