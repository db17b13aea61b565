"""The two pages a browser sees: try a score, and read the API. Nothing is loaded from elsewhere."""

from __future__ import annotations

from importlib.resources import files as resources

_FILES = (
    ("/", "page", "index.html", "text/html; charset=utf-8"),
    ("/docs", "docs", "docs.html", "text/html; charset=utf-8"),
    ("/page/style.css", "page", "style.css", "text/css; charset=utf-8"),
    ("/page/icon.svg", "page", "icon.svg", "image/svg+xml"),
    ("/page/page.js", "page", "page.js", "text/javascript; charset=utf-8"),
    ("/page/drawing.js", "page", "drawing.js", "text/javascript; charset=utf-8"),
    ("/page/docs.js", "docs", "docs.js", "text/javascript; charset=utf-8"),
)


def files() -> list[tuple[str, str, bytes, str]]:
    """Address, route, content and type of each."""
    folder = resources("sfumato.service.page")
    return [(address, route, (folder / name).read_bytes(), kind) for address, route, name, kind in _FILES]
