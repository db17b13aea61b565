"""Intervals by every protocol, and a service that rounds or abstains where noise outweighs a score."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from serving import WHOLE

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.privacy.signatures import SigningKey
from sfumato.service.certainty import Certainty, outwards
from sfumato.service.settings import Settings


@pytest.fixture(scope="module")
def unsure(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of few rows: its scores are mostly noise."""
    table = sf.samples.diabetes(800, seed=1)
    folder = tmp_path_factory.mktemp("unsure")
    score = sf.PrivateLogistic(0.5, table.schema, intervals=True, anyway=True).fit(table, "diabetes")
    score.save(folder / "diabetes.sfm", SigningKey.fresh(), name="diabetes")
    return folder


def test_each_score_and_contribution_has_an_interval(serve: Callable, unsure: Path) -> None:
    ask, _ = serve(models=(str(unsure),))
    answer = ask("POST", "/v1/models/diabetes/score", WHOLE, query="explain=true").json
    low, high = answer["interval"]
    assert low < answer["risk_score"] < high
    for part in answer["explanation"]["contributions"]:
        assert part["interval"][0] <= part["contribution"] <= part["interval"][1]
    assert ask("GET", "/v1/models/diabetes").json["intervals"] is True
    wider = serve(models=(str(unsure),), interval_level=0.99)[0](
        "POST", "/v1/models/diabetes/score", WHOLE
    ).json
    assert wider["interval"][0] < low and wider["interval"][1] > high
    many = ask("POST", "/v1/models/diabetes/score", [WHOLE, WHOLE]).json
    assert [s["interval"] for s in many["scores"]] == [[low, high]] * 2


def test_a_wide_interval_rounds_or_abstains(serve: Callable, unsure: Path) -> None:
    exact = serve(models=(str(unsure),))[0]("POST", "/v1/models/diabetes/score", WHOLE).json
    for action, said in (("round", round(exact["risk_score"], 1)), ("abstain", None)):
        ask, _ = serve(models=(str(unsure),), unsure=action, widest=0.001)
        answer = ask("POST", "/v1/models/diabetes/score", WHOLE, query="explain=true").json
        assert answer["risk_score"] == said and answer["interval"] == exact["interval"]
        assert ("explanation" in answer) == (action == "round")  # its parts would add up to the score
        sure = serve(models=(str(unsure),), unsure=action, widest=0.999)[0]
        assert sure("POST", "/v1/models/diabetes/score", WHOLE).json["risk_score"] == exact["risk_score"]


def test_the_inference_protocol_has_them_too(serve: Callable, unsure: Path) -> None:
    ask, _ = serve(models=(str(unsure),), unsure="abstain", widest=0.001)
    assert "interval_low" in [o["name"] for o in ask("GET", "/v2/models/diabetes").json["outputs"]]
    kinds = {bool: "BOOL", str: "BYTES"}
    inputs = [
        {"name": n, "shape": [1], "datatype": kinds.get(type(v), "FP64"), "data": [v]}
        for n, v in WHOLE.items()
    ]
    found = ask("POST", "/v2/models/diabetes/infer", {"inputs": inputs})
    assert found.status == 200
    data = {o["name"]: o["data"] for o in found.json["outputs"]}
    assert data["risk_score"] == [None] and data["interval_low"][0] < data["interval_high"][0]


def test_models_without_intervals_cannot_abstain(serve: Callable, tmp_path: Path) -> None:
    table = sf.samples.diabetes(800, seed=1)
    sf.PrivateLogistic(2.0, table.schema).fit(table, "diabetes").save(
        tmp_path / "plain.sfm", SigningKey.fresh()
    )
    with pytest.raises(ParameterError, match="has no intervals"):
        serve(models=(str(tmp_path / "plain.sfm"),), unsure="abstain")
    answer = serve(models=(str(tmp_path / "plain.sfm"),))[0]("POST", "/v1/models/diabetes/score", WHOLE).json
    assert "interval" not in answer


def test_wrong_settings_are_named() -> None:
    for wrong in ({"interval_level": 0.2}, {"widest": 0.0}, {"unsure": "guess"}):
        with pytest.raises(ParameterError, match="settings of the service"):
            Settings(models=("m.sfm",), **wrong)
    again = Settings.from_json(Settings(models=("m.sfm",), unsure="round").to_json())
    assert again.certainty == Certainty(action="round")


def test_a_rounded_interval_is_never_narrower() -> None:
    assert outwards((0.1234, 0.5678), 2) == [0.12, 0.57] and outwards((0.1, 0.2), None) == [0.1, 0.2]
    assert json.dumps(outwards((0.3, 0.7), 1)) in ("[0.3, 0.7]", "[0.2, 0.7]", "[0.3, 0.8]", "[0.2, 0.8]")
