"""Behind a real nginx with TLS, under a prefix: the page and the API, whether it strips the prefix or not."""

from __future__ import annotations

import http.client
import json
import shutil
import signal
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from chromium import Browser, executable
from cli_support import PATIENCE
from serving import WHOLE, Running, certificate, free_port, running

from sfumato.errors import ParameterError
from sfumato.service.installation import Installation
from sfumato.service.settings import Settings

PREFIX = "/hospital/scores"
SERVER = """
    server {{
        listen 127.0.0.1:{port} ssl;
        ssl_certificate {folder}/cert.pem;
        ssl_certificate_key {folder}/key.pem;
        location {prefix}/ {{ proxy_pass http://127.0.0.1:{behind}{rest}; proxy_http_version 1.1; }}
        location = {prefix} {{ proxy_pass http://127.0.0.1:{behind}; }}
    }}
"""
FRAME = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx-errors.log;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
{servers}}}
"""


@dataclass
class Proxied:
    """A service, and the two ports at which nginx shows it: one strips the prefix, one passes it on."""

    service: Running
    key: str
    ports: dict[str, int]
    tls: ssl.SSLContext

    def ask(self, how: str, method: str, path: str, body: object = None, key: str = "") -> Any:
        line = http.client.HTTPSConnection("127.0.0.1", self.ports[how], timeout=PATIENCE, context=self.tls)
        with closing(line):
            headers = {"authorization": f"Bearer {key}"} if key else {}
            if body is not None:
                headers["content-type"] = "application/json"
            line.request(method, path, None if body is None else json.dumps(body), headers)
            answer = line.getresponse()
            return answer.status, answer.read(), {n.lower(): v for n, v in answer.getheaders()}


def nginx() -> str | None:
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory, released: Path) -> Iterator[Proxied]:
    program = nginx()
    if program is None:
        pytest.skip("there is no nginx here: apt-get install nginx-light")
    folder = tmp_path_factory.mktemp("proxied")
    certificate(folder)
    with closing(Installation(folder / "sfumato.keys", create=True)) as installation:
        _, key = installation.create_key("clinic", rate=1000)
    with running(folder, released, "--root-path", PREFIX) as service:
        ports = {"stripped": free_port(), "kept": free_port()}
        servers = "".join(
            SERVER.format(folder=folder, prefix=PREFIX, port=ports[how], behind=service.port, rest=rest)
            for how, rest in (("stripped", "/"), ("kept", ""))
        )
        (folder / "nginx.conf").write_text(FRAME.format(folder=folder, servers=servers))
        process = subprocess.Popen(
            [program, "-p", str(folder), "-c", str(folder / "nginx.conf")], stderr=subprocess.DEVNULL
        )
        try:
            found = Proxied(service, key, ports, ssl.create_default_context(cafile=folder / "cert.pem"))
            _await(found, process)
            yield found
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)


def _await(proxied: Proxied, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        try:
            assert proxied.ask("kept", "GET", f"{PREFIX}/readyz")[0] == 200
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("nginx does not get ready")


@pytest.mark.parametrize("how", ["stripped", "kept"])
def test_the_api_answers_under_the_prefix(proxied: Proxied, how: str) -> None:
    status, body, headers = proxied.ask(how, "POST", f"{PREFIX}/v1/models/diabetes/score", WHOLE, proxied.key)
    straight = proxied.service.ask("POST", "/v1/models/diabetes/score", WHOLE, key=proxied.key)
    assert (status, body) == (200, straight.body) and headers["cache-control"] == "no-store"
    document = json.loads(proxied.ask(how, "GET", f"{PREFIX}/openapi.json")[1])
    assert document["servers"] == [{"url": PREFIX}]
    for path in document["paths"]:
        if "{" not in path:
            assert proxied.ask(how, "GET", f"{PREFIX}{path}", key=proxied.key)[0] != 404, path
    assert proxied.ask(how, "POST", f"{PREFIX}/v1/models/diabetes/score", WHOLE)[0] == 401
    assert proxied.ask(how, "GET", f"{PREFIX}/nothing")[0] == 404
    assert proxied.ask(how, "GET", "/v1/models", key=proxied.key)[0] in (403, 404)  # nginx itself


def test_without_its_last_slash_the_page_is_found_all_the_same(proxied: Proxied) -> None:
    status, _, headers = proxied.ask("kept", "GET", PREFIX)
    assert status == 308 and headers["location"] == f"{PREFIX}/"


@pytest.mark.parametrize("how", ["stripped", "kept"])
def test_the_page_works_under_the_prefix(proxied: Proxied, how: str) -> None:
    program = executable()
    if program is None:
        pytest.skip("there is no Chromium here")

    def until(claim: str) -> None:
        end = time.monotonic() + PATIENCE
        while not browser.evaluate(claim):
            assert time.monotonic() < end, f"never so: {claim}; {browser.complaints()}"
            time.sleep(0.05)

    with Browser(program) as browser:
        home = f"https://127.0.0.1:{proxied.ports[how]}{PREFIX}"
        browser.ask("Security.setIgnoreCertificateErrors", ignore=True)
        browser.ask("Page.navigate", url=f"{home}/")
        until("document.readyState === 'complete' && document.getElementById('key') !== null")
        browser.evaluate(f"document.getElementById('key').value = {proxied.key!r}")
        browser.evaluate("document.getElementById('key-form').requestSubmit()")
        until("document.getElementById('budget').textContent !== ''")
        browser.evaluate("document.getElementById('row-form').requestSubmit()")
        until("!document.getElementById('result').hidden")
        browser.ask("Page.navigate", url=f"{home}/docs")
        until("document.body && document.body.dataset.ready === 'yes'")
        assert browser.evaluate("document.querySelectorAll('main section').length") > 8
        assert browser.complaints() == []
        assert all(url.startswith(f"{home}/") for url in browser.requests())


@pytest.mark.parametrize("prefix", ["scores", "/", "/a/", "/v1", "/docs/x", "/a//b", "/a b", "/../x", "/é"])
def test_what_is_no_prefix_is_refused(prefix: str) -> None:
    with pytest.raises(ParameterError, match="root path"):
        Settings(models=("m",), root_path=prefix)


def test_a_prefix_is_taken_once_and_only_whole(serve: Callable) -> None:
    ask, _ = serve(root_path="/scores")
    assert ask("GET", "/scores/healthz").status == ask("GET", "/healthz").status == 200
    for path in ("/scores/scores/healthz", "/scoresx/healthz", "/Scores/healthz", "/x/scores/healthz"):
        assert ask("GET", path).code == "unknown", path
