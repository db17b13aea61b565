"""Criteria of size: how many rows, persons, or members of a population fit each class."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato import privacy
from sfumato.counts import Counts
from sfumato.criteria.base import Criterion, number, whole_number
from sfumato.criteria.classes import Classes
from sfumato.errors import ParameterError
from sfumato.privacy import Claim, Unit
from sfumato.privacy.base import ONE_ID
from sfumato.table import Table

OWN_VALUE = "own value"
ANYTHING = "matches anything"


@dataclass(frozen=True)
class KAnonymity(Criterion):
    """Every combination of the quasi-identifiers that occurs is shared by at least k rows, or persons.

    persons: count different persons, not rows. None: where the table says whose rows they are (a column
        of role person), persons; elsewhere rows.
    missing: "own value": an empty or withheld cell is like no other value; "matches anything": it cannot
        be told from any value, so a row is as hidden as the rows that could be it. The second is a weaker
        promise: it rests on the intruder not knowing which cells are empty.

    >>> both = sf.KAnonymity(5) & sf.LDiversity(3, "health")
    >>> both.describe()
    "k-anonymity with k = 5 and distinct l-diversity of 'health' with l = 3"
    """

    k: int
    persons: bool | None = None
    missing: str = OWN_VALUE

    def __post_init__(self) -> None:
        whole_number(self.k, "k", "KAnonymity(5)")
        if self.missing not in (OWN_VALUE, ANYTHING):
            raise ParameterError(
                f"missing must be '{OWN_VALUE}' or '{ANYTHING}'.", hint="KAnonymity(5, missing='own value')"
            )
        if self.missing == ANYTHING and self.persons:
            raise ParameterError(
                "persons can be counted where missing is a value of its own only.",
                hint="KAnonymity(5, persons=True), or rows with missing='matches anything'",
            )

    @property
    def monotone(self) -> bool:
        """Yes; not so where missing matches anything, as a cell that is generalized may cease to match."""
        return self.missing == OWN_VALUE

    @property
    def only_sizes(self) -> bool:
        """Rows of one's own class: nothing else is looked at."""
        return self.missing == OWN_VALUE and self.persons is False

    @property
    def matching(self) -> bool:
        """Whether it lets missing cells match anything."""
        return self.missing == ANYTHING

    def satisfied(self, classes: Classes) -> NDArray[np.bool_]:
        """(classes,): which have k."""
        return self._of(classes) >= self.k

    def _of(self, classes: Classes) -> NDArray[np.int64]:
        if self.missing == ANYTHING:
            return classes.sizes if classes.matching is None else classes.matching
        if self.persons is False or (self.persons is None and classes.persons is None):
            return classes.sizes
        if classes.persons is None:
            raise ParameterError(
                "persons are to be counted, but no column says whose rows they are.",
                hint="give a column the role person in the schema",
            )
        return classes.persons

    def claims(self, classes: Classes, columns: tuple[str, ...]) -> tuple[Claim, ...]:
        """The smallest class, of rows; and of persons where they were counted."""
        if self.missing == ANYTHING:
            least = int(self._of(classes).min(initial=self.k if not len(classes) else 2**62))
            return (privacy.KAnonymity(least, columns, matching="anything"),)
        rows = privacy.KAnonymity(_least(classes.sizes, self.k), columns)
        if self.persons is False or classes.persons is None:
            return (rows,)
        # How many rows a person has at most was counted, not declared: it is not published.
        persons = privacy.KAnonymity(_least(classes.persons, self.k), columns, unit=Unit.person())
        return (persons.assuming(ONE_ID), rows)

    def describe(self) -> str:
        """What is asked, in a few words."""
        of = " persons" if self.persons else ""
        return (
            f"k-anonymity with k = {self.k}{of}{'' if self.missing == OWN_VALUE else ', missing ' + ANYTHING}"
        )

    def measure(self, counts: Counts) -> int:
        """The k that was reached: the rows of the smallest class. An empty table has no class: 0."""
        return int(counts.n.min()) if counts.cells else 0

    def holds(self, counts: Counts) -> bool:
        """Whether what was asked was reached; an empty table breaks no promise."""
        return not counts.cells or self.measure(counts) >= self.k


def _least(sizes: NDArray[np.int64], asked: int) -> int:
    """The smallest; what was asked where there is no class to break it."""
    return int(sizes.min()) if len(sizes) else asked


@dataclass(frozen=True)
class KMap(Criterion):
    """Every class fits at least k members of a population, counted in a table of it or by survey weights.

    population: a table of the population with the same quasi-identifiers; its rows are its members.
    weight: instead of a table, the column of survey weights: their sum estimates the members.
    name: of the population, for the promise.

    >>> population = sf.samples.members(500, seed=2).select(["age", "sex"])
    >>> sf.KMap(20, population, name="all members").describe()
    'k-map with k = 20 in all members'
    """

    members: int
    population: Table | None = field(default=None, compare=False, hash=False)
    weight: str = ""
    name: str = "the population"

    def __post_init__(self) -> None:
        whole_number(self.members, "k", "KMap(5, population)")
        if (self.population is None) == (not self.weight):
            raise ParameterError(
                "k-map counts in a population, or by survey weights.",
                hint="KMap(5, population=table) or KMap(5, weight='weight')",
            )
        if self.population is not None and not isinstance(self.population, Table):
            raise ParameterError("the population is a table.", hint="KMap(5, population=sf.scan(...))")
        if not self.name:
            raise ParameterError("the population needs a name.", hint="name='residents of the county'")

    @property
    def k(self) -> int:
        """A class may have a single row in the file."""
        return 1

    @property
    def monotone(self) -> bool:
        """Yes: members add up."""
        return True

    @property
    def weights(self) -> tuple[str, ...]:
        """The survey weights, where they stand for the population."""
        return (self.weight,) if self.weight else ()

    def satisfied(self, classes: Classes) -> NDArray[np.bool_]:
        """(classes,): which fit k members."""
        return self._members(classes) >= self.members

    def _members(self, classes: Classes) -> NDArray[np.int64]:
        if self.weight:
            return np.floor(classes.weights[self.weight] + 1e-9).astype(np.int64)
        if classes.population is None:
            raise ParameterError("the population was not counted.", hint="compress with the criterion")
        return classes.population

    def claims(self, classes: Classes, columns: tuple[str, ...]) -> tuple[Claim, ...]:
        """The fewest members a class fits."""
        claim = privacy.KMap(_least(self._members(classes), self.members), columns, self.name)
        if self.weight:
            claim = claim.assuming(
                f"The members were estimated by the sum of the survey weights '{self.weight}'."
            )
        return (claim,)

    def describe(self) -> str:
        """What is asked, in a few words."""
        return f"k-map with k = {self.members} in {self.name}"


@dataclass(frozen=True)
class JAnonymity(Criterion):
    """With probability 1 - delta, at least k members of the population are in the class (thesis, p. 78).

    The file is a sample: each member of the population is in it with probability `fraction`, or with the
    probabilities behind the survey weights in column `weight` (f rows whose weights sum to w: f / w).
    Model: the members of a class are Poisson with a rate nothing is known about (prior 1 / rate). Given f
    in the sample, those not in it are negative binomial: P(u) = C(f + u - 1, u) p^f (1 - p)^u.

    >>> sf.JAnonymity(5, delta=0.05, fraction=0.01).describe()
    'j-anonymity with k = 5, delta = 0.05'
    """

    members: int
    delta: float = 0.05
    fraction: float | None = None
    weight: str = ""

    def __post_init__(self) -> None:
        whole_number(self.members, "k", "JAnonymity(5, fraction=0.1)")
        number(self.delta, "delta", 0, 0.5, "JAnonymity(5, delta=0.05, fraction=0.1)")
        if (self.fraction is None) == (not self.weight):
            raise ParameterError(
                "j-anonymity needs the share of the population that was sampled, or survey weights.",
                hint="JAnonymity(5, fraction=0.1) or JAnonymity(5, weight='weight')",
            )
        if self.fraction is not None:
            number(self.fraction, "fraction", 0, 1, "the share of the population in the file")

    @property
    def monotone(self) -> bool:
        """With one fraction for all, yes: more in the sample, more outside. With weights it need not be."""
        return self.fraction is not None

    @property
    def k(self) -> int:
        """With one fraction, the fewest rows from which k in the population are probable enough."""
        if self.fraction is None:
            return 1
        rows = np.arange(1, self.members + 1)
        enough = self._short(rows, np.full(self.members, self.fraction)) <= self.delta
        return int(rows[np.argmax(enough)])  # k rows are k members: the last is always enough

    @property
    def weights(self) -> tuple[str, ...]:
        """The survey weights, where they give the fractions."""
        return (self.weight,) if self.weight else ()

    def _short(self, rows: NDArray[np.int64], fraction: NDArray[np.float64]) -> NDArray[np.float64]:
        """P(fewer than k members | rows in the sample)."""
        from scipy.stats import nbinom

        found: NDArray[np.float64] = np.where(
            rows >= self.members, 0.0, nbinom.cdf(self.members - 1 - rows, rows, np.minimum(fraction, 1.0))
        )
        return found

    def _risk(self, classes: Classes) -> NDArray[np.float64]:
        if self.fraction is not None:
            size, back = np.unique(classes.sizes, return_inverse=True)
            return self._short(size, np.full(len(size), self.fraction))[back]
        weight = np.maximum(classes.weights[self.weight], classes.sizes)
        return self._short(classes.sizes, classes.sizes / weight)

    def satisfied(self, classes: Classes) -> NDArray[np.bool_]:
        """(classes,): which are probably large enough."""
        return self._risk(classes) <= self.delta

    def claims(self, classes: Classes, columns: tuple[str, ...]) -> tuple[Claim, ...]:
        """The largest probability that a class has fewer than k members."""
        worst = float(self._risk(classes).max(initial=0.0))
        how = (
            f"the fraction {self.fraction:g}"
            if self.fraction is not None
            else f"survey weights '{self.weight}'"
        )
        model = (
            "negative binomial for the members who are not in the file (Poisson counts, prior 1 / rate), "
            f"sampled with {how}"
        )
        return (privacy.JAnonymity(self.members, columns, worst, model),)

    def describe(self) -> str:
        """What is asked, in a few words."""
        return f"j-anonymity with k = {self.members}, delta = {self.delta:g}"
