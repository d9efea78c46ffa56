# SPDX-License-Identifier: Apache-2.0
"""Feedback is written for an author of documents: no message of a Python exception is in it."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgbench.execution.engines import engine
from kgbench.families.frame import Unreadable
from kgbench.families.json_ld import json_object
from kgbench.scoring import json_ld
from kgbench.tasks import catalogue
from kgbench.validation.checking import ForeignShapes
from tests.support.families import cases

SHAPES = (
    "@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix w: <https://w3id.org/kgbench/world/> . "
    "[] a sh:NodeShape ; sh:targetClass w:Person ; {} ."
)


def test_deep_json():
    """JSON that is nested too deeply is named, without the interpreter's limit."""
    with pytest.raises(Unreadable, match=r"^this is no JSON: it is nested too deeply$"):
        json_object("[" * 200_000)


@pytest.mark.parametrize("error", [KeyError("x"), TypeError("unhashable type: 'list'")])
def test_errors_of_the_json_ld_processor(error):
    """An unforeseen error of the processor is a sentence about the document."""

    def fail():
        raise error

    with pytest.raises(json_ld.IllFormedJsonLd, match="a keyword has a value") as raised:
        json_ld._process(fail)
    assert str(error) not in str(raised.value)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("sh:pattern 'a' ; sh:flags 'k'", "there is no flag k"),
        ("sh:sparql [ sh:select 'SELECT $this { ?s' ]", "not SPARQL: line 1, column 18"),
        ("sh:sparql [ sh:select 'SELECT $this { SERVICE <urn:a> {} }' ]", "never executed"),
    ],
)
def test_messages_about_shapes(said, words):
    """Flags and queries in shapes are named in the words that other texts get."""
    (case,) = cases("Text2ShaclWorld-natural-1", 1)
    module = catalogue.module("Text2ShaclWorld")
    answer = f"```turtle\n{SHAPES.format(said)}\n```"
    verdict = module.judge(case, [answer], engine("oxigraph"))

    assert words in verdict.infos["shapesError"]
    assert words in verdict.next_prompt


def test_literal_patterns():
    """The flag q makes a pattern the text itself."""
    text = SHAPES.replace("sh:targetClass w:Person", "sh:targetNode 'a.b', 'axb'").format(
        "sh:pattern 'a.b' ; sh:flags 'q'"
    )
    triples = [quad.triple for quad in ox.parse(text, ox.RdfFormat.TURTLE)]

    assert [one.focus for one in ForeignShapes(triples).findings([])] == ['"axb"']
