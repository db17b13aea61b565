"""Private tables: the promise by exact sensitivities and an audit, and counts that add up afterwards."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from declared import PUBLIC
from private_tables import chain, table_of

import sfumato as sf
from sfumato.assessment.audit import Audit, audit
from sfumato.cells.layout import Layout, coded, relations_of
from sfumato.cells.programs import whole_near
from sfumato.errors import BudgetError, DataError, NoisyWarning, ParameterError, SchemaError
from sfumato.privacy import ApproxDP, Budget, Ledger, PureDP, Unit
from sfumato.privacy.grants import Grant
from sfumato.privacy.noise import Noisy
from sfumato.schema import Column, Kind, Provenance, Schema
from sfumato.table import Table
from sfumato.tabulation import private
from sfumato.tabulation.margins import Margins

TABLE = table_of(chain(200), (2, 2, 2, 3))
TWO = ["v0,v1,v2", "v1,v3"]


# -- margins that agree ------------------------------------------------------------------------------


def margins_of(full: np.ndarray, sets: list[tuple[int, ...]]) -> dict[tuple[int, ...], np.ndarray]:
    return {s: full.sum(axis=tuple(i for i in range(full.ndim) if i not in s)) for s in sets}


def test_margins_are_the_weighted_least_squares_estimate() -> None:
    """Against the normal equations of every measured cell, solved as they stand."""
    margins = Margins((3, 2, 4), ((0, 1), (1, 2)))
    random = np.random.default_rng(1)
    measured = [(s, random.normal(5, 3, margins.shape(s)), v) for s, v in
                {(): 2.0, (0,): 1.0, (1,): 0.5, (0, 1): 1.5, (1, 2): 0.7}.items()]  # fmt: skip
    cells = list(itertools.product(*map(range, margins.sizes)))
    rows, wanted = [], []
    for s, table, variance in measured:
        for labels in itertools.product(*map(range, margins.shape(s))):
            row = [float(all(c[i] == x for i, x in zip(s, labels, strict=True))) for c in cells]
            rows.append(np.array(row) / np.sqrt(variance))
            wanted.append(table[labels] / np.sqrt(variance))
    full = np.linalg.lstsq(np.array(rows), np.array(wanted), rcond=None)[0].reshape(margins.sizes)
    found, truth = margins.agreed(measured), margins_of(full, margins.sets)
    for s in margins.sets:
        assert np.allclose(found[s], truth[s])
    # and its covariance, of the same equations
    matrix = np.array(rows)
    spread = np.linalg.pinv(matrix.T @ matrix)
    told = margins.variances({s: v for s, _, v in measured})
    for s in margins.sets:
        first = np.array([float(all(c[i] == 0 for i in s)) for c in cells])
        assert told[s] == pytest.approx(first @ spread @ first)


def test_no_count_is_negative_and_true_counts_stay() -> None:
    margins = Margins((4, 3), ((0, 1),))
    true = np.array([[9.0, 0, 0], [0, 5, 1], [0, 0, 0], [2, 0, 7]])
    exact = margins.not_negative([((0, 1), true, 1.0), ((0,), true.sum(axis=1), 1.0)])
    assert np.allclose(exact[(0, 1)], true, atol=0.01)
    noisy = true + np.random.default_rng(3).normal(0, 4, true.shape)
    assert (noisy < -1).any()
    found = margins.not_negative([((0, 1), noisy, 16.0)])
    assert found[(0, 1)].min() > -0.01 and np.allclose(found[(0,)], found[(0, 1)].sum(axis=1))


def test_shares_lower_the_error_of_all_cells_together() -> None:
    margins = Margins((30, 20, 10), ((0, 1, 2),))
    found = margins.shares(lambda p: 1 / p)
    assert sum(found.values()) == pytest.approx(1) and (0, 1, 2) in found

    def error(shares: dict[tuple[int, ...], float]) -> float:
        spread = margins.variances({s: 1 / p for s, p in shares.items()})
        return sum(margins.cells(s) * v for s, v in spread.items())

    equal = {s: 1 / len(margins.sets) for s in margins.sets}
    assert error(found) < error(equal) and error(found) <= error({(0, 1, 2): 1.0}) * 1.001


# -- what comes out ----------------------------------------------------------------------------------


def counts_of(release: sf.Release, columns: list[str]) -> tuple[np.ndarray, np.ndarray]:
    rows = release.data.to_arrow()
    codes, _ = coded([rows[n].to_pylist() for n in columns])
    return codes, rows["count"].to_numpy()


@pytest.mark.parametrize("method", [sf.PrivateTables(epsilon=0.3), sf.PrivateTables(1.0, 1e-9)], ids=str)
def test_all_combinations_are_there_whole_and_add_up(method: sf.PrivateTables, tmp_path: Path) -> None:
    release = sf.tabulate(TABLE, TWO, method=method)
    columns = ["v0", "v1", "v2", "v3"]
    codes, counts = counts_of(release, columns)
    assert len(counts) == 27 + 3 + 2 * 3  # v0,v1,v2 with totals, then v3 and v1 x v3
    assert counts.dtype.kind == "i" and counts.min() >= 0
    relations = relations_of([Layout.of(t) for t in TWO], columns, codes)
    assert not len(relations.broken(counts.astype(float)))
    release.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").ok
    kind = ApproxDP if method.delta else PureDP
    (claim,) = (c for c in release.guarantee if c.differential)
    assert isinstance(claim, kind) and claim.epsilon <= method.epsilon + 1e-9


def test_what_was_paid_for_is_shown_where_no_whole_numbers_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private, "whole_near", lambda relations, near: None)
    with pytest.warns(NoisyWarning, match="decimals"):
        release = sf.tabulate(TABLE, TWO, method=sf.PrivateTables(epsilon=0.3))
    columns = ["v0", "v1", "v2", "v3"]
    codes, counts = counts_of(release, columns)
    assert counts.dtype.kind == "f" and counts.min() >= 0
    assert not len(relations_of([Layout.of(t) for t in TWO], columns, codes).broken(counts))
    release.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").ok


def test_whole_numbers_of_many_crossed_tables_are_found_at_once() -> None:
    """Every three of four columns: to search for the best ones takes minutes, and any near ones will do."""
    sizes = (8, 8, 8, 8)
    full = np.random.default_rng(1).gamma(0.3, 2.0, sizes)
    sets = Margins(sizes, tuple(itertools.combinations(range(4), 3))).sets
    found = margins_of(full, sets)
    codes = []
    for s in sets:
        cells = np.full((found[s].size, 4), -1)
        if s:
            cells[:, list(s)] = np.indices(found[s].shape).reshape(len(s), -1).T
        codes.append(cells)
    names = ["v0", "v1", "v2", "v3"]
    layouts = [Layout.of(",".join(names[c] for c in s)) for s in sets if len(s) == 3]
    relations = relations_of(layouts, names, np.concatenate(codes))
    near = np.concatenate([found[s].ravel() for s in sets])
    whole = whole_near(relations, near, seconds=3600.0)
    assert whole is not None and not np.any(relations.matrix @ whole)
    assert whole.min() >= 0 and np.abs(whole - near).max() <= 2
    assert whole_near(relations, near, seconds=0.0) is None  # and it ends


def test_labels_that_cannot_be_written_cost_nothing() -> None:
    level = Column("v0", Kind.NOMINAL, levels=("a", "_T"), missing=False, provenance=PUBLIC)
    table = Table.from_arrow(pa.table({"v0": ["a", "_T"]}), Schema([level]))
    ledger = Ledger.in_memory(Budget(epsilon=1.0))
    with pytest.raises(DataError, match="sign for totals"):
        sf.tabulate(table, "v0", method=sf.PrivateTables(), ledger=ledger)
    assert ledger.spent == 0


def test_margins_are_lifted_to_no_negative_cell_and_still_agree() -> None:
    margins = Margins((3, 4), ((0, 1),))
    table = np.random.default_rng(2).normal(1, 2, (3, 4))
    lifted = margins.lifted(margins_of(table, margins.sets))
    assert min(cells.min() for cells in lifted.values()) >= 0
    assert np.allclose(lifted[0,], lifted[0, 1].sum(axis=1))
    assert lifted[()] == pytest.approx(table.sum())
    assert not margins.lifted(margins_of(-np.abs(table), margins.sets))[0, 1].any()


def test_a_total_that_was_changed_is_found(tmp_path: Path) -> None:
    out = sf.tabulate(TABLE, "v0,v1", method=sf.PrivateTables()).save(tmp_path / "out", format="csv")
    text = (out / "public/data.csv").read_text("utf-8").splitlines()
    labels, count, noise = text[1].rsplit(",", 2)
    text[1] = f"{labels},{int(count) + 1},{noise}"
    (out / "public/data.csv").write_text("\n".join(text) + "\n", encoding="utf-8")
    found = {c.subject: c for c in sf.verify(out).claims}
    assert "not the sums" in found["totals add up"].detail


def test_with_much_budget_the_counts_are_the_counts() -> None:
    """At epsilon 100 noise of one cell is not 0 with a chance of about 2 e^-50 per share."""
    release = sf.tabulate(TABLE, "v1,v3", method=sf.PrivateTables(epsilon=100.0))
    true = TABLE.counts("v1", "v3").dense()
    rows = {(r["v1"], r["v3"]): r["count"] for r in release.data.to_arrow().to_pylist()}
    assert rows["_T", "_T"] == 200
    assert all(rows[str(a), str(b)] == true[a, b] for a in range(2) for b in range(3))


# -- the promise -------------------------------------------------------------------------------------


def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[np.ndarray, float]]:
    """Every array that noise is drawn for, with the sensitivity that is said of it; no noise is added."""
    seen: list[tuple[np.ndarray, float]] = []

    def without(values: np.ndarray, sensitivity: float, grant: object) -> Noisy:
        seen.append((np.asarray(values), float(sensitivity)))
        return Noisy(np.asarray(values), 1.0, "discrete Laplace")

    monkeypatch.setattr(private, "laplace", without)
    monkeypatch.setattr(private, "gaussian", without)
    return seen


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_a_person_changes_what_is_measured_by_at_most_the_sensitivity(
    monkeypatch: pytest.MonkeyPatch, delta: float
) -> None:
    codes = chain(30)
    alike = np.repeat(codes[:, :1], 3, axis=1)  # three rows in one cell: the worst there is
    with_one = table_of(np.concatenate([codes, alike], axis=1), (2, 2, 2, 3), [*range(30), 99, 99, 99])
    without = table_of(codes, (2, 2, 2, 3), list(range(30)))
    method = sf.PrivateTables(1.0, delta, max_rows_per_person=2)
    seen = drawn(monkeypatch)
    sf.tabulate(with_one, TWO, method=method)
    half = len(seen)
    sf.tabulate(without, TWO, method=method)
    assert half * 2 == len(seen)
    for (a, bound), (b, _) in zip(seen[:half], seen[half:], strict=True):
        change = np.abs(a - b)
        far = np.sqrt((change**2).sum()) if delta else change.sum()
        assert bound == 2 and far == 2  # of three rows two are counted


def test_one_row_adds_up_to_the_whole_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shares that are granted never exceed the total, whatever the tables."""
    for tables in (["v0"], TWO, ["v0,v1,v2,v3"]):
        spent: list[float] = []
        genuine = Ledger.grant

        def counted(
            self: Ledger, *, seen: list[float] = spent, real: object = genuine, **given: object
        ) -> object:
            seen.append(float(given.get("epsilon") or 0.0))  # type: ignore[arg-type]
            return real(self, **given)  # type: ignore[operator]

        monkeypatch.setattr(Ledger, "grant", counted)
        sf.tabulate(TABLE, tables, method=sf.PrivateTables(epsilon=0.7))
        monkeypatch.setattr(Ledger, "grant", genuine)
        assert spent[0] == pytest.approx(0.7) and sum(spent[1:]) <= spent[0]
        assert sum(spent[1:]) > 0.69


def audited(claim: PureDP, monkeypatch: pytest.MonkeyPatch, factor: float = 1.0) -> Audit:
    """A cell in many copies, in which one person has two rows more: the grant pays for one of them."""
    genuine = private.laplace

    def weaker(values: np.ndarray, sensitivity: int, grant: Grant) -> Noisy:
        noisy = genuine(np.zeros_like(values), sensitivity, grant)
        return Noisy(values + np.rint(noisy.values * factor).astype(np.int64), noisy.scale, noisy.law)

    monkeypatch.setattr(private, "laplace", weaker)

    def mechanism(count: int, draws: int) -> np.ndarray:
        ledger = Ledger.in_memory(Budget(epsilon=claim.epsilon))
        grant = ledger.grant(epsilon=claim.epsilon, purpose="audit")
        margins = Margins((draws,), ((0,),))
        found = dict(private._measured(margins, {(0,): np.full(draws, count)}, grant, 2))
        return found[(0,)].values

    return audit(mechanism, 5, 7, claim=claim, draws=10_000, batch=5_000, error=1e-6)


def test_tables_pass_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound of the audit is above the true epsilon with a chance of at most 1e-6."""
    assert not audited(PureDP(1.0), monkeypatch).refutes()


def test_too_little_noise_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of a twentieth of the scale: the two counts are told apart nearly always."""
    assert audited(PureDP(0.5), monkeypatch, factor=0.05).refutes()


# -- what is refused ---------------------------------------------------------------------------------


def test_refusals_debit_nothing(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "a.ledger", 5.0)
    read_off = TABLE.with_schema(TABLE.schema.with_("v1", provenance=Provenance.read_off()))
    whose = table_of(chain(4), (2, 2, 2, 3), [1, 1, 2, 2])
    with pytest.raises(SchemaError, match="v1"):
        sf.tabulate(read_off, TWO, method=sf.PrivateTables(), ledger=ledger)
    with pytest.raises(ParameterError, match="no levels"):
        sf.tabulate(TABLE, "v0>v1,v2", method=sf.PrivateTables(), ledger=ledger)
    with pytest.raises(ParameterError, match="name people"):
        sf.tabulate(whose, "v0,who", method=sf.PrivateTables(), ledger=ledger)
    with pytest.raises(BudgetError, match="ledger is for"):
        sf.tabulate(whose, "v0", method=sf.PrivateTables(), ledger=ledger)
    with pytest.raises(ParameterError, match="no amounts"):
        sf.tabulate(TABLE, "v0", method=sf.PrivateTables(), of="v1", ledger=ledger)
    with pytest.raises(ParameterError, match="no weights"):
        sf.tabulate(TABLE, "v0", method=sf.PrivateTables(), weight="v1", ledger=ledger)
    with pytest.raises(ParameterError, match="nothing to debit"):
        sf.tabulate(TABLE, "v0", method=sf.CellSuppression(), ledger=ledger)
    with pytest.raises(BudgetError):
        sf.tabulate(TABLE, "v0", method=sf.PrivateTables(6.0), ledger=ledger)
    assert ledger.spent == 0
    nobody = whose.with_source(table_of(chain(4), (2, 2, 2, 3), [1, 1, 2, 2]).source)
    rows = nobody.to_arrow().set_column(4, "who", pa.array([1, None, 2, 2]))
    with pytest.raises(DataError, match="whose"):
        sf.tabulate(sf.Table.from_arrow(rows, whose.schema), "v0", method=sf.PrivateTables())


def test_persons_are_promised_to_where_a_column_names_them(tmp_path: Path) -> None:
    whose = table_of(chain(60), (2, 2, 2, 3), [i // 3 for i in range(60)])
    ledger = Ledger.open(tmp_path / "a.ledger", Budget(epsilon=3.0, unit=Unit.person(2)))
    release = sf.tabulate(whose, "v0,v1", method=sf.PrivateTables(max_rows_per_person=2), ledger=ledger)
    (claim,) = (c for c in release.guarantee if c.differential)
    assert claim.unit == Unit.person(2) and ledger.spent == pytest.approx(1.0)
