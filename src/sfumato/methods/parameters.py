"""A field that carries its own words: what it may be, in which unit, and who needs it.

    @dataclass(frozen=True)
    class Beam:
        width: Annotated[int, Parameter(Number("How many sets are kept.", 1, whole=True))] = 5

`parameters(Beam)` gives them back in order, with their defaults. A plan, a command line, a form and a page
all read the same line.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from sfumato.methods.shapes import Either, ListOf, Record, Shape

Reader = Callable[[Any, Path], Any]
Writer = Callable[[Any], Any]


@dataclass(frozen=True)
class Parameter:
    """What is said of a field.

    shape: the plain values it takes in a plan and on the command line, with a sentence of what it means.
    unit: of a number, as "seconds". beginner: shown first; the others are for who knows the method.
    columns: it names columns of the table, which are looked for in the schema.
    python_only: why only Python can give it; empty where every door can.
    read, write: from a plain value to the field's own and back; None where they are the same. A reader is
        also told the folder that file names start from.
    """

    shape: Shape
    unit: str = ""
    beginner: bool = False
    columns: bool = False
    python_only: str = ""
    read: Reader | None = None
    write: Writer | None = None

    @property
    def doc(self) -> str:
        """In a sentence, what it means."""
        return self.shape.doc


@dataclass(frozen=True)
class Field:
    """A parameter of one method: its name, what was declared of it, and what it is if nobody gives it."""

    name: str
    parameter: Parameter
    default: Any
    required: bool

    @property
    def plain_default(self) -> object:
        """The default as a plan would write it; None where there is none."""
        return None if self.required else plain_value(self.parameter, self.default)


def plain_value(parameter: Parameter, value: object) -> object:
    """A field's value as a plan writes it; an object without a plain form is given back as it is."""
    return _plain(value) if parameter.write is None else parameter.write(value)


def _plain(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value


def own_value(parameter: Parameter, value: object, folder: Path) -> object:
    """A plain value as the field has it: lists become tuples, which nobody changes later."""
    if parameter.read is not None:
        return parameter.read(value, folder)
    return tuple(value) if isinstance(value, list) else value


_known: dict[type, Mapping[str, Field]] = {}  # classes do not change


def parameters(kind: type) -> Mapping[str, Field]:
    """The declared parameters of a class, by name, in the order of its constructor."""
    if kind not in _known:
        _known[kind] = _read(kind)
    return _known[kind]


def _read(kind: type) -> dict[str, Field]:
    holder: Any = kind if dataclasses.is_dataclass(kind) else vars(kind).get("__init__", kind)
    hints = get_type_hints(holder, include_extras=True)
    found = {}
    for name, default in _defaults(kind).items():
        parameter = _declared(hints.get(name))
        if parameter is not None:
            found[name] = Field(name, parameter, default, default is inspect.Parameter.empty)
    return found


def undeclared(kind: type) -> list[str]:
    """Fields of the constructor that nothing is declared of: they could not be reached, or only by chance."""
    return [name for name in _defaults(kind) if name not in parameters(kind)]


def record_of(kind: type, doc: str = "") -> Record:
    """The parameters of a class as one table of a plan; those that only Python can give are not in it."""
    open_ = [f for f in parameters(kind).values() if not f.parameter.python_only]
    return Record({f.name: f.parameter.shape for f in open_}, doc, tuple(f.name for f in open_ if f.required))


def nested(kind: type, doc: str, *, beginner: bool = False) -> Parameter:
    """A field whose value is itself a small object with parameters, written as a table."""

    def read(value: Mapping[str, object], folder: Path) -> object:
        declared = parameters(kind)
        return kind(**{n: own_value(declared[n].parameter, v, folder) for n, v in value.items()})

    return Parameter(record_of(kind, doc), beginner=beginner, read=read, write=changed)


def changed(value: object) -> Any:
    """What sets an object apart from one made without settings, as plain values."""
    declared = parameters(type(value))
    if not declared:
        return value
    given = {n: plain_value(f.parameter, getattr(value, n)) for n, f in declared.items()}
    return {n: v for n, v in given.items() if v is not None and v != declared[n].plain_default}


def is_list(shape: Shape) -> bool:
    """Whether a value is a list of plain things, so that an option may be given several times."""
    return isinstance(shape, ListOf) or (isinstance(shape, Either) and any(map(is_list, shape.shapes)))


def _declared(hint: object) -> Parameter | None:
    if get_origin(hint) is not Annotated:
        return None
    return next((m for m in get_args(hint)[1:] if isinstance(m, Parameter)), None)


def _defaults(kind: type) -> dict[str, Any]:
    """What the constructor takes, with defaults; a default that is made anew each time is made once."""
    signature = inspect.signature(kind)
    made = {}
    if dataclasses.is_dataclass(kind):
        made = {
            f.name: f.default_factory()
            for f in dataclasses.fields(kind)
            if f.default_factory is not dataclasses.MISSING
        }
    return {name: made.get(name, p.default) for name, p in signature.parameters.items()}
