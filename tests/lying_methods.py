"""Methods that lie, each in one way, for the kit to catch; and an honest one beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import Annotated, Any

from sfumato.methods.declaration import Declaration, Does, Spending, declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.shapes import Number, Text
from sfumato.privacy import Claim, Guarantee, KAnonymity, NoGuarantee, PureDP
from sfumato.release import InternalRecord, Release
from sfumato.schema import Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.table import Table


def declared(name: str, *claims: str) -> Any:
    return declares(Declaration(name, Does.REPLACE, "Lets rows through.", page="guests.md", claims=claims))


def plain(table: Table) -> Table:
    """Without what names people."""
    return table.drop([c.name for c in table.schema if c.role is Role.IDENTIFIER or c.kind is Kind.TEXT])


def release(table: Table, key: Key | None, *claims: Claim) -> Release:
    return Release(table, Guarantee(claims), InternalRecord(key=key or Key.fresh()))


NOTHING = NoGuarantee("plain", "Rows as they are.")
CALLS = count()


@declared("honest", "NoGuarantee")
@dataclass(frozen=True)
class Honest:
    def release(self, table: Table, *, key: Key | None = None) -> Release:
        return release(plain(table), key, NOTHING)


@declared("says-five", "KAnonymity")
@dataclass(frozen=True)
class SaysFive:
    """Claims k = 5, and writes classes of 1."""

    def release(self, table: Table, *, key: Key | None = None) -> Release:
        return release(plain(table), key, KAnonymity(5, ("age", "sex", "region")))


@declared("spends-secretly", "PureDP")
@dataclass(frozen=True)
class SpendsSecretly:
    """Claims an epsilon that it does not say it spends."""

    def release(self, table: Table, *, key: Key | None = None) -> Release:
        return release(plain(table), key, PureDP(1.0))


@declared("spends-more", "PureDP")
@dataclass(frozen=True)
class SpendsMore:
    """Spends another epsilon than it claims."""

    def spends(self, rows: int | None) -> Spending:
        return Spending(epsilon=3.0, claimed=True)

    def release(self, table: Table, *, key: Key | None = None) -> Release:
        return release(plain(table), key, PureDP(1.0))


@declared("another-claim", "NoGuarantee")
@dataclass(frozen=True)
class AnotherClaim:
    """Claims what it did not declare."""

    def release(self, table: Table, *, key: Key | None = None) -> Release:
        return release(plain(table), key, KAnonymity(1, ("sex",)))


@declared("keeps-ids", "NoGuarantee")
@dataclass(frozen=True)
class KeepsIds:
    """Puts ids under another name."""

    def release(self, table: Table, *, key: Key | None = None) -> Release:
        rows = table.to_arrow()
        moved = rows.set_column(rows.column_names.index("diagnosis"), "diagnosis", rows["id"])
        return release(plain(Table.from_arrow(moved, _free(table))), key, NOTHING)


@declared("tells-about", "NoGuarantee")
@dataclass(frozen=True)
class TellsAbout:
    """Names a person, and its key, in the words about the release."""

    def release(self, table: Table, *, key: Key | None = None) -> Release:
        key = key or Key.fresh()
        first = table.to_arrow()["id"][0].as_py()
        made = release(plain(table), key, NOTHING)
        return Release(
            made.data, made.guarantee, made.internal, f"Begins with {first}, {key.to_bytes().hex()}"
        )


@declared("unsteady", "NoGuarantee")
@dataclass(frozen=True)
class Unsteady:
    """Gives other rows with every call, whatever the key; drawn at random they would be the same at times."""

    def release(self, table: Table, *, key: Key | None = None) -> Release:
        rows = plain(table)
        return release(Table.from_arrow(rows.to_arrow().slice(next(CALLS) % 200), rows.schema), key, NOTHING)


@declared("undeclared", "NoGuarantee")
@dataclass(frozen=True)
class Undeclared:
    """Has a field that it does not declare."""

    base: Annotated[int, Parameter(Number("Multiples of this.", 1, 10, whole=True))] = 5
    hidden: int = 3

    def __post_init__(self) -> None:
        if not 1 <= self.base <= 10:
            raise ValueError("base")

    def release(self, table: Table, *, key: Key | None = None) -> Release:
        return release(plain(table), key, NOTHING)


@declared("bad-default", "NoGuarantee")
@dataclass(frozen=True)
class BadDefault:
    """Has a default that it would refuse, and no words for another field."""

    base: Annotated[int, Parameter(Number("Multiples of this.", 1, 10, whole=True))] = 50
    manner: Annotated[str, Parameter(Text("", ("up", "down")))] = "up"

    def release(self, table: Table, *, key: Key | None = None) -> Release:
        return release(plain(table), key, NOTHING)


def _free(table: Table) -> Any:
    """The schema with a diagnosis that may be anything."""
    return Schema(tuple(replace(c, levels=None) if c.name == "diagnosis" else c for c in table.schema))
