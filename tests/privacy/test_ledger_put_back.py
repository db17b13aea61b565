"""An older copy put back is refused until a person accounts for what was lost with the newer."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from secrets import token_hex

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato.errors import (
    BudgetError,
    DataError,
    ParameterError,
    SfumatoError,
    VerificationError,
)
from sfumato.privacy import Budget, Ledger
from sfumato.privacy.rounding import exact


@contextlib.contextmanager
def postgres(place):
    import psycopg

    url, _, name = place.partition("#")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"SET search_path = sfumato_{name}")
        yield connection


TABLES = ("meta", "entries", "accounts")


def copied(place):
    """Remember a ledger as it is; the function that comes back puts that in its place again."""
    if "#" not in place:
        content = Path(place).read_bytes()
        return lambda: Path(place).write_bytes(content)
    with postgres(place) as connection:
        tables = {t: connection.execute(f"SELECT * FROM {t}").fetchall() for t in TABLES}

    def put_back():
        with postgres(place) as connection, connection.transaction():
            for table, rows in tables.items():
                connection.execute(f"DELETE FROM {table}")
                for row in rows:
                    signs = ", ".join(["%s"] * len(row))
                    connection.execute(f"INSERT INTO {table} VALUES ({signs})", row)

    return put_back


def witness_of(ledger):
    """The witness's file."""
    return ledger._book.witness._file(ledger._book.id)


def test_a_put_back_ledger_is_refused_until_unlocked(place):
    ledger = Ledger.open(place, 1.0)
    ledger.grant(epsilon=0.1, purpose="before")
    put_back = copied(place)
    ledger.grant(epsilon=0.3, purpose="after")
    put_back()
    for spend in (
        lambda: Ledger.open(place),
        lambda: Ledger.open(place, 1.0),
        lambda: ledger.grant(epsilon=0.1, purpose="x"),
        lambda: ledger.set_client("ward", 1),
        lambda: Ledger.look(place).grant(epsilon=0.1, purpose="x"),
    ):
        with pytest.raises(VerificationError, match="put back"):
            spend()
    seen = Ledger.look(place)
    assert seen.spent == 0.1 and "put back" in seen.locked
    assert seen.unlock() == 0.3 and not seen.locked
    assert Ledger.open(place).left == 0.6
    assert [(e.kind, e.amount) for e in seen.entries()] == [("debit", 0.1), ("unlock", 0.3)]
    for _ in range(3):
        ledger.grant(epsilon=0.1, purpose="x")
    put_back()
    assert "put back" in Ledger.look(place).locked
    assert Ledger.look(place).unlock() == 0.6 and Ledger.open(place).left == 0.3
    put_back = copied(place)  # the witness goes on from here, although the lines are fewer than they were
    ledger.grant(epsilon=0.1, purpose="x")
    put_back()
    assert "put back" in Ledger.look(place).locked


def test_nothing_to_unlock(place):
    ledger = Ledger.open(place, 1.0)
    ledger.grant(epsilon=0.1, purpose="x")
    with pytest.raises(ParameterError, match="not locked"):
        ledger.unlock(0.5)
    assert ledger.spent == 0.1


def test_a_person_may_say_more_but_not_less(place):
    ledger = Ledger.open(place, Budget(rho=1.0, delta=1e-6))
    put_back = copied(place)
    ledger.grant(rho=0.3, delta=1e-9, purpose="x")
    put_back()
    locked = Ledger.look(place)
    for wrong in (0.29, -1, float("nan"), "much", 2000):
        with pytest.raises(SfumatoError):
            locked.unlock(wrong)
    assert locked.spent == 0
    locked.unlock(0.5)
    assert (locked.spent, exact(locked.left_delta)) == (0.5, exact(1e-6) - exact(1e-9))
    put_back()
    Ledger.look(place).unlock("all")
    assert (Ledger.open(place).left, Ledger.open(place).left_delta) == (0, 0)


def test_a_crash_between_commit_and_witness_is_no_put_back(place):
    """A kill between the two leaves the witness as it was before the debit."""
    ledger = Ledger.open(place, 1.0)
    ledger.grant(epsilon=0.1, purpose="x")
    before = witness_of(ledger).read_bytes()
    ledger.grant(epsilon=0.2, purpose="never answered")
    witness_of(ledger).write_bytes(before)
    again = Ledger.open(place)
    assert again.spent == 0.3 and not again.locked
    again.grant(epsilon=0.1, purpose="y")
    assert Ledger.open(place).spent == 0.4


def test_a_crash_in_the_midst_of_unlocking_is_no_put_back(place):
    ledger = Ledger.open(place, 1.0)
    put_back = copied(place)
    ledger.grant(epsilon=0.2, purpose="x")
    before = witness_of(ledger).read_bytes()
    put_back()
    Ledger.look(place).unlock()
    witness_of(ledger).write_bytes(before)
    assert Ledger.open(place).spent == 0.2
    Ledger.open(place).grant(epsilon=0.1, purpose="y")
    put_back()
    assert Ledger.look(place).unlock() == 0.3


def test_a_torn_witness_is_read_and_a_damaged_one_refused(place):
    ledger = Ledger.open(place, 1.0)
    for _ in range(3):
        ledger.grant(epsilon=0.1, purpose="x")
    file = witness_of(ledger)
    whole = file.read_bytes()
    for torn in (whole[:512] + b"x" * 512, b"x" * 512 + whole[512:], whole[:700], b"\0" * 512 + whole[512:]):
        file.write_bytes(torn)
        assert Ledger.open(place).spent == 0.3
    for damaged in (b"", b"x" * 1024, whole[:100], whole[:5] + b"9" + whole[6:512] + whole[513:] + b"\n"):
        file.write_bytes(damaged)
        with pytest.raises(VerificationError, match="witness"):
            Ledger.open(place)
        with pytest.raises(VerificationError, match="witness"):
            ledger.grant(epsilon=0.1, purpose="x")
        assert "witness" in Ledger.look(place).locked
    with pytest.raises(BudgetError, match="nobody here knows"):
        Ledger.look(place).unlock()
    Ledger.look(place).unlock(0.2)
    assert Ledger.open(place).spent == 0.5


def test_the_other_of_two_machines_notices_what_it_has_spent_itself(place, elsewhere):
    elsewhere("a")
    Ledger.open(place, 1.0).grant(epsilon=0.1, purpose="a")
    put_back = copied(place)
    elsewhere("b")
    Ledger.open(place).grant(epsilon=0.2, purpose="b")
    put_back()
    elsewhere("a")
    Ledger.open(place).grant(epsilon=0.1, purpose="a")  # a has not seen what b did
    elsewhere("b")
    with pytest.raises(VerificationError, match="put back"):
        Ledger.open(place)
    assert Ledger.look(place).unlock() == 0.3  # b cannot know which of it is still there
    assert Ledger.open(place).spent == 0.5
    elsewhere("a")
    assert Ledger.open(place).spent == 0.5


# -- copies, and other ledgers in its place ------------------------------------------------------------


def test_a_copy_cannot_be_spent_beside_the_original(file_places):
    one, two = file_places(), file_places()
    ledger = Ledger.open(one, 1.0)
    ledger.grant(epsilon=0.1, purpose="x")
    shutil.copy(one, two)
    copy = Ledger.open(two)
    copy.grant(epsilon=0.5, purpose="x")
    with pytest.raises(VerificationError):
        ledger.grant(epsilon=0.5, purpose="x")
    assert ledger.spent == 0.1 and copy.spent == 0.6


def test_a_ledger_that_is_gone_is_not_started_anew(place, edit):
    Ledger.open(place, 1.0).grant(epsilon=0.1, purpose="x")
    if "#" in place:
        edit(place, *(f"DROP TABLE {table}" for table in TABLES))
    else:
        os.unlink(place)
    with pytest.raises(DataError, match="gone"):
        Ledger.open(place, 1.0)


def test_a_ledger_that_was_never_spent_may_be_started_anew(file_places):
    path = file_places()
    Ledger.open(path, 1.0)
    os.unlink(path)
    Ledger.open(path, 2.0).grant(epsilon=1.5, purpose="x")


def test_another_ledger_in_its_place_is_refused(file_places):
    path, other = file_places(), file_places()
    ledger = Ledger.open(path, 1.0)
    ledger.grant(epsilon=0.3, purpose="x")
    Ledger.open(other, 1.0)
    os.replace(other, path)
    with pytest.raises(VerificationError, match="not the one"):
        Ledger.open(path)
    with pytest.raises(VerificationError, match="not the one"):
        ledger.grant(epsilon=0.1, purpose="x")
    with pytest.raises(BudgetError, match=r"at least 0\.3"):
        Ledger.look(path).unlock(0.1)
    Ledger.look(path).unlock()
    assert Ledger.open(path).spent == 0.3


def test_an_older_copy_of_another_ledger_in_its_place_is_two_gaps(file_places):
    """What the copy lacks, and what was spent in the place before: one unlock counts one of them."""
    path, other = file_places(), file_places()
    Ledger.open(path, 1.0).grant(epsilon=0.8, purpose="x")
    second = Ledger.open(other, 1.0)
    second.grant(epsilon=0.05, purpose="y")
    copy = file_places()
    shutil.copy(other, copy)
    second.grant(epsilon=0.01, purpose="y")
    os.replace(copy, path)
    assert Ledger.look(path).unlock() == 0.01
    with pytest.raises(VerificationError, match="not the one"):
        Ledger.open(path)
    Ledger.look(path).unlock()
    assert Ledger.open(path).spent == 0.86


# -- whatever happens ----------------------------------------------------------------------------------

_ROOM = "/dev/shm" if os.path.isdir("/dev/shm") else None
_ACTS = ["grant", "grant", "grant", "crash", "copy", "put back", "put back", "unlock", "backup", "restore"]


@given(st.lists(st.tuples(st.sampled_from(_ACTS), st.sampled_from(["a", "a", "b"])), max_size=12))
@example([("grant", "a"), ("put back", "a"), ("grant", "b")])
@example(
    [("grant", "a"), ("put back", "a"), ("unlock", "a"), ("grant", "a"), ("put back", "a"), ("grant", "b")]
)
@example([("backup", "a"), ("grant", "a"), ("restore", "a"), ("put back", "a"), ("grant", "a")])
@example(
    [
        ("grant", "b"),
        ("crash", "a"),
        ("copy", "a"),
        ("put back", "b"),
        *[("grant", "a")] * 3,
        ("put back", "a"),
    ]
)
@settings(max_examples=25)
def test_spent_is_never_below_what_was_granted(acts):
    """Copies, put-backs, losses, crashes and restores in any order, on two machines; then all unlock."""
    granted, open_ledgers = exact(0), {}
    with tempfile.TemporaryDirectory(dir=_ROOM) as folder, pytest.MonkeyPatch.context() as patch:
        room = Path(folder)
        path, backup = room / "x.ledger", room / "backup"

        def on(machine):
            patch.setenv("SFUMATO_STATE", str(room / machine))

        for machine in "ab":
            on(machine)
            open_ledgers[machine] = Ledger.open(path, 1000.0)
        copies = [path.read_bytes()]
        for act, machine in acts:
            on(machine)
            ledger = open_ledgers[machine]
            with contextlib.suppress(SfumatoError):
                if act == "grant":
                    granted += ledger.grant(epsilon=1.0, purpose="x").loss
                elif act == "crash":  # after the commit: no witness of it, and no grant
                    before = witness_of(ledger).read_bytes()
                    ledger.grant(epsilon=1.0, purpose="x")
                    witness_of(ledger).write_bytes(before)
                elif act == "copy":
                    copies.append(path.read_bytes())
                elif act == "put back":
                    path.write_bytes(copies[-1 if machine == "a" else 0])
                elif act == "unlock":
                    ledger.unlock()
                elif act == "backup":
                    ledger.backup(backup, overwrite=True)
                elif act == "restore" and backup.exists():
                    path.unlink()
                    try:
                        Ledger.restore(backup, path)
                    except BudgetError:  # others have written too, and nobody here knows what
                        Ledger.restore(backup, path, lost="all")
        for machine in ("a", "b", "a"):
            on(machine)
            with contextlib.suppress(ParameterError):
                open_ledgers[machine].unlock()
            assert not open_ledgers[machine].locked
        assert exact(Ledger.open(path).spent) >= granted


def test_the_name_of_the_data_set_is_part_of_the_chain(place, edit):
    ward = f"Ward {token_hex(8)}"  # a name that no other ledger here pays for
    ledger = Ledger.open(place, 1.0, dataset=ward)
    assert Ledger.open(place, dataset=ward).dataset == Ledger.look(place).dataset == ward
    with pytest.raises(BudgetError, match="another data set"):
        Ledger.open(place, dataset="Ward 4")
    ledger.grant(epsilon=0.1, purpose="x")
    for change in (
        "UPDATE meta SET value = 'Ward 4' WHERE key = 'dataset'",
        "DELETE FROM meta WHERE key = 'dataset'",
    ):
        put_back = copied(place)
        edit(place, change)
        with pytest.raises(VerificationError, match="other means"):
            Ledger.open(place)
        put_back()
    assert Ledger.open(place).left == 0.9
