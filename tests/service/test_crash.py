"""Killed at the worst moments: what was answered was paid for, and what was kept is said again."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from serving import WHOLE

from sfumato.privacy import Ledger

SCORE = "/v1/models/dpat/score"
MARK = {"idempotency-key": "visit-17"}


def dying(stage: str, spend: Callable) -> None:
    """In a process of its own: a service that kills itself right after a stage of its first noisy answer."""
    ask, service = spend()

    def then_die(function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any, **more: Any) -> Any:
            function(*given, **more)
            os.kill(os.getpid(), signal.SIGKILL)

        return step

    model = service.registry.find("dpat").model
    place, name = {
        "debit": (service.ledger, "grants"),
        "draw": (model, "score_noisy"),
        "keep": (service.answers, "keep"),
    }[stage]
    object.__setattr__(place, name, then_die(getattr(place, name)))
    ask("POST", SCORE, WHOLE, headers=MARK)


@pytest.mark.parametrize(("stage", "spent_after"), [("debit", 1.0), ("draw", 1.0), ("keep", 0.5)])
def test_spent_is_never_below_what_was_answered(
    stage: str, spent_after: float, spend: Callable, ledger: Ledger, tmp_path: Path
) -> None:
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            dying(stage, spend)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert ledger.spent == 0.5  # nobody was answered, and yet it is spent
    ask, _ = spend()  # the service starts anew on the same files
    again = ask("POST", SCORE, WHOLE, headers=MARK)
    assert again.status == 200 and ledger.spent == spent_after
    assert ask("POST", SCORE, WHOLE, headers=MARK).body == ask("POST", SCORE, WHOLE).body == again.body
    assert ledger.spent == spent_after


def test_a_dead_worker_holds_up_nobody(spend: Callable, ledger: Ledger) -> None:
    _, service = spend()
    question = service.answers.hash(b"x")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        from sfumato.service.single_flight import SingleFlight

        flights = SingleFlight(Path(service.settings.answers).with_name("answers-locks"))
        with flights.alone(question):
            os.write(write, b"!")
            signal.pause()
    os.read(read, 1)
    service.answers._flights._patience = 0.05
    with pytest.raises(Exception, match="busy"), service.answers.alone(question):
        pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with service.answers.alone(question):
        pass
