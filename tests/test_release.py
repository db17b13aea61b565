from __future__ import annotations

import stat
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from releases import CLASSES, every_type, public_bytes, released

from sfumato import samples
from sfumato.errors import OutputError, ParameterError, SfumatoWarning
from sfumato.privacy import Guarantee, KAnonymity, NoGuarantee
from sfumato.release import InternalRecord, Release, fingerprint, manifest, verify
from sfumato.schema import Column, Kind, Schema
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


def test_parts_that_executors_wrote_are_one_release(tmp_path: Path) -> None:
    """Saved elsewhere, the files stay as they are; a part too many, or one that is changed, is noticed."""
    table = samples.discharges(30, seed=1).select(["sex", "age"])
    release = Release(table, NOTHING)
    release.save(tmp_path / "whole")
    public = tmp_path / "whole" / "public"
    rows = pq.read_table(public / "data.parquet")
    (public / "data.parquet").unlink()
    (public / "data.parquet").mkdir()
    for i in range(2):
        pq.write_table(rows.slice(15 * i, 15), public / "data.parquet" / f"part-0000{i}.parquet")
    manifest.write_public(public, {"sfumato_release": 1, "about": "", "data": "data.parquet"})
    assert verify(tmp_path / "whole").ok
    loaded = Release.load(tmp_path / "whole")
    assert loaded.data.to_arrow().equals(rows)
    loaded.save(tmp_path / "again")
    assert verify(tmp_path / "again").ok
    files = [
        p / "public" / "data.parquet" / "part-00001.parquet" for p in (tmp_path / "whole", tmp_path / "again")
    ]
    assert files[0].read_bytes() == files[1].read_bytes()
    one = replace(loaded, data=loaded.data.select(["sex"]))
    one.save(tmp_path / "fewer")  # other rows than those of the files: written anew
    assert pq.read_schema(tmp_path / "fewer" / "public" / "data.parquet").names == ["sex"]
    pq.write_table(rows, files[1].with_name("part-00002.parquet"))
    assert not verify(tmp_path / "again").ok


@pytest.mark.parametrize("format", ["csv", "csv.gz"])
def test_a_csv_release_holds_no_live_formula_and_is_read_back_as_it_was(tmp_path: Path, format: str) -> None:
    texts = ["=cmd()", "'=cmd()", "-9", "@x", "fine", None]
    table = Table.from_arrow(pa.table({"note": texts, "n": [-1, 2, 3, 4, 5, 6]}))
    saved = Release(table, Guarantee(), InternalRecord()).save(tmp_path / "out", format=format)
    if format == "csv":
        cells = [
            line.split(",")[0].strip('"') for line in (saved / "public/data.csv").read_text().split("\n")
        ]
        assert not [c for c in cells if c[:1] in ("=", "+", "@")] and "'=cmd()" in cells
    assert Release.load(saved).data.to_arrow()["note"].to_pylist() == texts
    assert verify(saved).ok
    live = Table.from_arrow(pa.table({"=cmd()": [1]}))
    with pytest.raises(OutputError, match="run as a formula"):
        Release(live, Guarantee(), InternalRecord()).save(tmp_path / "live", format=format)
    assert not (tmp_path / "live").exists()
