# SPDX-License-Identifier: Apache-2.0
"""Reading things from a snapshot by its indexes: what is said of an IRI, and what points to it.

All reading is bounded, whatever stands in the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import nsmallest
from itertools import islice
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.pages.snapshot import Memory, View
from kgbench.pages.words import moment
from kgbench.vocab import DCTERMS, KGB, PROV, RDF, RDFS, SKOS, compact

MOST_OUTGOING = 2_000
MOST_INCOMING = 200
_LABELS = (RDFS.label, SKOS.prefLabel, DCTERMS["title"], SKOS.notation)
_DEEPEST = 4  # levels of blank nodes
_MOST_LABELS = 20_000  # that a snapshot keeps, a few MB


class Description(NamedTuple):
    """What is known of one IRI; ``more`` says that there are more incoming links than shown."""

    iri: str
    outgoing: list[ox.Quad]
    nested: list[ox.Quad]
    incoming: list[ox.Quad]
    more: bool

    @property
    def quads(self) -> list[ox.Quad]:
        """All of it, as it is sent in RDF."""
        return [*self.outgoing, *self.nested, *self.incoming]


def exists(view: View, iri: str) -> bool:
    """Whether the snapshot speaks of ``iri``, as subject, predicate, object or graph."""
    try:
        node = ox.NamedNode(iri)
    except ValueError:
        return False
    patterns = ((node, None, None), (None, None, node), (None, node, None))
    found = any(next(view.database.quads_for_pattern(*p), None) is not None for p in patterns)
    return found or view.database.contains_named_graph(node)


def describe(view: View, iri: str) -> Description:
    """What the snapshot says of ``iri``; of an IRI that ends in ``#``, of all it defines."""
    node = ox.NamedNode(iri)
    subjects: list[Any] = [node]
    if iri.endswith("#"):
        defined = view.database.quads_for_pattern(None, ox.NamedNode(RDFS.isDefinedBy), node)
        subjects += [quad.subject for quad in defined]
    outgoing = list(
        islice(
            (q for one in subjects for q in view.database.quads_for_pattern(one, None, None)),
            MOST_OUTGOING,
        )
    )
    incoming: list[ox.Quad] = []
    if len(subjects) == 1:
        pointing: Iterable[ox.Quad] = view.database.quads_for_pattern(None, None, node)
        if isinstance(view, Memory):  # small, and without an order of its own
            pointing = nsmallest(MOST_INCOMING + 1, pointing, key=str)
        incoming = list(islice(pointing, MOST_INCOMING + 1))
    return Description(
        iri,
        outgoing,
        list(_nested(view, outgoing)),
        incoming[:MOST_INCOMING],
        len(incoming) > MOST_INCOMING,
    )


def _nested(view: View, quads: Iterable[ox.Quad]) -> Iterator[ox.Quad]:
    """What is said of the blank nodes that ``quads`` lead to."""
    seen: set[str] = set()
    level = [quad.object for quad in quads if isinstance(quad.object, ox.BlankNode)]
    for _ in range(_DEEPEST):
        following = []
        for node in level:
            if node.value in seen or len(seen) >= MOST_OUTGOING:
                continue
            seen.add(node.value)
            for quad in view.database.quads_for_pattern(node, None, None):
                yield quad
                if isinstance(quad.object, ox.BlankNode):
                    following.append(quad.object)
        level = following


def values(view: View, subject: str, predicate: str) -> list[Any]:
    """The objects of one property, each once."""
    found = view.database.quads_for_pattern(ox.NamedNode(subject), ox.NamedNode(predicate), None)
    return list(dict.fromkeys(quad.object for quad in islice(found, MOST_OUTGOING)))


def text(view: View, subject: str, predicate: str) -> str | None:
    """The first value of one property as text."""
    found = values(view, subject, predicate)
    return found[0].value if found else None


def subjects(view: View, predicate: str, value: str, most: int = MOST_INCOMING) -> list[str]:
    """IRIs that have ``value`` (an IRI) as their ``predicate``, each once."""
    found = view.database.quads_for_pattern(None, ox.NamedNode(predicate), ox.NamedNode(value))
    ours = (quad.subject.value for quad in found if isinstance(quad.subject, ox.NamedNode))
    return list(dict.fromkeys(islice(ours, most)))


def kinds(view: View, iri: str) -> set[str]:
    """The classes of ``iri``."""
    return {term.value for term in values(view, iri, RDF.type)}


def instances(view: View, kind: str, most: int = 1_000) -> list[str]:
    """IRIs of a class, sorted."""
    return sorted(subjects(view, RDF.type, kind, most))


def label(view: View, iri: str) -> str:
    """What people call ``iri``: its label, else the end of its path.

    Dialogues, verdicts and task executions have no labels: they are called by their task and model,
    and evaluation passes by their kind and time.
    """
    if view.labels is None:
        return _label(view, iri)
    known = view.labels.get(iri)
    if known is None:
        if len(view.labels) >= _MOST_LABELS:
            view.labels.clear()
        known = view.labels[iri] = _label(view, iri)
    return known


def _label(view: View, iri: str) -> str:
    try:
        node = ox.NamedNode(iri)
    except ValueError:
        return iri
    for predicate in _LABELS:
        found = next(view.database.quads_for_pattern(node, ox.NamedNode(predicate), None), None)
        if found is not None and isinstance(found.object, ox.Literal) and found.object.value:
            return found.object.value
    task, model = text(view, iri, KGB.task), text(view, iri, KGB.model)
    if task and model:
        number, answer = (text(view, iri, one) for one in (KGB.iteration, KGB.round))
        said = f"{label(view, task)} by {label(view, model)}"
        said += "" if number is None else f" #{number}"
        if text(view, iri, KGB.dialogue) is None:
            return said
        return f"verdict on {said}" + ("" if answer is None else f", answer {answer}")
    if (kind := text(view, iri, KGB.passKind)) is not None:
        return f"{kind} pass of {moment(text(view, iri, PROV.startedAtTime))}"
    short = compact(iri)
    return iri.removeprefix(view.iris.base) if short == iri else short


def runs(view: View) -> list[str]:
    """All runs, newest first."""
    return instances(view, KGB.Run)[::-1]
