# SPDX-License-Identifier: Apache-2.0
"""Published activities have ends, agents and plans, and satisfy PROV-O and PROV-CONSTRAINTS."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import owlrl
import pyoxigraph as ox
import pytest
import rdflib

from kgbench.publish.checks import shapes
from kgbench.record.accounts import run_end
from kgbench.vocab import DCTERMS, KGB, PROV, RDF, XSD
from tests.publish.checks.published_folder import BASE

AXIOMS = Path(__file__).with_name("prov-o.ttl")
GRAPHS = Path(__file__).parents[2] / "graphs"
_ERROR = rdflib.URIRef("http://www.daml.org/2002/03/agents/agent-ont#error")  # of owlrl
_TYPE = ox.NamedNode(RDF.type)
_ENDED = ox.NamedNode(PROV.endedAtTime)


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


def _instances(quads: ox.Store, kind: str) -> list[ox.NamedNode]:
    return [q.subject for q in quads.quads_for_pattern(None, _TYPE, ox.NamedNode(kind))]


def _values(quads: ox.Store, node: ox.NamedNode, *path: str) -> list[ox.NamedNode | ox.Literal]:
    nodes = [node]
    for step in path:
        nodes = [
            q.object for n in nodes for q in quads.quads_for_pattern(n, ox.NamedNode(step), None)
        ]
    return nodes


@pytest.mark.parametrize("kind", [KGB.Run, KGB.EvaluationPass, KGB.Session])
def test_activities_have_one_end(quads: ox.Store, kind: str) -> None:
    """Runs and passes have one end when published, although a store leaves them open."""
    found = _instances(quads, kind)
    assert found
    assert [len(_values(quads, one, PROV.endedAtTime)) for one in found] == [1] * len(found)


def test_executions_are_associated_with_their_models(quads: ox.Store) -> None:
    """The agent of a task execution is the model that worked on the task."""
    found = _instances(quads, KGB.TaskExecution)
    assert found
    for one in found:
        assert _values(quads, one, PROV.wasAssociatedWith) == _values(quads, one, KGB.model)


def test_sessions_have_their_configurations_as_plans(quads: ox.Store) -> None:
    """The association of a session with its software has the session's configuration as plan."""
    found = _instances(quads, KGB.Session)
    assert found
    for one in found:
        plan = _values(quads, one, PROV.qualifiedAssociation, PROV.hadPlan)
        agent = _values(quads, one, PROV.qualifiedAssociation, PROV.agent)
        assert plan == _values(quads, one, PROV.used)
        assert agent == _values(quads, one, PROV.wasAssociatedWith)


def _sessions(*times: tuple[str, str | None]) -> ox.Store:
    """Return a run with sessions that began and ended at these hours."""
    quads = ox.Store()
    run = ox.NamedNode("urn:run")
    for number, (began, ended) in enumerate(times):
        node = ox.NamedNode(f"urn:session:{number}")
        said = [(DCTERMS.isPartOf, run), (RDF.type, ox.NamedNode(KGB.Session))]
        said.append((PROV.startedAtTime, _hour(began)))
        said += [] if ended is None else [(PROV.endedAtTime, _hour(ended))]
        quads.extend(ox.Quad(node, ox.NamedNode(name), value) for name, value in said)
    return quads


def _hour(hour: str) -> ox.Literal:
    return ox.Literal(f"2026-11-20T{hour}:00:00Z", datatype=ox.NamedNode(XSD.dateTime))


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([("08", "09"), ("10", "11")], "11"),
        ([("10", "11"), ("08", "09")], "11"),
        ([("08", None), ("10", "11")], "11"),
        ([("08", "09"), ("10", None)], None),
        ([], None),
    ],
)
def test_a_run_ends_with_its_last_session(
    times: list[tuple[str, str | None]], expected: str | None
) -> None:
    """A run ends with its last session; while that is open, the run has no end."""
    found = run_end(_sessions(*times), ox.NamedNode("urn:run"))
    assert found == (None if expected is None else _hour(expected))


def test_an_imported_run_has_its_own_end() -> None:
    """A run without sessions has the end that its source states."""
    quads = ox.Store()
    run = ox.NamedNode("urn:run")
    quads.add(ox.Quad(run, _ENDED, _hour("12")))
    assert run_end(quads, run) == _hour("12")
