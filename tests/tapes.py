"""A tape of a fit: what was asked of the data, for how much, and what was answered.

A fit to a neighbour is given the same answers. If a promise is proven as `private/purse.py` has it, then at
every draw the same is asked for the same amount, and the exact values differ by no more than the sensitivity
that the noise is scaled to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import persons as choice
from sfumato.synthesis.private import potentials, purse


class Refuted(AssertionError):
    """A neighbour can be told apart by more than the noise covers."""


@dataclass
class Tape:
    """What was asked, for how much, and what was answered. norm: of the differences that noise covers."""

    asked: list[tuple[str, Any, float, Fraction]] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)
    place: int | None = None  # while a neighbour is answered

    def draw(self, name: str, norm: Callable[[Any], float]) -> Callable[..., Any]:
        real = getattr(purse, name)

        def drawn(values: Any, sensitivity: float, grant: Any) -> Any:
            exact = np.asarray(values).astype(np.int64)
            if self.place is None:
                self.asked.append((name, exact, float(sensitivity), grant.loss))
                self.answers.append(real(values, sensitivity, grant))
                return self.answers[-1]
            if self.place == len(self.asked):
                raise Refuted("a further draw")
            before, number = self.asked[self.place], self.place
            self.place += 1
            if (name, exact.shape, sensitivity, grant.loss) != (before[0], before[1].shape, *before[2:]):
                raise Refuted("another question, or another amount")
            if norm((exact - before[1]).ravel()) > sensitivity:
                raise Refuted("more than the sensitivity")
            return self.answers[number]

        return drawn


def taped(monkeypatch: pytest.MonkeyPatch) -> Tape:
    tape = Tape()
    norms = {
        "gaussian": lambda d: float(np.sqrt(float((d * d).sum()))) * (1 - 1e-12),
        "laplace": lambda d: float(np.abs(d).sum()),
        "noisy_max": lambda d: float(np.abs(d).max()),
    }
    for name, norm in norms.items():
        monkeypatch.setattr(purse, name, tape.draw(name, norm))
    monkeypatch.setattr(potentials, "_LEAST", 300)  # fewer particles: nothing here is about accuracy
    # The coins that choose a person's rows: the same for all persons that both tables have.
    monkeypatch.setattr(choice, "Key", SimpleNamespace(fresh=lambda: sf.Key.from_seed(7)))
    return tape
