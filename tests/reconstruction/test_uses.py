"""After reconstruction: the same models on what was reconstructed and on the truth."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.errors import DataError, ParameterError
from sfumato.reconstruction.aggregate import Aggregates
from sfumato.reconstruction.baselines import EcologicalRegression, MoorePenrose
from sfumato.reconstruction.uses import average_of, fit_lasso, fit_random_intercepts
from sfumato.table import Table


def world(seed: int = 0) -> Table:
    """Charges rise by 1 with the stay; counties have levels of their own; ten columns say nothing."""
    draw = np.random.default_rng(seed)
    county = np.concatenate([np.arange(40), draw.integers(0, 40, 4_960)])
    stay = draw.gamma(3, 1, 5_000) + 1 + (county % 5) * 0.5
    level = draw.normal(size=40)
    charge = 3 + stay + level[county] + 0.3 * draw.normal(size=5_000)
    noise = {f"z{i}": draw.normal(size=5_000) for i in range(10)}
    sex = draw.choice(["f", "m"], 5_000)
    data = {"county": county.astype(str), "stay": stay, "sex": sex, **noise, "charge": charge}
    return Table.from_arrow(pa.table(data))


FULL = world()
FITTED = EcologicalRegression(correction=True, columns=["stay"]).fit(
    FULL.drop(["charge"]), Aggregates.compute(FULL, "county", "charge")
)
RESULT = FITTED.reconstruct()


def test_random_intercepts_are_those_of_statsmodels_and_of_the_world() -> None:
    import statsmodels.formula.api as smf

    truth = fit_random_intercepts(FULL, "charge", ["stay", "sex"], by="county")
    frame = FULL.to_arrow().to_pandas()
    known = smf.mixedlm("charge ~ stay + sex", frame, groups=frame["county"]).fit(reml=True)
    assert truth.slopes["stay"] == pytest.approx(known.params["stay"], abs=1e-6)
    assert truth.slopes["sex[1]"] == pytest.approx(known.params["sex[T.m]"], abs=1e-6)
    assert truth.effects["7"] == pytest.approx(float(known.random_effects["7"].iloc[0]), abs=1e-6)
    assert truth.noise == pytest.approx(0.3, rel=0.1) and truth.spread == pytest.approx(1, rel=0.5)
    assert truth.error(truth) == 0


def test_intercepts_from_the_reconstruction_are_compared_with_the_true_ones() -> None:
    truth = fit_random_intercepts(FULL, "charge", ["stay"], by="county")
    flat = MoorePenrose().fit(FULL.drop(["charge"]), Aggregates.compute(FULL, "county", "charge"))
    ours = fit_random_intercepts(RESULT, "charge", ["stay"], by="county")
    means = fit_random_intercepts(flat.reconstruct(), "charge", ["stay"], by="county")
    assert ours.error(truth) < means.error(truth)
    assert abs(ours.slopes["stay"] - 1) < abs(means.slopes["stay"] - 1)


def test_an_estimate_that_is_not_linear() -> None:
    arrow = FULL.to_arrow()
    plain = float((arrow["charge"].to_numpy() / arrow["stay"].to_numpy()).mean())
    ratio = lambda charge, stay: charge / stay  # noqa: E731
    assert average_of(FULL, ["charge", "stay"], ratio) == pytest.approx(plain, rel=1e-12)
    assert average_of(RESULT, ["charge", "stay"], ratio) == pytest.approx(plain, rel=0.2)
    with pytest.raises(DataError, match="no finite value for 5000 people"):
        average_of(FULL, ["stay"], lambda stay: stay * np.inf)
    with pytest.raises(ParameterError, match="one number for each person"):
        average_of(FULL, ["stay"], lambda stay: stay.mean())


def test_a_lasso_learnt_on_the_reconstruction_is_tried_on_the_truth() -> None:
    columns = ["stay", "sex", *(f"z{i}" for i in range(10))]
    truth = fit_lasso(FULL, "charge", columns)
    ours = fit_lasso(RESULT, "charge", columns)
    others = world(1)
    assert truth.weights["stay"] == pytest.approx(1, abs=0.2) and len(truth.weights) < 12
    assert truth.error(others, "charge") <= ours.error(others, "charge") < 1.5 * truth.error(others, "charge")
    stranger = others.to_arrow().slice(0, 3)
    place = stranger.column_names.index("sex")
    unknown = Table.from_arrow(stranger.set_column(place, "sex", pa.array(["x", "f", None])))
    found = ours.predict(unknown)  # a level that was not seen counts as the first one
    assert np.isfinite(found).all() and len(found) == 3


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"columns": "stay"}, "list of names"),
        ({"columns": []}, "list of names"),
        ({"columns": ["charge"]}, "named once"),
        ({"response": "sex"}, "holds no numbers"),
    ],
)
def test_bad_input_is_refused(wrong: dict, said: str) -> None:
    given = {"response": "charge", "columns": ["stay"], **wrong}
    with pytest.raises(ParameterError, match=said):
        fit_random_intercepts(FULL, given["response"], given["columns"], by="county")


def test_gaps_and_foreign_groups_are_refused_without_showing_a_cell() -> None:
    arrow = FULL.to_arrow()
    place = arrow.column_names.index("stay")
    holes = Table.from_arrow(arrow.set_column(place, "stay", pa.array([None, *[1.5] * 4_999])))
    with pytest.raises(DataError, match="is missing"):
        fit_lasso(holes, "charge", ["stay", "z0"])
    one = fit_random_intercepts(FULL, "charge", ["stay"], by="county")
    other = fit_random_intercepts(FULL, "charge", ["stay"], by="sex")
    with pytest.raises(ParameterError, match="no group in common"):
        one.error(other)
    twice = Table.from_arrow(arrow.append_column("z0 again", arrow["z0"]))
    with pytest.raises(DataError, match="repeat each other"):
        fit_random_intercepts(twice, "charge", ["z0", "z0 again"], by="county")
    with pytest.raises(ParameterError, match="folds"):
        fit_lasso(FULL, "charge", ["stay"], folds=1)
