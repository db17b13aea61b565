"""Versions: activated, rolled back, found in a folder, the same in every worker and after a restart."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from serving import WHOLE

from sfumato.errors import DataError, ParameterError, SfumatoError
from sfumato.prediction.artefact import load
from sfumato.service import logs
from sfumato.service.settings import Settings

MODEL = "/v1/models/diabetes"


@pytest.fixture
def versions(released: Path) -> tuple[str, str]:
    return load(released / "a-earlier.sfm").version, load(released / "diabetes.sfm").version


def owners_key(service: Any) -> str:
    secret: str = service.installation.create_key("owner", ("admin",))[1]
    return secret


def test_activated_and_rolled_back_in_every_worker(serve: Callable, versions: tuple[str, str]) -> None:
    earlier, later = versions
    ask, service = serve()
    other, _ = serve()  # another worker on the same files
    admin = owners_key(service)
    told = ask("GET", MODEL).json
    assert told["current"] == later and told["versions"] == [earlier, later]
    assert ask("POST", f"{MODEL}/activate", {"version": earlier}, key=admin).json == {
        "model": "diabetes", "current": earlier,
    }  # fmt: skip
    for worker in (ask, other):
        assert worker("POST", f"{MODEL}/score", WHOLE).json["version"] == earlier
        assert worker("POST", f"{MODEL}/score", WHOLE, query=f"version={later}").json["version"] == later
    assert ask("POST", f"{MODEL}/rollback", key=admin).json["current"] == later
    assert other("POST", f"{MODEL}/score", WHOLE).json["version"] == later
    assert ask("POST", f"{MODEL}/rollback", key=admin).code == "no_earlier_version"
    again, _ = serve()  # a restart
    assert again("GET", MODEL).json["current"] == later


def test_rolling_back_skips_what_is_not_at_hand(serve: Callable, versions: tuple[str, str]) -> None:
    earlier, later = versions
    ask, service = serve()
    admin = owners_key(service)
    for version in (earlier, "gone", "gone", later):  # "gone": a file that was there once
        service.installation.activate("diabetes", version)
    assert ask("POST", f"{MODEL}/rollback", key=admin).json["current"] == earlier
    assert ask("POST", f"{MODEL}/score", WHOLE).json["version"] == earlier
    service.installation.activate("diabetes", "gone")
    assert ask("POST", f"{MODEL}/score", WHOLE).code == "unavailable"
    assert ask("GET", "/readyz").status == 503
    again, _ = serve()  # a new start takes what is at hand
    assert again("POST", f"{MODEL}/score", WHOLE).json["version"] == later


def test_a_new_version_is_found_without_a_restart(serve: Callable, released: Path, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    shutil.copy(released / "a-earlier.sfm", folder)
    ask, service = serve(models=(str(folder),))
    other, _ = serve(models=(str(folder),))
    admin = owners_key(service)
    new = load(released / "diabetes.sfm").version
    assert ask("POST", f"{MODEL}/activate", {"version": new}, key=admin).code == "unknown_model"
    shutil.copy(released / "diabetes.sfm", folder / "b.sfm")
    assert ask("POST", f"{MODEL}/activate", {"version": new}, key=admin).status == 200
    assert other("POST", f"{MODEL}/score", WHOLE).json["version"] == new


@pytest.fixture
def admin(serve: Callable) -> Callable:
    ask, service = serve()
    key = owners_key(service)
    return lambda *given, **more: ask(*given, key=key, **more)


@pytest.mark.parametrize(
    "body", [{}, [], {"version": 1}, {"version": "../x"}, {"version": "current"}, {"version": "a", "b": 1}]
)
def test_what_is_no_version_is_refused(body: object, admin: Callable) -> None:
    assert admin("POST", f"{MODEL}/activate", body).status == 422


@pytest.mark.parametrize(
    "name",
    [
        "../diabetes",
        "..%2fdiabetes",
        "diabetes/../diabetes",
        "diabetes\x00",
        "DIABETES",
        ".",
        "/etc/passwd",
        "%64iabetes",
        "a" * 5000,
    ],
)
def test_names_are_looked_up_not_opened(name: str, admin: Callable) -> None:
    for answer in (
        admin("POST", f"/v1/models/{name}/score", WHOLE),
        admin("GET", f"/v1/models/{name}"),
        admin("POST", f"/v1/models/{name}/activate", {"version": "a"}),
    ):
        assert answer.status in (404, 405), answer.body


def test_what_cannot_be_served_is_said_before_starting(
    serve: Callable, released: Path, tmp_path: Path
) -> None:
    with pytest.raises(DataError):
        serve(models=(str(tmp_path / "absent.sfm"),))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError):
        serve(models=(str(tmp_path / "empty"),))
    changed = (released / "diabetes.sfm").read_bytes().replace(b"epsilon", b"epsilom", 1)
    (tmp_path / "changed.sfm").write_bytes(changed)
    with pytest.raises(SfumatoError):
        serve(models=(str(tmp_path / "changed.sfm"),))
    with pytest.raises(SfumatoError):
        serve(trusted=("0" * 64,))
    signer = load(released / "a-earlier.sfm").signer
    ask, _ = serve(models=(str(released / "a-earlier.sfm"),), trusted=(signer,))
    assert ask("GET", MODEL).json["signer"] == signer


def test_a_bad_file_in_a_folder_blocks_no_other(
    serve: Callable, released: Path, noisy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    shutil.copy(released / "a-earlier.sfm", folder)
    ask, service = serve(models=(str(folder),))
    other, _ = serve(models=(str(folder),))
    admin = owners_key(service)
    (folder / "a-bad.sfm").write_bytes(b"zebra")
    shutil.copy(noisy, folder)  # without the flag
    shutil.copy(released / "diabetes.sfm", folder / "b.sfm")
    new = load(folder / "b.sfm").version
    logs.set_up()
    try:
        assert ask("POST", f"{MODEL}/activate", {"version": new}, key=admin).status == 200
        assert other("POST", f"{MODEL}/score", WHOLE).json["version"] == new
        assert ask("GET", "/v1/models/dpat").code == "unknown_model"
    finally:
        logging.getLogger().handlers[:] = []
    written = capsys.readouterr().err
    assert '"file": "a-bad.sfm"' in written and '"file": "dpat.dpat"' in written and "zebra" not in written
    again, _ = serve(models=(str(folder),))  # a restart
    assert again("POST", f"{MODEL}/score", WHOLE).json["version"] == new
    (folder / "b.sfm").write_bytes(b"zebra")  # the current version itself: no silent step back
    with pytest.raises(SfumatoError):
        serve(models=(str(folder),))


@pytest.mark.parametrize(
    "given",
    [
        {"models": ()}, {"models": ("a",), "most_rows": 0}, {"models": ("a",), "body_bytes": 0},
        {"models": ("a",), "keep_hours": 0}, {"models": ("a",), "trusted": ("xyz",)},
    ],
)  # fmt: skip
def test_settings_check_themselves(given: dict) -> None:
    with pytest.raises(ParameterError):
        Settings(**given)


def test_settings_reach_the_workers_whole() -> None:
    settings = Settings(("a", "b"), ledger="x", trusted=("0" * 64,), share_answers=False, runtime="r")
    assert Settings.from_json(settings.to_json()) == settings


def test_the_guarantee_is_told_in_full(serve: Callable, released: Path) -> None:
    import json

    from sfumato.privacy import Guarantee

    ask, _ = serve()
    told = ask("GET", MODEL).json
    assert (
        Guarantee.from_json(json.dumps(told["guarantee_json"])) == load(released / "diabetes.sfm").guarantee
    )
    claim = told["guarantee"][0]
    assert claim["promise"] and claim["limits"] and claim["assumptions"]
    features = {f["name"]: f for f in told["features"]}
    assert features["glucose"]["low"] == 50 and features["sex"]["levels"] == ["female", "male"]
    assert told["card"]


def test_a_forest_is_served_as_well(serve: Callable, tmp_path: Path) -> None:
    import math

    import sfumato as sf
    from sfumato.prediction.forest import AlphaForest
    from sfumato.privacy.signatures import SigningKey

    table = sf.samples.diabetes(3000, seed=4)
    forest = AlphaForest(epsilon=2.0, schema=table.schema).fit(table, "diabetes")
    forest.save(tmp_path / "forest.sfm", SigningKey.fresh(), name="forest")
    ask, _ = serve(models=(str(tmp_path / "forest.sfm"),))
    answer = ask("POST", "/v1/models/forest/score", WHOLE, query="explain=true").json
    why = answer["explanation"]
    odds = why["base"] + sum(c["contribution"] for c in why["contributions"])
    assert answer["risk_score"] == pytest.approx(1 / (1 + math.exp(-odds)), abs=1e-9)
    assert "epsilon = 2" in answer["guarantee"]
