# SPDX-License-Identifier: Apache-2.0
"""What a store declares of task classes that none of its tasks has, and what nothing else names.

A store has the declarations of all task classes that are installed: their metrics, parameters and
labelled tasks. Publishing those that nobody was asked would make some ten thousand files of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyoxigraph as ox

from kgbench.vocab import KGB, RDF

_TYPE, _CLASS = ox.NamedNode(RDF.type), ox.NamedNode(KGB.taskClass)


def unasked(database: ox.Store, catalogue: str, others: Iterable[str]) -> frozenset[str]:
    """The IRIs in a catalogue (a graph) that only lead to or from task classes without tasks.

    What a thing of the catalogue outside of them names stays, and so does what the graphs
    ``others`` name: nothing that is left out is missed.
    """
    graph = ox.NamedNode(catalogue)
    names: dict[str, set[str]] = {}
    for quad in database.quads_for_pattern(None, None, None, graph):
        subject: Any = quad.subject
        found = names.setdefault(subject.value, set())
        if isinstance(quad.object, ox.NamedNode):
            found.add(quad.object.value)

    def reached(start: Iterable[str]) -> set[str]:
        waiting = [one for one in start if one in names]
        there = set(waiting)
        while waiting:
            further = (names[waiting.pop()] - there) & names.keys()
            there |= further
            waiting += further
        return there

    classes: set[Any] = {
        quad.subject
        for quad in database.quads_for_pattern(None, _TYPE, ox.NamedNode(KGB.TaskClass), graph)
    }
    asked = {quad.object for quad in database.quads_for_pattern(None, _CLASS, None, graph)}
    doubtful = reached(one.value for one in classes - asked)
    named = {
        str(getattr(quad.object, "value", ""))
        for other in others
        for quad in database.quads_for_pattern(None, None, None, ox.NamedNode(other))
    }
    return frozenset(doubtful - reached((names.keys() - doubtful) | named))
