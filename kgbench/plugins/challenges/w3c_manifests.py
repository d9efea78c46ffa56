# SPDX-License-Identifier: Apache-2.0
"""Manifests of the W3C tests of RDF 1.2 and SPARQL 1.2, in a copy of ``w3c/rdf-tests``.

The tests are under the W3C Test Suite Licence and the W3C 3-clause BSD licence; kgbench does not
contain them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pyoxigraph as ox

from kgbench.errors import ImportRefused
from kgbench.vocab import RDF

_PARTS = ("rdf/rdf12", "sparql/sparql12")
_MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
_QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
_UT = "http://www.w3.org/2009/sparql/tests/test-update#"
_Subject: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Triple
_Term: TypeAlias = _Subject | ox.Literal
_TYPE = ox.NamedNode(RDF.type)


class Entry(NamedTuple):
    """A test: its folder and name, its kind, its base IRI, and its files.

    ``action`` is the document, the query or the update; ``data`` and ``result`` may be missing.
    """

    name: str
    kind: str
    base: str
    action: Path
    data: Path | None
    result: Path | None


def entries(root: Path) -> list[Entry]:
    """Return all tests below ``rdf/rdf12`` and ``sparql/sparql12`` of a copy, sorted by name.

    Raises :class:`~kgbench.errors.ImportRefused` if a manifest cannot be read.
    """
    result: list[Entry] = []
    for path in manifests(root):
        try:
            result += _entries_of(path, path.parent.relative_to(root).as_posix())
        except (OSError, SyntaxError, ValueError) as error:
            raise ImportRefused(f"the manifest {path} cannot be read: {error}") from error
    return sorted(result)


def manifests(root: Path) -> list[Path]:
    """Return the manifests of a copy, in a fixed order."""
    return [path for part in _PARTS for path in sorted((root / part).rglob("manifest.ttl"))]


def _entries_of(path: Path, folder: str) -> Iterator[Entry]:
    here = path.parent.as_uri() + "/"
    public = f"https://w3c.github.io/rdf-tests/{folder}/"
    store = ox.Store()
    store.load(path=path, format=ox.RdfFormat.TURTLE, base_iri=f"{here}manifest.ttl")

    def value(node: _Subject | None, iri: str) -> _Term | None:
        if node is None:
            return None
        quads = list(store.quads_for_pattern(node, ox.NamedNode(iri), None))
        return quads[0].object if len(quads) == 1 else None

    def file(node: _Term | None) -> Path | None:
        if not isinstance(node, ox.NamedNode):
            return None
        return path.parent / node.value.removeprefix(here)

    for quad in store.quads_for_pattern(None, ox.NamedNode(f"{_MF}action"), None):
        kind, result = value(quad.subject, _TYPE.value), value(quad.subject, f"{_MF}result")
        action, data = file(quad.object), None
        if isinstance(quad.object, ox.BlankNode):
            action_node = quad.object
            action = file(value(action_node, f"{_QT}query") or value(action_node, f"{_UT}request"))
            data = file(value(action_node, f"{_QT}data") or value(action_node, f"{_UT}data"))
        if isinstance(result, ox.BlankNode):
            result = value(result, f"{_UT}data")
        if action is None or not isinstance(kind, ox.NamedNode):
            continue  # without a file it is not a test of a parser or an engine
        name = str(quad.subject).rstrip(">").rpartition("#")[2]
        yield Entry(
            f"{folder.partition('/')[2]}/{name}",
            kind.value.rpartition("#")[2],
            f"{public}{action.name}",
            action,
            data,
            file(result),
        )
