# SPDX-License-Identifier: Apache-2.0
"""Drawing again: things about a world, drawn until one is sound and differs from earlier ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import ClassVar, Generic, TypeVar

from kgbench.errors import TaskError
from kgbench.worlds.generator import World, build_graph
from kgbench.worlds.naming import Chance

Drawn = TypeVar("Drawn")


def first_drawn(draw: Callable[[int], Drawn | None], tries: int, wanted: str) -> Drawn:
    """Return the first result of ``draw(0)``, ``draw(1)``, ... that is not ``None``.

    Raises :class:`~kgbench.errors.TaskError`, with what is ``wanted``, after so many ``tries``.
    """
    for attempt in range(tries):
        drawn = draw(attempt)
        if drawn is not None:
            return drawn
    raise TaskError(f"no {wanted} were found in {tries} attempts")


class Sheet(ABC, Generic[Drawn]):
    """A sequence of different things about a world; each depends on those before it."""

    TRIES: ClassVar[int]
    """How often a thing is drawn before the world is too small."""

    def __init__(self) -> None:
        self._found: list[Drawn] = []
        self._known: set[Hashable] = set()

    def __getitem__(self, number: int) -> Drawn:
        """Return the thing with a number, counted from 0.

        Raises :class:`~kgbench.errors.TaskError` if the world is too small for that many.
        """
        while len(self._found) <= number:
            self._found.append(self._next())
        return self._found[number]

    @abstractmethod
    def _drawn(self) -> Drawn | None:
        """Draw a thing; ``None`` if it is not sound."""

    @abstractmethod
    def _key(self, drawn: Drawn) -> Hashable:
        """Return what equal things share."""

    @abstractmethod
    def _too_small(self, number: int) -> str:
        """Return what is wrong if there are only a ``number`` of things."""

    def _next(self) -> Drawn:
        for _ in range(self.TRIES):
            drawn = self._drawn()
            if drawn is not None and (key := self._key(drawn)) not in self._known:
                self._known.add(key)
                return drawn
        raise TaskError(self._too_small(len(self._found)))


class LevelSheet(Sheet[Drawn]):
    """Different things of one level about a world."""

    THINGS: ClassVar[str]
    """What they are, in the plural; the seed depends on it."""
    VERSION: ClassVar[int]
    """Rises when the same seed gives other things."""

    def __init__(self, world: World, level: int, *seed: str) -> None:
        super().__init__()
        self._graph = build_graph(world)
        self._level = level
        self._chance = Chance(self.VERSION, world.seed, world.instances, self.THINGS, level, *seed)

    def _too_small(self, number: int) -> str:
        return (
            f"a world of {self._graph.world.instances} instances is too small for more than "
            f"{number} {self.THINGS} of level {self._level}"
        )
