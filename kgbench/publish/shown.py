# SPDX-License-Identifier: Apache-2.0
"""What is published besides dialogues, in its published form: small enough to be held at once.

The catalogue, and of every run the run itself with its sessions, configurations and executions, its
passes with what people decided in them, and analyses and invalidations whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pyoxigraph as ox

from kgbench.pages.snapshot import Memory, View
from kgbench.publish.addresses import Addresses
from kgbench.publish.outgoing import Outgoing
from kgbench.publish.parts import Parts
from kgbench.rdf import queries, query_examples
from kgbench.rdf.declared import shipped
from kgbench.vocab import BASE, KGB, PROV, RDF, SH, SKOS

_TYPE = ox.NamedNode(RDF.type)
_TERMS = (ox.NamedNode(KGB.commitment), ox.NamedNode(KGB.recordedAs))
RUN_LEVEL = (
    *(KGB.Run, KGB.Session, KGB.Configuration, KGB.TaskExecution, KGB.Price, KGB.Batch),
    *(PROV.SoftwareAgent, PROV.Association, KGB.EvaluationPass, KGB.Model, KGB.Suite),
)
_REVIEWER, _JUDGED = ox.NamedNode(KGB.reviewer), ox.NamedNode(KGB.judgedItem)


def shown(view: View, outgoing: Outgoing, parts: Parts) -> Memory:
    """The published form of all that is no part of a dialogue."""
    database = ox.Store()
    database.bulk_extend(quad for quads in catalogue(outgoing, parts) for quad in quads)
    for run in parts.runs:
        for graph in run.graphs:
            database.bulk_extend(run_level(view.database, outgoing, graph))
    for graph, _ in parts.others:
        database.bulk_extend(q for quads in outgoing.graph(graph) for q in quads)
    return Memory(database, outgoing.base)


def catalogue(outgoing: Outgoing, parts: Parts) -> Iterator[list[ox.Quad]]:
    """The catalogue graph, subject by subject, without what no published run needs.

    Cases of suites without a published run stay here always: nobody was asked whether their texts
    may be told.
    """
    unasked = {outgoing.node(one).value for one in parts.unasked}
    for quads in outgoing.graph(parts.catalogue):
        if str(quads[0].subject).strip("<>") not in unasked and _is_needed(outgoing, parts, quads):
            yield sorted([*quads, *_missing_text(quads)], key=str)
    yield from _missing_terms(outgoing, parts)


def _missing_text(quads: list[ox.Quad]) -> Iterator[ox.Quad]:
    """What a query lacks whose description was loaded before texts were."""
    said = {quad.predicate.value: quad for quad in quads}
    if SH.prefixes not in said or SH.select in said or SKOS.notation not in said:
        return
    name = str(getattr(said[SKOS.notation].object, "value", ""))
    if name in queries.names():
        for one in query_examples.stated(name):
            yield ox.Quad(one.subject, one.predicate, one.object, quads[0].graph_name)


def _missing_terms(outgoing: Outgoing, parts: Parts) -> Iterator[list[ox.Quad]]:
    """Declarations of terms that only publishing uses, where the store has an older vocabulary."""
    vocabulary = shipped("ontology", "kgbench.ttl").graph
    graph = ox.NamedNode(parts.catalogue)
    for term in _TERMS:
        if not outgoing.about(term):
            yield outgoing.subject(
                [
                    ox.Quad(quad.subject, quad.predicate, quad.object, graph)
                    for quad in vocabulary.quads_for_pattern(term, None, None)
                ]
            )


def documents(made: Memory, outgoing: Outgoing, parts: Parts) -> dict[str, list[str]]:
    """The documents about what is shown: their places, and the IRIs that each is about."""
    bases = (outgoing.base, BASE, outgoing.store)
    whole = {
        outgoing.node(graph).value: outgoing.node(thing).value for graph, thing in parts.others
    }
    found: dict[str, list[str]] = {}
    seen = set()
    for quad in made.database:
        node: Any = quad.subject
        if not isinstance(node, ox.NamedNode) or node.value in seen:
            continue
        graph: Any = quad.graph_name
        if node.value.startswith(f"{whole.get(graph.value, node.value)}#"):
            continue  # the rows of a table stand in the document of their analysis
        seen.add(node.value)
        kinds = {str(q.object) for q in made.database.quads_for_pattern(node, _TYPE, None)}
        ours = any(KGB in kind or PROV.Association in kind for kind in kinds)
        if ours or node.value.startswith(bases):
            found.setdefault(outgoing.document_path(node.value), []).append(node.value)
    return {place: sorted(found[place]) for place in sorted(found)}


def run_level(database: ox.Store, outgoing: Outgoing, graph: str) -> Iterator[ox.Quad]:
    """What a graph of a run says of things that are no parts of dialogues."""
    name = ox.NamedNode(graph)
    subjects: set[Any] = {
        quad.subject
        for kind in RUN_LEVEL
        for quad in database.quads_for_pattern(None, _TYPE, ox.NamedNode(kind), name)
    }
    decided: list[Any] = [
        quad.subject for quad in database.quads_for_pattern(None, _REVIEWER, None, name)
    ]
    subjects.update(decided)
    subjects.update(
        quad.object
        for verdict in decided
        for quad in database.quads_for_pattern(verdict, _JUDGED, None, name)
    )
    found = (
        outgoing.subject(list(database.quads_for_pattern(s, None, None, name))) for s in subjects
    )
    for quads in sorted(filter(None, found), key=lambda quads: str(quads[0].subject)):
        yield from quads


def _is_needed(outgoing: Outgoing, parts: Parts, quads: list[ox.Quad]) -> bool:
    said = {(q.predicate.value, str(getattr(q.object, "value", ""))) for q in quads}
    subject = str(quads[0].subject).strip("<>")
    kinds = {value for name, value in said if name == RDF.type}
    if KGB.Case in kinds:
        return any(name == KGB.suite and value in parts.suites for name, value in said)
    if not parts.partial:
        return True
    if KGB.ResultGraph in kinds:
        return subject in {outgoing.node(graph).value for graph in parts.graphs}
    if KGB.Model in kinds:
        return subject in {outgoing.node(model).value for model in parts.models}
    if KGB.Reviewer in kinds:
        return subject in {outgoing.node(reviewer).value for reviewer in parts.reviewers}
    return True


def identity(made: Memory) -> str:
    """The same for two stores that hold the same quads: the sum of their digests.

    There is something for each execution among them, too many to be sorted as texts.
    """
    digests = (hashlib.sha256(str(quad).encode()).digest() for quad in made.database)
    return f"{sum(int.from_bytes(one, 'big') for one in digests):x}"


def executions(made: Memory, addresses: Addresses) -> Iterator[str]:
    """The places of the documents of task executions."""
    kind = ox.NamedNode(KGB.TaskExecution)
    for quad in made.database.quads_for_pattern(None, ox.NamedNode(RDF.type), kind):
        yield addresses.document_path(str(quad.subject).strip("<>"))
