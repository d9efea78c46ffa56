# SPDX-License-Identifier: Apache-2.0
"""Headers of all responses: CORS, content security policy, and other security headers."""

from __future__ import annotations

from collections.abc import Mapping

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
