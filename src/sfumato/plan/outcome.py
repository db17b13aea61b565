"""What comes of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.plan.drift import Drift
from sfumato.plan.holdback import Split
from sfumato.plan.preparation import Prepared
from sfumato.privacy import Guarantee
from sfumato.release import Release

if TYPE_CHECKING:
    from sfumato.assessment.judgement import Assessment
    from sfumato.plan.aggregates import PublishedAggregates
    from sfumato.plan.tables import PublishedTables


@dataclass(frozen=True, eq=False)
class Run:
    """What came of a run.

    releases: the folder of each released step. draft: why it is a draft; empty if it is none.
    met: whether every limit was met. accepted: why it may leave although one was not, and who says so.
    refused: nothing was written because a limit was missed. split: who was held back, as its control.
    aggregates: what aggregates give away that are to be published beside it. tables: the same of tables, by
    step.
    unchanged: the release was there already. resumed: steps that an earlier run had finished.
    together: whose release the earlier one is, with which this one was attacked.
    whole: what releases that claim an epsilon promise together, where there are several.
    """

    out: Path
    releases: Mapping[str, Path] = field(default_factory=dict)
    draft: str = ""
    met: bool = True
    accepted: str = ""
    refused: bool = False
    unchanged: bool = False
    resumed: tuple[str, ...] = ()
    assessments: Mapping[str, Assessment] = field(default_factory=dict)
    aggregates: tuple[PublishedAggregates, ...] = ()
    tables: Mapping[str, PublishedTables] = field(default_factory=dict)
    drift: Drift | None = None
    reports: tuple[Path, ...] = ()
    prepared: Prepared | None = None
    split: Split | None = None
    notes: tuple[str, ...] = ()
    together: str = ""
    whole: Guarantee | None = None

    @property
    def published(self) -> tuple[PublishedAggregates | PublishedTables, ...]:
        """What is published beside rows, or in their place."""
        return (*self.aggregates, *self.tables.values())

    @property
    def passed(self) -> bool:
        """Whether its limits are met, or the plan says why they need not be."""
        return self.met or bool(self.accepted)

    def load(self, step: str | None = None) -> Release:
        """The release, or that of a named step."""
        return Release.load(self.releases[step or next(iter(self.releases))])
