"""The one door: what it lets through, what it refuses, and what the written file shows when counted again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.hierarchy import Hierarchy, Intervals, LevelTable, Suppression
from sfumato.schema import Column, Kind, Role, Schema

QUASI = Role.QUASI_IDENTIFIER
LETTERS = LevelTable((("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")))
K = sf.KAnonymity(5)


def table(data: dict[str, object], *columns: Column) -> sf.Table:
    return sf.Table.from_arrow(pa.table(data), Schema(columns))


def letters(rows: int = 120, seed: int = 0) -> sf.Table:
    draw = np.random.default_rng(seed)
    return table(
        {
            "q": draw.choice(list("abc"), rows, p=[0.9, 0.07, 0.03]),
            "r": draw.choice(list("abc"), rows),
            "cost": draw.lognormal(size=rows).round(2),
        },
        Column("q", Kind.NOMINAL, QUASI),
        Column("r", Kind.NOMINAL, QUASI),
        Column("cost", Kind.NUMERIC, edges=(0.0, 1.0, 2.0, 1e6)),
    )


BOTH = {"q": LETTERS, "r": LETTERS}


def recounted(release: sf.Release, folder: Path, columns: list[str], format: str = "parquet") -> int:
    """The smallest class of the written file, counted by pandas; and the file is what it says."""
    folder.mkdir(exist_ok=True)
    release.save(folder / "r", format=format)
    found = sf.verify(folder / "r")
    assert found.ok, str(found)
    data = sf.Release.load(folder / "r").data.to_arrow().to_pandas()
    return int(data.groupby(columns, dropna=False).size().min())


def outcome(release: sf.Release, folder: Path) -> str:
    release.save(folder / "r")
    (claim,) = sf.verify(folder / "r" / "public").claims  # what a recipient sees
    return str(claim.outcome)


# -- methods with claims or assumptions of their own ----------------------------------------------------


def test_literal_greedy_promises_ambiguity_and_no_more(tmp_path) -> None:
    data = letters()
    release = sf.anonymize(data, K, method=sf.Greedy(closed=False), hierarchies=BOTH)
    (claim,) = release.guarantee
    assert claim.title.startswith("k-ambiguity") and "hides among" not in release.about
    assert outcome(release, tmp_path) == "not visible"
    # Counted independently: every released row covers at least the k that is claimed.
    up = {r[0]: set(r) for r in LETTERS.rows}
    original = list(zip(*(data.to_arrow().column(c).to_pylist() for c in "qr"), strict=True))
    rows = set(zip(*(release.data.to_arrow().column(c).to_pylist() for c in "qr"), strict=True))
    least = min(sum(a in up[x] and b in up[y] for x, y in original) for a, b in rows)
    assert least == claim.k >= 5


def test_literal_greedy_of_rows_that_cannot_hide_withholds_them_all(tmp_path) -> None:
    data = table({"q": list("abc")}, Column("q", Kind.NOMINAL, QUASI))
    method = sf.Greedy(closed=False)
    release = sf.anonymize(
        data, sf.KAnonymity(2), method=method, max_level={"q": 0}, hierarchies={"q": LETTERS}
    )
    assert release.data.to_arrow().column("q").to_pylist() == ["*"] * 3
    assert [c.k for c in release.guarantee] == [3]


def test_literal_greedy_has_no_classes_for_a_register(tmp_path) -> None:
    with pytest.raises(ParameterError, match="register compares classes"):
        sf.anonymize(
            letters(), K, method=sf.Greedy(closed=False), hierarchies=BOTH, register=tmp_path / "reg"
        )
    assert not (tmp_path / "reg").exists()


@pytest.mark.parametrize("leaking", [True, False])
def test_a_leaking_guide_is_said_to_leak_and_is_no_assumption(leaking) -> None:
    method = sf.ModelGuided(target="cost", leaking=leaking)
    release = sf.anonymize(letters(), K, method=method, hierarchies=BOTH)
    said = [c for c in release.guarantee if isinstance(c, sf.privacy.NoGuarantee)]
    assert bool(said) is leaking and all("looking at 'cost'" in c.text() for c in said)
    assert not any("looking at" in a for c in release.guarantee for a in c.assumptions)


# -- alike rows that part --------------------------------------------------------------------------------


class Splits:
    """Parts the rows of every combination in two, both withheld entirely."""

    def search(self, problem, criterion):
        from sfumato.anonymization.recoding import Recoding

        half = problem.n // 2
        of = np.repeat(np.arange(problem.combinations), 2)
        n = np.stack([half, problem.n - half], axis=1).ravel()
        root = np.array([h.root for h in problem.hierarchies], np.int32)
        return Recoding(problem, of, n, np.tile(root, (len(of), 1)), np.ones(len(of), bool))


def test_split_rows_pass_where_only_sizes_are_asked(tmp_path) -> None:
    data = letters()
    for criterion in (K, K & sf.KMap(5, population=data), sf.KAnonymity(5, missing="matches anything")):
        release = sf.anonymize(data, criterion, method=Splits(), hierarchies=BOTH)
        assert recounted(release, tmp_path / criterion.describe()[-8:], ["q", "r"]) == 120


def test_split_rows_are_refused_where_the_criterion_looks_inside() -> None:
    people = sf.Table.from_arrow(
        letters().to_arrow().append_column("id", pa.array(range(120))),
        Schema((*letters().schema, Column("id", Kind.NOMINAL, Role.PERSON, type="integer"))),
    )
    for data, criterion in (
        (letters(), K & sf.LDiversity(2, "cost")),
        (letters(), sf.KMap(5, weight="cost")),
        (people, K),
    ):
        with pytest.raises(ParameterError, match="parts rows that are alike"):
            sf.anonymize(data, criterion, method=Splits(), hierarchies=BOTH)


def test_a_model_s_target_does_not_forbid_splitting() -> None:
    method = sf.Greedy(loss=sf.ColumnMI(target="cost"))
    assert sf.anonymize(letters(), K, method=method, hierarchies=BOTH).data.rows() == 120


# -- what is counted is what is written ------------------------------------------------------------------


@pytest.mark.parametrize("format", ["parquet", "csv"])
@pytest.mark.parametrize("method", [None, sf.Greedy(), sf.Partition(), sf.Mondrian()])
def test_a_cell_that_says_missing_is_not_told_from_an_empty_one(tmp_path, method, format) -> None:
    """Both were counted as one class; three of each are fewer than k."""
    data = table({"q": ["(missing)"] * 3 + [None] * 3 + ["a"] * 6}, Column("q", Kind.NOMINAL, QUASI))
    hierarchy = LevelTable((("(missing)", "x", "*"), ("a", "x", "*")))
    release = sf.anonymize(data, K, method=method, hierarchies={"q": hierarchy})
    assert recounted(release, tmp_path, ["q"], format) >= 5


@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_closeness_is_of_the_values_that_are_released_not_of_their_bins(tmp_path, distance) -> None:
    data = letters()
    release = sf.anonymize(data, K & sf.TCloseness(0.5, "cost", distance=distance), hierarchies=BOTH)
    assert recounted(release, tmp_path, ["q", "r"]) >= 5
    assert release.schema["cost"].edges == data.schema["cost"].edges


def test_diversity_of_bins_is_diversity_of_values(tmp_path) -> None:
    for i, kind in enumerate(("distinct", "entropy")):
        asked = K & sf.LDiversity(2, "cost", kind=kind)
        assert recounted(sf.anonymize(letters(), asked, hierarchies=BOTH), tmp_path / str(i), ["q", "r"]) >= 5


def test_a_root_of_another_name_is_a_value_to_whoever_reads_the_file(tmp_path) -> None:
    data = table(
        {"q": list("abc") * 20 + [None] * 3, "r": ["u", "v"] * 31 + ["w"]},
        Column("q", Kind.NOMINAL, QUASI),
        Column("r", Kind.NOMINAL, QUASI),
    )
    named = {
        "q": Hierarchy.of_rows([("a", "x", "Any"), ("b", "x", "Any"), ("c", "y", "Any")]),
        "r": Hierarchy.of_rows([(x, "Any") for x in "uvw"]),
    }
    for i, method in enumerate((None, sf.Greedy(), sf.Partition())):
        asked = sf.KAnonymity(12, missing="matches anything")
        recounted(sf.anonymize(data, asked, method=method, hierarchies=named), tmp_path / str(i), ["q", "r"])


def test_columns_may_be_called_what_the_record_calls_its_own(tmp_path) -> None:
    names = ["n", "rows", "class", "cluster", "who", "(missing)", "*", "ü€ 名"]
    draw = np.random.default_rng(3)
    data = table(
        {name: draw.choice(list("abc"), 200) for name in names},
        *(Column(n, Kind.NOMINAL, QUASI) for n in names),
    )
    for i, method in enumerate((sf.OptimalRecoding(max_suppressed=1.0), sf.Greedy(), sf.Centroid())):
        release = sf.anonymize(data, K, method=method, hierarchies=dict.fromkeys(names, LETTERS))
        assert recounted(release, tmp_path / str(i), names, ["parquet", "csv"][i % 2]) >= 5


@pytest.mark.parametrize("method", [None, sf.Greedy(), sf.ClusterResample(), sf.Centroid()])
def test_a_column_without_any_value_passes(tmp_path, method) -> None:
    data = table(
        {"q": ["a"] * 12, "x": pa.array([None] * 12, pa.float64())},
        Column("q", Kind.NOMINAL, QUASI),
        Column("x", Kind.NUMERIC, QUASI),
    )
    recipes = {"q": Suppression(), "x": Intervals(widths=(1,))}
    release = sf.anonymize(data, K, method=method, hierarchies=recipes)
    assert recounted(release, tmp_path, ["q", "x"]) == 12


# -- refusals --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"criterion": 5}, "must be a criterion"),
        ({"method": sf.OptimalRecoding}, "is a class"),
        ({"method": sf.ClusterResample}, "is a class"),
        ({"quasi_identifiers": "q"}, "quasi_identifiers must be a list"),
        ({"drop": "cost"}, "drop must be a list"),
        ({"bounds": {"cost": 5}}, "pairs of a low and a high"),
        ({"bounds": {"cost": ("zebra", "horse")}}, "pairs of a low and a high"),
        ({"hierarchies": {"q": LevelTable((("a", "*"),)), "r": 7}}, "column 'q'.*column 'r'"),
    ],
)
def test_what_is_easily_written_by_mistake_is_refused(change, words) -> None:
    given = {"criterion": K, "hierarchies": BOTH, **change}
    with pytest.raises(sf.errors.SfumatoError, match=words) as refused:
        sf.anonymize(letters(), **given)
    assert "zebra" not in str(refused.value)


@pytest.mark.parametrize("method", [None, sf.Greedy(), sf.ClusterResample(), sf.Centroid(response="cost")])
def test_no_rows_are_said_to_be_no_rows(method) -> None:
    with pytest.raises(sf.errors.SfumatoError, match="has no rows"):
        sf.anonymize(letters(0), K, method=method, hierarchies=BOTH)


def test_classes_do_not_meet_each_other_where_nothing_matches_anything() -> None:
    """Every class against every other takes long: it is for criteria that let cells match anything."""
    from sfumato.anonymization.anonymize import _sizes
    from sfumato.anonymization.problem import compress
    from sfumato.anonymization.suppression import settle

    data = letters()
    problem = compress(data, "qr", {c: LETTERS.over(list("abc")) for c in "qr"})
    settled = settle(Splits().search(problem, K), K, lambda s: _sizes(s, matching=False))
    assert _sizes(settled, matching=False).matching is None
    assert _sizes(settled, matching=True).matching.tolist() == [120]


def test_the_record_and_the_titles_say_whose_k_it_is_and_which_seconds_they_are() -> None:
    """Rows and persons are two claims; the clock and the processor are two times."""
    data = letters()
    named = table(
        {**{c: data.to_arrow()[c] for c in "qr"}, "id": [f"P{i // 2}" for i in range(120)]},
        Column("q", Kind.NOMINAL, QUASI),
        Column("r", Kind.NOMINAL, QUASI),
        Column("id", Kind.NOMINAL, Role.PERSON),
    )
    release = sf.anonymize(named, K, hierarchies=BOTH)
    titles = [c.title for c in release.guarantee]
    assert [t.split()[-1] for t in titles] == ["persons", "rows"]
    search = release.internal.extra["search"]
    assert search["seconds"] >= 0 and search["cpu_seconds"] >= 0
