"""DPaT and EDPaT as printed: structures, sensitivities, noise at each call, a file for the owner alone."""

from __future__ import annotations

import json
import math
import stat
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tree_oracle
from cli_support import environment
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.utils.estimator_checks import check_estimator

import sfumato as sf
from sfumato.errors import BudgetError, DataError, ParameterError, SfumatoError, SfumatoWarning
from sfumato.features.inputs import FeatureError
from sfumato.prediction import _kernels
from sfumato.prediction.confidential import MARK, NoisyModel, load_confidential
from sfumato.prediction.dpat import DPaT, EDPaT
from sfumato.prediction.perturbation import UNIT, Output, noised, output, sensitivity
from sfumato.prediction.structures import Node, Stopping, zero_diff_structure
from sfumato.prediction.tree_figures import cut, rules
from sfumato.prediction.variables import TreeVariable
from sfumato.privacy import NoGuarantee
from sfumato.privacy.grants import Budget
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.signatures import SigningKey
from sfumato.schema import Column, Kind, Schema
from sfumato.table import Table

FLAGS = tuple(TreeVariable(f"x{i}", "flag", levels=(0, 1)) for i in (1, 2, 3))
bits = st.integers(0, 1)


def structure(rows: list[Any], alpha: float, count: int = 3) -> Any:
    array = np.array(rows, dtype=np.int64)
    codes = np.ascontiguousarray(array[:, :count].T.astype(np.int32))
    return zero_diff_structure(codes, array[:, count].astype(np.uint8), FLAGS[:count], alpha, Stopping())


# -- 0-DiffStructure ---------------------------------------------------------------------------------


@given(st.lists(st.tuples(bits, bits, bits, bits), min_size=1, max_size=40), st.sampled_from([0.5, 1.0, 2.0]))
@settings(max_examples=60, deadline=None)
def test_the_structure_is_that_of_the_oracle(rows: list[tuple[int, ...]], alpha: float) -> None:
    """Algorithm 5, straight from the box."""

    def measure(table: tree_oracle.Table) -> float:
        return _kernels.alpha_gain(*table, alpha)

    def choose(offers: list[tuple[tree_oracle.Test, tree_oracle.Table]]) -> tree_oracle.Test | None:
        ranges = [[measure(case) for case in tree_oracle.cases(table)] for _, table in offers]
        kappa, lambda_ = [min(r) for r in ranges], [max(r) for r in ranges]
        best = kappa.index(max(kappa))
        ahead = all(kappa[best] >= lambda_[j] for j in range(len(offers)) if j != best)
        return offers[best][0] if ahead and measure(offers[best][1]) > 0 else None

    slow = tree_oracle.grown([r[:3] for r in rows], [r[3] for r in rows], FLAGS, measure, choose)
    assert tree_oracle.nested(structure(rows, alpha)) == slow


def test_the_counterexample_of_the_docstring() -> None:
    data = [(0, 0, 0)] * 2 + [(0, 1, 1)] * 2
    assert structure(data, 2.0, 2).structure[0] == (1, 1)
    assert structure([*data, (0, 0, 1)], 2.0, 2).structure == ((-1, -1),)


def test_it_stops_before_an_ordinary_tree() -> None:
    people = sf.samples.diabetes(768, 1)
    noisy, plain = DPaT().fit(people, "diabetes"), sf.AlphaTree().fit(people, "diabetes")
    assert 1 < len(noisy.tree_.leaves) < len(plain.tree_.leaves)
    for node in noisy.tree_.nodes:
        if not node.is_leaf:
            chosen = next(c for c in node.candidates if c.variable == node.variable)
            others = [c.lambda_ for c in node.candidates if c is not chosen]
            assert chosen.kappa >= max(others) and chosen.kappa <= chosen.gain <= chosen.lambda_


def test_on_pima_it_looks_like_figure_5_4(data_dir: Path) -> None:
    """As the ordinary tree down to the second layer, then fewer splits: on glucose, age and bmi alone."""
    rows = pq.read_table(data_dir / "pima" / "pima_indians_diabetes.parquet").to_pandas()
    y = rows.pop("outcome")
    highs = (20, 200, 130, 100, 900, 70, 2.5, 90)
    bounds = {n: (18 if n == "age" else 0, h) for n, h in zip(rows.columns, highs, strict=True)}
    regular = sf.AlphaTree(1.0, bounds=bounds).fit(rows, y).tree_
    found = DPaT(1.0, bounds=bounds).fit(rows, y).tree_
    ours = {w for w, n in rules(cut(found, 4))}
    assert ours == {w for w, n in rules(cut(regular, 4))} and len(ours) == 4
    assert {found.variables[n.variable].name for n in found.nodes if not n.is_leaf} == {
        "glucose",
        "age",
        "bmi",
    }
    assert 4 < len(found.leaves) < 10 < len(regular.leaves)


# -- sensitivity -------------------------------------------------------------------------------------


@given(st.integers(1, 300), st.data())
@settings(max_examples=80, deadline=None)
def test_phi_and_chi_are_the_extremes_over_the_neighbours(n: int, data: Any) -> None:
    n1 = data.draw(st.integers(0, n))
    near = [(n1 + 1, n + 1), (n1, n + 1), (n1 - 1, n - 1), (n1, n - 1)]
    shares = [a / b for a, b in near if 0 <= a <= b and b > 0]
    assert sensitivity(n1, n) == (max(shares), min(shares))
    phi, chi = sensitivity(n1, n)
    assert chi <= n1 / n <= phi and phi > chi


def test_an_ensemble_takes_the_means() -> None:
    leaves = [Node(3, 10), Node(0, 4), Node(5, 5)]
    deltas = [phi - chi for phi, chi in (sensitivity(leaf.positives, leaf.size) for leaf in leaves)]
    found = output(leaves)
    assert found.chance == pytest.approx((0.3 + 0 + 1) / 3) and found.delta == pytest.approx(sum(deltas) / 3)


# -- noise -------------------------------------------------------------------------------------------


def test_the_noise_is_laplace_of_scale_delta_over_epsilon() -> None:
    """Kolmogorov's test at 1e-6, and no two calls share their noise."""
    answer = Output(0.4, 0.05)
    drawn = noised(answer, 4000, Ledger.in_memory(1000).grant(epsilon=1000, purpose="test"))  # 0.25 a call
    assert stats.kstest(drawn, stats.laplace(0.4, 0.05 / 0.25).cdf).pvalue > 1e-6
    assert len(set(drawn)) > 3900 and all(float(v * UNIT).is_integer() for v in drawn)


@pytest.mark.parametrize(
    "make", [DPaT, lambda **k: EDPaT(alphas=(0.5, 1.0, 2.0, 3.0), **k)], ids=["one", "ens"]
)
def test_answers_scatter_around_the_shares(make: Any) -> None:
    people = sf.samples.diabetes(768, 2)
    exact = make(epsilon_per_call=None).fit(people, "diabetes")
    noisy = make(epsilon_per_call=5.0).fit(people, "diabetes")
    shares, answers = exact.answer(people), noisy.answer(people)
    assert np.array_equal(exact.predict_proba(people)[:, 1], shares)
    assert 0 < np.abs(answers - shares).mean() < 0.05 and not np.array_equal(answers, noisy.answer(people))
    chances = noisy.predict_proba(people)
    assert chances.min() >= 0 and np.allclose(chances.sum(axis=1), 1)


def test_a_ledger_is_debited_for_each_row_or_not_at_all() -> None:
    people = sf.samples.diabetes(300, 2)
    model = DPaT(epsilon_per_call=0.1).fit(people, "diabetes")
    ledger = Ledger.in_memory(31)
    model.answer(people, ledger)
    assert ledger.spent == pytest.approx(30)
    with pytest.raises(BudgetError, match="300 calls"):
        model.answer(people, ledger)
    assert ledger.spent == pytest.approx(30)
    odd = DPaT(epsilon_per_call=1 / 3).fit(
        people, "diabetes"
    )  # each debit is rounded up, so 100 is not quite enough
    exact = Ledger.in_memory(100)
    with pytest.raises(BudgetError, match="300 calls"):
        odd.answer(people, exact)
    assert exact.spent == 0 and len(odd.answer(people, Ledger.in_memory(100.01))) == 300
    with pytest.raises(BudgetError, match="epsilon"):
        odd.answer(people, Ledger.in_memory(Budget(rho=500)))
    dear = DPaT(epsilon_per_call=7.0).fit(people, "diabetes").answer(people)  # more than one grant can hold
    assert len(dear) == 300


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, "1", True, 1001])
def test_bad_epsilons_are_refused(epsilon: Any) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        DPaT(epsilon_per_call=epsilon).fit([[0.0], [1.0]], [0, 1])


def test_it_promises_nothing() -> None:
    for model in (DPaT(), EDPaT(), DPaT(epsilon_per_call=None)):
        (claim,) = model.guarantee
        assert isinstance(claim, NoGuarantee) and "differential privacy" in claim.title
    assert (
        "epsilon = 1," in DPaT().guarantee.text()
        and "read off the data" in DPaT().fit([[0.0], [1.0]], [0, 1]).guarantee.text()
    )
    assert "splits on x2" in (DPaT.__doc__ or "") and "single leaf" in (DPaT.__doc__ or "")


def test_scikit_learn_accepts_it() -> None:
    """Without noise: with it two calls differ, which no check expects."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(DPaT(epsilon_per_call=None), on_skip=None)


# -- the confidential file ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def people() -> Table:
    return sf.samples.icu(900, 5)


@pytest.fixture
def saved(people: Table, tmp_path: Path) -> Path:
    return (
        EDPaT(alphas=(0.5, 1.0, 2.0), epsilon_per_call=2.0)
        .fit(people, "septic_shock")
        .save(tmp_path / "shock.dpat")
    )


def test_the_file_says_confidential_first_and_is_the_owners(saved: Path) -> None:
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert (
        saved.read_text().startswith('{\n "CONFIDENTIAL": ')
        and next(iter(json.loads(saved.read_text()))) == "CONFIDENTIAL"
    )
    assert MARK in saved.read_text()


def test_replacing_an_open_file_closes_it(people: Table, saved: Path) -> None:
    for mode in (0o644, 0o602, 0o777):
        saved.chmod(mode)
        with pytest.raises(DataError, match="everybody"):
            load_confidential(saved)
    saved.chmod(0o640)
    with pytest.warns(SfumatoWarning, match="others"):
        load_confidential(saved)
    DPaT().fit(people, "septic_shock").save(saved, overwrite=True)
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600


def asked(people: Table, n: int) -> list[dict[str, Any]]:
    return people.drop(["id", "septic_shock"]).to_arrow().slice(0, n).to_pylist()


def test_the_loaded_model_answers_as_the_fitted_one(people: Table, tmp_path: Path) -> None:
    fitted = EDPaT(alphas=(0.5, 1.0, 2.0), epsilon_per_call=1000.0).fit(people, "septic_shock")
    model = load_confidential(fitted.save(tmp_path / "shock.dpat", "septic-shock"))
    assert isinstance(model, NoisyModel) and model.noisy and model.claimed_epsilon == 1000.0
    assert (model.name, model.kind, model.target) == ("septic-shock", "EDPaT", "septic_shock")
    assert [f.name for f in model.features] == [v.name for v in fitted.variables_]
    exact = EDPaT(alphas=(0.5, 1.0, 2.0), epsilon_per_call=None).fit(people, "septic_shock").answer(people)
    for row, share in zip(asked(people, 60), exact, strict=False):
        grant = Ledger.in_memory(1000).grant(epsilon=1000, purpose="test")
        assert abs(model.score_noisy(row, grant) - share) < 20 / 1000  # of scale below 1/1000
        assert grant.burnt


@pytest.mark.parametrize("epsilon", [1 / 3, 0.1, 0.3, 1e-6, 999.999])
def test_a_grant_of_the_claimed_epsilon_always_pays(people: Table, tmp_path: Path, epsilon: float) -> None:
    """A ledger rounds up to its units."""
    model = load_confidential(
        DPaT(epsilon_per_call=epsilon).fit(people, "septic_shock").save(tmp_path / "m.dpat")
    )
    grant = Ledger.in_memory(1000).grant(epsilon=model.claimed_epsilon, purpose="a call")
    assert math.isfinite(model.score_noisy(asked(people, 1)[0], grant))


def test_rows_are_checked_and_clamped(saved: Path, people: Table) -> None:
    model = load_confidential(saved)
    row = asked(people, 1)[0]
    high = model.features[0].high
    clean, clamped = model.checked({**row, "age": 10**400, "temperature_last": None})
    assert clean["age"] == high and clamped == ("age",) and clean["temperature_last"] is None
    ledger = Ledger.in_memory(10)
    with pytest.raises(FeatureError) as refused:
        model.score_noisy({**row, "sex": "zebra-7319", "other": 1}, ledger.grant(epsilon=2, purpose="x"))
    assert {(f, r) for _, f, r in refused.value.faults} >= {("other", "the model has no such feature")}
    assert "zebra" not in str(refused.value)
    for amount in (1, 2.1):
        with pytest.raises(BudgetError, match="claimed epsilon"):
            model.score_noisy(row, ledger.grant(epsilon=amount, purpose="another amount"))
    rho = Ledger.in_memory(Budget(rho=1)).grant(rho=0.5, purpose="another kind")
    with pytest.raises(BudgetError, match="claimed epsilon"):
        model.score_noisy(row, rho)


def test_the_same_question_is_the_same_however_it_is_spelt(tmp_path: Path) -> None:
    cells = pa.table(
        {"x": [-1.0, 0.0, 1.0, 2.0] * 30, "level": [0, 1] * 60, "sick": [False, False, True, True] * 30}
    )
    schema = Schema(
        (
            Column("x", Kind.NUMERIC),
            Column("level", Kind.NOMINAL, type="integer", levels=(0, 1)),
            Column("sick", Kind.FLAG, type="boolean", levels=(False, True)),
        )
    )
    fitted = DPaT(epsilon_per_call=1.0).fit(Table.from_arrow(cells, schema), "sick")
    model = load_confidential(fitted.save(tmp_path / "m.dpat"))
    spelt = [{"x": x, "level": v} for x in (0, 0.0, -0.0) for v in (0, 0.0, -0.0)]
    assert len({json.dumps(model.checked(row)[0]) for row in spelt}) == 1
    for far in (10**400, -(10**400)):  # no bound clamps it, no float holds it
        with pytest.raises(FeatureError, match="x: must be a finite number"):
            model.checked({"x": far, "level": 0})


def test_what_is_told_holds_no_count(saved: Path) -> None:
    """The version is made with a nonce, so that the same counts give another one."""
    model = load_confidential(saved)
    told = json.dumps(
        {
            "card": model.card,
            "guarantee": model.guarantee.text(),
            "version": model.version,
            "repr": repr(model),
        }
    )
    assert (
        "nodes" not in told
        and "positives" not in told
        and model.guarantee.claims[0].title.startswith("no guar")
    )
    document = json.loads(saved.read_text())
    assert document["nonce"] not in told and len(document["nonce"]) == 32


def test_the_same_model_saved_twice_has_two_versions(people: Table, tmp_path: Path) -> None:
    fitted = DPaT().fit(people, "septic_shock")
    versions = {load_confidential(fitted.save(tmp_path / f"{i}.dpat")).version for i in "ab"}
    assert len(versions) == 2


def test_loading_needs_no_compiler_and_no_frames(saved: Path) -> None:
    script = (
        "import sys; from sfumato.prediction.confidential import load_confidential; "
        f"load_confidential({str(saved)!r}); "
        "print(*sorted({'numba', 'pandas', 'scipy', 'sklearn', 'polars'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment())
    assert done.returncode == 0 and done.stdout.split() == [], done.stderr


def _change(document: dict[str, Any], path: tuple[Any, ...], value: Any) -> None:
    for step in path[:-1]:
        document = document[step]
    document[path[-1]] = value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("name",), "a b"), (("name",), None), (("method",), "Forest"), (("claimed_epsilon",), 0),
        (("claimed_epsilon",), "1"), (("variables",), []), (("variables", 0, "kind"), "text"),
        (("variables", 0, "thresholds"), [3, 1]), (("variables", 0, "thresholds"), "x"), (("trees",), []),
        (("trees", 0, "nodes"), []), (("trees", 0, "nodes", 0, "size"), 0), (("trees", 0, "alpha"), None),
        (("target",), ""), (("sfumato_noisy_model",), 2), (("CONFIDENTIAL",), "no"), (("more",), 1),
        (("checksum",), "0" * 64),
    ],
    ids=str,
)  # fmt: skip
def test_a_changed_file_is_refused(saved: Path, path: tuple[Any, ...], value: Any) -> None:
    document = json.loads(saved.read_text())
    _change(document, path, value)
    saved.write_text(json.dumps(document))
    with pytest.raises(DataError) as refused:
        load_confidential(saved)
    assert refused.value.hint


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"a": NaN}'])
def test_what_is_no_model_is_refused(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "x.dpat"
    path.write_bytes(raw)
    with pytest.raises(DataError):
        load_confidential(path)
    with pytest.raises(DataError, match="cannot be read"):
        load_confidential(tmp_path / "nothing.dpat")


def test_what_cannot_be_saved(people: Table, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="not fitted"):
        DPaT().save(tmp_path / "a.dpat")
    fitted = DPaT(epsilon_per_call=None).fit(people, "septic_shock")
    with pytest.raises(ParameterError, match=r"suffix.*epsilon"):
        fitted.save(tmp_path / "a.sfm")
    assert not list(tmp_path.iterdir())


def test_it_is_no_release(saved: Path, tmp_path: Path) -> None:
    """Neither the reader nor the writer of released models takes it."""
    from sfumato.prediction import artefact

    with pytest.raises(SfumatoError, match="not accepted"):
        artefact.load(saved)
    with pytest.raises((SfumatoError, AttributeError, TypeError)):
        artefact.write(load_confidential(saved), tmp_path / "m.sfm", SigningKey.fresh())  # type: ignore[arg-type]
    assert not (tmp_path / "m.sfm").exists()
