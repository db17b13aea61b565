"""FHIR at the door: CDS Hooks (patient-view) and a route that answers a Bundle with a RiskAssessment.

An EHR sends what its prefetch brought; the service never asks the EHR's FHIR server for more. A card says the
score, its interval where the model has one, what it rests on, what was converted, what is missing, and what
the model promises to the people it was learnt from. Without a score the card says why.
"""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from sfumato.errors import DataError
from sfumato.io.fhir import Mapping, PatientFeatures, faults_of, read_features, resources_of, risk_assessment
from sfumato.service import request_parts
from sfumato.service.keys import ApiKey
from sfumato.service.middleware import NOTE
from sfumato.service.registry import Served
from sfumato.service.replies import REFUSALS, Fault, Refusal, dumps
from sfumato.service.scores import Question
from sfumato.service.worker import Route, Service, as_json

_ID = re.compile(r"[A-Za-z0-9.-]{1,64}")
_SUMMARY = 139  # characters of a summary, by the standard fewer than 140
_FIELDS = {"hook", "hookInstance", "fhirServer", "fhirAuthorization", "context", "prefetch", "extension"}


class CdsHooks:
    """One decision-support service for each model that has a mapping."""

    def __init__(self, service: Service, mappings: dict[str, Mapping]) -> None:
        self._service = service
        self._mappings = {name: m for name, m in mappings.items() if service.registry.versions(name)}
        unknown = sorted(set(mappings) - set(self._mappings))
        if unknown:
            raise DataError(
                f"the FHIR mapping names {len(unknown)} models that are not served.", hint="--fhir FILE"
            )
        for name, mapping in self._mappings.items():
            _require_features(mapping, service.registry.find(name))

    def routes(self) -> list[Route]:
        """Method, address and function of each."""
        return [
            ("GET", "/cds-services", self.discovery),
            ("POST", "/cds-services/{name}", self.hook),
            ("POST", "/v1/models/{name}/fhir", self.assessment),
        ]

    async def discovery(self, request: Request) -> Response:
        """The services there are. Without a key all of them, as EHRs ask; with one those it is for."""
        request.scope[NOTE].route = "cds"
        request_parts.parameters(request)
        names = list(self._mappings)
        if "authorization" in request.headers:
            key = await self._service.admit(request, "cds")
            names = [name for name in names if key.may("score", name)]
        return as_json(
            {
                "services": [
                    {
                        "hook": "patient-view",
                        "id": name,
                        "title": self._mappings[name].title or name,
                        "description": f"The risk score of the released model {name}, for the open patient.",
                        "prefetch": self._mappings[name].queries(),
                    }
                    for name in names
                ]
            }
        )

    # -- the hook ----------------------------------------------------------------------------------

    async def hook(self, request: Request) -> Response:
        """Cards for the patient whose chart was opened."""
        key, mapping, served = await self._asked(request, "cds")
        body = request_parts.parsed(await self._body(request))
        patient, prefetch = _hook_request(body)
        if prefetch is None:
            raise Refusal("no_prefetch")
        entries = _entries([r for r in prefetch.values() if r is not None])
        looked = prefetch.get("conditions") is not None or any(
            r["resourceType"] == "Condition" for _, r in entries
        )
        reading = _reading(mapping, entries, patient, looked)
        try:
            answer = await self._scored(served, key, reading)
        except Refusal as refusal:
            if refusal.code != "invalid":
                raise
            return as_json({"cards": [_no_score(served, mapping, reading, refusal)]})
        return as_json({"cards": [_card(served, mapping, reading, answer)]})

    async def assessment(self, request: Request) -> Response:
        """A Bundle of one patient in, a RiskAssessment out."""
        key, mapping, served = await self._asked(request, "cds")
        content = request_parts.parsed(await self._body(request))
        reading = _reading(mapping, _entries([content]), "", True)
        answer = await self._scored(served, key, reading)
        return Response(
            dumps(_assessed(served, mapping, reading, answer)), media_type="application/fhir+json"
        )

    async def _asked(self, request: Request, route: str) -> tuple[ApiKey, Mapping, Served]:
        key = await self._service.admit(request, route)
        request_parts.parameters(request)
        served = self._service.served(request, key, "current")
        mapping = self._mappings.get(served.name)
        if mapping is None:
            raise Refusal("unknown_model")
        return key, mapping, served

    async def _body(self, request: Request) -> bytes:
        settings = self._service.settings
        return await request_parts.body_of(request, settings.body_bytes, settings.seconds_to_send, fhir=True)

    async def _scored(self, served: Served, key: ApiKey, reading: PatientFeatures) -> dict[str, Any]:
        decimals = self._service.settings.decimals
        question = Question(
            served, [reading.row], False, not served.noisy, key, None, decimals,
            certainty=self._service.certainty,
        )  # fmt: skip
        answer: dict[str, Any] = json.loads(await self._service.scored(question))
        return answer

    def paths(self, _: object = ()) -> dict[str, Any]:
        """As the OpenAPI document has them."""
        answer = {"application/json": {"schema": {"type": "object"}}}
        wrong = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
        refused = {
            str(s): {"description": "Refused", "content": wrong}
            for s in sorted({status for status, _ in REFUSALS.values()} - {500})
        }
        name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}

        def operation(identity: str, summary: str, kind: str = "application/json") -> dict[str, Any]:
            content = answer if kind == "application/json" else {kind: {"schema": {"type": "object"}}}
            return {
                "operationId": identity,
                "summary": summary,
                "parameters": [name],
                "requestBody": {"required": True, "content": answer},
                "responses": {"200": {"description": "Done", "content": content}, **refused},
            }

        discovery = operation("cds_discovery", "CDS Hooks: the services there are")
        del discovery["parameters"], discovery["requestBody"]
        discovery["security"] = [{}, {"key": []}]
        return {
            "/cds-services": {"get": discovery},
            "/cds-services/{name}": {"post": operation("cds_hook", "CDS Hooks: patient-view")},
            "/v1/models/{name}/fhir": {
                "post": operation(
                    "fhir", "A Bundle of one patient in, a RiskAssessment out", "application/fhir+json"
                )
            },
        }


# -- reading -------------------------------------------------------------------------------------------


def _require_features(mapping: Mapping, served: Served | None) -> None:
    """Refuse a mapping that names features the model does not have, or lacks some that it must have."""
    if served is None:
        return
    features = {f.name: f for f in served.model.features}
    named = {rule.feature for rule in mapping.rules}
    unknown = sorted(named - set(features))
    lacking = sorted(n for n, f in features.items() if not f.missing_allowed and n not in named)
    if unknown or lacking:
        raise DataError(
            f"the FHIR mapping of {mapping.model}: {len(unknown)} features that the model does not have, "
            f"{len(lacking)} that it needs and that are not mapped ({', '.join(unknown + lacking)[:200]}).",
            hint="GET /v1/models/NAME lists the features",
        )


def _hook_request(body: object) -> tuple[str, dict[str, Any] | None]:
    """The patient's id and the prefetch of a request; every fault of its form at once."""
    if not isinstance(body, dict):
        raise Refusal("invalid", [Fault(0, "", "a CDS Hooks request is an object")])
    faults = [Fault(0, name, "not a field of a CDS Hooks request") for name in sorted(set(body) - _FIELDS)]
    if body.get("hook") != "patient-view":
        faults.append(Fault(0, "hook", "must be patient-view"))
    try:
        uuid.UUID(body.get("hookInstance"))
    except (ValueError, TypeError, AttributeError):
        faults.append(Fault(0, "hookInstance", "must be a UUID"))
    context = body.get("context")
    patient = context.get("patientId") if isinstance(context, dict) else None
    if not isinstance(patient, str) or not _ID.fullmatch(patient):
        faults.append(Fault(0, "context.patientId", "must be the id of a Patient"))
    prefetch = body.get("prefetch")
    if prefetch is not None and not isinstance(prefetch, dict):
        faults.append(Fault(0, "prefetch", "must be an object of resources"))
    if faults:
        raise Refusal("invalid", faults)
    return str(patient), prefetch or None


def _entries(content: list[Any]) -> list[Any]:
    try:
        return resources_of(content)
    except DataError:
        raise Refusal("invalid", [Fault(0, "", "must hold FHIR resources, or Bundles of them")]) from None


def _reading(mapping: Mapping, entries: list[Any], patient: str, conditions_known: bool) -> PatientFeatures:
    try:
        return read_features(
            mapping, entries, patient, conditions_known=conditions_known, check=faults_of
        )  # fmt: skip
    except DataError:
        raise Refusal(
            "invalid", [Fault(0, "", "must be of one patient, who is among the resources")]
        ) from None


# -- answers -------------------------------------------------------------------------------------------


def _assessed(
    served: Served, mapping: Mapping, reading: PatientFeatures, answer: dict[str, Any]
) -> dict[str, Any]:
    notes = [f"Promise to the people of the training data: {answer['guarantee']}."]
    if "note" in answer:
        notes.append(str(answer["note"]))
    if "interval" in answer:
        notes.append(f"Without the noise it would have been between {_between(answer)}.")
    if answer["clamped"]:
        notes.append(f"Taken at the edge of the public range: {', '.join(answer['clamped'])}.")
    method = f"{served.name}, version {served.version}"
    interval = tuple(answer["interval"]) if "interval" in answer else None
    return risk_assessment(
        mapping, reading, answer["risk_score"], method=method, notes=notes, interval=interval
    )


def _between(answer: dict[str, Any]) -> str:
    low, high = answer["interval"]
    return f"{low:.1%} and {high:.1%}"


def _risk(answer: dict[str, Any]) -> str:
    """A score in words; where the service abstains, that it does."""
    return "not sure enough to say" if answer["risk_score"] is None else f"{answer['risk_score']:.1%}"


def _source(served: Served) -> dict[str, Any]:
    return {"label": f"{served.name}, version {served.version}"}


def _card(
    served: Served, mapping: Mapping, reading: PatientFeatures, answer: dict[str, Any]
) -> dict[str, Any]:
    title = (mapping.title or f"Risk of {served.model.target}")[:100]
    interval = f" (without noise between {_between(answer)})" if "interval" in answer else ""
    lines = [f"**{_risk(answer)}**{interval}, by {served.name}, version {served.version}.", ""]
    why = {c["feature"]: c["contribution"] for c in answer.get("explanation", {}).get("contributions", [])}
    for found in sorted(reading.found, key=lambda f: -abs(why.get(f.feature, 0.0))):
        parts = [found.code, found.when, f"converted: {found.conversion}" if found.conversion else ""]
        share = f", log-odds {why[found.feature]:+.2f}" if found.feature in why else ""
        lines.append(f"- {found.feature}: {', '.join(p for p in parts if p)}{share}")
    lines += _shortcomings(reading, answer["clamped"])
    lines += ["", f"Promise to the people of the training data: {answer['guarantee']}."]
    if "note" in answer:
        lines.append(str(answer["note"]))
    resource = _assessed(served, mapping, reading, answer)
    return {
        "uuid": str(uuid.uuid4()),
        "summary": f"{title}: {_risk(answer)}"[:_SUMMARY],
        "detail": "\n".join(lines),
        "indicator": "info",
        "source": _source(served),
        "suggestions": [
            {
                "label": "File this risk assessment",
                "uuid": str(uuid.uuid4()),
                "actions": [{"type": "create", "description": "A RiskAssessment", "resource": resource}],
            }
        ],
    }


def _no_score(served: Served, mapping: Mapping, reading: PatientFeatures, refusal: Refusal) -> dict[str, Any]:
    title = (mapping.title or f"Risk of {served.model.target}")[:100]
    lines = [f"No score by {served.name}: what it needs is not there.", ""]
    lines += [f"- {f.field}: {f.rule}" for f in refusal.faults[:20]]
    lines += _shortcomings(reading, [])
    return {
        "uuid": str(uuid.uuid4()),
        "summary": f"{title}: no score, data are missing"[:_SUMMARY],
        "detail": "\n".join(lines),
        "indicator": "info",
        "source": _source(served),
    }


def _shortcomings(reading: PatientFeatures, clamped: list[str]) -> list[str]:
    """What is missing, was left out or taken at an edge: said, never passed over."""
    lines = [f"- {feature}: missing: {why}" for feature, why in reading.missing]
    lines += [f"- left out: {n} x {why}" for why, n in sorted(reading.skipped.items())]
    if clamped:
        lines.append(f"- taken at the edge of the public range: {', '.join(clamped)}")
    return lines
