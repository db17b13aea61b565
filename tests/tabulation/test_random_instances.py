"""Tables nobody chose: drawn at random, published, and attacked by programs that share no code with ours.

Every cell is a variable in whole numbers, every total a sum as its labels say it, solved by scipy's own
`milp`. What it says must be what the attacker says, of what we publish and of the same with a fault planted.
"""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

import sfumato as sf

Cell = tuple[tuple[str, str], ...]


def drawn(seed: int) -> tuple[pa.Table, list[str]]:
    """People in two to four columns, some rare; one to three tables, with levels or without."""
    random = np.random.default_rng(seed)
    people = int(random.integers(40, 220))
    fine = random.choice(5, people, p=random.dirichlet(np.full(5, 1.5)))
    columns = {
        "area": [f"a{f // 2}" for f in fine],
        "county": [f"c{f}" for f in fine],
        "age": [f"y{v}" for v in random.choice(3, people, p=random.dirichlet(np.full(3, 2.0)))],
        "sex": [f"s{v}" for v in random.choice(2, people)],
    }
    layouts = [["county,age"], ["area>county,age"], ["county,age", "county,sex"], ["area>county", "age,sex"],
               ["age,sex,area"], ["area>county,sex", "age,sex"]]  # fmt: skip
    return pa.table(columns), layouts[seed % len(layouts)]


def published(release: sf.Release) -> dict[Cell, int | None]:
    """What a reader sees: cells by their labels, without totals."""
    rows = release.data.to_arrow().to_pylist()
    return {
        tuple(sorted((n, v) for n, v in row.items() if n != "count" and v != "_T")): row["count"]
        for row in rows
    }


def sums(cells: list[Cell], layouts: list[str]) -> list[tuple[int, list[int]]]:
    """Each cell and its parts along each axis of each table."""
    number = {cell: i for i, cell in enumerate(cells)}
    found = []
    for layout in layouts:
        axes = [axis.split(">") for axis in layout.split(",")]
        names = {n for axis in axes for n in axis}
        own = [c for c in cells if {n for n, _ in c} <= names]
        for cell, axis in itertools.product(own, axes):
            filled = [n for n in axis if n in dict(cell)]
            if len(filled) == len(axis) or filled != axis[: len(filled)]:
                continue
            below = axis[len(filled)]
            parts = [
                number[c] for c in own if len(c) == len(cell) + 1 and set(cell) < set(c) and below in dict(c)
            ]
            found.append((number[cell], parts))
    return found


def floors(cells: list[Cell], layouts: list[str]) -> np.ndarray:
    """How many inner cells that are there lie under each, in the table that has most."""
    least = np.ones(len(cells))
    for layout in layouts:
        names = frozenset(layout.replace(">", ",").split(","))
        inner = [set(c) for c in cells if {n for n, _ in c} == names]
        for i, cell in enumerate(cells):
            if {n for n, _ in cell} <= names:
                least[i] = max(least[i], sum(set(cell) <= c for c in inner))
    return least


def left(shown: dict[Cell, int | None], layouts: list[str], cell: Cell) -> tuple[float, float]:
    """The least and the most that a cell can be, in whole numbers."""
    cells = list(shown)
    given = np.array([np.nan if shown[c] is None else shown[c] for c in cells], float)
    low = np.where(np.isnan(given), floors(cells, layouts), given)
    high = np.where(np.isnan(given), 10_000, given)
    relations = sums(cells, layouts)
    matrix = np.zeros((len(relations), len(cells)))
    for row, (total, parts) in enumerate(relations):
        matrix[row, parts] = 1
        matrix[row, total] -= 1
    cost = np.zeros(len(cells))
    cost[cells.index(cell)] = 1
    ends = []
    for sign in (1, -1):
        done = milp(sign * cost, integrality=np.ones(len(cells)), bounds=Bounds(low, high),
                    constraints=LinearConstraint(matrix, 0, 0))  # fmt: skip
        assert done.success
        ends.append(sign * round(done.fun))
    return ends[0], ends[1]


def told(shown: dict[Cell, int | None], layouts: list[str]) -> set[Cell]:
    """Withheld cells that must be small, and are narrowed."""
    found = set()
    floor = dict(zip(shown, floors(list(shown), layouts), strict=True))
    for cell in (c for c, count in shown.items() if count is None):
        low, high = left(shown, layouts, cell)
        if high < 5 and not (low <= floor[cell] and high >= max(4, floor[cell] + 1)):
            found.add(cell)
    return found


def attacked(shown: dict[Cell, int | None], layouts: list[str]) -> set[Cell]:
    """The same by our attacker, from a file."""
    names = sorted({n for cell in shown for n, _ in cell})
    columns = {n: [dict(cell).get(n, "_T") for cell in shown] for n in names}
    table = pa.table({**columns, "count": ["*" if n is None else str(n) for n in shown.values()]})
    faults = sf.assess_tables(table, ";".join(layouts)).faults.to_pylist()
    return {tuple(sorted((n, f[n]) for n in names if f[n] != "_T")) for f in faults}


def covered(release: sf.Release, layouts: list[str]) -> None:
    """Of each small cell a reader is left with all that was promised."""
    shown = published(release)
    floor = dict(zip(shown, floors(list(shown), layouts), strict=True))
    for cell, kept in zip(shown, release.internal.tables["cells"].to_pylist(), strict=True):
        if 0 < kept["people"] < 5:
            low, high = left(shown, layouts, cell)
            assert low <= floor[cell] and high >= max(4, floor[cell] + 1)


def held(seed: int) -> int:
    """Publish, attack, plant faults; how many cells those told; 0 where it is refused."""
    people, layouts = drawn(seed)
    try:
        release = sf.tabulate(people, layouts, method=sf.CellSuppression(effort="fast", search_seed=seed))
    except sf.DataError as error:
        assert "cannot be hidden" in error.message
        return 0
    shown = published(release)
    assert not any(count is not None and 0 < count < 5 for count in shown.values())
    cells = release.internal.tables["cells"].to_pylist()
    covered(release, layouts)
    assert not attacked(shown, layouts)
    hiding = [(c, k["rows"]) for c, k in zip(shown, cells, strict=True) if k["withheld"] and k["rows"] >= 5]
    count = 0
    for at in np.random.default_rng(seed).permutation(len(hiding))[:3]:  # a fault, or none: a cell put back
        planted = {**shown, hiding[at][0]: hiding[at][1]}
        faults = told(planted, layouts)
        assert attacked(planted, layouts) == faults
        count += len(faults)
    return count


@pytest.mark.parametrize("seed", range(4))
def test_what_is_published_at_random_holds_against_programs_of_others(seed: int) -> None:
    held(seed)


def quarters(seed: int) -> bool:
    """Publish one quarter, then a table of all; False where that is refused."""
    people, layouts = drawn(seed)
    both = people.append_column("quarter", pa.array(["q1" if i % 3 else "q2" for i in range(len(people))]))
    method = sf.CellSuppression(effort="fast")
    later = f"quarter,{layouts[0].split(',')[0]}"
    try:
        first = sf.tabulate(both.filter(pc.equal(both["quarter"], "q1")), layouts, method=method)
        year = sf.tabulate(both, later, method=method, earlier=[(first, {"quarter": "q1"})])
    except sf.DataError as error:
        assert "cannot be hidden" in error.message or "are sensitive" in error.message
        return False
    shown, was = published(year), published(first)
    quarter = ("quarter", "q1")
    assert all(shown[tuple(sorted((*cell, quarter)))] == count for cell, count in was.items())
    covered(year, [later, *(f"quarter,{layout}" for layout in layouts)])
    return True


def test_a_quarter_and_the_year_tell_nothing_together() -> None:
    assert sum(quarters(seed) for seed in range(3)) > 0


@pytest.mark.soak
def test_many_quarters_tell_nothing() -> None:
    assert sum(quarters(seed) for seed in range(300, 340)) > 10


@pytest.mark.soak
@pytest.mark.parametrize("start", range(100, 220, 20))
def test_many_tables_at_random_hold(start: int) -> None:
    assert sum(held(seed) for seed in range(start, start + 20)) > 20  # faults that were found
