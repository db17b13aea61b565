"""Bad input of an assessment: handled, or refused with what to do."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from assess_files import KEY, QUICK, frame
from cli_support import CANARY
from toys import people

import sfumato as sf
from sfumato.assessment.assess import assess
from sfumato.assessment.attacks.intruder import look
from sfumato.assessment.reading.alignment import align
from sfumato.assessment.reading.name_parts import NameParts
from sfumato.errors import DataError, ParameterError, SfumatoError


def test_files_with_different_columns() -> None:
    first, second = frame(), frame().rename(columns={"zip": "postcode"}).assign(extra=1)
    found = assess(first, second, effort="quick", quasi_identifiers=["age", "sex", "zip"])
    assert any("'postcode' is read as 'zip'" in n for n in found.notes)  # its values say so
    assert any("'extra'" in n and "release only" in n for n in found.notes)
    other = second.assign(postcode=[f"x{i % 7}" for i in range(len(second))])
    found = assess(
        first, other, effort="quick", quasi_identifiers=["age", "sex", "zip"], thresholds={"risk": 1}
    )
    assert any("'zip'" in n and "original only" in n for n in found.notes)
    assert any("'postcode'" in n and "release only" in n for n in found.notes)
    assert any("not used as quasi-identifier: 'zip'" in n for n in found.notes)
    assert "quasi-identifier 'zip'" in [s.part for s in found.skipped]
    assert found.thresholds[0].outcome != "met"  # it may be 'postcode', and nobody has looked
    with pytest.raises(DataError, match="no column in common") as caught:
        assess(first[["age"]], second[["sex"]])
    assert "rename" in caught.value.hint


def test_empty_files() -> None:
    with pytest.raises(DataError, match="release") as caught:
        assess(frame(), frame().head(0))
    assert caught.value.hint
    table = people()
    for pair in ((table, people(0)), (people(0), table)):
        with pytest.raises(DataError, match="has no rows"):
            assess(*pair)
    with pytest.raises(DataError, match="control"):
        assess(table, table, control=people(0))


def test_a_column_that_is_all_missing() -> None:
    gone = frame().assign(dx=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = assess(frame(), gone, **QUICK)
    assert found["total variation, column dx"].value == pytest.approx(1)
    assert not [s for s in found.skipped if "failed" in s.reason]
    turned = assess(gone, frame(), effort="quick", quasi_identifiers=["age", "sex"])
    assert not [s for s in turned.skipped if "failed" in s.reason]


def test_models_do_without_a_number_that_the_release_lost() -> None:
    """Words for numbers count as missing; the trees cannot cut a column that has no value at all."""
    words = frame().assign(age=["young" if age < 50 else "old" for age in frame()["age"]])
    found = assess(frame(), words, control=frame(seed=2), target="dx", key=KEY)
    assert "training on the release" not in [s.part for s in found.skipped]


def test_categories_the_original_does_not_have() -> None:
    found = assess(frame(), frame().assign(dx="plague"), **QUICK)
    assert found["total variation, column dx"].value == pytest.approx(1)
    assert not [s for s in found.skipped if "failed" in s.reason]


def test_a_column_with_a_level_per_row() -> None:
    first = frame().assign(code=[f"c{i * 7919 % 10007}" for i in range(300)])
    found = assess(first, first, **QUICK)
    assert "code" not in found.columns
    assert any("'code'" in n for n in found.notes)
    asked = assess(first, first, effort="quick", quasi_identifiers=["code", "sex"])
    assert asked["unique on all quasi-identifiers"].value == 1
    with pytest.raises(DataError, match="no shared column is left") as caught:
        assess(first[["code"]], first[["code"]])
    assert "quasi_identifiers" in caught.value.hint


def test_a_column_that_is_named_twice_counts_once() -> None:
    once, twice = (assess(frame(), frame(), **{**QUICK, "quasi_identifiers": known})  # type: ignore[arg-type]
                   for known in (["age", "sex"], ["age", "sex", "age"]))  # fmt: skip
    assert once.names == twice.names and once.skipped == twice.skipped


def test_a_control_without_the_columns() -> None:
    with pytest.raises(DataError, match="the control lacks 'zip'"):
        assess(frame(), frame(), control=frame().drop(columns="zip"), **QUICK)


def test_the_original_is_no_control(tmp_path: Path) -> None:
    """Against itself every attack is at its control, and any release would meet `risk`."""
    frame().to_csv(tmp_path / "first.csv", index=False)
    frame()[["dx", "zip", "sex", "age"]].to_csv(tmp_path / "again.csv", index=False)
    for control in (tmp_path / "first.csv", tmp_path / "again.csv", sf.scan(tmp_path / "first.csv")):
        with pytest.raises(DataError, match="the control is the original itself"):
            assess(tmp_path / "first.csv", frame(), control=control, **QUICK)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"quasi_identifiers": ["agee"]}, "'agee'"), ({"target": "nobody"}, "'nobody'"),
        ({"weight": "heavy"}, "'heavy'"), ({"effort": "heroic"}, "effort"), ({"truth": "yes"}, "truth"),
        ({"population": 10}, "smaller than the original"), ({"schema": "none.toml"}, "none.toml"),
    ],
    ids=str,
)  # fmt: skip
def test_bad_parameters(change: dict[str, object], words: str) -> None:
    with pytest.raises(SfumatoError, match=words) as caught:
        assess(frame(), frame(), **change)  # type: ignore[arg-type]
    assert caught.value.hint


def test_rows_that_cannot_be_the_same() -> None:
    with pytest.raises(ParameterError, match="row i cannot be row i"):
        assess(frame(), frame(200), truth="rows")


def test_no_message_holds_a_cell(tmp_path: Path) -> None:
    first = frame().assign(dx=[CANARY if i == 3 else "flu" for i in range(300)])
    second = frame().assign(age=[CANARY if i == 5 else str(a) for i, a in enumerate(frame()["age"])])
    said = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for pair in ((first, second), (second, first)):
            found = assess(*pair, thresholds={"risk": 0.01, "utility": 0.99}, **QUICK)
            said += [
                str(found),
                *found.notes,
                *map(str, found.skipped),
                *(t.sentence for t in found.thresholds),
            ]
    said += [str(w.message) for w in caught]
    assert not [s for s in said if CANARY in s]


def many_names(rows: int = 2_600) -> dict[str, list[str]]:
    """A release that is the original, with more zip codes than two tables of them in memory."""
    rng = np.random.default_rng(4)
    return {
        "zip": [f"{x:05d}" for x in rng.permutation(100_000)[:rows]],
        "sex": rng.choice(["f", "m"], rows).tolist(),
        "dx": rng.choice(["a", "b", "c"], rows).tolist(),
    }


def test_an_intruder_knows_a_column_of_very_many_names() -> None:
    table = sf.Table.from_arrow(pa.table(many_names()))
    limits = {"risk": 0.5, "distinct l": 2}
    found = assess(
        table, table, quasi_identifiers=["zip", "sex"], sensitive=["dx"], truth="rows", thresholds=limits,
        effort="quick", key=KEY,
    )  # fmt: skip
    assert found["linking, re-identified"].value == 1 == found["homogeneity, dx"].value
    assert [t.outcome for t in found.thresholds] == ["not met", "not met"]
    assert "zip[1-" in found["linking, claimed"].knowledge


def test_parts_of_a_name_fit_where_the_whole_does() -> None:
    """Prefixes, sets, stars and names themselves, against every pair of a person and a record."""
    columns = many_names(400)
    zips = columns["zip"]
    shown = [
        [z, z[:3] + "**", z[:1] + "*", "*", "{" + z + ", " + zips[0] + "}", "north"][i % 6]
        for i, z in enumerate(zips)
    ]
    tree = {"north": [z for z in zips if z < "50000"]}
    original, released = (sf.Table.from_arrow(pa.table({"zip": z})) for z in (zips, shown))
    whole = look(align(original, released, hierarchies={"zip": tree}), ["zip"])
    parting = NameParts.of("zip", pa.array(zips), 300)
    assert len(parting.names) > 1
    first, second, trees = parting.both(original, released, tree)
    parts = look(align(first, second, hierarchies=trees), parting.names)
    exact = [i for i in range(400) if i % 6 != 4 and i % 6 != 5]  # sets and nodes may fit a few more
    own = [np.full(400, i) for i in exact]
    assert all(whole.may_be(i).tolist() == parts.may_be(i).tolist() for i in own)
    assert (parts.matches >= whole.matches).all()


def test_one_secret_that_cannot_be_attacked_takes_no_other_with_it() -> None:
    """A diagnosis that is the same in all records cannot be learnt, and is certain for everybody."""
    rows = {**many_names(200), "blood": ["0"] * 200}
    table = sf.Table.from_arrow(pa.table({**rows, "zip": [z[:1] for z in rows["zip"]]}))
    found = assess(table, table, quasi_identifiers=["zip", "sex"], sensitive=["blood", "dx"], key=KEY)
    assert found["homogeneity, blood"].value == 1
    assert "attribute inference, LogisticRegression, dx" in found.names
    assert [s.part for s in found.skipped if "'blood'" in s.reason] == [
        "inferring sensitive values", "inferring by the nearest record",
    ]  # fmt: skip


def test_numbers_too_large_for_a_computer_are_names() -> None:
    """Keys of 2^62 and more: as floats they are all one, and bins of them would be empty."""
    few = [2**62 + i % 5 for i in range(100)]
    table = sf.Table.from_arrow(pa.table({"site": few, "dx": ["a", "b"] * 50}))
    found = assess(table, table, quasi_identifiers=["site"], truth="rows", effort="quick", key=KEY)
    assert found["linking, guessed"].value == pytest.approx(1 / 20)
    many = sf.Table.from_arrow(pa.table({"id": [2**62 + i for i in range(2_100)], "dx": ["a", "b"] * 1_050}))
    found = assess(many, many, quasi_identifiers=["id"], truth="rows", effort="quick", key=KEY)
    assert found["linking, re-identified"].value == 1


def _bits(seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({f"b{i}": rng.integers(0, 2, 600) for i in range(14)})


def test_copies_count_where_nothing_is_left_to_attack() -> None:
    """Without a quasi-identifier no attack runs; a file of copies is no less one."""
    found = sf.assess(
        _bits(1), _bits(1), control=_bits(2), quasi_identifiers=[], sensitive=[], effort="quick",
        thresholds={"Risk": 0.05}, key=KEY,
    )  # fmt: skip
    assert found.thresholds[0].outcome == "not met" and "rows of the original" in found.because


def test_spaces_around_numbers_are_no_other_numbers() -> None:
    rng = np.random.default_rng(3)
    rows = {"age": rng.integers(18, 90, 400), "cost": rng.integers(0, 9_999, 400)}
    padded = pa.table({n: [f" {v}  " for v in column] for n, column in rows.items()})
    found = sf.assess(
        pa.table(rows), padded, quasi_identifiers=["age"], sensitive=["cost"], effort="quick",
        thresholds={"risk": 0.05}, key=KEY,
    )  # fmt: skip
    assert found.thresholds[0].outcome == "not met"


def test_a_weight_that_is_released_as_words_is_judged_all_the_same() -> None:
    rng = np.random.default_rng(0)
    rows = {"weight": rng.integers(100, 900, 200) / 7, "age": rng.integers(18, 90, 200)}
    words = {**rows, "weight": [f"~{w}~" for w in rows["weight"]]}
    schema = sf.scan(pa.table(rows)).schema.with_("weight", role="weight")
    found = assess(
        sf.scan(pa.table(rows), schema), pa.table(words), effort="quick", thresholds={"risk": 0.05}, key=KEY,
        scope="limits",
    )  # fmt: skip
    assert found.thresholds[0].outcome != "met"
