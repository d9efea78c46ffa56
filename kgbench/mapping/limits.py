# SPDX-License-Identifier: Apache-2.0
"""The error of a mapping, and how much its execution may make of its sources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TypeVar

from kgbench.errors import KgbenchError

T = TypeVar("T")

LONGEST: Final = 2_000
"""Characters of a path, so that reading one takes no time to speak of."""
STEPS: Final = 40
"""Steps of a path."""
NODES: Final = 20_000
"""Nodes that a step of a path may find."""


class MappingError(KgbenchError):
    """A mapping that is ill-formed or cannot be executed; the message says why."""


def bounded(nodes: Iterable[T], path: str) -> list[T]:
    """What a step of a path finds; raises :class:`MappingError` for more than :data:`NODES`."""
    found = list(islice(nodes, NODES + 1))
    if len(found) > NODES:
        raise MappingError(f'a step of "{path[:200]}" finds more than {NODES} nodes')
    return found


@dataclass(slots=True)
class Budget:
    """What is left of the work that one execution may do.

    Counts do not depend on the machine, so that the same mapping always ends the same.
    """

    records: int = 200_000
    terms: int = 200_000
    characters: int = 20_000_000
    triples: int = 50_000
    _spent: dict[str, int] = field(default_factory=dict)

    def spend(self, what: str, count: int = 1) -> None:
        """Take ``count`` of ``what``, the name of a field.

        Raises :class:`MappingError` if so many are not left.
        """
        spent = self._spent.get(what, 0) + count
        self._spent[what] = spent
        most = getattr(self, what)
        if spent > most:
            raise MappingError(f"the mapping makes more than {most} {what}")
