"""One link: rows of a child belong to a row of its parent."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.errors import ParameterError


@dataclass(frozen=True)
class Link:
    """Each row of `child` belongs to the row of `parent` whose key is what the child has in `column`.

    key: the column of the parent; each of its values occurs once. reason: why it was found, if it was.

    >>> link = sf.Link("stays", "patient_id", "patients", "patient_id")
    >>> link.place, link.target
    ('stays.patient_id', 'patients.patient_id')
    """

    child: str
    column: str
    parent: str
    key: str
    reason: str = ""

    def __post_init__(self) -> None:
        if not all(
            isinstance(part, str) and part for part in (self.child, self.column, self.parent, self.key)
        ):
            raise ParameterError(
                "a link names two tables and a column of each.",
                hint='Link.of("stays.patient_id", "patients.patient_id")',
            )

    @classmethod
    def of(cls, child: str, parent: str, reason: str = "") -> Link:
        """From `table.column` of the child and `table.column` of the parent."""
        parts = [*str(child).partition("."), *str(parent).partition(".")]
        return cls(parts[0], parts[2], parts[3], parts[5], reason)

    @property
    def place(self) -> str:
        """`table.column` of the child."""
        return f"{self.child}.{self.column}"

    @property
    def target(self) -> str:
        """`table.column` of the parent."""
        return f"{self.parent}.{self.key}"

    def __str__(self) -> str:
        return f"{self.place} -> {self.target}"
