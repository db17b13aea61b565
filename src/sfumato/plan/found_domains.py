"""Domains that a plan has found in its input, before its steps, with a part of the budget.

Guarantee: what the columns' provenance says: noise is drawn once for what ledger and workplace say was spent,
           and every step's claim adds it (`schema.domains`).
Because:   the debit and a mark are on disk before the draw; what was found is kept before anything else is
           done with it, and a second run reads it. Noise that was drawn and lost is drawn again only if
           asked for, and then counts each time.
Tested by: tests/plan/test_found_domains.py
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

from sfumato.description.domain_search import DomainSearch
from sfumato.errors import BudgetError
from sfumato.io.addresses import is_url
from sfumato.io.atomic import write_text
from sfumato.plan.domain_search import DOMAINS, search_of
from sfumato.plan.preparation import Prepared
from sfumato.plan.steps import Workbench
from sfumato.privacy import Budget, Ledger
from sfumato.schema import Provenance, Schema
from sfumato.table import Table


def with_found_domains(bench: Workbench, prepared: Prepared) -> Prepared:
    """The prepared table with the domains that the plan asks for: found now, or by a run before."""
    plan = bench.plan
    if not plan.table(DOMAINS):
        return prepared
    search, columns = search_of(plan)
    columns = [n for n in columns if n in prepared.table.schema]
    name = _name(bench)
    kept = bench.place.steps / f"{name}.domains.toml"
    if not kept.exists():
        found = _found(bench, search, prepared.table, columns, name)
        write_text(kept, found.to_toml(), overwrite=True)
    times = max(bench.place.attempts(name), 1)
    found = Schema.from_toml(kept.read_text(encoding="utf-8"), name="what was found")
    own = {c.name: c for c in found if c.name in columns}
    if times > 1:  # drawn several times and lost but for the last: all of it counts
        own = {n: replace(c, provenance=_again(c.provenance, times)) for n, c in own.items()}
    schema = Schema(tuple(own.get(c.name, c) for c in prepared.table.schema))
    return replace(prepared, table=prepared.table.with_schema(schema))


def _found(bench: Workbench, search: DomainSearch, table: Table, columns: list[str], name: str) -> Schema:
    search.require(table, columns)
    budget = search.budget(table.schema, columns)
    if bench.place.attempts(name) and not bench.spend_again:
        bench.place.attempt(name, str(budget), again=False)  # refused, with what to do
    ledger = _ledger(bench, budget)
    purse = None if ledger is None else search.debited(ledger, table.schema, columns)
    bench.place.attempt(name, str(budget), bench.spend_again)
    return search.find(table, columns, ledger=purse).schema


def _name(bench: Workbench) -> str:
    """The same for the same search in the same data, prepared in the same way."""
    plan = bench.plan
    asked = {k: plan.table(k) for k in (DOMAINS, "columns", "prepare", "input")}
    whole = json.dumps(asked, sort_keys=True, default=str) + plan.schema.to_toml() + bench.data
    return hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()


def _ledger(bench: Workbench, wanted: Budget) -> Ledger | None:
    """The plan's ledger, started if there is none; None if the plan has no budget."""
    from sfumato.privacy.ledger.debit import store_at

    entry = bench.plan.table("budget")
    if not entry:
        payer = Ledger.payer_of(bench.source) if bench.source and not bench.other_people else ""
        if payer:
            raise BudgetError(
                f"what was learnt from this data was paid from ledger {payer}; without it this would not be "
                "counted. Nothing was spent.",
                hint="[budget] ledger; if other people are in it now: --other-people",
            )
        return None
    where = entry["ledger"] if is_url(entry["ledger"]) else bench.plan.path(entry["ledger"])
    budget = None
    if not store_at(where).exists():
        amounts: dict[str, Any] = {k: entry[k] for k in ("epsilon", "rho", "delta") if k in entry}
        budget = Budget(**amounts, unit=wanted.unit)
    ledger = Ledger.open(where, budget)
    if ledger.budget.unit != wanted.unit:
        raise BudgetError(
            f"the ledger is for {ledger.budget.unit}, and these domains are found for {wanted.unit}.",
            hint="a ledger is for one kind of promise",
        )
    if bench.source is not None:
        ledger.pay_for(bench.source, other_people=bench.other_people)
    return ledger


def _again(said: Provenance | None, times: int) -> Provenance | None:
    if said is None:
        return None
    return replace(said, epsilon=said.epsilon * times, delta=said.delta * times)
