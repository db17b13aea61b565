"""Utility: what a release keeps of its original.

Start with `tables` (one-, two- and three-way tables), then `associations`, `models` (the same regression on
both files) and `learners` (train on the release, test on people). Each takes a `Pair` and gives scores.

It knows no intruder, and nothing of risk.
"""

from sfumato.assessment.utility.learners import propensity, train_on_released
from sfumato.assessment.utility.models import mixing, regression
from sfumato.assessment.utility.tables import (
    column_scores,
    distances,
    frequency_ranks,
    marginals,
    missing_rates,
    utility,
)

__all__ = [
    "column_scores",
    "distances",
    "frequency_ranks",
    "marginals",
    "missing_rates",
    "mixing",
    "propensity",
    "regression",
    "train_on_released",
    "utility",
]
