"""A release of several linked tables: one guarantee, one internal record, whole or not at all.

`public/` holds a file for each table and `database.toml`, which says what their columns mean and how they
hang
together: `sf.scan_database("release/public")` reads it. Everything else is as in a release of one table.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.database import Database
from sfumato.errors import DataError, OutputError, ParameterError, SfumatoWarning, listed
from sfumato.io.atomic import require_place
from sfumato.io.databases import DECLARATION, database_toml, scan_database
from sfumato.io.output import atomic_directory
from sfumato.privacy import Guarantee
from sfumato.release import manifest
from sfumato.release.core import parts, read_guarantee, refuse_what_is_no_release, wording, write_data
from sfumato.release.dictionary import DRAFT_NOTE, database_card, draft_words
from sfumato.release.record import InternalRecord
from sfumato.schema import Role

_FORMATS = ("parquet", "csv")


@dataclass(frozen=True, eq=False)
class DatabaseRelease:
    """What a method gives back for a database: tables with a guarantee, and the internal record.

    data: the released tables and links, read again each time they are asked for.
    """

    data: Database
    guarantee: Guarantee
    internal: InternalRecord | None = None
    about: str = ""
    draft: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "guarantee", self.guarantee.accounted())

    def __repr__(self) -> str:
        claims = ", ".join(claim.title for claim in self.guarantee.claims) or "nothing"
        return f"DatabaseRelease({self.data!r}; promises {claims})"

    def save(self, directory: str | Path, *, overwrite: bool = False, format: str = "parquet") -> Path:
        """Write `public/` and `internal/` into a new folder; whole or not at all.

        format: of every table: parquet keeps all types, csv does not.
        """
        target = Path(directory)
        if format not in _FORMATS:
            raise ParameterError(f"format must be one of {', '.join(_FORMATS)}.", hint="parquet keeps types")
        bare = [
            f"{name}.{column}"
            for name, table in self.data.tables.items()
            if name not in self.data.apart
            for column in table.schema.of_role(Role.IDENTIFIER)
        ]
        if bare:
            raise OutputError(
                f"{len(bare)} identifier columns would be released: {listed(bare)}.",
                hint="drop them, or replace them with sf.pseudonymize",
            )
        refuse_what_is_no_release(target)
        if self.internal is None and (target / "internal").is_dir():
            raise OutputError(
                f"'{target.name}' has an internal record, and this release has none to put in its place.",
                hint="choose a new folder: the keys of the old release would be gone",
            )
        with atomic_directory(target, overwrite=overwrite) as folder:
            self._write_public(folder / "public", format)
            if self.internal is not None:
                self.internal.write(folder / "internal", self.guarantee)
                manifest.seal(folder, self.internal.key)
        return target

    @staticmethod
    def require_place(directory: str | Path, *, overwrite: bool = False) -> None:
        """That `save` would find its place, before any work is done."""
        refuse_what_is_no_release(Path(directory))
        require_place(directory, overwrite)

    def _write_public(self, folder: Path, format: str) -> None:
        folder.mkdir()
        files = {name: f"{name}.{format}" for name in self.data.tables}
        described = {}
        for name, table in self.data.tables.items():
            described[name] = table.with_schema(write_data(folder / files[name], table))
        declared = database_toml(self.data.with_tables(described), files)
        (folder / DECLARATION).write_text(declared, encoding="utf-8")
        (folder / "guarantee.json").write_text(self.guarantee.to_json(), encoding="utf-8")
        details: dict[str, Any] = {
            "sfumato_release": manifest.FORMAT,
            "wording": wording(),
            "about": self.about,
            "data": list(files.values()),
            "database": DECLARATION,
        }
        if self.draft:
            details["draft"] = self.draft
            (folder / DRAFT_NOTE).write_text(f"{draft_words(self.draft)}\n", encoding="utf-8")
        (folder / "card.md").write_text(linked_card(folder, details), encoding="utf-8")
        manifest.write_public(folder, details)

    @classmethod
    def load(cls, directory: str | Path) -> DatabaseRelease:
        """Read a saved release, or its public folder alone; `verify` says whether it is unchanged."""
        public, internal = parts(Path(directory))
        details, _ = manifest.read_manifest(public / manifest.MANIFEST)
        record = None
        if internal is not None:
            try:
                record = InternalRecord.read(internal)
            except DataError as error:
                warnings.warn(
                    f"loaded without its internal record: {error.message}", SfumatoWarning, stacklevel=2
                )
        return cls(
            read_database(public),
            read_guarantee(public),
            record,
            str(details.get("about", "")),
            manifest.draft_of(details),
        )


def is_linked(public: Path) -> bool:
    """Whether a public folder holds a database."""
    return (public / DECLARATION).is_file()


def read_database(public: Path) -> Database:
    """The tables of a saved release, not yet read and not yet checked."""
    details, _ = manifest.read_manifest(public / manifest.MANIFEST)
    manifest.data_names(details)
    return scan_database(public, public / DECLARATION, keep_text=True, check=False)


def linked_card(public: Path, details: Mapping[str, Any]) -> str:
    """The card that goes with declaration and guarantee as they lie in `public/`."""
    found = scan_database(public, public / DECLARATION, keep_text=True, check=False)
    return database_card(
        {name: table.schema for name, table in found.tables.items()},
        [str(link) for link in found.links],
        read_guarantee(public),
        about=str(details.get("about", "")),
        draft=manifest.draft_of(details),
    )
