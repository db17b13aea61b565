"""Connections: who does not ask makes room for who does, and who dawdles is cut off."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from cli_support import PATIENCE
from serving import WHOLE

from sfumato.errors import ParameterError
from sfumato.service import connections
from sfumato.service.connections import GuardedProtocol, place_of
from sfumato.service.settings import VARIABLE, Settings

MODEL = "/v1/models/diabetes"
ASK = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
SLOW = ASK.replace(b"GET /", b"GET /slow")
Pipe = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Site:
    """A server that answers /slow when the gate opens and all else at once."""

    def __init__(self) -> None:
        self.gate, self.asked, self.port = asyncio.Event(), asyncio.Semaphore(0), 0
        self._opened: list[asyncio.StreamWriter] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/slow":
            self.asked.release()
            await self.gate.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def connect(self) -> Pipe:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self._opened.append(writer)
        return reader, writer

    async def ask_slowly(self) -> Pipe:
        """A question that is under way."""
        pipe = await self.connect()
        pipe[1].write(SLOW)
        await asyncio.wait_for(self.asked.acquire(), PATIENCE)
        return pipe

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Site]:
        config = uvicorn.Config(
            self, port=0, http=GuardedProtocol, lifespan="off", log_config=None, log_level=50
        )
        server = uvicorn.Server(config)
        server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        self.port = server.servers[0].sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            self.gate.set()
            for writer in self._opened:
                writer.close()
            server.should_exit = True
            await task


def run(monkeypatch: pytest.MonkeyPatch, test: Callable[[Site], Awaitable[None]], **limits: Any) -> None:
    monkeypatch.setenv(VARIABLE, Settings(models=("m",), **limits).to_json())

    async def whole() -> None:
        async with Site().open() as site:
            await test(site)

    asyncio.run(whole())


async def answered(pipe: Pipe) -> bool:
    return (await asyncio.wait_for(pipe[0].readuntil(b"ok"), PATIENCE)).startswith(b"HTTP/1.1 200")


async def answer(pipe: Pipe) -> bool:
    pipe[1].write(ASK)
    return await answered(pipe)


async def ended(pipe: Pipe) -> None:
    """Closed from the other side; a reset is an end too."""
    with contextlib.suppress(ConnectionError):
        assert await asyncio.wait_for(pipe[0].read(), PATIENCE) == b""


def test_idle_connections_make_room_for_one_that_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(site: Site) -> None:
        idle = [await site.connect() for _ in range(12)]
        assert await answer(await site.connect())
        for pipe in idle[:9]:  # those who waited longest
            await ended(pipe)
        assert await answer(idle[-1])

    run(monkeypatch, test, connections_per_address=4, seconds_to_ask=600)


def test_who_is_being_answered_is_never_closed_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(site: Site) -> None:
        busy = [await site.ask_slowly() for _ in range(4)]
        await ended(await site.connect())
        site.gate.set()
        for pipe in busy:
            assert await answered(pipe)
        assert await answer(await site.connect())

    run(monkeypatch, test, connections_per_address=4, seconds_to_ask=600)


def test_beyond_all_places_the_longest_idle_one_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_AT_ONCE", 3)

    async def test(site: Site) -> None:
        idle = [await site.connect() for _ in range(5)]
        assert await answer(await site.connect())
        for pipe in idle[:3]:
            await ended(pipe)

    run(monkeypatch, test, connections_per_address=100, seconds_to_ask=600)


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nhost: x\r\n", ASK + b"GET / HT"])
def test_who_does_not_end_the_headers_in_time_is_cut_off(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dawdle(writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(b"x")
                await asyncio.sleep(0.05)

    async def test(site: Site) -> None:
        reader, writer = await site.connect()
        writer.write(sent)
        if sent.startswith(ASK):
            assert await answered((reader, writer))
        task = asyncio.create_task(dawdle(writer)) if sent else None
        await ended((reader, writer))
        if task is not None:
            task.cancel()

    run(monkeypatch, test, seconds_to_ask=0.3)


def test_a_slow_answer_has_no_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(site: Site) -> None:
        pipe = await site.ask_slowly()
        await asyncio.sleep(0.5)
        site.gate.set()
        assert await answered(pipe)

    run(monkeypatch, test, seconds_to_ask=0.2)


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_whose_connections_count_together(address: str, place: str) -> None:
    assert place_of((address, 1)) == place and place_of(None) == ""


@pytest.mark.parametrize(
    "given", [{"connections_per_address": 0}, {"connections_per_address": 1001}, {"seconds_to_ask": 0}]
)
def test_limits_check_themselves(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="a connection asks within"):
        Settings(models=("m",), **given)


# -- versions and signers ------------------------------------------------------------------------------


def test_old_versions_are_closed_where_only_the_current_one_answers(serve: Callable[..., Any]) -> None:
    ask, service = serve(only_current=True)
    earlier, later = service.registry.versions("diabetes")
    admin = service.installation.create_key("owner", ("admin",))[1]
    for current, other in ((later, earlier), (earlier, later)):
        asked = ask("POST", f"{MODEL}/score", WHOLE, query=f"version={current}")
        assert asked.json["version"] == current
        assert ask("POST", f"{MODEL}/score", WHOLE, query=f"version={other}").code == "unknown_model"
        assert ask("GET", MODEL, query=f"version={other}").code == "unknown_model"
        assert ask("GET", MODEL).json["versions"] == [current]
        if other == earlier:
            assert ask("POST", f"{MODEL}/activate", {"version": other}, key=admin).status == 200


def test_a_model_says_whether_its_signer_was_compared(serve: Callable[..., Any]) -> None:
    ask, service = serve()
    about = ask("GET", MODEL).json
    assert about["signer_compared"] is False and len(about["signer"]) == 64
    signers = tuple({s.signer for v in service.registry._served.values() for s in v.values()})
    assert serve(trusted=signers)[0]("GET", MODEL).json["signer_compared"] is True
