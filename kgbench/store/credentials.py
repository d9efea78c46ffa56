# SPDX-License-Identifier: Apache-2.0
"""Authentication at a server by Basic, Digest or Bearer, with credentials from the environment.

A bearer token (``KGBENCH_STORE_TOKEN``) is sent with every request. A user and password
(``KGBENCH_STORE_USER``, ``KGBENCH_STORE_PASSWORD``) are sent only after the server asks for them:
by Digest (RFC 7616) if the server offers it, else by Basic (RFC 7617).
``KGBENCH_STORE_AUTH=basic`` sends them immediately, ``=digest`` never uses Basic. Credentials never
appear in a location, message or store.
"""

from __future__ import annotations

import base64
import os
import re
import threading
from collections.abc import Generator, Mapping

import httpx2

from kgbench.errors import StoreError
from kgbench.secrets.key_patterns import surplus_of_key

USER, PASSWORD = "KGBENCH_STORE_USER", "KGBENCH_STORE_PASSWORD"
TOKEN, WAY = "KGBENCH_STORE_TOKEN", "KGBENCH_STORE_AUTH"
_FIELD = re.compile(  # up to a comma that is not quoted
    r'(?:[^",]|"(?:[^"\\]|\\.)*"?)+', re.DOTALL
)


class Credentials(httpx2.Auth):
    """The authentication of requests to one server; may be used by several threads.

    httpx2 makes the headers; this class decides when they are sent, and which.
    """

    def __init__(
        self, user: str | None, password: str | None, token: str | None, way: str | None
    ) -> None:
        if way not in (None, "basic", "digest"):
            raise StoreError(f"{WAY} is 'basic' or 'digest', not '{way}'")
        if token is not None and user is not None:
            raise StoreError(f"set either {TOKEN}, or {USER} and {PASSWORD}, not both")
        if (user is None) != (password is None):
            raise StoreError(f"{USER} and {PASSWORD} go together: set both or none")
        if any(re.search(r"[\x00-\x1f\x7f]", value) for value in (user, password, token) if value):
            raise StoreError(f"{USER}, {PASSWORD} and {TOKEN} may hold no control characters")
        if token is not None and (surplus := surplus_of_key(token)) is not None:
            raise StoreError(f"{TOKEN} {surplus}: set it to the token alone")
        self._user, self._password, self._token = user, password, token
        self._way = way
        self._threads = threading.local()  # each thread has its own nonce of Digest

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Credentials:
        """Read the credentials from the environment; there may be none."""
        variables = os.environ if environment is None else environment
        return cls(*(variables.get(name) or None for name in (USER, PASSWORD, TOKEN, WAY)))

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secrets that no message may contain."""
        pair = base64.b64encode(f"{self._user}:{self._password}".encode()).decode("ascii")
        return tuple(
            secret for secret in (self._user and pair, self._password, self._token) if secret
        )

    def sync_auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        """Send ``request``, and again with credentials if the server asks for them."""
        request.headers.encoding = "utf-8"  # names and realms may hold any character
        if self._token is not None:
            request.headers["Authorization"] = f"Bearer {self._token}".rstrip()
        basic = self._basic() if self._user is not None and self._way == "basic" else None
        given: httpx2.Auth | None = getattr(self._threads, "given", basic)
        if given is not None:  # Digest answers a new nonce
            yield from given.auth_flow(request)
            return
        refused = yield request
        if self._user is None or refused.status_code != httpx2.codes.UNAUTHORIZED:
            return
        self._threads.given = self._answer(request, refused)
        if self._threads.given is not None:
            yield request

    def _answer(self, request: httpx2.Request, refused: httpx2.Response) -> httpx2.Auth | None:
        """Add the credentials that ``refused`` asks for; return them if they are supported."""
        texts = refused.headers.get_list("WWW-Authenticate")
        challenges = [challenge for text in texts for challenge in _challenges(text)]
        for scheme, challenge in challenges:
            if scheme == "digest" and (digest := self._digest(challenge, request)) is not None:
                return digest
        if self._way == "digest" or "basic" not in dict(challenges):
            return None
        basic = self._basic()
        next(basic.auth_flow(request))
        return basic

    def _basic(self) -> httpx2.BasicAuth:
        return httpx2.BasicAuth(self._user or "", self._password or "")

    def _digest(self, challenge: str, request: httpx2.Request) -> httpx2.DigestAuth | None:
        """Answer a Digest ``challenge``; ``None`` if it is not supported."""
        assert self._user is not None
        if re.search(r'["\\]', self._user):  # httpx2 does not escape these characters
            return None
        digest = httpx2.DigestAuth(self._user, self._password or "")
        flow = digest.auth_flow(request)
        next(flow)
        headers = [(b"WWW-Authenticate", challenge.encode())]
        try:
            flow.send(httpx2.Response(401, headers=headers, request=request))
        except (httpx2.ProtocolError, NotImplementedError, ValueError):
            return None  # an unknown algorithm or qop, or no nonce
        return digest


def _challenges(text: str) -> list[tuple[str, str]]:
    """Split a ``WWW-Authenticate`` header into challenges: schemes in lower case, and texts."""
    challenges: list[tuple[str, list[str]]] = []
    for field in map(str.strip, _FIELD.findall(text)):
        name, _, rest = field.partition(" ")
        if "=" not in name and not rest.lstrip().startswith("="):
            challenges.append((name.lower(), [field]))
        elif challenges:
            challenges[-1][1].append(field)
    return [(scheme, ", ".join(fields)) for scheme, fields in challenges]
