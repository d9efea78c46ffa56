# SPDX-License-Identifier: Apache-2.0
"""Coherence of an ontology: whether all its classes and properties can have members at all.

The rules of OWL 2 RL say nothing of a class that is empty by necessity; they find an inconsistency
as soon as it has an instance. So each class is given an instance of its own, and each property a
link of its own. They share nothing, so that one closure tries all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyoxigraph as ox

from kgbench.reasoning.closure import Budget, Closure
from kgbench.reasoning.rules import Atom
from kgbench.vocab import OWL, RDF

SOMETHING: Final = "urn:x-kgbench-something:"
"""What the IRIs of instances that are made begin with."""
_TYPE: Final = ox.NamedNode(RDF.type)
_CLASS, _OBJECT, _DATATYPE = (
    str(OWL[name]) for name in ("Class", "ObjectProperty", "DatatypeProperty")
)


def incoherence(
    triples: Iterable[ox.Triple], budget: Budget | None = None
) -> tuple[str, tuple[Atom, ...]] | None:
    """The rule of OWL 2 RL that finds an inconsistency, with its premises; ``None`` without any.

    Classes and properties are those that are declared. Raises
    :class:`~kgbench.reasoning.closure.TooMuchWork`.
    """
    given = list(triples)
    return Closure([*given, *_members(given)], budget=budget).clash


def _members(given: Iterable[ox.Triple]) -> Iterable[ox.Triple]:
    """Return an instance of each class, and a link by each property."""
    for number, one in enumerate(given):
        if one.predicate != _TYPE or not isinstance(one.subject, ox.NamedNode):
            continue
        kind = str(one.object.value) if isinstance(one.object, ox.NamedNode) else ""
        some = ox.NamedNode(f"{SOMETHING}{number}")
        if kind == _CLASS:
            yield ox.Triple(some, _TYPE, one.subject)
        elif kind == _OBJECT:
            yield ox.Triple(some, one.subject, ox.NamedNode(f"{SOMETHING}{number}-value"))
        elif kind == _DATATYPE:
            yield ox.Triple(some, one.subject, ox.Literal(""))
