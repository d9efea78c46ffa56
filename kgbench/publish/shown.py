# SPDX-License-Identifier: Apache-2.0
"""What is published besides dialogues, in its published form: small enough to be held at once.

The catalogue, and of every run the run itself with its sessions, configurations and executions, its
passes, and analyses and invalidations whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyoxigraph as ox

from kgbench.pages.snapshot import Memory, View
from kgbench.publish.outgoing import Outgoing
from kgbench.publish.parts import Parts
from kgbench.vocab import BASE, KGB, RDF

_TYPE = ox.NamedNode(RDF.type)
RUN_LEVEL = (
    *(KGB.Run, KGB.Session, KGB.Configuration, KGB.TaskExecution, KGB.Price, KGB.Batch),
    *("http://www.w3.org/ns/prov#SoftwareAgent", KGB.EvaluationPass, KGB.Model, KGB.Suite),
)


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
    for quads in outgoing.graph(parts.catalogue):
        if _is_needed(outgoing, parts, quads):
            yield quads


def documents(made: Memory, outgoing: Outgoing, parts: Parts) -> dict[str, list[str]]:
    """The documents about what is shown: their places, and the IRIs that each is about."""
    bases = (outgoing.base, BASE, outgoing.store)
    inner = {outgoing.node(graph).value for graph, _ in parts.others}
    described = {outgoing.node(thing).value for _, thing in parts.others}
    found: dict[str, list[str]] = {}
    seen = set()
    for quad in made.database:
        node: Any = quad.subject
        if not isinstance(node, ox.NamedNode) or node.value in seen:
            continue
        graph: Any = quad.graph_name
        if graph.value in inner and node.value not in described:
            continue  # the rows of a table stand in the document of their analysis
        seen.add(node.value)
        kinds = made.database.quads_for_pattern(node, _TYPE, None)
        if node.value.startswith(bases) or any(KGB in str(one.object) for one in kinds):
            found.setdefault(outgoing.place(node.value), []).append(node.value)
    return {place: sorted(found[place]) for place in sorted(found)}


def run_level(database: ox.Store, outgoing: Outgoing, graph: str) -> Iterator[ox.Quad]:
    """What a graph of a run says of things that are no parts of dialogues."""
    name = ox.NamedNode(graph)
    seen = set()
    for kind in RUN_LEVEL:
        for quad in database.quads_for_pattern(None, _TYPE, ox.NamedNode(kind), name):
            if quad.subject in seen:
                continue
            seen.add(quad.subject)
            yield from outgoing.subject(
                list(database.quads_for_pattern(quad.subject, None, None, name))
            )


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
    return True
