"""Attacked: another site's page, a wrong or used ticket, a foreign Host, other folders, requests that make
no sense.

Whatever comes, nothing is read, nothing is changed, and no answer is a fault of ours.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from planned import CANARY
from windows import OWN, Reply, Window, opened, prepared

from sfumato.web.gate import ENTER

HOST = OWN.hosts[0].decode()
FORM = ("content-type", "application/x-www-form-urlencoded")
CLICK = b"revision=1&column=age&role=other"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("attacked"))


@pytest.fixture
def window(made: Path) -> Iterator[Window]:
    with opened(made) as found:
        yield found


def marks(data: Path) -> dict[str, str]:
    """Everything in the folder, byte by byte."""
    return {
        p.relative_to(data.parent).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in data.parent.rglob("*")
        if p.is_file()
    }


def told(reply: Reply) -> bool:
    """Whether an answer says anything of the data, its columns or the plan."""
    return any(word in reply.text for word in (CANARY, "quasi-identifier", "visits", "cost"))


def without(window: Window, *names: str, **other: str) -> list[tuple[str, str]]:
    """The usual headers, some of them gone or others."""
    kept = [(n, other.get(n.replace("-", "_"), v)) for n, v in window.usual if n not in names]
    return [*kept, FORM]


@pytest.mark.parametrize(
    "other",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1"},
        {"host": "127.0.0.1:80"},
        {"host": "localhost.evil.example:8123"},
        {"host": f"{HOST}@evil.example"},
        {"host": "[::1]:8123"},
        {"host": ""},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": f"https://{HOST}"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": f"http://localhost:{OWN.port}"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"cookie": "sfumato-8123=guessed"},
        {"cookie": ""},
        {"cookie": 'a=b; sfumato-8123="'},
    ],
)
def test_who_is_not_us_gets_nothing(window: Window, made: Path, other: dict[str, str]) -> None:
    before = marks(made)
    for method, path in (
        ("GET", "/columns"),
        ("GET", "/state"),
        ("POST", "/columns/role"),
        ("POST", "/open/file"),
        ("POST", "/open/drop"),
        ("POST", "/release/key"),
    ):
        reply = window.raw(method, path, CLICK if method == "POST" else b"", without(window, **other))
        assert reply.status in (401, 403) and not told(reply)
        assert "set-cookie" not in reply.headers
    assert marks(made) == before


def test_a_form_must_say_where_it_comes_from(window: Window, made: Path) -> None:
    before = marks(made)
    assert window.raw("POST", "/columns/role", CLICK, without(window, "origin")).status == 403
    twice = [*without(window), ("host", HOST)]
    assert window.raw("POST", "/columns/role", CLICK, twice).status == 403
    assert marks(made) == before


def test_a_ticket_is_used_once(window: Window) -> None:
    ticket = window.tickets.new()
    typed = [("host", HOST), ("sec-fetch-site", "none")]
    first = window.raw("GET", ENTER, headers=typed, query=f"ticket={ticket}")
    assert first.status == 200 and not told(first)
    cookie = first.headers["set-cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=Strict", "Path=/")) and ticket not in cookie
    again = window.raw("GET", ENTER, headers=typed, query=f"ticket={ticket}")
    assert again.status == 401 and "set-cookie" not in again.headers
    inside = [*typed, ("cookie", cookie.partition(";")[0])]
    assert window.raw("GET", "/columns", headers=inside).status == 200
    assert (
        window.raw("GET", ENTER, headers=inside, query=f"ticket={ticket}").status == 200
    )  # who is in stays in
    for wrong in ("", "ticket=", "ticket=x", f"ticket={ticket}&ticket={ticket}", "ticket=%ff", "a=b" * 400):
        assert window.raw("GET", ENTER, headers=typed, query=wrong).status == 401
    fresh = window.tickets.new()
    assert window.raw("GET", ENTER, headers=[("host", "evil.example")], query=f"ticket={fresh}").status == 403
    assert window.raw("POST", ENTER, headers=without(window, "cookie"), query=f"ticket={fresh}").status == 401


def test_every_answer_tells_the_browser_what_it_may_do(window: Window) -> None:
    for reply in (
        window.get("/columns"),
        window.get("/nothing"),
        window.raw("GET", "/", headers=[("host", "x")]),
    ):
        policy = reply.headers["content-security-policy"]
        assert (
            "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        )
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static//etc/passwd",
        "/../../etc/passwd",
        "/papers/../../plan.toml",
        "/papers/%2e%2e/plan.toml",
        "/plan/plan.toml",
        "/.studio/journal.jsonl",
        "/columns/role/../accept",
        "/static/style.css\0.js",
        "/static/",
        "//",
        "/columns/",
        "/papers/release/..%2f..%2fplan.toml",
        "/papers/%252e%252e/plan.toml",
        "/papers/release/%2e%2e%2fplan.toml",
        "/open/drop",
    ],
)
def test_addresses_lead_to_no_file(window: Window, path: str) -> None:
    reply = window.get(path)
    assert reply.status in (404, 405) and not told(reply)


def test_links_that_lead_out_of_the_folder_are_not_followed(window: Window, made: Path) -> None:
    outside = made.parent.parent / "outside.csv"
    outside.write_text("a,b\n1,2\n", encoding="utf-8")
    link = made.parent / "inside.csv"
    link.symlink_to(outside)
    try:
        assert "inside.csv" not in window.get("/open").text
        assert window.post("/open/file", file="inside.csv").status == 422
        assert window.post("/open/file", file="../outside.csv").status == 422
    finally:
        link.unlink()
        outside.unlink()


def malformed(window: Window, chance: random.Random) -> Reply:
    """A request that makes no sense in one of many ways, by somebody who is in."""
    signs = "abz019/%.&=?#\\\"'<>;:\0\n\r\t ä\u202e\U0001f600[]{}$"
    paths = [
        "/columns/role",
        "/columns/kind",
        "/plan/undo",
        "/open/file",
        "/open/sample",
        "/open/again",
        "/open/drop",
        "/open/database",
        "/open/table",
        "/open/linked",
        "/open/folder",
        "/tables/add",
        "/tables/remove",
        "/tables/work",
        "/tables/look",
        "/tables",
        "/release/key",
        "/release/drift",
        "/release/register",
        "/release/run",
        "/language",
        "/tasks/cancel",
        "/columns",
        "/state",
        "/",
        "/enter",
        "/nothing",
        "/columns/accept_sure",
    ]
    names = [
        "revision",
        "column",
        "role",
        "kind",
        "address",
        "method",
        "axes",
        "number",
        "key",
        "file",
        "sample",
        "rows",
        "language",
        "task",
        "screen",
        "",
        "ticket",
    ]

    def junk(most: int) -> str:
        return "".join(chance.choice(signs) for _ in range(chance.randrange(most)))

    known = [
        "age",
        "visits.csv",
        "postgresql://evil.example/x",
        "other",
        "members",
        "../visits.csv",
        "99999999999999999999",
        "-1",
        "1e5",
        "NaN",
    ]
    fields = [
        f"{chance.choice(names)}={chance.choice([junk(40), chance.choice(known)])}"
        for _ in range(chance.randrange(6))
    ]
    body = chance.choice(
        [
            "&".join(fields).encode("utf-8", "replace"),
            junk(200).encode(),
            bytes(chance.randrange(256) for _ in range(60)),
            b"",
            b"%",
            b"&" * 5000,
            b"revision=1;" * 10,
        ]
    )
    kind = chance.choice(
        [
            "application/x-www-form-urlencoded",
            "text/plain",
            "application/json",
            "multipart/form-data",
            junk(20).encode("ascii", "ignore").decode(),
            "",
        ]
    )
    path = chance.choice([*paths, "/" + junk(30)])
    method = chance.choice(
        ["POST", "POST", "GET", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH", "BREW"]
    )
    headers = [*window.usual, ("content-type", kind)]
    if chance.random() < 0.1:
        headers.append(("content-length", chance.choice(["-1", "x", "1", "99999999999", "0x10"])))
    if chance.random() < 0.1:
        headers += [("transfer-encoding", "chunked"), ("content-length", "3")]
    if chance.random() < 0.1:
        headers.append(("cookie", junk(40).encode("ascii", "ignore").decode()))
    if chance.random() < 0.1:
        headers.append(("accept-language", junk(60).encode("ascii", "ignore").decode()))
    return window.raw(method, path, body, headers, query=junk(30).encode("ascii", "ignore").decode())


def attacked(window: Window, made: Path, number: int) -> None:
    folder = window.studio.plan_folder
    assert folder is not None
    before, revision = marks(made), folder.revision
    for seed in range(number):
        reply = malformed(window, random.Random(seed))
        assert reply.status < 500, seed
    assert window.faults == [] and folder.revision == revision and marks(made) == before


def test_malformed_requests_change_nothing(window: Window, made: Path) -> None:
    attacked(window, made, 300)


@pytest.mark.soak
def test_many_malformed_requests_change_nothing(window: Window, made: Path) -> None:
    attacked(window, made, 2_000)
