"""Class sizes, and what they mean for three intruders.

- The *prosecutor* knows that somebody is in the file: right with probability 1 / f, f the class's size.
- The *journalist* knows only that they are in the population: 1 / F, F the class's size there.
- The *marketer* links everybody and asks for the share that comes out right: the average of 1 / F.

F is counted where a population file is given. Else it is estimated from the population's size by models of
the classes (`population_classes`), which differ: their spread is the interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import criteria
from sfumato.assessment.risk.classes import (
    FileClasses,
    Integers,
    as_they_stand,
    looked_up,
    refuse_empty,
    sample_sizes,
    shared_keys,
)
from sfumato.assessment.risk.population import population_of
from sfumato.assessment.risk.population_classes import CONFIDENCE, PopulationClasses
from sfumato.errors import ParameterError
from sfumato.score import Score
from sfumato.table import Table


def class_sizes(found: FileClasses) -> list[Score]:
    """k: the smallest class; the average class; how many classes have each size, in the details."""
    refuse_empty(found)
    n, sizes = found.counts.n, found.sizes
    k = criteria.KAnonymity(1).measure(found.counts) if found.missing == "own" else int(sizes.min())
    matches = "; a missing or suppressed value matches anything" if found.missing == "any" else ""
    spread = [{"size": size, "classes": classes, "members": 0} for size, classes in sample_sizes(sizes)]
    members = np.unique(sizes, return_inverse=True)[1]
    for row, m in zip(spread, np.bincount(members, n).astype(np.int64).tolist(), strict=True):
        row["members"] = m
    most = float(found.total)
    unit = found.units
    return [
        Score(
            "k, the smallest class",
            "risk",
            float(k),
            (0.0, most),
            "higher",
            f"every combination of quasi-identifiers that occurs is shared by at least {k} {unit}{matches}",
            columns=found.columns,
            details={"sizes": spread, "classes": found.counts.cells, "unit": found.unit},
        ),
        Score(
            "average class",
            "risk",
            float(found.total / (n / sizes).sum()),
            (0.0, most),
            "higher",
            f"how many {unit} share a combination of quasi-identifiers on average; the smallest says more",
            columns=found.columns,
            details={"median of a member": _median(sizes, n)},
        ),
    ]


def _median(sizes: Integers, n: NDArray[Any]) -> int:
    order = np.argsort(sizes)
    return int(sizes[order][np.searchsorted(np.cumsum(n[order]), n.sum() / 2)])


# -- three intruders -----------------------------------------------------------------------------


def intruders(
    found: FileClasses,
    *,
    population: Table | None = None,
    population_size: int | None = None,
    sampling_fraction: float | None = None,
    threshold: float = 0.2,
) -> list[Score]:
    """Prosecutor, journalist and marketer risk: the highest, and the share of records above the threshold.

    population: a file of the population with the same quasi-identifiers, coded alike. Without it, but with
    the population's size or the sampling fraction, journalist and marketer are estimated, with an interval.
    Without either, the file stands for its own population and only the prosecutor is judged.
    """
    refuse_empty(found)
    if not 0 < threshold <= 1:
        raise ParameterError("the threshold lies above 0 and up to 1.", hint="threshold=0.2")
    n = found.counts.n
    inside = 1 / found.sizes
    if population is not None:
        if population_size is not None or sampling_fraction is not None:
            raise ParameterError(
                "a population file says its own size.", hint="leave out its size and fraction"
            )
        sizes = population_sizes(found, population)[0]
        outside, how = 1 / np.maximum(sizes, found.sizes), "counted in the population file"
        details = {"classes larger than in the population": int((sizes < found.sizes).sum())}
    else:
        outside, how, details = None, "", {}
    scores = _one("prosecutor", inside, n, threshold, found, "who knows that a person is in the file", {})
    scores.append(
        _score(
            "prosecutor risk, average",
            float((n * inside).sum() / n.sum()),
            f"expected share of {found.units} named rightly by an intruder who knows that all are in the "
            "file: the marketer's risk, if the file is its own population",
            found,
            {},
        )
    )
    if outside is not None:
        who = f"who knows only that a person is in the population, {how}"
        scores += _one("journalist", outside, n, threshold, found, who, details)
        average = float((n * outside).sum() / n.sum())
        scores.append(_score("marketer risk", average, _links_all(found, how), found, details))
    elif population_size is not None or sampling_fraction is not None:
        everybody = population_of(found, population_size, sampling_fraction)
        scores += _estimated(found, everybody, threshold, [s.value for s in scores])
    return scores


def _links_all(found: FileClasses, how: str) -> str:
    return (
        f"expected share of {found.units} named rightly by an intruder who links all of them to the "
        f"population; its classes are {how}"
    )


def _estimated(found: FileClasses, everybody: int, threshold: float, most: Sequence[float]) -> list[Score]:
    """Journalist and marketer where the population's size is all that is known of it.

    most: what the prosecutor reaches, highest, above the threshold and on average: nobody else reaches more.
    Missing is a value of its own in the models, whatever the classes say: that never lowers the answer.
    """
    # A person may be in several classes: the population's are then as many more, at the same fraction.
    population = max(found.total, round(everybody * found.total / found.population))
    how = f"estimated from its size, {everybody:,}, if the file is a random sample of it"
    who = f"who knows only that a person is in the population; its classes are {how}"
    names = ("journalist risk, highest", f"journalist risk, above {threshold:g}", "marketer risk")
    meanings = (_worst(found, who), _above(found, threshold, who), _links_all(found, how))
    if population == found.total:  # the whole population: the classes are its own
        exact = zip(names, most, meanings, strict=True)
        return [_score(name, v, meaning, found, {"population": everybody}) for name, v, meaning in exact]
    models = PopulationClasses.of(found.counts.codes, found.counts.n, population)
    largest = math.ceil(1 / (threshold * (1 + 1e-12))) - 1  # 1 / F is above the threshold up to this F
    answers = (models.smallest(), models.members_up_to(largest), models.marketer())
    scores = []
    for name, answer, meaning, cap in zip(names, answers, meanings, most, strict=True):
        said = {m: min(v, cap) for m, v in answer.models.items()}
        details = {"population": everybody, "models": said}
        plain = _score(name, min(answer.value, cap), meaning, found, details)
        low, high = min(answer.low, cap), min(answer.high, cap)
        scores.append(replace(plain, low=low, high=high, confidence=CONFIDENCE))
    return scores


def _worst(found: FileClasses, who: str) -> str:
    return f"the chance to name the worst protected of the {found.units} rightly, for an intruder {who}"


def _above(found: FileClasses, threshold: float, who: str) -> str:
    return f"share of {found.units} named rightly with a chance above {threshold:g} by an intruder {who}"


def _one(
    name: str,
    risk: NDArray[np.float64],
    n: NDArray[Any],
    threshold: float,
    found: FileClasses,
    who: str,
    details: Mapping[str, object],
) -> list[Score]:
    above = float(n[risk > threshold * (1 + 1e-12)].sum() / n.sum())
    return [
        _score(
            f"{name} risk, highest",
            float(risk.max()),
            _worst(found, who),
            found,
            details,
        ),
        _score(
            f"{name} risk, above {threshold:g}",
            above,
            _above(found, threshold, who),
            found,
            details,
        ),
    ]


def _score(name: str, value: float, meaning: str, found: FileClasses, details: Mapping[str, object]) -> Score:
    return Score(
        name, "risk", min(1.0, value), (0.0, 1.0), "lower", meaning, columns=found.columns, details=details
    )


# -- a population file ---------------------------------------------------------------------------


def population_sizes(found: FileClasses, population: Table) -> tuple[Integers, Integers, Integers]:
    """F for each class of the file; and for each class of the population its F and its f in the file.

    The population's values must be written as the file's are: generalized alike.
    """
    if found.missing == "any" or found.unit == "person":
        raise ParameterError(
            "a population file is compared row by row, with missing a value of its own.",
            hint="leave out person, and take missing='own'",
        )
    there = as_they_stand(population, found.columns).counts(*found.columns)
    mine, theirs = shared_keys([found.counts, there])
    return looked_up(mine, theirs, there.n), there.n, looked_up(theirs, mine, found.counts.n)


def presence(found: FileClasses, population: Table) -> list[Score]:
    """Delta-presence: the chance that a member of the population's class is in the file, f / F.

    The file is taken for a part of the population. The highest chance is the value; the lowest is in the
    details: 0 where a class of the population has nobody in the file, which tells of absence.
    """
    refuse_empty(found)
    sizes, everybody, drawn = population_sizes(found, population)
    absent = int(found.counts.n[sizes == 0].sum())
    odd = int((found.counts.n > sizes).sum())
    chance = np.minimum(drawn / everybody, 1.0) if len(everybody) else np.zeros(1)
    highest = 1.0 if odd else float(chance.max())
    return [
        Score(
            "delta, presence in the file",
            "risk",
            highest,
            (0.0, 1.0),
            "lower",
            "the highest chance that somebody of the population with known quasi-identifiers is in the file",
            columns=found.columns,
            baseline=min(1.0, found.total / max(1, int(everybody.sum()))),
            details={
                "lowest": float(chance.min()),
                "classes larger than in the population": odd,
                "rows whose class the population lacks": absent,
            },
        )
    ]
