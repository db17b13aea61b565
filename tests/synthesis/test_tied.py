"""Columns that constraints tie are one variable: drawn at once, and every single column as without them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tied_tables import SCHEMA, TIED, column, people, shares

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.synthesis.constraints import Within
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.private import PrivateModel, PrivateSynthesizer, resolution
from sfumato.synthesis.private import variables as variables_module
from sfumato.synthesis.private.levels import of_states
from sfumato.synthesis.private.purse import Measurement, scaled_and_centred
from sfumato.synthesis.private.refinement import Refinement
from sfumato.synthesis.private.variables import DomainVariables, Variable


def test_columns_that_tell_each_other_are_one() -> None:
    domain = Domain.of(SCHEMA, constraints=TIED)
    variables = DomainVariables.of(domain)
    assert [v.columns for v in variables.every] == [(0, 1), (2, 3), (4, 5), (6,)]
    code, days, ward, _ = variables.every
    assert code.size == 5 * 13 and len(code.levels) == 1 and code.nested
    assert days.size == 55 and len(days.levels) == 2 and not days.nested
    assert ward.size == 4 and not ward.levels
    assert [z.columns for z in variables.zeros] == [(3, 0)]
    codes = people(300, 1).encode().codes.astype(np.uint16)
    states = variables.encode(codes, domain.sizes)
    assert np.array_equal(variables.decode(states), codes)


@pytest.mark.parametrize(
    "delta", [pytest.param(1e-6, id="zCDP", marks=pytest.mark.soak), pytest.param(0.0, id="pure")]
)
def test_every_single_column_is_as_without_constraints(delta: float) -> None:
    """At epsilon 60 noise moves less than 1% of a column; without one variable it was a third."""
    table = people(3_000, 2)
    model = PrivateSynthesizer(epsilon=60.0, delta=delta, constraints=TIED).fit(table)
    for rows in (model.sample(seed=1).data, model.sample(20_000, seed=1, calibrate=False).data):
        assert not Domain.of(SCHEMA, constraints=TIED).violations(rows.encode().codes).any()
        for name in SCHEMA.names:
            far = np.abs(shares(rows, name) - shares(table, name)).sum() / 2
            assert far < 0.05, name  # 20,000 rows of 61 levels differ by .02 on average, at most by .03
    stay = [
        float(np.mean(t.to_arrow()["last"].to_numpy() - t.to_arrow()["first"].to_numpy()))
        for t in (table, model.sample(seed=1).data)
    ]
    assert abs(stay[1] - stay[0]) < 1.5


def test_a_model_of_tied_columns_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolution, "FINE", 4)
    model = PrivateSynthesizer(epsilon=3.0, constraints=TIED).fit(people(400, 3))
    again = PrivateModel.load(model.save(tmp_path / "m.sfm"))
    assert any(c is not None for c in again.measured.classes)
    assert again.sample(200, seed=1).data.to_arrow().equals(model.sample(200, seed=1).data.to_arrow())
    assert again.measurements.equals(model.measurements) and again.notes == model.notes
    assert np.allclose(again.counts("code", "sex").dense(), model.counts("code", "sex").dense())
    group = model.counts("group", "code").dense().sum(axis=1)
    assert np.allclose(group, model.counts("group").dense())


def test_two_details_of_one_group_that_are_too_many_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second is drawn last, given its group: no row is wrong, and every single column is as it was."""
    random = np.random.default_rng(5)
    members = [{g: [f"{g}{kind}{i}" for i in range(9)] for g in "ABC"} for kind in "dp"]
    names = ("group", "disease", "procedure", "sex")
    levels = [tuple("ABC"), *(tuple(c for cs in m.values() for c in cs) for m in members), ("f", "m")]
    columns = [column(n, levels=each) for n, each in zip(names, levels, strict=True)]
    group = random.choice(list("ABC"), 2_000, p=[0.7, 0.2, 0.1])
    codes = [
        [f"{g}{k}{min(i, 8)}" for g, i in zip(group, random.geometric(0.3, 2_000), strict=True)] for k in "dp"
    ]
    data = dict(zip(names, [group, *codes, random.choice(["f", "m"], 2_000)], strict=True))
    table = sf.Table.from_arrow(pa.table(data), sf.Schema(tuple(columns)))
    rules = [Within(n, "group", m) for n, m in zip(names[1:3], members, strict=True)]
    monkeypatch.setattr(variables_module, "MAX_STATES", 100)
    model = PrivateSynthesizer(epsilon=40.0, constraints=rules).fit(table)
    assert [v.columns for v in model.measured.variables.details] == [(0, 2)]
    assert any("'procedure'" in note for note in model.notes)
    assert model.table("procedure").counts.shape == (27,)
    with pytest.raises(ParameterError, match="not measured"):
        model.table("procedure", "sex")
    again = PrivateModel.load(model.save(tmp_path / "m.sfm"))
    for one in (model, again):
        for rows in (one.sample(seed=2).data, one.sample(20_000, seed=2, calibrate=False).data):
            assert not one.domain.violations(rows.encode().codes).any()
            for name in names:
                assert np.abs(shares(rows, name) - shares(table, name)).sum() / 2 < 0.05, name
    assert again.counts("group", "procedure").dense().shape == (3, 27)


def test_a_file_of_the_first_version_is_read(tmp_path: Path) -> None:
    schema = SCHEMA.select(["ward", "floor", "sex"])
    table = sf.Table.from_arrow(people(300, 4).to_arrow().select(["ward", "floor", "sex"]), schema)
    model = PrivateSynthesizer(epsilon=3.0).fit(table)
    path = model.save(tmp_path / "m.sfm")
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    document = json.loads(arrays["document"].tobytes())
    del document["variables"]
    document["sfumato_private_model"] = 1
    arrays["document"] = np.frombuffer(json.dumps(document).encode(), np.uint8)
    sink = io.BytesIO()
    np.savez_compressed(sink, **arrays)
    path.write_bytes(sink.getvalue())
    old = PrivateModel.load(path)
    assert old.sample(100, seed=1).data.to_arrow().equals(model.sample(100, seed=1).data.to_arrow())


def noiseless(counts: Any) -> Measurement:
    return Measurement((0,), scaled_and_centred(counts), len(counts), 1e-6, "none", 1.0)


@settings(deadline=None)
@given(st.lists(st.integers(0, 50), min_size=9, max_size=9), st.integers(0, 2**32))
def test_levels_are_put_together(counts: list[int], seed: int) -> None:
    true = np.array(counts) + 1
    level = np.repeat(np.arange(3), [2, 3, 4])
    tree = Variable((0, 1), np.stack([level, np.arange(9)]), (level,))
    assert tree.nested
    above = np.bincount(level, true).astype(np.int64)
    exact = of_states(tree, noiseless(true), [noiseless(above)], float(true.sum()))
    assert np.allclose(exact, true, atol=1e-6)
    noise = np.rint(np.random.default_rng(seed).normal(0, 300, 9)).astype(np.int64)
    noisy = Measurement((0,), scaled_and_centred(true) + noise, 9, 300 / 9, "discrete Gaussian", 1.0)
    found = of_states(tree, noisy, [noiseless(above)], float(true.sum()))
    assert (found >= 0).all()
    assert np.allclose(np.bincount(level, found), above, atol=1e-3)  # a level without noise decides


def test_rows_of_a_class_share_out_its_states() -> None:
    classes = np.array([0, 0, 0, 1, 1])
    fine = np.array([50.0, 30.0, 20.0, 0.0, 100.0])
    rows = np.repeat([0, 1], 100).astype(np.uint16)[None]
    refinement = Refinement((classes,), (fine,))
    states = refinement.calibrated(rows, sf.Key.from_seed(1))[0]
    assert np.bincount(states, minlength=5).tolist() == [50, 30, 20, 0, 100]
    part = refinement.fresh(rows[:, 40:], sf.Key.from_seed(1), 40)
    assert np.array_equal(part, refinement.fresh(rows, sf.Key.from_seed(1))[:, 40:])


def test_rare_levels_are_merged_within_their_branch() -> None:
    counts = np.concatenate([np.full(20, 100.0), np.full(20, 1.0)])
    branch = np.arange(40) % 2
    variable = Variable((0,), np.arange(40)[None], (), branch)
    found = resolution.classes_of(variable, counts, 10.0)
    assert found is not None and found.max() + 1 == 22
    assert len(set(found[20::2])) == 1 and len(set(found[21::2])) == 1 and found[20] != found[21]
    ordered = Variable((0,), np.arange(40)[None], (), None, True)
    found = resolution.classes_of(ordered, counts, 10.0)
    assert found is not None and (np.diff(found) >= 0).all() and found.max() + 1 == 22
