# SPDX-License-Identifier: Apache-2.0
"""The headers that every answer has: which origins may read it, and pages run nothing foreign."""

from __future__ import annotations

from collections.abc import Mapping

PREFLIGHT = {
    "Access-Control-Allow-Headers": "Accept, Authorization, Content-Type, If-None-Match",
    "Access-Control-Max-Age": "86400",
}
READING = "GET, HEAD, OPTIONS"  # the methods of all that cannot be written to
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
#: For the page with YASGUI: the one style sheet that the table of its release 4.6.2 makes itself.
WITH_YASGUI = {
    POLICY: _POLICY.format(styles=" 'sha256-zCK2EVMoPc04mRF/g5CotUvxbJPWS+8V0b+s9ptqQIk='")
}


def sharing(origin: str | None) -> Mapping[str, str]:
    """The headers that let pages of an ``origin`` (``*``: all) read answers; ``None`` lets none."""
    if origin is None:
        return {"Cross-Origin-Resource-Policy": "same-origin"}
    return {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Expose-Headers": "ETag, Link, Content-Location, Retry-After",
    }


def always(origin: str | None) -> list[tuple[bytes, bytes]]:
    """The headers of every answer, in lower case, as the server's protocol wants them."""
    found = {**sharing(origin), **SAFE}
    return [(name.lower().encode("ascii"), value.encode("ascii")) for name, value in found.items()]
