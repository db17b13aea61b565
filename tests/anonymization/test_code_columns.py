"""k^m-anonymity of codes in the cells of one table, recounted by brute force and attacked."""

from __future__ import annotations

import warnings
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.privacy import KMAnonymity as Claim
from sfumato.privacy import Unit
from sfumato.release.checks import Outcome
from sfumato.release.claims import check_claim

ICD = ["4019", "4011", "25000", "25002", "486", "4871", "V580", "V581", "5990", "42731", "42732", "2724"]
AGES = {"age": sf.Hierarchy.of_rows([[str(a), f"{a // 10 * 10}s", "*"] for a in range(20, 60)])}


def visits(rows: int, seed: int, *, persons: int = 0, separator: str = ";") -> sf.Table:
    """Ages, codes in a cell, one code in another; some cells empty; some rows nobody's."""
    rng = np.random.default_rng(seed)
    cells = [separator.join(rng.choice(ICD, rng.integers(0, 5), replace=False)) or None for _ in range(rows)]
    columns: dict[str, Any] = {
        "age": [str(a) for a in 20 + rng.integers(0, 40, rows) // rng.integers(1, 4, rows)],
        "dx": cells,
        "main": rng.choice(ICD[:4], rows).tolist(),
    }
    described = [
        sf.Column("age", sf.Kind.NOMINAL, sf.Role.QUASI_IDENTIFIER),
        sf.Column("dx", sf.Kind.CODES, sf.Role.SENSITIVE, missing=True, separator=separator),
        sf.Column("main", sf.Kind.NOMINAL, sf.Role.SENSITIVE),
    ]
    if persons:
        ids = rng.integers(0, persons, rows)
        columns["who"] = [None if i % 17 == 0 else f"P{i}" + " " * int(rng.integers(2)) for i in ids]
        described.append(sf.Column("who", sf.Kind.NOMINAL, sf.Role.PERSON, missing=True))
    return sf.Table.from_arrow(pa.table(columns), sf.Schema(tuple(described)))


def brute(rows: list[tuple[Any, set[Any]]], m: int) -> int:
    """The slow, obvious count: the fewest rows of a class that have all of up to m codes of one of them."""
    found: Counter[Any] = Counter()
    for group, codes in rows:
        for size in range(m + 1):
            found.update((group, s) for s in combinations(sorted(codes), size))
    return min(found.values())


def released(release: sf.Release, *columns: str) -> list[tuple[Any, set[Any]]]:
    """Class and codes of each row as they stand in the release."""
    out = []
    for row in release.data.to_arrow().to_pylist():
        codes = set()
        for name in columns:
            column = release.data.schema[name]
            cell = row[name] or ""
            parts = cell.split(column.separator) if column.kind is sf.Kind.CODES else [cell]
            codes |= {(name, p.strip()) for p in parts if p.strip()}
        out.append((row["age"], codes))
    return out


METHODS = [
    sf.OptimalRecoding(max_suppressed=0.1),
    sf.LocalRecoding(work_limit=2_000),
    sf.Mondrian(),
    sf.Datafly(),
]


@pytest.mark.parametrize("case", range(24))
def test_every_few_codes_fit_k_rows(case: int) -> None:
    rng = np.random.default_rng(case)
    k, m, rows = int(rng.integers(2, 6)), int(rng.integers(1, 4)), int(rng.integers(40, 250))
    table = visits(rows, case, persons=rows if case % 3 == 0 else 0)
    codes = ("dx", "main") if case % 2 else ("dx",)
    hierarchies = {**AGES, **(dict.fromkeys(codes, "icd9") if case % 4 < 3 else {})}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.SfumatoWarning)
        release = sf.anonymize(
            table, sf.KMAnonymity(k, m, codes), method=METHODS[case % 4], hierarchies=hierarchies, seed=case
        )
    assert brute(released(release, *codes), m) >= k
    claims = [c for c in release.guarantee if isinstance(c, Claim) and c.unit.of == "row"]
    assert [check_claim(c, release.data).outcome for c in claims] == [Outcome.PASSED]
    assert len([c for c in release.guarantee if isinstance(c, Claim)]) == (2 if case % 3 == 0 else 1)


def test_persons_are_counted_not_their_rows() -> None:
    """Ten rows of one person with the same codes fit one person, in whatever spelling the id stands."""
    who = ["P1", "P1 ", "P1", "P1", "P1", "P2", "P3", "P4", "P5", None]
    dx = ["4019;486"] * 5 + ["4019"] * 5
    schema = sf.Schema((
        sf.Column("age", sf.Kind.NOMINAL, sf.Role.QUASI_IDENTIFIER),
        sf.Column("dx", sf.Kind.CODES, sf.Role.SENSITIVE),
        sf.Column("who", sf.Kind.NOMINAL, sf.Role.PERSON, missing=True),
    ))  # fmt: skip
    table = sf.Table.from_arrow(pa.table({"age": ["30"] * 10, "dx": dx, "who": who}), schema)
    asked = sf.KMAnonymity(5, 2, "dx")
    with pytest.warns(sf.SfumatoWarning, match="without a hierarchy"):
        release = sf.anonymize(table, asked, hierarchies=AGES)
    assert {c for _, codes in released(release, "dx") for c in codes} == {("dx", "4019")}
    with pytest.warns(sf.SfumatoWarning, match="without a hierarchy"):
        rows = sf.anonymize(table, sf.KAnonymity(5, persons=False) & asked, hierarchies=AGES)
    assert ("dx", "486") in {c for _, codes in released(rows, "dx") for c in codes}


def test_a_saved_release_is_recounted_and_a_false_claim_found(tmp_path: Path) -> None:
    table = visits(300, 7)
    asked = sf.KAnonymity(4) & sf.KMAnonymity(4, 2, "dx")
    release = sf.anonymize(table, asked, hierarchies={**AGES, "dx": "icd9"})
    release.save(tmp_path / "out")
    found = sf.verify(tmp_path / "out")
    assert found.ok and any(c.outcome is Outcome.PASSED and "k^m" in c.subject for c in found.claims)
    numbers = release.internal.extra["code_sets"]
    assert numbers["dropped"] / numbers["codes"] < numbers["dropped_by_dropping_alone"]
    assert f"{numbers['dropped'] / numbers['codes']:.1%} of the codes were dropped" in release.about
    least = brute(released(release, "dx"), 2)
    assert check_claim(Claim(least, 2, ("dx",), ("age",)), release.data).outcome is Outcome.PASSED
    assert check_claim(Claim(least + 1, 2, ("dx",), ("age",)), release.data).outcome is Outcome.FAILED
    assert check_claim(Claim(2, 2, ("gone",), ("age",)), release.data).outcome is Outcome.FAILED
    unseen = check_claim(Claim(4, 2, ("dx",), ("age",), unit=Unit.person()), release.data)
    assert unseen.outcome is Outcome.UNSEEN


def test_names_of_nodes_are_not_taken_for_several_codes() -> None:
    """Chapters of ICD have blanks and commas in their names: such a sign cannot stand between codes."""
    table = visits(200, 3, separator=",")
    release = sf.anonymize(table, sf.KMAnonymity(5, 2, "dx"), hierarchies={**AGES, "dx": "icd9"})
    assert release.data.schema["dx"].separator == ";"
    assert brute(released(release, "dx"), 2) >= 5


def test_an_intruder_who_knows_two_codes_is_held_to_one_in_k() -> None:
    table = visits(400, 11)
    protected = sf.anonymize(table, sf.KMAnonymity(5, 2, "dx"), hierarchies={**AGES, "dx": "icd9"})
    bare = sf.anonymize(table, sf.KAnonymity(5), hierarchies=AGES)
    by_codes = [{s.name: s for s in sf.assess(table, r, effort="quick").scores} for r in (protected, bare)]
    assert all(by_codes[0][n].value <= 1 / 5 for n in ("linking by 1 code", "linking by 2 codes"))
    assert "linking by 3 codes" not in by_codes[0]  # it promises nothing of three
    assert by_codes[1]["linking by 3 codes"].value > 1 / 5


@pytest.mark.parametrize(
    ("asked", "options", "words"),
    [
        (sf.KMAnonymity(3, 2, "dx") & sf.KMAnonymity(3, 1, "main"), {}, "asked twice"),
        (sf.KMAnonymity(3, 2, "dx") & sf.LDiversity(2, "dx"), {}, "would change after another criterion"),
        (sf.KMAnonymity(3, 2, "dx"), {"drop": ["dx"]}, "are to be left out"),
        (sf.KMAnonymity(3, 2, "nothing"), {}, "unknown column"),
        (sf.KMAnonymity(3, 2, "age"), {"quasi_identifiers": ["age"]}, "quasi-identifier and codes at once"),
        (sf.KMAnonymity(3, 2, "dx"), {"method": sf.ClusterResample(columns=("age",))}, "does not make more"),
        (sf.KMAnonymity(3, 2, "dx"), {"method": sf.Greedy(closed=False)}, "does not make more general"),
        (sf.KMAnonymity(3, 2, "dx") & sf.KnownSearch("places"), {}, "may be known must not"),
        (sf.KMAnonymity(3, 2, "dx"), {"quasi_identifiers": []}, "no column is a quasi-identifier"),
    ],
)
@pytest.mark.filterwarnings("ignore:codes without a hierarchy")
def test_what_cannot_be_asked_is_refused(asked: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(sf.SfumatoError, match=words):
        sf.anonymize(visits(40, 1), asked, hierarchies=AGES, **options)
