"""Singling out, linkability and inference, defined as in Anonymeter (Giomi et al. 2023), for any two files.

The same definitions, so that results can be compared: queries that match one released record; halves of a
person that meet in the same released record; the secret of the nearest released record. The files are
taken as they are written: nothing is binned, and a generalized value is a name like any other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.assessment.attacks.frames import Frames, above_control, frames, guessed, linked
from sfumato.assessment.attacks.intruder import Floats, Ints, knows
from sfumato.assessment.attacks.queries import Sorted, extremes, from_records, random_queries
from sfumato.assessment.attacks.success import CONFIDENCE, NothingToAttack, rate
from sfumato.errors import DataError, ParameterError, listed
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table


def singling_out(
    original: Table,
    released: Table,
    *,
    columns: Sequence[str] | None = None,
    control: Table | None = None,
    attacks: int = 500,
    conditions: int = 3,
    univariate: bool = False,
    max_attempts: int = 500_000,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """Queries that match exactly one released record: do they match exactly one person?

    conditions: how many columns a query speaks of. univariate: rare values and extremes of one column.
    The baseline asks random queries. Where control and original differ in size, both rates of the risk are
    taken for random samples of the smaller size, computed exactly (a query matches one row more easily in
    a small file); Anonymeter fits a curve for this.
    """
    _check(attacks=attacks, conditions=conditions, max_attempts=max_attempts)
    data = frames([original, released, control], columns)
    key = Key.from_seed(seed)
    random = key.generator("singling out")
    conditions = 1 if univariate else min(conditions, len(data.columns))
    people, records = Sorted(data.cells[0]), Sorted(data.cells[1])
    n = people.rows.shape[1]
    if n == 1:
        raise DataError(
            "the original has one row: whatever fits it singles it out.",
            hint="attack a file of several people",
        )
    if univariate:
        queries = extremes(data, random)
        queries = queries.at(np.flatnonzero(queries.count(records, 1) == 1)[:attacks])
    else:
        queries = from_records(data, records, conditions, attacks, max_attempts, random)
    if not len(queries.columns):
        return [_nothing_singled_out(data, confidence)]
    counts = queries.count(people)
    plain = key.generator("singling out", "baseline")
    guesses = random_queries(data, conditions, len(counts), plain).count(people)
    knowledge = "the release"
    name = f"singling out, {'one column' if univariate else f'{conditions} columns'}"
    own, theirs = np.asarray(counts == 1, np.float64), None
    if control is not None:
        others = data.cells[2].shape[1]
        size = min(n, others)
        own = _single_in_sample(counts, n, size)
        theirs = _single_in_sample(queries.count(Sorted(data.cells[2])), others, size)
    scores = [
        rate(
            name,
            own,
            meaning="Share of descriptions that fit exactly one released record and also fit exactly one "
            "person.",
            knowledge=knowledge,
            columns=data.columns,
            baseline=float((guesses == 1).mean()),
            control=theirs,
            confidence=confidence,
            details={"queries": len(counts)},
        )
    ]
    if theirs is not None:
        scores.append(
            above_control(name, own, theirs, knowledge=knowledge, columns=data.columns, confidence=confidence)
        )
    return scores


def _check(**numbers: int) -> None:
    wrong = [n for n, v in numbers.items() if isinstance(v, bool) or not isinstance(v, int) or v < 1]
    if wrong:
        raise ParameterError(f"{listed(wrong)}: a whole number from 1 up.", hint=f"{wrong[0]}=1")


def _nothing_singled_out(data: Frames, confidence: float) -> Score:
    return Score(
        name="singling out",
        section="attack",
        value=0.0,
        range=(0.0, 1.0),
        better="lower",
        meaning="No description was found that fits exactly one released record.",
        knowledge="the release",
        columns=data.columns,
        details={"queries": 0},
    )


def _single_in_sample(counts: Ints, rows: int, size: int) -> Floats:
    """The chance that a query that matches so many rows matches exactly one in a sample of the rows."""
    if size == rows:
        return np.asarray(counts == 1, np.float64)
    from scipy.stats import hypergeom

    return np.asarray(hypergeom.pmf(1, rows, counts, size))


def linkability(
    original: Table,
    released: Table,
    known: tuple[Sequence[str], Sequence[str]],
    *,
    control: Table | None = None,
    attacks: int = 500,
    nearest: int = 1,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """Two data sets hold different columns of the same people: does the release join them?

    A person counts as linked if the nearest released records of both halves (by Gower's distance) have one in
    common. Whoever holds one half only cannot tell equally near records apart: the two halves pick among
    theirs at random, each by itself, and what counts is the chance that the picks meet. With one nearest
    record it is |A and B| / (|A| |B|), A and B the records nearest to the halves: a tie is not a link, and a
    release that says nothing gives what a random guess does, the baseline.
    The first people of many attacks are those of few.
    """
    _check(attacks=attacks, nearest=nearest)
    first, second = (list(k) for k in known)
    if not first or not second or set(first) & set(second):
        raise ParameterError("the two sets of columns are empty or overlap.", hint="(['age'], ['zip'])")
    data = frames([original, released, control], [*first, *second])
    random = Key.from_seed(seed).generator("linkability")
    records = data.cells[1]
    m = records.shape[1]
    if m == 1:
        raise NothingToAttack("the release has one record: it joins nobody's halves.", hint="nothing to do")
    if 2 * nearest > m:
        raise ParameterError(
            f"of {m} released records, any two sets of {nearest} have one in common.",
            hint=f"nearest={m // 2}, or less",
        )

    def links(people: Floats) -> Floats:
        return linked(data, (first, second), _sample(people, attacks, random), records, nearest)

    knowledge = f"{', '.join(first)} of some people, {', '.join(second)} of the same people, and the release"
    attack = links(data.cells[0])
    others = links(data.cells[2]) if control is not None else None
    scores = [
        rate(
            "linkability",
            attack,
            meaning="Share of people whose two halves have the same nearest released record, so that the "
            "release joins what two data sets know of them; equally near ones are picked at random.",
            knowledge=knowledge,
            columns=data.columns,
            baseline=_random_overlap(m, nearest),
            control=others,
            confidence=confidence,
        )
    ]
    if others is not None:
        scores.append(
            above_control(
                "linkability",
                attack,
                others,
                knowledge=knowledge,
                columns=data.columns,
                confidence=confidence,
            )
        )
    return scores


def _random_overlap(records: int, few: int) -> float:
    """The chance that two random sets of `few` records have one in common."""
    from scipy.stats import hypergeom

    return float(1 - hypergeom.pmf(0, records, few, few))


def _sample(people: Floats, wanted: int, random: np.random.Generator) -> Floats:
    rows = random.permutation(people.shape[1])[:wanted]
    return np.ascontiguousarray(people[:, rows])


def _right_at_random(guesses: Floats, secrets: Floats, within: float) -> float:
    """The chance that the value of a random record is right for a random one of the secrets."""
    there, known = guesses[~np.isnan(guesses)], secrets[~np.isnan(secrets)]
    low, high = (np.sort(there + side * within * np.abs(there)) for side in (-1, 1))
    pairs = float((np.searchsorted(low, known, "right") - np.searchsorted(high, known, "left")).sum())
    pairs += float(len(guesses) - len(there)) * (len(secrets) - len(known))
    return pairs / (len(guesses) * len(secrets))


def inference(
    original: Table,
    released: Table,
    known: Sequence[str],
    sensitive: str,
    *,
    control: Table | None = None,
    attacks: int = 500,
    within: float = 0.05,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> list[Score]:
    """The sensitive value of the nearest released record: is it the person's own?

    within: for numbers, a guess is right if it is off by at most this share of the guess. Of equally near
    records one is taken at random: what counts is the share of them that is right. The baseline takes the
    value of a random released record. Both chances are computed, not drawn. The first people of many attacks
    are those of few.
    """
    found = inferences(
        original, released, known, [sensitive], control=control, attacks=attacks, within=within, seed=seed,
        confidence=confidence,
    )[0]  # fmt: skip
    if isinstance(found, DataError):
        raise found
    return found


def inferences(
    original: Table,
    released: Table,
    known: Sequence[str],
    sensitive: Sequence[str],
    *,
    control: Table | None = None,
    attacks: int = 500,
    within: float = 0.05,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> list[list[Score] | DataError]:
    """`inference` of several columns, each by itself: the scores, or why there is nothing to attack.

    Who is nearest is looked for once for all of them.
    """
    _check(attacks=attacks)
    both = [n for n in sensitive if n in known]
    if both:
        raise ParameterError(f"'{both[0]}' is among the columns the intruder knows.", hint="leave it out")
    files = [t for t in (original, released, control) if t is not None]
    absent = [n for n in sensitive if not all(n in t.columns for t in files)]
    data = frames(files, [*known, *(n for n in sensitive if n not in absent)])
    random = Key.from_seed(seed).generator("inference")
    refused = {n: _refusal(data, n) for n in sensitive}
    open_ = data.at([n for n in sensitive if refused[n] is None])
    records = data.cells[1]
    off = [within if data.numeric[at] else 0.0 for at in open_]

    def attack(people: Floats) -> tuple[Floats, Floats]:
        targets = _sample(people, attacks, random)
        return guessed(data, known, targets, records, open_, off) if open_ else np.empty((0, 0)), targets

    outcomes, targets = attack(data.cells[0])
    others = attack(data.cells[2])[0] if control is not None else None
    found: list[list[Score] | DataError] = []
    for name in sensitive:
        why = refused[name]
        if why is not None:
            found.append(why)
            continue
        at = data.columns.index(name)
        k = open_.index(at)
        baseline = _right_at_random(records[at], targets[at], off[k])
        other = None if others is None else others[k]
        found.append(_inferred(name, known, outcomes[k], other, baseline, confidence))
    return found


def _refusal(data: Frames, name: str) -> DataError | None:
    """Why a column cannot be inferred, or tells nothing; None if it can be tried."""
    if name not in data.columns:
        return DataError(f"not every file has '{name}'.", hint="name a column that all files have")
    at = data.columns.index(name)
    guesses = data.cells[1][at]
    if np.isnan(guesses).all():
        return NothingToAttack(f"'{name}' is missing in every released record.", hint="name another column")
    if len(np.unique(guesses)) == 1:
        return NothingToAttack(
            f"every released record has the same '{name}': the nearest tells no more than any other.",
            hint="name another column",
        )
    if len(np.unique(np.concatenate([data.cells[0][at], *(c[at] for c in data.cells[2:])]))) == 1:
        return NothingToAttack(
            f"'{name}' is the same for everybody: there is nothing to infer.", hint="name another column"
        )
    return None


def _inferred(
    sensitive: str,
    known: Sequence[str],
    outcome: Floats,
    others: Floats | None,
    baseline: float,
    confidence: float,
) -> list[Score]:
    knowledge = knows(known)
    name = f"inference, nearest record, {sensitive}"
    columns = (*known, sensitive)
    scores = [
        rate(
            name,
            outcome,
            meaning=f"Share of people whose {sensitive} is that of the released record nearest to what the "
            "intruder knows.",
            knowledge=knowledge,
            columns=columns,
            baseline=baseline,
            control=others,
            confidence=confidence,
        )
    ]
    if others is not None:
        scores.append(
            above_control(name, outcome, others, knowledge=knowledge, columns=columns, confidence=confidence)
        )
    return scores
