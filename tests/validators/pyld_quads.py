# SPDX-License-Identifier: Apache-2.0
"""``python pyld_quads.py JSON-LD N-QUADS``: converts a document with PyLD, without a network."""

import json
import sys
from pathlib import Path

from pyld import jsonld


def refuse(url: str, _options: object) -> None:
    """Refuse to load a context, because documents contain their contexts."""
    raise ValueError(f"refers to {url}")


document = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
settings = {"format": "application/n-quads", "documentLoader": refuse}
Path(sys.argv[2]).write_text(jsonld.to_rdf(document, settings), encoding="utf-8")
