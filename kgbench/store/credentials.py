# SPDX-License-Identifier: Apache-2.0
"""Who we are to a server: basic, digest or bearer, from the environment only.

A bearer token (``KGBENCH_STORE_TOKEN``) goes with every request. A user and password
(``KGBENCH_STORE_USER``, ``KGBENCH_STORE_PASSWORD``) are kept back until the server asks for them,
and given in the way it asks: as a digest where it can (RFC 7616), else plainly.
``KGBENCH_STORE_AUTH=basic`` gives them at once, ``=digest`` never plainly. No location, message or
store ever holds them.
"""

from __future__ import annotations

import base64
import os
import re
import threading
from collections.abc import Generator, Mapping

import httpx2

from kgbench.errors import StoreError

USER, PASSWORD = "KGBENCH_STORE_USER", "KGBENCH_STORE_PASSWORD"
TOKEN, WAY = "KGBENCH_STORE_TOKEN", "KGBENCH_STORE_AUTH"
_ANSWERS = 2  # challenges that are answered; the nonce of the first may be used up by other threads
_FIELD = re.compile(  # up to a comma that is not quoted
    r'(?:[^",]|"(?:[^"\\]|\\.)*"?)+', re.DOTALL
)
_NONCE = re.compile(r'\bnonce\s*=\s*("(?:[^"\\]|\\.)*"|[^\s,"]+)', re.IGNORECASE)


class Credentials(httpx2.Auth):
    """Makes the ``Authorization`` of requests to one server; may be used by several threads.

    httpx2 makes the headers; when they are given, and which, is decided here.
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
        if any(re.search(r"[\x00-\x1f\x7f]", given) for given in (user, password, token) if given):
            raise StoreError(f"{USER}, {PASSWORD} and {TOKEN} may hold no control characters")
        self._user, self._password, self._token = user, password, token
        self._way = way
        self._given: httpx2.Auth | None = self._basic() if way == "basic" else None
        self._nonce = ""  # of the digest that is given, if it is one
        self._lock = threading.RLock()  # a digest counts the uses of its nonce

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Credentials:
        """What the environment says; nothing at all is allowed, too."""
        given = os.environ if environment is None else environment
        return cls(*(given.get(name) or None for name in (USER, PASSWORD, TOKEN, WAY)))

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no message may show."""
        pair = base64.b64encode(f"{self._user}:{self._password}".encode()).decode("ascii")
        return tuple(one for one in (self._user and pair, self._password, self._token) if one)

    def sync_auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        """Send ``request``, and again with what the server asks for, where that can help."""
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
        """Add what the server is known to ask for: the nonce of a digest, "" of a plain password.

        ``None`` where nothing is added.
        """
        with self._lock:
            if self._given is None:
                return None
            next(self._given.auth_flow(request))
            return self._nonce

    def _answer(
        self, request: httpx2.Request, refused: httpx2.Response, sent: str | None
    ) -> str | None:
        """Add what ``refused`` asks for; ``sent`` and the result are as of :meth:`_sign`."""
        texts = refused.headers.get_list("WWW-Authenticate")
        challenges = [one for text in texts for one in _challenges(text)]
        with self._lock:  # two threads may be given one nonce: its uses are counted together
            for scheme, text in challenges:
                nonce = _nonce(text)
                if scheme == "digest" and nonce and self._way != "basic":
                    if nonce == self._nonce:
                        # The refused nonce once more: a wrong password. Else another thread has it.
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
        """Answer ``challenge``, and give its digest from now on, where httpx2 knows how."""
        assert self._user is not None
        assert self._password is not None
        if re.search(r'["\\]', self._user):  # httpx2 would not escape it
            return False
        digest = httpx2.DigestAuth(self._user, self._password)
        headers = [(b"WWW-Authenticate", challenge.encode())]
        flow = digest.auth_flow(request)
        next(flow)
        try:
            flow.send(httpx2.Response(401, headers=headers, request=request))
        except (httpx2.ProtocolError, NotImplementedError, ValueError):
            return False  # an algorithm or a quality of protection that is not known
        self._given, self._nonce = digest, nonce
        return True


def _challenges(text: str) -> list[tuple[str, str]]:
    """The challenges in one ``WWW-Authenticate``: schemes in lower case, each with its text."""
    found: list[tuple[str, list[str]]] = []
    for field in map(str.strip, _FIELD.findall(text)):
        name, _, rest = field.partition(" ")
        if "=" not in name and not rest.lstrip().startswith("="):
            found.append((name.lower(), [field]))
        elif found:
            found[-1][1].append(field)
    return [(scheme, ", ".join(fields)) for scheme, fields in found]


def _nonce(challenge: str) -> str:
    given = _NONCE.search(challenge)
    return given[1].strip('"') if given else ""
