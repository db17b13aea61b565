"""Scores side by side: right figures, differences that say how sure they are, rows that are paid for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from declared import signed
from score_tables import MIXED, mixed
from sklearn.metrics import roc_auc_score

import sfumato as sf
from sfumato.cli import main
from sfumato.errors import BudgetError, DataError, ParameterError
from sfumato.prediction.artefact import write
from sfumato.prediction.comparison import compare_scores
from sfumato.prediction.models import ReleasedModel
from sfumato.prediction.score_counts import BINS, EDGES, cells, figures
from sfumato.privacy import Accounted, Ledger, PureDP, Unaccounted
from sfumato.privacy.signatures import SigningKey
from sfumato.schema import Column, Kind, Provenance, Schema
from sfumato.table import Table


@pytest.fixture(scope="module")
def models() -> list[ReleasedModel]:
    good = sf.PrivateLogistic(8.0).fit(mixed(1500), "sick").released("good")
    return [good, sf.AdditiveScore(8.0).fit(mixed(400, 5), "sick").released("other")]


def with_column(rows: int, values: list[float]) -> Table:
    arrow = mixed(rows, 2).to_arrow().append_column("points", pa.array(values))
    who = Provenance.declared("the authors", "their paper")
    column = Column("points", Kind.NUMERIC, edges=(0.0, 1.0), missing=False, provenance=who)
    return Table.from_arrow(arrow, Schema((*MIXED, column)))


def test_public_figures_are_exact(models: list[ReleasedModel]) -> None:
    table = with_column(700, list(np.linspace(0, 1, 700)))
    found = compare_scores(models, table, "sick", columns=["points"], subgroups=["ward"])
    assert [s.name for s in found.scores] == ["good", "other", "points"]
    rows = table.to_arrow().to_pylist()
    truth = np.array([r.pop("sick") for r in rows])
    for score, model in zip(found.scores, models, strict=False):
        p = np.array(
            [s.probability for s in model.score([{k: r[k] for k in r if k != "points"} for r in rows])]
        )
        assert score.figures["auroc"] == pytest.approx(roc_auc_score(truth, p))
        assert score.figures["observed_over_predicted"] == pytest.approx(truth.sum() / p.sum())
        in_a = np.array([r["ward"] == "a" for r in rows])
        own = next(g for g in score.subgroups if (g["column"], g["level"]) == ("ward", "a"))
        assert own["auroc"] == pytest.approx(roc_auc_score(truth[in_a], p[in_a]))
    assert found.scores[0].ahead is None and not found.noise_scale
    assert not any(c.differential for c in found.guarantee)


def test_a_difference_covers_the_true_one() -> None:
    """Two scores that are equally good: of 200 intervals at 95% more than 30 miss one time in a million."""
    rng = np.random.default_rng(3)
    from sfumato.prediction.comparison import _ahead

    missed = 0
    for _ in range(200):
        outcome = rng.integers(0, 2, 300)
        a, b = (outcome + rng.normal(size=300) for _ in range(2))
        gap = _ahead(a, b, outcome)
        assert gap is not None
        missed += not gap[1] <= 0 <= gap[2]
    assert missed <= 30


def test_private_rows_are_paid_for_and_noise_grows_with_what_is_compared(models: list[ReleasedModel]) -> None:
    ledger = Ledger.in_memory(2.0)
    found = compare_scores(models, mixed(3000, 2), "sick", epsilon=1.5, subgroups=["ward"], ledger=ledger)
    assert ledger.spent == 1.5 and found.noise_scale == pytest.approx(
        2 * 2 / 1.5
    )  # two scores, whole and ward
    (claim,) = (c for c in found.guarantee if isinstance(c, PureDP))
    assert claim.epsilon == 1.5 and found.scores[1].ahead is None
    exact = compare_scores(models, mixed(3000, 2), "sick")
    assert found.scores[0].figures["auroc"] == pytest.approx(exact.scores[0].figures["auroc"], abs=0.1)
    with pytest.raises(BudgetError):
        compare_scores(models, mixed(50, 2), "sick", epsilon=1.5, ledger=ledger)
    assert any(isinstance(c, Unaccounted) for c in found.guarantee)


def test_a_ledger_on_disk_is_named(models: list[ReleasedModel], tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "a.ledger", 3.0)
    found = compare_scores(models, mixed(200, 2), "sick", epsilon=1.0, ledger=ledger)
    (account,) = (c for c in found.guarantee if isinstance(c, Accounted))
    assert account.total == ledger.spent == 1.0


def test_what_cannot_be_compared_is_refused_before_anything_is_spent(models: list[ReleasedModel]) -> None:
    ledger = Ledger.in_memory(2.0)
    with pytest.raises(ParameterError, match="two scores"):
        compare_scores(models[:1], mixed(50), "sick", epsilon=1.0, ledger=ledger)
    for wrong in (1.5, float("nan"), -0.1):
        with pytest.raises(DataError, match="'points' holds no probability in 1 rows") as error:
            compare_scores(
                models[:1], with_column(3, [0.5, wrong, 0.1]), "sick", epsilon=1.0, columns=["points"],
                ledger=ledger,
            )  # fmt: skip
        assert str(wrong) not in str(error.value)
    assert ledger.spent == 0


def test_bins_hold_every_probability_and_little_says_nothing() -> None:
    p = np.array([0.0, 0.004999, 0.005, 0.5, 0.9999, 1.0])
    assert list(cells(p, np.zeros(6, dtype=np.int64)) // 2) == [
        0,
        0,
        1,
        list(EDGES).index(0.5),
        BINS - 1,
        BINS - 1,
    ]
    few = np.zeros((BINS, 2), dtype=np.int64)
    few[3] = (4, 100)
    assert figures(few)["too_small_to_say"] and figures(few)["auroc"] is None
    few[3] = (400, 100)
    assert not figures(few)["too_small_to_say"] and figures(few, 50.0)["too_small_to_say"]


def test_the_command_says_who_is_best_and_in_which_group(
    models: list[ReleasedModel], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = SigningKey.fresh()
    for model in models:
        write(model, tmp_path / f"{model.name}.sfm", key)
    arrow = mixed(600, 2).to_arrow()
    held = pa.array(np.clip(arrow["dose"].to_numpy(zero_copy_only=False), 0, 10), from_pandas=True)
    arrow = arrow.set_column(arrow.column_names.index("dose"), "dose", held)
    table = Table.from_arrow(arrow, MIXED)
    sf.write(table, tmp_path / "test.parquet")
    (tmp_path / "test.toml").write_text(signed(table.schema).to_toml(), encoding="utf-8")
    files = [str(tmp_path / f"{m.name}.sfm") for m in models]
    rows = ["--test", str(tmp_path / "test.parquet"), "--schema", str(tmp_path / "test.toml")]
    assert main(["compare", *files, *rows, "--test-is-public", "--subgroup", "ward", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [s["name"] for s in told["scores"]] == ["good", "other"] and "ahead_of_the_first" in told[
        "scores"
    ][1]
    assert main(["compare", *files, *rows, "--test-is-public"]) == 0
    assert "tells cases apart best here" in capsys.readouterr().out
    assert main(["compare", *files, *rows]) == 2
    assert "public or costs epsilon" in capsys.readouterr().err
    assert main(["compare", *files, *rows, "--test-epsilon", "1"]) == 0
    shown = capsys.readouterr()
    assert "Counted with noise" in shown.out and "unaccounted" in shown.err
