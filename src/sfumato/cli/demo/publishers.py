"""Steps of the demo for who publishes: many ways at once, on one map of risk and utility."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table as Grid

from sfumato.cli.demo.stage import Stage

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.hierarchy import Hierarchy
    from sfumato.plan.step import Step
    from sfumato.table import Table

MAP_COLUMNS = ("age", "sex", "pay", "mdc")
MAP_KNOWN = ("age", "sex", "pay")
_MOST = 1_500  # rows: enough to see it, and quick
_EPSILON = 2.0


def draw_map(stage: Stage) -> str:
    """Seven ways to publish the same four columns."""
    from sfumato.io import scan
    from sfumato.plan.map import frontier
    from sfumato.table import Table

    stage.code(
        "found = sf.frontier(table, methods=[sf.step(sf.OptimalRecoding(max_suppressed=0.02), k=5),\n"
        "                    sf.LocalRecoding(effort='fast'), ..., sf.PrivateSynthesizer(epsilon=2.0)])\n"
        "found.save('map.html')"
    )
    whole = scan(stage / "discharges.parquet", stage / "discharges.toml").select(MAP_COLUMNS)
    rows = whole.to_arrow()
    table = Table.from_arrow(rows.slice(0, min(_MOST, rows.num_rows // 2)), whole.schema)
    others = Table.from_arrow(rows.slice(rows.num_rows - table.rows()), whole.schema)
    stage.compiled()
    found = frontier(
        table,
        ways(),
        hierarchies=levels_of(table),
        quasi_identifiers=MAP_KNOWN,
        repeats=1,
        control=others,
        workers=1,
    )
    found.save(stage / "map.html")
    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for title in ("method", "risk", "pairs lost", "promises"):
        grid.add_column(title, justify="right" if title in ("risk", "pairs lost") else "left")
    for point in found.points:
        promised = "; ".join(point.promises) or "nothing"
        grid.add_row(point.label, f"{point.risk.value:.2f}", f"{point.utility.value:.2f}", promised)
    stage.show(grid, "")
    if found.notes:
        stage.mishaps.extend(found.notes)
    best = ", ".join(p.name for p in found.front)
    return (
        f"of {len(found.points)} ways, no other is better both in risk and in pairs of columns than: {best}"
    )


def disguise(stage: Stage) -> str:
    """The original with other names of columns and in capitals, and rows of other people."""
    import pyarrow as pa

    from sfumato.assessment.assess import assess
    from sfumato.io import scan
    from sfumato.seeds import Key

    stage.code(
        "copy = original.rename_columns(['v1', 'v2', ...])  # and every word in capitals\n"
        "sf.assess(original, copy, control=others, thresholds={'risk': 0.05}, scope='limits')"
    )
    rows = scan(stage / "discharges.parquet", stage / "discharges.toml").select(MAP_COLUMNS).to_arrow()
    size = min(_MOST, rows.num_rows // 3)
    original, control, others = (rows.slice(i * size, size) for i in range(3))
    names = [f"v{i}" for i in range(1, len(MAP_COLUMNS) + 1)]
    capitals = [_in_capitals(column) for column in original.columns]
    outcomes = []
    for title, released in (
        ("the original, renamed and in capitals", pa.table(capitals, names)),
        ("other people's rows", others),
    ):
        found = assess(
            original, released, control=control, thresholds={"copied rows": 0.05}, effort="quick",
            key=Key.from_seed(1), scope="limits",
        )  # fmt: skip
        outcomes.append(found.thresholds[0].outcome)
        stage.show(f"{title}: {found.thresholds[0].outcome}. {found.because}", "")
    return f"the disguised copy is {outcomes[0]}, rows of other people are {outcomes[1]}"


def _in_capitals(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    words = pa.types.is_string(column.type) or pa.types.is_dictionary(column.type)
    return pc.utf8_upper(pc.cast(column, pa.string())) if words else column


def ways() -> list[Step]:
    """The seven, each with one setting: methods as they are, and what is asked of them."""
    from sfumato.plan.step import Step

    few = 100  # rows that PeGS gets for the same epsilon
    return [
        Step("optimal", {"max_suppressed": 0.02, "k": 5}),
        Step("local", {"effort": "fast", "k": 5}),
        Step("resample", {"k": 5}),
        Step("pegs", {"epsilon": _EPSILON, "rows": few}),
        Step("pegs", {"epsilon": _EPSILON, "block": 10, "rows": few}),
        Step("lugs", {"log_l": 0.5}),
        Step("private", {"epsilon": _EPSILON}),
    ]


def levels_of(table: Table) -> dict[str, Hierarchy]:
    """Threes, then nines of what is known, as a person might draw them up."""
    from sfumato.hierarchy import Hierarchy

    return {
        name: Hierarchy.of_rows(
            [
                (str(v), f"{name} {i // 3}", f"{name} {i // 9}x", "*")
                for i, v in enumerate(book.levels.to_pylist())
            ]
        )
        for name, book in table.codebooks(MAP_KNOWN).items()
    }
