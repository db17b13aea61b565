"""What one worker stands on, and our own routes: scores, models, versions, budget, health."""

from __future__ import annotations

import asyncio
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from sfumato.errors import DataError, SfumatoError
from sfumato.privacy import Ledger
from sfumato.privacy.postgres import is_postgres
from sfumato.service import logs, request_parts
from sfumato.service.access import read as read_access
from sfumato.service.database import SharedRates, open_answers
from sfumato.service.drift import PERIODS, Recorder, report
from sfumato.service.installation import Installation
from sfumato.service.keys import ApiKey
from sfumato.service.limits import Limits
from sfumato.service.metrics import Metrics
from sfumato.service.middleware import NOTE, Note
from sfumato.service.registry import CURRENT, Registry, Served
from sfumato.service.replies import Fault, Refusal, dumps
from sfumato.service.scores import Question, Scorer, left, released
from sfumato.service.settings import Settings
from sfumato.service.telemetry import Telemetry
from sfumato.service.tokens import Tokens

_THREADS = 8  # for answers that have to be kept: they wait for the disk
_MOST_WAITING = 256
_TICK = 30.0  # seconds between two looks at whether a period of drift has ended
Route = tuple[str, str, Any]  # method, address, function


class Service:
    """All that the routes stand on, in one worker."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.certainty = settings, settings.certainty
        folder = settings.runtime or tempfile.mkdtemp(prefix="sfumato-")
        self.installation = Installation(settings.keys, create=True)
        self.registry = Registry(settings, self.installation)
        self.ledger = Ledger.open(settings.ledger) if settings.ledger else None
        self.answers = open_answers(settings.answers, self.installation.secret, settings.keep_hours)
        self.scoring = Scorer(self.answers, self.ledger, share=settings.share_answers)
        self.limits = Limits(Path(folder) / "limits")
        self.rates = SharedRates(settings.answers) if is_postgres(settings.answers) else None
        self.metrics = Metrics(folder)
        self.telemetry = Telemetry(settings.telemetry) if settings.telemetry else None
        self.drift: Recorder | None = None
        if settings.drift_ledger:
            payer, seconds = Ledger.open(settings.drift_ledger), PERIODS[settings.drift_period]
            self.drift = Recorder(Path(folder), settings.drift, payer, settings.drift_epsilon, seconds)
            self._tick(self.drift)
        access = read_access(settings.access) if settings.access else None
        self.tokens = None if access is None else Tokens(access, self.installation.secret, self.answers)
        self.threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="answers")
        self.waiting = 0

    def close(self) -> None:
        """Finish what was begun, then let go of all files."""
        self.threads.shutdown(wait=True)
        if self.tokens is not None:
            self.tokens.close()
        for extra in (self.rates, self.drift, self.telemetry):
            if extra is not None:
                extra.close()
        for part in (self.answers, self.limits, self.installation):
            part.close()

    # -- who asks ----------------------------------------------------------------------------------

    async def admit(self, request: Request, route: str) -> ApiKey:
        """The key of a call that may go on, or what a token stands for; it is counted against its rate."""
        note: Note = request.scope[NOTE]
        note.route = route
        given = request.headers.getlist("authorization")
        key = self.installation.holder(given[0]) if len(given) == 1 else None
        if key is None and self.tokens is not None and len(given) == 1:
            kind, _, token = given[0].partition(" ")
            if kind.lower() == "bearer" and token:
                key = self.tokens.known(token) or await self.tokens.holder_in_time(token)
        if key is None:
            raise Refusal("no_key", headers={"www-authenticate": "Bearer"})
        note.key = key.id
        wait = self.limits.wait(key)
        if not wait and self.rates is not None:
            wait = await self.rates.waited(key)
        if wait:
            raise Refusal("too_many_calls", headers={"retry-after": str(wait)})
        return key

    def served(self, request: Request, key: ApiKey, version: str) -> Served:
        """The model of the address; one that the key is not for is as unknown as one that is not there."""
        name = request.path_params["name"]
        found = self.registry.find(name, version) if key.may("score", name) else None
        if self.settings.only_current and found is not None and version != CURRENT:
            current = self.registry.find(name)
            found = found if current is not None and found.version == current.version else None
        if found is None:
            lost = version == CURRENT and key.may("score", name) and self.registry.versions(name)
            raise Refusal("unavailable" if lost else "unknown_model")
        note: Note = request.scope[NOTE]
        note.model, note.version = found.name, found.version
        return found

    # -- scores ------------------------------------------------------------------------------------

    async def score(self, request: Request) -> Response:
        """Score one row or many."""
        return Response(await self.score_bytes(request), media_type="application/json")

    async def score_bytes(self, request: Request) -> bytes:
        """The answer to a request for scores."""
        key = await self.admit(request, "score")
        given = request_parts.parameters(request, "version", "explain")
        version, explain = request_parts.version_of(given), request_parts.truth_of(given, "explain")
        served = self.served(request, key, version)
        under = request_parts.idempotency_key(request)
        body = await request_parts.body_of(request, self.settings.body_bytes, self.settings.seconds_to_send)
        rows, many = request_parts.rows_of(body, self.settings.most_rows, served.most_fields)
        told = b"" if under is None else b"\0".join([f"{served.name} {version} {explain}".encode(), body])
        who = request_parts.pseudonym(request) if self.drift is not None else b""
        question = Question(
            served, rows, many, explain, key, under, self.settings.decimals, told, who, self.certainty
        )
        return await self.scored(question)

    async def scored(self, question: Question) -> bytes:
        """The answer to a question, by whichever protocol it came; free, or paid for and kept."""
        if question.idempotency is None and not question.served.noisy:
            answer, outcomes = released(question), {"released": len(question.rows)}
        else:
            answer, outcomes = await self._kept(question)
        for how, number in outcomes.items():
            self.metrics.scored(how, number)
            if self.telemetry is not None:
                self.telemetry.scored(how, number)
        if self.drift is not None and await self._counts(question, self.drift):
            self.drift.note(question.served, question.rows)
        return answer

    async def _counts(self, question: Question, drift: Recorder) -> bool:
        """Whether a request counts: of a pseudonym, the first of the period."""
        if not question.pseudonym:
            return True
        parts = (question.served.name.encode(), str(drift.period).encode(), question.pseudonym)
        mark = self.answers.hash(b"drift", question.key.client.encode(), *parts)
        work = asyncio.get_running_loop().run_in_executor
        return await work(self.threads, self.answers.first, mark, drift.period + 2.0 * drift.seconds)

    async def tick(self) -> None:
        """Once in a while: periods of drift end, whether anybody asks or not."""
        while self.drift is not None:
            await asyncio.to_thread(self._tick, self.drift)
            await asyncio.sleep(_TICK)

    def _tick(self, drift: Recorder) -> None:
        found = [self.registry.find(name) for name in self.registry.names]
        drift.tick([served for served in found if served is not None])

    async def drift_report(self, request: Request) -> Response:
        """What was asked of a model over time, noisy; how far it is from the first period."""
        key = await self.admit(request, "drift")
        request_parts.parameters(request)
        served = self.served(request, key, CURRENT)
        if self.drift is None:
            raise Refusal("unknown")
        told = await asyncio.to_thread(report, self.drift.histograms, served.name)
        left = await asyncio.to_thread(getattr, self.drift.ledger, "left")
        return as_json(told | {"epsilon_per_period": self.drift.epsilon, "epsilon_left": left})

    async def _kept(self, question: Question) -> tuple[bytes, dict[str, int]]:
        """An answer that waits for the disk, on a thread; begun is finished, though the caller be gone."""
        if self.waiting >= _MOST_WAITING:
            raise Refusal("unavailable", headers={"retry-after": "1"})
        self.waiting += 1
        work = asyncio.get_running_loop().run_in_executor(self.threads, self.scoring.answer, question)
        work.add_done_callback(self._one_less)
        try:
            return await asyncio.shield(work)
        except Refusal as refusal:
            if refusal.code == "budget_spent":
                self.metrics.scored("refused")
            raise

    def _one_less(self, work: asyncio.Future[Any]) -> None:
        self.waiting -= 1
        if not work.cancelled():
            work.exception()  # looked at, so that nobody complains if the caller is gone

    # -- models ------------------------------------------------------------------------------------

    async def models(self, request: Request) -> Response:
        """The models this key may ask."""
        key = await self.admit(request, "models")
        request_parts.parameters(request)
        return as_json({"models": [served.summary() for served in self.allowed(key)]})

    def allowed(self, key: ApiKey) -> list[Served]:
        """The current versions of the models that a key is for."""
        found = [self.registry.find(name) for name in self.registry.names if key.may("score", name)]
        return [served for served in found if served is not None]

    async def model(self, request: Request) -> Response:
        """One model, with its guarantee in full."""
        key = await self.admit(request, "model")
        version = request_parts.version_of(request_parts.parameters(request, "version"))
        served = self.served(request, key, version)
        current = self.registry.find(served.name)
        closed = self.settings.only_current
        about = served.document() | {
            "signer_compared": bool(self.settings.trusted),
            "versions": [served.version] if closed else self.registry.versions(served.name),
            "current": current.version if current else None,
            "drift": self.drift is not None,
        }
        return as_json(about)

    async def activate(self, request: Request) -> Response:
        """Make a version current."""
        key = await self.admit(request, "activate")
        if not key.may("admin"):
            raise Refusal("not_allowed")
        request_parts.parameters(request)
        body = await request_parts.body_of(request, 4096, self.settings.seconds_to_send)
        content = request_parts.parsed(body)
        version = (
            content.get("version") if isinstance(content, dict) and set(content) == {"version"} else None
        )
        if not isinstance(version, str) or not request_parts.NAME.fullmatch(version) or version == "current":
            raise Refusal("invalid", [Fault(0, "version", "an object with the version to activate")])
        name = request.path_params["name"]
        if self.registry.find(name, version) is None:
            await asyncio.to_thread(self.registry.look)
        found = self.registry.find(name, version)
        if found is None:
            raise Refusal("unknown_model")
        head = self.installation.activate(found.name, found.version, who=key.id)
        return self._changed(request, found, head)

    async def rollback(self, request: Request) -> Response:
        """Make the version current that was so before."""
        key = await self.admit(request, "rollback")
        if not key.may("admin"):
            raise Refusal("not_allowed")
        request_parts.parameters(request)
        name = request.path_params["name"]
        at_hand = self.registry.versions(name)
        if not at_hand:
            raise Refusal("unknown_model")
        try:
            version, head = self.installation.roll_back(name, at_hand, who=key.id)
        except DataError:
            raise Refusal("no_earlier_version") from None
        found = self.registry.find(name, version)
        if found is None:
            raise Refusal("unavailable")
        return self._changed(request, found, head)

    def _changed(self, request: Request, served: Served, head: str) -> Response:
        note: Note = request.scope[NOTE]
        note.model, note.version = served.name, served.version
        logs.event(
            "activated", id=note.id, key=note.key, model=served.name, version=served.version, head=head
        )
        return as_json({"model": served.name, "current": served.version})

    async def budget(self, request: Request) -> Response:
        """What is left for this key's client."""
        key = await self.admit(request, "budget")
        request_parts.parameters(request)
        about: dict[str, Any] = {"client": key.client, "kind": None, "left": None, "left_of_client": None}
        if self.ledger is not None:
            about["kind"] = self.ledger.budget.kind
            if key.may("admin"):  # to others it would tell how much the rest of the world asks
                about["left"] = await asyncio.to_thread(getattr, self.ledger, "left")
            about["left_of_client"] = await asyncio.to_thread(left, self.ledger, key.client)
        return as_json(about)

    # -- the house ---------------------------------------------------------------------------------

    async def healthz(self, request: Request) -> Response:
        """The process is there."""
        request.scope[NOTE].route = "healthz"
        return as_json({"status": "ok"})

    async def readyz(self, request: Request) -> Response:
        """Every model has a current version at hand, every file can be reached, and the ledger pays."""
        request.scope[NOTE].route = "readyz"
        locked = ""
        try:
            self.installation.refresh()
            missing = [name for name in self.registry.names if self.registry.find(name) is None]
            await asyncio.to_thread(self.answers.find, b"ready")
            if self.ledger is not None:
                await asyncio.to_thread(getattr, self.ledger, "head")
                locked = await asyncio.to_thread(getattr, self.ledger, "locked")
        except SfumatoError:
            raise Refusal("unavailable") from None
        if missing or locked:
            raise Refusal("unavailable")
        return as_json({"status": "ready"})

    async def metrics_text(self, request: Request) -> Response:
        """The counters of all workers."""
        key = await self.admit(request, "metrics")
        if not key.may("metrics"):
            raise Refusal("not_allowed")
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    def routes(self) -> list[Route]:
        """Our own."""
        return [
            ("POST", "/v1/models/{name}/score", self.score),
            ("GET", "/v1/models", self.models),
            ("GET", "/v1/models/{name}", self.model),
            ("POST", "/v1/models/{name}/activate", self.activate),
            ("POST", "/v1/models/{name}/rollback", self.rollback),
            ("GET", "/v1/budget", self.budget),
            *([("GET", "/v1/models/{name}/drift", self.drift_report)] if self.drift is not None else []),
            ("GET", "/healthz", self.healthz),
            ("GET", "/readyz", self.readyz),
            ("GET", "/metrics", self.metrics_text),
        ]


def as_json(content: object) -> Response:
    """An answer."""
    return Response(dumps(content), media_type="application/json")
