# SPDX-License-Identifier: Apache-2.0
"""Server descriptions and leases conform to their shapes; mutants are refused."""

from __future__ import annotations

import re
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgbench import resources
from kgbench.store import Iris, open_store
from kgbench.vocab import BASE
from tests.support.validation import report

PAGE = (Path(__file__).parents[2] / "docs" / "remote-store.md").read_text(encoding="utf-8")
(OURS,) = re.findall(r"```turtle\n(.*?)```", PAGE, re.DOTALL)
KINDS = resources.text("store", "back-ends.ttl")


def wrong(turtle):
    """Return the violations of a description."""
    return report(ox.parse(turtle, ox.RdfFormat.TURTLE, base_iri=BASE), "stores")


@pytest.mark.parametrize("text", [OURS, KINDS])
def test_descriptions_conform(text):
    """The declared kinds and the description of the manual conform to the shapes."""
    assert wrong(text) == []


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (OURS, "kgb:updateEndpoint <", "kgb:dataEndpoint <"),
        (OURS, "http://127.0.0.1:7878/query", "http://ada:secret@127.0.0.1/query"),
        (OURS, "<http://127.0.0.1:7878/query>", '"http://127.0.0.1:7878/query"'),
        (OURS, "2000000", "20"),
        (OURS, "kgb:ofKind", "kgb:engine"),
        (KINDS, 'kgb:resultFormat "tsv"', 'kgb:resultFormat "csv"'),
        (KINDS, "skos:notation", "rdfs:comment"),
        (KINDS, "sh:order 1 ;", ""),
        (KINDS, "$value", "value"),
        (KINDS, "kgb:updatePath", "kgb:dataPath"),
    ],
)
def test_mutants_are_refused(text, old, new):
    """Each change makes a description that violates the shapes."""
    assert old in text
    assert wrong(text.replace(old, new)) != []


def test_a_lease_conforms(remote):
    """The lease of a writer conforms to the shapes."""
    iris = Iris()
    with open_store(remote) as store:
        triples = list(store.triples(iris.mint("leaseGraph")))
        assert report(triples, "stores") == []
        for triple in triples:
            left = [one for one in triples if one != triple]
            needed = not triple.predicate.value.endswith("#type")
            assert (report(left, "stores") != []) is needed
