"""Domains that a plan has found in its input, before its steps, with a part of the budget.

Guarantee: what the columns' provenance says: noise is drawn once for what ledger and workplace say was spent,
           and every step's claim adds it (`schema.domains`).
Because:   `PaidOnce`: the debit and a mark are on disk before the draw. What was found is kept before
           anything else is done with it, and a second run reads it. Noise that was drawn and lost is drawn
           again only if asked for, and then counts each time.
Tested by: tests/plan/test_found_domains.py
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from sfumato.description.domain_search import DomainSearch
from sfumato.io.atomic import write_text
from sfumato.plan.domain_search import DOMAINS, search_of
from sfumato.plan.payment import PaidOnce, of_draws
from sfumato.plan.preparation import Prepared
from sfumato.plan.steps import Workbench, known_ledger, plan_ledger
from sfumato.privacy.signatures import Trust
from sfumato.schema import Schema
from sfumato.schema.provenance import Checked
from sfumato.schema.search_record import known_as, sealed
from sfumato.table import Table


def with_found_domains(bench: Workbench, prepared: Prepared) -> Prepared:
    """The prepared table with the domains that the plan asks for: found now, or by a run before."""
    plan = bench.plan
    if not plan.table(DOMAINS):
        return prepared
    search, columns = search_of(plan)
    columns = [n for n in columns if n in prepared.table.schema]
    name = search_name(bench)
    kept = bench.place.steps / f"{name}.domains.toml"
    if not kept.exists():
        found = _found(bench, search, prepared.table, columns, name)
        write_text(kept, found.to_toml(), overwrite=True)
    found = _believed(bench, Schema.from_toml(kept.read_text(encoding="utf-8"), name="what was found"))
    own = {c.name: c for c in found if c.name in columns}
    schema = Schema(tuple(own.get(c.name, c) for c in prepared.table.schema))
    return replace(prepared, table=prepared.table.with_schema(schema))


def _found(bench: Workbench, search: DomainSearch, table: Table, columns: list[str], name: str) -> Schema:
    search.require(table, columns)
    budget = search.budget(table.schema, columns)
    bench.place.require_undrawn(name, str(budget), bench.spend_again)
    ledger = plan_ledger(bench, budget.unit, table)
    what = f"{bench.plan.name}: domains of {len(columns)} column{'s' * (len(columns) > 1)}"
    payer = PaidOnce(bench.place, name, what, budget, ledger, bench.spend_again)
    drawn = search.find(table, columns, ledger=payer).schema
    times = max(bench.place.attempts(name), 1)
    own = {n: of_draws(drawn[n], times) for n in columns}
    return Schema(sealed((own.get(c.name, c) for c in drawn), ledger))


def _believed(bench: Workbench, found: Schema) -> Schema:
    """What was kept, as far as the ledger has it; without a ledger it is the run's own word."""
    ledger = known_ledger(bench.plan)
    if ledger is None:
        return Schema(tuple(known_as(c, Checked.DRAWN) for c in found))
    return found.trusting(Trust(), ledger)


def search_name(bench: Workbench) -> str:
    """What the result is called in the workplace: the same for the same search in the same prepared data."""
    plan = bench.plan
    asked = {k: plan.table(k) for k in (DOMAINS, "columns", "prepare", "input")}
    whole = json.dumps(asked, sort_keys=True, default=str) + plan.schema.to_toml() + bench.data
    return hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()
