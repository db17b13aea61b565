"""A walk over every method that claims an epsilon, as the table of names has them (tests/claiming.py):

(a) domains from data end the claim, (b) without a ledger it says unaccounted, (c) what leaves together is
composed. That (d) a failure after the debit loses no artefact, killed at every step, is walked over the same
methods in tests/plan/test_paid_once.py.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
from pathlib import Path
from typing import Any

import pytest
from claiming import (
    CLAIMING,
    COST,
    budget,
    guarantee_of,
    saved,
    table_for,
    under,
    used_column,
    with_provenance,
)

import sfumato as sf
import sfumato.privacy
from sfumato.methods.names import find
from sfumato.privacy import Accounted, Guarantee, Ledger, Unaccounted
from sfumato.privacy.signatures import Purpose, SigningKey, Trust, TrustedKey
from sfumato.privacy.together import leaving_together
from sfumato.schema import Column, Provenance, Schema

# So few rows are noticed, or not, as the noise falls; here it is about what is promised.
pytestmark = pytest.mark.filterwarnings("ignore::sfumato.errors.SfumatoWarning")
_KEY = SigningKey.fresh()
ORIGINS: dict[str, Any] = {
    "read off": Provenance.read_off(),
    "nobody says": None,
    "declared, about another domain": Provenance.declared("R. Weiss", "form F12").about("sha256:" + "0" * 32),
    "by a text edit": Provenance.declared("R. Weiss", "form F12").about("none"),
    "found, says the file": Provenance.found(0.01, 0.0, ledger="0" * 32),
}


def epsilon(guarantee: Guarantee, scope: str = "") -> float:
    (claim,) = (c for c in guarantee if c.differential and c.scope == scope)
    return float(claim.epsilon)  # type: ignore[attr-defined]


def test_there_is_something_to_walk() -> None:
    assert {"private", "pegs", "pmi", "marginals", "table", "additive", "forest"} <= set(CLAIMING)


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("name", CLAIMING)
def test_a_domain_from_the_data_ends_the_claim(tmp_path: Path, name: str, origin: str) -> None:
    """Whatever a person has confirmed: refused with nothing debited, or released with no epsilon."""
    table = with_provenance(table_for(name), used_column(name), ORIGINS[origin])
    ledger = Ledger.open(tmp_path / "a.ledger", budget(name, 100.0))
    try:
        promised = guarantee_of(name, table, ledger)
    except sf.SfumatoError as error:
        assert ledger.spent == 0 and repr(used_column(name)) in error.message
    else:
        assert not any(c.differential for c in promised), promised.text()


@pytest.mark.parametrize("name", CLAIMING)
def test_a_declaration_that_the_trust_file_does_not_allow_ends_the_claim(name: str) -> None:
    table = table_for(name)
    trust = Trust((TrustedKey(_KEY.public, "R. Weiss", (Purpose.DECLARATION,)),))
    counted = under(table, lambda schema: schema.trusting(trust))
    try:
        promised = guarantee_of(name, counted)
    except sf.SfumatoError as error:
        assert "trust file" in error.message
    else:
        assert not any(c.differential for c in promised)

    def signed(schema: Schema) -> Schema:
        own = [c.name for c in schema if c.declared]
        return schema.declare("R. Weiss", "form F12", own, key=_KEY).trusting(trust)

    assert epsilon(guarantee_of(name, under(table, signed))) == pytest.approx(COST)


@pytest.mark.parametrize("name", CLAIMING)
def test_without_a_ledger_it_says_unaccounted_and_with_one_which(tmp_path: Path, name: str) -> None:
    (tmp_path / "alone").mkdir()
    alone = saved(name, tmp_path / "alone")
    assert [type(c) for c in alone if isinstance(c, Accounted | Unaccounted)] == [Unaccounted]
    assert "Unaccounted." in alone.text()
    passing = guarantee_of(name, table_for(name), Ledger.in_memory(budget(name, 100.0)))
    assert any(isinstance(c, Unaccounted) for c in passing), (
        "a ledger in memory is forgotten with its process"
    )
    ledger = Ledger.open(tmp_path / "a.ledger", budget(name, 100.0))
    paid = saved(name, tmp_path, ledger)
    (account,) = (c for c in paid if isinstance(c, Accounted | Unaccounted))
    assert isinstance(account, Accounted) and account.total == ledger.spent == pytest.approx(epsilon(paid))
    assert ledger.spent == pytest.approx(COST) and ledger.check_against(paid) == (1, 0, 0)


@pytest.mark.parametrize("name", CLAIMING)
def test_what_leaves_together_states_its_sum(tmp_path: Path, name: str) -> None:
    ledger = Ledger.open(tmp_path / "a.ledger", budget(name, 100.0))
    parts = [guarantee_of(name, table_for(name), ledger) for _ in range(3)]
    for part in leaving_together(parts):
        assert epsilon(part) == pytest.approx(COST)
        assert epsilon(part, "all 3 releases that left together") == pytest.approx(3 * COST)
    whole = parts[0].compose(*parts[1:])
    (account,) = (c for c in whole if isinstance(c, Accounted))
    assert account.total == ledger.spent == pytest.approx(3 * COST)


@pytest.mark.parametrize("name", CLAIMING)
def test_too_little_left_debits_nothing(tmp_path: Path, name: str) -> None:
    ledger = Ledger.open(tmp_path / "a.ledger", budget(name, COST / 2))
    with pytest.raises(sf.BudgetError):
        guarantee_of(name, table_for(name), ledger)
    assert ledger.spent == 0


# -- what claims an epsilon and is no method of the table ------------------------------------------

# Whoever is added here says where (a) to (d) are shown for it.
ELSEWHERE = {
    "DomainSearch": "below, and tests/plan/test_paid_once.py",
    "compare_scores": "a report, and no artefact: tests/prediction/test_comparison.py",
    "DPaT": "per answer: tests/prediction/test_dpat.py",
    "EDPaT": "per answer: tests/prediction/test_dpat.py",
    "Ledger": "it is what pays",
    "Provenance": "it says what was paid: tests/test_found_record.py",
    "Schema": "it looks what a ledger has sealed: tests/test_found_record.py",
    "synthesize": "the door of the methods that are walked",
    "tabulate": "the door of the methods that are walked",
    "Blocks": "a part of PeGS, which is walked",
}
DEBITING = {
    "description.domain_search": "tests/plan/test_paid_once.py",
    "plan.payment": "tests/plan/test_paid_once.py",
    "prediction.confidential": "tests/service/test_noisy.py",
    "prediction.dpat": "tests/plan/test_paid_once.py",
    "prediction.fit_budget": "tests/methods/test_promises.py",
    "service.drift": "tests/service/test_drift.py",
    "service.scores": "tests/service/test_noisy.py",
    "synthesis": "tests/methods/test_promises.py",
    "tabulation.private": "tests/methods/test_promises.py",
    "cli.demo": "tests/test_docs.py",
    "privacy": "tests/privacy/test_ledger.py",
}


def test_nothing_public_takes_a_ledger_or_an_epsilon_that_is_not_walked() -> None:
    """The list is taken from signatures, so that what is added cannot be forgotten."""
    walked = {find(name) for name in CLAIMING}

    def takes(kind: Any) -> bool:
        members = [kind]
        if inspect.isclass(kind):
            members += [inspect.getattr_static(kind, n) for n in dir(kind) if not n.startswith("_")]
        given: set[str] = set()
        for member in members:
            with contextlib.suppress(TypeError, ValueError):
                given |= set(inspect.signature(getattr(member, "__func__", member)).parameters)
        return any(p in ("ledger", "grant", "rho") or p.startswith("epsilon") for p in given)

    claims = (sf.privacy.PureDP, sf.privacy.ApproxDP, sf.privacy.ZCDP, sf.privacy.Budget)
    public = {n: getattr(sf, n) for n in sf._HOME}
    found = {n for n, kind in public.items() if kind not in claims and kind not in walked and takes(kind)}
    assert found <= set(ELSEWHERE), "walk it, or say where it is walked"
    assert {n for n, kind in public.items() if kind in walked} >= {"PrivateLogistic", "PrivateSynthesizer"}


def test_every_debit_of_the_house_is_walked_somewhere() -> None:
    source = Path(sf.__file__).parent
    modules = set()
    for path in source.rglob("*.py"):
        if ".grant" not in (text := path.read_text("utf-8")):
            continue
        called = {
            node.func.attr for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }  # fmt: skip
        if called & {"grant", "grants"}:
            modules.add(".".join(path.relative_to(source).with_suffix("").parts))
    open_ = {m for m in modules if not any(m == k or m.startswith(f"{k}.") for k in DEBITING)}
    assert not open_, "say which test walks what these debit"
    root = Path(__file__).parents[2]
    assert all((root / test).is_file() for test in DEBITING.values())


def searched(ledger: Ledger | None) -> Guarantee:
    table: Any = table_for("private")
    table = table.select(["v1"])
    open_ = Schema((Column("v1", "numeric", type="integer"),))
    return sf.DomainSearch(COST, delta=1e-9, grid=[0, 1, 2]).find(
        table.with_schema(open_), ["v1"], ledger=ledger
    ).guarantee  # fmt: skip


def test_a_search_for_domains_says_who_paid_and_adds_up(tmp_path: Path) -> None:
    assert any(isinstance(c, Unaccounted) for c in searched(None))
    assert any(isinstance(c, Unaccounted) for c in searched(Ledger.in_memory(100.0)))
    ledger = Ledger.open(tmp_path / "a.ledger", 100.0)
    parts = [searched(ledger) for _ in range(3)]
    assert ledger.spent == pytest.approx(3 * COST) and ledger.check_against(*parts) == (3, 0, 0)
    for part in leaving_together(parts):
        assert epsilon(part, "all 3 releases that left together") == pytest.approx(3 * COST)
    poor = Ledger.open(tmp_path / "b.ledger", COST / 2)
    with pytest.raises(sf.BudgetError):
        searched(poor)
    assert poor.spent == 0
