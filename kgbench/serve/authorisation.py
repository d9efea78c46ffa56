# SPDX-License-Identifier: Apache-2.0
"""Authorises writes by the bearer token given at start."""

from __future__ import annotations

import hmac

from starlette.requests import Request

from kgbench.serve.refusals import Refused
from kgbench.serve.settings import Settings


def require_permission(settings: Settings, request: Request) -> None:
    """Raise :class:`Refused` (403 or 401) unless the request may write."""
    if settings.token is None:
        raise Refused(403, "this server is read-only")
    if not may_write(settings, request):
        raise Refused(
            401,
            "writing needs this server's token, as 'Authorization: Bearer TOKEN'",
            {"WWW-Authenticate": 'Bearer realm="kgbench"'},
        )


def may_write(settings: Settings, request: Request) -> bool:
    """Return whether the server has a token and the request carries it."""
    if settings.token is None:
        return False
    scheme, _, sent = request.headers.get("authorization", "").partition(" ")
    expected = settings.token.encode("utf-8")
    return scheme.lower() == "bearer" and hmac.compare_digest(sent.strip().encode(), expected)
