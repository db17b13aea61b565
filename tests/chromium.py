"""A headless Chromium, spoken to through two pipes: what a reader's browser really does with a page."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars",
    "--disable-dev-shm-usage", "--remote-debugging-pipe",
)  # fmt: skip


def executable() -> str | None:
    """The Chromium of this machine; SFUMATO_CHROMIUM names another one."""
    return os.environ.get("SFUMATO_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)


class Browser:
    """One browser with an empty profile and one tab."""

    def __init__(self, program: str, patience: float = 600) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        # The browser reads its orders from descriptor 3 and answers on 4.
        place = (  # first out of the way, as the pipes may themselves be 3 and 4
            "import fcntl, os, sys; "
            f"a, b = (fcntl.fcntl(f, fcntl.F_DUPFD, 10) for f in ({theirs_in}, {theirs_out})); "
            "os.dup2(a, 3); os.dup2(b, 4); os.execv(sys.argv[1], sys.argv[1:])"
        )
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                place,
                program,
                *_QUIET,
                f"--user-data-dir={self._home.name}",
                "about:blank",
            ],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self._home.name},
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._rest, self._number, self._patience = b"", 0, patience
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask("Page.setLifecycleEventsEnabled", enabled=True)

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._home.cleanup()

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one order and wait for its answer; events on the way are kept."""
        self._number += 1
        order: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None and not method.startswith("Target."):
            order["sessionId"] = self._session
        os.write(self._out, json.dumps(order).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return dict(message["result"])
            self.events.append(message)

    def _message(self) -> dict[str, Any]:
        end = time.monotonic() + self._patience
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0, end - time.monotonic()))
            chunk = os.read(self._in, 1 << 20) if ready else b""
            if not chunk:
                raise RuntimeError("the browser does not answer")
            self._rest += chunk
        first, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(first))

    def open(self, path: Path, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Load a file in a window of this size and wait until it is there."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.resize(width, height)
        self.visit(path.resolve().as_uri())

    def visit(self, address: str) -> None:
        """Load what is at an address and wait until it is there."""
        self.events.clear()
        loader = self.ask("Page.navigate", url=address).get("loaderId")
        while loader and not any(_is_loaded(e, loader) for e in self.events):  # none: the same page
            self.events.append(self._message())

    def resize(self, width: int, height: int) -> None:
        """Give the window a size in pixels."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"the expression fails: {answer['exceptionDetails'].get('text')}")
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """Everything on the console, every exception, every refusal by the page's policy."""
        loud = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(e["params"])[:500] for e in self.events if e.get("method") in loud]

    def requests(self) -> list[str]:
        """The addresses of everything the page asked for."""
        sent = [e["params"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [str(p["request"]["url"]) for p in sent]

    def screenshot(self, path: Path, selector: str | None = None, *, window: bool = False) -> None:
        """The whole page, one element of it, or what is in the window, as PNG."""
        if window:
            path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))
            return
        box = "document.documentElement" if selector is None else f"document.querySelector({selector!r})"
        clip = self.evaluate(
            f"(r => ({{x: r.x + scrollX, y: r.y + scrollY, width: r.width, height: r.height, scale: 1}}))"
            f"({box}.getBoundingClientRect())"
        )
        shot = self.ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, path: Path, inches: tuple[float, float] = (8.5, 11.0)) -> None:
        """The page as it is printed, on paper of that width and height."""
        size = {"paperWidth": inches[0], "paperHeight": inches[1]}
        printed = self.ask("Page.printToPDF", preferCSSPageSize=False, printBackground=True, **size)
        path.write_bytes(base64.b64decode(printed["data"]))


def _is_loaded(event: dict[str, Any], loader: str) -> bool:
    """Whether this very page has come, and not the one before it."""
    said = event.get("params", {})
    of_page = said.get("name") == "load" and said.get("loaderId") == loader
    return event.get("method") == "Page.lifecycleEvent" and of_page
