"""What the columns of a table mean: kind, role, domain, labels.

A schema is a value: frozen, checked on construction, and the same after a round trip through TOML.
It says what may be *assumed public* about a table. A domain that was read off the data is marked
`confirmed = false`, and whatever promises differential privacy refuses it (`Schema.require_public`):
categories inferred from people's rows leak without bound.

Start at `column`; `schema` is several of them, `toml` reads and writes them. It knows no data: what rows
hold is compared with it in `description`.
"""

from sfumato.schema.column import Column, Draw, Kind, Role, Value, draw_back, type_names
from sfumato.schema.schema import Schema

__all__ = ["Column", "Draw", "Kind", "Role", "Schema", "Value", "draw_back", "type_names"]
