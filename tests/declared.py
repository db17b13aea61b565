"""A provenance for domains that a test makes up, and a signature under it where a file is to carry it."""

from datetime import date

from sfumato.privacy.signatures import SigningKey
from sfumato.schema import Provenance, Schema
from sfumato.schema.provenance import Origin

PUBLIC = Provenance.declared("a test", "made up for it")
KEY = SigningKey(bytes(range(32)))  # of the tests: signs what a file of theirs declares
DAY = date(2026, 1, 2)


def signed(schema: Schema) -> Schema:
    """The schema, every declared domain of which is signed under the name and reason that it has."""
    for column in schema:
        said = column.provenance
        if said is not None and said.origin is Origin.DECLARED and column.stated:
            schema = schema.declare(said.by, said.reason, [column.name], key=KEY, on=DAY)
    return schema
