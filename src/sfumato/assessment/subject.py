"""What is judged, as the user gave it: one value that every step hands on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError
from sfumato.hierarchy import Hierarchy
from sfumato.schema import Schema, Value
from sfumato.seeds import Key

if TYPE_CHECKING:
    from sfumato.assessment.attacks.fellegi_sunter import AttackDatabase
    from sfumato.assessment.audit import Audit
    from sfumato.assessment.utility.models import Model

EFFORTS = ("quick", "normal", "thorough")
Hierarchies = str | Path | Mapping[str, Hierarchy | Mapping[str, Sequence[Value]]]
Maker = Callable[..., Any]
"""(table, key) -> a Release or a table."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Subject:
    """An original and a release, and what is known of them: see `assess` for what each field means."""

    original: Any
    released: Any
    control: Any = None
    schema: Schema | str | Path | None = None
    quasi_identifiers: Sequence[str] | None = None
    sensitive: Sequence[str] | None = None
    target: str | None = None
    weight: str | None = None
    population: Any = None
    hierarchies: Hierarchies | None = None
    truth: str | None = None
    key: Key | None = None
    effort: str = "normal"
    database: AttackDatabase | None = None
    formulas: Mapping[str, Model] | None = None
    earlier: Sequence[Any] = ()
    maker: Maker | None = None
    audit: Audit | Sequence[Audit] | None = None

    def __post_init__(self) -> None:
        from sfumato.assessment.audit import Audit

        faults = []
        if self.effort not in EFFORTS:
            faults.append((f"effort is one of {', '.join(EFFORTS)}", "effort='normal'"))
        if self.truth not in (None, "rows"):
            faults.append(("truth is 'rows' or None", "'rows': row i was made of row i"))
        if self.maker is not None and not callable(self.maker):
            faults.append(("maker is no function", "maker=lambda table, key: ..."))
        if not all(isinstance(a, Audit) for a in self.audits):
            faults.append(("audit is not what sf.audit gives back", "audit=sf.audit(mechanism, ...)"))
        if isinstance(self.earlier, str | Path) or not isinstance(self.earlier, Sequence):
            faults.append(("earlier is a list of releases", "earlier=['first.csv']"))
        if faults:
            words, hints = zip(*faults, strict=True)
            raise ParameterError(f"{'; '.join(words)}.", hint="; ".join(hints))

    @property
    def audits(self) -> tuple[Audit, ...]:
        """The audits that were given."""
        if self.audit is None:
            return ()
        return tuple(self.audit) if isinstance(self.audit, Sequence) else (self.audit,)
