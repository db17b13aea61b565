"""The demo's step about tables: small counts that are left out come back, and what helps."""

from __future__ import annotations

from sfumato.cli.demo.stage import Stage

_TABLE = "county,age,sex"
_SMALL = 5


def publish_tables(stage: Stage) -> str:
    """A table with totals: small counts are left out, reckoned back, and then rounded instead."""
    import numpy as np

    from sfumato.cells.arithmetic import recovered
    from sfumato.cells.layout import read_layouts
    from sfumato.cells.publication import Published
    from sfumato.io import scan
    from sfumato.release import Release
    from sfumato.tabulation.contents import count

    data, schema = stage / "discharges.parquet", stage / "discharges.toml"
    columns = tuple(_TABLE.split(","))
    cells = count(scan(data, schema), read_layouts(_TABLE), columns)
    small = (cells.rows > 0) & (cells.rows < _SMALL)
    values = cells.rows.astype(np.float64)
    told = recovered(Published.of_values(cells.relations, values, small, least=1.0))
    back = 0 if told is None else int(told.sum())
    stage.show(
        f"Of {len(values):,} counts by {', '.join(columns)}, with their totals, {int(small.sum())} are of 1 "
        f"to {_SMALL - 1} people. Left out, {back} of them come back: totals less what is shown.",
        "",
    )
    stage.command(
        "tabulate", data, "--schema", schema, "--by", _TABLE, "--method", "round", "--base", _SMALL,
        "--out", stage / "tables",
    )  # fmt: skip
    record = Release.load(stage / "tables").internal
    assert record is not None
    found = record.extra["rounding"]
    if any(n % _SMALL for n in Release.load(stage / "tables").data.to_arrow()["count"].to_pylist()):
        stage.mishaps.append("a rounded count is no multiple of its base")
    return (
        f"{back} of {int(small.sum())} small counts that were only left out came back; rounded so that all "
        f"totals add up, counts are off by {found['mean']:.1f} on average (withholding with proof needs "
        "the extra 'tables')"
    )
