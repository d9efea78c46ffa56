# SPDX-License-Identifier: Apache-2.0
"""A byte order mark at the beginning of what a user sends or saves is no part of it."""

from __future__ import annotations

import json

import pyoxigraph as ox
import pytest

from kgbench.characters import BOM, after_bom, without_bom
from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.importers.rdf import parsing
from kgbench.plugins.inspect import logs as inspect_logs
from kgbench.rdf import declared
from kgbench.scoring.fences import fenced_blocks
from kgbench.serve import requests
from kgbench.signing import keys as signing_keys
from kgbench.tasks import catalogue, protection, texts
from kgbench.tools import wording
from tests.support.families import cases

TRIPLE = "<urn:a> <urn:b> <urn:c> ."
DOCUMENTS = {
    "N-Triples": TRIPLE,
    "Turtle": f"@prefix e: <urn:> .\n{TRIPLE}",
    "N-Quads": TRIPLE,
    "TriG": f"{{ {TRIPLE} }}",
    "JSON-LD": json.dumps({"@id": "urn:a", "urn:b": {"@id": "urn:c"}}),
    "RDF/XML": '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="urn:">'
    '<r:Description r:about="urn:a"><b r:resource="urn:c"/></r:Description></r:RDF>',
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
    for kind in (requests.QUERY, requests.UPDATE):
        operation = requests.parse_request("POST", b"", kind, f"{BOM}CLEAR ALL".encode())
        assert operation is not None
        assert operation.text == "CLEAR ALL"
    operation = requests.parse_request("GET", b"query=%EF%BB%BFASK{}", None, b"")
    assert operation is not None
    assert operation.text == "ASK{}"
    assert requests.triples("text/turtle", BYTES, "urn:x:") == TRIPLE


def test_declarations():
    """Turtle files that describe things of a user are read."""
    assert [quad.triple for quad in declared.quads(BYTES)] == [
        quad.triple for quad in ox.parse(without_bom(BYTES), ox.RdfFormat.TURTLE)
    ]


def test_blocks_of_answers():
    """A fenced block of an answer begins after the mark; a mark within it stays."""
    (block,) = fenced_blocks(f"{BOM}```turtle\n{BOM}{TRIPLE} # {BOM}\n```")

    assert block.body == f"{TRIPLE} # {BOM}\n"


def test_tool_calls():
    """An answer that is a call of a tool in JSON begins after the mark."""
    call = '{"tool": "search", "arguments": {}}'

    assert wording.calls(BOM + call) == wording.calls(call) != ()


def test_answers():
    """An answer begins after the mark, whatever its task class expects."""
    (case,) = cases("Text2AnswerListOrga-turtle", 1)
    answer = catalogue.module(case.task_class).reference(case)
    requests = [JudgeRequest(case, (text,)) for text in (answer, BOM + answer)]
    plain, marked = judge_batch(requests, JudgeLimits())

    assert plain.scores == marked.scores
    assert set(plain.scores.values()) == {1.0}


def test_keys_logs_and_prompts(tmp_path):
    """Key files, logs of Inspect AI and the prompts of task classes are read."""
    path = tmp_path / "file"
    path.write_text(f"{BOM}# a key\nabc", encoding="utf-8")
    assert protection.read_key_file(path) == "abc"
    path.write_text(f"{BOM}a prompt\n", encoding="utf-8")
    assert texts._read(path) == "a prompt"
    path.write_text(f'{BOM}{{"eval": {{}}}}', encoding="utf-8")
    assert inspect_logs.read(path).samples == ()
    key = signing_keys.SigningKey.new()
    key.keep(tmp_path / "key")
    for name in ("key", "key.pub"):
        (tmp_path / name).write_bytes(BOM.encode() + (tmp_path / name).read_bytes())
    assert signing_keys.public_key(str(tmp_path / "key.pub")) == key.public
    assert signing_keys.SigningKey.read(tmp_path / "key") == key
