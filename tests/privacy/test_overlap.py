"""The same people are noticed by who they are: in a copy, a hard link, a table that shares some of them."""

from __future__ import annotations

import math
import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import sfumato as sf
from sfumato.errors import BudgetError, ParameterError
from sfumato.privacy import Ledger
from sfumato.privacy.ledger.overlap import MOST, PERSONS, PeopleSketch
from sfumato.release.people import known_people, people_of
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.table import Table


def of_persons(first: int, last: int, rows: int = 1) -> Table:
    ids = np.repeat([f"P{i}" for i in range(first, last)], rows)
    sick = pa.array(np.arange(len(ids)) % 2)
    schema = Schema((Column("id", Kind.NOMINAL, role=Role.PERSON), Column("sick", Kind.NOMINAL)))
    return sf.scan(pa.table({"id": ids, "sick": sick}), schema)


PLAIN = Schema((Column("a", Kind.NOMINAL), Column("b", Kind.NOMINAL)))


def of_rows(numbers: np.ndarray) -> Table:
    return sf.scan(pa.table({"a": numbers, "b": (numbers * 7) % 1000}), PLAIN)


def sketch(table: Table) -> PeopleSketch:
    found = people_of(table)
    assert found is not None
    return found


def test_order_engines_and_parts_do_not_matter() -> None:
    numbers = np.arange(3000)
    one, other = sketch(of_rows(numbers)), sketch(of_rows(numbers[::-1].copy()))
    assert one.to_json() == other.to_json() and one.shared(other) == 1.0
    columns = sf.scan(pa.table({"b": (numbers * 7) % 1000, "a": numbers}), Schema(tuple(PLAIN)[::-1]))
    assert sketch(columns).to_json() == one.to_json()
    parts = PeopleSketch(PERSONS)
    hashes = np.arange(1, 20_000, dtype=np.uint64) * np.uint64(11400714819323198485)
    for part in np.array_split(hashes[::-1], 7):
        parts = parts.with_(part)
    assert parts.to_json() == PeopleSketch(PERSONS).with_(hashes).to_json()
    assert len(parts.hashes) == MOST and PeopleSketch.from_json(parts.to_json()).to_json() == parts.to_json()
    for wrong in ("{}", "[]", '{"kind": "x", "hashes": "", "counts": [], "total": 0, "number": 0}'):
        with pytest.raises(ValueError):
            PeopleSketch.from_json(wrong)
    with pytest.raises(ParameterError):
        PeopleSketch("things")


def test_persons_are_known_in_part_and_under_other_spellings() -> None:
    whole = sketch(of_persons(0, 40_000))
    few = sketch(of_persons(39_500, 45_000, rows=3))  # 500 shared, each with three rows
    # Shared in the sample: about 500 * 4096 / 40,000 = 51. Within six standard deviations for any key.
    expected = 500 / 5500
    slack = 6 * math.sqrt(expected / (5500 * MOST / 40_000))
    assert abs(whole.shared(few) - expected) < slack and whole.same_people(few) and few.same_people(whole)
    assert not whole.same_people(sketch(of_persons(40_000, 50_000)))
    plain = of_persons(0, 1)
    spelt = sf.scan(pa.table({"id": [" p0 "], "sick": [1]}), plain.schema)
    assert sketch(plain).same_people(sketch(spelt))
    assert not sketch(plain).same_people(sketch(of_rows(np.arange(10))))


def test_rows_alike_by_chance_are_no_people() -> None:
    rng = np.random.default_rng(0)
    coarse = [of_rows(rng.integers(0, 20, 4000)) for _ in range(2)]
    assert not sketch(coarse[0]).same_people(sketch(coarse[1]))
    assert sketch(coarse[0]).same_people(sketch(coarse[0]))
    numbers = rng.permutation(20_000)
    half = sketch(of_rows(numbers[:10_000]))
    assert half.same_people(sketch(of_rows(numbers[5000:15_000])))
    assert not half.same_people(sketch(of_rows(numbers[10_000:])))


@pytest.mark.parametrize("how", ["copy", "link", "other format", "some of them"])
def test_a_second_ledger_is_refused_by_content(tmp_path: Path, how: str) -> None:
    table = of_persons(0, 300)
    pyarrow.csv.write_csv(table.to_arrow(), tmp_path / "data.csv")
    other = tmp_path / "other.csv"
    if how == "copy":
        shutil.copy(tmp_path / "data.csv", other)
    elif how == "link":
        os.link(tmp_path / "data.csv", other)
    elif how == "other format":
        other = tmp_path / "other.parquet"
        pyarrow.parquet.write_table(table.to_arrow(), other)
    else:
        pyarrow.csv.write_csv(of_persons(290, 400).to_arrow(), other)
    one, two = (Ledger.open(tmp_path / f"{n}.ledger", 1.0) for n in "ab")
    again = sf.scan(other, table.schema)
    assert known_people(again) is None  # nobody was paid for yet
    one.pay_for(tmp_path / "data.csv", people_of(table))
    assert not Ledger.payer_of(other, known_people(again))  # nothing was spent yet
    one.grant(epsilon=0.1, purpose="p")
    with pytest.raises(BudgetError, match=r"of these persons was paid from ledger a\.ledger"):
        two.pay_for(other, people_of(again))
    assert two.spent == 0 and Ledger.payer_of(other, known_people(again)) == "a.ledger"
    one.pay_for(other, people_of(again))
    two.pay_for(other, people_of(again), other_people=True)
    two.pay_for(tmp_path / "new.csv", people_of(of_persons(500, 600)))


@pytest.mark.parametrize("other", [False, True])
def test_of_two_first_fits_of_the_same_people_at_once_one_pays(tmp_path: Path, other: bool) -> None:
    """Both looked when nobody had paid: the first debit looks again, alone, also among many at a time."""
    books = [Ledger.open(tmp_path / f"{i}.ledger", sf.privacy.Budget(epsilon=1.0)) for i in range(4)]
    for i, book in enumerate(books):
        table = of_persons(10 * i, 1000 + i)  # different tables that share people
        book.pay_for(tmp_path / f"{i}.csv", people_of(table), other_people=other)
    paid, refused = [], []

    def fit(number: int) -> None:
        try:
            books[number].grant(epsilon=0.1, purpose="a first fit")
            paid.append(number)
        except BudgetError:
            refused.append(number)

    together = [threading.Thread(target=fit, args=(i,)) for i in range(4)]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join()
    assert len(paid) == (4 if other else 1) and len(paid) + len(refused) == 4
    for number in refused:
        assert books[number].spent == 0
    books[paid[0]].grant(epsilon=0.1, purpose="and again, by who pays")


def test_nothing_of_a_person_is_kept_in_plain_and_the_key_is_the_owners(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "a.ledger", 1.0)
    ledger.pay_for(None, people_of(of_persons(0, 50)))
    state = Path(os.environ["SFUMATO_STATE"])
    kept = b"".join(p.read_bytes() for p in state.rglob("*") if p.is_file())
    assert b"P1" not in kept and b"P49" not in kept
    assert (state / "people.key").stat().st_mode & 0o077 == 0
    first = sketch(of_persons(0, 50)).hashes
    (state / "people.key").unlink()
    assert not set(sketch(of_persons(0, 50)).hashes.tolist()) & set(first.tolist())  # another key
