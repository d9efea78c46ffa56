# SPDX-License-Identifier: Apache-2.0
"""Invented labels for the things of worlds, and reproducible random draws."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from random import Random
from typing import Final, TypeVar

T = TypeVar("T")

_STARTS: Final = (
    "Ba",
    "Bre",
    "Ca",
    "Cro",
    "Da",
    "Dre",
    "E",
    "Fa",
    "Flo",
    "Ga",
    "Gri",
    "Ha",
    "I",
    "Je",
    "Ka",
    "Lo",
    "Ma",
    "Ne",
    "O",
    "Pa",
    "Quo",
    "Ra",
    "Sa",
    "Sto",
    "Ta",
    "Tri",
    "U",
    "Va",
    "We",
    "Zo",
)
_MIDDLES: Final = ("l", "m", "n", "nd", "r", "rv", "s", "st", "t", "v", "ll", "d", "k", "p", "b")
_ENDS: Final = (
    "a",
    "an",
    "ard",
    "el",
    "en",
    "er",
    "eth",
    "ia",
    "ik",
    "in",
    "is",
    "o",
    "on",
    "or",
    "um",
    "wick",
    "field",
    "mar",
    "dale",
    "ton",
)


class Chance:
    """Random draws from a seed, the same in every process and version of Python.

    Only :meth:`random.Random.random` is used, because Python guarantees its sequence.
    """

    def __init__(self, *seed: object) -> None:
        text = "/".join(map(str, seed))
        source = hashlib.sha256(text.encode()).digest()
        self._draw = Random(source).random  # noqa: S311 - reproducible, not secret

    def between(self, low: int, high: int) -> int:
        """Draw a whole number from ``low`` to ``high``, both included."""
        return low + int(self._draw() * (high - low + 1))

    def one(self, among: Sequence[T]) -> T:
        """Draw one item of ``among``; all are equally likely."""
        return among[self.between(0, len(among) - 1)]

    def some(self, among: Sequence[T], number: int) -> list[T]:
        """Draw ``number`` different items of ``among``, or all if there are fewer."""
        if 2 * number >= len(among):
            return self.shuffled(among)[:number]
        indexes: dict[int, None] = {}
        while len(indexes) < number:
            indexes[self.between(0, len(among) - 1)] = None
        return [among[index] for index in indexes]

    def shuffled(self, among: Sequence[T]) -> list[T]:
        """Return the items of ``among`` in random order (Fisher-Yates shuffle)."""
        items = list(among)
        for last in range(len(items) - 1, 0, -1):
            other = self.between(0, last)
            items[last], items[other] = items[other], items[last]
        return items


def word(chance: Chance) -> str:
    """Draw an invented word that begins with a capital letter."""
    middle = chance.one(_MIDDLES)
    return chance.one(_STARTS) + middle + chance.one(_ENDS)


def labels(number: int, chance: Chance) -> list[str]:
    """Draw ``number`` different labels of two or more words."""
    result: dict[str, None] = {}
    while len(result) < number:
        label = f"{word(chance)} {word(chance)}"
        while label in result:
            label += f" {word(chance)}"
        result[label] = None
    return list(result)
