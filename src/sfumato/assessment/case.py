"""What is judged, opened once: the parts of an assessment share the pair, the classes and the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.assessment.align import MAX_LEVELS, Pair, align
from sfumato.assessment.opening import Opened, opened, opened_pair
from sfumato.errors import ParameterError
from sfumato.schema import Schema, Value
from sfumato.seeds import Key
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.assessment.fellegi_sunter import AttackDatabase
    from sfumato.assessment.models import Model
    from sfumato.assessment.risk.classes import Classes
    from sfumato.assessment.risk.uniqueness import Search

EFFORTS = ("quick", "normal", "thorough")
Hierarchies = Mapping[str, Mapping[str, Sequence[Value]]]


@dataclass(frozen=True, eq=False)
class Case:
    """One original and one release, with what is known about them.

    population: how many people the original is a sample of, or a table of them.
    truth: "rows" if row i of the release was made of row i of the original; None if nobody knows.
    database: what an intruder holds beside the release. formulas: regressions, and whether each is linear
        or logistic.
    """

    files: Opened
    key: Key
    population: int | Table | None = None
    hierarchies: Hierarchies = field(default_factory=dict)
    truth: str | None = None
    effort: str = "normal"
    database: AttackDatabase | None = None
    formulas: Mapping[str, Model] = field(default_factory=dict)

    @cached_property
    def pair(self) -> Pair:
        """Both files on one scale."""
        return align(
            self.files.original, self.files.released, hierarchies=self.hierarchies, weight=self.files.weight
        )

    @cached_property
    def known(self) -> tuple[str, ...]:
        """The quasi-identifiers that can be compared."""
        return tuple(n for n in self.files.quasi_identifiers if n in self.pair.columns)

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """The sensitive columns that can be compared and are not known already."""
        return tuple(n for n in self.files.sensitive if n in self.pair.columns and n not in self.known)

    @cached_property
    def sharp(self) -> Pair:
        """Both files on the finest scale of what is known: an intruder does not round what they know.

        Bins are for comparing distributions; in bins of ten years two people look alike who are not.
        """
        columns = {c.name: c for c in self.pair.original.schema}
        for name in self.known:
            columns[name] = replace(self.files.original.schema[name], edges=None)
        original = self.files.original.with_schema(Schema(tuple(columns.values())))
        released = self.files.released.select([n for n in self.files.released.columns if n in columns])
        return align(
            original, released, hierarchies=self.hierarchies, bins=MAX_LEVELS, weight=self.files.weight
        )

    @property
    def seed(self) -> int:
        """A number for parts that draw with one; nothing that is released rests on it."""
        return (
            int.from_bytes(self.key.derive("assessment", "seed").to_bytes()[-4:], "little") >> 1
        )  # libraries take 31 bits

    @cached_property
    def classes(self) -> Classes:
        """The release by its quasi-identifiers, as they stand in it."""
        from sfumato.assessment.risk.classes import classes

        return classes(self.files.released, self.files.quasi_identifiers)

    @cached_property
    def search(self) -> Search:
        """What each small set of quasi-identifiers singles out in the release."""
        from sfumato.assessment.risk.uniqueness import search

        return search(self.classes, depth=self.depth)

    @property
    def depth(self) -> int:
        """How many quasi-identifiers are combined."""
        return 3 if self.effort == "quick" else 4

    @property
    def quick(self) -> bool:
        """Whether only what takes little time is wanted."""
        return self.effort == "quick"

    @property
    def thorough(self) -> bool:
        """Whether what takes long is wanted too."""
        return self.effort == "thorough"


def case_of(
    original: Any,
    released: Any,
    *,
    control: Any = None,
    schema: Schema | str | Path | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    target: str | None = None,
    weight: str | None = None,
    population: Any = None,
    hierarchies: Hierarchies | None = None,
    truth: str | None = None,
    key: Key | None = None,
    effort: str = "normal",
    database: AttackDatabase | None = None,
    formulas: Mapping[str, Model] | None = None,
) -> Case:
    """Open the files and check what was said about them."""
    if effort not in EFFORTS:
        raise ParameterError(f"effort is one of {', '.join(EFFORTS)}.", hint="effort='normal'")
    if truth not in (None, "rows"):
        raise ParameterError("truth is 'rows' or None.", hint="'rows': row i was made of row i")
    files = opened_pair(
        original,
        released,
        control=control,
        schema=schema,
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        target=target,
        weight=weight,
    )
    if truth == "rows" and files.rows[0] != files.rows[1]:
        raise ParameterError(
            f"row i cannot be row i: the files have {files.rows[0]:,} and {files.rows[1]:,} rows.",
            hint="leave truth out where rows were dropped or drawn anew",
        )
    people: int | Table | None = None
    if isinstance(population, int) and not isinstance(population, bool):
        if population < files.rows[0]:
            raise ParameterError(
                f"the population ({population:,}) is smaller than the original ({files.rows[0]:,} rows).",
                hint="population: how many people the original is a sample of",
            )
        people = population
    elif population is not None:
        people = opened(population, "the population")
    return Case(
        files, key or Key.fresh(), people, dict(hierarchies or {}), truth, effort, database,
        dict(formulas or {}),
    )  # fmt: skip
