"""The private synthesizer as users meet it: promises, refusals, persons, constraints, files."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from declared import PUBLIC
from private_tables import chain, codes_of, table_of
from scipy import stats

import sfumato as sf
from sfumato.counts.persons import at_most
from sfumato.privacy import ApproxDP, Budget, PureDP
from sfumato.privacy.base import Unit
from sfumato.synthesis.constraints import Never
from sfumato.synthesis.private import PrivateModel, PrivateSynthesizer
from sfumato.synthesis.private.exact_counts import Counted, candidates

SIZES = (2, 2, 2, 3)
ROWS = 4_000


@pytest.fixture(scope="module")
def model() -> PrivateModel:
    return PrivateSynthesizer(epsilon=3.0, target="v2").fit(table_of(chain(ROWS), SIZES))


# -- what is promised -----------------------------------------------------------------------------


def test_the_claim_is_what_was_asked_for(model: PrivateModel) -> None:
    claim = model.guarantee.claims[0]
    assert isinstance(claim, ApproxDP) and claim.delta == 1e-9
    assert 2.999 < claim.epsilon <= 3.0
    assert model.sample(100, seed=1).guarantee == model.guarantee  # a seed voids nothing: the noise has none


def test_without_delta_the_claim_is_pure() -> None:
    fitted = PrivateSynthesizer(epsilon=2.0, delta=0).fit(table_of(chain(500), SIZES))
    claim = fitted.guarantee.claims[0]
    assert isinstance(claim, PureDP) and claim.epsilon == 2.0
    assert {m.law for _, m in fitted.measured.everything()} == {"discrete Laplace"}
    assert sum(m.amount for _, m in fitted.measured.everything()) <= 2.0


def test_what_was_spent_is_within_the_budget(model: PrivateModel) -> None:
    spent = sum(m.amount for _, m in model.measured.everything())
    total = PrivateSynthesizer(epsilon=3.0).rho
    assert total is not None and 0.99 * total < spent <= total


def test_a_ledger_pays_once_and_refuses_the_second_time() -> None:
    method, table = PrivateSynthesizer(epsilon=1.0), table_of(chain(300), SIZES)
    ledger = sf.Ledger.in_memory(method.budget(table.schema))
    method.fit(table, ledger=ledger)
    assert ledger.left < 1e-9
    with pytest.raises(sf.BudgetError):
        method.fit(table, ledger=ledger)
    other = sf.Ledger.in_memory(Budget(rho=1.0, unit=Unit.person(3)))
    with pytest.raises(sf.BudgetError, match="for"):
        method.fit(table, ledger=other)
    assert other.left == 1.0


# -- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [{"epsilon": 0}, {"epsilon": -1.0}, {"epsilon": 1e6}, {"epsilon": float("nan")}, {"delta": 0.5},
     {"max_rows_per_person": 0}, {"declared_rows": 0}, {"declared_rows": 1.5}, {"target": 3},
     {"columns": "v0"},
     {"constraints": ("x",)}],
)  # fmt: skip
def test_parameters_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(sf.ParameterError):
        PrivateSynthesizer(**wrong)


def test_all_faults_are_said_at_once() -> None:
    with pytest.raises(sf.ParameterError, match=r"epsilon.*delta.*rows"):
        PrivateSynthesizer(epsilon=-1, delta=2, declared_rows=-3)
    open_ = sf.Table.from_arrow(pa.table({"a": ["x", "y"], "b": ["x", "y"]}))
    with pytest.raises(sf.SchemaError, match=r"'a', 'b'"):
        PrivateSynthesizer().fit(open_)


def test_bad_input_costs_nothing() -> None:
    table = table_of(chain(50), SIZES)
    ledger = sf.Ledger.in_memory(Budget(rho=1.0))
    with pytest.raises(sf.ParameterError, match="target"):
        PrivateSynthesizer(target="nowhere").fit(table, ledger=ledger)
    outside = sf.Table.from_arrow(pa.table({f"v{j}": [9, 9] for j in range(4)}), table.schema)
    with pytest.raises(sf.DataError):
        PrivateSynthesizer().fit(outside, ledger=ledger)
    assert ledger.spent == 0


def test_draws_are_checked(model: PrivateModel) -> None:
    with pytest.raises(sf.ParameterError):
        model.sample(0)
    with pytest.raises(sf.ParameterError):
        model.sample(5, key=sf.Key.fresh(), seed=1)


# -- persons --------------------------------------------------------------------------------------


def test_each_person_keeps_at_most_so_many_rows() -> None:
    persons = np.random.default_rng(0).integers(0, 50, 400)
    kept = at_most(persons, 3, sf.Key.fresh())
    have, keep = Counter(persons.tolist()), Counter(persons[kept].tolist())
    assert all(keep[p] == min(3, n) for p, n in have.items())


def test_rows_of_a_person_are_kept_with_equal_chance() -> None:
    """One person of four rows keeps one: chi-square at 1e-6."""
    persons = np.repeat(np.arange(4_000), 4)
    kept = at_most(persons, 1, sf.Key.fresh()).reshape(-1, 4).sum(axis=0)
    assert stats.chisquare(kept).pvalue > 1e-6


def test_a_person_column_makes_the_promise_one_to_persons() -> None:
    codes = chain(600)
    fitted = PrivateSynthesizer(epsilon=5.0, max_rows_per_person=2).fit(
        table_of(codes, SIZES, np.arange(600) % 100)
    )
    assert fitted.guarantee.claims[0].unit == Unit.person(2)
    assert "who" not in fitted.columns
    assert abs(fitted.rows - 200) < 200  # 100 persons with two rows each, and noise
    alone = PrivateSynthesizer(epsilon=5.0, declared_rows=600).fit(table_of(codes, SIZES))
    assert fitted.measured.own[0].sigma > 1.5 * alone.measured.own[0].sigma


# -- rows -----------------------------------------------------------------------------------------


def test_columns_that_have_nothing_to_do_with_each_other_stay_so(model: PrivateModel) -> None:
    for rows in (model.fresh(0, 60_000, sf.Key.fresh()), model.codes(20_000, sf.Key.fresh())):
        table = np.histogram2d(rows[0], rows[3], bins=[2, 3])[0] / rows.shape[1]
        alone = np.outer(table.sum(axis=1), table.sum(axis=0))
        assert np.abs(table - alone).sum() / 2 < 0.03


def test_rows_are_the_same_however_they_are_drawn(model: PrivateModel) -> None:
    key = sf.Key.from_seed(4)
    whole = model.fresh(0, 1_000, key)
    parts = [model.fresh(a, b - a, key) for a, b in ((0, 1), (1, 333), (333, 1_000))]
    assert np.array_equal(whole, np.concatenate(parts, axis=1))
    assert np.array_equal(whole, model.fresh(0, 1_000, key, threads=3))
    first, second = (model.sample(500, seed=9).data.to_arrow() for _ in range(2))
    assert first.equals(second)
    assert not first.equals(model.sample(500, seed=10).data.to_arrow())


def test_calibrated_rows_have_the_measured_tables(model: PrivateModel) -> None:
    release = model.sample(seed=2)
    assert release.data.rows() == model.rows
    wanted = model.counts("v0", "v1").dense()
    found = release.counts("v0", "v1").dense()
    assert np.abs(found - wanted).sum() / 2 / model.rows < 0.01
    truth = Counted.of_codes(chain(ROWS).astype(np.uint16), SIZES).pair((0, 1))
    assert np.abs(found / found.sum() - truth / ROWS).sum() / 2 < 0.05


@pytest.mark.parametrize("calibrate", [True, False])
def test_what_cannot_be_never_is(calibrate: bool) -> None:
    constraints = (Never({"v0": 0, "v1": 1}), Never({"v1": 0, "v2": 1, "v3": [1, 2]}))
    fitted = PrivateSynthesizer(epsilon=1.0, constraints=constraints).fit(table_of(chain(2_000), SIZES))
    rows = codes_of(fitted.sample(5_000, calibrate=calibrate).data)
    assert not ((rows[0] == 0) & (rows[1] == 1)).any()
    assert not ((rows[1] == 0) & (rows[2] == 1) & (rows[3] > 0)).any()
    assert ((rows[0] == 1) & (rows[1] == 1)).any()


@pytest.mark.parametrize("delta", [1e-9, 0.0])
def test_rows_count_by_weight(delta: float, tmp_path: Path) -> None:
    codes = np.stack([np.arange(6_000) % 2, np.arange(6_000) % 2, np.arange(6_000) % 3])
    plain = table_of(codes, (2, 2, 3))
    weights = np.where(codes[0] == 1, 30.0, 10.0)  # three quarters, not half; 120,000 in all
    edges = {"edges": (0.0, 40.0), "provenance": PUBLIC, "type": "real"}
    schema = sf.Schema((*plain.schema, sf.Column("w", sf.Kind.NUMERIC, sf.Role.WEIGHT, **edges)))
    table = sf.Table.from_arrow(plain.to_arrow().append_column("w", pa.array(weights)), schema)
    fitted = PrivateSynthesizer(epsilon=20.0, delta=delta, weight="w").fit(table)
    assert fitted.columns == ("v0", "v1", "v2") and fitted.rows == pytest.approx(3_000, rel=0.02)
    release = sf.PrivateModel.load(fitted.save(tmp_path / "m.sfm")).sample(4_000, seed=1)
    made = codes_of(release.data)
    assert made[0].mean() == pytest.approx(0.75, abs=0.03) and (made[0] == made[1]).mean() > 0.95
    stood = int(release.about.split("about ")[1].split()[0].replace(",", ""))
    assert stood == pytest.approx(120_000, rel=0.02) and "largest weight" in release.guarantee.text()
    sigma = [m.sigma for m in PrivateSynthesizer(epsilon=20.0, delta=delta).fit(plain).measured.own]
    assert [m.sigma for m in fitted.measured.own] == pytest.approx(sigma, rel=0.3)  # that of a whole row


def test_weights_that_do_not_fit_are_refused() -> None:
    with pytest.raises(sf.ParameterError, match="not the sum of their weights"):
        PrivateSynthesizer(weight="w", declared_rows=100)
    with pytest.raises(sf.SchemaError, match="largest weight that counts"):
        PrivateSynthesizer(weight="v0").fit(table_of(chain(50), SIZES))


def test_a_small_budget_is_said_to_be_small() -> None:
    codes = np.random.default_rng(0).integers(0, 6, (6, 300))
    poor = PrivateSynthesizer(epsilon=0.05).fit(table_of(codes, (6,) * 6))
    assert poor.notes and "independent" in poor.sample(50).about


def test_every_pair_that_was_not_measured_is_named(model: PrivateModel) -> None:
    every = [(f"v{a}", f"v{b}") for a in range(4) for b in range(a + 1, 4)]
    for pairs in (model.measured.pairs, ()):
        found = replace(model, measured=replace(model.measured, pairs=pairs))
        known = {(f"v{m.columns[0]}", f"v{m.columns[1]}") for m in pairs}
        assert found.unmeasured == tuple(p for p in every if p not in known)
        assert len(found.notes) == bool(found.unmeasured)  # a good budget needs no other
        assert all(f"'{a}' with '{b}'" in found.sample(10).about for a, b in found.unmeasured)


# -- files ----------------------------------------------------------------------------------------


def test_a_model_is_the_same_after_a_file(model: PrivateModel, tmp_path: Path) -> None:
    path = model.save(tmp_path / "model.sfm")
    again = PrivateModel.load(path)
    assert again.guarantee == model.guarantee and again.rows == model.rows
    assert again.measurements.equals(model.measurements)
    key = sf.Key.from_seed(1)
    assert np.array_equal(again.fresh(0, 200, key), model.fresh(0, 200, key))
    assert np.array_equal(again.codes(200, key), model.codes(200, key))
    with pytest.raises(sf.OutputError):
        model.save(path)
    with pytest.raises(sf.SfumatoError):
        pickle.dumps(model)
    (tmp_path / "broken.sfm").write_bytes(path.read_bytes()[:200])
    with pytest.raises(sf.DataError):
        PrivateModel.load(tmp_path / "broken.sfm")


def test_measurements_are_all_that_is_known(model: PrivateModel) -> None:
    table = model.measurements
    assert set(table["what"].to_pylist()) == {"rows", "scores", "column", "pair"}
    assert min(table["sigma"].to_pylist()) > 0
    release = model.sample(10)
    assert release.internal is not None and release.internal.fingerprint is None


# -- real data ------------------------------------------------------------------------------------


def test_levels_that_pairs_do_not_tell_apart_are_said() -> None:
    random = np.random.default_rng(1)
    codes = np.stack([random.integers(0, 150, 500), random.integers(0, 150, 500), random.integers(0, 2, 500)])
    model = PrivateSynthesizer(epsilon=5.0).fit(table_of(codes, (150, 150, 2)))
    assert any("'v0' (150 as" in note and "'v1' (150 as" in note and "v2" not in note for note in model.notes)
    assert "'v0' (150 as" in model.sample(10).about
    assert set(model.classes["columns"].to_pylist()) == {"v0", "v1"}


def test_pairs_too_wide_to_be_measured_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.synthesis.private.exact_counts.MAX_CELLS", 5)
    model = PrivateSynthesizer(epsilon=5.0).fit(table_of(chain(500), SIZES))
    assert any("'v0' with 'v3'" in note and "'v0' with 'v1'" not in note for note in model.notes)


def test_it_keeps_its_accuracy_on_adult(data_dir: Path) -> None:
    """epsilon = 1: mean distance of pairs .0225 or less on average; one draw is within .026."""
    folder = data_dir / "adult" / "bench13"
    domain = json.loads((folder / "domain.json").read_text())
    columns = [
        sf.Column(name, sf.Kind.NOMINAL, levels=tuple(levels), missing=False, provenance=PUBLIC)
        for name, levels in domain.items()
    ]
    data = pq.read_table(folder / "train.parquet").select(list(domain))
    table = sf.Table.from_arrow(
        pa.table({n: data[n].cast(pa.string()) for n in domain}), sf.Schema(tuple(columns))
    )
    fitted = PrivateSynthesizer(epsilon=1.0, target="income").fit(table)
    sizes = [len(levels) for levels in domain.values()]
    truth = Counted.of_codes(codes_of(table).astype(np.uint16), sizes)
    drawn = Counted.of_codes(fitted.codes(fitted.rows, sf.Key.fresh()), sizes)
    distances = [
        np.abs(truth.pair(p) / truth.rows - drawn.pair(p) / drawn.rows).sum() / 2 for p in candidates(sizes)
    ]
    assert np.mean(distances) < 0.026
