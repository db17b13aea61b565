"""A step: one method with what is asked of it, as plain values. A plan is made of them, a command is one,
and the map takes them beside plain methods.

    sf.step(sf.LocalRecoding(effort="fast"), k=5)
    sf.step("private", epsilon=1.0, rows=1_000)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.criteria import CriterionSpec, read_criteria
from sfumato.errors import ParameterError, SfumatoError, offered
from sfumato.methods.declaration import Declaration, Does, Spending, declaration_of, spending_of
from sfumato.methods.names import find, register
from sfumato.methods.parameters import Field, parameters, record_of
from sfumato.methods.requests import REQUESTS, earlier_folder
from sfumato.methods.settings import build, is_plain, plain_settings
from sfumato.methods.shapes import Record
from sfumato.release.manifest import MANIFEST


@dataclass(frozen=True)
class Step:
    """One step: its method and settings, what it works on, and where it stands in the plan.

    >>> sf.Step("optimal", {"k": 5})
    Step(method='optimal', settings={'k': 5}, name='', of='', place=0)
    """

    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    of: str = ""
    place: int = 0

    @cached_property
    def kind(self) -> type:
        """The class of the method."""
        return find(self.method)

    @property
    def declaration(self) -> Declaration:
        """What the method says of itself."""
        return declaration_of(self.kind)

    @property
    def at(self) -> tuple[str, int]:
        """Where it stands in the plan."""
        return ("tables" if self.declaration.does is Does.TABULATE else "steps", self.place)

    def build(self, folder: str | Path = ".") -> Any:
        """The method itself. folder: where files that its settings name start from."""
        self.require_known()
        own = parameters(self.kind)
        return build(self.kind, {n: v for n, v in self.settings.items() if n in own}, folder)

    def request(self, folder: str | Path = ".") -> Any:
        """What is asked beside the method; see `sfumato.methods.requests`."""
        kind = REQUESTS[self.declaration.does]
        own = parameters(kind)
        return build(kind, {n: v for n, v in self.settings.items() if n in own}, folder)

    @property
    def needs_rows(self) -> bool:
        """Whether it must be said how many rows there are to be, and is not."""
        declared = self.declaration
        return declared.does is Does.SYNTHESIZE and not declared.own_rows and "rows" not in self.settings

    def spends(self, folder: str | Path = ".") -> Spending:
        """What the step costs, known before the data are looked at."""
        return spending_of(self.build(folder), self.settings.get("rows"))

    @property
    def criteria(self) -> tuple[CriterionSpec, ...]:
        """The criteria that are written as text."""
        return read_criteria(self.settings.get("criteria", ()))

    @property
    def readable_criteria(self) -> tuple[CriterionSpec, ...]:
        """The criteria; none where they have faults, which are said when the plan is checked."""
        try:
            return self.criteria
        except SfumatoError:
            return ()

    @property
    def populations(self) -> list[str]:
        """The files of populations that the step counts in."""
        return [w.population for w in self.readable_criteria if w.population is not None]

    @property
    def columns(self) -> Iterator[tuple[str, list[str]]]:
        """(setting, the columns that it names) for every setting that names some."""
        for f in fields_of(self.kind).values():
            value = self.settings.get(f.name)
            if f.parameter.columns and value is not None:
                yield f.name, [value] if isinstance(value, str) else list(value)

    @property
    def files(self) -> list[tuple[tuple[str | int, ...], str]]:
        """(place, name) of every file that decides what the step makes."""
        if self.settings.get("earlier"):
            folders = [earlier_folder(text)[0] for text in self.settings["earlier"]]
            return [(("earlier",), f"{name}/public/{MANIFEST}") for name in folders]
        given = self.settings.get("constraints")
        if isinstance(given, str):
            return [(("constraints",), given)]
        rules = given.get("within", ()) if isinstance(given, Mapping) else ()
        return [(("constraints", "within", i, "file"), r["file"]) for i, r in enumerate(rules) if "file" in r]

    def require_known(self) -> None:
        """Refuse settings that the method has not, with what was probably meant."""
        known = fields_of(self.kind)
        unknown = [name for name in self.settings if name not in known]
        if unknown:
            raise ParameterError(
                f"{self.method} has no setting called {', '.join(unknown)}.",
                hint=offered(unknown, list(known)),
            )

    def require_plain(self) -> None:
        """Refuse what cannot be written down, such as a model of the user's own."""
        odd = [name for name, value in self.settings.items() if not is_plain(value)]
        if odd:
            raise ParameterError(
                f"{', '.join(odd)} of {self.method} cannot be written into a plan.",
                hint="sf.anonymize and sf.synthesize take any object",
            )


def step(method: object, **asked: Any) -> Step:
    """A method and what is asked of it: k, rows, quasi_identifiers, a name, what it works on.

    method: an object such as sf.LocalRecoding(), or a name with its settings among the others.

    >>> sf.step(sf.OptimalRecoding(max_suppressed=0.02), k=5, name="release")
    Step(method='optimal', settings={'max_suppressed': 0.02, 'k': 5}, name='release', of='', place=0)
    """
    labels = {label: asked.pop(label) for label in ("name", "of") if label in asked}
    if isinstance(method, str):
        made = Step(method, asked, **labels)
    else:
        if isinstance(method, type):
            raise ParameterError(
                "the method is a class, not one of its kind.", hint=f"sf.{method.__name__}()"
            )
        kind = register(type(method))
        made = Step(declaration_of(kind).name, {**plain_settings(method), **asked}, **labels)
    made.require_known()
    return made


def fields_of(kind: type) -> dict[str, Field]:
    """The parameters of a method and of what is asked beside it."""
    return {**parameters(REQUESTS[declaration_of(kind).does]), **parameters(kind)}


def entry_of(kind: type) -> Record:
    """What a step with this method may say, as one table of a plan."""
    declared = declaration_of(kind)
    own, asked = record_of(kind), record_of(REQUESTS[declared.does])
    page = f" See {declared.page}." if declared.page else ""
    return Record(
        {**asked.entries, **own.entries}, f"{declared.summary}{page}", (*asked.required, *own.required)
    )


def names_of(steps: Sequence[Step]) -> str:
    """Their methods, for a sentence."""
    return ", ".join(s.method for s in steps)
