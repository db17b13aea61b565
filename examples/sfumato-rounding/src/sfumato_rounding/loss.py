"""A measure of loss: not the mean over cells, but what the column that lost most has lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.anonymization.measure import Blind
from sfumato.anonymization.recoding import Recoding


@dataclass(frozen=True)
class WorstCell(Blind):
    """The largest share of a column's values that one released cell covers; a suppressed row covers all."""

    name = "worst cell"
    range = (0.0, 1.0)

    def score(self, recoding: Recoding) -> float:
        """max over cells of the loss of Sfumato's `Loss`."""
        worst = 0.0
        for j, hierarchy in enumerate(recoding.problem.hierarchies):
            nodes = np.where(recoding.suppressed, hierarchy.root, recoding.nodes[:, j])
            worst = max(worst, float(hierarchy.loss[nodes].max(initial=0.0)))
        return worst
