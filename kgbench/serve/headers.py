# SPDX-License-Identifier: Apache-2.0
"""The headers that every answer has: other origins may ask, and pages run nothing foreign."""

from __future__ import annotations

CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "ETag, Link, Content-Location, Retry-After",
}
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
ALWAYS = [(k.lower().encode(), v.encode()) for k, v in {**CORS, **SAFE}.items()]
