"""Every method of the table of names that claims an epsilon, with settings found from its own declaration.

A method that is added there is walked by all tests that use this, without anybody adding it to a list. One
that cannot be run as those before it fails here, and says what is missing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from declared import PUBLIC
from private_tables import chain, table_of
from score_tables import mixed

import sfumato as sf
from sfumato.methods.declaration import Does, declaration_of
from sfumato.methods.names import OURS, find
from sfumato.methods.parameters import parameters
from sfumato.prediction.artefact import load
from sfumato.privacy import Budget, Guarantee, Ledger, Unit
from sfumato.privacy.ledger.payer import Payer
from sfumato.privacy.signatures import SigningKey
from sfumato.schema import Column, Role, Schema
from sfumato.table import Table

Data = Table | sf.Database

EPSILONS = {"PureDP", "ApproxDP", "ZCDP"}
CLAIMING = [name for name in OURS if EPSILONS & set(declaration_of(find(name)).claims)]
ROWS, COST, TARGET = 8, 2.0, "sick"
TABLES = ["v0,v1", "v1,v3"]
_AMOUNTS = {"epsilon": COST, "epsilon_per_row": COST / ROWS, "epsilon_per_call": COST / ROWS}


def settings(name: str, cost: float = COST) -> dict[str, Any]:
    """An amount that it takes, and no delta where it has the choice: sums are then exact."""
    known = set(parameters(find(name)))
    amounts = {k: v * cost / COST for k, v in _AMOUNTS.items() if k in known}
    if not amounts:
        raise AssertionError(f"{name} claims an epsilon, and no field of it says how large")
    first = next(iter(amounts))
    bounds = {"max_children": {"codes": 2}} if does(name) is Does.PEOPLE else {}
    return {first: amounts[first], **({"delta": 0.0} if "delta" in known else {}), **bounds}


def does(name: str) -> Does:
    """What it does; only what can be walked here."""
    kind = OURS[name][0]
    if kind not in (Does.SYNTHESIZE, Does.FIT, Does.TABULATE, Does.PEOPLE):
        raise AssertionError(f"{name} claims an epsilon, and this walk does not know how to {kind} with one")
    return kind


def table_for(name: str) -> Data:
    """A small table, or linked ones, that it can work on, all domains of which somebody declared."""
    if does(name) is Does.PEOPLE:
        return linked(table_of(chain(60), (2, 2, 2, 3)))
    return mixed(200, 0) if does(name) is Does.FIT else table_of(chain(60), (2, 2, 2, 3))


def linked(table: Table) -> sf.Database:
    """The rows as persons, every other one with a code or two in a second table."""
    number = table.rows()
    who = Column("who", "nominal", Role.PERSON, type="integer")
    people = table.to_arrow().append_column("who", pa.array(range(number)))
    codes = pa.table({"who": [i for i in range(0, number, 2) for _ in range(1 + i % 3 // 2)]})
    codes = codes.append_column("code", pa.array(["x" if i % 3 else "y" for i in range(len(codes))]))
    code = Column("code", "nominal", levels=("x", "y", "z"), provenance=PUBLIC)
    tables = {
        "people": Table.from_arrow(people, Schema((*table.schema, who))),
        "codes": Table.from_arrow(codes, Schema((who, code))),
    }
    return sf.Database(tables, (sf.Link("codes", "who", "people", "who"),), {"people": "who"})


def under(data: Data, change: Any) -> Data:
    """The same rows under other schemas."""
    if isinstance(data, Table):
        return data.with_schema(change(data.schema))
    return data.with_tables({n: t.with_schema(change(t.schema)) for n, t in data.tables.items()})


def budget(name: str, amount: float) -> Budget:
    """What a ledger for its promise has: linked rows of persons have a unit of their own."""
    if does(name) is Does.PEOPLE:
        return Budget(epsilon=amount, unit=Unit.person(3))
    return Budget(epsilon=amount)


def used_column(name: str) -> str:
    """A column of that table that it works on."""
    return "ward" if does(name) is Does.FIT else "v1"


def guarantee_of(name: str, table: Data, ledger: Payer | None = None, **more: Any) -> Guarantee:
    """What a result of it promises."""
    method = find(name)(**{**settings(name), **more})
    if does(name) is Does.FIT:
        model: Any = method.fit(table, TARGET, ledger=ledger)
        promised: Guarantee = model.released("m").guarantee
        return promised
    return made(name, method, table, ledger).guarantee


def made(name: str, method: Any, table: Data, ledger: Payer | None = None) -> sf.Release | sf.DatabaseRelease:
    """A release of it."""
    if does(name) is Does.PEOPLE:
        people: sf.DatabaseRelease = method.fit(table, ledger=ledger).sample(ROWS)
        return people
    assert isinstance(table, Table)
    if does(name) is Does.TABULATE:
        return sf.tabulate(table, TABLES, method=method, ledger=ledger)
    return sf.synthesize(table, method, ROWS, ledger=ledger)


def asked(name: str) -> dict[str, Any]:
    """What is asked beside the method, in a step."""
    if does(name) is Does.PEOPLE:
        return {"persons": ROWS}
    return {"by": TABLES} if does(name) is Does.TABULATE else {"rows": ROWS}


def saved(name: str, folder: Path, ledger: Ledger | None = None) -> Guarantee:
    """What the artefact that leaves says, read anew."""
    method = find(name)(**settings(name))
    if does(name) is Does.FIT:
        method.fit(table_for(name), TARGET, ledger=ledger).save(folder / "m.sfm", SigningKey.fresh())
        return load(folder / "m.sfm").guarantee
    place = made(name, method, table_for(name), ledger).save(folder / "release")
    assert sf.verify(place).ok
    return Guarantee.from_json((place / "public" / "guarantee.json").read_text("utf-8"))


def with_provenance(table: Data, column: str, provenance: Any) -> Data:
    """The same rows, of which one column's domain has another origin; a person has confirmed everything."""

    def changed(schema: Schema) -> Schema:
        known = column in schema.names
        return schema.with_(column, provenance=provenance, confirmed=True) if known else schema

    return under(table, changed)
