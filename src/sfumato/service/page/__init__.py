"""The two pages a browser sees: try a score, and read the API. Nothing is loaded from elsewhere."""

from __future__ import annotations

from importlib.resources import files as resources

_HTML = "text/html; charset=utf-8"
_PAGES = (
    ("/", "page", "index.html", "Sfumato: risk scores", "page.js"),
    ("/docs", "docs", "docs.html", "Sfumato: the API", "docs.js"),
)
_FILES = (
    ("/page/style.css", "page", "style.css", "text/css; charset=utf-8"),
    ("/page/icon.svg", "page", "icon.svg", "image/svg+xml"),
    ("/page/page.js", "page", "page.js", "text/javascript; charset=utf-8"),
    ("/page/drawing.js", "page", "drawing.js", "text/javascript; charset=utf-8"),
    ("/page/docs.js", "docs", "docs.js", "text/javascript; charset=utf-8"),
)


def files() -> list[tuple[str, str, bytes, str]]:
    """Address, route, content and type of each; both pages stand in one frame."""
    folder = resources("sfumato.service.page")
    frame = (folder / "frame.html").read_text("utf-8")
    pages = []
    for address, route, name, title, script in _PAGES:
        whole = frame.replace("{{title}}", title).replace("{{script}}", script)
        whole = whole.replace("{{inside}}", (folder / name).read_text("utf-8"))
        pages.append((address, route, whole.encode(), _HTML))
    return pages + [
        (address, route, (folder / name).read_bytes(), kind) for address, route, name, kind in _FILES
    ]
