"""Where something of ours lies in PostgreSQL: postgresql://user@host/database#name.

Ledgers, logs of releases and shared answers are found in the same way, and say the same of a bad address.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sfumato.errors import MissingExtraError, OutputError, ParameterError

if TYPE_CHECKING:
    import psycopg

_SCHEMES = ("postgresql://", "postgres://")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
# A server that is gone without a word must not keep anyone waiting; what the URL says comes first.
_NETWORK = {
    "connect_timeout": "10", "keepalives_idle": "15", "keepalives_interval": "5", "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}  # fmt: skip


def is_postgres(place: object) -> bool:
    """Whether an address is one of PostgreSQL."""
    return isinstance(place, str) and place.startswith(_SCHEMES)


@dataclass(frozen=True)
class PostgresAddress:
    """A named thing on a server. driver: psycopg. settings: of a connection, the password among them."""

    driver: Any
    name: str
    settings: dict[str, Any] = field(repr=False)

    @property
    def title(self) -> str:
        """As messages call it."""
        return f"{self.name} (PostgreSQL)"

    def connected(self, what: str, then: str = "") -> psycopg.Connection[Any]:
        """A new connection, each statement by itself. what: as messages call it; then: what none means.

        Prepared statements would not survive a pooler between us and the server.
        """
        try:
            made: psycopg.Connection[Any] = self.driver.connect(
                **self.settings, autocommit=True, prepare_threshold=None
            )
            return made
        except self.driver.Error:  # its words may hold names and addresses
            raise OutputError(
                f"{what} {self.title}: no connection to the server.{then}",
                hint="check host, user, password and database, and that the server is there",
            ) from None

    @property
    def place(self) -> str:
        """Where it is, without user and password."""
        where = (str(self.settings.get(key, "")) for key in ("host", "port", "dbname"))
        return f"postgresql://{'/'.join(where)}#{self.name}"


def postgres_address(url: str, what: str, *, name: str, example: str) -> PostgresAddress:
    """Read an address. what: "a ledger"; name: if the address gives none; example: of a name, for hints."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError(f"{what[0].upper()}{what[1:]} in PostgreSQL", "service") from None
    server, _, given = url.partition("#")
    hint = f"postgresql://user@host/database#{example}"
    if not _NAME.fullmatch(given or name):
        raise ParameterError(
            f"the name of {what} in PostgreSQL has up to 41 letters a-z, digits and _, a letter first.",
            hint=hint,
        )
    try:
        said = psycopg.conninfo.conninfo_to_dict(server)
    except psycopg.Error:  # its words may hold the password
        raise ParameterError(f"the URL of {what} cannot be read.", hint=hint) from None
    own = {"application_name": f"sfumato {what.split()[-1]}"}
    return PostgresAddress(psycopg, given or name, {**_NETWORK, **own, **said})
