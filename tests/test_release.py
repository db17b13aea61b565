from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from releases import CLASSES, every_type, public_bytes, released

from sfumato.errors import DataError, OutputError, ParameterError, SfumatoWarning
from sfumato.privacy import Guarantee, KAnonymity, NoGuarantee
from sfumato.release import InternalRecord, Release, fingerprint, verify
from sfumato.schema import Column, Draw, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.sources import BatchSource
from sfumato.table import Table

NOTHING = Guarantee.of(NoGuarantee("a test"))


# -- what is written -----------------------------------------------------------------------------


def test_a_saved_release_has_its_two_parts_and_keeps_the_internal_one_for_its_owner(tmp_path: Path) -> None:
    record = {"tables": {"class sizes": pa.table({"n": [1]})}, "keys": {"pseudonym": Key.fresh()}}
    target = released(**record).save(tmp_path / "out")
    files = {p.relative_to(target).as_posix() for p in target.rglob("*") if p.is_file()}
    assert files == {
        *(f"public/{n}" for n in ("data.parquet", "schema.toml", "guarantee.json", "card.md")),
        *("public/manifest.json", "public/SHA256SUMS", "internal/README", "internal/record.json"),
        *("internal/release.key", "internal/pseudonym.key", "internal/manifest.json"),
        "internal/tables/0000.arrow",
    }
    for path in [target / "internal", *(target / "internal").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path.name
    assert "MUST NOT LEAVE" in (target / "internal" / "README").read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_recipient_checks_the_copy_without_sfumato(tmp_path: Path) -> None:
    public = released().save(tmp_path / "out") / "public"
    check = ["sha256sum", "--strict", "-c", "SHA256SUMS"]
    assert subprocess.run(check, cwd=public, capture_output=True).returncode == 0
    (public / "card.md").write_text("Nothing to see.")
    assert subprocess.run(check, cwd=public, capture_output=True).returncode == 1


def test_the_card_says_what_is_promised_and_lists_the_columns(tmp_path: Path) -> None:
    schema = Schema((Column("a|b", Kind.NOMINAL, levels=("x",), labels={"x": "one | two"}, unit="kg"),))
    data = Table.from_arrow(pa.table({"a|b": ["x"]}), schema)
    Release(data, Guarantee.of(KAnonymity(7, ("a|b",))), about="Made up.").save(tmp_path / "out")
    card = (tmp_path / "out" / "public" / "card.md").read_text()
    assert "Made up." in card and "k-anonymity with k = 7" in card.lower()
    assert "a\\|b" in card and "x = one \\| two" in card and "in kg" in card


def test_public_part_alone_has_no_internal_folder(tmp_path: Path) -> None:
    replace(released(), internal=None).save(tmp_path / "out")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["public"]


# -- nothing of the original leaves --------------------------------------------------------------

ORIGINAL_ROWS = 90_731
CLASS_SIZES = [41_977, 48_754]
SEED = 734_519_662_308


def _spellings(secret: bytes) -> list[bytes]:
    texts = [
        secret.hex(),
        base64.b64encode(secret),
        base64.urlsafe_b64encode(secret),
        base64.b32encode(secret),
    ]
    texts += [
        base64.b85encode(secret),
        str(int.from_bytes(secret, "big")),
        str(int.from_bytes(secret, "little")),
    ]
    plain = [t.encode() if isinstance(t, str) else t for t in texts]
    return [secret, secret[::-1], *plain, *(t.upper() for t in plain), *(t.rstrip(b"=") for t in plain)]


def _whole_record(input_: Table, key: Key) -> InternalRecord:
    return InternalRecord(
        key=key,
        seed=SEED,
        keys={"pseudonym": Key.fresh()},
        fingerprint=fingerprint(input_, key),
        plan={"method": "test", "seed": SEED},
        tables={"class sizes": pa.table({"n": CLASS_SIZES})},
        extra={"rows": ORIGINAL_ROWS},
    )


@pytest.mark.parametrize("format", ["parquet", "csv", "arrow"])
@pytest.mark.parametrize("seeded", [False, True])
def test_public_holds_no_seed_key_input_hash_or_count_of_the_original(
    tmp_path: Path, seeded: bool, format: str
) -> None:
    key = Key.from_seed(SEED) if seeded else Key.fresh()
    original = pa.table({"sex": ["f", "m", "x"], "age": [30, 40, 87], "stay": [1, 2, 3]})
    sample = released()
    reason = f"{ORIGINAL_ROWS} rows, {CLASS_SIZES[0]} of them with a rare value"
    schema = Schema(tuple(replace(c, reason=reason) for c in sample.schema))
    schema = schema.with_("stay", edges=(0, ORIGINAL_ROWS), missing_codes=(CLASS_SIZES[1],))
    record = _whole_record(Table.from_arrow(original), key)
    target = replace(sample, data=sample.data.with_schema(schema), internal=record).save(
        tmp_path / "out", format=format
    )

    raw = pa.BufferOutputStream()
    with pa.ipc.new_stream(raw, original.schema) as writer:
        writer.write_table(original)
    csv = original.to_pandas().to_csv(index=False).encode()
    inputs = [raw.getvalue().to_pybytes(), csv, json.dumps(original.to_pylist()).encode()]
    needles = [s for k in (key, record.keys["pseudonym"]) for s in _spellings(k.to_bytes()[1:])]
    needles += [
        s for k in ("manifest", "fingerprint") for s in _spellings(key.derive("release", k).to_bytes()[1:])
    ]
    hashes = (hashlib.sha256, hashlib.md5, hashlib.sha1, hashlib.blake2b, hashlib.blake2s, hashlib.sha512)
    needles += [s for data in inputs for h in hashes for s in _spellings(h(data).digest())]
    needles += _spellings(bytes.fromhex(record.fingerprint or ""))
    for number in (SEED, ORIGINAL_ROWS, *CLASS_SIZES):
        needles += [str(number).encode(), f"{number:,}".encode(), number.to_bytes(8, "little")]
        needles += [
            number.to_bytes(8, "big"),
            f"{number:x}".encode() if number == SEED else str(number).encode(),
        ]
    found = [name for name, content in public_bytes(target).items() for n in needles if n in content]
    assert found == []
    # The search itself finds what is there: the same needles, in the internal part.
    internal = b"".join(p.read_bytes() for p in (target / "internal").rglob("*") if p.is_file())
    assert str(ORIGINAL_ROWS).encode() in internal and str(SEED).encode() in internal
    assert key.to_bytes().hex().encode() in internal


def test_public_parquet_carries_no_notes_of_other_libraries(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index([5, 6], name="i"))
    table = pa.Table.from_pandas(frame).replace_schema_metadata({b"pandas": b"x", b"path": b"jdoe42"})
    data = Table.from_arrow(table, Schema((Column("a", Kind.NUMERIC, type="integer"),)))
    target = Release(data, NOTHING).save(tmp_path / "out")
    found = public_bytes(target)
    assert not [name for name, content in found.items() if b"pandas" in content or b"jdoe42" in content]
    assert found["parquet notes"].startswith(b"None")


def test_the_public_schema_keeps_only_what_is_public_or_visible(tmp_path: Path) -> None:
    guessed = Column(
        "seen", Kind.ORDINAL, levels=("c", "b", "a"), labels={"a": "A", "z": "Z"}, description="kept"
    )
    schema = Schema(
        (
            replace(guessed, reason="12 levels", missing=False, missing_codes=("?",)),
            Column(
                "public", Kind.NOMINAL, levels=("x", "y"), labels={"y": "Y"}, missing=False, confirmed=True
            ),
            Column(
                "size", Kind.NUMERIC, type="integer", edges=(3, 977), clamp=True, unit="cm", draw=Draw.LOWER
            ),
            Column("dx", Kind.CODES, levels=("A", "B", "RARE"), labels={"RARE": "very"}, separator="+"),
            Column("none", Kind.FLAG, levels=("p",)),
        )
    )
    cells = {
        "seen": ["a", "c"],
        "public": ["x", "x"],
        "size": [4, 5],
        "dx": ["A", "B+A"],
        "none": [None, None],
    }
    table = pa.table({**cells, "none": pa.array([None, None], pa.string())})
    Release(Table.from_arrow(table, schema), NOTHING).save(tmp_path / "out")
    seen, public, size, dx, none = Schema.read(tmp_path / "out" / "public" / "schema.toml")
    assert seen == Column("seen", Kind.ORDINAL, levels=("c", "a"), labels={"a": "A"}, description="kept")
    assert public == schema["public"]
    assert size == Column("size", Kind.NUMERIC, type="integer", unit="cm")
    assert dx == Column("dx", Kind.CODES, levels=("A", "B"), separator="+")
    assert none == Column("none", Kind.FLAG)


def test_an_identifier_never_leaves_as_it_is(tmp_path: Path) -> None:
    schema = Schema((Column("ssn", Kind.NOMINAL, Role.IDENTIFIER),))
    with pytest.raises(OutputError, match="1 identifier column would be released: 'ssn'"):
        Release(Table.from_arrow(pa.table({"ssn": ["1"]}), schema), NOTHING).save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


# -- round trips ---------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_every_type_comes_back(tmp_path: Path, rows: int) -> None:
    release = Release(every_type(rows), NOTHING, InternalRecord(plan={"a": (1, 2)}, seed=3), about="ä")
    back = Release.load(release.save(tmp_path / "out"))
    assert back == release
    assert back.data.to_arrow().equals(release.data.to_arrow())
    assert back.internal == release.internal and back.internal is not None
    assert verify(tmp_path / "out").ok, str(verify(tmp_path / "out"))


_CELLS: dict[str, tuple[Kind, st.SearchStrategy[Any]]] = {
    "text": (Kind.NOMINAL, st.text(st.characters(exclude_categories=["Cs"]), max_size=8)),
    "integer": (Kind.NUMERIC, st.integers(-(2**63), 2**63 - 1)),
    "real": (Kind.NUMERIC, st.floats(allow_nan=True)),
    "decimal": (Kind.NUMERIC, st.decimals(-(10**9), 10**9, places=9)),
    "boolean": (Kind.FLAG, st.booleans()),
    "date": (Kind.DATE, st.dates()),
    "datetime": (Kind.DATE, st.datetimes()),
    "instant": (Kind.DATE, st.datetimes(timezones=st.just(UTC))),
}


@st.composite
def _tables(draw: st.DrawFn) -> Table:
    types = draw(st.lists(st.sampled_from(sorted(_CELLS)), min_size=1, max_size=4))
    names = draw(
        st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6),
                 min_size=len(types), max_size=len(types), unique=True)
    )  # fmt: skip
    rows = draw(st.integers(0, 5))
    empty = every_type(0).to_arrow().schema
    arrow = {"text": "text", "boolean": "flag", "date": "day", "datetime": "clock"}
    columns, arrays = [], []
    for name, type_name in zip(names, types, strict=True):
        kind, cells = _CELLS[type_name]
        values = draw(st.lists(st.none() | cells, min_size=rows, max_size=rows))
        arrays.append(pa.array(values, empty.field(arrow.get(type_name, type_name)).type))
        present = {v for v in values if v is not None and v == v}
        levels = (
            tuple(present) if present and kind in (Kind.NOMINAL, Kind.FLAG) and draw(st.booleans()) else None
        )
        confirmed = draw(st.booleans())
        columns.append(Column(name, kind, type=type_name, levels=levels, confirmed=confirmed))
    return Table.from_arrow(pa.table(arrays, names=names), Schema(tuple(columns)))


@given(_tables())
def test_save_and_load_give_an_equal_release(table: Table) -> None:
    with tempfile.TemporaryDirectory() as folder:
        release = Release(table, NOTHING, InternalRecord())
        release.save(Path(folder, "out"))
        assert Release.load(Path(folder, "out")) == release
        assert verify(Path(folder, "out")).ok


def test_releases_that_differ_are_not_equal() -> None:
    one = released()
    assert one == replace(one)
    assert one != released()  # another key
    assert one != replace(one, guarantee=NOTHING)
    assert one != replace(one, about="other")
    cut = Table.from_arrow(one.data.to_arrow().slice(0, 14), one.schema)
    assert one != replace(one, data=cut) and replace(one, data=cut) != one
    assert one != replace(one, data=one.data.with_schema(one.schema.with_("stay", unit="days")))
    assert one != "a release"


def test_a_copy_of_the_public_folder_is_read_without_a_record(tmp_path: Path) -> None:
    release = released()
    (release.save(tmp_path / "out") / "public").rename(tmp_path / "received")
    back = Release.load(tmp_path / "received")
    assert back.internal is None and back == replace(release, internal=None)


def test_a_record_that_cannot_be_read_is_said_and_the_rest_is_loaded(tmp_path: Path) -> None:
    target = released().save(tmp_path / "out")
    (target / "internal" / "record.json").write_text("{}")
    with pytest.warns(SfumatoWarning, match="without its internal record"):
        assert Release.load(target).internal is None


@pytest.mark.parametrize("format", ["csv", "arrow", "xlsx", "csv.gz", "sav", "dta"])
def test_the_data_is_written_in_the_format_asked_for_and_comes_back(tmp_path: Path, format: str) -> None:
    release = released()
    target = release.save(tmp_path / "out", format=format)
    assert (target / "public" / f"data.{format}").is_file()
    assert Release.load(target) == release
    assert verify(target).ok, str(verify(target))


def test_a_label_that_must_not_leave_is_not_inside_the_file_either(tmp_path: Path) -> None:
    schema = Schema((Column("dx", Kind.NOMINAL, levels=("a", "zz"), labels={"a": "cold", "zz": "Rareitis"}),))
    for format in ("sav", "arrow"):
        Release(Table.from_arrow(pa.table({"dx": ["a"]}), schema), NOTHING).save(
            tmp_path / format, format=format
        )
        assert b"Rareitis" not in b"".join(public_bytes(tmp_path / format).values())


def test_a_release_is_countable_and_comes_back_as_what_went_in() -> None:
    release = released()
    assert release.columns == ("sex", "age", "stay")
    assert release.counts("sex").total == 15
    assert release.tabulate([("sex",), ("age",)])["age",].total == 15
    native = release.to_native()
    assert isinstance(native, pa.Table) and native.num_rows == 15
    assert repr(release).startswith("Release(Table(") and "k = 3" in repr(release)


# -- bad targets, interruptions ------------------------------------------------------------------


def _bursting(error: BaseException) -> Release:
    """A release whose data breaks off after its first batch."""
    whole = released()

    def open_(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        yield from whole.data.source.batches(names)
        raise error

    source = BatchSource(whole.data.source.arrow_schema, open_)
    return replace(whole, data=Table(source, whole.schema))


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), DataError("broken"), MemoryError(), OSError(28, "full")]
)
def test_nothing_is_left_when_it_breaks_off(tmp_path: Path, error: BaseException) -> None:
    with pytest.raises(DataError if isinstance(error, OSError) else type(error)):
        _bursting(error).save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_old_release_stays_when_the_new_one_breaks_off(tmp_path: Path) -> None:
    old = released()
    old.save(tmp_path / "out")
    with pytest.raises(KeyboardInterrupt):
        _bursting(KeyboardInterrupt()).save(tmp_path / "out", overwrite=True)
    assert Release.load(tmp_path / "out") == old
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_an_existing_release_is_replaced_only_if_asked(tmp_path: Path) -> None:
    released().save(tmp_path / "out")
    new = released()
    with pytest.raises(OutputError, match="exists") as caught:
        new.save(tmp_path / "out")
    assert "overwrite=True" in caught.value.hint
    new.save(tmp_path / "out", overwrite=True)
    assert Release.load(tmp_path / "out") == new


def test_a_release_can_replace_the_one_it_was_loaded_from(tmp_path: Path) -> None:
    old = released()
    Release.load(old.save(tmp_path / "out")).save(tmp_path / "out", overwrite=True)
    assert Release.load(tmp_path / "out") == old


def test_overwrite_never_deletes_a_folder_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1").write_text("work of years")
    with pytest.raises(OutputError, match="not a release"):
        released().save(tmp_path / "thesis", overwrite=True)
    assert (tmp_path / "thesis" / "chapter1").exists()
    both = released().save(tmp_path / "both")
    (both / "chapter2").write_text("work of a month")
    with pytest.raises(OutputError, match="more than a release"):
        released().save(both, overwrite=True)
    assert (both / "chapter2").exists() and verify(both).ok


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_target_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(OutputError, match="permission"):
            released().save(tmp_path / "out")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("room", [200, 1_500])
def test_a_disk_without_room_leaves_nothing(tmp_path: Path, room: int) -> None:
    """The system itself refuses to write on: first within the data, then after it."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        with pytest.raises(OutputError, match="could not be written") as caught:
            released().save(tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.hint and list(tmp_path.iterdir()) == []


def test_a_target_below_a_file_or_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for target in (tmp_path / "file" / "out", tmp_path / "no" / "such" / "out", tmp_path / "file"):
        with pytest.raises(OutputError):
            released().save(target)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_an_unknown_format_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="format must be one of parquet"):
        _bursting(AssertionError()).save(tmp_path / "out", format="pdf")


def test_loading_what_is_no_release_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no release in"):
        Release.load(tmp_path)
    target = released().save(tmp_path / "out")
    (target / "public" / "guarantee.json").write_bytes(b"\xff")
    with pytest.raises(DataError, match="guarantee"):
        Release.load(target)
    (target / "public" / "manifest.json").write_text('{"files": {}, "data": "../../secret.parquet"}')
    with pytest.raises(DataError, match="outside"):
        Release.load(target)


# -- the internal record -------------------------------------------------------------------------


def test_the_record_comes_back_equal_with_keys_tables_and_plan(tmp_path: Path) -> None:
    record = InternalRecord(
        key=Key.from_seed(5),
        seed=5,
        keys={"pseudonym": Key.fresh(), "model": Key.from_seed(1)},
        fingerprint="ab",
        plan={"method": "x", "sets": [("a", "b")], "epsilon": 0.1},
        tables={
            "noisy a/b": pa.table({"n": [1.5, None]}),
            "../sizes": pa.table({"k": pa.array([], pa.int64())}),
        },
        extra={"ü": [None, True]},
    )
    release = replace(released(), internal=record)
    back = Release.load(release.save(tmp_path / "out")).internal
    assert back == record and back is not None
    assert back.key.seeded and not back.keys["pseudonym"].seeded
    assert back.versions["pyarrow"] == pa.__version__
    assert str(record.keys["pseudonym"].to_bytes().hex()) not in repr(record)


def test_a_record_refuses_what_is_not_json_and_names_that_are_no_files() -> None:
    with pytest.raises(ParameterError, match="plain JSON"):
        InternalRecord(plan={"f": object()})
    with pytest.raises(ParameterError, match="plain JSON"):
        InternalRecord(extra={"f": float("nan")})
    for name in ("release", "../x", "A b", ""):
        with pytest.raises(ParameterError, match="file names of keys"):
            InternalRecord(keys={name: Key.fresh()})


# -- the fingerprint -----------------------------------------------------------------------------


def _chunked(table: Table, rows: int) -> Table:
    data = table.to_arrow()
    pieces = [data.slice(i, rows) for i in range(0, data.num_rows, rows)]
    return Table.from_arrow(pa.concat_tables(pieces) if pieces else data, table.schema)


@given(_tables(), st.integers(1, 3))
def test_the_fingerprint_does_not_depend_on_the_chunks(table: Table, rows: int) -> None:
    key = Key.from_seed(1)
    assert fingerprint(_chunked(table, rows), key) == fingerprint(table, key)


def test_the_fingerprint_tells_any_change_and_needs_the_key() -> None:
    table, key = every_type(), Key.fresh()
    first = fingerprint(table, key)
    assert first == fingerprint(every_type(), key) != fingerprint(table, Key.fresh())
    seen = {first, fingerprint(table.select(table.columns[::-1]), key)}
    data = table.to_arrow()
    for i, name in enumerate(data.column_names):
        cells = data[name].to_pylist()
        cells[0], cells[1] = cells[1], cells[0]
        other = data.set_column(i, name, pa.array(cells, data.schema.field(i).type))
        seen.add(fingerprint(Table.from_arrow(other, table.schema), key))
    assert len(seen) == 2 + len(data.column_names)


def test_the_bytes_below_a_null_do_not_count() -> None:
    mask = pa.array([True, False])
    one = pa.Array.from_buffers(pa.int64(), 2, [mask.buffers()[1], pa.array([1, 77]).buffers()[1]])
    two = pa.Array.from_buffers(pa.int64(), 2, [mask.buffers()[1], pa.array([1, 99]).buffers()[1]])
    key = Key.from_seed(0)
    assert fingerprint(Table.from_arrow(pa.table({"a": one})), key) == fingerprint(
        Table.from_arrow(pa.table({"a": two})), key
    )


# -- size ----------------------------------------------------------------------------------------


def test_saving_streams(tmp_path: Path) -> None:
    """Sixty chunks of 1 MB pass through; never more than a few of them are in memory."""
    batch = pa.record_batch({"a": pa.array(range(131_072), pa.int64())})
    before, peak = pa.total_allocated_bytes(), 0

    def open_(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        nonlocal peak
        for _ in range(60):
            yield pa.record_batch(
                [pa.concat_arrays([batch.column(0).slice(1), batch.column(0)[:1]])], names=["a"]
            )
            peak = max(peak, pa.total_allocated_bytes() - before)

    schema = Schema((Column("a", Kind.NUMERIC, type="integer"),))
    Release(Table(BatchSource(batch.schema, open_), schema), NOTHING).save(tmp_path / "out")
    assert Release.load(tmp_path / "out").data.rows() == 60 * 131_072
    assert peak < 20_000_000


def test_classes_of_the_fixture_are_what_the_other_tests_rely_on() -> None:
    counts = released().data.to_arrow().group_by(["sex", "age"]).aggregate([([], "count_all")]).to_pylist()
    assert {(r["sex"], r["age"]): r["count_all"] for r in counts} == CLASSES


def test_a_public_part_alone_does_not_replace_a_release_with_its_keys(tmp_path: Path) -> None:
    released().save(tmp_path / "out")
    whole = Release.load(tmp_path / "out")
    with pytest.raises(OutputError, match="internal record"):
        replace(whole, internal=None).save(tmp_path / "out", overwrite=True)
    assert Release.load(tmp_path / "out") == whole
