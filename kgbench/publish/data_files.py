# SPDX-License-Identifier: Apache-2.0
"""The data of one document as Turtle, N-Triples and JSON-LD."""

from __future__ import annotations

import pyoxigraph as ox

from kgbench.publish import dumps, json_ld
from kgbench.publish.folder import Folder


def write_data(folder: Folder, document_path: str, quads: list[ox.Quad]) -> None:
    """Write the data of one document in all formats."""
    for suffix, content in encoded(quads).items():
        folder.write(f"{document_path}.{suffix}", content)


def encoded(quads: list[ox.Quad]) -> dict[str, bytes]:
    """Return the data of one document in all formats, by suffix."""
    return {
        "ttl": dumps.as_bytes(quads, "ttl"),
        "nt": dumps.as_bytes(quads, "nt"),
        "jsonld": json_ld.document(quads).encode("utf-8", "backslashreplace"),
    }
