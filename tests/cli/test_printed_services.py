"""The commands of what serves, as they stand: started, asked as the page asks, stopped as by Ctrl-C."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from issuers import Issuer
from printed import Play, going_on, pages, served, shell
from pyarrow import csv

import sfumato as sf

pytestmark = pytest.mark.soak


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, and nobody's trust."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return folder


def fitted(folder: Path) -> None:
    """Two versions of a model in models/, and the newer one beside it."""
    for command in (
        "sfumato sample diabetes 1500 --out checkups.csv --schema checkups.toml",
        "sfumato trust key hospital.key",
        "mkdir models",
        *(f"sfumato fit checkups.csv --schema checkups.toml --target diabetes --epsilon {epsilon} "
          f"--sign hospital.key --out models/{file}.sfm" for file, epsilon in (("earlier", 1), ("later", 2))),
        "cp models/later.sfm diabetes.sfm",
    ):  # fmt: skip
        ended = shell(command, folder)
        assert ended.code == 0, ended


def key_of(said: str) -> str:
    found = re.search(r"sfm_\w+", said)
    assert found is not None, said
    return found[0]


def test_serving_a_model(work: Path) -> None:
    fitted(work)
    with Play("serve") as play:
        key = key_of(play.next("serve", "sfumato keys create clinic").said)
        with served(play.take("serve", "sfumato serve diabetes.sfm"), work) as (port, _):
            answer = play.ask("serve", port, KEY=key)
            assert answer["model"] == "diabetes" and isinstance(answer["risk_score"], float)
        admin = key_of(play.next("serve", "sfumato keys create operator").said)
        with served("sfumato serve models/", work) as (port, _):
            asks = f"curl -s --noproxy '*' http://127.0.0.1:{port}/v1/models/diabetes"
            about = shell(f"{asks} -H 'Authorization: Bearer {key}'", work)
            found = json.loads(about.said)
            other = next(v for v in found["versions"] if v != found["current"])
            play.swap("serve", "c1e3ee9cdb31e093", other)
            assert play.ask("serve", port, ADMIN=admin)["current"] == other
            assert play.ask("serve", port, ADMIN=admin)["current"] == found["current"]


def test_histograms_of_what_is_asked(work: Path) -> None:
    fitted(work)
    with Play("drift") as play:
        play.next("drift", "sfumato ledger new")
        with served(play.take("drift", "sfumato serve"), work):
            pass
        play.rest("drift")


def test_tokens_and_charts(work: Path) -> None:
    fitted(work)
    issuer, registry = Issuer(), Issuer()
    issuer.add("first", "RS256")
    registry.url = "registry"
    registry.add("ours", "RS384")
    Path("jwks.json").write_text(json.dumps(issuer.jwks))
    Path("registry.jwks.json").write_text(json.dumps(registry.jwks))
    address = "https://scores.hospital.example/v1/token"
    block = re.compile(r"^```toml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    blocks = {name: block.findall(pages()[name].read_text("utf-8")) for name in ("access", "fhir")}
    Path("access.toml").write_text(f'token_url = "{address}"\n{blocks["access"][0]}')
    Path("fhir.toml").write_text(blocks["fhir"][0])
    with Play("access", "fhir") as play:
        with served(play.take("access", "sfumato serve"), work) as (port, _):
            signed = registry.token("ours", aud=address, sub="registry", client_id=None, scope=None, jti="1")
            answer = play.ask("access", port, "scores.hospital.example", SIGNED=signed)
            assert answer["scope"] == "system/RiskAssessment.c" and answer["expires_in"] == 300
        asked = ["age", "sex", "bmi", "glucose", "family_history", "diabetes"]  # what the page's mapping has
        table = sf.samples.diabetes(1_500, seed=1).select(asked)
        shutil.rmtree("models")
        Path("models").mkdir()
        sf.AdditiveScore(epsilon=1.0).fit(table, "diabetes").save(
            "models/diabetes.sfm", sf.SigningKey.load("hospital.key"), name="diabetes"
        )
        with served(play.take("fhir", "sfumato serve"), work) as (port, _):
            found = shell(f"curl -s --noproxy '*' http://127.0.0.1:{port}/cds-services", work)
            assert json.loads(found.said)["services"][0]["hook"] == "patient-view"


def test_the_studio(work: Path) -> None:
    table = sf.samples.discharges(400, seed=1).select(["age", "sex", "mdc"])
    csv.write_csv(table.to_arrow(), "discharges.csv")
    with Play("studio") as play:
        command = play.take("studio", "sfumato studio discharges.csv")
        with going_on(f"{command} --no-browser", work, r"/enter\?ticket=\S+\s") as said:
            address = re.search(r"http://127\.0\.0\.1:\d+/enter\?ticket=\S+", said)
            assert address is not None
            entered = shell(f"curl -s --noproxy '*' -c jar '{address[0]}'", work)
            assert entered.code == 0 and Path("jar").exists()
            home = address[0].partition("/enter")[0]
            page = shell(f"curl -s -L --noproxy '*' -b jar {home}/", work)
            assert "discharges" in page.said
