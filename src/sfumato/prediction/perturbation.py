"""epsilon-DiffPerturbation, Section 5.2.2 and 5.2.3: the noise a leaf's answer gets at each call.

    API output = n_.1 / n_.. + Laplace(0, Delta / epsilon),    Delta = phi - chi, or their mean over trees

Guarantee: none, although the chapter claims epsilon-differential privacy for each call. Delta is the
           *local* sensitivity: it is computed from the leaf itself, so the scale of the noise tells of the
           data. A leaf of n negative rows gets noise of scale 1/(n + 1); with one positive row more,
           2/(n + 2), so an answer near 1 is exp((n - 1)/2) times likelier than before.
Tested by: tests/prediction/test_dpat_audit.py

Numbers are whole multiples of 2^-30, so that the noise is OpenDP's exact discrete one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.prediction.structures import Node
from sfumato.prediction.variables import TreeVariable
from sfumato.privacy import Guarantee, NoGuarantee
from sfumato.privacy.grants import Grant
from sfumato.privacy.noise import laplace

UNIT = 2**30
REASON = "a claim of differential privacy that does not hold"


class Output(NamedTuple):
    """What a call would answer without noise, and the Delta that its noise is scaled by."""

    chance: float
    delta: float


def sensitivity(n1: int, n: int) -> tuple[float, float]:
    """Section 5.2.2's phi and chi, as corrected: the largest and least n_.1/n_.. of a leaf one row away.

    phi = max((n1 + 1)/(n + 1), n1/(n - 1)), chi = min(n1/(n + 1), (n1 - 1)/(n - 1)). Printed are n_.. for the
    first denominator and n_.1 + 1 for the third numerator. Four cases: a positive or a negative row comes or
    goes; one that is not there cannot go.
    """
    shares = [(n1 + 1) / (n + 1), n1 / (n + 1)]
    if n > 1:
        shares += [(n1 - 1) / (n - 1)] * (n1 > 0) + [n1 / (n - 1)] * (n1 < n)
    return max(shares), min(shares)


def output(leaves: Sequence[Node]) -> Output:
    """The mean answer of the leaves that a row reaches, one in each tree, and the mean of their Delta."""
    ranges = [sensitivity(leaf.positives, leaf.size) for leaf in leaves]
    count = len(leaves)
    return Output(
        math.fsum(leaf.chance for leaf in leaves) / count, math.fsum(phi - chi for phi, chi in ranges) / count
    )


def noised(answer: Output, calls: int, grant: Grant) -> NDArray[np.float64]:
    """The answers to so many calls, each with noise of its own; the grant is for all of them together.

    With a grant of calls * epsilon the scale is Delta / epsilon for each. Answers are as the chapter has
    them: they may lie outside [0, 1].
    """
    values = np.full(calls, round(answer.chance * UNIT), np.int64)
    return laplace(values, calls * math.ceil(answer.delta * UNIT), grant).values / UNIT


def claim(epsilon: float | None, variables: Sequence[TreeVariable]) -> Guarantee:
    """What DPaT and EDPaT promise: nothing, and why."""
    answered = "The true shares are answered." if epsilon is None else (
        f"Each call claims epsilon = {epsilon:g}, and the claim is false."
    )  # fmt: skip
    detail = (
        f"{answered} The structure of the trees is computed from the data without noise, and whether a "
        "node is split can hang on one row; the noise is scaled by the local sensitivity, so its size "
        "tells of the data. Data sets that differ in one row are known whose answers tell them apart "
        "beyond any bound."
    )
    if not all(v.public for v in variables):
        detail += " Thresholds or levels were read off the data, too."
    return Guarantee.of(NoGuarantee(REASON, detail))
