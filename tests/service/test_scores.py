"""Scores from released models: what is said, what is clamped, what is refused, and that nothing leaks."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from serving import CANARY, WHOLE

from sfumato.prediction.artefact import load
from sfumato.service import logs

SCORE = "/v1/models/diabetes/score"


def test_a_score_is_the_models_own(serve: Callable, released: Path) -> None:
    ask, service = serve()
    answer = ask("POST", SCORE, WHOLE)
    model = service.registry.find("diabetes").model
    assert answer.status == 200
    assert answer.json == {
        "model": "diabetes", "version": model.version, "target": model.target,
        "guarantee": "differential privacy with epsilon = 1; unaccounted",
        "risk_score": model.score([WHOLE])[0].probability, "clamped": [],
        "interval": list(model.interval(WHOLE)),
    }  # fmt: skip
    assert load(released / "diabetes.sfm").version == model.version


def test_many_are_scored_in_their_order(serve: Callable) -> None:
    ask, service = serve()
    rows = [{**WHOLE, "glucose": g} for g in (70, 130, 290)]
    answer = ask("POST", SCORE, rows).json
    model = service.registry.find("diabetes").model
    assert [s["risk_score"] for s in answer["scores"]] == [s.probability for s in model.score(rows)]
    assert len({s["risk_score"] for s in answer["scores"]}) == 3
    assert answer["version"] == model.version


def test_an_explanation_adds_up(serve: Callable) -> None:
    from math import exp

    ask, _ = serve()
    answer = ask("POST", SCORE, WHOLE, query="explain=true").json
    why = answer["explanation"]
    odds = why["base"] + sum(c["contribution"] for c in why["contributions"])
    assert answer["risk_score"] == pytest.approx(1 / (1 + exp(-odds)), abs=1e-12)
    assert why["scale"] == "log-odds"


def test_out_of_range_is_clamped_and_said(serve: Callable) -> None:
    ask, _ = serve()
    far = ask("POST", SCORE, {**WHOLE, "glucose": CANARY, "bmi": -5}).json
    edge = ask("POST", SCORE, {**WHOLE, "glucose": 300, "bmi": 15}).json
    assert sorted(far["clamped"]) == ["bmi", "glucose"] and edge["clamped"] == []
    assert far["risk_score"] == edge["risk_score"]


def test_scores_may_be_coarse(serve: Callable) -> None:
    ask, service = serve(decimals=1)
    exact = service.registry.find("diabetes").model.score([WHOLE])[0].probability
    answer = ask("POST", SCORE, WHOLE, query="explain=true").json
    assert answer["risk_score"] == round(exact, 1)
    assert all(
        round(c["contribution"], 1) == c["contribution"] for c in answer["explanation"]["contributions"]
    )


BAD = {
    "unknown feature": ({**WHOLE, "glukose": CANARY}, 422, "glukose"),
    "text for a number": ({**WHOLE, "glucose": str(CANARY)}, 422, "glucose"),
    "truth for a number": ({**WHOLE, "glucose": True}, 422, "glucose"),
    "number for a level": ({**WHOLE, "sex": CANARY}, 422, "sex"),
    "unlisted level": ({**WHOLE, "sex": f"x{CANARY}"}, 422, "sex"),
    "list": ({**WHOLE, "bmi": [CANARY]}, 422, "bmi"),
    "object": ({**WHOLE, "bmi": {"x": CANARY}}, 422, "bmi"),
    "required": ({k: v for k, v in WHOLE.items() if k != "age"}, 422, "age"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_breaks_a_rule_is_named_by_field_and_rule(name: str, serve: Callable) -> None:
    ask, _ = serve()
    row, status, field = BAD[name]
    one, many = ask("POST", SCORE, row), ask("POST", SCORE, [WHOLE, row])
    assert one.status == many.status == status
    assert [f["field"] for f in one.json["error"]["faults"]] == [field]
    assert [f["row"] for f in many.json["error"]["faults"]] == [1]
    assert all(f["rule"] for f in one.json["error"]["faults"])
    assert str(CANARY).encode() not in one.body + many.body


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_what_is_not_finite_is_named(literal: str, serve: Callable) -> None:
    ask, _ = serve()
    body = json.dumps({**WHOLE, "glucose": 1}).replace('"glucose": 1', f'"glucose": {literal}').encode()
    answer = ask("POST", SCORE, body)
    assert answer.status == 422
    assert answer.json["error"]["faults"] == [
        {"row": 0, "field": "glucose", "rule": "must be a finite number"}
    ]


FORMS = {
    "nothing": (b"", 400),
    "no JSON": (b"{", 400),
    "not UTF-8": (b'{"a": "\xff"}', 400),
    "UTF-16": ('{"glucose": 1}'.encode("utf-16"), 400),
    "a name twice": (b'{"glucose": 1, "glucose": 2}', 400),
    "deep": (b"[" * 100_000, 400),
    "deep and closed": (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, 400),
    "long number": (b'{"glucose": ' + b"9" * 5000 + b"}", 400),
    "text": (b'"x"', 422),
    "null": (b"null", 422),
    "empty list": (b"[]", 422),
    "list of numbers": (b"[1]", 422),
    "too many rows": (b"[" + b",".join([b"{}"] * 1001) + b"]", 422),
}


@pytest.mark.parametrize("name", FORMS)
def test_malformed_bodies_are_refused(name: str, serve: Callable) -> None:
    ask, _ = serve()
    body, status = FORMS[name]
    answer = ask("POST", SCORE, body)
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "application/json"


def test_large_bodies_are_refused_by_header_and_by_size(serve: Callable) -> None:
    ask, _ = serve(body_bytes=1000)
    assert ask("POST", SCORE, b"x" * 1001, headers={"content-length": "1001"}).code == "too_large"
    assert (
        ask("POST", SCORE, b"", chunks=[b"x" * 600, b"x" * 600]).code == "too_large"
    )  # says nothing of its size
    for digits in (30, 5000):  # so many that they are no number to Python
        assert ask("POST", SCORE, b"", headers={"content-length": "9" * digits}).code == "too_large"
    assert ask("POST", SCORE, WHOLE).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain"},
        {"content-type": "application/json; charset=latin-1"},
        {"content-type": "application/jsonx"},
        {"content-type": "application/json", "content-encoding": "gzip"},
        [("content-type", "application/json"), ("content-type", "text/plain")],
    ],
)
def test_another_content_type_is_refused(headers: object, serve: Callable) -> None:
    ask, _ = serve()
    assert ask("POST", SCORE, json.dumps(WHOLE).encode(), headers=headers).code == "not_json_type"
    assert (
        ask(
            "POST",
            SCORE,
            json.dumps(WHOLE).encode(),
            headers={"content-type": "Application/JSON; charset=UTF-8"},
        ).status
        == 200
    )


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("verison=x", "verison"),
        ("version=a/b", "version"),
        ("explain=1", "explain"),
        ("explain=true&explain=false", "explain"),
    ],
)
def test_parameters_are_checked(query: str, field: str, serve: Callable) -> None:
    ask, _ = serve()
    answer = ask("POST", SCORE, WHOLE, query=query)
    assert answer.status == 422 and answer.json["error"]["faults"][0]["field"] == field


def test_faults_are_counted_and_cut(serve: Callable) -> None:
    ask, _ = serve()
    answer = ask("POST", SCORE, [{**WHOLE, **{f"{'x' * 300}{i}": 1 for i in range(9)}}] * 20)
    faults = answer.json["error"]["faults"]
    assert len(faults) == 50 and max(len(f["field"]) for f in faults) <= 64


def test_a_bomb_of_fields_is_refused_before_it_is_looked_at(serve: Callable) -> None:
    ask, _ = serve()
    answer = ask("POST", SCORE, {**WHOLE, **{f"x{i}": 1 for i in range(50_000)}})
    assert [f["rule"] for f in answer.json["error"]["faults"]] == ["a row has at most 48 fields"]


def test_a_body_that_never_ends_is_given_up(serve: Callable) -> None:
    ask, _ = serve(seconds_to_send=0.2)
    ask.hanging = True
    answer = ask("POST", SCORE, b"", chunks=[b"{"])
    assert answer.code == "too_slow"


def test_a_fault_of_our_own_is_json_without_a_value(
    serve: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    ask, service = serve()

    def broken(rows: object) -> None:
        raise ZeroDivisionError(f"zebra {rows}")

    object.__setattr__(service.registry.find("diabetes").model, "score", broken)
    logs.set_up()
    try:
        answer = ask("POST", SCORE, {**WHOLE, "glucose": CANARY})
    finally:
        logging.getLogger().handlers[:] = []
    assert answer.status == 500 and answer.code == "fault"
    assert answer.headers["content-type"] == "application/json"
    written = capsys.readouterr().err
    assert "ZeroDivisionError" in written and '"code": "fault"' in written
    assert all(said not in written + answer.body.decode() for said in ("zebra", str(CANARY)))


def test_neither_logs_nor_errors_hold_what_was_sent(
    serve: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    ask, _ = serve()
    logs.set_up()
    try:
        said = b"".join(
            ask("POST", SCORE, row, query=f"explain=true&x{CANARY}=1" if odd else "").body
            for row, *_ in BAD.values()
            for odd in (0, 1)
        )
        ask("POST", f"/v1/models/zebra-{CANARY}/score", WHOLE, headers={"x-request-id": "zebra-7319"})
        ask("GET", f"/zebra-{CANARY}", headers={"user-agent": f"zebra-{CANARY}"})
    finally:
        logging.getLogger().handlers[:] = []
    written = capsys.readouterr().err
    assert written.count('"event": "request"') == 2 * len(BAD) + 2
    assert str(CANARY) not in written and "zebra" not in written
    assert b"7319.25" not in said.replace(
        b"x7319.25", b""
    )  # a wrong parameter's own name is told to its sender
    for line in written.splitlines():
        assert set(json.loads(line)) <= {
            "time",
            "level",
            "event",
            "ms",
            "id",
            "route",
            "status",
            "code",
            "key",
            "model",
            "version",
        }
