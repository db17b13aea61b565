"""AlphaTree and AlphaEnsemble: the oracle's trees, scikit-learn's checks, missing values, stopping rules."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import tree_oracle
from declared import PUBLIC
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import sfumato as sf
from sfumato.errors import DataError, ParameterError, SchemaError, SfumatoError
from sfumato.features.thresholds import quantiles, steps
from sfumato.prediction import _kernels
from sfumato.prediction.ensemble import AlphaEnsemble
from sfumato.prediction.structures import GrownTree, Stopping, alpha_tree
from sfumato.prediction.tree import AlphaTree
from sfumato.prediction.variables import TreeVariable
from sfumato.progress import listening
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.table import Table

VARIABLES = (
    TreeVariable("a", "number", thresholds=(0.5, 1.5, 2.5), missing=True),
    TreeVariable("b", "number", thresholds=(1.0,)),
    TreeVariable("c", "category", levels=("u", "v", "w"), missing=True),
    TreeVariable("d", "flag", levels=(False, True)),
    TreeVariable("e", "ordered", levels=("low", "middle", "high"), missing=True),
)
cells = st.tuples(
    st.sampled_from([None, 0.0, 1.0, 2.0, 3.0]),
    st.sampled_from([0.0, 1.0, 2.0]),
    st.sampled_from([None, "u", "v", "w"]),
    st.booleans(),
    st.sampled_from([None, "low", "middle", "high"]),
)
rows_and_labels = st.lists(st.tuples(cells, st.integers(0, 1)), min_size=1, max_size=25)


def encoded(rows: list[Any], variables: tuple[TreeVariable, ...] = VARIABLES) -> np.ndarray:
    types = {"number": pa.float64(), "flag": pa.bool_()}
    columns = [
        v.codes(pa.array([row[i] for row in rows], types.get(v.kind, pa.string())))
        for i, v in enumerate(variables)
    ]
    return np.ascontiguousarray(np.stack(columns))


@given(rows_and_labels, st.sampled_from([0.5, 1.0, 2.0, 0.3]))
@settings(max_examples=50, deadline=None)
def test_the_tree_is_that_of_the_oracle(data: list[Any], alpha: float) -> None:
    """Gains that are equal but for rounding may be ordered either way, so the gains are compared as well."""
    rows, labels = [r for r, _ in data], [y for _, y in data]
    tree = alpha_tree(encoded(rows), np.array(labels, np.uint8), VARIABLES, alpha, Stopping())

    def measure(table: tree_oracle.Table) -> float:
        return _kernels.alpha_gain(*table, alpha)

    def choose(offers: list[tuple[tree_oracle.Test, tree_oracle.Table]]) -> tree_oracle.Test | None:
        test, table = max(offers, key=lambda pair: measure(pair[1]))
        return test if measure(table) > 0 else None

    assert tree_oracle.nested(tree) == tree_oracle.grown(rows, labels, VARIABLES, measure, choose)
    again = tree.leaf_of(encoded(rows))
    for i, node in enumerate(tree.nodes):
        if node.is_leaf:
            mine = again == i
            assert mine.sum() == node.size and np.array(labels)[mine].sum() == node.positives


def test_words_of_every_test_and_its_denial() -> None:
    a, b, c, d, e = VARIABLES
    assert [a.words(t) for t in range(a.tests)] == [
        "a > 0.5", "a > 1.5", "a > 2.5", "a > 0.5 or missing", "a > 1.5 or missing", "a > 2.5 or missing",
        "a missing",
    ]  # fmt: skip
    assert a.words(0, negated=True) == "a ≤ 0.5 or missing" and a.words(3, negated=True) == "a ≤ 0.5"
    assert a.words(6, negated=True) == "a not missing" and b.words(0, negated=True) == "b ≤ 1"
    assert [c.words(t) for t in range(c.tests)] == ["c = u", "c = v", "c = w", "c missing"]
    assert d.words(1, negated=True) == "d ≠ True"
    assert e.words(1) == "e above middle" and e.words(0, negated=True) == "e up to low or missing"


@pytest.mark.parametrize("variable", VARIABLES, ids=lambda v: v.name)
def test_the_compiled_and_the_plain_test_agree(variable: TreeVariable) -> None:
    for test in range(variable.tests):
        for code in range(-1, variable.cuts + 2):
            compiled = _kernels.passes(code, test, variable.cuts, variable.ordered)
            assert variable.passes(code, test) == compiled


@pytest.mark.parametrize(
    "estimator", [AlphaTree(), AlphaEnsemble(alphas=(0.5, 1.0, 2.0))], ids=["tree", "ens"]
)
def test_scikit_learn_accepts_it(estimator: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(estimator, on_skip=None)
    assert is_classifier(estimator) and clone(estimator).get_params() == estimator.get_params()


def test_in_a_pipeline_and_a_search() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 4))
    y = np.where(x[:, 1] > 0.3, "ill", "well")
    search = GridSearchCV(
        make_pipeline(StandardScaler(), AlphaTree()),
        {"alphatree__alpha": [0.5, 1.0], "alphatree__max_depth": [1, 3]},
    ).fit(x, y)
    assert search.best_score_ > 0.9
    assert repr(AlphaTree(2.0, min_leaf=5)) == "AlphaTree(alpha=2.0, min_leaf=5)"


@pytest.fixture(scope="module")
def people() -> Table:
    return sf.samples.diabetes(600, 3)


def test_a_table_with_its_schema(people: Table) -> None:
    model = AlphaTree(min_leaf=10).fit(people, "diabetes")
    names = [v.name for v in model.variables_]
    assert "id" not in names and "diabetes" not in names and "glucose" in names
    edges = people.schema["glucose"].edges
    assert (
        edges is not None
        and next(v for v in model.variables_ if v.name == "glucose").thresholds == edges[1:-1]
    )
    assert all(v.public for v in model.variables_) and model.target_ == "diabetes"
    chances = model.predict_proba(people)
    assert chances.shape == (600, 2) and np.allclose(chances.sum(axis=1), 1)
    truth = people.to_arrow()["diabetes"].to_numpy(zero_copy_only=False)
    assert model.score(people, truth) > 0.75
    by_array = AlphaTree(min_leaf=10).fit(people.drop(["diabetes"]), truth)
    assert by_array.tree_.structure == model.tree_.structure


def test_frames_of_any_engine_give_the_same_answers(people: Table) -> None:
    rows = people.drop(["id", "diabetes"]).to_arrow()
    truth = people.to_arrow()["diabetes"].to_numpy(zero_copy_only=False)
    answers = []
    for frame in (rows.to_pandas(), pl.from_arrow(rows), rows):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # kinds were guessed
            model = AlphaTree(min_leaf=10, thresholds=15).fit(frame, truth)
            answers.append(model.predict_proba(frame))
        assert model.score(frame, truth) > 0.75
    assert np.array_equal(answers[0], answers[1]) and np.array_equal(answers[0], answers[2])


def test_learnt_from_a_table_and_asked_by_a_frame(people: Table) -> None:
    """The kinds are those of the table; what the frame has besides is left alone."""
    model = AlphaTree(min_leaf=10).fit(people, "diabetes")
    frame = people.to_arrow().to_pandas()
    assert np.array_equal(model.predict_proba(frame), model.predict_proba(people))
    assert np.array_equal(model.predict_proba(pl.from_arrow(people.to_arrow())), model.predict_proba(people))


def test_a_frame_of_numbers_is_read_as_the_table_was(people: Table) -> None:
    numbers = people.select(["age", "glucose", "diabetes"])
    model = AlphaTree(min_leaf=10).fit(numbers, "diabetes")
    frame = numbers.to_arrow().to_pandas()[["glucose", "age"]]  # in another order
    assert np.array_equal(model.predict_proba(frame), model.predict_proba(people))
    with pytest.raises(ValueError, match="named columns"):
        model.predict(np.zeros((1, 2)))
    with pytest.raises(DataError, match="age"):
        model.predict(frame[["glucose"]])
    assert (
        model.n_features_in_ == 2
        and model.set_params(alpha=2.0).fit([[0.0], [1.0]], [0, 1]).n_features_in_ == 1
    )


def test_long_work_says_how_far_it_is(people: Table) -> None:
    heard: list[tuple[str, int, int | None]] = []
    with listening(lambda *what: heard.append(what)):
        AlphaTree().fit(people, "diabetes")
    grown = [done for label, done, total in heard if label.startswith("growing") and total == 600]
    assert grown == sorted(grown) and grown[-1] == 600


def test_missing_cells_are_learnt_from() -> None:
    """Where missing says everything, one split says everything; a missing cell nobody expected goes left."""
    x = np.array([[1.0], [2.0], [np.nan], [3.0], [np.nan], [np.nan]])
    y = [0, 0, 1, 0, 1, 1]
    model = AlphaTree(min_leaf=1).fit(x, y)
    assert model.tree_.words(model.tree_.nodes[0]) == "x0 missing"
    assert model.predict([[np.nan], [2.5]]).tolist() == [1, 0]
    high = AlphaTree(min_leaf=1).fit([[1.0], [2.0], [np.nan], [4.0]], [0, 0, 1, 1])
    assert high.tree_.words(high.tree_.nodes[0]) == "x0 > 3 or missing"
    never = AlphaTree(min_leaf=1).fit([[1.0], [2.0]], [0, 1])
    assert never.predict([[np.nan]]).tolist() == [0]


def test_a_level_nobody_declared_passes_no_test() -> None:
    frame = pd.DataFrame({"place": ["n", "s"] * 20, "age": range(40)})
    y = (frame["place"] == "s").astype(int)
    table = Table.from_arrow(
        pa.table({"place": frame["place"].tolist(), "age": frame["age"].tolist()}),
        Schema((Column("place", Kind.NOMINAL, levels=("n", "s"), missing=False, provenance=PUBLIC),
                Column("age", Kind.NUMERIC, type="integer", edges=(0, 20, 40), provenance=PUBLIC))),
    )  # fmt: skip
    model = AlphaTree().fit(table, y)
    other = Table.from_arrow(pa.table({"place": ["elsewhere"], "age": [3]}), table.schema)
    assert model.predict(other).tolist() == [0]


def test_thresholds_come_from_bounds_or_quantiles() -> None:
    assert steps(0, 10, 4) == (2.0, 4.0, 6.0, 8.0)
    assert quantiles(np.array([1.0, 2.0, 2.0, 4.0]), 31) == (1.5, 3.0)
    assert len(quantiles(np.arange(1000.0), 31)) == 31 and quantiles(np.array([7.0, 7.0]), 31) == ()
    x = np.linspace(0, 1, 50)[:, None]
    y = (x[:, 0] > 0.62).astype(int)
    model = AlphaTree(bounds=(0, 2), thresholds=9).fit(x, y)
    assert model.variables_[0].thresholds == steps(0, 2, 9) and model.variables_[0].public
    assert not AlphaTree().fit(x, y).variables_[0].public
    named = AlphaTree(bounds={"b": (0, 4)}, thresholds=3).fit(pd.DataFrame({"a": x[:, 0], "b": x[:, 0]}), y)
    assert named.variables_[1].thresholds == (1.0, 2.0, 3.0)


@given(st.integers(0, 3), st.integers(2, 40), st.integers(1, 20), st.floats(0, 0.2))
@settings(max_examples=25, deadline=None)
def test_stopping_rules_hold_in_every_node(depth: int, split: int, leaf: int, gain: float) -> None:
    rng = np.random.default_rng(depth + split + leaf)
    x = rng.normal(size=(150, 3))
    y = (x @ [1, -1, 0.5] + rng.normal(size=150) > 0).astype(int)
    tree = AlphaTree(max_depth=depth, min_split=split, min_leaf=leaf, min_gain=gain).fit(x, y).tree_
    assert tree.depth <= depth and all(n.size >= leaf for n in tree.leaves)
    for node in tree.nodes:
        if not node.is_leaf:
            assert node.size >= split and 0 < node.positives < node.size
            assert max(c.gain for c in node.candidates) > gain
            assert tree.nodes[node.left].size + tree.nodes[node.right].size == node.size


def test_the_ensemble_keeps_structures_that_differ(people: Table) -> None:
    model = AlphaEnsemble(alphas=(0.5, 1.0, 1.0, 2.0, 2.0001), max_depth=3).fit(people, "diabetes")
    structures = [t.structure for t in model.trees_]
    assert len(set(structures)) == len(structures) <= 4
    alone = [
        AlphaTree(t.alpha, max_depth=3).fit(people, "diabetes").predict_proba(people) for t in model.trees_
    ]
    assert np.allclose(model.predict_proba(people), np.mean(alone, axis=0))
    assert model.trees_[0].alpha == 0.5


def test_a_tree_survives_its_list(people: Table) -> None:
    tree = AlphaTree(max_depth=4).fit(people, "diabetes").tree_
    again = GrownTree.from_list(tree.to_list(), tree.variables, tree.alpha)
    assert again.structure == tree.structure and [n.depth for n in again.nodes] == [
        n.depth for n in tree.nodes
    ]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda e: [],
        lambda e: e[:-1],
        lambda e: [{**e[0], "left": 0}, *e[1:]],
        lambda e: [{**e[0], "test": 999}, *e[1:]],
        lambda e: [{**e[0], "variable": 99}, *e[1:]],
        lambda e: [{**e[0], "size": "9"}, *e[1:]],
        lambda e: [{**e[0], "more": 1}, *e[1:]],
        lambda e: [*e[:-1], {"positives": 3, "size": 2}],
        lambda e: [*e, {"positives": 0, "size": 2}],
        lambda e: [None, *e[1:]],
    ],
)
def test_a_spoiled_list_is_refused(people: Table, spoil: Any) -> None:
    tree = AlphaTree(max_depth=2).fit(people, "diabetes").tree_
    with pytest.raises(DataError, match="cannot be read"):
        GrownTree.from_list(spoil(tree.to_list()), tree.variables, 1.0)


@pytest.mark.parametrize(
    "parameters",
    [
        {"alpha": "1"}, {"alpha": float("nan")}, {"alpha": None}, {"alpha": True}, {"max_depth": -1},
        {"min_split": 1}, {"min_leaf": 0}, {"min_gain": -1}, {"thresholds": 0}, {"thresholds": 2.5},
        {"bounds": (3, 1)}, {"bounds": {"x0": (0, float("inf"))}}, {"bounds": {"nobody": (0, 1)}},
        {"bounds": {"x0": 3}},
    ],
    ids=str,
)  # fmt: skip
def test_bad_parameters_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        AlphaTree(**parameters).fit([[0.0], [1.0], [2.0]], [0, 1, 1])


def test_bad_rows_are_refused_without_showing_them(people: Table) -> None:
    with pytest.raises(SchemaError, match="unknown column"):
        AlphaTree().fit(people, "nothing")
    with pytest.raises(ValueError, match="binary"):
        AlphaTree().fit(people, "activity")
    with pytest.raises(DataError, match="missing in"):
        AlphaTree().fit(people, "smoking")
    with pytest.raises(DataError, match="labels were given"):
        AlphaTree().fit(people, [0, 1])
    only = Table.from_arrow(
        pa.table({"id": ["a", "b"]}), Schema((Column("id", Kind.NOMINAL, Role.IDENTIFIER),))
    )
    with pytest.raises(DataError, match="no column can be used"):
        AlphaTree().fit(only, [0, 1])
    fitted = AlphaTree().fit(people, "diabetes")
    with pytest.raises(SfumatoError, match="glucose"):
        fitted.predict(people.drop(["glucose"]))
    with pytest.raises(ValueError, match="no parameter"):
        fitted.set_params(depth=3)


def test_numbers_of_any_size_and_rows_of_any_shape() -> None:
    big = pd.DataFrame({"a": [2**62 + 1024 * i for i in range(40)], "t": ["u", "v"] * 20})
    assert AlphaTree().fit(big, [0] * 20 + [1] * 20).score(big, [0] * 20 + [1] * 20) > 0.9
    for x in (np.array([7319.0, 1.0]), 7319.0):
        with pytest.raises(ValueError, match="Reshape your data") as refused:
            AlphaTree().fit(x, [0, 1])
        assert "7319" not in str(refused.value)
    with pytest.raises(DataError, match="repeat"):
        AlphaTree().fit(pd.DataFrame(np.eye(2), columns=["a", "a"]), [0, 1])


@pytest.mark.parametrize("alphas", [(), "1", None, (1.0, "2")])
def test_bad_alphas_are_refused(alphas: Any) -> None:
    with pytest.raises(ParameterError):
        AlphaEnsemble(alphas=alphas).fit([[0.0], [1.0]], [0, 1])


def test_negative_alphas_and_zero_grow_trees(people: Table) -> None:
    """An empty cell has infinite gain there: the tree is still a tree, and its leaves add up."""
    for alpha in (-2.0, -0.5, 0.0):
        tree = AlphaTree(alpha, max_depth=3, min_leaf=20).fit(people, "diabetes").tree_
        assert sum(n.size for n in tree.leaves) == 600
