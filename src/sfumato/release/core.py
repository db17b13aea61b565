"""The artefact every method returns: data, what is promised about it, and what must not leave.

Saved, it is a folder with two parts. `public/` may leave the house and holds nothing computed from the
original beyond what the guarantee covers; `internal/` must not leave. Both are written beside the target
and renamed when whole, so that a full disk or Ctrl-C leaves nothing half-written.
"""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from sfumato.counts import canonical_type
from sfumato.errors import DataError, OutputError, ParameterError, SfumatoWarning, listed
from sfumato.io import scan, to_native, write
from sfumato.io.atomic import require_place
from sfumato.io.formulas import MARK, marked, unmarked_source
from sfumato.io.output import atomic_directory, suffixes
from sfumato.io.spark import is_spark, write_parts
from sfumato.languages import say, speaking
from sfumato.privacy import Guarantee, NoGuarantee, Pseudonymous
from sfumato.release import manifest
from sfumato.release.dictionary import DRAFT_NOTE, LevelsSeen, card, draft_words
from sfumato.release.fingerprint import in_blocks
from sfumato.release.record import InternalRecord, versions
from sfumato.schema import Role, Schema
from sfumato.schema.provenance import Checked
from sfumato.schema.search_record import known_as
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.counts import Counts
    from sfumato.sources import Source

_ROW_GROUP = 131_072


@dataclass(frozen=True, eq=False)
class Release:
    """What a method gives back: data with a guarantee, and the internal record of how it was made.

    data: the released rows, read again each time they are asked for.
    internal: None for a release of which only the public part is here.
    about: a sentence on what the data are, for the card.
    origin: the source the input came from, so that `to_native` gives back the same kind of object.
    parts: of a release that executors wrote: its data, and the folder of their files, which are not written
        again when it is saved elsewhere.
    draft: why it is not to be passed on, as its files then say; empty if it is no draft.

    >>> people = sf.samples.members(40).select(["id", "sex"])
    >>> path = sf.pseudonymize(people, columns=["id"]).save("out")
    >>> again = sf.Release.load(path)
    >>> int(again.counts("sex").total)
    40
    """

    data: Table
    guarantee: Guarantee
    internal: InternalRecord | None = None
    about: str = ""
    origin: Source | None = field(default=None, repr=False)
    parts: tuple[Table, Path] | None = field(default=None, repr=False)
    draft: str = ""

    def __post_init__(self) -> None:
        allowed = {n for c in self.guarantee if isinstance(c, Pseudonymous | NoGuarantee) for n in c.columns}
        bare = [repr(c) for c in self.schema.of_role(Role.PERSON) if c not in allowed]
        if bare:
            raise ParameterError(
                f"{listed(bare)} says whose rows they are, and no claim says that it holds pseudonyms.",
                hint="drop it, or replace it with sf.pseudonymize",
            )
        # Who claims an epsilon says who has paid for it, whatever method made the release.
        object.__setattr__(self, "guarantee", self.guarantee.accounted())

    @property
    def schema(self) -> Schema:
        """The columns of the data. What of it leaves the house: see sfumato.release.dictionary."""
        return self.data.schema

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.data.columns

    def counts(self, *columns: str, weight: str | None = None) -> Counts:
        """The counts of the released data: a release is as countable as a table."""
        return self.data.counts(*columns, weight=weight)

    def tabulate(
        self, sets: Iterable[Sequence[str]], *, weight: str | None = None
    ) -> dict[tuple[str, ...], Counts]:
        """Many counts of the released data at once."""
        return self.data.tabulate(sets, weight=weight)

    def to_native(self) -> Any:
        """The data as what went in: pandas for pandas, polars for polars, and so on; in memory.

        Rows that executors of Spark make stay there.
        """
        if is_spark(self.data.source):
            source = self.data.source
            return (
                source.frame.select([source.inner(n) for n in self.columns]).to_native().toDF(*self.columns)
            )
        return to_native(self.data.to_arrow(), self.origin or self.data.source, every_level=False)

    def __eq__(self, other: object) -> bool:
        """Whether two releases say the same: reads the data of both, batch by batch."""
        if not isinstance(other, Release):
            return NotImplemented
        mine = (self.guarantee, self.internal, self.about, self.draft, self.columns)
        if mine != (other.guarantee, other.internal, other.about, other.draft, other.columns):
            return False
        seen, theirs = LevelsSeen(self.schema), LevelsSeen(other.schema)
        pairs = zip_longest(
            in_blocks(seen.watch(self.data.batches()), _ROW_GROUP),
            in_blocks(theirs.watch(other.data.batches()), _ROW_GROUP),
        )
        same = all(a is not None and b is not None and a.equals(b) for a, b in pairs)
        return same and seen.public() == theirs.public()

    def __repr__(self) -> str:
        claims = ", ".join(claim.title for claim in self.guarantee.claims) or "nothing"
        record = "with" if self.internal is not None else "without"
        draft = "DRAFT; " if self.draft else ""
        return f"Release({draft}{self.data!r}; promises {claims}; {record} internal record)"

    def _repr_html_(self) -> str:
        """What is promised, then the columns; no cell."""
        draft = f"<p><b>Draft.</b> {escape(self.draft)}</p>" if self.draft else ""
        return f"{draft}{self.guarantee._repr_html_()}{self.data._repr_html_()}"

    __hash__ = None  # type: ignore[assignment]

    # -- out -------------------------------------------------------------------------------------

    def save(
        self, directory: str | Path, *, overwrite: bool = False, format: str = "parquet",
        language: str | None = None,
    ) -> Path:  # fmt: skip
        """Write `public/` and `internal/` into a new folder, chunk by chunk; whole or not at all.

        Rows that live in Spark are written by its executors as Parquet, a file for each partition, into a
        folder that they and the driver share; other formats pass through the driver.

        overwrite: replace a release that is there. Its internal record, keys included, is gone then.
        format: suffix of the data's file: parquet, csv, xlsx, sav, dta and so on. Only parquet keeps every
            type as it is; files of statistics packages hold the time of writing. In csv, text that a
            spreadsheet would run as a formula begins with an apostrophe, which `load` takes away again.
        language: of the card: "en", "de".
        """
        target = Path(directory)
        formats = [suffix[1:] for suffix in suffixes()]
        if format not in formats:
            raise ParameterError(
                f"format must be one of {', '.join(formats)}.", hint="parquet keeps all types"
            )
        self._refuse_identifiers()
        if _is_csv(f".{format}"):
            require_plain_names(self.schema)
        with speaking(language):
            return save_both(target, self, lambda at: self._write_public(at, f"data.{format}"), overwrite)

    @staticmethod
    def require_place(directory: str | Path, *, overwrite: bool = False) -> None:
        """That `save` would find its place, before anything is spent on what is to be saved."""
        require_release_place(directory, overwrite)

    def _write_public(self, folder: Path, name: str) -> None:
        if self.parts is not None and self.parts[0] is self.data and name == self.parts[1].name:
            _link(self.parts[1], folder / name)
            schema = self.schema  # as it left with them before
        else:
            schema = write_data(folder / name, self.data)
        (folder / "schema.toml").write_text(schema.to_toml(), encoding="utf-8")
        more = {"formulas": MARK} if _is_csv(name) else {}
        write_words(folder, self, {"data": name, **more}, card_of)

    def _refuse_identifiers(self) -> None:
        """A column that names people never leaves as it is, whatever a method did with the others."""
        bare = [repr(c) for c in self.schema.of_role(Role.IDENTIFIER)]
        if bare:
            raise OutputError(
                f"{len(bare)} identifier column{'s' * (len(bare) > 1)} would be released: {listed(bare)}.",
                hint="drop them, or replace them with sf.pseudonymize",
            )

    # -- in --------------------------------------------------------------------------------------

    @classmethod
    def load(cls, directory: str | Path) -> Release:
        """Read a saved release, or its public folder alone; `verify` says whether it is unchanged."""
        public, internal = parts(Path(directory))
        details, _ = manifest.read_manifest(public / manifest.MANIFEST)
        if "database" in details:
            raise DataError(
                "this is a release of several linked tables.", hint="sf.DatabaseRelease.load reads it"
            )
        record = read_record(internal)
        data, names = read_data(public), manifest.data_names(details)
        files = public / names[0]
        return cls(
            data=data,
            guarantee=read_guarantee(public),
            internal=record,
            about=str(details.get("about", "")),
            draft=manifest.draft_of(details),
            parts=(data, files) if len(names) == 1 and files.is_dir() else None,
        )


# -- what a release of one table and one of several share ------------------------------------------


class _Saved(Protocol):
    @property
    def guarantee(self) -> Guarantee: ...

    @property
    def internal(self) -> InternalRecord | None: ...

    @property
    def about(self) -> str: ...

    @property
    def draft(self) -> str: ...


def save_both(
    target: Path,
    release: _Saved,
    public: Callable[[Path], None],
    overwrite: bool,
    reports: Callable[[Path], None] | None = None,
) -> Path:
    """Write both parts into a new folder, whole or not at all. public, reports: fill the two folders."""
    refuse_what_is_no_release(target)
    if release.internal is None and (target / "internal").is_dir():
        raise OutputError(
            f"'{target.name}' has an internal record, and this release has none to put in its place.",
            hint="choose a new folder: the keys of the old release would be gone",
        )
    with atomic_directory(target, overwrite=overwrite) as folder:
        (folder / "public").mkdir()
        public(folder / "public")
        if release.internal is not None:
            release.internal.write(folder / "internal", release.guarantee)
            manifest.seal(folder, release.internal.key)
            if reports is not None:
                reports(folder / "internal")
    return target


def require_release_place(directory: str | Path, overwrite: bool) -> None:
    """That a release could be saved there."""
    refuse_what_is_no_release(Path(directory))
    require_place(directory, overwrite)


def write_words(
    public: Path, release: _Saved, more: Mapping[str, Any], card_of: Callable[[Path, Mapping[str, Any]], str]
) -> None:
    """What is said beside the data: the guarantee, the card, that it is a draft; then the list of all files.

    more: of the manifest. card_of: the card that goes with what lies in the folder.
    """
    (public / "guarantee.json").write_text(release.guarantee.to_json(), encoding="utf-8")
    details = {"sfumato_release": manifest.FORMAT, "wording": wording(), "about": release.about, **more,
               **manifest.spoken()}  # fmt: skip
    if release.draft:  # a file by itself, too, for who looks at the folder alone
        details["draft"] = release.draft
        (public / DRAFT_NOTE).write_text(f"{say(draft_words(release.draft))}\n", encoding="utf-8")
    (public / "card.md").write_text(card_of(public, details), encoding="utf-8")
    manifest.write_public(public, details)


def read_record(internal: Path | None) -> InternalRecord | None:
    """The internal record where it is there and can be read; a warning where it cannot."""
    if internal is None:
        return None
    try:
        return InternalRecord.read(internal)
    except DataError as error:
        warnings.warn(f"loaded without its internal record: {error.message}", SfumatoWarning, stacklevel=3)
        return None


def parts(directory: Path) -> tuple[Path, Path | None]:
    """The public folder of a release, and the internal one if it is there."""
    public = directory / "public"
    if not public.is_dir() and (directory / manifest.MANIFEST).is_file():
        return directory, None  # the public folder by itself, under whatever name it was sent
    if not public.is_dir():
        folder = directory.name or "."
        raise DataError(f"no release in '{folder}'.", hint="give the folder that holds public/")
    internal = directory / "internal"
    return public, internal if internal.is_dir() else None


def read_guarantee(public: Path) -> Guarantee:
    """The promises of a saved release."""
    try:
        return Guarantee.from_json((public / "guarantee.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(
            f"guarantee.json cannot be read: {error.strerror}.", hint="ask for a fresh copy"
        ) from None
    except UnicodeDecodeError:
        raise DataError("guarantee.json is not a guarantee.", hint="ask for a fresh copy") from None


def wording() -> str:
    """The version whose words the card has; another one may say the same otherwise."""
    return versions()["sfumato"]


def card_of(public: Path, details: Mapping[str, Any]) -> str:
    """The card that goes with schema and guarantee as they lie in `public/`, and with nothing else."""
    about, draft = str(details.get("about", "")), manifest.draft_of(details)
    data, schema = ", ".join(manifest.data_names(details)), Schema.read(public / "schema.toml")
    with speaking(manifest.language_of(details)):
        return card(schema, read_guarantee(public), about=about, data=data, draft=draft)


def read_data(public: Path) -> Table:
    """The data of a saved release, not yet read."""
    details, _ = manifest.read_manifest(public / manifest.MANIFEST)
    # Found domains have left with it; that they were found is its signer's word, and nothing rests on it.
    schema = Schema(tuple(known_as(c, Checked.RELEASED) for c in Schema.read(public / "schema.toml")))
    files = [public / name for name in manifest.data_names(details)]
    found = scan(files if len(files) > 1 else files[0], schema, keep_text=True)
    if details.get("formulas") != MARK:
        return found
    return Table(unmarked_source(found.source), found.schema)


def write_data(path: Path, data: Table) -> Schema:
    """Write the data chunk by chunk, and give back the schema that may leave with it."""
    seen = LevelsSeen(data.schema)
    if path.suffix == ".parquet" and is_spark(data.source):
        path.mkdir()
        for part in write_parts(data, path, seen):
            seen.merge(part)
        return seen.public()
    if path.suffix == ".parquet":  # the schema lies beside it, so one reading is enough
        batches, schema = iter(seen.watch(data.batches())), None
    else:  # these formats keep labels inside: look first, so that no label leaves that must not
        for batch in data.batches():
            seen.look(batch)
        batches, schema = iter(data.batches()), seen.public()
    first = next(batches, None)
    arrow = pa.schema([pa.field(c.name, canonical_type(c)) for c in data.schema])
    rows = arrow.empty_table() if first is None else chain([first], batches)
    write(rows, path, schema, escape_formulas=_is_csv(path.name))
    return seen.public()


def _is_csv(name: str) -> bool:
    return name.endswith((".csv", ".csv.gz"))


def require_plain_names(schema: Schema) -> None:
    """In a CSV file a name is a cell too: one that a spreadsheet would run is refused, not changed."""
    names = pa.array(schema.names, pa.string())
    live = [repr(n) for n, m in zip(schema.names, marked(names).to_pylist(), strict=True) if n != m]
    if live:
        raise OutputError(
            f"{len(live)} column name{'s' * (len(live) > 1)} would be run as a formula by a spreadsheet: "
            f"{listed(live)}.",
            hint="rename them, or save as parquet",
        )


def _link(files: Path, folder: Path) -> None:
    """The same files under a second name; copies where the disk has no such thing."""
    folder.mkdir()
    for path in sorted(files.iterdir()):
        try:
            os.link(path, folder / path.name)
        except OSError:
            shutil.copyfile(path, folder / path.name)


def refuse_what_is_no_release(target: Path) -> None:
    """`overwrite` replaces a release; it must not delete a folder of something else, nor what lies beside."""
    there = {path.name for path in target.iterdir()} if target.is_dir() else set()
    if there and not (target / "public" / manifest.MANIFEST).is_file():
        raise OutputError(f"'{target.name}' is there and is not a release.", hint="choose a new folder")
    if there - {"public", "internal"}:
        raise OutputError(f"'{target.name}' holds more than a release.", hint="move the rest away first")
