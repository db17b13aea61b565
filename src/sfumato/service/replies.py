"""What goes back when a question is refused: one form, fixed words, field and rule, never a value."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from starlette.responses import Response

MOST_FAULTS = 50
MOST_NAME = 64  # letters of a field's name that are repeated to who sent it

# code: (status, message). A refusal has one of these and nothing else but the faults it lists.
REFUSALS = {
    "bad_request": (400, "The request cannot be understood."),
    "not_json": (400, "The body is not JSON in UTF-8, is nested too deeply, or names a field twice."),
    "bad_idempotency_key": (400, "An Idempotency-Key is 1 to 255 printable ASCII characters, given once."),
    "bad_pseudonym": (400, "An X-Pseudonym is 1 to 255 printable ASCII characters, given once."),
    "no_key": (401, "A valid API key or token is needed: Authorization: Bearer ..."),
    "not_allowed": (403, "This key is not for that."),
    "budget_spent": (403, "The privacy budget does not cover this question. Nothing was debited."),
    "unknown": (404, "There is nothing at this address."),
    "unknown_model": (404, "There is no such model or version, or this key is not for it."),
    "no_method": (405, "This address does not take this method."),
    "too_slow": (408, "The body took too long to arrive."),
    "another_body": (409, "This Idempotency-Key came with another question before."),
    "no_earlier_version": (409, "There is no earlier version to go back to."),
    "no_prefetch": (412, "The prefetch is needed: this service asks no FHIR server for more."),
    "too_large": (413, "The body is larger than allowed."),
    "not_json_type": (415, "The body must be sent as application/json, not compressed."),
    "not_form_type": (415, "The body must be sent as application/x-www-form-urlencoded, not compressed."),
    "invalid": (422, "The question breaks a rule; see faults."),
    "too_many_calls": (429, "This key has made too many calls; see Retry-After."),
    "fault": (500, "The service has a fault of its own. Nothing of the question is kept."),
    "unavailable": (503, "A part of the service cannot be reached; nothing was answered. Try again."),
}


class Fault(NamedTuple):
    """Which field breaks which rule; the row counts from 0."""

    row: int
    field: str
    rule: str


class Refusal(Exception):
    """A question that is not answered, and why."""

    def __init__(
        self, code: str, faults: Sequence[Fault] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(code)
        self.code, self.faults, self.headers = code, tuple(faults), dict(headers or {})

    @property
    def status(self) -> int:
        """The status of the answer."""
        return REFUSALS[self.code][0]

    def body(self) -> bytes:
        """The answer: the same bytes for the same code and faults."""
        content: dict[str, Any] = {"code": self.code, "message": REFUSALS[self.code][1]}
        if self.faults:
            content["faults"] = [
                {"row": f.row, "field": f.field[:MOST_NAME], "rule": f.rule}
                for f in self.faults[:MOST_FAULTS]
            ]
        return dumps({"error": content})

    def response(self) -> Response:
        """As an answer."""
        return Response(self.body(), self.status, self.headers, "application/json")


def dumps(content: object) -> bytes:
    """JSON without NaN, in ASCII, so that any name can be sent."""
    return json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
