"""Tables with standard errors: over many fits, intervals hold the data's own counts as often as they say."""

from __future__ import annotations

import numpy as np
import pytest
from private_tables import chain, grant, table_of
from scipy import stats
from tied_tables import SCHEMA, TIED, people

from sfumato.errors import ParameterError
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.private import PrivateModel, PrivateSynthesizer
from sfumato.synthesis.private.exact_counts import count
from sfumato.synthesis.private.intervals import noisy_table
from sfumato.synthesis.private.measurement import measure
from sfumato.synthesis.private.purse import Purse
from sfumato.synthesis.private.variables import DomainVariables

SIZES = (2, 2, 2, 3)


@pytest.fixture(scope="module")
def model() -> PrivateModel:
    return PrivateSynthesizer(epsilon=5.0).fit(table_of(chain(2_000), SIZES))


@pytest.mark.parametrize("pure", [False, True], ids=["zCDP", "pure"])
def test_intervals_cover_as_often_as_they_say(pure: bool) -> None:
    """Each cell's error over its standard error, in 60 measurements: mean 0, variance 1, 90% within.

    A false alarm one time in a million: 4.9 standard deviations of what is counted.
    """
    table = people(400, 1)
    domain = Domain.of(SCHEMA, constraints=TIED)
    variables = DomainVariables.of(domain)
    counted = count(table, domain, variables, 1)
    sets = [("group",), ("code",), ("first", "last"), ("ward",), ("sex", "floor"), ("sex", "group")]
    scores: dict[tuple[str, ...], list[float]] = {s: [] for s in sets}
    covered: dict[tuple[str, ...], list[bool]] = {s: [] for s in sets}
    random = np.random.default_rng(2)
    for _ in range(60):
        paid = grant(epsilon=20.0) if pure else grant(rho=3.0)
        measured = measure(counted, Purse(paid, 1), variables)
        for names in sets:
            try:
                found = noisy_table(domain, measured, [domain.place(n) for n in names])
            except ParameterError:
                continue  # classes, or a pair that was not chosen
            truth = table.counts(*names).dense()
            cell = random.choice(np.flatnonzero(found.errors.ravel() > 0))
            scores[names].append(float((found.counts - truth).ravel()[cell] / found.errors.ravel()[cell]))
            low, high = (end.ravel()[cell] for end in found.interval(0.9))
            covered[names].append(bool(low <= truth.ravel()[cell] <= high))
    for names in sets[:4]:
        z, n = np.array(scores[names]), len(scores[names])
        assert n == 60
        assert abs(z.mean()) < 4.9 / n**0.5, names
        kurtosis = 6.0 if pure else 3.0
        assert abs((z**2).mean() - 1) < 4.9 * ((kurtosis - 1) / n) ** 0.5, names
        least, most = stats.binom.ppf([5e-7, 1 - 5e-7], n, 0.9)
        assert least <= sum(covered[names]) <= (n if pure else most), names
    pairs = [z for names in sets[4:] for z in scores[names]]
    assert pure or (len(pairs) > 20 and abs(np.mean(pairs)) < 4.9 / len(pairs) ** 0.5)


def test_a_population_has_sampling_error_too(model: PrivateModel) -> None:
    data, people_ = model.table("v0", "v1"), model.table("v0", "v1", about="population")
    assert np.array_equal(data.counts, people_.counts) and (people_.errors > data.errors).all()
    assert np.allclose(model.table("v1", "v0").counts, data.counts.T)
    low, high = people_.interval(0.9)
    assert ((high - low) / people_.errors).ravel() == pytest.approx(2 * stats.norm.ppf(0.95))
    shown = data.to_arrow()
    assert shown.column_names == ["v0", "v1", "count", "standard_error", "low", "high"] and len(shown) == 4


def test_what_was_not_measured_is_refused(model: PrivateModel) -> None:
    few = PrivateSynthesizer(epsilon=0.01, delta=0).fit(table_of(chain(50), SIZES))
    missing = {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)} - {m.columns for m in few.measured.pairs}
    for a, b in missing:
        with pytest.raises(ParameterError, match="not measured"):
            few.table(f"v{a}", f"v{b}")
    for wrong in ({"about": "world"}, {}):
        with pytest.raises(ParameterError, match="one or two columns"):
            model.table(*(["v0"] if wrong else ["v0", "v1", "v2"]), **wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="confidence"):
        model.table("v0").interval(1.5)
