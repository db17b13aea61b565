"""Steps of the demo for who publishes: many ways at once, on one map of risk and utility."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table as Grid

from sfumato.cli.demo.stage import Stage
from sfumato.cli.exit_codes import NOT_TRUSTED

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.hierarchy import Hierarchy
    from sfumato.plan.step import Step
    from sfumato.table import Table

MAP_COLUMNS = ("age", "sex", "pay", "mdc")
_PLAIN = ("age_years", "sex", "county")
MAP_KNOWN = ("age", "sex", "pay")
_MOST = 1_500  # rows: enough to see it, and quick
_EPSILON = 2.0
_PATIENTS = 450
_PERSONS = 200


def one_command(stage: Stage) -> str:
    """A file that nobody has described, and one command: roles and hierarchies are proposed, and said."""
    from sfumato.io import scan
    from sfumato.io.output import write
    from sfumato.release import Release

    rows = scan(stage / "discharges.parquet", stage / "discharges.toml").select(_PLAIN).to_arrow()
    write(rows.slice(0, _MOST), stage / "stays.csv")
    stage.compilation.wait()
    stage.command("anonymize", stage / "stays.csv", "--k", 5, "--quiet", "--out", stage / "draft", draft=True)
    record = Release.load(stage / "draft").internal
    assert record is not None
    lost = record.extra["explanation"]["columns"]
    worst = max(lost, key=lambda column: column["loss"])
    return f"a draft, and its plan beside it; '{worst['name']}' lost most ({worst['loss']:.2f} of 1)"


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
    stage.compilation.wait()
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


_LINKED_PLAN = """\
[database]
data = "hospital"

[pseudonyms]
shift_dates = 365

[assess]
control = "other-hospital"

[thresholds]
risk = 0.05
"""


def link_tables(stage: Stage) -> str:
    """Patients, stays and diagnoses: what a date shift leaves as it was."""
    import json

    import numpy as np

    from sfumato.io.output import write
    from sfumato.samples import hospital

    people = hospital(_PATIENTS)
    for folder, first in (("hospital", True), ("other-hospital", False)):
        (stage / folder).mkdir()
        part = people.only((np.arange(_PATIENTS) < _PATIENTS * 2 // 3) == first)
        for name, table in part.tables.items():
            write(table.to_arrow(), stage / folder / f"{name}.parquet")
    stage.command("describe", stage / "hospital")
    (stage / "linked.toml").write_text(_LINKED_PLAN, encoding="utf-8")
    stage.show(_LINKED_PLAN)
    stage.compilation.wait()
    stage.command("run", stage / "linked.toml", "--out", stage / "linked", "--quiet", expect=1)
    found = json.loads((stage / "linked" / "internal" / "report.json").read_text(encoding="utf-8"))
    gaps = next(s for s in found["scores"] if s["name"] == "linking by 2 gaps in days")
    return (
        f"every date of a patient moved alike in three tables, and two gaps between stays still find "
        f"{gaps['value']:.0%} of the patients ({gaps['control']:.0%} of patients who are not in it)"
    )


def research_network(stage: Stage) -> str:
    """An OMOP CDM is known by its standard, and leaves as one."""
    from sfumato.io.databases import scan_database
    from sfumato.io.output import write
    from sfumato.pseudonyms import pseudonymize
    from sfumato.samples import omop

    (stage / "cdm").mkdir()
    for name, table in omop(_PERSONS).tables.items():
        write(table.to_arrow(), stage / "cdm" / f"{name}.parquet")
    stage.command("describe", stage / "cdm")
    cdm = scan_database(stage / "cdm")
    pseudonymize(cdm, shift_dates=365, coarsen_dates="week").save(stage / "cdm-release")
    stage.command("verify", stage / "cdm-release", expect=NOT_TRUSTED)
    again = scan_database(stage / "cdm-release" / "public")
    return (
        f"{len(again.tables)} tables of {again.people.count} simulated persons, {len(again.links)} links: "
        "every key is another whole number, and every link still holds"
    )


def invent_people(stage: Stage) -> str:
    """Patients who never lived, with their stays and diagnoses."""
    import json

    stage.compilation.wait()
    stage.command("synthesize", stage / "hospital", "--method", "linked", "--out", stage / "invented", "-q")
    report = stage / "invented.json"
    stage.command(
        "assess", stage / "hospital", stage / "invented", "--control", stage / "other-hospital",
        "--report", report, "-q",
    )  # fmt: skip
    found = {s["name"]: s for s in json.loads(report.read_text(encoding="utf-8"))["scores"]}
    gaps, kept = found["linking by 2 gaps in days"], found["stays per row of patients"]
    return (
        f"two gaps between stays find {gaps['value']:.0%} of the patients ({gaps['control']:.0%} of patients "
        f"who are not in it); stays per patient differ by {kept['value']:.3f}"
    )


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
