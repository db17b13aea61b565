"""A server that is lost, silent, full, read-only or changed grants nothing, and loses nothing."""

import contextlib
import os
import secrets
import socket
import sys
import threading
import time

import pytest
from cli_support import PATIENCE

from sfumato.errors import (
    BudgetError,
    DataError,
    MissingExtraError,
    OutputError,
    ParameterError,
    SfumatoError,
)
from sfumato.privacy import Ledger
from sfumato.privacy.ledger import postgres


class Line:
    """A way to the server that can be cut: at once, before or after a word has passed, or left silent."""

    def __init__(self, url):
        import psycopg

        self._to = psycopg.conninfo.conninfo_to_dict(url)
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = (
            f"postgresql://{self._to['user']}@127.0.0.1:{self._door.getsockname()[1]}/{self._to['dbname']}"
        )
        self.when, self.what = b"", ""
        self._open = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            server = socket.create_connection((self._to["host"], int(self._to["port"])))
            self._open += [client, server]
            silent = threading.Event()
            for source, target in ((client, server), (server, client)):
                work = threading.Thread(target=self._carry, args=(source, target, source is client, silent))
                work.daemon = True
                work.start()

    def _carry(self, source, target, asking, silent):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                struck = asking and self.when and self.when in data
                if struck and self.what == "cut before":
                    break
                if struck and self.what == "silent":
                    silent.set()
                if silent.is_set():
                    continue
                if struck and self.what == "cut after":
                    silent.set()  # the answer is lost
                    target.sendall(data)
                    time.sleep(0.5)
                    break
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self):
        with contextlib.suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        for end in self._open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def line(postgres_places):
    """A ledger in PostgreSQL, the same through a line that can be cut, and that line."""
    place = postgres_places()
    direct = Ledger.open(place, 1.0)
    cable = Line(place.partition("#")[0])
    # The other way leads to another place name: the same witness, the same ledger.
    yield direct, Ledger.open(f"{cable.url}#{place.partition('#')[2]}"), cable
    cable.cut()


@pytest.mark.parametrize("what", ["cut before", "cut after"])
def test_a_connection_lost_at_the_commit_grants_nothing_and_loses_nothing(line, what):
    direct, ledger, cable = line
    ledger.grant(epsilon=0.1, purpose="x")
    cable.when, cable.what = b"COMMIT\0", what
    with pytest.raises(OutputError, match="lost"):
        ledger.grant(epsilon=0.2, purpose="patient 4711")
    cable.when = b""
    after = 0.1 if what == "cut before" else 0.3  # debited or not, never granted
    end = time.monotonic() + PATIENCE
    while direct.spent != after and time.monotonic() < end:  # the server may still be at it
        time.sleep(0.05)
    time.sleep(0.2)
    assert direct.spent == after
    assert not direct.locked
    ledger.grant(epsilon=0.1, purpose="a new connection is made by itself")
    assert direct.spent == ledger.spent == (0.2 if what == "cut before" else 0.4)


def test_a_server_that_falls_silent_is_given_up(line, monkeypatch):
    direct, ledger, cable = line
    long = postgres._PATIENCE
    monkeypatch.setattr(postgres, "_PATIENCE", 1.0)
    cable.when, cable.what = b"INSERT", "silent"
    start = time.monotonic()
    with pytest.raises(OutputError, match="lost"):
        ledger.grant(epsilon=0.2, purpose="x")
    assert time.monotonic() - start < long  # by its patience, not by chance
    cable.cut()
    with pytest.raises(OutputError, match="no connection"):  # and now there is none at all
        ledger.grant(epsilon=0.2, purpose="x")
    direct.grant(epsilon=1.0, purpose="all of it is still there")


def test_a_backend_that_is_killed_is_replaced(postgres_places):
    import psycopg

    place = postgres_places()
    ledger = Ledger.open(place, 1.0)
    ledger.grant(epsilon=0.1, purpose="x")
    with psycopg.connect(place.partition("#")[0], autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'sfumato ledger' AND pid <> pg_backend_pid()"
        )
    ledger.grant(epsilon=0.1, purpose="x")
    assert ledger.spent == 0.2


def test_a_worker_that_stops_in_the_midst_does_not_keep_the_others_for_ever(postgres_places, monkeypatch):
    """It holds the row that all wait for: they give up, and go on when the server has ended its session."""
    import psycopg

    monkeypatch.setattr(postgres, "_WAIT", 1)
    place = postgres_places()
    ledger = Ledger.open(place, 1.0)
    url, _, name = place.partition("#")
    with psycopg.connect(url) as other:
        other.execute(f"SELECT 1 FROM sfumato_{name}.meta WHERE key = 'head' FOR UPDATE")
        with pytest.raises(BudgetError, match="in use"):
            ledger.grant(epsilon=0.1, purpose="x")
        assert ledger.spent == 0  # who looks waits for nobody
    with contextlib.suppress(BaseException), ledger._book.store.transaction(write=True):
        time.sleep(1.5)  # our own sessions do not hold the row for longer
    ledger.grant(epsilon=0.1, purpose="x")


def test_a_database_that_may_only_be_read_grants_nothing(postgres_places):
    place = postgres_places()
    Ledger.open(place, 1.0).grant(epsilon=0.1, purpose="x")
    url, _, name = place.partition("#")
    reader = Ledger.open(f"{url}?options=-c%20default_transaction_read_only%3Don#{name}")
    assert reader.left == 0.9
    with pytest.raises(OutputError, match="cannot be written"):
        reader.grant(epsilon=0.1, purpose="x")
    with pytest.raises(OutputError, match="cannot be written"):
        Ledger.open(f"{url}?options=-c%20default_transaction_read_only%3Don#t_{secrets.token_hex(4)}", 1.0)
    assert reader.spent == 0.1


def test_a_server_without_room_grants_nothing(postgres_places, edit):
    place = postgres_places()
    ledger = Ledger.open(place, 1.0)
    edit(
        place,
        "CREATE FUNCTION full_() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'no room for 4711' USING ERRCODE = 'disk_full'; END $$",
        "CREATE CONSTRAINT TRIGGER full_ AFTER INSERT ON entries DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION full_()",  # at the commit
    )
    with pytest.raises(OutputError, match="out of room") as caught:
        ledger.grant(epsilon=0.1, purpose="x")
    assert "4711" not in str(caught.value) and ledger.spent == 0 and not ledger.locked
    edit(place, "DROP TRIGGER full_ ON entries")
    ledger.grant(epsilon=1.0, purpose="all of it is still there")


@pytest.mark.parametrize(
    "statements",
    [
        ["UPDATE accounts SET spent = 0"],
        ["UPDATE entries SET total = 0"],
        ["UPDATE meta SET value = 'x' WHERE key = 'head'"],
        ["DELETE FROM entries"],
        ["DELETE FROM meta"],
        ["DELETE FROM accounts"],
        ["UPDATE accounts SET budget = 2 * budget"],
        ["DROP TABLE accounts"],
        ["ALTER TABLE entries DROP COLUMN note"],
        ["UPDATE meta SET value = '0' WHERE key = 'amount'"],
    ],
)
def test_tables_changed_by_other_means_grant_nothing(postgres_places, edit, statements):
    place = postgres_places()
    ledger = Ledger.open(place, 1.0)
    ledger.grant(epsilon=0.5, purpose="x")
    edit(place, *statements)
    with pytest.raises(SfumatoError):
        ledger.grant(epsilon=0.1, purpose="x")
    with pytest.raises(SfumatoError):
        Ledger.open(place)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://nobody:secret-4711@127.0.0.1:1/none",
        "postgresql://nobody:secret-4711@127.0.0.1:port/none",
        "postgresql://u:secret-4711@127.0.0.1:1/none#No Name",
        "postgresql://u:secret-4711@127.0.0.1:1/none#x;drop",
        "postgres://u:secret-4711@127.0.0.1:1/none?nonsense=1",
    ],
)
def test_no_message_holds_the_password(url):
    pytest.importorskip("psycopg")
    with pytest.raises((OutputError, ParameterError)) as caught:
        Ledger.open(url, 1.0)
    assert "4711" not in str(caught.value)


def test_a_database_that_is_not_there(postgres_url):
    with pytest.raises(OutputError, match="no connection"):
        Ledger.open(postgres_url.rsplit("/", 1)[0] + "/nowhere", 1.0)
    with pytest.raises(DataError, match="no ledger"):
        Ledger.open(f"{postgres_url}#t_{secrets.token_hex(6)}")


def test_without_psycopg_a_url_names_the_part_that_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match="PostgreSQL"):
        Ledger.open("postgresql://127.0.0.1/x", 1.0)


def test_a_forked_child_makes_connections_of_its_own(postgres_places):
    ledger = Ledger.open(postgres_places(), 1.0)
    ledger.grant(epsilon=0.1, purpose="parent")
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            try:
                for _ in range(10):
                    ledger.grant(epsilon=0.01, purpose="child")
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    for _ in range(10):
        ledger.grant(epsilon=0.01, purpose="parent")
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert ledger.spent == 0.5 and len(Ledger.open(f"{_url(ledger)}").entries()) == 41


def _url(ledger):
    settings = ledger._book.store._address.settings
    name = ledger._book.store._schema.removeprefix("sfumato_")
    return (
        f"postgresql://{settings['user']}@{settings['host']}:{settings['port']}/{settings['dbname']}#{name}"
    )


def test_a_long_ledger_moves_whole(postgres_places, tmp_path):
    """More lines than are read or written at once."""
    ledger = Ledger.in_memory(1000.0)
    ledger.set_client("ward", 9)
    for _ in range(2100):
        ledger.grant(epsilon=0.001, purpose="x", client="ward")
    ledger.backup(tmp_path / "b")
    place = postgres_places()
    assert Ledger.restore(tmp_path / "b", place, lost=0).clients() == ledger.clients()
    Ledger.open(place).backup(tmp_path / "c")
    moved = Ledger.restore(tmp_path / "c", tmp_path / "x.ledger")
    assert moved.entries()[:2101] == ledger.entries() and moved.spent == ledger.spent == 2.1


def test_an_address_shows_no_password():
    from sfumato.privacy.postgres import postgres_address

    address = postgres_address(
        "postgresql://a:secret7319@127.0.0.1/b#study", "a ledger", name="x", example="y"
    )
    assert "secret7319" not in repr(address) and address.settings["password"] == "secret7319"
