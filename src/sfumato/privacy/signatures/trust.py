"""Whose signatures count here: the trust file, one for releases, models, determinations and claims.

    [[keys]]
    name = "A. Miller, privacy officer"
    public = "1f8a..."                    # 64 hexadecimal digits
    signs = ["release", "model"]          # left out: everything
    from = 2026-01-01                     # left out: no bound
    until = 2026-12-31                    # rotated: later signatures do not count
    revoked = 2026-11-02                  # known to others: no signature counts, whatever its date
    reason = "laptop stolen"

The day in a signature is the word of who made it. A key that was retired in good order was never in other
hands, so its old signatures still count. A revoked one may be: whoever has it writes any day they like, so
none of its signatures counts, also not those that bear an earlier day. What it signed is signed anew.

The file is data: it names keys, never code. It lies where SFUMATO_TRUST says, or in
XDG_CONFIG_HOME/sfumato/trust.toml, or in ~/.config/sfumato/trust.toml.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import tomli_w

from sfumato._system import permissions
from sfumato.errors import DataError, ParameterError, listed
from sfumato.privacy.signatures.keys import is_public_key, public_key, read_small
from sfumato.privacy.signatures.statement import Purpose, is_name

VARIABLE = "SFUMATO_TRUST"
_ENTRIES = ("name", "public", "signs", "from", "until", "revoked", "reason")
_HINT = "sfumato trust add writes it; docs/signing.md shows its form"


@dataclass(frozen=True)
class TrustedKey:
    """A key, whose it is, what it signs, and when.

    start, end: the days of the first and last signature that counts. revoked: since when it may be known to
    others; then none of its signatures counts.

    >>> from datetime import date
    >>> key = sf.TrustedKey(sf.SigningKey.fresh().public, "R. Weiss", ("release",), end=date(2026, 12, 31))
    >>> [purpose.value for purpose in key.signs]
    ['release']
    """

    public: str
    name: str = ""
    signs: tuple[Purpose, ...] = tuple(Purpose)
    start: date | None = None
    end: date | None = None
    revoked: date | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        faults = []
        if not is_public_key(self.public):
            faults.append("public must be 64 hexadecimal digits in small letters, and a key of somebody's")
        if self.name and not is_name(self.name):
            faults.append("name must be text on one line, at most 200 characters")
        try:
            object.__setattr__(self, "signs", tuple(Purpose(p) for p in self.signs))
        except (ValueError, TypeError):
            faults.append(f"signs must be some of {', '.join(Purpose)}")
        if not self.signs:
            faults.append("signs must name something; leave it out for everything")
        days = (self.start, self.end, self.revoked)
        if any(d is not None and type(d) is not date for d in days):
            faults.append("from, until and revoked must be days such as 2026-01-31, without quotes")
        elif self.start and self.end and self.start > self.end:
            faults.append("from must not be later than until")
        if not isinstance(self.reason, str) or (self.reason and not is_name(self.reason)):
            faults.append("reason must be text on one line, at most 200 characters")
        if faults:
            raise ParameterError(f"a trusted key: {'; '.join(faults)}.", hint=_HINT)

    def refusal(self, purpose: Purpose, on: date | None, today: date | None = None) -> str:
        """Why a signature of that day does not count; empty if it does. on: None where it bears no day."""
        today = today or datetime.now(UTC).date()
        if self.revoked is not None:
            why = f" ({self.reason})" if self.reason else ""
            return f"its key was revoked on {self.revoked.isoformat()}{why}, whatever day it bears"
        if purpose not in self.signs:
            return f"its key is trusted for {listed([str(p) for p in self.signs])} only"
        if on is not None and on > today + timedelta(days=1):  # it may be tomorrow elsewhere
            return "it bears a day that has not come yet"
        day = on or today  # without a day of its own it counts while the key does
        if self.end is not None and day > self.end:
            return f"its key was retired on {self.end.isoformat()}"
        if self.start is not None and day < self.start:
            return f"its key is trusted from {self.start.isoformat()} on"
        return ""

    def to_dict(self) -> dict[str, Any]:
        """As the trust file holds it."""
        signs = [] if self.signs == tuple(Purpose) else [str(p) for p in self.signs]
        given = {
            "name": self.name, "public": self.public, "signs": signs,
            "from": self.start, "until": self.end, "revoked": self.revoked, "reason": self.reason,
        }  # fmt: skip
        return {key: value for key, value in given.items() if value}


@dataclass(frozen=True)
class Trust:
    """The keys whose signatures count.

    >>> key = sf.SigningKey.fresh()
    >>> officer = sf.Trust((sf.TrustedKey(key.public, "R. Weiss", ("release",)),))
    >>> officer.keys[0].name
    'R. Weiss'
    """

    keys: tuple[TrustedKey, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", tuple(self.keys))
        if len({k.public for k in self.keys}) != len(self.keys):
            raise ParameterError(
                "a key is named twice.", hint="one entry for each key: the other would hide it"
            )

    def __bool__(self) -> bool:
        return bool(self.keys)

    def find(self, public: str) -> TrustedKey | None:
        """The entry of a key."""
        return next((k for k in self.keys if k.public == public), None)

    def without_day(self, purpose: Purpose) -> tuple[str, ...]:
        """The keys whose signatures count today, for signatures that bear no day."""
        return tuple(k.public for k in self.keys if not k.refusal(purpose, None))

    # -- changes ---------------------------------------------------------------------------------

    def with_key(self, key: TrustedKey) -> Trust:
        """One key more."""
        if self.find(key.public) is not None:
            raise ParameterError("the key is there already.", hint="sfumato trust list shows it")
        return Trust((*self.keys, key))

    def changed(self, named: str, **entries: Any) -> Trust:
        """The same with other entries for one key, named by the beginning of its digits or by its name."""
        found = [k for k in self.keys if named and (k.public.startswith(named.lower()) or k.name == named)]
        if len(found) != 1:
            what = "no key" if not found else f"{len(found)} keys"
            raise ParameterError(f"{what} of that name.", hint="sfumato trust list shows them")
        return Trust(tuple(replace(k, **entries) if k is found[0] else k for k in self.keys))

    # -- files -----------------------------------------------------------------------------------

    @classmethod
    def of(cls, given: Trust | str | Path | Sequence[str | Path] | None) -> Trust:
        """From keys (64 digits), files of public keys, trust files; None: the file at its usual place.

        What that file says of a key holds here, too: for a key that is named by itself all of it, for one
        of another trust file that it was revoked. Who names a key need not have heard that it was stolen.
        """
        if given is None:
            return cls.default()
        if isinstance(given, Trust):
            return given
        items = [given] if isinstance(given, str | Path) else list(given)
        found: dict[str, TrustedKey] = {}
        for item in items:
            for key in _entries(item):
                if found.setdefault(key.public, key) != key:
                    raise ParameterError(
                        "a key is named twice, in two ways.", hint="name it once: the trust file, or the key"
                    )
        usual = usual_place()
        known = cls.read(usual) if usual.exists() else cls()
        return cls(tuple(_as_known(key, known.find(key.public)) for key in found.values()))

    @classmethod
    def default(cls) -> Trust:
        """The file at its usual place; nobody is trusted where there is none."""
        path = usual_place()
        return cls.read(path) if os.environ.get(VARIABLE) or path.exists() else cls()

    @classmethod
    def read(cls, path: str | Path) -> Trust:
        """Read a trust file. One that others may write is refused: they would decide whom you trust."""
        path = Path(path)
        raw = read_small(path, "trust file")
        if permissions.open_to(path.stat().st_mode, stat.S_IWGRP | stat.S_IWOTH):
            raise DataError(
                f"trust file {path.name} can be changed by others.", hint="look through it, then chmod go-w"
            )
        return _parsed(raw, path.name)

    def to_toml(self) -> str:
        """The text of the trust file."""
        return tomli_w.dumps({"keys": [k.to_dict() for k in self.keys]})


def usual_place() -> Path:
    """Where the trust file lies, if there is one."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    config = os.environ.get("XDG_CONFIG_HOME")
    base = Path(config) if config and Path(config).is_absolute() else Path.home() / ".config"
    return base / "sfumato" / "trust.toml"


def _entries(item: str | Path) -> tuple[TrustedKey, ...]:
    if isinstance(item, str) and is_public_key(item.strip().lower()):
        return (TrustedKey(item.strip().lower()),)
    path = Path(item)
    key = public_key(read_small(path, "key or trust file"), path.name)
    return Trust.read(path).keys if key is None else (TrustedKey(key),)


def _as_known(given: TrustedKey, known: TrustedKey | None) -> TrustedKey:
    """A key as it was given, with what the reader's own trust file says of it."""
    if known is None or given.revoked is not None:
        return given
    if given == TrustedKey(given.public):
        return known
    return replace(given, revoked=known.revoked, reason=known.reason) if known.revoked is not None else given


def _parsed(raw: bytes, name: str) -> Trust:
    try:
        document = tomllib.loads(raw.decode("utf-8"))
        entries = document.get("keys", [])
        if set(document) - {"keys"} or not isinstance(entries, list):
            raise ValueError
        if any(not isinstance(e, dict) or set(e) - set(_ENTRIES) or "public" not in e for e in entries):
            raise ValueError
    except (ValueError, RecursionError):
        raise DataError(f"{name} is neither a public key nor a trust file.", hint=_HINT) from None
    try:
        return Trust(tuple(_key(e) for e in entries))
    except ParameterError as error:
        raise DataError(f"{name}: {error.message}", hint=_HINT) from None


def _key(entry: dict[str, Any]) -> TrustedKey:
    signs: Any = entry.get("signs", tuple(Purpose))
    return TrustedKey(
        public=entry["public"], name=entry.get("name", ""), signs=() if isinstance(signs, str) else signs,
        start=entry.get("from"), end=entry.get("until"), revoked=entry.get("revoked"),
        reason=entry.get("reason", ""),
    )  # fmt: skip
