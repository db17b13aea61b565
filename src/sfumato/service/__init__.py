"""The service: risk scores by HTTP, from released models, never from data.

A released model answers for nothing: its privacy was paid for once, when it was fitted. A noisy model (DPaT)
is served only on request, pays for each answer from a ledger before the noise is drawn, and says in each
answer that its promise is unproved.

The rooms: `settings` what is served and how; `installation` keys, active versions and the secret; `registry`
the models; `scoring` what a score costs and says; `answers` what was answered before; `app` the routes;
`front` what stands before all of them (request ids, logs, metrics, headers); `running` the processes.
"""

from __future__ import annotations

from sfumato.service.settings import Settings

__all__ = ["Settings"]
