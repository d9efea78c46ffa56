# SPDX-License-Identifier: Apache-2.0
"""Reading of resources from a snapshot by index look-ups: statements, links, labels.

All functions read a bounded number of statements.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.pages.snapshot import View
from kgbench.pages.times import moment
from kgbench.scores.catalogue import model_names
from kgbench.vocab import DCTERMS, KGB, PROV, RDF, RDFS, SKOS, compact

MOST_OUTGOING = 2_000
_MOST_OF_VOCABULARY = 20_000  # statements about all terms of a vocabulary; ours has some 2,200
MOST_INCOMING = 200
_MOST_COUNTED = 200_000  # statements about a resource; counting so many takes 0.3 s
_LABELS = (RDFS.label, SKOS.prefLabel, DCTERMS["title"], SKOS.notation)
_DEEPEST = 4  # levels of blank nodes
_MOST_LABELS = 20_000  # cached labels of a snapshot, a few MB


class Description(NamedTuple):
    """Statements about an IRI.

    ``omitted`` of them are not in ``outgoing``. ``deeper`` is set if not all statements about
    nested blank nodes are included, ``more`` if not all incoming links are.
    """

    iri: str
    outgoing: list[ox.Quad]
    nested: list[ox.Quad]
    incoming: list[ox.Quad]
    omitted: int
    deeper: bool
    more: bool

    @property
    def quads(self) -> list[ox.Quad]:
        """All statements, for RDF responses."""
        return [*self.outgoing, *self.nested, *self.incoming]

    @property
    def limits(self) -> list[str]:
        """How much is included of what is not complete, in words."""
        shown, omitted = len(self.outgoing), min(self.omitted, _MOST_COUNTED)
        least = "" if self.omitted == omitted else "more than "
        return [
            words
            for holds, words in (
                (omitted, f"{shown:,} of {least}{shown + omitted:,} statements about the resource"),
                (self.deeper, "not all statements about its blank nodes"),
                (self.more, f"only {len(self.incoming):,} of the statements that refer to it"),
            )
            if holds
        ]


def exists(view: View, iri: str) -> bool:
    """Return whether ``iri`` occurs as subject, predicate, object or graph."""
    try:
        node = ox.NamedNode(iri)
    except ValueError:
        return False
    patterns = ((node, None, None), (None, None, node), (None, node, None))
    occurs = any(
        next(view.database.quads_for_pattern(*pattern), None) is not None for pattern in patterns
    )
    return occurs or view.database.contains_named_graph(node)


def describe(view: View, iri: str) -> Description:
    """Return the statements about ``iri``; if it ends in ``#``, about all terms that it defines."""
    node = ox.NamedNode(iri)
    subjects: list[Any] = [node]
    most = MOST_OUTGOING
    if iri.endswith("#"):
        most = _MOST_OF_VOCABULARY
        defined = view.database.quads_for_pattern(None, ox.NamedNode(RDFS.isDefinedBy), node)
        subjects += [quad.subject for quad in defined]
    statements = (
        statement
        for subject in subjects
        for statement in view.database.quads_for_pattern(subject, None, None)
    )
    outgoing = list(islice(statements, most))
    omitted = sum(1 for _ in islice(statements, _MOST_COUNTED + 1))
    nested, deeper = _nested(view, outgoing)
    incoming: list[ox.Quad] = []
    if len(subjects) == 1:
        pointing = view.database.quads_for_pattern(None, None, node)
        incoming = list(islice(pointing, MOST_INCOMING + 1))
    more = len(incoming) > MOST_INCOMING
    return Description(iri, outgoing, nested, incoming[:MOST_INCOMING], omitted, deeper, more)


def _nested(view: View, quads: Iterable[ox.Quad]) -> tuple[list[ox.Quad], bool]:
    """Return statements about blank nodes below ``quads``, and whether there are more."""
    found: list[ox.Quad] = []
    seen: set[str] = set()
    more = False
    level = [quad.object for quad in quads if isinstance(quad.object, ox.BlankNode)]
    for depth in range(_DEEPEST + 1):
        following = []
        for node in level:
            if node.value in seen:
                continue
            about = view.database.quads_for_pattern(node, None, None)
            if depth == _DEEPEST or len(seen) >= MOST_OUTGOING:
                more = more or next(about, None) is not None
                continue
            seen.add(node.value)
            for quad in about:
                found.append(quad)
                if isinstance(quad.object, ox.BlankNode):
                    following.append(quad.object)
        level = following
    return found, more


def values(view: View, subject: str, predicate: str) -> list[Any]:
    """Return the distinct objects of a property."""
    quads = view.database.quads_for_pattern(ox.NamedNode(subject), ox.NamedNode(predicate), None)
    return list(dict.fromkeys(quad.object for quad in islice(quads, MOST_OUTGOING)))


def text(view: View, subject: str, predicate: str) -> str | None:
    """Return the first value of a property as text, or ``None``."""
    objects = values(view, subject, predicate)
    return objects[0].value if objects else None


def subjects(view: View, predicate: str, value: str, limit: int = MOST_INCOMING) -> list[str]:
    """Return the distinct IRIs that have ``value`` (an IRI) as object of ``predicate``."""
    quads = view.database.quads_for_pattern(None, ox.NamedNode(predicate), ox.NamedNode(value))
    iris = (quad.subject.value for quad in quads if isinstance(quad.subject, ox.NamedNode))
    return list(dict.fromkeys(islice(iris, limit)))


def kinds(view: View, iri: str) -> set[str]:
    """Return the classes of ``iri``."""
    return {term.value for term in values(view, iri, RDF.type)}


def instances(view: View, kind: str, limit: int = 1_000) -> list[str]:
    """Return the instances of a class, sorted."""
    return sorted(subjects(view, RDF.type, kind, limit))


def label(view: View, iri: str) -> str:
    """Return the label of ``iri``, or else the end of its path.

    Models have the names that leaderboards show. Dialogues, verdicts and task executions have no
    labels and are named after task and model, evaluation passes after their kind and time.
    """
    if view.labels is None:
        return _label(view, iri)
    cached = view.labels.get(iri)
    if cached is None:
        if len(view.labels) >= _MOST_LABELS:
            view.labels.clear()
        cached = view.labels[iri] = _label(view, iri)
    return cached


def _label(view: View, iri: str) -> str:
    if (shown := model_names(view).get(iri)) is not None:
        return shown
    try:
        node = ox.NamedNode(iri)
    except ValueError:
        return iri
    for predicate in _LABELS:
        quad = next(view.database.quads_for_pattern(node, ox.NamedNode(predicate), None), None)
        if quad is not None and isinstance(quad.object, ox.Literal) and quad.object.value:
            return quad.object.value
    task, model = text(view, iri, KGB.task), text(view, iri, KGB.model)
    if task and model:
        number, answer = (text(view, iri, property_) for property_ in (KGB.iteration, KGB.round))
        name = f"{label(view, task)} by {label(view, model)}"
        name += "" if number is None else f" #{number}"
        if text(view, iri, KGB.dialogue) is not None:
            name = f"verdict on {name}" + ("" if answer is None else f", answer {answer}")
        return name
    if (kind := text(view, iri, KGB.passKind)) is not None:
        return f"{kind} pass of {moment(text(view, iri, PROV.startedAtTime))}"
    short = compact(iri)
    return iri.removeprefix(view.iris.base) if short == iri else short


def runs(view: View) -> list[str]:
    """Return all runs, the newest first."""
    return instances(view, KGB.Run)[::-1]
