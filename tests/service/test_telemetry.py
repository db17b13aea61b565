"""Traces and metrics as a collector gets them: the caller's trace carried on, and nothing that was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from serving import WHOLE

from sfumato.errors import ParameterError
from sfumato.service.settings import Settings

pytest.importorskip("opentelemetry.sdk", reason="the extra telemetry is not installed")
TRACE = "0af7651916cd43dd8448eb211c80319c"
SCORE = "/v1/models/diabetes/score"


class Collector:
    """What was posted, by path."""

    def __init__(self) -> None:
        self.received: list[tuple[str, bytes]] = []
        self.url = ""

    def spans(self) -> list[Any]:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        found = []
        for path, body in self.received:
            if path == "/v1/traces":
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    for scope in resource.scope_spans:
                        found += scope.spans
        return found


@pytest.fixture
def collector() -> Iterator[Collector]:
    found = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            import gzip

            body = self.rfile.read(int(self.headers["content-length"]))
            zipped = self.headers.get("content-encoding") == "gzip"
            found.received.append((self.path, gzip.decompress(body) if zipped else body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield found
    server.shutdown()
    server.server_close()


def test_a_trace_is_carried_on_and_nothing_asked_is_in_it(serve: Callable, collector: Collector) -> None:
    ask, service = serve(telemetry=collector.url)
    given = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01", "x-secret": "zebra"}
    answer = ask("POST", SCORE, {**WHOLE, "bmi": 41.170293}, headers=given, query="explain=true")
    assert answer.status == 200 and answer.headers["traceparent"].split("-")[1] == TRACE
    ask("POST", SCORE, {**WHOLE, "sex": "zebra"}, headers=given)
    for wrong in ("zebra", "00-0-0-01", "", f"00-{'0' * 32}-b7ad6b7169203331-01"):
        assert ask("GET", "/healthz", headers={"traceparent": wrong}).status == 200
    ask("GET", "/zebra")
    service.telemetry.close()
    spans = collector.spans()
    assert {path for path, _ in collector.received} == {"/v1/traces", "/v1/metrics"}
    ours = [s for s in spans if s.trace_id.hex() == TRACE]
    assert [s.name for s in ours] == ["POST score", "POST score"] and len(spans) == 7
    assert ours[0].parent_span_id.hex() == "b7ad6b7169203331"
    names = {a.key for s in spans for a in s.attributes}
    assert names == {
        "http.request.method", "http.route", "http.response.status_code", "error.type", "sfumato.model",
        "sfumato.version",
    }  # fmt: skip
    whole = b"".join(body for _, body in collector.received)
    for part in (b"41.170293", b"zebra", b"bmi", b"clinic", ask.key.split("_")[1].encode(), b"explain"):
        assert part not in whole, part
    assert b"http.server.request.duration" in whole and b"sfumato.scores" in whole


def test_without_an_address_nothing_is_sent(serve: Callable) -> None:
    ask, service = serve()
    assert service.telemetry is None
    assert (
        "traceparent"
        not in ask("GET", "/healthz", headers={"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}).headers
    )
    for wrong in ("127.0.0.1", "file:///x", "http://user:secret@host", "http://"):
        with pytest.raises(ParameterError, match="telemetry"):
            Settings(models=("m",), telemetry=wrong)


def test_a_collector_that_is_gone_stops_nobody(serve: Callable) -> None:
    ask, _ = serve(telemetry="http://127.0.0.1:1")
    assert ask("POST", SCORE, WHOLE).status == 200
