# SPDX-License-Identifier: Apache-2.0
"""Declarations in a store's catalogue that the published runs do not use.

A catalogue declares all installed task classes with their metrics, parameters and labelled tasks.
Publishing the unused ones would add some ten thousand files.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyoxigraph as ox

from kgbench.vocab import KGB, RDF

_TYPE, _CLASS = ox.NamedNode(RDF.type), ox.NamedNode(KGB.taskClass)


def unused_declarations(
    database: ox.Store, catalogue: str, others: Iterable[str]
) -> frozenset[str]:
    """Return the IRIs in a catalogue (a graph) that only belong to task classes without tasks.

    Things that other things in the catalogue or in the graphs ``others`` refer to are kept.
    """
    graph = ox.NamedNode(catalogue)
    names: dict[str, set[str]] = {}
    for quad in database.quads_for_pattern(None, None, None, graph):
        subject: Any = quad.subject
        references = names.setdefault(subject.value, set())
        if isinstance(quad.object, ox.NamedNode):
            references.add(quad.object.value)

    def reachable(start: Iterable[str]) -> set[str]:
        waiting = [iri for iri in start if iri in names]
        known = set(waiting)
        while waiting:
            further = (names[waiting.pop()] - known) & names.keys()
            known |= further
            waiting += further
        return known

    classes: set[Any] = {
        quad.subject
        for quad in database.quads_for_pattern(None, _TYPE, ox.NamedNode(KGB.TaskClass), graph)
    }
    used_classes = {quad.object for quad in database.quads_for_pattern(None, _CLASS, None, graph)}
    doubtful = reachable(node.value for node in classes - used_classes)
    referenced = {
        str(getattr(quad.object, "value", ""))
        for other in others
        for quad in database.quads_for_pattern(None, None, None, ox.NamedNode(other))
    }
    return frozenset(doubtful - reachable((names.keys() - doubtful) | referenced))
