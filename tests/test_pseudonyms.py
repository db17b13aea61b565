from __future__ import annotations

import base64
import hmac
import re
import shutil
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stays import KEY, cells, stays

from sfumato import pseudonyms as pseudonyms_room
from sfumato.errors import DataError, ParameterError, SchemaError, SfumatoWarning
from sfumato.io.frames import from_frame
from sfumato.privacy import NoGuarantee, Pseudonymous
from sfumato.pseudonyms import canonical_text, pseudonyms
from sfumato.pseudonyms.digests import _texts, _uniform
from sfumato.release import Release, fingerprint, verify
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.table import Table, plain_column

# Rows are compared by their place here: tests of the order itself take the default.
pseudonymize = partial(pseudonyms_room.pseudonymize, shuffle=False)

# -- pseudonyms ----------------------------------------------------------------------------------


def test_identifiers_go_and_persons_get_pseudonyms() -> None:
    release = pseudonymize(stays(), key=KEY)
    assert release.columns == ("person", "born", "admitted", "measured", "sex")
    found = cells(release, "person")
    assert all(re.fullmatch(r"[A-Z2-7]{32}", p) for p in found)
    assert found[1] == found[2] and found[3] == found[4] and len(set(found)) == 3
    assert release.data.drop(["person"]).to_arrow() == stays().drop(["name", "person"]).to_arrow()
    assert release.schema["person"].role is Role.PERSON and release.schema["person"].type == "text"


def test_a_pseudonym_is_the_hmac_of_the_id() -> None:
    """By the book: HMAC-SHA-256 under the derived key, its first 160 bits in base32."""
    secret = KEY.derive("pseudonym", "").to_bytes()
    for value in ("7", "", "ü", "x" * 1000):
        expected = base64.b32encode(hmac.digest(secret, value.encode(), "sha256")[:20]).decode()
        assert pseudonyms(pa.array([value]), KEY).to_pylist() == [expected]
    assert pseudonyms(pa.array([], pa.string()), KEY).to_pylist() == []
    assert pseudonyms(pa.array([None, None], pa.string()), KEY).to_pylist() == [None, None]


@given(st.one_of(*(st.lists(c, max_size=4) for c in (
    st.text(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.booleans(), st.dates(),
    st.integers(0, 99).map(float), st.datetimes(), st.decimals(-9, 9, places=3),
))))  # fmt: skip
def test_the_quick_way_to_text_is_the_plain_one(values: list[Any]) -> None:
    found = _texts(pa.array(values) if values else pa.array([], pa.string()))
    assert found.to_pylist() == [canonical_text(v + 0.0 if isinstance(v, float) else v) for v in values]


def test_words_beyond_the_last_multiple_are_drawn_again() -> None:
    """A span just above half the range refuses nearly every second word."""
    span = 2**63 - 1
    secret, texts = bytes(33), pa.array([str(i) for i in range(300)])
    expected = []
    for text in texts.to_pylist():
        for block in range(64):
            digest = hmac.digest(secret, block.to_bytes(4, "big") + text.encode(), "sha256")
            word = int.from_bytes(digest[:8], "big")
            if word < 2**64 - 2**64 % span:
                expected.append(word % span)
                break
    assert _uniform(secret, texts, span).tolist() == expected
    hard = 2**62 + 1  # three multiples fit, a quarter of the words is refused
    again = _uniform(secret, texts, hard)
    firsts = [
        int.from_bytes(hmac.digest(secret, bytes(4) + t.encode(), "sha256")[:8], "big")
        for t in texts.to_pylist()
    ]
    refused = [i for i, word in enumerate(firsts) if word >= 3 * hard]
    assert refused and all(0 <= int(again[i]) < hard for i in refused)
    assert all(int(again[i]) == word % hard for i, word in enumerate(firsts) if i not in set(refused))


@given(st.lists(st.none() | st.text(max_size=5), max_size=20))
def test_pseudonyms_are_one_to_one_and_missing_stays_missing(ids: list[str | None]) -> None:
    found = pseudonyms(pa.array(ids, pa.string()), KEY).to_pylist()
    assert [p is None for p in found] == [i is None for i in ids]
    assert len(set(found)) == len({i if i is None else canonical_text(i) for i in ids})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (7.0, "7"),
        (Decimal("7.00"), "7"),
        (Decimal("700"), "700"),
        (Decimal("7E+2"), "700"),
        (Decimal("12345678901234567890123456789.000000000"), "12345678901234567890123456789"),
        ("7", "7"),
        ("007", "007"),
        (" 7", "7"),
        ("7\u200b", "7"),
        (7.5, "7.5"),
        (2**53 - 1.0, "9007199254740991"),
        (-3, "-3"),
        (True, "true"),
        ("e\u0301", "\u00e9"),
        (date(2020, 1, 2), "2020-01-02"),
        (datetime(2020, 1, 2, 3), "2020-01-02T03:00:00"),
        (datetime(2020, 1, 2, 3, tzinfo=UTC), "2020-01-02T03:00:00+00:00"),
    ],
)
def test_an_id_is_known_by_one_text_whatever_its_type(value: object, text: str) -> None:
    assert canonical_text(value) == text


def test_equal_across_types_and_engines() -> None:
    import pandas as pd
    import polars as pl

    ids = [7, 8, 8, 9, None]
    frames = [
        pa.table({"id": pa.array(ids, pa.int32())}),
        pa.table({"id": pa.array([str(i) if i else None for i in ids]).dictionary_encode()}),
        pa.Table.from_pandas(pd.DataFrame({"id": ids}), preserve_index=False),  # reals, with NaN
        pa.Table.from_pandas(pd.DataFrame({"id": pd.array(ids, "Int64")}), preserve_index=False),
        pl.DataFrame({"id": ids}).to_arrow(),
        pl.DataFrame({"id": [str(i) if i else None for i in ids]}).to_arrow(),
        pa.table({"id": pa.array([Decimal(i) if i else None for i in ids], pa.decimal128(9, 2))}),
    ]
    results = [cells(pseudonymize(Table.from_arrow(f), columns=["id"], key=KEY), "id") for f in frames]
    assert all(r == results[0] for r in results) and results[0][4] is None


def _table(frame: Any) -> Table:
    source = from_frame(frame)
    assert source is not None
    return Table(source, Schema(tuple(plain_column(f) for f in source.arrow_schema)))


@pytest.mark.parametrize("engine", ["pandas", "polars", "arrow", "duckdb", "ibis"])
def test_what_went_in_comes_out_with_the_same_pseudonyms(engine: str) -> None:
    import duckdb
    import ibis
    import pandas as pd
    import polars as pl

    columns = {"id": ["7", "8", None], "day": [date(2020, 1, 1)] * 3}
    arrow = pa.table(columns)
    frame = {
        "pandas": lambda: pd.DataFrame(columns),
        "polars": lambda: pl.DataFrame(columns),
        "arrow": lambda: arrow,
        "duckdb": lambda: duckdb.connect().from_arrow(arrow),
        "ibis": lambda: ibis.memtable(arrow),
    }[engine]()
    table = _table(frame)
    expected = pseudonyms(pa.array(["7", "8", None]), KEY).to_pylist()
    release = pseudonymize(table, columns=["id"], key=KEY)
    assert cells(release, "id") == expected
    back = release.to_native()
    # Ibis has a class for each kind of table; what counts is the library.
    assert type(back).__module__.partition(".")[0] == type(frame).__module__.partition(".")[0]
    assert type(back) is type(frame)


def test_equal_across_tables_that_share_the_key_under_any_column_name() -> None:
    visits = Table.from_arrow(pa.table({"patient": [8, 9]}))
    labs = Table.from_arrow(pa.table({"subject": ["9", "8"], "value": [1, 2]}))
    one = cells(pseudonymize(visits, columns=["patient"], key=KEY), "patient")
    two = cells(pseudonymize(labs, columns=["subject"], key=KEY), "subject")
    assert one == two[::-1]
    other = cells(pseudonymize(labs, columns=["subject"], key=Key.fresh()), "subject")
    fresh = cells(pseudonymize(labs, columns=["subject"]), "subject")
    assert len({*two, *other, *fresh}) == 6


def test_domains_keep_ids_apart_that_look_alike() -> None:
    table = Table.from_arrow(pa.table({"ward": [7], "person": [7], "kin": [7]}))
    names = ["ward", "person", "kin"]
    release = pseudonymize(table, columns=names, key=KEY, domain={"ward": "wards"})
    ward, person, kin = (cells(release, n)[0] for n in names)
    assert person == kin != ward
    whole = pseudonymize(table, columns=names, key=KEY, domain="wards")
    assert {cells(whole, n)[0] for n in names} == {ward}


def test_the_key_is_saved_for_its_owner_and_used_again(tmp_path: Path) -> None:
    first = pseudonymize(stays())
    target = first.save(tmp_path / "one")
    file = target / "internal" / "pseudonym.key"
    assert file.stat().st_mode & 0o777 == 0o600
    for key in (target, target / "internal", file, str(target)):
        assert cells(pseudonymize(stays(), key=key), "person") == cells(first, "person")
    second = pseudonymize(stays(), key=target)
    assert first.internal is not None and second.internal is not None
    assert first.internal.keys == second.internal.keys
    assert first.internal.key != second.internal.key  # the seal of a release is its own


def test_a_key_that_others_can_read_is_used_with_a_warning(tmp_path: Path) -> None:
    pseudonymize(stays()).save(tmp_path / "one")
    (tmp_path / "one" / "internal" / "pseudonym.key").chmod(0o640)
    with pytest.warns(SfumatoWarning, match=r"pseudonym\.key can be read by others"):
        pseudonymize(stays(), key=tmp_path / "one")


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_key_that_is_not_there_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no key file"):
        pseudonymize(stays(), key=tmp_path / name)
    (tmp_path / "bad.key").write_text('{"hex": "00"}')
    with pytest.raises(DataError, match="not a key file"):
        pseudonymize(stays(), key=tmp_path / "bad.key")


# -- the release ---------------------------------------------------------------------------------


def test_it_claims_to_be_pseudonymous_and_says_that_this_is_not_anonymous(tmp_path: Path) -> None:
    release = pseudonymize(stays(), shift_dates=10)
    (claim,) = release.guarantee
    assert isinstance(claim, Pseudonymous) and claim.columns == ("person",)
    text = str(release.guarantee)
    assert (
        "not anonymity" in text and "key" in text and "1 to 10 days" in text and "order of the rows" in text
    )
    assert release.internal is not None
    assert release.internal.fingerprint == fingerprint(stays(), release.internal.key)
    target = release.save(tmp_path / "out")
    assert verify(target).ok and Release.load(target) == release
    assert "treat it as personal data" in (target / "public" / "card.md").read_text()


def test_a_name_put_back_is_noticed(tmp_path: Path) -> None:
    from releases import alter, cover_up

    target = pseudonymize(stays()).save(tmp_path / "out")
    alter(target, "person", 0, "Ann")
    cover_up(target)
    shutil.rmtree(target / "internal")
    assert not verify(target).ok


def test_a_seeded_key_promises_nothing() -> None:
    (claim,) = pseudonymize(stays(), key=Key.from_seed(1)).guarantee
    assert isinstance(claim, NoGuarantee) and claim.reason == "seeded"


def test_dropping_alone_promises_nothing() -> None:
    release = pseudonymize(stays(person=None))
    (claim,) = release.guarantee
    assert isinstance(claim, NoGuarantee) and "name" not in release.columns


def test_an_identifier_is_replaced_if_asked_and_then_names_nobody_by_itself(tmp_path: Path) -> None:
    with pytest.warns(SfumatoWarning, match="'person', which say whose rows they are"):
        release = pseudonymize(stays(), columns=["name"], drop=["sex"])
    assert release.columns == ("name", "born", "admitted", "measured")
    assert release.schema["name"].role is Role.OTHER
    release.save(tmp_path / "out")


def test_free_text_goes_loudly_unless_asked_for() -> None:
    schema = Schema((Column("id", Kind.NOMINAL, Role.PERSON), Column("note", Kind.TEXT)))
    table = Table.from_arrow(pa.table({"id": ["1"], "note": ["seen by Dr. Who"]}), schema)
    with pytest.warns(SfumatoWarning, match="free text is left out: 'note'"):
        assert pseudonymize(table).columns == ("id",)
    kept = pseudonymize(table, keep_text=True)
    assert kept.columns == ("id", "note") and "Free text (note)" in str(kept.guarantee)
    assert cells(pseudonymize(table, columns=["id", "note"]), "note") != ["seen by Dr. Who"]


def test_it_reads_batch_by_batch_and_only_what_is_asked() -> None:
    data = pa.concat_tables([stays().to_arrow().slice(i, 1) for i in range(5)])
    chunked = Table.from_arrow(data, stays().schema)
    whole, parts = (
        pseudonymize(stays(), key=KEY, shift_dates=9),
        pseudonymize(chunked, key=KEY, shift_dates=9),
    )
    assert whole.data.to_arrow() == parts.data.to_arrow()
    assert len(list(parts.data.batches())) == 5
    assert parts.data.counts("sex").total == 5
    (batch, *_) = parts.data.batches(["born"])
    assert batch.column(0).to_pylist() == cells(whole, "born")[:1]


# -- bad parameters ------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0, -1, 36_526, True, 1.5])
def test_shift_dates_is_a_number_of_days(shift: Any) -> None:
    with pytest.raises(ParameterError, match="shift_dates must be"):
        pseudonymize(stays(), shift_dates=shift)


def test_faults_of_the_call_are_said_before_anything_is_read() -> None:
    with pytest.raises(SchemaError, match="'nobody'"):
        pseudonymize(stays(), columns=["nobody"])
    with pytest.raises(SchemaError, match="'nowhere'"):
        pseudonymize(stays(), domain={"nowhere": "x"})
    with pytest.raises(ParameterError, match="both replaced and dropped: 'person'"):
        pseudonymize(stays(), columns=["person"], drop=["person"])
    with pytest.raises(ParameterError, match="no column names people"):
        pseudonymize(stays().select(["sex"]))
    with pytest.raises(ParameterError, match="no column holds dates"):
        pseudonymize(stays().select(["person", "sex"]), shift_dates=3)
    with pytest.raises(ParameterError, match="0 have the role person"):
        pseudonymize(stays().select(["name", "born"]), shift_dates=3)


def test_blank_ids_are_nobodys() -> None:
    table = pa.table({"p": ["a", "", "  ", None], "d": [date(2020, 1, 1)] * 4})
    schema = Schema((Column("p", Kind.NOMINAL, Role.PERSON), Column("d", Kind.DATE)))
    with pytest.raises(DataError, match="3 rows without 'p'"):
        pseudonymize(Table.from_arrow(table, schema), shift_dates=5)


# -- the order of the rows -----------------------------------------------------------------------


def _numbered(rows: int) -> Table:
    ids = [f"p{i:04d}" for i in range(rows)]
    schema = Schema((Column("person", "text", "person"), Column("n", "numeric", type="integer")))
    return Table.from_arrow(pa.table({"person": ids, "n": list(range(rows))}), schema)


def test_rows_leave_in_an_order_of_each_release_s_own() -> None:
    """By chance 300 rows keep their order, or two releases have the same, with less than 1e-600."""
    key = Key.fresh()
    table = _numbered(300)
    first, second = (pseudonyms_room.pseudonymize(table, key=key) for _ in range(2))
    orders = [r.data.to_arrow()["n"].to_pylist() for r in (first, second)]
    assert all(sorted(o) == list(range(300)) and o != list(range(300)) for o in orders)
    assert orders[0] != orders[1]
    assert "rows were shuffled" in str(first.guarantee) and first.internal is not None
    assert first.internal.plan["shuffle"] is True


def test_every_column_comes_in_the_same_order_and_pseudonyms_stay_with_their_rows() -> None:
    key = Key.fresh()
    release = pseudonyms_room.pseudonymize(_numbered(300), key=key)
    whole = release.data.to_arrow()
    for name in ("person", "n"):
        assert release.data.select([name]).to_arrow()[name].to_pylist() == whole[name].to_pylist()
    kept = pseudonymize(_numbered(300), key=key).data.to_arrow()
    known = dict(zip(kept["n"].to_pylist(), kept["person"].to_pylist(), strict=True))
    assert kept["n"].to_pylist() == list(range(300))
    assert all(known[r["n"]] == r["person"] for r in whole.to_pylist())


def test_a_seed_gives_the_same_order_again() -> None:
    one, other = (
        pseudonyms_room.pseudonymize(_numbered(50), key=Key.from_seed(3)).data.to_arrow() for _ in "ab"
    )
    assert one.equals(other)
