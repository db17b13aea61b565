"""Noisy models: paid for before they answer, the same again for nothing, refused with one fixed answer."""

from __future__ import annotations

import json
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from serving import CANARY, WHOLE

from sfumato.errors import BudgetError, ParameterError
from sfumato.privacy import Budget, Ledger

SCORE = "/v1/models/dpat/score"


def spent(ledger: Ledger) -> float:
    return ledger.spent


def test_only_with_the_flag_and_a_ledger(
    serve: Callable, noisy: Path, tmp_path: Path, ledger: Ledger
) -> None:
    with pytest.raises(ParameterError, match="unproved"):
        serve(models=(str(noisy),), ledger=str(tmp_path / "study.ledger"))
    with pytest.raises(ParameterError, match="ledger"):
        serve(models=(str(noisy),), allow_unproved=True)


def test_an_answer_is_debited_and_says_that_it_is_unproved(spend: Callable, ledger: Ledger) -> None:
    ask, service = spend()
    told = ask("POST", SCORE, {**WHOLE, "glucose": CANARY}).json
    assert told["guarantee"] == "unproved" and told["claimed_epsilon"] == 0.5 and "unproved" in told["note"]
    assert 0 <= told["risk_score"] <= 1 and told["clamped"] == ["glucose"]
    assert spent(ledger) == 0.5 and ledger.left_of("clinic") == 1.5
    assert str(CANARY) not in json.dumps([e.purpose for e in ledger.entries()])
    budget = ask("GET", "/v1/budget").json
    assert budget == {"client": "clinic", "kind": "epsilon", "left": None, "left_of_client": 1.5}
    _, admin = service.installation.create_key("clinic", ("admin",))
    assert ask("GET", "/v1/budget", key=admin).json["left"] == 4.5


def test_the_same_question_is_answered_from_the_cache_for_all(spend: Callable, ledger: Ledger) -> None:
    ask, service = spend()
    _, lab = service.installation.create_key("lab")
    first = ask("POST", SCORE, WHOLE)
    same = {**dict(reversed(WHOLE.items())), "glucose": 130.0, "hba1c": None}
    far, farther = ({**WHOLE, "glucose": g} for g in (301, CANARY))
    assert ask("POST", SCORE, same).body == ask("POST", SCORE, WHOLE, key=lab).body == first.body
    assert spent(ledger) == 0.5
    assert ask("POST", SCORE, far).body == ask("POST", SCORE, farther).body  # clamped to the same
    assert spent(ledger) == 1.0


def test_what_was_clamped_is_the_askers_own(spend: Callable, ledger: Ledger) -> None:
    ask, service = spend()
    _, lab = service.installation.create_key("lab")
    bounds = {f["name"]: f for f in ask("GET", "/v1/models/dpat").json["features"]}["glucose"]
    edge, beyond = {**WHOLE, "glucose": bounds["high"]}, {**WHOLE, "glucose": CANARY}
    first = ask("POST", SCORE, beyond).json
    mark = {"idempotency-key": "visit-18"}
    other = ask("POST", SCORE, edge, key=lab, headers=mark)
    assert first["clamped"] == ["glucose"] and other.json["clamped"] == []
    assert other.json["risk_score"] == first["risk_score"] and spent(ledger) == 0.5
    assert ask("POST", SCORE, edge, key=lab, headers=mark).body == other.body


def test_clients_may_be_kept_apart(spend: Callable, ledger: Ledger) -> None:
    ask, service = spend(share_answers=False)
    _, lab = service.installation.create_key("lab")
    assert ask("POST", SCORE, WHOLE).body == ask("POST", SCORE, WHOLE).body
    assert spent(ledger) == 0.5
    ask("POST", SCORE, WHOLE, key=lab)
    assert spent(ledger) == 1.0 and ledger.left_of("lab") == 1.5


def test_a_spent_budget_has_one_answer(spend: Callable, ledger: Ledger) -> None:
    ask, service = spend()
    _, stranger = service.installation.create_key("stranger")
    rows = [{**WHOLE, "age": age} for age in range(30, 40)]
    answers = [ask("POST", SCORE, row) for row in rows]
    assert [a.status for a in answers] == [200] * 4 + [403] * 6
    refusals = {a.body for a in answers[4:]} | {ask("POST", SCORE, rows[9], key=stranger).body}
    assert len(refusals) == 1 and answers[-1].code == "budget_spent"
    assert spent(ledger) == 2.0
    assert ask("POST", SCORE, rows[0]).body == answers[0].body  # what was paid for is still told
    assert ask("GET", "/v1/budget", key=stranger).json["left_of_client"] == 0


def test_several_rows_are_debited_together_or_not_at_all(spend: Callable, ledger: Ledger) -> None:
    ask, service = spend()
    first = ask("POST", SCORE, WHOLE).json
    rows = [{**WHOLE, "age": age} for age in (30, 31, 30)]
    mark = {"idempotency-key": "visits"}
    told = ask("POST", SCORE, [WHOLE, *rows], headers=mark)
    scores = [s["risk_score"] for s in told.json["scores"]]
    assert scores[0] == first["risk_score"] and scores[1] == scores[3]  # paid for before, and asked twice
    assert spent(ledger) == 1.5 and len([e for e in ledger.entries() if e.kind == "debit"]) == 3
    assert ask("POST", SCORE, [WHOLE, *rows], headers=mark).body == told.body
    assert ask("POST", SCORE, [rows[1]]).json["scores"][0]["risk_score"] == scores[2]
    assert ask("POST", SCORE, [{**WHOLE, "age": age} for age in (40, 41)]).code == "budget_spent"
    assert spent(ledger) == 1.5 and ledger.left_of("clinic") == 0.5  # one of the two would have fitted
    faults = ask("POST", SCORE, [WHOLE, {**WHOLE, "age": "x"}, {**WHOLE, "new": 1}]).json["error"]["faults"]
    assert [(f["row"], f["field"]) for f in faults] == [(1, "age"), (2, "new")]
    assert (
        b'outcome="drawn"} 3'
        in ask("GET", "/metrics", key=service.installation.create_key("m", ("metrics",))[1]).body
    )


@pytest.mark.parametrize(
    "row",
    [
        {**WHOLE, "age": "x"},
        {**WHOLE, "new": 1},
        {k: v for k, v in WHOLE.items() if k != "sex"},
        [WHOLE, {**WHOLE, "age": "x"}],
    ],
)
def test_bad_questions_cost_nothing(row: object, spend: Callable, ledger: Ledger) -> None:
    ask, _ = spend()
    assert ask("POST", SCORE, row).status == 422
    assert ask("POST", SCORE, WHOLE, query="explain=true").status == 422
    assert spent(ledger) == 0


def test_answers_expire(spend: Callable, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    ask, service = spend(keep_hours=1)
    ask("POST", SCORE, WHOLE)
    later = time.time() + 3601
    monkeypatch.setattr("sfumato.service.answers.time.time", lambda: later)
    ask("POST", SCORE, WHOLE)
    assert spent(ledger) == 1.0
    rows = service.answers._connection.execute("SELECT count(*) FROM answers").fetchone()
    assert rows == (1,)  # the expired one is gone from the file


# -- idempotency -------------------------------------------------------------------------------------------


def test_an_idempotency_key_repeats_and_refuses_another_body(spend: Callable, ledger: Ledger) -> None:
    ask, service = spend()
    _, lab = service.installation.create_key("lab")
    mark = {"idempotency-key": "visit-17"}
    first = ask("POST", SCORE, WHOLE, headers=mark)
    assert ask("POST", SCORE, WHOLE, headers=mark).body == first.body
    assert ask("POST", SCORE, {**WHOLE, "age": 45}, headers=mark).code == "another_body"
    assert ask("POST", SCORE, WHOLE, headers=mark, query="version=current").body == first.body
    assert spent(ledger) == 0.5
    # Another client's key of the same name is another key.
    assert ask("POST", SCORE, {**WHOLE, "age": 45}, headers=mark, key=lab).status == 200
    assert spent(ledger) == 1.0


def test_idempotency_outlives_a_new_version(serve: Callable, released: Path) -> None:
    ask, service = serve()
    path, mark = "/v1/models/diabetes/score", {"idempotency-key": "x"}
    first = ask("POST", path, WHOLE, headers=mark)
    service.installation.activate("diabetes", service.registry.versions("diabetes")[0])
    assert ask("POST", path, WHOLE, headers=mark).body == first.body
    assert ask("POST", path, WHOLE).json["version"] != first.json["version"]
    assert ask("POST", path, WHOLE, headers=mark, query="explain=true").code == "another_body"


def test_a_refused_question_leaves_its_key_free(serve: Callable) -> None:
    ask, _ = serve()
    path, mark = "/v1/models/diabetes/score", {"idempotency-key": "x"}
    assert ask("POST", path, {}, headers=mark).status == 422
    assert ask("POST", path, WHOLE, headers=mark).status == 200


@pytest.mark.parametrize("mark", ["", "a" * 256, "a b", "é", "a\tb"])
def test_what_is_no_idempotency_key_is_refused(mark: str, serve: Callable) -> None:
    ask, _ = serve()
    answer = ask("POST", "/v1/models/diabetes/score", WHOLE, headers={"idempotency-key": mark})
    assert answer.code == "bad_idempotency_key"


# -- what is kept ------------------------------------------------------------------------------------------


def test_questions_are_kept_as_keyed_hashes(spend: Callable, tmp_path: Path) -> None:
    ask, service = spend()
    ask("POST", SCORE, {**WHOLE, "glucose": 273.125}, headers={"idempotency-key": "zebra-visit"})
    content = b"".join(p.read_bytes() for p in tmp_path.iterdir() if p.name.startswith("answers"))
    assert b"273.125" not in content and b"zebra" not in content and b"glucose" not in content
    secret, service.answers._secret = service.answers._secret, b"another"
    other = service.answers.hash(b"question", b"x")
    service.answers._secret = secret
    assert service.answers.hash(b"question", b"x") != other
    assert service.answers.hash(b"a", b"bc") != service.answers.hash(b"ab", b"c")
    with sqlite3.connect(tmp_path / "answers") as connection:
        assert all(len(q) == 32 for (q,) in connection.execute("SELECT question FROM answers"))
    connection.close()


def test_identical_questions_at_once_are_debited_once(spend: Callable, ledger: Ledger) -> None:
    ask, _ = spend()  # over processes: test_live.py
    barrier = threading.Barrier(12)

    def question(_: int) -> bytes:
        barrier.wait()
        return ask("POST", SCORE, WHOLE).body

    with ThreadPoolExecutor(12) as pool:
        answers = set(pool.map(question, range(12)))
    assert len(answers) == 1
    assert spent(ledger) == 0.5 and len([e for e in ledger.entries() if e.kind == "debit"]) == 1


def test_an_answer_that_cannot_be_kept_is_not_given(spend: Callable, ledger: Ledger) -> None:
    ask, service = spend()
    service.answers._connection.execute("PRAGMA query_only = ON")
    answer = ask("POST", SCORE, WHOLE)
    assert answer.code == "unavailable" and b"risk_score" not in answer.body
    assert spent(ledger) == 0.5  # never a refund
    service.answers._connection.execute("PRAGMA query_only = OFF")
    assert ask("POST", SCORE, WHOLE).status == 200


def test_a_full_store_refuses_before_it_pays(
    spend: Callable, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, _ = spend()
    monkeypatch.setattr("sfumato.service.answers.MOST_BYTES", 4096)
    assert ask("POST", SCORE, WHOLE).code == "unavailable"
    assert ledger.spent == 0


def test_repeats_leave_room_for_what_is_paid(
    spend: Callable, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, _ = spend()
    first = ask("POST", SCORE, WHOLE)
    monkeypatch.setattr("sfumato.service.answers.FREE_SHARE", 0.0)
    assert ask("POST", SCORE, WHOLE, headers={"idempotency-key": "x"}).code == "unavailable"
    assert ask("POST", SCORE, WHOLE).body == first.body  # nothing new is kept for it
    assert ask("POST", SCORE, {**WHOLE, "age": 50}).status == 200 and spent(ledger) == 1.0


def test_a_ledger_that_is_gone_answers_nothing(spend: Callable, tmp_path: Path) -> None:
    ask, _ = spend()
    first = ask("POST", SCORE, WHOLE)
    (tmp_path / "study.ledger").rename(tmp_path / "elsewhere")
    assert ask("POST", SCORE, {**WHOLE, "age": 50}).code == "unavailable"
    assert ask("GET", "/readyz").status == 503
    assert ask("POST", SCORE, WHOLE).body == first.body


def test_a_locked_ledger_is_not_ready(spend: Callable, ledger: Ledger, tmp_path: Path) -> None:
    ask, _ = spend()
    path, old = tmp_path / "study.ledger", tmp_path / "old"
    shutil.copy(path, old)
    ledger.grant(epsilon=0.01, purpose="x")
    assert ask("GET", "/readyz").status == 200
    shutil.copy(old, path)  # put back: nothing is granted until a person unlocks it
    assert ledger.locked
    assert ask("GET", "/readyz").code == "unavailable"


def test_a_clients_budget_tells_nothing_of_the_others(spend: Callable, ledger: Ledger) -> None:
    ask, _ = spend()
    ledger.grant(epsilon=4.0, purpose="somebody else")
    assert ask("GET", "/v1/budget").json["left_of_client"] == 2.0
    ledger.grant(epsilon=1.0, purpose="somebody else")
    assert ask("GET", "/v1/budget").json["left_of_client"] == 2.0
    assert ask("POST", SCORE, WHOLE).code == "budget_spent"


def test_a_busy_ledger_of_rho_is_not_a_spent_one(
    spend: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = Ledger.open(tmp_path / "rho.ledger", Budget(rho=0.3, delta=1e-6))
    book.set_client("clinic", rho=0.2)  # an epsilon of 0.5 costs a rho of 0.125
    ask, service = spend(ledger=str(tmp_path / "rho.ledger"))

    def busy(*_: object, **__: object) -> None:
        raise BudgetError("ledger is in use by others. Nothing was granted.", hint="try again")

    with monkeypatch.context() as patch:
        patch.setattr(service.ledger, "grants", busy)
        assert ask("POST", SCORE, WHOLE).code == "unavailable"
    assert ask("POST", SCORE, WHOLE).status == 200
    assert ask("POST", SCORE, {**WHOLE, "age": 50}).code == "budget_spent"


def test_a_noisy_model_tells_no_count(spend: Callable, noisy: Path) -> None:
    ask, _ = spend()
    told = ask("GET", "/v1/models/dpat").json
    assert told["noisy"] and told["claimed_epsilon"] == 0.5
    assert "no guarantee" in told["guarantee"][0]["title"]
    assert "nodes" not in json.dumps(told) and "trees" not in told


def test_a_ledger_in_postgresql_pays_as_well(spend: Callable, postgres_url: str) -> None:
    import psycopg

    name = f"service_{secrets.token_hex(6)}"
    book = Ledger.open(f"{postgres_url}#{name}", budget=5.0)
    try:
        book.set_client("clinic", 1.0)
        ask, _ = spend(ledger=f"{postgres_url}#{name}")
        rows = [{**WHOLE, "age": age} for age in (30, 31, 32, 30)]
        answers = [ask("POST", SCORE, row) for row in rows]
        assert [a.status for a in answers] == [200, 200, 403, 200] and answers[3].body == answers[0].body
        assert book.spent == 1.0 and ask("GET", "/readyz").status == 200
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            found = connection.execute(
                "SELECT nspname FROM pg_namespace WHERE nspname LIKE %s", (f"%{name}",)
            ).fetchall()
            for (schema,) in found:
                connection.execute(f'DROP SCHEMA "{schema}" CASCADE')
