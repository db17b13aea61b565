"""The OpenAPI document: written by hand, because the routes read their bodies by hand.

To everybody it is told in general; to who has a key, with an address for each model the key is for, its
features and an example. A test compares it with the routes, and schemathesis compares it with what the
service does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.service.registry import Served, level_type, middle
from sfumato.service.replies import MOST_FAULTS, REFUSALS

Json = dict[str, Any]
NAME = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"}
_ONE = {"glucose": 130, "bmi": 25, "age": 44, "sex": "female"}
_ANSWER = {
    "model": "diabetes",
    "version": "3f9a1c04d2e87b65",
    "target": "diabetes",
    "guarantee": "differential privacy, epsilon = 1",
    "risk_score": 0.31,
    "clamped": [],
}


def document(
    version: str,
    body_bytes: int,
    most_rows: int,
    models: Sequence[Served] = (),
    root_path: str = "",
    more: Json | None = None,
) -> Json:
    """The whole document; `models` are described one by one, addresses stand under the root path.

    more: the paths of further protocols.
    """
    paths = _paths(body_bytes, most_rows) | (more or {})
    schemas = _schemas(most_rows)
    if models:
        score = paths.pop("/v1/models/{name}/score")["post"]
        for served in models:
            paths[f"/v1/models/{served.name}/score"] = {"post": _for_model(score, served, most_rows)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Sfumato risk scores",
            "version": version,
            "description": "Risk scores from released models. Each answer names the model's version and "
            "what it promises to the persons the model was learnt from.",
        },
        **({"servers": [{"url": root_path}]} if root_path else {}),
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "An API key (sfm_...) or a token"}
            },
            "schemas": schemas,
        },
    }


# -- paths ---------------------------------------------------------------------------------------------

_MODEL = {
    "name": "name", "in": "path", "required": True, "schema": NAME, "example": "diabetes",
    "description": "A model, as /v1/models lists it.",
}  # fmt: skip
_VERSION = {
    "name": "version", "in": "query", "schema": {**NAME, "default": "current"},
    "description": "A version of the model, or `current`.",
}  # fmt: skip
_EXPLAIN = {
    "name": "explain", "in": "query", "schema": {"type": "boolean", "default": False},
    "description": "Add what each feature contributes; free, and not for noisy models.",
}  # fmt: skip
_IDEMPOTENCY = {
    "name": "Idempotency-Key", "in": "header", "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
    "description": "A repeat with the same key and question returns the same bytes and costs nothing.",
}  # fmt: skip


def _paths(body_bytes: int, most_rows: int) -> Json:
    own: Json = {"security": []}
    score = _operation(
        "score", "Score one person or many",
        f"An object is one person, a list of up to {most_rows} objects is many; at most {body_bytes} bytes. "
        "A number outside its public bounds is clamped, and the answer says so. A noisy model debits "
        "its claimed epsilon for each new row before it draws, for all of a call or for none, and says the "
        "same again when asked again.",
        _answers({200: "Scored"}, 400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 503),
        [_MODEL, _VERSION, _EXPLAIN, _IDEMPOTENCY],
    )  # fmt: skip
    score["requestBody"] = {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"$ref": "#/components/schemas/Question"},
                "examples": {
                    "one": {"value": _ONE},
                    "many": {"value": [_ONE, {"glucose": 171, "bmi": 33, "age": 58}]},
                },
            }
        },
    }
    score["responses"]["200"]["content"]["application/json"]["examples"] = {"one": {"value": _ANSWER}}
    activate = _operation(
        "activate", "Make a version current",
        "Needs the scope `admin`. Holds in every worker from the next request on, and after a restart.",
        _answers({200: "Current"}, 400, 401, 403, 404, 408, 413, 415, 422, 429, 503), [_MODEL],
    )  # fmt: skip
    activate["requestBody"] = {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Activation"}}},
    }
    return {
        "/v1/models": {
            "get": _operation(
                "models", "The models this key may ask", "", _answers({200: "Models"}, 401, 422, 429, 503)
            )
        },
        "/v1/models/{name}": {
            "get": _operation(
                "model", "One model: guarantee, features, card",
                "The guarantee in full, in words and as JSON.",
                _answers({200: "Model"}, 401, 404, 422, 429, 503), [_MODEL, _VERSION],
            )
        },
        "/v1/models/{name}/score": {"post": score},
        "/v1/models/{name}/activate": {"post": activate},
        "/v1/models/{name}/rollback": {
            "post": _operation(
                "rollback", "Make the version current that was so before", "Needs the scope `admin`.",
                _answers({200: "Current"}, 401, 403, 404, 409, 422, 429, 503), [_MODEL],
            )
        },
        "/v1/budget": {
            "get": _operation(
                "budget", "What is left of the privacy budget",
                "This client's own. The data set's is told to the scope `admin` alone. "
                "Null where every model is released: calls are free.",
                _answers({200: "Budget"}, 401, 422, 429, 503),
            )
        },
        "/healthz": {"get": own | _operation("healthz", "It is there", "", _answers({200: "Status"}))},
        "/readyz": {
            "get": own | _operation("readyz", "All is at hand", "", _answers({200: "Status"}, 503))
        },
        "/metrics": {
            "get": _operation(
                "metrics", "Counters for Prometheus", "Needs the scope `metrics`.",
                {
                    "200": {"description": "Prometheus' text format",
                            "content": {"text/plain": {"schema": {"type": "string"}}}},
                    **_answers({}, 401, 403, 429, 503),
                },
            )
        },
    }  # fmt: skip


def drift_path() -> Json:
    """The address at which drift is told, where it is."""
    answers = _answers({}, 401, 404, 422, 429, 503)
    answers["200"] = {
        "description": "Noisy histograms of each period",
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
    about = "What was asked over time, with noise, each period held against the first of its version."
    return {
        "/v1/models/{name}/drift": {
            "get": _operation("drift", "Drift under privacy", about, answers, [_MODEL])
        }
    }


def _operation(
    name: str, summary: str, description: str, responses: Json, parameters: list[Json] | None = None
) -> Json:
    operation: Json = {"operationId": name, "summary": summary, "responses": responses}
    if description:
        operation["description"] = description
    if parameters:
        operation["parameters"] = parameters
    return operation


def _answers(good: dict[int, str], *bad: int) -> Json:
    answers: Json = {
        str(status): {
            "description": "Done",
            "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}},
        }
        for status, schema in good.items()
    }
    for status in bad:
        codes = {code: message for code, (s, message) in REFUSALS.items() if s == status}
        answers[str(status)] = {
            "description": " ".join(f"`{code}`: {message}" for code, message in codes.items()),
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
    return answers


def _for_model(score: Json, served: Served, most_rows: int) -> Json:
    """The operation for one model: its own features, and no choice of name."""
    row = row_schema(served.model.features)
    many = {"type": "array", "items": row, "minItems": 1, "maxItems": most_rows}
    own = (_MODEL, _EXPLAIN) if served.noisy else (_MODEL,)
    return score | {
        "operationId": f"score_{served.name}",
        "summary": f"Score by {served.name}",
        "parameters": [p for p in score["parameters"] if p not in own],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"oneOf": [row, many]},
                    "examples": {"one": {"value": middle(served.model.features)}},
                }
            },
        },
    }


def row_schema(features: Sequence[Any]) -> Json:
    """What a row may hold, and must. Bounds are no rule here: beyond them a number is clamped."""
    properties: Json = {}
    for f in features:
        if f.kind == "number":
            properties[f.name] = {"type": ["number", "null"] if f.missing_allowed else "number"}
            known = [f"{f.low:g} to {f.high:g}" if None not in (f.low, f.high) else "", f.unit, f.label]
            properties[f.name]["description"] = "; ".join(filter(None, known)) or "a number"
        elif not getattr(f, "levels_told", True):
            properties[f.name] = {
                "type": [level_type(f), "null"] if f.missing_allowed else level_type(f),
                "description": "one of the levels, which are not told",
            }
        else:
            properties[f.name] = {"enum": [*f.levels, *([None] if f.missing_allowed else [])]}
    return {
        "type": "object", "properties": properties, "additionalProperties": False,
        "required": [f.name for f in features if not f.missing_allowed],
    }  # fmt: skip


# -- schemas -------------------------------------------------------------------------------------------


def _object(required: Json, optional: Json | None = None, *, more: bool = False) -> Json:
    return {
        "type": "object", "properties": {**required, **(optional or {})}, "required": list(required),
        "additionalProperties": more,
    }  # fmt: skip


_TEXT: Json = {"type": "string"}
_NAMES: Json = {"type": "array", "items": _TEXT}
_NUMBER: Json = {"type": "number"}
_UNPROVED: Json = {"claimed_epsilon": _NUMBER, "note": _TEXT}


def _schemas(most_rows: int) -> Json:
    maybe = {"type": ["number", "null"]}
    fault = _object({"row": {"type": "integer", "minimum": 0}, "field": _TEXT, "rule": _TEXT})
    error = _object(
        {"code": {"enum": list(REFUSALS)}, "message": _TEXT},
        {"faults": {"type": "array", "items": fault, "minItems": 1, "maxItems": MOST_FAULTS}},
    )
    return {
        **_score_schemas(most_rows),
        **_model_schemas(),
        "Activation": _object({"version": NAME}),
        "Current": _object({"model": NAME, "current": NAME}),
        "Budget": _object(
            {
                "client": _TEXT,
                "kind": {"enum": ["epsilon", "rho", None]},
                "left": maybe,
                "left_of_client": maybe,
            }
        ),
        "Status": _object({"status": {"enum": ["ok", "ready"]}}),
        "Error": _object({"error": error}),
    }


def _score_schemas(most_rows: int) -> Json:
    """A question and its answer."""
    row = {
        "type": "object",
        "description": "Features by name. /v1/models/{name} says which there are, with bounds and levels.",
        "additionalProperties": {"type": ["number", "string", "boolean", "null"]},
    }
    interval = {
        "type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2,
        "description": "Where the fit without noise would have been; of models with intervals.",
    }  # fmt: skip
    contribution = _object({"feature": _TEXT, "contribution": _NUMBER}, {"interval": interval})
    explanation = _object(
        {
            "scale": {"const": "log-odds"},
            "base": _NUMBER,
            "contributions": {"type": "array", "items": contribution},
        }
    )
    risk = {
        "type": ["number", "null"], "minimum": 0, "maximum": 1,
        "description": "Null only where the service was told to abstain and the interval is too wide.",
    }  # fmt: skip
    score = {"risk_score": risk, "clamped": _NAMES}
    more = {"explanation": explanation, "interval": interval}
    opening = {"model": NAME, "version": NAME, "target": _TEXT, "guarantee": _TEXT}
    scores = {"type": "array", "items": _object(score, more)}
    reference = {"$ref": "#/components/schemas/Row"}
    return {
        "Row": row,
        "Question": {
            "oneOf": [
                reference,
                {"type": "array", "items": reference, "minItems": 1, "maxItems": most_rows},
            ]
        },
        "Scored": {
            "oneOf": [
                _object({**opening, **score}, {**more, **_UNPROVED}),
                _object({**opening, "scores": scores}, _UNPROVED),
            ]
        },
    }


def _model_schemas() -> Json:
    """What is told of the models."""
    summary = {
        "name": NAME, "version": NAME, "kind": _TEXT, "target": _TEXT, "noisy": {"type": "boolean"},
        "guarantee": _NAMES,
    }  # fmt: skip
    claim = _object({"title": _TEXT, "promise": _TEXT, "limits": _TEXT, "assumptions": _NAMES})
    feature = _object(
        {"name": _TEXT, "kind": {"enum": ["number", "category", "flag"]},
         "missing_allowed": {"type": "boolean"}},
        {"label": _TEXT, "unit": _TEXT, "low": _NUMBER, "high": _NUMBER,
         "levels": {"type": "array", "items": {"type": ["number", "string", "boolean"]}},
         "level_type": {"enum": ["string", "number", "boolean"]}},
    )  # fmt: skip
    return {
        "Models": _object({"models": {"type": "array", "items": _object(summary)}}),
        "Model": _object(
            summary
            | {
                "guarantee": {"type": "array", "items": claim},
                "guarantee_json": {"type": "object"},
                "features": {"type": "array", "items": feature},
                "card": {"type": "object"},
                "intervals": {"type": "boolean"},
                "signer": {"type": ["string", "null"]},
                "signer_compared": {"type": "boolean"},
                "versions": {"type": "array", "items": NAME},
                "current": {"type": ["string", "null"]},
                "drift": {"type": "boolean"},
            },
            _UNPROVED,
        ),
    }
