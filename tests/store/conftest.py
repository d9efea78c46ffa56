# SPDX-License-Identifier: Apache-2.0
"""Stores of every back end, empty, by their locations."""

from __future__ import annotations

import pytest

from tests.store.servers import Oxigraph, empty, virtuoso

BACK_ENDS = ("embedded", "remote")


@pytest.fixture(scope="session")
def oxigraph(tmp_path_factory):
    """One Oxigraph server for all tests of a process."""
    with Oxigraph(tmp_path_factory.mktemp("oxigraph")) as server:
        yield server


@pytest.fixture
def remote(oxigraph):
    """The location of an empty store on a server."""
    empty(oxigraph.url)
    return oxigraph.url


@pytest.fixture(params=BACK_ENDS)
def any_store(request, tmp_path):
    """The location of an empty store, on each back end in turn."""
    if request.param == "embedded":
        return str(tmp_path / "store")
    return request.getfixturevalue("remote")


@pytest.fixture(scope="session")
def virtuoso_url(tmp_path_factory):
    """One Virtuoso server for all tests of a process; skips where Virtuoso is not installed."""
    with virtuoso(tmp_path_factory.mktemp("virtuoso")) as url:
        if url is None:
            pytest.skip("Virtuoso is not installed (Debian: virtuoso-opensource)")
        yield url
