"""Domains of linked tables found with a part of the budget: in database.toml, for persons, paid once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from linked import saved
from lives import lives, public

import sfumato as sf
from sfumato.cli.app import run as command
from sfumato.database import with_person
from sfumato.io.declarations import database_toml
from sfumato.privacy import Budget, Ledger, Unit
from sfumato.privacy.signatures import SigningKey

FIND = ["schema", "find", "people/database.toml", "people", "--epsilon", "2", "--delta", "0.001", "-q"]
DECLARE = ["schema", "declare", "people/database.toml", "--by", "R. Weiss", "--reason", "form F12", "-q"]
NAMED = ["people.birth_date", "people.death_date", "people.sex", "visits.ward"]
DRAW = [
    "synthesize", "people", "--method", "linked", "--epsilon", "1", "--persons", "25", "--delta", "0",
    "--max-children", "visits=3", "--max-children", "tests=2", "--period", "2020-01-01",
    "--period", "2021-12-31", "--ledger", "a.ledger", "--out", "out", "-q",
]  # fmt: skip


def unnamed(persons: int = 80) -> sf.Database:
    """Tests name their visit only, and nobody has said which tests there are."""
    data = public(lives(persons))
    rows = {n: t.to_arrow() for n, t in data.tables.items()}
    rows["tests"] = rows["tests"].drop_columns(["person_id"])
    found = sf.scan_database(rows)
    known = {n: data[n].schema for n in ("people", "visits")}
    return found.with_tables({n: found[n].with_schema(s) for n, s in known.items()})


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    data = unnamed()
    saved(tmp_path / "people", data)
    text = database_toml(data, {n: f"{n}.parquet" for n in data.tables})
    (tmp_path / "people/database.toml").write_text(text)
    Ledger.open(tmp_path / "a.ledger", Budget(epsilon=5.0, delta=0.01, unit=Unit.person(10)))
    return tmp_path


def spent() -> float:
    return Ledger.look("a.ledger").spent


def test_what_was_found_is_in_the_declaration_and_its_cost_in_the_promise(here: Path) -> None:
    assert command([*FIND, "--column", "tests.test", "--ledger", "a.ledger"]) == 0
    assert spent() == 2.0
    read = sf.scan_database("people")
    column = read["tests"].schema["test"]
    assert column.origin.startswith("found with budget") and "other" in (column.levels or ())
    assert set(read["tests"].columns) == {"visit_id", "test"}  # no number of a person was written
    SigningKey.fresh().save(here / "me.key")
    assert command([*DECLARE, "--key", "me.key", *(x for n in NAMED for x in ("--column", n))]) == 0
    assert command(DRAW) == 0 and spent() == 3.0
    (claim,) = (c for c in sf.DatabaseRelease.load("out").guarantee if c.differential)
    assert claim.epsilon == 3.0 and claim.unit == Unit.person(10)  # type: ignore[attr-defined]


def test_persons_count_through_their_visits(here: Path) -> None:
    """One person has a thousand tests of a kind that nobody else has: one row of them counts."""
    data = unnamed()
    rows = {n: t.to_arrow() for n, t in data.tables.items()}
    import pyarrow as pa

    visit = rows["visits"]["visit_id"][0].as_py()
    more = pa.table({"visit_id": [visit] * 1000, "test": ["rare"] * 1000}).cast(rows["tests"].schema)
    rows["tests"] = pa.concat_tables([rows["tests"], more])
    found = data.with_tables({"tests": sf.scan(rows["tests"], data["tests"].schema)})
    seen = with_person(found, "tests")
    numbers = np.asarray(seen.to_arrow()[seen.schema.of_role(sf.schema.Role.PERSON)[0]])
    assert (numbers == found.people.numbers("tests")).all() and with_person(found, "visits") is found[
        "visits"
    ]
    levels = sf.DomainSearch(2.0, 0.001).find(seen, ["test"]).schema["test"].levels or ()
    whole = sf.DomainSearch(2.0, 0.001).find(found["tests"], ["test"]).schema["test"].levels or ()
    assert "rare" not in levels and "rare" in whole  # by persons, and by rows


def test_bad_questions_are_refused_and_cost_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, expected in (
        (["--column", "tests.tset"], "no column 'tests.tset' is declared"),
        (["--column", "tests.test", "--column", "visits.ward"], "have columns to find"),
        (["--column", "tests.test", "--rows"], "is to persons"),
        (["--column", "tests.visit_id"], "name people"),
    ):
        assert command([*FIND, *words, "--ledger", "a.ledger"]) != 0
        assert expected in " ".join(capsys.readouterr().err.split())
    assert spent() == 0
