# SPDX-License-Identifier: Apache-2.0
"""Changes to a scene that only trial graphs for shapes have: odd values, other classes, strangers.

As in :mod:`kgbench.worlds.scene_changes`, a SHACL engine decides what a change breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

import pyoxigraph as ox

from kgbench.vocab import RDFS, XSD
from kgbench.worlds.generator import RESOURCE
from kgbench.worlds.model import Model, Property
from kgbench.worlds.naming import Chance
from kgbench.worlds.scene_changes import (
    Change,
    ThingChange,
    Value,
    giving,
    renamed,
    somewhere,
)
from kgbench.worlds.scenes import TYPE, Edit, Scene

UNKNOWN: Final = ox.NamedNode(f"{RESOURCE}Unknown")
"""A thing that has no class."""
_SHORT: Final = ox.NamedNode("URN:unknown")  # as short as names, and with a capital letter
_BLANK: Final = ox.BlankNode("unknown")
_ABOVE: Final = ox.NamedNode(RDFS.subClassOf)
_OF_TYPES: Final = {
    XSD.string: ("text", "12"),
    XSD.integer: ("12",),
    XSD.decimal: ("12.0", "12.5"),
    XSD.date: ("2001-02-03",),
    XSD.dateTime: ("2001-02-03T00:00:00",),
}
Things = Callable[[Scene], Sequence[ox.NamedNode]]


def odd_values(other_than: str = "") -> list[Value]:
    """Return an IRI, a blank node and literals, none of them of the datatype ``other_than``."""
    literals = [
        ox.Literal(text, datatype=ox.NamedNode(datatype))
        for datatype, texts in _OF_TYPES.items()
        for text in texts
        if datatype != other_than
    ]
    return [UNKNOWN, _BLANK, *literals, ox.Literal("texte", language="fr")]


def texts_in(*tags: str) -> list[Value]:
    """Return a text in each of some languages."""
    return [ox.Literal("text", language=tag) for tag in tags]


def with_each(kind: str, prop: Property, values: Iterable[Value]) -> list[Change]:
    """Return changes that each replace a value of a thing by a term, or add the term."""

    def with_term(value: Value) -> ThingChange:
        def of(scene: Scene, chance: Chance, thing: ox.NamedNode) -> Edit | None:
            predicate = scene.graph.terms[prop.iri]
            triples = scene.triples_of(thing, predicate)
            if any(triple.object == value for triple in triples):
                return None
            removed = (chance.one(triples),) if triples else ()
            return Edit(removed, (ox.Triple(thing, ox.NamedNode(predicate), value),))

        return of

    return [somewhere(kind, with_term(value)) for value in values]


def with_terms(kind: str, prop: Property, values: Sequence[Value]) -> Change:
    """Replace all values of a thing by terms."""

    def of(scene: Scene, _: Chance, thing: ox.NamedNode) -> Edit:
        predicate = scene.graph.terms[prop.iri]
        path = ox.NamedNode(predicate)
        added = tuple(ox.Triple(thing, path, value) for value in values)
        return Edit(tuple(scene.triples_of(thing, predicate)), added)

    return somewhere(kind, of)


def free_values(kind: str, path: str, range_: str | None) -> Iterator[Change]:
    """Yield changes of the values of a predicate: none, two more, a blank node, an IRI."""
    predicate = ox.NamedNode(path)

    def none(scene: Scene, _: Chance, thing: ox.NamedNode) -> Edit:
        return Edit(tuple(scene.triples_of(thing, path)))

    def more(scene: Scene, _: Chance, thing: ox.NamedNode) -> Edit:
        known = {triple.object for triple in scene.triples if triple.predicate == predicate}
        known -= {triple.object for triple in scene.triples_of(thing, path)}
        added = (ox.Triple(thing, predicate, value) for value in sorted(known, key=str)[:2])
        return Edit(added=tuple(added))

    def blank(scene: Scene, _: Chance, thing: ox.NamedNode) -> Edit:
        kinds = () if range_ is None else (ox.Triple(_BLANK, TYPE, ox.NamedNode(range_)),)
        added = (ox.Triple(thing, predicate, _BLANK), *kinds)
        return Edit(tuple(scene.triples_of(thing, path)), added)

    def unknown(scene: Scene, _: Chance, thing: ox.NamedNode) -> Edit:
        added = (ox.Triple(thing, predicate, _SHORT),)
        return Edit(tuple(scene.triples_of(thing, path)), added)

    yield from (somewhere(kind, change) for change in (none, more, blank, unknown))


def having(kind: str, some: Sequence[Property], none: Sequence[Property]) -> Change:
    """Give a thing values of the properties ``some``, and no values of the properties ``none``."""
    of = giving(some, none)

    def change(scene: Scene, chance: Chance) -> Edit | None:
        things = chance.shuffled(scene.instances_of(kind))
        edits = [edit for thing in things if (edit := of(scene, chance, thing)) is not None]
        return max(edits, key=Edit().__ne__, default=None)  # rather one that changes something

    return change


def one_in(kind: str, prop: Property, cls: str) -> Change:
    """Give a thing one link target of a class, and one of no class."""

    def of(scene: Scene, chance: Chance, thing: ox.NamedNode) -> Edit | None:
        targets = [target for target in scene.instances_of(cls) if target != thing]
        if not targets:
            return None
        path = ox.NamedNode(scene.graph.terms[prop.iri])
        added = (ox.Triple(thing, path, end) for end in (chance.one(targets), UNKNOWN))
        return Edit(tuple(scene.triples_of(thing, path.value)), tuple(added))

    return somewhere(kind, of)


def values_of(kind: str, prop: Property) -> Things:
    """Return a function that lists the values of a property of the things of a class."""

    def things(scene: Scene) -> list[ox.NamedNode]:
        path = scene.graph.terms[prop.iri]
        return [
            triple.object
            for thing in scene.instances_of(kind)
            for triple in scene.triples_of(thing, path)
            if isinstance(triple.object, ox.NamedNode)
        ]

    return things


def ends_of(prop: Property, *, subjects: bool) -> Things:
    """Return a function that lists the subjects or the values of a property."""

    def things(scene: Scene) -> list[ox.NamedNode]:
        path = scene.graph.terms[prop.iri]
        links = [triple for triple in scene.triples if triple.predicate.value == path]
        ends = [triple.subject if subjects else triple.object for triple in links]
        return [end for end in ends if isinstance(end, ox.NamedNode)]

    return things


def of_class(things: Things, cls: str | None) -> Change:
    """Move one of some things to a class of the model, unless one is there, or to no class."""

    def change(scene: Scene, chance: Chance) -> Edit | None:
        kind = None if cls is None else ox.NamedNode(scene.graph.terms[cls])
        typed = [one for thing in things(scene) for one in scene.triples_of(thing, TYPE.value)]
        if not typed or any(triple.object == kind for triple in typed):
            return Edit() if typed else None
        old = chance.one(typed)
        return Edit((old,), () if kind is None else (ox.Triple(old.subject, TYPE, kind),))

    return change


def of_new_class(things: Things, parent: str) -> Change:
    """Move one of some things to a new class below another."""

    def change(scene: Scene, chance: Chance) -> Edit | None:
        typed = [one for thing in things(scene) for one in scene.triples_of(thing, TYPE.value)]
        if not typed:
            return None
        old, above = chance.one(typed), ox.NamedNode(scene.graph.terms[parent])
        below = ox.NamedNode(f"{above.value}_Unknown")
        return Edit((old,), (ox.Triple(below, _ABOVE, above), ox.Triple(old.subject, TYPE, below)))

    return change


def _then(first: Change, second: Callable[[Things], Change]) -> Change:
    """Make a change, and another one of the things that it links to."""

    def change(scene: Scene, chance: Chance) -> Edit | None:
        edit = first(scene, chance)
        if edit is None:
            return None
        ends = [one.object for one in edit.added if isinstance(one.object, ox.NamedNode)]
        more = second(lambda _: ends)(scene.changed(edit), chance)
        if more is None:
            return None
        return Edit((*edit.removed, *more.removed), (*edit.added, *more.added))

    return change


def of_classes(
    model: Model, cls: str, things: Things | None = None, first: Change | None = None
) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """Return changes that move things to other classes, and to a class or one below it.

    The other classes are the one above, its other subclasses and none. Instead of ``things``,
    those that a change links to may be moved, which is made ``first``.
    """

    def moved(move: Callable[..., Change], to: str | None) -> Change:
        if first is None:
            assert things is not None
            return move(things, to)
        return _then(first, lambda ends: move(ends, to))

    inside = [cls, *(below for below in model.below(cls) if below != cls)]
    parent = model.kinds[cls].parent
    siblings = [] if parent is None else [parent, *model.below(parent)]
    outside = [other for other in siblings if other not in inside]
    others = [moved(of_class, other) for other in (*outside, None)]
    same = [*(moved(of_class, below) for below in inside), moved(of_new_class, cls)]
    return tuple(others), tuple(same)


def strangers(prop: Property, number: int = 0) -> Change:
    """Link things of no class: to a thing of the range ``number`` times, or to one another."""

    def change(scene: Scene, chance: Chance) -> Edit | None:
        path = ox.NamedNode(scene.graph.terms[prop.iri])
        if not number:
            return Edit(added=(ox.Triple(UNKNOWN, path, ox.NamedNode(f"{UNKNOWN.value}_2")),))
        for target in chance.shuffled(scene.instances_of(prop.range)):
            links = sum(one.predicate == path and one.object == target for one in scene.triples)
            if links <= number:
                nodes = (ox.NamedNode(f"{UNKNOWN.value}_{n}") for n in range(links, number))
                return Edit(added=tuple(ox.Triple(node, path, target) for node in nodes))
        return None

    return change


def beginning_with(kind: str, letter: str) -> Change:
    """Replace the first letter of a name; a capital follows later."""

    def of(scene: Scene, _: Chance, thing: ox.NamedNode) -> Edit:
        (triple,) = scene.triples_of(thing, RDFS.label)
        return renamed(triple, f"{letter}{triple.object.value[1:]} A")  # type: ignore[union-attr]

    return somewhere(kind, of)


def anything(scene: Scene, kinds: Sequence[str], fits: Callable[[Scene], bool]) -> Scene:
    """Give one thing of each class odd values of every property, as far as the result fits."""
    model, paths = scene.graph.model, scene.graph.terms
    predicates = [*(paths[prop.iri] for prop in model.properties), RDFS.label]
    for kind in kinds:
        for thing in islice(scene.instances_of(kind), 1):
            for predicate in predicates:
                path = ox.NamedNode(predicate)
                added = [ox.Triple(thing, path, value) for value in odd_values()]
                for edit in (Edit(added=tuple(added)), *(Edit(added=(one,)) for one in added)):
                    changed = scene.changed(edit)
                    if fits(changed):
                        scene = changed
                        if len(edit.added) > 1:
                            break
    return scene


def nothing(scene: Scene, kinds: Sequence[str], fits: Callable[[Scene], bool]) -> Scene:
    """Take all values from one thing of each class, as far as the result fits."""
    for kind in kinds:
        for thing in scene.instances_of(kind)[-1:]:
            about = [t.predicate.value for t in scene.triples if t.subject == thing]
            for predicate in dict.fromkeys(about):
                triples = scene.triples_of(thing, predicate)
                for edit in (Edit(tuple(triples)), Edit(tuple(triples[1:]))):
                    if predicate != TYPE.value and fits(scene.changed(edit)):
                        scene = scene.changed(edit)
                        break
    return scene
