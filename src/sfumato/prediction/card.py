"""What a model card says of a score's quality: calibration, discrimination, and both for subgroups.

From a public test set the counts are what they are. A private one is counted with noise, for an epsilon of
its own, and the promise of the model then covers both:

Guarantee: epsilon-DP for the rows of the test set, adding or removing one.
Because:   all that is asked of them is, for the whole and for each of G public ways to divide them, the
           counts of public bins of the score by outcome. A row is in one cell of each, so they change by
           G + 1 in L1, L rows of a person by L (G + 1); discrete Laplace noise. All figures are arithmetic on
           them.
Assumes:   the levels of the subgroups are public; no person has more than L rows in the test set. Where the
           test set shares no person with the training data by a public rule, `disjoint` says so, and the
           larger epsilon counts instead of the sum.
Tested by: tests/prediction/test_card.py
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import NoisyWarning, ParameterError, SchemaError, listed
from sfumato.features.inputs import Feature, FeatureError, Inputs
from sfumato.prediction.fit_budget import budget_for, debit
from sfumato.prediction.models import ReleasedModel, plain_classes
from sfumato.prediction.persons import rows_that_count
from sfumato.prediction.score_counts import BINS, calibration, cells, counted, figures
from sfumato.privacy import Guarantee
from sfumato.privacy.differential import DifferentialPrivacy
from sfumato.privacy.grants import Budget
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.noise import laplace
from sfumato.schema import Kind, Role
from sfumato.schema.domains import ADVICE, grounds, search_cost, with_search
from sfumato.table import Table

Ints = NDArray[np.int64]
_PUBLIC = "The test set of the model card is public, and shares no person with the data"


def evaluated(
    model: ReleasedModel, test: Table, target: str, *, epsilon: float | None, subgroups: Sequence[str] = (),
    ledger: Ledger | None = None, disjoint: str = "", max_rows_per_person: int = 1,
) -> ReleasedModel:  # fmt: skip
    """The model with an evaluation in its card, and a guarantee that covers the test set as well.

    epsilon: what the test set may cost; None says that it is public, and nothing is promised to its rows.
    subgroups: columns of the test set with public levels.
    disjoint: the public rule by which no person is both in the test set and in the training data.
    """
    private = epsilon is not None
    rows = JudgedRows.of(
        test, target, model.features, subgroups, private=private, max_rows_per_person=max_rows_per_person
    )
    require_classes(model, test, target)
    features = {f.name for f in model.features}
    shown = [test.schema[n] for n in (target, *subgroups)]
    found: tuple[DifferentialPrivacy, ...] = ()
    if epsilon is not None:
        budget = budget_for(epsilon, max_rows_per_person)
        _require_unit(model, budget)
        # Of features, and of the outcome, the model's own claim has it already.
        more = [c for c in shown[1:] if c.name not in features]
        found = search_cost(more, budget.unit, budget.neighbours)
    groups, outcome, codes = rows.groups, rows.outcome, rows.codes
    scores = np.array([s.probability for s in model.score(rows.features)])
    cell, sizes = cells(scores, outcome), [1, *groups.values()]
    parts = [counted(cell, c, size) for c, size in zip([np.zeros_like(cell), *codes], sizes, strict=True)]
    counts = np.concatenate(parts)
    scale = 0.0
    if epsilon is None:
        guarantee = _assuming(model.guarantee, _PUBLIC)
    else:
        grant = debit(ledger, budget_for(epsilon, max_rows_per_person), "model card")
        own = grant.claim("The subgroups of the model card and their levels are public", *grounds(shown))
        noisy = laplace(counts, max_rows_per_person * len(sizes), grant)
        counts, scale = noisy.values, noisy.scale
        guarantee = model.guarantee.compose(Guarantee.of(own, grant.account), disjoint=disjoint)
        guarantee = Guarantee(
            tuple(with_search(c, found) if isinstance(c, DifferentialPrivacy) else c for c in guarantee)
        )
    tables = [p.reshape(-1, BINS, 2) for p in np.split(counts, np.cumsum([2 * BINS * s for s in sizes])[:-1])]
    entry: dict[str, Any] = {
        "source": "a public test set" if epsilon is None else "a private test set, counted with noise",
        "noise_scale": scale,
        **figures(tables[0][0], scale),
        "calibration": calibration(tables[0][0]),
        "subgroups": [
            {"column": name, "level": level, **figures(table, scale)}
            for (name, _), found in zip(groups.items(), tables[1:], strict=True)
            for level, table in zip(levels_of(test, name), found, strict=True)
        ],
    }
    small = sum(s["too_small_to_say"] for s in entry["subgroups"])
    if small:
        warnings.warn(
            f"{small} of {len(entry['subgroups'])} levels of subgroups are too small to say how it does "
            "there; the card marks them.",
            NoisyWarning,
            stacklevel=2,
        )
    return replace(model, guarantee=guarantee, card={**model.card, "evaluation": entry})


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """The test rows that have an outcome, looked at: nothing in them can fail a fit that was paid for.

    features: as the model takes them. outcome: 0 or 1. groups: subgroups and their numbers of levels.
    codes: of the subgroups, one array each.
    """

    features: list[dict[str, Any]]
    outcome: Ints
    groups: dict[str, int]
    codes: list[Ints]

    @classmethod
    def of(
        cls, test: Table, target: str, features: Sequence[Feature], subgroups: Sequence[str] = (), *,
        private: bool, max_rows_per_person: int = 1,
    ) -> JudgedRows:  # fmt: skip
        """The rows; or all that is wrong with them, by name and number."""
        groups = groups_of(test, target, subgroups, private=private)
        names = [f.name for f in features]
        absent = [repr(n) for n in names if n not in test.schema]
        if absent:
            raise ParameterError(f"the test set lacks features: {listed(absent)}.", hint="give all of them")
        test = test.select(dict.fromkeys([*names, target, *groups, *test.schema.of_role(Role.PERSON)]))
        test = rows_that_count(test, max_rows_per_person) if private else test
        coded = test.encode([target, *groups]).codes.astype(np.int64)
        kept = coded[0] < 2
        rows = test.select(names).to_arrow().filter(pa.array(kept)).to_pylist()
        inputs = Inputs(features)
        faults = [fault for place, row in enumerate(rows) for fault in inputs.faults(row, place)]
        if faults:
            raise FeatureError(faults)
        return cls(rows, coded[0][kept], groups, [c[kept] for c in coded[1:]])


def groups_of(test: Table, target: str, subgroups: Sequence[str], *, private: bool) -> dict[str, int]:
    """The subgroups and their numbers of levels; what a test set lacks is said before anything is spent."""
    test.schema.require([target, *subgroups])
    wrong = [repr(n) for n in subgroups if not test.schema[n].public or test.schema[n].kind is Kind.CODES]
    if wrong or target in subgroups or len(set(subgroups)) < len(subgroups):
        raise SchemaError(
            f"subgroups need public levels, once each, and are not the target: {listed(wrong)}.",
            hint=ADVICE,
        )
    column = test.schema[target]
    if column.levels is None or len(column.levels) != 2:
        raise SchemaError(f"the target '{target}' needs two levels.", hint="declare them in the schema")
    if private and not column.public:
        raise SchemaError(
            f"the levels of the target '{target}' are not public: {column.origin}.", hint=ADVICE
        )
    return {name: len(levels_of(test, name)) for name in subgroups}


def _assuming(guarantee: Guarantee, assumption: str) -> Guarantee:
    return Guarantee(tuple(c.assuming(assumption) if c.differential else c for c in guarantee))


def require_classes(model: ReleasedModel, test: Table, target: str) -> None:
    """The outcome that is scored must be the test set's second, or every figure would be upside down."""
    classes = model.card.get("classes")
    if classes is not None and list(classes) != plain_classes(test.schema[target].levels or ()):
        raise SchemaError(
            f"the levels of '{target}' are not the model's outcomes, the one that is scored last.",
            hint="declare the same two levels in the same order",
        )


def _require_unit(model: ReleasedModel, budget: Budget) -> None:
    promised = [c.unit for c in model.guarantee if isinstance(c, DifferentialPrivacy)]
    if any(unit != budget.unit for unit in promised):
        raise ParameterError(
            f"the model's promise is for {listed([str(u) for u in promised])}, that of the test set would be "
            f"for {budget.unit}.",
            hint="give max_rows_per_person as it was given to the fit",
        )


def levels_of(test: Table, name: str) -> list[str]:
    """The levels of a column as a card names them, missing last."""
    book = test.codebooks([name])[name]
    return [*(str(v) for v in book.levels.to_pylist()), *(["missing"] * book.missing)]
