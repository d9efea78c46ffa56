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
_ANSWERS = 2  # challenges that are answered; other threads may have used up the first nonce
_FIELD = re.compile(  # up to a comma that is not quoted
    r'(?:[^",]|"(?:[^"\\]|\\.)*"?)+', re.DOTALL
)
_NONCE = re.compile(r'\bnonce\s*=\s*("(?:[^"\\]|\\.)*"|[^\s,"]+)', re.IGNORECASE)


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
        self._given: httpx2.Auth | None = self._basic() if way == "basic" else None
        self._nonce = ""  # the nonce of the current Digest authentication, if any
        self._lock = threading.RLock()  # protects the nonce count (nc) of Digest

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
        sent = self._sign(request)
        response = yield request
        for _ in range(_ANSWERS):
            if self._user is None or response.status_code != httpx2.codes.UNAUTHORIZED:
                return
            sent = self._answer(request, response, sent)
            if sent is None:
                return
            response = yield request

    def _sign(self, request: httpx2.Request) -> str | None:
        """Add the credentials that the server is known to require.

        Returns the nonce of Digest, "" for Basic, and ``None`` if nothing is added.
        """
        with self._lock:
            if self._given is None:
                return None
            next(self._given.auth_flow(request))
            return self._nonce

    def _answer(
        self, request: httpx2.Request, refused: httpx2.Response, sent: str | None
    ) -> str | None:
        """Add the credentials that ``refused`` requires; ``sent`` is a result of :meth:`_sign`."""
        texts = refused.headers.get_list("WWW-Authenticate")
        challenges = [challenge for text in texts for challenge in _challenges(text)]
        with self._lock:  # threads may share a nonce, whose uses are counted together
            for scheme, text in challenges:
                nonce = _nonce(text)
                if scheme == "digest" and nonce and self._way != "basic":
                    if nonce == self._nonce:
                        # The same nonce again: a wrong password. Else another thread got it.
                        return None if nonce == sent else self._sign(request)
                    if self._take_digest(text, nonce, request):
                        return nonce
            if self._way != "digest" and sent is None and "basic" in dict(challenges):
                self._given = self._basic()
                return self._sign(request)
            return None

    def _basic(self) -> httpx2.BasicAuth:
        return httpx2.BasicAuth(self._user or "", self._password or "")

    def _take_digest(self, challenge: str, nonce: str, request: httpx2.Request) -> bool:
        """Answer a Digest ``challenge``, and keep it for later requests; false if unsupported."""
        assert self._user is not None
        assert self._password is not None
        if re.search(r'["\\]', self._user):  # httpx2 does not escape these characters
            return False
        digest = httpx2.DigestAuth(self._user, self._password)
        headers = [(b"WWW-Authenticate", challenge.encode())]
        flow = digest.auth_flow(request)
        next(flow)
        try:
            flow.send(httpx2.Response(401, headers=headers, request=request))
        except (httpx2.ProtocolError, NotImplementedError, ValueError):
            return False  # an unknown algorithm or qop
        self._given, self._nonce = digest, nonce
        return True


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


def _nonce(challenge: str) -> str:
    match = _NONCE.search(challenge)
    return match[1].strip('"') if match else ""
