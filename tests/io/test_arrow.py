"""Arrow files give back what is stored, with their schema; what is wrong is told without any value."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import sfumato as sf
from sfumato.errors import DataError
from sfumato.schema import Column, Kind, Schema

SECRET = "secret name"


def files(folder: Path, *tables: pa.Table) -> list[Path]:
    paths = [folder / f"{i}.arrow" for i in range(len(tables))]
    for path, table in zip(paths, tables, strict=True):
        sf.write(table, path, overwrite=True)
    return paths


def test_labels_and_missing_codes_come_back_with_the_file(tmp_path: Path) -> None:
    age = Column("age", Kind.NUMERIC, type="integer", missing_codes=(-9,), labels={"-9": "refused"})
    sf.write(pa.table({"age": [34, -9]}), tmp_path / "t.feather", Schema((age,)))
    back = sf.scan(tmp_path / "t.feather")
    assert back.schema["age"].labels == age.labels and back.schema["age"].missing_codes == (-9,)
    assert back.to_arrow()["age"].to_pylist() == [34, None]


def test_the_form_without_a_table_of_contents_is_read_too(tmp_path: Path) -> None:
    table = pa.table({"n": range(9), "word": pa.array(["a", "b", None] * 3).dictionary_encode()})
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=4)
    found = sf.scan(tmp_path / "t.arrow").select(["word", "n"])
    assert found.to_arrow().to_pydict() == {"word": ["a", "b", None] * 3, "n": list(range(9))}


def test_files_of_other_columns_are_refused_and_text_is_text(tmp_path: Path) -> None:
    first, same = (
        pa.table({"a": [1], "b": ["x"]}),
        pa.table({"b": pa.array(["y"], pa.large_string()), "a": [2]}),
    )
    assert sf.scan(files(tmp_path, first, same)).to_arrow().to_pydict() == {"a": [1, 2], "b": ["x", "y"]}
    other = pa.table({"a": [SECRET], "c": [1]})
    with pytest.raises(DataError, match=r"without 'b', with also 'c', with another type of 'a'") as caught:
        sf.scan(files(tmp_path, first, other))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("suffix", ["feather", "parquet"])
def test_categories_are_text_however_each_file_keeps_them(tmp_path: Path, suffix: str) -> None:
    words, numbers = ["a", "b", None], pa.int8()
    kept = [pa.array(words), pa.array(words).dictionary_encode(), pa.array(words, pa.large_string())]
    kept.append(pa.DictionaryArray.from_arrays(pa.array([0, 1, None], numbers), pa.array(words[:2])))
    paths = [tmp_path / f"{i}.{suffix}" for i in range(len(kept))]
    for path, cells in zip(paths, kept, strict=True):
        (pq.write_table if suffix == "parquet" else feather.write_feather)(pa.table({"w": cells}), path)
    for order in (paths, paths[::-1], paths[1::2]):
        assert sf.scan(order).to_arrow()["w"].to_pylist() == words * len(order)
    ordered = pa.DictionaryArray.from_arrays(pa.array([1]), pa.array(words[:2]), ordered=True)
    pq.write_table(pa.table({"w": ordered}), tmp_path / "o.parquet")
    if suffix == "parquet":  # an order is more than a layout
        with pytest.raises(DataError, match="another type of 'w'"):
            sf.scan([*paths, tmp_path / "o.parquet"])


def test_categories_of_polars_are_read_with_their_order(tmp_path: Path) -> None:
    words, steps = pl.Series(["a", None], dtype=pl.Categorical), pl.Series(["z", "b"], dtype=pl.Enum("zb"))
    pl.DataFrame({"w": words, "o": steps}).write_ipc(tmp_path / "t.arrow")
    found = sf.scan(tmp_path / "t.arrow")
    assert found.to_arrow().to_pydict() == {"w": ["a", None], "o": ["z", "b"]}
    assert found.schema["o"].levels == ("z", "b")


def test_damage_and_a_dataset_that_is_not_what_it_says(tmp_path: Path) -> None:
    (path,) = files(tmp_path, pa.table({"word": [f"{SECRET} {i}" for i in range(50_000)]}))
    whole = bytearray(path.read_bytes())
    whole[2000:2500] = b"\xff" * 500
    path.write_bytes(whole)
    with pytest.raises(DataError, match=r"0\.arrow is not an Arrow file, or is damaged"):
        sf.scan(path, keep_text=True)
    paths = files(tmp_path, pa.table({"n": [1]}), pa.table({"n": [SECRET]}))
    with pytest.raises(DataError, match="could not be read") as caught:
        sf.scan(ds.dataset([str(p) for p in paths], format="ipc"))
    assert SECRET not in str(caught.value) and caught.value.hint
