"""Ordered numbers and days as a first one and a difference."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from declared import PUBLIC
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.counts import Codebook
from sfumato.seeds import Key
from sfumato.synthesis.bin_values import Drawn
from sfumato.synthesis.differences import OrderedDifference, differences
from sfumato.synthesis.domain import Domain

START = date(2010, 1, 1)


def day(name: str, missing: bool = True, years: int = 3) -> sf.Column:
    edges = (START, date(2010 + years, 1, 1))
    return sf.Column(name, sf.Kind.DATE, edges=edges, missing=missing, provenance=PUBLIC)


def number(name: str, *edges: float, **more: Any) -> sf.Column:
    return sf.Column(name, sf.Kind.NUMERIC, edges=edges, provenance=PUBLIC, **{"type": "integer", **more})


def stays(rows: int = 3_000, missing: bool = True) -> tuple[dict[str, Any], sf.Table]:
    """Stays of 9.6 days; one in twenty has no day of admission, one in thirty none of discharge."""
    random = np.random.default_rng(3)
    first = random.integers(0, 1000, rows)
    last = first + random.geometric(1 / 9.6, rows)
    days = {"admitted": first, "discharged": np.minimum(last, 1096)}
    gaps = {"admitted": random.random(rows) < 0.05, "discharged": random.random(rows) < 0.03}
    cells = {
        n: [
            None if missing and g else START + timedelta(int(d))
            for d, g in zip(days[n], gaps[n], strict=True)
        ]
        for n in days
    }
    schema = sf.Schema(
        (
            day("admitted", missing),
            sf.Column("sex", sf.Kind.NOMINAL, levels=("f", "m"), missing=False, provenance=PUBLIC),
            day("discharged", missing),
        )
    )
    table = {"admitted": cells["admitted"], "sex": random.choice(["f", "m"], rows), **cells}
    return table, sf.scan(pa.table({n: table[n] for n in schema.names}), schema)


def lengths(cells: Any) -> Any:
    both = zip(cells["admitted"], cells["discharged"], strict=True)
    return np.array([(b - a).days for a, b in both if a is not None and b is not None])


@pytest.mark.parametrize("missing", [True, False])
def test_stays_are_as_long_as_they_were(missing: bool, tmp_path: Path) -> None:
    """Noise of about one row a cell, of 3,000: a quarter off takes eight people a thousand days late. Days
    drawn apart within bins are twice too far apart."""
    cells, table = stays(missing=missing)
    rule = sf.Ordered("admitted", "discharged")
    model = sf.PrivateSynthesizer(epsilon=50.0, declared_rows=3_000, constraints=[rule]).fit(table)
    for calibrate in (True, False):
        rows = model.sample(3_000, seed=1, calibrate=calibrate).data.to_arrow()
        assert rows.column_names == ["admitted", "sex", "discharged"]
        drawn = {n: rows[n].to_pylist() for n in rows.column_names}
        long, real = lengths(drawn), lengths(cells)
        assert long.min() >= 0 and abs(long.mean() / real.mean() - 1) < 0.25
        for name in ("admitted", "discharged"):
            gaps = [sum(d is None for d in x[name]) / 3_000 for x in (cells, drawn)]
            assert abs(gaps[0] - gaps[1]) < 0.02
        late = [
            np.mean([d is not None for a, d in zip(x["admitted"], x["discharged"], strict=True) if a is None])
            for x in (cells, drawn)
            if missing
        ]
        assert not missing or abs(late[0] - late[1]) < 0.2  # discharged without a day of admission
    again = sf.PrivateModel.load(model.save(tmp_path / "model.sfm"))
    assert again.sample(50, seed=2).data.to_arrow().equals(model.sample(50, seed=2).data.to_arrow())
    assert again.counts("discharged").dense().sum() == pytest.approx(3_000)
    assert model.table("discharged - admitted").counts.shape == ((3,) if missing else (1,))
    assert model.codes(20, Key.from_seed(1)).shape == (3, 20)
    with pytest.raises(sf.SfumatoError, match="but as 'discharged - admitted'"):
        model.table("discharged")


def test_the_target_may_be_drawn_as_a_difference() -> None:
    _, table = stays(300)
    rule = sf.Ordered("admitted", "discharged")
    model = sf.PrivateSynthesizer(epsilon=10.0, constraints=[rule], target="discharged").fit(table)
    assert model.domain.names == ("admitted or discharged", "sex", "discharged - admitted")


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(*[st.none() | st.integers(-5, 40)] * 2), min_size=1, max_size=20),
    st.booleans(),
    st.booleans(),
)
def test_what_is_taken_apart_is_put_together(rows: list[Any], clamp: bool, gaps: bool) -> None:
    """Rows that keep the order come back as they were; those that break it, with the second at the first."""
    rows = [(a or 0, b or 0) for a, b in rows] if not gaps else rows
    rows = rows if clamp else [(_within(a, 0, 20), _within(b, 3, 30)) for a, b in rows]
    first = Codebook.declared(number("a", 0, 10, 20, missing=gaps, clamp=clamp))
    second = Codebook.declared(number("b", 3, 30, missing=gaps, clamp=clamp))
    one = OrderedDifference.of(first, second)
    assert one is not None
    a, b = (pa.array([r[i] for r in rows], pa.int64()) for i in (0, 1))
    drawn = {}
    for name, values in {"a": a, **one.of_rows(a, b)}.items():
        book = {"a": first, one.book.name: one.book}.get(name, one.base)
        assert book is not None and book.encode(values).max() < book.size
        drawn[name] = Drawn.of(book, np.clip(values.fill_null(0).to_numpy(), 0, 20 if book is first else 99))
        drawn[name].gaps = values.is_null().to_numpy(zero_copy_only=False)
    one.restore(drawn)
    back = zip(*(drawn[n].arrow().to_pylist() for n in "ab"), strict=True)
    for (x, y), found in zip(rows, back, strict=True):
        x, y = _within(x, 0, 20), _within(y, 3, 30)
        if x is None:  # the second stands for the first, within the range of the first
            assert found == (None, None if y is None else max(min(y, 20), 3))
        else:
            assert found == (x, None if y is None else max(x, y))


def _within(value: int | None, low: int, high: int) -> int | None:
    return None if value is None else min(max(value, low), high)


def test_what_cannot_be_added_up_stays_as_declared() -> None:
    books = [
        Codebook.declared(c)
        for c in (number("a", 0, 9), number("b", 0, 9), number("c", 0.0, 9.0, type="real"))
    ]
    a, b, c = books
    assert OrderedDifference.of(a, b) is not None
    assert OrderedDifference.of(a, c) is None and OrderedDifference.of(c, b) is None
    assert OrderedDifference.of(Codebook.declared(number("a", 0, 10)), b) is None  # may lie beyond the second
    assert OrderedDifference.of(a, Codebook.declared(number("b", 0, float("inf")))) is None
    assert OrderedDifference.of(a, Codebook.declared(number("b", 0, 9, draw="lower"))) is None
    more = sf.Never({"b": 3, "a": 4})
    assert differences(books[:2], [sf.Ordered("a", "b"), more]) == ((), (sf.Ordered("a", "b"), more))
    circle = [sf.Ordered("a", "b"), sf.Ordered("b", "a")]
    assert differences(books[:2], circle) == ((), tuple(circle))


def test_orders_in_a_row() -> None:
    """Booked, admitted, discharged: each after the one before, whatever the order of the constraints."""
    schema = sf.Schema((day("c", False), day("b", False), day("a", False)))
    orders = [sf.Ordered("b", "c"), sf.Ordered("a", "b")]
    domain = Domain.of(schema, constraints=orders, ranges=True).with_differences()
    assert [d.book.name for d in domain.differences] == ["b - a", "c - b"] and not domain.constraints
    random = np.random.default_rng(1)
    days = np.sort(random.integers(0, 1096, (3, 400)), axis=0)
    cells = {n: [START + timedelta(int(d)) for d in x] for n, x in zip("abc", days, strict=True)}
    table = sf.scan(pa.table({n: cells[n] for n in "cba"}), schema)
    rows = (
        sf.PrivateSynthesizer(epsilon=5.0, constraints=orders).fit(table).sample(300, seed=1).data.to_arrow()
    )
    assert all(r["a"] <= r["b"] <= r["c"] for r in rows.to_pylist())


def test_times_are_apart_by_seconds() -> None:
    edges = (datetime(2010, 1, 1), datetime(2011, 1, 1))
    columns = [
        sf.Column(n, "date", type="datetime", edges=edges, missing=False, provenance=PUBLIC) for n in "ab"
    ]
    random = np.random.default_rng(1)
    first = [datetime(2010, 1, 1) + timedelta(seconds=int(s)) for s in random.integers(0, 3 * 10**7, 500)]
    cells = {"a": first, "b": [a + timedelta(hours=2) for a in first]}
    table = sf.scan(pa.table(cells), sf.Schema(tuple(columns)))
    model = sf.PrivateSynthesizer(epsilon=20.0, constraints=[sf.Ordered("a", "b")]).fit(table)
    rows = model.sample(400, seed=1).data.to_arrow().to_pylist()
    apart = np.array([(r["b"] - r["a"]).total_seconds() for r in rows])
    assert (apart >= 0).all() and (apart == 7200).mean() > 0.8
