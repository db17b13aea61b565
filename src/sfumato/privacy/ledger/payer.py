"""Who a method asks for the grant that it draws for."""

from __future__ import annotations

from typing import Protocol

from sfumato.privacy.grants import Budget, Grant


class Payer(Protocol):
    """A ledger, or what stands before one: asked once, when nothing is left that could be wrong."""

    @property
    def budget(self) -> Budget:
        """What the amounts are about: the unit and the neighbours of a grant are its own."""
        ...

    def grant(
        self,
        *,
        epsilon: float | None = None,
        rho: float | None = None,
        delta: float = 0.0,
        purpose: str,
    ) -> Grant:
        """Debit, durably, and give a grant; or refuse and debit nothing."""
        ...
