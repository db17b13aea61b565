"""What a plan asks to be found in its input under [domains]."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.description.domain_search import DomainSearch
from sfumato.errors import SfumatoError, listed
from sfumato.methods.shapes import Fault
from sfumato.plan.document import PlanDocument, said
from sfumato.schema import Schema

DOMAINS = "domains"


def search_of(plan: PlanDocument) -> tuple[DomainSearch, list[str]]:
    """What [domains] asks for, and the columns it is asked for."""
    entry = dict(plan.table(DOMAINS))
    columns = list(entry.pop("columns", ()))
    persons = False if entry.pop("rows", False) else None
    return DomainSearch(**entry, persons=persons), columns


def faults_of_search(plan: PlanDocument, schema: Schema) -> Iterator[Fault]:
    """What is wrong with [domains], without looking at the data."""
    if not plan.table(DOMAINS):
        return
    try:
        search, columns = search_of(plan)
    except SfumatoError as error:
        yield (DOMAINS,), f": {said(error)}"
        return
    unknown = [repr(n) for n in columns if n not in schema]
    if unknown:
        yield (DOMAINS, "columns"), f"names columns that are not in the schema: {listed(unknown)}"
    odd = [repr(n) for n in columns if n in schema and not search.can_find(schema[n])]
    if odd:
        yield (DOMAINS, "columns"), f"names columns that have no domain to find: {listed(odd)}"
