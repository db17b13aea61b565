"""Ledgers in memory, in files and in PostgreSQL; places where none is yet; a machine of its own."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sfumato.privacy import Ledger

Places = Callable[[], str]


@pytest.fixture
def postgres_places(postgres_url: str) -> Iterator[Places]:
    """Names of new ledgers in PostgreSQL; what is made there is removed afterwards."""
    import psycopg

    made: list[str] = []

    def place() -> str:
        made.append(f"t_{secrets.token_hex(6)}")
        return f"{postgres_url}#{made[-1]}"

    yield place
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for name in made:
            connection.execute(f"DROP SCHEMA IF EXISTS sfumato_{name} CASCADE")


@pytest.fixture
def file_places(tmp_path: Path) -> Places:
    """Paths of new ledgers."""
    numbers = iter(range(1000))
    return lambda: str(tmp_path / f"{next(numbers)}.ledger")


@pytest.fixture(params=["file", "postgres"])
def places(request: pytest.FixtureRequest) -> Places:
    """Places for new ledgers that outlive a process."""
    found: Places = request.getfixturevalue(f"{request.param}_places")
    return found


@pytest.fixture
def place(places: Places) -> str:
    """One such place."""
    return places()


@pytest.fixture(params=["memory", "file", "postgres"])
def make(request: pytest.FixtureRequest) -> Callable[[Any], Ledger]:
    """A new ledger with a budget, of each kind."""
    if request.param == "memory":
        return Ledger.in_memory
    new: Places = request.getfixturevalue(f"{request.param}_places")
    return lambda budget: Ledger.open(new(), budget)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Be on another machine from here on: one that has its own witnesses."""

    def be(name: str) -> None:
        monkeypatch.setenv("SFUMATO_STATE", str(tmp_path / "machines" / name))

    return be


def run_sql(place: str, *statements: str) -> None:
    """Change the tables of a ledger by other means."""
    if "#" in place:
        import psycopg

        url, _, name = place.partition("#")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"SET search_path = sfumato_{name}")
            for statement in statements:
                connection.execute(statement)
    else:
        import sqlite3

        file = sqlite3.connect(place)
        for statement in statements:
            file.execute(statement)
        file.commit()
        file.close()


@pytest.fixture
def edit() -> Callable[..., None]:
    """The function `run_sql`."""
    return run_sql
