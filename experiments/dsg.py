"""The thesis' experiments in shape (Katirai 2006, figures 19 to 26): Greedy and Partition, and the measures.

    python experiments/dsg.py [--quick] [--out DIR]

Figure 19: independent columns, Greedy against Partition by height. Figures 20 to 23: what a cost model errs
on real patients' released rows, with and without columns the model does not use. Figure 24: the same for 50
to 1000 rows. Figures 25 and 26: which measure wins, by plurality, by Copeland's rule and by total error. And
what the searches cost in time against n.

Data: diabetes130 (days in hospital) and MEPS (a year's cost) in the folder SFUMATO_DATA. Without it, and with
--quick, simulated members stand in. DxCG is replaced by a ridge regression learnt from other rows, and mutual
information is taken from these others too: what is scored are outcomes that guided nothing (but in the
search marked as leaking). Rows are drawn at random and the draw is repeated: differences have intervals.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from dsg_data import Data, adult, diabetes, independent, meps, simulated

import sfumato as sf
from sfumato.anonymization.degradation import LearningTarget, Model, learn
from sfumato.anonymization.measure import mean_cost
from sfumato.anonymization.problem import Problem, compress
from sfumato.anonymization.recoding import Recoding
from sfumato.criteria import KAnonymity
from sfumato.table import Table

K = 3  # the thesis' k
Record = dict[str, Any]


# -- one run ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Given:
    """A model that was learnt before, from other people, as a search takes it; it reads some columns only."""

    model: Model
    places: tuple[int, ...]

    def learn(self, problem: Problem, target: LearningTarget, rows: Any) -> Given:
        return self

    def predict(self, nodes: Any) -> Any:
        return self.model.predict(np.ascontiguousarray(nodes[:, self.places]))


def problem_of(data: Data, rows: pa.Table, columns: Sequence[str]) -> Problem:
    high = pa.array((rows[data.outcome].to_numpy() >= data.high).astype(int))
    table = Table.from_arrow(rows.select([*columns, data.outcome]).append_column("is high", high))
    return compress(table, columns, data.hierarchies, sensitive=(data.outcome, "is high"))


def errors(found: Recoding, data: Data, model: Given) -> Record:
    """Sums over rows of |prediction for the released row - the person's outcome|, and of its square.

    The thesis has the first. A model of the mean is only judged fairly by the second: of skewed costs the
    first is smallest for who predicts the median, so being told less can look like an improvement.
    """
    p = found.problem
    target = LearningTarget.of(p, data.outcome)
    assert target.value is not None
    predicted = model.predict(found.nodes)[:, 0]
    share = found.n / p.n[found.of]
    total = np.zeros(2)
    start = np.searchsorted(target.found.of, np.arange(p.combinations + 1))
    for i, t in enumerate(found.of):
        entries = slice(start[t], start[t + 1])
        apart = np.abs(predicted[i] - target.value[target.found.code[entries]])
        n = target.found.n[entries] * share[i]
        total += [float(apart @ n), float(apart**2 @ n)]
    return {"error": float(total[0]), "squared": float(total[1])}


@dataclass(frozen=True)
class Learnt:
    """A measure whose costs come from other people than those released: their outcomes do not guide it."""

    measure: Any
    costs: tuple[Any, ...]

    reads_outcome = False
    needs: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.measure, name)

    def cost(self, problem: Problem) -> tuple[Any, ...]:
        return self.costs[: len(problem.columns)]

    def score(self, recoding: Recoding) -> float:
        return mean_cost(recoding, self.cost(recoding.problem))


MEASURES = {
    "Vinterbo": sf.Height(),
    "Col-MI": sf.ColumnMI("is high"),
    "Value-MI": sf.ValueMI("is high", event=1),
}
ALGORITHMS: dict[str, Callable[[Any], Any]] = {
    "Greedy": lambda loss: sf.Greedy(loss=loss),
    "Greedy (literal)": lambda loss: sf.Greedy(loss=loss, closed=False),
    "Partition": lambda loss: sf.Partition(loss=loss),
    "Partition (printed)": lambda loss: sf.Partition(loss=loss, rule="printed"),
}


def real(data: Data, sizes: Sequence[int], repeats: int) -> list[Record]:
    """Figures 20 to 24: total error of each algorithm and measure, on rows the model did not learn from."""
    everyone = sf.Key.from_seed(7).generator(data.name).permutation(data.rows.num_rows)
    most = max(sizes) * repeats
    pool = data.rows.take(pa.array(everyone[most : most + 6_000]))
    taught = problem_of(data, pool, data.used)
    target = LearningTarget.of(taught, data.outcome)
    model = learn(taught, target, target.found.n)
    others = problem_of(data, pool, (*data.used, *data.extra))
    losses = {name: Learnt(measure, measure.cost(others)) for name, measure in MEASURES.items()}
    out: list[Record] = []
    for repeat in range(repeats):
        mine = everyone[repeat * max(sizes) : (repeat + 1) * max(sizes)]
        for rows in sizes:
            part = data.rows.take(pa.array(mine[:rows]))
            for extra in (False, True):
                columns = (*data.used, *(data.extra if extra else ()))
                p = problem_of(data, part, columns)
                given = Given(model, tuple(range(len(data.used))))
                base = {"data": data.name, "rows": rows, "extraneous": extra, "repeat": repeat}
                out.extend(base | found for found in released(p, data, given, losses))
    return out


def released(p: Problem, data: Data, given: Given, losses: Mapping[str, Learnt]) -> list[Record]:
    """What the model errs on the rows as they are, and as each search releases them."""
    runs = {(a, m): make(loss) for a, make in ALGORITHMS.items() for m, loss in losses.items()}
    runs["Model-guided", "prediction"] = sf.ModelGuided(data.outcome, given)
    runs["Model-guided (leaking)", "outcome"] = sf.ModelGuided(data.outcome, given, leaking=True)
    untouched = Recoding.whole(p, p.leaves, np.zeros(p.combinations, bool))
    out = [{"algorithm": "(not released)", "measure": ""} | errors(untouched, data, given)]
    for (algorithm, measure), search in runs.items():
        found = search.search(p, KAnonymity(K))
        out.append({"algorithm": algorithm, "measure": measure} | errors(found, data, given))
    return out


def figure_16(data: Data) -> list[Record]:
    """Figures 16 and 17: what each column tells of the high outcome, against the same column shuffled."""
    high = pa.array((data.rows[data.outcome].to_numpy() >= data.high).astype(int))
    columns = (*data.used, *data.extra)
    table = Table.from_arrow(data.rows.select(columns).append_column("is high", high))
    ratios = sf.prepare(table, list(columns), target="is high").ratios
    return [
        {"data": data.name, "column": c, "values": len(table.codebooks([c])[c].levels), "ratio": ratios[c],
         "used by the model": c in data.used, "kept": ratios[c] >= 2}
        for c in columns if c in ratios
    ]  # fmt: skip


def figure_19(repeats: int, rows: int = 100) -> list[Record]:
    out = []
    for repeat in range(repeats):
        p = independent(rows, repeat)
        for name, make in ALGORITHMS.items():
            found = make(sf.Height()).search(p, KAnonymity(K))
            out.append({"repeat": repeat, "algorithm": name, "height": sf.Height().score(found)})
    return out


def cost_of(p: Problem, sizes: Sequence[int]) -> list[Record]:
    """CPU seconds against the number of distinct combinations."""
    draw = sf.Key.from_seed(1).generator("cost").permutation(p.combinations)
    searches = {"Greedy": sf.Greedy(), "Greedy (literal)": sf.Greedy(closed=False), "Beam of 5": sf.Beam(),
                "Partition": sf.Partition(), "Partition (printed)": sf.Partition(rule="printed")}  # fmt: skip
    out = []
    for size in sizes:
        some = np.sort(draw[:size])
        part = Problem(p.columns, p.hierarchies, p.leaves[some], p.n[some])
        for name, search in searches.items():
            if size == min(sizes):
                search.search(part, KAnonymity(5))  # compiling is not what is measured
            start = time.process_time()
            found = search.search(part, KAnonymity(5))
            seconds = time.process_time() - start
            out.append({"combinations": len(some), "search": name, "seconds": seconds, "loss": found.loss()})
    return out


# -- what came out ---------------------------------------------------------------------------------


def interval(differences: Sequence[float]) -> str:
    """Mean and 95% interval (Student's t) of paired differences."""
    from scipy.stats import t

    d = np.asarray(differences, float)
    if len(d) < 2:
        return f"{d.mean():.3g}"
    half = float(t.ppf(0.975, len(d) - 1) * d.std(ddof=1) / np.sqrt(len(d)))
    return f"{d.mean():.3g} [{d.mean() - half:.3g}, {d.mean() + half:.3g}]"


def plurality(ballots: Sequence[Mapping[str, float]]) -> str:
    """The measure that is best most often ("majority" in the thesis); ties are named."""
    wins = dict.fromkeys(ballots[0], 0)
    for ballot in ballots:
        wins[min(ballot, key=lambda m: ballot[m])] += 1
    most = max(wins.values())
    return f"{', '.join(m for m in wins if wins[m] == most)} ({most}/{len(ballots)})"


def copeland(ballots: Sequence[Mapping[str, float]]) -> str:
    """The measure that wins most races of two ("Condorcet" in the thesis); a drawn race counts half."""
    names = list(ballots[0])
    points = dict.fromkeys(names, 0.0)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            ahead = sum(np.sign(ballot[b] - ballot[a]) for ballot in ballots)
            points[a] += 1.0 if ahead > 0 else 0.5 if ahead == 0 else 0.0
            points[b] += 1.0 if ahead < 0 else 0.5 if ahead == 0 else 0.0
    most = max(points.values())
    return ", ".join(m for m in names if points[m] == most)


def ballots_of(records: Sequence[Record], algorithm: str, least: int) -> list[dict[str, float]]:
    """One ballot per draw and size, as the thesis has one per size: the error of each measure."""
    found: dict[tuple[int, int], dict[str, float]] = {}
    for r in records:
        if r["algorithm"] == algorithm and r["rows"] >= least:
            found.setdefault((r["repeat"], r["rows"]), {})[r["measure"]] = r["error"]
    return list(found.values())


def votes(records: Sequence[Record]) -> list[Record]:
    """Figures 25 and 26."""
    out = []
    for data in dict.fromkeys(r["data"] for r in records):
        for extra in (False, True):
            mine = [r for r in records if r["data"] == data and r["extraneous"] == extra]
            for algorithm in ALGORITHMS:
                for least in (51, 0):
                    ballots = ballots_of(mine, algorithm, least)
                    if not ballots:
                        continue
                    totals = {m: sum(b[m] for b in ballots) for m in MEASURES}
                    best = min(totals.values())
                    off = ", ".join(
                        f"{m} +{100 * (x / best - 1):.2f}%" for m, x in totals.items() if x > best
                    )
                    out.append(
                        {
                            "data": data, "extraneous": extra, "algorithm": algorithm,
                            "with 50 rows": least == 0, "Copeland": copeland(ballots),
                            "plurality": plurality(ballots),
                            "total error": f"{min(totals, key=lambda m: totals[m])} ({off})",
                        }
                    )  # fmt: skip
    return out


def against(
    records: Sequence[Record], one: tuple[str, str], other: tuple[str, str], of: str = "error", **where: Any
) -> str:
    """Mean relative difference of two ways in percent, paired by draw, with its interval."""
    cells: dict[int, dict[tuple[str, str], float]] = {}
    for r in records:
        if all(r[k] == v for k, v in where.items()):
            cells.setdefault(r["repeat"], {})[r["algorithm"], r["measure"]] = r[of]
    return interval([100 * (c[one] / c[other] - 1) for c in cells.values()])


def verdicts(records: Sequence[Record], nineteen: Sequence[Record]) -> list[str]:
    """What the thesis says, and what was seen here; a difference counts where its interval leaves out 0."""
    heights: dict[int, dict[str, float]] = {}
    for r in nineteen:
        heights.setdefault(r["repeat"], {})[r["algorithm"]] = r["height"]
    lines = [
        "Means over draws with 95% intervals; one that holds 0 is no difference seen. Each algorithm stands "
        "with the measure that came out best for it, as in the thesis, which flatters all of them.",
        "",
    ]
    for greedy in ("Greedy (literal)", "Greedy"):
        for partition in ("Partition (printed)", "Partition"):
            d = [h[partition] - h[greedy] for h in heights.values()]
            lines.append(
                f"- Figure 19, independent columns: height, {partition} less {greedy}: {interval(d)}."
            )
    largest = max(r["rows"] for r in records)
    for data in dict.fromkeys(r["data"] for r in records):
        for extra in (False, True):
            where = {"data": data, "extraneous": extra, "rows": largest}
            shape = f"{data}, {largest} rows, {'with' if extra else 'without'} extraneous columns"
            best = {
                a: min(MEASURES, key=lambda m: sum(
                    r["error"] for r in records
                    if r["algorithm"] == a and r["measure"] == m and all(r[k] == v for k, v in where.items())
                )) for a in ALGORITHMS
            }  # fmt: skip
            for greedy, partition in (("Greedy (literal)", "Partition (printed)"), ("Greedy", "Partition")):
                gap = against(records, (partition, best[partition]), (greedy, best[greedy]), **where)
                lines.append(
                    f"- {shape}: error of {partition} ({best[partition]}) against {greedy} "
                    f"({best[greedy]}): {gap} %."
                )
            for way in (("Greedy", "Vinterbo"), ("Greedy", "Col-MI"), ("Model-guided", "prediction"),
                        ("Model-guided (leaking)", "outcome")):  # fmt: skip
                same = ("(not released)", "")
                first, second = (against(records, way, same, of, **where) for of in ("error", "squared"))
                lines.append(
                    f"- {shape}: {way[0]} ({way[1]}) against the rows as they were: absolute {first} %, "
                    f"squared {second} %."
                )
    return lines


def write(name: str, records: Sequence[Record], out: Path) -> None:
    with (out / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(records[0]))
        writer.writeheader()
        writer.writerows(records)


def as_markdown(records: Sequence[Record]) -> list[str]:
    names = list(records[0])
    rows = ["| " + " | ".join(str(r[n]) for n in names) + " |" for r in records]
    return ["| " + " | ".join(names) + " |", "|" + "---|" * len(names), *rows, ""]


def pictures(
    records: Sequence[Record], nineteen: Sequence[Record], cost: Sequence[Record], out: Path
) -> None:
    import altair as alt

    def values(rows: Sequence[Record]) -> Any:
        return alt.Data(values=list(rows))

    base = alt.Chart(values(nineteen)).mark_boxplot()
    base.encode(x="algorithm:N", y="height:Q").save(out / "figure_19.svg")
    per_row = [
        r | {"error per row": r["error"] / r["rows"], "way": f"{r['algorithm']} {r['measure']}"}
        for r in records
    ]
    line = alt.Chart(values(per_row)).mark_line(point=True).encode(
        x=alt.X("rows:Q", scale=alt.Scale(type="log")),
        y=alt.Y("mean(error per row):Q", scale=alt.Scale(zero=False)), color="way:N",
        row=alt.Row("data:N"), column=alt.Column("extraneous:N"),
    ).resolve_scale(y="independent")  # fmt: skip
    line.save(out / "figures_20_to_24.svg")
    alt.Chart(values(cost)).mark_line(point=True).encode(
        x=alt.X("combinations:Q", scale=alt.Scale(type="log")),
        y=alt.Y("seconds:Q", scale=alt.Scale(type="log")), color="search:N",
    ).save(out / "cost.svg")  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small, on simulated data: a few seconds")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "dsg")
    asked = parser.parse_args(arguments)
    folder = os.environ.get("SFUMATO_DATA", "")
    if asked.quick or not folder:
        sets, table = [simulated(1_200 if asked.quick else 12_000)], independent(3_000, 0)
    else:
        sets, table = [diabetes(Path(folder)), meps(Path(folder))], adult(Path(folder))
    sizes, repeats = ((50, 100), 2) if asked.quick else ((50, 100, 500, 1_000), 6)
    curve = [250, 500] if asked.quick else [250, 500, 1_000, 2_000, 5_000, 10_000, table.combinations]
    asked.out.mkdir(parents=True, exist_ok=True)
    nineteen = figure_19(3 if asked.quick else 30)
    records = [r for data in sets for r in real(data, sizes, repeats)]
    cost = cost_of(table, [c for c in curve if c <= table.combinations])
    for name, rows in (
        ("figure_16", [r for data in sets for r in figure_16(data)]),
        ("figure_19", nineteen),
        ("errors", records),
        ("votes", votes(records)),
        ("cost", cost),
    ):
        write(name, rows, asked.out)
    pictures(records, nineteen, cost, asked.out)
    rounded = [r | {"seconds": f"{r['seconds']:.3f}", "loss": f"{r['loss']:.4f}"} for r in cost]
    text = ["# The thesis' experiments in shape", "", *verdicts(records, nineteen), ""]
    text += ["## Which measure wins", "", *as_markdown(votes(records)), "## Cost", "", *as_markdown(rounded)]
    (asked.out / "dsg.md").write_text("\n".join(text), encoding="utf-8")
    print("\n".join(text))


if __name__ == "__main__":
    main()
