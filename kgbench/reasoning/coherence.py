# SPDX-License-Identifier: Apache-2.0
"""Coherence of an ontology: whether all its classes and properties can have instances.

The rules of OWL 2 RL do not detect an unsatisfiable class, but they find an inconsistency as soon
as it has an instance. Therefore each class gets an instance of its own, and each property a link of
its own. These share no nodes, so that one closure tests all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyoxigraph as ox

from kgbench.reasoning.closure import Budget, Closure
from kgbench.reasoning.rules import Atom
from kgbench.vocab import OWL, RDF

SOMETHING: Final = "urn:x-kgbench-something:"
"""The prefix of the IRIs of added instances."""
_TYPE: Final = ox.NamedNode(RDF.type)
_CLASS, _OBJECT, _DATATYPE = (
    str(OWL[name]) for name in ("Class", "ObjectProperty", "DatatypeProperty")
)


def find_incoherence(
    triples: Iterable[ox.Triple], budget: Budget | None = None
) -> tuple[str, tuple[Atom, ...]] | None:
    """Find an incoherence; return the rule that detects it and its premises, or ``None``.

    Only declared classes and properties are tested. Raises
    :class:`~kgbench.reasoning.closure.TooMuchWork` if the budget is used up.
    """
    given = list(triples)
    return Closure([*given, *_members(given)], budget=budget).clash


def _members(triples: Iterable[ox.Triple]) -> Iterable[ox.Triple]:
    """Yield an instance of each class and a link by each property."""
    for index, triple in enumerate(triples):
        if triple.predicate != _TYPE or not isinstance(triple.subject, ox.NamedNode):
            continue
        kind = str(triple.object.value) if isinstance(triple.object, ox.NamedNode) else ""
        instance = ox.NamedNode(f"{SOMETHING}{index}")
        if kind == _CLASS:
            yield ox.Triple(instance, _TYPE, triple.subject)
        elif kind == _OBJECT:
            yield ox.Triple(instance, triple.subject, ox.NamedNode(f"{SOMETHING}{index}-value"))
        elif kind == _DATATYPE:
            yield ox.Triple(instance, triple.subject, ox.Literal(""))
