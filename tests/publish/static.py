# SPDX-License-Identifier: Apache-2.0
"""A plain file server as hosts of static sites are: files, folders with an index, media types."""

from __future__ import annotations

import contextlib
from functools import partial
from http.server import SimpleHTTPRequestHandler
from typing import ClassVar

from tests.servers.handled import handled

MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css",
    ".js": "text/javascript",
    ".txt": "text/plain; charset=utf-8",
    ".ttl": "text/turtle",
    ".nt": "application/n-triples",
    ".jsonld": "application/ld+json",
    ".json": "application/json",
    ".xml": "application/xml",
    ".rq": "application/sparql-query",
    ".svg": "image/svg+xml",
    ".zst": "application/zstd",
    ".gz": "application/gzip",
    ".zip": "application/zip",
}


class _Handler(SimpleHTTPRequestHandler):
    extensions_map: ClassVar = {"": "text/plain; charset=utf-8", **MEDIA}

    def list_directory(self, path):  # noqa: ARG002 - as the class has it
        """Most hosts show no folders: one without an index is not there."""
        self.send_error(404)

    def log_message(self, *_):
        """Nothing: the tests say what goes wrong."""


@contextlib.contextmanager
def serving(folder):
    """The folder, served; gives the address of its root."""
    with handled(partial(_Handler, directory=str(folder))) as address:
        yield f"{address}/"
