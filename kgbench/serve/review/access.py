# SPDX-License-Identifier: Apache-2.0
"""Access to the review server: a link with a key, cookies, and protection against CSRF.

A request that writes must come from a page of this server: its Origin is checked, its cookie is
SameSite=Strict, and its form has a token that only pages of the session have.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from kgbench.record.reviews import PSEUDONYM
from kgbench.serve.authorisation import require_own_page
from kgbench.serve.refusals import Refused

_DIGITS = 32  # of signatures
_LONGEST = 200_000.0  # seconds; longer times of an open page are not recorded
_DAYS = 30


@dataclass(frozen=True, slots=True)
class Visitor:
    """A reviewer with a pseudonym (``None`` before it is chosen) and a token for forms."""

    name: str | None
    token: str


class Access:
    """Signs and verifies links, cookies and forms with ``key``.

    ``public`` is the URL of the root as clients reach it behind a proxy.
    """

    def __init__(self, key: str, public: str | None = None) -> None:
        self.key = key
        self._secret = hashlib.sha256(b"kgbench review " + key.encode()).digest()
        self._public = public
        self._address = urlsplit(public or "")
        # Cookies are shared by all ports of a host.
        self._cookie = f"kgbench-review-{self._signed('cookie')[:8]}"

    def has_key(self, sent: str) -> bool:
        """Return whether a link has the key."""
        return hmac.compare_digest(sent.encode(), self.key.encode())

    def visitor(self, request: Request) -> Visitor:
        """Return the visitor by the cookie; raise 403 without a valid cookie of this server."""
        sent = request.cookies.get(self._cookie, "")
        name, _, signature = sent.partition(".")
        valid = hmac.compare_digest(signature.encode(), self._signed("visitor", name).encode())
        if not valid or (name and not PSEUDONYM.fullmatch(name)):
            raise Refused(403, "open the link that `kgbench serve --review` printed at its start")
        return Visitor(name or None, self._signed("form", name))

    def admit(self, response: Response, name: str = "") -> None:
        """Set the cookie of a client, with the pseudonym ``name`` if it is chosen."""
        response.set_cookie(
            self._cookie,
            f"{name}.{self._signed('visitor', name)}",
            max_age=_DAYS * 86_400,
            path=self.root,
            secure=self._address.scheme == "https",
            httponly=True,
            samesite="strict",
        )

    def check(self, request: Request, visitor: Visitor, token: str) -> None:
        """Raise 403 unless a form was sent by a page of this server in the same session."""
        require_own_page(request, self._public, form=True)
        if not hmac.compare_digest(token.encode(), visitor.token.encode()):
            raise Refused(403, "this form is from another session: reload the page")

    @property
    def root(self) -> str:
        """The path of the root as clients see it, ending with ``/``."""
        return f"{self._address.path.rstrip('/')}/"

    def shown_now(self, visitor: Visitor, item: str) -> str:
        """Return the current time, signed for a form about an item."""
        now = f"{time.time():.3f}"
        return f"{now}.{self._signed('shown', visitor.name or '', item, now)}"

    def seconds_since(self, visitor: Visitor, item: str, signed_time: str) -> float | None:
        """Return the age of a form in seconds; ``None`` if it is unsigned or too old."""
        then, _, signature = signed_time.rpartition(".")
        expected = self._signed("shown", visitor.name or "", item, then)
        if not hmac.compare_digest(signature.encode(), expected.encode()):
            return None
        passed = time.time() - float(then)
        return round(passed, 3) if 0 <= passed <= _LONGEST else None

    def _signed(self, *parts: str) -> str:
        message = "\0".join(parts).encode()
        return hmac.new(self._secret, message, hashlib.sha256).hexdigest()[:_DIGITS]


def new_key() -> str:
    """Return a new random key."""
    return secrets.token_urlsafe(18)
