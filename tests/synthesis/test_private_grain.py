"""Numbers and days finer than their bins: the grid, the cut, and what is drawn."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from declared import PUBLIC
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.counts import Codebook
from sfumato.synthesis.private.grain import finer, grid
from sfumato.synthesis.private.resolution import classes_of
from sfumato.synthesis.private.variables import Variable

WIDE = (-7e15, -1e6, -3.5, 0.0, 1e-9, 0.25, 1.0, 18.5, 1000.0, 2e6, 1e300)


def number(name: str = "x", **more: Any) -> sf.Column:
    return sf.Column(name, sf.Kind.NUMERIC, missing=False, provenance=PUBLIC, **more)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.sampled_from(WIDE), min_size=2, max_size=5, unique=True).map(sorted),
    st.booleans(),
    st.booleans(),
)
@example([0.0, 1e-9], True, False)  # a single whole number
def test_a_grid_parts_its_bins(edges: list[float], whole: bool, unbounded: bool) -> None:
    """Cells do not overlap, none lies in two bins, and every bin begins one and ends one."""
    whole = whole and abs(edges[-1]) < 2**60
    edges = [*edges[:-1], float("inf")] if unbounded else edges
    book = Codebook.declared(number(edges=tuple(edges), type="integer" if whole else "real"))
    found = grid(book)
    if found is None:
        return
    (low, high), bins = found
    assert len(low) < 2**16 and (low <= high).all() and (high[:-1] < low[1:]).all()
    kind = pa.int64() if whole else pa.float64()
    assert (book.encode(pa.array(low, kind)) == bins).all() and (
        book.encode(pa.array(high, kind)) == bins
    ).all()
    assert set(bins) == set(range(len(book.levels)))


def test_numbers_that_people_have_are_cells_of_their_own() -> None:
    """Zero, 999, cents, a third, and what single precision makes of a number."""
    (low, high), _ = grid(Codebook.declared(number(edges=(0.0, 1000.0)))) or ((None, None), None)
    alone = set(low[low == high].tolist())
    assert {0.0, 999.0, 0.25, 18.6, 1 / 3, 1000.0, float(np.float32(57.3))} <= alone
    (low, high), _ = grid(Codebook.declared(number(edges=(0, 10**6), type="integer"))) or ((None, None), None)
    assert {0, 1, 37, 999, 1200, 999_900, 10**6} <= set(low[low == high].tolist())


def test_what_the_bins_say_already_is_left_alone() -> None:
    for column in (
        number(edges=(0, 1, 2, 3), type="integer"),
        number(edges=(0.0, 9.0), draw="lower"),
        number(edges=(0.0, float("inf"))),
        number(edges=(-1.7e308, 1.7e308)),
        number(edges=(5e-324, 1e-323)),
        number(edges=tuple(range(0, 300_000, 4)), type="integer"),
    ):
        assert grid(Codebook.declared(column)) is None


def test_only_what_enough_people_are_in_is_cut() -> None:
    cells = np.repeat([0, 1, 2], [20, 20, 1])
    cut = finer(cells, np.array([100.0, 2.0, 50.0]), noise=5.0)
    assert cut is not None and np.bincount(cut).tolist() == [3, 2, 3, 2, 3, 2, 3, 2, 20, 1]
    assert finer(cells, np.array([14.0, 2.0, 50.0]), noise=5.0) is None


def amounts(rows: int = 4_000) -> tuple[sf.Table, dict[str, Any]]:
    """Costs with zeros and a tail, a code for refusals, days, gaps."""
    random = np.random.default_rng(5)
    cost = np.round(np.where(random.random(rows) < 0.3, 0.0, np.exp(random.normal(6, 1.2, rows))), 2)
    visits = np.where(random.random(rows) < 0.1, 999, random.poisson(3, rows))
    days = [date(2010, 1, 1) + timedelta(int(d)) for d in 900 * random.beta(2, 5, rows)]
    sick = np.where(random.random(rows) < 1 / (1 + np.exp(-(cost - 400) / 200)), "yes", "no")
    cells = {"cost": cost, "visits": visits, "day": days, "sick": sick}
    schema = sf.Schema(
        (
            number("cost", edges=(0.0, 100_000.0)),
            number("visits", edges=(0, 1000), type="integer"),
            sf.Column("day", sf.Kind.DATE, edges=(date(2010, 1, 1), date(2013, 1, 1)), provenance=PUBLIC),
            sf.Column("sick", sf.Kind.NOMINAL, levels=("no", "yes"), missing=False, provenance=PUBLIC),
        )
    )
    return sf.scan(pa.table(cells), schema), cells


@pytest.fixture(scope="module")
def fitted() -> tuple[sf.PrivateModel, dict[str, Any]]:
    table, cells = amounts()
    return sf.PrivateSynthesizer(epsilon=20.0, declared_rows=4_000).fit(table), cells


def farthest(truth: Any, rows: Any) -> float:
    """Kolmogorov and Smirnov's distance."""
    every = np.unique(np.concatenate([truth, rows]))
    shares = [np.searchsorted(np.sort(x), every, side="right") / len(x) for x in (truth, rows)]
    return float(np.abs(shares[0] - shares[1]).max())


def test_one_range_is_enough_for_numbers_as_they_are(fitted: tuple[sf.PrivateModel, dict[str, Any]]) -> None:
    """Noise of about 3 rows in each cell: a distance of .03 is 120 rows."""
    model, cells = fitted
    rows = model.sample(4_000, seed=1).data.to_arrow()
    for name in ("cost", "visits"):
        assert farthest(cells[name], rows[name].to_numpy()) < 0.03
    origin = date(2010, 1, 1)
    days = [
        np.array([(d - origin).days for d in x]) for x in (cells["day"], rows["day"].drop_null().to_pylist())
    ]
    assert farthest(*days) < 0.03
    drawn = rows["visits"].to_numpy()
    assert abs((drawn == 999).mean() - (cells["visits"] == 999).mean()) < 0.02
    assert ((drawn > 30) & (drawn != 999)).mean() < 0.02
    cost, sick = rows["cost"].to_numpy(), np.array(rows["sick"].to_pylist())
    gap = cost[sick == "yes"].mean() / cost[sick == "no"].mean()
    real = cells["cost"][cells["sick"] == "yes"].mean() / cells["cost"][cells["sick"] == "no"].mean()
    assert gap > 0.6 * real > 1.5  # what depends on the number does so still


def test_independent_rows_too(fitted: tuple[sf.PrivateModel, dict[str, Any]]) -> None:
    model, cells = fitted
    rows = model.sample(4_000, seed=1, calibrate=False).data.to_arrow()
    assert farthest(cells["cost"], rows["cost"].to_numpy()) < 0.06


def test_a_saved_model_draws_the_same(fitted: tuple[sf.PrivateModel, dict[str, Any]], tmp_path: Path) -> None:
    model = fitted[0]
    again = sf.PrivateModel.load(model.save(tmp_path / "model.sfm"))
    for calibrate in (True, False):
        first, second = (m.sample(500, seed=3, calibrate=calibrate).data.to_arrow() for m in (model, again))
        assert first.equals(second)
    assert again.measurements.equals(model.measurements)
    assert "0" in model.measurements["level"].to_pylist()  # a cell that is zero alone


def test_counts_and_tables_are_of_bins(fitted: tuple[sf.PrivateModel, dict[str, Any]]) -> None:
    model = fitted[0]
    assert model.counts("cost").dense().shape == (1,) and model.counts("cost", "sick").dense().shape == (1, 2)
    assert model.table("day").counts.shape == (2,)
    assert model.table("cost", "sick").counts.shape == (1, 2)
    with pytest.raises(sf.SfumatoError, match="'fine' or 'bins'"):
        sf.PrivateSynthesizer(numbers="quantiles")


def test_bins_alone_on_request() -> None:
    table, _ = amounts()
    with pytest.raises(sf.SfumatoError, match="one level"):
        sf.PrivateSynthesizer(numbers="bins").fit(table)
    some = table.schema.with_("cost", edges=(0.0, 400.0, 100_000.0), provenance=PUBLIC)
    model = sf.PrivateSynthesizer(numbers="bins", columns=("cost", "sick")).fit(
        sf.scan(table.to_arrow(), some)
    )
    assert not model.measured.variables.cuts
    # 35% of the people cost more than 400; in bins they are drawn evenly up to 100,000. With 4,000 of them
    # noise and sampling move the share by less than .02.
    assert (model.sample(4_000, seed=1).data.to_arrow()["cost"].to_numpy() > 1000).mean() > 0.3


def test_a_pair_of_numbers_has_people_in_its_cells() -> None:
    """Classes of so many people are not enough: forty by forty leave a dozen of 20,000 to a cell."""
    low = np.arange(400)
    cells = Variable((0,), np.zeros((1, 400), np.int64), (), None, True, (low, low))
    found = classes_of(cells, np.full(400, 50.0), 500.0)
    assert found is not None and found.max() + 1 == 5  # 20,000 / 5^2 > 500
    few = Variable((0,), np.zeros((1, 20), np.int64), (), None, True, (low[:20], low[:20]))
    merged = classes_of(few, np.full(20, 1000.0), 500.0)
    assert merged is not None and merged.max() + 1 == 4  # however few the cells are
    codes = Variable((0,), np.arange(400)[None], (), None, True)
    plain = classes_of(codes, np.full(400, 50.0), 500.0)
    assert plain is not None and plain.max() + 1 == 40


def test_a_range_without_an_end_says_what_to_do() -> None:
    table, _ = amounts(50)
    some = table.schema.with_("cost", edges=(0.0, float("inf")), provenance=PUBLIC)
    with pytest.raises(sf.SfumatoError, match=r"one level.*'cost'.*finite"):
        sf.PrivateSynthesizer().fit(sf.scan(table.to_arrow(), some))
