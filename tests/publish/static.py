# SPDX-License-Identifier: Apache-2.0
"""A plain file server, like static hosts: files, folders with an index, media types."""

from __future__ import annotations

import contextlib
from functools import partial
from http.server import SimpleHTTPRequestHandler
from typing import ClassVar

from tests.support.servers.handled import Handled

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

    def list_directory(self, path):  # noqa: ARG002 - signature of the base class
        """Answer 404: most hosts list no folders."""
        self.send_error(404)

    def log_message(self, *_):
        """Log nothing."""


@contextlib.contextmanager
def serving(folder):
    """Serve the folder and yield the address of its root."""
    with Handled(partial(_Handler, directory=str(folder))) as server:
        yield f"{server.url}/"
