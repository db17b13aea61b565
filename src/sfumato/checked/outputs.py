"""One output of an analysis: what it shows, what was decided, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.checked.tables import TableBlock

if TYPE_CHECKING:
    import pandas as pd

Decision = Literal["pass", "review", "refused"]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class GivenBlock:
    """A block of a table, and which of its cells were withheld. base: they are rounded to its multiples."""

    block: TableBlock
    withheld: Flags
    base: int | None = None


@dataclass(eq=False)
class CheckedOutput:
    """One output. frames: as they would leave.  reasons: of the decision.  files: of others' making.

    decision: pass, review (a person must look at it) or refused.  comments: the analyst's.  exception: why
    the analyst asks to let it go nevertheless.  found: what the tables of the analysis tell together.
    """

    name: str
    kind: str
    command: str
    decision: Decision
    reasons: list[str]
    frames: list[pd.DataFrame]
    when: str
    blocks: tuple[GivenBlock, ...] = ()
    comments: list[str] = field(default_factory=list)
    exception: str = ""
    files: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Decision:
        """The decision, with what was found by looking at all outputs together."""
        return "refused" if self.found else self.decision

    @property
    def leaves(self) -> bool:
        """It may leave: nothing speaks against it, or only a person can say."""
        return self.verdict != "refused"
