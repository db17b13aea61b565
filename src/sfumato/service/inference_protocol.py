"""The Open Inference Protocol, version 2 (REST), beside our own routes: what KServe and Triton clients speak.

Each feature is an input tensor with one value a row; or one tensor has a row each and a column for each
feature, in the model's order, where all features are numbers. What is refused has the protocol's form, a
text, made of fields and rules and never of a value.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

import sfumato
from sfumato.service import request_parts
from sfumato.service.certainty import has_intervals
from sfumato.service.keys import ApiKey
from sfumato.service.middleware import NOTE
from sfumato.service.openapi import NAME, row_schema
from sfumato.service.registry import Served
from sfumato.service.replies import REFUSALS, Fault, Refusal, dumps
from sfumato.service.request_parts import Row
from sfumato.service.scores import Question
from sfumato.service.worker import Route, Service, as_json

if TYPE_CHECKING:
    from sfumato.features.inputs import Feature

_WHOLE = ("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64")
_REAL = ("FP16", "FP32", "FP64", "BF16")
DATATYPES = ("BOOL", "BYTES", *_WHOLE, *_REAL)
_OUTPUTS = ("risk_score", "clamped")
_INTERVAL = ("interval_low", "interval_high")  # of models with intervals
_TENSOR = {"name", "shape", "datatype", "data", "parameters"}
_REQUEST = {"id", "parameters", "inputs", "outputs"}
Endpoint = Callable[[Request], Awaitable[Response]]


class InferenceProtocol:
    """Its routes."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[Route]:
        """Method, address and function of each."""
        own: list[tuple[str, str, Endpoint]] = [
            ("GET", "/v2", self.server),
            ("GET", "/v2/health/live", self.live),
            ("GET", "/v2/health/ready", self.ready),
        ]
        for path in ("/v2/models/{name}", "/v2/models/{name}/versions/{version}"):
            own += [
                ("GET", path, self.model),
                ("GET", f"{path}/ready", self.model_ready),
                ("POST", f"{path}/infer", self.infer),
            ]
        return [(method, path, _in_its_form(endpoint)) for method, path, endpoint in own]

    # -- about it ----------------------------------------------------------------------------------

    async def server(self, request: Request) -> Response:
        """What it is."""
        await self._service.admit(request, "inference")
        return as_json({"name": "sfumato", "version": sfumato.__version__, "extensions": []})

    async def live(self, request: Request) -> Response:
        """The process is there."""
        await self._service.healthz(request)
        return as_json({"live": True})

    async def ready(self, request: Request) -> Response:
        """All is at hand."""
        await self._service.readyz(request)
        return as_json({"ready": True})

    async def model(self, request: Request) -> Response:
        """A model's inputs and outputs."""
        _, served = await self._asked(request)
        service = self._service
        closed = service.settings.only_current
        return as_json(
            {
                "name": served.name,
                "versions": [served.version] if closed else service.registry.versions(served.name),
                "platform": f"sfumato_{served.model.kind.replace(' ', '_')}",
                "inputs": [
                    {"name": f.name, "datatype": _datatype(f), "shape": [-1]} for f in served.model.features
                ],
                "outputs": [
                    {"name": name, "datatype": "BYTES" if name == "clamped" else "FP64", "shape": [-1]}
                    for name in _outputs_of(served)
                ],
            }
        )

    async def model_ready(self, request: Request) -> Response:
        """It can be asked."""
        _, served = await self._asked(request)
        return as_json({"name": served.name, "ready": True})

    async def _asked(self, request: Request) -> tuple[ApiKey, Served]:
        key = await self._service.admit(request, "inference")
        request_parts.parameters(request)
        version = request_parts.version_of({"version": request.path_params.get("version", "current")})
        return key, self._service.served(request, key, version)

    # -- scores ------------------------------------------------------------------------------------

    async def infer(self, request: Request) -> Response:
        """Score rows that come as tensors."""
        key, served = await self._asked(request)
        settings = self._service.settings
        under = request_parts.idempotency_key(request)
        body = await request_parts.body_of(request, settings.body_bytes, settings.seconds_to_send)
        asked = request_parts.parsed(body)
        if not isinstance(asked, dict) or set(asked) - _REQUEST or not isinstance(asked.get("inputs"), list):
            raise _invalid("", "an object with inputs, and id, outputs and parameters if wanted")
        identity = asked.get("id")
        if identity is not None and (not isinstance(identity, str) or len(identity) > 200):
            raise _invalid("id", "text of at most 200 characters")
        outputs = _outputs(asked.get("outputs"), _outputs_of(served))
        rows = _rows(asked["inputs"], served, settings.most_rows)
        told = b"" if under is None else b"\0".join([f"v2 {served.name} {served.version}".encode(), body])
        question = Question(
            served, rows, True, False, key, under, settings.decimals, told, b"", self._service.certainty
        )
        answer = json.loads(await self._service.scored(question))
        data = {
            "risk_score": ("FP64", [score["risk_score"] for score in answer["scores"]]),
            "clamped": ("BYTES", [",".join(score["clamped"]) for score in answer["scores"]]),
        }
        for place, name in enumerate(_INTERVAL):
            data[name] = (
                "FP64",
                [score["interval"][place] for score in answer["scores"] if "interval" in score],
            )
        content = {
            "model_name": served.name,
            "model_version": served.version,
            **({"id": identity} if identity is not None else {}),
            "parameters": {n: answer[n] for n in ("target", "guarantee", "note") if n in answer},
            "outputs": [
                {"name": name, "datatype": data[name][0], "shape": [len(rows)], "data": data[name][1]}
                for name in outputs
            ],
        }
        return as_json(content)

    def paths(self, models: Sequence[Served] = ()) -> dict[str, Any]:
        """As the OpenAPI document has them; each model with its own tensors."""
        found: dict[str, Any] = {}
        for method, path, _ in self.routes():
            if method == "GET" or not models:
                found[path] = {method.lower(): _operation(method, path)}
                continue
            for served in models:
                about = _operation(method, path, served)
                found[path.replace("{name}", served.name)] = {"post": about}
        return found


_NAMES = {"name": "A model, as /v1/models lists it.", "version": "One of its versions."}


def _operation(method: str, path: str, served: Served | None = None) -> dict[str, Any]:
    answer = {"content": {"application/json": {"schema": {"type": "object"}}}}
    refused = {
        str(s): {"description": "Refused, with a text under `error`", **answer}
        for s in sorted({status for status, _ in REFUSALS.values()} - {500})
    }
    name = path.removeprefix("/v2").translate(str.maketrans("/", "_", "{}"))
    about: dict[str, Any] = {
        "operationId": f"v2{name}" + (f"_{served.name}" if served else ""),
        "summary": f"Open Inference Protocol: {path.rpartition('/')[2].strip('{}')}",
        "responses": {"200": {"description": "Done", **answer}, **refused},
    }
    if "/health/" in path:
        about["security"] = []
    known = [n for n in _NAMES if f"{{{n}}}" in path and not (n == "name" and served)]
    if known:
        plain = {"in": "path", "required": True, "schema": NAME}
        about["parameters"] = [{"name": n, "description": _NAMES[n], **plain} for n in known]
    if method == "POST":
        about["description"] = (
            "A tensor for each feature, here with one row; more rows make the tensors longer, in any order."
        )
        schema = {"type": "object", "required": ["inputs"]} if served is None else _request(served)
        about["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return about


def _request(served: Served) -> dict[str, Any]:
    """What is surely taken: one row, a tensor for each feature."""
    rows = row_schema(served.model.features)["properties"]
    tensors = []
    for feature in served.model.features:
        value = {k: v for k, v in rows[feature.name].items() if k in ("type", "enum")}
        properties = {
            "name": {"const": feature.name},
            "shape": {"const": [1]},
            "datatype": {"const": _datatype(feature)},
            "data": {"type": "array", "items": value, "minItems": 1, "maxItems": 1},
        }
        tensors.append(_closed(properties))
    inputs = {"type": "array", "prefixItems": tensors, "items": False, "minItems": len(tensors)}
    # Many clients write null for what they do not ask for.
    wanted = {"enum": [*([{"name": name}] for name in _outputs_of(served)), None]}
    whole = _closed({"inputs": inputs | {"maxItems": len(tensors)}})
    whole["properties"] |= {"id": {"type": ["string", "null"], "maxLength": 200}, "outputs": wanted}
    return whole


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    names = list(properties)
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def _in_its_form(endpoint: Endpoint) -> Endpoint:
    """Refusals as the protocol has them: an object with a text."""

    @functools.wraps(endpoint)
    async def wrapped(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Refusal as refusal:
            request.scope[NOTE].code = refusal.code
            text = REFUSALS[refusal.code][1]
            faults = [
                f"row {f.row}{', ' if f.field else ''}{f.field[:64]}: {f.rule}" for f in refusal.faults[:50]
            ]
            whole = " ".join([f"{refusal.code}: {text}", *([f"({'; '.join(faults)})"] if faults else [])])
            status = 400 if refusal.status == 422 else refusal.status
            return Response(dumps({"error": whole}), status, refusal.headers, "application/json")

    return wrapped


def _invalid(field: str, rule: str) -> Refusal:
    return Refusal("invalid", [Fault(0, field, rule)])


def _datatype(feature: Feature) -> str:
    if feature.kind == "number":
        return "FP64"
    level = feature.levels[0]
    return "BOOL" if isinstance(level, bool) else "BYTES" if isinstance(level, str) else "FP64"


def _outputs_of(served: Served) -> tuple[str, ...]:
    return _OUTPUTS + _INTERVAL if has_intervals(served.model) else _OUTPUTS


def _outputs(given: object, known: tuple[str, ...]) -> list[str]:
    if given is None:
        return list(known)
    names = [e.get("name") if isinstance(e, dict) else None for e in given] if isinstance(given, list) else []
    if not names or not all(n in known for n in names) or len(set(names)) < len(names):
        raise _invalid("outputs", f"each has a name, among {' and '.join(known)}")
    return [str(name) for name in names]


def _rows(inputs: list[Any], served: Served, most: int) -> list[Row]:
    """The rows of the tensors; every fault of their form at once."""
    if len(inputs) > served.most_fields:
        raise _invalid("inputs", f"at most {served.most_fields}")
    faults: list[Fault] = []
    columns: dict[str, list[Any]] = {}
    known = {f.name for f in served.model.features}
    for place, tensor in enumerate(inputs):
        name, shape, values = _tensor(tensor, place, faults)
        if name is None:
            continue
        if name in columns:
            faults.append(Fault(0, name, "given more than once"))
        elif len(inputs) == 1 and len(shape) == 2 and name not in known:
            columns |= _matrix(shape, values, served, name, faults)
        elif name not in known:  # were all its values null, a misspelt name would pass for a missing value
            faults.append(Fault(0, name, "is no feature of this model"))
        elif len(shape) == 1 or (len(shape) == 2 and shape[1] == 1):
            columns[name] = values
        else:
            faults.append(Fault(0, name, "one value a row: its shape is [rows] or [rows, 1]"))
    lengths = {len(values) for values in columns.values()}
    if not faults and (len(lengths) != 1 or not 1 <= min(lengths) <= most):
        faults.append(Fault(0, "inputs", f"all have the same number of rows, 1 to {most}"))
    if faults:
        raise Refusal("invalid", faults)
    return [
        {name: values[i] for name, values in columns.items() if values[i] is not None}
        for i in range(lengths.pop())
    ]


def _tensor(tensor: object, place: int, faults: list[Fault]) -> tuple[str | None, list[int], list[Any]]:
    """Name, shape and flat values; a fault is noted, and None given in place of a name."""
    wrong: tuple[None, list[int], list[Any]] = (None, [], [])
    if not isinstance(tensor, dict) or set(tensor) - _TENSOR or not isinstance(tensor.get("name"), str):
        faults.append(Fault(0, f"input {place}", "an object with name, shape, datatype and data"))
        return wrong
    name: str = tensor["name"]
    shape, datatype = tensor.get("shape"), tensor.get("datatype")
    data: Any = tensor.get("data")
    if (
        not isinstance(shape, list)
        or not 1 <= len(shape) <= 2
        or not all(type(s) is int and s > 0 for s in shape)
    ):
        faults.append(Fault(0, name, "a shape is one or two whole numbers above 0"))
        return wrong
    if datatype not in DATATYPES:
        faults.append(Fault(0, name, f"a datatype is one of {', '.join(DATATYPES)}"))
        return wrong
    nested = isinstance(data, list) and bool(data) and isinstance(data[0], list)
    if nested:
        data = [v for part in data for v in (part if isinstance(part, list) else [part])]
    if not isinstance(data, list) or len(data) != math.prod(shape):
        faults.append(Fault(0, name, "data has as many values as the shape says"))
        return wrong
    if not all(_fits(v, datatype) for v in data):
        faults.append(Fault(0, name, "each value is of the datatype, or null"))
        return wrong
    return name, shape, data


def _fits(value: object, datatype: str) -> bool:
    if value is None:
        return True
    if datatype == "BOOL":
        return isinstance(value, bool)
    if datatype == "BYTES":
        return isinstance(value, str)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) if datatype in _WHOLE else isinstance(value, int) or math.isfinite(value)


def _matrix(
    shape: list[int], values: list[Any], served: Served, name: str, faults: list[Fault]
) -> dict[str, list[Any]]:
    """The columns of one tensor that has a row each; only where all features are numbers."""
    features = served.model.features
    if shape[1] != len(features) or any(f.kind != "number" for f in features):
        rule = "one tensor of rows is for models of numbers alone, with a column for each feature"
        faults.append(Fault(0, name, rule))
        return {}
    return {f.name: values[i :: shape[1]] for i, f in enumerate(features)}
