"""Claims about a file: what can be counted in it.

None of them composes, and none survives a change of the file: each must be counted again. What holds
against every intruder and adds up is in `differential.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sfumato.errors import listed
from sfumato.privacy.base import Claim, Unit
from sfumato.privacy.rounding import shown

_DISTINCT, _ENTROPY, _RECURSIVE = "distinct", "entropy", "recursive"


def names(columns: tuple[str, ...]) -> str:
    """Column names for a sentence."""
    return listed([f"'{c}'" for c in columns], most=12)


def _those(unit: Unit, k: int) -> str:
    """k of the unit, in words."""
    if unit.of == "row":
        return f"{k} row{'s' * (k != 1)}"
    return f"{k} different person{'s' * (k != 1)}"


@dataclass(frozen=True)
class GroupSize(Claim):
    """A claim with a group size over quasi-identifiers."""

    k: int
    columns: tuple[str, ...]

    def _faults(self) -> list[str]:
        faults = [] if self.k >= 1 else ["k must be at least 1"]
        return faults + column_faults(self.columns)

    def _weak(self) -> str:
        return " With k = 1 this protects nobody." if self.k == 1 else ""


def column_faults(columns: tuple[str, ...], name: str = "columns") -> list[str]:
    """What is wrong with a list of column names."""
    if not columns:
        return [f"{name} must name at least one column"]
    return [f"{name} repeat a name"] if len(set(columns)) < len(columns) else []


@dataclass(frozen=True)
class KAnonymity(GroupSize):
    """Every row shares its quasi-identifiers with k - 1 others.

    matching: "anything": empty and withheld cells match every value; empty: they are values of their own.
    """

    matching: str = field(default="", kw_only=True)

    def _faults(self) -> list[str]:
        faults = [] if self.matching in ("", "anything") else ["matching must be empty or 'anything'"]
        if self.matching and self.unit.of == "person":
            faults.append("persons are not counted where empty cells match anything")
        return super()._faults() + faults

    @property
    def title(self) -> str:
        """The claim in a few words."""
        unit = "persons" if self.unit.of == "person" else "rows"
        return f"k-anonymity with k = {self.k} {unit}{', missing matches anything' if self.matching else ''}"

    def promise(self) -> str:
        """What is promised, and against whom."""
        group = f"{_those(self.unit, self.k)}"
        if self.matching:
            return (
                f"In the released file, every row fits at least {group} in {names(self.columns)}, itself "
                "included, where an empty cell or a * fits any value. An intruder who knows a person's "
                "values in these columns, but not which of them are empty in the file, cannot narrow the "
                f"search to fewer.{self._weak()}"
            )
        return (
            f"In the released file, every combination of values in {names(self.columns)} that occurs is "
            f"shared by at least {group}. An intruder who knows a person's values in these columns, and has "
            f"nothing else to go by, cannot narrow the search to fewer than {group}.{self._weak()}"
        )

    def limits(self) -> str:
        """What is not promised."""
        rows = "" if self.unit.of == "person" else " The rows of a group may belong to the same person."
        return (
            "It does not promise that the other columns stay secret: where a whole group has the same "
            "diagnosis, the diagnosis is known. It does not hold against someone who knows further columns, "
            f"or the way the groups were formed, or who has another release of the same people.{rows}"
        )


@dataclass(frozen=True)
class AlphaK(GroupSize):
    """Every class has k rows, and no sensitive value takes more than a share alpha of them."""

    alpha: float
    sensitive: tuple[str, ...]

    def _faults(self) -> list[str]:
        faults = super()._faults() + column_faults(self.sensitive, "sensitive")
        return faults + ([] if 0 < self.alpha <= 1 else ["alpha must be in (0, 1]"])

    @property
    def title(self) -> str:
        """The claim in a few words."""
        return f"alpha-k-anonymity with alpha = {shown(self.alpha)}, k = {self.k}"

    def promise(self) -> str:
        """What is promised, and against whom."""
        return (
            f"In the released file, every combination of values in {names(self.columns)} that occurs is "
            f"shared by at least {_those(self.unit, self.k)}, and among them no value of "
            f"{names(self.sensitive)} has a share of more than {shown(self.alpha)}. An intruder who knows "
            "the former columns only can be no surer than that of the latter."
        )

    def limits(self) -> str:
        """What is not promised."""
        return (
            "It does not hold against someone who can rule values out by other knowledge, who knows further "
            "columns or the way the groups were formed, or who has another release of the same people. Rows "
            "are counted, not persons."
        )


@dataclass(frozen=True)
class KMap(GroupSize):
    """Every row fits k members of a population."""

    population: str

    def _faults(self) -> list[str]:
        return super()._faults() + ([] if self.population else ["population must be named"])

    @property
    def title(self) -> str:
        """The claim in a few words."""
        return f"k-map with k = {self.k}"

    def promise(self) -> str:
        """What is promised, and against whom."""
        return (
            f"Every combination of values in {names(self.columns)} that occurs in the released file fits at "
            f"least {self.k} member{'s' * (self.k != 1)} of this population: {self.population}. An intruder "
            "who knows these columns and does not know who was sampled cannot narrow the search to "
            f"fewer.{self._weak()}"
        )

    def limits(self) -> str:
        """What is not promised."""
        return (
            "It does not protect against someone who knows that a person is in the file: a row may be alone "
            "there. It is only as good as the population table, and says nothing about the other columns."
        )


@dataclass(frozen=True)
class JAnonymity(GroupSize):
    """Every class is probably large in the population, under a stated model."""

    delta: float
    model: str

    def _faults(self) -> list[str]:
        faults = super()._faults()
        if not 0 <= self.delta < 1:
            faults.append("delta must be in [0, 1)")
        return faults + ([] if self.model else ["model must be named"])

    @property
    def title(self) -> str:
        """The claim in a few words."""
        return f"j-anonymity with k = {self.k}, delta = {shown(self.delta)}"

    def promise(self) -> str:
        """What is promised, and against whom."""
        return (
            f"For each combination of values in {names(self.columns)} that occurs in the released file, the "
            f"probability that fewer than {self.k} members of the population have it is at most "
            f"{shown(self.delta)}, given the sample and this model: {self.model}. It is meant for an "
            f"intruder who knows these columns and does not know who was sampled.{self._weak()}"
        )

    def limits(self) -> str:
        """What is not promised."""
        return (
            "It is a statement under a model: where the model is wrong, so may be the promise. It holds for "
            "each class by itself, not for all at once. It does not protect against someone who knows that "
            "a person is in the file, and says nothing about the other columns."
        )


@dataclass(frozen=True)
class LDiversity(Claim):
    """Every class holds a variety of sensitive values."""

    l: float  # noqa: E741  (the letter is the name of the criterion)
    columns: tuple[str, ...]
    sensitive: tuple[str, ...]
    kind: str = _DISTINCT
    c: float | None = None

    def _faults(self) -> list[str]:
        faults = column_faults(self.columns) + column_faults(self.sensitive, "sensitive")
        if self.kind not in (_DISTINCT, _ENTROPY, _RECURSIVE):
            faults.append(f"kind must be {_DISTINCT}, {_ENTROPY} or {_RECURSIVE}")
        if self.l < 1:
            faults.append("l must be at least 1")
        if self.kind in (_DISTINCT, _RECURSIVE) and self.l != int(self.l):
            faults.append("l must be a whole number for this kind")
        if (self.kind == _RECURSIVE) != (self.c is not None) or (self.c is not None and self.c <= 0):
            faults.append("c must be positive for the recursive kind, and absent for the others")
        return faults

    @property
    def title(self) -> str:
        """The claim in a few words."""
        c = f", c = {shown(self.c)}" if self.c is not None else ""
        return f"{self.kind} l-diversity with l = {shown(self.l, upward=False)}{c}"

    def promise(self) -> str:
        """What is promised, and against whom."""
        l = shown(self.l, upward=False)  # noqa: E741
        rule = {
            _DISTINCT: f"has at least {l} different values",
            _ENTROPY: f"has values as varied as {l} equally frequent ones "
            f"(entropy at least the logarithm of {l})",
            _RECURSIVE: f"has its most frequent value fewer times than {shown(self.c or 0)} times all values "
            f"from the {l}th most frequent on taken together",
        }[self.kind]
        return (
            f"Among the rows that share their values in {names(self.columns)}, each of "
            f"{names(self.sensitive)} {rule}. An intruder who knows the former columns only is left with "
            "that much doubt about the latter."
        )

    def limits(self) -> str:
        """What is not promised."""
        rows = "" if self.unit.of == "person" else " Rows are counted, not persons."
        return (
            "It does not promise that the values differ in meaning (two cancers are two values), nor that "
            "all are equally likely, nor anything against someone who can rule values out by other "
            "knowledge, who knows the way the groups were formed, or who has another release of the same "
            f"people.{rows}"
        )


@dataclass(frozen=True)
class TCloseness(Claim):
    """Every class has nearly the sensitive distribution of the whole file."""

    t: float
    columns: tuple[str, ...]
    sensitive: tuple[str, ...]
    distance: str = "equal"

    def _faults(self) -> list[str]:
        faults = column_faults(self.columns) + column_faults(self.sensitive, "sensitive")
        if not 0 <= self.t <= 1:
            faults.append("t must be in [0, 1]")
        if self.distance not in ("equal", "ordered", "hierarchical"):
            faults.append("distance must be equal, ordered or hierarchical")
        return faults

    @property
    def title(self) -> str:
        """The claim in a few words."""
        return f"t-closeness with t = {shown(self.t)}"

    def promise(self) -> str:
        """What is promised, and against whom."""
        return (
            f"Among the rows that share their values in {names(self.columns)}, the distribution of each of "
            f"{names(self.sensitive)} is within {shown(self.t)} of that of the whole file (earth mover's "
            f"distance, {self.distance} ground distance, 0 = the same, 1 = as far as possible). An intruder "
            "who knows the former columns only learns little more about the latter than the whole file "
            "tells about everyone."
        )

    def limits(self) -> str:
        """What is not promised."""
        return (
            "What the whole file tells is not protected, nor is anything kept from someone with further "
            "knowledge, with that of the way the groups were formed, or with another release of the same "
            "people. A rare value may still be much more frequent in one "
            "group."
        )


@dataclass(frozen=True)
class KAmbiguity(GroupSize):
    """Every released row covers k originals; the rows themselves may be unique."""

    @property
    def title(self) -> str:
        """The claim in a few words."""
        return f"k-ambiguity with k = {self.k}"

    def promise(self) -> str:
        """What is promised, and against whom."""
        return (
            f"Every released row, read as a pattern in {names(self.columns)}, covers at least "
            f"{_those(self.unit, self.k)} of the original. An intruder who looks at one released row by "
            f"itself cannot narrow it to fewer.{self._weak()}"
        )

    def limits(self) -> str:
        """What is not promised."""
        return (
            "It is weaker than k-anonymity. The released rows need not be alike, so an intruder who knows "
            "all persons and matches all rows at once can single some out."
        )
