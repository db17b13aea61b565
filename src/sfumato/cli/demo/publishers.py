"""Steps of the demo for who publishes: many ways at once, on one map of risk and utility."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table as Grid

from sfumato.cli.demo.stage import Stage

if TYPE_CHECKING:
    from sfumato.assessment.frontier.grid import Candidate
    from sfumato.seeds import Key
    from sfumato.table import Table

MAP_COLUMNS = ("age", "sex", "pay", "mdc")
_KNOWN = ("age", "sex", "pay")
_MOST = 1_500  # rows: enough to see it, and quick
_EPSILON = 2.0


def draw_map(stage: Stage) -> str:
    """Seven ways to publish the same four columns."""
    from sfumato.assessment.frontier import frontier
    from sfumato.io import scan
    from sfumato.table import Table

    stage.code(
        "found = sf.frontier(table, methods=[optimal, local, resample, pegs, pegs_rs, lugs, private])\n"
        "found.save('map.html')"
    )
    whole = scan(stage / "discharges.parquet", stage / "discharges.toml").select(MAP_COLUMNS)
    rows = whole.to_arrow()
    table = Table.from_arrow(rows.slice(0, min(_MOST, rows.num_rows // 2)), whole.schema)
    others = Table.from_arrow(rows.slice(rows.num_rows - table.rows()), whole.schema)
    stage.compiled()
    found = frontier(table, ways(table), repeats=1, control=others, workers=1)
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


def ways(table: Table) -> list[Candidate]:
    """The seven, each with one setting."""
    from sfumato.anonymization.anonymize import anonymize
    from sfumato.anonymization.local.recode import LocalRecoding
    from sfumato.anonymization.optimal import OptimalRecoding
    from sfumato.anonymization.shape.methods import ClusterResample
    from sfumato.assessment.frontier.grid import Candidate
    from sfumato.criteria import KAnonymity
    from sfumato.hierarchy import Hierarchy
    from sfumato.synthesis.lugs.method import LUGS
    from sfumato.synthesis.pegs import PeGS
    from sfumato.synthesis.private import PrivateSynthesizer
    from sfumato.synthesis.synthesize import synthesize

    books = table.codebooks(_KNOWN)
    levels = {
        name: Hierarchy.of_rows(
            [
                (str(v), f"{name} {i // 3}", f"{name} {i // 9}x", "*")
                for i, v in enumerate(book.levels.to_pylist())
            ]
        )
        for name, book in books.items()
    }

    def hidden(method: Any) -> Any:
        def make(data: Table, _: Key, **__: Any) -> Any:
            given = None if isinstance(method, ClusterResample) else levels
            return anonymize(data, KAnonymity(5), method=method, hierarchies=given, quasi_identifiers=_KNOWN)

        return make

    def drawn(method: Any, rows: int | None = None) -> Any:
        return lambda data, key, **_: synthesize(data, method, rows or data.rows(), key=key)

    few = 100  # rows that PeGS gets for the same epsilon
    return [
        Candidate("optimal", hidden(OptimalRecoding(max_suppressed=0.02)), {"k": 5}),
        Candidate("local", hidden(LocalRecoding(effort="fast")), {"k": 5}),
        Candidate("resample", hidden(ClusterResample()), {"k": 5}),
        Candidate("PeGS", drawn(PeGS(epsilon=_EPSILON), few), {"rows": few}),
        Candidate("PeGS.rs", drawn(PeGS(epsilon=_EPSILON, block=10), few), {"rows": few}),
        Candidate("LUGS", drawn(LUGS(log_l=0.5)), {"log l": 0.5}),
        Candidate("private", drawn(PrivateSynthesizer(epsilon=_EPSILON, delta=1e-9)), {"epsilon": _EPSILON}),
    ]
