"""Generalized linear models inside PeGS: right as models, paid for once, and drawn as they say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from declared import PUBLIC
from hypothesis import given
from hypothesis import strategies as st
from pegs_oracle import FALSE_ALARM
from scipy import stats

from sfumato.assessment.audit import audit
from sfumato.counts import Codebook
from sfumato.errors import ParameterError
from sfumato.privacy import Budget, Ledger, Neighbours
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.synthesis import models
from sfumato.synthesis.blocks import Blocks
from sfumato.synthesis.constraints import Never
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.pegs import PeGS
from sfumato.synthesis.perturbation import dirichlet_alpha, entropies
from sfumato.synthesis.sampler import Sampler, trace
from sfumato.table import Table

GROUPS = ("a", "b", "c")
PARENTS = {"y": ["g", "h"], "g": ["h"]}


def made(rows: Sequence[tuple[str, int, float | None]], **number: Any) -> Table:
    """Columns g (three levels), h (two), and y in bins."""
    kind = {"edges": tuple(range(0, 41)), "missing": True, "type": "real"} | number
    columns = (
        Column("g", Kind.NOMINAL, levels=GROUPS, missing=False, provenance=PUBLIC),
        Column("h", Kind.ORDINAL, type="integer", levels=(0, 1), missing=False, provenance=PUBLIC),
        Column("y", Kind.NUMERIC, provenance=PUBLIC, **kind),
    )
    g, h, y = zip(*rows, strict=True) if rows else ((), (), ())
    floats = pa.array(y, pa.float64())
    last = floats.cast(pa.int64()) if kind["type"] == "integer" else floats
    arrays = [pa.array(g, pa.string()), pa.array(h, pa.int64()), last]
    return Table.from_arrow(pa.table(arrays, names=["g", "h", "y"]), Schema(columns))


def centres(factors: bool) -> Any:
    if factors:
        return 9 * np.multiply.outer([1.0, 1.5, 2.2], [1.0, 0.8])
    return np.add.outer([10.0, 16.0, 22.0], [0.0, -4.0])


def simulated(rows: int, seed: int, *, factors: bool = False, **number: Any) -> Table:
    """y has mean 10 + 6 [b] + 12 [c] - 4 h, or effects that multiply, and spread 3; a tenth is missing."""
    draw = np.random.default_rng(seed)
    g, h = draw.integers(0, 3, rows), draw.integers(0, 2, rows)
    y = np.clip(centres(factors)[g, h] + 3 * draw.standard_normal(rows), 0, 39.9)
    y = np.rint(y) if number.get("type") == "integer" else y
    there = draw.random(rows) > 0.1
    return made(
        [(GROUPS[a], int(b), float(c) if d else None) for a, b, c, d in zip(g, h, y, there, strict=True)],
        **number,
    )


def blocks_of(table: Table) -> Blocks:
    return Blocks.fit(table, Domain.of(table.schema), PARENTS)


def oracle(family: str, x: Any, y: Any) -> Any:
    import statsmodels.api as sm

    kinds = {"normal": sm.families.Gaussian(), "poisson": sm.families.Poisson(),
             "gamma": sm.families.Gamma(sm.families.links.Log())}  # fmt: skip
    return sm.GLM(y, sm.add_constant(x), family=kinds[family]).fit().params


@pytest.mark.parametrize("family", ["normal", "poisson", "gamma"])
def test_coefficients_are_those_of_a_glm(family: str) -> None:
    """From sums by key, without a penalty: the same as statsmodels from every row."""
    draw = np.random.default_rng(1)
    x = draw.integers(0, 2, (4_000, 3)).astype(float)
    y = np.clip(np.exp(-2 + x @ [0.3, -0.5, 0.2]) * draw.gamma(4, 0.25, len(x)), 1e-3, 1.0)
    keys, which = np.unique(x, axis=0, return_inverse=True)
    n, s = np.bincount(which.ravel()), np.bincount(which.ravel(), y)
    found = models.fit_glm(keys, n.astype(float), s, family, 1e-12)
    assert found == pytest.approx(oracle(family, x, y), abs=1e-5)


@given(
    mean=st.floats(0.05, 0.9),
    spread=st.floats(0.005, 0.5),
    family=st.sampled_from(("normal", "gamma", "poisson")),
)
def test_bins_have_the_expected_value_and_square_of_the_law(mean: float, spread: float, family: str) -> None:
    """Against sums and integrals of the density."""
    whole = family == "poisson"
    column = Column(
        "y", Kind.NUMERIC, type="integer" if whole else "real", edges=(0, 1, 3, 9, 30), provenance=PUBLIC
    )
    scale = models.BinScale.of(Codebook.declared(column), family)
    law = models.Family(family, scale)
    first, second = law.moments(np.array([mean]), spread)
    if whole:
        y = np.arange(0, 31)
        density, value = stats.nbinom.pmf(y, 1 / spread, 1 / (1 + spread * mean * scale.span)), y / scale.span
        where = [(y >= a) & (y <= b) for a, b in zip(scale.low, scale.high, strict=True)]
    else:
        value = np.linspace(0, 1, 600_001)[1:]
        value = value - value[0] / 2
        frozen = (
            stats.norm(mean, math.sqrt(spread))
            if family == "normal"
            else stats.gamma(1 / spread, scale=spread * mean)
        )
        density = frozen.pdf(value)
        where = [(value >= a) & (value < b) for a, b in zip(scale.low, scale.high, strict=True)]
    for j, inside in enumerate(where):
        mass = density[inside].sum()
        if mass / density.sum() > 1e-3:
            assert first[0, j] == pytest.approx((density * value)[inside].sum() / mass, rel=2e-3, abs=1e-5)
            assert second[0, j] == pytest.approx(
                (density * value**2)[inside].sum() / mass, rel=4e-3, abs=1e-5
            )


def test_a_wide_last_bin_is_not_taken_at_its_middle() -> None:
    """Log-normal numbers, the last bin twenty times as long as all others: the median comes out right."""
    draw = np.random.default_rng(11)
    y = np.minimum(np.exp(3 + draw.standard_normal(20_000)), 1_999)
    table = made([("a", 0, float(v)) for v in y], edges=(0, 5, 10, 20, 40, 70, 100, 2_000), missing=False)
    weights = models.learn({"y": "lognormal"}, blocks_of(table), 0.0, Neighbours.ADD_REMOVE)["y"][0]
    real = np.histogram(y, [0, 5, 10, 20, 40, 70, 100, 2_000])[0] / len(y)
    assert np.abs(weights / weights.sum() - real).sum() / 2 < 0.06


@pytest.mark.parametrize(("neighbours", "factor"), [("add/remove", 1), ("replace", 2)])
def test_noise_has_the_stated_scale(neighbours: str, factor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every draw of a fit: one for each model, on its table, and amounts that add up to epsilon."""
    seen: list[tuple[int, float, int]] = []
    genuine = models.laplace

    def watched(values: Any, sensitivity: int, grant: Any) -> Any:
        seen.append((sensitivity, grant.epsilon, int(np.sum(values))))
        return genuine(values, sensitivity, grant)

    monkeypatch.setattr(models, "laplace", watched)
    models.learn({"y": "normal"}, blocks_of(simulated(50, 1)), 0.9, Neighbours(neighbours))
    [(sensitivity, amount, rows)] = seen
    assert sensitivity == factor and rows == 50 and amount == pytest.approx(0.9) and amount <= 0.9


@pytest.mark.parametrize("family", models.FAMILIES)
def test_laws_recover_the_truth(family: str) -> None:
    """Means of every key, from exact sums and from noisy ones; effects add up, or multiply."""
    counts = {"type": "integer"} if family == "poisson" else {}
    table = simulated(30_000, 2, factors=family != "normal", **counts)
    blocks = blocks_of(table)
    for epsilon in (0.0, 3.0):
        weights = models.learn({"y": family}, blocks, epsilon, Neighbours.ADD_REMOVE)["y"].astype(float)
        laws = weights[:, :-1] / weights[:, :-1].sum(axis=1, keepdims=True)
        middle = np.append(np.arange(39), 39.5) if counts else np.arange(40) + 0.5
        mean = (laws @ middle).reshape(3, 2)
        truth = centres(family != "normal")
        assert np.abs(mean / truth - 1).max() < (0.1 if family == "lognormal" else 0.06)
        assert weights[:, -1] / weights.sum(axis=1) == pytest.approx(0.1, abs=0.03)


def test_a_law_of_whole_numbers_is_the_negative_binomial() -> None:
    draw = np.random.default_rng(3)
    y = np.minimum(draw.negative_binomial(2, 2 / (2 + 5), 40_000), 60)
    column = Column(
        "y", Kind.NUMERIC, type="integer", edges=tuple(range(0, 62)), missing=False, provenance=PUBLIC
    )
    flag = Column("f", Kind.NOMINAL, levels=("x", "z"), missing=False, provenance=PUBLIC)
    table = Table.from_arrow(pa.table({"y": y, "f": ["x"] * len(y)}), Schema((column, flag)))
    blocks = Blocks.fit(table, Domain.of(table.schema), {})
    weights = models.learn({"y": "poisson"}, blocks, 0.0, Neighbours.ADD_REMOVE)["y"][0]
    expected = stats.nbinom.pmf(np.arange(61), 2, 2 / 7)
    assert np.abs(weights / weights.sum() - expected / expected.sum()).sum() / 2 < 0.02


@pytest.mark.parametrize("block", [None, 7])
@pytest.mark.parametrize("constraints", [(), (Never({"g": "a", "h": 0}),)])
def test_rows_are_drawn_from_the_laws(block: int | None, constraints: tuple[Never, ...]) -> None:
    """Given its parents y follows its model, in every row of a block: there is nothing to reset."""
    method = PeGS(
        alpha=1.0, parents={"y": ["g", "h"]}, block=block, models={"y": "normal"}, constraints=constraints
    )
    fitted = method.fit(simulated(500, 4))
    codes = Sampler(fitted.laws(50_000), Key.fresh(), 1, block).codes(0, 49_000)
    keys = codes[0].astype(int) * 2 + codes[1]
    for key in range(6):
        weights = fitted.models["y"][key].astype(float)
        n = np.bincount(codes[2][keys == key], minlength=len(weights))
        if constraints and key == 0:
            assert not n.sum()
            continue
        expected = weights / weights.sum() * n.sum()
        large = expected >= 5
        o, e = np.append(n[large], n[~large].sum()), np.append(expected[large], expected[~large].sum())
        assert stats.chi2.sf(((o - e) ** 2 / np.maximum(e, 1e-9)).sum(), large.sum()) > FALSE_ALARM / 6


def test_loops_agree_with_plain_python() -> None:
    method = PeGS(epsilon_per_row=1.0, parents=PARENTS, block=4, models={"y": "gamma"})
    sampler = Sampler(method.fit(simulated(300, 5)).laws(4), Key.fresh(), 1, 4)
    for row, codes in enumerate(sampler.codes(0, 8).T):
        assert (trace(sampler, row)[-1] == codes).all()


def test_a_model_is_paid_for_once() -> None:
    """Eq. (8) with two variables that pay, and the models' epsilon once for any number of rows."""
    table = simulated(300, 6)
    fitted = PeGS(epsilon_per_row=0.5, parents=PARENTS, models={"y": "normal"}, models_epsilon=0.25).fit(
        table
    )
    assert fitted.alphas(1) == {n: pytest.approx(dirichlet_alpha(0.5, 2)) for n in ("g", "h")}
    assert fitted.spends(10) == pytest.approx(5.25) and fitted.spends(1) == pytest.approx(0.75)
    claim = fitted.sample(10).guarantee.claims[0]
    assert claim.epsilon == pytest.approx(5.25)  # type: ignore[attr-defined]
    assert any("models of y" in text for text in claim.assumptions)
    total = PeGS(epsilon=2.0, parents=PARENTS, models={"y": "normal"}).fit(table)
    assert total.spends(100) == 2.0 and total.method.on_models == 0.2
    assert total.alphas(100)["g"] == pytest.approx(dirichlet_alpha(1.8 / 100, 2))
    assert PeGS(alpha=2.0, parents=PARENTS, models={"y": "normal"}).fit(table).spends(3) == pytest.approx(
        1.0 + 3 * 2 * math.log(1.5)
    )


def test_what_a_grant_must_cover_includes_the_models() -> None:
    fitted = PeGS(epsilon_per_row=0.5, parents=PARENTS, models={"y": "normal"}, models_epsilon=1.0).fit(
        simulated(50, 7)
    )
    ledger = Ledger.in_memory(Budget(epsilon=5.0))
    with pytest.raises(Exception, match="does not cover"):
        fitted.sample(2, grant=ledger.grant(epsilon=1.5, purpose="rows"))
    fitted.sample(2, grant=ledger.grant(epsilon=2.0, purpose="rows"))


@pytest.mark.parametrize("draws", [150, pytest.param(20_000, marks=pytest.mark.soak)])
def test_the_audit_passes_with_models_learnt_anew_each_time(draws: int) -> None:
    """Noise and rows together: a table and one with a person more at the far end."""
    rows: list[tuple[str, int, float | None]] = [("a", 0, 1.0)] * 3 + [("b", 1, 2.0)] * 2
    tables = made(rows, edges=(0, 10, 20, 30, 40)), made([*rows, ("c", 1, 39.0)], edges=(0, 10, 20, 30, 40))
    method = PeGS(epsilon_per_row=1.0, parents=PARENTS, models={"y": "normal"}, models_epsilon=1.0)

    def run(table: Table, n: int) -> Any:
        blocks, fitted = blocks_of(table), method.fit(table)
        out = []
        for _ in range(n):
            laws = models.learn(method.models, blocks, 1.0, method.neighbours)
            again = type(fitted)(method, fitted.blocks, models=laws)
            out.append(Sampler(again.laws(1), Key.fresh()).codes(0, 1)[:, 0])
        return np.array(out)

    assert not audit(run, *tables, claim=2.0, draws=draws, error=1e-6).refutes()


def test_entropies_are_lifted_too() -> None:
    fitted = PeGS(log_l=2.0, parents=PARENTS, cap=True, models={"y": "normal"}).fit(simulated(400, 8))
    law = next(w for w in fitted.laws(1).laws if w.block.column == "y")
    weights = law.weights.astype(float)
    assert entropies(weights / weights.sum(axis=1, keepdims=True)).min() >= 2.0 - 1e-9
    assert "not differentially private" in str(fitted.sample(5).guarantee)


def test_weighted_rows_have_models() -> None:
    """A group that weighs nine times as much moves the mean as nine times as many rows would."""
    weight = Column("w", Kind.NUMERIC, Role.WEIGHT, type="real", edges=(0, 9), provenance=PUBLIC)
    plain = made([("a", 0, 5.0)] * 300 + [("a", 0, 15.0)] * 300)
    both = plain.to_arrow().append_column("w", pa.array([9.0] * 300 + [1.0] * 300))
    table = Table.from_arrow(both, Schema((*plain.schema, weight)))
    fitted = PeGS(alpha=1.0, parents={}, models={"y": "normal"}, models_epsilon=50.0, weight="w").fit(table)
    law = fitted.models["y"][0][:-1].astype(float)
    assert law @ (np.arange(40) + 0.5) / law.sum() == pytest.approx(6.5, abs=0.4)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"models": {"y": "cauchy"}}, "models must be"),
        ({"models": {"z": "normal"}}, "no column 'z'"),
        ({"models": {"g": "normal"}}, "'g' is not a number"),
        ({"models": {"y": "poisson"}}, "whole numbers"),
        ({"models": {"y": "normal"}, "models_epsilon": -1.0}, "models_epsilon"),
        (
            {"models": {"y": "normal"}, "epsilon": 1.0, "epsilon_per_row": None, "models_epsilon": 1.0},
            "whole epsilon",
        ),
        ({"models": {"y": "normal"}, "columns": ["y", "g"], "parents": {"y": ["h"]}}, "no such column"),
    ],
)
def test_refusals(more: dict[str, Any], words: str) -> None:
    settings: dict[str, Any] = {"epsilon_per_row": 1.0, "parents": PARENTS} | more
    with pytest.raises(ParameterError, match=words):
        PeGS(**settings).fit(simulated(20, 9))


def test_ends_must_be_finite_and_gamma_is_never_negative() -> None:
    for edges, family in (((0, 10, math.inf), "normal"), ((-5, 0, 5), "gamma"), ((-5, 0, 5), "poisson")):
        with pytest.raises(ParameterError):
            PeGS(epsilon_per_row=1.0, parents={}, models={"y": family}).fit(
                made([("a", 0, 1.0)], edges=edges)
            )
