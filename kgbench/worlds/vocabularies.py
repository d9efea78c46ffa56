# SPDX-License-Identifier: Apache-2.0
"""Names for the classes, properties and individuals of generated ontologies.

Natural names are words whose everyday meaning says nothing: which class is below which is drawn, so
that every teapot may be a river. Opaque names are numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kgbench.worlds.naming import Chance, labels, word

NATURAL, OPAQUE = "natural", "opaque"
_NOUNS: Final = """
    acorn anchor apricot atlas baker barrel basket beaver bell blanket bottle bridge broom bucket
    button candle carpet castle cherry clock comet compass coral cradle crystal dentist desert
    dolphin donkey dragon eagle engine falcon feather ferry fiddle forest fountain garden glacier
    goblet hammer harbour hedgehog island jacket judge kettle ladder lantern lizard meadow mirror
    monk needle novel oven owl parrot pebble piano pilot pirate planet pumpkin quarry rabbit ribbon
    river saddle sailor shepherd spider staircase statue storm tailor teapot temple tiger tower
    tractor tulip tunnel umbrella valley village violin volcano wagon walnut weaver window wizard
"""
_ROLES: Final = """
    adviser ally ancestor apprentice author blocker borrower buyer carrier client companion creditor
    critic cutter debtor deputy donor editor envoy escort follower founder godparent guardian guest
    guide heir helper host imitator inventor keeper landlord leader lender listener mentor messenger
    neighbour opponent organiser owner partner patron pursuer rescuer rival seller sender servant
    sponsor successor supplier supporter tenant tutor visitor ward witness
"""
_CLASSES, _PROPERTIES = tuple(_NOUNS.split()), tuple(_ROLES.split())


class NoMoreNames(LookupError):
    """All names of a sort are taken."""


class Vocabulary:
    """Names that are drawn one after the other, each once.

    ``labels`` are the words for the names drawn so far.
    """

    def __init__(self, names: str, chance: Chance) -> None:
        self._opaque = names == OPAQUE
        self._chance = chance
        self._left = {"c": chance.shuffled(_CLASSES), "p": chance.shuffled(_PROPERTIES)}
        self._left["i"] = labels(len(_CLASSES), chance)
        self._numbers = {sort: chance.shuffled(range(1, 100)) for sort in self._left}
        self.labels: dict[str, str] = {}

    def fresh(self, sort: str) -> str:
        """Return a new class (``c``), property (``p``) or individual (``i``).

        Raises :class:`NoMoreNames`.
        """
        if not self._left[sort]:
            raise NoMoreNames(sort)
        label = self._left[sort].pop()
        if not self._opaque:
            name = label.capitalize() if sort == "c" else label.replace(" ", "_")
        else:
            name = f"{sort}{self._numbers[sort].pop()}"
            label = self._invented(label) if sort != "i" else label
        self.labels[name] = label
        return name

    def _invented(self, taken: str) -> str:
        """Return a word that means nothing."""
        known = set(self.labels.values())
        while taken in known or taken in _CLASSES or taken in _PROPERTIES:
            taken = word(self._chance).lower()
        return taken


def readable(labels_: Mapping[str, str]) -> list[str]:
    """Lines with each name and its label, as a list in Markdown."""
    return [f"* `o:{name}`: {label}" for name, label in labels_.items()]
