# SPDX-License-Identifier: Apache-2.0
"""Changes to a scene by which a rule is broken, or just kept to.

Each function gives a change: from a scene and chance to an edit, or ``None`` if the scene has no
place for it. Whether an edit does what it is meant to is for an engine to say.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Final, TypeAlias

import pyoxigraph as ox

from kgbench.vocab import RDF, XSD
from kgbench.worlds.generator import LANGUAGES, literal
from kgbench.worlds.model import Property
from kgbench.worlds.naming import Chance, word
from kgbench.worlds.scenes import LABEL, Edit, Scene

Change: TypeAlias = Callable[[Scene, Chance], Edit | None]
Of: TypeAlias = Callable[[Scene, Chance, ox.NamedNode], Edit | None]
_Value: TypeAlias = ox.NamedNode | ox.Literal

_DECIMAL: Final = ox.NamedNode(XSD.decimal)


def _somewhere(kind: str, of: Of) -> Change:
    """Return a change to one of the things of a class: the first, by chance, that allows it."""

    def change(scene: Scene, chance: Chance) -> Edit | None:
        for one in chance.shuffled(scene.of(kind)):
            edit = of(scene, chance, one)
            if edit is not None and edit != Edit():
                return edit
        return None

    return change


def nothing(scene: Scene, chance: Chance, one: ox.NamedNode) -> Edit | None:  # noqa: ARG001
    """No change."""
    return None


def for_kind(of: Of, kind: str) -> Change:
    """Return a change to the name of one of the things of a class."""
    return _somewhere(kind, of)


def fewer(kind: str, each: Property, least: int) -> Change:
    """Leave one value less than ``least``."""
    return _somewhere(
        kind, lambda scene, chance, one: _resized(scene, chance, one, each, least - 1)
    )


def more(kind: str, each: Property, most: int) -> Change:
    """Add values until there is one more than ``most``."""
    return _somewhere(kind, lambda scene, chance, one: _resized(scene, chance, one, each, most + 1))


def as_many(kind: str, each: Property, number: int) -> Change:
    """Have as many values as ``number``."""
    return _somewhere(kind, lambda scene, chance, one: _resized(scene, chance, one, each, number))


def of_another_type(kind: str, each: Property) -> Change:
    """Write a value as another datatype has it."""

    def of(_: Scene, chance: Chance, said: ox.Triple) -> _Value:
        text = said.object.value  # type: ignore[union-attr]
        if each.range == XSD.integer and chance.between(0, 1):
            return ox.Literal(f"{text}.0", datatype=_DECIMAL)
        return ox.Literal(text)

    return _replaced(kind, each, of)


def of_another_class(kind: str, each: Property) -> Change:
    """Link to something that is not of the range."""

    def of(scene: Scene, chance: Chance, _: ox.Triple) -> _Value | None:
        right = set(scene.of(each.range))
        populated = scene.graph.model.populated
        wrong = [one for leaf in populated for one in scene.of(leaf) if one not in right]
        return chance.one(wrong) if wrong else None

    return _replaced(kind, each, of)


def other_value(kind: str, each: Property) -> Change:
    """Link to something else of the range."""

    def of(scene: Scene, chance: Chance, said: ox.Triple) -> _Value | None:
        among = [one for one in scene.of(each.range) if one not in (said.object, said.subject)]
        return chance.one(among) if among else None

    return _replaced(kind, each, of)


def valued(kind: str, each: Property, number: int) -> Change:
    """Have a certain number or date."""
    return _replaced(kind, each, lambda _, __, ___: _literal(each, number))


def in_language(kind: str, each: Property, tag: str) -> Change:
    """Have a text in a certain language."""
    return _replaced(kind, each, lambda _, __, said: _text(said.object.value, tag))  # type: ignore[union-attr]


def named_in_words(kind: str, each: Property) -> Change:
    """Have a name as value in place of what is called so."""

    def of(scene: Scene, _: Chance, said: ox.Triple) -> _Value | None:
        names = scene.said(said.object, LABEL.value)  # type: ignore[arg-type]
        return ox.Literal(names[0].object.value) if names else None  # type: ignore[union-attr]

    return _replaced(kind, each, of)


def same_language(kind: str, each: Property) -> Change:
    """Have a second text in a language."""

    def of(scene: Scene, chance: Chance, one: ox.NamedNode) -> Edit | None:
        said = scene.said(one, scene.graph.terms[each.iri])
        if not said:
            return None
        other = f"{word(chance)} {word(chance)}".lower()
        tag = said[0].object.language  # type: ignore[union-attr]
        return Edit(added=(ox.Triple(one, said[0].predicate, _text(other, tag or "en")),))

    return _somewhere(kind, of)


def resized(number: int) -> Of:
    """Have a name of so many characters."""

    def of(scene: Scene, chance: Chance, one: ox.NamedNode) -> Edit | None:
        (said,) = scene.said(one, LABEL.value)
        text = said.object.value  # type: ignore[union-attr]
        while len(text) < number:
            text += f" {word(chance)}"
        text = text[:number]
        return None if text.endswith(" ") else _renamed(said, text)

    return of


def uncapitalised(scene: Scene, chance: Chance, one: ox.NamedNode) -> Edit:  # noqa: ARG001
    """Have a name that begins with a small letter."""
    (said,) = scene.said(one, LABEL.value)
    text = said.object.value  # type: ignore[union-attr]
    return _renamed(said, text[0].lower() + text[1:])


def foreign_property(kind: str) -> Change:
    """Have a value of a property that things of the class do not have."""

    def of(scene: Scene, chance: Chance, one: ox.NamedNode) -> Edit | None:
        model = scene.graph.model
        own = {each.iri for each in model.has(kind)}
        strange = [each for each in model.properties if each.iri not in own and not each.links]
        return _resized(scene, chance, one, chance.one(strange), 1)

    return _somewhere(kind, of)


def strange_subject(each: Property) -> Change:
    """Have something with a value of the property that is not of its domain."""

    def change(scene: Scene, chance: Chance) -> Edit | None:
        model = scene.graph.model
        right = set(model.below(each.domain))
        leaves = chance.shuffled([leaf for leaf in model.populated if leaf not in right])
        for leaf in leaves:
            for one in chance.shuffled(scene.of(leaf)):
                edit = _resized(scene, chance, one, each, 1)
                if edit is not None:
                    return edit
        return None

    return change


def shared(kind: str, each: Property, number: int) -> Change:
    """Make something the value of so many things."""

    def change(scene: Scene, chance: Chance) -> Edit | None:
        predicate = scene.graph.terms[each.iri]
        links = [said for one in scene.of(kind) for said in scene.said(one, predicate)]
        for target in chance.shuffled(scene.of(each.range)):
            now = sum(said.object == target for said in links)
            others = [s for s in links if target not in (s.object, s.subject)]
            if now < number <= now + len(others):
                moved = chance.some(others, number - now)
                return Edit(tuple(moved), tuple(_with(said, target) for said in moved))
        return None

    return change


def none_of(kind: str, *properties: Property) -> Change:
    """Have no value of any of the properties."""
    return _somewhere(kind, lambda scene, _, one: Edit(tuple(_all(scene, one, properties))))


def both_of(kind: str, *properties: Property) -> Change:
    """Have a value of each of the properties."""

    def of(scene: Scene, chance: Chance, one: ox.NamedNode) -> Edit | None:
        added: list[ox.Triple] = []
        for each in properties:
            if not _all(scene, one, (each,)):
                edit = _resized(scene, chance, one, each, 1)
                if edit is None:
                    return None
                added += edit.added
        return Edit(added=tuple(added))

    return _somewhere(kind, of)


def only(kind: str, first: Property, second: Property) -> Change:
    """Have values of one of two properties only."""

    def of(scene: Scene, chance: Chance, one: ox.NamedNode) -> Edit | None:
        kept, dropped = chance.shuffled((first, second))
        gone = _all(scene, one, (dropped,))
        if _all(scene, one, (kept,)):
            return Edit(tuple(gone))
        edit = _resized(scene, chance, one, kept, 1)
        return None if edit is None else Edit(tuple(gone), edit.added)

    return _somewhere(kind, of)


def none_in(kind: str, each: Property, wrong: str) -> Change:
    """Link to others of the range than those of a class."""

    def of(scene: Scene, chance: Chance, one: ox.NamedNode) -> Edit | None:
        bad = set(scene.of(wrong))
        said = scene.said(one, scene.graph.terms[each.iri])
        gone = [triple for triple in said if triple.object in bad]
        met = {triple.object for triple in said}
        free = [o for o in scene.of(each.range) if o not in bad and o not in met and o != one]
        if len(gone) < len(said):
            return Edit(tuple(gone))
        if not free or not gone:
            return None
        return Edit(tuple(gone), (_with(gone[0], chance.one(free)),))

    return _somewhere(kind, of)


def two_in(kind: str, each: Property, wrong: str) -> Change:
    """Link to two things of a class."""

    def of(scene: Scene, chance: Chance, one: ox.NamedNode) -> Edit | None:
        predicate = scene.graph.terms[each.iri]
        said = {triple.object for triple in scene.said(one, predicate)}
        here = [target for target in scene.of(wrong) if target in said]
        free = [o for o in scene.of(wrong) if o not in said and o != one]
        missing = 2 - len(here)
        if missing < 1 or len(free) < missing:
            return None
        path = ox.NamedNode(predicate)
        return Edit(added=tuple(ox.Triple(one, path, o) for o in chance.some(free, missing)))

    return _somewhere(kind, of)


def valued_beyond(kind: str, each: Property, last: Property, number: int) -> Change:
    """Give a linked thing a certain number or date."""

    def of(scene: Scene, chance: Chance, one: ox.NamedNode) -> Edit | None:
        for link in chance.shuffled(scene.said(one, scene.graph.terms[each.iri])):
            for said in scene.said(link.object, scene.graph.terms[last.iri]):  # type: ignore[arg-type]
                return _swap(said, _literal(last, number))
        return None

    return _somewhere(kind, of)


def _replaced(
    kind: str, each: Property, by: Callable[[Scene, Chance, ox.Triple], _Value | None]
) -> Change:
    """Replace a value by another."""

    def of(scene: Scene, chance: Chance, one: ox.NamedNode) -> Edit | None:
        said = scene.said(one, scene.graph.terms[each.iri])
        if not said:
            return None
        old = chance.one(said)
        new = by(scene, chance, old)
        if new is None or any(triple.object == new for triple in said):
            return None
        return _swap(old, new)

    return _somewhere(kind, of)


def _resized(
    scene: Scene, chance: Chance, one: ox.NamedNode, each: Property, number: int
) -> Edit | None:
    """Have a certain number of values."""
    predicate = ox.NamedNode(scene.graph.terms[each.iri])
    said = scene.said(one, predicate.value)
    if len(said) >= number:
        return Edit(tuple(chance.some(said, len(said) - number)))
    missing = number - len(said)
    met = {triple.object for triple in said}
    if each.links:
        free = [o for o in scene.of(each.range) if o not in met and o != one]
        chosen: list[_Value] = list(chance.some(free, missing))
    else:
        chosen = _fresh(chance, each, met, missing)
    if len(chosen) < missing:
        return None
    return Edit(added=tuple(ox.Triple(one, predicate, value) for value in chosen))


def _fresh(chance: Chance, each: Property, met: AbstractSet[object], missing: int) -> list[_Value]:
    """Values that are not there yet; texts in languages that are not there yet."""
    if each.range == RDF.langString:
        tags = {value.language for value in met}  # type: ignore[attr-defined]
        free = [tag for tag in LANGUAGES if tag not in tags]
        return [_text(f"{word(chance)} {word(chance)}".lower(), tag) for tag in free[:missing]]
    found: dict[_Value, None] = {}
    while len(found) < missing:
        # Far from the ends, where bounds are drawn.
        quarter = (each.high - each.low) // 4
        value = _literal(each, chance.between(each.low + quarter, each.high - quarter))
        if value not in met:
            found[value] = None
    return list(found)


def _all(scene: Scene, one: ox.NamedNode, properties: tuple[Property, ...]) -> list[ox.Triple]:
    return [said for each in properties for said in scene.said(one, scene.graph.terms[each.iri])]


def _literal(each: Property, number: int) -> ox.Literal:
    text = literal(each, number).partition("^^")[0][1:-1]
    return ox.Literal(text, datatype=ox.NamedNode(each.range))


def _text(text: str, tag: str) -> ox.Literal:
    return ox.Literal(text, language=tag)


def _with(said: ox.Triple, value: _Value) -> ox.Triple:
    return ox.Triple(said.subject, said.predicate, value)


def _swap(said: ox.Triple, value: _Value) -> Edit:
    return Edit((said,), (_with(said, value),))


def _renamed(said: ox.Triple, text: str) -> Edit:
    return Edit() if said.object.value == text else _swap(said, ox.Literal(text))  # type: ignore[union-attr]
