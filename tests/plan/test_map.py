"""The default map: the library's own methods on any file, each with a point or with the reason why not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import sfumato as sf
from sfumato.assessment.frontier import Frontier
from sfumato.errors import DataError
from sfumato.plan.map import default_steps
from sfumato.plan.proposed_domain import MARK, with_proposed_domain
from sfumato.privacy import NoGuarantee
from sfumato.seeds import Key

N = 160
OWN = {"optimal", "local", "resample", "private", "pegs"}
Draw = np.random.Generator


def _some(values: NDArray[np.float64], share: float, draw: Draw) -> list[int | None]:
    return [None if draw.random() < share else int(v) for v in values]


def _days(draw: Draw) -> list[date]:
    return [date(1950, 1, 1) + timedelta(int(d)) for d in draw.integers(0, 20_000, N)]


def _wide(draw: Draw, columns: int) -> dict[str, object]:
    common = draw.normal(size=N)
    return {
        f"c{i}": np.round(2 * (common + draw.normal(size=N))).astype(int)
        if i % 3
        else [f"L{abs(v):.0f}" for v in common + draw.normal(size=N)]
        for i in range(columns)
    }


WIDE = ("twenty columns", "sixty columns")
FILES: dict[str, Callable[[Draw], dict[str, object]]] = {
    "one column": lambda d: {"age": d.integers(0, 90, N)},
    "all columns unique": lambda d: {
        "id": [f"p{i}" for i in range(N)], "number": np.arange(N), "real": d.random(N),
    },
    "only numbers": lambda d: {f"v{i}": d.normal(size=N) * 10**i for i in range(4)},
    "numbers that are infinite": lambda d: {
        "x": np.where(d.random(N) < 0.1, np.inf, d.normal(size=N)), "y": d.integers(0, 5, N),
    },
    "only dates": lambda d: {"a": _days(d), "b": _days(d)},
    "missing cells": lambda d: {
        "age": _some(d.integers(0, 90, N), 0.7, d), "sex": [None if x < 0.9 else "F" for x in d.random(N)],
        "nothing": pa.nulls(N, pa.string()), "dx": [None if x < 0.5 else f"D{x:.1f}" for x in d.random(N)],
    },
    "twenty columns": lambda d: _wide(d, 20),
    "sixty columns": lambda d: _wide(d, 60),
    "twelve rows": lambda d: {
        "age": d.integers(20, 80, 12), "sex": ["F", "M"] * 6, "dx": [f"D{i % 3}" for i in range(12)],
    },
    "always the same": lambda d: {"a": ["x"] * N, "b": [1] * N, "age": d.integers(0, 90, N)},
}  # fmt: skip


def drawn(data: dict[str, object], **options: object) -> Frontier:
    return sf.frontier(pa.table(data), repeats=1, key=Key.from_seed(1), workers=1, **options)


@pytest.mark.filterwarnings("ignore::sfumato.errors.SfumatoWarning")
@pytest.mark.parametrize(
    "file", [pytest.param(f, marks=pytest.mark.soak if f in WIDE else ()) for f in FILES]
)
def test_every_method_gives_a_point_or_the_reason_why_not(file: str) -> None:
    found = drawn(FILES[file](np.random.default_rng(5)))
    names = [p.name for p in found.points]
    assert names[0] == "pseudonyms only" and names[-1] == "independent columns"  # the end posts
    for name in OWN - set(names):
        reason = next(note for note in found.notes if note.startswith(f"{name} ("))
        assert "no release: " in reason and "it failed" not in reason
    for point in found.points:
        assert 0 <= point.risk.value <= 1 and 0 <= point.utility.value <= 1
    assert found.points[0].utility.value == 0
    _ = found._repr_html_(), str(found)


def test_the_grid_is_made_of_the_products_own_methods() -> None:
    assert {s.method for s in default_steps()} == OWN


def test_what_stands_in_for_a_domain_promises_nothing() -> None:
    draw = np.random.default_rng(2)
    data = {
        "age": draw.integers(20, 80, 300),
        "sex": draw.choice(["F", "M"], 300),
        "dx": draw.integers(0, 4, 300),
    }
    found = drawn(data, methods=[sf.PrivateSynthesizer(epsilon=1.0), sf.PeGS(epsilon=1.0)])
    for number in range(2):
        assert found.points[number].promises == (f"no guarantee ({MARK})",)
        (claim,) = found.choose(number).guarantee
        assert isinstance(claim, NoGuarantee) and "no promise of epsilon" in claim.title


def test_a_confirmed_domain_keeps_its_promise() -> None:
    table = sf.samples.discharges(300, seed=1).select(["age", "sex", "pay"])
    found = sf.frontier(table, [sf.PrivateSynthesizer(epsilon=1.0)], quasi_identifiers=["age"], repeats=1)
    assert any("epsilon" in p and "no guarantee" not in p for p in found.points[0].promises)


def test_a_number_that_many_people_have_is_a_bin_by_itself() -> None:
    gain = np.concatenate([np.zeros(270), np.arange(1_000, 31_000, 1_000)])
    table = sf.scan(pa.table({"gain": gain, "whole": gain.astype(int)}))
    domain = with_proposed_domain(table).schema
    assert domain["gain"].edges is not None and domain["whole"].edges is not None
    assert domain["gain"].edges[1] < 1e-300 and domain["whole"].edges[:2] == (0, 1)
    assert domain["gain"].public and domain["gain"].clamp


def test_where_nothing_is_known_the_columns_that_tell_apart_are_taken_and_said() -> None:
    draw = np.random.default_rng(2)
    data = {f"v{i}": draw.integers(0, 2 + i, 200) for i in range(9)}
    found = drawn(data, methods=[sf.step(sf.OptimalRecoding(), k=3)])
    assert "'v3', 'v4', 'v5', 'v6', 'v7', 'v8'" in found.notes[0] and "Name those" in found.notes[0]


def test_a_file_of_nothing_but_names_is_refused() -> None:
    names = {"a": [f"{i}x" for i in range(200)], "b": [f"y{7 * i}" for i in range(200)]}
    with pytest.raises(DataError, match="could know"):
        drawn(names)
