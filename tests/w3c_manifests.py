# SPDX-License-Identifier: Apache-2.0
"""The W3C tests of RDF 1.2 and SPARQL 1.2, read from the manifests of a copy of ``w3c/rdf-tests``.

The tests are under the W3C Test Suite Licence and the W3C 3-clause BSD licence; no copy of them
travels with kgbench.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyoxigraph as ox

_MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
_QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
_UT = "http://www.w3.org/2009/sparql/tests/test-update#"
_TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")


class Entry(NamedTuple):
    """A test: its folder and name, its kind, and the files that it needs; ``base`` is for IRIs.

    ``action`` is the document, the query or the update; ``data`` and ``result`` may be missing.
    """

    name: str
    kind: str
    base: str
    action: Path
    data: Path | None
    result: Path | None


def entries(root: Path) -> list[Entry]:
    """All tests below the folders ``rdf/rdf12`` and ``sparql/sparql12`` of a copy, by name."""
    found: list[Entry] = []
    for part in ("rdf/rdf12", "sparql/sparql12"):
        for path in sorted((root / part).rglob("manifest.ttl")):
            found += _of(path, path.parent.relative_to(root).as_posix())
    return sorted(found)


def _of(path: Path, folder: str) -> Iterator[Entry]:
    here = path.parent.as_uri() + "/"
    public = f"https://w3c.github.io/rdf-tests/{folder}/"
    store = ox.Store()
    store.load(path=path, format=ox.RdfFormat.TURTLE, base_iri=f"{here}manifest.ttl")

    def value(node: object, iri: str) -> object:
        quads = list(store.quads_for_pattern(node, ox.NamedNode(iri), None))
        return quads[0].object if len(quads) == 1 else None

    def file(node: object) -> Path | None:
        if not isinstance(node, ox.NamedNode):
            return None
        return path.parent / node.value.removeprefix(here)

    for quad in store.quads_for_pattern(None, ox.NamedNode(f"{_MF}action"), None):
        kind = value(quad.subject, _TYPE.value)
        action, data = file(quad.object), None
        if action is None:
            action = file(value(quad.object, f"{_QT}query") or value(quad.object, f"{_UT}request"))
            data = value(quad.object, f"{_QT}data") or value(quad.object, f"{_UT}data")
        result = value(quad.subject, f"{_MF}result")
        if isinstance(result, ox.BlankNode):
            result = value(result, f"{_UT}data")
        name = quad.subject.value.rpartition("#")[2]
        if action is None:
            continue  # nothing of it is a file: no test of a parser or an engine
        yield Entry(
            f"{folder.partition('/')[2]}/{name}",
            kind.value.rpartition("#")[2],
            f"{public}{action.name}",
            action,
            file(data),
            file(result),
        )
