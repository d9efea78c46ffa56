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
import hashlib
import os
import re
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from kgbench.errors import StoreError

USER, PASSWORD = "KGBENCH_STORE_USER", "KGBENCH_STORE_PASSWORD"
TOKEN, WAY = "KGBENCH_STORE_TOKEN", "KGBENCH_STORE_AUTH"
_HASHES = {"MD5": hashlib.md5, "SHA-256": hashlib.sha256}
_NAME = r"[\s,]*([A-Za-z0-9!#$%&'*+.^_`|~-]+)"
_SCHEME = re.compile(_NAME + r"(?=[\s,]|$)(?!\s*=)")
_PARAMETER = re.compile(_NAME + r'\s*=\s*("(?:[^"\\]|\\.)*"|[^\s,"]+)')


@dataclass(slots=True)
class _Challenge:
    realm: str
    nonce: str
    opaque: str | None
    algorithm: str
    qop: str | None
    count: int = 0


class Credentials:
    """Makes the ``Authorization`` of requests to one server; may be used by several threads."""

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
        self._plainly = way == "basic"
        self._challenge: _Challenge | None = None
        self._lock = threading.Lock()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Credentials:
        """What the environment says; nothing at all is allowed, too."""
        given = os.environ if environment is None else environment
        return cls(*(given.get(name) or None for name in (USER, PASSWORD, TOKEN, WAY)))

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no message may show."""
        pair = None if self._user is None else self._pair()
        return tuple(one for one in (pair, self._password, self._token) if one)

    def header(self, method: str, url: str) -> str | None:
        """The ``Authorization`` of a request, or ``None`` while the server has not asked."""
        if self._token is not None:
            return f"Bearer {self._token}"
        if self._user is None:
            return None
        with self._lock:
            if self._challenge is not None:
                return self._digest(self._challenge, method, url)
        if self._plainly:
            return f"Basic {self._pair()}"
        return None

    def _pair(self) -> str:
        return base64.b64encode(f"{self._user}:{self._password}".encode()).decode("ascii")

    def asked(self, challenges: list[str], sent: str | None) -> bool:
        """Take note of ``WWW-Authenticate``; whether asking again, with more, can help.

        ``sent`` is the ``Authorization`` that the refused request had, if any.
        """
        if self._user is None:
            return False
        found = [one for text in challenges for one in _challenges(text)]
        usable = (_usable(fields) for scheme, fields in found if scheme == "digest")
        new = next((one for one in usable if one is not None), None)
        if new is not None and self._way != "basic":
            with self._lock:  # another thread may have been given the same one, and counts its uses
                if self._challenge is None or self._challenge.nonce != new.nonce:
                    self._challenge = new
            # The nonce that was refused, once more, is a wrong password; another one has expired.
            return sent is None or f', nonce="{_quoted(new.nonce)}"' not in sent
        offered = any(scheme == "basic" for scheme, _ in found)
        if offered and self._way != "digest" and sent is None:
            self._plainly = True
            return True
        return False

    def _digest(self, challenge: _Challenge, method: str, url: str) -> str:
        """RFC 7616, section 3.4; the same nonce serves many requests, counted."""
        challenge.count += 1
        count, ours = f"{challenge.count:08x}", secrets.token_hex(8)
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        hashed = _HASHES[challenge.algorithm.removesuffix("-SESS")]

        def h(text: str) -> str:
            return hashed(text.encode("utf-8")).hexdigest()

        first = h(f"{self._user}:{challenge.realm}:{self._password}")
        if challenge.algorithm.endswith("-SESS"):
            first = h(f"{first}:{challenge.nonce}:{ours}")
        second = h(f"{method}:{target}")
        middle = f"{challenge.nonce}:{count}:{ours}:auth" if challenge.qop else challenge.nonce
        response = h(f"{first}:{middle}:{second}")
        fields = {
            "username": self._user or "",
            "realm": challenge.realm,
            "nonce": challenge.nonce,
            "uri": target,
            "response": response,
        }
        if challenge.opaque is not None:
            fields["opaque"] = challenge.opaque
        if challenge.qop or challenge.algorithm.endswith("-SESS"):
            fields["cnonce"] = ours
        text = ", ".join(f'{key}="{_quoted(value)}"' for key, value in fields.items())
        text += f", algorithm={_spelt(challenge.algorithm)}"
        return f"Digest {text}" + (f", qop=auth, nc={count}" if challenge.qop else "")


def _usable(digest: Mapping[str, str]) -> _Challenge | None:
    """The challenge, where its algorithm and quality of protection are known here."""
    algorithm = digest.get("algorithm", "MD5").upper()
    offered = [one.strip().lower() for one in digest.get("qop", "").split(",") if one.strip()]
    if algorithm.removesuffix("-SESS") not in _HASHES or (offered and "auth" not in offered):
        return None
    return _Challenge(
        realm=digest.get("realm", ""),
        nonce=digest.get("nonce", ""),
        opaque=digest.get("opaque"),
        algorithm=algorithm,
        qop="auth" if offered else None,
    )


def _challenges(text: str) -> list[tuple[str, dict[str, str]]]:
    """The challenges in one ``WWW-Authenticate``: schemes in lower case, with their parameters."""
    found: list[tuple[str, dict[str, str]]] = []
    place = 0
    while place < len(text):
        parameter = _PARAMETER.match(text, place)
        scheme = _SCHEME.match(text, place)
        if parameter and found:
            value = parameter[2]
            plain = re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
            found[-1][1][parameter[1].lower()] = plain
            place = parameter.end()
        elif scheme:
            found.append((scheme[1].lower(), {}))
            place = scheme.end()
        else:
            break
    return found


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _spelt(algorithm: str) -> str:
    return algorithm.replace("-SESS", "-sess")
