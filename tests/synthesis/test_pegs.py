"""PeGS as users meet it: what it costs and says, what it refuses, and that a key gives one file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from declared import PUBLIC
from hypothesis import given
from hypothesis import strategies as st
from pegs_oracle import tiny

import sfumato as sf
from sfumato.errors import BudgetError, ParameterError, SchemaError
from sfumato.privacy import Budget, DiverseLaw, Ledger, NoGuarantee, PureDP
from sfumato.privacy.base import Unit
from sfumato.privacy.rounding import exact
from sfumato.release import verify
from sfumato.samples import DISCHARGE_VARIABLES, discharges
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.synthesis.constraints import Implies, Never, Within
from sfumato.synthesis.fitted_pegs import FittedPeGS
from sfumato.synthesis.pegs import PeGS
from sfumato.synthesis.perturbation import Visit, cost, dirichlet_alpha, entropies, least_prior
from sfumato.table import Table

TABLE = discharges(3_000, 7)
DECLARED = {"charge": ["mdc", "los"], "mdc": ["age", "sex"], "los": ["mdc"], "age": ["pay"], "pay": ["age"]}


def fit(**more: Any) -> FittedPeGS:
    return PeGS(**{"columns": DISCHARGE_VARIABLES, "parents": DECLARED, **more}).fit(TABLE)


def claim_of(release: sf.Release) -> PureDP:
    first = release.guarantee.claims[0]
    assert isinstance(first, PureDP)
    return first


# -- the arithmetic --------------------------------------------------------------------------------


def test_alpha_is_the_papers() -> None:
    assert dirichlet_alpha(1, 13) == pytest.approx(12.506409624, abs=5e-10)
    # Ten rows for a total of epsilon: ten times less a row, or one block of ten at the whole.
    for fitted, epsilon in ((fit(epsilon=1.0), 0.1), (fit(epsilon=1.0, block=10), 1.0)):
        found = set(fitted.alphas(10).values())
        assert max(found) == pytest.approx(dirichlet_alpha(epsilon, 13), rel=1e-6)
        assert min(found) >= dirichlet_alpha(epsilon, 13)  # rounded up, never down
    assert fit(epsilon_per_row=0.1, block=10).alphas(7)["sex"] == pytest.approx(
        dirichlet_alpha(1, 13), rel=1e-6
    )
    assert fit(epsilon_per_row=1.0, sweeps=3).alphas(7)["sex"] == pytest.approx(
        dirichlet_alpha(1 / 3, 13), rel=1e-6
    )


@given(st.floats(1e-7, 50), st.sampled_from([1, 20, 32, 1024]), st.integers(2, 60), st.booleans())
def test_the_prior_pays_for_its_visit_and_hardly_more(budget: float, mass: int, c: int, both: bool) -> None:
    visit = Visit(max(1, mass - 5), mass, c)
    wanted = exact(budget)
    unit, a = least_prior(visit, wanted, both=both)
    spent = cost(visit, unit, a, both=both)
    assert spent <= wanted
    if a > 4:
        assert cost(visit, unit, a - 3, both=both) > wanted
    assert unit * visit.mass * 2**40 <= 2**62 and a <= 2**44


def test_totals_count_every_row_and_every_part() -> None:
    assert claim_of(fit(epsilon_per_row=1.0).sample(50)).epsilon == 50
    assert claim_of(fit(epsilon_per_row=0.1).sample(10)).epsilon == 1.0  # ten tenths make one
    assert (
        claim_of(fit(epsilon_per_row=0.1, block=10).sample(11)).epsilon == 2.0
    )  # two blocks, one of them short
    assert claim_of(fit(epsilon=2.0).sample(5_000)).epsilon == 2.0
    chosen = fit(epsilon_per_row=0.5, parents=1, parents_epsilon=0.25)
    assert claim_of(chosen.sample(4)).epsilon == 2.25
    text = claim_of(chosen.sample(4)).text()
    for words in (
        "4 released rows, epsilon = 0.5 each",
        "epsilon = 0.25 of it chose the parents",
        "had one row been left out of the data, or added",
        "declared by Sfumato (the simulator defines it)",
    ):
        assert words in text
    replaced = claim_of(fit(epsilon_per_row=0.5, neighbours="replace").sample(2))
    assert "had one row held any other values" in replaced.text()
    blocks = claim_of(fit(epsilon_per_row=0.1, block=10).sample(20)).text()
    assert "blocks of 10, epsilon = 1 a block" in blocks


def test_a_marginal_prior_has_its_cost() -> None:
    plain, marginal = (
        fit(epsilon_per_row=0.1),
        fit(epsilon_per_row=0.1, prior="marginal", prior_epsilon=2.0, prior_floor=0.25),
    )
    claim = claim_of(marginal.sample(10))
    assert claim.epsilon == 3.0 and "noised the marginals" in claim.text()
    even, more = (f.laws(10).laws[0].weights[-1].astype(float) for f in (plain, marginal))
    assert (more >= even).all()  # the least of it is the uniform prior's
    shares = TABLE.counts("typ").dense() / 3_000
    assert np.abs(more / more.sum() - (0.25 / 6 + 0.75 * shares)).max() < 0.05


def test_smoothing_needs_less_prior_for_the_same_promise() -> None:
    plain, smooth = fit(epsilon_per_row=1.0), fit(epsilon_per_row=1.0, smoothing=8)
    assert smooth.alphas(1)["sex"] == plain.alphas(1)["sex"]  # sex has no order
    # Half of a row stays, but at the ends three quarters: that is the most it adds anywhere.
    assert smooth.alphas(1)["charge"] == pytest.approx(0.75 * plain.alphas(1)["charge"], rel=1e-6)


def test_weights_scale_the_prior() -> None:
    weight = Column("w", Kind.NUMERIC, Role.WEIGHT, edges=(0, 8), missing=False, provenance=PUBLIC)
    rows = tiny([(0, 0), (0, 1), (1, 1)] * 5, (2, 2))
    data = rows.to_arrow().append_column("w", pa.array([8.0, 4.0, 2.0] * 5))
    table = Table.from_arrow(data, Schema((*rows.schema, weight)))
    fitted = PeGS(epsilon_per_row=1.0, parents={"v1": ["v0"]}, weight="w").fit(table)
    laws = fitted.laws(1).laws[1].weights[:2].astype(float)
    alpha = dirichlet_alpha(1, 2) * 8  # in the unit of the weights
    expected = np.array([[40, 20], [0, 10]]) + alpha
    assert laws / laws.sum(axis=1, keepdims=True) == pytest.approx(
        expected / expected.sum(axis=1, keepdims=True), rel=1e-4
    )
    assert "largest one (8)" in claim_of(fitted.sample(1)).text()


def test_without_parents_nothing_is_chosen_or_paid_for() -> None:
    fitted = fit(epsilon_per_row=0.5, parents=0)
    assert not any(fitted.blocks.parents.values())
    assert claim_of(fitted.sample(4)).epsilon == 2.0


# -- l-diversity -----------------------------------------------------------------------------------


def test_entropies_reach_log_l_and_are_no_higher_than_needed() -> None:
    fitted = fit(log_l=0.6)
    bare = fit(alpha=0)
    for law, raw in zip(fitted.laws(1).laws, bare.laws(1).laws, strict=True):
        p, q = (
            w / w.sum(axis=1, keepdims=True) for w in (law.weights.astype(float), raw.weights.astype(float))
        )
        h, h0 = entropies(p), entropies(q)
        assert (h >= 0.6 - 1e-12).all()
        smoothed = h0 < 0.6
        assert h[smoothed] == pytest.approx(0.6, abs=1e-9)
        assert p[~smoothed] == pytest.approx(q[~smoothed], abs=1e-12)
    claim = fitted.sample(5).guarantee.claims[0]
    assert (
        isinstance(claim, DiverseLaw) and claim.l == pytest.approx(math.exp(0.6)) and claim.l <= math.exp(0.6)
    )
    assert any(isinstance(c, NoGuarantee) for c in fitted.sample(5).guarantee)


def test_more_entropy_than_there_is_is_refused_or_capped() -> None:
    with pytest.raises(ParameterError, match="'cat'"):
        fit(log_l=0.7)
    capped = fit(log_l=0.7, cap=True)
    claim = capped.sample(5).guarantee.claims[0]
    assert isinstance(claim, DiverseLaw) and claim.capped == ("cat",)
    law = capped.laws(1).laws[-1].weights
    assert (law[:, 0] == law[:, 1]).all()
    assert fit(log_l=math.log(2)).laws(1).laws[-1].weights.shape[1] == 2  # exactly log C can be met


def test_a_small_group_of_details_is_capped_too() -> None:
    levels = Column("d", Kind.NOMINAL, levels=("a", "b", "c"), missing=False, provenance=PUBLIC)
    group = Column("g", Kind.NOMINAL, levels=("x", "y"), missing=False, provenance=PUBLIC)
    table = Table.from_arrow(pa.table({"g": ["x", "y", "y"], "d": ["a", "b", "c"]}), Schema((group, levels)))
    rule = Within("d", "g", {"x": ["a"], "y": ["b", "c"]})
    with pytest.raises(ParameterError, match="'d'"):
        PeGS(log_l=0.5, parents={}, constraints=[rule]).fit(table)
    claim = PeGS(log_l=0.5, parents={}, constraints=[rule], cap=True).fit(table).sample(2).guarantee.claims[0]
    assert isinstance(claim, DiverseLaw) and claim.capped == ("d",)


# -- what is said when the data are looked at ------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"parents": 2, "choose": "data"}, "parents from the data"),
        ({"seeds": "data"}, "seeds from the data"),
        ({"parents": "auto", "choose": "data", "declared_rows": 1}, "parents from the data"),
        ({"alpha": 0, "epsilon_per_row": None}, "no noise"),
    ],
)
def test_what_looks_at_the_data_ends_the_promise(more: dict[str, Any], reason: str) -> None:
    release = fit(**{"epsilon_per_row": 1.0, **more}).sample(3)
    assert not any(isinstance(c, PureDP) for c in release.guarantee)
    assert reason in {c.reason for c in release.guarantee if isinstance(c, NoGuarantee)}


def test_a_domain_from_the_data_ends_the_promise() -> None:
    table = TABLE.with_schema(TABLE.schema.with_("sex", confirmed=True, provenance=None))
    with pytest.raises(SchemaError, match="1 without a public domain: 'sex'"):
        PeGS(epsilon_per_row=1.0, columns=["sex", "mdc"]).fit(table)
    found = (
        PeGS(epsilon_per_row=1.0, columns=["sex", "mdc"], domain="data", parents={})
        .fit(table)
        .sample(3)
        .guarantee
    )
    assert [c.reason for c in found if isinstance(c, NoGuarantee)] == ["domain from the data"]


def test_a_seed_ends_the_promise() -> None:
    release = fit(epsilon_per_row=1.0).sample(3, seed=1)
    assert [c.reason for c in release.guarantee if isinstance(c, NoGuarantee)] == ["seeded"]
    assert not any(isinstance(c, PureDP) for c in release.guarantee)
    assert release.internal is not None and release.internal.seed == 1


# -- one key, one file -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more", [{}, {"block": 7}, {"sweeps": 2}, {"constraints": [Never({"sex": "male", "mdc": 14})]}]
)
@pytest.mark.parametrize("seeded", [False, True])
def test_a_key_gives_one_file_for_any_chunks_and_threads(more: dict[str, Any], seeded: bool) -> None:
    fitted = PeGS(
        epsilon_per_row=0.3, columns=["sex", "mdc", "age_years", "admitted"], parents=1, **more
    ).fit(TABLE)
    key = Key.from_seed(3) if seeded else Key.fresh()
    whole = fitted.sample(5_003, key=key).data.to_arrow().combine_chunks()
    for chunk, threads in ((1, 1), (100, 1), (512, 2), (4_999, 2)):
        if chunk == 1 and more:
            continue
        again = fitted.sample(
            5_003 if chunk > 1 else 40, key=key, chunk=chunk, threads=threads
        ).data.to_arrow()
        assert again.combine_chunks().equals(whole.slice(0, again.num_rows).combine_chunks())
    assert fitted.sample(200, key=key).data.to_arrow().equals(whole.slice(0, 200))
    assert not fitted.sample(5_003).data.to_arrow().equals(whole)


def test_a_release_is_saved_verified_and_read_again(tmp_path: Path) -> None:
    release = sf.synthesize(TABLE.select(["sex", "mdc", "los_days"]), PeGS(epsilon=3.0, parents=1), rows=300)
    release.save(tmp_path / "out")
    assert verify(tmp_path / "out").ok
    back = sf.Release.load(tmp_path / "out")
    assert back.guarantee == release.guarantee and back.data.rows() == 300
    public = "".join(p.read_text() for p in (tmp_path / "out" / "public").iterdir() if p.suffix != ".parquet")
    assert "3000" not in public and "3,000" not in public  # the number of rows is the data's


def test_a_grant_pays_before_anything_is_drawn() -> None:
    fitted = fit(epsilon_per_row=0.1)
    ledger = Ledger.in_memory(Budget(epsilon=10.0))
    small = ledger.grant(epsilon=0.5, purpose="too little")
    with pytest.raises(BudgetError, match="does not cover"):
        fitted.sample(10, grant=small)
    assert not small.burnt
    enough = ledger.grant(epsilon=fitted.spends(10), purpose="ten rows")
    fitted.sample(10, grant=enough)
    assert enough.burnt


def test_a_grant_for_persons_does_not_pay_for_rows() -> None:
    """Someone with five rows loses five times the epsilon of a row."""
    fitted = PeGS(epsilon_per_row=1.0, parents={}).fit(tiny([(0, 1), (1, 0)], (2, 2)))
    ledger = Ledger.in_memory(Budget(epsilon=10.0, unit=Unit.person(5)))
    with pytest.raises(BudgetError, match="persons"):
        fitted.sample(2, grant=ledger.grant(epsilon=2.0, purpose="rows"))


def test_a_key_used_twice_does_not_show_where_two_tables_differ() -> None:
    """The same words under the laws of neighbours would give rows that differ next to nowhere."""
    key = Key.fresh()
    rows = [(i % 2, i % 3, i % 5) for i in range(3_000)]
    one, other = (PeGS(epsilon_per_row=1.0, parents={}).fit(tiny(r, (2, 3, 5))) for r in (rows, rows[1:]))
    a, b = (f.sample(2_000, key=key).data.to_arrow().column("v2").to_numpy() for f in (one, other))
    assert abs(np.mean(a == b) - 0.2) < 6 * 0.4 / math.sqrt(2_000)


# -- details, traces, seeds ------------------------------------------------------------------------


def test_details_are_drawn_within_their_group() -> None:
    table = TABLE.select(["mdc", "sex", "dx"])
    pairs = discharges(60_000, 1).counts("mdc", "dx").to_arrow().to_pylist()
    members: dict[int, list[str]] = {}
    for cell in pairs:
        members.setdefault(cell["mdc"], []).append(cell["dx"])
    rule = Within("dx", "mdc", members)
    for more in ({}, {"block": 3}):
        fitted = PeGS(
            epsilon_per_row=2.0, parents={"dx": ["sex"], "mdc": ["sex"]}, constraints=[rule], **more
        ).fit(table)
        assert fitted.blocks.parents["dx"] == ("mdc", "sex") and fitted.blocks.blocks[-1].column == "dx"
        rows = fitted.sample(3_000).data.to_arrow().to_pylist()
        assert all(r["dx"] in members[r["mdc"]] for r in rows)
        assert len({r["mdc"] for r in rows}) == 25
    auto = PeGS(epsilon_per_row=2.0, parents=1, constraints=[rule]).fit(table)
    assert auto.blocks.parents["dx"] == ("mdc",)


def test_implications_hold_in_every_row() -> None:
    rule = Implies({"age": 0}, {"pay": ["private", "medi-cal"]})
    fitted = PeGS(epsilon_per_row=0.5, columns=["age", "pay", "sex"], parents=1, constraints=[rule]).fit(
        TABLE
    )
    rows = fitted.sample(4_000).data.to_arrow().to_pylist()
    newborn = [r for r in rows if r["age"] == 0]
    assert newborn and all(r["pay"] in ("private", "medi-cal") for r in newborn)
    record = fitted.sample(1).internal
    assert record is not None and record.extra["rows dropped"] == fitted.blocks.dropped > 0


def test_a_trace_is_the_papers_table() -> None:
    fitted, key = fit(epsilon_per_row=1.0), Key.fresh()
    steps = fitted.trace(key=key)
    assert steps.column("drawn").to_pylist() == ["seed", *DISCHARGE_VARIABLES]
    rows = steps.drop_columns("drawn").to_pylist()
    for before, after, name in zip(rows, rows[1:], DISCHARGE_VARIABLES, strict=False):
        assert {k: v for k, v in before.items() if k != name} == {k: v for k, v in after.items() if k != name}
    assert rows[-1] == fitted.sample(1, key=key).data.to_arrow().to_pylist()[0]


def test_a_pool_is_where_sampling_starts() -> None:
    pool = tiny([(0, 0, 0)], (2, 2, 2))
    table = tiny([(1, 1, 1)] * 2_000, (2, 2, 2))
    chain = {"v0": ["v1"], "v1": ["v2"], "v2": ["v1"]}
    started = PeGS(alpha=1e-6, parents=chain, seeds=pool).fit(table)
    # Keys of 0 were never seen: every draw is even, and v1 = 1 leads nowhere but to v2 = 1.
    rows = started.sample(20_000).data.to_arrow()
    share = np.mean(rows.column("v0").to_numpy())
    assert abs(share - 0.5) < 6 * 0.5 / math.sqrt(20_000)
    assert "none comes from the data" in claim_of(started.sample(1)).text()
