# SPDX-License-Identifier: Apache-2.0
"""Claims about a part of a world, which entails them, contradicts them, or does neither.

Entailment is that of OWL 2 RL with the unique name assumption. Under the open world assumption, a
statement that is missing from the part may still be true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from kgbench.errors import TaskError
from kgbench.vocab import RDF
from kgbench.worlds.generator import Graph, Instance, World, build_graph, label, lines
from kgbench.worlds.model import Kind, Property
from kgbench.worlds.naming import Chance

ENTAILED, CONTRADICTED, UNKNOWN = VERDICTS = ("entailed", "contradicted", "unknown")
LEVELS: Final = 5
_TRIES: Final = 5_000
_FOCUS: Final = 4  # starting points; a claim may be about them or things near them


class Claim(NamedTuple):
    """A claim in words and as N-Triples, with its verdict and the part of the world shown with it.

    In ``triples``, ``_:some`` is a thing whose existence is claimed. ``graph`` is that part without
    its schema, as lines of N-Triples.
    """

    words: str
    triples: tuple[str, ...]
    verdict: str
    graph: tuple[str, ...]


class Part(NamedTuple):
    """The instances of a graph whose triples are all shown."""

    graph: Graph
    members: tuple[Instance, ...]
    chance: Chance

    def shows(self, instance: Instance) -> bool:
        """Return whether the triples about a thing are shown."""
        return any(instance is member for member in self.members)

    def links(self, *, single: bool | None = None) -> Iterator[tuple[Instance, Property]]:
        """Yield shown things with properties that can link them to others, in random order.

        ``single`` selects properties with at most one value (true) or with several (false).
        """
        pairs = [
            (instance, prop)
            for instance in self.members
            for prop in self.graph.model.has(instance.kind)
            if prop.links and not prop.transitive and single in {None, prop.max_count == 1}
        ]
        yield from self.chance.shuffled(pairs)

    def other(self, kind: str, but: list[Instance]) -> Instance:
        """Draw a thing of a class that is not in ``but``."""
        candidates = [
            instance
            for instance in self.graph.instances_of(kind)
            if all(instance is not excluded for excluded in but)
        ]
        return self.chance.one(candidates)


ClaimParts = tuple[str, tuple[str, ...]] | None
"""A claim in words and triples, or ``None`` if none could be drawn."""
ClaimDrawer = Callable[[Part, str], ClaimParts]


def draw_claim(world: World, level: int, number: int, members: int) -> Claim:
    """Draw the claim of a level with a number, about a part with ``members`` things of a world.

    Raises :class:`~kgbench.errors.TaskError` if the world is too small to make one.
    """
    graph = build_graph(world)
    chance = Chance(world.name, "claims", level, number)
    verdict = chance.one(VERDICTS)
    all_instances = [
        instance for kind in graph.model.populated for instance in graph.instances[kind]
    ]
    for _ in range(_TRIES):
        focus = chance.some(all_instances, _FOCUS)
        near = [
            target
            for instance in focus
            for targets in instance.links.values()
            for target in targets
        ]
        above = [
            target for instance in near for targets in instance.links.values() for target in targets
        ]
        others = chance.some(all_instances, members)
        # Leave out some of the neighbours, so that the graph is incomplete.
        chosen = [*focus, *chance.some(near, 3 * len(near) // 4), *above[:2], *others]
        unique = list({instance.iri: instance for instance in chosen}.values())[:members]
        part = Part(graph, tuple(chance.shuffled(unique)), chance)
        words_and_triples = _DRAWINGS[level](part, verdict)
        if words_and_triples is not None:
            words, triples = words_and_triples
            return Claim(words, triples, verdict, tuple(_visible_triples(part, triples)))
    raise TaskError(
        f"a world of {world.instances} instances gives no claim of level {level}: ask for more"
    )


def _visible_triples(part: Part, claim: tuple[str, ...]) -> Iterator[str]:
    """Yield all triples about the members, and the names of the other things that occur in them."""
    member_lines = [line for instance in part.members for line in lines(part.graph, instance)]
    yield from member_lines
    terms = {term for line in (*member_lines, *claim) for term in line.split(" ")}
    for kind in part.graph.model.populated:
        for instance in part.graph.instances[kind]:
            if f"<{instance.iri}>" in terms and not part.shows(instance):
                yield label(instance)


# Ways to draw claims


def _fact(part: Part, verdict: str) -> ClaimParts:
    """Claim that a thing links to another by a property."""
    single = True if verdict == CONTRADICTED else None
    for instance, prop in part.links(single=single):
        values = instance.links.get(prop.iri, [])
        if verdict == ENTAILED and values:
            return _link(part, instance, prop, part.chance.one(values))
        if verdict == CONTRADICTED and values:
            return _link(part, instance, prop, part.other(prop.range, [instance, *values]))
        if verdict == UNKNOWN and (prop.max_count > 1 or not values):
            return _link(part, instance, prop, part.other(prop.range, [instance, *values]))
    return None


def _kind(part: Part, verdict: str) -> ClaimParts:
    """Claim that a thing, shown or linked from a shown one, has a class."""
    if verdict == UNKNOWN:
        return _range(part, verdict)
    model = part.graph.model
    instance = part.chance.one(part.members)
    above = list(model.above(instance.kind))
    chosen = above[1:] if verdict == ENTAILED else _disjoint(part, instance.kind)
    return _typed(part, instance, model.kinds[part.chance.one(chosen)]) if chosen else None


def _range(part: Part, verdict: str) -> ClaimParts:
    """Claim a class that follows from, or clashes with, the range of a shown link."""
    model = part.graph.model
    for instance, prop in part.links():
        for target in instance.links.get(prop.iri, []):
            if part.shows(target):
                continue
            below = [iri for iri in model.below(prop.range) if iri != prop.range]
            chosen = {
                ENTAILED: list(model.above(prop.range)),
                CONTRADICTED: _disjoint(part, prop.range),
                UNKNOWN: below,
            }[verdict]
            # Ranges of other shown links to the thing may imply more.
            known = _ranges(part, target)
            if verdict == UNKNOWN:
                chosen = [k for k in chosen if all(_is_open(part, k, other) for other in known)]
            if chosen:
                return _typed(part, target, model.kinds[part.chance.one(chosen)])
    return None


def _two_steps(part: Part, verdict: str) -> ClaimParts:
    """Claim that a thing links to something that links to another thing."""
    for instance, prop in part.links(single=True):
        for target in instance.links.get(prop.iri, []):
            others = [p for p in part.graph.model.has(prop.range) if p.links and not p.transitive]
            for second in part.chance.shuffled(others):
                values = target.links.get(second.iri, []) if part.shows(target) else []
                if verdict == ENTAILED and values:
                    return _two_links(part, instance, prop, second, part.chance.one(values))
                if verdict == CONTRADICTED and values and second.max_count == 1:
                    wrong = part.other(second.range, [target, *values])
                    return _two_links(part, instance, prop, second, wrong)
                if verdict == UNKNOWN and (not values or second.max_count > 1):
                    wrong = part.other(second.range, [target, *values])
                    return _two_links(part, instance, prop, second, wrong)
    return None


def _transitive(part: Part, verdict: str) -> ClaimParts:
    """Claim that a link target is transitively linked to a thing, or that it has a class."""
    if verdict == CONTRADICTED:
        for instance, prop in part.links(single=True):
            if instance.links.get(prop.iri):
                kinds = part.graph.model.kinds
                return _some_typed(
                    part, instance, prop, kinds[part.chance.one(_disjoint(part, prop.range))]
                )
        return None
    for instance, prop in part.links():
        for target in instance.links.get(prop.iri, []):
            for step in part.graph.model.has(prop.range):
                if not step.transitive:
                    continue
                chain = list(_chain(part, target, step))
                if verdict == ENTAILED and len(chain) > 1:
                    return _two_links(part, instance, prop, step, chain[-1])
                if verdict == UNKNOWN:
                    return _two_links(
                        part, instance, prop, step, part.other(step.range, [target, *chain])
                    )
    return None


_DRAWINGS: Final[dict[int, ClaimDrawer]] = {
    1: _fact,
    2: _kind,
    3: _range,
    4: _two_steps,
    5: _transitive,
}


def _chain(part: Part, start: Instance, step: Property) -> Iterator[Instance]:
    """Yield the things that a thing reaches by a transitive property over shown things."""
    current = start
    while part.shows(current) and (above := current.links.get(step.iri)):
        (current,) = above
        yield current


def _ranges(part: Part, target: Instance) -> set[str]:
    """Return the classes of a thing that follow from the ranges of links to it."""
    return {
        prop.range
        for instance in part.members
        for prop in part.graph.model.has(instance.kind)
        if any(target is value for value in instance.links.get(prop.iri, ()))
    }


def _is_open(part: Part, kind: str, known: str) -> bool:
    """Return whether a thing of the class ``known`` may, but need not, be of the class ``kind``."""
    model = part.graph.model
    return kind not in model.above(known) and kind not in _disjoint(part, known)


def _disjoint(part: Part, kind: str) -> list[str]:
    """Return the classes that are disjoint with a class."""
    kinds = part.graph.model.kinds
    result = []
    for iri in kinds:
        pairs = [(a, b) for a in part.graph.model.above(kind) for b in part.graph.model.above(iri)]
        if any(b in kinds[a].disjoint or a in kinds[b].disjoint for a, b in pairs):
            result.append(iri)
    return result


# Claims in words and triples


def _link(part: Part, instance: Instance, prop: Property, target: Instance) -> ClaimParts:
    words = f"{instance.label} has {target.label} as {prop.label}."
    return words, (f"<{instance.iri}> <{part.graph.terms[prop.iri]}> <{target.iri}> .",)


def _typed(part: Part, instance: Instance, kind: Kind) -> ClaimParts:
    article = "an" if kind.label[0] in "aeiou" else "a"
    return f"{instance.label} is {article} {kind.label}.", (_type(part, f"<{instance.iri}>", kind),)


def _two_links(
    part: Part, instance: Instance, first: Property, second: Property, last: Instance
) -> ClaimParts:
    words = (
        f"{instance.label} has as {first.label} something that has {last.label} as {second.label}."
    )
    terms = part.graph.terms
    return words, (
        f"<{instance.iri}> <{terms[first.iri]}> _:some .",
        f"_:some <{terms[second.iri]}> <{last.iri}> .",
    )


def _some_typed(part: Part, instance: Instance, prop: Property, kind: Kind) -> ClaimParts:
    article = "an" if kind.label[0] in "aeiou" else "a"
    words = f"{instance.label} has as {prop.label} something that is {article} {kind.label}."
    link = f"<{instance.iri}> <{part.graph.terms[prop.iri]}> _:some ."
    return words, (link, _type(part, "_:some", kind))


def _type(part: Part, node: str, kind: Kind) -> str:
    return f"{node} <{RDF.type}> <{part.graph.terms[kind.iri]}> ."
