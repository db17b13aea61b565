"""A search that may be known: in every world of tiny tables, none that is left open is ruled out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import permutations, product
from math import comb, factorial, prod
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymization.problem import Problem, Sparse
from sfumato.anonymization.recoding import Recoding
from sfumato.criteria import Classes, Criterion, Spread
from sfumato.criteria.variety import enough
from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy import Hierarchy
from sfumato.release import verify
from sfumato.release.checks import Outcome

TOWN = Hierarchy.of_rows([[t, "north" if t < "c" else "south", "*"] for t in "abcd"])
THREE = Hierarchy.of_rows([list(row) for row in TOWN.rows()[:3]])
SEX = Hierarchy.of_rows([["f", "*"], ["m", "*"]])
Cells = Counter[tuple[tuple[int, ...], int]]  # rows by their leaves and their sensitive value


def searched(cells: Cells, asked: Criterion, hierarchies: tuple[Hierarchy, ...], **how: float) -> Recoding:
    """The recoding of a table that is given by its cells."""
    combinations = sorted({leaves for leaves, _ in cells})
    inside = [[(s, n) for (at, s), n in sorted(cells.items()) if at == c] for c in combinations]
    start = np.cumsum([0, *map(len, inside)])
    flat = [pair for group in inside for pair in group]
    code, n = np.array([s for s, _ in flat], np.int32), np.array([m for _, m in flat], np.int64)
    dx = Sparse("dx", 4, start, code, n, ("0", "1", "2", "3"))
    rows = np.array([sum(m for _, m in group) for group in inside], np.int64)
    names = tuple("ab"[: len(hierarchies)])
    problem = Problem(names, hierarchies, np.array(combinations, np.int32), rows, {"dx": dx})
    return sf.SimulatableRecoding(**how).search(problem, asked)


def shown(cells: Cells, found: Recoding) -> tuple[frozenset[object], frozenset[object]]:
    """What the file shows: the values of each class; and which rows are not in it."""
    at = {tuple(map(int, leaves)): i for i, leaves in enumerate(found.problem.leaves)}
    file: Counter[object] = Counter()
    out: Counter[object] = Counter()
    for (leaves, s), n in cells.items():
        i = at[leaves]
        if found.suppressed[i]:
            out[leaves, s] += n
        else:
            file[tuple(map(int, found.nodes[i])), s] += n
    return frozenset(file.items()), frozenset(out.items())


ASKED = [
    sf.KAnonymity(2) & sf.LDiversity(2, "dx"),
    sf.LDiversity(2, "dx"),
    sf.LDiversity(1.8, "dx", "entropy"),
    sf.LDiversity(2, "dx", "recursive", c=1.5),
    sf.AlphaK(0.5, 2, "dx"),
]


@pytest.mark.soak
@settings(max_examples=6, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=7, max_size=7),
    st.sampled_from([(0, 0, 1, 1, 2, 2, 3), (0, 0, 0, 1, 1, 2, 2), (0, 1, 1, 2, 2, 3, 3)]),
    st.sampled_from(ASKED),
)
def test_every_deal_of_the_values_of_a_class_leads_to_the_same_file(
    known: list[tuple[int, int]], values: tuple[int, ...], asked: Criterion
) -> None:
    """The intruder knows everybody's town and sex, the search and the file; each deal is equally likely.

    All deals are tried. Those that lead to the file are exactly those that agree with its classes: their
    number is the product over classes of the ways to deal its values out.
    """
    worlds: dict[object, int] = defaultdict(int)
    ways: dict[object, int] = {}
    for deal in set(permutations(values)):
        cells: Cells = Counter(zip(known, deal, strict=True))
        try:
            found = searched(cells, asked & sf.KnownSearch("values"), (TOWN, SEX))
        except DataError:
            return  # all rows together are not varied enough, in every world
        file, out = shown(cells, found)
        assert not out
        classes: dict[object, list[int]] = defaultdict(list)
        for (nodes, _), n in file:  # type: ignore[misc]
            classes[nodes].append(n)
        worlds[file] += 1
        ways[file] = prod(factorial(sum(c)) // prod(map(factorial, c)) for c in classes.values())
    assert worlds == ways


def test_some_classes_are_parted() -> None:
    """Else the test above would be about nothing."""
    known = list(product(range(4), range(2))) * 3
    cells: Cells = Counter(zip(known, [0, 1, 2, 3] * 6, strict=True))
    for asked in ASKED:
        found = searched(cells, asked & sf.KnownSearch("values"), (TOWN, SEX))
        assert len(found.classes()[1]) > 1


def _tables(cells: int, rows: int) -> Iterator[tuple[int, ...]]:
    """All ways to put so many rows into so many cells."""
    if cells == 1:
        yield (rows,)
        return
    for first in range(rows + 1):
        for rest in _tables(cells - 1, rows - first):
            yield (first, *rest)


@pytest.mark.parametrize(
    ("asked", "share"),
    [
        (sf.KAnonymity(2) & sf.KnownSearch("places"), 0.2),
        pytest.param(sf.KAnonymity(2) & sf.KnownSearch("places"), 0.7, marks=pytest.mark.soak),
        (sf.LDiversity(2, "dx") & sf.KnownSearch("both"), 0.7),
    ],
)
def test_rows_may_lie_anywhere_in_their_boxes(asked: Criterion, share: float) -> None:
    """All tables of six rows, by four towns and two sexes, or by three towns and three values.

    The same rows left out, the same boxes: every table that these leave open leads to the file.
    """
    values, rows = bool(asked.sensitive), 6
    hierarchies = (THREE,) if values else (TOWN, SEX)
    worlds: dict[object, int] = defaultdict(int)
    ways: dict[object, int] = {}
    left_out, below = 0, set()
    root = tuple(h.root for h in hierarchies)
    for table in _tables(9 if values else 8, rows):
        cells: Cells = Counter()
        for i, n in enumerate(table):
            if n:
                cells[((i // 3,), i % 3) if values else ((i // 2, i % 2), 0)] = n
        try:
            found = searched(cells, asked, hierarchies, max_suppressed=share)
        except DataError:
            continue
        file, out = shown(cells, found)
        boxes = dict(file)
        worlds[file, out] += 1
        # The ways to put the rows of each box and value into the cells below.
        ways[file, out] = prod(
            comb(n + size - 1, size - 1)
            for (nodes, _), n in boxes.items()  # type: ignore[misc]
            for size in [prod(int(h.leaf_counts[v]) for h, v in zip(hierarchies, nodes, strict=True))]
        )
        if any(nodes != root for nodes, _ in boxes):  # type: ignore[misc]
            below.add((file, out))
        left_out += bool(out)
        assert sum(n for _, n in out) <= share * rows  # type: ignore[misc]
    assert worlds == ways and left_out
    assert any(worlds[one] > 1 for one in below)  # a box that was parted, and still leaves several open


def test_the_five_persons_whom_minimality_gives_away() -> None:
    """Two of the north, three of the south, HIV twice: see test_minimality.py. Here nothing is given away."""
    north = np.array([0, 0, 2, 2, 2])
    files: dict[object, list[tuple[int, ...]]] = defaultdict(list)
    for world in sorted(set(permutations([0, 0, 1, 2, 3]))):
        cells: Cells = Counter(((int(t),), s) for t, s in zip(north, world, strict=True))
        found = searched(cells, sf.LDiversity(2, "dx") & sf.KnownSearch("values"), (TOWN,))
        files[shown(cells, found)].append(world)
    for same in files.values():
        assert (np.array(same) == 0).mean(axis=0) == pytest.approx(np.full(5, 2 / 5))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.one_of(
        st.integers(1, 4).map(lambda n: sf.LDiversity(n, "dx")),
        st.sampled_from([1.0, 1.5, 2.0, 2.6]).map(lambda n: sf.LDiversity(n, "dx", "entropy")),
        st.tuples(st.integers(1, 3), st.sampled_from([0.1, 0.5, 1.0, 1.5, 3.0])).map(
            lambda p: sf.LDiversity(p[0], "dx", "recursive", c=p[1])
        ),
        st.tuples(st.sampled_from([0.3, 0.5, 0.7, 1.0]), st.integers(1, 3)).map(
            lambda p: sf.AlphaK(p[0], p[1], "dx")
        ),
    ),
)
def test_any_so_many_rows_are_varied_enough(counts: list[int], asked: sf.LDiversity | sf.AlphaK) -> None:
    """Every part of a small class, against the criterion itself; and one row fewer would not always do."""
    counts = sorted(counts, reverse=True)
    size = enough(asked, np.array(counts))
    verdicts: dict[int, set[bool]] = defaultdict(set)
    for part in product(*(range(n + 1) for n in counts)):
        taken = np.array(part)
        code = np.flatnonzero(taken)
        if code.size:
            table = Spread.of(np.zeros(len(code), np.int64), code, taken[code], 1, len(counts))
            ok = asked.satisfied(Classes(np.array([taken.sum()]), tables={"dx": table}))
            verdicts[int(taken.sum())].add(bool(ok[0]))
    assert all(found == {True} for n, found in verdicts.items() if n >= size)
    exact = not (isinstance(asked, sf.LDiversity) and asked.kind == "recursive" and asked.l == 1)
    if exact and 1 < size <= sum(counts):
        assert False in verdicts[size - 1]


# -- by the doors --------------------------------------------------------------------------------


def _people(rows: int = 600) -> sf.Table:
    g = np.random.default_rng(4)
    return sf.Table.from_arrow(pa.table({
        "town": [str(v) for v in g.choice(list("abcd"), rows)],
        "sex": [str(v) for v in g.choice(list("fm"), rows)],
        "dx": [f"d{v}" for v in g.integers(0, 9, rows)],
    }))  # fmt: skip


BOTH = {"town": TOWN, "sex": SEX}


def test_a_release_says_what_it_hides_and_leaves_rows_out_of_the_file(tmp_path: Path) -> None:
    asked = sf.KAnonymity(40) & sf.KnownSearch("places")
    method = sf.SimulatableRecoding(max_suppressed=0.5)
    skewed = _people().to_arrow()
    skewed = sf.Table.from_arrow(pa.concat_tables([skewed, skewed.slice(0, 9).set_column(
        0, "town", pa.array(["zz"] * 9))]))  # fmt: skip
    towns = Hierarchy.of_rows([*map(list, TOWN.rows()), ["zz", "east", "*"]])
    release = sf.anonymize(
        skewed, asked, method=method, hierarchies={**BOTH, "town": towns}, quasi_identifiers=["town", "sex"]
    )
    cells = release.data.to_arrow().to_pydict()
    assert release.data.rows() == 600 and "*" not in cells["town"] and "zz" not in cells["town"]
    assert release.internal.extra["rows"]["left_out"] == 9
    text = release.guarantee.text()
    assert "Wherever the rows of the file lie within their values in 'town', 'sex'" in text
    found = {c.subject: c.outcome for c in verify(release.save(tmp_path / "out")).claims}
    assert found["a search that may be known: places within values"] is Outcome.RECORDED
    assert found["k-anonymity with k = 66 rows"] is Outcome.PASSED


def test_it_is_the_default_where_it_is_asked_for_and_others_are_refused() -> None:
    asked = sf.LDiversity(3, "dx") & sf.KnownSearch("values")
    options = {"hierarchies": BOTH, "quasi_identifiers": ["town", "sex"]}
    release = sf.anonymize(_people(), asked, **options)
    assert release.internal.plan["anonymize"]["method"].keys() == {"SimulatableRecoding"}
    assert len(set(release.data.to_arrow()["town"].to_pylist())) > 1
    for method in (sf.OptimalRecoding(), sf.LocalRecoding("fast"), sf.Mondrian(), sf.ClusterResample()):
        with pytest.raises(ParameterError, match="tells who knows it"):
            sf.anonymize(_people(), asked, method=method, **options)
    with pytest.raises(ParameterError, match="by the clock"):
        sf.anonymize(_people(), asked, method=sf.SimulatableRecoding(time_limit=9.0), **options)
    with pytest.raises(ParameterError, match="are not rare"):
        sf.anonymize(_people(), asked, drop_rarer_than=3, **options)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (sf.TCloseness(0.9, "dx"), "no way to hold"),
        (sf.KAnonymity(2, missing="matches anything"), "no way to hold"),
        (sf.KAnonymity(2) & sf.KnownSearch("values"), "nothing is asked of a sensitive column"),
    ],
)
def test_what_it_cannot_hold_is_refused(asked: Criterion, why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        sf.anonymize(
            _people(), asked, method=sf.SimulatableRecoding(), hierarchies=BOTH,
            quasi_identifiers=["town", "sex"],
        )  # fmt: skip


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(ParameterError, match="hides must be"):
        sf.KnownSearch("all")
    with pytest.raises(ParameterError, match="share from 0 to 1"):
        sf.SimulatableRecoding(max_suppressed=2)


def test_leaving_out_what_lacks_variety_is_refused() -> None:
    """A block that no class may cross, all with one value: to leave it out would say so."""
    rows = {"town": ["a"] * 4 + ["c"] * 4, "dx": ["x"] * 4 + ["x", "y", "x", "y"]}
    with pytest.raises(DataError, match="would say so"):
        sf.anonymize(
            sf.Table.from_arrow(pa.table(rows)), sf.LDiversity(2, "dx") & sf.KnownSearch("values"),
            hierarchies={"town": TOWN}, quasi_identifiers=["town"], max_level={"town": 1},
        )  # fmt: skip
