# SPDX-License-Identifier: Apache-2.0
"""What a server is told when it starts: where it stands, and how much a request may cost."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field

from kgbench.vocab import BASE

_PORT = re.compile(r":\d{0,5}$")


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that requests may cost; times in seconds, sizes in bytes.

    A query runs in a ``quick`` worker for ``quick_seconds``; one that takes longer needs one of the
    ``heavy`` places and may use them up to ``seconds`` in all, its transfer included. Who finds all
    places taken waits up to ``patience``; beyond ``queue`` waiting requests nobody waits. What a
    client sends is read, where that is much, in one of ``readers`` processes for
    ``reading_seconds``.
    """

    seconds: float = 30.0
    quick_seconds: float = 0.3
    patience: float = 5.0
    quick: int = 3
    heavy: int = 2
    queue: int = 450
    rows: int = 1_000_000
    answer_bytes: int = 256 << 20
    memory_bytes: int = 2 << 30
    request_bytes: int = 1 << 20
    request_seconds: float = 10.0
    readers: int = 2
    reading_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class Settings:
    """How one server is set up.

    ``base`` is the IRI prefix whose IRIs are served below the root; ``public`` the URL at which
    clients reach the root (``None``: taken from each request), so that a proxy may publish it under
    a path. With ``redirect``, an IRI answers 303 to its document instead of with it. ``token``
    permits updates by whoever sends it. ``cors`` is the origin (``*``: all) whose pages may read
    answers; without it none may but the server's own, or all where the root is public. ``hosts``
    are the names by which the server may be asked, beside IP addresses (``None``: any name).
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

    @property
    def shared_with(self) -> str | None:
        """The origin whose pages may read answers, ``*`` for all, or ``None``."""
        return self.cors or ("*" if self.public is not None else None)

    def is_own(self, host: str) -> bool:
        """Whether a Host header names this server; a name of another site may not.

        A page of that site could have its name resolved to this machine (DNS rebinding), and would
        then read answers as of its own origin. An IP address is no such name.

        >>> settings = Settings("memory:", hosts=frozenset(["localhost"]))
        >>> [settings.is_own(host) for host in ("localhost:8080", "[::1]:8080", "rebound.example")]
        [True, True, False]
        """
        if self.hosts is None:
            return True
        name = _PORT.sub("", host.strip().lower()).removesuffix(".")
        if name in self.hosts:
            return True
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True
