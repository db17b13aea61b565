"""The one refusal of an attack that speaks for the release: it gives this attack nothing to begin with."""

from __future__ import annotations

from sfumato.errors import DataError


class NothingToAttack(DataError):
    """There is nobody, or nothing, to attack. Every other refusal leaves open what the attack would reach."""
