# SPDX-License-Identifier: Apache-2.0
"""Who may read and write: the token given at start, the page of a request, headers of responses."""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from starlette.requests import Request

from kgbench.net import limits
from kgbench.serve.refusals import Refused
from kgbench.serve.settings import Settings

_OWN_SITES = frozenset(("same-origin", "none"))  # "none": the user typed the address
PREFLIGHT = {
    "Access-Control-Allow-Headers": "Accept, Authorization, Content-Type, If-None-Match",
    "Access-Control-Max-Age": "86400",
}
READING = "GET, HEAD, OPTIONS"  # methods of read-only resources
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'{styles}; img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
POLICY = "Content-Security-Policy"
SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    POLICY: _POLICY.format(styles=""),
}
#: For the page with YASGUI: allows the inline style sheet that YASGUI 4.6.2 adds for its table.
WITH_YASGUI = {
    POLICY: _POLICY.format(styles=" 'sha256-zCK2EVMoPc04mRF/g5CotUvxbJPWS+8V0b+s9ptqQIk='")
}


def require_permission(settings: Settings, request: Request) -> None:
    """Raise :class:`Refused` (403 or 401) unless the request may write."""
    if settings.token is None:
        raise Refused(403, "this server is read-only")
    require_own_page(request, settings.public, shared=settings.shared_with)
    require_token(settings, request)


def require_token(settings: Settings, request: Request) -> None:
    """Raise :class:`Refused` (401) unless the request carries the token of the server."""
    if not has_token(settings, request):
        raise Refused(
            401,
            "this server requires its token, as 'Authorization: Bearer TOKEN'",
            {"WWW-Authenticate": 'Bearer realm="kgbench"'},
        )


def has_token(settings: Settings, request: Request) -> bool:
    """Return whether the server has a token and the request carries it."""
    if settings.token is None:
        return False
    scheme, _, sent = request.headers.get("authorization", "").partition(" ")
    expected = settings.token.encode("utf-8")
    return scheme.lower() == "bearer" and hmac.compare_digest(sent.strip().encode(), expected)


def require_own_page(
    request: Request, public: str | None, *, shared: str | None = None, form: bool = False
) -> None:
    """Raise :class:`Refused` (403) for a request that a page of another origin caused.

    Browsers send Sec-Fetch-Site with every request to HTTPS and to loopback addresses (Fetch
    Metadata Request Headers, section 2), and Origin with every POST and with requests by scripts to
    other origins (Fetch, section 3.2). Other programs send neither; a ``form`` needs an Origin.
    ``public`` is the address of the server behind a proxy. Pages of the origin ``shared`` (``*``:
    all) are allowed as well.
    """
    origins = request.headers.getlist("origin")
    sites = request.headers.getlist("sec-fetch-site")
    if shared == "*" or (shared is not None and origins == [shared]):
        return
    own = {limits.origin(f"{request.url.scheme}://{request.headers.get('host', '').lower()}")}
    if public is not None:
        address = limits.origin(public)
        own = {address} | {at for at in own if at[1] != address[1]}
    try:
        foreign = any(limits.origin(sent) not in own for sent in origins)
    except ValueError:
        foreign = True
    if foreign or not _OWN_SITES.issuperset(sites) or (form and not origins):
        raise Refused(403, "pages of other origins may not use this server")


def cors_headers(origin: str | None) -> Mapping[str, str]:
    """Return the CORS headers for an ``origin`` (``*``: all); ``None`` forbids other origins."""
    if origin is None:
        return {"Cross-Origin-Resource-Policy": "same-origin"}
    return {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Expose-Headers": "ETag, Link, Content-Location, Retry-After",
    }


def common_headers(origin: str | None) -> list[tuple[bytes, bytes]]:
    """Return the headers of all responses as bytes, with lower-case names as ASGI requires."""
    headers = {**cors_headers(origin), **SAFE}
    return [
        (name.lower().encode("ascii"), value.encode("ascii")) for name, value in headers.items()
    ]
