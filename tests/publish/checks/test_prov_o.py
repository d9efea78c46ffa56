# SPDX-License-Identifier: Apache-2.0
"""Published graphs are consistent with PROV-O under OWL 2 RL and satisfy PROV-CONSTRAINTS."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import owlrl
import pyoxigraph as ox
import pytest
import rdflib

from kgbench.publish.checks import shapes
from kgbench.vocab import KGB, PROV, XSD
from tests.publish.checks.published_folder import BASE

AXIOMS = Path(__file__).with_name("prov-o.ttl")
GRAPHS = Path(__file__).parents[2] / "graphs"
_ERROR = rdflib.URIRef("http://www.daml.org/2002/03/agents/agent-ont#error")  # of owlrl


def contradictions(quads: Iterable[ox.Quad]) -> list[str]:
    """Return the contradictions that OWL 2 RL finds in the quads with the axioms of PROV-O.

    Only literals that are times are kept: owlrl takes an xsd:double of 0.0 for ill-typed, and no
    axiom concerns another datatype.
    """
    kept = [
        quad.triple
        for quad in quads
        if not isinstance(quad.object, ox.Literal) or quad.object.datatype.value == XSD.dateTime
    ]
    graph = rdflib.Graph().parse(AXIOMS)
    text = ox.serialize(kept, format=ox.RdfFormat.N_TRIPLES)
    assert text is not None
    graph.parse(data=text, format="nt")
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    return sorted(str(found) for found in graph.objects(None, _ERROR))


def broken(quads: Iterable[ox.Quad]) -> list[str]:
    """Return the violations of PROV-CONSTRAINTS."""
    store = ox.Store()
    store.extend(quads)
    return [str(fault) for fault in shapes.constrained("provenance", store, lambda _: "")]


def test_everything_published_is_consistent(quads: ox.Store) -> None:
    """Data published under another base are consistent: catalogue, runs, passes and analyses."""
    origins = quads.quads_for_pattern(None, ox.NamedNode(KGB.recordedAs), None)
    assert len(list(origins)) > 5, "published under the store's own base: nothing to look at"
    assert contradictions(quads) == []
    assert broken(quads) == []


@pytest.mark.parametrize("name", ["catalog.ttl", "void.ttl"])
def test_description_of_the_data_is_consistent(site: Path, name: str) -> None:
    """The description of the publication is consistent."""
    found = list(ox.parse(path=site / name))
    assert found
    assert contradictions(found) == []


@pytest.mark.parametrize("path", sorted(GRAPHS.glob("*.trig")), ids=lambda path: path.stem)
def test_every_kind_of_graph_is_consistent(path: Path) -> None:
    """The example graphs of every kind of record are consistent."""
    found = list(ox.parse(path=path, base_iri="https://w3id.org/kgbench/"))
    assert contradictions(found) == []


def test_alternates_of_activities_are_contradictory(quads: ox.Store) -> None:
    """The reasoner and the constraints both reject prov:alternateOf between activities."""
    run = ox.NamedNode(f"{BASE}run/1")
    alternate = ox.Quad(run, ox.NamedNode(PROV.alternateOf), ox.NamedNode(f"{BASE}run/0"))
    assert any(run.value in found for found in contradictions([*quads, alternate]))
    assert any("entity-and-activity" in found for found in broken([*quads, alternate]))
