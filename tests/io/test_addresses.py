"""Addresses of databases: what is a password is never kept, and comes from the environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.io.addresses import PASSWORD, filled, has_secret, is_url, last_name, noted, without_secrets

WORD = "hunter2"


@pytest.mark.parametrize(
    ("url", "bare", "names"),
    [
        (f"postgresql://ann:{WORD}@db:5432/x", f"postgresql://ann:${{{PASSWORD}}}@db:5432/x", {PASSWORD}),
        (f"mysql://ann:{WORD}%40x@db/x?a=1", f"mysql://ann:${{{PASSWORD}}}@db/x?a=1", {PASSWORD}),
        (f"postgresql://db/x?password={WORD}&a=1", "postgresql://db/x?password=${SFUMATO_PASSWORD}&a=1",
         {PASSWORD}),
        (f"trino://db/x?Access-Token={WORD}#y", "trino://db/x?Access-Token=${SFUMATO_ACCESS_TOKEN}#y",
         {"SFUMATO_ACCESS_TOKEN"}),
        ("postgresql://ann:${MINE}@db/x", "postgresql://ann:${MINE}@db/x", {"MINE"}),
        ("postgresql://ann@db/x?sslkey=client.key", "postgresql://ann@db/x?sslkey=client.key", set()),
        ("sqlite:////data/x.db", "sqlite:////data/x.db", set()),
        ("sqlite:///x.db", "sqlite:///x.db", set()),
    ],
)  # fmt: skip
def test_a_variable_stands_for_a_password(url: str, bare: str, names: set[str]) -> None:
    assert without_secrets(url) == (bare, tuple(names))
    assert has_secret(url) == (WORD in url) and not has_secret(bare)


@given(st.text(min_size=1, max_size=30).filter(lambda t: "\0" not in t and t.isprintable()))
def test_any_password_comes_back_escaped(password: str) -> None:
    from urllib.parse import unquote, urlsplit

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PASSWORD, password)
        full = filled(f"postgresql://ann:${{{PASSWORD}}}@db/x")
    parts = urlsplit(full)
    assert (unquote(parts.password or ""), parts.hostname, parts.path) == (password, "db", "/x")
    assert without_secrets(full)[0] == f"postgresql://ann:${{{PASSWORD}}}@db/x"


def test_what_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PASSWORD, raising=False)
    with pytest.raises(DataError, match=r"needs \$SFUMATO_PASSWORD"):
        filled(f"postgresql://ann:${{{PASSWORD}}}@db/x")


def test_ledgers_note_one_source_in_one_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a plan from its folder, by a command from where it is typed, with a password or without."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLACE", str(tmp_path / "some where"))
    whole = f"sqlite:///{tmp_path}/some%20where/x.db"
    typed = ("sqlite:///some where/x.db", "sqlite:///./some%20where/x.db", "sqlite:///${PLACE}/x.db", whole)
    assert {noted(url) for url in typed} == {noted("sqlite:///../some%20where/x.db", "plans")} == {whole}
    assert noted(f"postgresql://ann:{WORD}@db/x", "plans") == f"postgresql://ann:${{{PASSWORD}}}@db/x"
    assert noted("x.csv") == "x.csv" and noted("x.csv", "plans") == "plans/x.csv"


def test_badly_formed_addresses() -> None:
    assert has_secret(f"postgresql://ann:a/{WORD}@db/x") and has_secret(f"postgresql://ann:a#{WORD}@db/x")
    assert WORD not in last_name(f"postgresql://ann:{WORD}@db") and last_name("a/b.csv") == "b.csv"
    assert is_url("postgresql://x") and not is_url("c:/x.csv")
