"""Dates that move with their person: alike, uniformly, and not past the end of the calendar."""

from __future__ import annotations

import math
from collections import Counter
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from declared import PUBLIC
from hypothesis import given
from hypothesis import strategies as st
from stays import KEY, cells, stays

from sfumato import pseudonyms as pseudonyms_room
from sfumato.errors import DataError, SfumatoWarning
from sfumato.privacy import Pseudonymous
from sfumato.pseudonyms import faults, pseudonyms
from sfumato.pseudonyms.digests import move, shifts
from sfumato.release import Release, verify
from sfumato.schema import Role
from sfumato.seeds import Key
from sfumato.table import Table

# Rows are compared by their place here: tests of the order itself take the default.
pseudonymize = partial(pseudonyms_room.pseudonymize, shuffle=False)


def _days(release: Release, column: str) -> list[float]:
    before = stays().to_arrow()[column].to_pylist()
    after = cells(release, column)
    return [(b - a) / timedelta(days=1) for a, b in zip(before, after, strict=True)]


def test_all_dates_of_a_person_move_alike() -> None:
    release = pseudonymize(stays(), key=KEY, shift_dates=365)
    born, admitted, measured = (_days(release, c) for c in ("born", "admitted", "measured"))
    assert born == admitted == measured  # whole days: ages, intervals and times of day stay
    assert born[1] == born[2] and born[3] == born[4]
    assert all(1 <= abs(d) <= 365 and d == int(d) for d in born)


def test_the_shift_is_equal_across_tables_and_survives_dropping_the_id() -> None:
    whole = pseudonymize(stays(), key=KEY, shift_dates=30)
    without = pseudonymize(stays(), key=KEY, shift_dates=30, drop=["person"])
    assert "person" not in without.columns
    assert cells(without, "born") == cells(whole, "born")
    text = Table.from_arrow(pa.table({"who": ["8", "8"], "lab": [date(2020, 1, 3), date(2020, 1, 2)]}))
    labs = pseudonymize(text, columns=["who"], person="who", key=KEY, shift_dates=30)
    assert cells(labs, "lab")[1] - date(2020, 1, 2) == cells(whole, "born")[1] - date(1980, 5, 5)


# Days that stand for "unknown" are refused, which another test shows: 1900-01-01, 9998-01-01 and so on.
_DAYS = st.dates(date(2, 1, 2), date(9998, 1, 1)).filter(
    lambda day: (day - date(1970, 1, 1)).days not in faults._STAND_INS
)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.none() | _DAYS), min_size=1),
    st.integers(1, 300),
)
def test_intervals_within_a_person_are_kept(rows: list[tuple[int, date | None]], max_days: int) -> None:
    table = Table.from_arrow(
        pa.table({"p": [p for p, _ in rows], "d": pa.array([d for _, d in rows], pa.date32())})
    )
    release = pseudonymize(table, columns=["p"], person="p", shift_dates=max_days)
    moved: dict[int, set[int]] = {}
    for (person, before), after in zip(rows, cells(release, "d"), strict=True):
        assert (before is None) == (after is None)
        if before is not None:
            moved.setdefault(person, set()).add((after - before).days)
    assert all(len(days) == 1 and 1 <= abs(next(iter(days))) <= max_days for days in moved.values())


def test_the_column_that_says_whose_row_it_is_never_stays() -> None:
    table = stays(name=None)
    table = table.with_schema(table.schema.with_("person", role=Role.OTHER))
    replaced = pseudonymize(table, person="person", shift_dates=30)
    assert isinstance(replaced.guarantee.claims[0], Pseudonymous) and len(cells(replaced, "person")[0]) == 32
    with pytest.warns(SfumatoWarning, match="'person', which say whose rows they are"):
        dropped = pseudonymize(table, columns=["sex"], person="person", shift_dates=30)
    assert "person" not in dropped.columns


@pytest.mark.parametrize("max_days", [1, 3, 180])
def test_the_shift_is_uniform_without_zero(max_days: int) -> None:
    """Chi-square at a false-alarm rate of 1e-6; any key passes."""
    from scipy import stats

    n, values = 40_000, 2 * max_days
    found = Counter(shifts(pa.array(range(n)), Key.fresh(), max_days).to_pylist())
    assert set(found) == {d for d in range(-max_days, max_days + 1) if d}
    assert stats.chisquare([*found.values()], [n / values] * values).pvalue > 1e-6


def test_the_shift_is_unrelated_to_the_pseudonym_and_to_other_limits() -> None:
    n = 20_000
    ids = pa.array(range(n))
    key = Key.fresh()
    first = [ord(p[0]) & 1 for p in pseudonyms(ids, key).to_pylist()]
    sides = [[d > 0 for d in shifts(ids, key, days).to_pylist()] for days in (10, 11)]
    for other in (first, sides[1]):
        agree = sum(a == b for a, b in zip(sides[0], other, strict=True))
        # ord & 1 of base32: 13 of 26 letters and 3 of 6 digits are odd, so agreement has chance one half.
        assert abs(agree - n / 2) < 4.9 * math.sqrt(n / 4)  # two-sided, P = 1e-6


def test_times_of_day_stay_at_both_ends_of_the_calendar() -> None:
    edge = [datetime(1, 1, 11, 23, 59, 59, 999_999), datetime(9999, 12, 21, 0, 0, 0, 1)]
    moved = move(pa.array(edge, pa.timestamp("us")), pa.array([-10, 10])).to_pylist()
    assert [m.date() for m in moved] == [date.min, date.max]
    assert [m.time() for m in moved] == [e.time() for e in edge]


def test_codes_at_the_end_of_the_calendar_are_refused_because_they_would_tell_the_shift() -> None:
    ends = [date(9999, 12, 31), date(2020, 1, 1), None, date(9999, 12, 31), date(1, 1, 1)]
    table = stays(born=ends)
    with pytest.raises(DataError, match=r"'born' \(3 cells\)") as caught:
        pseudonymize(table, shift_dates=30)
    assert "missing_codes" in caught.value.hint and "9999" not in caught.value.message
    declared = table.schema.with_("born", missing_codes=(date(9999, 12, 31), date(1, 1, 1)))
    release = pseudonymize(table.with_schema(declared), shift_dates=30)
    assert [d is None for d in cells(release, "born")] == [True, False, True, True, True]


@pytest.mark.parametrize("code", [date(1900, 1, 1), date(2999, 12, 31), date(9999, 1, 1), date(1899, 12, 30)])
def test_days_that_stand_for_unknown_are_refused_too(code: date) -> None:
    with pytest.raises(DataError, match=r"'born' \(1 cells\)"):
        pseudonymize(stays(born=[code, None, None, None, date(1900, 1, 2)]), shift_dates=30)


def test_rows_without_a_person_are_refused_with_every_other_fault() -> None:
    table = stays(person=[7, None, None, 8, 9], born=[date.max] * 5)
    with pytest.raises(DataError) as caught:
        pseudonymize(table, shift_dates=30)
    assert "2 rows without 'person'" in caught.value.message and "'born' (5 cells)" in caught.value.message
    assert pseudonymize(table).data.to_arrow()["person"].null_count == 2  # without dates: missing stays


def test_ids_that_reals_cannot_tell_apart_are_refused() -> None:
    table = Table.from_arrow(pa.table({"id": [2.0**53, 1.0]}))
    with pytest.raises(DataError, match=r"too large to be told apart in 'id' \(1 cells\)"):
        pseudonymize(table, columns=["id"])


def test_a_declared_range_of_dates_grows_with_the_shift(tmp_path: Path) -> None:
    schema = stays().schema.with_("born", edges=(date(1950, 1, 1), date(1999, 12, 31)), provenance=PUBLIC)
    release = pseudonymize(stays().with_schema(schema), shift_dates=40)
    assert release.schema["born"].edges == (date(1949, 11, 22), date(2000, 2, 9))
    assert verify(release.save(tmp_path / "out")).ok
    days = (date.min, date(2020, 1, 1))
    assert (
        pseudonymize(stays().with_schema(stays().schema.with_("born", edges=days)), shift_dates=40)
        .schema["born"]
        .edges
        is None
    )
