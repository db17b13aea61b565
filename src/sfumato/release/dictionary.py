"""The schema as it may leave the house, and the card that says in plain words what a release is.

A schema is partly a person's knowledge and partly read off the original. The second part would be a
computation on the original that no guarantee covers, so the public schema leaves it out:

- `reason` (it quotes shares and counts) and `missing_codes` (in a release missing is empty): always;
- of a column whose domain is not public (read off the data, or of unknown provenance): edges, clamp, draw
  (they follow the data's range), the fact that nothing was missing, and every level and label that
  does not occur in the *released* data.

Kind, role, type, unit, description, separator and the order of the remaining levels stay: without them
a table cannot be read. A public domain is kept as a whole, with where it comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.languages import Verbatim, say, say_lines, tried
from sfumato.privacy import Guarantee
from sfumato.schema import Column, Draw, Kind, Schema, Value
from sfumato.schema.provenance import Checked

_SHOWN = 24  # levels a card lists before it refers to schema.toml


class LevelsSeen:
    """Which levels without a public provenance the released data holds, gathered as it streams by."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        wanted = [c for c in schema if not may_leave(c) and (c.levels is not None or c.labels)]
        self._found: dict[str, set[object]] = {c.name: set() for c in wanted}

    def watch(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same batches; each is looked at before it goes on."""
        for batch in batches:
            self.look(batch)
            yield batch

    def look(self, batch: pa.RecordBatch) -> None:
        """Note the levels of one batch."""
        for name, found in self._found.items():
            column = self._schema[name]
            values = pc.unique(batch.column(name)).drop_null().to_pylist()
            if column.kind is Kind.CODES:
                values = [code for cell in values for code in str(cell).split(column.separator)]
            found.update(values)

    def merge(self, other: LevelsSeen) -> None:
        """Note what was seen of another part of the same data."""
        for name, found in other._found.items():
            self._found[name] |= found

    def public(self) -> Schema:
        """The schema that may leave together with the data seen."""
        return Schema(tuple(_public_column(c, self._found.get(c.name, set())) for c in self._schema))


def may_leave(column: Column) -> bool:
    """Whether a domain leaves as a whole: a public one, or one that has left already, with a release."""
    said = column.provenance
    return column.public or (column.stated and said is not None and said.checked is Checked.RELEASED)


def _public_column(column: Column, seen: set[object]) -> Column:
    column = replace(column, reason="", confidence="", missing_codes=())
    if may_leave(column):
        own = None if column.levels is None else set(map(str, column.levels))
        return (
            column
            if own is None
            else replace(
                column, labels={value: label for value, label in column.labels.items() if value in own}
            )
        )
    texts = {str(value) for value in seen}
    levels: tuple[Value, ...] = tuple(v for v in column.levels or () if v in seen or str(v) in texts)
    return replace(
        column,
        levels=levels or None,
        labels={value: label for value, label in column.labels.items() if value in texts},
        edges=None,
        clamp=False,
        draw=Draw.UNIFORM,
        missing=True,
        other=None,
        provenance=None,
    )


# -- the card ------------------------------------------------------------------------------------


DRAFT_NOTE = "DRAFT.txt"


def draft_words(why: str) -> str:
    """What the files of a draft say of it."""
    return f"DRAFT: {why.rstrip('.')}. It is not to be passed on or relied upon."


def card(schema: Schema, guarantee: Guarantee, *, about: str, data: str, draft: str = "") -> str:
    """What the release is, what it promises and what not, and its columns, for a reader without tools.

    It is in the language that is spoken now; the manifest keeps which that was.
    """
    parts = [
        f"# {say('DRAFT: about this data' if draft else 'About this data')}",
        *([f"**{say(draft_words(draft))}**"] if draft else ()),
        say(about or "A table of person-level data, prepared for release with Sfumato."),
        say(
            f"The data are in `{data}`, the meaning of the columns in `schema.toml`, the promises as a "
            "program reads them in `guarantee.json`. `sha256sum -c SHA256SUMS` tells whether this copy is "
            "whole."
        ),
        f"## {say('What is promised')}",
        _quoted(say_lines(str(guarantee))),
        f"## {say('What is not promised')}",
        say(_NOT_PROMISED),
        f"## {say('Columns')}",
        _columns(schema),
    ]
    return "\n\n".join(parts) + "\n"


def database_card(
    schemas: Mapping[str, Schema], links: Sequence[str], guarantee: Guarantee, *, about: str, draft: str = ""
) -> str:
    """The card of several linked tables."""
    joined = "\n".join(f"- {_cell(link)}" for link in links) or say("There are none.")
    parts = [
        f"# {say('DRAFT: about these data' if draft else 'About these data')}",
        *([f"**{say(draft_words(draft))}**"] if draft else ()),
        say(about or "Linked tables of person-level data, prepared for release with Sfumato."),
        say(
            f"There is a file for each of {len(schemas)} tables; what their columns mean and how they hang "
            "together is in `database.toml`, the promises as a program reads them in `guarantee.json`. "
            "`sha256sum -c SHA256SUMS` tells whether this copy is whole."
        ),
        f"## {say('What is promised')}",
        _quoted(say_lines(str(guarantee))),
        f"## {say('What is not promised')}",
        say(_NOT_PROMISED),
        f"## {say('Links')}",
        joined,
        *(part for name, schema in schemas.items() for part in (f"## {_cell(name)}", _columns(schema))),
    ]
    return "\n\n".join(parts) + "\n"


_NOT_PROMISED = (
    "Only what is written above is promised, and only under the assumptions named there. In particular, "
    "nothing is said about what someone can conclude who holds other data on the same people, unless a "
    "promise above names that case; and what is true of a whole group can be concluded about its members. "
    "Do not try to find out who a row belongs to, and do not link the rows with other data to that end."
)


def _columns(schema: Schema) -> str:
    names = " | ".join(say(name) for name in ("column", "kind", "role", "values", "meaning"))
    head = f"| {names} |\n|---|---|---|---|---|"
    rows = [
        f"| {_cell(c.name)} | {say(f'{c.kind} ({c.type})')} | {say(str(c.role))} | "
        f"{_cell(tried(_values(c)))} | {_cell(tried(own_words(c.description)))} |"
        for c in schema
    ]
    return "\n".join([head, *rows])


def own_words(description: str) -> str:
    """A description as a person wrote it; but for what a method added to it, which is ours to say."""
    return description if description.endswith(_ADDED) else Verbatim(description)


_ADDED = ("(generalized)", "(generalized, some dropped)", "(pseudonym)")


def _values(column: Column) -> str:
    parts = []
    if column.levels is not None:
        shown = [_level(column, v) for v in column.levels[:_SHOWN]]
        more = len(column.levels) - len(shown)
        parts.append(", ".join(shown) + (f" and {more} more in schema.toml" if more else ""))
    if column.edges is not None:
        parts.append(f"{column.edges[0]} to {column.edges[-1]}")
    if column.unit:
        parts.append(f"in {column.unit}")
    if column.missing:
        parts.append("may be empty")
    return "; ".join(parts)


def _level(column: Column, value: Value) -> str:
    label = column.label(value)
    return str(value) if label == str(value) else f"{value} = {label}"


def _cell(text: str) -> str:
    """A name or label may hold the marks Markdown tables are made of."""
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())
