# SPDX-License-Identifier: Apache-2.0
"""Settings of a server: its address, access, and limits of requests."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field

from kgbench.vocab import BASE

#: Addresses that stand for all addresses of the machine.
UNSPECIFIED = frozenset(("0.0.0.0", "::"))  # noqa: S104 - compared, not bound
_PORT = re.compile(r":\d{0,5}$")


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
