"""The audit: PeGS as it is passes, and each of the ways to get it wrong is caught.

A bound of the audit is above the true epsilon with a chance of at most `error`: 1e-6 here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pegs_oracle import tiny

from sfumato.assessment.audit import Audit, audit
from sfumato.privacy import Neighbours
from sfumato.seeds import Key
from sfumato.synthesis import parents as choosing
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.fitted_pegs import FittedPeGS
from sfumato.synthesis.pegs import PeGS
from sfumato.synthesis.sampler import Sampler
from sfumato.synthesis.structural_zeros import _kernels as restricted
from sfumato.table import Table

DRAWS = 200_000


def rows_of(model: FittedPeGS, n: int) -> np.ndarray[Any, Any]:
    """n independent runs of the mechanism: rows, or blocks laid out as one row."""
    block = model.method.block or 1
    codes = Sampler(model.laws(block), Key.fresh(), model.method.sweeps, model.method.block, model.pool)
    return codes.codes(0, n * block).T.reshape(n, -1)


def audited(method: PeGS, data: Table, neighbour: Table, claim: float, draws: int = DRAWS) -> Audit:
    models = {id(t): method.fit(t) for t in (data, neighbour)}
    return audit(
        lambda table, n: rows_of(models[id(table)], n), data, neighbour, claim=claim, draws=draws, error=1e-6
    )


CHAIN = {"v0": ["v1"], "v1": ["v2"], "v2": ["v0"]}
FULL = tiny([(0, 1, 0)] * 2 + [(1, 0, 1)] * 2 + [(0, 0, 1)] * 2, (2, 2, 2))
MORE = tiny([(0, 1, 0)] * 2 + [(1, 0, 1)] * 2 + [(0, 0, 1)] * 2 + [(1, 1, 1)], (2, 2, 2))
OTHER = tiny([(0, 1, 0)] * 1 + [(1, 0, 1)] * 2 + [(0, 0, 1)] * 2 + [(1, 1, 1)], (2, 2, 2))


@pytest.mark.parametrize("more", [{}, {"sweeps": 2}, {"block": 2}, {"block": 3}])
@pytest.mark.parametrize("neighbours", ["add/remove", "replace"])
def test_pegs_passes(more: dict[str, Any], neighbours: str) -> None:
    rows = more.get("block", 1)
    method = PeGS(epsilon_per_row=3.0 / rows, parents=CHAIN, neighbours=neighbours, **more)
    found = audited(method, FULL, MORE if neighbours == "add/remove" else OTHER, 3.0)
    assert not found.refutes() and not found.replayed
    assert method.fit(FULL).sample(rows).guarantee.claims[0].epsilon == pytest.approx(3.0)  # type: ignore[attr-defined]


def test_parents_chosen_privately_pass() -> None:
    """The default: parents are picked anew in every run, from the pairs of the table."""
    domain = Domain.of(FULL.schema)
    pairs = {id(t): t.tabulate(choosing.pairs_of(domain)) for t in (FULL, MORE)}

    def pick(table: Table, n: int) -> np.ndarray[Any, Any]:
        return np.array(
            [
                [
                    domain.place(p[0])
                    for p in choosing.privately(
                        domain, pairs[id(table)], 1, None, 2.0, Neighbours.ADD_REMOVE, 7
                    ).values()
                ]
                for _ in range(n)
            ]
        )

    assert not audit(pick, FULL, MORE, claim=2.0, draws=100, error=1e-6).refutes()


def test_half_the_prior_is_caught() -> None:
    data, neighbour = tiny([(0, 0)] * 4, (2, 2)), tiny([(0, 0)] * 4 + [(1, 1)], (2, 2))
    alpha = min(PeGS(epsilon_per_row=2.0, parents={}).fit(data).alphas(1).values())
    assert not audited(PeGS(alpha=alpha, parents={}), data, neighbour, 2.0, draws=400_000).refutes()
    assert audited(PeGS(alpha=alpha / 2, parents={}), data, neighbour, 2.0, draws=400_000).refutes()


def test_parents_from_the_data_are_caught() -> None:
    """v2 goes with v0 as much as with v1; one row decides with which, and the laws differ widely."""
    cells = {(0, 0, 0): 80, (1, 1, 1): 80, (0, 1, 0): 20, (1, 0, 1): 20, (0, 1, 1): 20, (1, 0, 0): 20}
    rows = [cell for cell, n in cells.items() for _ in range(n)]
    method = PeGS(epsilon_per_row=0.5, parents=1, choose="data")
    tied = tiny(rows, (2, 2, 2))
    chosen = method.fit(tied).blocks.parents
    # Whichever the tie goes to, one row more for the other one turns it.
    turned = [tiny([*rows, extra], (2, 2, 2)) for extra in ((0, 1, 0), (0, 1, 1))]
    other = next(t for t in turned if method.fit(t).blocks.parents["v2"] != chosen["v2"])
    assert audited(method, tied, other, 0.5).refutes()
    assert "parents from the data" in method.fit(tied).sample(1).guarantee.claims[0].title
    assert not audited(PeGS(epsilon_per_row=0.5, parents=chosen), tied, other, 0.5).refutes()


def test_seeds_from_the_data_are_caught() -> None:
    ring = {"v0": ["v1"], "v1": ["v2"], "v2": ["v3"], "v3": ["v0"]}
    rows = [(0, 0, 0, 0)] * 300
    data, neighbour = tiny([*rows, (1, 1, 1, 1)], (2, 2, 2, 2)), tiny(rows, (2, 2, 2, 2))
    method = PeGS(epsilon_per_row=0.5, parents=ring, seeds="data")
    assert audited(method, data, neighbour, 0.5, draws=2_000_000).refutes()
    assert "seeds from the data" in method.fit(data).sample(1).guarantee.claims[0].title
    assert not audited(replace(method, seeds="uniform"), data, neighbour, 0.5).refutes()
    pool = tiny([(0, 0, 0, 0), (1, 1, 1, 1)], (2, 2, 2, 2))
    assert not audited(replace(method, seeds=pool), data, neighbour, 0.5).refutes()


def test_a_domain_from_the_data_is_caught() -> None:
    """A level that only one person has is drawn from one table, and never from the other."""
    method = PeGS(epsilon_per_row=0.5, parents={}, domain="data")
    tables = []
    for rows in ([(0, 0)] * 20, [(0, 0)] * 20 + [(1, 2)]):
        plain = tiny([*rows, (1, 1)], (3, 3))
        schema = plain.schema.with_("v1", levels=None, confirmed=False)
        tables.append(plain.with_schema(schema))
    models = {id(t): method.fit(t) for t in tables}

    def values(table: Table, n: int) -> list[int]:
        release = models[id(table)].sample(n)
        return release.data.to_arrow().column("v1").to_pylist()

    found = audit(values, tables[0], tables[1], claim=0.5, draws=5_000, error=1e-6)
    assert found.refutes()
    assert any("domain from the data" in c.title for c in models[id(tables[0])].sample(1).guarantee)


@pytest.mark.soak
def test_a_missing_reset_is_caught() -> None:
    both = {"v0": ["v1"], "v1": ["v0"]}
    data, neighbour = tiny([(0, 1), (1, 0)] * 2, (2, 2)), tiny([(0, 1), (1, 0)] * 2 + [(1, 1)], (2, 2))
    method = PeGS(epsilon_per_row=2.0 / 4, parents=both, block=4)
    models = {id(t): method.fit(t) for t in (data, neighbour)}

    def without_reset(table: Table, n: int) -> np.ndarray[Any, Any]:
        sampler = Sampler(models[id(table)].laws(4), Key.fresh(), 1, 4)
        book, out = sampler.book, np.empty((2, 4 * n), np.uint8)
        restricted.pegs_general(
            sampler._stream, 4, 1, False, 0, sampler._seeds, book.shape, book.slots, book.zeros,
            book.exact.cumulative, out,
        )  # fmt: skip
        return out.T.reshape(n, -1)

    assert not audited(method, data, neighbour, 2.0).refutes()
    assert audit(without_reset, data, neighbour, claim=2.0, draws=DRAWS, error=1e-6).refutes()
