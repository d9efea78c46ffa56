# SPDX-License-Identifier: Apache-2.0
"""Incomplete graphs about things of worlds, and the verdicts that such graphs give on claims.

A graph describes some things of a world. It lacks some of their statements and some axioms of the
schema, and may state a wider class of a thing than the world does. All that it says is true in the
world.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyoxigraph as ox

from kgbench.reasoning.closure import Closure
from kgbench.reasoning.rules import Atom
from kgbench.vocab import OWL, RDF, RDFS
from kgbench.worlds.generator import RESOURCE, Graph, Instance, label, lines, schema
from kgbench.worlds.naming import Chance

ENTAILED, CONTRADICTED, UNKNOWN = VERDICTS = ("entailed", "contradicted", "unknown")
SOMETHING: Final = "_:some"
"""In the triples of a claim, a thing whose existence is claimed."""

_FOCUS: Final = 4  # things whose neighbours are likely to be described, too
_STATEMENTS: Final = 8  # one of so many statements about things is left out
_AXIOMS: Final = 4  # one of so many axioms is left out
_WIDER: Final = 4  # one of so many classes is replaced by the class above it
_TYPE, _LABEL, _SAME = (f"<{iri}>" for iri in (RDF.type, RDFS.label, OWL.sameAs))
_OPTIONAL: Final = {
    f"<{iri}>" for iri in (RDFS.subClassOf, OWL.disjointWith, RDFS.domain, RDFS.range)
}
_CHARACTERISTICS: Final = {f"<{iri}>" for iri in (OWL.FunctionalProperty, OWL.TransitiveProperty)}


def draw_graph(
    graph: Graph,
    chance: Chance,
    number: int,
    described: Sequence[Instance],
    *,
    named: Sequence[Instance],
    hidden: Sequence[Instance] = (),
) -> list[str]:
    """Draw a graph about ``number`` things of a world, as lines of N-Triples.

    It is about the things ``described``, some of their neighbours, and others, but not about those
    ``hidden``. All things in the statements have labels, and so have those ``named``.
    """
    all_instances = [one for kind in graph.model.populated for one in graph.instances[kind]]
    focus = [*described, *chance.some(all_instances, max(0, _FOCUS - len(described)))]
    near = [target for instance in focus for target in _targets(instance)]
    above = [target for instance in near for target in _targets(instance)]
    others = chance.some(all_instances, number + len(hidden))
    # Leave out some of the neighbours, so that the graph is incomplete.
    chosen = [*focus, *chance.some(near, 3 * len(near) // 4), *above[:2], *others]
    excluded = {instance.iri for instance in hidden}
    unique = {one.iri: one for one in chosen if one.iri not in excluded}
    members = chance.shuffled(list(unique.values())[:number])
    statements = [line for one in members for line in _statements(graph, chance, one)]
    terms = {term for line in statements for term in _atom(line)[::2]}
    terms |= {f"<{one.iri}>" for one in named}
    targets = (target for one in members for target in _targets(one))
    # Labels of other targets would tell that links to them were left out.
    labels = {
        one.iri: label(one) for one in (*members, *targets, *named) if f"<{one.iri}>" in terms
    }
    return [*_axioms(graph, chance), *statements, *labels.values()]


def verdict_on(claim: Sequence[str], shown: Iterable[str]) -> str:
    """Return the verdict of a consistent graph on a claim; both are lines of N-Triples.

    Different names denote different things: a claim by which two would denote the same is
    contradicted.
    """
    facts = list(_triples(line for line in shown if line.split(" ", 2)[1] != _LABEL))
    claimed = list(_triples(claim))
    if _holds(claim, Closure(facts).triples):
        return ENTAILED
    closure = Closure([*facts, *claimed])
    same = ((atom[0], atom[2]) for atom in closure.triples if atom[1] == _SAME)
    merged = any(one != other and _is_name(one) and _is_name(other) for one, other in same)
    return UNKNOWN if closure.consistent and not merged else CONTRADICTED


def _holds(claim: Sequence[str], known: frozenset[Atom]) -> bool:
    """Return whether triples include a claim, with some thing in place of the unnamed one."""
    first, *others = (_atom(line) for line in claim)
    if not others:
        return first in known
    (second,) = others
    things = {object_ for subject, predicate, object_ in known if first[:2] == (subject, predicate)}
    return any((thing, *second[1:]) in known for thing in things)


def _atom(line: str) -> Atom:
    subject, predicate, object_ = line.removesuffix(" .").split(" ", 2)
    return subject, predicate, object_


def _is_name(term: str) -> bool:
    return term.startswith(f"<{RESOURCE}")


def _triples(lines_: Iterable[str]) -> Iterator[ox.Triple]:
    for quad in ox.parse("\n".join(lines_), ox.RdfFormat.N_TRIPLES):
        yield quad.triple


def _targets(instance: Instance) -> list[Instance]:
    return [target for targets in instance.links.values() for target in targets]


def _statements(graph: Graph, chance: Chance, instance: Instance) -> Iterator[str]:
    """Yield the triples about a thing, without its label and some others."""
    parent = graph.model.kinds[instance.kind].parent
    for line in lines(graph, instance):
        predicate = _atom(line)[1]
        if predicate != _LABEL and chance.between(1, _STATEMENTS) > 1:
            if predicate == _TYPE and parent and chance.between(1, _WIDER) == 1:
                yield f"<{instance.iri}> {_TYPE} <{graph.terms[parent]}> ."
            else:
                yield line


def _axioms(graph: Graph, chance: Chance) -> Iterator[str]:
    """Yield the schema without some of its axioms."""
    for line in schema(graph):
        _, predicate, object_ = _atom(line)
        is_axiom = predicate in _OPTIONAL or object_ in _CHARACTERISTICS
        if not is_axiom or chance.between(1, _AXIOMS) > 1:
            yield line
