"""What a release of PeGS promises, and every part of it that depends on the data.

Guarantee: the claim's epsilon, for the released rows together: what each visit costs (`perturbation`)
           times the visits, and what was spent on parents (`parents`) and prior (`pegs`).
Because:   rows, or blocks, start from the intact tables, so their losses add up; sequential composition.
Assumes:   what the claim lists.
Tested by: tests/synthesis/test_pegs.py, tests/synthesis/test_audit.py
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from sfumato.privacy import Claim, DiverseLaw, Guarantee, NoGuarantee, PureDP
from sfumato.privacy.rounding import down, exact, shown, up
from sfumato.schema.domains import READ_OFF, grounds, with_search
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.synthesis.fitted_pegs import FittedPeGS
    from sfumato.synthesis.pegs import PeGS


def guarantee(fitted: FittedPeGS, rows: int, spent: float | None) -> Guarantee:
    """The promise of so many rows."""
    method, open_ = fitted.method, _open(fitted)
    claims: list[Claim] = []
    if method.log_l is not None:
        fewest = fitted.blocks.domain.fewest
        capped = [n for n, size in fewest.items() if math.log(size) < method.log_l - 1e-12]
        l = down(exact(math.exp(method.log_l) * (1 - 1e-12)))  # noqa: E741
        law = DiverseLaw(max(1.0, l), fitted.blocks.domain.names, tuple(capped))
        claims.append(law.assuming(*_shared(fitted)))
        open_.insert(0, ("not differentially private", "The laws were learnt from the data without noise."))
    elif method.alpha == 0:
        open_.insert(0, ("no noise", "With alpha = 0 the laws are those of the data."))
    elif not open_:
        assert spent is not None
        own = PureDP(spent, neighbours=method.neighbours).assuming(
            *_cost(fitted, rows, spent), *_shared(fitted)
        )
        claims.append(with_search(own, fitted.blocks.domain.search_cost(method.neighbours)))
    for reason, detail in open_:
        alone = "" if spent is None else (
            f" Without this part the rows would satisfy epsilon = {shown(spent)} in all, "
            f"{method.neighbours} neighbours; with it nothing is known."
        )  # fmt: skip
        claims.append(NoGuarantee(reason, detail + alone))
    return Guarantee(tuple(claims))


def _open(fitted: FittedPeGS) -> list[tuple[str, str]]:
    """The parts that look at the data outside any proof: reason and detail."""
    out = []
    if fitted.blocks.chosen == "data" and fitted.method.parents != 0:  # to find none is a finding too
        out.append(("parents from the data", "Which columns depend on which was read off the data."))
    if fitted.method.seeds == "data":
        out.append(("seeds from the data", "Sampling started from rows of the data."))
    if not fitted.blocks.domain.public:
        out.append(
            (
                "domain from the data",
                READ_OFF,
            )
        )
    return out


def _cost(fitted: FittedPeGS, rows: int, spent: float) -> list[str]:
    """How the total comes about."""
    method, before = fitted.method, fitted.method.before
    each = shown(up((exact(spent) - before) / rows))
    parts = [f"The total is for {rows:,} released rows, epsilon = {each} each"]
    if method.block:
        unit = shown(up((exact(spent) - before) / fitted.units(rows)))
        parts.append(f"Rows come in blocks of {method.block}, epsilon = {unit} a block")
    if method.sweeps > 1:
        parts.append(f"{method.sweeps} sweeps for each row are counted in")
    if method.on_parents:
        parts.append(f"epsilon = {shown(method.on_parents)} of it chose the parents")
    if method.on_prior:
        parts.append(f"epsilon = {shown(method.on_prior)} of it noised the marginals of the prior")
    if method.on_models:
        named = ", ".join(method.models)
        parts.append(f"epsilon = {shown(method.on_models)} of it noised the models of {named}, for any rows")
    parts.append("Further rows, drawn from the same data under another key, add to the total")
    parts.append("The number of released rows was chosen without looking at the data")
    return parts


def _shared(fitted: FittedPeGS) -> list[str]:
    """What the promise rests on."""
    domain, method = fitted.blocks.domain, fitted.method
    out: list[str] = []
    if domain.public:
        out += grounds(domain.columns)
    if fitted.blocks.chosen == "declared" and any(fitted.blocks.parents.values()):
        out.append("Which columns depend on which was declared without looking at the data")
    if isinstance(method.seeds, Table):
        out.append("The rows that sampling starts from are public, and none comes from the data")
    if domain.constraints:
        out.append("The combinations that cannot be were declared without looking at the data")
    if domain.weight is not None:
        top = domain.weight.edges[-1] if domain.weight.edges else 0
        out.append(f"Weights above the public largest one ({float(top):g}) count as that")  # type: ignore[arg-type]
    if method.declared_rows is not None:
        out.append("The number of rows behind the choice of how many parents is public")
    return out


def about(fitted: FittedPeGS) -> str:
    """A sentence for the card."""
    name = "PeGS.rs" if fitted.method.block else "PeGS"
    return (
        f"Synthetic rows, drawn by {name} (a perturbed Gibbs sampler) from counts of person-level data. No "
        "row is that of a person; what was learnt from persons is bounded by what is promised below, and by "
        "nothing else."
    )


def plan(method: PeGS, rows: int) -> dict[str, Any]:
    """What was asked for, as JSON."""
    asked: dict[str, Any] = {"method": "pegs", "rows": rows}
    for f in fields(method):
        given = getattr(method, f.name)
        if isinstance(given, Table):
            given = "a public table"
        elif isinstance(given, Mapping):
            given = {k: v if isinstance(v, str) else list(v) for k, v in given.items()}
        elif f.name == "constraints":
            given = [repr(c) for c in given]
        elif isinstance(given, (list, tuple)):
            given = list(given)
        if given != f.default:
            asked[f.name] = given
    return asked
