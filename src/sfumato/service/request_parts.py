"""Reads a question: size, type, form. Everything is refused here before it costs anything."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

from starlette.requests import ClientDisconnect, Request

from sfumato.service.replies import Fault, Refusal

Row = dict[str, Any]
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_JSON = re.compile(r'application/json(\s*;\s*charset\s*=\s*"?utf-?8"?)?\s*', re.IGNORECASE)
_FHIR = re.compile(_JSON.pattern.replace("json", "(?:fhir[+])?json", 1), re.IGNORECASE)
_FORM = re.compile(r'application/x-www-form-urlencoded(\s*;\s*charset\s*=\s*"?utf-?8"?)?\s*', re.IGNORECASE)
_MOST_DIGITS = 12  # of a length; int() itself gives up on thousands of them
_IDEMPOTENCY = re.compile(r"[\x21-\x7e]{1,255}")


async def body_of(
    request: Request, most: int, seconds: float, *, form: bool = False, fhir: bool = False
) -> bytes:
    """The whole body, if it is JSON (or a form, or FHIR's JSON) by its header, small and quick enough."""
    headers = request.headers
    types = headers.getlist("content-type")
    expected = _FORM if form else _FHIR if fhir else _JSON
    if len(types) != 1 or not expected.fullmatch(types[0]) or headers.get("content-encoding"):
        raise Refusal("not_form_type" if form else "not_json_type")
    length = headers.get("content-length", "")
    if length.isdecimal() and (len(length) > _MOST_DIGITS or int(length) > most):
        raise Refusal("too_large")
    try:
        async with asyncio.timeout(seconds):
            return await _collected(request, most)
    except TimeoutError:
        raise Refusal("too_slow", headers={"connection": "close"}) from None
    except ClientDisconnect:
        raise Refusal("bad_request") from None


async def _collected(request: Request, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await request.receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > most:
            raise Refusal("too_large", headers={"connection": "close"})
        if not message.get("more_body", False):
            return b"".join([*parts, part]) if parts else part
        parts.append(part)


def rows_of(body: bytes, most: int, fields: int) -> tuple[list[Row], bool]:
    """The rows, and whether several were asked for: an object is one, a list of objects is many.

    fields: how many a row may sensibly have. One with ten thousand is refused before each is looked at.
    """
    content = parsed(body)
    if isinstance(content, dict):
        return _finite(_few([content], fields)), False
    if not isinstance(content, list):
        raise Refusal("invalid", [Fault(0, "", "an object of features, or a list of such objects")])
    if not 1 <= len(content) <= most:
        raise Refusal("invalid", [Fault(0, "", f"a list has 1 to {most} rows")])
    wrong = [i for i, row in enumerate(content) if not isinstance(row, dict)]
    if wrong:
        raise Refusal("invalid", [Fault(i, "", "a row is an object of features") for i in wrong])
    return _finite(_few(content, fields)), True


def _few(rows: list[Row], fields: int) -> list[Row]:
    faults = [
        Fault(i, "", f"a row has at most {fields} fields") for i, row in enumerate(rows) if len(row) > fields
    ]
    if faults:
        raise Refusal("invalid", faults)
    return rows


def _finite(rows: list[Row]) -> list[Row]:
    """NaN and the infinities are no JSON, though Python reads them (and 1e999); their fields are named."""
    faults = [
        Fault(place, name, "must be a finite number")
        for place, row in enumerate(rows)
        for name, cell in row.items()
        if type(cell) is float and cell - cell != 0
    ]
    if faults:
        raise Refusal("invalid", faults)
    return rows


def parsed(body: bytes) -> Any:
    """JSON as the standard has it, UTF-8 only, no name twice."""
    try:
        return _DECODER.decode(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Refusal("not_json") from None


def _unique(pairs: list[tuple[str, Any]]) -> Row:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)  # made once: making it takes as long as a small body


def idempotency_key(request: Request) -> str | None:
    """The header of that name, or None."""
    given = request.headers.getlist("idempotency-key")
    if not given:
        return None
    if len(given) > 1 or not _IDEMPOTENCY.fullmatch(given[0]):
        raise Refusal("bad_idempotency_key")
    return given[0]


def pseudonym(request: Request) -> bytes:
    """Who is asked about, by a name that only the caller understands; empty if it is not told."""
    given = request.headers.getlist("x-pseudonym")
    if len(given) > 1 or (given and not _IDEMPOTENCY.fullmatch(given[0])):
        raise Refusal("bad_pseudonym")
    return given[0].encode() if given else b""


def parameters(request: Request, *known: str) -> dict[str, str]:
    """The query's parameters: each known, each once."""
    if not request.scope.get("query_string"):
        return {}
    found = request.query_params.multi_items()
    faults = [Fault(0, name, "no such parameter") for name, _ in found if name not in known]
    names = [name for name, _ in found]
    faults += [Fault(0, name, "given more than once") for name in known if names.count(name) > 1]
    if faults:
        raise Refusal("invalid", faults)
    return dict(found)


def version_of(given: dict[str, str]) -> str:
    """The version asked for, `current` if none is."""
    version = given.get("version", "current")
    if not NAME.fullmatch(version):
        raise Refusal("invalid", [Fault(0, "version", "1 to 64 letters, digits, '.', '_', '-'")])
    return version


def truth_of(given: dict[str, str], name: str) -> bool:
    """A parameter that is true or false; false if it is not given."""
    if given.get(name, "false") not in ("true", "false"):
        raise Refusal("invalid", [Fault(0, name, "true or false")])
    return given.get(name) == "true"
