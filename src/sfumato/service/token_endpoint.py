"""SMART on FHIR backend services: a client signs who it is, and gets a token for some minutes.

POST /v1/token, as a form: grant_type=client_credentials, scope, client_assertion_type, client_assertion
(a JWT of the client: iss and sub are its name, aud is our address; five minutes at most, each used once).
Refusals have the form of OAuth 2.0; all that is wrong with an assertion is one and the same `invalid_client`.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from sfumato.service import request_parts
from sfumato.service.middleware import NOTE, Note
from sfumato.service.replies import dumps
from sfumato.service.tokens import Tokens

_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_FIELDS = ("grant_type", "scope", "client_assertion_type", "client_assertion")
_MOST_BYTES = 16_384
_REFUSED = ("400", "401", "408", "413", "415", "422", "503")


class TokenEndpoint:
    """The two addresses of a SMART authorization server that backend services need."""

    def __init__(self, tokens: Tokens, seconds_to_send: float) -> None:
        self._tokens, self._seconds = tokens, seconds_to_send

    def routes(self) -> list[tuple[str, str, Any]]:
        """Method, address and function of each."""
        return [
            ("POST", "/v1/token", self.token),
            ("GET", "/.well-known/smart-configuration", self.configuration),
        ]

    async def token(self, request: Request) -> Response:
        """A token for a client that has signed who it is."""
        note: Note = request.scope[NOTE]
        note.route = "token"
        request_parts.parameters(request)
        body = await request_parts.body_of(request, _MOST_BYTES, self._seconds, form=True)
        try:
            pairs = parse_qsl(
                body.decode("ascii"), keep_blank_values=True, strict_parsing=True, max_num_fields=8
            )
        except ValueError:
            return _refused(note, "invalid_request")
        given = dict(pairs)
        if len(given) != len(pairs) or set(given) != set(_FIELDS):
            return _refused(note, "invalid_request")
        if given["grant_type"] != "client_credentials":
            return _refused(note, "unsupported_grant_type")
        if given["client_assertion_type"] != _ASSERTION:
            return _refused(note, "invalid_request")
        party = await self._tokens.asserted_in_time(given["client_assertion"])
        if party is None:
            return _refused(note, "invalid_client", 401)
        note.key = party.name
        granted = [scope for scope in given["scope"].split() if scope in party.scopes]
        if not granted:
            return _refused(note, "invalid_scope")
        content = {
            "access_token": self._tokens.give(party, granted),
            "token_type": "bearer",
            "expires_in": int(self._tokens.access.lifetime),
            "scope": " ".join(granted),
        }
        return Response(dumps(content), media_type="application/json", headers={"pragma": "no-cache"})

    async def configuration(self, request: Request) -> Response:
        """What SMART clients look for first."""
        request.scope[NOTE].route = "token"
        scopes = sorted({scope for party in self._tokens.access.clients for scope in party.scopes})
        content = {
            "token_endpoint": self._tokens.access.token_url,
            "token_endpoint_auth_methods_supported": ["private_key_jwt"],
            "token_endpoint_auth_signing_alg_values_supported": ["RS384", "ES384"],
            "grant_types_supported": ["client_credentials"],
            "scopes_supported": scopes,
            "capabilities": ["client-confidential-asymmetric", "permission-v2"],
        }
        return Response(dumps(content), media_type="application/json")

    def paths(self, _: object = ()) -> dict[str, Any]:
        """As the OpenAPI document has them."""
        answer = {"content": {"application/json": {"schema": {"type": "object"}}}}
        form = {
            "type": "object",
            "required": list(_FIELDS),
            "properties": {name: {"type": "string"} for name in _FIELDS},
        }
        token = {
            "operationId": "token",
            "summary": "A token for a client that signs (SMART backend services)",
            "security": [],
            "requestBody": {
                "required": True,
                "content": {"application/x-www-form-urlencoded": {"schema": form}},
            },
            "responses": {
                "200": {"description": "A token for some minutes", **answer},
                **{code: {"description": "Refused", **answer} for code in _REFUSED},
            },
        }
        about = {
            "operationId": "smart_configuration",
            "summary": "Where SMART clients find the token endpoint",
            "security": [],
            "responses": {"200": {"description": "The configuration", **answer}},
        }
        return {"/v1/token": {"post": token}, "/.well-known/smart-configuration": {"get": about}}


def _refused(note: Note, code: str, status: int = 400) -> Response:
    note.code = code
    return Response(dumps({"error": code}), status, media_type="application/json")
