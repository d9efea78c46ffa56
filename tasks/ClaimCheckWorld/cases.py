# SPDX-License-Identifier: Apache-2.0
"""Claims about things of a world, with graphs that entail them, contradict them, or do neither.

Entailment is that of OWL 2 RL with the unique name assumption. Under the open world assumption, a
statement or an axiom that is missing from the graph may still be true.

The form of a claim, which is its words without the names of things, is drawn independently of the
verdict. Each form of a level occurs with all three, so that only the graph decides.

A graph describes some things of a world. It lacks some of their statements and some axioms of the
schema, and may state a wider class of a thing than the world does. All that it says is true in the
world.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.api import (
    OWL,
    RDF,
    RDFS,
    Chance,
    Graph,
    Instance,
    Property,
    TaskError,
    World,
    build_graph,
)
from kgbench.reasoning.closure import Closure
from kgbench.reasoning.rules import Atom
from kgbench.worlds.generator import RESOURCE, label, lines, schema
from kgbench.worlds.model import Kind, Model, load_model
from kgbench.worlds.rules import with_article

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
    facts = list(_parsed(line for line in shown if line.split(" ", 2)[1] != _LABEL))
    claimed = list(_parsed(claim))
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


def _parsed(lines_: Iterable[str]) -> Iterator[ox.Triple]:
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


LEVELS: Final = 5
_LINK, _STATED, _RANGE, _TWO_LINKS, _LONG = range(1, LEVELS + 1)
_TRIES: Final = 5_000


class Claim(NamedTuple):
    """A claim in words and as N-Triples, with its verdict and the graph shown with it.

    In ``triples``, ``SOMETHING`` is a thing whose existence is claimed.
    ``graph`` has lines of N-Triples.
    """

    words: str
    triples: tuple[str, ...]
    verdict: str
    graph: tuple[str, ...]


class Form(NamedTuple):
    """What a claim says of its subject.

    The subject, or something that it has as ``first``, has a thing as ``last`` or is of the class
    ``kind``.
    """

    first: Property | None = None
    last: Property | None = None
    kind: Kind | None = None


class _Draft(NamedTuple):
    """A claim about ``subject`` and, if its form has a last link, about ``value``.

    ``described`` are things that the graph describes, ``hidden`` things that it does not.
    """

    subject: Instance
    value: Instance | None
    described: tuple[Instance, ...]
    hidden: tuple[Instance, ...] = ()


def draw_claim(world: World, level: int, number: int, described: int) -> Claim:
    """Draw the claim of a level with a number, and a graph that describes so many things.

    Raises :class:`~kgbench.errors.TaskError` if the world is too small to make one.
    """
    graph = build_graph(world)
    chance = Chance(world.name, "claims", level, number)
    verdict = chance.one(VERDICTS)
    form = chance.one(chance.one(forms(level)))
    return draw_claim_of(graph, level, form, verdict, chance=chance, described=described)


def draw_claim_of(
    graph: Graph, level: int, form: Form, verdict: str, *, chance: Chance, described: int
) -> Claim:
    """Draw a claim of a form of a level, and a graph that gives it a verdict.

    Raises :class:`~kgbench.errors.TaskError` if the world is too small.
    """
    for _ in range(_TRIES):
        draft = _draft(graph, chance, level, form, true=verdict == ENTAILED)
        if draft is None:
            continue
        triples = tuple(_triples(graph, form, draft))
        things = [draft.subject] if draft.value is None else [draft.subject, draft.value]
        shown = draw_graph(
            graph, chance, described, draft.described, named=things, hidden=draft.hidden
        )
        if verdict_on(triples, shown) == verdict:
            return Claim(_words(form, draft), triples, verdict, tuple(shown))
    raise TaskError(
        f"a world of {graph.world.instances} instances gives no claim of level {level}: "
        "ask for more instances"
    )


# Forms


@lru_cache(maxsize=LEVELS)
def forms(level: int) -> tuple[tuple[Form, ...], ...]:
    """Return the forms of the claims of a level in groups; all groups are equally likely."""
    model = load_model()
    links = [prop for prop in model.properties if prop.links and not prop.transitive]
    if level == _LINK:
        return (tuple(Form(last=prop) for prop in links),)
    if level == _STATED:
        return (tuple(Form(kind=kind) for kind in model.kinds.values()),)
    if level == _RANGE:
        implied = {iri: None for prop in links for iri in model.above(prop.range)}
        return (tuple(Form(kind=model.kinds[iri]) for iri in implied),)
    pairs = [(first, last) for first in links for last in model.has(first.range) if last.links]
    if level == _TWO_LINKS:
        return (tuple(Form(first, last) for first, last in pairs if not last.transitive),)
    return (
        tuple(Form(first, last) for first, last in pairs if last.transitive),
        tuple(Form(first, kind=model.kinds[iri]) for first in links for iri in _near(model, first)),
    )


def _near(model: Model, prop: Property) -> dict[str, None]:
    """Return the classes above and below the range of a property."""
    return dict.fromkeys([*model.above(prop.range), *model.below(prop.range)])


# Things


def _draft(graph: Graph, chance: Chance, level: int, form: Form, *, true: bool) -> _Draft | None:
    """Draw the things of a claim of a form; ``None`` if those drawn give no such claim.

    A claim that is to be ``true`` is about things for which it holds in the world.
    """
    if level == _RANGE:
        return _draft_of_range(graph, chance, form, true=true)
    first, last, kind = form
    domain = first.domain if first else last.domain if last else kind.iri if kind else ""
    subject = chance.one(_candidates(graph, chance, domain, right=true))
    node, described = subject, [subject]
    if first is not None:
        targets = subject.links.get(first.iri)
        if targets:
            node = chance.one(targets)
        elif true:
            return None
        if targets and (true or chance.between(1, 4) > 1):
            described.append(node)
    if last is None:
        holds = kind is not None and kind.iri in graph.model.above(node.kind)
        return _Draft(subject, None, tuple(described)) if holds or not true else None
    value = _value(graph, chance, node, last, described, true=true)
    if value is None or value is subject:
        return None
    if chance.between(0, 1):
        described.append(value)
    return _Draft(subject, value, tuple(described))


def _value(
    graph: Graph,
    chance: Chance,
    node: Instance,
    prop: Property,
    described: list[Instance],
    *,
    true: bool,
) -> Instance | None:
    """Draw a thing that ``node`` is claimed to have as ``prop``.

    Of a transitive property it is reached by two links or more, and ``described`` gets the things
    between, if the claim is to be ``true``.
    """
    reached = list(_reached(node, prop))
    if not true and (not reached or chance.between(1, 3) > 1):
        return chance.one(_candidates(graph, chance, prop.range, right=False))
    least = 1 if true and prop.transitive else 0
    if len(reached) <= least:
        return None
    position = chance.between(least, len(reached) - 1)
    if true and prop.transitive:
        described += reached[:position]
    return reached[position]


def _reached(node: Instance, prop: Property) -> list[Instance]:
    """Return the values of a property; of a transitive one, the nearest first."""
    if not prop.transitive:
        return node.links.get(prop.iri, [])
    reached = list[Instance]()
    while above := node.links.get(prop.iri):
        (node,) = above
        reached.append(node)
    return reached


def _draft_of_range(graph: Graph, chance: Chance, form: Form, *, true: bool) -> _Draft | None:
    """Draw a thing that the graph does not describe, and another that links to it."""
    model = graph.model
    props = [prop for prop in model.properties if prop.links and not prop.transitive]
    if true:
        assert form.kind is not None
        props = [prop for prop in props if form.kind.iri in model.above(prop.range)]
    prop = chance.one(props)
    holder = chance.one(graph.instances_of(prop.domain))
    targets = holder.links.get(prop.iri)
    if not targets:
        return None
    subject = chance.one(targets)
    return _Draft(subject, None, (holder,), (subject,))


def _candidates(graph: Graph, chance: Chance, kind: str, *, right: bool) -> list[Instance]:
    """Return the things of a class; unless only they are right, sometimes all things."""
    if right or chance.between(0, 1):
        return graph.instances_of(kind)
    return [instance for leaf in graph.model.populated for instance in graph.instances[leaf]]


# Claims in words and triples


def _words(form: Form, draft: _Draft) -> str:
    subject = draft.subject.label
    if form.last is not None:
        assert draft.value is not None
        link = f"has {draft.value.label} as {form.last.label}"
    else:
        assert form.kind is not None
        link = f"is {with_article(form.kind.label)}"
    if form.first is None:
        return f"{subject} {link}."
    return f"{subject} has as {form.first.label} something that {link}."


def _triples(graph: Graph, form: Form, draft: _Draft) -> Iterator[str]:
    node = f"<{draft.subject.iri}>"
    if form.first is not None:
        yield f"{node} <{graph.terms[form.first.iri]}> {SOMETHING} ."
        node = SOMETHING
    if form.last is not None:
        assert draft.value is not None
        yield f"{node} <{graph.terms[form.last.iri]}> <{draft.value.iri}> ."
    if form.kind is not None:
        yield f"{node} <{RDF.type}> <{graph.terms[form.kind.iri]}> ."
