"""Addresses of files elsewhere: what a person typed is read, nothing else connects. On loopback alone."""

from __future__ import annotations

import functools
import gc
import http.server
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfumato.errors import DataError, MissingExtraError
from sfumato.io import addresses, scan
from sfumato.io.addresses import is_cloud, is_elsewhere

BODY = "id,age,sex\n1,34,f\n2,41,m\n"


@pytest.mark.parametrize(
    ("data", "cloud", "elsewhere"),
    [
        ("s3://bucket/x.csv", True, True),
        ("https://host/x.csv", True, True),
        ("abfs://box@account.dfs.core.windows.net/x.parquet", True, True),
        ("postgresql://db.example/x", False, True),
        ("postgresql://localhost/x", False, False),
        ("postgresql://ann@127.0.0.1:5433/x", False, False),
        ("postgresql://localhost.evil.example/x", False, True),
        ("postgresql://127.0.0.1@evil.example/x", False, True),
        ("postgresql:///x?host=evil.example", False, True),
        ("postgresql://localhost/x?HostAddr=6.6.6.6", False, True),
        ("postgresql://localhost,evil.example/x", False, True),
        ("postgresql:///x?host=/var/run/postgresql", False, False),
        ("sqlite:///x.db", False, False),
        ("file:///x.csv", False, False),
        ("x.csv", False, False),
    ],
)
def test_what_lies_elsewhere(data: str, cloud: bool, elsewhere: bool) -> None:
    assert (is_cloud(data), is_elsewhere(data)) == (cloud, elsewhere)


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(addresses.CLOUDS, "s3", "a_package_that_nobody_has")
    with pytest.raises(MissingExtraError, match="cloud"):
        scan("s3://bucket/x.csv")


@pytest.mark.parametrize(
    "address", ["s3://box/x.csv", "gs://box/x.csv", "abfs://box/x.csv", "abfss://box/x.csv"]
)
def test_without_its_driver_a_cloud_is_refused_with_what_to_install(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """fsspec alone is not enough: each cloud has a package of its own, and nothing connects without it."""
    for driver in ("s3fs", "gcsfs", "adlfs"):
        monkeypatch.setitem(sys.modules, driver, None)
    with pytest.raises(MissingExtraError, match=address.partition(":")[0]) as caught:
        scan(address)
    assert "sfumato[cloud]" in str(caught.value) and "box" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("https://host/x.csv::file:///etc/passwd", "::"),
        ("simplecache::https://host/x.csv", "not read|no file|unknown"),
        ("http://host.example/x.csv", "in the clear"),
        ("ftp://host/x.csv", "not read"),
    ],
)
def test_addresses_that_are_refused(address: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        scan(address)


@pytest.mark.parametrize(
    "address", ["https://evil.example/x.csv", "s3://evil/x.csv", "postgresql://u:${HOME}@evil.example/x"]
)
def test_a_plan_connects_to_no_other_machine_by_itself(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.plan import preparation
    from sfumato.plan.document import PlanDocument

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it was looked at")

    monkeypatch.setattr(preparation, "_opened", never)
    plan = PlanDocument({"input": {"data": address, "schema": "s.toml"}}, tmp_path, "plan.toml")
    for allowed in ("", "example,other.example", "evil.example.org"):
        monkeypatch.setenv(addresses.CONSENT, allowed)
        with pytest.raises(DataError, match="connects to none by itself") as caught:
            preparation.open_input(plan)
        assert "--input" in (caught.value.hint or "") and "evil" in str(caught.value)
    monkeypatch.setenv(addresses.CONSENT, "evil, Evil.Example")
    with pytest.raises(AssertionError, match="looked at"):
        preparation.open_input(plan)


def test_nor_does_its_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(addresses.CONSENT, raising=False)
    with pytest.raises(DataError, match="the ledger of plan is on another machine"):
        addresses.require_consent("postgresql://ann@evil.example/books", "the ledger of plan")
    for here in ("ward.ledger", "postgresql://ann@127.0.0.1/books", "postgresql:///books", "sqlite:///x.db"):
        addresses.require_consent(here, "the ledger of plan")
    with pytest.raises(DataError, match="badly formed"):
        addresses.require_consent("postgresql://[evil/books", "the ledger of plan")


# -- with fsspec --------------------------------------------------------------------------------------


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """A server on loopback over a folder."""
    pytest.importorskip("fsspec", reason="needs the extra cloud")
    pytest.importorskip("aiohttp", reason="needs the extra cloud")
    (tmp_path / "visits.csv").write_text(BODY)
    handler = functools.partial(_Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_file_on_the_web(site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(private))
    table = scan(f"{site}/visits.csv?token=abc")
    copies = list(private.iterdir())
    assert len(copies) == 1 and copies[0].stat().st_mode & 0o077 == 0
    assert table.to_arrow().to_pydict() == {"id": [1, 2], "age": [34, 41], "sex": ["f", "m"]}
    assert table.rows() == 2  # read again, from the copy
    del table
    gc.collect()
    assert list(private.iterdir()) == []


def test_what_is_not_there_is_said_without_the_address(
    site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(private))
    with pytest.raises(DataError, match=r"127\.0\.0\.1; FileNotFoundError") as caught:
        scan(f"{site}/nothing.csv?token=secret-7319")
    assert "secret" not in str(caught.value) and list(private.iterdir()) == []


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """fsspec's file system in memory, in the place of a cloud."""
    fsspec = pytest.importorskip("fsspec", reason="needs the extra cloud")
    monkeypatch.setitem(addresses.CLOUDS, "memory", "fsspec")
    system = fsspec.filesystem("memory")
    for year in (2020, 2021):
        system.pipe(f"/bucket/visits/year={year}/a.csv", BODY.encode())
    system.pipe("/bucket/one.csv", BODY.encode())
    yield "memory://bucket"
    system.rm("/bucket", recursive=True)


def test_folders_and_patterns_of_a_bucket(bucket: str) -> None:
    assert scan(f"{bucket}/one.csv").rows() == 2
    whole = scan(f"{bucket}/visits").to_arrow().to_pydict()
    assert whole["year"] == [2020, 2020, 2021, 2021] and whole["id"] == [1, 2, 1, 2]
    assert scan(f"{bucket}/visits/*/*.csv").to_arrow().num_rows == 4
    with pytest.raises(DataError, match="no file at this"):
        scan(f"{bucket}/visits/*.parquet")


def test_a_bucket_cannot_write_outside_its_folder() -> None:
    from sfumato.io.cloud import _inside

    for name in ("../x", "a/../../x", "/etc/passwd", "", "a\0b"):
        with pytest.raises(DataError, match="not kept"):
            _inside(Path("somewhere"), name)


def test_a_run_copies_an_address_once(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.io import cloud

    made: list[str] = []
    real = cloud._copied
    monkeypatch.setattr(cloud, "_copied", lambda a, f: made.append(a) or real(a, f))
    with cloud.one_copy():
        assert scan(f"{bucket}/one.csv").rows() == scan(f"{bucket}/one.csv").rows() == 2
    scan(f"{bucket}/one.csv")
    assert len(made) == 2
