"""A release of several linked tables: one guarantee, one internal record, whole or not at all.

`public/` holds a file for each table and `database.toml`, which says what their columns mean and how they
hang together: `sf.scan_database("release/public")` reads it. All else is as in a release of one table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.database import Database
from sfumato.errors import DataError, OutputError, ParameterError, listed
from sfumato.io.databases import scan_database
from sfumato.io.declarations import DECLARATION, database_toml, read_declaration
from sfumato.io.formulas import MARK, unmarked_source
from sfumato.languages import speaking
from sfumato.privacy import Guarantee, NoGuarantee, Pseudonymous
from sfumato.release import manifest
from sfumato.release.core import (
    parts,
    read_guarantee,
    read_record,
    require_plain_names,
    require_release_place,
    save_both,
    write_data,
    write_words,
)
from sfumato.release.dictionary import DRAFT_NOTE, database_card
from sfumato.release.record import InternalRecord
from sfumato.schema import Role
from sfumato.table import Table

_FORMATS = ("parquet", "csv")


@dataclass(frozen=True, eq=False)
class DatabaseRelease:
    """What a method gives back for a database: tables with a guarantee, and the internal record.

    data: the released tables and links, read again each time they are asked for.

    >>> people = sf.samples.hospital(10)
    >>> path = sf.pseudonymize(people).save("linked")
    >>> again = sf.DatabaseRelease.load(path)
    >>> again.data.tables["patients"].rows()
    10
    >>> again.guarantee.claims[0].title
    'pseudonymous'
    """

    data: Database
    guarantee: Guarantee
    internal: InternalRecord | None = None
    about: str = ""
    draft: str = ""

    def __post_init__(self) -> None:
        allowed = {n for c in self.guarantee if isinstance(c, Pseudonymous | NoGuarantee) for n in c.columns}
        invented = any(c.differential and not c.scope for c in self.guarantee)  # then ids are numbers of rows
        bare = [name for name in self._of_role(Role.PERSON) if name not in allowed and not invented]
        if bare:
            raise ParameterError(
                f"{listed(bare)}: says whose rows they are, and no claim says that it holds pseudonyms.",
                hint="drop it, or replace it with sf.pseudonymize",
            )
        object.__setattr__(self, "guarantee", self.guarantee.accounted())

    def _of_role(self, role: Role) -> list[str]:
        """table.column of every column with that role, of tables that hold persons."""
        tables = {n: t for n, t in self.data.tables.items() if n not in self.data.apart}
        return [f"{name}.{column}" for name, t in tables.items() for column in t.schema.of_role(role)]

    def __repr__(self) -> str:
        claims = ", ".join(claim.title for claim in self.guarantee.claims) or "nothing"
        return f"DatabaseRelease({self.data!r}; promises {claims})"

    def save(
        self,
        directory: str | Path,
        *,
        overwrite: bool = False,
        format: str = "parquet",
        reports: Callable[[Path], None] | None = None,
        language: str | None = None,
    ) -> Path:
        """Write `public/` and `internal/` into a new folder; whole or not at all.

        format: of every table: parquet keeps all types, csv does not. reports: writes further files into
        `internal/`, before anything is put in its place. language: of the card and the reports.
        """
        target = Path(directory)
        if format not in _FORMATS:
            raise ParameterError(f"format must be one of {', '.join(_FORMATS)}.", hint="parquet keeps types")
        bare = self._of_role(Role.IDENTIFIER)
        if bare:
            raise OutputError(
                f"{len(bare)} identifier columns would be released: {listed(bare)}.",
                hint="drop them, or replace them with sf.pseudonymize",
            )
        for table in self.data.tables.values() if format == "csv" else ():
            require_plain_names(table.schema)
        with speaking(language):
            return save_both(
                target, self, lambda folder: self._write_public(folder, format), overwrite, reports
            )

    @staticmethod
    def require_place(directory: str | Path, *, overwrite: bool = False) -> None:
        """That `save` would find its place, before any work is done."""
        require_release_place(directory, overwrite)

    def _write_public(self, folder: Path, format: str) -> None:
        files = {name: f"{name}.{format}" for name in self.data.tables}
        described = {}
        for name, table in self.data.tables.items():
            described[name] = table.with_schema(write_data(folder / files[name], table))
        declared = database_toml(self.data.with_tables(described), files)
        (folder / DECLARATION).write_text(declared, encoding="utf-8")
        more = {"data": list(files.values()), "database": DECLARATION}
        marked = {"formulas": MARK} if format == "csv" else {}
        write_words(folder, self, {**more, **marked}, linked_card)

    @classmethod
    def load(cls, directory: str | Path) -> DatabaseRelease:
        """Read a saved release, or its public folder alone; `verify` says whether it is unchanged."""
        public, internal = parts(Path(directory))
        details, _ = manifest.read_manifest(public / manifest.MANIFEST)
        record = read_record(internal)
        return cls(
            read_database(public),
            read_guarantee(public),
            record,
            str(details.get("about", "")),
            manifest.draft_of(details),
        )


def words_of(public: Path, details: Mapping[str, Any]) -> set[str]:
    """The files of a release beside its data and its lists."""
    described = DECLARATION if is_linked(public) else "schema.toml"
    draft = {DRAFT_NOTE} if manifest.draft_of(details) else set()
    return {described, "guarantee.json", "card.md", *draft}


def is_linked(public: Path) -> bool:
    """Whether a public folder holds a database."""
    return (public / DECLARATION).is_file()


def read_database(public: Path) -> Database:
    """The tables of a saved release, not yet read and not yet checked."""
    details, _ = manifest.read_manifest(public / manifest.MANIFEST)
    listed_files = manifest.data_names(details)
    named = [entry.get("data") for entry in read_declaration(public / DECLARATION)["tables"].values()]
    if sorted(map(str, named)) != sorted(listed_files):  # else other files would be counted than those here
        raise DataError(
            f"{DECLARATION} and the manifest name different files of data.", hint="do not trust this copy"
        )
    found = scan_database(public, public / DECLARATION, keep_text=True, check=False)
    if details.get("formulas") != MARK:
        return found
    return found.with_tables(
        {name: Table(unmarked_source(t.source), t.schema) for name, t in found.tables.items()}
    )


def linked_card(public: Path, details: Mapping[str, Any]) -> str:
    """The card that goes with declaration and guarantee as they lie in `public/`."""
    found = scan_database(public, public / DECLARATION, keep_text=True, check=False)
    with speaking(manifest.language_of(details)):
        return database_card(
            {name: table.schema for name, table in found.tables.items()},
            [str(link) for link in found.links],
            read_guarantee(public),
            about=str(details.get("about", "")),
            draft=manifest.draft_of(details),
        )
