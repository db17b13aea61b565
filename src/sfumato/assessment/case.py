"""What is judged, opened once: the checks of an assessment share the pair, the classes and the search."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from sfumato.assessment.reading.alignment import MAX_LEVELS, Pair, align
from sfumato.assessment.reading.files import (
    Meanings,
    loaded,
    meanings,
    opened,
    promised_codes,
    promised_k,
    recorded_method,
)
from sfumato.assessment.reading.name_parts import NameParts
from sfumato.assessment.subject import Files, Subject, open_files
from sfumato.errors import ParameterError
from sfumato.schema import Column, Kind, Schema
from sfumato.seeds import Key
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.assessment.attacks.fellegi_sunter import AttackDatabase
    from sfumato.assessment.copies import ControlDrift, Copies, CountedRows, Overlap
    from sfumato.assessment.risk.classes import FileClasses
    from sfumato.assessment.risk.uniqueness import UniquenessSearch

LENT = 1e-3  # the chance of so many originals in a control at which it is called none
# By effort: cells that are compared in the search for copies, and the draws of the looks.
_WORK = {"quick": 1_500_000_000, "normal": 12_000_000_000, "thorough": 100_000_000_000}
_LOOKS = {"quick": (1_000, 5_000), "normal": (1_000, 5_000, 25_000), "thorough": (5_000, 25_000, 125_000)}


@dataclass(frozen=True, eq=False)
class Case:
    """One original and one release, opened, with what is known about them.

    population: how many people the original is a sample of, or a table of them.
    """

    files: Files
    subject: Subject
    key: Key
    population: int | Table | None = None
    draws: int = 1_000  # people whom an attack that draws attacks
    brief: bool = False  # whether copies are looked for only until the verdict is clear

    @cached_property
    def pair(self) -> Pair:
        """Both files on one scale."""
        return align(
            self.files.original, self.files.released, hierarchies=self.hierarchies, weight=self.files.weight
        )

    @cached_property
    def plain_pair(self) -> Pair:
        """Both files on one scale, released values taken for what they say: what utility is about."""
        if self.files.written is self.files.released:
            return self.pair
        return align(
            self.files.original, self.files.written, hierarchies=self.hierarchies, weight=self.files.weight
        )

    @cached_property
    def hierarchies(self) -> Meanings:
        """What generalized values stand for."""
        return meanings(self.subject.hierarchies, self.subject.released, self.files.columns)

    @cached_property
    def promised(self) -> int | None:
        """The k of which the release says 1/k, or that it was asked for; None where nobody says."""
        return promised_k(self.subject.released)

    @cached_property
    def code_columns(self) -> tuple[str, ...]:
        """The columns with several codes in a cell that both files have."""
        there = self.files.release.schema
        return tuple(c.name for c in self.files.whole.schema if c.kind is Kind.CODES and c.name in there)

    @cached_property
    def promised_codes(self) -> int | None:
        """The number of codes up to which a release says that they fit many; None where it says nothing."""
        return promised_codes(self.subject.released, self.code_columns)

    @cached_property
    def method(self) -> str:
        """The method that made the release, as its record says; or nothing."""
        return recorded_method(self.subject.released)

    @property
    def truth(self) -> str | None:
        """Whether row i of the release was made of row i of the original."""
        return self.subject.truth

    @cached_property
    def known(self) -> tuple[str, ...]:
        """The quasi-identifiers both files have."""
        return self.files.quasi_identifiers

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """The sensitive columns both files have and that are not known already."""
        return tuple(n for n in self.files.sensitive if n not in self.known)

    @cached_property
    def name_parts(self) -> tuple[NameParts, ...]:
        """How quasi-identifiers are cut that have too many names to be compared whole."""
        files = (self.files.original, self.files.released)
        found = []
        for name in self.known:
            if name not in self.pair.columns and files[0].schema[name].kind is not Kind.CODES:
                levels = [f.codebooks([name])[name].levels.cast(pa.string()) for f in files]
                found.append(NameParts.of(name, pa.concat_arrays(levels), MAX_LEVELS // 2))
        return tuple(found)

    @cached_property
    def sharply_known(self) -> tuple[str, ...]:
        """What is known, as columns of the sharp pair: a quasi-identifier of very many names is its parts."""
        parts = {p.column: p.names for p in self.name_parts}
        return tuple(c for n in self.known for c in parts.get(n, (n,)) if c in self.sharp.columns)

    @cached_property
    def sharply_wanted(self) -> tuple[str, ...]:
        """The secrets that the sharp pair holds."""
        return tuple(n for n in self.secrets if n in self.sharp.columns)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Quasi-identifiers of very many values that are no names, and that no attack on the pair can use."""
        parted = {p.column for p in self.name_parts}
        return tuple(n for n in self.known if n not in parted and n not in self.pair.columns)

    @cached_property
    def control(self) -> Table | None:
        """People outside the data, with the parts."""
        table = self.files.control
        for parts in self.name_parts:
            table = None if table is None else parts.split(table)
        return table

    @cached_property
    def database(self) -> AttackDatabase | None:
        """What the intruder holds, with the parts."""
        from sfumato.assessment.attacks.fellegi_sunter import AttackDatabase

        given = self.subject.database
        if given is None or not self.name_parts:
            return given
        rows = given.joined()
        for parts in self.name_parts:
            rows = parts.beside(rows) if parts.column in rows.column_names else rows
        inferred = {name: rows.column(name).combine_chunks() for name in given.inferred}
        return AttackDatabase(
            [Table.from_arrow(rows)], {n: lambda _, v=v: v for n, v in inferred.items()}, given.person
        )

    @cached_property
    def sharp(self) -> Pair:
        """Both files on the finest scale of what is known: an intruder does not round what they know.

        Bins are for comparing distributions; in bins of ten years two people look alike who are not.
        """
        return self._sharp(self.files.original, self.files.released)

    @cached_property
    def same_people(self) -> tuple[Pair, ...]:
        """Earlier releases of the same people, each on the finest scale; the release itself comes first."""
        others = [e.released for e in self.files.earlier if e.original is None]
        return (self.sharp, *(self._sharp(self.files.original, r) for r in others))

    @cached_property
    def grown_from(self) -> tuple[Pair, ...]:
        """The table as it was at earlier dates, each with the release that was made of it."""
        return tuple(
            self._sharp(e.original, e.released) for e in self.files.earlier if e.original is not None
        )

    @cached_property
    def _secret_bins(self) -> dict[str, Column]:
        """Numbers that are wanted, in bins that the people outside cut as well.

        The original's own quantiles hold as many originals each, by construction, and not as many others.
        """
        names = [n for n in self.secrets if n in self.pair.columns]
        if not names or self.files.control is None:
            return {}
        files = self.files
        both = align(
            files.original.select(names), files.released.select(names), columns=names,
            hierarchies=self.hierarchies, people=files.control,
        )  # fmt: skip
        return {n: both.original.schema[n] for n in both.columns}

    def _sharp(self, original: Table, released: Table) -> Pair:
        columns = {c.name: c for c in self.pair.original.schema} | self._secret_bins
        for name in self.known:
            columns[name] = replace(self.files.original.schema[name], edges=None)
        there = [n for n in released.columns if n in columns]
        weight = self.files.weight if self.files.weight in original.columns else None
        original = original.with_schema(Schema(tuple(columns[n] for n in columns if n in original.columns)))
        released = released.select(there)
        trees = dict(self.hierarchies)
        for parts in self.name_parts:
            if parts.column in released.columns:
                original, released, more = parts.both(original, released, trees.get(parts.column, {}))
                trees |= more
        return align(
            original,
            released,
            hierarchies=trees,
            bins=MAX_LEVELS,
            weight=weight,
            people=self.files.control,
        )

    @property
    def seed(self) -> int:
        """A number for checks that draw with one; nothing that is released rests on it."""
        return (
            int.from_bytes(self.key.derive("assessment", "seed").to_bytes()[-4:], "little") >> 1
        )  # libraries take 31 bits

    @cached_property
    def classes(self) -> FileClasses:
        """The release by its quasi-identifiers, as they stand in it."""
        from sfumato.assessment.risk.classes import classes

        return classes(self.files.released, self.files.quasi_identifiers)

    @cached_property
    def search(self) -> UniquenessSearch:
        """What each small set of quasi-identifiers singles out in the release."""
        from sfumato.assessment.risk.uniqueness import search

        return search(self.classes, depth=self.depth)

    @cached_property
    def copies(self) -> Copies:
        """Which released rows are rows of the original."""
        from sfumato.assessment.copies import find
        from sfumato.assessment.reading.people import every_other, in_whole

        files = self.files
        # A control of other people explains nothing: what they differ in would look like copying.
        control = files.control if self.drift is None or not self.drift.seen else None
        original = every_other(files.original) if files.learnt else files.original
        found = find(
            original, files.released, control, columns=self.pair.columns, known=self.known,
            whole=(files.whole, files.release, files.outside), meanings=self.hierarchies,
            key=self.key.derive("copies"), most_work=_WORK[self.subject.effort], error=self.subject.alpha,
            brief=self.brief, part=0.5 if files.learnt else 1.0,
            rows=self.rows if control is not None and not files.learnt else None,
        )  # fmt: skip
        return replace(found, people=in_whole(found.people)) if files.learnt else found

    @cached_property
    def overlap(self) -> Overlap | None:
        """Rows of the control that are rows of the original."""
        from sfumato.assessment.copies import overlap

        return None if self.rows is None else overlap(self.rows, self.key.derive("overlap"), LENT)

    @cached_property
    def rows(self) -> CountedRows | None:
        """The different rows of original, release and control, counted; None without a control."""
        from sfumato.assessment.copies import counted_rows

        files = self.files
        if files.control is None:
            return None
        return counted_rows([files.original, files.released, files.control], self.pair.columns)

    @cached_property
    def drift(self) -> ControlDrift | None:
        """Whether the control is a sample of the same people as the original."""
        from sfumato.assessment.copies import drift

        files = self.files
        return None if files.control is None else drift(files.original, files.control, self.pair.columns)

    @cached_property
    def lent(self) -> Overlap | None:
        """Rows of the control that are rows of the release."""
        from sfumato.assessment.copies import shared_with_release

        return None if self.rows is None else shared_with_release(self.rows)

    def drawing(self, draws: int) -> Case:
        """The same case, opened once, with another number of draws."""
        other = copy(self)
        object.__setattr__(other, "draws", draws)
        return other

    @property
    def looks(self) -> tuple[int, ...]:
        """How many people are attacked at the first look, and at further ones while nothing is decided."""
        return _LOOKS[self.subject.effort]

    @property
    def depth(self) -> int:
        """How many quasi-identifiers are combined."""
        return 3 if self.subject.effort == "quick" else 4

    @property
    def quick(self) -> bool:
        """Whether only what takes little time is wanted."""
        return self.subject.effort == "quick"

    @property
    def thorough(self) -> bool:
        """Whether what takes long is wanted too."""
        return self.subject.effort == "thorough"


def case_of(subject: Subject, *, brief: bool = False) -> Case:
    """Open the files and check what was said about them. brief: as in `Case`."""
    # A folder is loaded once: its promises, its record and its rows are asked for in many places.
    subject = replace(subject, released=loaded(subject.released), control=loaded(subject.control))
    files = open_files(subject)
    if subject.truth == "rows" and files.rows[0] != files.rows[1]:
        raise ParameterError(
            f"row i cannot be row i: the files have {files.rows[0]:,} and {files.rows[1]:,} rows.",
            hint="leave truth out where rows were dropped or drawn anew",
        )
    people = _people(subject.population, files.rows[0])
    return Case(files, subject, subject.key or Key.fresh(), people, brief=brief)


def _people(population: object, rows: int) -> int | Table | None:
    """How many people the original is a sample of, or a table of them."""
    if isinstance(population, int) and not isinstance(population, bool):
        if population < rows:
            raise ParameterError(
                f"the population ({population:,}) is smaller than the original ({rows:,} rows).",
                hint="population: how many people the original is a sample of",
            )
        return population
    return None if population is None else opened(population, "the population")
