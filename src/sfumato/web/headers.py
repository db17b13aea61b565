"""The headers of every answer: what a browser may do with it, and that nothing of it is kept."""

from __future__ import annotations

from starlette.types import Scope

Headers = list[tuple[bytes, bytes]]

# Nothing from elsewhere, no script or style within a page; forms are for applications that take them.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action {forms}; frame-ancestors 'none'"
)
PAGE_POLICY = _POLICY.format(forms="'none'")
FORM_POLICY = _POLICY.format(forms="'self'")
# A page that was made elsewhere and is only shown: it draws itself, runs nothing, asks for nothing, and has
# an origin of its own, so that nothing in it could act for whoever reads it.
PAPER_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox"
)


def page_headers(policy: str = PAGE_POLICY, referrer: str = "no-referrer") -> Headers:
    """As every answer carries them.

    referrer: "same-origin" where forms are sent; with "no-referrer" a browser hides where a form comes from.
    """
    return [
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", referrer.encode()),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"content-security-policy", policy.encode()),
    ]


def has_two_lengths(scope: Scope) -> bool:
    """Whether a request says in two ways where it ends: proxies and servers may differ, and smugglers do."""
    names = [name for name, _ in scope["headers"]]
    return b"transfer-encoding" in names and b"content-length" in names
