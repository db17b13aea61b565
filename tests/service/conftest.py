"""Models to serve, fitted once, and a service of one's own for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import Inside

from sfumato.privacy import Ledger
from sfumato.service.app import build
from sfumato.service.settings import Settings
from sfumato.service.worker import Service


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Models are fitted once for each worker of a test run, so the tests that share them stay together."""
    for item in items:
        if "service" in item.path.parts:
            apart = item.path.stem in ("test_live", "test_page", "test_schemathesis")
            item.add_marker(pytest.mark.xdist_group("service-live" if apart else "service"))


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two versions of a diabetes model and one of septic shock."""
    import sfumato as sf
    from sfumato.cli.demo_models import fit
    from sfumato.prediction.additive import AdditiveScore
    from sfumato.privacy.signatures import SigningKey

    folder = tmp_path_factory.mktemp("released")
    fit(folder)
    table = sf.samples.diabetes(1500, seed=2)
    key = SigningKey.fresh()
    AdditiveScore(epsilon=1.0, schema=table.schema).fit(table, "diabetes").save(
        folder / "a-earlier.sfm", key, name="diabetes"
    )
    return folder


@pytest.fixture(scope="session")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A confidential, noisy model; each answer claims an epsilon of 0.5."""
    import sfumato as sf
    from sfumato.prediction.dpat import DPaT

    table = sf.samples.diabetes(1500, seed=3)
    path = tmp_path_factory.mktemp("noisy") / "dpat.dpat"
    DPaT(epsilon_per_call=0.5).fit(table, "diabetes").save(path, "dpat")
    return path


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """A budget of 5, of which the clinic may spend 2 and the lab 2."""
    ledger = Ledger.open(tmp_path / "study.ledger", budget=5.0)
    for client in ("clinic", "lab"):
        ledger.set_client(client, 2.0)
    return ledger


@pytest.fixture
def spend(serve: Callable[..., Any], noisy: Path, ledger: Ledger, tmp_path: Path) -> Callable[..., Any]:
    """Builds services with the noisy model."""
    path = str(tmp_path / "study.ledger")

    def start(**given: Any) -> tuple[Inside, Service]:
        made: tuple[Inside, Service] = serve(
            **({"models": (str(noisy),), "ledger": path, "allow_unproved": True} | given)
        )
        return made

    return start


@pytest.fixture
def serve(tmp_path: Path, released: Path) -> Iterator[Callable[..., tuple[Inside, Service]]]:
    """Builds services in this process; each is closed in the end."""
    made: list[Service] = []

    def start(**given: Any) -> tuple[Inside, Service]:
        given = {"models": (str(released),), "runtime": str(tmp_path)} | given
        files = {"keys": str(tmp_path / "keys"), "answers": str(tmp_path / "answers")}
        service = Service(Settings(**(files | given)))
        made.append(service)
        _, text = service.installation.create_key("clinic", ("score",), rate=1e5, burst=100_000)
        return Inside(build(service), text), service

    yield start
    for service in made:
        service.close()
