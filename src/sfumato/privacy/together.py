"""What leaves together is one release to who gets all of it: each part says what the whole costs."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.privacy.base import Claim
from sfumato.privacy.differential import ApproxDP
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.secret import NoGuarantee


def whole_of(parts: Sequence[Guarantee]) -> Guarantee | None:
    """What all parts that claim an epsilon promise together; None where there are not two of them."""
    paying = [p for p in parts if any(c.differential and not c.scope for c in p.claims)]
    if len(paying) < 2:
        return None
    # Where zCDP meets (epsilon, delta), the smallest delta that was stated is the one to convert at.
    deltas = [c.delta for p in paying for c in p.claims if isinstance(c, ApproxDP) and c.delta > 0]
    return paying[0].compose(*paying[1:], delta=min(deltas, default=None))


def sum_of(parts: Sequence[Guarantee], releases: int) -> tuple[Claim, ...]:
    """What is added to the guarantee of each of so many releases that leave together, if anything.

    parts: of each use of the data one: what was made of an earlier result costs nothing more.
    """
    whole = whole_of(parts)
    scope = f"all {releases} releases that left together"
    return () if whole is None else tuple(
        c.about(scope) for c in whole.claims
        if not c.scope and (c.differential or isinstance(c, NoGuarantee))
    )  # fmt: skip


def leaving_together(parts: Sequence[Guarantee]) -> tuple[Guarantee, ...]:
    """Each of several releases with the sum beside its own promise, as a claim about all of them."""
    added = Guarantee(sum_of(parts, len(parts)))
    return tuple(part & added for part in parts)


def judged_on_data(promised: Guarantee, met: bool) -> Guarantee:
    """The same of a release that would be a draft otherwise: that it is one, or none, is not covered."""
    chosen = (
        "That it was released says that it met limits that were measured on the data; that is not covered"
        if met
        else "That it says it missed limits tells what was measured on the data; that is not covered"
    )
    return Guarantee(tuple(c.assuming(chosen) if c.differential else c for c in promised.claims))
