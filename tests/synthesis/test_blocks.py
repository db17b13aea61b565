"""Building blocks: parents declared, read off the data, or chosen privately; disk; the paper's table."""

from __future__ import annotations

import math
import stat
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from pegs_oracle import tiny

from sfumato.errors import DataError, ParameterError
from sfumato.measures import mutual_information
from sfumato.privacy import Neighbours
from sfumato.samples import DISCHARGE_VARIABLES, discharges
from sfumato.seeds import Key
from sfumato.synthesis.blocks import Blocks, law_counts
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.parents import PER_CELL, SENSITIVITY, dependence
from sfumato.synthesis.pegs import PeGS

TABLE = discharges(4_000, 5).select(DISCHARGE_VARIABLES)
DOMAIN = Domain.of(TABLE.schema)


def test_blocks_are_the_counts_of_the_table() -> None:
    given_ = {"charge": ["mdc", "los"], "sex": ["mdc"], "mdc": ["sex"]}
    blocks = Blocks.fit(TABLE, DOMAIN, given_)
    assert blocks.parents["charge"] == ("mdc", "los") and blocks.parents["age"] == ()
    assert blocks["charge"].counts == TABLE.counts("mdc", "los", "charge")
    assert blocks.counts("los", "charge") == TABLE.counts("los", "charge")
    assert blocks.rows == 4_000 and blocks.chosen == "declared"
    keys, laws = law_counts(blocks["charge"].counts)
    assert laws.sum() == 4_000 and len(keys) == len(laws)
    dense = TABLE.counts("mdc", "los", "charge").dense()
    assert all(np.array_equal(dense[tuple(k)], law) for k, law in zip(keys, laws, strict=True))
    with pytest.raises(ParameterError, match="together"):
        blocks.counts("sex", "race")


def test_parents_by_information_are_the_papers() -> None:
    blocks = Blocks.fit(TABLE, DOMAIN, 2)
    assert blocks.chosen == "data"
    for name, found in blocks.parents.items():
        scores = {
            other: mutual_information(TABLE.counts(name, other).dense())
            for other in DOMAIN.names
            if other != name
        }
        best = sorted(scores, key=lambda n: -scores[n])[:2]
        assert sorted(scores[n] for n in found) == pytest.approx(sorted(scores[n] for n in best))


def test_thirty_rows_a_cell_say_how_many_parents() -> None:
    sizes = dict(zip(DOMAIN.names, DOMAIN.sizes, strict=True))
    for rows in (200, 4_000, 10**9):
        blocks = Blocks.fit(TABLE, DOMAIN, None, declared_rows=rows)
        for name, found in blocks.parents.items():
            held = math.prod(sizes[n] for n in (name, *found))
            assert not found or held * PER_CELL <= rows
    assert max(len(p) for p in blocks.parents.values()) == 3


def test_the_private_choice_finds_strong_parents_with_enough_budget() -> None:
    draw = Key.from_seed(2).generator("rows")
    a = draw.integers(0, 3, 3_000)
    b = np.where(draw.random(3_000) < 0.9, a, draw.integers(0, 3, 3_000))
    table = tiny(list(zip(a, b, draw.integers(0, 3, 3_000), strict=True)), (3, 3, 3))
    domain = Domain.of(table.schema)
    blocks = Blocks.fit(table, domain, 1, privately=5.0)
    assert blocks.parents["v0"] == ("v1",) and blocks.parents["v1"] == ("v0",)
    assert blocks.chosen == "privately" and blocks.epsilon == 5.0
    # Scores differ by about 3,000; noise at a share of epsilon 5/3 reaches that with a chance below 1e-100.
    auto = Blocks.fit(table, domain, None, privately=5.0, neighbours=Neighbours.REPLACE)
    assert auto.parents["v0"][:1] == ("v1",)


@given(
    arrays.arrays(np.int64, (3, 4), elements=st.integers(0, 50)),
    st.integers(0, 2),
    st.integers(0, 3),
)
def test_the_score_moves_by_less_than_its_sensitivity(table: np.ndarray, a: int, b: int) -> None:
    more = table.copy()
    more[a, b] += 1
    assert abs(dependence(more) - dependence(table)) <= SENSITIVITY


def test_the_sensitivity_of_the_score_is_nearly_reached() -> None:
    rows = np.zeros((2, 2), np.int64)
    rows[0, 0] = 10_000
    more = rows + np.array([[0, 0], [0, 1]])
    assert dependence(more) - dependence(rows) >= 3


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"charge": ["nowhere"]}, "no such column: 'nowhere'"),
        ({"nowhere": []}, "no such column: 'nowhere'"),
        ({"charge": ["charge"]}, "has itself"),
        ({"charge": ["mdc", "mdc"]}, "twice"),
    ],
)
def test_parents_that_cannot_be_are_refused(given_: dict[str, list[str]], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Blocks.fit(TABLE, DOMAIN, given_)


def test_blocks_survive_the_disk(tmp_path: Path) -> None:
    blocks = Blocks.fit(TABLE, DOMAIN, {"charge": ["mdc", "los"], "sex": ["mdc"]})
    folder = blocks.save(tmp_path / "blocks")
    back = Blocks.load(folder, DOMAIN)
    assert back.parents == blocks.parents and back.rows == blocks.rows and back.chosen == blocks.chosen
    assert all(a.counts == b.counts for a, b in zip(back.blocks, blocks.blocks, strict=True))
    assert not stat.S_IMODE(folder.stat().st_mode) & 0o077
    assert "must not leave" in (folder / "blocks.json").read_text()
    with pytest.raises(DataError, match="no blocks of these columns"):
        Blocks.load(folder, Domain.of(TABLE.schema, ["sex", "mdc"]))
    (folder / "0000.arrow").write_bytes(b"no")
    with pytest.raises(DataError):
        Blocks.load(folder, DOMAIN)


def test_a_block_prints_as_the_papers_table() -> None:
    rows = [(0, 0), (0, 0), (0, 1), (1, 1)]
    table = tiny(rows, (2, 2))
    text = Blocks.fit(table, Domain.of(table.schema), {"v1": ["v0"]}).show("v1", alpha=1.0)
    lines = text.splitlines()
    assert lines[0] == "Pr(v1 | v0)"
    assert lines[1].split() == ["v0", "0", "1", "rows"]
    assert lines[2].split() == ["0", "0.600", "0.400", "3"]
    assert lines[3].split() == ["1", "0.333", "0.667", "1"]


def test_loaded_blocks_keep_their_price(tmp_path: Path) -> None:
    """Parents that were chosen for an epsilon cannot pass for declared ones after a trip to the disk."""
    table = tiny([(0, 1, 0)] * 9 + [(1, 0, 1)] * 8 + [(0, 0, 1)] * 2, (2, 2, 2))
    method = PeGS(epsilon_per_row=1.0, parents=1, parents_epsilon=0.5)
    made = method.fit(table)
    loaded = Blocks.load(made.blocks.save(tmp_path / "blocks"), Domain.of(table.schema))
    again = method.fit_blocks(loaded)
    key = Key.fresh()
    assert again.spends(10) == made.spends(10) == pytest.approx(10.5)
    assert again.sample(50, key=key).data.to_arrow() == made.sample(50, key=key).data.to_arrow()
    for cheaper, words in (
        (PeGS(epsilon_per_row=1.0, parents=1, parents_epsilon=0.25), "must be counted"),
        (PeGS(epsilon_per_row=1.0, parents=loaded.parents), "must be counted"),
        (PeGS(epsilon_per_row=1.0, parents={"v0": ["v1"]}, parents_epsilon=0.5), "not those"),
        (PeGS(epsilon_per_row=1.0, parents=1, parents_epsilon=0.5, neighbours="replace"), "other neighbours"),  # type: ignore[arg-type]
        (PeGS(epsilon_per_row=1.0, parents=1, parents_epsilon=0.5, seeds="data"), "need the data"),
    ):
        with pytest.raises(ParameterError, match=words):
            cheaper.fit_blocks(loaded)
    from_data = PeGS(epsilon_per_row=1.0, parents=1, choose="data").fit(table).blocks
    assert "parents from the data" in str(method.fit_blocks(from_data).sample(1).guarantee.claims[0].title)
