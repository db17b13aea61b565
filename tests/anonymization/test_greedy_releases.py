"""Releases made with the greedy searches: recounted from what was written, by the library and the command."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from cli_support import process

import sfumato as sf
from sfumato.anonymization.problem import Problem, Sparse, compress
from sfumato.criteria import KAnonymity
from sfumato.hierarchy import Hierarchy

COLUMNS = ("a", "b")


def hierarchies() -> dict[str, Hierarchy]:
    return {c: Hierarchy.of_rows([(f"{c}{i}", f"{c}-{i // 3}", "*") for i in range(1, 9)]) for c in COLUMNS}


def people(rows: int = 600) -> pa.Table:
    """Frequent and rare values, so that classes need rows of their neighbours."""
    rng = np.random.default_rng(1)
    cells = {c: [f"{c}{i}" for i in np.minimum(rng.geometric(0.3, rows), 8)] for c in COLUMNS}
    return pa.table({**cells, "y": [f"y{i}" for i in rng.integers(0, 3, rows)]})


@pytest.mark.parametrize(
    "search",
    [sf.Greedy(), sf.Beam(), sf.Partition(), sf.Greedy(loss=sf.ColumnMI("y")), sf.ModelGuided("y")],
    ids=["greedy", "beam", "partition", "information", "guided"],
)
def test_a_saved_release_recounted_holds_k(search: object, tmp_path: Path) -> None:
    release = sf.anonymize(
        sf.Table.from_arrow(people()), KAnonymity(5), method=search, hierarchies=hierarchies(),
        quasi_identifiers=COLUMNS, seed=1,
    )  # fmt: skip
    release.save(tmp_path / "out")
    written = sf.Release.load(tmp_path / "out").data
    assert written.counts(*COLUMNS).n.min() >= 5
    assert written.to_arrow().num_rows == 600


@pytest.mark.parametrize("method", ["greedy", "partition"])
def test_the_command(method: str, tmp_path: Path) -> None:
    sf.write(sf.Table.from_arrow(people()), tmp_path / "people.csv")
    folder = tmp_path / "hierarchies"
    folder.mkdir()
    for c, h in hierarchies().items():
        with (folder / f"{c}.csv").open("w", newline="") as file:
            rows = [[h.label(int(node)) for node in h.nodes[:, leaf]] for leaf in range(len(h.leaves))]
            csv.writer(file, delimiter=";").writerows(rows)
    answer = process(
        "anonymize", "people.csv", "--k", 4, "--method", method, "--hierarchies", "hierarchies",
        "--quasi-identifiers", "a,b", "--out", "out", cwd=tmp_path,
    )  # fmt: skip
    assert answer.code == 0, answer.all
    assert sf.Release.load(tmp_path / "out").data.counts(*COLUMNS).n.min() >= 4


def test_persons_are_counted_where_asked() -> None:
    """Four rows of one person are one: each class holds three different persons."""
    p = compress(sf.Table.from_arrow(people(200)), COLUMNS, hierarchies())
    rng = np.random.default_rng(2)
    tables = [np.unique(rng.integers(0, 40, n), return_counts=True) for n in p.n]
    start = np.append(0, np.cumsum([len(codes) for codes, _ in tables]))
    whose = Sparse(
        "person", 40, start, np.concatenate([c for c, _ in tables]).astype(np.int32),
        np.concatenate([n for _, n in tables]),
    )  # fmt: skip
    p = Problem(p.columns, p.hierarchies, p.leaves, p.n, persons=whose)
    for search in (sf.Greedy(), sf.Partition()):
        found = search.search(p, KAnonymity(3, persons=True))
        label, sizes = found.classes()
        assert len(sizes) > 1 and not found.suppressed.any()
        for c in range(len(sizes)):
            members = found.of[label == c]
            persons = {int(x) for t in members for x in whose.code[whose.start[t] : whose.start[t + 1]]}
            assert len(persons) >= 3
