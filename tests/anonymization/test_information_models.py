"""Models as measures: the network against enumeration, degradation, and Greedy guided by a model."""

from __future__ import annotations

from itertools import product

import greedy_tables as gt
import numpy as np
import pytest

import sfumato as sf
from sfumato.anonymization.degradation import Encoding, LearningTarget, halves, learn
from sfumato.anonymization.network import Network, Structure, _tables
from sfumato.anonymization.outcome import outcome
from sfumato.anonymization.problem import Problem, Sparse
from sfumato.anonymization.recoding import Recoding
from sfumato.criteria import KAnonymity, LDiversity
from sfumato.errors import ParameterError


def numeric(p: Problem) -> Problem:
    """The outcome as numbers: 10, 20, 30 ..."""
    y = p.sensitive["y"]
    names = tuple(str(10.0 * (i + 1)) for i in range(y.levels))
    return Problem(
        p.columns, p.hierarchies, p.leaves, p.n, {"y": Sparse("y", y.levels, y.start, y.code, y.n, names)}
    )


def untouched(p: Problem) -> Recoding:
    return Recoding.whole(p, p.leaves, np.zeros(p.combinations, bool))


def withheld(p: Problem) -> Recoding:
    roots = np.tile(np.array([h.root for h in p.hierarchies], np.int32), (p.combinations, 1))
    return Recoding.whole(p, roots, np.ones(p.combinations, bool))


@pytest.mark.parametrize(
    "structure",
    [Structure((0, 1, 2)), Structure((0, 2), ((1, 0),)), Structure((0, 1, 2), ((1, 0), (1, 2)))],
    ids=["chains", "one link", "a star"],
)
def test_the_network_answers_exactly(structure: Structure) -> None:
    """P(c | generalized row) = sum over the leaves beneath, of the network's own joint."""
    p = gt.drawn(4, 300, 3)
    found = outcome(p, "y")
    net = Network(p.hierarchies, *_tables(p, found, structure, 3.0), structure=structure)
    every = np.array(list(product(*(range(len(h.leaves)) for h in p.hierarchies))), np.int32)

    def joint(nodes: np.ndarray) -> np.ndarray:  # log P(leaves, c), rebuilt from the tables
        log = np.tile(np.log(net.prior), (len(nodes), 1))
        parents = {child: parent for parent, child in structure.links}
        for j in range(3):
            if j not in parents:
                log += net.alone[j][nodes[:, j]]
            else:
                h = p.hierarchies[parents[j]]
                level = next(i for i, names in enumerate(h.labels) if len(names) <= 16)
                u = h.ancestors[level][nodes[:, parents[j]]]
                log += net.linked[parents[j], j][u, nodes[:, j]]
        return np.exp(log)

    weights = joint(every)
    assert weights.sum() == pytest.approx(1.0)  # a distribution: what is not seen sums to one
    rng = np.random.default_rng(0)
    for _ in range(60):
        row = np.array([[rng.integers(h.size) for h in p.hierarchies]], np.int32)
        beneath = np.ones(len(every), bool)
        for j, h in enumerate(p.hierarchies):
            beneath &= (h.nodes[:, every[:, j]] == row[0, j]).any(0)
        wanted = weights[beneath].sum(0)
        assert net.posterior(row)[0] == pytest.approx(wanted / wanted.sum())


def test_the_network_finds_what_the_outcome_follows() -> None:
    """y follows the first of three columns, whose coarse level is a parent of nothing else."""
    p = gt.drawn(1, 3_000, 3)
    target = LearningTarget.of(p, "y")
    model = learn(p, target, target.found.n, sf.HierarchyNetwork())
    assert 0 in model.structure.used
    shown = model.predict(p.leaves)
    roots = np.array([[h.root for h in p.hierarchies]], np.int32)
    before, after = (target.error(x, target.found.code, 2) @ target.found.n for x in (
        shown[target.found.of], np.repeat(model.predict(roots), len(target.found.of), axis=0)))  # fmt: skip
    assert before < 0.9 * after


def test_a_generalized_cell_is_what_one_expects_of_it() -> None:
    p = gt.drawn(2, 200, 2, most=4)
    encoding = Encoding(p, p.n.astype(float))
    h = p.hierarchies[0]
    leaf = encoding.features(p.leaves)
    for level, node in ((1, 8), (2, 12)):
        mine = h.nodes[level][p.leaves[:, 0]] == node
        row = p.leaves[:1].copy()
        row[0, 0] = node
        width = encoding.tables[0].shape[1]
        wanted = np.average(leaf[mine][:, :width], axis=0, weights=p.n[mine])
        assert encoding.features(row)[0, :width] == pytest.approx(wanted)


@pytest.mark.parametrize("estimator", [None, sf.HierarchyNetwork()], ids=["linear", "network"])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_degradation_of_nothing_is_nothing_and_of_all_is_much(estimator: object, kind: str) -> None:
    p = gt.drawn(6, 1_500, 3, levels=4)
    p = p if kind == "classes" else numeric(p)
    assert (LearningTarget.of(p, "y").value is None) == (kind == "classes")
    for against in ("outcome", "prediction"):
        measure = sf.Degradation("y", estimator, against=against)
        none, some, all_ = measure.scores(untouched(p), sf.Greedy().search(p, KAnonymity(5)), withheld(p))
        assert none == pytest.approx(0.0, abs=1e-12)
        assert none <= some < all_ and all_ > 0.02
        assert measure.score(withheld(p)) == all_


def test_rows_that_are_parted_count_in_proportion() -> None:
    p = gt.drawn(7, 200, 2, most=6)
    roots = np.array([h.root for h in p.hierarchies], np.int32)
    half = p.n // 2
    of = np.repeat(np.arange(p.combinations), 2)
    n = np.stack([half, p.n - half], axis=1).ravel()
    nodes = np.stack([p.leaves, np.tile(roots, (p.combinations, 1))], axis=1).reshape(-1, 2)
    keep = n > 0
    parted = Recoding(p, of[keep], n[keep], nodes[keep].astype(np.int32), np.zeros(keep.sum(), bool))
    measure = sf.Degradation("y", error="absolute")
    some, all_ = measure.scores(parted, withheld(p))
    assert 0 < some < all_


def test_any_estimator_will_do() -> None:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import LinearSVC

    p = gt.drawn(6, 400, 3)
    for estimator in (
        RandomForestClassifier(20, random_state=0),
        KNeighborsClassifier(15),
    ):  # the latter takes no weights
        none, all_ = sf.Degradation("y", estimator).scores(untouched(p), withheld(p))
        assert none == pytest.approx(0.0, abs=1e-12) and all_ > 0
    with pytest.raises(ParameterError, match="no probabilities"):
        sf.Degradation("y", LinearSVC()).score(untouched(p))


def test_half_is_held_out() -> None:
    p = gt.drawn(0, 2_000, 3)
    found = outcome(p, "y")
    learnt, held = halves(found, 0.5, 1)
    assert (learnt + held == found.n).all() and (learnt >= 0).all() and (held >= 0).all()
    assert abs(learnt.sum() - 1_000) < 120  # 5 sd


# -- guided by a model -----------------------------------------------------------------------------


def test_guided_classes_change_predictions_less_than_others() -> None:
    p = gt.drawn(3, 500, 4, levels=3)
    guided = sf.ModelGuided("y").search(p, KAnonymity(5))
    plain = sf.Greedy().search(p, KAnonymity(5))
    assert guided.classes()[1].min() >= 5 and not guided.suppressed.any()
    measure = sf.Degradation("y", against="prediction")
    changed, otherwise = measure.scores(guided, plain)
    assert changed < otherwise


def test_guided_by_hand() -> None:
    """The nearest by prediction, not by height: the model reads the second column only."""
    h = gt.tree(4, (2,))
    leaves = np.array([[x, z] for x in range(4) for z in range(4)])
    p = numeric(gt.problem([h, h], leaves, np.full(16, 40), {"y": leaves[:, 1]}))
    found = sf.ModelGuided("y").search(p, KAnonymity(80))
    assert (h.level_of[found.nodes[:, 1]] == 0).all()
    assert found.about["score"] < 0.5


def test_a_leaking_search_says_so_and_leaks() -> None:
    """Outcomes that no column tells: guided by them, released rows tell them better than the originals."""
    rng = np.random.default_rng(5)
    leaves = np.stack([rng.integers(0, 8, 400), rng.integers(0, 5, 400), rng.integers(0, 4, 400)], axis=1)
    hs = [gt.tree(8, (2, 2)), gt.tree(5, (3,)), gt.tree(4, ())]
    p = gt.problem(hs, leaves, np.ones(400, np.int64), {"y": rng.integers(0, 2, 400)})
    leaking = sf.ModelGuided("y", leaking=True)
    found, fair = leaking.search(p, KAnonymity(3)), sf.ModelGuided("y").search(p, KAnonymity(3))
    assert found.about["leaks"] == "y" and "'y'" in leaking.leaks[0]
    assert fair.about["leaks"] == "" and sf.ModelGuided("y").leaks == ()

    def told(r: Recoding) -> float:  # how far the share of y in a class is from even, on average
        sparse = p.sensitive["y"]
        ones = np.bincount(
            np.repeat(np.arange(p.combinations), np.diff(sparse.start)), sparse.code * sparse.n
        )
        label, sizes = r.classes()
        return float(np.abs(np.bincount(label, ones[r.of]) / sizes - 0.5) @ sizes / p.rows)

    assert told(found) > told(fair)


def test_guided_satisfies_other_criteria_and_limits() -> None:
    p = gt.drawn(9, 250, 3, max_level=np.array([3, 1, 1], np.int32))
    found = sf.ModelGuided("y", shortlist=0).search(p, KAnonymity(3) & LDiversity(2, "y"))
    assert gt.holds_by_hand(found, lambda rows, tables: rows >= 3 and (tables[0] > 0).sum() >= 2)
    assert (p.hierarchies[1].level_of[found.nodes[~found.suppressed, 1]] <= 1).all()
    with pytest.raises(ParameterError, match="share"):
        sf.ModelGuided("y", share=0.0)


def test_a_target_with_one_outcome_is_refused_in_our_words() -> None:
    h = gt.tree(4, (2,))
    leaves = np.arange(4)[:, None]
    p = gt.problem([h], leaves, np.full(4, 40), {"y": np.zeros(4, int)})
    with pytest.raises(ParameterError, match="nothing to predict"):
        sf.ModelGuided("y").search(p, KAnonymity(80))
