"""All risk scores of one file, from one count of its quasi-identifiers."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.assessment.risk.classes import Missing, classes
from sfumato.assessment.risk.diversity import diversity
from sfumato.assessment.risk.population import population_uniqueness
from sfumato.assessment.risk.reidentification import class_sizes, intruders, presence
from sfumato.assessment.risk.uniqueness import MOST_SETS, riskiest, search, uniqueness
from sfumato.score import Score
from sfumato.table import Table


def risks(
    table: Table,
    quasi_identifiers: Sequence[str] | None = None,
    *,
    sensitive: Sequence[str] | None = None,
    person: str | None = None,
    missing: Missing = "own",
    suppressed: Sequence[str] = ("*",),
    population: Table | None = None,
    population_size: int | None = None,
    sampling_fraction: float | None = None,
    threshold: float = 0.2,
    depth: int = 4,
    most: int = MOST_SETS,
    records: int = 20,
) -> list[Score]:
    """Class sizes, uniqueness, intruders, population uniqueness, l, t, delta and the riskiest records.

    quasi_identifiers, sensitive: by default those the schema names.
    person, missing, suppressed: see `classes`. l and t always take missing for a value of its own.
    population: a file of the population, coded alike; or its size, or the sampling fraction.
    """
    found = classes(table, quasi_identifiers, person=person, missing=missing, suppressed=suppressed)
    scores = class_sizes(found)
    searched = search(found, depth=depth, most=most)
    scores += uniqueness(found, searched=searched)
    scores += intruders(
        found,
        population=population,
        population_size=population_size,
        sampling_fraction=sampling_fraction,
        threshold=threshold,
    )
    if population is not None:
        scores += presence(found, population)
    if population_size is not None or sampling_fraction is not None:
        scores += population_uniqueness(
            found, population_size=population_size, sampling_fraction=sampling_fraction
        )
    scores += diversity(table, found.columns, sensitive, person=person)
    return scores + riskiest(found, records=records, searched=searched)
