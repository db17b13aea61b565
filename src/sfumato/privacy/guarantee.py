"""What a release promises: an ordered list of claims that prints, composes and is written as JSON.

All claims of a guarantee hold at once, about the same release. Putting releases together is `compose`:
differential privacy adds up, counted properties of files do not.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from html import escape
from typing import Any

from sfumato.errors import DataError, ParameterError, SfumatoError, listed
from sfumato.privacy import differential
from sfumato.privacy.account import UNACCOUNTED, Account, Accounted, Unaccounted, combined
from sfumato.privacy.base import Claim, Unit
from sfumato.privacy.claims import AlphaK, JAnonymity, KAmbiguity, KAnonymity, KMap, LDiversity, TCloseness
from sfumato.privacy.code_sets import KMAnonymity
from sfumato.privacy.differential import ZCDP, ApproxDP, DifferentialPrivacy, PureDP
from sfumato.privacy.foreign import GUEST, ForeignClaim, read, wrapped
from sfumato.privacy.known_search import KnownSearch
from sfumato.privacy.secret import BoundedReidentification, DiverseLaw, NoGuarantee, Pseudonymous
from sfumato.privacy.signatures import strict_json
from sfumato.privacy.tables import ConsistentTotals, HiddenCells

VERSION = 1
KINDS: dict[str, type[Claim]] = {
    kind.__name__: kind
    for kind in (
        KAnonymity, AlphaK, KMap, JAnonymity, LDiversity, TCloseness, KAmbiguity, BoundedReidentification,
        DiverseLaw, KMAnonymity, PureDP, ApproxDP, ZCDP, Pseudonymous, NoGuarantee, Accounted, Unaccounted,
        HiddenCells, ConsistentTotals, KnownSearch,
    )
}  # fmt: skip


@dataclass(frozen=True)
class Guarantee:
    """The claims of one release, in order.

    >>> people = sf.samples.members(200).select(["sex", "region"])
    >>> monday = sf.synthesize(people, sf.MarginalBootstrap(epsilon=1.0), rows=50).guarantee
    >>> friday = sf.synthesize(people, sf.MarginalBootstrap(epsilon=2.0), rows=50).guarantee
    >>> monday.compose(friday).claims[0].title
    'differential privacy with epsilon = 3'
    """

    claims: tuple[Claim, ...] = ()

    def __post_init__(self) -> None:
        claims = (self.claims,) if isinstance(self.claims, Claim) else tuple(self.claims)
        if not all(isinstance(c, Claim) for c in claims):
            raise ParameterError("a guarantee is made of claims.", hint=f"one of {listed(list(KINDS), 20)}")
        known: tuple[type, ...] = (*KINDS.values(), ForeignClaim)  # exactly these
        if any(isinstance(c, known) and type(c) not in known for c in claims):
            raise ParameterError("a claim of a guest cannot be a kind of ours.", hint="derive it from Claim")
        claims = tuple(c if type(c) in known else wrapped(c, KINDS) for c in claims)
        object.__setattr__(self, "claims", tuple(dict.fromkeys(claims)))

    @classmethod
    def of(cls, *claims: Claim) -> Guarantee:
        """A guarantee of these claims."""
        return cls(claims)

    def __iter__(self) -> Iterator[Claim]:
        return iter(self.claims)

    def __len__(self) -> int:
        return len(self.claims)

    def __and__(self, other: Guarantee) -> Guarantee:
        """Further claims about the *same* release. For two releases, use `compose`."""
        return Guarantee(self.claims + other.claims)

    # -- what happens to a release -----------------------------------------------------------------

    def post_processed(self) -> Guarantee:
        """After a change of the file that did not look at the original again."""
        kept = tuple(c for c in self.claims if c.differential or isinstance(c, NoGuarantee | Account))
        return Guarantee(kept + _lost("post-processed", self, lambda c: c not in kept))

    def seeded(self) -> Guarantee:
        """After a draw with a seed that others may know or guess, where that draw carried the promise.

        Noise of `privacy.noise` never comes from a seed: a method that noises there and seeds only what
        comes after keeps its claims and does not call this.
        """
        kept = tuple(c for c in self.claims if not c.rests_on_secret)
        return Guarantee(kept + _lost("seeded", self, lambda c: c.rests_on_secret))

    def accounted(self, account: Account | None = None) -> Guarantee:
        """The same, saying which ledger has paid; where an epsilon is claimed and none has, `unaccounted`."""
        if isinstance(account, Accounted):
            others = tuple(c for c in self.claims if not isinstance(c, Account))
            own = [c for c in self.claims if isinstance(c, Accounted)]
            return Guarantee((*others, *combined([*own, account])))
        claimed = any(c.differential for c in self.claims)
        said = any(isinstance(c, Account) for c in self.claims)
        return Guarantee((*self.claims, UNACCOUNTED)) if claimed and not said else self

    def for_person(self, max_rows: int) -> Guarantee:
        """Differential privacy of rows as that of persons with at most `max_rows` rows (a public number)."""
        return Guarantee(
            tuple(
                differential.for_person(c, max_rows)
                if isinstance(c, DifferentialPrivacy) and c.unit.of == "row"
                else c
                for c in self.claims
            )
        )

    def at_delta(self, delta: float) -> Guarantee:
        """zCDP claims as (epsilon, delta) at this delta; the others as they are."""
        return Guarantee(
            tuple(differential.to_approx(c, delta) if isinstance(c, ZCDP) else c for c in self.claims)
        )

    def compose(self, *others: Guarantee, delta: float | None = None, disjoint: str = "") -> Guarantee:
        """The promise of several releases taken together.

        delta: where zCDP meets (epsilon, delta), the zCDP part is converted at this delta.
        disjoint: the public rule by which the parts hold different rows (or persons). The losses are then
            not added: the largest counts. The rule becomes an assumption of the claim.
        """
        parts = (self, *others)
        if len(parts) == 1:
            return self
        return _compose(parts, delta, disjoint.strip())

    # -- words -------------------------------------------------------------------------------------

    def text(self) -> str:
        """All claims in plain words, one paragraph each."""
        return "\n\n".join(c.text() for c in self.claims) or "Nothing is promised."

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        items = "".join(f"<li><b>{escape(c.title)}</b><br>{escape(c.text())}</li>" for c in self.claims)
        return f"<ul>{items}</ul>" if items else "<p>Nothing is promised.</p>"

    # -- JSON --------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The guarantee as JSON text; `from_json` gives back an equal one."""
        document = {"sfumato_guarantee": VERSION, "claims": [c.to_dict() for c in self.claims]}
        return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Guarantee:
        """Read a guarantee; all faults are listed at once."""
        try:
            # A key that stands there twice would be two claims for two readers.
            document = strict_json(text, finite=False)
        except (ValueError, TypeError):
            raise DataError("the guarantee is not valid JSON.", hint="give a guarantee.json") from None
        if not isinstance(document, dict) or "sfumato_guarantee" not in document:
            raise DataError("this is not a guarantee of Sfumato.", hint="give a guarantee.json")
        if type(document["sfumato_guarantee"]) is not int or document["sfumato_guarantee"] != VERSION:
            raise DataError(f"the guarantee has another version than {VERSION}.", hint="upgrade Sfumato")
        entries = document.get("claims")
        if not isinstance(entries, list) or set(document) != {"sfumato_guarantee", "claims"}:
            raise DataError("the guarantee has no list of claims, or unknown keys.", hint="it was changed")
        claims, faults = [], []
        for number, entry in enumerate(entries, 1):
            try:
                claims.append(_read_claim(entry))
            except SfumatoError as error:
                faults.append(f"claim {number}: {error.message.rstrip('.')}")
        if faults:
            raise DataError(
                f"the guarantee cannot be read: {'; '.join(faults)}.", hint="upgrade, or make it anew"
            )
        return cls(tuple(claims))


def _read_claim(entry: object) -> Claim:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("claim"), str):
        raise DataError("it has no kind.")
    kind = KINDS.get(entry["claim"])
    if kind is None and GUEST in entry:
        return read(entry)
    if kind is None:
        raise DataError("its kind is not known to this version.")
    values: dict[str, Any] = {k: v for k, v in entry.items() if k != "claim"}
    known = {f.name: f for f in fields(kind)}
    needed = {n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING}
    unknown, absent = set(values) - set(known), needed - set(values)
    if unknown or absent:
        raise DataError(f"{len(unknown)} unknown and {len(absent)} missing keys.")
    if any(type(v) is float and not math.isfinite(v) for v in values.values()):
        raise DataError("an amount is not finite.")
    if "unit" in values:
        values["unit"] = Unit.from_dict(values["unit"])
    for name, value in values.items():
        if isinstance(value, list):
            values[name] = tuple(value)
    return kind(**values)


# -- composition -------------------------------------------------------------------------------------


def _lost(reason: str, guarantee: Guarantee, gone: Callable[[Claim], bool]) -> tuple[Claim, ...]:
    """One entry for each claim that no longer holds."""
    return tuple(
        NoGuarantee(
            reason,
            f"Lost: {c.title}.",
            unit=c.unit,
            scope=c.scope,
            columns=c.columns if isinstance(c, Pseudonymous) else (),
        )
        for c in guarantee.claims
        if gone(c) and not isinstance(c, NoGuarantee | Account)
    )


def _compose(parts: tuple[Guarantee, ...], delta: float | None, disjoint: str) -> Guarantee:
    """Differential privacy of the whole first, then the parts' own claims, then what is not promised."""
    whole: list[Claim] = []
    missing: list[str] = []
    used: set[tuple[object, object]] = set()
    for unit, neighbours in _grounds(parts):
        claims = [_on(part, unit, neighbours) for part in parts]
        without = [str(i) for i, c in enumerate(claims, 1) if not c]
        if without:
            missing.append(
                f"Differential privacy for {unit}, {neighbours} neighbours, is not claimed by "
                f"release {listed(without)} of {len(parts)}."
            )
            continue
        whole += _totals(claims, delta, disjoint)
        used.add((unit, neighbours))
    own: list[Claim] = []
    for number, part in enumerate(parts, 1):
        scope = f"release {number} of {len(parts)}"
        own += [
            _apart(c, disjoint).about(scope)
            for c in part.claims
            if not (isinstance(c, DifferentialPrivacy) and not c.scope and (c.unit, c.neighbours) in used)
            and not isinstance(c, Account)
        ]
    paid = combined([c for part in parts for c in part.claims if isinstance(c, Account)])
    refusals: list[Claim] = [NoGuarantee("not composed", " ".join(missing))] if missing else []
    return Guarantee((*whole, *own, *refusals, *_overlap(parts, disjoint), *paid))


def _grounds(parts: tuple[Guarantee, ...]) -> list[tuple[Unit, Any]]:
    """Every unit and neighbours that some part has a claim of differential privacy for."""
    return list(
        dict.fromkeys(
            (c.unit, c.neighbours)
            for part in parts
            for c in part.claims
            if isinstance(c, DifferentialPrivacy) and not c.scope
        )
    )


def _on(part: Guarantee, unit: Unit, neighbours: object) -> list[DifferentialPrivacy]:
    return [
        c
        for c in part.claims
        if isinstance(c, DifferentialPrivacy) and not c.scope and (c.unit, c.neighbours) == (unit, neighbours)
    ]


def _totals(claims: list[list[DifferentialPrivacy]], delta: float | None, disjoint: str) -> list[Claim]:
    """The totals in each kind of differential privacy that some part is stated in and all can take."""
    first = claims[0][0]
    if disjoint and first.neighbours == "replace":
        raise ParameterError(
            "under replace neighbours a row can move from one part to another, so parts do not count singly.",
            hint="add the losses up, or claim add/remove neighbours",
        )
    totals: list[Claim] = []
    needs_delta = False
    for kind in (PureDP, ZCDP, ApproxDP):
        if not any(isinstance(c, kind) for part in claims for c in part):
            continue
        chosen = [_stated(part, kind, delta) for part in claims]
        reached = differential.total(chosen, kind, delta=delta, parallel=bool(disjoint))
        totals += [reached] if reached is not None else []
        needs_delta |= kind is ApproxDP and delta is None and any(isinstance(c, ZCDP) for c in chosen)
    if not totals and needs_delta:
        raise ParameterError(
            "zCDP and (epsilon, delta) claims meet: a delta is needed for the zCDP part.",
            hint="compose(..., delta=1e-9)",
        )
    if not totals:
        return [NoGuarantee("not composed", f"The deltas for {first.unit} add up to 1 or more.")]
    return [t.assuming(_rule(first.unit, disjoint)) for t in totals] if disjoint else totals


def _stated(
    part: list[DifferentialPrivacy], kind: type[DifferentialPrivacy], delta: float | None
) -> DifferentialPrivacy:
    """The claim of a part to count with: of the kind, else the nearest to it. Each would be sound."""
    nearest = [kind, ZCDP, PureDP] if kind is ZCDP or delta is not None else [kind, PureDP, ZCDP]
    rank = {k: i for i, k in reversed(list(enumerate(nearest)))}
    return min(part, key=lambda c: (rank.get(type(c), len(nearest)), _size(c)))


def _size(claim: Claim) -> tuple[float, ...]:
    return tuple(getattr(claim, name, 0.0) for name in ("epsilon", "rho", "delta"))


def _rule(unit: Unit, rule: str) -> str:
    what = "no row is in two parts" if unit.of == "row" else "all rows of a person are in one part"
    return f"The parts are disjoint by a public rule that does not look at the data ({rule}): {what}"


def _apart(claim: Claim, disjoint: str) -> Claim:
    """A counted claim about persons stands beside others only if the parts share no person: it says so."""
    if not disjoint or claim.differential or claim.unit.of != "person" or isinstance(claim, NoGuarantee):
        return claim
    return claim.assuming(_rule(claim.unit, disjoint))


def _overlap(parts: tuple[Guarantee, ...], disjoint: str) -> tuple[Claim, ...]:
    """What follows for the claims that do not compose."""
    counted = [
        c
        for part in parts
        for c in part.claims
        if not c.differential
        and not isinstance(c, NoGuarantee | Account)
        # Different persons in every part: nobody has two releases of one person to compare.
        and not (disjoint and c.unit.of == "person")
    ]
    if not counted:
        return ()
    names = listed(sorted({c.title for c in counted}))
    return (
        NoGuarantee(
            "not composed",
            f"Each of these holds in its own release only, and nothing follows from it for the "
            "releases taken "
            f"together: {names}. Someone who has two releases of the same "
            "people can "
            "intersect them: a person hidden among k in each may be alone in both together.",
        ),
    )
