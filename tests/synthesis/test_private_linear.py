"""Means and regressions of a private model: intervals hold what they are about as often as they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from private_tables import chain, grant, table_of
from scipy import stats
from tied_tables import SCHEMA, TIED, people

import sfumato as sf
from sfumato.counts import Codebook
from sfumato.errors import ParameterError
from sfumato.schema import Column, Kind
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.private import PrivateModel, PrivateSynthesizer
from sfumato.synthesis.private import linear_models as linear
from sfumato.synthesis.private.exact_counts import count
from sfumato.synthesis.private.measurement import measure
from sfumato.synthesis.private.purse import Purse
from sfumato.synthesis.private.variables import DomainVariables

SIZES = (2, 2, 2, 3)
FITS = 80
LAW = np.array([0.2, 0.0, 0.6])  # of v2 on 1, v0 and v1


@pytest.fixture(scope="module")
def model() -> PrivateModel:
    return PrivateSynthesizer(epsilon=5.0).fit(table_of(chain(2_000), SIZES))


def matrix(features: Any, codes: Any) -> Any:
    return np.array([f.values[codes[f.column]] if f.column is not None else np.ones(codes.shape[1])
                     for f in features])  # fmt: skip


def held(scores: Any, pure: bool = False) -> None:
    """Errors over standard errors: mean 0, variance 1, 90% within; false alarms one in a million each."""
    z = np.array(scores)
    n = len(z)
    assert (np.abs(z.mean(axis=0)) < (6.5 if pure else 4.9) / n**0.5).all()
    if pure:  # sums of Laplace noise: tails no heavier than one of them alone, so this is far out
        assert ((z**2).mean(axis=0) < 3).all() and ((z**2).mean(axis=0) > 0.3).all()
        return
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], n)
    assert (((z**2).sum(axis=0) >= low) & ((z**2).sum(axis=0) <= high)).all()
    least, most = stats.binom.ppf([5e-7, 1 - 5e-7], n, 0.9)
    inside = (np.abs(z) <= stats.norm.ppf(0.95)).sum(axis=0)
    assert ((inside >= least) & (inside <= most)).all()


@pytest.mark.parametrize("pure", [False, True], ids=["zCDP", "pure"])
def test_coefficients_of_the_data_are_held(pure: bool) -> None:
    codes = chain(2_000)
    table = table_of(codes, SIZES)
    domain = Domain.of(table.schema)
    variables = DomainVariables.of(domain)
    counted = count(table, domain, variables, 1)
    features, outcome = linear.regression(domain, "v2", ["v0", "v1"], ["v1"])
    assert [f.name for f in features] == ["(constant)", "v0", "v1: 1"]
    x = matrix([*features, outcome], codes)
    truth = np.linalg.lstsq(x[:-1].T, x[-1], rcond=None)[0]
    scores = []
    for _ in range(FITS):
        paid = grant(epsilon=8.0) if pure else grant(rho=0.3)
        measured = measure(counted, Purse(paid, 1), variables)
        if {(0, 1), (0, 2), (1, 2)} <= {m.columns for m in measured.pairs}:
            found = linear.least_squares(domain, measured, features, outcome, "data", codes.astype(np.uint16))
            scores.append((found.estimates - truth) / found.errors)
    assert len(scores) > 20  # pairs are chosen by noisy scores
    held(scores, pure)


def test_coefficients_of_a_population_are_held() -> None:
    """Each fit has people of its own; yes and no has another variance for each of them."""
    scores, noise = [], []
    for seed in range(FITS):
        codes = chain(1_500, seed + 1)
        table = table_of(codes, SIZES)
        domain = Domain.of(table.schema)
        variables = DomainVariables.of(domain)
        measured = measure(count(table, domain, variables, 1), Purse(grant(rho=0.5), 1), variables)
        features, outcome = linear.regression(domain, "v2", ["v0", "v1"], [])
        rows = chain(5_000, 999).astype(np.uint16)
        found = linear.least_squares(domain, measured, features, outcome, "population", rows)
        scores.append((found.estimates - LAW) / found.errors)
        alone = linear.least_squares(domain, measured, features, outcome, "data", rows)
        noise.append((found.estimates - LAW) / alone.errors)
    held(scores)
    with pytest.raises(AssertionError):
        held(noise)  # the noise alone is not the whole error


def test_tied_columns_take_part() -> None:
    """Groups of codes, ordered numbers and one-to-one ties: each measurement counts once."""
    table = people(2_000, 1)
    domain = Domain.of(SCHEMA, constraints=TIED)
    variables = DomainVariables.of(domain, fine=False)
    counted = count(table, domain, variables, 1)
    features, outcome = linear.regression(domain, "last", ["first", "group", "sex"], [])
    codes = table.encode().codes
    x = matrix([*features, outcome], codes)
    truth = np.linalg.lstsq(x[:-1].T, x[-1], rcond=None)[0]
    scores = []
    for _ in range(12):
        measured = measure(counted, Purse(grant(rho=20.0), 1), variables)
        found = linear.least_squares(domain, measured, features, outcome, "data", codes.astype(np.uint16))
        scores.append((found.estimates - truth) / found.errors)
    held(scores)


def test_means_and_differences(model: PrivateModel) -> None:
    codes = chain(2_000)
    by = model.mean("v2", by="v1")
    assert by.names == ("v1: 0", "v1: 1") and by.about == "data"
    truth = [codes[2][codes[1] == level].mean() for level in (0, 1)]
    assert (np.abs(by.estimates - truth) < 6 * by.errors).all() and (by.errors < 0.05).all()
    apart = by.difference("v1: 1", "v1: 0")
    assert apart.estimates[0] == pytest.approx(by.estimates[1] - by.estimates[0])
    spread = by.covariance
    assert apart.errors[0] ** 2 == pytest.approx(spread[0, 0] + spread[1, 1] - 2 * spread[0, 1])
    wider = model.mean("v2", by="v1", about="population")
    assert (wider.errors > by.errors).all() and np.array_equal(wider.estimates, by.estimates)
    share = codes[2].mean() * (1 - codes[2].mean())
    whole = model.mean("v2", about="population")
    assert whole.errors[0] ** 2 - model.mean("v2").errors[0] ** 2 == pytest.approx(share / 2_000, rel=0.1)
    shown = model.regression("v2", ["v0", "v1"]).to_arrow(0.9)
    assert shown.column_names == ["name", "estimate", "standard_error", "low", "high"] and len(shown) == 3


def test_what_cannot_be_known_is_refused(model: PrivateModel) -> None:
    few = PrivateSynthesizer(epsilon=0.05).fit(table_of(chain(300), SIZES))
    with pytest.raises(ParameterError, match=r"not measured|too large"):
        few.regression("v3", ["v0", "v1", "v2"])
    with pytest.raises(ParameterError, match="named twice"):
        model.regression("v2", ["v2", "v1"])
    with pytest.raises(ParameterError, match="categories among"):
        model.regression("v2", ["v1"], categories=["v0"])
    with pytest.raises(ParameterError, match="named twice"):
        model.mean("v2", by="v2")
    with pytest.raises(ParameterError, match="about 'data'"):
        model.mean("v2", about="everyone")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="no such coefficient"):
        model.mean("v2", by="v1").difference("v1: 0", "v1: 7")
    persons = PrivateSynthesizer(5.0, max_rows_per_person=2).fit(table_of(chain(500), SIZES, range(500)))
    assert persons.mean("v2").errors[0] > 0
    with pytest.raises(ParameterError, match="several rows of a person"):
        persons.mean("v2", about="population")


def test_numbers_that_are_names_have_no_mean() -> None:
    wards = Column("ward", Kind.NOMINAL, type="integer", levels=(1, 2, 3), missing=False)
    with pytest.raises(ParameterError, match="more than two levels"):
        linear.score(Codebook.declared(wards), 0)
    ill = Column("ill", Kind.NOMINAL, type="integer", levels=(0, 1), missing=False)
    assert linear.score(Codebook.declared(ill), 0).values.tolist() == [0.0, 1.0]


def test_a_rare_level_among_many_is_refused() -> None:
    """Four people of 4,000 under noise of about two: its mean may be anything, the others are well known."""
    random = np.random.default_rng(0)
    codes = np.stack([random.integers(0, 19, 4_000), random.integers(0, 2, 4_000)])
    codes[0, :4] = 19
    table = table_of(codes, (20, 2))
    domain = Domain.of(table.schema)
    variables = DomainVariables.of(domain)
    counted, terms = count(table, domain, variables, 1), linear.means(domain, "v1", "v0")
    given = 0
    for _ in range(20):
        measured = measure(counted, Purse(grant(rho=0.2), 1), variables)
        try:
            linear.least_squares(domain, measured, *terms, "data", codes.astype(np.uint16))
        except ParameterError as error:
            assert "could not be trusted" in str(error)
        else:
            given += 1
    assert given <= 8  # 2.7% of 1,000 were; 74% where rare levels hid behind the others


def test_what_is_no_number_is_refused() -> None:
    fitted = PrivateSynthesizer(epsilon=20.0, constraints=TIED).fit(people(300, 2))
    with pytest.raises(ParameterError, match="more than two levels"):
        fitted.mean("ward")
    with pytest.raises(ParameterError, match="may be missing"):
        fitted.mean("code")
    with pytest.raises(ParameterError, match="last - first"):
        fitted.mean("last")
    assert fitted.mean("sex").names == ("sex: m",)
    assert isinstance(fitted.mean("first").interval(0.9)[0], np.ndarray)
    assert sf.PrivateModel is PrivateModel
