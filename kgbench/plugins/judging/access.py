# SPDX-License-Identifier: Apache-2.0
"""Access to the review server: a link with a key, cookies, and protection against CSRF.

All reviewers share the key of the link. A pseudonym belongs to the cookie that chose it, or to the
holder of its personal link; both are signed with a secret that stays in the server, because the key
must not suffice to become another reviewer. A request that writes must come from a page of this
server: its Origin is checked, its cookie is SameSite=Strict, and its form has a token that only
pages of the session have.
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

from kgbench.api import PageRefused
from kgbench.record.reviews import PSEUDONYM
from kgbench.serve.settings import require_own_page

_DIGITS = 32  # of signatures
_LONGEST = 200_000.0  # seconds; longer times of an open page are not recorded
_DAYS = 30


@dataclass(frozen=True, slots=True)
class Visitor:
    """A reviewer with a pseudonym (``None`` before it is chosen) and a token for forms."""

    name: str | None
    token: str


class Access:
    """Signs and verifies personal links, cookies and forms; ``key`` is the key of the link.

    ``public`` is the URL of the root as clients reach it behind a proxy. Reviewers keep their
    pseudonyms as long as ``secret`` is the same (``None``: until the server ends).
    """

    def __init__(self, key: str, public: str | None = None, secret: str | None = None) -> None:
        self.key = key
        self._secret = (secret or new_key()).encode()
        self._session = new_key()
        self._public = public
        self._address = urlsplit(public or "")
        # Cookies are shared by all ports of a host.
        self._cookie = f"kgbench-review-{self._signed('cookie')[:8]}"

    def has_key(self, sent: str) -> bool:
        """Return whether a link has the key."""
        return hmac.compare_digest(sent.encode(), self.key.encode())

    def visitor(self, request: Request) -> Visitor:
        """Return the visitor by the cookie; raise 403 without a valid cookie of this server."""
        name, owner, link = self._parts(request)
        mine = (self._signed("owner", name), self._signed("choice", name, self._session))
        if not (_same(link, self._signed("link", self.key, name)) and _same(owner, *mine)):
            raise PageRefused(403, "open the link that `kgbench review` printed at its start")
        return Visitor(name or None, self._signed("form", name, owner))

    def owned_name(self, request: Request) -> str:
        """Return the pseudonym that the cookie, or the personal link, of a request owns, or ''.

        Cookies remain valid for this after the key of the link has changed. Raises 403 for an
        invalid personal link.
        """
        personal = request.query_params.get("me")
        if personal is None:
            name, owner, _ = self._parts(request)
            return name if _same(owner, self._signed("owner", name)) else ""
        name, _, owner = personal.partition(".")
        if not _same(owner, self._signed("owner", name)):
            raise PageRefused(403, "the personal link is not valid here")
        return name

    def personal_link(self, name: str) -> str:
        """Return the query of the URL by which the owner of a pseudonym returns with any browser.

        Only a pseudonym with verdicts has an owner.
        """
        return f"?key={self.key}&me={name}.{self._signed('owner', name)}"

    def admit(self, response: Response, name: str = "", *, chosen: bool = False) -> None:
        """Set the cookie of a client that owns the pseudonym ``name``, or has none ('').

        If it has just ``chosen`` it, without any verdict, the cookie is valid until the server
        ends, as the pseudonym is then free again.
        """
        kind = ("choice", name, self._session) if chosen else ("owner", name)
        response.set_cookie(
            self._cookie,
            f"{name}.{self._signed(*kind)}.{self._signed('link', self.key, name)}",
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
            raise PageRefused(403, "this form is from another session: reload the page")

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

    def _parts(self, request: Request) -> tuple[str, str, str]:
        """Return pseudonym, proof of ownership and proof of the link in a cookie, or blanks."""
        name, _, rest = request.cookies.get(self._cookie, "").partition(".")
        owner, _, link = rest.partition(".")
        return (name, owner, link) if not name or PSEUDONYM.fullmatch(name) else ("", "", "")

    def _signed(self, *parts: str) -> str:
        message = "\0".join(parts).encode()
        return hmac.new(self._secret, message, hashlib.sha256).hexdigest()[:_DIGITS]


def _same(sent: str, *expected: str) -> bool:
    return any(hmac.compare_digest(sent.encode(), known.encode()) for known in expected)


def new_key() -> str:
    """Return a new random key."""
    return secrets.token_urlsafe(18)
