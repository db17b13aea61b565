"""A released model and the estimator it comes from say the same, whatever the columns are."""

from __future__ import annotations

import datetime
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from declared import PUBLIC

from sfumato.errors import ParameterError, SchemaError
from sfumato.prediction.additive import AdditiveScore
from sfumato.prediction.estimator import PrivateClassifier
from sfumato.prediction.forest import AlphaForest
from sfumato.prediction.logistic import PrivateLogistic
from sfumato.privacy import Ledger
from sfumato.schema import Column, Kind, Schema
from sfumato.table import Table

SICK = Column("sick", Kind.FLAG, type="boolean", levels=(False, True), missing=False, provenance=PUBLIC)
MAKERS = [
    pytest.param(lambda: PrivateLogistic(20.0, anyway=True), id="logistic"),
    pytest.param(lambda: PrivateLogistic(20.0, shape="cubic", anyway=True), id="logistic-cubic"),
    pytest.param(lambda: AdditiveScore(20.0, bins=4, anyway=True), id="additive"),
    pytest.param(lambda: AdditiveScore(20.0, anyway=True), id="additive-16"),
    pytest.param(lambda: AlphaForest(20.0, trees=4, depth=4, anyway=True), id="forest"),
]


def every_kind(rows: int) -> Table:
    random = np.random.default_rng(1)
    texts = [f"l{i}" for i in range(30)]
    columns: list[tuple[Column, Any]] = [
        (
            Column("plain", Kind.NUMERIC, edges=(0.0, 1.0), provenance=PUBLIC),
            random.uniform(-0.2, 1.2, rows),
        ),
        (
            Column("edged", Kind.NUMERIC, edges=tuple(i / 30 for i in range(31)), provenance=PUBLIC),
            random.random(rows),
        ),
        (
            Column("ten", Kind.ORDINAL, type="integer", levels=tuple(range(10)), provenance=PUBLIC),
            random.integers(0, 10, rows),
        ),
        (
            Column("twenty", Kind.ORDINAL, type="integer", levels=tuple(range(20)), provenance=PUBLIC),
            random.integers(0, 20, rows),
        ),
        (
            Column("words", Kind.ORDINAL, levels=tuple(texts[:11]), provenance=PUBLIC),
            [texts[i] for i in random.integers(0, 11, rows)],
        ),
        (
            Column("many", Kind.NOMINAL, levels=tuple(texts), provenance=PUBLIC),
            [texts[i] for i in random.integers(0, 30, rows)],
        ),
        (
            Column("flag", Kind.FLAG, type="boolean", levels=(False, True), provenance=PUBLIC),
            random.random(rows) < 0.5,
        ),
        (SICK, random.random(rows) < 0.5),
    ]
    cells = {
        c.name: pa.array(
            [None if c is not SICK and random.random() < 0.05 else v for v in np.array(x).tolist()]
        )
        for c, x in columns
    }
    return Table.from_arrow(pa.table(cells), Schema(tuple(c for c, _ in columns)))


@pytest.mark.parametrize("make", MAKERS)
def test_the_released_model_scores_as_the_estimator_does(make: Any) -> None:
    table = every_kind(600)
    model: PrivateClassifier = make().fit(table, "sick")
    rows = table.to_arrow().drop(["sick"]).to_pylist()
    told = [s.probability for s in model.released().score(rows)]
    assert told == pytest.approx(model.predict_proba(table)[:, 1].tolist(), abs=1e-12)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("type_", "levels"),
    [
        ("date", (datetime.date(2020, 1, 1), datetime.date(2021, 1, 1))),
        ("decimal", (Decimal("1.5"), Decimal("2.5"))),
    ],
)
def test_what_cannot_be_published_is_refused_before_anything_is_spent(
    make: Any, type_: Any, levels: tuple[Any, ...]
) -> None:
    odd = Column("odd", Kind.NOMINAL, type=type_, levels=levels, provenance=PUBLIC)
    cells = pa.table({"odd": pa.array(list(levels) * 50), "sick": pa.array([True, False] * 50)})
    ledger = Ledger.in_memory(50.0)
    with pytest.raises(SchemaError, match="'odd'"):
        make().fit(Table.from_arrow(cells, Schema((odd, SICK))), "sick", ledger=ledger)
    assert ledger.spent == 0


@pytest.mark.parametrize("make", MAKERS)
def test_a_name_is_one_that_a_service_can_answer_under(make: Any) -> None:
    cells = pa.table({"x": pa.array([0.1, 0.9] * 50), "ill / not": pa.array([True, False] * 50)})
    schema = Schema(
        (Column("x", Kind.NUMERIC, edges=(0.0, 1.0), provenance=PUBLIC), replace(SICK, name="ill / not"))
    )
    model: PrivateClassifier = make().fit(Table.from_arrow(cells, schema), "ill / not")
    assert model.released().name == "ill-not" and model.released().target == "ill / not"
    assert model.released("Ward_7.b").name == "Ward_7.b"
    for wrong in ("a b", ".hidden", "x" * 65, "a/b", "ä"):
        with pytest.raises(ParameterError, match="name"):
            model.released(wrong)
