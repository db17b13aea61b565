"""The columns of a table, as one value."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import SchemaError, listed, offered
from sfumato.privacy.signatures import SigningKey, Trust
from sfumato.schema.column import Column, Role
from sfumato.schema.declaration import sign, trusted_only
from sfumato.schema.domains import ADVICE, without_public_domain
from sfumato.schema.provenance import Origin, Provenance
from sfumato.schema.search_record import checked
from sfumato.schema.toml import column_from_dict, column_to_dict

if TYPE_CHECKING:
    from sfumato.privacy.ledger import Ledger


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order.

    >>> schema = sf.Schema(
    ...     (
    ...         sf.Column("age", "numeric", "quasi-identifier", edges=(0, 40, 65, 120)),
    ...         sf.Column("dx", "nominal", "sensitive", levels=("flu", "gout")),
    ...     )
    ... )
    >>> schema.of_role("sensitive")
    ('dx',)
    >>> schema.with_("dx", role="other")["dx"].role.value
    'other'
    >>> sf.Schema.from_toml(schema.to_toml()) == schema
    True
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not all(isinstance(c, Column) for c in self.columns):
            raise SchemaError("a schema is made of columns.", hint="Schema((Column(...), ...))")
        repeated = sorted(name for name, times in Counter(self.names).items() if times > 1)
        if repeated:
            raise SchemaError(f"column names repeat: {listed(repeated)}.", hint="rename one of them")

    def __repr__(self) -> str:
        """Without levels, which may be values of single persons: what is shown is often kept."""
        shown = [f"{c.name}: {c.kind}, {c.role}" for c in self.columns[:6]]
        more = [f"{len(self) - 6} more"] if len(self) > 6 else []
        return f"Schema({'; '.join(shown + more)})"

    def _repr_html_(self) -> str:
        """The columns, what was guessed of them and why; no level, as notebooks are kept and passed on."""
        guessed = any(c.reason for c in self)
        rows = "".join(
            f"<tr><td>{escape(c.name)}</td><td>{c.kind}</td><td>{c.role}</td>"
            f"<td>{c.confidence or 'stated'}</td>"
            + (f"<td>{escape(c.reason)}</td></tr>" if guessed else "</tr>")
            for c in self
        )
        why = "<th>why</th>" if guessed else ""
        head = f"<tr><th>column</th><th>kind</th><th>role</th><th>how sure</th>{why}</tr>"
        caption = f"<caption>Schema of {len(self)} columns</caption>"
        return f"<table>{caption}<thead>{head}</thead><tbody>{rows}</tbody></table>"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(c.name for c in self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, name: object) -> bool:
        return any(c.name == name for c in self.columns)

    def __getitem__(self, name: str) -> Column:
        found = next((c for c in self.columns if c.name == name), None)
        if found is None:
            self.require([name])
        assert found is not None
        return found

    def require(self, names: Iterable[str]) -> None:
        """All columns that are asked for and not there, at once."""
        known = set(self.names)
        unknown = sorted({n for n in names if n not in known})
        if unknown:
            raise SchemaError(
                f"unknown column{'s' * (len(unknown) > 1)}: {listed([repr(n) for n in unknown])}.",
                hint=offered(unknown, self.names, "the table has"),
            )

    def of_role(self, role: Role | str) -> tuple[str, ...]:
        """The names of the columns that play a role."""
        return tuple(c.name for c in self.columns if c.role == role)

    def select(self, names: Iterable[str]) -> Schema:
        """The named columns, in the order named."""
        names = list(names)
        self.require(names)
        by_name = {c.name: c for c in self.columns}
        return Schema(tuple(by_name[n] for n in names))

    def drop(self, names: Iterable[str]) -> Schema:
        """All columns but the named ones."""
        names = set(names)
        self.require(names)
        return Schema(tuple(c for c in self.columns if c.name not in names))

    def with_(self, name: str, **changes: Any) -> Schema:
        """The same schema with one column changed."""
        self.require([name])
        return Schema(tuple(replace(c, **changes) if c.name == name else c for c in self.columns))

    def require_public(self, names: Iterable[str] | None = None) -> None:
        """Refuse columns without a public domain, wherever it fails: what differential privacy rests on."""
        wanted = list(self.names if names is None else names)
        self.require(wanted)
        fault = without_public_domain(self[n] for n in wanted)
        if fault:
            raise SchemaError(f"{fault}.", hint=ADVICE)

    def trusting(self, trust: Trust, ledger: Ledger | None = None) -> Schema:
        """The schema as it counts for who trusts these keys: domains that somebody else declared do not.

        Where no key may declare, any signature that fits counts, and the guarantee shows its key.

        Domains that were found count where this is the ledger that has paid for them, or who signed them is
        trusted.
        """
        return Schema(trusted_only(checked(self, ledger, trust), trust))

    def declare(
        self, by: str, reason: str, names: Iterable[str] | None = None, *, key: SigningKey | None = None,
        on: date | None = None,
    ) -> Schema:  # fmt: skip
        """The schema with domains that a person answers for: not read off these data, but from elsewhere.

        by: the person's name. reason: what the domains were taken from: a form, a law, a code book.
        names: the columns; by default every one with a domain that is not public yet, and that no other
            person declared. A domain that was read off the data can only be declared by name, and signed.
        key: of that person, who signs it; unsigned it counts in this program, and in no file that it is
            written to. on: the day; by default today.
        """
        if names is None:
            open_ = [c for c in self if c.declared and not c.public and not _off(c)]
            wanted = [c.name for c in open_ if not _of_another(c, by)]
        else:
            wanted = list(names)
        self.require(wanted)
        bare = [repr(n) for n in wanted if not self[n].declared]
        if bare:
            raise SchemaError(
                f"no levels or edges are written down that could be declared: {listed(bare)}.",
                hint="write them down first",
            )
        off = [c for c in map(self.__getitem__, wanted) if _off(c)]
        if off and key is None:
            raise SchemaError(
                f"the proposed domain was read off the data, and nobody signed for it that it comes from "
                f"elsewhere: {listed([repr(c.name) for c in off])}.",
                hint="declare it with your key (--key FILE), name a public list, or find it with a part "
                "of the budget",
            )
        said = Provenance.declared(" ".join(by.split()), " ".join(reason.split()))
        own = {n: replace(self[n], provenance=said, confirmed=True) for n in wanted}
        if key is not None:
            own = {n: sign(c, key, on) for n, c in own.items()}
        return Schema(tuple(own.get(c.name, c) for c in self))

    # -- TOML ------------------------------------------------------------------------------------

    def to_toml(self) -> str:
        """The schema as text; `from_toml` gives back an equal one."""
        import tomli_w

        tables = {c.name: column_to_dict(c) for c in self.columns}
        return tomli_w.dumps({"sfumato_schema": 1, "columns": tables})

    @classmethod
    def from_toml(cls, text: str, *, name: str = "schema") -> Schema:
        """Read a schema; all faults of all columns are listed at once."""
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            # Some of its messages quote a key, and keys of labels are values: only the place is said.
            place = re.search(r"at (line \d+, column \d+|end of document)", str(error))
            where = f" at {place[1]}" if place else ""
            raise SchemaError(f"{name} is not valid TOML{where}.", hint="correct that line") from None
        except (ValueError, RecursionError):  # a number of thousands of digits, lists in lists in lists
            raise SchemaError(f"{name} is not a schema.", hint="see docs/schema.md") from None
        tables = document.get("columns")
        if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()):
            raise SchemaError(f"{name} has no [columns.NAME] tables.", hint="see docs/schema.md")
        version = document.get("sfumato_schema", 1)
        if version != 1:
            raise SchemaError(f"{name} has version {version!r}, this release reads 1.", hint="upgrade")
        columns, faults = [], []
        for column_name, entries in tables.items():
            try:
                columns.append(column_from_dict(column_name, entries))
            except SchemaError as error:
                faults.append(error.message.rstrip("."))
        if faults:
            raise SchemaError(f"{name}: {'; '.join(faults)}.", hint="see docs/schema.md for the keys")
        return cls(tuple(columns))

    @classmethod
    def read(cls, path: str | Path) -> Schema:
        """Read a schema file."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise SchemaError(
                f"no schema file {path.name}.", hint=f"sfumato schema update {path.name} DATA writes one"
            ) from None
        except (OSError, ValueError) as error:  # ValueError: no UTF-8, or a path with a NUL
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise SchemaError(
                f"schema file {path.name or path} cannot be read: {reason}.", hint="give a TOML file"
            ) from None
        return cls.from_toml(text, name=path.name)


def _of_another(column: Column, by: str) -> bool:
    """Whether a file says that another person declared the domain as it is, though nobody signed that."""
    said = column.provenance
    if said is None or said.origin is not Origin.DECLARED or not column.stated:
        return False
    return said.by != " ".join(by.split())


def _off(column: Column) -> bool:
    """Whether a domain counts as read off the data: also one that says it was found, and nothing shows it."""
    said = column.provenance
    if said is None or column.public:
        return False
    return said.origin in (Origin.READ_OFF, Origin.FOUND)
