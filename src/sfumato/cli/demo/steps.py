"""The steps of the demo. A new part of Sfumato adds a function and a line in STEPS."""

from __future__ import annotations

import time
from itertools import combinations

from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from sfumato.cli.demo.analysts import keep_shape, new_market
from sfumato.cli.demo.builders import score
from sfumato.cli.demo.publishers import (
    disguise,
    draw_map,
    invent_people,
    link_tables,
    one_command,
    research_network,
)
from sfumato.cli.demo.service import serve
from sfumato.cli.demo.stage import DemoStep, Stage
from sfumato.cli.demo.tables import publish_tables
from sfumato.cli.exit_codes import NOT_TRUSTED


def simulate(stage: Stage) -> str:
    """Data to play with."""
    stage.command(
        "sample", "discharges", stage.rows, "--seed", 1, "--out", stage / "discharges.csv",
        "--schema", stage / "discharges.toml",
    )  # fmt: skip
    return f"{stage.rows:,} hospital discharges, no real person among them"


def describe(stage: Stage) -> str:
    """What the data gives away."""
    from sfumato.description import describe as look
    from sfumato.description.display import percent
    from sfumato.io import scan

    stage.command("describe", stage / "discharges.csv", "--schema", stage / "discharges.toml")
    found = look(scan(stage / "discharges.csv", stage / "discharges.toml"))
    if found.together is None or found.together.pair is None:
        return "no quasi-identifiers"
    pair, names = found.together.pair, found.together.columns
    return (
        f"{' and '.join(pair.columns)} alone single out {percent(pair.unique)} of the rows, "
        f"all {len(names)} quasi-identifiers {percent(found.together.unique)}"
    )


def guess_schema(stage: Stage) -> str:
    """A schema proposed from the data, and checked."""
    from sfumato.schema import Schema

    stage.command("schema", "update", stage / "guessed.toml", stage / "discharges.csv", "--quiet")
    stage.command("schema", "check", stage / "guessed.toml", stage / "discharges.csv")
    guessed = Schema.read(stage / "guessed.toml")
    read_off = sum(c.origin == "read off the data" for c in guessed)
    return f"{len(guessed)} columns proposed, {read_off} domains read off the data: no epsilon rests on them"


def find_domain(stage: Stage) -> str:
    """Levels that nobody has a list of, found with a part of the budget."""
    from sfumato.schema import Schema

    stage.command("schema", "find", stage / "guessed.toml", stage / "discharges.csv", "-c", "dx")
    levels = Schema.read(stage / "guessed.toml")["dx"].levels or ()
    return f"{len(levels) - 1} common diagnoses, found with epsilon 0.5; rarer ones are read as 'other'"


def convert(stage: Stage) -> str:
    """Into a format that is quick to read."""
    stage.command(
        "convert",
        stage / "discharges.csv",
        stage / "discharges.parquet",
        "--schema",
        stage / "discharges.toml",
    )
    csv, parquet = ((stage / f"discharges.{s}").stat().st_size / 1e6 for s in ("csv", "parquet"))
    return f"{csv:.1f} MB of CSV are {parquet:.1f} MB of Parquet"


def count(stage: Stage) -> str:
    """All pairs at once."""
    from sfumato.io import scan
    from sfumato.samples import DISCHARGE_VARIABLES

    stage.code(
        'table = sf.scan("discharges.parquet", "discharges.toml")\n'
        "pairs = itertools.combinations(sf.samples.DISCHARGE_VARIABLES, 2)\n"
        "counts = table.tabulate(pairs)"
    )
    table = scan(stage / "discharges.parquet", stage / "discharges.toml")
    pairs = list(combinations(DISCHARGE_VARIABLES, 2))
    table.tabulate(pairs)  # the first call also compiles the kernels
    stage.compilation.start()
    start = time.perf_counter()
    counted = table.tabulate(pairs)
    seconds = time.perf_counter() - start
    if any(c.total != stage.rows for c in counted.values()):
        stage.mishaps.append("a table of counts does not add up to the rows")
    cells = sum(c.cells for c in counted.values())
    result = (
        f"{len(pairs)} tables with {cells:,} cells in {seconds:.2f} s, each adds up to {stage.rows:,} rows"
    )
    stage.show(Text(f"{result}.", "green"), "")
    stage.command("counts", stage / "discharges.parquet", "sex", "pay", "--limit", 5)
    return result


def spend(stage: Stage) -> str:
    """A private count, paid from a budget."""
    from sfumato.errors import BudgetError
    from sfumato.io import scan
    from sfumato.privacy import Budget, Ledger
    from sfumato.privacy.noise import laplace

    stage.code(
        'ledger = sf.Ledger.open("study.ledger", Budget(epsilon=1.0))\n'
        'grant = ledger.grant(epsilon=0.5, purpose="discharges by sex")\n'
        'noisy = laplace(table.counts("sex").dense(), 1, grant)'
    )
    table = scan(stage / "discharges.parquet", stage / "discharges.toml")
    table.schema.require_public(["sex"])
    counted = table.counts("sex")
    ledger = Ledger.open(stage / "study.ledger", Budget(epsilon=1.0))
    grant = ledger.grant(epsilon=0.5, purpose="discharges by sex")
    noisy = laplace(counted.dense(), 1, grant)
    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for name in ("sex", "true, stays inside", "noisy, may leave"):
        grid.add_column(name, justify="left" if name == "sex" else "right")
    levels = [*map(str, counted.codebooks[0].levels.to_pylist()), *["missing"] * counted.codebooks[0].missing]
    for level, true, shown in zip(levels, counted.dense().tolist(), noisy.values.tolist(), strict=True):
        grid.add_row(level, f"{true:,}", f"{shown:,}")
    stage.show(grid, Padding(Text(grant.claim("The levels of sex are public.").text()), (1, 0, 1, 2)))
    stage.command("ledger", "show", stage / "study.ledger")
    try:
        ledger.grant(epsilon=0.6, purpose="too much")
        stage.mishaps.append("the ledger granted more than its budget")
    except BudgetError as refusal:
        stage.show("", Text("Asked for another 0.6, the ledger answers:"), Text(refusal.message, "yellow"))
    return f"a count by sex with epsilon 0.5 (sd of the noise {noisy.sigma:.1f}); {ledger.left:g} left"


def anonymize(stage: Stage) -> str:
    """A release in which everyone hides among others."""
    import json

    from sfumato.hierarchy import write_levels
    from sfumato.hierarchy.builders import Intervals
    from sfumato.hierarchy.levels import Hierarchy
    from sfumato.io import scan
    from sfumato.release import Release

    columns = ("age_years", "sex", "county")
    table = scan(stage / "discharges.parquet", stage / "discharges.toml")
    levels = {c: table.counts(c).codebooks[0].levels.to_pylist() for c in columns[1:]}
    made = {
        "age_years": Intervals((5, 10, 20)).over(list(range(121))),
        "sex": Hierarchy.of_rows([[v, "*"] for v in levels["sex"]]),
        "county": Hierarchy.of_rows([[v, "A to D" if v < "E" else "E to Z", "*"] for v in levels["county"]]),
    }
    (stage / "hierarchies").mkdir()
    for name, hierarchy in made.items():
        (stage / "hierarchies" / f"{name}.csv").write_text(write_levels(hierarchy), encoding="utf-8")
    stage.command(
        "anonymize", stage / "discharges.parquet", "--schema", stage / "discharges.toml",
        "--hierarchies", stage / "hierarchies", "--quasi-identifiers", ",".join(columns), "--k", 5,
        "--l", "mdc=3", "--max-suppressed", "0.02", "--quiet", "--out", stage / "anonymous",
    )  # fmt: skip
    stage.command("verify", stage / "anonymous", expect=NOT_TRUSTED)
    release = Release.load(stage / "anonymous")
    assert release.internal is not None
    found = json.loads(json.dumps(release.internal.extra))
    claims = ", ".join(c.title for c in release.guarantee)
    return (
        f"{claims}; the best of {found['search']['nodes']} combinations of levels, "
        f"{found['search']['suppressed']} of {found['rows']['read']:,} rows withheld"
    )


def pseudonymize(stage: Stage) -> str:
    """A release."""
    stage.command(
        "pseudonymize", stage / "discharges.parquet", "--schema", stage / "discharges.toml",
        "--shift-dates", 30, "--out", stage / "release",
    )  # fmt: skip
    return "names out, keyed pseudonyms in, dates moved per person; the key stays in internal/"


def verify(stage: Stage) -> str:
    """Signed by a person, checked by a stranger who knows the person's key."""
    stage.command("trust", "key", stage / "officer.key")
    stage.command(
        "sign", stage / "release", "--key", stage / "officer.key", "--name", "The officer of the demo"
    )
    stage.command("verify", stage / "release" / "public", "--trusted", stage / "officer.pub")
    return "public/ alone shows who signed it, and that nothing was changed since"


def synthesize(stage: Stage) -> str:
    """Invented rows."""
    common = (
        "synthesize", stage / "discharges.parquet", "--schema", stage / "discharges.toml", "--epsilon", 2,
        "--columns", "sex,age,mdc,charge",
    )  # fmt: skip
    stage.command(*common, "--method", "pegs", "--rows", 100, "--out", stage / "pegs", "--quiet")
    ledger = stage / "discharges.ledger"
    name = ("--data-set", "Simulated discharges", "--persons")
    stage.command("ledger", "new", ledger, *name, "--epsilon", 3, "--quiet")
    private = ("--method", "private", "--delta", 0, "--rows", stage.rows, "--ledger", ledger)
    stage.command(*common, *private, "--out", stage / "synthetic")
    stage.command("ledger", "check", ledger, "--against", stage / "synthetic")
    return (
        f"{stage.rows:,} rows for epsilon 2, noise drawn once, any number more for nothing; PeGS pays for "
        "every row, and gets 100 for the same: mostly noise. The ledger has the line that paid for the first"
    )


def assess(stage: Stage) -> str:
    """What the release gives away, held against people who are not in it."""
    import json

    stage.command(
        "sample", "discharges", stage.rows, "--seed", 2, "--out", stage / "others.parquet", "--quiet"
    )
    columns = "age_years,sex,county,los_days"
    stage.command(
        "assess", stage / "discharges.parquet", stage / "release", "--schema", stage / "discharges.toml",
        "--control", stage / "others.parquet", "--quasi-identifiers", columns, "--sensitive", "mdc",
        "--effort", "quick", "--max-risk", "0.05", "--report", stage / "report.html",
        "--report", stage / "report.json", "--quiet", expect=1,
    )  # fmt: skip
    found = json.loads((stage / "report.json").read_text(encoding="utf-8"))
    linked = next(s for s in found["scores"] if s["name"] == "linking, claimed")
    return (
        f"an intruder who knows {columns} would claim to have found {linked['value']:.0%} of the people in "
        f"it, and {linked['control']:.0%} of people who are not: pseudonyms alone hide little"
    )


def reconstruct(stage: Stage) -> str:
    """What hospital averages say about people."""
    import numpy as np

    from sfumato.io import scan, write
    from sfumato.reconstruction.aggregate import Aggregates

    known = ["age_years", "sex", "sev", "typ", "hospital"]
    table = scan(stage / "discharges.parquet", stage / "discharges.toml").select([*known, "charge_usd"])
    published = Aggregates.compute(table, "hospital", "charge_usd")
    level = published.levels[0]
    write(level.keys.append_column("charge_usd", [level.published[:, 0]]), stage / "averages.csv")
    write(table.drop(["charge_usd"]), stage / "people.parquet")
    stage.command(
        "reconstruct", stage / "people.parquet", stage / "averages.csv", "--by", "hospital",
        "--value", "charge_usd", "--out", stage / "reconstructed.parquet",
    )  # fmt: skip
    truth = np.concatenate([b.column(0).to_numpy() for b in table.batches(["charge_usd"])])
    made = scan(stage / "reconstructed.parquet", columns=["charge_usd"]).to_arrow()["charge_usd"].to_numpy()
    gap = abs(float(made.mean() - truth.mean())) / float(truth.mean())
    if gap > 1e-9:
        stage.mishaps.append("the reconstruction does not meet the averages")
    return (
        f"the averages of {len(level)} hospitals, met exactly, put a charge within "
        f"{np.median(np.abs(made - truth) / np.maximum(truth, 1)):.0%} of the truth for half of the people"
    )


def alter(stage: Stage) -> str:
    """One cell changed by hand."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = stage / "release" / "public" / "data.parquet"
    table = pq.read_table(data)
    place = table.column_names.index("sex")
    cells = table.column(place).to_pylist()
    cells[0] = next(c for c in cells if c not in (None, cells[0]))
    pq.write_table(table.set_column(place, "sex", pa.array(cells, table.column(place).type)), data)
    stage.show(Text("Someone changes the sex in the first row of release/public/data.parquet.", "yellow"))
    stage.command("verify", stage / "release", "--trusted", stage / "officer.pub", expect=1)
    return "one altered cell, and verify says no"


STEPS = (
    DemoStep("Simulate", "Something to try things on, shaped like hospital discharges.", simulate),
    DemoStep("Describe", "Before data is shared: what is in it, and who could be found by what?", describe),
    DemoStep(
        "Propose a schema", "What columns mean is written down once, and checked ever after.", guess_schema
    ),
    DemoStep("Find a domain", "Which codes there are may itself give someone away.", find_domain),
    DemoStep("Convert", "Any format in, any format out.", convert),
    DemoStep("Count", "All that disclosure control needs of the data is counts, so they are quick.", count),
    DemoStep(
        "Spend a budget", "A number that hides whether any one row is there, and a record of it.", spend
    ),
    DemoStep(
        "Release with pseudonyms",
        "The first step before data is used, with a guarantee that says its limits.",
        pseudonymize,
    ),
    DemoStep(
        "Sign and verify",
        "Whoever gets a release can tell who signed it, and recount what it promises.",
        verify,
    ),
    DemoStep("One command", "A file that nobody has described, from CSV to a draft.", one_command),
    DemoStep("Anonymize", "A file for others: everyone in it hides among others, with proof.", anonymize),
    DemoStep(
        "Publish tables",
        "Most of what is published are tables: what is left out of them can be reckoned back.",
        publish_tables,
    ),
    DemoStep(
        "Keep the shape",
        "Generalizing squeezes data; exchanging values among the alike does not.",
        keep_shape,
    ),
    DemoStep("Use it elsewhere", "What will people cost where nobody was asked yet?", new_market),
    DemoStep(
        "Synthesize",
        "Rows that are nobody's, drawn from counts with enough noise for a promise.",
        synthesize,
    ),
    DemoStep("Assess", "A promise is not a proof: what does the release keep, and give away?", assess),
    DemoStep("See through a disguise", "Other names and capitals make no other people.", disguise),
    DemoStep(
        "Link tables",
        "What identifies people is their sequence, and it runs through all tables.",
        link_tables,
    ),
    DemoStep(
        "Take an OMOP CDM",
        "What research networks keep is a standard: nothing is guessed, and it leaves as it came.",
        research_network,
    ),
    DemoStep(
        "Invent people",
        "Patients with their stays and diagnoses, in an order that makes sense, and none of them lived.",
        invent_people,
    ),
    DemoStep(
        "Reconstruct",
        "Averages are published everywhere. What do they say about the people behind them?",
        reconstruct,
    ),
    DemoStep("Score by API", "A model learnt from people, whose answers cannot be turned on them.", score),
    DemoStep("Draw the map", "Which way to publish? Risk against utility, for seven of them.", draw_map),
    DemoStep("Serve", "Ask a model by HTTP, as an app would; the answer costs no further privacy.", serve),
    DemoStep("Verify an altered copy", "A release that was touched does not pass.", alter),
)
