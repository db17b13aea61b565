"""Parameters that several searches share, declared once: losses, limits, shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.anonymization.loss import INFORMED, MEASURES, guest_measure, guest_measures, measure_of
from sfumato.anonymization.measure import Measure
from sfumato.methods.parameters import Parameter, changed, record_of
from sfumato.methods.settings import build
from sfumato.methods.shapes import Either, Fault, ListOf, Number, Path_, Tagged, Text, described

# What the classes of a file can be counted for: the claims of the criteria that a search is asked for.
COUNTED = ("KAnonymity", "KMap", "JAnonymity", "LDiversity", "TCloseness", "AlphaK")


def count(doc: str, least: int = 0, **more: Any) -> Parameter:
    """A whole number from `least` up."""
    return Parameter(Number(doc, least, whole=True), **more)


def share(doc: str, **more: Any) -> Parameter:
    """A share, 0 to 1."""
    return Parameter(Number(doc, 0, 1), unit="share", **more)


def names(doc: str, **more: Any) -> Parameter:
    """A list of columns."""
    return Parameter(ListOf(Text(), doc, least=1), columns=True, **more)


MAX_SUPPRESSED = share("Of the rows, the share that may be suppressed.", beginner=True)
TARGET = Parameter(Text("The column that it looks at, such as the cost."), beginner=True, columns=True)
SEARCH_SEED = count("Decides what the search tries; it says nothing about the rows.")


def time_limit(what_then: str) -> Parameter:
    """Seconds on the clock, and what is given back then."""
    return Parameter(
        Number(f"Seconds on the clock; then {what_then}, and the report says so.", 0, above=True),
        unit="seconds",
        beginner=True,
    )


def work_limit(units: str) -> Parameter:
    """A budget that gives the same result on every machine, however busy."""
    return Parameter(
        Number(f"The same in units of work, equal on every machine: {units}.", 1, whole=True), unit="work"
    )


# -- measures of loss ----------------------------------------------------------------------------------


def _read(value: str | Mapping[str, Any], folder: Path) -> Measure:
    if isinstance(value, str):
        return measure_of(value)
    settings = {k: v for k, v in value.items() if k != _TAG}
    return measure_of(build(_kind(value[_TAG]), settings, folder))


def _write(value: object) -> object:
    if isinstance(value, str):
        return value
    ours: dict[str, Any] = {**MEASURES, **INFORMED}
    name = next((n for n, kind in ours.items() if type(value) is kind), None)
    if name is None:
        name = next((n for n, kind in guest_measures().items() if type(value) is kind), None)
    if name is None:
        return value
    settings = changed(value)
    return {_TAG: name, **settings} if isinstance(settings, dict) and settings else name


def _kind(name: str) -> type:
    kind = MEASURES.get(name) or INFORMED.get(name) or guest_measure(name)
    assert isinstance(kind, type)
    return kind


@dataclass(frozen=True)
class _Losses(Either):
    """Ours by name or as a table; a name that is not ours is looked for among guests, when it is met."""

    wanted: Callable[[Any], bool] = field(default=lambda kind: True)

    def faults(self, value: object, at: Path_) -> Iterator[Fault]:
        """What is wrong with a name or a table of ours, or with the settings of a guest's."""
        name = value.get(_TAG) if isinstance(value, Mapping) else value
        kind = guest_measure(name) if isinstance(name, str) else None
        if kind is None or not self.wanted(kind):
            yield from super().faults(value, at)
        else:
            given = {k: v for k, v in value.items() if k != _TAG} if isinstance(value, Mapping) else {}
            yield from record_of(kind).faults(given, at)

    def json(self) -> dict[str, Any]:
        """Any of ours or of guests'."""
        guests = {n: record_of(kind) for n, kind in guest_measures().items() if self.wanted(kind)}
        plain = Text("", tuple(n for n, record in guests.items() if not record.required))
        further = (*((plain,) if plain.choices else ()), *((Tagged(_TAG, guests),) if guests else ()))
        return {"anyOf": [described(shape) for shape in (*self.shapes, *further)]}


def loss(doc: str, wanted: Callable[[Any], bool] = lambda kind: True) -> Parameter:
    """A measure of loss: its name, or a table of its name and settings."""
    records = {name: record_of(_kind(name)) for name in (*MEASURES, *INFORMED) if wanted(_kind(name))}
    plain = tuple(name for name in records if name in MEASURES)
    tagged = Tagged(_TAG, records)
    return Parameter(
        _Losses(
            (Text("", plain), tagged),
            f"one of {', '.join(plain)}, or a table as {{ {_TAG} = 'column-information', target = 'cost' }}",
            f"{doc}: {', '.join(plain)}; or a table of {_TAG} and its settings, as column-information and "
            "value-information with their target.",
            wanted,
        ),
        beginner=True,
        read=_read,
        write=_write,
    )


def of_cells(kind: object) -> bool:
    """Whether a measure is a sum over cells, as searches that grow row by row need."""
    return hasattr(kind, "cost")


_TAG = "measure"
