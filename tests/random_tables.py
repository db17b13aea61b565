"""Small random tables with hierarchies, criteria and methods, for properties."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria import ANYTHING, Criterion
from sfumato.hierarchy import Hierarchy


@st.composite
def hierarchies(draw: st.DrawFn, values: list[str]) -> Hierarchy:
    """Random levels over the values, each a merging of the one below."""
    columns = [list(values)]
    for level in range(draw(st.integers(0, 2))):
        groups = sorted(set(columns[-1]))
        names = {g: f"L{level}.{draw(st.integers(0, max(0, len(groups) - 2)))}" for g in groups}
        columns.append([names[g] for g in columns[-1]])
    columns.append(["*"] * len(values))
    return Hierarchy.of_rows([list(row) for row in zip(*columns, strict=True)])


@st.composite
def problems(draw: st.DrawFn, *, missing: bool = True) -> tuple[sf.Table, dict[str, Hierarchy]]:
    """A table of one to three quasi-identifiers, a sensitive column, and some other."""
    rows = draw(st.integers(1, 24))
    data: dict[str, Any] = {}
    found = {}
    for j in range(draw(st.integers(1, 3))):
        values = [f"{'abc'[j]}{i}" for i in range(draw(st.integers(1, 4)))]
        found[f"q{j}"] = draw(hierarchies(values))
        cells = st.sampled_from([*values, *([None] if missing else [])])
        data[f"q{j}"] = draw(st.lists(cells, min_size=rows, max_size=rows))
    data["s"] = draw(st.lists(st.sampled_from(["x", "y", "z"]), min_size=rows, max_size=rows))
    data["v"] = draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
    texts = {
        name: pa.array(cells, pa.string() if name != "v" else pa.int64()) for name, cells in data.items()
    }
    return sf.Table.from_arrow(pa.table(texts)), found


def criteria() -> st.SearchStrategy[Criterion]:
    """One criterion, or two at once."""
    single = st.one_of(
        st.integers(1, 5).map(sf.KAnonymity),
        st.integers(1, 4).map(lambda k: sf.KAnonymity(k, missing=ANYTHING)),
        st.integers(1, 3).map(lambda n: sf.LDiversity(n, "s")),
        st.sampled_from([1.5, 2.0, 2.5]).map(lambda n: sf.LDiversity(n, "s", "entropy")),
        st.integers(1, 2).map(lambda n: sf.LDiversity(n, "s", "recursive", c=2.0)),
        st.sampled_from([0.1, 0.3, 0.6]).map(lambda t: sf.TCloseness(t, "s")),
        st.sampled_from([0.1, 0.4]).map(lambda t: sf.TCloseness(t, "v", "ordered")),
        st.sampled_from([0.5, 0.8]).map(lambda a: sf.AlphaK(a, 2, "s")),
        st.sampled_from([0.2, 0.7]).map(lambda f: sf.JAnonymity(3, 0.1, f)),
    )
    return st.one_of(single, st.tuples(single, single).map(lambda two: two[0] & two[1]))


def methods() -> st.SearchStrategy[Any]:
    """Every search there is."""
    return st.one_of(
        st.builds(
            sf.OptimalRecoding,
            loss=st.sampled_from(["loss", "entropy", "discernibility", "class-size", "ambiguity"]),
            max_suppressed=st.sampled_from([0.0, 0.2, 1.0]),
        ),
        st.builds(sf.Datafly, max_suppressed=st.sampled_from([None, 0.0, 0.3])),
        st.builds(sf.Mondrian, st.sampled_from(["strict", "relaxed"]), max_suppressed=st.just(1.0)),
        st.sampled_from([sf.Greedy(), sf.Greedy(loss=sf.ValueMI("s")), sf.Partition()]),
    )
