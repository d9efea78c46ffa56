# SPDX-License-Identifier: Apache-2.0
"""Names for the classes, properties and individuals of generated ontologies.

Natural names are words whose everyday meaning gives nothing away: the class hierarchy is random, so
every teapot may be a river. Opaque names are numbers.
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
    """All names of a sort are in use."""


class Vocabulary:
    """A supply of names, each drawn once.

    ``labels`` maps the names drawn so far to their labels.
    """

    def __init__(self, names: str, chance: Chance) -> None:
        self._opaque = names == OPAQUE
        self._chance = chance
        self._available = {"c": chance.shuffled(_CLASSES), "p": chance.shuffled(_PROPERTIES)}
        self._available["i"] = labels(len(_CLASSES), chance)
        self._numbers = {sort: chance.shuffled(range(1, 100)) for sort in self._available}
        self.labels: dict[str, str] = {}

    def fresh(self, sort: str) -> str:
        """Draw a new class (``c``), property (``p``) or individual (``i``).

        Raises :class:`NoMoreNames` if all names of the sort are in use.
        """
        if not self._available[sort]:
            raise NoMoreNames(sort)
        label = self._available[sort].pop()
        if not self._opaque:
            name = label.capitalize() if sort == "c" else label.replace(" ", "_")
        else:
            name = f"{sort}{self._numbers[sort].pop()}"
            label = self._invented(label) if sort != "i" else label
        self.labels[name] = label
        return name

    def _invented(self, label: str) -> str:
        """Draw an invented word that is not in use."""
        used = set(self.labels.values())
        while label in used or label in _CLASSES or label in _PROPERTIES:
            label = word(self._chance).lower()
        return label


def label_lines(labels_: Mapping[str, str]) -> list[str]:
    """Return each name with its label as lines of a Markdown list."""
    return [f"* `o:{name}`: {label}" for name, label in labels_.items()]
