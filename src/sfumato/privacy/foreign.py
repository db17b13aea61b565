"""A claim of another package: shown as not ours, carried as it is, and never taken for one of ours.

A guarantee holds a claim of a guest in this wrapping, with the guest's words in it, so that a file can be
read where the guest is not installed. To read one loads nothing. Only who asks for it (`verify` with
guests) lets the package that made the claim count it again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

from sfumato import plugins
from sfumato.errors import DataError, ParameterError, SfumatoError
from sfumato.plugins import Group
from sfumato.privacy.base import Claim, Unit

GUEST = "guest"  # the entry of a claim's JSON that says whose it is
_SHARED = ("unit", "assumptions", "scope")
_SAYS = {"title": 200, "promise": 4000, "limits": 4000}  # the longest text of each
_SIGNATURE = 20_000  # characters
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")
_PACKAGE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class ForeignClaim(Claim):
    """A claim that is not ours.

    kind: its name. package: whose it is. says: its title, promise and limits. settings: its own fields, JSON.
    secret: whether a disclosed seed or key ends it. It neither composes nor survives post-processing.
    signature: of who stands behind its words, as a DSSE envelope on one line (`vouching`); empty if nobody.
    """

    kind: str
    package: str
    says: tuple[str, str, str]
    settings: str = "{}"
    secret: bool = True
    signature: str = ""

    def _faults(self) -> list[str]:
        faults = [] if _NAME.fullmatch(self.kind) else ["its name must be letters, digits and _"]
        if not _PACKAGE.fullmatch(self.package):
            faults.append("its package must be the name of a package")
        longest = zip(_SAYS.items(), self.says, strict=True)
        faults += [
            f"its {what} must be text of 1 to {most} characters"
            for (what, most), text in longest
            if not isinstance(text, str) or not len(text.strip()) > 0 or len(text) > most
        ]
        if len(self.signature) > _SIGNATURE or not self.signature.isascii():
            faults.append("its signature must be one line of JSON")
        return faults if isinstance(self.secret, bool) else [*faults, "secret must be true or false"]

    def assuming(self, *sentences: str) -> ForeignClaim:
        """The same claim with further assumptions: other words than were signed."""
        return replace(super().assuming(*sentences), signature="")

    def about(self, scope: str) -> ForeignClaim:
        """The same claim about a part of a larger release: other words than were signed."""
        return replace(super().about(scope), signature="")

    @property
    def rests_on_secret(self) -> bool:  # type: ignore[override]
        """Whether a disclosed seed or key ends it."""
        return self.secret

    @property
    def title(self) -> str:
        """The claim in a few words, and that it is not ours."""
        return f"not ours ({self.package}): {self.says[0]}"

    def promise(self) -> str:
        """What its package says is promised."""
        return self.says[1]

    def limits(self) -> str:
        """What its package says is not promised, and who vouches for it."""
        return (
            f"{self.says[2]} Sfumato does not know this claim and has not examined it: it is the word of the "
            f"package {self.package}."
        )

    def to_dict(self) -> dict[str, Any]:
        """As it was written by whoever made it."""
        shared = {k: v for k, v in super().to_dict().items() if k in _SHARED}
        guest = {"package": self.package, **dict(zip(_SAYS, self.says, strict=True)), "secret": self.secret}
        if self.signature:
            guest["signature"] = self.signature
        return {"claim": self.kind, **json.loads(self.settings), GUEST: guest, **shared}


def wrapped(claim: Claim, ours: Collection[str]) -> ForeignClaim:
    """A claim of a guest's own class as a guarantee holds it; one that goes by a name of ours is refused."""
    kind = type(claim)
    if kind.__name__ in ours:
        raise ParameterError(
            f"a claim that is not ours is called {kind.__name__}, as one of ours is.",
            hint="choose another name",
        )
    entry = Claim.to_dict(claim)
    own = {k: v for k, v in entry.items() if k not in (*_SHARED, "claim")}
    try:
        if GUEST in own:
            raise ValueError
        settings = json.dumps(own, allow_nan=False, ensure_ascii=False)
        says = (str(claim.title), str(claim.promise()), str(claim.limits()))
    except (TypeError, ValueError):
        raise ParameterError(
            f"{kind.__name__} cannot be written as JSON.", hint="its fields must be text, numbers and lists"
        ) from None
    return ForeignClaim(
        kind.__name__, plugins.package_of(kind), says, settings, bool(claim.rests_on_secret),
        unit=claim.unit, assumptions=claim.assumptions, scope=claim.scope,
    )  # fmt: skip


def read(entry: Mapping[str, Any]) -> ForeignClaim:
    """A claim of a guest from its JSON. Nothing is loaded: what it says stands in the file."""
    guest = entry[GUEST]
    if not isinstance(guest, Mapping) or set(guest) - {"signature"} != {"package", *_SAYS, "secret"}:
        raise DataError("it does not say whose claim it is.")
    own = {k: v for k, v in entry.items() if k not in (*_SHARED, "claim", GUEST)}
    try:
        settings = json.dumps(own, allow_nan=False, ensure_ascii=False)
    except ValueError:
        raise DataError("an amount is not finite.") from None
    shared = {k: v for k, v in entry.items() if k in _SHARED}
    if "unit" in shared:
        shared["unit"] = Unit.from_dict(shared["unit"])
    says = (guest["title"], guest["promise"], guest["limits"])
    own_words = (entry["claim"], guest["package"], says, settings, guest["secret"])
    return ForeignClaim(*own_words, guest.get("signature", ""), **shared)


def original(claim: ForeignClaim, ours: Collection[str]) -> Claim | None:
    """The claim as its own package makes it, which is loaded; None where that package is not here.

    Refused where the package words the claim otherwise than the file does.
    """
    kind = plugins.find(Group.CLAIMS, claim.kind, _require_claim, ours)
    if kind is None:
        return None
    values = {n: tuple(v) if isinstance(v, list) else v for n, v in json.loads(claim.settings).items()}
    needed = {f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING}
    if not needed <= set(values) <= {f.name for f in fields(kind)} - set(_SHARED):
        raise DataError(f"its settings are not those of {claim.package}.", hint="the file was changed")
    made: Claim = kind(**values, **{name: getattr(claim, name) for name in _SHARED})
    if wrapped(made, ours) != replace(claim, signature=""):
        raise DataError(f"{claim.package} words this claim otherwise.", hint="the file was changed")
    return made


def _require_claim(name: str, kind: object) -> None:
    """What an entry point must give: a claim's class of that name."""
    if not isinstance(kind, type) or not issubclass(kind, Claim) or kind.__name__ != name:
        raise ParameterError("it is not a claim of that name", hint="name the class of the claim")


def recounted(claim: ForeignClaim, table: object, ours: Collection[str]) -> tuple[bool | None, str]:
    """Whether a file keeps the claim, by the word of its package; None where nobody here can say.

    A recount that breaks is a claim that was not found kept. Foreign errors may quote a cell: only their kind
    is told.
    """
    try:
        made = original(claim, ours)
        if made is None:
            return None, f"{claim.package} is not installed here, or has no such claim"
        recount = getattr(made, "recount", None)
        if not callable(recount):
            return None, f"{claim.package} has no way to count it"
        holds, detail = recount(table)
        return bool(holds), str(detail)[:500]
    except SfumatoError as error:
        return False, error.message
    except Exception as error:
        return False, f"the recount of {claim.package} failed ({type(error).__name__})"
