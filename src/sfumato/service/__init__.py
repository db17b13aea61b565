"""The service: risk scores by HTTP, from released models, never from data.

A released model answers for nothing: its privacy was paid for once, when it was fitted. A noisy model (DPaT)
is served only on request, pays for each answer from a ledger before the noise is drawn, and says in each
answer that its promise is unproved.

Start at `app`, the routes. `middleware` stands before all of them (request ids, logs, metrics, headers);
`request_parts` reads a question, `scores` says what a score is and costs, `answers` what was answered before
(one at a time: `single_flight`), `replies` what goes back when it is refused. `registry` has the models,
`installation` keys, active versions and the secret, `settings` what is served and how; `server` starts the
processes. It knows released models and ledgers; it never opens data.
"""

from __future__ import annotations

from sfumato.service.settings import Settings

__all__ = ["Settings"]
