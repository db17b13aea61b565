"""Rows to rows: the order is drawn anew, types stay where nothing changed, nothing is left after Ctrl-C."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymization.problem import compress
from sfumato.anonymization.recoding import Recoding
from sfumato.anonymization.suppression import settle
from sfumato.anonymization.writer import Lookup, released
from sfumato.errors import DataError, ParameterError, SfumatoWarning
from sfumato.release import shuffle

BANDS = sf.Hierarchy.of_rows([[str(v), f"{v // 5 * 5}+", "*"] for v in range(20)])
SEXES = sf.Hierarchy.of_rows([["f", "*"], ["m", "*"]])
BOTH = {"age": BANDS, "sex": SEXES}


def people(n: int = 600, seed: int = 0) -> sf.Table:
    g = np.random.default_rng(seed)
    schema = sf.Schema((
        sf.Column("name", sf.Kind.NOMINAL, sf.Role.IDENTIFIER),
        sf.Column("who", sf.Kind.NOMINAL, sf.Role.PERSON),
        sf.Column("age", sf.Kind.NUMERIC, sf.Role.QUASI_IDENTIFIER, "integer"),
        sf.Column("sex", sf.Kind.NOMINAL, sf.Role.QUASI_IDENTIFIER),
        sf.Column("dx", sf.Kind.NOMINAL, sf.Role.SENSITIVE),
        sf.Column("cost", sf.Kind.NUMERIC, type="real"),
    ))  # fmt: skip
    who = g.integers(0, n // 3, n)
    return sf.Table.from_arrow(
        pa.table({
            "name": [f"N{i}" for i in range(n)],
            "who": [f"P{i}" for i in who],
            "age": (who % 20).astype(np.int64),
            "sex": np.where(who % 3, "f", "m"),
            "dx": g.choice(["a", "b", "c", "d"], n),
            "cost": np.arange(n, dtype=float),
        }),
        schema,
    )  # fmt: skip


def test_identifiers_and_persons_are_left_out_and_persons_are_counted() -> None:
    table = people()
    release = sf.anonymize(table, sf.KAnonymity(5), hierarchies=BOTH)
    assert release.columns == ("age", "sex", "dx", "cost")
    persons, rows = release.guarantee.claims
    assert persons.unit.of == "person" and rows.unit.of == "row"
    # The obvious count: sets of persons per class of the file, joined back by the cost, which is unique.
    who = dict(zip(table.to_arrow()["cost"].to_pylist(), table.to_arrow()["who"].to_pylist(), strict=True))
    classes: dict[tuple[object, ...], set[str]] = {}
    for row in release.data.to_arrow().to_pylist():
        classes.setdefault((row["age"], row["sex"]), set()).add(who[row["cost"]])
    assert min(map(len, classes.values())) == persons.k >= 5


def test_untouched_columns_keep_type_and_kind() -> None:
    release = sf.anonymize(people(), sf.KAnonymity(2, persons=False), hierarchies=BOTH)
    levels = release.internal.extra["search"]["levels"]
    for name in ("age", "sex"):
        column = release.schema[name]
        assert (column.kind is sf.Kind.NOMINAL and column.type == "text") or levels[name] == 0
    assert release.schema["cost"].type == "real"
    with pytest.warns(SfumatoWarning, match="k = 1 promises nothing"):
        untouched = sf.anonymize(people(), sf.KAnonymity(1), hierarchies=BOTH)
    assert untouched.schema["age"] == people().schema["age"]


def test_rows_are_shuffled_alike_in_memory_and_on_disk(monkeypatch) -> None:
    schema = pa.schema([("x", pa.int64())])
    batches = [pa.record_batch([pa.array(range(i, i + 100))], schema=schema) for i in range(0, 5_000, 100)]
    key = sf.Key.from_seed(3)

    def cells(whole: int) -> list[int]:
        return [v for b in shuffle.shuffled(batches, schema, 5_000, key, whole) for v in b["x"].to_pylist()]

    memory, disk = cells(10_000), cells(700)
    assert sorted(memory) == sorted(disk) == list(range(5_000)) != memory
    assert memory == cells(10_000) and disk == cells(700)  # the same each time it is read
    for order in (memory, disk):
        # Under a random order the correlation of place and value has sd 1/sqrt(n - 1); 1e-6 is 4.9 sd.
        assert abs(np.corrcoef(np.arange(5_000), order)[0, 1]) < 4.9 / np.sqrt(4_999)


def test_every_order_is_equally_likely() -> None:
    """All 6 orders of 3 rows, in memory and on disk: chi-square of 5 df, false alarm 1e-6 at 37.0."""
    schema = pa.schema([("x", pa.int64())])
    batch = pa.record_batch([pa.array([0, 1, 2])], schema=schema)
    for whole, keys in ((10, 3_000), (2, 600)):
        seen = Counter(
            tuple(
                v
                for b in shuffle.shuffled([batch], schema, 3, sf.Key.fresh(), whole)
                for v in b["x"].to_pylist()
            )
            for _ in range(keys)
        )
        expected = keys / 6
        assert sum((seen[o] - expected) ** 2 / expected for o in seen) + (6 - len(seen)) * expected < 37.0


def test_split_combinations_go_where_the_pieces_say() -> None:
    table = people().select(["age", "sex", "cost"])
    problem = compress(table, ["age", "sex"], BOTH)
    halves = problem.n // 2
    of = np.repeat(np.arange(problem.combinations), 2)
    n = np.stack([halves, problem.n - halves], axis=1).ravel()
    nodes = np.repeat(
        np.stack([h.nodes[0][problem.leaves[:, j]] for j, h in enumerate(problem.hierarchies)], axis=1),
        2,
        axis=0,
    )
    nodes[1::2, 0] = problem.hierarchies[0].root
    keep = n > 0
    recoding = Recoding(problem, of[keep], n[keep], nodes[keep].astype(np.int32), np.zeros(keep.sum(), bool))
    settled = settle(recoding, sf.KAnonymity(1), _sizes)
    out = released(table, settled, table.columns, sf.Key.fresh())
    assert out.rows() == 600 and len(out.to_arrow()) == 600
    stars = Counter(out.to_arrow()["age"].to_pylist())["*"]
    assert stars == int((problem.n - halves).sum())


def _sizes(settled):
    from sfumato.anonymization.anonymize import _sizes as count

    return count(settled)


def test_ctrl_c_while_writing_leaves_nothing(tmp_path, monkeypatch) -> None:
    release = sf.anonymize(people(), sf.KAnonymity(3), hierarchies=BOTH)
    genuine = shuffle._permuted

    def interrupted(*given):
        yield next(iter(genuine(*given)))
        raise KeyboardInterrupt

    monkeypatch.setattr(shuffle, "_permuted", interrupted)
    monkeypatch.setattr(shuffle, "_WHOLE", 10)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        release.save(tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


def test_a_source_that_changes_is_noticed() -> None:
    lookup = Lookup(np.array([[0, 1], [1, 0]], np.uint32), [2, 2])
    with pytest.raises(DataError, match="changed"):
        lookup.find([np.array([1], np.uint8), np.array([1], np.uint8)])
    wide = Lookup(np.array([[0, 7], [3, 5]], np.uint32), [2**33, 2**33])
    assert wide.find([np.array([3, 0], np.uint32), np.array([5, 7], np.uint32)]).tolist() == [1, 0]
    with pytest.raises(DataError, match="changed"):
        wide.find([np.array([3], np.uint32), np.array([7], np.uint32)])


@pytest.mark.parametrize(
    ("criterion", "more", "words"),
    [
        (sf.KAnonymity(601), {}, "fewer than the 601"),
        (sf.KAnonymity(2), {"quasi_identifiers": []}, "no column is a quasi-identifier"),
        (sf.KAnonymity(2), {"quasi_identifiers": ["name"]}, "name people"),
        (sf.KAnonymity(2), {"quasi_identifiers": ["age", "dx"], "drop": ["sex"]}, "have no hierarchy"),
        (sf.KAnonymity(2), {"drop": ["age"]}, "left out, but something is asked"),
        (sf.KAnonymity(2), {"weights": {"age": -1}}, "weights must be"),
        (sf.KAnonymity(2), {"max_level": {"dx": 1}}, "not quasi-identifiers"),
        (sf.LDiversity(5, "dx"), {}, "cannot hold, even with all rows in one class"),
        (sf.LDiversity(2, "age"), {}, "quasi-identifier and sensitive"),
        (sf.TCloseness(0.2, "dx", "ordered"), {}, "no order"),
        (sf.KAnonymity(2), {"bounds": {"dx": (0, 1)}}, "bounds are for numbers"),
        (sf.KAnonymity(2), {"drop_rarer_than": 0}, "drop_rarer_than"),
        (sf.KAnonymity(5), {"max_level": {"age": 0, "sex": 0}}, "found nothing"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_before_the_work(criterion, more, words) -> None:
    with pytest.raises((ParameterError, DataError), match=words):
        sf.anonymize(people(n=120 if "max_level" in more else 600), criterion, hierarchies=BOTH, **more)


def test_a_quasi_identifier_nothing_was_asked_of_is_left_out() -> None:
    with pytest.warns(sf.SfumatoWarning, match="'sex'"):
        release = sf.anonymize(people(), sf.KAnonymity(2), hierarchies=BOTH, quasi_identifiers=["age"])
    assert "sex" not in release.columns


def test_no_value_of_a_cell_is_in_a_message() -> None:
    table = sf.Table.from_arrow(pa.table({"age": ["SECRET-CELL", "1"]}))
    with pytest.raises(DataError) as refused:
        sf.anonymize(table, sf.KAnonymity(2), hierarchies={"age": BANDS}, quasi_identifiers=["age"])
    assert "SECRET" not in str(refused.value) and "SECRET-CELL" in refused.value.values
