# SPDX-License-Identifier: Apache-2.0
"""Changes to a scene that break a rule, or that only just keep to it.

Each public function returns a change: a function from a scene and random draws to an edit, or to
``None`` if the scene does not allow the change. A SHACL engine decides whether the edit has the
intended effect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, TypeAlias

import pyoxigraph as ox

from kgbench.vocab import RDF, XSD
from kgbench.worlds.generator import LANGUAGES, literal
from kgbench.worlds.model import Property
from kgbench.worlds.naming import Chance, word
from kgbench.worlds.scenes import LABEL, Edit, Scene

Change: TypeAlias = Callable[[Scene, Chance], Edit | None]
ThingChange: TypeAlias = Callable[[Scene, Chance, ox.NamedNode], Edit | None]
Value: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal

_DECIMAL: Final = ox.NamedNode(XSD.decimal)


def somewhere(kind: str, of: ThingChange) -> Change:
    """Change a random thing of a class that allows the change."""

    def change(scene: Scene, chance: Chance) -> Edit | None:
        for thing in chance.shuffled(scene.instances_of(kind)):
            edit = of(scene, chance, thing)
            if edit is not None and edit != Edit():
                return edit
        return None

    return change


def resized_to(kind: str, prop: Property, number: int) -> Change:
    """Add or remove values until there are ``number``."""
    return somewhere(
        kind, lambda scene, chance, thing: resized_values(scene, chance, thing, prop, number)
    )


def of_another_type(kind: str, prop: Property) -> Change:
    """Replace a value by the same text with another datatype."""

    def of(_: Scene, chance: Chance, triple: ox.Triple) -> Value:
        text = triple.object.value  # type: ignore[union-attr]
        if prop.range == XSD.integer and chance.between(0, 1):
            return ox.Literal(f"{text}.0", datatype=_DECIMAL)
        return ox.Literal(text)

    return _replaced(kind, prop, of)


def of_another_class(kind: str, prop: Property) -> Change:
    """Replace a link target by something outside the range."""

    def of(scene: Scene, chance: Chance, _: ox.Triple) -> Value | None:
        targets = set(scene.instances_of(prop.range))
        populated = scene.graph.model.populated
        wrong = [
            thing
            for leaf in populated
            for thing in scene.instances_of(leaf)
            if thing not in targets
        ]
        return chance.one(wrong) if wrong else None

    return _replaced(kind, prop, of)


def other_value(kind: str, prop: Property) -> Change:
    """Replace a link target by something else of the range."""

    def of(scene: Scene, chance: Chance, triple: ox.Triple) -> Value | None:
        others = [
            thing
            for thing in scene.instances_of(prop.range)
            if thing not in (triple.object, triple.subject)
        ]
        return chance.one(others) if others else None

    return _replaced(kind, prop, of)


def with_value(kind: str, prop: Property, number: int) -> Change:
    """Replace a value by a given number or date."""
    return _replaced(kind, prop, lambda _, __, ___: _literal(prop, number))


def in_language(kind: str, prop: Property, tag: str) -> Change:
    """Replace the language tag of a text."""
    return _replaced(kind, prop, lambda _, __, triple: _text_in(triple.object.value, tag))  # type: ignore[union-attr]


def named_in_words(kind: str, prop: Property) -> Change:
    """Replace a link target by its name as a literal."""

    def of(scene: Scene, _: Chance, triple: ox.Triple) -> Value | None:
        names = scene.triples_of(triple.object, LABEL.value)  # type: ignore[arg-type]
        return ox.Literal(names[0].object.value) if names else None  # type: ignore[union-attr]

    return _replaced(kind, prop, of)


def same_language(kind: str, prop: Property) -> Change:
    """Add a second text in the same language."""

    def of(scene: Scene, chance: Chance, thing: ox.NamedNode) -> Edit | None:
        triples = scene.triples_of(thing, scene.graph.terms[prop.iri])
        if not triples:
            return None
        other = f"{word(chance)} {word(chance)}".lower()
        tag = triples[0].object.language  # type: ignore[union-attr]
        return Edit(added=(ox.Triple(thing, triples[0].predicate, _text_in(other, tag or "en")),))

    return somewhere(kind, of)


def resized(number: int) -> ThingChange:
    """Lengthen or shorten the name to ``number`` characters."""

    def of(scene: Scene, chance: Chance, thing: ox.NamedNode) -> Edit | None:
        (triple,) = scene.triples_of(thing, LABEL.value)
        text = triple.object.value  # type: ignore[union-attr]
        while len(text) < number:
            text += f" {word(chance)}"
        text = text[:number]
        return None if text.endswith(" ") else renamed(triple, text)

    return of


def uncapitalised(scene: Scene, chance: Chance, thing: ox.NamedNode) -> Edit:  # noqa: ARG001
    """Make the first letter of the name lower case."""
    (triple,) = scene.triples_of(thing, LABEL.value)
    text = triple.object.value  # type: ignore[union-attr]
    return renamed(triple, text[0].lower() + text[1:])


def foreign_property(kind: str) -> Change:
    """Add a value of a property that the class does not have."""

    def of(scene: Scene, chance: Chance, thing: ox.NamedNode) -> Edit | None:
        model = scene.graph.model
        own = {prop.iri for prop in model.has(kind)}
        strange = [prop for prop in model.properties if prop.iri not in own and not prop.links]
        return resized_values(scene, chance, thing, chance.one(strange), 1)

    return somewhere(kind, of)


def strange_subject(prop: Property) -> Change:
    """Add a value of the property to something outside its domain."""

    def change(scene: Scene, chance: Chance) -> Edit | None:
        model = scene.graph.model
        right = set(model.below(prop.domain))
        leaves = chance.shuffled([leaf for leaf in model.populated if leaf not in right])
        for leaf in leaves:
            for thing in chance.shuffled(scene.instances_of(leaf)):
                edit = resized_values(scene, chance, thing, prop, 1)
                if edit is not None:
                    return edit
        return None

    return change


def shared(kind: str, prop: Property, number: int) -> Change:
    """Move links until one thing is the value of ``number`` things."""

    def change(scene: Scene, chance: Chance) -> Edit | None:
        predicate = scene.graph.terms[prop.iri]
        links = [
            triple
            for thing in scene.instances_of(kind)
            for triple in scene.triples_of(thing, predicate)
        ]
        for target in chance.shuffled(scene.instances_of(prop.range)):
            count = sum(triple.object == target for triple in links)
            others = [s for s in links if target not in (s.object, s.subject)]
            if count < number <= count + len(others):
                moved = chance.some(others, number - count)
                return Edit(tuple(moved), tuple(_with_object(triple, target) for triple in moved))
        return None

    return change


def none_of(kind: str, *properties: Property) -> Change:
    """Remove all values of the properties."""
    return somewhere(
        kind, lambda scene, _, thing: Edit(tuple(all_values(scene, thing, properties)))
    )


def both_of(kind: str, *properties: Property) -> Change:
    """Add values until there is one of each property."""
    return somewhere(kind, giving(properties, ()))


def giving(some: Sequence[Property], none: Sequence[Property]) -> ThingChange:
    """Give a thing values of the properties ``some``, and no values of the properties ``none``."""

    def of(scene: Scene, chance: Chance, thing: ox.NamedNode) -> Edit | None:
        added: list[ox.Triple] = []
        for prop in some:
            if not all_values(scene, thing, (prop,)):
                edit = resized_values(scene, chance, thing, prop, 1)
                if edit is None:
                    return None
                added += edit.added
        return Edit(tuple(all_values(scene, thing, none)), tuple(added))

    return of


def only(kind: str, first: Property, second: Property) -> Change:
    """Keep or add values of only one of two properties."""

    def of(scene: Scene, chance: Chance, thing: ox.NamedNode) -> Edit | None:
        kept, dropped = chance.shuffled((first, second))
        return giving((kept,), (dropped,))(scene, chance, thing)

    return somewhere(kind, of)


def none_in(kind: str, prop: Property, wrong: str) -> Change:
    """Remove or replace all link targets of the class ``wrong``."""

    def of(scene: Scene, chance: Chance, thing: ox.NamedNode) -> Edit | None:
        bad = set(scene.instances_of(wrong))
        triples = scene.triples_of(thing, scene.graph.terms[prop.iri])
        removed = [triple for triple in triples if triple.object in bad]
        targets = {triple.object for triple in triples}
        free = [
            o
            for o in scene.instances_of(prop.range)
            if o not in bad and o not in targets and o != thing
        ]
        if len(removed) < len(triples):
            return Edit(tuple(removed))
        if not free or not removed:
            return None
        return Edit(tuple(removed), (_with_object(removed[0], chance.one(free)),))

    return somewhere(kind, of)


def two_in(kind: str, prop: Property, wrong: str) -> Change:
    """Add links until two targets are of the class ``wrong``."""

    def of(scene: Scene, chance: Chance, thing: ox.NamedNode) -> Edit | None:
        predicate = scene.graph.terms[prop.iri]
        targets = {triple.object for triple in scene.triples_of(thing, predicate)}
        linked = [target for target in scene.instances_of(wrong) if target in targets]
        free = [o for o in scene.instances_of(wrong) if o not in targets and o != thing]
        missing = 2 - len(linked)
        if missing < 1 or len(free) < missing:
            return None
        path = ox.NamedNode(predicate)
        return Edit(added=tuple(ox.Triple(thing, path, o) for o in chance.some(free, missing)))

    return somewhere(kind, of)


def valued_beyond(kind: str, prop: Property, last: Property, number: int) -> Change:
    """Replace a number or date of a linked thing."""

    def of(scene: Scene, chance: Chance, thing: ox.NamedNode) -> Edit | None:
        for link in chance.shuffled(scene.triples_of(thing, scene.graph.terms[prop.iri])):
            for triple in scene.triples_of(link.object, scene.graph.terms[last.iri]):  # type: ignore[arg-type]
                return _replacement(triple, _literal(last, number))
        return None

    return somewhere(kind, of)


def _replaced(
    kind: str, prop: Property, by: Callable[[Scene, Chance, ox.Triple], Value | None]
) -> Change:
    """Replace a value by another."""

    def of(scene: Scene, chance: Chance, thing: ox.NamedNode) -> Edit | None:
        triples = scene.triples_of(thing, scene.graph.terms[prop.iri])
        if not triples:
            return None
        old = chance.one(triples)
        new = by(scene, chance, old)
        if new is None or any(triple.object == new for triple in triples):
            return None
        return _replacement(old, new)

    return somewhere(kind, of)


def resized_values(
    scene: Scene, chance: Chance, thing: ox.NamedNode, prop: Property, number: int
) -> Edit | None:
    """Add or remove values until there are ``number``."""
    predicate = ox.NamedNode(scene.graph.terms[prop.iri])
    triples = scene.triples_of(thing, predicate.value)
    if len(triples) >= number:
        return Edit(tuple(chance.some(triples, len(triples) - number)))
    missing = number - len(triples)
    present = {triple.object for triple in triples}
    if prop.links:
        free = [o for o in scene.instances_of(prop.range) if o not in present and o != thing]
        chosen: list[Value] = list(chance.some(free, missing))
    else:
        chosen = _fresh(chance, prop, present, missing)
    if len(chosen) < missing:
        return None
    return Edit(added=tuple(ox.Triple(thing, predicate, value) for value in chosen))


def _fresh(
    chance: Chance, prop: Property, present: AbstractSet[object], missing: int
) -> list[Value]:
    """Draw values that are new; texts are in languages that are new."""
    if prop.range == RDF.langString:
        tags = {value.language for value in present}  # type: ignore[attr-defined]
        free = [tag for tag in LANGUAGES if tag not in tags]
        return [_text_in(f"{word(chance)} {word(chance)}".lower(), tag) for tag in free[:missing]]
    result: dict[Value, None] = {}
    while len(result) < missing:
        # Stay away from both ends of the range, where the bounds of rules are drawn.
        quarter = (prop.high - prop.low) // 4
        value = _literal(prop, chance.between(prop.low + quarter, prop.high - quarter))
        if value not in present:
            result[value] = None
    return list(result)


def all_values(
    scene: Scene, thing: ox.NamedNode, properties: Sequence[Property]
) -> list[ox.Triple]:
    """Return the triples of a thing with some properties."""
    return [
        triple
        for prop in properties
        for triple in scene.triples_of(thing, scene.graph.terms[prop.iri])
    ]


def _literal(prop: Property, number: int) -> ox.Literal:
    text = literal(prop, number).partition("^^")[0][1:-1]
    return ox.Literal(text, datatype=ox.NamedNode(prop.range))


def _text_in(text: str, tag: str) -> ox.Literal:
    return ox.Literal(text, language=tag)


def _with_object(triple: ox.Triple, value: Value) -> ox.Triple:
    return ox.Triple(triple.subject, triple.predicate, value)


def _replacement(triple: ox.Triple, value: Value) -> Edit:
    return Edit((triple,), (_with_object(triple, value),))


def renamed(triple: ox.Triple, text: str) -> Edit:
    """Replace a name."""
    return Edit() if triple.object.value == text else _replacement(triple, ox.Literal(text))  # type: ignore[union-attr]
