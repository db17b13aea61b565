"""Several machines on one PostgreSQL: no answer paid twice, one rate for all, one secret or none."""

from __future__ import annotations

import secrets
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from serving import WHOLE, running

from sfumato.errors import OutputError, ParameterError, VerificationError
from sfumato.privacy import Ledger
from sfumato.service.answers import Kept
from sfumato.service.database import Server, SharedAnswers, SharedRates
from sfumato.service.installation import Installation

SCORE = "/v1/models/dpat/score"


@pytest.fixture
def url(postgres_url: str) -> Iterator[str]:
    """Answers of their own, taken away in the end."""
    name = f"t{secrets.token_hex(6)}"
    yield f"{postgres_url}#{name}"
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for schema in (f"sfumato_answers_{name}", f"sfumato_{name}"):
            connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def test_answers_are_kept_found_and_end(url: str) -> None:
    secret = secrets.token_bytes(32)
    with closing(SharedAnswers(url, secret, 1.0)) as here, closing(SharedAnswers(url, secret, 1.0)) as there:
        question = here.hash(b"a")
        assert there.find(question) is None
        with here.alone(question):
            here.keep({question: Kept(b"body", b"answer")})
        assert there.find(question) == Kept(b"body", b"answer")
        assert here.first(b"m" * 32, 4e9) and not there.first(b"m" * 32, 4e9)
        assert here.first(b"n" * 32, 1.0) and there.first(b"n" * 32, 1.0)  # ended long ago
        here.require_room(paid=True)


def test_one_at_a_time_over_machines(url: str) -> None:
    secret = secrets.token_bytes(32)
    inside, most = 0, 0
    with ExitStack() as stack:
        machines = [stack.enter_context(closing(SharedAnswers(url, secret, 1.0))) for _ in range(3)]

        def work(i: int) -> None:
            nonlocal inside, most
            with machines[i % 3].alone(b"q" * 32):
                inside += 1
                most = max(most, inside)
                machines[i % 3].find(b"q" * 32)
                inside -= 1

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(30)))
    assert most == 1


def test_a_lost_connection_keeps_nothing(url: str) -> None:
    with closing(SharedAnswers(url, b"s" * 32, 1.0)) as answers:
        question = answers.hash(b"a")
        with pytest.raises(OutputError), answers.alone(question):
            answers._server.connection().close()  # the lock is gone, so nothing may be kept
            answers.keep({question: Kept(b"", b"late")})
        assert answers.find(question) is None
        with answers.alone(question):
            answers.keep({question: Kept(b"", b"now")})


def test_another_secret_is_refused(url: str) -> None:
    SharedAnswers(url, b"a" * 32, 1.0).close()
    with pytest.raises(VerificationError, match="another secret"):
        SharedAnswers(url, b"b" * 32, 1.0)
    with pytest.raises(ParameterError):
        Server("postgresql://127.0.0.1/x#No-Name")
    with pytest.raises(OutputError):
        SharedAnswers("postgresql://127.0.0.1:1/x", b"a" * 32, 1.0)


def test_a_rate_holds_over_machines(url: str, tmp_path: Path) -> None:
    SharedAnswers(url, b"a" * 32, 1.0).close()
    with closing(Installation(tmp_path / "keys", create=True)) as installation:
        few, _ = installation.create_key("few", rate=0.001, burst=3)
        many, _ = installation.create_key("many", rate=0.1, burst=100)
    with closing(SharedRates(url)) as here, closing(SharedRates(url)) as there:
        waits = [machine.wait(few)[0] for machine in (here, there, here, there, here)]
        assert waits[:3] == [0, 0, 0] and min(waits[3:]) > 1
        passed = 0
        for _ in range(200):
            for machine in (here, there):
                if machine.taken(many):
                    passed += 1
                    continue
                wait, more = machine.wait(many)
                machine.lease(many, more)
                passed += wait == 0
        assert 90 <= passed <= 103  # never more than the burst and what came in meanwhile


def test_without_the_server_each_machine_limits_for_itself(tmp_path: Path) -> None:
    rates = SharedRates("postgresql://127.0.0.1:1/nothing")
    with closing(Installation(tmp_path / "keys", create=True)) as installation, closing(rates):
        key, _ = installation.create_key("few")
        assert rates.wait(key) == (0, 0) and rates.taken(key)


def test_two_services_pay_once(tmp_path: Path, noisy: Path, url: str, postgres_url: str) -> None:
    ledger_url = url  # its own schema, by the same name
    ledger = Ledger.open(ledger_url, budget=100.0)
    ledger.set_client("clinic", 50.0)
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    with closing(Installation(folders[0] / "sfumato.keys", create=True)) as installation:
        _, key = installation.create_key("clinic", ("score",), rate=1e5, burst=100_000)
    shutil.copy(folders[0] / "sfumato.keys", folders[1] / "sfumato.keys")
    options = ("--ledger", ledger_url, "--allow-unproved", "--answers", url)
    with ExitStack() as stack:
        services = [stack.enter_context(running(folder, noisy, *options)) for folder in folders]
        before = ledger.spent
        for i in range(4):
            row = {**WHOLE, "age": 30 + i}
            barrier = threading.Barrier(8)

            def question(place: int, row: dict = row, barrier: threading.Barrier = barrier) -> bytes:
                barrier.wait()
                return services[place % 2].ask("POST", SCORE, row, key=key).body

            with ThreadPoolExecutor(8) as pool:
                answers = set(pool.map(question, range(8)))
            assert len(answers) == 1 and b"risk_score" in answers.pop()
        assert ledger.spent == before + 4 * 0.5
        headers = {"idempotency-key": "once"}
        first = services[0].ask("POST", SCORE, {**WHOLE, "bmi": 31}, key=key, headers=headers)
        again = services[1].ask("POST", SCORE, {**WHOLE, "bmi": 31}, key=key, headers=headers)
        other = services[1].ask("POST", SCORE, {**WHOLE, "bmi": 32}, key=key, headers=headers)
        assert first.body == again.body and other.status == 409
        assert ledger.spent == before + 5 * 0.5
