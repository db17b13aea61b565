"""The whole fit, draw by draw: nothing of the data gets past the noise, and no draw sees more than it says.

A fit is run, and its noisy answers are kept on a tape. A fit to a neighbour is then given the same answers.
If the promise is proven as purse.py has it, then at every draw the same is asked for the same amount, the
exact values differ by no more than the sensitivity the noise is scaled to, the amounts add up to no more than
the total, and whatever comes out in the end is the same to the last byte.
"""

from __future__ import annotations

import zipfile
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from declared import PUBLIC
from tapes import Refuted, taped

import sfumato as sf
from sfumato.counts import persons as choice
from sfumato.seeds import Key
from sfumato.synthesis.constraints import Implies, Never, Within
from sfumato.synthesis.private import (
    PrivateModel,
    PrivateSynthesizer,
    measurement,
    potentials,
    purse,
    resolution,
    synthesizer,
)

SCHEMA = sf.Schema(
    (
        sf.Column("sex", sf.Kind.NOMINAL, levels=("f", "m", "x"), missing=True, provenance=PUBLIC),
        sf.Column(
            "age", sf.Kind.NUMERIC, type="integer", edges=(0, 20, 60, 120), clamp=True, provenance=PUBLIC
        ),
        sf.Column("sick", sf.Kind.ORDINAL, type="integer", levels=(0, 1), missing=False, provenance=PUBLIC),
        sf.Column("ward", sf.Kind.NOMINAL, levels=tuple("abcde"), missing=False, provenance=PUBLIC),
    )
)
WEIGHT = sf.Column(
    "w", sf.Kind.NUMERIC, sf.Role.WEIGHT, edges=(0, 8), missing_codes=(99,), provenance=PUBLIC, type="real"
)
PERSONS = sf.Schema((*SCHEMA, sf.Column("who", sf.Kind.NOMINAL, sf.Role.PERSON, type="integer")))
_SPAN = {"edges": (date(2010, 1, 1), date(2012, 1, 1)), "provenance": PUBLIC}
NUMBERS = sf.Schema(
    (
        *SCHEMA,
        sf.Column("cost", sf.Kind.NUMERIC, edges=(0.0, 1e5), missing=False, clamp=True, provenance=PUBLIC),
        sf.Column("came", sf.Kind.DATE, **_SPAN),
        sf.Column("left", sf.Kind.DATE, **_SPAN),
    )
)
CONSTRAINTS = (Never({"sex": "m", "ward": "e"}), Implies({"age": 10}, {"sick": 0}))


def frame(rows: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": random.choice(["f", "m"], rows),
            "age": random.integers(0, 90, rows),
            "sick": random.integers(0, 2, rows),
            "ward": random.choice(list("abcde"), rows),
            "who": np.arange(rows) // 3,
            "w": random.exponential(3.0, rows),
        }
    )


def days(rows: int) -> dict[str, Any]:
    random = np.random.default_rng(4)
    came = random.integers(0, 600, rows)
    cost = np.where(random.random(rows) < 0.5, 0.0, random.lognormal(5, 1, rows).round(2))
    start = np.datetime64("2010-01-01")
    moved = {"came": start + came, "left": start + came + random.geometric(0.2, rows)}
    return {"cost": cost, **{name: pd.array(day.astype(object)) for name, day in moved.items()}}


_DAYS = {"came": date(2010, 5, 1), "left": date(2010, 5, 4)}


def one(**cells: Any) -> list[dict[str, Any]]:
    return [{"sex": "f", "age": 30, "sick": 1, "ward": "a", "who": 10**6, "w": 8.0, **cells}]


def everything(model: PrivateModel, folder: Path) -> dict[str, Any]:
    """All that may leave: the model's file, the public part of a release, what is said and printed."""
    found: dict[str, Any] = {"repr": repr(model), "notes": model.notes, "rows": model.rows}
    with zipfile.ZipFile(model.save(folder / "model.sfm")) as archive:
        found |= {name: archive.read(name) for name in archive.namelist()}
    release = model.sample(seed=1)
    found["about"], found["types"] = release.about, release.to_native().dtypes.to_dict()
    for path in sorted((release.save(folder / "release") / "public").iterdir()):
        found[path.name] = path.read_bytes()
    return found


def compare(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    method: PrivateSynthesizer,
    more: list[dict[str, Any]],
    rows: int = 300,
    persons: bool = False,
    numbers: bool = False,
) -> None:
    tape = taped(monkeypatch)
    found = []
    data = frame(rows, 1)
    if numbers:
        data = data.assign(**days(rows))
    for number, here in enumerate((data, pd.concat([data, pd.DataFrame(more)], ignore_index=True))):
        tape.place = None if number == 0 else 0
        here = here if persons else here.drop(columns="who")
        here = here if method.weight else here.drop(columns="w")
        here["sex"] = here["sex"].astype("category")  # its type lists the values that occur
        (folder / str(number)).mkdir()
        schema = PERSONS if persons else NUMBERS if numbers else SCHEMA
        model = method.fit(sf.scan(here, sf.Schema((*schema, WEIGHT)) if method.weight else schema))
        found.append(everything(model, folder / str(number)))
    if tape.place != len(tape.asked):
        raise Refuted("fewer draws")
    if sum(loss for *_, loss in tape.asked) > Fraction(str(method.rho or method.epsilon)):
        raise Refuted("more than the total")
    differ = [name for name in found[0] if found[0][name] != found[1].get(name)]
    if differ or found[0].keys() != found[1].keys():
        raise Refuted(f"what comes out differs: {differ}")


MODES = pytest.mark.parametrize("delta", [1e-6, 0.0], ids=["zCDP", "pure"])


@MODES
@pytest.mark.parametrize(
    "more",
    [one(), one(sex="x"), one(sex=None, age=None), one(age=500), one(sex="m", ward="e"), one(age=5)],
    ids=["a row", "a level nobody has", "a gap", "beyond the edges", "cannot be", "cannot be either"],
)
def test_a_row_shows_in_nothing_but_the_noise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, delta: float, more: list[dict[str, Any]]
) -> None:
    method = PrivateSynthesizer(epsilon=1.0, delta=delta, target="sick", constraints=CONSTRAINTS)
    compare(monkeypatch, tmp_path, method, more)


@MODES
@pytest.mark.parametrize(
    "more",
    [one(sick=0, ward="b"), one(ward="e"), one(ward="a"), one(sick=1, age=2, ward="d")],
    ids=["a code of its group", "another", "of another group", "before the first"],
)
def test_a_row_of_tied_columns_shows_in_nothing_but_the_noise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, delta: float, more: list[dict[str, Any]]
) -> None:
    """A code and its group, measured at both levels; levels merged by what was measured."""
    monkeypatch.setattr(resolution, "FINE", 2)
    tied = (Within("ward", "sick", {0: ["a", "b"], 1: ["c", "d", "e"]}),)
    compare(monkeypatch, tmp_path, PrivateSynthesizer(epsilon=1.0, delta=delta, constraints=tied), more)


@pytest.mark.parametrize(
    ("delta", "more"),
    [
        (1e-6, {"cost": 0.0, "came": date(2010, 5, 1), "left": date(2010, 5, 4)}),
        (1e-6, {"cost": 99_999.0, "came": date(2010, 1, 1), "left": date(2012, 1, 1)}),
        (1e-6, {"cost": 1e9, "came": date(2011, 5, 1), "left": date(2010, 5, 1)}),
        (1e-6, {"cost": 1.0, "came": None, "left": date(2010, 5, 1)}),
        (1e-6, {"cost": 1.0, "came": date(2010, 5, 1), "left": None}),
        (1e-6, {"cost": 1.0, "came": None, "left": None}),
        (0.0, {"cost": 99_999.0, "came": None, "left": date(2010, 5, 1)}),
    ],
    ids=[
        "where many are",
        "where nobody is",
        "beyond, and out of order",
        "no first",
        "no second",
        "neither",
        "pure",
    ],
)
def test_a_row_of_numbers_shows_in_nothing_but_the_noise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, delta: float, more: dict[str, Any]
) -> None:
    """Cells that are cut by what was measured, and an order that is a difference."""
    method = PrivateSynthesizer(epsilon=5.0, delta=delta, constraints=(sf.Ordered("came", "left"),))
    compare(monkeypatch, tmp_path, method, one(**more), numbers=True)


def test_cuts_that_follow_the_data_are_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Cells cut where people are, instead of where noise says so."""
    as_it_is = measurement.grain.finer
    exact: dict[str, Any] = {}

    def seen(cells: Any, counts: Any, noise: float) -> Any:
        return as_it_is(cells, exact["table"].astype(float), 0.0)

    def table(own: Any, counts: Any, *rest: Any) -> Any:
        exact["table"] = counts
        return real(own, counts, *rest)

    real = purse.Purse.table
    monkeypatch.setattr(purse.Purse, "table", table)
    monkeypatch.setattr(measurement.grain, "finer", seen)
    monkeypatch.setattr(measurement.grain, "_FINEST", 10**6)
    with pytest.raises(Refuted, match="another question"):
        compare(
            monkeypatch, tmp_path, PrivateSynthesizer(epsilon=5.0), one(cost=77_777.0, **_DAYS), numbers=True
        )


@MODES
def test_a_person_shows_in_nothing_but_the_noise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, delta: float
) -> None:
    """Nine rows, all alike, of which two count."""
    method = PrivateSynthesizer(epsilon=2.0, delta=delta, max_rows_per_person=2)
    compare(monkeypatch, tmp_path, method, one() * 9, persons=True)


@MODES
def test_the_first_row_shows_in_nothing_but_the_noise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, delta: float
) -> None:
    compare(monkeypatch, tmp_path, PrivateSynthesizer(epsilon=1.0, delta=delta), one(), rows=0)


@pytest.mark.parametrize(
    ("delta", "weight"),
    [(1e-6, 8.0), (0.0, 8.0), (1e-6, float("inf")), (0.0, 1e9), (1e-6, None), (1e-6, 99.0), (1e-6, -3.0)],
)
def test_a_weighted_row_shows_in_nothing_but_the_noise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, delta: float, weight: float | None
) -> None:
    method = PrivateSynthesizer(epsilon=1.0, delta=delta, weight="w", constraints=CONSTRAINTS)
    compare(monkeypatch, tmp_path, method, one(w=weight))


def test_a_row_shows_in_nothing_but_the_noise_of_a_workload(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    method = PrivateSynthesizer(epsilon=1.0, workload=["sick ~ .", ("age", "ward")], constraints=CONSTRAINTS)
    compare(monkeypatch, tmp_path, method, one(sex="m"))


def test_noise_that_leaves_only_what_cannot_be_costs_no_model(tmp_path: Path) -> None:
    """Every column is left with one level, and together they break a constraint: what is paid for is made."""
    schema = sf.Schema(
        (
            sf.Column("sex", sf.Kind.NOMINAL, levels=("f", "m"), missing=False, provenance=PUBLIC),
            sf.Column("ward", sf.Kind.NOMINAL, levels=("e", "g"), missing=False, provenance=PUBLIC),
        )
    )
    table = sf.Table.from_arrow(pa.table({"sex": ["f", "m"] * 50, "ward": ["e", "g"] * 50}), schema)
    method = PrivateSynthesizer(epsilon=5.0, constraints=(Never({"sex": "m", "ward": "e"}),))
    wanted = method.fit(table).measured.wanted()
    unlucky = replace(wanted, own=(np.array([0.0, 9.0]), np.array([9.0, 0.0])))
    rows = potentials.first_rows(unlucky, Key.from_seed(1), 300)
    assert {tuple(r) for r in rows.T.tolist()} == {(0, 0), (0, 1), (1, 1)}
    assert np.isfinite(potentials.learn(unlucky).own).all()


def test_a_person_of_weighted_rows_shows_in_nothing_but_the_noise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    method = PrivateSynthesizer(epsilon=2.0, max_rows_per_person=2, weight="w")
    compare(monkeypatch, tmp_path, method, one() * 9, persons=True)


# -- broken variants ------------------------------------------------------------------------------


def test_rows_beyond_the_most_are_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(choice, "at_most", lambda persons, *_: np.ones(len(persons), bool))
    method = PrivateSynthesizer(epsilon=2.0, max_rows_per_person=2)
    with pytest.raises(Refuted, match="sensitivity"):
        compare(monkeypatch, tmp_path, method, one() * 9, persons=True)


def test_noise_for_a_row_without_weight_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A row of the largest weight under noise for half of it."""
    from sfumato.synthesis.private import synthesizer

    monkeypatch.setattr(synthesizer, "Purse", lambda grant, most, unit: purse.Purse(grant, most, unit // 2))
    with pytest.raises(Refuted, match="sensitivity"):
        compare(monkeypatch, tmp_path, PrivateSynthesizer(epsilon=1.0, weight="w"), one())


def test_scores_against_the_data_are_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """m from exact margins, as the paper-and-pencil version has it, moves with the row."""

    def naive(counts: Any, *_: Any) -> int:
        m = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(counts.sum(), 1)
        return int(np.abs(counts - m).sum() * 3)

    monkeypatch.setattr(measurement, "distance", naive)
    with pytest.raises(Refuted, match="sensitivity"):
        compare(monkeypatch, tmp_path, PrivateSynthesizer(epsilon=1.0), one(sex="x"))


def test_amounts_that_follow_the_data_are_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The split of the budget by the exact number of rows instead of the noisy one."""
    as_it_is = synthesizer.count
    exact = [0]

    def counted(*asked: Any) -> Any:
        found = as_it_is(*asked)
        exact[0] = found.rows
        return found

    monkeypatch.setattr(synthesizer, "count", counted)
    monkeypatch.setattr(measurement.budget, "one_way_share", lambda *_: 0.3 + 1e-4 * exact[0])
    with pytest.raises(Refuted, match="another amount"):
        compare(monkeypatch, tmp_path, PrivateSynthesizer(epsilon=1.0), one())


def test_types_of_the_frame_are_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Rows given back with the frame's own types: its whole numbers are floats where one is missing."""
    monkeypatch.setattr(synthesizer, "kind_of", lambda source, domain: source)
    with pytest.raises(Refuted, match="types"):
        compare(monkeypatch, tmp_path, PrivateSynthesizer(epsilon=1.0), one(age=None))
