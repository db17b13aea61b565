"""The one table of names. A method is loaded when it is first asked for; nothing is loaded to list them.

Ours stand here as text, in the order in which they are shown. Those of other packages come by entry points
(group `sfumato.methods`) or by `register`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from sfumato import plugins
from sfumato.errors import ParameterError, offered
from sfumato.methods.declaration import Declaration, Does, declaration_of
from sfumato.plugins import Group

# name: (what it does, where its class lives)
OURS: dict[str, tuple[Does, str]] = {
    "local": (Does.GENERALIZE, "anonymization.local:LocalRecoding"),
    "optimal": (Does.GENERALIZE, "anonymization.optimal:OptimalRecoding"),
    "mondrian": (Does.GENERALIZE, "anonymization.mondrian:Mondrian"),
    "simulatable": (Does.GENERALIZE, "anonymization.simulatable:SimulatableRecoding"),
    "datafly": (Does.GENERALIZE, "anonymization.datafly:Datafly"),
    "greedy": (Does.GENERALIZE, "anonymization.greedy.search:Greedy"),
    "beam": (Does.GENERALIZE, "anonymization.greedy.search:Beam"),
    "guided": (Does.GENERALIZE, "anonymization.greedy.guidance:ModelGuided"),
    "partition": (Does.GENERALIZE, "anonymization.greedy.partition:Partition"),
    "resample": (Does.EXCHANGE, "anonymization.shape.methods:ClusterResample"),
    "dither": (Does.EXCHANGE, "anonymization.shape.methods:ClusterDither"),
    "centroid": (Does.EXCHANGE, "anonymization.shape.methods:Centroid"),
    "private": (Does.SYNTHESIZE, "synthesis.private:PrivateSynthesizer"),
    "pegs": (Does.SYNTHESIZE, "synthesis.pegs:PeGS"),
    "lugs": (Does.SYNTHESIZE, "synthesis.lugs.method:LUGS"),
    "plugs": (Does.SYNTHESIZE, "synthesis.lugs.parallel:PLUGS"),
    "pmi": (Does.SYNTHESIZE, "synthesis.imputation.pmi:PMI"),
    "imputation": (Does.SYNTHESIZE, "synthesis.imputation.multiple:MultipleImputation"),
    "partial": (Does.SYNTHESIZE, "synthesis.imputation.partial:PartialSynthesis"),
    "missing": (Does.SYNTHESIZE, "synthesis.imputation.missing_values:MissingValues"),
    "marginals": (Does.SYNTHESIZE, "synthesis.baselines:MarginalBootstrap"),
    "table": (Does.SYNTHESIZE, "synthesis.baselines:ContingencyTable"),
    "linked": (Does.PEOPLE, "synthesis.people:LinkedSynthesizer"),
    "pseudonymize": (Does.REPLACE, "pseudonyms.method:Pseudonymize"),
    "suppress": (Does.TABULATE, "tabulation.suppression:CellSuppression"),
    "round": (Does.TABULATE, "tabulation.rounding:ControlledRounding"),
    "keys": (Does.TABULATE, "tabulation.cell_keys:CellKeys"),
    "noise": (Does.TABULATE, "tabulation.private:PrivateTables"),
    "logistic": (Does.FIT, "prediction.logistic:PrivateLogistic"),
    "additive": (Does.FIT, "prediction.additive:AdditiveScore"),
    "forest": (Does.FIT, "prediction.forest:AlphaForest"),
    "tree": (Does.FIT, "prediction.tree:AlphaTree"),
    "ensemble": (Does.FIT, "prediction.ensemble:AlphaEnsemble"),
    "dpat": (Does.FIT, "prediction.dpat:DPaT"),
    "edpat": (Does.FIT, "prediction.dpat:EDPaT"),
}


def find(name: str) -> type:
    """The class of a method by its name; a refusal with what was probably meant."""
    if name in OURS:
        module, _, kind = OURS[name][1].partition(":")
        found: type = getattr(import_module(f"sfumato.{module}"), kind)
        return found
    guest: type | None = plugins.find(Group.METHODS, name, _require_method, OURS)
    if guest is not None:
        return guest
    raise ParameterError("no method is called that.", hint=offered([name], list(MethodTable(None)), "one of"))


def names(*does: Does) -> list[str]:
    """The names of all methods that do one of these; of all methods, if none is given.

    Guests come after ours, and are loaded: one that fails is said to, and is not among them.
    """
    ours = [name for name, (kind, _) in OURS.items() if not does or kind in does]
    guests = plugins.found(Group.METHODS, _require_method, OURS)
    return [*ours, *(n for n, kind in guests.items() if not does or declaration_of(kind).does in does)]


def register(kind: type) -> type:
    """Make a method known by its name, in this process; a name that is taken is refused. Can decorate.

    A class that a plan or the map meets as an object is registered on the way.
    """
    declared: Declaration = declaration_of(kind)
    if not isinstance(kind, type):
        raise ParameterError("a method is registered by its class.", hint="register(MyMethod)")
    taken = find(declared.name) if declared.name in MethodTable(None) else None
    if taken not in (None, kind):
        raise ParameterError(
            f"another method is called '{declared.name}' already.", hint="choose another name"
        )
    if taken is None:
        plugins.register(Group.METHODS, declared.name, kind, OURS)
    return kind


def _require_method(name: str, kind: object) -> None:
    """What an entry point must give: a class that declares the same name."""
    if not isinstance(kind, type):
        raise ParameterError("it must be a class", hint="name the class of the method")
    declared = declaration_of(kind).name
    if declared != name:
        raise ParameterError(f"it declares itself as '{declared}'", hint="use one name")


def is_ours(kind: type) -> bool:
    """Whether a method is one of this package, under its own name."""
    name = declaration_of(kind).name
    return name in OURS and find(name) is kind


class MethodTable(Mapping[str, Any]):
    """{name: something made of the class}, made when it is looked at: to check one step, one is loaded."""

    def __init__(self, make: Any, *does: Does) -> None:
        self._make, self._does = make, does

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return self._make(find(name))

    def __contains__(self, name: object) -> bool:
        if name in OURS:
            return not self._does or OURS[str(name)][0] in self._does
        kind = plugins.find(Group.METHODS, str(name), _require_method, OURS)
        return kind is not None and (not self._does or declaration_of(kind).does in self._does)

    def __iter__(self) -> Iterator[str]:
        """Without loading anybody: what a guest does is known when it is looked at."""
        yield from (n for n, (does, _) in OURS.items() if not self._does or does in self._does)
        yield from plugins.names(Group.METHODS, OURS)

    def __len__(self) -> int:
        return sum(1 for _ in self)
