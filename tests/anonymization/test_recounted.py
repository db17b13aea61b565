"""Random configurations, written to a file and recounted by loops that share nothing with the searches."""

from __future__ import annotations

import csv
import math
import random
import warnings
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.criteria import Criterion
from sfumato.errors import DataError, ParameterError, SfumatoWarning
from sfumato.hierarchy import Hierarchy

REFUSED = (
    "cannot hold", "fewer than", "found nothing", "nothing could", "too many rows", "no way to hold",
    "cannot be in a class", "would say so",
)  # fmt: skip


def levels(g: random.Random, values: list[str]) -> Hierarchy:
    """Random levels, each a merging of the one below."""
    columns = [values]
    for height in range(g.randint(0, 2)):
        known = sorted(set(columns[-1]))
        to = {v: f"L{height}.{g.randint(0, max(0, len(known) - 2))}" for v in known}
        columns.append([to[v] for v in columns[-1]])
    return Hierarchy.of_rows([[*row, "*"] for row in zip(*columns, strict=True)])


def criterion(g: random.Random) -> Criterion:
    """One, two or three at once."""
    single: list[Criterion] = [
        sf.KAnonymity(g.randint(1, 6)),
        sf.LDiversity(g.randint(1, 4), "s"),
        sf.LDiversity(g.choice([1.2, 1.7, 2.3]), "s", "entropy"),
        sf.LDiversity(g.randint(1, 3), "s", "recursive", c=g.choice([0.7, 1.0, 3.0])),
        sf.TCloseness(g.choice([0.1, 0.3, 0.5]), "s"),
        sf.TCloseness(g.choice([0.1, 0.3, 0.5]), "v", "ordered"),
        sf.AlphaK(g.choice([0.4, 0.6, 0.9]), g.randint(1, 4), "s"),
    ]
    asked = sf.KAnonymity(g.randint(2, 6)) if g.random() < 0.5 else g.choice(single)
    for part in g.sample(single, g.choice([0, 1, 1, 2])):
        asked = asked & part
    return asked


def method(g: random.Random) -> Any:
    """Any search, most of them stopped somewhere now and then."""
    share, work = g.choice([0.0, 0.1, 0.5, 1.0]), g.choice([None, 1, 7, 60])
    return g.choice([
        sf.OptimalRecoding(max_suppressed=share, work_limit=work),
        sf.OptimalRecoding(g.choice(["entropy", "discernibility", "class-size"]), max_suppressed=share),
        sf.LocalRecoding("fast", work_limit=g.choice([1, 30, 400]), max_suppressed=share),
        sf.Mondrian(g.choice(["strict", "relaxed"]), max_suppressed=share, work_limit=work),
        sf.SimulatableRecoding(max_suppressed=share, work_limit=work),
        sf.Datafly(max_suppressed=share), sf.Greedy(work_limit=work), sf.Partition(work_limit=work),
        sf.Beam(3, work_limit=work),
    ])  # fmt: skip


def broken(asked: Criterion, rows: list[dict[str, str]], quasi: Sequence[str]) -> str:
    """What the file does not keep; empty if it keeps all."""
    classes = defaultdict(list)
    for row in rows:
        classes[tuple(row[q] for q in quasi)].append(row)
    for part in asked.parts:
        for group in classes.values():
            if not _kept(part, group, rows):
                return part.describe()
    return ""


def _kept(part: Any, group: list[dict[str, str]], rows: list[dict[str, str]]) -> bool:
    n = len(group)
    if isinstance(part, sf.KAnonymity):
        return n >= part.k
    if isinstance(part, sf.KnownSearch):
        return True
    counts = sorted(Counter(row[part.column] for row in group).values(), reverse=True)
    if isinstance(part, sf.AlphaK):
        return n >= part.k and counts[0] / n <= part.alpha + 1e-9
    if isinstance(part, sf.TCloseness):
        return _distance(part, group, rows) <= part.t + 1e-9
    if part.kind == "distinct":
        return len(counts) >= part.l
    if part.kind == "entropy":
        return -sum(c / n * math.log(c / n) for c in counts) >= math.log(part.l) - 1e-9
    return counts[0] < part.c * sum(counts[int(part.l) - 1 :])


def _distance(part: sf.TCloseness, group: list[dict[str, str]], rows: list[dict[str, str]]) -> float:
    whole, mine = Counter(r[part.column] for r in rows), Counter(r[part.column] for r in group)
    gap = {v: mine[v] / len(group) - whole[v] / len(rows) for v in whole}
    if part.distance == "equal":
        return sum(map(abs, gap.values())) / 2
    moved, total = 0.0, 0.0
    for value in sorted(gap, key=float)[:-1]:
        moved += gap[value]
        total += abs(moved)
    return total / max(len(gap) - 1, 1)


def tried(seed: int, folder: Path) -> bool:
    """Whether there was a release; it was recounted then."""
    g = random.Random(seed)
    count = g.randint(4, 60)
    quasi = [f"q{j}" for j in range(g.randint(1, 4))]
    trees = {q: levels(g, [f"{q}v{i}" for i in range(g.randint(1, 6))]) for q in quasi}
    data: dict[str, list[Any]] = {q: g.choices(list(trees[q].leaves), k=count) for q in quasi}
    data["s"] = g.choices(["w", "x", "y", "z"], [4, 3, 2, 1], k=count)
    data["v"] = g.choices([0, 1, 2, 5], k=count)
    asked = criterion(g)
    how = method(g)
    if isinstance(how, sf.SimulatableRecoding) and g.random() < 0.7:
        asked = asked & sf.KnownSearch("values" if asked.sensitive and g.random() < 0.5 else "places")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SfumatoWarning)
            release = sf.anonymize(
                sf.Table.from_arrow(pa.table(data)), asked, method=how, hierarchies=trees,
                quasi_identifiers=quasi,
            )  # fmt: skip
            path = sf.write(release.data, folder / f"{seed}.csv")
    except (ParameterError, DataError) as refused:
        assert any(words in refused.message for words in REFUSED), (seed, refused.message)
        return False
    with Path(path).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) + release.internal.extra["rows"]["left_out"] == count, seed
    assert not broken(asked, rows, quasi), (seed, type(how).__name__, broken(asked, rows, quasi))
    return bool(rows)


def test_the_recount_sees_what_is_broken() -> None:
    rows = [{"q": "a", "s": "x"}] * 3 + [{"q": "b", "s": "y"}, {"q": "b", "s": "x"}]
    for asked in (sf.KAnonymity(3), sf.LDiversity(2, "s"), sf.AlphaK(0.9, 1, "s"), sf.TCloseness(0.1, "s"),
                  sf.LDiversity(1.5, "s", "entropy"), sf.LDiversity(2, "s", "recursive", c=1.0)):  # fmt: skip
        assert broken(asked, rows, ["q"]) == asked.describe()
    assert not broken(sf.KAnonymity(2) & sf.TCloseness(0.3, "s"), rows, ["q"])


def test_random_configurations_recounted(tmp_path: Path) -> None:
    assert sum(tried(seed, tmp_path) for seed in range(30)) > 8


@pytest.mark.soak
@pytest.mark.parametrize("part", range(4))
def test_thousands_of_random_configurations_recounted(tmp_path: Path, part: int, monkeypatch) -> None:
    """Until 600 releases of each part were recounted: 2,400 in all. Half merge by few combinations."""
    if part % 2:
        monkeypatch.setattr("sfumato.anonymization.local.start.LEAST", 0)
        monkeypatch.setattr("sfumato.anonymization.local.start.BLOCK", 8)
        monkeypatch.setattr("sfumato.anonymization.local.recode.SECTION", 16)
    made, seed = 0, 10**6 * (part + 1)
    while made < 600:
        made += tried(seed, tmp_path)
        seed += 1
