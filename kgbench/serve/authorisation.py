# SPDX-License-Identifier: Apache-2.0
"""Authorises requests: by the bearer token given at start, and by the page that caused them."""

from __future__ import annotations

import hmac

from starlette.requests import Request

from kgbench.net import limits
from kgbench.serve.refusals import Refused
from kgbench.serve.settings import Settings

_OWN_SITES = frozenset(("same-origin", "none"))  # "none": the user typed the address


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
