"""Addresses of databases: passwords come from the environment, so that no file needs to hold one.

In an address `${NAME}` stands for the environment variable of that name, as it is: signs that have a meaning
in an address are escaped here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import PurePosixPath
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from sfumato.errors import DataError, listed

PASSWORD = "SFUMATO_PASSWORD"
CONSENT = "SFUMATO_CONNECT"
"""Names the hosts, divided by commas, that plans may connect to."""
_NAMED = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_FILE = re.compile(r"((?:sqlite|duckdb)://[^/?#]*/)([^/?#][^?#]*)(.*)", re.DOTALL | re.IGNORECASE)
_SECRET = re.compile(r"passw|passphrase|pwd|token|secret|(api|access|private)_?key", re.IGNORECASE)


def is_url(data: str) -> bool:
    """Whether a text names a database or something remote rather than a file."""
    return bool(re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", data))


CLOUDS = {
    "s3": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "https": "aiohttp",
    "http": "aiohttp",
}
"""Schemes of files elsewhere, and the package that fsspec needs for them."""
# Settings of drivers that name another machine, or a file that names one.
_HOSTS = frozenset(
    {"host", "hostaddr", "server", "service", "servicefile", "dsn", "odbc_connect", "read_default_file"}
)
_LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|::1|", re.IGNORECASE)


def is_cloud(data: str) -> bool:
    """Whether a text names files in a cloud or on the web."""
    return is_url(data) and data.partition("://")[0].lower() in CLOUDS


def local_path(data: str) -> str | None:
    """The path that a file:// address names on this machine; None for other addresses."""
    if not re.match(r"file://", data, re.IGNORECASE):
        return None
    parts = urlsplit(data)
    if parts.netloc.lower() not in ("", "localhost"):
        raise DataError(
            "a file:// address names another machine.", hint="file:///path/to/file, or the path by itself"
        )
    return unquote(parts.path)


def is_elsewhere(data: str) -> bool:
    """Whether reading this means to connect to another machine."""
    if not is_url(data) or re.match(r"(sqlite|duckdb|file):", data, re.IGNORECASE):
        return False
    return is_cloud(data) or not is_loopback(data)


def require_consent(address: str, whose: str) -> None:
    """Refuse an address on another machine that no person typed, unless SFUMATO_CONNECT names its host.

    A plan or a file may come from anybody, and could send what an address names (`${PASSWORD}`) to them.
    """
    if not is_elsewhere(address):
        return
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        host = ""
    allowed = {name.strip().lower() for name in os.environ.get(CONSENT, "").split(",")} - {""}
    if host not in allowed:
        place = host or "its address is badly formed"
        raise DataError(
            f"{whose} is on another machine ({place}), and a plan connects to none by itself.",
            hint=f"if you trust it, type the address (--input ADDRESS), or set {CONSENT}={host or 'HOST'}",
        )


def is_loopback(url: str) -> bool:
    """Whether an address names this machine and no other, in its settings neither."""
    try:
        parts = urlsplit(url)
        hosts = [parts.hostname or "", *(v for k, v in parse_qsl(parts.query) if k.lower() in _HOSTS)]
    except ValueError:
        return False
    return all(_LOOPBACK.fullmatch(host) or host.startswith(("/", "%2f")) for host in hosts)


def filled(url: str) -> str:
    """The address with the variables it names; those that are not set are listed."""
    unset = [f"${name}" for name in dict.fromkeys(_NAMED.findall(url)) if not os.environ.get(name)]
    if unset:
        raise DataError(
            f"the address of the database needs {listed(unset)}, which is not set.",
            hint="set it for this shell alone: read -rs NAME, then export NAME",
        )
    return _NAMED.sub(lambda found: quote(os.environ[found[1]], safe=""), url)


def with_relative_file(url: str, change: Callable[[str], str]) -> str:
    """The address of a database in a file, its relative path changed; any other address as it is."""
    found = _FILE.fullmatch(url)
    if found is None or _NAMED.search(found[2]) or unquote(found[2]).startswith(":memory:"):
        return url
    return f"{found[1]}{quote(change(unquote(found[2])))}{found[3]}"


def from_folder(data: str, folder: str | os.PathLike[str] = "") -> str:
    """Where data lies that is looked for from a folder: a file, or a database, which may be a file itself."""
    data = local_path(data) or data
    if not is_url(data):
        return os.path.join(folder, data)
    if re.match(r"(sqlite|duckdb):", data, re.IGNORECASE):  # a variable may hold the whole path
        data = filled(data)
    return with_relative_file(data, lambda path: os.path.abspath(os.path.join(folder, path)))


def noted(data: str, folder: str | os.PathLike[str] = "") -> str:
    """The same in the one way in which ledgers note it, whoever names it from where: without passwords."""
    where = from_folder(data, folder)
    return without_secrets(where)[0] if is_url(where) else where


def without_secrets(url: str) -> tuple[str, tuple[str, ...]]:
    """The address with `${NAME}` where a password was, and the variables that it names now."""
    scheme, sign, rest = url.partition("://")
    found = re.fullmatch(r"([^/?#]*)([^?#]*)(\??[^#]*)(.*)", rest, re.DOTALL)
    assert found is not None  # every part may be empty
    authority, path, query, fragment = found.groups()
    user, at, host = authority.rpartition("@")
    name, _, password = user.partition(":")
    if password and not _NAMED.fullmatch(password):
        user = f"{name}:${{{PASSWORD}}}"
    query = query[:1] + "&".join(_without_secret(part) for part in query[1:].split("&"))
    bare = "".join((scheme, sign, user, at, host, path, query, fragment))
    return bare, tuple(dict.fromkeys(_NAMED.findall(bare)))


def has_secret(url: str) -> bool:
    """Whether a password stands in an address as it is; also in one that is badly formed."""
    before, at, _ = url.partition("://")[2].rpartition("@")
    password = before.partition(":")[2]
    query = url.partition("?")[2].partition("#")[0].split("&")
    return bool(at and password and not _NAMED.fullmatch(password)) or any(
        _without_secret(part) != part for part in query
    )


def last_name(data: str) -> str:
    """What data is called where it is shown: the name of the file or the database, never a password."""
    if not is_url(data):
        return PurePosixPath(data).name
    parts = urlsplit(data)
    return PurePosixPath(unquote(parts.path)).name or f"a {parts.scheme} database"


def _without_secret(part: str) -> str:
    name, _, value = part.partition("=")
    if not value or not _SECRET.search(unquote(name)) or _NAMED.fullmatch(value):
        return part
    return f"{name}=${{SFUMATO_{re.sub('[^A-Za-z0-9]', '_', unquote(name)).upper()}}}"
