"""k^m-anonymity of codes across tables: recounted by brute force, dropped less than by dropping alone."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymization.code_sets import DROPPED, Ladder, dropping_alone, recode_sets
from sfumato.privacy import KMAnonymity as Claim
from sfumato.privacy import Unit
from sfumato.release.code_sets import smallest

QUASI = pytest.mark.filterwarnings("ignore:left out, since they identify")


def brute(sets: dict[Any, set[Any]], classes: dict[Any, Any], m: int) -> int:
    """The slow, obvious count: the fewest persons of a class that share up to m codes of one of them."""
    groups = Counter(classes.values())
    found: Counter[Any] = Counter()
    for person, items in sets.items():
        for size in range(1, m + 1):
            found.update((classes[person], s) for s in combinations(sorted(items), size))
    return min([*groups.values(), *found.values()])


def released_sets(release: sf.DatabaseRelease) -> tuple[dict[Any, set[Any]], dict[Any, Any]]:
    """Codes and class of each person, by plain joins in pandas."""
    patients, stays, diagnoses = (
        release.data[n].to_arrow().to_pandas() for n in ("patients", "stays", "diagnoses")
    )
    codes = diagnoses.merge(stays, on="stay_id").dropna(subset="code").groupby("patient_id")["code"].agg(set)
    classes = {r.patient_id: (r.sex, r.age_band) for r in patients.itertuples()}
    return codes.to_dict(), classes


@QUASI
def test_every_few_codes_fit_k_persons(tmp_path: Path) -> None:
    db = sf.samples.hospital(1_500)
    before, classes = released_sets(sf.pseudonymize(db))
    assert brute(before, classes, 2) == 1
    release = sf.anonymize_database(db, sf.KMAnonymity(5, 2), hierarchies={"diagnoses.code": "icd9"})
    release.save(tmp_path / "out")
    loaded = sf.DatabaseRelease.load(tmp_path / "out")
    assert brute(*released_sets(loaded), 2) >= 5
    found = sf.verify(tmp_path / "out")
    assert found.ok and "k- and k^m-anonymity with k = 5, m = 2" in [c.subject for c in found.claims]
    assert loaded.internal is not None
    numbers = loaded.internal.extra["code_sets"]
    assert numbers["dropped"] / numbers["codes"] < numbers["dropped_by_dropping_alone"] / 2
    # every code that left stands for the one that came in, and rows of children are all there
    assert loaded.data["diagnoses"].rows() == db["diagnoses"].rows()
    assert not loaded.data.differences and "admitted" not in loaded.data["stays"].columns


@QUASI
def test_a_false_claim_is_found(tmp_path: Path) -> None:
    release = sf.pseudonymize(sf.samples.hospital(300), drop=["patients.birth_date"])
    claim = Claim(5, 2, ("diagnoses.code",), ("patients.sex",), unit=Unit.person())
    lie = sf.DatabaseRelease(
        release.data, sf.Guarantee.of(claim, *release.guarantee.claims), release.internal
    )
    lie.save(tmp_path / "out")
    found = sf.verify(tmp_path / "out")
    assert [c.subject for c in found.failures] == [claim.title]
    assert "is shared by 1 persons" in found.failures[0].detail


@given(
    sets=st.lists(st.sets(st.integers(0, 7), max_size=6), min_size=1, max_size=30),
    k=st.integers(2, 4), m=st.integers(1, 3), groups=st.integers(1, 2),
)  # fmt: skip
def test_search_and_both_counts_agree(sets: list[set[int]], k: int, m: int, groups: int) -> None:
    person = np.array([p for p, s in enumerate(sets) for _ in s], np.int64)
    code = np.array([c for s in sets for c in sorted(s)], np.int64)
    classes = np.arange(len(sets)) % groups
    # eight codes in four pairs in two halves, as numbers of nodes
    nodes = np.array([np.arange(8), 8 + np.arange(8) // 2, 12 + np.arange(8) // 4, [14] * 8])
    ladder = Ladder(nodes, np.array([0.0] * 8 + [1 / 7] * 4 + [3 / 7] * 2 + [1.0]))
    found = recode_sets(person, code, classes, ladder, k, m)
    kept = found.node != DROPPED
    assert all(n in nodes[:3, c] for n, c in zip(found.node[kept], code[kept], strict=True))
    left: dict[int, set[int]] = {}
    for p, n in zip(person[kept], found.node[kept], strict=True):
        left.setdefault(int(p), set()).add(int(n))
    counted = [n for n in [_least(left, classes, m)] if n is not None]
    assert all(n >= k for n in counted)
    pairs = np.array(sorted({(p, n) for p, s in left.items() for n in s}), np.int64).reshape(-1, 2)
    if len(pairs):
        least, _ = smallest(pairs[:, 0], pairs[:, 1], classes, m)
        assert least == min(*counted, *Counter(classes.tolist()).values())
    assert 0 <= dropping_alone(person, code, classes, ladder, k, m) <= 1


def _least(left: dict[int, set[int]], classes: Any, m: int) -> int | None:
    found: Counter[Any] = Counter()
    for p, items in left.items():
        for size in range(1, m + 1):
            found.update((int(classes[p]), s) for s in combinations(sorted(items), size))
    return min(found.values()) if found else None


def test_kernels_agree_with_python() -> None:
    from sfumato.anonymization import _set_kernels as kernels

    start, items = np.array([0, 3, 5, 5, 8]), np.array([1, 2, 4, 1, 2, 1, 2, 4])
    for m, expected in ((1, 8), (2, 8 + 3 + 1 + 3), (3, 17)):
        assert kernels.subsets(start, m) == kernels.subsets.py_func(start, m) == expected
    table, counts = np.zeros(64, np.int64), np.zeros(64, np.int32)
    each, nobody, last = np.arange(len(start) - 1), np.full(len(start) - 1, -1), np.full(64, -1)
    kernels.support(start, items, 2, 5, table, counts, 6, each, nobody, np.ones_like(each), last)
    shared = {int(key): int(n) for key, n in zip(table, counts, strict=True) if key}
    assert shared == {1: 3, 2: 3, 4: 2, 7: 3, 9: 2, 14: 2}


def test_codes_in_one_cell_of_one_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    cells = [
        ";".join(sorted(set(rng.choice(["4019", "4011", "25000", "486", "V580"], 3)))) for _ in range(60)
    ]
    schema = sf.Schema((
        sf.Column("id", sf.Kind.NOMINAL, sf.Role.PERSON), sf.Column("dx", sf.Kind.CODES, sf.Role.SENSITIVE)
    ))  # fmt: skip
    table = sf.scan(pa.table({"id": [str(i) for i in range(60)], "dx": cells}), schema)
    db = sf.Database.of(table, "visits")
    release = sf.anonymize_database(db, sf.KMAnonymity(4, 2), hierarchies={"visits.dx": "icd9"})
    release.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").ok
    left = [set(c.split(";")) for c in release.data["visits"].to_arrow()["dx"].to_pylist() if c]
    assert brute(dict(enumerate(left)), dict.fromkeys(range(len(left)), 0), 2) >= 4


@QUASI
def test_days_climb_to_weeks_and_months(tmp_path: Path) -> None:
    db = sf.samples.hospital(400)
    release = sf.anonymize_database(db, sf.KMAnonymity(3, 2), codes=["stays.admitted"], columns=["sex"])
    release.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").ok
    days = {d for d in release.data["stays"].to_arrow()["admitted"].to_pylist() if d}
    assert days and any(not d[:4].isdigit() or len(d) < 10 for d in days)


@QUASI
def test_small_classes_are_withheld_or_refused() -> None:
    db = sf.samples.hospital(60)
    with pytest.raises(sf.DataError, match="there are 60 persons, fewer than 70"):
        sf.anonymize_database(db, sf.KMAnonymity(70, 1), codes=["diagnoses.code"])
    release = sf.anonymize_database(db, sf.KMAnonymity(6, 1), codes=["diagnoses.code"])
    assert brute(*released_sets(release), 1) >= 6


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"codes": ["no.code"]}, r"no column no\.code"),
        ({"codes": []}, "no column of codes is named"),
        ({"hierarchies": {"diagnoses.code": "icd8"}}, "no hierarchy 'icd8'"),
        ({"codes": ["diagnoses.code"], "columns": ["stays.ward"]}, "not in the table of persons"),
    ],
)
@QUASI
def test_wrong_settings_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(sf.ParameterError, match=words):
        sf.anonymize_database(sf.samples.hospital(30), sf.KMAnonymity(3, 1), **options)


@pytest.mark.parametrize(("k", "m"), [(0, 1), (2, 0), (2, 5), (2.5, 1)])
def test_criterion_checks_itself(k: Any, m: Any) -> None:
    with pytest.raises(sf.ParameterError):
        sf.KMAnonymity(k, m)


def test_one_person_with_very_many_codes_does_not_end_a_class() -> None:
    """Subsets of three of 5,000 codes cannot be counted: the rarest go, and everybody else keeps theirs."""
    person = np.concatenate([np.zeros(5_000, np.int64), np.repeat(np.arange(1, 41), 3)])
    code = np.concatenate([np.arange(5_000), np.tile([0, 1, 2], 40)])
    ladder = Ladder(np.stack([np.arange(5_000), np.full(5_000, 5_000)]), np.append(np.zeros(5_000), 1.0))
    classes = np.zeros(41, np.int64)
    found = recode_sets(person, code, classes, ladder, 5, 3)
    kept = found.node != DROPPED
    assert kept[5_000:].all() and kept[:3].all() and found.dropped == 4_997
    assert smallest(person[kept], found.node[kept], classes, 3)[0] == 41
