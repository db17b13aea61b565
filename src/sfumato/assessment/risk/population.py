"""How many of a sample's unique people are unique in the population: the score of the estimators.

Tested by: tests/assessment/test_risk_population.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sfumato.assessment.risk.classes import FileClasses, refuse_empty
from sfumato.assessment.risk.estimators import Sizes, chosen, estimates
from sfumato.assessment.risk.population_classes import CONFIDENCE, PopulationClasses
from sfumato.errors import ParameterError
from sfumato.score import Score


def population_of(found: FileClasses, size: int | None, fraction: float | None) -> int:
    """The population's size from what the user said about it."""
    if (size is None) == (fraction is None):
        raise ParameterError(
            "give the population's size or the sampling fraction, one of them.",
            hint="population_size=330_000, or sampling_fraction=0.01",
        )
    if fraction is not None:
        if not 0 < fraction <= 1:
            raise ParameterError(
                "the sampling fraction lies above 0 and up to 1.", hint="sampling_fraction=0.01"
            )
        return max(found.population, round(found.population / fraction))
    assert size is not None
    if size < found.population:
        raise ParameterError(
            f"the population is smaller than the {found.population} {found.units} of the file.",
            hint="give the number the file was drawn from",
        )
    return int(size)


def population_uniqueness(
    found: FileClasses, *, population_size: int | None = None, sampling_fraction: float | None = None
) -> list[Score]:
    """The share of rows or persons that are alone in the file and, as estimated, in the population.

    The file must be a random sample of the population, one row per member. Missing is a value of its own
    here, whatever the classes say: that never lowers the answer. The first answer, with its interval, is that
    of the models of journalist and marketer risk (`population_classes`), so that the three agree; the known
    estimators follow, each by itself, and `chosen` says which the usual rule would take.
    """
    refuse_empty(found)
    everybody = population_of(found, population_size, sampling_fraction)
    # A person may be in several classes: the population's are then as many more, at the same fraction.
    sizes = Sizes.of(found.counts.n, round(everybody * found.total / found.population))
    answers = estimates(sizes)
    rule = chosen(answers, sizes.fraction)
    alone = sizes.alone / sizes.total
    rows = [
        {
            "estimator": e.name,
            "share": alone * e.probability,
            "given unique": e.probability,
            **e.parameters,
            "failed": e.failed,
        }
        for e in answers
    ]
    about = f"of {everybody:,}, if the file is a random sample of it"
    details = {"estimates": rows, "chosen": rule.name, "sampling fraction": sizes.fraction}
    meaning = f"estimated share of {found.units} that are alone in the file and in the population {about}"
    scores = [_as_journalist(found, sizes, meaning, details)]
    if len(answers) == 1:  # all of the population, or nobody alone: nothing is estimated
        scores = [_score("population uniqueness", alone * rule.probability, meaning, found, details)]
    if len(answers) > 1:
        scores += [
            _score(
                f"population uniqueness, {e.name}",
                alone * e.probability,
                f"the same, as {e.name} estimates it{': ' + e.failed if e.failed else ''}",
                found,
                dict(e.parameters),
            )
            for e in answers
        ]
    return scores


def _as_journalist(found: FileClasses, sizes: Sizes, meaning: str, details: Mapping[str, object]) -> Score:
    """The share of members whose class has one member in the population, by the models of journalist risk."""
    answer = PopulationClasses.of(found.counts.codes, found.counts.n, sizes.population).members_up_to(1)
    most = sizes.alone / sizes.total
    value, low, high = (min(most, v) for v in (answer.value, answer.low, answer.high))
    more = {**details, "models": {m: min(v, most) for m, v in answer.models.items()}}
    plain = _score(
        "population uniqueness", value, f"{meaning}; by the models of journalist risk", found, more
    )
    return replace(plain, low=low, high=high, confidence=CONFIDENCE)


def _score(name: str, value: float, meaning: str, found: FileClasses, details: Mapping[str, object]) -> Score:
    return Score(name, "risk", value, (0.0, 1.0), "lower", meaning, columns=found.columns, details=details)
