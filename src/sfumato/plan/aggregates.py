"""Aggregates that are to be published beside the release: how close would an intruder come with LUDIA?

The one place where a method and the assessment meet: the assessment takes any reconstruction as data, and the
intruder here is LUDIA, who knows of everybody all that the input says but the column that is published.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.assessment.aggregates import AggregateRisk, assess_aggregates
from sfumato.errors import SfumatoWarning
from sfumato.plan.document import PlanDocument
from sfumato.plan.preparation import open_input
from sfumato.report import DataTable, Section
from sfumato.schema import Role
from sfumato.table import Table

_OPTIONS = ("tolerance", "max_risk", "fewest")
_APART = (Role.IDENTIFIER, Role.PERSON)


@dataclass(frozen=True)
class PublishedAggregates:
    """One set of aggregates and what it gives away. most: the share of groups that may need coarsening."""

    title: str
    risk: AggregateRisk
    most: float = 0.0

    @property
    def share(self) -> float:
        """The share of groups to be coarsened."""
        return float(self.risk.coarsen.num_rows / self.risk.groups.num_rows)

    @property
    def met(self) -> bool:
        """Whether no more groups than the plan allows are to be coarsened, and no small one follows from all
        levels."""
        return self.share <= self.most and (self.risk.stacked is None or self.risk.stacked.met)

    @property
    def sentence(self) -> str:
        """In numbers, without the names of groups."""
        why = self.risk.coarsen["why"].to_pylist()
        few = why.count("too few people")
        found = f"{self.title}: {len(why):,} of {self.risk.groups.num_rows:,} groups are to be coarsened"
        if why:
            found += f" ({few:,} with too few people, {len(why) - few:,} guessed too well)"
        found = f"{found}; at most {self.most:.0%} may be."
        stacked = self.risk.stacked
        if stacked is None or stacked.met:
            return found
        if stacked.found is None:
            return f"{found} What all levels tell together was not examined: there are too many groups."
        return f"{found} Together with the other levels, {stacked.found:,} small groups follow."


def judged_aggregates(plan: PlanDocument, table: Table) -> tuple[PublishedAggregates, ...]:
    """Every set of aggregates that the plan names, reconstructed and held against the truth."""
    wanted = plan.document.get("aggregates", ())
    if not wanted:
        return ()
    others = None
    if "control" in plan.table("assess"):
        path = str(plan.path(plan.table("assess")["control"]))
        others = open_input(plan, path).table
    return tuple(_judged(table, others, entry, _levels(wanted, entry)) for entry in wanted)


def _levels(wanted: Sequence[Mapping[str, Any]], entry: Mapping[str, Any]) -> list[list[str]]:
    """The other groups by which the same value is published."""
    return [list(e["by"]) for e in wanted if e is not entry and e["value"] == entry["value"]]


def _judged(
    table: Table, others: Table | None, given: Mapping[str, Any], levels: Sequence[Sequence[str]]
) -> PublishedAggregates:
    from sfumato.reconstruction.aggregate import Aggregates
    from sfumato.reconstruction.ludia import LUDIA

    by, value, statistic = list(given["by"]), str(given["value"]), given.get("statistic", "mean")
    grouped = {name for level in (by, *levels) for name in level}
    apart = [c.name for c in table.schema if c.role in _APART and c.name not in {*grouped, value}]
    table = table.drop(apart) if apart else table
    natural = statistic == "mean_log"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)  # groups of one: they are among what is reported
        published = Aggregates.compute(table, by, {value: statistic})
        intruder = LUDIA(seed=0, shrinkage=1.0).fit(table.drop([value]), published)
        made = intruder.reconstruct(natural=natural).data
        control = None
        if others is not None:
            people = others.select(table.columns)
            control = (people, intruder.reconstruct(people, natural=natural).data)
        options = {name: given[name] for name in _OPTIONS if name in given}
        risk = assess_aggregates(table, made, by=by, value=value, control=control, levels=levels, **options)
    title = f"{statistic.replace('_', ' of ')} of {value} by {', '.join(by)}"
    return PublishedAggregates(title, risk, float(given.get("most", 0.0)))


def aggregates_section(found: tuple[PublishedAggregates, ...]) -> Section:
    """For the report: which groups to join with others before their aggregates leave."""
    blocks = []
    for one in found:
        rows = [
            (" / ".join(str(row[c]) for c in one.risk.by), row["people"], f"{row['success']:.0%}",
             f"{row['group_mean']:.0%}", "" if row["control"] is None else f"{row['control']:.0%}",
             row["why"])
            for row in one.risk.coarsen.to_pylist()
        ]  # fmt: skip
        head = ("group", "people", "guessed", "by the mean", "people outside", "why")
        if rows:
            title, many = f"To be coarsened: {one.title}", len(rows) > 30
            blocks.append(DataTable(head, rows, title, folded=many, words=(2, 3, 4, 5)))
    words = [
        "An intruder who knows everything else about people reconstructs the value from the aggregates, by "
        "LUDIA. Groups that give away more than a plain guess and people outside are to be joined with "
        "others.",
        *(one.sentence for one in found),
    ]
    return Section("Aggregates to be published", words, blocks)
