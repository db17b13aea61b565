"""A tree as text, SVG and page: every leaf is there once, and a browser shows it without complaint."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import chromium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.prediction.structures import GrownTree
from sfumato.prediction.tree_figures import cut, gains_figure, places, rules, spec, text
from sfumato.table import Table


@pytest.fixture(scope="module")
def people() -> Table:
    return sf.samples.diabetes(768, 1)


@pytest.fixture(scope="module")
def tree(people: Table) -> GrownTree:
    return sf.AlphaTree(max_depth=5, min_leaf=8).fit(people, "diabetes").tree_


def random_tree(seed: int, rows: int, depth: int | None) -> GrownTree:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    return sf.AlphaTree(max_depth=depth, min_leaf=1).fit(x, rng.random(rows) < 0.5).tree_


@given(st.integers(0, 99), st.integers(2, 120), st.sampled_from([0, 1, 3, None]))
@settings(max_examples=12, deadline=None)
def test_every_leaf_is_written_and_drawn_once(seed: int, rows: int, depth: int | None) -> None:
    tree = random_tree(seed, rows, depth)
    lines = text(tree, "ill").splitlines()
    assert len(lines) == len(tree.nodes) and sum(" ill of " in line for line in lines[1:]) == sum(
        n.is_leaf for n in tree.nodes[1:]
    )
    assert len({words for words, _ in rules(tree)}) == len(tree.leaves)
    assert sum(n.size for _, n in rules(tree)) == rows
    at = places(tree)
    assert sorted(x for (x, _), n in zip(at, tree.nodes, strict=True) if n.is_leaf) == list(
        range(len(tree.leaves))
    )
    assert len(set(at)) == len(at)  # no two boxes on one another
    for node, (x, _) in zip(tree.nodes, at, strict=True):
        if not node.is_leaf:
            assert at[node.left][0] < x < at[node.right][0]


def test_the_text_reads_like_this(people: Table) -> None:
    model = sf.AlphaTree(max_depth=1, min_leaf=20).fit(people, "diabetes")
    assert model.text().splitlines() == [
        "all rows: 32.0% diabetes of 768 rows",
        "├─ glucose ≤ 145: 24.2% diabetes of 662 rows",
        "└─ glucose > 145: 81.1% diabetes of 106 rows",
    ]


def test_a_large_tree_is_cut_to_what_can_be_read() -> None:
    tree = random_tree(1, 2000, None)
    small = cut(tree, 20)
    assert len(tree.leaves) > 200 and 2 <= len(small.leaves) <= 20
    assert sum(n.size for n in small.leaves) == sum(n.size for n in tree.leaves)
    assert cut(small, 20) is small
    assert len(sf.AlphaTree().fit(sf.samples.icu(1359, 2), "septic_shock").page().to_html()) < 2_000_000


def test_the_svg_stands_alone_and_holds_the_tests(people: Table) -> None:
    model = sf.AlphaTree(max_depth=2, min_leaf=20).fit(people, "diabetes")
    root = ElementTree.fromstring(model.svg())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    words = " ".join(root.itertext())
    assert "glucose > 145?" in words and "n = 768" in words and "yes" in words


def test_names_of_columns_are_text_and_nothing_else() -> None:
    import pyarrow as pa

    hostile = pa.table({"<script>alert(1)</script>": [0.0, 1.0, 2.0, 3.0] * 5})
    model = sf.AlphaTree(min_leaf=1).fit(Table.from_arrow(hostile), [0, 0, 1, 1] * 5)
    for drawn in (model.svg(), model.page().to_html()):
        assert "<script>alert" not in drawn and "&lt;script&gt;" in drawn


def test_gains_carry_their_ranges_where_they_decide(people: Table) -> None:
    """Figure 5.5: a split and a stop; of an ordinary tree the gains alone."""
    noisy = sf.DPaT().fit(people, "diabetes")
    split = gains_figure(noisy.tree_, 0, "A split")
    assert split.table is not None and split.table.columns == ("test", "gain", "least", "largest")
    assert "one row away" in split.description and "glucose > 145 was chosen" in split.description
    html = noisy.page().to_html()
    assert "Where it stopped" in html and "nothing was chosen" in html and "No guarantee" in html
    plain = sf.AlphaTree(max_depth=2).fit(people, "diabetes")
    table = gains_figure(plain.tree_, 0, "Gains").table
    assert table is not None and table.columns == ("test", "gain")
    assert "Where it stopped" not in plain.page().to_html()


def test_an_ensemble_draws_its_trees(people: Table) -> None:
    model = sf.AlphaEnsemble(alphas=(0.5, 1.0, 2.0), max_depth=3, min_leaf=20).fit(people, "diabetes")
    assert model.page().to_html().count("<figure") == 1 + 1 + len(model.trees_) - 1
    assert model.text().count("all rows") == len(model.trees_)


def test_infinite_gains_are_drawn(people: Table) -> None:
    model = sf.AlphaTree(-1.0, max_depth=2).fit(people, "diabetes")
    assert "<svg" in model.page().to_html()


def test_a_single_leaf_is_drawn() -> None:
    model = sf.AlphaTree().fit([[0.0], [1.0]], [1, 1])
    assert model.text() == "all rows: 100.0% 1 of 2 rows"
    assert "100% 1" in model.svg() and "<figure" in model.page().to_html()
    assert spec(model.tree_, "1")["width"] > 0


@pytest.mark.skipif(chromium.executable() is None, reason="there is no Chromium here")
def test_a_browser_shows_it(people: Table, tmp_path: Path) -> None:
    program = chromium.executable()
    assert program is not None
    page = sf.DPaT().fit(people, "diabetes").page("A structure").save(tmp_path / "tree.html")
    with chromium.Browser(program) as browser:
        for width, dark in ((1250, False), (420, True)):
            browser.open(page, width=width, dark=dark)
            assert browser.complaints() == [] and len(browser.requests()) == 1
            boxes = browser.evaluate(
                "[...document.querySelectorAll('.panels svg')].map(s => s.getBoundingClientRect().width)"
            )
            assert len(boxes) >= 3 and all(b > 200 for b in boxes)
            wide = browser.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert wide <= 0  # wide drawings scroll in their own frame
