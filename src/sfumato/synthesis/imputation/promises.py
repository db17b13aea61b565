"""What releases of imputation promise: nothing that was proved, and why.

Guarantee: none.
Because:   models learnt from people without noise tell of them what they tell, and no bound is known: a
           tree's leaf can hold five persons, a coefficient can follow one.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.errors import ParameterError, listed
from sfumato.privacy import Guarantee, NoGuarantee
from sfumato.schema.domains import READ_OFF
from sfumato.seeds import Key
from sfumato.synthesis.imputation.variables import Variables

LEARNT = NoGuarantee(
    "models without noise",
    "The models were learnt from the data without noise. Nothing bounds what the drawn cells tell about a "
    "person: how much that is must be measured, and several data sets from the same models tell more "
    "than one.",
)


def of_rows(variables: Variables, repeated: NoGuarantee) -> Guarantee:
    """New rows throughout. repeated: how many of them are a row of the data."""
    return Guarantee.of(LEARNT, repeated, *of_domain(variables))


def of_domain(variables: Variables) -> list[NoGuarantee]:
    """Levels that nobody declared."""
    if variables.public:
        return []
    return [NoGuarantee("domain from the data", READ_OFF)]


def of_real_rows(kept: Sequence[str], changed: Sequence[str], which: str) -> NoGuarantee:
    """Rows of people in which some cells are new."""
    shown = listed([repr(n) for n in kept], 12) if kept else "no column"
    return NoGuarantee(
        "rows of people",
        f"Each row is that of a person. Cells of {listed([repr(n) for n in changed], 12)} were drawn from "
        f"models {which}; {shown} hold their true values throughout, and whoever knows these can find a "
        "person's row by them.",
    )


def key_of(key: Key | None, seed: int | None) -> Key:
    """The key to draw with: given, of a seed, or a fresh one."""
    if key is not None and seed is not None:
        raise ParameterError("a key and a seed were given.", hint="give one of them")
    return key or (Key.fresh() if seed is None else Key.from_seed(seed))
