# SPDX-License-Identifier: Apache-2.0
"""A byte order mark at the beginning of what a user sends or saves is no part of it."""

from __future__ import annotations

import json

import pyoxigraph as ox
import pytest

from kgbench.characters import BOM, after_bom, without_bom
from kgbench.importers.rdf import parsing
from kgbench.rdf import declared
from kgbench.scoring.fences import fenced_blocks
from kgbench.serve import protocol, request_parsing
from kgbench.store.back_ends import find

TRIPLE = "<urn:a> <urn:b> <urn:c> ."
DOCUMENTS = {
    "N-Triples": TRIPLE,
    "Turtle": f"@prefix e: <urn:> .\n{TRIPLE}",
    "N-Quads": TRIPLE,
    "TriG": f"{{ {TRIPLE} }}",
    "JSON-LD": json.dumps({"@id": "urn:a", "urn:b": {"@id": "urn:c"}}),
}
BYTES = f"{BOM}{TRIPLE}".encode()


@pytest.mark.parametrize("syntax", DOCUMENTS)
def test_imported_documents(tmp_path, syntax):
    """Documents in every syntax are imported."""
    path = tmp_path / "document"
    path.write_text(BOM + DOCUMENTS[syntax], encoding="utf-8")

    assert parsing.parse(str(tmp_path / "database"), syntax, path) == ""
    with path.open("rb") as file:
        assert after_bom(file).read().decode() == DOCUMENTS[syntax]


def test_requests():
    """Queries, updates and graphs are read from requests."""
    for kind in (protocol.QUERY, protocol.UPDATE):
        operation = protocol.parse_request("POST", b"", kind, f"{BOM}CLEAR ALL".encode())
        assert operation is not None
        assert operation.text == "CLEAR ALL"
    operation = protocol.parse_request("GET", b"query=%EF%BB%BFASK{}", None, b"")
    assert operation is not None
    assert operation.text == "ASK{}"
    assert request_parsing.triples("text/turtle", BYTES, "urn:x:") == TRIPLE


def test_declarations(tmp_path):
    """Turtle files that describe things of a user are read."""
    assert [quad.triple for quad in declared.quads(BYTES)] == [
        quad.triple for quad in ox.parse(without_bom(BYTES), ox.RdfFormat.TURTLE)
    ]
    path = tmp_path / "server.ttl"
    path.write_text(
        f"{BOM}@prefix kgb: <https://w3id.org/kgbench/ns#> .\n"
        "<#s> a kgb:BackEnd ; kgb:queryEndpoint <http://localhost:1/query> ; "
        "kgb:updateEndpoint <http://localhost:1/update> .",
        encoding="utf-8",
    )
    assert find(str(path)).query == "http://localhost:1/query"


def test_blocks_of_answers():
    """A fenced block of an answer begins after the mark; a mark within it stays."""
    (block,) = fenced_blocks(f"{BOM}```turtle\n{BOM}{TRIPLE} # {BOM}\n```")

    assert block.body == f"{TRIPLE} # {BOM}\n"
