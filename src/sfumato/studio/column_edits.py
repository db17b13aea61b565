"""What a click on a column does to the plan: its role, its kind, that a person has looked at it.

A role is more than one word in a plan: a quasi-identifier needs a hierarchy, a column that goes with
another one must not be left behind, and what is asked of a sensitive column ends when it is sensitive no
more.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sfumato.errors import ParameterError, PlanError
from sfumato.plan.lines import Place
from sfumato.schema import Kind, Role, Schema
from sfumato.studio.journal import Texts
from sfumato.studio.plan_folder import PLAN, SCHEMA
from sfumato.studio.toml_text import with_entry, without_entry

DROP = "drop"
ROLES = (*(str(r) for r in Role), DROP)
_NAMES_PEOPLE = (str(Role.IDENTIFIER), str(Role.PERSON))
_MOOT = ("role", "hierarchy", "max_level", "weight", "top", "bottom")  # of a column that is left out
_SUPPRESS = "suppress"


class ColumnEdit:
    """The plan's text while columns of it are changed. suggested: a hierarchy for each column that needs
    one.
    """

    def __init__(self, plan: str, suggested: Mapping[str, object]) -> None:
        self.text, self._suggested = plan, suggested

    @property
    def _columns(self) -> dict[str, dict[str, Any]]:
        found = tomllib.loads(self.text).get("columns", {})
        return found if isinstance(found, dict) else {}

    def set(self, place: Place, given: object) -> None:
        """Set an entry, unless it says so already."""
        self.text = with_entry(self.text, place, given)

    def remove(self, place: Place) -> None:
        """Take an entry out."""
        self.text = without_entry(self.text, place)

    def role(self, name: str, role: str) -> None:
        """Give a column a role, or leave it out; who does so has looked at it."""
        before = dict(self._columns.get(name, {}))
        entry = dict(before)
        if role == DROP:
            entry = {k: v for k, v in entry.items() if k not in _MOOT} | {"drop": True}
        else:
            entry.pop("drop", None)
            entry["role"] = role
            if role in _NAMES_PEOPLE:
                entry = {k: v for k, v in entry.items() if k not in _MOOT or k == "role"}
            led = role != Role.QUASI_IDENTIFIER and _above(before)
            if led or (role != Role.QUASI_IDENTIFIER and entry.get("hierarchy") == _SUPPRESS):
                entry.pop("hierarchy", None)
            if role == Role.QUASI_IDENTIFIER and "hierarchy" not in entry and not self._leader(name):
                entry["hierarchy"] = self._suggested.get(name, _SUPPRESS)
        self.set(("columns", name), _ordered({**entry, "reviewed": True}))
        if role != Role.QUASI_IDENTIFIER:
            self._free(_above(before))
        if role in (*_NAMES_PEOPLE, DROP):
            self._leave(name)
        if role != Role.SENSITIVE:
            self._ask_no_more(name)

    def reviewed(self, names: Iterable[str], looked: bool) -> None:
        """Note that a person has looked at columns, or has not."""
        for name in names:
            if name not in self._columns:
                raise ParameterError("the plan says nothing of this column.", hint="choose its role")
            self.set(("columns", name, "reviewed"), looked)

    def _leader(self, name: str) -> str:
        """The column whose hierarchy this one is a level of."""
        return next((n for n, e in self._columns.items() if name in _above(e)), "")

    def _free(self, names: Iterable[str]) -> None:
        """Columns that lost the one they went with get hierarchies of their own."""
        for name in names:
            entry = self._columns.get(name, {})
            if entry.get("role") == Role.QUASI_IDENTIFIER and "hierarchy" not in entry:
                self.set(("columns", name, "hierarchy"), self._suggested.get(name, _SUPPRESS))

    def _leave(self, name: str) -> None:
        """The column is no level of another one's hierarchy any more."""
        leader = self._leader(name)
        if not leader:
            return
        rest = [c for c in _above(self._columns[leader]) if c != name]
        own = self._suggested.get(leader, _SUPPRESS)
        self.set(("columns", leader, "hierarchy"), {"recipe": "columns", "above": rest} if rest else own)

    def _ask_no_more(self, name: str) -> None:
        """Diversity and closeness are asked of sensitive columns."""
        steps = tomllib.loads(self.text).get("steps", [])
        for i, step in enumerate(steps if isinstance(steps, list) else ()):
            for what in ("l", "t"):
                asked = step.get(what)
                if isinstance(asked, dict) and name in asked:
                    rest = {k: v for k, v in asked.items() if k != name}
                    if rest:
                        self.set(("steps", i, what), rest)
                    else:
                        self.remove(("steps", i, what))


def with_role(texts: Texts, name: str, role: str, suggested: Mapping[str, object]) -> dict[str, str]:
    """The files after a column got another role."""
    _require(texts, name)
    if role not in ROLES:
        raise ParameterError("there is no such role.", hint=", ".join(ROLES))
    edit = ColumnEdit(texts[PLAN], suggested)
    edit.role(name, role)
    return {**texts, PLAN: edit.text}


def with_reviewed(texts: Texts, names: Iterable[str], looked: bool) -> dict[str, str]:
    """The files after a person looked at columns, or wants to look again."""
    edit = ColumnEdit(texts[PLAN], {})
    edit.reviewed(names, looked)
    return {**texts, PLAN: edit.text}


def with_kind(texts: Texts, name: str, kind: str) -> dict[str, str]:
    """The files after a column was said to be of another kind; levels and edges of the old one go."""
    _require(texts, name)
    if kind not in tuple(Kind):
        raise ParameterError("there is no such kind.", hint=", ".join(Kind))
    schema = Schema.from_toml(texts[SCHEMA])
    if name not in schema:
        raise PlanError("the schema lacks this column.", hint="read the file again")
    known = replace(schema[name], kind=Kind(kind), levels=None, edges=None, provenance=None, confirmed=True)
    after = Schema(tuple(known if c.name == name else c for c in schema))
    lines = texts[SCHEMA].split("\n")
    said = next((i for i, line in enumerate(lines) if line and not line.startswith("#")), 0)
    head = "\n".join(lines[:said])
    plan = with_entry(texts[PLAN], ("columns", name, "reviewed"), True)
    return {**texts, SCHEMA: f"{head}\n{after.to_toml()}" if head else after.to_toml(), PLAN: plan}


def _require(texts: Texts, name: str) -> None:
    if PLAN not in texts or SCHEMA not in texts:
        raise ParameterError("there is no plan yet.", hint="open a file")
    known = tomllib.loads(texts[PLAN]).get("columns", {})
    if name not in known and name not in Schema.from_toml(texts[SCHEMA]):
        raise ParameterError("there is no such column.", hint="load the page again")


def _above(entry: Mapping[str, Any]) -> list[str]:
    hierarchy = entry.get("hierarchy")
    return list(hierarchy.get("above", ())) if isinstance(hierarchy, Mapping) else []


def _ordered(entry: Mapping[str, Any]) -> dict[str, Any]:
    """As `init` writes it: drop or role first, reviewed last."""
    first = [k for k in ("drop", "role", "hierarchy") if k in entry]
    rest = [k for k in entry if k not in first and k != "reviewed"]
    return {k: entry[k] for k in (*first, *rest, "reviewed")}
