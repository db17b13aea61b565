"""Odd data and settings, without an epsilon and with one: drawn, or refused before anything is spent.

By command too: what is refused costs nothing, and leaves nothing behind.
"""

from __future__ import annotations

import warnings
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from linked import saved
from lives import DAY, SAID, lives, public

import sfumato as sf
from sfumato.cli.app import run as command
from sfumato.io.declarations import database_toml
from sfumato.privacy import Budget, Ledger, Unit
from sfumato.privacy.signatures import SigningKey

EPSILON = pytest.mark.parametrize("epsilon", [None, 1.0])
PEOPLE = pa.table({"person_id": range(40), "sex": ["f", "m"] * 20})
_TWO = {"levels": ("a", "b"), "provenance": SAID}


def rows(name: str, above: str, many: int, each: int = 2, **more: Any) -> pa.Table:
    """Rows of a table below another, so many of each parent."""
    own = {f"{name}_id": range(many * each), above: [i // each for i in range(many * each)]}
    return pa.table({**own, **more, "kind": ["a", "b"] * (many * each // 2)})


def declared(tables: dict[str, pa.Table], **domains: dict[str, Any]) -> sf.Database:
    """With the domain of `sex`, and two kinds for every other table."""
    data = sf.scan_database({"people": PEOPLE, **tables})
    said = {"people": ("sex", {"levels": ("f", "m"), "provenance": SAID})}
    said |= {n: ("kind", domains.get(n, _TWO)) for n in tables}
    return data.with_tables({
        n: t.with_schema(t.schema.with_(said[n][0], **said[n][1])) for n, t in data.tables.items()
    })  # fmt: skip


def drawn(epsilon: float | None, data: sf.Database, **bounds: int) -> dict[str, int]:
    """How many rows of each table 40 drawn persons have; all keys hold."""
    period = ("2020-01-01", "2021-12-31")
    model = sf.LinkedSynthesizer(epsilon, max_children=bounds, period=period).fit(data)
    return {n: t.rows() for n, t in model.sample(40, seed=1).data.check().tables.items()}


@pytest.mark.soak
@EPSILON
def test_five_levels(epsilon: float | None) -> None:
    tables, above, many = {}, "person_id", 40
    for name in "abcde":
        tables[name] = rows(name, above, many)
        above, many = f"{name}_id", 2 * many
    found = drawn(epsilon, declared(tables), **dict.fromkeys("abcde", 2))
    assert found["people"] == 40 and (epsilon is not None or found["e"] == 40 * 32)


@pytest.mark.soak
@EPSILON
def test_two_tables_below_the_same_parent(epsilon: float | None) -> None:
    tables = {n: rows(n, "person_id", 40) for n in ("visits", "drugs")}
    found = drawn(epsilon, declared(tables), visits=2, drugs=2)
    assert epsilon is not None or found == {"people": 40, "visits": 80, "drugs": 80}


@pytest.mark.soak
@EPSILON
@pytest.mark.parametrize(
    "days", [pa.nulls(80, pa.date32()), pa.array([date(1, 1, 1), date(9999, 12, 31)] * 40)]
)
def test_dates_that_are_all_missing_or_all_far_outside(epsilon: float | None, days: pa.Array) -> None:
    data = declared({"visits": rows("visits", "person_id", 40, day=days)})
    assert drawn(epsilon, data, visits=2)["people"] == 40


@pytest.mark.soak
@EPSILON
def test_a_hundred_thousand_codes(epsilon: float | None) -> None:
    codes = tuple(f"{chr(65 + i % 26)}{i:06d}" for i in range(100_000))
    kind = {"kind": pa.array([codes[i % 1_000] for i in range(80)])}
    table = pa.table({"person_id": [i // 2 for i in range(80)], **kind})
    data = declared({"codes": table}, codes={"kind": "nominal", "levels": codes, "provenance": SAID})
    assert drawn(epsilon, data, codes=2)["people"] == 40


@pytest.mark.parametrize("epsilon", [1e-6, 1e6, float("nan"), -1.0])
def test_an_epsilon_that_is_tiny_or_huge_is_refused(epsilon: float) -> None:
    with pytest.raises(sf.errors.ParameterError, match="epsilon is a number from"):
        sf.LinkedSynthesizer(epsilon)


# -- by command ----------------------------------------------------------------------------------------


def no_tests(tables: dict[str, pa.Table]) -> None:
    tables["tests"] = tables["tests"].slice(0, 0)


def nobody(tables: dict[str, pa.Table]) -> None:
    for name in tables:
        tables[name] = tables[name].slice(0, 0)


def a_person_twice(tables: dict[str, pa.Table]) -> None:
    tables["people"] = pa.concat_tables([tables["people"], tables["people"].slice(0, 1)])


def keys_that_dangle(tables: dict[str, pa.Table]) -> None:
    tables["people"] = tables["people"].slice(1)


def dates_of_text(tables: dict[str, pa.Table]) -> None:
    visits = tables["visits"]
    at = visits.column_names.index("from_date")
    tables["visits"] = visits.set_column(at, "from_date", pa.array(["soon"] * visits.num_rows))


def a_secret_ward(tables: dict[str, pa.Table]) -> None:
    visits = tables["visits"]
    at = visits.column_names.index("ward")
    tables["visits"] = visits.set_column(at, "ward", pa.array(["Zq7"] * visits.num_rows))


def five_thousand_visits(tables: dict[str, pa.Table]) -> None:
    many = pa.table({
        "visit_id": range(10**6, 10**6 + 5_000), "person_id": ["P0"] * 5_000, "from_date": [DAY] * 5_000,
        "to_date": [DAY] * 5_000, "ward": ["a"] * 5_000,
    })  # fmt: skip
    tables["visits"] = pa.concat_tables([tables["visits"], many.cast(tables["visits"].schema)])


@pytest.mark.soak
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (no_tests, ""), (nobody, ""), (five_thousand_visits, ""), (a_person_twice, "more than once"),
        (keys_that_dangle, "without a parent"), (dates_of_text, "not of type date"),
        (a_secret_ward, "outside the declared domain"),
    ],
)  # fmt: skip
def test_odd_tables_by_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], change: Any,
    words: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    data, key, said = public(lives(60)), SigningKey.fresh(), {}
    for name, table in data.tables.items():
        columns = [c.name for c in table.schema if c.public]
        said[name] = table.with_schema(table.schema.declare("R. Weiss", "form F12", columns, key=key))
    tables = {n: t.to_arrow() for n, t in data.tables.items()}
    change(tables)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        saved(tmp_path / "people", data)
    for name, changed in tables.items():
        sf.write(changed, tmp_path / "people" / f"{name}.parquet", overwrite=True)
    text = database_toml(data.with_tables(said), {n: f"{n}.parquet" for n in tables})
    (tmp_path / "people" / "database.toml").write_text(text)
    Ledger.open("a.ledger", Budget(epsilon=5.0, unit=Unit.person(10)))
    asked = ["synthesize", "people", "--method", "linked", "--epsilon", "1", "--delta", "0", "--persons", "9"]
    asked += ["--max-children", "visits=3", "--max-children", "tests=2", "--ledger", "a.ledger", "-q"]
    asked += ["--period", "2020-01-01", "--period", "2021-12-31", "--out", "out"]
    code, shown = command(asked), capsys.readouterr()
    assert (code == 0) == (not words) and words in shown.err and "Zq7" not in shown.err + shown.out
    assert Ledger.look("a.ledger").spent == (0.0 if words else 1.0)
    assert (tmp_path / "out").exists() == (not words) and not list(tmp_path.glob(".out*"))
    if not words:
        assert sf.DatabaseRelease.load("out").data.check()["people"].rows() == 9
