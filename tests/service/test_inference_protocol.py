"""The Open Inference Protocol: the same scores as our own route, its published requests, malformed ones."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serving import CANARY, CANARY_BEGINS, WHOLE, Inside

import sfumato as sf
from sfumato.prediction.additive import AdditiveScore
from sfumato.privacy import Ledger
from sfumato.privacy.signatures import SigningKey

INFER = "/v2/models/diabetes/infer"
TYPES = {int: "INT64", float: "FP64", str: "BYTES", bool: "BOOL"}


def tensors(*rows: dict[str, Any]) -> dict[str, Any]:
    """Rows as a client sends them: a tensor for each feature."""
    return {
        "inputs": [
            {"name": n, "shape": [len(rows)], "datatype": TYPES[type(v)], "data": [r[n] for r in rows]}
            for n, v in rows[0].items()
        ]
    }


@pytest.fixture
def ask(serve: Callable) -> Inside:
    found: Inside = serve()[0]
    return found


def test_the_scores_are_those_of_our_own_route(ask: Inside) -> None:
    rows = [{**WHOLE, "age": age} for age in (30, 50, 200)]
    ours = ask("POST", "/v1/models/diabetes/score", rows).json
    answer = ask("POST", INFER, {"id": "42", **tensors(*rows)}).json
    assert answer["id"] == "42" and answer["model_name"] == "diabetes"
    assert answer["model_version"] == ours["version"]
    score, clamped, low, high = answer["outputs"]
    assert [list(pair) for pair in zip(low["data"], high["data"], strict=True)] == [
        s["interval"] for s in ours["scores"]
    ]
    assert score == {
        "name": "risk_score", "datatype": "FP64", "shape": [3],
        "data": [s["risk_score"] for s in ours["scores"]],
    }  # fmt: skip
    assert clamped["data"] == ["", "", "age"]
    assert answer["parameters"]["guarantee"] == ours["guarantee"]
    one = ask("POST", INFER, {**tensors(*rows), "outputs": [{"name": "risk_score"}]}).json
    assert [o["name"] for o in one["outputs"]] == ["risk_score"]
    nothing = {
        **tensors(*rows),
        "id": None,
        "outputs": None,
    }  # as many clients write
    assert ask("POST", INFER, nothing).json["outputs"] == answer["outputs"]
    versioned = f"/v2/models/diabetes/versions/{ours['version']}/infer"
    assert ask("POST", versioned, tensors(*rows)).json["outputs"] == answer["outputs"]
    column = tensors(*rows)
    for tensor in column["inputs"]:
        tensor["shape"], tensor["data"] = [3, 1], [[v] for v in tensor["data"]]
    assert ask("POST", INFER, column).json["outputs"] == answer["outputs"]


def test_what_is_there_is_told(ask: Inside) -> None:
    assert ask("GET", "/v2/health/live", key="").json == {"live": True}
    assert ask("GET", "/v2/health/ready", key="").json == {"ready": True}
    assert ask("GET", "/v2").json["name"] == "sfumato"
    about = ask("GET", "/v2/models/diabetes").json
    assert len(about["versions"]) == 2 and {o["name"] for o in about["outputs"]} == {
        "risk_score", "clamped", "interval_low", "interval_high",
    }  # fmt: skip
    kinds = {i["name"]: i["datatype"] for i in about["inputs"]}
    assert (kinds["age"], kinds["sex"], kinds["family_history"]) == ("FP64", "BYTES", "BOOL")
    assert ask("GET", "/v2/models/diabetes/ready").json == {"name": "diabetes", "ready": True}
    for path in ("/v2", "/v2/models/diabetes", "/v2/models/diabetes/ready"):
        refused = ask("GET", path, key="")
        assert refused.status == 401 and set(refused.json) == {"error"}
    assert ask("GET", "/v2/models/nothing").status == 404


def test_the_published_requests_are_answered(serve: Callable, tmp_path: Path) -> None:
    """The protocol's own asks for tensors that no model here has; MLServer's has one tensor of rows."""
    table = sf.samples.diabetes(1500, seed=5).select(["glucose", "bmi", "age", "diabetes"])
    score = AdditiveScore(epsilon=1.0, schema=table.schema).fit(table, "diabetes")
    score.save(tmp_path / "numbers.sfm", SigningKey.fresh(), name="numbers")
    ask, _ = serve(models=(str(tmp_path / "numbers.sfm"),))
    example = {
        "id": "42",
        "inputs": [
            {"name": "input0", "shape": [2, 2], "datatype": "UINT32", "data": [1, 2, 3, 4]},
            {"name": "input1", "shape": [3], "datatype": "BOOL", "data": [True]},
        ],
        "outputs": [{"name": "output0"}],
    }
    refused = ask("POST", "/v2/models/numbers/infer", example)
    assert refused.status == 400 and "outputs" in refused.json["error"]
    rows = [[130, 25, 44], [90, 30, 60]]
    flat = {
        "inputs": [{"name": "predict", "shape": [2, 3], "datatype": "FP32", "data": [*rows[0], *rows[1]]}]
    }
    nested = {"inputs": [{"name": "predict", "shape": [2, 3], "datatype": "FP32", "data": rows}]}
    first, second = (ask("POST", "/v2/models/numbers/infer", body) for body in (flat, nested))
    names = [f["name"] for f in ask("GET", "/v1/models/numbers").json["features"]]
    ours = ask("POST", "/v1/models/numbers/score", [dict(zip(names, r, strict=True)) for r in rows]).json
    assert first.body == second.body
    assert first.json["outputs"][0]["data"] == [s["risk_score"] for s in ours["scores"]]


def test_a_noisy_model_is_debited_here_too(spend: Callable, ledger: Ledger) -> None:
    ask, _ = spend()
    for _ in range(2):
        answer = ask("POST", "/v2/models/dpat/infer", tensors(WHOLE))
        assert answer.status == 200 and "unproved" in answer.json["parameters"]["guarantee"]
    assert ledger.spent == 0.5
    lines = {"idempotency-key": "a"}
    first = ask("POST", "/v2/models/dpat/infer", tensors(WHOLE), headers=lines)
    assert first.body == ask("POST", "/v2/models/dpat/infer", tensors(WHOLE), headers=lines).body
    other = ask("POST", "/v2/models/dpat/infer", tensors({**WHOLE, "age": 50}), headers=lines)
    assert other.status == 409 and "error" in other.json


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ([], "an object with inputs"), ({}, "an object with inputs"), ({"inputs": []}, "number of rows"),
        ({"inputs": [5]}, "an object with name"), ({"inputs": [], "more": 1}, "an object with inputs"),
        ({"inputs": [{"name": "age", "shape": [2], "datatype": "FP64", "data": [1]}]}, "as many values"),
        ({"inputs": [{"name": "age", "shape": [0], "datatype": "FP64", "data": []}]}, "above 0"),
        ({"inputs": [{"name": "age", "shape": [1], "datatype": "FLOAT", "data": [1]}]}, "datatype"),
        ({"inputs": [{"name": "age", "shape": [1], "datatype": "INT32", "data": [1.5]}]}, "of the datatype"),
        ({"inputs": [{"name": "age", "shape": [1], "datatype": "BOOL", "data": [1]}]}, "of the datatype"),
        ({"id": 5, "inputs": []}, "id"),
        ({"inputs": [{"name": "agee", "shape": [1], "datatype": "FP64", "data": [None]}]}, "no feature"),
        ({"inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP64", "data": [1, 2]}]}, "numbers alone"),
    ],
)  # fmt: skip
def test_a_wrong_request_is_told_why(ask: Inside, body: Any, part: str) -> None:
    answer = ask("POST", INFER, body)
    assert answer.status == 400 and part in answer.json["error"]


def test_nothing_malformed_is_a_fault(ask: Inside) -> None:
    strange: list[Any] = [
        None, True, 0, -1, 1e308, 10**400, CANARY, "", "x" * 3000, [], [[]], {}, [[1], 2], "\ud800", 1.5,
        [None],
    ]  # fmt: skip
    seen = set()
    for seed in range(10_000 if os.environ.get("SFUMATO_SOAK") else 1000):
        rng = np.random.default_rng(seed)
        body: Any = {"id": "a", **tensors(WHOLE, WHOLE)}
        tensor = body["inputs"][int(rng.integers(len(body["inputs"])))]
        place = [body, tensor, tensor["data"], tensor["shape"]][int(rng.integers(4))]
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = keys[int(rng.integers(len(keys)))]
        if rng.random() < 0.2:
            del place[key]
        else:
            place[key] = strange[int(rng.integers(len(strange)))]
        content = json.dumps(body).encode()
        if rng.random() < 0.1:
            cut = int(rng.integers(len(content)))
            content = content[:cut] + bytes(rng.integers(0, 256, 3, dtype=np.uint8)) + content[cut + 2 :]
        answer = ask("POST", INFER, content)
        seen.add(answer.status)
        assert answer.status < 500, (seed, answer.body)
        assert not re.search(CANARY_BEGINS, answer.body.decode()), seed
    assert seen == {200, 400}
