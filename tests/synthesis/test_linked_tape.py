"""A whole linked fit, draw by draw, with one person more: nothing of that person gets past the noise.

The tape is that of tests/tapes.py: a fit to the neighbour gets the same answers, so it must ask the same, for
the same amounts, of values that are no further apart than the noise is scaled to, and give the same release.
"""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from lives import DAY, lives, private, public
from tapes import Refuted, taped

import sfumato as sf
from sfumato.synthesis.people import bounds, estimation, noisy_sets, synthesizer

MODES = pytest.mark.parametrize("delta", [1e-6, 0.0], ids=["zCDP", "pure"])
# Birth, death and sex; then visits: days after the start, ward, tests.
PEOPLE: dict[str, tuple[tuple[Any, ...], tuple[tuple[Any, ...], ...]]] = {
    "nobody below": ((date(1999, 5, 1), None, "f"), ()),
    "all alike": ((date(1999, 5, 1), None, "f"), ((5, "b", (3, 4)),) * 3),
    "far more than count": ((date(1999, 5, 1), None, "m"), ((5, "b", (1, 2, 3, 4, 5)),) * 40),
    "the same tests, other days": (
        (None, None, None), tuple((d, "abc"[d % 3], (7, 8)) for d in (1, 90, 400, 700)),
    ),
    "outside the period": ((date(1850, 1, 1), date(2019, 1, 1), "f"), ((-900, "a", (2,)), (9000, "c", (2,)))),
    "no day, no ward, no test": ((date(2010, 1, 1), None, "m"), ((None, None, (None,)), (3, None, ()))),
}  # fmt: skip


def with_one(person: str, others: int) -> tuple[sf.Database, sf.Database]:
    """A database without and with a person."""
    before = lives(25)
    rows = {n: t.to_arrow() for n, t in before.tables.items()}
    (born, died, sex), visits = PEOPLE[person]
    new: dict[str, dict[str, list[Any]]] = {
        "people": {"person_id": ["X"], "birth_date": [born], "death_date": [died], "sex": [sex]},
        "visits": {n: [] for n in ("visit_id", "person_id", "from_date", "to_date", "ward")},
        "tests": {n: [] for n in ("visit_id", "person_id", "test")},
    }
    for number, (day, ward, tests) in enumerate(visits):
        at = None if day is None else DAY + timedelta(day)
        for column, value in zip(new["visits"], (10**6 + number, "X", at, at, ward), strict=True):
            new["visits"][column].append(value)
        for test in tests:
            name = None if test is None else f"T{test}"
            for column, value in zip(new["tests"], (10**6 + number, "X", name), strict=True):
                new["tests"][column].append(value)
    both = {n: pa.concat_tables([t, pa.table(new[n], schema=t.schema)]) for n, t in rows.items()}
    whole = public(sf.scan_database(both))
    there = np.arange(whole.people.count) < others
    return whole.only(there), whole.only(there | (np.arange(whole.people.count) == 25))


def compare(
    monkeypatch: pytest.MonkeyPatch, folder: Path, person: str, delta: float, others: int = 25
) -> None:
    for name in ("_LEAST", "_MOST"):
        monkeypatch.setattr(estimation, name, 60)  # nothing here is about accuracy
    tape, found = taped(monkeypatch), []
    method = private(2.0, delta=delta)
    for number, database in enumerate(with_one(person, others)):
        tape.place = None if number == 0 else 0
        model = method.fit(database)
        release = model.sample(20, seed=1).save(folder / str(number))
        said: dict[str, Any] = {"repr": repr(model), "notes": model.notes, "persons": model.persons}
        said |= {p.name: p.read_bytes() for p in sorted((release / "public").iterdir())}
        found.append(said)
    if tape.place != len(tape.asked):
        raise Refuted("fewer draws")
    if sum(loss for *_, loss in tape.asked) > Fraction(method.spends(None).rho or 2.0):
        raise Refuted("more than the total")
    if found[0] != found[1]:
        raise Refuted("what comes out differs")


@MODES
@pytest.mark.parametrize("person", PEOPLE)
def test_a_person_shows_in_nothing_but_the_noise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, person: str, delta: float
) -> None:
    compare(monkeypatch, tmp_path, person, delta)


@MODES
def test_the_first_person_shows_in_nothing_but_the_noise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, delta: float
) -> None:
    compare(monkeypatch, tmp_path, "all alike", delta, others=0)


# -- broken variants -----------------------------------------------------------------------------------


def test_rows_beyond_the_bound_are_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    genuine = synthesizer.read
    monkeypatch.setattr(synthesizer, "read", lambda tree, most: genuine(tree, dict.fromkeys(most, 1000)))
    with pytest.raises(Refuted, match="sensitivity"):
        compare(monkeypatch, tmp_path, "far more than count", 1e-6)


@pytest.mark.parametrize("name", ["held", "both", "again"])
def test_noise_for_fewer_codes_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    genuine = getattr(bounds.SetBounds, name)

    def halved(self: bounds.SetBounds, classes: int) -> bounds.Sensitivity:
        most = genuine(self, classes)
        return bounds.Sensitivity(max(most.taxi // 2, 1), max(most.squared // 4, 1))

    monkeypatch.setattr(bounds.SetBounds, name, halved)
    monkeypatch.setattr(noisy_sets, "least", lambda *_: 0.0)  # every code is a class
    with pytest.raises(Refuted, match="sensitivity"):
        compare(monkeypatch, tmp_path, "all alike", 1e-6)


def test_an_exact_number_of_persons_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def exact(self: Any, rows: int) -> float:
        self._rows["people"] = float(rows)
        return float(rows)

    monkeypatch.setattr(synthesizer.NoisyCounting, "persons", exact)
    with pytest.raises(Refuted):
        compare(monkeypatch, tmp_path, "nobody below", 1e-6)
