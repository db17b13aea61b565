"""The options of methods, from what they declare: one option for each setting, for all methods of a command.

`--epsilon 1` means the same as `epsilon = 1` in a plan and `epsilon=1.0` in Python. Lists are given with
commas or by repeating the option, tables as NAME=VALUE.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from sfumato.errors import ParameterError, listed, offered
from sfumato.methods.declaration import Does, declaration_of
from sfumato.methods.names import find, names
from sfumato.methods.parameters import Field
from sfumato.methods.shapes import Either, Flag, ListOf, Number, Plain, Record, Shape, TableOf, Tagged, Text
from sfumato.plan.step import Step, fields_of

ASKED, FIRST, FURTHER = "What is asked", "Settings", "Further settings, for who knows the method"
_SHORT = {"rows": "-n"}
_CELL = re.compile(r'(?:"[^"]*"|\([^)]*\)|[^,])+')


def methods_of(command: str) -> list[str]:
    """The names of the methods that a command runs."""
    return [name for name in names() if declaration_of(find(name)).command == command]


def options_of(command: str, only: str = "") -> list[inspect.Parameter]:
    """One option for each setting that a method of the command has. only: a single method, for its help."""
    by_name: dict[str, dict[str, Field]] = {}
    known = [only] if only in methods_of(command) else methods_of(command)
    for method in known:
        for name, field in fields_of(find(method)).items():
            if not field.parameter.python_only:
                by_name.setdefault(name, {})[method] = field
    return [_option(name, of, len(known)) for name, of in by_name.items()]


def step_of(command: str, method: str, given: Mapping[str, Any]) -> Step:
    """The step that the options say; one that the method has no use for is refused, not ignored."""
    known = methods_of(command)
    if method not in known:
        raise ParameterError(
            f"{command} has no such method.", hint=offered([method], known, "--method is one of")
        )
    own = fields_of(find(method))
    said = {name: value for name, value in given.items() if value not in (None, [], ())}
    idle = [
        f"--{name.replace('_', '-')}" for name in said if name not in own or own[name].parameter.python_only
    ]
    if idle:
        takers = [m for m in known if all(_named(option) in fields_of(find(m)) for option in idle)]
        hint = f"it goes with {listed(takers)}" if takers else "leave them out"
        raise ParameterError(f"the method {method} has no use for {listed(idle)}.", hint=hint)
    settings = {name: read(own[name].parameter.shape, value, name) for name, value in said.items()}
    step = Step(method, settings)
    faults = [f"--{'.'.join(map(str, at)).replace('_', '-')} {words}" for name, value in settings.items()
              for at, words in own[name].parameter.shape.faults(value, (name,))]  # fmt: skip
    if faults:
        raise ParameterError(f"{'; '.join(faults)}.", hint=f"sfumato methods {method}")
    missing = [f"--{n.replace('_', '-')}" for n, f in own.items() if f.required and n not in settings]
    if missing:
        raise ParameterError(
            f"the method {method} needs {listed(missing)}.", hint=f"sfumato {command} --help"
        )
    return step


def _named(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")


# -- from a declaration to an option -------------------------------------------------------------------


def _option(name: str, of: Mapping[str, Field], every: int) -> inspect.Parameter:
    fields = list(of.values())
    flag = all(isinstance(f.parameter.shape, Flag) for f in fields)
    kind: Any = bool | None if flag else list[str] | None
    spelt = f"--{name.replace('_', '-')}"
    declarations = [f"{spelt}/--no-{name.replace('_', '-')}"] if flag else [spelt]
    declarations += [_SHORT[name]] if name in _SHORT else []
    option = typer.Option(
        *declarations,
        help=_help(of, every),
        metavar=None if flag else _metavar(fields[0].parameter.shape),
        show_default=False,
        rich_help_panel=_panel(fields),
    )
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, option]
    )


def _panel(fields: Sequence[Field]) -> str:
    from sfumato.methods.requests import REQUESTS

    asked = {n for kind in REQUESTS.values() for n in kind.__dataclass_fields__}  # type: ignore[attr-defined]
    if fields[0].name in asked and len(fields) > 1:
        return ASKED
    return FIRST if any(f.parameter.beginner for f in fields) else FURTHER


def _help(of: Mapping[str, Field], every: int) -> str:
    """What it means, and for whom; what all words begin with, where each method goes on in its own way."""
    by_doc: dict[str, list[str]] = {}
    for method, field in of.items():
        by_doc.setdefault(field.parameter.doc, []).append(method)
    whom = "" if len(of) == every else f"{_whom(list(of))}: "
    if len(by_doc) > 2:
        first = {re.split("[;:.]", doc, maxsplit=1)[0] for doc in by_doc}
        return f"{whom}{' / '.join(sorted(first))}. More: sfumato methods NAME."
    if len(by_doc) == 1:
        return f"{whom}{next(iter(by_doc))}{_usual(list(of.values()))}".replace("[", "\\[")  # no markup
    parts = [f"{_whom(ms)}: {doc}{_usual([of[m] for m in ms])}" for doc, ms in by_doc.items()]
    return " ".join(parts).replace("[", "\\[")


def _usual(fields: Sequence[Field]) -> str:
    """The default, where there is one and it is that of all."""
    found = {str(f.plain_default) for f in fields if f.plain_default not in (None, "", [], {}, False)}
    return f" Default: {found.pop()}." if len(found) == 1 else ""


def _whom(methods: Sequence[str]) -> str:
    """Their names; all that do the same in one word."""
    for does in Does:
        if set(methods) == set(names(does)) and len(methods) > 2:
            return f"methods that {does}"
    return listed(methods, 6)


def _metavar(shape: Shape) -> str:
    if isinstance(shape, Number):
        return "N" if shape.whole else "X"
    if isinstance(shape, ListOf):
        return "TEXT" if shape.whole_items else "A,B,..."
    if isinstance(shape, TableOf | Record | Tagged):
        return "NAME=VALUE"
    return "TEXT" if not isinstance(shape, Text) or not shape.choices else "|".join(shape.choices[:6])


# -- from words to values ------------------------------------------------------------------------------


def read(shape: Shape, given: bool | str | Sequence[str], name: str) -> object:
    """What was written on the command line as the plain value that a plan would have."""
    if isinstance(given, bool):
        return given
    texts = [given] if isinstance(given, str) else list(given)
    try:
        return _value(shape, texts)
    except ParameterError as error:
        option = f"--{name.replace('_', '-')}"
        raise ParameterError(
            f"{option}: {error.message}.", hint=f"sfumato ... {option} {_metavar(shape)}"
        ) from None


def _value(shape: Shape, texts: Sequence[str]) -> object:
    if isinstance(shape, Either):
        return _value(_meant(shape, texts), texts)
    if isinstance(shape, ListOf):
        cells = texts if shape.whole_items else [cell for text in texts for cell in _cells(text)]
        return [_value(shape.of, [cell]) for cell in cells]
    if isinstance(shape, TableOf | Record | Tagged):
        return dict(_pairs(shape, texts))
    if len(texts) > 1:
        raise ParameterError("it was given several times")
    return _scalar(shape, texts[0])


def _meant(shape: Either, texts: Sequence[str]) -> Shape:
    """Which of several shapes is written: a table has a sign =, a number is one."""
    tables = [s for s in shape.shapes if isinstance(s, TableOf | Record | Tagged)]
    if tables and all("=" in text for text in texts):
        return tables[0]
    for one in shape.shapes:
        if isinstance(one, Number) and len(texts) == 1 and _is_number(texts[0]):
            return one
    others = [s for s in shape.shapes if not isinstance(s, Number) and s not in tables]
    if not others:
        raise ParameterError(f"must be {shape.choice}")
    return others[0]


def _pairs(shape: TableOf | Record | Tagged, texts: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """NAME=VALUE; a name of the user's own may hold an = itself, one of ours does not."""
    found: dict[str, list[str]] = {}
    for text in texts:
        free = isinstance(shape, TableOf)
        name, sign, value = text.rpartition("=") if free else text.partition("=")
        if not sign or not name:
            raise ParameterError("it takes NAME=VALUE")
        found.setdefault(name, []).append(value)
    entries = shape.entries if isinstance(shape, Record) else {}
    if isinstance(shape, Tagged):
        tag = found.get(shape.tag, [""])[0]
        entries = {shape.tag: Text(), **(shape.kinds[tag].entries if tag in shape.kinds else {})}
    for name, values in found.items():
        inner = shape.of if isinstance(shape, TableOf) else entries.get(name, Plain())
        if isinstance(inner, TableOf | Record | Tagged):
            raise ParameterError(f"'{name}' is a table of its own, which a plan can hold")
        yield name, _value(inner, values)


def _cells(text: str) -> list[str]:
    """Parts between commas, but not within quotes or brackets: 'a, b', "a,b", entropy-l(diagnosis, 3)."""
    found = _CELL.findall(text)
    return [cell.strip().strip('"') for cell in found if cell.strip()]


def _scalar(shape: Shape, text: str) -> str | float:
    if isinstance(shape, Number):
        if not _is_number(text):
            raise ParameterError(f"must be a {'whole ' * shape.whole}number")
        return _number(text)
    if isinstance(shape, Flag):
        if text.lower() not in ("true", "false"):
            raise ParameterError("must be true or false")
        return text.lower() == "true"
    if isinstance(shape, Plain):
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        return _number(text) if _is_number(text) else text
    return text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)
