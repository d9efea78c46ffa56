# SPDX-License-Identifier: Apache-2.0
"""Invented labels for the things of worlds, and chance that is the same everywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from random import Random
from typing import Final, TypeVar

T = TypeVar("T")

_STARTS: Final = (
    *("Ba", "Bre", "Ca", "Cro", "Da", "Dre", "E", "Fa", "Flo", "Ga", "Gri", "Ha", "I", "Je", "Ka"),
    *("Lo", "Ma", "Ne", "O", "Pa", "Quo", "Ra", "Sa", "Sto", "Ta", "Tri", "U", "Va", "We", "Zo"),
)
_MIDDLES: Final = ("l", "m", "n", "nd", "r", "rv", "s", "st", "t", "v", "ll", "d", "k", "p", "b")
_ENDS: Final = (
    *("a", "an", "ard", "el", "en", "er", "eth", "ia", "ik", "in", "is", "o", "on", "or", "um"),
    *("wick", "field", "mar", "dale", "ton"),
)


class Chance:
    """Draws from a seed, the same in every process and version of Python.

    Only :meth:`random.Random.random` is drawn from, whose sequence Python guarantees.
    """

    def __init__(self, *seed: object) -> None:
        text = "/".join(map(str, seed))
        source = hashlib.sha256(text.encode()).digest()
        self._draw = Random(source).random  # noqa: S311 - reproducible, not secret

    def between(self, least: int, most: int) -> int:
        """Return a whole number, both ends included."""
        return least + int(self._draw() * (most - least + 1))

    def one(self, among: Sequence[T]) -> T:
        """One of ``among``, each as likely."""
        return among[self.between(0, len(among) - 1)]

    def some(self, among: Sequence[T], number: int) -> list[T]:
        """``number`` of ``among``, each at most once; all where there are fewer."""
        if 2 * number >= len(among):
            return self.shuffled(among)[:number]
        places: dict[int, None] = {}
        while len(places) < number:
            places[self.between(0, len(among) - 1)] = None
        return [among[place] for place in places]

    def shuffled(self, among: Sequence[T]) -> list[T]:
        """Return all of ``among`` in an order of chance (Fisher and Yates)."""
        found = list(among)
        for last in range(len(found) - 1, 0, -1):
            other = self.between(0, last)
            found[last], found[other] = found[other], found[last]
        return found


def word(chance: Chance) -> str:
    """Return an invented word that begins with a capital."""
    middle = chance.one(_MIDDLES)
    return chance.one(_STARTS) + middle + chance.one(_ENDS)


def labels(number: int, chance: Chance) -> list[str]:
    """``number`` different labels of two or more words."""
    found: dict[str, None] = {}
    while len(found) < number:
        label = f"{word(chance)} {word(chance)}"
        while label in found:
            label += f" {word(chance)}"
        found[label] = None
    return list(found)
