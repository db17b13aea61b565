"""What rows are for: a workload, what its tables are expected to cost, and rows that follow three columns."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from private_tables import table_of

import sfumato as sf
from sfumato.languages import say, speaking
from sfumato.synthesis.constraints import Zero
from sfumato.synthesis.private import PrivateModel, PrivateSynthesizer, _kernels, _triple_kernels
from sfumato.synthesis.private.layout import Floats, Ints, Targets
from sfumato.synthesis.private.levels import reconciled
from sfumato.synthesis.private.tables import rake, without
from sfumato.synthesis.private.triples import chosen, layout_of
from sfumato.synthesis.private.workload import WorkloadItem

SIZES = (2, 3, 4, 3)


def people(rows: int = 4_000) -> Ints:
    """v0 drives v1 and v2, both drive v3."""
    draw = np.random.default_rng(5)
    v0 = draw.integers(0, 2, rows)
    v1 = (v0 + draw.integers(0, 2, rows)) % 3
    v2 = 2 * v0 + draw.integers(0, 2, rows)
    return np.stack([v0, v1, v2, (v1 + v2 // 3) % 3])


def model_of(**more: object) -> PrivateModel:
    return PrivateSynthesizer(epsilon=20.0, declared_rows=4_000, **more).fit(table_of(people(), SIZES))  # type: ignore[arg-type]


# -- what is said --------------------------------------------------------------------------------------------


def test_entries_are_tables_and_models() -> None:
    names = ("age", "sex", "ward", "sick")
    table = WorkloadItem.of("age, sex")
    assert table == WorkloadItem.of(("age", "sex")) and table.name == "age, sex"
    assert table.pairs(names) == {("age", "sex"): 10.0}
    some = WorkloadItem.of("sick ~ age + sex").pairs(names)
    assert some == {("sick", "age"): 10.0, ("sick", "sex"): 10.0, ("age", "sex"): 3.0}
    assert [*WorkloadItem.of("sick ~ .").pairs(names)] == [("sick", n) for n in names[:3]]
    assert len(WorkloadItem.of(("age", "sex", "ward")).pairs(names)) == 3


@pytest.mark.parametrize(
    "entry", ["age", "age, age", "a, b, c, d", "sick ~", "~ age", "sick ~ sick", ("age",), 3, ("a", 2)]
)
def test_other_entries_are_refused(entry: object) -> None:
    with pytest.raises(sf.ParameterError, match="workload"):
        PrivateSynthesizer(workload=[entry])  # type: ignore[arg-type, list-item]


def test_a_column_that_is_not_there_costs_nothing() -> None:
    method = PrivateSynthesizer(workload=["v0, nowhere"])
    table = table_of(people(100), SIZES)
    ledger = sf.Ledger.in_memory(method.budget(table.schema))
    with pytest.raises(sf.ParameterError, match="'nowhere'"):
        method.fit(table, ledger=ledger)
    assert ledger.spent == 0


def test_named_pairs_get_more(tmp_path: Path) -> None:
    share = []
    for entries in (None, [("v0", "v3")]):
        model = model_of(workload=entries)
        spent = {m.columns: m.amount for m in model.measured.pairs}
        share.append(spent[0, 3] / sum(spent.values()))
    assert share[1] > 1.5 * share[0]
    assert PrivateModel.load(model.save(tmp_path / "m.sfm")).expected_errors.equals(model.expected_errors)


# -- what is expected ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [1e-9, 0.0])
def test_errors_expected_before_follow_from_public_numbers(delta: float) -> None:
    schema = table_of(people(10), SIZES).schema
    errors = [
        PrivateSynthesizer(epsilon=e, delta=delta).expected_errors(schema, 4_000)["expected_error"].to_numpy()
        for e in (0.1, 1.0, 10.0)
    ]
    assert len(errors[0]) == 6 and (errors[0] >= errors[1]).all() and (errors[1] > errors[2]).all()
    named = PrivateSynthesizer(delta=delta, workload=["v0, v1"]).expected_errors(schema, 4_000)
    assert named.num_rows == 1 and named["expected_error"][0].as_py() < errors[1][0]


def test_errors_expected_afterwards_are_about_those_seen() -> None:
    """Means of six pairs of 40,000 rows; the error seen is that of one fit, so only within a factor."""
    data = people(40_000)
    model = PrivateSynthesizer(epsilon=1.0, workload=["v0, v1", "v3 ~ ."]).fit(table_of(data, SIZES))
    found = model.expected_errors.to_pylist()
    assert [(r["first"], r["second"]) for r in found] == [
        ("v0", "v1"),
        ("v3", "v0"),
        ("v3", "v1"),
        ("v3", "v2"),
    ]
    rows = model.codes(40_000, sf.Key.from_seed(1))
    seen = [distance(data, rows, [int(r[n][1]) for n in ("first", "second")]) for r in found]
    assert 0.1 < np.mean([r["expected_error"] for r in found]) / np.mean(seen) < 10
    with speaking("de"):
        assert all(say(note) != note for note in model.notes)
    assert any("matter by the workload" in note for note in model.notes)


def distance(first: Ints, second: Ints, columns: list[int]) -> float:
    shape = [SIZES[j] for j in columns]
    shares = [
        np.bincount(np.ravel_multi_index(list(x[columns].astype(int)), shape), minlength=int(np.prod(shape)))
        / x.shape[1]
        for x in (first, second)
    ]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


# -- tables towards what the others say ---------------------------------------------------------------------


def test_a_table_without_its_potential_is_what_the_others_say() -> None:
    """Exactly, but for the margins: of a model written out, the odds ratios are those without the factor."""
    draw = np.random.default_rng(3)
    ab, ac, bc = draw.normal(size=(3, 4)), draw.normal(size=(3, 2)), draw.normal(size=(4, 2))
    rest = np.exp(ac)[:, None, :] * np.exp(bc)[None, :, :]
    whole, others = (rest * np.exp(ab)[:, :, None]).sum(axis=2), rest.sum(axis=2)
    scale = 1e7 / whole.sum()
    first, second = whole.sum(axis=1) * scale, whole.sum(axis=0) * scale
    found = without(whole * scale, ab, first, second)
    assert np.allclose(found, rake(others, first, second), rtol=1e-3)


def test_a_potential_that_ran_away_takes_nobody_from_other_cells() -> None:
    first, second = np.array([500.0, 500.0]), np.array([500.0, 500.0])
    shown = np.array([[500.0, 0.0], [0.0, 500.0]])
    found = without(shown, np.array([[0.0, -20.0], [-20.0, 0.0]]), first, second)
    assert np.isfinite(found).all() and found.min() > 100


# -- three columns -------------------------------------------------------------------------------------------


def recounted(rows: Ints, triples: list[tuple[int, int, int]], wanted: Floats) -> Floats:
    """Of every cell, the count less what is wanted: the slow way."""
    tables = [
        np.bincount(
            np.ravel_multi_index([rows[j] for j in t], [SIZES[j] for j in t]),
            minlength=int(np.prod([SIZES[j] for j in t])),
        )
        for t in triples
    ]
    return np.asarray(np.concatenate(tables) - wanted)


def test_moving_a_row_changes_the_cost_by_what_is_said() -> None:
    draw = np.random.default_rng(7)
    rows = people(50)
    triples = chosen([*combinations(range(4), 2)], [0.1] * 6, SIZES)
    assert triples == [*combinations(range(4), 3)]
    layout = layout_of(triples, SIZES)
    wanted, cost = draw.uniform(0, 5, layout.starts[-1]), draw.uniform(0.1, 1, layout.starts[-1])
    counted = np.zeros(layout.starts[-1])
    _triple_kernels.count_triples(rows.astype(np.uint16), layout, counted)
    assert np.allclose(counted - wanted, recounted(rows, triples, wanted))
    cells = np.ascontiguousarray(np.stack([counted - wanted, cost], axis=1))
    for number in range(40):
        block = draw.permutation(4)[: draw.integers(1, 4)]
        row, new = rows[:, number].copy(), rows[:, number].copy()
        new[block] = [draw.integers(0, SIZES[j]) for j in block]
        before = (cost * recounted(rows, triples, wanted) ** 2).sum()
        args = (row, new, block, len(block), layout, cells)
        change = _triple_kernels.move_triples(*args, 0.0)
        assert np.isclose(_triple_kernels.move_triples(*args, 1.0), change)
        rows[:, number] = new
        gap = recounted(rows, triples, wanted)
        assert np.isclose((cost * gap**2).sum() - before, change)
        assert np.allclose(cells[:, 0], gap)


def test_triples_get_the_tables_of_pairs() -> None:
    triples, truth = [(0, 1, 2)], people(2_000)
    layout, start = layout_of(triples, SIZES), np.full(24, 2_000 / 24)
    wanted = np.concatenate(
        [
            np.histogram2d(truth[a], truth[b], bins=[SIZES[a], SIZES[b]])[0].ravel()
            for a, b in ((0, 1), (0, 2), (1, 2))
        ]
    )
    at, edges = np.array([0, 6, 14, 26]), np.array([[0, 1, 2]])
    _triple_kernels.fit_triples(start, layout, np.array(SIZES), edges, at, wanted, 40)
    table = start.reshape(2, 3, 4)
    shown = np.concatenate([table.sum(axis=axis).ravel() for axis in (2, 1, 0)])
    assert np.abs(shown - wanted).sum() < 1


def test_counts_are_kept_up_to_date_while_rows_move() -> None:
    potentials = model_of().potentials
    wanted, graph, key = potentials.wanted, potentials.graph, sf.Key.from_seed(2)
    rows = potentials.start(key, 0, 500)
    levels = np.empty(len(wanted.own_flat), np.int64)
    _kernels.count_levels(rows, graph.own, levels)
    pairs = np.stack([wanted.counts(rows) - wanted.flat, 1 / (wanted.flat + 5)], axis=1)
    own = np.stack([levels - wanted.own_flat, 1 / (wanted.own_flat + 5)], axis=1)
    triples = potentials.triples
    assert triples is not None
    cells = triples.cells(rows)
    words = key.words(1, 0, 500, 2 * potentials.blocks).reshape(500, -1)
    targets = Targets(pairs, own)
    taken = _kernels.calibrate(rows, words, graph, potentials.weights, targets, 1.0, triples.layout, cells)
    assert taken > 0
    _kernels.count_levels(rows, graph.own, levels)
    assert np.allclose(pairs[:, 0], wanted.counts(rows) - wanted.flat)
    assert np.allclose(own[:, 0], levels - wanted.own_flat)
    assert np.allclose(cells[:, 0], triples.cells(rows)[:, 0])


def test_few_triples_of_many_columns_are_followed() -> None:
    pairs = [(j, j + 1) for j in range(99)]
    found = chosen(pairs, [0.1] * 98 + [0.5], (3,) * 100)
    assert len(found) == 66 * 100 // 3 and all(
        {a, b} & {98, 99} or b == a + 1 or c == b + 1 for a, b, c in found
    )
    assert not chosen(pairs, [0.1] * 99, (2_000,) * 100)


# -- margins -------------------------------------------------------------------------------------------------


def test_columns_that_a_constraint_ties_are_reconciled() -> None:
    """All who give birth are women: no more of them than women, whatever noise says."""
    rule = Zero((0, 1), (np.array([False, True]), np.array([False, False, True])))
    sex, birth = np.array([40.0, 60.0]), np.array([30.0, 25.0, 45.0])
    women, births = reconciled([sex, birth], [rule], 100.0)
    assert births[2] <= women[0] + 0.05 and 40 < women[0] < 45
    assert np.isclose(women.sum(), 100) and np.isclose(births.sum(), 100)
    assert np.isclose(births[0] / births[1], 30 / 25, rtol=0.05)
    fine = reconciled([np.array([50.0, 50.0]), birth], [rule], 100.0)
    assert np.array_equal(fine[0], [50, 50]) and np.array_equal(fine[1], birth)
    assert all(
        np.array_equal(a, b) for a, b in zip(reconciled([sex, birth], [], 100.0), (sex, birth), strict=True)
    )


# -- sweeps --------------------------------------------------------------------------------------------------


def test_a_sweep_draws_blocks_given_the_rest() -> None:
    """The slow way: the weight of every state written out from the potentials, and the running sum."""
    potentials = model_of().potentials
    wanted, key = potentials.wanted, sf.Key.from_seed(3)
    rows = potentials.start(key, 0, 200)
    words = key.words(0, 0, 200, potentials.blocks).reshape(200, -1)
    slow = rows.astype(np.int64)
    for r in range(200):
        for b, block in enumerate(wanted.blocks):
            states = [*np.ndindex(*(SIZES[j] for j in block))]
            weight = []
            for state in states:
                row = slow[:, r].copy()
                row[list(block)] = state
                starts = np.concatenate([[0], np.cumsum(SIZES)])
                log = sum(potentials.own[starts[j] + row[j]] for j in range(4))
                for q, (i, k) in enumerate(wanted.pairs):
                    log += potentials.edges[wanted.starts[q] + row[i] * SIZES[k] + row[k]]
                weight.append(log)
            chance = np.exp(np.array(weight) - max(weight))
            u = float(words[r, b] >> np.uint64(11)) * 2.0**-53
            slow[list(block), r] = states[
                int(np.searchsorted(np.cumsum(chance), u * chance.sum(), side="right"))
            ]
    potentials.sweep(rows, key, 0)
    assert np.array_equal(rows, slow)


def test_nothing_is_picked_that_cannot_be() -> None:
    for weights in ([0, 0, 3, 0, 0, 2, 0], [1e-300], [0, 1], [5, 0, 0, 0, 0]):
        for word in (0, 2**63, 2**64 - 1):
            room = np.append(np.array(weights, np.float64), np.full(4, np.nan))
            found = _kernels._pick(room, len(weights), np.uint64(word))
            assert weights[found] > 0
    assert _kernels._pick(np.zeros(7), 3, np.uint64(5)) == -1
