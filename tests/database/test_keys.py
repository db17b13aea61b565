"""Ids are looked up among keys as a dictionary of Python would, whatever they are and however far apart."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.database import checks, keys, people, person_days
from sfumato.database.key_files import KeyFiles
from sfumato.database.keys import KeyIndex, distinct, repeated, repeated_keys

_FAR = st.integers(-(2**63), 2**63 - 1)
_NEAR = st.integers(-3, 12)
_TEXT = st.text("aé0 ", max_size=4)


@given(st.sampled_from([_FAR, _NEAR, _TEXT]).flatmap(
    lambda kind: st.tuples(st.lists(kind | st.none()), st.lists(kind | st.none()))))  # fmt: skip
def test_an_index_finds_the_first_place_of_every_id(drawn: tuple[list[object], list[object]]) -> None:
    values, wanted = drawn
    kind = pa.string() if any(isinstance(v, str) for v in values + wanted) else pa.int64()
    held = KeyIndex(pa.array(values, kind))
    if kind == pa.int64():
        files, whose = KeyFiles(), np.arange(100, 100 + len(values), dtype=np.int32)
        for part in (slice(0, 2), slice(2, None)):
            files.add(pa.array(values[part], kind), whose[part])
        files.sealed()
        assert files.places(pa.array(wanted, kind)).tolist() == held.places(pa.array(wanted, kind)).tolist()
        same = KeyIndex(pa.array(values, kind), whose)
        assert files.persons(pa.array(wanted, kind)).tolist() == same.persons(pa.array(wanted, kind)).tolist()
        assert (len(files), files.missing, files.repeated) == (len(held), held.missing, held.repeated)
    first = {v: values.index(v) for v in values if v is not None}
    assert held.places(pa.array(wanted, kind)).tolist() == [first.get(v, -1) for v in wanted]
    there = [v for v in values if v is not None]
    assert repeated(held.ids) == len({v for v in there if there.count(v) > 1})
    assert set(distinct(held.ids).to_pylist()) == set(there)


def test_texts_of_one_number_are_not_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_WEIGHTS", keys._WEIGHTS[:1])  # every order of letters has one number
    held = KeyIndex(pa.array(["ab", "cd"]))
    assert held.places(pa.array(["ba", "cd", "dc"])).tolist() == [-1, 1, -1]
    both = KeyIndex(pa.array(["ab", "ba"]))
    assert both.places(pa.array(["ba", "ab", "aa"])).tolist() == [1, 0, -1]
    assert repeated(pa.array(["ab", "ba", "ab"])) == 1
    table = sf.scan(pa.table({"id": ["ab", "ba", "ab", "cd"]}))
    assert repeated_keys(table, "id", 4, at_once=2) == 1


def test_more_rows_than_places_can_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.database.key_files._MOST_ROWS", 3)
    files = KeyFiles()
    files.add(pa.array([7, 8, 9]), None)
    with pytest.raises(sf.DataError, match="more than 3 rows"):
        files.add(pa.array([10]), None)


def test_keys_in_files_give_the_same_release_and_leave_no_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows = {name: table.to_arrow() for name, table in sf.samples.omop(40).tables.items()}
    twice = pa.concat_tables([rows["visit_occurrence"], rows["visit_occurrence"].slice(3, 9)])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def made() -> tuple[object, ...]:
        db = sf.scan_database(rows)
        release = sf.pseudonymize(db, shift_dates=100, key=sf.Key.from_seed(1), shuffle=False).data
        broken = sf.scan_database({**rows, "visit_occurrence": twice, "person": rows["person"].slice(2)},
                                  check=False)  # fmt: skip
        with pytest.warns(sf.SfumatoWarning) as said:
            mended = sf.scan_database(broken.tables, mend=True)
        tables = [{n: t.to_arrow() for n, t in d.tables.items()} for d in (release, mended)]
        return tables, [str(d) for d in broken.differences], [str(w.message) for w in said]

    in_memory = made()
    monkeypatch.setattr(keys, "_MOST_HELD", 10)
    monkeypatch.setattr(keys, "_AT_ONCE", 20)
    monkeypatch.setattr(keys, "_LOOK", 16)
    monkeypatch.setattr(people, "_ROWS", 16)
    monkeypatch.setattr(person_days, "_MOST_HELD", 10)
    monkeypatch.setattr(person_days, "_LOOK", 7)
    monkeypatch.setattr(checks, "_GROUPS", 3)
    assert made() == in_memory
    gc.collect()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("at_once", [2, 5, 100])
def test_repeated_keys_are_counted_part_by_part(at_once: int) -> None:
    ids = [1, 7, 7, -4, 9, -4, 12, 7, 13]
    for values in (ids, [f"p{i}" for i in ids]):
        table = sf.scan(pa.table({"id": values}))
        assert repeated_keys(table, "id", len(ids), at_once) == 2


@pytest.mark.parametrize("groups", [7, 65_536])
def test_somebody_with_most_rows_is_said_and_handled(groups: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_GROUPS", groups)
    people = {"patients": pa.table({"patient_id": range(1, 51), "sex": ["f", "m"] * 25})}
    stays = pa.table({"stay_id": range(5_000), "patient_id": [1] * 4_900 + [2 + i % 49 for i in range(100)]})
    with pytest.warns(sf.SfumatoWarning, match=r"one person has 4,900 of 5,000 rows"):
        db = sf.scan_database({**people, "stays": stays})
    assert sf.pseudonymize(db).data["stays"].rows() == 5_000


def test_most_rows_of_a_group_are_nobodys_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Persons whose numbers have one remainder have most rows together, and none of them has."""
    monkeypatch.setattr(checks, "_GROUPS", 10)
    patients = pa.table({"patient_id": range(50), "sex": ["f", "m"] * 25})
    stays = pa.table({"stay_id": range(2_000), "patient_id": [3, 13, 23, 33] * 500})
    assert not sf.scan_database({"patients": patients, "stays": stays}).differences


@given(st.lists(st.integers(-365, 365), min_size=1, max_size=40), st.data())
def test_days_of_persons_from_a_file_are_those_in_memory(days: list[int], data: st.DataObject) -> None:
    numbers = np.array(data.draw(st.lists(st.integers(-1, len(days) - 1))), np.int32)
    parts = [np.array(days[:3], np.int64), np.array(days[3:], np.int64)]
    held = person_days.PersonDays(parts, len(days)).of(numbers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(person_days, "_MOST_HELD", 0)
        patch.setattr(person_days, "_LOOK", 5)
        assert person_days.PersonDays(parts, len(days)).of(numbers).tolist() == held.tolist()
        assert not person_days.PersonDays((), len(days)).of(numbers).any()
    assert held.tolist() == [days[n] for n in numbers]


def test_beyond_the_bounds_ids_and_days_of_persons_lie_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (keys, person_days):
        monkeypatch.setattr(module, "_MOST_HELD", 20)
    db = sf.samples.omop(60)
    found = db.people
    assert isinstance(found.ids, KeyFiles) and found.keys["person"] is found.ids and found.count == 60
    assert all(isinstance(index, KeyFiles) for index in found.keys.values())
    days = person_days.PersonDays([np.arange(60)], 60)
    assert not any(isinstance(held, np.ndarray) for held in vars(days).values())
    assert days.of(np.array([59, 0, 7], np.int32)).tolist() == [59, 0, 7]
