"""Plain values to a method, and back: the one way from a plan, a form or a command line to an object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar

from sfumato.errors import ParameterError, offered
from sfumato.methods.parameters import Field, changed, own_value, parameters
from sfumato.methods.shapes import Fault, Number

Kind = TypeVar("Kind")


def build(kind: type[Kind], settings: Mapping[str, Any], folder: str | Path = ".") -> Kind:
    """An object of its settings; everything that is wrong with them is said at once.

    Values that are no plain ones (an estimator, a table) go to the constructor as they are.
    """
    faults = [f"{'.'.join(map(str, at))} {words}" for at, words in faults_of(kind, settings)]
    if faults:
        raise ParameterError(f"{kind.__name__}: {'; '.join(faults)}.", hint=_hint(kind))
    declared = parameters(kind)
    given = {
        name: own_value(declared[name].parameter, value, Path(folder)) if is_plain(value) else value
        for name, value in settings.items()
        if value is not None
    }
    return kind(**given)


def faults_of(kind: type, settings: Mapping[str, Any]) -> Iterator[Fault]:
    """What is wrong with plain settings, without making anything of them."""
    declared = parameters(kind)
    for name, value in settings.items():
        if name not in declared:
            yield (name,), f"is not a setting of it ({offered([name], list(declared), 'it has')})"
            continue
        field = declared[name]
        if value is None or not is_plain(value):
            continue
        if field.parameter.python_only:
            yield (name,), f"can be given in Python only: {field.parameter.python_only}"
        else:
            yield from field.parameter.shape.faults(_as_lists(value), (name,))
    for field in declared.values():
        if field.required and field.name not in settings:
            yield (), f"needs '{field.name}'"


def is_plain(value: object) -> bool:
    """Whether a value is one that a plan could hold: text, numbers, lists and tables of such."""
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    if isinstance(value, Mapping):
        return all(isinstance(k, str) and is_plain(v) for k, v in value.items())
    return type(value) in (str, int, float, bool)


def require_numbers(method: object) -> None:
    """Refuse what is no number where one is declared: in constructors, before it meets a bound."""
    faults = []
    for name, each in parameters(type(method)).items():
        value, shape = getattr(method, name), each.parameter.shape
        if not isinstance(shape, Number) or value is None:
            continue
        kind: type = Integral if shape.whole else Real
        if isinstance(value, bool) or not isinstance(value, kind):
            faults.append(f"{name} must be a {'whole ' * shape.whole}number")
    if faults:
        raise ParameterError(f"{type(method).__name__}: {'; '.join(faults)}.", hint=_hint(type(method)))


def plain_settings(method: object) -> dict[str, Any]:
    """The settings that set a method apart from its defaults; an object without a plain form stays itself."""
    given: dict[str, Any] = changed(method) if parameters(type(method)) else {}
    return given


def field_of(kind: type, name: str) -> Field:
    """A parameter by its name, or a refusal with what was probably meant."""
    declared = parameters(kind)
    if name not in declared:
        raise ParameterError(f"no setting is called '{name}'.", hint=offered([name], list(declared)))
    return declared[name]


def _as_lists(value: object) -> object:
    """TOML has lists; Python's tuples are taken for them."""
    if isinstance(value, list | tuple):
        return [_as_lists(v) for v in value]
    return {k: _as_lists(v) for k, v in value.items()} if isinstance(value, Mapping) else value


def _hint(kind: type) -> str:
    declaration = getattr(kind, "declaration", None)
    return f"see docs/{declaration.page}" if declaration is not None and declaration.page else "correct these"
