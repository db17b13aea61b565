"""Score APIs under attack: what a score that was seen tells of its input, and of who trained it.

Two case studies of Park's dissertation (2014, 5.0.1 and 5.0.2), against any callable that takes an Arrow
table of inputs and gives a score for each row:

- `invert_score`: someone saw Alice's risk score, knows some of her fields, and tries values for the others
  until the score is the same. No differential privacy of the *model* stops this: the score's input leaks.
- `who_trained`: someone who can query the model asks whether Dave was among those it was trained on, or
  which outcome he was trained with.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from sfumato.assessment.attacks import game
from sfumato.assessment.attacks.membership import pick_targets
from sfumato.assessment.audit import intervals
from sfumato.assessment.audit.intervals import require
from sfumato.errors import DataError, ParameterError
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table

__all__ = ["invert_score", "who_trained"]

Scorer = Callable[[pa.Table], ArrayLike]
Train = Callable[[Table, Key], Scorer]
Floats = NDArray[np.float64]

_BACKGROUND = 20.0  # rows that the joint law of the secret fields weighs against those with the known fields


def invert_score(
    score: Scorer,
    people: Table,
    *,
    known: Sequence[str],
    secret: Sequence[str],
    key: Key,
    digits: int | None = None,
    targets: int | Sequence[int] = 200,
    most: int = 10_000,
    confidence: float = 0.95,
) -> list[Score]:
    """How much a score that was seen tells of fields that were not.

    people: rows with all inputs of the score. Targets are drawn from them; the others are the background
        from which the intruder knows how common values are.
    known, secret: the fields the intruder knows of the target, and those sought; together all that the
        score needs.
    digits: decimals of the score that are shown; None shows all (compared to twelve significant digits).
    most: combinations of secret values that are tried for one person, at most.
    """
    chosen = pick_targets(targets, people.rows(), key)
    require(
        ""
        if secret and not set(known) & set(secret)
        else "known and secret fields are disjoint, and some secret",
        "" if 0 < confidence < 1 else "confidence must be in (0, 1)",
        "" if digits is None or digits >= 0 else "digits must not be negative",
        hint="see docs/membership.md",
    )
    people.schema.require([*known, *secret])
    rows = people.select([*known, *secret]).to_arrow()
    combos, truth = _combinations(rows, secret, most)
    groups = _grouped(rows, known)
    background = np.setdiff1d(np.arange(rows.num_rows), chosen)
    prior = _priors(truth[background], groups[background], len(combos[0]))
    seen = np.empty(len(chosen))
    tables: dict[int, Floats] = {}
    for i, row in enumerate(chosen):
        group = int(groups[row])
        if group not in tables:
            tables[group] = _shown(score, _tried(rows, int(row), known, secret, combos), digits)
        seen[i] = tables[group][truth[row]]
    # The control sees the score of some other target: the same numbers, which say nothing of this person. A
    # single target has no other: then there is no control.
    swapped = np.roll(seen, 1)
    generator = key.generator("guesses")
    outcome = {"attack": np.zeros((len(chosen), 3)), "control": np.zeros((len(chosen), 3))}
    plain = np.zeros(len(chosen), bool)
    left = np.zeros(len(chosen))
    for i, row in enumerate(chosen):
        law = prior(int(groups[row]))
        plain[i] = _guess(law, generator) == truth[row]
        for who, value in (("attack", seen[i]), ("control", swapped[i])):
            fits = tables[int(groups[row])] == value
            after = np.where(fits, law, 0.0)
            after = after / after.sum() if fits.any() else law
            outcome[who][i] = (
                _guess(after, generator) == truth[row],
                after[truth[row]] > 1 - 1e-12,  # certain of something else is no success
                np.log2(max(after[truth[row]], 1e-300) / law[truth[row]]),
            )
            if who == "attack":
                left[i] = fits.sum()
    return _inverted(outcome, plain, left, len(combos[0]), known, secret, digits, confidence)


def _inverted(
    outcome: dict[str, Floats],
    plain: NDArray[np.bool_],
    left: Floats,
    tried: int,
    known: Sequence[str],
    secret: Sequence[str],
    digits: int | None,
    confidence: float,
) -> list[Score]:
    n = len(plain)
    shown = "in full" if digits is None else f"to {digits} decimals"
    fields = f"{len(secret)} secret field{'s' * (len(secret) > 1)}"
    shared: dict[str, Any] = {
        "section": "attack",
        "better": "lower",
        "columns": tuple(secret),
        "knowledge": f"a person's score ({shown}), {len(known)} known fields, how common values are, and the "
        "score itself to query at will",
        "details": {
            "people": n,
            "combinations tried": tried,
            "combinations left, mean": float(left.mean()),
            "known": list(known),
        },
    }
    attack, control = outcome["attack"], outcome["control"]
    scores = []
    for i, (name, meaning, baseline) in enumerate(
        (
            (
                "score inversion, fields found",
                f"The share of people whose {fields} are guessed right by who saw their score; the baseline "
                "guesses without the score, the control with someone else's.",
                float(plain.mean()),
            ),
            (
                "score inversion, no doubt left",
                f"The share of people for whom one combination of the {fields} remains, the true one.",
                float((tried == 1) * 1.0),
            ),
        )
    ):
        value, low, high = intervals.share(int(attack[:, i].sum()), n, confidence)
        scores.append(
            Score(
                name=name,
                value=value,
                range=(0.0, 1.0),
                meaning=meaning,
                low=low,
                high=high,
                confidence=confidence,
                baseline=baseline,
                control=float(control[:, i].mean()) if n > 1 else None,
                **shared,
            )
        )
    bits = float(attack[:, 2].mean())
    scores.append(
        Score(
            name="score inversion, bits learnt",
            value=max(bits, 0.0),
            range=(0.0, float("inf")),
            meaning=f"By how many bits the score narrows down the {fields}, on average over the people "
            "examined; 1 bit halves the possibilities.",
            baseline=0.0,
            **shared,
        )
    )
    return scores


def who_trained(
    train: Train,
    people: Table,
    *,
    key: Key,
    outcome: str,
    guess: Literal["membership", "outcome"] = "membership",
    targets: int | Sequence[int] = 20,
    size: int | None = None,
    queries: int = 4,
    shadows: int = 32,
    trials: int = 32,
    rates: Sequence[float] = (0.01, 0.1),
    confidence: float = 0.95,
) -> list[Score]:
    """How well answers of a trained score tell whom it was trained on, or with which outcome.

    train: `train(table, key)` gives a callable that scores inputs (all columns but the outcome).
    guess: "membership" (was this person, with this outcome, among the trainers?) or "outcome" (a person who
        was there: with which of two outcomes? This is Dave's case).
    size: people who train besides the targets; half of the others if left out.
    queries: inputs asked for each target: their own, and their own with one field changed.
    """
    rows = people.rows()
    chosen = pick_targets(targets, rows, key)
    others = np.setdiff1d(np.arange(rows), chosen)
    size = len(others) // 2 if size is None else size
    people.schema.require([outcome])
    require(
        "" if guess in ("membership", "outcome") else "guess is 'membership' or 'outcome'",
        "" if 1 <= size <= len(others) else "size must leave enough rows that are not targets",
        "" if queries >= 1 else "at least one query is needed",
        "" if len(people.columns) > 1 else "a score needs an input besides the outcome",
        "" if shadows >= 4 and trials >= 1 else "at least 4 shadows and one trial are needed",
        "" if 0 < confidence < 1 and all(0 < r < 1 for r in rates) else "confidence and rates are in (0, 1)",
        hint="see docs/membership.md",
    )
    stored = people.to_arrow()
    mine = stored.take(pa.array(chosen))
    asked = _queries(stored, chosen, outcome, queries, key.generator("queries"))
    heads, tails = mine, mine.slice(0, 0)
    if guess == "outcome":
        heads, tails = _two_outcomes(mine, stored, outcome, key.generator("outcomes"))

    def run(coins: NDArray[np.bool_], key: Key) -> Floats:
        generator = key.generator("rows")
        data = stored.take(pa.array(generator.choice(others, size, replace=False)))
        absent = tails.filter(pa.array(~coins)) if tails.num_rows else tails
        data = pa.concat_tables([data, heads.filter(pa.array(coins)), absent])
        data = data.take(pa.array(generator.permutation(data.num_rows)))
        scorer = train(Table.from_arrow(data, people.schema), key.derive("training"))
        return _answers(scorer, asked).reshape(queries, len(chosen)).T

    played = game.play(
        run, len(chosen), shadows=shadows, trials=trials, key=key.derive("game"), label="score queries"
    )
    member = guess == "membership"
    return game.judged(
        played,
        name="who trained the score" if member else "outcome that trained the score",
        knowledge=(
            "the targets' rows"
            if member
            else "the targets' rows but for the outcome, and that they trained the score"
        )
        + f", people like them, how the score is trained, and {queries} queries to it for each target",
        heads="among the trainers" if member else "who trained with the later of two outcomes",
        confidence=confidence,
        rates=rates,
        key=key,
        columns=(outcome,),
        details={"people besides the targets": size, "queries": queries},
    )


# -- parts of the inversion --------------------------------------------------------------------------


def _combinations(
    rows: pa.Table, secret: Sequence[str], most: int
) -> tuple[list[pa.Array], NDArray[np.int64]]:
    """All combinations of the secret columns' values, a column each, and the number of each row's own."""
    values, codes = [], []
    for name in secret:
        coded = rows[name].combine_chunks().dictionary_encode(null_encoding="encode")
        values.append(coded.dictionary)
        codes.append(coded.indices.to_numpy(zero_copy_only=False).astype(np.int64))
    sizes = [len(v) for v in values]
    total = int(np.prod([float(s) for s in sizes]))
    if total > most:
        raise ParameterError(
            f"the secret fields have {total} combinations, more than {most}.",
            hint="fewer secret fields, bins for numbers, or a larger most=",
        )
    grid = np.array(list(itertools.product(*map(range, sizes))), np.int64).reshape(-1, len(secret))
    combos = [v.take(pa.array(grid[:, j])) for j, v in enumerate(values)]
    return combos, np.ravel_multi_index(tuple(codes), sizes).astype(np.int64)


def _grouped(rows: pa.Table, known: Sequence[str]) -> NDArray[np.int64]:
    """The same number for rows that agree in the known fields."""
    groups = np.zeros(rows.num_rows, np.int64)
    for name in known:
        coded = rows[name].combine_chunks().dictionary_encode(null_encoding="encode")
        codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        _, groups = np.unique(groups * len(coded.dictionary) + codes, return_inverse=True)
    return groups


def _priors(truth: NDArray[np.int64], groups: NDArray[np.int64], size: int) -> Callable[[int], Floats]:
    """What is likely before the score is seen: as among those with the same known fields, and all."""
    overall = (np.bincount(truth, minlength=size) + 1.0 / size) / (len(truth) + 1.0)

    def prior(group: int) -> Floats:
        alike = np.bincount(truth[groups == group], minlength=size)
        return np.asarray((alike + _BACKGROUND * overall) / (alike.sum() + _BACKGROUND))

    return prior


def _tried(
    rows: pa.Table, row: int, known: Sequence[str], secret: Sequence[str], combos: Sequence[pa.Array]
) -> pa.Table:
    """The target's known fields with every combination of the secret ones."""
    own = pa.array(np.full(len(combos[0]), row))
    columns = {name: rows[name].take(own) for name in known}
    columns.update(dict(zip(secret, combos, strict=True)))
    return pa.table(columns).select(rows.column_names)


def _shown(score: Scorer, inputs: pa.Table, digits: int | None) -> Floats:
    """Scores as they are shown."""
    values = _answers(score, inputs)
    if digits is not None:
        return np.asarray(np.round(values, digits) + 0.0)
    return np.array([float(f"{v:.12g}") for v in values])


def _answers(score: Scorer, inputs: pa.Table) -> Floats:
    values = np.asarray(score(inputs))
    if values.shape != (inputs.num_rows,) or values.dtype.kind not in "biuf":
        raise DataError(
            f"the score was asked for {inputs.num_rows} rows, and did not give a number for each.",
            hint="the callable takes an Arrow table and gives an array of as many numbers",
        )
    answers = values.astype(np.float64)
    if not np.isfinite(answers).all():
        raise DataError("the score gave answers that are not finite numbers.", hint="scores must be finite")
    return answers


def _guess(law: Floats, generator: np.random.Generator) -> int:
    """The likeliest combination, ties tossed."""
    return int(generator.choice(np.flatnonzero(law >= law.max() * (1 - 1e-12))))


# -- parts of the training game ----------------------------------------------------------------------


def _queries(
    stored: pa.Table, chosen: NDArray[np.int64], outcome: str, queries: int, generator: np.random.Generator
) -> pa.Table:
    """(queries x targets) inputs: each target's own, then with one field taken from someone else."""
    inputs = stored.drop_columns([outcome])
    names = inputs.column_names
    parts = [inputs.take(pa.array(chosen))]
    for _ in range(queries - 1):
        places = np.tile(chosen, (len(names), 1))
        changed = generator.integers(0, len(names), len(chosen))
        places[changed, np.arange(len(chosen))] = generator.integers(0, stored.num_rows, len(chosen))
        parts.append(pa.table({n: inputs[n].take(pa.array(p)) for n, p in zip(names, places, strict=True)}))
    return pa.concat_tables(parts)


def _two_outcomes(
    mine: pa.Table, stored: pa.Table, outcome: str, generator: np.random.Generator
) -> tuple[pa.Table, pa.Table]:
    """The targets' rows with the later and with the earlier of two outcomes, their own and another.

    Which of the two is true plays no part in the order: the intruder does not know it.
    """
    levels = pc.unique(stored[outcome].combine_chunks())
    if len(levels) < 2:
        raise DataError("the outcome is the same for everybody.", hint="name an outcome that varies")
    levels = levels.take(pc.sort_indices(levels))
    own = pc.index_in(mine[outcome].combine_chunks(), value_set=levels).to_numpy(zero_copy_only=False)
    moved = (own + generator.integers(1, len(levels), len(own))) % len(levels)
    place = mine.column_names.index(outcome)
    field = mine.schema.field(place)
    later, earlier = (levels.take(pa.array(f(own, moved))) for f in (np.maximum, np.minimum))
    return mine.set_column(place, field, later), mine.set_column(place, field, earlier)
