# SPDX-License-Identifier: Apache-2.0
"""Settings of a server: its address, limits of requests, and who may read and write.

A token is given at start; a request has a page that it comes from, and a response has headers.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.requests import Request

from kgbench.net import limits
from kgbench.serve.admission import Refused
from kgbench.vocab import BASE

#: Addresses that stand for all addresses of the machine.
UNSPECIFIED = frozenset(("0.0.0.0", "::"))  # noqa: S104 - compared, not bound
_PORT = re.compile(r":\d{0,5}$")
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


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of requests; times in seconds, sizes in bytes.

    Queries run in ``workers`` processes, each for at most ``seconds``, including the transfer. If
    all are taken, a request waits up to ``patience`` for the oldest query to end or to have had
    ``assured_seconds``, when it is ended, and is then refused. Large requests are parsed by the
    same processes, for at most ``reading_seconds``.
    """

    seconds: float = 30.0
    patience: float = 5.0
    assured_seconds: float = 10.0
    workers: int = 4
    rows: int = 1_000_000
    answer_bytes: int = 256 << 20
    memory_bytes: int = 2 << 30
    request_bytes: int = 1 << 20
    request_seconds: float = 10.0
    reading_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a server.

    ``base`` is the IRI prefix whose IRIs are served below the root. ``public`` is the URL at which
    clients reach the root, for example behind a proxy (``None``: taken from each request). With
    ``redirect``, IRIs are redirected to their documents with 303. ``token`` is the bearer token for
    updates or questions. ``cors`` is the origin whose pages may read answers (``*``: all); without
    it, only the server's own pages may, or all if ``public`` is set. ``hosts`` are the accepted
    host names and IP addresses (``None``: any); with an unspecified address among them, all IP
    addresses are accepted. With ``ahead``, the server computes overview and leaderboard when it
    starts, not when somebody first asks for them.
    """

    location: str
    base: str = BASE
    public: str | None = None
    union: bool = True
    redirect: bool = False
    token: str | None = None
    cors: str | None = None
    hosts: frozenset[str] | None = None
    limits: Limits = field(default_factory=Limits)
    ahead: bool = False

    @property
    def shared_with(self) -> str | None:
        """The origin allowed by CORS, ``*`` for all, or ``None``."""
        return self.cors or ("*" if self.public is not None else None)

    def is_own(self, host: str) -> bool:
        """Return whether a Host header names an address that the server was started with.

        Other names are refused against DNS rebinding: a hostile site could resolve its name to this
        machine, and its pages would then read answers as from their own origin.

        >>> settings = Settings("memory:", hosts=frozenset(["localhost", "::1"]))
        >>> [settings.is_own(host) for host in ("localhost:8080", "[::1]:8080", "10.0.0.1")]
        [True, True, False]
        """
        if self.hosts is None:
            return True
        name = _PORT.sub("", host.strip().lower()).removesuffix(".").strip("[]")
        if name in self.hosts or self.hosts.isdisjoint(UNSPECIFIED):
            return name in self.hosts
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


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
