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
from lives import DAY, PERIOD, SAID, lives, private, public
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
    compare_fits(monkeypatch, folder, private(2.0, delta=delta), with_one(person, others))


def compare_fits(
    monkeypatch: pytest.MonkeyPatch, folder: Path, method: sf.LinkedSynthesizer,
    both: tuple[sf.Database, sf.Database],
) -> None:  # fmt: skip
    for name in ("_LEAST", "_MOST"):
        monkeypatch.setattr(estimation, name, 60)  # nothing here is about accuracy
    tape, found = taped(monkeypatch), []
    for number, database in enumerate(both):
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


# -- a wide tree ---------------------------------------------------------------------------------------

_WIDE: dict[str, dict[str, Any]] = {
    "people": {"sex": {"levels": ("f", "m")}}, "stays": {"ward": {"levels": ("a", "b", "c")}},
    "moves": {"bed": {"levels": ("k", "l", "m")}}, "notes": {"sort": {"levels": ("u", "v", "w")}},
    "codes": {"code": {"levels": tuple(f"C{i}" for i in range(40))}},
    "scripts": {
        "drug": {"levels": ("x", "y", "z")}, "dose": {"edges": (0.0, 3.0, 5.0, 7.0, 10.0), "clamp": True},
    },
}  # fmt: skip
_MOST = {"stays": 4, "scripts": 3, "moves": 2, "notes": 2, "codes": 3, "calls": 2}


def wide(persons: int) -> tuple[sf.Database, sf.Database]:
    """Four levels, two tables of rows and one of keys alone below the persons; one more has far too much."""
    rng = np.random.default_rng(0)
    own = np.append(np.arange(2 * persons) % persons, [persons] * 9)  # the person of each stay
    moved = np.append(np.arange(3 * persons) % (2 * persons), np.repeat(2 * persons + np.arange(9), 5))
    noted = np.append(np.arange(4 * persons) % (3 * persons), np.repeat(3 * persons + np.arange(45), 4))
    coded = np.append(np.arange(5 * persons) % (2 * persons), np.repeat(2 * persons + np.arange(9), 6))
    bought = np.append(7 * np.arange(persons) % persons, [persons] * 9)

    def days(rows: int) -> list[date]:
        return [DAY + timedelta(int(d)) for d in rng.integers(-90, 900, rows)]

    def some(letters: str, rows: int) -> list[str]:
        return [letters[i % len(letters)] for i in range(rows)]

    tables: dict[str, dict[str, Any]] = {
        "people": {"person_id": np.arange(persons + 1), "sex": some("fm", persons + 1)},
        "stays": {
            "stay_id": np.arange(len(own)), "person_id": own, "start": days(len(own)),
            "ward": some("abc", len(own)),
        },
        "scripts": {
            "script_id": np.arange(len(bought)), "person_id": bought, "drug": some("xyz", len(bought)),
            "day": days(len(bought)), "dose": np.append(rng.normal(5, 2, persons), [1e9, -1e9] * 4 + [0.0]),
        },
        "moves": {
            "move_id": np.arange(len(moved)), "stay_id": moved, "seq": np.arange(len(moved)) % 7,
            "bed": some("klm", len(moved)), "day": days(len(moved)),
        },
        "notes": {"move_id": noted, "sort": some("uvw", len(noted))},
        "codes": {"stay_id": coded, "code": [f"C{i % 11}" for i in range(len(coded))]},
        "calls": {"person_id": bought},
    }  # fmt: skip
    found = sf.scan_database({n: pa.table(t) for n, t in tables.items()})
    declared = {}
    for name, table in found.tables.items():
        schema = table.schema
        for column, domain in _WIDE.get(name, {}).items():
            schema = schema.with_(column, **domain, provenance=SAID)
        declared[name] = table.with_schema(schema)
    whole = found.with_tables(declared)
    return whole.only(np.arange(persons + 1) < persons), whole


@pytest.mark.soak
@MODES
def test_a_person_of_many_tables_shows_in_nothing_but_the_noise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, delta: float
) -> None:
    method = sf.LinkedSynthesizer(2.0, delta=delta, max_children=_MOST, period=PERIOD)
    compare_fits(monkeypatch, tmp_path, method, wide(40))


# -- broken variants -----------------------------------------------------------------------------------


def test_rows_beyond_the_bound_are_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    genuine = synthesizer.persons_of
    monkeypatch.setattr(
        synthesizer, "persons_of", lambda tree, most: genuine(tree, dict.fromkeys(most, 1000))
    )
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
