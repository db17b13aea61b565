"""Imputation: marginals and dependence kept, types kept, untouched cells untouched, faults refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from declared import PUBLIC

import sfumato as sf
from sfumato.errors import DataError, ParameterError, SchemaError, SfumatoError
from sfumato.privacy import NoGuarantee
from sfumato.samples import discharges
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.synthesis.imputation.engines import Linear, Multinomial
from sfumato.synthesis.imputation.missing_values import MissingValues
from sfumato.synthesis.imputation.multiple import MultipleImputation
from sfumato.synthesis.imputation.partial import PartialSynthesis
from sfumato.synthesis.imputation.trees import Forest, Marginal, Tree
from sfumato.table import Table

ENGINES = ["models", "elastic-net", "trees", "forests"]


def mixed(rows: int = 1_500, seed: int = 2) -> Table:
    """Levels, numbers and days that depend on each other, with gaps in some."""
    draw = Key.from_seed(seed).generator("mixed")
    ward = draw.integers(0, 3, rows)
    sick = (draw.random(rows) < np.array([0.1, 0.5, 0.9])[ward]).astype(int)
    stay = 2 + 4 * ward + 3 * sick + draw.integers(0, 3, rows)
    cost = 100.0 * stay + 200 * draw.random(rows)
    gone = draw.random(rows) < np.where(sick == 1, 0.3, 0.05)
    day = 18_000 + 30 * ward + draw.integers(0, 10, rows)
    data = pa.table(
        {
            "id": pa.array([f"n{i}" for i in range(rows)]),
            "ward": pa.array(np.array(["a", "b", "c"])[ward]),
            "sick": pa.array(np.array(["no", "yes"])[sick]),
            "stay": pa.array(stay),
            "cost": pa.array(cost, mask=gone),
            "day": pa.array(day.astype(np.int32)).cast(pa.date32()),
        }
    )
    schema = Schema(
        (
            Column("id", Kind.NOMINAL, Role.IDENTIFIER),
            Column("ward", Kind.NOMINAL, Role.QUASI_IDENTIFIER, levels=("a", "b", "c"), provenance=PUBLIC),
            Column("sick", Kind.FLAG, Role.SENSITIVE, levels=("no", "yes"), provenance=PUBLIC),
            Column("stay", Kind.NUMERIC, Role.QUASI_IDENTIFIER, "integer", edges=(0, 10, 20)),
            Column("cost", Kind.NUMERIC, Role.SENSITIVE),
            Column("day", Kind.DATE),
        )
    )
    return Table.from_arrow(data, schema)


TABLE = mixed()


def apart(one: Any, other: Any, *columns: str) -> float:
    p, q = (t.counts(*columns).dense() for t in (one, other))
    return 0.5 * float(np.abs(p / p.sum() - q / q.sum()).sum())


@pytest.mark.parametrize("engine", ENGINES)
def test_marginals_and_dependence_are_kept(engine: str) -> None:
    release = MultipleImputation(engine, columns=["ward", "sick", "stay", "cost"]).fit(TABLE).sample(3_000)
    for name in ("ward", "sick"):
        assert apart(TABLE, release, name) < 0.1
    assert apart(TABLE, release, "ward", "sick") < 0.12
    real, new = (t.to_arrow() for t in (TABLE, release.data))
    for name, tolerance in (("stay", 0.8), ("cost", 80.0)):
        a, b = (np.array(t[name].drop_null().to_pylist(), float) for t in (real, new))
        assert abs(a.mean() - b.mean()) < tolerance and abs(a.std() - b.std()) < tolerance
    both = new.select(["stay", "cost"]).drop_null()
    assert np.corrcoef(both["stay"].to_numpy(), both["cost"].to_numpy())[0, 1] > 0.9


def test_marginals_alone_lose_the_dependence() -> None:
    release = MultipleImputation("marginals", columns=["ward", "sick"]).fit(TABLE).sample(3_000)
    assert apart(TABLE, release, "ward") < 0.1 and apart(TABLE, release, "ward", "sick") > 0.2


@pytest.mark.parametrize("engine", ["models", "trees"])
def test_gaps_are_as_frequent_and_where_they_were(engine: str) -> None:
    new = MultipleImputation(engine, columns=["sick", "cost"]).fit(TABLE).sample(5_000).data.to_arrow()
    for sick, share in (("no", 0.05), ("yes", 0.3)):
        rows = new.filter(pa.compute.equal(new["sick"], sick))
        assert abs(rows["cost"].null_count / rows.num_rows - share) < 0.12


def test_values_have_the_type_and_the_ends_of_their_column() -> None:
    new = MultipleImputation("models").fit(TABLE).sample(2_000).data.to_arrow()
    assert new.column_names == ["ward", "sick", "stay", "cost", "day"]  # nobody's name
    assert new.schema.types == TABLE.drop(["id"]).to_arrow().schema.types
    stay = new["stay"].to_numpy()
    assert stay.min() >= 0 and stay.max() <= 20
    days = [d.toordinal() for d in new["day"].to_pylist()]
    assert date(2018, 1, 1).toordinal() < min(days) and max(days) < date(2020, 6, 1).toordinal()


def test_decimals_and_instants_come_back() -> None:
    moment = pa.array(np.arange(100) * 10**9, pa.timestamp("us", "UTC"))
    fee = pa.array([Decimal(i) / 4 for i in range(100)], pa.decimal128(38, 9))
    table = Table.from_arrow(pa.table({"at": moment, "fee": fee}))
    for engine in ("models", "trees"):
        new = MultipleImputation(engine).fit(table).sample(50).data.to_arrow()
        assert new.schema.types == [moment.type, fee.type]
        assert not new["at"].null_count and not new["fee"].null_count


def test_the_same_for_a_key_and_sets_are_samples_of_derived_keys() -> None:
    for engine in ("models", "forests"):
        fitted, key = MultipleImputation(engine, columns=["ward", "stay", "cost"]).fit(TABLE), Key.fresh()
        one, two = fitted.samples(2, 100, key=key)
        assert one == fitted.sample(100, key=key.derive("set", 0))
        again = MultipleImputation(engine, columns=["ward", "stay", "cost"]).fit(TABLE)
        assert two.data.to_arrow() == again.sample(100, key=key.derive("set", 1)).data.to_arrow()
        assert one.data.to_arrow() != two.data.to_arrow()
        assert one.data.to_arrow() == one.data.to_arrow()  # drawn anew at each reading


def test_nothing_is_promised_and_the_reason_is_said(tmp_path: Path) -> None:
    release = MultipleImputation("trees", columns=["ward", "sick"]).fit(TABLE).sample(50, seed=1)
    reasons = [c.reason for c in release.guarantee if isinstance(c, NoGuarantee)]
    assert reasons == ["models without noise", "rows repeated"]
    assert len(release.guarantee) == 2
    bare = TABLE.with_schema(Schema(tuple(replace(c, levels=None, confirmed=False) for c in TABLE.schema)))
    reasons = {c.reason for c in MultipleImputation(columns=["ward", "sick"]).fit(bare).sample(5).guarantee}  # type: ignore[attr-defined]
    assert reasons == {"models without noise", "rows repeated", "domain from the data"}
    release.save(tmp_path / "release")
    assert sf.verify(tmp_path / "release").ok


# -- engines -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", [Tree(least=5), Forest(trees=4), Marginal()])
def test_numbers_of_leaves_stay_among_their_donors(engine: Any) -> None:
    draw = Key.fresh().generator("leaves")
    x = draw.integers(0, 2, (400, 1)).astype(float)
    y = np.where(x[:, 0] == 1, 100.0, 0.0) + draw.random(400) * 10
    y[draw.random(400) < 0.5] = 5.0  # a value that many have
    new = engine.learn(x, y, None).law(draw).draw(x, draw)
    assert new.min() >= 0 and new.max() <= 110
    assert abs((new == 5.0).mean() - 0.5) < 0.25
    fresh = new[new != 5.0]
    assert np.isin(fresh, y).mean() < 0.2  # few are a person's own
    own = replace(engine, smooth=False).learn(x, y, None).law(draw).draw(x, draw)
    assert np.isin(own, y).all()


def test_leaves_are_told_apart() -> None:
    draw = Key.fresh().generator("leaves")
    x = draw.integers(0, 2, (400, 1)).astype(float)
    for engine in (Tree(), Forest(trees=3)):
        codes = engine.learn(x, 2 * x[:, 0], 3).law(draw).draw(x, draw)
        assert (codes == 2 * x[:, 0]).all()


def test_flags_that_go_together_do_not_blow_up() -> None:
    draw = Key.fresh().generator("collinear")
    flag = draw.integers(0, 2, 300).astype(float)
    x = np.column_stack([flag, flag, np.zeros(300)])
    law = Linear().learn(x, flag + 0.1 * draw.random(300), None).law(draw)
    alone = law.draw(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]), draw)
    assert np.abs(alone).max() < 5


def test_a_level_without_rows_is_never_drawn() -> None:
    draw = Key.fresh().generator("levels")
    x = draw.random((200, 2))
    for y in (np.where(x[:, 0] > 0.5, 2.0, 0.0), np.zeros(200)):
        codes = Multinomial().learn(x, y, 4).law(draw).draw(x, draw)
        assert set(codes) <= set(y)


# -- chosen cells --------------------------------------------------------------------------------------


def test_only_the_chosen_columns_change() -> None:
    real = TABLE.drop(["id"]).to_arrow()
    new = PartialSynthesis(["stay", "sick"], shuffle=False).fit(TABLE).sample().data.to_arrow()
    for name in ("ward", "cost", "day"):
        assert new[name] == real[name]
    for name in ("stay", "sick"):
        same = np.mean([a == b for a, b in zip(new[name].to_pylist(), real[name].to_pylist(), strict=True)])
        assert 0.1 < same < 0.98
    assert apart(TABLE, Table.from_arrow(new, TABLE.schema.drop(["id"])), "ward", "sick") < 0.08


def test_only_risky_rows_change() -> None:
    by = ["ward", "sick", "stay"]
    fitted = PartialSynthesis(["stay", "sick"], risky=60, by=by, shuffle=False).fit(TABLE)
    counts = TABLE.counts(*by).dense()
    codes = TABLE.encode(by).codes
    rare = counts[tuple(codes)] < 60
    assert np.array_equal(fitted.changed, rare) and 0 < rare.mean() < 1
    real, new = TABLE.drop(["id"]).to_arrow(), fitted.sample().data.to_arrow()
    assert new.filter(pa.array(~rare)) == real.filter(pa.array(~rare))
    assert new.filter(pa.array(rare)) != real.filter(pa.array(rare))
    texts = [c.text() for c in fitted.sample().guarantee]
    assert "rows of people" in texts[0] and "fewer than 60" in texts[0] and "'ward'" in texts[0]


def test_the_order_of_rows_is_lost_unless_asked_for() -> None:
    real = TABLE.to_arrow()["cost"].to_pylist()
    new = PartialSynthesis(["sick"]).fit(TABLE).sample().data.to_arrow()["cost"].to_pylist()
    assert new != real and sorted(map(str, new)) == sorted(map(str, real))


def test_nothing_risky_changes_nothing() -> None:
    fitted = PartialSynthesis(["stay"], risky=2, by=["ward"], shuffle=False).fit(TABLE)
    assert not fitted.changed.any()
    assert fitted.sample().data.to_arrow() == TABLE.drop(["id"]).to_arrow()


# -- gaps ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["models", "trees"])
def test_gaps_are_filled_and_nothing_else(engine: str) -> None:
    real = TABLE.drop(["id"]).to_arrow()
    ward = pa.array(real["ward"].to_pylist(), mask=np.arange(1_500) % 7 == 0)
    gappy = Table.from_arrow(real.set_column(0, "ward", ward), TABLE.schema.drop(["id"]))
    one, two = (r.data.to_arrow() for r in MissingValues(engine=engine, sweeps=2).fit(gappy).samples(2))
    for new in (one, two):
        assert not any(new[n].null_count for n in new.column_names)
        for name in ("sick", "stay", "day"):
            assert new[name] == real[name]
        there = ~np.isnan(real["cost"].to_numpy(zero_copy_only=False))
        assert np.array_equal(new["cost"].to_numpy()[there], real["cost"].to_numpy()[there])
        right = np.mean(
            [a == b for a, b in zip(new["ward"].to_pylist(), real["ward"].to_pylist(), strict=True)]
        )
        assert right > 0.95  # the other columns tell the ward
    assert one["cost"] != two["cost"]


def test_columns_that_nobody_asked_for_keep_their_gaps() -> None:
    release = MissingValues(["cost"]).fit(TABLE).sample()
    assert not release.data.to_arrow()["cost"].null_count
    with pytest.raises(DataError, match="nothing to fill"):
        MissingValues(["stay"]).fit(TABLE)


# -- refusals ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MultipleImputation("magic"), "no engine"),
        (lambda: MultipleImputation(engines={"ward": "magic"}), "no engine"),
        (lambda: MultipleImputation(proper=1), "proper must be"),
        (lambda: PartialSynthesis([]), "one column or more"),
        (lambda: PartialSynthesis("ward"), "one column or more"),
        (lambda: PartialSynthesis(["ward"], risky=1), "risky must be"),
        (lambda: PartialSynthesis(["ward"], by=["sick"]), "give risky"),
        (lambda: MissingValues(sweeps=0), "sweeps must be"),
        (lambda: MissingValues([]), "one column or more"),
        (lambda: Tree(least=0), "least must be"),
        (lambda: Forest(trees=0), "trees must be"),
        (lambda: Multinomial(penalty=0), "penalty must be"),
        (lambda: Linear(penalty=-1), "penalty must be"),
    ],
)
def test_bad_parameters_are_refused(make: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()


def unread(schema: Schema) -> Table:
    """A table that fails the test when it is read."""

    def open_(_: object) -> Any:
        raise AssertionError("the data were read")

    source = TABLE.source
    return Table(replace(source, open=open_), schema)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (MultipleImputation(columns=["id", "ward"]), "name people"),
        (MultipleImputation(columns=["ward"]), "two are needed"),
        (MultipleImputation(columns=["ward", "nothing"]), "nothing"),
        (MultipleImputation(columns=["ward", "sick"], order=["ward"]), "order must name"),
        (MultipleImputation(engines={"ward": Linear()}), "does not draw"),
        (MultipleImputation(engines={"cost": Multinomial()}), "does not draw"),
        (MultipleImputation(columns=["ward", "sick"], engines={"cost": "trees"}), "no column 'cost'"),
        (PartialSynthesis(["id"]), "name people"),
        (PartialSynthesis(["ward"], given=["ward", "sick"]), "at once"),
        (PartialSynthesis(["nothing"]), "nothing"),
        (PartialSynthesis(["ward"], given=["id"]), "name people"),
        (PartialSynthesis(["ward"], risky=3, by=["id"]), "name people"),
        (MissingValues(["nothing"]), "nothing"),
        (MissingValues(["id"]), "name people"),
        (MissingValues(["cost"], engine=Multinomial()), "does not draw"),
    ],
)
def test_faults_are_said_before_data_are_read(method: Any, words: str) -> None:
    with pytest.raises(SfumatoError, match=words):
        method.fit(unread(TABLE.schema))


def test_data_that_cannot_be_learnt_from_are_refused() -> None:
    with pytest.raises(DataError, match="no rows"):
        MultipleImputation().fit(Table.from_arrow(TABLE.to_arrow().slice(0, 0), TABLE.schema))
    bare = TABLE.to_arrow().set_column(4, "cost", pa.nulls(1_500, pa.float64()))
    with pytest.raises(DataError, match="no filled cell in 'cost'"):
        MultipleImputation().fit(Table.from_arrow(bare, TABLE.schema))
    endless = TABLE.to_arrow().set_column(4, "cost", pa.array(np.full(1_500, np.inf)))
    with pytest.raises(DataError, match="infinite"):
        MultipleImputation().fit(Table.from_arrow(endless, TABLE.schema))
    wide = pa.table({"a": [f"v{i}" for i in range(600)], "b": ["x", "y"] * 300})
    with pytest.raises(SchemaError, match="more than 500 levels"):
        MultipleImputation().fit(Table.from_arrow(wide))


def test_numbers_of_rows_are_checked() -> None:
    fitted = MultipleImputation(columns=["ward", "sick"]).fit(TABLE)
    for rows in (0, -3, 2.5):
        with pytest.raises(ParameterError, match="rows must be"):
            fitted.sample(rows)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="k must be"):
        fitted.samples(0, 10)
    with pytest.raises(ParameterError, match="a key and a seed"):
        fitted.sample(5, key=Key.fresh(), seed=1)
    with pytest.raises(ParameterError, match="those of the data"):
        PartialSynthesis(["sick"]).fit(TABLE).sample(7)


def test_few_rows_are_enough_to_run() -> None:
    few = Table.from_arrow(discharges(3, 1).to_arrow(), discharges(3, 1).schema)
    for engine in ENGINES:
        release = MultipleImputation(engine, columns=["age", "sex", "charge_usd"]).fit(few).sample(20)
        assert release.data.to_arrow().num_rows == 20
