"""Steps of the demo for those who work on with released data: keeping the shape, and what it is good for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from rich.table import Table as Grid

from sfumato.cli.demo.stage import Stage

if TYPE_CHECKING:
    from sfumato.schema import Schema
    from sfumato.table import Table

_KNOWN = ("sex", "age", "education", "income")
_K = 50
_MOST = 5_000  # rows: enough to see it, and quick


def keep_shape(stage: Stage) -> str:
    """The same clusters, released by their middle and by exchange."""
    from sfumato.io import write
    from sfumato.samples import members

    people = members(min(stage.rows, _MOST), seed=1).select([*_KNOWN, "cost"])
    write(people, stage / "members.parquet")
    for method in ("centroid", "resample"):
        stage.command(
            "anonymize", stage / "members.parquet", "--method", method, "--response", "cost", "--k", _K,
            "--quiet", "--out", stage / method,
        )  # fmt: skip

    original = _law(people)
    kept = {
        method: float(np.minimum(original, _law(_released(stage, method, people.schema))).sum())
        for method in ("centroid", "resample")
    }
    if kept["resample"] < kept["centroid"]:
        stage.mishaps.append("exchange kept less of the shape than centroids")
    return (
        f"middles of clusters of {_K} keep {kept['centroid']:.0%} of the joint law of {', '.join(_KNOWN)}, "
        f"values exchanged within the same clusters {kept['resample']:.0%}, and nobody is found above 1/{_K}"
    )


def _released(stage: Stage, name: str, schema: Schema) -> Table:
    """A release in the terms of the members: a mean age is a whole one again, in the same groups."""
    from sfumato.release import Release
    from sfumato.table import Table

    data = Release.load(stage / name).data.to_arrow().select(list(schema.names))
    place = data.column_names.index("age")
    age = pc.round(data.column(place).cast(pa.float64())).cast(pa.int64())
    return Table.from_arrow(data.set_column(place, "age", age), schema)


def _law(table: Table) -> NDArray[np.float64]:
    counts = table.counts(*_KNOWN).dense().astype(np.float64)
    shares: NDArray[np.float64] = counts / counts.sum()
    return shares


def new_market(stage: Stage) -> str:
    """A model for other people, learnt on each of the releases."""
    from sfumato.samples import members
    from sfumato.table import Table
    from sfumato.workloads.market import market_risk

    stage.code(
        "risk = sf.market_risk(\n"
        '    plan, existing, new, columns=["sex", "age", "education", "income"], cost="cost", actual=new\n'
        ")"
    )
    rows = min(stage.rows, _MOST)
    existing, others = (members(rows, seed=s).select([*_KNOWN, "cost"]) for s in (2, 3))
    data = others.to_arrow()
    older = data.filter(pc.greater_equal(data["age"], 48))
    new = Table.from_arrow(older, others.schema)
    plans = {
        "the members themselves": members(rows, seed=1).select([*_KNOWN, "cost"]),
        "exchanged": _released(stage, "resample", others.schema),
        "middles": _released(stage, "centroid", others.schema),
    }
    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for title in ("learnt on", "expected cost", "bias", "like the new members"):
        grid.add_column(title, justify="left" if title == "learnt on" else "right")
    found = {}
    for title, plan in plans.items():
        risk = market_risk(plan, existing, new, columns=_KNOWN, cost="cost", actual=new, repeats=0)
        assert risk.relative_bias is not None and risk.similarity is not None
        grid.add_row(title, f"{risk.expected:,.0f}", f"{risk.relative_bias:+.0f}%", f"{risk.similarity:.0%}")
        found[title] = risk.similarity
    stage.show(grid, "")
    if found["exchanged"] < found["middles"]:
        stage.mishaps.append("what was exchanged stands less for the new members than middles of clusters")
    return (
        "weighted to stand for people of 48 and older, the exchanged rows are "
        f"{found['exchanged']:.0%} like them, the middles {found['middles']:.0%}"
    )
