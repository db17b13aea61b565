"""Models to serve, fitted once, and a service of one's own for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import Inside

from sfumato.service.app import Service, build
from sfumato.service.settings import Settings


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two versions of a diabetes model and one of septic shock."""
    import sfumato as sf
    from sfumato.cli.demo_models import fit
    from sfumato.prediction.additive import AdditiveScore
    from sfumato.prediction.signing import SigningKey

    folder = tmp_path_factory.mktemp("released")
    fit(folder)
    table = sf.samples.diabetes(1500, seed=2)
    key = SigningKey.fresh()
    AdditiveScore(epsilon=1.0, schema=table.schema).fit(table, "diabetes").save(
        folder / "a-earlier.sfm", key, name="diabetes"
    )
    return folder


@pytest.fixture
def serve(tmp_path: Path, released: Path) -> Iterator[Callable[..., tuple[Inside, Service]]]:
    """Builds services in this process; each is closed in the end."""
    made: list[Service] = []

    def start(*, loaded: Any = (), **given: Any) -> tuple[Inside, Service]:
        given = {"models": (str(released),), "runtime": str(tmp_path)} | given
        files = {"keys": str(tmp_path / "keys"), "answers": str(tmp_path / "answers")}
        service = Service(Settings(**(files | given)), loaded)
        made.append(service)
        _, text = service.installation.create_key("clinic", ("score",), rate=1e5, burst=100_000)
        return Inside(build(service), text), service

    yield start
    for service in made:
        service.close()
