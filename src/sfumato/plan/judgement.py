"""A release is judged against the file as it was read: before the plan cut, dropped or recoded anything.

What it keeps is held against all that a reader of the original would miss, whichever step took it away.
What it gives away is tried twice where the plan cuts numbers off: by an intruder who looks for what they know
as it is, and by one who has seen where the release was cut, and cuts what they know as the plan did. The
worse of the two counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.anonymization.nested_columns import chain_of, meanings_of
from sfumato.hierarchy import Nested
from sfumato.methods.declaration import Does
from sfumato.plan.checks import hierarchies
from sfumato.plan.document import PlanDocument
from sfumato.plan.holdback import Split
from sfumato.plan.preparation import Prepared, as_prepared, cut_off, open_input
from sfumato.plan.step import Step
from sfumato.plan.steps import Workbench, result
from sfumato.plan.tables import is_tables
from sfumato.schema import Role
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.assessment.judgement import Assessment
    from sfumato.assessment.thresholds import Threshold
    from sfumato.release import Release
    from sfumato.score import Score

Meanings = dict[str, dict[str, list[Any]]]
_WORSE = ("met", "undecided", "not examined", "not met")
TWICE = (
    "Where the plan cuts numbers off, intruders were tried twice: with what they know as it is, and cut off "
    "as the release is. The worse of the two is shown."
)


def judged(
    bench: Workbench,
    split: Split,
    prepared: Prepared,
    earlier: Sequence[Any],
    known: Mapping[str, Assessment] = MappingProxyType({}),
) -> dict[str, Assessment]:
    """The assessment of each released step that gives rows. known: those made before."""
    if bench.plan.table("assess").get("skip"):
        return {}
    rows = [s for s in bench.plan.released if not is_tables(s)]
    if not rows:
        return {}
    case = _Case(bench, split.kept, prepared.table, _control(bench.plan, split), earlier)
    return {s.name: known.get(s.name) or case.assessment(s) for s in rows}


def _control(plan: PlanDocument, split: Split) -> Table | None:
    """People who are not in the release: held back, or in a file of their own."""
    if "control" in plan.table("assess"):
        return open_input(plan, str(plan.path(plan.table("assess")["control"]))).table
    return split.held


@dataclass(frozen=True, eq=False)
class _Case:
    """What all released steps of a run are judged by."""

    bench: Workbench
    read: Table
    prepared: Table
    control: Table | None
    earlier: Sequence[Any]

    def assessment(self, step: Step) -> Assessment:
        """The judgement of one step: against what was read; where that was cut off, against that too."""
        release = result(self.bench, step)
        first = self._assess(step, release, self.read)
        if not self._was_cut(release):
            return first
        plan, like = self.bench.plan, self.prepared
        others = None if self.control is None else as_prepared(plan, self.control, like)
        before = [(as_prepared(plan, e[0], like), e[1]) if isinstance(e, tuple) else e for e in self.earlier]
        knowing = replace(self, control=others, earlier=before)
        return worse_of(first, knowing._assess(step, release, like))

    def _was_cut(self, release: Release) -> bool:
        """Whether a released column has numbers beyond the plan's top or bottom."""
        entries = self.bench.plan.table("columns")
        ends = {n: e for n, e in entries.items() if {"top", "bottom"} & set(e) and n in release.schema}
        for batch in self.read.batches(list(ends)) if ends else ():
            for (_, entry), column in zip(ends.items(), batch.columns, strict=True):
                least, most = pc.min_max(column).as_py().values()
                if most is not None and (most > entry.get("top", most) or least < entry.get("bottom", least)):
                    return True
        return False

    def _assess(self, step: Step, release: Release, table: Table) -> Assessment:
        from sfumato.assessment.assess import assess

        plan = self.bench.plan
        wanted = plan.table("assess")
        return assess(
            table,
            release,
            control=self.control,
            target=_if_there(wanted.get("target"), table),
            weight=_if_there(wanted.get("weight"), table),
            population=wanted.get("population"),
            thresholds=plan.limits,
            hierarchies=meanings(plan, step, self.prepared, table),
            key=self.bench.place.key.derive("assessment"),
            effort=wanted.get("effort", "normal"),
            earlier=self.earlier,
        )


def _if_there(name: str | None, table: Table) -> str | None:
    return name if name in table.schema else None


def worse_of(first: Assessment, second: Assessment) -> Assessment:
    """The first, with what the second found worse of attacks and risks; utility is the first's alone."""
    theirs = {s.name: s for s in second.scores}
    scores = tuple(_worse_score(s, theirs.get(s.name)) for s in first.scores)
    limits = tuple(
        _worse_limit(mine, other, theirs.get(other.worst))
        for mine, other in zip(first.thresholds, second.thresholds, strict=True)
    )
    decides = second if limits != first.thresholds else first
    return replace(
        first,
        scores=scores,
        thresholds=limits,
        notes=(*first.notes, TWICE),
        because=decides.because,
        advice=decides.advice,
        people=decides.people,
    )


def _worse_limit(mine: Threshold, other: Threshold, score: Score | None) -> Threshold:
    """score: what decides about the other."""
    if score is not None and score.section == "utility":
        return mine
    if mine.outcome != other.outcome:
        return max(mine, other, key=lambda t: _WORSE.index(t.outcome))
    if score is None or mine.value is None or other.value is None:
        return mine
    worse = other.value > mine.value if score.better == "lower" else other.value < mine.value
    return other if worse else mine


def _worse_score(mine: Score, theirs: Score | None) -> Score:
    from sfumato.assessment.thresholds import excess

    if theirs is None or mine.section == "utility" or mine.better == "neither":
        return mine
    if mine.section == "attack" and mine.better == "lower":
        return theirs if excess(theirs) > excess(mine) else mine
    worse = theirs.value > mine.value if mine.better == "lower" else theirs.value < mine.value
    return theirs if worse else mine


def meanings(plan: PlanDocument, step: Step, prepared: Table, read: Table) -> Meanings | None:
    """What generalized values stand for, so that the assessment need not guess it from their spelling.

    The steps saw the prepared values; a value of the original that was cut off stands under the label of what
    it was cut to, unless the label says itself which numbers it holds.
    """
    chain = (*plan.before(step), step)
    if not any(s.declaration.does is Does.GENERALIZE for s in chain):
        return None
    found: Meanings = {}
    given = hierarchies(plan)
    for name in prepared.schema.of_role(Role.QUASI_IDENTIFIER):
        if name not in given or prepared.schema[name].edges is not None:
            continue
        levels = _levels(prepared, name)
        if not levels:
            continue
        if isinstance(given[name], Nested):
            nested = chain_of(prepared, name, given[name])
            values = {c: {str(v): v for v in _levels(prepared, c)} for c in nested.heights}
            for column, label, word in meanings_of(nested):
                found.setdefault(column, {}).setdefault(label, []).append(values[column][word])
            hierarchy = nested.hierarchy
        else:
            hierarchy = given[name].over(levels)
        place = {label: i for i, label in enumerate(hierarchy.labels[0])}
        cut = _cut_to(plan, name, read)
        for height in range(1, len(hierarchy.labels) - 1):
            for value in levels:
                label = hierarchy.labels[height][hierarchy.ancestors[height, place[str(value)]]]
                beyond = () if _says_numbers(label) else cut.get(value, ())
                found.setdefault(name, {}).setdefault(label, []).extend((value, *beyond))
    return found or None


def _levels(table: Table, name: str) -> list[Any]:
    """The values of a column as they stand in the data, not in bins."""
    schema = table.schema.select([name]).with_(name, edges=None, clamp=False)
    found: list[Any] = table.with_schema(schema).codebooks([name])[name].levels.to_pylist()
    return found


def _cut_to(plan: PlanDocument, name: str, read: Table) -> Mapping[Any, list[Any]]:
    """{what it was cut to: values of the original}, of values that no step has seen."""
    if not {"top", "bottom"} & set(plan.table("columns").get(name, {})) or name not in read.schema:
        return {}
    values = pa.table({name: read.codebooks([name])[name].levels})
    before = values[name].to_pylist()
    after = cut_off(plan, Table.from_arrow(values, read.schema.select([name]))).to_arrow()[name].to_pylist()
    out: dict[Any, list[Any]] = {}
    for old, new in zip(before, after, strict=True):
        if old != new:
            out.setdefault(new, []).append(old)
    return out


def _says_numbers(label: str) -> bool:
    from sfumato.assessment.reading.notation import spans

    return spans([label])[0] is not None
