"""What a method is, does, needs, claims and spends: said once, on its class.

    @declares(
        Declaration(
            "datafly", Does.GENERALIZE, "The column with most values first.", page="anonymize.md",
            claims=("KAnonymity", ...), needs=(Need.HIERARCHIES,),
        )
    )
    @dataclass(frozen=True)
    class Datafly:
        max_suppressed: Annotated[float | None, Parameter(Number("Share of the rows ...", 0, 1))] = None

The class then does what `does` says:

| does       | the class has                                                    | gives a release by |
|------------|------------------------------------------------------------------|--------------------|
| generalize | search(problem, criterion) -> Recoding                           | sf.anonymize       |
| exchange   | release(table, criterion, hierarchies=, key=) -> Release         | sf.anonymize       |
| synthesize | fit(table) -> an object with sample(rows, key=, seed=) -> Release | sf.synthesize      |
| replace    | release(table, key=) -> Release                                  | the method itself  |
| synthesize people | fit(database) -> an object with sample(persons) -> DatabaseRelease | that object |
| tabulate   | what sf.tabulate knows how to do with it                         | sf.tabulate        |
| fit        | fit(table, target, ledger=), as scikit-learn's estimators        | no release: a model |

and, where it promises differential privacy, `spends(rows) -> Spending` without looking at any data.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from sfumato.errors import ParameterError
from sfumato.methods.parameters import parameters

_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


class Does(StrEnum):
    """What a method does with a table."""

    GENERALIZE = "generalize"  # values become more general
    EXCHANGE = "exchange"  # values change places between rows that are alike
    SYNTHESIZE = "synthesize"  # rows are invented
    PEOPLE = "synthesize people"  # persons are invented, with the rows of all linked tables
    REPLACE = "replace"  # what names people is replaced
    TABULATE = "tabulate"  # cells are counted
    FIT = "fit"  # a score is learnt


class Need(StrEnum):
    """What a method cannot do without."""

    HIERARCHIES = "hierarchies"
    PUBLIC_DOMAIN = "public domain"
    TARGET = "target"
    KEY = "key"


# The command that runs a method, unless its declaration names another.
COMMANDS = {
    Does.GENERALIZE: "anonymize",
    Does.EXCHANGE: "anonymize",
    Does.SYNTHESIZE: "synthesize",
    Does.PEOPLE: "synthesize",
    Does.REPLACE: "pseudonymize",
    Does.TABULATE: "tabulate",
    Does.FIT: "fit",
}


@dataclass(frozen=True)
class Spending:
    """What is spent before the data are looked at. Both None: nothing, or an amount known afterwards only.

    claimed: whether differential privacy is claimed at all.
    """

    epsilon: float | None = None
    rho: float | None = None
    claimed: bool = False

    @property
    def known(self) -> bool:
        """Whether the amount is known before anything is drawn."""
        return self.epsilon is not None or self.rho is not None

    def amounts(self) -> dict[str, float]:
        """{"epsilon": ...} or {"rho": ...}; empty where nothing is known."""
        both = {"epsilon": self.epsilon, "rho": self.rho}
        return {name: float(amount) for name, amount in both.items() if amount is not None}


NOTHING = Spending()


@dataclass(frozen=True)
class Declaration:
    """What a method says of itself.

    name: in plans and on the command line. does: see the table above. summary: one line. page: of docs/.
    claims: the names of all claims a release of it may carry; a release with another one is refused by the
        conformance kit. needs: what it cannot do without.
    own_rows: of synthesizers, whether they know by themselves how many rows there are to be.
    first: whether a newcomer meets it first. grid: the settings with which the map tries it unasked.
    command: the command that runs it, where it is not the usual one of what it does.
    closed: {door: why this method cannot pass there}; doors are "plan", "command line" and "map".
    """

    name: str
    does: Does
    summary: str
    page: str = ""
    claims: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()
    own_rows: bool = False
    first: bool = False
    grid: tuple[Mapping[str, Any], ...] = ()
    command: str = ""
    closed: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        faults = []
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            faults.append("the name must be small letters, digits and -, beginning with a letter")
        if self.does not in tuple(Does):
            faults.append(f"does must be one of {', '.join(Does)}")
        if not isinstance(self.summary, str) or not 0 < len(self.summary) <= 200:
            faults.append("the summary must be one line of at most 200 characters")
        if isinstance(self.claims, str) or not all(isinstance(c, str) and c for c in self.claims):
            faults.append("claims must be names of claims")
        if self.does != Does.FIT and not self.claims:
            faults.append("claims must not be empty: a method that promises nothing claims 'NoGuarantee'")
        if any(n not in tuple(Need) for n in self.needs):
            faults.append(f"needs must be among {', '.join(Need)}")
        if faults:
            raise ParameterError(f"a declaration: {'; '.join(faults)}.", hint="see docs/guests.md")
        object.__setattr__(self, "does", Does(self.does))
        object.__setattr__(self, "command", self.command or COMMANDS[self.does])


Kind = TypeVar("Kind", bound=type)


def declares(declaration: Declaration) -> Callable[[Kind], Kind]:
    """Say what a class is. The words of its parameters go to the end of its docstring, for `help`."""

    def mark(kind: Kind) -> Kind:
        kind.declaration = declaration  # type: ignore[attr-defined]
        words = "\n".join(f"    {f.name}: {f.parameter.doc}" for f in parameters(kind).values())
        kind.__doc__ = f"{inspect.cleandoc(kind.__doc__ or declaration.summary)}\n\nParameters:\n{words}"
        return kind

    return mark


def declaration_of(method: object) -> Declaration:
    """What a method, or its class, declares; a clear refusal for anything else."""
    found = getattr(method, "declaration", None)
    if isinstance(found, Declaration):
        return found
    kind = method if isinstance(method, type) else type(method)
    raise ParameterError(
        f"{kind.__name__} is not a method: it declares nothing.",
        hint="sf.LocalRecoding(), sf.PrivateSynthesizer(epsilon=1.0); sfumato methods lists them",
    )


def spending_of(method: object, rows: int | None) -> Spending:
    """What a method spends on so many rows; nothing where it promises no differential privacy."""
    spends = getattr(method, "spends", None)
    found: Spending = spends(rows) if callable(spends) else NOTHING
    return found
