"""What the columns of a table mean: kind, role, domain, labels.

A schema is a value: frozen, checked on construction, and the same after a round trip through TOML.
It says what may be *assumed public* about a table, and where each domain comes from (`provenance`). A domain
that was read off the data stays so marked, and whatever promises differential privacy refuses it
(`Schema.require_public`): categories inferred from people's rows leak without bound.

Start at `column`; `schema` is several of them, `toml` reads and writes them, `standards` are public lists,
`domains` says what a promise may rest on, `declaration` who has signed for it, `search_record` that it was
found. It knows no data: what rows hold is compared with it in `description`.
"""

from sfumato.schema.column import Column, Draw, Kind, Role, Value, draw_back, type_names
from sfumato.schema.provenance import Origin, Provenance
from sfumato.schema.schema import Schema
from sfumato.schema.standards import STANDARDS, Standard

__all__ = [
    "STANDARDS",
    "Column",
    "Draw",
    "Kind",
    "Origin",
    "Provenance",
    "Role",
    "Schema",
    "Standard",
    "Value",
    "draw_back",
    "type_names",
]
