# SPDX-License-Identifier: Apache-2.0
"""Which methods a path knows, and which formats and conditions it answers to."""

from __future__ import annotations

import pytest

METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH")
PATHS = (
    *("/sparql", "/sparql/", "/store?graph=urn:nowhere", "/graph/nowhere", "/search", "/editor"),
    *("/health", "/.well-known/void", "/static/style.css", "/static/none.js"),
)


@pytest.mark.parametrize("server", ["client", "writable"])
@pytest.mark.parametrize("path", PATHS)
def test_options_name_what_can_be_done(server, path, request):
    """A method is named for a path, to this origin and to others, if and only if it is let in."""
    asked = request.getfixturevalue(server)
    told = asked.options(path, headers={"Origin": "http://example.org"})
    named = told.headers["allow"]
    refused = {
        method for method in METHODS if asked.request(method, path).status_code in (403, 405)
    }

    assert told.status_code == 204
    assert told.headers["access-control-allow-methods"] == named
    assert {*METHODS, "OPTIONS"} - refused == set(named.split(", "))


def test_refused_methods_are_told_from_others(client, writable):
    """A method that nothing knows gets 405, which names those that this server takes."""
    for asked, methods in (
        (client, "GET, HEAD, OPTIONS"),
        (writable, "GET, HEAD, PUT, POST, DELETE, OPTIONS"),
    ):
        for path in ("/store", "/graph/nowhere"):
            response = asked.request("PATCH", path)
            assert response.status_code == 405
            assert response.headers["allow"] == methods
