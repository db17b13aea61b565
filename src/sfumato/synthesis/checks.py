"""What is wrong with the parameters of PeGS, all at once, before any work."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, SupportsIndex

from sfumato.errors import ParameterError
from sfumato.privacy import Neighbours
from sfumato.privacy.rounding import exact
from sfumato.synthesis.models import FAMILIES
from sfumato.synthesis.parents import of_variables
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.synthesis.blocks import Blocks
    from sfumato.synthesis.pegs import PeGS

_MOST = 1000.0  # epsilon of one row: more is a slip of the pen
_LARGEST_ALPHA = 1e9


def whole(name: str, number: SupportsIndex) -> int:
    """A whole number, at least 1."""
    try:
        found = operator.index(number) if not isinstance(number, bool) else 0
    except TypeError:
        found = 0
    if found < 1:
        raise ParameterError(f"{name} must be a whole number, at least 1.", hint=f"{name}=1000")
    return found


def faults(method: PeGS) -> list[str]:
    """Everything wrong with the parameters, as sentences."""
    found = []
    kinds = ("epsilon", "epsilon_per_row", "alpha", "log_l")
    if sum(getattr(method, k) is not None for k in kinds) != 1:
        found.append("give one of epsilon (all rows), epsilon_per_row, alpha and log_l")
    more = ("parents_epsilon", "prior_epsilon", "models_epsilon", "prior_floor")
    amounts = {k: getattr(method, k) for k in (*kinds, *more)}
    for name, amount in amounts.items():
        real = isinstance(amount, (int, float)) and not isinstance(amount, bool) and math.isfinite(amount)
        if amount is None or (
            real and (0 < amount <= _MOST or (name == "alpha" and 0 <= amount <= _LARGEST_ALPHA))
        ):
            continue
        found.append(f"{name} must be a number above 0" + f", at most {_MOST:g}" * (name != "alpha"))
    for name in ("block", "sweeps", "declared_rows"):
        number = getattr(method, name)
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
            found.append(f"{name} must be a whole number, at least 1")
    for name, allowed in (("choose", ("privately", "data")), ("prior", ("uniform", "marginal")),
                          ("domain", ("public", "data")), ("neighbours", tuple(Neighbours))):  # fmt: skip
        if getattr(method, name) not in allowed:
            found.append(f"{name} must be {' or '.join(allowed)}")
    if not isinstance(method.seeds, Table) and method.seeds not in ("uniform", "data"):
        found.append("seeds must be uniform, data, or a public table")
    if not isinstance(method.parents, Mapping) and method.parents != "auto":
        m = method.parents
        if isinstance(m, bool) or not isinstance(m, int) or not 0 <= m <= 8:
            found.append("parents must be {column: parents}, a number up to 8, or auto")
    if not isinstance(method.models, Mapping) or not set(method.models.values()) <= set(FAMILIES):
        found.append(f"models must be {{column: {' or '.join(FAMILIES)}}}")
    if isinstance(method.smoothing, bool) or method.smoothing not in range(11):
        found.append("smoothing must be a whole number of sixteenths, 0 to 10")
    return found or _clashes(method)


def _clashes(method: PeGS) -> list[str]:
    faults = []
    if not 0.01 <= method.prior_floor <= 1:
        faults.append("prior_floor must be between 0.01 and 1")
    if method.epsilon is not None and method.before >= exact(method.epsilon):
        faults.append("parents, prior and models take the whole epsilon")
    if method.log_l is not None and (method.block or method.prior != "uniform" or method.smoothing):
        faults.append("block, prior and smoothing go with differential privacy, not with log_l")
    if method.weight is not None and method.prior == "marginal":
        faults.append("marginals of weighted rows are not noised: use the uniform prior")
    return faults


def fits(method: PeGS, blocks: Blocks) -> None:
    """Blocks that were made before must be those that the method speaks of, with all that they cost."""
    faults = []
    if isinstance(method.parents, Mapping):
        given = {n: p for n, p in of_variables(blocks.domain, method.parents).items() if p}
        if given != {n: p for n, p in blocks.parents.items() if p and n not in blocks.domain.details}:
            faults.append("their parents are not those that were declared")
    if blocks.chosen == "privately":
        if exact(method.on_parents) < exact(blocks.epsilon):
            faults.append(f"choosing their parents took epsilon = {blocks.epsilon:g}, which must be counted")
        if blocks.neighbours is not method.neighbours:
            faults.append("their parents were chosen for other neighbours")
    if method.weight != (blocks.domain.weight.name if blocks.domain.weight is not None else None):
        faults.append("their rows are counted by another weight")
    if method.seeds == "data":
        faults.append("seeds from the data need the data")
    if faults:
        raise ParameterError(f"the blocks do not fit: {'; '.join(faults)}.", hint="see docs/blocks.md")
