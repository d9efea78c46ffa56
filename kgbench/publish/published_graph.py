# SPDX-License-Identifier: Apache-2.0
"""The site graph: the published form of everything but dialogues, small enough for memory.

It has the catalogue, and from every run the run itself with its sessions, configurations and
executions, and its passes with the decisions of people; also all analyses and invalidations.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pyoxigraph as ox

from kgbench.pages.snapshot import MemoryView, View
from kgbench.publish.addresses import Addresses
from kgbench.publish.quad_redaction import QuadRedactor
from kgbench.publish.selection import PublishedParts
from kgbench.rdf.quads import Quads
from kgbench.vocab import BASE, KGB, PROV, RDF

_TYPE = ox.NamedNode(RDF.type)
RUN_LEVEL = (
    KGB.Run,
    KGB.Session,
    KGB.Configuration,
    KGB.TaskExecution,
    KGB.Price,
    KGB.Batch,
    PROV.SoftwareAgent,
    PROV.Association,
    KGB.EvaluationPass,
    KGB.Model,
    KGB.Suite,
)
_REVIEWER, _JUDGED = ox.NamedNode(KGB.reviewer), ox.NamedNode(KGB.judgedItem)


def build_site_graph(view: View, outgoing: QuadRedactor, parts: PublishedParts) -> MemoryView:
    """Build the site graph."""
    database = ox.Store()
    database.bulk_extend(quad for quads in catalogue(outgoing, parts) for quad in quads)
    for run in parts.runs:
        for graph in run.graphs:
            database.bulk_extend(run_level(view.database, outgoing, graph))
    for graph, _ in parts.others:
        database.bulk_extend(q for quads in outgoing.graph(graph) for q in quads)
    return MemoryView(database, outgoing.base)


def catalogue(outgoing: QuadRedactor, parts: PublishedParts) -> Iterator[list[ox.Quad]]:
    """Yield the catalogue graph by subject, without what no published run needs.

    Cases of suites without a published run are always left out, because nobody decided whether
    their texts may be published.
    """
    unused = {outgoing.node(iri).value for iri in parts.unused}
    for quads in outgoing.graph(parts.catalogue):
        if str(quads[0].subject).strip("<>") not in unused and _is_needed(outgoing, parts, quads):
            yield quads


def documents(
    site_graph: MemoryView, outgoing: QuadRedactor, parts: PublishedParts
) -> dict[str, list[str]]:
    """Return the documents about the site graph: the IRIs of their subjects by document path."""
    bases = (outgoing.base, BASE, outgoing.store)
    described_things = {
        outgoing.node(graph).value: outgoing.node(thing).value for graph, thing in parts.others
    }
    documents_by_path: dict[str, list[str]] = {}
    known = set()
    for quad in site_graph.database:
        node: Any = quad.subject
        if not isinstance(node, ox.NamedNode) or node.value in known:
            continue
        graph: Any = quad.graph_name
        if node.value.startswith(f"{described_things.get(graph.value, node.value)}#"):
            continue  # rows of a table are part of the document of their analysis
        known.add(node.value)
        kinds = {str(q.object) for q in site_graph.database.quads_for_pattern(node, _TYPE, None)}
        is_own = any(KGB in kind or PROV.Association in kind for kind in kinds)
        if is_own or node.value.startswith(bases):
            documents_by_path.setdefault(outgoing.document_path(node.value), []).append(node.value)
    return {path: sorted(documents_by_path[path]) for path in sorted(documents_by_path)}


def run_level(database: Quads, outgoing: QuadRedactor, graph: str) -> Iterator[ox.Quad]:
    """Yield the quads in a graph of a run about subjects that are not parts of dialogues."""
    name = ox.NamedNode(graph)
    subjects: set[Any] = {
        quad.subject
        for kind in RUN_LEVEL
        for quad in database.quads_for_pattern(None, _TYPE, ox.NamedNode(kind), name)
    }
    verdicts: list[Any] = [
        quad.subject for quad in database.quads_for_pattern(None, _REVIEWER, None, name)
    ]
    subjects.update(verdicts)
    subjects.update(
        quad.object
        for verdict in verdicts
        for quad in database.quads_for_pattern(verdict, _JUDGED, None, name)
    )
    published = (
        outgoing.subject(list(database.quads_for_pattern(s, None, None, name))) for s in subjects
    )
    for quads in sorted(filter(None, published), key=lambda quads: str(quads[0].subject)):
        yield from quads


def _is_needed(outgoing: QuadRedactor, parts: PublishedParts, quads: list[ox.Quad]) -> bool:
    statements = {(q.predicate.value, str(getattr(q.object, "value", ""))) for q in quads}
    subject = str(quads[0].subject).strip("<>")
    kinds = {value for name, value in statements if name == RDF.type}
    if KGB.Case in kinds:
        return any(name == KGB.suite and value in parts.suites for name, value in statements)
    if not parts.partial:
        return True
    if KGB.ResultGraph in kinds:
        return subject in {outgoing.node(graph).value for graph in parts.graphs}
    if KGB.Model in kinds:
        return subject in {outgoing.node(model).value for model in parts.models}
    if KGB.Reviewer in kinds:
        return subject in {outgoing.node(reviewer).value for reviewer in parts.reviewers}
    return True


def identity(site_graph: MemoryView) -> str:
    """Return a digest that does not depend on the order of quads: the sum of their digests.

    A sum needs no sorting; the graph has quads for each execution.
    """
    digests = (hashlib.sha256(str(quad).encode()).digest() for quad in site_graph.database)
    return f"{sum(int.from_bytes(digest, 'big') for digest in digests):x}"


def executions(site_graph: MemoryView, addresses: Addresses) -> Iterator[str]:
    """Yield the document paths of task executions."""
    kind = ox.NamedNode(KGB.TaskExecution)
    for quad in site_graph.database.quads_for_pattern(None, ox.NamedNode(RDF.type), kind):
        yield addresses.document_path(str(quad.subject).strip("<>"))
