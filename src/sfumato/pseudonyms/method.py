"""Pseudonyms as a method: what a plan, the map and the command line take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from sfumato.errors import ParameterError
from sfumato.methods.declaration import Declaration, Does, Need, declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.settings import require_numbers
from sfumato.methods.shapes import Either, Flag, ListOf, Number, TableOf, Text
from sfumato.pseudonyms import pseudonymize
from sfumato.release import Release
from sfumato.seeds import Key
from sfumato.table import Table


def _written_key(value: Key | str | Path | None) -> Key | str | None:
    """A path as text; a key of Python's own stays itself, and is never written down."""
    return str(value) if isinstance(value, Path) else value


_KEEP_TEXT = "elsewhere it is said once for the release: keep_text of [prepare], --keep-text"


@declares(
    Declaration(
        "pseudonymize",
        Does.REPLACE,
        "Ids replaced under a secret key; not anonymous.",
        page="pseudonyms.md",
        claims=("Pseudonymous", "NoGuarantee"),
        needs=(Need.KEY,),
    )
)
@dataclass(frozen=True)
class Pseudonymize:
    """What `sf.pseudonymize` does, as a method.

    >>> people = sf.samples.members(50).select(["id", "sex"])
    >>> release = sf.Pseudonymize(columns=("id",)).release(people)
    >>> release.guarantee.claims[0].title
    'pseudonymous'
    """

    columns: Annotated[
        tuple[str, ...] | None,
        Parameter(
            ListOf(Text(), "The columns to replace; by default those of role person.", least=1),
            beginner=True,
            columns=True,
        ),
    ] = None
    drop: Annotated[
        tuple[str, ...], Parameter(ListOf(Text(), "Further columns to leave out.", least=1), columns=True)
    ] = ()
    shift_dates: Annotated[
        int | None,
        Parameter(
            Number(
                "Move all dates of a person by the same secret number of days, up to this.", 1, whole=True
            ),
            unit="days",
            beginner=True,
        ),
    ] = None
    person: Annotated[
        str | None,
        Parameter(
            Text("The column that says whose row it is; by default that of role person."), columns=True
        ),
    ] = None
    domain: Annotated[
        str | Mapping[str, str],
        Parameter(
            Either(
                (Text(), TableOf(Text())),
                "a name, or a table of columns and names",
                "Ids of different domains get unrelated pseudonyms although they look alike: one name for "
                "all columns, or a name by column.",
            )
        ),
    ] = field(default="", hash=False)
    key: Annotated[
        Key | str | Path | None,
        Parameter(
            Text("The key of an earlier release, or its folder, to be joinable with it."),
            read=lambda value, folder: folder / value,
            write=_written_key,
        ),
    ] = None
    shuffle: Annotated[
        bool, Parameter(Flag("Put the rows in a secret random order; if not, they keep that of the input."))
    ] = True
    keep_text: Annotated[
        bool, Parameter(Text("Leave free text in, which may name people."), python_only=_KEEP_TEXT)
    ] = False

    def __post_init__(self) -> None:
        require_numbers(self)
        if self.shift_dates is not None and self.shift_dates < 1:
            raise ParameterError("shift_dates must be at least 1.", hint="shift_dates=180")

    def release(self, table: Table, *, key: Key | None = None) -> Release:
        """The table with pseudonyms. key: of the order of rows, and of the pseudonyms where none is named."""
        own = self.key if self.key is not None else key
        return pseudonymize(
            table,
            key=own,
            columns=self.columns,
            drop=self.drop,
            shift_dates=self.shift_dates,
            person=self.person,
            domain=self.domain,
            keep_text=self.keep_text,
            shuffle=self.shuffle,
            order_key=key,
        )
