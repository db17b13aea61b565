"""Every format that a version wrote is read with its meaning, or refused with what to do (tests/corpus)."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sqlite3
import tomllib
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import DataError, PlanError, SfumatoError
from sfumato.io.atomic import owner_only
from sfumato.plan.database import DatabasePlan
from sfumato.prediction.artefact import load
from sfumato.prediction.confidential import load_confidential
from sfumato.privacy import Budget, Ledger
from sfumato.release import Release

CORPUS = Path(__file__).with_name("corpus")
VERSIONS = ("0.1", "0.2")
# What the version that wrote a score answered for the lowest value of each feature.
LOGISTIC = (0.02478936138474944, 0.008070815246168896, 0.07357140201427104)  # with its interval of 90%
SCORES = {"d1a163a3": 0.06742806871955624, "a3e59b08": 0.11845431853273411}


@pytest.fixture
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of what a version wrote, with the rights it had: a repository keeps no owner."""
    folder = tmp_path / "kept"
    shutil.copytree(CORPUS / request.param, folder)
    owner_only(folder)
    return folder


every = pytest.mark.parametrize("kept", VERSIONS, indirect=True)


def number(kept: Path, what: str) -> object:
    """Which format a file says it is."""
    if what == "plan":
        return tomllib.loads((kept / "plan.toml").read_text("utf-8"))["sfumato_plan"]
    if what == "ledger":
        connection = sqlite3.connect(kept / "study.ledger")
        found = dict(connection.execute("SELECT * FROM meta"))["version"]
        connection.close()
        return found
    return json.loads((kept / "release/public/manifest.json").read_text("utf-8"))["sfumato_release"]


def test_the_corpus_is_what_it_is_said_to_be() -> None:
    """What is promised of a version is about a file of that version, not of a later one."""
    assert number(CORPUS / "before-0.1", "ledger") == "1" and number(CORPUS / "0.1", "ledger") == "2"
    assert number(CORPUS / "0.1", "plan") == 1 and number(CORPUS / "0.2", "plan") == 2
    assert number(CORPUS / "0.1", "release") == 1
    page = (CORPUS.parents[1] / "docs" / "stability.md").read_text("utf-8")
    assert re.search(r"^\| plan \| .* \| 2 \| 2 \|", page, re.M)


@pytest.mark.parametrize("kept", ["0.2"], indirect=True)
def test_a_plan_is_read(kept: Path) -> None:
    (step,) = sf.Plan.read(kept / "plan.toml").steps
    assert "lugs" in repr(step).lower()


@pytest.mark.parametrize("kept", ["0.1"], indirect=True)
def test_a_plan_of_before_is_refused_with_what_to_do(kept: Path) -> None:
    from sfumato.cli.app import run

    with pytest.raises(PlanError) as caught:
        sf.Plan.read(kept / "plan.toml")
    assert "sfumato plan upgrade plan.toml" in caught.value.hint
    assert run(["plan", "upgrade", str(kept / "plan.toml")]) == 0
    assert number(kept, "plan") == 2 or any(
        "sfumato_plan = 2" in p.read_text("utf-8") for p in kept.glob("*.toml")
    )


@every
def test_a_schema_is_read(kept: Path) -> None:
    schema = sf.Schema.read(kept / "schema.toml")
    assert [c.name for c in schema.columns] == ["id", "sex", "age", "region"]
    assert sf.scan(kept / "rows.csv", schema=kept / "schema.toml").rows() == 40


@pytest.mark.parametrize("kept", ["0.1"], indirect=True)
def test_a_release_is_read_and_verified(kept: Path) -> None:
    assert Release.load(kept / "release").data.rows() == 40
    found = sf.verify(kept / "release")
    assert found.ok and not found.failures
    assert sf.verify(kept / "release" / "public").ok


@pytest.mark.parametrize("kept", ["before-0.1", *VERSIONS], indirect=True)
def test_a_ledger_keeps_what_was_spent(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_STATE", str(tmp_path / "state"))
    assert Ledger.look(kept / "study.ledger").spent == 0.5
    ledger = Ledger.open(kept / "study.ledger", Budget(epsilon=1.0))
    ledger.grant(epsilon=0.25, purpose="third table")
    assert ledger.left == 0.25
    assert [e.purpose for e in ledger.entries()][-3:] == ["first table", "second table", "third table"]
    assert number(kept, "ledger") == "2"
    with pytest.raises(sf.BudgetError):
        ledger.grant(epsilon=0.5, purpose="too much")


@every
def test_a_score_is_read_and_gives_the_same_answers(kept: Path) -> None:
    model = load(kept / "score.sfm", trusted=[(kept / "officer.pub").read_text("ascii")])
    assert model.name == "diabetes-risk" and model.guarantee.claims
    row = {f.name: f.levels[0] if f.levels else f.low for f in model.features}
    (answer,) = model.score([row])
    known = SCORES[hashlib.sha256((kept / "score.sfm").read_bytes()).hexdigest()[:8]]
    assert answer.probability == pytest.approx(known, abs=1e-12)


@every
def test_a_tree_and_a_key_are_read(kept: Path) -> None:
    tree = load_confidential(kept / "shock.dpat")
    assert tree.claimed_epsilon >= 1
    assert sf.SigningKey.load(kept / "officer.key").public == (kept / "officer.pub").read_text("ascii")


@pytest.mark.parametrize("kept", ["0.1"], indirect=True)
def test_private_synthesis_without_provenance_is_refused_with_what_to_do(kept: Path) -> None:
    with pytest.raises(DataError, match="nobody says where they come from") as caught:
        sf.PrivateModel.load(kept / "synthesizer.sfm")
    assert "fit it again" in caught.value.hint


@pytest.mark.parametrize("kept", ["0.2"], indirect=True)
def test_private_synthesis_is_read_and_sampled(kept: Path) -> None:
    model = sf.PrivateModel.load(kept / "synthesizer.sfm")
    assert sorted(model.sample(50).data.schema.names) == ["pay", "sev", "sex"]
    assert model.guarantee.claims


@pytest.mark.parametrize("kept", ["0.2"], indirect=True)
def test_a_logistic_score_keeps_its_answers_and_intervals(kept: Path) -> None:
    model = load(kept / "logistic.sfm", trusted=[(kept / "officer.pub").read_text("ascii")])
    row = {f.name: f.levels[0] if f.levels else f.low for f in model.features}
    assert model.score([row])[0].probability == pytest.approx(LOGISTIC[0], abs=1e-12)
    assert tuple(model.interval(row, 0.9)) == pytest.approx(LOGISTIC[1:], abs=1e-9)
    assert {"groups", "population"} <= set(model.card)


# --- a version that is not there yet ----------------------------------------------------------------


def rewritten(path: Path, now: str, later: str) -> Path:
    text = path.read_text("utf-8")
    assert now in text
    path.write_text(text.replace(now, later, 1), "utf-8")
    return path


def later_ledger(path: Path) -> Path:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE meta SET value = '3' WHERE key = 'version'")
    connection.commit()
    connection.close()
    return path


def later_synthesizer(path: Path) -> Path:
    with np.load(path) as archive:
        arrays = dict(archive)
    document = {**json.loads(arrays["document"].tobytes()), "sfumato_private_model": 5}
    arrays["document"] = np.frombuffer(json.dumps(document).encode(), np.uint8)
    with path.open("wb") as file:
        np.savez(file, **arrays)
    return path


LATER = {
    "plan": lambda k: sf.Plan.read(rewritten(k / "plan.toml", "sfumato_plan = 2", "sfumato_plan = 3")),
    "ledger": lambda k: Ledger.open(later_ledger(k / "study.ledger"), Budget(epsilon=1.0)),
    "score": lambda k: load(rewritten(k / "score.sfm", '"sfumato_model":1', '"sfumato_model":2')),
    "tree": lambda k: load_confidential(
        rewritten(k / "shock.dpat", '"sfumato_noisy_model": 1', '"new": 1, "sfumato_noisy_model": 2')
    ),
    "key": lambda k: sf.SigningKey.load(
        rewritten(k / "officer.key", '"sfumato_signing_key": 1', '"sfumato_signing_key": 2')
    ),
    "private synthesis": lambda k: sf.PrivateModel.load(later_synthesizer(k / "synthesizer.sfm")),
    "guarantee": lambda k: sf.Guarantee.from_json(
        load(k / "score.sfm").guarantee.to_json().replace('"sfumato_guarantee": 1', '"sfumato_guarantee": 2')
    ),
}


@pytest.mark.parametrize("what", LATER)
@pytest.mark.parametrize("kept", ["0.2"], indirect=True)
def test_a_later_format_is_refused_with_what_to_do(kept: Path, what: str) -> None:
    with pytest.raises(SfumatoError) as caught:
        LATER[what](kept)
    assert caught.value.hint.startswith("upgrade Sfumato")


@pytest.mark.parametrize("kept", ["0.1"], indirect=True)
def test_a_release_of_a_later_format_is_refused_with_what_to_do(kept: Path) -> None:
    rewritten(kept / "release/public/manifest.json", '"sfumato_release": 1', '"sfumato_release": 3')
    with pytest.raises(DataError) as caught:
        Release.load(kept / "release")
    assert caught.value.hint == "upgrade Sfumato"
    assert not sf.verify(kept / "release").ok


@pytest.mark.parametrize("kept", ["0.2"], indirect=True)
def test_a_file_that_was_cut_off_is_refused(kept: Path) -> None:
    for name in ("score.sfm", "logistic.sfm", "shock.dpat", "synthesizer.sfm"):
        path = kept / name
        raw = path.read_bytes()
        path.write_bytes(raw[: len(raw) // 2])
        with pytest.raises(SfumatoError):
            {"shock.dpat": load_confidential, "synthesizer.sfm": sf.PrivateModel.load}.get(name, load)(path)


def test_a_later_plan_of_linked_tables_is_refused_with_what_to_do(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text("sfumato_plan = 3\n[database]\nfolder = 'hospital'\n", "utf-8")
    with pytest.raises(PlanError, match=r"sfumato_plan is not 2.*upgrade Sfumato"):
        DatabasePlan.read(plan)
