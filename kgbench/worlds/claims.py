# SPDX-License-Identifier: Apache-2.0
"""Claims about a part of a world: entailed by it, contradicted by it, or neither.

What follows is fixed: OWL 2 RL, with names that differ meaning different things. What the part does
not say may be true all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from kgbench.errors import TaskError
from kgbench.vocab import RDF
from kgbench.worlds.generator import Graph, Instance, World, label, lines, made
from kgbench.worlds.model import Kind, Property
from kgbench.worlds.naming import Chance

ENTAILED, CONTRADICTED, UNKNOWN = VERDICTS = ("entailed", "contradicted", "unknown")
LEVELS: Final = 5
_TRIES: Final = 5_000
_FOCUS: Final = 4  # things that a claim may be about, with what they lead to


class Claim(NamedTuple):
    """A claim in words and as N-Triples, with the verdict on it and the part that is shown.

    In ``triples``, ``_:some`` is a thing that the claim says there is. ``shown`` is the graph
    without its schema, as lines of N-Triples.
    """

    words: str
    triples: tuple[str, ...]
    verdict: str
    shown: tuple[str, ...]


class Part(NamedTuple):
    """The instances of a graph that are shown with all that is said of them."""

    graph: Graph
    members: tuple[Instance, ...]
    chance: Chance

    def shows(self, one: Instance) -> bool:
        """Return whether what is said of a thing is shown."""
        return any(one is member for member in self.members)

    def links(self, *, single: bool | None = None) -> Iterator[tuple[Instance, Property]]:
        """Things that are shown and properties that they could link by, in the order of chance.

        ``single`` asks for properties with at most one value, or with several.
        """
        pairs = [
            (one, each)
            for one in self.members
            for each in self.graph.model.has(one.kind)
            if each.links and not each.transitive and single in {None, each.most == 1}
        ]
        yield from self.chance.shuffled(pairs)

    def other(self, kind: str, but: list[Instance]) -> Instance:
        """Return a thing of a class that is none of ``but``."""
        among = [one for one in self.graph.of(kind) if all(one is not each for each in but)]
        return self.chance.one(among)


Made = tuple[str, tuple[str, ...]] | None
"""A claim in words and triples, where one could be drawn."""
Drawing = Callable[[Part, str], Made]


def drawn(world: World, level: int, number: int, members: int) -> Claim:
    """Return the claim of a level with a number, about ``members`` things of a world.

    Raises :class:`~kgbench.errors.TaskError` if the world is too small to make one.
    """
    graph = made(world)
    chance = Chance(world.name, "claims", level, number)
    verdict = chance.one(VERDICTS)
    everything = [one for kind in graph.model.populated for one in graph.instances[kind]]
    for _ in range(_TRIES):
        focus = chance.some(everything, _FOCUS)
        near = [target for one in focus for each in one.links.values() for target in each]
        above = [target for one in near for each in one.links.values() for target in each]
        rest = chance.some(everything, members)
        # Some of what is near is left out, so that the graph does not say all.
        chosen = [*focus, *chance.some(near, 3 * len(near) // 4), *above[:2], *rest]
        unique = list({one.iri: one for one in chosen}.values())[:members]
        part = Part(graph, tuple(chance.shuffled(unique)), chance)
        found = _DRAWINGS[level](part, verdict)
        if found is not None:
            words, triples = found
            return Claim(words, triples, verdict, tuple(_shown(part, triples)))
    raise TaskError(
        f"a world of {world.instances} instances gives no claim of level {level}: ask for more"
    )


def _shown(part: Part, claim: tuple[str, ...]) -> Iterator[str]:
    """Yield what is shown: all of the members, and the names of everything else that is met."""
    said = [line for one in part.members for line in lines(part.graph, one)]
    yield from said
    met = {one for line in (*said, *claim) for one in line.split(" ")}
    for kind in part.graph.model.populated:
        for one in part.graph.instances[kind]:
            if f"<{one.iri}>" in met and not part.shows(one):
                yield label(one)


# What claims are drawn by


def _fact(part: Part, verdict: str) -> Made:
    """Return a thing has another as value of a property."""
    single = True if verdict == CONTRADICTED else None
    for one, each in part.links(single=single):
        values = one.links.get(each.iri, [])
        if verdict == ENTAILED and values:
            return _link(part, one, each, part.chance.one(values))
        if verdict == CONTRADICTED and values:
            return _link(part, one, each, part.other(each.range, [one, *values]))
        if verdict == UNKNOWN and (each.most > 1 or not values):
            return _link(part, one, each, part.other(each.range, [one, *values]))
    return None


def _kind(part: Part, verdict: str) -> Made:
    """Return a thing that is shown, or that something shown leads to, has a class."""
    if verdict == UNKNOWN:
        return _range(part, verdict)
    model = part.graph.model
    one = part.chance.one(part.members)
    above = list(model.above(one.kind))
    chosen = above[1:] if verdict == ENTAILED else _disjoint(part, one.kind)
    return _typed(part, one, model.kinds[part.chance.one(chosen)]) if chosen else None


def _range(part: Part, verdict: str) -> Made:
    """Return a thing of which only a link is shown has a class: from the range of the property."""
    model = part.graph.model
    for one, each in part.links():
        for target in one.links.get(each.iri, []):
            if part.shows(target):
                continue
            below = [iri for iri in model.below(each.range) if iri != each.range]
            chosen = {
                ENTAILED: list(model.above(each.range)),
                CONTRADICTED: _disjoint(part, each.range),
                UNKNOWN: below,
            }[verdict]
            # Other links to it that are shown may say more.
            known = _ranges(part, target)
            if verdict == UNKNOWN:
                chosen = [k for k in chosen if all(_open(part, k, other) for other in known)]
            if chosen:
                return _typed(part, target, model.kinds[part.chance.one(chosen)])
    return None


def _steps(part: Part, verdict: str) -> Made:
    """Return a thing has a value that has another as value of a property."""
    for one, each in part.links(single=True):
        for target in one.links.get(each.iri, []):
            others = [p for p in part.graph.model.has(each.range) if p.links and not p.transitive]
            for other in part.chance.shuffled(others):
                values = target.links.get(other.iri, []) if part.shows(target) else []
                if verdict == ENTAILED and values:
                    return _second(part, one, each, other, part.chance.one(values))
                if verdict == CONTRADICTED and values and other.most == 1:
                    wrong = part.other(other.range, [target, *values])
                    return _second(part, one, each, other, wrong)
                if verdict == UNKNOWN and (not values or other.most > 1):
                    wrong = part.other(other.range, [target, *values])
                    return _second(part, one, each, other, wrong)
    return None


def _over(part: Part, verdict: str) -> Made:
    """Return a thing has a value that lies, over others, in another; or that has a class."""
    if verdict == CONTRADICTED:
        for one, each in part.links(single=True):
            if one.links.get(each.iri):
                kinds = part.graph.model.kinds
                return _some_typed(
                    part, one, each, kinds[part.chance.one(_disjoint(part, each.range))]
                )
        return None
    for one, each in part.links():
        for target in one.links.get(each.iri, []):
            for step in part.graph.model.has(each.range):
                if not step.transitive:
                    continue
                chain = list(_chain(part, target, step))
                if verdict == ENTAILED and len(chain) > 1:
                    return _second(part, one, each, step, chain[-1])
                if verdict == UNKNOWN:
                    return _second(part, one, each, step, part.other(step.range, [target, *chain]))
    return None


_DRAWINGS: Final[dict[int, Drawing]] = {1: _fact, 2: _kind, 3: _range, 4: _steps, 5: _over}


def _chain(part: Part, start: Instance, step: Property) -> Iterator[Instance]:
    """Yield what a thing leads to by a transitive property, as far as that is shown."""
    at = start
    while part.shows(at) and (above := at.links.get(step.iri)):
        (at,) = above
        yield at


def _ranges(part: Part, target: Instance) -> set[str]:
    """Return the classes that links to a thing say it has."""
    return {
        each.range
        for one in part.members
        for each in part.graph.model.has(one.kind)
        if any(target is value for value in one.links.get(each.iri, ()))
    }


def _open(part: Part, kind: str, known: str) -> bool:
    """Return whether a thing of the class ``known`` may or may not be of ``kind``."""
    model = part.graph.model
    return kind not in model.above(known) and kind not in _disjoint(part, known)


def _disjoint(part: Part, kind: str) -> list[str]:
    """Return the classes that share nothing with a class."""
    kinds = part.graph.model.kinds
    found = []
    for iri in kinds:
        pairs = [(a, b) for a in part.graph.model.above(kind) for b in part.graph.model.above(iri)]
        if any(b in kinds[a].disjoint or a in kinds[b].disjoint for a, b in pairs):
            found.append(iri)
    return found


# Claims in words and triples


def _link(part: Part, one: Instance, each: Property, target: Instance) -> Made:
    words = f"{one.label} has {target.label} as {each.label}."
    return words, (f"<{one.iri}> <{part.graph.terms[each.iri]}> <{target.iri}> .",)


def _typed(part: Part, one: Instance, kind: Kind) -> Made:
    article = "an" if kind.label[0] in "aeiou" else "a"
    return f"{one.label} is {article} {kind.label}.", (_type(part, f"<{one.iri}>", kind),)


def _second(part: Part, one: Instance, each: Property, other: Property, last: Instance) -> Made:
    words = f"{one.label} has as {each.label} something that has {last.label} as {other.label}."
    terms = part.graph.terms
    return words, (
        f"<{one.iri}> <{terms[each.iri]}> _:some .",
        f"_:some <{terms[other.iri]}> <{last.iri}> .",
    )


def _some_typed(part: Part, one: Instance, each: Property, kind: Kind) -> Made:
    article = "an" if kind.label[0] in "aeiou" else "a"
    words = f"{one.label} has as {each.label} something that is {article} {kind.label}."
    link = f"<{one.iri}> <{part.graph.terms[each.iri]}> _:some ."
    return words, (link, _type(part, "_:some", kind))


def _type(part: Part, node: str, kind: Kind) -> str:
    return f"{node} <{RDF.type}> <{part.graph.terms[kind.iri]}> ."
